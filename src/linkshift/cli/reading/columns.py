"""From a table to features, sample ids and labels."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkshift._core.text import counted, listed, short
from linkshift.cli.reading.frames import FrameTable
from linkshift.cli.reading.tables import Table
from linkshift.cli.talking import Console, InputError, hint, passed_on, shown_rows
from linkshift.tables.columns import LARGEST, refuse_uneven
from linkshift.tables.ids import says_ids, seems_ids
from linkshift.tables.scaling import Scaling

_SCALED = {
    "none": "none, columns are taken as they are",
    "standard": "standard, each column has mean 0 and spread 1",
    "minmax": "minmax, each column goes from 0 to 1",
}

_CODES = re.compile(
    r"(^|[\W_])(zip|plz|postleitzahl|(zip|post|postal)[\W_]?codes?)($|[\W_])", re.IGNORECASE
)


class Features(NamedTuple):
    """The numbers to cluster, and the columns they come from."""

    X: NDArray[Any]
    names: tuple[str, ...]


def features(
    table: Table,
    console: Console,
    *,
    columns: str | tuple[str, ...] | None,
    reserved: Sequence[str],
) -> Features:
    """Pick the columns to cluster, say which, and refuse gaps in them.

    ``columns`` is the text of --columns; a tuple where a model says which it takes.
    """
    free = [name for name in table.names if name not in reserved]
    kinds = {name: table.kind(name) for name in free}
    if columns is None:
        with passed_on(f"{table.path}: "):
            for name, kind in kinds.items():
                refuse_uneven(name, kind)
        names = _default_columns(table, kinds, console)
    else:
        names = _named_columns(table, columns, reserved)
    chosen = set(names)
    left_out = [f"{name} ({kind})" for name, kind in kinds.items() if name not in chosen]
    if not names:
        raise InputError(
            f"{table.path} has no numeric columns to cluster. "
            f"Its columns: {listed(left_out, 20) or 'none'}."
            + (f" Not counted: {', '.join(reserved)}." if reserved else "")
            + " linkshift cluster --prepare makes numbers of text and dates."
        )
    console.say(
        f"{table.path}: {counted(table.n_rows, 'row')}, {counted(len(names), 'column')} used: "
        + listed(names)
        + (f". Left out: {listed(left_out)}" if left_out else "")
        + "."
    )
    X = table.matrix(names)
    _refuse_gaps(table, X, names, choose=not isinstance(columns, tuple))
    if columns is None:
        _warn_of_counters(X, names, console)
        _warn_of_codes(X, names, console)
        if isinstance(table, FrameTable):
            _warn_of_typos(table, free, console)
    return Features(X, names)


def _default_columns(table: Table, kinds: dict[str, str], console: Console) -> tuple[str, ...]:
    """Take all columns of numbers, or those of the lists; note in ``kinds`` why not of others."""
    if len(table.lists) > 1:
        raise InputError(
            f"{table.path} has several columns of lists: {listed(table.lists)}. Say which to "
            f"cluster: --columns {shlex.quote(next(iter(table.lists)))}"
        )
    for name, parts in table.lists.items():
        # Numbers beside an embedding are in other units, and few against many.
        others = [c for c, kind in kinds.items() if kind == "number" and c not in set(parts)]
        kinds |= dict.fromkeys(others, "beside the lists")
        console.say(f"{table.path}: {name!r} holds lists of {counted(len(parts), 'number')}.")
    numeric = tuple(name for name, kind in kinds.items() if kind == "number")
    if numeric:
        X = table.matrix(numeric)
        kinds |= dict.fromkeys(_constant(X, numeric), "constant")
        if not table.lists and isinstance(table, FrameTable):
            ids = [name for j, name in enumerate(numeric) if says_ids(name, X[:, j])]
            kinds |= dict.fromkeys(ids, "ids")
            for name in ids:
                console.say(
                    f"{table.path}: {name!r} names rows, and is left out: --id-column "
                    f"{shlex.quote(name)} takes it for links and output, --columns as a number."
                )
    return tuple(name for name in numeric if kinds[name] == "number")


def _constant(X: NDArray[Any], names: tuple[str, ...]) -> set[str]:
    """Columns that say nothing, unless they are all there is.

    They would count as dimensions where the bandwidth is taken from the data.
    """
    same = (X[0] == X).all(axis=0)
    if len(X) < 2 or same.all():
        return set()
    return {names[j] for j in np.flatnonzero(same).tolist()}


def _warn_of_typos(table: FrameTable, free: list[str], console: Console) -> None:
    """Point to columns of numbers that a few bad cells have turned into text."""
    for name in free:
        if table.kind(name) != "text":
            continue
        row, cell, share = table.not_a_number(name)
        if 0 < share < 0.5:
            console.warn(
                f"{table.place(row)}: column {name!r} is left out because not all of it is "
                f"numbers: row {row} has {short(cell)}. Correct the cell to use the column; "
                "linkshift cluster --prepare takes it for missing."
            )


def _named_columns(
    table: Table, columns: str | tuple[str, ...], reserved: Sequence[str]
) -> tuple[str, ...]:
    names = columns
    if isinstance(names, str):
        given = listed_columns(names)
        names = tuple(part for name in given for part in table.lists.get(name, (name,)))
    for name in names:
        check_column(table, name, "--columns")
        if name in reserved:
            raise InputError(
                f"column {name!r} holds ids, labels or weights; take it out of --columns."
            )
        if names.count(name) > 1:
            raise InputError(f"--columns names {name!r} twice. Name it once.")
        if table.kind(name) not in ("number", "true/false"):
            raise InputError(_not_numeric(table, name, choose=isinstance(columns, str)))
    return names


def listed_columns(text: str, option: str = "--columns") -> tuple[str, ...]:
    """Give the names in the text of --columns or another option."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise InputError(f"{option} is empty. Name columns with commas between: {option} a,b.")
    return names


