"""Names of rows: columns of whole numbers that are ids, and rows called by their ids."""

from __future__ import annotations

import re
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.messages import Refusal
from linkshift._core.text import near

__all__ = ["ids_of", "row_called", "says_ids", "seems_ids"]

_NAME = re.compile(
    r"(^|[\s_.:-])(id|ids|uid|uuid|guid|pk|key|rowid|row_?id)$|[a-z]I[dD]$", re.ASCII
)
_ENOUGH = 20  # rows from which growing numbers are no chance
_NO_CHANCE = 3.0  # equal pairs that were to be expected


def says_ids(name: str, values: Array) -> bool:
    """Whether a column is called an id, and its values are whole numbers that all differ.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.tables.ids import says_ids
    >>> says_ids("customer_id", np.array([1009.0, 17.0, 354.0]))
    True
    >>> says_ids("width", np.array([1009.0, 17.0, 354.0]))
    False
    """
    named = _NAME.search(name) or _NAME.search(name.lower())
    return bool(named) and _are_whole(values) and len(np.unique(values)) == len(values)


def ids_of(columns: Iterable[Any]) -> dict[str, list[int]]:
    """Columns of a table that are ids by name and values, and the ids that they hold."""
    return {
        column.name: column.values.astype(np.int64).tolist()
        for column in columns
        if column.kind == "number" and says_ids(column.name, column.values)
    }


def seems_ids(values: Array) -> str:
    """Say in what way whole numbers look like ids, whatever they are called; else nothing.

    Numbers that count or grow from row to row do, and those that all differ although of numbers
    drawn at random from their range several pairs would be equal.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.tables.ids import seems_ids
    >>> seems_ids(np.array([5.0, 6.0, 7.0])), seems_ids(np.array([5.0, 7.0, 6.0]))
    ('counts the rows', '')
    """
    n = len(values)
    if n < 3 or not _are_whole(values):
        return ""
    steps = np.diff(values)
    if (steps == 1).all():
        return "counts the rows"
    if n < _ENOUGH:
        return ""
    if (steps > 0).all():
        return "grows from row to row, as ids do"
    equal = n * (n - 1) / 2 / (float(np.ptp(values)) + 1)  # pairs, if they were drawn at random
    if equal >= _NO_CHANCE and len(np.unique(values)) == n:
        return "holds whole numbers that all differ, as ids do"
    return ""


def row_called(row: Any, names: list[Any] | None, n: int) -> Any:
    """Give the number of a row that is called by its id, or by its number."""
    is_number = isinstance(row, Integral)
    if names is not None and row in names:
        return names.index(row)
    if is_number and not any(isinstance(name, Real) for name in names or ()):
        return row
    if names is None:
        if not isinstance(row, str):
            return row  # the model says what is wrong with it
        raise Refusal(
            f"There is no row {row!r}: rows have no ids here.",
            f"Give the number of a row, from 0 to {n - 1}, or cluster a DataFrame with ids for "
            "its index.",
            parameter="row",
        )
    close = near(str(row), map(str, names))  # K0299 is not what K9999 was meant to be
    raise Refusal(
        f"No row has the id {row!r}.{f' Did you mean {close!r}?' if close else ''}",
        f"Rows are called by their ids here, such as {names[0]!r}.",
        parameter="row",
    )


def _are_whole(values: Array) -> bool:
    return bool(np.isfinite(values).all() and (values == np.round(values)).all())
