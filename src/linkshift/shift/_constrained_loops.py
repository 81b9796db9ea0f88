"""The hot loops of constrained mean shift: near lists, and one step under cannot-links.

Centres are distinct (coincident trajectories have been merged), links are distinct pairs of
centres with a multiplicity, and samples know the centre of their own trajectory. Everything a
truncated kernel excludes is skipped; nothing of size n x n is stored.
"""

from __future__ import annotations

import numpy as np

from linkshift.shift._jit import jit
from linkshift.shift._loops import BLOCK, EXPONENTIAL, exp2


@jit
def _profile(kind, u, slope):  # type: ignore[no-untyped-def]
    """Kernel weight inside its reach: 2**(slope * u), or one for the flat kernel."""
    if kind == EXPONENTIAL:
        return exp2(max(slope * u, slope * 0 - 1000))
    return u * 0 + 1


@jit
def near_lists(  # type: ignore[no-untyped-def]
    kind, centres, box_low, box_high, ends, width, slope, reach, index, value, start, fill
):
    """Centres near each link end, with their closeness k(|t - t_end|^2 / h_c^2).

    List e runs from ``start[e]`` to ``start[e + 1]``. Called twice: with ``fill`` false it
    counts into ``start[e + 1]``, with ``fill`` true it writes ``index`` and ``value``.
    """
    n, d = centres.shape
    for e in range(ends.shape[0]):
        x = ends[e]
        limit = reach * width[e] * width[e]
        found = 0
        for block in range(box_low.shape[0]):
            least = 0.0
            for k in range(d):
                gap = max(box_low[block, k] - centres[x, k], centres[x, k] - box_high[block, k])
                if gap > 0:
                    least += gap * gap
            if least > limit:
                continue
            for i in range(block * BLOCK, min((block + 1) * BLOCK, n)):
                distance = 0.0
                for k in range(d):
                    distance += (centres[i, k] - centres[x, k]) ** 2
                if distance < limit or i == x:
                    if fill:
                        index[start[e] + found] = i
                        value[start[e] + found] = _profile(
                            kind, distance / (width[e] * width[e]), slope
                        )
                    found += 1
        if not fill:
            start[e + 1] = found


@jit
def constrained_sums(  # type: ignore[no-untyped-def]
    kind,
    centres,
    samples,
    owner,
    box_low,
    box_high,
    h,
    slope,
    reach,
    list_start,
    list_index,
    list_value,
    row_start,
    row_list,
    row_value,
    partner_far,
    confidence,
    multiplicity,
    radius,
    ends,
    first,
    last,
    sums,
    total,
):
    """Weighted sums for the centres ``first`` to ``last``: eq. 3.1 with the weights of eq. 4.3.

    Lists 2p and 2p + 1 are the two ends of link p. ``row_list`` holds, for each centre, the lists
    it is on: the samples it must keep away from are those owned by centres on the list of the
    other end. ``partner_far`` is how far the samples behind a list can be from its end.
    """
    d = centres.shape[1]
    n_samples = samples.shape[1]
    weight = np.ones(centres.shape[0])
    w = np.empty(BLOCK, centres.dtype)
    u = np.empty(BLOCK, centres.dtype)
    acc = np.empty((d, BLOCK), centres.dtype)
    acc_total = np.empty(BLOCK, centres.dtype)
    changed = np.empty(centres.shape[0], np.int64)
    is_changed = np.zeros(centres.shape[0], np.bool_)
    limit = reach * h * h
    scale = slope / (h * h)
    for i in range(first, last):
        n_changed = 0
        for r in range(row_start[i], row_start[i + 1]):
            other = row_list[r] ^ 1
            end = ends[other]
            distance = 0.0
            for k in range(d):
                distance += (centres[i, k] - centres[end, k]) ** 2
            if distance > partner_far[other]:
                continue
            p = other >> 1
            closeness = row_value[r] * confidence[p]
            m = multiplicity[p]
            for q in range(list_start[other], list_start[other + 1]):
                j = list_index[q]
                factor = 1.0 - closeness * list_value[q]
                if m > 1:
                    factor = factor**m
                weight[j] *= factor
                if not is_changed[j]:
                    is_changed[j] = True
                    changed[n_changed] = j
                    n_changed += 1
        acc[:] = 0
        acc_total[:] = 0
        for block in range(box_low.shape[0]):
            least = 0.0
            for k in range(d):
                gap = max(box_low[block, k] - centres[i, k], centres[i, k] - box_high[block, k])
                if gap > 0:
                    least += gap * gap
            if least > limit:
                continue
            j0 = block * BLOCK
            used = min(BLOCK, n_samples - j0)
            for b in range(used):
                u[b] = 0
            for k in range(d):
                s = centres[i, k]
                for b in range(used):
                    u[b] += (s - samples[k, j0 + b]) * (s - samples[k, j0 + b])
            for b in range(used):
                g = exp2(max(scale * u[b], -1000.0)) if kind == EXPONENTIAL else 1.0
                w[b] = g if u[b] < limit else 0.0
            for b in range(used):
                w[b] *= weight[owner[j0 + b]]
            for b in range(used):
                acc_total[b] += w[b]
            for k in range(d):
                for b in range(used):
                    acc[k, b] += w[b] * samples[k, j0 + b]
        total[i] = acc_total.sum()
        for k in range(d):
            sums[i, k] = acc[k].sum()
        for q in range(n_changed):
            weight[changed[q]] = 1.0
            is_changed[changed[q]] = False
