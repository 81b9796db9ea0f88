"""Points pooled in the cells of a grid: the engine's approximate mode for millions of points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkshift._core.arrays import Array, first_of_equal_rows

__all__ = ["Cells", "cell_seeds", "pool_points"]


@dataclass(frozen=True)
class Cells:
    """Occupied cells of a grid."""

    points: Array  # weighted mean of the points in each cell
    weight: Array  # sum of their weights
    member: Array  # the cell of each point
    low: Array  # corner of the grid
    side: float  # of a cell
    keys: Array  # whole coordinates of each cell in the grid

    def find(self, X: Array) -> Array:
        """Return the cell of each row of X; -1 where no point was."""
        rows = np.floor((X - self.low) / self.side)
        first = first_of_equal_rows(np.concatenate([self.keys, rows]))[len(self.keys) :]
        return np.where(first < len(self.keys), first, -1)


def pool_points(X: Array, cell: float, sample_weight: Array | None = None) -> Cells:
    """Replace the points of each grid cell by one point: their mean, with their weight.

    Since the mean is kept, a kernel's sum changes only by terms of second order in
    ``cell / bandwidth``, with ``cell`` the side of a cell. Time O(n log n), memory O(n d).
    """
    weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight.astype(np.float64)
    low = X.min(axis=0).astype(np.float64)
    grid = np.floor((X - low) / cell)
    kept, member = np.unique(first_of_equal_rows(grid), return_inverse=True)
    n_cells = int(member.max()) + 1
    mass = np.bincount(member, weights=weight, minlength=n_cells)
    # Relative to the low corner: sums of small numbers, whatever the units' origin.
    shifted = (X - low).astype(np.float64)
    sums = np.stack(
        [np.bincount(member, weights=weight * column, minlength=n_cells) for column in shifted.T],
        axis=1,
    )
    plain = np.bincount(member, minlength=n_cells)
    empty = mass == 0  # cells of weightless points: keep their place, with no say
    if empty.any():
        for k, column in enumerate(shifted.T):
            sums[empty, k] = np.bincount(member, weights=column, minlength=n_cells)[empty]
    centres = sums / np.where(empty, plain, mass)[:, None] + low
    return Cells(centres.astype(X.dtype), mass, member, low, cell, grid[kept])


def cell_seeds(
    X: Array, cell: float, min_count: float = 1, sample_weight: Array | None = None
) -> tuple[Array, bool]:
    """Start from the cells of a grid that hold enough points, as scikit-learn's bin seeding does.

    A cell needs points of a total weight of ``min_count``. Seeds are the corners of the grid that
    are nearest to points; the points themselves where every point with a weight has a cell of its
    own. Returns them, and whether they are fewer than the points.
    """
    grid = np.round(X / cell)
    first = first_of_equal_rows(grid)
    count = np.bincount(first, weights=sample_weight, minlength=X.shape[0])
    seeding = (count > 0) & (count >= min_count)
    weighted = np.ones(X.shape[0], dtype=bool) if sample_weight is None else sample_weight > 0
    if seeding.sum() == weighted.sum():
        return X[weighted], False
    return (grid[seeding] * cell).astype(X.dtype), True
