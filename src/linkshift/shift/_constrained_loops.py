"""The hot loops of constrained mean shift: who is near a link, and one step under cannot-links.

Centres are distinct (trajectories that have met move as one), links are distinct pairs of centres
with a multiplicity, and each sample knows the centre of its own trajectory. The centres near an end
of a link form a list; ends at the same centre with the same bandwidth share theirs.

As in ``_loops``, the work is done for 64 centres at a time, neighbours that mostly see the same
links. For such a block it is first found out which samples each of them reaches, as one bit for
each of the 64; the weights of eq. 4.3 are then multiplied up only where a bit is set, and nothing
of size n x n is stored. All in float64: weights are products that may come close to nought.
"""

from __future__ import annotations

import numpy as np

from linkshift.shift._jit import jit, jit_inline
from linkshift.shift._loops import BLOCK, EXPONENTIAL, exp2

# From this many near centres in a block on, all 64 are treated at once.
_MANY = 8


@jit_inline
def _squared_distances(columns, position, out):  # type: ignore[no-untyped-def]
    """out[b] = squared distance of ``position`` to column b of a block."""
    s = position[0]
    for b in range(BLOCK):
        out[b] = (columns[0, b] - s) * (columns[0, b] - s)
    for k in range(1, columns.shape[0]):
        s = position[k]
        for b in range(BLOCK):
            out[b] += (columns[k, b] - s) * (columns[k, b] - s)


@jit_inline
def _closeness(kind, columns, position, slope, limit, out):  # type: ignore[no-untyped-def]
    """out[b] = k(|t_b - position|^2 / h^2) for the columns of a block; returns the largest."""
    _squared_distances(columns, position, out)
    if kind == EXPONENTIAL:
        for b in range(BLOCK):
            u = out[b]
            g = exp2(slope * u)
            out[b] = g if u < limit else 0.0
    else:
        for b in range(BLOCK):
            out[b] = 1.0 if out[b] < limit else 0.0
    top = 0.0
    for b in range(BLOCK):
        top = max(top, out[b])
    return top


@jit_inline
def _box_distance(low, high, position):  # type: ignore[no-untyped-def]
    """Return the least squared distance between a box and a position."""
    least = 0.0
    for k in range(low.shape[0]):
        gap = max(low[k] - position[k], position[k] - high[k])
        if gap > 0:
            least += gap * gap
    return least


@jit
def count_lists(  # type: ignore[no-untyped-def]
    blocks, box_low, box_high, centres, ends, limit, rank, first, last
):
    """Count the centres within ``limit`` (squared) of each end, for ends ``first`` to ``last``.

    ``rank[e, w]`` counts those in the blocks before block w. Padding columns lie beyond every
    limit.
    """
    u = np.empty(BLOCK)
    for e in range(first, last):
        position = centres[ends[e]]
        found = 0
        for block in range(blocks.shape[0]):
            rank[e, block] = found
            if _box_distance(box_low[block], box_high[block], position) < limit[e]:
                _squared_distances(blocks[block], position, u)
                here = 0
                for b in range(BLOCK):
                    here += 1 if u[b] < limit[e] else 0
                found += here
        rank[e, blocks.shape[0]] = found


@jit
def fill_lists(  # type: ignore[no-untyped-def]
    kind, blocks, centres, ends, slope, limit, rank, start, index, value, first, last
):
    """Write the members of each list, in ascending order, and their closeness to the end."""
    close = np.empty(BLOCK)
    for e in range(first, last):
        position = centres[ends[e]]
        for block in range(blocks.shape[0]):
            place = start[e] + rank[e, block]
            if rank[e, block + 1] == rank[e, block]:
                continue
            _closeness(kind, blocks[block], position, slope[e], limit[e], close)
            for b in range(BLOCK):
                if close[b] > 0.0:
                    index[place] = block * BLOCK + b
                    value[place] = close[b]
                    place += 1


@jit_inline
def _times_power(weight, j, close, v, power, factor):  # type: ignore[no-untyped-def]
    """weight[j, b] *= (1 - close[b] v) ** power for a whole block, by squaring."""
    if power == 1:
        for b in range(BLOCK):
            weight[j, b] *= 1.0 - close[b] * v
    else:
        for b in range(BLOCK):
            factor[b] = 1.0 - close[b] * v
        while power > 0:
            if power & 1:
                for b in range(BLOCK):
                    weight[j, b] *= factor[b]
            power >>= 1
            if power > 0:
                for b in range(BLOCK):
                    factor[b] *= factor[b]


