"""Rows drawn evenly by weight: the same ones for any order of the rows."""

from __future__ import annotations

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.threads import one_blas_thread

__all__ = ["along_a_line", "even_rows", "evenly"]


def even_rows(rows: Array, size: int, seed: int, weight: Array | None = None) -> Array:
    """About ``size`` rows, evenly along a line of random direction: which ones, and no twice.

    All rows, where they are no more. Heavy rows are drawn once, too.
    """
    if rows.shape[0] <= size:
        return np.arange(rows.shape[0])
    order = along_a_line(rows, seed)
    share = np.ones(rows.shape[0]) if weight is None else weight[order]
    return np.unique(order[evenly(share, size)])


@one_blas_thread()  # ties and near ties would be in another order
def along_a_line(rows: Array, seed: int) -> Array:
    """Order of the rows along a line of random direction, in units of the columns' ranges."""
    span = rows.max(axis=0).astype(np.float64) - rows.min(axis=0)
    drawn = np.random.default_rng(seed).normal(size=rows.shape[1])
    direction = drawn / np.where(span > 0, span, 1.0)
    return np.argsort(rows @ direction.astype(rows.dtype), kind="stable")


def evenly(weight: Array, size: int) -> Array:
    """Draw ``size`` entries from a list, at equal steps of the summed weight.

    An entry of twice the weight is drawn as often as two: where an entry stands twice, with half
    the weight each, nothing changes.
    """
    reached = np.cumsum(weight, dtype=np.float64)
    marks = (np.arange(size) + 0.5) * (reached[-1] / size)
    return np.minimum(np.searchsorted(reached, marks, side="right"), len(weight) - 1)
