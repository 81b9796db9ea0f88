"""A table that is given to be clustered: its numbers, its index, its ids, how to read others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from linkshift._core.arrays import Array
from linkshift._core.messages import Advice, Refusal, warn
from linkshift._core.text import counted, listed
from linkshift.tables.columns import (
    LISTS,
    Column,
    as_sparse,
    columns_of,
    index_of,
    is_table,
    refuse_uneven,
)
from linkshift.tables.ids import ids_of
from linkshift.tables.lists import CUT
from linkshift.tables.preparing import TEXTS, Preparation, Prepared

__all__ = [
    "Reading",
    "by_index",
    "counts_rows",
    "is_made",
    "read_given",
    "refuse_anndata",
    "refuse_gaps",
    "with_index",
]

_PREPARE = "linkshift.prepare(table) makes numbers of them, and says how: cluster what it gives."
_TEXTS = "X is a list of texts, and distances need numbers."
_UNCUT = (
    "NumPy leaves numbers out of long arrays when it prints them, and they are lost: save the "
    "table again with lists, array.tolist(), or as Parquet."
)
_NUMBERS = ("number", "true/false")


class Reading(NamedTuple):
    """What there is to cluster.

    ``X`` is as it was given where it is a table of numbers; ``recipe`` is how it was made of what
    was given, None where nothing was done; ``ids`` are names of rows that no index has.
    """

    X: Any
    index: Any = None
    ids: Sequence[Any] | None = None
    recipe: Preparation | None = None


def is_made(X: Any) -> bool:
    """Whether columns are what `prepare` has made, or are components of sparse data."""
    return isinstance(X, Prepared) or sparse.issparse(as_sparse(X))


def read_given(X: Any) -> Reading:
    """Read a table in any of the forms that `linkshift.cluster` takes."""
    if isinstance(X, Prepared):
        return Reading(X.X, X.index, X.ids, X.recipe)
    refuse_anndata(X, "Use linkshift.anndata.cluster(adata).")
    if _are_texts(X):
        raise Refusal(_TEXTS, TEXTS)
    index, X = index_of(X), as_sparse(X)
    if sparse.issparse(X):
        recipe = Preparation()
        rows = recipe.fit_transform(X)
        remedy = "linkshift.prepare(X, pca=N) takes another number of columns: cluster its result."
        warn(Advice(recipe.said_[-1], remedy, parameter="X"))
        return Reading(rows, index, None, recipe)
    is_series = not is_table(X) and hasattr(X, "to_frame") and not hasattr(X, "columns")
    if not is_series and not is_table(X):
        return Reading(X)
    columns = columns_of(X)
    if is_series and columns[0].kind == "text":
        raise Refusal(_TEXTS, TEXTS)
    for column in columns:
        refuse_uneven(column.name, column.kind)
    names = ids_of(columns)
    ids = next(iter(names.values())) if len(names) == 1 else None
    lists = [column for column in columns if column.kind == LISTS]
    if len(lists) > 1:
        raise Refusal(
            f"Several columns hold lists: {listed(column.name for column in lists)}.",
            f"Give one of them, table[{lists[0].name!r}], or all as views: a dict of matrices.",
        )
    if lists:
        others = [c.name for c in columns if c.kind in (*_NUMBERS, "date") and c.name not in names]
        if others:
            left = f"left out: {listed(others)}."
            warn(
                Advice(
                    f"Column {lists[0].name!r} holds lists of numbers and is what is clustered; "
                    f"{left}",
                    "linkshift.prepare(table) takes all columns: cluster what it gives.",
                )
            )
        _refuse_missing_lists(lists[0], index if index is not None and not ids else ids)
        return _as_it_is(lists, index, ids)
    _refuse_others(columns, index)
    rest = [column for column in columns if column.name not in names]
    if not names or not rest or is_series:
        return Reading(X, index, ids)
    first = next(iter(names))
    says_so = f"table.drop({first!r}) says so;"
    if index is not None:
        says_so = f"table.set_index({first!r}) says so;"
    which = "Column" if len(names) == 1 else "Columns"
    does = "names rows and is" if len(names) == 1 else "name rows and are"
    warn(
        Advice(
            f"{which} {listed(map(repr, names))} {does} left out: whole numbers that all differ.",
            f"{says_so} under another name it is a number.",
        )
    )
    return _as_it_is(rest, index, ids)


def _as_it_is(columns: list[Column], index: Any, ids: Any) -> Reading:
    """Take some columns of a table, and nothing else: no logarithm, no scale, no components."""
    rows = np.column_stack([column.values for column in columns])
    refuse_gaps(rows, [c.name for c in columns for _ in range(np.atleast_2d(c.values.T).shape[0])])
    recipe = Preparation(log=False, scale="none", pca=None)
    return Reading(recipe.learn(columns), index, ids, recipe)


def _refuse_missing_lists(column: Column, names: Any) -> None:
    """Refuse rows without a list, by their ids, and say what to do with them."""
    missing = np.flatnonzero(np.isnan(column.values).all(axis=1)).tolist()
    if missing:
        called = listed((missing if names is None else [names[row] for row in missing]), 5)
        which = "row" if len(missing) == 1 else "rows"
        raise Refusal(
            f"{len(missing):,} of {counted(len(column.values), 'row')} without a list in "
            f"{column.name!r}: {which} {called}.",
            f"Leave them out, table[table[{column.name!r}].notna()], or fill them in (embed what "
            "is missing); linkshift.prepare(table) fills them with medians.",
        )


def refuse_anndata(X: Any, remedy: str) -> None:
    """Refuse an AnnData object in the place of a table."""
    if hasattr(X, "obs") and hasattr(X, "var"):
        raise Refusal("X is an AnnData object.", remedy)


def _are_texts(X: Any) -> bool:
    """Whether these are texts one by one, in a list or an array."""
    one_by_one = isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.ndim == 1)
    return one_by_one and len(X) > 0 and all(isinstance(cell, str) for cell in X)


def _refuse_others(columns: list[Column], index: Any) -> None:
    """Refuse columns that are no numbers; one of texts that all differ may name rows."""
    others = [column for column in columns if column.kind not in _NUMBERS]
    if not others:
        return
    remedy = _UNCUT if any(column.kind == CUT for column in columns) else _PREPARE
    if len(others) == 1 < len(columns) and others[0].kind == "text":
        name, cells = others[0].name, others[0].values.tolist()
        if None not in cells and len(set(cells)) == len(cells):
            remedy = f"If it names rows: {_with_names(name, index)} Else {_PREPARE}"
    raise Refusal(
        f"{counted(len(others), 'column')} of the table "
        f"{'is' if len(others) == 1 else 'are'} no numbers: "
        f"{listed(f'{column.name} ({column.kind})' for column in others)}.",
        remedy,
    )


def _with_names(name: str, index: Any) -> str:
    """How a table is told which column names its rows: only one of pandas has an index."""
    if index is not None:
        return f"cluster(table.set_index({name!r}), ...)."
    return f"cluster(table.drop({name!r}), Links(..., ids=table[{name!r}]))."


def refuse_gaps(rows: Array, names: Iterable[object] | None = None) -> None:
    """Refuse text, and numbers that are missing, with their columns and the remedy."""
    if rows.dtype.kind in "OUS":
        try:
            rows = rows.astype(np.float64)
        except (TypeError, ValueError):
            raise Refusal("The table holds text among its numbers.", _PREPARE) from None
    if rows.dtype.kind != "f" or not np.isnan(rows).any():
        return
    missing = np.isnan(rows)
    first = int(np.argmax(missing.any(axis=1)))
    called = [*map(str, range(rows.shape[1]) if names is None else names)]
    found = dict.fromkeys(called[j] for j in np.flatnonzero(missing.any(axis=0)).tolist())
    where = f"column{'s' if len(found) > 1 else ''} {listed(found)}"
    raise Refusal(
        f"{counted(int(missing.sum()), 'value')} missing (NaN), in {where}; first in row {first}.",
        "linkshift.prepare(table) fills gaps, and says how: cluster what it gives.",
    )


def counts_rows(index: Any) -> bool:
    """Whether an index says no more than the number of a row: 0, 1, 2, ..."""
    values = np.asarray(index)
    return values.dtype.kind in "iu" and np.array_equal(values, np.arange(len(values)))


def by_index(values: Any, index: Any, ids: Sequence[Any] | None, what: str) -> Any:
    """Bring a Series into the order of rows, by its index where rows have names.

    All else is in the order of rows, and so is a Series beside rows without names.
    """
    own = index_of(values)
    if own is None or (index is None and ids is None):
        return values
    if index is not None and own.equals(index):
        return values
    for names in (index, ids):
        if names is not None and own.is_unique and (place := own.get_indexer(names)).min() >= 0:
            return values.iloc[place]
    raise Refusal(
        f"{what} is a Series whose index does not have all rows of the table"
        + ("." if own.is_unique else ", or has some twice."),
        f"Give a column of the table that was clustered, or {what}.to_numpy() in the order of its "
        "rows.",
        parameter=what,
    )


def with_index(labels: Array, index: Any) -> Any:
    """Give labels as a Series where rows have an index."""
    if index is None:
        return labels
    import pandas as pd

    return pd.Series(labels, index=index, name="cluster")
