"""Types of arrays, and rows that are equal."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Progress", "first_of_equal_rows", "offsets"]

Array = NDArray[Any]
Progress = Callable[[int, int], None]  # called with (done, all)


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
