"""The hot loops of mean shift with a metric per point: one start at a time, all the way up.

Layout. A symmetric matrix is packed by the rows of its lower triangle, so that every inner loop
begins at nought and adds a multiple of one row to another: such loops are vectorised without any
sum being reordered. Each start is climbed by itself, in the order of the points: neither the
other starts nor the number of threads can change a bit.

Which points are looked at. A point that was at r > reach bandwidths cannot be within reach before
the start has travelled (r - reach) / speed, where ``speed`` is the most bandwidths of that point
that a step of length one can cross. ``wake`` holds that milestone for each point; until then the
point costs one comparison.

Two kinds of forms. ``n_bases`` tells which one is meant wherever a form is used.

- Packed (``n_bases`` is nought): a form is a packed matrix, a lifted position the position itself.
- Composed of K directions that all forms share: a form is K weights and the weight of the ridge, a
  lifted position u the K coordinates along the directions and then the d of the ridge, so that a
  squared distance is a weighted sum of squares of u - u_j. ``bases`` holds all K + d directions,
  ``bases_t`` the same transposed, ``stack`` the K ones with rows of noughts to a multiple of
  ``STACK``, ``ridge_form`` the packed sum of the outer products of the last d.
"""

from __future__ import annotations

import numpy as np

from linkshift._core.jit import jit

FLAT = 0
LINEAR = 1
EXPONENTIAL = 2

