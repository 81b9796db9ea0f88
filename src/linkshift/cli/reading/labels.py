"""Labels of an earlier run, for --labels-like."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from linkshift._core.text import counted, listed
from linkshift.cli.reading.problem import Problem
from linkshift.cli.reading.tables import check_readable, read_table
from linkshift.cli.talking import InputError, shown_rows

_OPTION = "--labels-like"


def read_labels_like(path: Path, problem: Problem) -> NDArray[np.int64]:
    """Earlier labels of the rows at hand, -1 where a row has none: by id, by row, or in order."""
    n, columns = len(problem.X), _columns(path)
    if columns.keys() == {""}:
        return _in_order(path, _whole(path, columns[""]), n)
    if "label" not in columns:
        raise InputError(
            f"{_OPTION}: {path} has no column 'label'. Give a file that linkshift cluster -o has "
            f"written. Its columns: {listed(columns, 20)}."
        )
    labels = _whole(path, columns["label"])
    if "id" in columns:
        if problem.ids is None:
            raise InputError(
                f"{_OPTION}: {path} names rows by id. Say which column has the ids: --id-column."
            )
        known = dict(zip(map(str, columns["id"]), labels, strict=True))
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


def _columns(path: Path) -> dict[str, list[Any]]:
    """Columns by name; labels by themselves have none."""
    if path.suffix.lower() not in (".npy", ".npz"):
        table = read_table(path)
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
