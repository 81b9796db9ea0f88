"""Rows parted into many small cells: by k-means in two levels, or by a grid in few columns.

K-means with m centres costs n m d a step. In two levels it is about n sqrt(m) d: rows go to the
nearest of sqrt(m) coarse cells, then to the nearest centre of that cell.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from linkshift._core.arrays import Array, offsets
from linkshift._core.threads import one_blas_thread, threads
from linkshift.summaries.sampling import along_a_line, evenly

__all__ = ["Centres", "coarse_centres", "grid_cells", "nearest", "train_centres"]

_STEPS = 16  # of Lloyd's algorithm, at each level: cells need not be the best, only small
_TRAIN = 16  # drawn rows for each centre
_LEAST_TRAIN = 8192
_ENTRIES = 1 << 20  # of rows at a time
_AT_ONCE = 1 << 18  # entries of a table of distances, which stays in the processor's cache
_TABLE = 1 << 24  # cells of a grid whose occupied ones are counted in a table
_HALVINGS = 24


def nearest(rows: Array, centres: Array, middle: Array, unit: float) -> Array:
    """Index of the nearest centre of each row, by inner products about a middle, in its units.

    Callers keep BLAS to one thread: no number of threads may change the order of sums.
    """
    about = ((centres - middle) / unit).astype(rows.dtype)
    squares = 0.5 * np.einsum("ij,ij->i", about, about)
    found = np.empty(rows.shape[0], dtype=np.intp)
    step = max(1, _AT_ONCE // max(about.shape))
    for first in range(0, rows.shape[0], step):
        some = rows[first : first + step]
        part = _part.array(some.shape, rows.dtype)
        apart = _apart.array(some.shape, np.result_type(rows, middle))
        np.subtract(some, middle, out=apart)
        np.divide(apart, unit, out=part, casting="same_kind")
        table = _table.array((some.shape[0], about.shape[0]), rows.dtype)
        np.matmul(part, about.T, out=table)
        np.subtract(squares, table, out=table)
        table.argmin(axis=1, out=found[first : first + step])
    return found


class _Kept(threading.local):
    """Memory of a thread that is used again and again.

    Arrays that come and go are given back to the system where little is kept, as by Dask's
    workers, and to get them page by page again takes longer than what is computed in them.
    """

    def __init__(self) -> None:
        self.memory = np.empty(0, dtype=np.uint8)

    def array(self, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
        """Return an array with anything in it, good until the next one is asked for."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if self.memory.size < size:
            self.memory = np.empty(size, dtype=np.uint8)
        return self.memory[:size].view(dtype).reshape(shape)


_table, _part, _apart = _Kept(), _Kept(), _Kept()


