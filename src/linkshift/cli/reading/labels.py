"""Labels of an earlier run, for --labels-like."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from linkshift._core.text import counted, listed
from linkshift.cli.reading.problem import Problem
from linkshift.cli.reading.tables import check_readable, read_table
from linkshift.cli.talking import Console, InputError, shown_rows

_OPTION = "--labels-like"


def read_labels_like(
    path: Path, problem: Problem, id_column: str | None, console: Console
) -> NDArray[np.int64]:
    """Earlier labels of the rows at hand, -1 where a row has none: by id, by row, or in order."""
    n, columns = len(problem.X), _columns(path, id_column, console)
    if columns.keys() == {""}:
        return _in_order(path, _whole(path, columns[""]), n)
    if "label" not in columns:
        raise InputError(
            f"{_OPTION}: {path} has no column 'label'. Give a file that linkshift cluster -o has "
            f"written. Its columns: {listed(columns, 20)}."
        )
    labels = _whole(path, columns["label"])
    if (names_rows := _names_rows(columns, id_column)) is not None:
        if problem.ids is None:
            raise InputError(
                f"{_OPTION}: {path} names rows by {names_rows!r}. Say which column of the table "
                f"has these names: --id-column {shlex.quote(names_rows)}, for example."
            )
        known = dict(zip(map(str, columns[names_rows]), labels, strict=True))
        names = [str(name) for name in problem.ids]
        if not known.keys() & set(names):
            raise InputError(
                f"{_OPTION}: {path} has none of the ids of this table. Give labels of the same "
                "rows, or leave it out."
            )
        return np.array([known.get(name, -1) for name in names], dtype=np.int64)
    if "row" not in columns:
        return _in_order(path, labels, n)
    if problem.ids is not None:
        raise InputError(
            f"{_OPTION}: {path} names rows by number, and here they have ids. Leave --id-column "
            "out, or write the earlier labels with it."
        )
    rows = _whole(path, columns["row"])
    found = np.full(n, -1, dtype=np.int64)
    for row, label in zip(rows, labels, strict=True):
        if not 0 <= row < n:
            raise InputError(
                f"{_OPTION}: {path} names row {row}, and here are {counted(n, 'row')}. If rows "
                "have gone since, name them with --id-column in both runs."
            )
        found[row] = label
    return found


def _names_rows(columns: Collection[str], id_column: str | None) -> str | None:
    """Give the column that names rows; None where they go by number, or in order."""
    if id_column in {*columns} - {"label", "row"}:
        return id_column
    if "id" in columns:
        return "id"
    others = [name for name in columns if name != "label"]
    return others[0] if len(others) == 1 and others[0] != "row" else None


def _columns(path: Path, id_column: str | None, console: Console) -> dict[str, list[Any]]:
    """Columns by name; labels by themselves have none."""
    if path.suffix.lower() not in (".npy", ".npz"):
        names = read_table(path, Console(quiet=True)).names
        # Once more, with ids as they are written: 007 is not 7.
        table = read_table(path, console, id_column=_names_rows(names, id_column))
        return {name: table.values(name) for name in table.names}
    check_readable(path)
    try:
        with path.open("rb") as stream:
            read = np.load(stream, allow_pickle=False)
            if isinstance(read, np.ndarray):
                return {"": read.tolist() if read.ndim == 1 else [None]}
            return {name: read[name].tolist() for name in read.files if read[name].ndim == 1}
    except (OSError, ValueError, EOFError, KeyError, BadZipFile) as error:
        raise InputError(
            f"{_OPTION}: {path} cannot be read ({' '.join(str(error).split())}). Give labels that "
            "linkshift cluster -o has written."
        ) from error


def _in_order(path: Path, labels: list[int], n: int) -> NDArray[np.int64]:
    if len(labels) != n:
        raise InputError(
            f"{_OPTION}: {path} has {counted(len(labels), 'label')}, and here are "
            f"{counted(n, 'row')}. Name rows with --id-column in both runs."
        )
    return np.array(labels, dtype=np.int64)


def _whole(path: Path, cells: list[Any]) -> list[int]:
    """Whole numbers; a cell that is none is refused."""
    wrong = [row for row, cell in enumerate(cells) if not _is_whole(cell)]
    if wrong:
        raise InputError(
            f"{_OPTION}: {path} has no whole number in {shown_rows(wrong)}. Give labels that "
            "linkshift cluster -o has written."
        )
    return [int(cell) for cell in cells]


def _is_whole(cell: Any) -> bool:
    return (
        isinstance(cell, int | float) and cell == cell and abs(cell) < 2**53 and cell == int(cell)
    )
