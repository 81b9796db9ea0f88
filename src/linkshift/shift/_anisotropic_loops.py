"""The hot loops of mean shift with a metric per point: one start at a time, all the way up.

Layout. A symmetric matrix is packed by the rows of its lower triangle, so that every inner loop
begins at nought and adds a multiple of one row to another: such loops are vectorised without any
sum being reordered. Each start is climbed by itself, in the order of the points: neither the
other starts nor the number of threads can change a bit.

Which points are looked at. A point that was at r > reach bandwidths cannot be within reach before
the start has travelled (r - reach) / speed, where ``speed`` is the most bandwidths of that point
that a step of length one can cross. ``wake`` holds that milestone for each point; until then the
point costs one comparison.
"""

from __future__ import annotations

import numpy as np

from linkshift.shift._jit import jit

FLAT = 0
LINEAR = 1
EXPONENTIAL = 2

_SLACK = 1.0 - 1e-9  # milestones are set a hair too early, so that rounding cannot miss a point
_TINY = 2.2250738585072014e-308
_NEGLIGIBLE = 42.0  # exp(-42) is below the rounding of a sum by a factor of 300


@jit
def into_frame(rows, frame, out):  # type: ignore[no-untyped-def]
    """Put rows times the lower triangular frame into ``out``.

    Not by BLAS, whose last bits depend on the number of rows: a start on a point must be on it.
    """
    d = frame.shape[0]
    for i in range(rows.shape[0]):
        here = out[i]
        here[:] = 0.0
        for k in range(d):
            v, line = rows[i, k], frame[k]
            for l in range(k + 1):
                here[l] += v * line[l]