def _not_numeric(table: Table, name: str, *, choose: bool) -> str:
    leave = ", leave it out of --columns, or let linkshift cluster --prepare make numbers of it"
    leave = leave if choose else ""
    if not isinstance(table, FrameTable):
        return f"--columns takes columns of the matrix, by number; {name!r} is another array."
    kind = table.kind(name)
    if kind == "empty":
        return f"{table.path}: column {name!r} is empty. Fill it{leave}."
    if kind == "date" or "lists" in kind:
        held = kind if "lists" in kind else f"{kind}s"
        return f"{table.path}: column {name!r} holds {held}. Turn them into numbers{leave}."
    row, cell, _ = table.not_a_number(name)
    return (
        f"{table.place(row)}: column {name!r} is not numeric: row {row} has {short(cell)}. "
        f"Correct it{leave}."
    )


def check_column(table: Table, name: str, option: str) -> None:
    """Refuse a column that is not there."""
    if name not in table.names:
        known = (*table.lists, *table.names)
        raise InputError(
            f"{option}: {table.path} has no column {name!r}.{hint(name, known)} "
            f"Its columns: {listed(known, 20)}."
        )


def _refuse_gaps(table: Table, X: NDArray[Any], names: tuple[str, ...], *, choose: bool) -> None:
    most = LARGEST[X.dtype.name]
    usable = np.abs(X) <= most  # NaN is not
    if usable.all():
        return
    first = int(np.argmin(usable.all(axis=1)))
    for name, parts_ in table.lists.items():
        places = [names.index(part) for part in parts_ if part in names]
        if places and (absent := np.flatnonzero(np.isnan(X[:, places]).all(axis=1)).tolist()):
            raise InputError(
                f"{table.place(first)}: no list in column {name!r} in {shown_rows(absent)}, "
                f"{len(absent):,} of {counted(table.n_rows, 'row')}. Delete these rows, or fill "
                "them in (embed what is missing)"
                + ("; linkshift cluster --prepare fills them with medians." if choose else ".")
            )
    parts = []
    for how, wrong in (
        ("missing", np.isnan(X)),
        ("infinite", np.isinf(X)),
        (f"too large to be squared (beyond {most:g})", ~usable & np.isfinite(X)),
    ):
        columns = np.flatnonzero(wrong.any(axis=0))
        parts += [
            f"  {names[j]}: {how} in {shown_rows(np.flatnonzero(wrong[:, j]).tolist())}"
            for j in columns[:5].tolist()
        ]
        if len(columns) > 5:
            parts.append(f"  and {len(columns) - 5} more columns with {how} values")
    fine = usable.all(axis=0)
    n_wrong = int(np.count_nonzero(~fine))
    what = "gaps" if np.isnan(X[~usable]).all() else "cells that hold no usable number"
    n_all = len(names)
    which = f"{n_wrong} of the {n_all} columns used {'has' if n_wrong == 1 else 'have'}"
    if n_wrong == n_all:
        which = "the one column used has" if n_all == 1 else f"all {n_all} columns used have"
    head = f"{table.place(first)}: {which} {what}, first in row {first}:"
    remedy = "Fill these cells, or delete their rows. A model that was made with linkshift cluster "
    remedy += "--prepare fills them itself."
    if choose:
        remedy = "Let linkshift cluster --prepare fill them, which says how; or fill the cells, or "
        remedy += "delete their rows"
        # A column that may name rows is whole, and no help: it would be all there is to go by.
        whole = [c for j, c in enumerate(names) if fine[j] and not seems_ids(X[:, j])]
        if 0 < len(whole) <= 12:
            remedy += f", or go by the other columns: --columns {shlex.quote(','.join(whole))}"
        remedy += "."
        if n_wrong == 1:
            j = int(np.argmin(fine))
            name = names[j]
        if n_wrong == 1 and _may_be_classes(X[:, j]):
            remedy += f" If {name!r} holds known classes, say --labels-column {shlex.quote(name)}."
    raise InputError("\n".join([head, *parts, remedy]))


