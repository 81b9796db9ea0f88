# mypy: disable-error-code="no-untyped-def"
"""The hot loops of regions: union-find over pixels and over neighbouring regions."""

from __future__ import annotations

import numpy as np

from linkshift._core.disjoint_loops import number_roots, unite
from linkshift._core.jit import jit


@jit
def join_modes(values, places, colour_limit, place_limit, parent):
    """Join neighbouring pixels whose modes are close, and number the sets; their count.

    Limits are of squared distances. ``parent`` has room for the pixels, row by row.
    """
    h, w, n_colours = values.shape
    for i in range(parent.shape[0]):
        parent[i] = i
    for i in range(h):
        for j in range(w):
            for step in range(2):
                k, l = i + step, j + 1 - step  # right, below
                if k >= h or l >= w:
                    continue
                colour = 0.0
                for c in range(n_colours):
                    difference = float(values[i, j, c]) - float(values[k, l, c])
                    colour += difference * difference
                dx = float(places[i, j, 0]) - float(places[k, l, 0])
                dy = float(places[i, j, 1]) - float(places[k, l, 1])
                if colour <= colour_limit and dx * dx + dy * dy <= place_limit:
                    unite(parent, i * w + j, k * w + l)
    return number_roots(parent)


@jit
def add_up(regions, features, counts, sums):
    """Count the pixels of each region and sum their features."""
    h, w = regions.shape
    for i in range(h):
        for j in range(w):
            r = regions[i, j]
            counts[r] += 1
            for d in range(features.shape[2]):
                sums[r, d] += features[i, j, d]


@jit
def border_pairs(regions, pairs, lengths):
    """List the regions on both sides of each piece of border, the lesser first; their number.

    A piece goes as far along a row as its pair is the same; ``lengths`` counts its sides of pixels.
    Without room in ``pairs`` pieces are counted only.
    """
    h, w = regions.shape
    n = 0
    for step in range(2):
        for i in range(h - step):
            before_a = before_b = -1
            for j in range(w - 1 + step):
                a, b = regions[i, j], regions[i + step, j + 1 - step]
                if a == b:
                    continue
                if a > b:
                    a, b = b, a
                if a != before_a or b != before_b:
                    before_a, before_b = a, b
                    n += 1
                if n <= pairs.shape[0]:
                    pairs[n - 1, 0], pairs[n - 1, 1] = a, b
                    lengths[n - 1] += 1
    return n


@jit
def join_most_similar(pairs, distances, willing, limit, parent):
    """Join each region with its most similar neighbour, and number the sets; their count.

    A region takes part if it is ``willing`` or the neighbour's distance is within ``limit``.
    Of equally similar neighbours the one that comes first in ``pairs`` is taken.
    """
    r = parent.shape[0]
    nearest = np.full(r, -1, dtype=np.int64)
    least = np.full(r, np.inf)
    for e in range(pairs.shape[0]):
        a, b, distance = pairs[e, 0], pairs[e, 1], distances[e]
        if (willing[a] or distance <= limit) and distance < least[a]:
            least[a], nearest[a] = distance, b
        if (willing[b] or distance <= limit) and distance < least[b]:
            least[b], nearest[b] = distance, a
    for i in range(r):
        parent[i] = i
    for i in range(r):
        if nearest[i] >= 0:
            unite(parent, i, nearest[i])
    return number_roots(parent)