@jit
def out_of_frame(rows, frame):  # type: ignore[no-untyped-def]
    """Undo ``into_frame``, in place."""
    d = frame.shape[0]
    for i in range(rows.shape[0]):
        here = rows[i]
        for back in range(d):
            k = d - 1 - back
            line = frame[k]
            v = here[k] / line[k]
            here[k] = v
            for l in range(k):
                here[l] -= v * line[l]


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
def factor(form, d):  # type: ignore[no-untyped-def]
    """Packed N to packed lower L with N = L' L, in place, from the last row up.

    A pivot lost to rounding becomes nought: ``solve`` then makes no step along it.
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


@jit
def look(  # type: ignore[no-untyped-def]
    kind, reach, floor, x, points, forms, size, log_size, log_factor, speed, wake, travelled,
    difference, work, index, log_pull
):  # fmt: skip
    """Find the points that reach x.

    Returns their number, the largest log pull, the log of the sum of weights and the log density.
    ``index`` takes the points, ``log_pull`` the logarithms of a_j g(z_j) e_j^2: how much of the
    packed unit form of point j is in the sum of eq. 4.8.
    """
    d = x.shape[0]
    count = 0
    top_pull = -np.inf
    top_weight = -np.inf
    top_factor = -np.inf
    weights = 0.0
    shadows = 0.0
    for j in range(points.shape[0]):
        if wake[j] > travelled:
            continue
        point = points[j]
        for k in range(d):
            difference[k] = x[k] - point[k]
        r = size[j] * np.sqrt(max(quadratic(difference, forms[j], work), 0.0))
        if not r <= reach:
            wake[j] = travelled + (r * _SLACK - reach) / speed[j]
            continue
        z = r * r
        if z == np.inf:  # a Gaussian reaches everywhere, but not that far
            continue
        if kind == EXPONENTIAL:
            log_g = -0.5 * z
            shadow = 2.0 * max(np.exp(log_g) - floor, 0.0)
            if floor == 0.0:
                shadow = 2.0  # never falls to nought: its exponent goes into the logarithm instead
        elif kind == FLAT:
            log_g = 0.0
            shadow = max(1.0 - z, 0.0)
        else:
            if z >= 1.0:
                continue
            log_g = np.log(1.0 - z)
            shadow = 0.5 * (1.0 - z) * (1.0 - z)
        a = log_factor[j]
        log_weight = a + log_g
        # Sums relative to the largest term so far: nothing over- or underflows in one pass.
        if log_weight > top_weight:
            weights *= np.exp(top_weight - log_weight)
            top_weight = log_weight
        weights += np.exp(log_weight - top_weight)
        if floor == 0.0 and kind == EXPONENTIAL:
            a = log_weight
        if a > top_factor:
            shadows *= np.exp(top_factor - a)
            top_factor = a
        shadows += shadow * np.exp(a - top_factor)
        pull = log_weight + log_size[j]
        top_pull = max(top_pull, pull)
        log_pull[count] = pull
        index[count] = j
        count += 1
    log_weights = top_weight + np.log(weights) if count > 0 else -np.inf
    # On the very edge of the only kernel the density is nought, but the start is not out of reach.
    log_density = top_factor + np.log(max(shadows, _TINY)) if count > 0 else -np.inf
    return count, top_pull, log_weights, log_density


@jit
def gather(forms, index, log_pull, count, top_pull, total):  # type: ignore[no-untyped-def]
    """Sum pulls times packed forms into ``total``; the pulls replace their logarithms."""
    total[:] = 0.0
    width = total.shape[0]
    for c in range(count):
        pull = log_pull[c] - top_pull
        pull = np.exp(pull) if pull > -_NEGLIGIBLE else 0.0
        log_pull[c] = pull
        if pull > 0.0:
            form = forms[index[c]]
            for l in range(width):
                total[l] += pull * form[l]


@jit
def due(wake, travelled):  # type: ignore[no-untyped-def]
    """Count the points that must be looked at."""
    count = 0
    for j in range(wake.shape[0]):
        count += 0 if wake[j] > travelled else 1
    return count


@jit
def climb_block(  # type: ignore[no-untyped-def]
    kind, reach, floor, starts, points, forms, size, log_size, log_factor, speed, wake,
    max_iter, tol, budget, way, log_density, resting, converged, n_iter
):  # fmt: skip
    """Climb each start from where it is (start + way), at least by one step.

    Goes on until the start rests or so much has come near that new milestones from matrix products
    are cheaper: ``budget`` points more than reach it. Stopping there does not change the steps.
    """
    n, d = points.shape
    difference, work, target, step = np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    index, log_pull = np.empty(n, dtype=np.int64), np.empty(n)
    total = np.empty(d * (d + 1) // 2)
    # Points as seen from the start: N_j (x_j - start). Relative to the start, the sum of eq. 4.8
    # is as small as the way made, and loses no digits however far the data reaches.
    seen = np.full(n, -1, dtype=np.int64)
    drawn = np.empty((n, d))
    x = np.empty(d)
    for i in range(starts.shape[0]):
        start = starts[i]
        travelled = 0.0
        count = n
        while n_iter[i] < max_iter:
            if travelled > 0.0 and due(wake[i], travelled) > count + budget:
                break
            for k in range(d):
                x[k] = start[k] + way[i, k]
            count, top_pull, log_weights, log_density[i] = look(
                kind, reach, floor, x, points, forms, size, log_size, log_factor, speed,
                wake[i], travelled, difference, work, index, log_pull
            )  # fmt: skip
            n_iter[i] += 1
            if count == 0:  # out of every kernel's reach: it stays
                resting[i] = converged[i] = True
                break
            gather(forms, index, log_pull, count, top_pull, total)
            target[:] = 0.0
            for c in range(count):
                pull = log_pull[c]
                if pull > 0.0:
                    j = index[c]
                    towards = drawn[j]
                    if seen[j] != i:
                        seen[j] = i
                        point = points[j]
                        for k in range(d):
                            difference[k] = point[k] - start[k]
                        product(forms[j], difference, towards)
                    for k in range(d):
                        target[k] += pull * towards[k]
            factor(total, d)
            solve(total, target)
            length = 0.0
            for k in range(d):
                step[k] = target[k] - way[i, k]
                way[i, k] = target[k]
                length += step[k] * step[k]
            travelled += np.sqrt(length)
            if squared_length(total, step) * np.exp(top_pull - log_weights) <= tol * tol:
                resting[i] = converged[i] = True
                break
        if n_iter[i] >= max_iter:
            resting[i] = True


@jit
def evaluate_block(  # type: ignore[no-untyped-def]
    kind, reach, floor, positions, points, forms, size, log_size, log_factor, speed, wake,
    precision, log_density
):  # fmt: skip
    """Packed local precision and log density at each position; precision nought out of reach."""
    n, d = points.shape
    difference, work = np.empty(d), np.empty(d)
    index, log_pull = np.empty(n, dtype=np.int64), np.empty(n)
    for i in range(positions.shape[0]):
        count, top_pull, log_weights, log_density[i] = look(
            kind, reach, floor, positions[i], points, forms, size, log_size, log_factor, speed,
            wake[i], 0.0, difference, work, index, log_pull
        )  # fmt: skip
        total = precision[i]
        gather(forms, index, log_pull, count, top_pull, total)
        if count > 0:
            total *= np.exp(top_pull - log_weights)


@jit
def squared_distances(x, points, forms, rows, out):  # type: ignore[no-untyped-def]
    """Put (x - x_j)' N_j (x - x_j) into ``out``, j in ``rows``; one N for all, or one each."""
    d = x.shape[0]
    difference, work = np.empty(d), np.empty(d)
    for c in range(rows.shape[0]):
        point = points[rows[c]]
        for k in range(d):
            difference[k] = x[k] - point[k]
        form = forms[0] if forms.shape[0] == 1 else forms[rows[c]]
        out[c] = max(quadratic(difference, form, work), 0.0)


@jit
def steps_block(total, pull, log_ratio, tol, step, arrived):  # type: ignore[no-untyped-def]
    """Solve for the step of each start, given its packed sum of forms and its pull.

    ``arrived`` tells whether the step is at most ``tol`` by the local precision, which is the sum
    of forms times exp(log_ratio).
    """
    d = pull.shape[1]
    for i in range(pull.shape[0]):
        lower = total[i]
        step[i] = pull[i]
        factor(lower, d)
        solve(lower, step[i])
        arrived[i] = squared_length(lower, step[i]) * np.exp(log_ratio[i]) <= tol * tol
