"""The hot loops of mean shift with a metric per point: one start at a time, all the way up.

Which points are looked at. A point that was at r > reach bandwidths cannot be within reach before
the start has travelled (r - reach) / speed, where ``speed`` is the most bandwidths of that point
that a step of length one can cross. ``wake`` holds that milestone for each point; until then the
point costs one comparison.

Forms are packed or composed, see ``forms``; ``n_bases`` tells which is meant: zero for packed ones.
``kernels`` and ``directions`` are the named tuples of ``forms``, taken whole.
"""

from __future__ import annotations

import numpy as np

from linkshift._core.jit import jit
from linkshift.shift.anisotropic._packed import (
    expand,
    factor,
    product,
    quadratic,
    solve,
    squared_length,
)

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
def lift(x, bases_t, out):  # type: ignore[no-untyped-def]
    """Put the lifted x into ``out``; always in the same order, as ``into_frame``."""
    d, q = bases_t.shape
    if q == 0:
        out[:] = x
        return
    out[:] = 0.0
    for l in range(d):
        v, line = x[l], bases_t[l]
        for k in range(q):
            out[k] += v * line[k]


@jit
def lift_rows(rows, bases_t, out):  # type: ignore[no-untyped-def]
    """Lift each row."""
    for i in range(rows.shape[0]):
        lift(rows[i], bases_t, out[i])


@jit
def squared(x, point, form, n_bases, work):  # type: ignore[no-untyped-def]
    """Return (x - y)' N (x - y) for the lifted x and y; ``work`` has two rows of their length."""
    if n_bases > 0:
        return composed_squared(x, point, form, n_bases)
    difference = work[0]
    for k in range(x.shape[0]):
        difference[k] = x[k] - point[k]
    return quadratic(difference, form, work[1])


@jit
def composed_squared(x, point, form, n_bases):  # type: ignore[no-untyped-def]
    """Weighted sum of squared differences.

    Four sums side by side: each is a chain of additions, and one would wait for itself.
    """
    q = x.shape[0]
    a0 = a1 = a2 = a3 = 0.0
    k = 0
    while k + 4 <= n_bases:
        d0, d1 = x[k] - point[k], x[k + 1] - point[k + 1]
        d2, d3 = x[k + 2] - point[k + 2], x[k + 3] - point[k + 3]
        a0 += form[k] * d0 * d0
        a1 += form[k + 1] * d1 * d1
        a2 += form[k + 2] * d2 * d2
        a3 += form[k + 3] * d3 * d3
        k += 4
    while k < n_bases:
        d0 = x[k] - point[k]
        a0 += form[k] * d0 * d0
        k += 1
    r0 = r1 = r2 = r3 = 0.0
    while k + 4 <= q:
        d0, d1 = x[k] - point[k], x[k + 1] - point[k + 1]
        d2, d3 = x[k + 2] - point[k + 2], x[k + 3] - point[k + 3]
        r0 += d0 * d0
        r1 += d1 * d1
        r2 += d2 * d2
        r3 += d3 * d3
        k += 4
    while k < q:
        d0 = x[k] - point[k]
        r0 += d0 * d0
        k += 1
    return ((a0 + a1) + (a2 + a3)) + form[n_bases] * ((r0 + r1) + (r2 + r3))