@dataclass(frozen=True)
class Centres:
    """Centres in two levels: those of coarse cell c are ``fine[start[c]:start[c + 1]]``."""

    coarse: Array
    fine: Array
    start: Array
    middle: Array  # of the coarse centres, and
    unit: float  # how far they reach: what is computed is near one

    def assign(self, rows: Array, pool: threads) -> Array:
        """Give each row the nearest centre of its nearest coarse cell, of its own cell only."""
        label = np.empty(rows.shape[0], dtype=np.intp)
        step = max(1, _ENTRIES // rows.shape[1])

        def task(first: int) -> None:
            label[first : first + step] = self._assign(rows[first : first + step])

        with one_blas_thread():
            pool.map(task, range(0, rows.shape[0], step))
        return label

    def _assign(self, rows: Array) -> Array:
        # Far outliers make the coarse level span much: there, float32 would not do.
        cell = nearest(rows.astype(np.float64), self.coarse, self.middle, self.unit)
        label = np.empty(rows.shape[0], dtype=np.intp)
        order = np.argsort(cell, kind="stable")
        ends = offsets(cell, self.coarse.shape[0])
        for c in np.flatnonzero(np.diff(ends)):
            own, fine = order[ends[c] : ends[c + 1]], slice(self.start[c], self.start[c + 1])
            middle = self.coarse[c].astype(rows.dtype)
            found = nearest(rows[own], self.fine[fine], middle, self.unit)
            label[own] = self.start[c] + found
        return label


@one_blas_thread()
def train_centres(rows: Array, weight: Array, m: int, seed: int) -> Centres:
    """Find about m centres, of rows that are drawn evenly, 16 for each centre.

    Coarse cells, sqrt(m) of them, are those of k-means; each has centres in proportion to its
    weight, by k-means of its own rows. Starts are drawn as the rows are. A row twice and a row of
    twice the weight are the same, and so are rows in another order.
    """
    order = along_a_line(rows, seed)
    drawn, count = np.unique(
        evenly(weight[order], max(_TRAIN * m, _LEAST_TRAIN)), return_counts=True
    )
    some, count = rows[order[drawn]], count.astype(np.float64)
    coarse, middle, unit = coarse_centres(some, count, m)
    cell = nearest(some.astype(np.float64), coarse, middle, unit)
    mass = np.bincount(cell, weights=count, minlength=coarse.shape[0])
    quota = _in_proportion(mass, np.bincount(cell, minlength=coarse.shape[0]), m)
    fine = []
    for c in range(coarse.shape[0]):
        own = cell == c
        near = coarse[c].astype(some.dtype)
        fine.append(_lloyd(some[own], count[own], int(quota[c]), near, unit))
    start = np.concatenate([[0], np.cumsum(quota)])
    return Centres(coarse, np.concatenate(fine), start, middle, unit)


@one_blas_thread()
def coarse_centres(rows: Array, weight: Array, m: int) -> tuple[Array, Array, float]:
    """Centres of about sqrt(m) coarse cells in float64, their middle, and how far rows reach.

    Rows are in an order that spreads them, as along a line.
    """
    rows = rows.astype(np.float64)
    middle = np.average(rows, axis=0, weights=weight)
    reach = float(np.abs(rows - middle).max(initial=0.0))
    unit = 2.0 ** np.ceil(np.log2(reach)) if reach > 0 else 1.0
    k = max(1, min(round(m**0.5), rows.shape[0]))
    some = np.arange(rows.shape[0])
    if some.size > _LEAST_TRAIN:  # many for each of few cells
        some = np.unique(evenly(weight, max(_LEAST_TRAIN, 64 * k)))
    centres = _lloyd(rows[some], weight[some], k, middle, unit)
    used = np.unique(nearest(rows, centres, middle, unit))  # a cell without rows has no centres
    return centres[used], middle, unit


def _lloyd(rows: Array, weight: Array, k: int, middle: Array, unit: float) -> Array:
    """K-means of weighted rows from evenly drawn starts; a centre without rows stays."""
    centres = rows[evenly(weight, k)].astype(np.float64)
    if k >= rows.shape[0]:
        return centres
    columns = rows.astype(np.float64)
    for _ in range(_STEPS if k > 1 else 1):
        label = nearest(rows, centres, middle, unit)
        total = np.bincount(label, weights=weight, minlength=k)
        sums = np.stack(
            [np.bincount(label, weights=weight * column, minlength=k) for column in columns.T],
            axis=1,
        )
        full = total > 0
        centres[full] = sums[full] / total[full, None]
    return centres


def _in_proportion(mass: Array, most: Array, m: int) -> Array:
    """Share out m by mass, at least one each and at most ``most``, by the largest remainders."""
    wanted = mass / mass.sum() * m
    quota = np.floor(wanted)
    rest = np.argsort(quota - wanted, kind="stable")[: int(m - quota.sum())]
    quota[rest] += 1
    quota = np.clip(quota, 1, np.maximum(most, 1)).astype(np.intp)
    while quota.sum() > m:  # by those that would have had none
        quota[np.argmax(quota)] -= 1
    return quota


def grid_cells(rows: Array, m: int) -> tuple[Array, Array]:
    """Cell of each row in the finest grid that has at most m occupied cells, and their middles.

    For up to three columns; cells are cubes, found by halving an interval of their sides.
    """
    low = rows.min(axis=0).astype(np.float64)
    span = rows.max(axis=0) - low
    coarse = 1.001 * float(span.max()) or 1.0  # one cell
    fine = coarse / (2 * m)  # in which even a line has more than m cells, unless there are gaps
    shifted = rows - low
    for _ in range(_HALVINGS):
        middle = (coarse * fine) ** 0.5
        if _occupied(shifted, span, middle) <= m:
            coarse = middle
        else:
            fine = middle
        if coarse - fine <= 0.02 * coarse:
            break
    keys = _keys(shifted, span, coarse)
    found, label = np.unique(keys, return_inverse=True)
    corners = np.stack(np.unravel_index(found, _shape(span, coarse)), axis=1)
    return label.ravel(), low + (corners + 0.5) * coarse


def _shape(span: Array, side: float) -> tuple[int, ...]:
    return tuple((np.floor(span / side) + 1).astype(np.int64).tolist())


def _keys(shifted: Array, span: Array, side: float) -> Array:
    """Return one number for the cell of each row."""
    shape = _shape(span, side)
    key = np.zeros(shifted.shape[0], dtype=np.int64)
    for column, size in zip(shifted.T, shape, strict=True):
        key = key * size + np.minimum((column / side).astype(np.int64), size - 1)
    return key


def _occupied(shifted: Array, span: Array, side: float) -> int:
    """How many cells have rows."""
    n_cells = float(np.prod(np.floor(span / side) + 1))
    if n_cells > 2.0**62:
        return shifted.shape[0] + 1  # too many to number: finer than is wanted
    keys = _keys(shifted, span, side)
    if n_cells > _TABLE:
        return int(np.unique(keys).size)
    table = np.zeros(int(n_cells), dtype=bool)
    table[keys] = True
    return int(np.count_nonzero(table))
