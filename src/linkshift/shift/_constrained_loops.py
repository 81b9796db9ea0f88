"""The hot loops of constrained mean shift: who is near a link, and one step under cannot-links.

Centres are distinct (trajectories that have met move as one), links are distinct pairs of centres
with a multiplicity, and each sample knows the centre of its own trajectory. Link p has two ends,
2p and 2p + 1; the centres near an end form its list.

The weight of eq. 4.3 is wanted only where the kernel is not nought. For one centre at a time, the
centres whose samples it reaches are a bit mask, and so is every list: the few factors that matter
are the common bits. Nothing of size n x n is stored. All in float64.
"""

from __future__ import annotations

import numpy as np

from linkshift.shift._jit import jit
from linkshift.shift._loops import BLOCK, EXPONENTIAL, exp2

WORD = 64  # one block of centres is one word of a mask
_MANY = 6  # looking up a common bit costs about as much as six entries of a list


@jit
def _squared_distances(columns, position, out):  # type: ignore[no-untyped-def]
    """out[b] = squared distance of ``position`` to column b of a block."""
    for b in range(BLOCK):
        out[b] = 0.0
    for k in range(columns.shape[0]):
        s = position[k]
        for b in range(BLOCK):
            out[b] += (columns[k, b] - s) * (columns[k, b] - s)


@jit
def _box_distance(low, high, position):  # type: ignore[no-untyped-def]
    """Return the least squared distance between a box and a position."""
    least = 0.0
    for k in range(low.shape[0]):
        gap = max(low[k] - position[k], position[k] - high[k])
        if gap > 0:
            least += gap * gap
    return least


@jit
def mark_lists(  # type: ignore[no-untyped-def]
    blocks, box_low, box_high, centres, ends, limit, mask, rank, first, last
):
    """Which centres lie within ``limit`` (squared) of each end, for ends ``first`` to ``last``.

    ``mask[e, w]`` has a bit for each centre of block w, ``rank[e, w]`` counts the centres on the
    list before block w. Padding columns lie infinitely far away.
    """
    u = np.empty(BLOCK)
    for e in range(first, last):
        found = 0
        position = centres[ends[e]]
        for w in range(blocks.shape[0]):
            rank[e, w] = found
            bits = np.uint64(0)
            if _box_distance(box_low[w], box_high[w], position) < limit[e]:
                _squared_distances(blocks[w], position, u)
                for b in range(BLOCK):
                    if u[b] < limit[e]:
                        bits |= np.uint64(1) << np.uint64(b)
                        found += 1
            mask[e, w] = bits
        rank[e, blocks.shape[0]] = found


@jit
def fill_lists(  # type: ignore[no-untyped-def]
    kind, centres, ends, slope, mask, start, index, value, first, last
):
    """Members of each list and their closeness k(|t - t_end|^2 / h_c^2)."""
    d = centres.shape[1]
    for e in range(first, last):
        position = start[e]
        x = ends[e]
        for w in range(mask.shape[1]):
            bits = mask[e, w]
            while bits != 0:
                i = w * WORD + _lowest_bit(bits)
                bits &= bits - np.uint64(1)
                distance = 0.0
                for k in range(d):
                    distance += (centres[i, k] - centres[x, k]) ** 2
                index[position] = i
                value[position] = exp2(slope[e] * distance) if kind == EXPONENTIAL else 1.0
                position += 1


@jit
def turn_lists(index, value, start, row_start, row_list, row_value):  # type: ignore[no-untyped-def]
    """From the members of each list to the lists of each centre; ``row_start`` is consumed."""
    for e in range(start.shape[0] - 1):
        for q in range(start[e], start[e + 1]):
            place = row_start[index[q]]
            row_list[place] = e
            row_value[place] = value[q]
            row_start[index[q]] = place + 1


@jit
def _lowest_bit(bits):  # type: ignore[no-untyped-def]
    """Position of the lowest set bit."""
    return _count_bits((bits & (~bits + np.uint64(1))) - np.uint64(1))


