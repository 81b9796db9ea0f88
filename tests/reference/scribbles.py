"""Scribbles straight from their definition: pixel by pixel, pair by pair."""

import numpy as np


def flood(regions, cut, values, scale, strokes):
    """Nearest stroke of each pixel along paths in its region: costs are relaxed until they rest."""
    h, w = regions.shape
    best = {}  # pixel -> (cost, number)
    for p in np.ndindex(h, w):
        if cut[regions[p]] and strokes[p] > 0:
            best[p] = (0.0, int(strokes[p]))
    changed = True
    while changed:
        changed = False
        for y, x in np.ndindex(h, w):
            if (y, x) not in best:
                continue
            cost, number = best[y, x]
            for to in ((y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)):
                if not (0 <= to[0] < h and 0 <= to[1] < w) or regions[to] != regions[y, x]:
                    continue
                if strokes[to] > 0:
                    continue
                step = 1.0 + ((values[to] - values[y, x]) ** 2).sum() / scale
                found = (cost + step, number)
                if to not in best or found < best[to]:
                    best[to] = found
                    changed = True
    numbers = np.zeros((h, w), dtype=np.int64)
    for p, (_, number) in best.items():
        numbers[p] = number
    return numbers


def distance(groups, a, b, values, others, share, power):
    """Distance of two groups of pixels that touch; None where they do not. From pixels alone."""
    h, w = groups.shape
    length, contrast = 0, 0.0
    for y, x in np.ndindex(h, w):
        for to in ((y + 1, x), (y, x + 1)):
            if to[0] < h and to[1] < w and {groups[y, x], groups[to]} == {a, b}:
                length += 1
                contrast += np.sqrt(((values[y, x] - values[to]) ** 2).sum())
    if length == 0:
        return None
    both = np.concatenate([values, others], axis=2)
    one, other = both[groups == a], both[groups == b]
    far = np.sqrt(((one.mean(axis=0) - other.mean(axis=0)) ** 2).sum())
    far = (1 - share) * far + share * contrast / length
    return far * (np.sqrt(min(len(one), len(other))) / length) ** power


def merge(regions, values, others, strokes, limit, min_size, share, power):
    """Merge the nearest two that may merge, again and again; (h, w) groups.

    ``others`` (h, w, k) are further columns of the pixels, which do not count across borders.
    """
    groups = regions.copy()
    while True:
        there = np.unique(groups).tolist()
        marked = {g: int(strokes[groups == g].max()) for g in there}
        nearest = {}
        for i, a in enumerate(there):
            for b in there[i + 1 :]:
                if marked[a] and marked[b] and marked[a] != marked[b]:
                    continue
                far = distance(groups, a, b, values, others, share, power)
                if far is not None:
                    for g in (a, b):
                        nearest[g] = min(nearest.get(g, (np.inf, -1, -1)), (far, a, b))
        may = [
            pair
            for g, pair in nearest.items()
            if pair[0] <= limit or (not marked[g] and (groups == g).sum() < min_size)
        ]
        if not may:
            break
        _, a, b = min(may)
        groups[groups == b] = a
    for number in np.unique(strokes[strokes > 0]):
        inside = np.unique(groups[strokes == number])
        groups[np.isin(groups, inside)] = inside[0]
    return groups
