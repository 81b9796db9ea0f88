"""The hot loops of constrained mean shift: who is near a link, and one step under cannot-links.

Centres are distinct (trajectories that have met move as one), links are distinct pairs of centres
with a multiplicity, and each sample knows the centre of its own trajectory. The centres near an end
of a link form a list; ends at the same centre with the same bandwidth share theirs.

As in ``_loops``, the work is done for 64 centres at a time, neighbours that mostly see the same
links. The weights of eq. 4.3 are symmetric, w_ij = w_ji, so they are made once for each tile of
64 x 64 centres and serve both ways round; nothing of size n x n is stored. For a tile it is first
found out which samples each centre reaches, as one bit for each of the 64; weights are multiplied
up only where a bit is set. All in float64: weights are products that may come close to zero.
"""

from __future__ import annotations

import numpy as np

from linkshift._core.exp2 import exp2
from linkshift._core.jit import jit, jit_inline
from linkshift.shift._loops import BLOCK, EXPONENTIAL

_WAITING = 32  # sides of links that wait to be multiplied in: a multiple of four


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
    """out[b] = k(|t_b - position|^2 / h^2) for the columns of a block; returns how many are not 0.

    Half of the coordinates often show that all are too far; ``out`` is then not filled in.
    """
    d = columns.shape[0]
    half = d // 2 if d > 4 else d
    s = position[0]
    for b in range(BLOCK):
        out[b] = (columns[0, b] - s) * (columns[0, b] - s)
    for k in range(1, half):
        s = position[k]
        for b in range(BLOCK):
            out[b] += (columns[k, b] - s) * (columns[k, b] - s)
    within = 0  # counted, because a smallest float is not found in lanes without fast-math
    for b in range(BLOCK):
        within += 1 if out[b] < limit else 0
    if within == 0:
        return 0
    if half < d:
        for k in range(half, d):
            s = position[k]
            for b in range(BLOCK):
                out[b] += (columns[k, b] - s) * (columns[k, b] - s)
        within = 0
        for b in range(BLOCK):
            within += 1 if out[b] < limit else 0
        if within == 0:
            return 0
    if kind == EXPONENTIAL:
        for b in range(BLOCK):
            u = out[b]
            g = exp2(slope * u)
            out[b] = g if u < limit else 0.0
    else:
        for b in range(BLOCK):
            out[b] = 1.0 if out[b] < limit else 0.0
    return within


@jit_inline
def _bits_below(u, limit):  # type: ignore[no-untyped-def]
    """Bit b says whether u[b] < limit."""
    bits = np.uint64(0)
    for b in range(BLOCK):
        bits |= np.uint64(u[b] < limit) << np.uint64(b)
    return bits


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
def mark_lists(blocks, centres, end, limit, first, last, mask, rank):  # type: ignore[no-untyped-def]
    """Mark the centres within ``limit[l]`` (squared) of ``centres[end[l]]``, lists first to last.

    Bit b of ``mask[w, l]`` stands for centre b of block w; ``rank[w, l]`` counts those in
    blocks before w, and has one row more. Lists are ordered by end, then by limit, so that
    distances are taken once for each end. Padding columns lie beyond every limit.
    """
    u = np.empty(BLOCK)
    place = first
    while place < last:
        behind = place + 1
        while behind < last and end[behind] == end[place]:
            behind += 1
        position = centres[end[place]]
        for e in range(place, behind):
            rank[0, e] = 0
        for w in range(blocks.low.shape[0]):
            for e in range(place, behind):
                mask[w, e] = np.uint64(0)
                rank[w + 1, e] = rank[w, e]
            if _box_distance(blocks.low[w], blocks.high[w], position) >= limit[behind - 1]:
                continue
            _squared_distances(blocks.columns[w], position, u)
            for e in range(place, behind):
                within = 0
                for b in range(BLOCK):
                    within += 1 if u[b] < limit[e] else 0
                if within > 0:
                    mask[w, e] = _bits_below(u, limit[e])
                    rank[w + 1, e] += within
        place = behind


@jit
def fill_lists(kind, blocks, centres, end, slope, near, begin, stop, first, last):  # type: ignore[no-untyped-def]
    """Write the members of each list, in ascending order, and their closeness to the end.

    Those in blocks ``begin`` to ``stop``, of lists ``first`` to ``last``.
    """
    close = np.empty(BLOCK)
    for e in range(first, last):
        position = centres[end[e]]
        for w in range(begin, stop):
            bits = near.mask[w, e]
            if bits == 0:
                continue
            if kind == EXPONENTIAL:
                _squared_distances(blocks.columns[w], position, close)
                for b in range(BLOCK):
                    close[b] = exp2(slope[e] * close[b])
            else:
                close[:] = 1.0
            place = near.start[e] + near.rank[w, e]
            for b in range(BLOCK):
                if bits >> np.uint64(b) & np.uint64(1):
                    near.member[place] = w * BLOCK + b
                    near.value[place] = close[b]
                    place += 1