@jit
def _count_bits(bits):  # type: ignore[no-untyped-def]
    """Return the number of set bits; compiled to one instruction where the machine has it."""
    bits = bits - ((bits >> np.uint64(1)) & np.uint64(0x5555555555555555))
    bits = (bits & np.uint64(0x3333333333333333)) + (
        (bits >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((bits * np.uint64(0x0101010101010101)) >> np.uint64(56))


@jit
def _reach_samples(  # type: ignore[no-untyped-def]
    kind, position, blocks, box_low, box_high, owner, h_slope, h_limit, near, kernel, reached
):
    """Find the samples within the kernel's reach of a position, and their kernel values.

    Returns their number; ``reached`` gets a bit for each centre that owns one of them.
    """
    u = np.empty(BLOCK)
    reached[:] = np.uint64(0)
    found = 0
    for block in range(blocks.shape[0]):
        if _box_distance(box_low[block], box_high[block], position) >= h_limit:
            continue
        _squared_distances(blocks[block], position, u)
        for b in range(BLOCK):
            if u[b] < h_limit:
                s = block * BLOCK + b
                near[found] = s
                kernel[found] = u[b]
                j = owner[s]
                reached[j // WORD] |= np.uint64(1) << np.uint64(j % WORD)
                found += 1
    for q in range(found):
        kernel[q] = exp2(h_slope * kernel[q]) if kind == EXPONENTIAL else 1.0
    return found


@jit
def _reduce_weights(  # type: ignore[no-untyped-def]
    row_list,
    row_value,
    centre_words,
    mask,
    rank,
    start,
    index,
    value,
    confidence,
    multiplicity,
    weight,
):
    """Multiply into ``weight[j]`` the factors of eq. 4.2 of all links that the centre is near.

    The centre is on the lists ``row_list``; it keeps away from samples of centres that are on
    the list of the other end. Only centres in ``centre_words`` matter: where they are few, the
    common bits are looked up; where they are many, whole lists are run through.
    """
    wanted = 0
    for w in range(centre_words.shape[0]):
        wanted += _count_bits(centre_words[w])
    few = wanted * _MANY < weight.shape[0]
    for r in range(row_list.shape[0]):
        other = row_list[r] ^ 1
        p = other >> 1
        closeness = row_value[r] * confidence[p]
        m = multiplicity[p]
        if not few:
            if m == 1:
                for q in range(start[other], start[other + 1]):
                    weight[index[q]] *= 1.0 - closeness * value[q]
            else:
                for q in range(start[other], start[other + 1]):
                    weight[index[q]] *= (1.0 - closeness * value[q]) ** m
            continue
        for w in range(centre_words.shape[0]):
            common = mask[other, w] & centre_words[w]
            while common != 0:
                lowest = common & (~common + np.uint64(1))
                below = lowest - np.uint64(1)
                b = _count_bits(below)
                v = value[start[other] + rank[other, w] + _count_bits(mask[other, w] & below)]
                factor = 1.0 - closeness * v
                if m > 1:
                    factor = factor**m
                weight[w * WORD + b] *= factor
                common ^= lowest


@jit
def constrained_sums(  # type: ignore[no-untyped-def]
    kind,
    centres,
    samples,
    sample_weight,
    sample_blocks,
    sample_low,
    sample_high,
    owner,
    h_slope,
    h_limit,
    mask,
    rank,
    start,
    index,
    value,
    row_start,
    row_list,
    row_value,
    confidence,
    multiplicity,
    first,
    last,
    sums,
    total,
):
    """Weighted sums for the centres ``first`` to ``last``: eq. 3.1 with the weights of eq. 4.3."""
    n = samples.shape[0]
    d = centres.shape[1]
    near = np.empty(n, np.int64)
    kernel = np.empty(n)
    weight = np.ones(mask.shape[1] * WORD)
    reached = np.empty(mask.shape[1], np.uint64)
    for i in range(first, last):
        found = _reach_samples(
            kind,
            centres[i],
            sample_blocks,
            sample_low,
            sample_high,
            owner,
            h_slope,
            h_limit,
            near,
            kernel,
            reached,
        )
        rows = slice(row_start[i], row_start[i + 1])
        _reduce_weights(
            row_list[rows],
            row_value[rows],
            reached,
            mask,
            rank,
            start,
            index,
            value,
            confidence,
            multiplicity,
            weight,
        )
        total[i] = 0.0
        for k in range(d):
            sums[i, k] = 0.0
        for q in range(found):
            s = near[q]
            w = kernel[q] * weight[owner[s]] * sample_weight[s]
            total[i] += w
            for k in range(d):
                sums[i, k] += w * samples[s, k]
        weight[:] = 1.0
