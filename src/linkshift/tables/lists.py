"""Columns whose cells are lists of numbers, such as embeddings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from linkshift._core.arrays import Array

__all__ = ["is_list", "list_matrix", "part_names"]


def is_list(cell: Any) -> bool:
    """Whether a cell holds several things."""
    return isinstance(cell, list | tuple | np.ndarray)


def part_names(name: str, width: int) -> tuple[str, ...]:
    """Names of the columns that lists become."""
    return tuple(f"{name}_{i}" for i in range(width))


def list_matrix(cells: Iterable[Any]) -> Array | str:
    """Rows of a matrix from cells that hold as many numbers each, or in words what they hold.

    An empty cell is a row of NaN. float32 stays, float16 becomes float32, all else float64.

    Examples
    --------
    >>> from linkshift.tables.lists import list_matrix
    >>> list_matrix([[1, 2], None, [3, 4]])
    array([[ 1.,  2.],
           [nan, nan],
           [ 3.,  4.]])
    >>> list_matrix([[1, 2], [3]])
    'lists of different lengths, such as 2 and 1'
    """
    rows = list(cells)
    if any(isinstance(cell, dict | set) for cell in rows):
        return "nested lists"
    filled = np.array([is_list(cell) for cell in rows], dtype=bool)
    if any(not there and not _is_missing(cell) for cell, there in zip(rows, filled, strict=True)):
        return "lists among other things"
    lists = [cell for cell, there in zip(rows, filled, strict=True) if there]
    lengths = [len(cell) for cell in lists]
    if not lists or max(lengths) == 0:
        return "empty lists"
    other = next((length for length in lengths if length != lengths[0]), None)
    if other is not None:
        return f"lists of different lengths, such as {lengths[0]} and {other}"
    block = _block(lists)
    if block is None:
        return "lists of other things than numbers"
    if filled.all():
        return block
    full = np.full((len(rows), block.shape[1]), np.nan, dtype=block.dtype)
    full[filled] = block
    return full


def _is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and cell != cell)


def _block(lists: list[Any]) -> Array | None:
    """Make lists of one length a matrix; None unless all they hold are numbers."""
    try:
        block = np.array(lists)
    except (ValueError, TypeError, OverflowError):  # lists within lists
        return None
    if block.dtype == object and block.ndim == 2:
        cells = block.ravel().tolist()
        if not all(cell is None or isinstance(cell, int | float) for cell in cells):
            return None
        block = block.astype(np.float64)
    if block.ndim != 2 or block.dtype.kind not in "biuf":
        return None
    small = block.dtype in (np.float16, np.float32)
    return np.ascontiguousarray(block, dtype=np.float32 if small else np.float64)