@jit
def draw(kernels, start, seat, index, pulls, count, bases, work, target):  # type: ignore[no-untyped-def]
    """Put the sum of pulls times N_j (x_j - start) into ``target``; ``seat`` is the lifted start.

    Composed forms are summed along the directions, and go to the columns once.
    """
    n_bases, d = kernels.n_bases, target.shape[0]
    target[:] = 0.0
    difference, towards = work[0], work[1]
    if n_bases == 0:
        for c in range(count):
            pull = pulls[c]
            if pull > 0.0:
                point = kernels.lifted[index[c]]
                for k in range(d):
                    difference[k] = point[k] - start[k]
                product(kernels.table[index[c]], difference, towards)
                for k in range(d):
                    target[k] += pull * towards[k]
        return
    q = seat.shape[0]
    towards[:] = 0.0
    for c in range(count):
        pull = pulls[c]
        if pull > 0.0:
            form, point = kernels.table[index[c]], kernels.lifted[index[c]]
            for k in range(n_bases):
                towards[k] += pull * form[k] * (point[k] - seat[k])
            ridge = pull * form[n_bases]
            for k in range(n_bases, q):
                towards[k] += ridge * (point[k] - seat[k])
    for k in range(q):
        v, line = towards[k], bases[k]
        for l in range(d):
            target[l] += v * line[l]


@jit
def look(kernels, x, wake, travelled, work, index, log_pull):  # type: ignore[no-untyped-def]
    """Find the points that reach the lifted x.

    Returns their number, the largest log pull, the log of the sum of weights and the log density.
    ``index`` takes the points, ``log_pull`` the logarithms of a_j g(z_j) e_j^2: how much of the
    unit form of point j is in the sum of eq. 4.8.
    """
    kind, reach, floor, n_bases = kernels.kind, kernels.reach, kernels.floor, kernels.n_bases
    lifted, forms, size, speed = kernels.lifted, kernels.table, kernels.size, kernels.speed
    count = 0
    top_pull = -np.inf
    top_weight = -np.inf
    top_factor = -np.inf
    weights = 0.0
    shadows = 0.0
    for j in range(lifted.shape[0]):
        if wake[j] > travelled:
            continue
        z = squared(x, lifted[j], forms[j], n_bases, work)
        r = size[j] * np.sqrt(max(z, 0.0))
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
                shadow = 2.0  # never falls to zero: its exponent goes into the logarithm instead
        elif kind == FLAT:
            log_g = 0.0
            shadow = max(1.0 - z, 0.0)
        else:
            if z >= 1.0:
                continue
            log_g = np.log(1.0 - z)
            shadow = 0.5 * (1.0 - z) * (1.0 - z)
        a = kernels.log_factor[j]
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
        pull = log_weight + kernels.log_size[j]
        top_pull = max(top_pull, pull)
        log_pull[count] = pull
        index[count] = j
        count += 1
    log_weights = top_weight + np.log(weights) if count > 0 else -np.inf
    # On the very edge of the only kernel the density is zero, but the start is not out of reach.
    log_density = top_factor + np.log(max(shadows, _TINY)) if count > 0 else -np.inf
    return count, top_pull, log_weights, log_density


