"""From a table to features, sample ids and labels."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkshift._core.text import counted, listed, short
from linkshift.cli.reading.arrays import ArrayTable
from linkshift.cli.reading.frames import FrameTable
from linkshift.cli.reading.tables import Table
from linkshift.cli.talking import Console, InputError, hint, shown_rows

# Squares and sums of squares of larger numbers are infinite.
LARGEST = {"float32": 1e18, "float64": 1e150}


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
        numeric = tuple(name for name, kind in kinds.items() if kind == "number")
        kinds |= dict.fromkeys(_constant(table, numeric), "constant")
        names = tuple(name for name in numeric if kinds[name] == "number")
    else:
        names = _named_columns(table, columns, reserved)
    chosen = set(names)
    left_out = [f"{name} ({kind})" for name, kind in kinds.items() if name not in chosen]
    if not names:
        raise InputError(
            f"{table.path} has no numeric columns to cluster. "
            f"Its columns: {listed(left_out, 20) or 'none'}."
            + (f" Not counted: {', '.join(reserved)}." if reserved else "")
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
        if isinstance(table, FrameTable):
            _warn_of_typos(table, free, console)
    return Features(X, names)


def _constant(table: Table, names: tuple[str, ...]) -> set[str]:
    """Columns that say nothing, unless they are all there is.

    They would count as dimensions where the bandwidth is taken from the data.
    """
    if table.n_rows < 2 or not names:
        return set()
    X = table.matrix(names)
    same = (X[0] == X).all(axis=0)
    return set() if same.all() else {names[j] for j in np.flatnonzero(same).tolist()}


def _warn_of_typos(table: FrameTable, free: list[str], console: Console) -> None:
    """Point to columns of numbers that a few bad cells have turned into text."""
    for name in free:
        if table.kind(name) != "text":
            continue
        row, cell, share = table.not_a_number(name)
        if 0 < share < 0.5:
            console.warn(
                f"{table.place(row)}: column {name!r} is left out because not all of it is "
                f"numbers: row {row} has {short(cell)}. Correct the cell to use the column."
            )


def _named_columns(
    table: Table, columns: str | tuple[str, ...], reserved: Sequence[str]
) -> tuple[str, ...]:
    names = columns
    if isinstance(names, str):
        names = tuple(name.strip() for name in names.split(",") if name.strip())
    if not names:
        raise InputError("--columns is empty. Name the columns with commas between: --columns a,b.")
    for name in names:
        check_column(table, name, "--columns")
        if name in reserved:
            raise InputError(f"column {name!r} holds ids or labels; take it out of --columns.")
        if names.count(name) > 1:
            raise InputError(f"--columns names {name!r} twice.")
        if table.kind(name) not in ("number", "true/false"):
            raise InputError(_not_numeric(table, name, choose=isinstance(columns, str)))
    return names


def _not_numeric(table: Table, name: str, *, choose: bool) -> str:
    leave = ", or leave it out of --columns" if choose else ""
    if isinstance(table, ArrayTable):
        return f"--columns takes columns of the matrix, by number; {name!r} is another array."
    kind = table.kind(name)
    if kind == "empty":
        return f"{table.path}: column {name!r} is empty. Fill it{leave}."
    if kind in ("date", "list"):
        return f"{table.path}: column {name!r} holds {kind}s. Turn them into numbers{leave}."
    row, cell, _ = table.not_a_number(name)
    return (
        f"{table.place(row)}: column {name!r} is not numeric: row {row} has {short(cell)}. "
        f"Correct it{leave}."
    )


def check_column(table: Table, name: str, option: str) -> None:
    """Refuse a column that is not there."""
    if name not in table.names:
        raise InputError(
            f"{option}: {table.path} has no column {name!r}.{hint(name, table.names)} "
            f"Its columns: {listed(table.names, 20)}."
        )


def _refuse_gaps(table: Table, X: NDArray[Any], names: tuple[str, ...], *, choose: bool) -> None:
    most = LARGEST[X.dtype.name]
    usable = np.abs(X) <= most  # NaN is not
    if usable.all():
        return
    first = int(np.argmin(usable.all(axis=1)))
    parts = []
    for what, wrong in (
        ("missing", np.isnan(X)),
        ("infinite", np.isinf(X)),
        (f"too large to be squared (beyond {most:g})", ~usable & np.isfinite(X)),
    ):
        columns = np.flatnonzero(wrong.any(axis=0))
        parts += [
            f"  {names[j]}: {what} in {shown_rows(np.flatnonzero(wrong[:, j]).tolist())}"
            for j in columns[:5].tolist()
        ]
        if len(columns) > 5:
            parts.append(f"  and {len(columns) - 5} more columns with {what} values")
    whole = [name for name, fine in zip(names, usable.all(axis=0), strict=True) if fine]
    remedy = "Fill the cells or delete the rows"
    if choose and 0 < len(whole) <= 12:
        remedy += f", or use only the whole columns: --columns {shlex.quote(','.join(whole))}"
    if choose and len(whole) == len(names) - 1:
        remedy += ", or, if the other holds known classes, say so with --labels-column"
    head = f"{table.place(first)}: some cells hold no usable number."
    raise InputError("\n".join([head, *parts, remedy + "."]))


def _warn_of_counters(X: NDArray[Any], names: tuple[str, ...], console: Console) -> None:
    if X.shape[0] < 3 or X.shape[1] < 2:
        return
    for j in np.flatnonzero((np.diff(X, axis=0) == 1).all(axis=0)).tolist():
        console.warn(
            f"column {names[j]!r} only counts the rows, yet it is used as a feature. "
            f"If it names them, say --id-column {shlex.quote(names[j])}."
        )


def spread_note(X: NDArray[Any], names: tuple[str, ...]) -> str:
    """Say which column drowns which, where spreads differ tenfold; else nothing."""
    spread = X.std(axis=0, dtype=np.float64)
    varied = np.flatnonzero(spread > 0)
    if len(varied) < 2:
        return ""
    low, high = varied[np.argmin(spread[varied])], varied[np.argmax(spread[varied])]
    ratio = spread[high] / spread[low]
    if ratio < 10:
        return ""
    times = f"{ratio:,.0f} times" if ratio < 1e6 else "over a million times"
    return (
        f" {names[high]!r} varies {times} as much as {names[low]!r}: "
        "--scale standard lets both count."
    )


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


def _cells(table: Table, column: str, option: str) -> list[Any]:
    check_column(table, column, option)
    if table.kind(column) == "list":
        raise InputError(
            f"{option}: column {column!r} of {table.path} holds lists. Choose another column."
        )
    return table.values(column)
