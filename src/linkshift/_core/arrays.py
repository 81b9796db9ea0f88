"""Types of arrays, rows that are equal, and rows of length one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkshift._core.messages import Refusal

__all__ = [
    "LEAST_SQUARE",
    "Array",
    "Progress",
    "first_of_equal_rows",
    "offsets",
    "unit_rows",
    "varying_columns",
]

Array = NDArray[Any]
Progress = Callable[[int, int], None]  # called with (done, all)

LEAST_SQUARE = 1e-300  # of a width; below it, rows at distance zero alone are near
_NO_RANGE = 1e-8
_FILLED = "X[X.any(axis=1)], of a sparse matrix X[X.getnnz(axis=1) > 0]"
_UNIT_ULPS = 16  # a squared length so near to one is one: lengths are rounded, and sums of squares


def first_of_equal_rows(rows: Array) -> Array:
    """For each row, the index of the first row equal to it.

    Rows are grouped by a 64-bit hash of their bits (a sum of products, modulo 2^64); a row that
    only shares the hash keeps to itself, which is right, if not the shortest answer.
    """
    rows = np.ascontiguousarray(rows) + 0.0  # -0.0 and 0.0 are the same place
    words = rows.view(np.uint64 if rows.dtype == np.float64 else np.uint32).astype(np.uint64)
    words ^= words >> np.uint64(32)  # round numbers have zeros in their low bits
    key = words @ _multipliers(rows.shape[1])
    _, index, inverse = np.unique(key, return_index=True, return_inverse=True)
    first = index[inverse]
    collided = np.flatnonzero((rows[first] != rows).any(axis=1))
    first[collided] = collided
    return first


@cache
def _multipliers(d: int) -> Array:
    """Return one odd 64-bit number for each column, always the same ones."""
    return np.random.default_rng(0).integers(1 << 63, size=d, dtype=np.uint64) * 2 + 1


def offsets(group: Array, n_groups: int) -> Array:
    """Where each group begins when entries are sorted by group (CSR), and where the last ends."""
    counts = np.bincount(group, minlength=n_groups)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def varying_columns(span: Array) -> Array:
    """Which columns are not constant, from their ranges; rounding is no range.

    A range below 1e-8 of the median of those above zero counts as none.
    """
    positive = span[span > 0]
    least = _NO_RANGE * float(np.median(positive)) if positive.size else 0.0
    return (span > 0) & (span >= least)


def unit_rows(rows: Array, what: str = "Row") -> Array:
    """Rows divided by their length; ``what`` is what one is called when it has none.

    First by a power of two, which rounds nothing, until lengths are about one: squares then
    neither vanish nor explode, and a row times a power of two gives the same bits. Rows whose
    length is one but for rounding stay as they are then, so that doing it twice changes nothing.
    """
    largest = np.abs(rows).max(axis=1)
    if not largest.all():
        nought = np.flatnonzero(largest == 0)
        more = f" ({nought.size - 1} more like it)" if nought.size > 1 else ""
        raise Refusal(
            f"{what} {nought[0]} is all zeros{more} and has no direction, which the metric "
            "'cosine' goes by.",
            f"Leave such rows out, {_FILLED}, or use metric='euclidean'.",
            command=f"Leave such rows out (in Python {_FILLED}), or use --metric euclidean.",
            parameter="metric",
            value="cosine",
        )
    near = _times_power(rows, -np.frexp(largest)[1])
    octaves = np.round(np.log2(_squares(near)) / 2.0).astype(np.intc)
    near = _times_power(near, -octaves)
    square = _squares(near)
    rough = np.abs(square - 1.0) > _UNIT_ULPS * np.finfo(rows.dtype).eps
    length = np.where(rough, np.sqrt(square), 1.0)
    return np.ascontiguousarray(near / length[:, None].astype(rows.dtype))


def _times_power(rows: Array, exponent: Array) -> Array:
    """Each row times a power of two."""
    return np.ldexp(rows, exponent[:, None])


def _squares(rows: Array) -> Array:
    """Squared lengths, summed in float64."""
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
