# mypy: disable-error-code="no-untyped-def"
"""The hot loops of scribbles: regions cut between strokes, and regions merged under links.

The graph of regions is a set of half-edges: number e leads to ``to[e]``, number e ^ 1 leads back,
and ``after[e]`` is the next one of the same region. ``to`` is -1 for an edge that is gone; it
leaves its list when the list is next walked.
"""

from __future__ import annotations

import heapq

import numpy as np

from linkshift._core.jit import jit, jit_inline


@jit
def mean_step(regions, cut, values):
    """Mean squared difference of neighbouring pixels that share a region which is to be cut."""
    h, w, d = values.shape
    total, count = 0.0, 0
    for i in range(h):
        for j in range(w):
            if not cut[regions[i, j]]:
                continue
            for k in range(2):
                y, x = i + k, j + 1 - k
                if y < h and x < w and regions[y, x] == regions[i, j]:
                    for c in range(d):
                        total += (values[y, x, c] - values[i, j, c]) ** 2
                    count += 1
    return total / max(count, 1)


@jit
def flood(regions, cut, values, scale, strokes):
    """Give pixels of some regions the number of the nearest stroke, along paths in the region.

    A step to a neighbour costs 1 + (squared difference of values) / scale. Pixels that no stroke
    reaches, and those of other regions, are 0. Of equal paths that from the smaller number counts.
    """
    h, w, d = values.shape
    numbers = np.zeros((h, w), np.int64)
    heap = [(0.0, np.int64(0), np.int64(0))]  # cost, number, pixel
    heap.pop()  # it gave the type
    for i in range(h):
        for j in range(w):
            if cut[regions[i, j]] and strokes[i, j] > 0:
                heap.append((0.0, np.int64(strokes[i, j]), np.int64(i * w + j)))
    heapq.heapify(heap)
    while len(heap) > 0:
        cost, number, pixel = heapq.heappop(heap)
        i, j = pixel // w, pixel % w
        if numbers[i, j] > 0:
            continue
        numbers[i, j] = number
        for k in range(4):
            y = i + (k == 0) - (k == 1)
            x = j + (k == 2) - (k == 3)
            if y < 0 or x < 0 or y >= h or x >= w:
                continue
            if regions[y, x] != regions[i, j] or numbers[y, x] > 0:
                continue
            step = 0.0
            for c in range(d):
                step += (values[y, x, c] - values[i, j, c]) ** 2
            heapq.heappush(heap, (cost + 1.0 + step / scale, number, np.int64(y * w + x)))
    return numbers


@jit_inline
def _may_join(one, other):
    """Whether the numbers of two regions let them be one."""
    return one == 0 or other == 0 or one == other


@jit_inline
def _distance(points, sizes, edge, a, b, share, power):
    """Return how far two adjacent regions are from being one; ``edge`` is (length, contrast)."""
    far = 0.0
    for c in range(points.shape[1]):
        far += (points[a, c] - points[b, c]) ** 2
    far = (1.0 - share) * np.sqrt(far) + share * edge[1] / edge[0]
    return far * (np.sqrt(min(sizes[a], sizes[b])) / edge[0]) ** power


@jit
def _find_nearest(r, graph, edges, points, sizes, numbers, share, power):
    """Nearest region that r may be merged with, and its distance; of equals the smallest."""
    head, after, to = graph
    nearest, least = -1, np.inf
    e, before = head[r], -1
    while e >= 0:
        if to[e] < 0:
            if before < 0:
                head[r] = after[e]
            else:
                after[before] = after[e]
        else:
            o = to[e]
            if _may_join(numbers[r], numbers[o]):
                far = _distance(points, sizes, edges[e >> 1], r, o, share, power)
                if far < least or (far == least and o < nearest):
                    nearest, least = o, far
            before = e
        e = after[e]
    return nearest, least