_SLACK = 1.0 - 1e-9  # milestones are set a hair too early, so that rounding cannot miss a point
_TINY = 2.2250738585072014e-308
STACK = 8  # directions that go into a sum of outer products in one pass over it
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
def squared(x, point, form, difference, work, n_bases):  # type: ignore[no-untyped-def]
    """Return (x - y)' N (x - y) for the lifted x and y."""
    if n_bases > 0:
        return composed_squared(x, point, form, n_bases)
    for k in range(x.shape[0]):
        difference[k] = x[k] - point[k]
    return quadratic(difference, form, work)


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
def expand(coefficients, n_bases, stack, ridge_form, out):  # type: ignore[no-untyped-def]
    """Put the packed matrix of a composed form into ``out``: a sum of outer products.

    Several directions at a time: each pass over ``out`` then does more than load and store.
    """
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
def draw(forms, lifted, seat, index, pulls, count, n_bases, bases, work, target):  # type: ignore[no-untyped-def]
    """Put the sum of pulls times N_j (x_j - seat) into ``target``, for composed forms.

    It is summed along the directions, and goes to the columns once.
    """
    q = seat.shape[0]
    work[:] = 0.0
    for c in range(count):
        pull = pulls[c]
        if pull > 0.0:
            form, point = forms[index[c]], lifted[index[c]]
            for k in range(n_bases):
                work[k] += pull * form[k] * (point[k] - seat[k])
            ridge = pull * form[n_bases]
            for k in range(n_bases, q):
                work[k] += ridge * (point[k] - seat[k])
    target[:] = 0.0
    for k in range(q):
        v, line = work[k], bases[k]
        for l in range(target.shape[0]):
            target[l] += v * line[l]


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
    kind, reach, floor, x, lifted, forms, size, log_size, log_factor, speed, wake, travelled,
    n_bases, difference, work, index, log_pull
):  # fmt: skip
    """Find the points that reach the lifted x.

    Returns their number, the largest log pull, the log of the sum of weights and the log density.
    ``index`` takes the points, ``log_pull`` the logarithms of a_j g(z_j) e_j^2: how much of the
    unit form of point j is in the sum of eq. 4.8.
    """
    count = 0
    top_pull = -np.inf
    top_weight = -np.inf
    top_factor = -np.inf
    weights = 0.0
    shadows = 0.0
    for j in range(lifted.shape[0]):
        if wake[j] > travelled:
            continue
        z = squared(x, lifted[j], forms[j], difference, work, n_bases)
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
def climb_block(  # type: ignore[no-untyped-def]
    kind, reach, floor, starts, lifted, forms, size, log_size, log_factor, speed,
    n_bases, bases, bases_t, stack, ridge_form, wake,
    max_iter, tol, budget, way, log_density, resting, converged, n_iter
):  # fmt: skip
    """Climb each start from where it is (start + way), at least by one step.

    Goes on until the start rests or so much has come near that new milestones from matrix products
    are cheaper: ``budget`` points more than reach it. Stopping there does not change the steps.
    """
    n, q = lifted.shape
    d = starts.shape[1]
    difference, work, seat, here = np.empty(q), np.empty(q), np.empty(q), np.empty(q)
    x, target, step = np.empty(d), np.empty(d), np.empty(d)
    index, log_pull = np.empty(n, dtype=np.int64), np.empty(n)
    matrix = np.empty(d * (d + 1) // 2)
    total = np.empty(n_bases + 1) if n_bases > 0 else matrix
    # Points as seen from the start: N_j (x_j - start). Relative to the start, the sum of eq. 4.8
    # is as small as the way made, and loses no digits however far the data reaches. For packed
    # forms they are kept; those of composed ones are as soon made as loaded.
    seen = np.full(n, -1, dtype=np.int64)
    drawn = np.empty((0 if n_bases > 0 else n, d))
    for i in range(starts.shape[0]):
        start = starts[i]
        lift(start, bases_t, seat)
        travelled = 0.0
        count = n
        while n_iter[i] < max_iter:
            if travelled > 0.0 and due(wake[i], travelled) > count + budget:
                break
            for k in range(d):
                x[k] = start[k] + way[i, k]
            lift(x, bases_t, here)
            count, top_pull, log_weights, log_density[i] = look(
                kind, reach, floor, here, lifted, forms, size, log_size, log_factor, speed,
                wake[i], travelled, n_bases, difference, work, index, log_pull
            )  # fmt: skip
            n_iter[i] += 1
            if count == 0:  # out of every kernel's reach: it stays
                resting[i] = converged[i] = True
                break
            gather(forms, index, log_pull, count, top_pull, total)
            if n_bases > 0:
                expand(total, n_bases, stack, ridge_form, matrix)
                draw(forms, lifted, seat, index, log_pull, count, n_bases, bases, work, target)
            else:
                target[:] = 0.0
                for c in range(count):
                    pull = log_pull[c]
                    if pull > 0.0:
                        j = index[c]
                        towards = drawn[j]
                        if seen[j] != i:
                            seen[j] = i
                            point = lifted[j]
                            for k in range(d):
                                difference[k] = point[k] - start[k]
                            product(forms[j], difference, towards)
                        for k in range(d):
                            target[k] += pull * towards[k]
            factor(matrix, d)
            solve(matrix, target)
            length = 0.0
            for k in range(d):
                step[k] = target[k] - way[i, k]
                way[i, k] = target[k]
                length += step[k] * step[k]
            travelled += np.sqrt(length)
            if squared_length(matrix, step) * np.exp(top_pull - log_weights) <= tol * tol:
                resting[i] = converged[i] = True
                break
        if n_iter[i] >= max_iter:
            resting[i] = True


@jit
def evaluate_block(  # type: ignore[no-untyped-def]
    kind, reach, floor, positions, lifted, forms, size, log_size, log_factor, speed,
    n_bases, wake, precision, log_density
):  # fmt: skip
    """Form of the local precision and log density at each lifted position; nought out of reach."""
    n, q = lifted.shape
    difference, work = np.empty(q), np.empty(q)
    index, log_pull = np.empty(n, dtype=np.int64), np.empty(n)
    for i in range(positions.shape[0]):
        count, top_pull, log_weights, log_density[i] = look(
            kind, reach, floor, positions[i], lifted, forms, size, log_size, log_factor, speed,
            wake[i], 0.0, n_bases, difference, work, index, log_pull
        )  # fmt: skip
        total = precision[i]
        gather(forms, index, log_pull, count, top_pull, total)
        if count > 0:
            total *= np.exp(top_pull - log_weights)


@jit
def mean_block(  # type: ignore[no-untyped-def]
    kind, reach, floor, positions, lifted, forms, size, log_size, log_factor, speed,
    n_bases, wake, rows, out
):  # fmt: skip
    """Mean of the rows weighted by the pulls of their points; nought out of reach."""
    n, q = lifted.shape
    difference, work = np.empty(q), np.empty(q)
    index, log_pull = np.empty(n, dtype=np.int64), np.empty(n)
    for i in range(positions.shape[0]):
        count, top_pull, _, _ = look(
            kind, reach, floor, positions[i], lifted, forms, size, log_size, log_factor, speed,
            wake[i], 0.0, n_bases, difference, work, index, log_pull
        )  # fmt: skip
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
    q = x.shape[0]
    difference, work = np.empty(q), np.empty(q)
    for c in range(rows.shape[0]):
        form = forms[0] if forms.shape[0] == 1 else forms[rows[c]]
        out[c] = max(squared(x, lifted[rows[c]], form, difference, work, n_bases), 0.0)


@jit
def steps_block(  # type: ignore[no-untyped-def]
    total, pull, log_ratio, tol, n_bases, stack, ridge_form, step, arrived
):  # fmt: skip
    """Solve for the step of each start, given its sum of forms and its pull.

    ``arrived`` tells whether the step is at most ``tol`` by the local precision, which is the sum
    of forms times exp(log_ratio).
    """
    d = pull.shape[1]
    lower = np.empty(d * (d + 1) // 2)
    for i in range(pull.shape[0]):
        if n_bases > 0:
            expand(total[i], n_bases, stack, ridge_form, lower)
        else:
            lower[:] = total[i]
        step[i] = pull[i]
        factor(lower, d)
        solve(lower, step[i])
        arrived[i] = squared_length(lower, step[i]) * np.exp(log_ratio[i]) <= tol * tol
