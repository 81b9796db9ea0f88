"""Nearest rows of many rows: cells around centres, most of which are never looked into."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from linkshift._core.arrays import Array, offsets
from linkshift._core.threads import n_threads, threads
from linkshift.kmeans.fitting import nearest_centres
from linkshift.shift._cell_loops import RUN, nearest_in_cells

__all__ = ["Cells", "cells_of", "nearest_by_cells", "share_measured"]

_SAMPLE = 256  # rows by which the work is guessed


class Cells(NamedTuple):
    """Rows, each in the cell of its nearest centre."""

    rows: Array  # (n, d), float64
    centres: Array  # (m, d): none without rows
    order: Array  # (n,): rows by cell, in a cell as they come
    starts: Array  # (m + 1,): where each cell begins in that order
    packed: Array  # (n d,), float32: rows from their centres, in runs that are turned on their side
    radii: Array  # (m,): distance of the farthest row of each cell from its centre
    unit: float  # of what is packed: a power of two that no difference of rows is much beyond


def cells_of(rows: Array, centres: Array) -> Cells:
    """Put float64 rows into cells around some centres, which may be any."""
    n, d = rows.shape
    cell, _ = nearest_centres(rows, centres)
    used, cell = np.unique(cell, return_inverse=True)
    centres = np.ascontiguousarray(centres[used], dtype=np.float64)
    order, starts = np.argsort(cell, kind="stable"), offsets(cell, len(used))
    span = max(float(np.ptp(rows, axis=0).max(initial=0.0)), np.finfo(np.float64).tiny)
    unit = float(2.0 ** np.frexp(span)[1])
    packed, radii = np.empty(n * d, dtype=np.float32), np.empty(len(used))
    for c in range(len(used)):
        away = rows[order[starts[c] : starts[c + 1]]] - centres[c]
        radii[c] = np.sqrt(np.einsum("ij,ij->i", away, away).max())
        for run in range(0, len(away), RUN):
            part = away[run : run + RUN] / unit
            first = (starts[c] + run) * d
            packed[first : first + part.size] = part.T.ravel()
    return Cells(rows, centres, order, starts, packed, radii, unit)


def nearest_by_cells(cells: Cells, k: int, X: Array | None = None) -> tuple[Array, Array]:
    r"""Distances and indices of the k nearest rows, of equally near ones the first.

    With a the centre nearest to x, rows in the cell of another centre b are no nearer than the
    plane between both,

    .. math:: \frac{\|x - b\|^2 - \|x - a\|^2}{2 \|a - b\|},

    so cells beyond the k-th distance found so far are left out. In the others rows are measured
    from the centre in single precision; those that may be near, for all its rounding, are measured
    again in double. Nothing is approximate, and squares are summed column by column: distances are
    the same for any centres and number of threads.

    Parameters
    ----------
    cells : Cells
        About the square root of n, where rows are, make it quick.
    k : int
    X : float64 ndarray of shape (q, d), default=None
        Rows whose neighbours are looked for. Without it, all rows, themselves not counted.

    Returns
    -------
    distances, indices : ndarray of shape (q, k)
        The nearest first. Working memory is q (d + 2 k) numbers, and m^2 for m centres.
    """
    return _searched(cells, k, X)[:2]


def share_measured(cells: Cells, k: int, X: Array) -> float:
    """Share of the rows that a search would measure, by some of the rows that are asked."""
    some = X[np.linspace(0, len(X) - 1, min(_SAMPLE, len(X))).astype(np.intp)]
    return _searched(cells, k, some)[2] / (len(some) * len(cells.rows))


def _searched(cells: Cells, k: int, X: Array | None) -> tuple[Array, Array, int]:
    """Nearest rows as above, and how many rows were measured."""
    n_cells = len(cells.centres)
    if X is None:
        order, starts, itself = cells.order, cells.starts, cells.order
        asked = cells.rows[order]
    else:
        cell, _ = nearest_centres(X, cells.centres)
        order, starts = np.argsort(cell, kind="stable"), offsets(cell, n_cells)
        asked, itself = X[order], np.full(len(X), -1)
    squares = np.full((len(asked), k), np.inf)
    found = np.full((len(asked), k), -1, dtype=np.intp)
    measured = np.zeros(n_cells, dtype=np.int64)

    def search(a: int) -> None:
        gap = cdist(cells.centres[a : a + 1], cells.centres)[0]
        gap[a] = -1.0  # its own cell first, even where centres are equal but for rounding
        by_gap = np.argsort(gap, kind="stable")
        measured[a] = nearest_in_cells(
            cells, a, by_gap, gap[by_gap], asked, starts[a], starts[a + 1], itself, squares, found
        )

    with threads(n_threads(None)) as pool:
        pool.map(search, np.flatnonzero(np.diff(starts)).tolist())
    distance, index = np.empty_like(squares), np.empty_like(found)
    distance[order], index[order] = np.sqrt(squares), found
    return distance, index, int(measured.sum())
