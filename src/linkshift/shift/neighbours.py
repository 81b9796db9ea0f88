"""Neighbours: points in blocks that can be skipped or taken whole, and the nearest rows."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

from linkshift._core.arrays import Array
from linkshift.shift._loops import BLOCK
from linkshift.shift.cells import cells_of, nearest_by_cells, share_measured

__all__ = ["block_order", "boxes", "nearest_neighbours"]

# Squares of larger numbers overflow: no row would be near any other, and a tree says so by an index
# that does not exist. In this unit, a power of two, they do not.
_LARGEST, _UNIT = 2.0**500, 2.0**600
_END = 2.0**1000

MANY = 20_000  # rows from which on they are put into cells
_FEW_COLUMNS = 3  # up to which a tree is as quick as cells, for any number of rows
_TREE_COLUMNS = 15  # up to which it is quicker than inner products
_MOST_MEASURED = 0.3  # share of rows up to which cells are quicker than inner products


def block_order(X: Array, block: int = BLOCK) -> Array:
    """Order rows so that each run of ``block`` rows lies close together.

    A k-d tree's leaves from left to right: the rows are halved at the median of their widest
    coordinate until a run is one block. Halves are whole numbers of blocks, so only the last
    block can be short. Without ties, the same rows in another order come out the same, where they
    are more than a block. O(n log n) time, O(n) memory.
    """
    order = np.arange(X.shape[0], dtype=np.intp)
    pending = [(0, X.shape[0])]
    while pending:
        first, last = pending.pop()
        n_blocks = -(-(last - first) // block)
        if n_blocks < 2:
            continue
        rows = order[first:last]
        part = X[rows]
        widest = int(np.argmax(part.max(axis=0) - part.min(axis=0)))
        half = block * (n_blocks // 2)
        if n_blocks > 3:
            sides = np.argpartition(part[:, widest], half, kind="introselect")
        else:  # partitions come in an order that versions of NumPy differ in; blocks do not
            sides = np.argsort(part[:, widest], kind="stable")
        order[first:last] = rows[sides]
        pending += [(first, first + half), (first + half, last)]
    return order


def boxes(X: Array, block: int = BLOCK) -> tuple[Array, Array]:
    """Lower and upper corner of the box around each run of ``block`` rows."""
    runs = np.arange(0, X.shape[0], block)
    return np.minimum.reduceat(X, runs, axis=0), np.maximum.reduceat(X, runs, axis=0)


def nearest_neighbours(rows: Array, k: int, X: Array | None = None) -> tuple[Array, Array]:
    """Distances and indices of the k rows nearest to each row of X, the nearest first.

    Without X, of each row itself, which is then not among its neighbours. All ways are exact; of
    rows that are equally near, any may be left out. A tree serves up to 15 columns. Above, inner
    products are faster, but know distances only roughly, the worse the farther from the origin:
    they are taken about the middle of the data, and the distances of what they find are computed
    anew, so that twins are at distance zero. Where rows and those that are asked are more than
    20,000 each, cells serve from four columns on (`nearest_by_cells`), above 15 where they spare
    most of the work. Memory grows with the rows, never with pairs of them.
    """
    rows = np.asarray(rows, dtype=np.float64)
    # What overflowed when it was scaled is as far away as can be.
    asked = rows if X is None else np.clip(np.asarray(X, dtype=np.float64), -_END, _END)
    if max(np.abs(rows).max(initial=0.0), np.abs(asked).max(initial=0.0)) > _LARGEST:
        distance, index = nearest_neighbours(rows / _UNIT, k, None if X is None else asked / _UNIT)
        return distance * _UNIT, index
    if min(len(rows), len(asked)) > MANY and rows.shape[1] > _FEW_COLUMNS:
        cells = cells_of(rows, _block_means(rows))
        if (
            rows.shape[1] <= _TREE_COLUMNS
            or share_measured(cells, min(k + 1, len(rows)), asked) <= _MOST_MEASURED
        ):
            return nearest_by_cells(cells, k, None if X is None else asked)
    if rows.shape[1] <= _TREE_COLUMNS:
        ranks = list(range(1, k + (2 if X is None else 1)))  # a list: one column for each
        distance, found = cKDTree(rows).query(asked, ranks)
        return _without_itself(distance, found) if X is None else (distance, found)
    middle = (rows.min(axis=0) + rows.max(axis=0)) / 2
    index = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(rows - middle)
    found = index.kneighbors(None if X is None else asked - middle, return_distance=False)
    found = np.sort(found, axis=1)  # of equal distances the first row: not what threads came to
    distance = np.stack(
        [np.linalg.norm(asked - rows[column], axis=1) for column in found.T], axis=1
    )
    order = np.argsort(distance, axis=1, kind="stable")
    return np.take_along_axis(distance, order, axis=1), np.take_along_axis(found, order, axis=1)


def _block_means(rows: Array) -> Array:
    """Means of blocks of rows, about as many as a block has rows."""
    n = len(rows)
    block = int(np.ceil(np.sqrt(n)))
    runs = np.arange(0, n, block)
    sums = np.add.reduceat(rows[block_order(rows, block)], runs, axis=0)
    means: Array = sums / np.diff(np.append(runs, n))[:, None]
    return means


def _without_itself(distance: Array, rows: Array) -> tuple[Array, Array]:
    """Leave each row out of its neighbours; it need not come first among twins, nor at all."""
    n, k = rows.shape
    other = rows != np.arange(n)[:, None]
    other[other.all(axis=1), -1] = False
    return distance[other].reshape(n, k - 1), rows[other].reshape(n, k - 1)
