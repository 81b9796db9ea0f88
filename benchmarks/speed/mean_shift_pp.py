"""MeanShift++ (Jang and Jiang, CVPR 2021), written from the paper: no package of it is to be had.

Space is parted into cells whose side is the bandwidth. In each round every point moves to the mean
of the points in its own cell and in the 3^d - 1 around it; the points themselves move along
(blurring). Points that share a cell at the end are a cluster.
"""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Array
from linkshift._core.jit import jit

__all__ = ["mean_shift_pp"]


def mean_shift_pp(X: Array, bandwidth: float, *, tol: float = 1e-3, max_iter: int = 300) -> Array:
    """Cluster of each row.

    A round costs O(n + cells 3^d): points of a cell move alike, so the means around are made once
    for each cell.
    """
    points = np.ascontiguousarray(X, dtype=np.float64)
    for _ in range(max_iter):
        code, cell = _cells(points, bandwidth)
        moved = _means_around(points, code, cell, _strides(points, bandwidth))[cell]
        far = np.abs(moved - points).max()
        points = moved
        if far < tol * bandwidth:
            break
    return _cells(points, bandwidth)[1]


def _strides(points: Array, side: float) -> Array:
    """Return what a step along each column adds to the code of a cell."""
    width = np.floor(np.ptp(points, axis=0) / side).astype(np.int64) + 3  # with a rim of empty ones
    return np.concatenate([[1], np.cumprod(width[:-1])]).astype(np.int64)


def _cells(points: Array, side: float) -> tuple[Array, Array]:
    """Codes of the cells that have points, ascending, and the cell of each point."""
    place = np.floor((points - points.min(axis=0)) / side).astype(np.int64) + 1
    return np.unique(place @ _strides(points, side), return_inverse=True)


def _means_around(points: Array, code: Array, cell: Array, strides: Array) -> Array:
    d = points.shape[1]
    sums, counts = np.zeros((len(code), d)), np.bincount(cell).astype(np.float64)
    for k in range(d):
        sums[:, k] = np.bincount(cell, points[:, k])
    steps = np.stack(np.meshgrid(*[(-1, 0, 1)] * d), axis=-1).reshape(-1, d) @ strides
    total, weight = np.zeros_like(sums), np.zeros(len(code))
    _add_around(code, sums, counts, steps, total, weight)
    return total / weight[:, None]


@jit
def _add_around(code, sums, counts, steps, total, weight):  # type: ignore[no-untyped-def]
    for i in range(code.shape[0]):
        for step in steps:
            j = np.searchsorted(code, code[i] + step)
            if j < code.shape[0] and code[j] == code[i] + step:
                weight[i] += counts[j]
                total[i] += sums[j]
