"""From a data file to features, sample ids and labels; every refusal says what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkshift.cli._arrays import ArrayTable, read_array
from linkshift.cli._console import Console, InputError, counted, hint, listed, shown_rows
from linkshift.cli._frames import FrameTable, read_frame

SUFFIXES = (".csv", ".tsv", ".parquet", ".npz", ".npy")

Table = FrameTable | ArrayTable


@dataclass(frozen=True, eq=False)
class Features:
    """The numbers to cluster, and the columns they come from."""

    X: NDArray[Any]
    names: tuple[str, ...]


def read_table(path: Path, *, header: bool | None = None, id_column: str | None = None) -> Table:
    """Read a data file by its suffix."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(
            f"cannot tell the format of {path} from its suffix. "
            f"Convert it to one of {', '.join(SUFFIXES)}."
        )
    check_readable(path)
    text = suffix in (".csv", ".tsv")
    if header is not None and not text:
        raise InputError(f"--header and --no-header are for .csv and .tsv files, not {suffix}.")
    if suffix in (".npz", ".npy"):
        table: Table = read_array(path)
    else:
        table = read_frame(path, header=header, id_column=id_column)
    if table.n_rows == 0:
        raise InputError(f"{path} has no rows.")
    return table


def check_readable(path: Path) -> None:
    """Refuse a file that is not there, with a name that may have been meant."""
    if path.is_file():
        try:
            path.open("rb").close()
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}.") from None
        return
    if path.is_dir():
        raise InputError(f"{path} is a folder; give a file.")
    folder = path.parent
    if not folder.is_dir():
        raise InputError(f"{path} does not exist; neither does the folder {folder}.")
    there = sorted(item.name for item in folder.iterdir() if item.is_file())
    raise InputError(f"{path} does not exist.{hint(path.name, there)}")


# --- columns ------------------------------------------------------------------------------------


def features(
    table: Table, console: Console, *, columns: str | None, reserved: Sequence[str]
) -> Features:
    """Pick the columns to cluster, say which, and refuse gaps in them."""
    free = [name for name in table.names if name not in reserved]
    if columns is None:
        names = tuple(name for name in free if table.kind(name) == "number")
    else:
        names = _named_columns(table, columns, reserved)
    chosen = set(names)
    left_out = [f"{name} ({table.kind(name)})" for name in free if name not in chosen]
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
    _refuse_gaps(X, names)
    if columns is None:
        _warn_of_counters(X, names, console)
        if isinstance(table, FrameTable):
            _warn_of_typos(table, free, console)
    return Features(X, names)


def _warn_of_typos(table: FrameTable, free: list[str], console: Console) -> None:
    """Point to columns of numbers that a few bad cells have turned into text."""
    for name in free:
        if table.kind(name) != "text":
            continue
        row, cell, share = table.not_a_number(name)
        if 0 < share < 0.5:
            console.warn(
                f"column {name!r} is left out because not all of it is numbers: row {row} has "
                f"{cell!r}. Correct the cell to use the column."
            )


def _named_columns(table: Table, columns: str, reserved: Sequence[str]) -> tuple[str, ...]:
    names = tuple(name.strip() for name in columns.split(",") if name.strip())
    if not names:
        raise InputError("--columns is empty. Name the columns with commas between: --columns a,b.")
    for name in names:
        check_column(table, name, "--columns")
        if name in reserved:
            raise InputError(f"column {name!r} holds ids or labels; take it out of --columns.")
        if names.count(name) > 1:
            raise InputError(f"--columns names {name!r} twice.")
        if table.kind(name) in ("text", "date", "array"):
            raise InputError(_not_numeric(table, name))
    return names


def _not_numeric(table: Table, name: str) -> str:
    if isinstance(table, ArrayTable):
        return f"--columns takes columns of the matrix, by number; {name!r} is another array."
    if table.kind(name) == "date":
        return f"column {name!r} holds dates. Turn them into numbers, or leave it out of --columns."
    row, cell, _ = table.not_a_number(name)
    return (
        f"column {name!r} is not numeric: row {row} has {cell!r}. "
        "Correct it, or leave the column out of --columns."
    )


def check_column(table: Table, name: str, option: str) -> None:
    """Refuse a column that is not there."""
    if name not in table.names:
        raise InputError(
            f"{option}: {table.path} has no column {name!r}.{hint(name, table.names)} "
            f"Its columns: {listed(table.names, 20)}."
        )


def _refuse_gaps(X: NDArray[Any], names: tuple[str, ...]) -> None:
    if np.isfinite(X).all():
        return
    parts = []
    for what, wrong in (("missing", np.isnan(X)), ("infinite", np.isinf(X))):
        columns = np.flatnonzero(wrong.any(axis=0))
        parts += [
            f"  {names[j]}: {what} in {shown_rows(np.flatnonzero(wrong[:, j]).tolist())}"
            for j in columns[:5].tolist()
        ]
        if len(columns) > 5:
            parts.append(f"  and {len(columns) - 5} more columns with {what} values")
    whole = [name for name, fine in zip(names, np.isfinite(X).all(axis=0), strict=True) if fine]
    remedy = "Fill the cells or delete the rows"
    if 0 < len(whole) <= 12:
        remedy += f", or use only the whole columns: --columns {','.join(whole)}"
    raise InputError("\n".join(["some cells hold no usable number.", *parts, remedy + "."]))


def _warn_of_counters(X: NDArray[Any], names: tuple[str, ...], console: Console) -> None:
    if X.shape[0] < 3 or X.shape[1] < 2:
        return
    for j in np.flatnonzero((np.diff(X, axis=0) == 1).all(axis=0)).tolist():
        console.warn(
            f"column {names[j]!r} only counts the rows, yet it is used as a feature. "
            f"If it names them, say --id-column {_quoted(names[j])}."
        )


def _quoted(name: str) -> str:
    return f'"{name}"' if " " in name else name


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
    return (
        f" {names[high]!r} varies {ratio:,.0f} times as much as {names[low]!r}: "
        "--scale standard lets both count."
    )


# --- ids and labels -----------------------------------------------------------------------------


def sample_ids(table: Table, column: str) -> list[Any]:
    """Give the ids of the rows: all there, all different."""
    check_column(table, column, "--id-column")
    ids = table.values(column)
    empty = [row for row, name in enumerate(ids) if name is None or name == "" or name != name]
    if empty:
        raise InputError(f"--id-column {column}: no id in {shown_rows(empty)}. Fill them in.")
    seen: dict[str, int] = {}
    for row, name in enumerate(ids):
        first = seen.setdefault(str(name), row)
        if first != row:
            raise InputError(
                f"--id-column {column}: rows {first} and {row} have the same id, {name!r}. "
                "Ids must differ; choose another column."
            )
    return ids


def partial_labels(table: Table, column: str) -> list[Any]:
    """Give the labels of the rows, None where empty or -1."""
    check_column(table, column, "--label-column")
    labels = [_label(value) for value in table.values(column)]
    for row, value in enumerate(labels):
        if isinstance(value, float) and not value.is_integer():
            raise InputError(
                f"--label-column {column}: row {row} has {value:g}. Labels are names or whole "
                "numbers; choose another column."
            )
    return labels


def _label(value: Any) -> Any:
    if isinstance(value, str):
        value = value.strip()
    if value is None or value in ("", "-1", -1) or value != value:
        return None
    return value
