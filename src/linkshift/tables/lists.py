"""Columns whose cells are lists of numbers, such as embeddings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.text import listed

__all__ = ["is_embedding", "is_list", "list_matrix", "lists_in_text", "part_names"]

CUT = "lists of numbers as text, cut short by '...'"
FEW = "lists of which few have another length"


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
    if len(set(lengths)) > 1:
        return _uneven(np.flatnonzero(filled), lengths)
    block = _block(lists)
    if block is None:
        return "lists of other things than numbers"
    if filled.all():
        return block
    full = np.full((len(rows), block.shape[1]), np.nan, dtype=block.dtype)
    full[filled] = block
    return full


def lists_in_text(cells: Iterable[Any]) -> list[Any] | str | None:
    """Read lists that were written as text, such as "[0.1, 0.2]"; None where a cell is empty.

    Commas or spaces are between the numbers, as Python and NumPy print them. Gives None where other
    text is among them, and words where NumPy left numbers out. Lists may differ in length where
    most do not: `list_matrix` says which.

    Examples
    --------
    >>> from linkshift.tables.lists import lists_in_text
    >>> lists_in_text(["[1, 2]", None, "[3. 4.]"])
    [array([1., 2.]), None, array([3., 4.])]
    >>> lists_in_text(["[1, 2]", "none"]) is None
    True
    """
    found: list[Any] = []
    widths: Counter[int] = Counter()
    for cell in cells:
        text = cell.strip() if isinstance(cell, str) else None
        if not text:
            if not _is_missing(cell) and text is None:
                return None
            found.append(None)
            continue
        if text[0] + text[-1] != "[]":
            return None
        if "..." in text or "\u2026" in text:
            return CUT
        try:
            numbers = np.array(text[1:-1].replace(",", " ").split(), dtype=np.float64)
        except ValueError:
            return None
        widths[len(numbers)] += 1
        found.append(numbers)
    return found if widths and is_embedding(widths) else None


def is_embedding(lengths: Counter[int]) -> bool:
    """Whether lists are of one length but for a few, which must be a mistake.

    Lists of any length are other things: the numbers of tags, or of days on which it rained.
    """
    length, count = lengths.most_common(1)[0]
    return length >= 2 and 4 * count > 3 * lengths.total()


def _uneven(rows: Array, lengths: list[int]) -> str:
    """Say which lists have another length than most, by their rows."""
    counts = Counter(lengths)
    if not is_embedding(counts):
        other = next(length for length in lengths if length != lengths[0])
        return f"lists of different lengths, such as {lengths[0]} and {other}"
    most = counts.most_common(1)[0][0]
    odd = [i for i, length in enumerate(lengths) if length != most]
    which = "row" if len(odd) == 1 else "rows"
    return (
        f"{FEW}: {lengths[odd[0]]}, not {most}, in {which} {listed(rows[odd].tolist(), 5)}"
        if len({lengths[i] for i in odd}) == 1
        else f"{FEW} than {most}: {which} {listed(rows[odd].tolist(), 5)}"
    )


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