@jit_inline
def _times_waiting(weight, close, which, amount, waiting):  # type: ignore[no-untyped-def]
    """Multiply (1 - close[s] v) into the rows of ``weight`` for all that waits, four at a time.

    Row j waits for ``waiting[j]`` factors, each with a row s = ``which[j, e]`` of ``close`` and
    a v = ``amount[j, e]``. Four at a time, because a weight then is read and written once for
    four factors.
    """
    for j in range(BLOCK):
        n = waiting[j]
        if n == 0:
            continue
        for e in range(n, n + (-n) % 4):
            which[j, e] = 0
            amount[j, e] = 0.0  # a factor of one
        for e in range(0, n, 4):
            s0, s1, s2, s3 = which[j, e], which[j, e + 1], which[j, e + 2], which[j, e + 3]
            v0, v1, v2, v3 = amount[j, e], amount[j, e + 1], amount[j, e + 2], amount[j, e + 3]
            for b in range(BLOCK):
                weight[j, b] *= (
                    (1.0 - close[s0, b] * v0)
                    * (1.0 - close[s1, b] * v1)
                    * ((1.0 - close[s2, b] * v2) * (1.0 - close[s3, b] * v3))
                )
        waiting[j] = 0


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
def _reach_samples(reach, blocks, w, samples, v, active, kernel, reached):  # type: ignore[no-untyped-def]
    """Find which samples of the centres of block v the centres of block w reach.

    Row a of ``kernel`` has the kernel values of sample ``active[a]``. Bit b of ``reached[j]`` says
    whether centre b of block w reaches a sample of centre j of block v. Returns the number of
    samples reached.
    """
    columns, low, high = blocks.columns[w], blocks.low[w], blocks.high[w]
    position, owner, base = samples.position, samples.owner, v * BLOCK
    reached[:] = np.uint64(0)
    n_active = 0
    for s in range(samples.start[v], samples.start[v + 1]):
        if _box_distance(low, high, position[s]) >= reach.limit:
            continue
        if (
            _closeness(reach.kind, columns, position[s], reach.slope, reach.limit, kernel[n_active])
            == 0
        ):
            continue
        bits = np.uint64(0)
        for b in range(BLOCK):
            bits |= np.uint64(kernel[n_active, b] > 0.0) << np.uint64(b)
        reached[owner[s] - base] |= bits
        active[n_active] = s
        n_active += 1
    return n_active


@jit
def _tile_weights(w, v, sides, links, tiles, wanted, weight):  # type: ignore[no-untyped-def]
    """Multiply the factors of eq. 4.2 into ``weight[j, b]``: centre b of block w, j of v.

    Link p keeps the centres on its one list away from samples of the centres on its other list,
    and the other way round: its two sides. ``sides`` are those whose own list has centres of
    block w. Where bit b of ``wanted[j]`` is not set the weight is not wanted.
    """
    mask, rank, own_start, own_index, own_value = tiles.own
    _, _, start, index, value = tiles.other
    close, factor = np.empty((_WAITING, BLOCK)), np.empty(BLOCK)
    which, amount = np.empty((BLOCK, _WAITING), np.int64), np.empty((BLOCK, _WAITING))
    waiting = np.zeros(BLOCK, np.int64)
    n_close = 0
    wanted_lanes, wanted_rows = np.uint64(0), np.uint64(0)
    for j in range(BLOCK):
        wanted_lanes |= wanted[j]
        wanted_rows |= np.uint64(wanted[j] != 0) << np.uint64(j)
    for t in range(sides.shape[0]):
        p, turn = sides[t] >> 1, sides[t] & 1
        own, other = links.ends[p, turn], links.ends[p, 1 - turn]
        lanes = mask[w, own]
        if not (mask[v, other] & wanted_rows and lanes & wanted_lanes):
            continue
        there, end = start[other] + rank[v, other], start[other] + rank[v + 1, other]
        here, stop = own_start[own] + rank[w, own], own_start[own] + rank[w + 1, own]
        confidence = links.confidence[p]
        power = links.multiplicity[p]
        close[n_close] = 0.0
        for q in range(here, stop):
            close[n_close, own_index[q] - w * BLOCK] = confidence * own_value[q]
        if power > 1:
            for q in range(there, end):
                j = index[q] - v * BLOCK
                if wanted[j] & lanes:
                    _times_power(weight, j, close[n_close], value[q], power, factor)
            continue
        for q in range(there, end):
            j = index[q] - v * BLOCK
            if wanted[j] & lanes:
                which[j, waiting[j]] = n_close
                amount[j, waiting[j]] = value[q]
                waiting[j] += 1
        n_close += 1
        if n_close == _WAITING:
            _times_waiting(weight, close, which, amount, waiting)
            n_close = 0
    _times_waiting(weight, close, which, amount, waiting)