@jit
def _link_weights(  # type: ignore[no-untyped-def]
    block,
    low,
    high,
    centres,
    link_lists,
    list_end,
    behind,
    confidence,
    multiplicity,
    rank,
    start,
    index,
    value,
    reached,
    weight,
):
    """Multiply into ``weight[j, b]`` the factors of eq. 4.2, for the 64 centres of a block.

    Link p keeps the centres on its one list away from samples of the centres on its other list,
    and the other way round. Bit b of ``reached[j]`` says whether centre b of the block reaches a
    sample of centre j; where it does not, the weight is not wanted.
    """
    close = np.empty(BLOCK)
    factor = np.empty(BLOCK)
    one = np.uint64(1)
    for side in range(2 * link_lists.shape[0]):
        p = side >> 1
        own, other = link_lists[p, side & 1], link_lists[p, 1 - (side & 1)]
        here = start[own] + rank[own, block]
        n_here = rank[own, block + 1] - rank[own, block]
        if n_here == 0:
            continue
        if _box_distance(low, high, centres[list_end[other]]) > behind[other]:
            continue
        sure = confidence[p]
        power = multiplicity[p]
        if n_here >= _MANY:
            close[:] = 0.0
            lanes = np.uint64(0)
            for q in range(here, here + n_here):
                b = index[q] - block * BLOCK
                close[b] = sure * value[q]
                lanes |= one << np.uint64(b)
            for q in range(start[other], start[other + 1]):
                if reached[index[q]] & lanes:
                    _times_power(weight, index[q], close, value[q], power, factor)
            continue
        for r in range(here, here + n_here):
            b = index[r] - block * BLOCK
            lane = one << np.uint64(b)
            c = sure * value[r]
            for q in range(start[other], start[other + 1]):
                if reached[index[q]] & lane:
                    single = 1.0 - c * value[q]
                    weight[index[q], b] *= single if power == 1 else single**power


@jit
def _reach_samples(  # type: ignore[no-untyped-def]
    kind, columns, low, high, samples, owner, h_slope, h_limit, active, kernel, reached
):
    """Find the samples that a block of centres reaches, with their kernel values.

    Row a of ``kernel`` belongs to sample ``active[a]``. Returns the number of such samples.
    """
    reached[:] = np.uint64(0)
    n_active = 0
    for s in range(samples.shape[0]):
        if _box_distance(low, high, samples[s]) >= h_limit:
            continue
        if _closeness(kind, columns, samples[s], h_slope, h_limit, kernel[n_active]) == 0.0:
            continue
        bits = np.uint64(0)
        for b in range(BLOCK):
            if kernel[n_active, b] > 0.0:
                bits |= np.uint64(1) << np.uint64(b)
        reached[owner[s]] |= bits
        active[n_active] = s
        n_active += 1
    return n_active


@jit
def constrained_sums(  # type: ignore[no-untyped-def]
    kind,
    blocks,
    box_low,
    box_high,
    centres,
    samples,
    mass,
    owner,
    h_slope,
    h_limit,
    link_lists,
    list_end,
    behind,
    confidence,
    multiplicity,
    rank,
    start,
    index,
    value,
    first,
    last,
    sums,
    total,
):
    """Weighted sums for the blocks of centres ``first`` to ``last``: eq. 3.1 with eq. 4.3.

    ``behind[l]`` is the squared distance from the end of list l beyond which no sample of a
    centre on the list is within the kernel's reach.
    """
    n, d = centres.shape
    n_samples = samples.shape[0]
    weight = np.empty((n, BLOCK))
    reached = np.empty(n, np.uint64)
    kernel = np.empty((n_samples, BLOCK))
    active = np.empty(n_samples, np.int64)
    block_sums = np.empty((d, BLOCK))
    block_total = np.empty(BLOCK)
    for block in range(first, last):
        low, high = box_low[block], box_high[block]
        n_active = _reach_samples(
            kind,
            blocks[block],
            low,
            high,
            samples,
            owner,
            h_slope,
            h_limit,
            active,
            kernel,
            reached,
        )
        for j in range(n):
            if reached[j]:
                for b in range(BLOCK):
                    weight[j, b] = 1.0
        _link_weights(
            block,
            low,
            high,
            centres,
            link_lists,
            list_end,
            behind,
            confidence,
            multiplicity,
            rank,
            start,
            index,
            value,
            reached,
            weight,
        )
        block_sums[:] = 0.0
        block_total[:] = 0.0
        for a in range(n_active):
            s = active[a]
            j = owner[s]
            amount = mass[s]
            for b in range(BLOCK):
                kernel[a, b] *= amount * weight[j, b]
                block_total[b] += kernel[a, b]
            for k in range(d):
                x = samples[s, k]
                for b in range(BLOCK):
                    block_sums[k, b] += kernel[a, b] * x
        for b in range(min(BLOCK, n - block * BLOCK)):
            total[block * BLOCK + b] = block_total[b]
            for k in range(d):
                sums[block * BLOCK + b, k] = block_sums[k, b]