@jit
def _merge(a, b, graph, edges, points, sizes, numbers, slot):
    """Put region b into a: mean, size, number, borders. ``slot`` is all -1, before and after."""
    head, after, to = graph
    both = sizes[a] + sizes[b]
    for c in range(points.shape[1]):
        points[a, c] = (points[a, c] * sizes[a] + points[b, c] * sizes[b]) / both
    sizes[a] = both
    numbers[a] = max(numbers[a], numbers[b])
    e = head[a]
    while e >= 0:
        if to[e] >= 0:
            slot[to[e]] = e
        e = after[e]
    e = head[b]
    while e >= 0:
        following, o = after[e], to[e]
        if o == a:
            to[e] = to[e ^ 1] = -1
        elif o >= 0 and slot[o] >= 0:
            edges[slot[o] >> 1, 0] += edges[e >> 1, 0]
            edges[slot[o] >> 1, 1] += edges[e >> 1, 1]
            to[e] = to[e ^ 1] = -1
        elif o >= 0:
            to[e ^ 1] = a
            after[e] = head[a]
            head[a] = e
        e = following
    head[b] = -1
    e = head[a]
    while e >= 0:
        if to[e] >= 0:
            slot[to[e]] = -1
        e = after[e]
    slot[b] = -1


@jit
def merge_regions(pairs, edges, points, sizes, numbers, limit, least_size, share, power):
    """Merge adjacent regions, the nearest two first, until the nearest are farther than limit.

    Regions of different numbers are never merged. Those without a number that are smaller than
    ``least_size`` join their nearest neighbour however far it is, in the same order. Arrays but
    ``pairs`` are changed. Returns for each region the one it is part of.

    Every region knows its nearest neighbour, and a heap has the distances: an entry counts if its
    region has not changed its mind since.
    """
    n, m = len(sizes), len(pairs)
    head = np.full(n, -1, np.int64)
    after = np.empty(2 * m, np.int64)
    to = np.empty(2 * m, np.int64)
    for e in range(2 * m):
        here = pairs[e >> 1, e & 1]
        to[e] = pairs[e >> 1, 1 - (e & 1)]
        after[e] = head[here]
        head[here] = e
    graph = (head, after, to)
    parent = np.arange(n)
    slot = np.full(n, -1, np.int64)
    nearest = np.full(n, -1, np.int64)
    least = np.full(n, np.inf)
    heap = [(0.0, np.int64(0), np.int64(0))]  # distance, smaller region of the pair, region
    heap.pop()
    for r in range(n):
        nearest[r], least[r] = _find_nearest(r, graph, edges, points, sizes, numbers, share, power)
        if nearest[r] >= 0:
            heap.append((least[r], np.int64(min(r, nearest[r])), np.int64(r)))
    heapq.heapify(heap)
    while len(heap) > 0:
        far, low, at = heapq.heappop(heap)
        r = int(at)
        if parent[r] != r or least[r] != far or min(r, nearest[r]) != low:
            continue
        if far > limit and (numbers[r] > 0 or sizes[r] >= least_size):
            continue
        a, b = low, max(r, nearest[r])  # the lesser stays
        parent[b] = a
        _merge(a, b, graph, edges, points, sizes, numbers, slot)
        nearest[a], least[a] = _find_nearest(a, graph, edges, points, sizes, numbers, share, power)
        if nearest[a] >= 0:
            heapq.heappush(heap, (least[a], np.int64(min(a, nearest[a])), np.int64(a)))
        e = head[a]
        while e >= 0:
            o = to[e]
            if o >= 0:
                was, was_far = nearest[o], least[o]
                if was in (a, b):
                    nearest[o], least[o] = _find_nearest(
                        o, graph, edges, points, sizes, numbers, share, power
                    )
                elif _may_join(numbers[a], numbers[o]):
                    now = _distance(points, sizes, edges[e >> 1], o, a, share, power)
                    if now < least[o] or (now == least[o] and a < nearest[o]):
                        nearest[o], least[o] = a, now
                if nearest[o] >= 0 and (nearest[o] != was or least[o] != was_far):
                    heapq.heappush(heap, (least[o], np.int64(min(o, nearest[o])), np.int64(o)))
            e = after[e]
    for r in range(n):  # a parent is smaller than its child: one pass is enough
        parent[r] = parent[parent[r]]
    return parent