@jit_inline
def _add_samples(samples, base, active, n_active, kernel, weight, sums, total):  # type: ignore[no-untyped-def]
    """Add k w m x of each sample to sums[:, b], and k w m to total[b]."""
    for a in range(n_active):
        s = active[a]
        j = samples.owner[s] - base
        amount = samples.mass[s]
        for b in range(BLOCK):
            kernel[a, b] *= amount * weight[j, b]
            total[b] += kernel[a, b]
        for k in range(samples.position.shape[1]):
            x = samples.position[s, k]
            for b in range(BLOCK):
                sums[k, b] += kernel[a, b] * x


@jit
def constrained_sums(reach, blocks, samples, links, tiles, first, stride, sums, total):  # type: ignore[no-untyped-def]
    """Weighted sums of eq. 3.1 with eq. 4.3, for tiles in the rows ``first``, + ``stride``, ...

    Only pairs of blocks that are among ``tiles``. Adds to ``sums[w, k, b]`` and ``total[w, b]``,
    centre b of block w.
    """
    n_blocks = blocks.low.shape[0]
    most = 0
    for w in range(n_blocks):
        most = max(most, samples.start[w + 1] - samples.start[w])
    weight, turned = np.empty((BLOCK, BLOCK)), np.empty((BLOCK, BLOCK))
    kernel, kernel_back = np.empty((most, BLOCK)), np.empty((most, BLOCK))
    active, active_back = np.empty(most, np.int64), np.empty(most, np.int64)
    reached, reached_back = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
    sides = np.empty(2 * links.ends.shape[0], np.int64)
    one = np.uint64(1)
    # The first row, from ``first`` in strides, that is among the tiles.
    begin = first + max(0, -(-(tiles.first - first) // stride)) * stride
    for w in range(begin, tiles.last, stride):
        n_sides = 0
        for side in range(sides.shape[0]):
            own = links.ends[side >> 1, side & 1]
            if tiles.own.mask[w, own]:
                sides[n_sides] = side
                n_sides += 1
        for v in range(max(w, tiles.begin), tiles.end):
            n_active = _reach_samples(reach, blocks, w, samples, v, active, kernel, reached)
            n_back = 0
            if v > w:
                n_back = _reach_samples(
                    reach, blocks, v, samples, w, active_back, kernel_back, reached_back
                )
            if n_active == 0 and n_back == 0:
                continue
            if n_back > 0:
                for b in range(BLOCK):
                    for j in range(BLOCK):
                        if reached_back[b] >> np.uint64(j) & one:
                            reached[j] |= one << np.uint64(b)
            weight[:] = 1.0
            _tile_weights(w, v, sides[:n_sides], links, tiles, reached, weight)
            _add_samples(samples, v * BLOCK, active, n_active, kernel, weight, sums[w], total[w])
            if n_back > 0:
                for j in range(BLOCK):
                    for b in range(BLOCK):
                        turned[b, j] = weight[j, b]
                _add_samples(
                    samples, w * BLOCK, active_back, n_back, kernel_back, turned, sums[v], total[v]
                )


@jit
def multiply_weights(links, near, weight):  # type: ignore[no-untyped-def]
    """Multiply the factors of eq. 4.2 into the weights between every two centres.

    Link (x, y) takes weight between i, near x, and j, near y; link (y, x) between j and i.
    """
    start, member, value = near.start, near.member, near.value
    count = near.rank[near.rank.shape[0] - 1]
    for p in range(links.ends.shape[0]):
        x, y = links.ends[p, 0], links.ends[p, 1]
        for q in range(start[x], start[x] + count[x]):
            amount = links.confidence[p] * value[q]
            for r in range(start[y], start[y] + count[y]):
                factor = (1.0 - amount * value[r]) ** links.multiplicity[p]
                weight[member[q], member[r]] *= factor
                weight[member[r], member[q]] *= factor