@jit
def gather(forms, index, log_pull, count, top_pull, total):  # type: ignore[no-untyped-def]
    """Sum pulls times forms into ``total``; the pulls replace their logarithms."""
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
def climb_block(kernels, directions, starts, wake, max_iter, tol, budget, state):  # type: ignore[no-untyped-def]
    """Climb each start from where it is (start + moved), at least by one step.

    Goes on until the start rests or so much has come near that new milestones from matrix products
    are cheaper: ``budget`` points more than reach it. Stopping there does not change the steps.
    """
    n, q = kernels.lifted.shape
    d = starts.shape[1]
    bases, bases_t = directions.bases, directions.bases_t
    moved, n_iter = state.moved, state.n_iter
    work, seat, here = np.empty((2, q)), np.empty(q), np.empty(q)
    x, target, step = np.empty(d), np.empty(d), np.empty(d)
    index, log_pull = np.empty(n, dtype=np.int64), np.empty(n)
    matrix = np.empty(d * (d + 1) // 2)
    total = np.empty(kernels.n_bases + 1) if kernels.n_bases > 0 else matrix
    for i in range(starts.shape[0]):
        start = starts[i]
        lift(start, bases_t, seat)
        travelled = 0.0
        count = n
        while n_iter[i] < max_iter:
            if travelled > 0.0 and due(wake[i], travelled) > count + budget:
                break
            for k in range(d):
                x[k] = start[k] + moved[i, k]
            lift(x, bases_t, here)
            count, top_pull, log_weights, state.log_density[i] = look(
                kernels, here, wake[i], travelled, work, index, log_pull
            )
            n_iter[i] += 1
            if count == 0:  # out of every kernel's reach: it stays
                state.converged[i] = True
                break
            gather(kernels.table, index, log_pull, count, top_pull, total)
            # Points as seen from the start: relative to it, the sum of eq. 4.8 is as small as the
            # path made, and loses no digits however far the data reaches.
            draw(kernels, start, seat, index, log_pull, count, bases, work, target)
            if kernels.n_bases > 0:
                expand(total, directions, matrix)
            factor(matrix, d)
            solve(matrix, target)
            length = 0.0
            for k in range(d):
                step[k] = target[k] - moved[i, k]
                moved[i, k] = target[k]
                length += step[k] * step[k]
            travelled += np.sqrt(length)
            if squared_length(matrix, step) * np.exp(top_pull - log_weights) <= tol * tol:
                state.converged[i] = True
                break


@jit
def evaluate_block(kernels, positions, wake, precision, log_density):  # type: ignore[no-untyped-def]
    """Form of the local precision and log density at each lifted position; zero out of reach."""
    n, q = kernels.lifted.shape
    work, index, log_pull = np.empty((2, q)), np.empty(n, dtype=np.int64), np.empty(n)
    for i in range(positions.shape[0]):
        count, top_pull, log_weights, log_density[i] = look(
            kernels, positions[i], wake[i], 0.0, work, index, log_pull
        )
        total = precision[i]
        gather(kernels.table, index, log_pull, count, top_pull, total)
        if count > 0:
            total *= np.exp(top_pull - log_weights)


@jit
def mean_block(kernels, positions, wake, rows, out):  # type: ignore[no-untyped-def]
    """Mean of the rows weighted by the pulls of their points; zero out of reach."""
    n, q = kernels.lifted.shape
    work, index, log_pull = np.empty((2, q)), np.empty(n, dtype=np.int64), np.empty(n)
    for i in range(positions.shape[0]):
        count, top_pull, _, _ = look(kernels, positions[i], wake[i], 0.0, work, index, log_pull)
        mean = out[i]
        mean[:] = 0.0
        weights = 0.0
        for c in range(count):
            pull = np.exp(log_pull[c] - top_pull)
            weights += pull
            row = rows[index[c]]
            for k in range(row.shape[0]):
                mean[k] += pull * row[k]
        if count > 0:
            mean /= weights


@jit
def squared_distances(x, lifted, forms, rows, n_bases, out):  # type: ignore[no-untyped-def]
    """Put (x - x_j)' N_j (x - x_j) into ``out``, j in ``rows``; one N for all, or one each."""
    work = np.empty((2, x.shape[0]))
    for c in range(rows.shape[0]):
        form = forms[0] if forms.shape[0] == 1 else forms[rows[c]]
        out[c] = max(squared(x, lifted[rows[c]], form, n_bases, work), 0.0)


@jit
def steps_block(directions, total, pull, log_ratio, tol, step, arrived):  # type: ignore[no-untyped-def]
    """Solve for the step of each start, given its sum of forms and its pull.

    ``arrived`` tells whether the step is at most ``tol`` by the local precision, which is the sum
    of forms times exp(log_ratio).
    """
    d = pull.shape[1]
    lower = np.empty(d * (d + 1) // 2)
    for i in range(pull.shape[0]):
        if directions.n_bases > 0:
            expand(total[i], directions, lower)
        else:
            lower[:] = total[i]
        step[i] = pull[i]
        factor(lower, d)
        solve(lower, step[i])
        arrived[i] = squared_length(lower, step[i]) * np.exp(log_ratio[i]) <= tol * tol
