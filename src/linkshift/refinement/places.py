r"""Neighbours that have weights: each takes as many places among the k nearest as it weighs.

A row of weight w is w rows in one place, so that of its k places it has w - 1 itself. With N the
sum of all weights, there are :math:`k = \min(n, \lceil \sqrt N \rceil, N - 1)` places; the nearest
row takes its weight of them, and so on, the last one what is left. Rows of weight zero have no
place, and have neighbours like others. No more than k rows are looked at: where weights are below
one, some places stay empty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkshift._core.arrays import Array
from linkshift.shift.neighbours import nearest_neighbours

__all__ = ["Neighbours", "Places", "as_places", "cut", "founded", "is_local", "nearest_places"]

_LOCAL = 8.0  # in one dense region even the 20th neighbour is rarely farther, in second nearests
_ROUNDING = 1e-9  # of sums of weights


class Places(NamedTuple):
    """Neighbours with weights."""

    rows: Array  # (n, m): neighbours of each row, the nearest first; -1 for none
    taken: Array  # (n, m): how many places each takes
    weight: Array  # (n,): of the rows themselves

    def say(self, unit: Array) -> Array:
        """Weights of rows within units that move together; equal where a unit has no weight."""
        idle = np.bincount(unit, self.weight)[unit] == 0
        return np.where(idle, 1.0, self.weight)


# Rows of neighbours, -1 for none, each of which is one place; or places.
Neighbours = Array | Places


def as_places(neighbours: Neighbours) -> Places:
    """Neighbours without weights take one place each."""
    if isinstance(neighbours, Places):
        return neighbours
    taken = (neighbours >= 0).astype(np.float64)
    return Places(neighbours, taken, np.ones(len(neighbours)))


def cut(taken: Array, most: Array | float) -> Array:
    """Places that neighbours, the nearest first, still take when there are at most so many.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.refinement.places import cut
    >>> cut(np.array([[1.0, 2.0, 1.5]]), 2.5)
    array([[1. , 1.5, 0. ]])
    """
    before = np.cumsum(taken, axis=1) - taken
    return np.asarray(np.clip(most - before, 0.0, taken))


def is_local(distance: Array, taken: Array | None = None) -> Array:
    """Which neighbours, nearest first, are at most eight times as far as the second nearest.

    All, where the second nearest is at distance zero: twins tell nothing of the scale. Of those
    that take places, the second nearest is who has the second place.
    """
    if taken is None:
        scale = distance[:, min(1, distance.shape[1] - 1)][:, None]
    else:
        places = np.cumsum(taken, axis=1)
        second = places >= np.minimum(2.0, places[:, -1:]) - _ROUNDING
        scale = np.take_along_axis(distance, second.argmax(axis=1)[:, None], axis=1)
    return (distance <= _LOCAL * scale) | (scale == 0)


def nearest_places(X: Array, n_neighbors: int, weight: Array) -> Places:
    """Neighbours of rows with weights, as :func:`linkshift.refinement.nearest_rows` without."""
    n, total = X.shape[0], float(weight.sum())
    heavy, light = np.flatnonzero(weight > 0), np.flatnonzero(weight == 0)
    k = max(min(float(n_neighbors), np.ceil(np.sqrt(total)), total - 1.0), 0.0)
    most = min(int(np.ceil(k)), len(heavy) - 1)
    rows, distance = np.full((n, most + 1), -1), np.zeros((n, most + 1))
    rows[:, 0] = np.arange(n)
    if most:
        distance[heavy, 1:], found = nearest_neighbours(X[heavy], most)
        rows[heavy, 1:] = heavy[found]
        if light.size:
            distance[light, 1:], found = nearest_neighbours(X[heavy], most, X[light])
            rows[light, 1:] = heavy[found]
    taken = np.where(rows >= 0, weight[rows], 0.0)
    taken[:, 0] = np.maximum(weight - 1.0, 0.0)
    taken = cut(taken, k)
    seen = (taken > 0) & is_local(distance, taken)
    return Places(np.where(seen, rows, -1), np.where(seen, taken, 0.0), weight)


def founded(X: Array, labels: Array, weight: Array | None) -> Array:
    """Labels, but rows of clusters that have no weight go with the nearest row that has some."""
    if weight is None or weight.all():
        return labels
    lost = np.flatnonzero(np.bincount(labels, weight)[labels] == 0)
    if not lost.size:
        return labels
    founders = np.flatnonzero(weight > 0)
    nearest = nearest_neighbours(X[founders], 1, X[lost])[1][:, 0]
    labels = labels.copy()
    labels[lost] = labels[founders[nearest]]
    return labels