def _may_be_classes(values: NDArray[Any]) -> bool:
    """Whether numbers with gaps may be those of classes: whole ones, most of them several times."""
    known = values[np.isfinite(values)]
    return bool((known == np.floor(known)).all() and 2 * len(np.unique(known)) <= len(known))


def _warn_of_codes(X: NDArray[Any], names: tuple[str, ...], console: Console) -> None:
    """Point to codes of places, which are written in digits and are no amounts."""
    for j, name in enumerate(names):
        if _CODES.search(name) and (X[:, j] == np.floor(X[:, j])).all() and len(names) > 1:
            others = [other for other in names if other != name]
            leave = f": --columns {shlex.quote(','.join(others))}" if len(others) <= 12 else ""
            console.warn(
                f"column {name!r} seems to hold postal codes, yet it is used as a number: codes "
                f"that are near each other need not be places that are. Leave it out{leave}."
            )


def _warn_of_counters(X: NDArray[Any], names: tuple[str, ...], console: Console) -> None:
    if X.shape[1] < 2:
        return
    for j, name in enumerate(names):
        if how := seems_ids(X[:, j]):
            console.warn(
                f"column {name!r} only {how}, yet it is used as a feature. "
                f"If it names them, say --id-column {shlex.quote(name)}."
            )


def scale_note(
    scaling: Scaling,
    X: NDArray[Any],
    names: tuple[str, ...],
    parts: Sequence[tuple[str, ...]] | None = None,
) -> str:
    """Say how columns are scaled and why, or which would drown which where they are not."""
    why = f": {scaling.why}" if scaling.why else ""
    if scaling.kind != "none" or why:
        return f"Scale: {_SCALED[scaling.kind]}{why}."
    place = {name: column for column, name in enumerate(names)}
    for part in parts or [names]:
        columns = [place[name] for name in part]
        meant = Scaling.of(X[:, columns], "auto", part, told=False)
        if meant.kind != "none":
            note = f" {meant.why}: --scale standard lets both count."
            return f"Scale: {_SCALED['none']}.{note}"
    return f"Scale: {_SCALED['none']}."


def sample_ids(table: Table, column: str) -> list[Any]:
    """Give the ids of the rows: all there, all different."""
    ids = _cells(table, column, "--id-column")
    empty = [row for row, name in enumerate(ids) if name is None or name == "" or name != name]
    if empty:
        raise InputError(
            f"{table.place(empty[0])}: --id-column {column}: no id in {shown_rows(empty)}. "
            "Fill them in."
        )
    seen: dict[str, int] = {}
    for row, name in enumerate(ids):
        first = seen.setdefault(str(name), row)
        if first != row:
            raise InputError(
                f"{table.place(row)}: --id-column {column}: rows {first} and {row} have the same "
                f"id, {short(name)}. Ids must differ; choose another column."
            )
    return ids


def partial_labels(table: Table, column: str) -> list[Any]:
    """Give the labels of the rows, None where empty or -1."""
    labels: list[Any] = []
    for row, cell in enumerate(_cells(table, column, "--labels-column")):
        value = cell.strip() if isinstance(cell, str) else cell
        unknown = value is None or value in ("", "-1", -1) or value != value
        labels.append(None if unknown else value)
        if not unknown and isinstance(value, float) and not value.is_integer():
            raise InputError(
                f"{table.place(row)}: --labels-column {column}: row {row} has {value:g}. Labels "
                "are names or whole numbers; choose another column."
            )
    return labels


def row_weights(table: Table, column: str) -> NDArray[np.float64]:
    """Give the weights of the rows: numbers from zero on, not all zero."""
    cells = _cells(table, column, "--weights")
    weights = np.array([_number(cell) for cell in cells], dtype=np.float64)
    wrong = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
    if wrong.size:
        row = int(wrong[0])
        held = "no weight" if cells[row] in (None, "") else short(cells[row])
        raise InputError(
            f"{table.place(row)}: --weights {column}: row {row} has {held}. Weights are numbers "
            "from 0 on, one for each row; correct them, or choose another column."
        )
    if not weights.any():
        raise InputError(
            f"{table.path}: --weights {column}: every weight is zero, and no row counts. Give some "
            "rows a weight above zero, or choose another column."
        )
    return weights


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return float("nan")


def group_entries(table: Table, column: str, option: str) -> list[Any]:
    """Give the entries of a column that groups rows, None where empty or -1."""
    cells = (c.strip() if isinstance(c, str) else c for c in _cells(table, column, option))
    return [None if c is None or c in ("", "-1", -1) or c != c else c for c in cells]


def shown_values(table: Table, column: str, option: str = "--show") -> list[Any]:
    """Give what is shown of the rows, None where a cell is empty."""
    return _cells(table, column, option)


def _cells(table: Table, column: str, option: str) -> list[Any]:
    if column not in table.lists:
        check_column(table, column, option)
    if column in table.lists or "lists" in table.kind(column):
        raise InputError(
            f"{option}: column {column!r} of {table.path} holds lists. Choose another column."
        )
    return table.values(column)
