"""Columns of whole numbers that name rows instead of measuring them."""

from __future__ import annotations

import re

import numpy as np

from linkshift._core.arrays import Array

__all__ = ["only_grows", "says_ids"]

_NAME = re.compile(
    r"(^|[\s_.:-])(id|ids|uid|uuid|guid|pk|key|rowid|row_?id)$|[a-z]I[dD]$", re.ASCII
)
_ENOUGH = 20  # rows from which growing numbers are no chance


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


def only_grows(values: Array) -> str:
    """Say of whole numbers in what way they go up from row to row; nothing where they do not.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.tables.ids import only_grows
    >>> only_grows(np.array([5.0, 6.0, 7.0])), only_grows(np.array([5.0, 7.0, 6.0]))
    ('counts the rows', '')
    """
    if len(values) < 3 or not _are_whole(values):
        return ""
    steps = np.diff(values)
    if (steps == 1).all():
        return "counts the rows"
    return (
        "grows from row to row, as ids do" if len(values) >= _ENOUGH and (steps > 0).all() else ""
    )


def _are_whole(values: Array) -> bool:
    return bool(np.isfinite(values).all() and (values == np.round(values)).all())
