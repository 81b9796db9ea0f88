"""Symmetric matrices packed by the rows of their lower triangle, for the hot loops.

Every inner loop begins at zero and adds a multiple of one row to another: such loops are vectorised
without any sum being reordered.
"""

from __future__ import annotations

import numpy as np

from linkshift._core.jit import jit

STACK = 8  # directions that go into a sum of outer products in one pass over it


@jit
def quadratic(difference, form, work):  # type: ignore[no-untyped-def]
    """Return v' N v for the packed N.

    With the diagonal halved, the lower triangle T gives v' N v = 2 v' T v.
    """
    d = difference.shape[0]
    work[:] = 0.0
    begin = 0
    half = 0.0
    for k in range(d):
        row = form[begin : begin + k]
        v = difference[k]
        for l in range(k):
            work[l] += row[l] * v
        half += 0.5 * form[begin + k] * v * v
        begin += k + 1
    for l in range(d):
        half += work[l] * difference[l]
    return 2.0 * half


@jit
def product(form, vector, out):  # type: ignore[no-untyped-def]
    """Put N v into ``out``, for the packed N."""
    out[:] = 0.0
    begin = 0
    for k in range(vector.shape[0]):
        row = form[begin : begin + k]
        v = vector[k]
        dot = form[begin + k] * v
        for l in range(k):
            out[l] += row[l] * v
            dot += row[l] * vector[l]
        out[k] += dot
        begin += k + 1


@jit
def expand(coefficients, directions, out):  # type: ignore[no-untyped-def]
    """Put the packed matrix of a composed form into ``out``: a sum of outer products.

    Several directions at a time: each pass over ``out`` then does more than load and store.
    """
    n_bases, stack, ridge_form = directions.n_bases, directions.stack, directions.ridge_form
    d = stack.shape[1]
    ridge = coefficients[n_bases]
    for l in range(out.shape[0]):
        out[l] = ridge * ridge_form[l]
    padded = np.zeros(stack.shape[0])
    padded[:n_bases] = coefficients[:n_bases]
    for k in range(0, stack.shape[0], STACK):
        b0, b1, b2, b3 = stack[k], stack[k + 1], stack[k + 2], stack[k + 3]
        b4, b5, b6, b7 = stack[k + 4], stack[k + 5], stack[k + 6], stack[k + 7]
        begin = 0
        for i in range(d):
            row = out[begin : begin + i + 1]
            c0, c1 = padded[k] * b0[i], padded[k + 1] * b1[i]
            c2, c3 = padded[k + 2] * b2[i], padded[k + 3] * b3[i]
            c4, c5 = padded[k + 4] * b4[i], padded[k + 5] * b5[i]
            c6, c7 = padded[k + 6] * b6[i], padded[k + 7] * b7[i]
            for l in range(i + 1):
                low = row[l] + c0 * b0[l] + c1 * b1[l] + c2 * b2[l] + c3 * b3[l]
                row[l] = low + c4 * b4[l] + c5 * b5[l] + c6 * b6[l] + c7 * b7[l]
            begin += i + 1


@jit
def factor(form, d):  # type: ignore[no-untyped-def]
    """Packed N to packed lower L with N = L' L, in place, from the last row up.

    A pivot lost to rounding becomes zero: ``solve`` then makes no step along it.
    """
    top = 0.0
    begin = 0
    for k in range(d):
        top = max(top, form[begin + k])
        begin += k + 1
    least = 4.0 * d * 2.220446049250313e-16 * top
    for back in range(d):
        k = d - 1 - back
        begin = k * (k + 1) // 2
        row = form[begin : begin + k]
        pivot = form[begin + k]
        if not pivot > least:
            form[begin : begin + k + 1] = 0.0
            continue
        pivot = np.sqrt(pivot)
        form[begin + k] = pivot
        inverse = 1.0 / pivot
        for l in range(k):
            row[l] *= inverse
        other_begin = 0
        for i in range(k):
            other = form[other_begin : other_begin + i + 1]
            v = row[i]
            for l in range(i + 1):
                other[l] -= v * row[l]
            other_begin += i + 1


@jit
def solve(lower, b):  # type: ignore[no-untyped-def]
    """Replace b by the solution y of L' L y = b."""
    d = b.shape[0]
    for back in range(d):
        k = d - 1 - back
        begin = k * (k + 1) // 2
        row = lower[begin : begin + k]
        pivot = lower[begin + k]
        v = b[k] / pivot if pivot > 0.0 else 0.0
        b[k] = v
        for l in range(k):
            b[l] -= v * row[l]
    begin = 0
    for k in range(d):
        row = lower[begin : begin + k]
        pivot = lower[begin + k]
        v = b[k]
        for l in range(k):
            v -= row[l] * b[l]
        b[k] = v / pivot if pivot > 0.0 else 0.0
        begin += k + 1


@jit
def squared_length(lower, v):  # type: ignore[no-untyped-def]
    """|L v|^2."""
    total = 0.0
    begin = 0
    for k in range(v.shape[0]):
        row = lower[begin : begin + k + 1]
        dot = 0.0
        for l in range(k + 1):
            dot += row[l] * v[l]
        total += dot * dot
        begin += k + 1
    return total
