"""Files, folders, datasets and arrays become tables that are read in chunks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.messages import Refusal
from linkshift._core.text import SEPARATORS, is_number, listed, short
from linkshift.scale.tables import (
    REMEDY,
    ArrayTable,
    ArrowTable,
    Table,
    kind_of_type,
    one_line,
    reading,
)

__all__ = ["FORMATS", "open_table"]

FORMATS = {
    ".parquet": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
}


def open_table(data: Any, id_column: str | None = None) -> Table:
    """Open a file, a folder of files, a dataset of pyarrow or a matrix.

    Ids in text stay as they are written: 007 is not 7.
    """
    if isinstance(data, np.ndarray):
        return _array_table(data, "the array", None)
    if isinstance(data, str | os.PathLike):
        return _open_path(Path(data), id_column)
    if _is_dataset(data):
        return _arrow_table("the dataset", data)
    raise Refusal(
        f"dataset is {short(data)}, of type {type(data).__name__}.",
        "Give the path of a file or a folder, a pyarrow.dataset.Dataset or an array.",
        parameter="dataset",
    )


def _open_path(path: Path, id_column: str | None) -> Table:
    if not path.exists():
        raise Refusal(f"{path} does not exist.", "Give a file or a folder.", parameter="dataset")
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file() and not _hidden(file))
        if not files:
            raise Refusal(
                f"{path} holds no files.", "Give a folder of tables.", parameter="dataset"
            )
    suffixes = sorted({_suffix(file) for file in files})
    known = listed([*FORMATS, ".npy"], 20)
    if len(suffixes) > 1:
        raise Refusal(
            f"{path} holds files of several kinds: {listed(suffixes)}.",
            "Put those of one kind into a folder of their own.",
            parameter="dataset",
        )
    if suffixes == [".npy"] and not path.is_dir():
        return _open_npy(path)
    if suffixes[0] not in FORMATS:
        raise Refusal(
            f"{path} cannot be read in parts: its suffix is {suffixes[0]!r}.",
            f"Convert it to one of {known}.",
            parameter="dataset",
        )
    import pyarrow.dataset as ds

    with reading(path):
        if FORMATS[suffixes[0]] == "csv":
            return _arrow_table(str(path), _open_text(path, files, suffixes[0], id_column))
        return _arrow_table(str(path), ds.dataset(str(path), format=FORMATS[suffixes[0]]))


def _open_npy(path: Path) -> ArrayTable:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise Refusal(
            f"{path} cannot be read: {one_line(error)}.",
            "Write plain numbers with numpy.save.",
            parameter="dataset",
        ) from error
    return _array_table(array, str(path), path)


def _array_table(array: Array, name: str, path: Path | None) -> ArrayTable:
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise Refusal(
            f"{name} has shape {array.shape} and type {array.dtype}.",
            "Give rows and columns of numbers.",
            parameter="dataset",
        )
    return ArrayTable(name, path, array)


def _arrow_table(name: str, dataset: Any) -> ArrowTable:
    names = dataset.schema.names
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise Refusal(
            f"{name}: two columns are called {twice!r}.", "Rename one.", parameter="dataset"
        )
    return ArrowTable(name, dataset)


def _open_text(path: Path, files: list[Path], suffix: str, id_column: str | None) -> Any:
    """Open CSV: whole numbers are read as floats, for a point may come in a later row."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.dataset as ds

    separator = "," if suffix == ".csv" else "\t"
    if files[0].suffix.lower() != ".gz":
        _check_names(files[0], separator)
    form = ds.CsvFileFormat(parse_options=pa.csv.ParseOptions(delimiter=separator))
    found = ds.dataset(str(path), format=form)
    fields = []
    for field in found.schema:
        is_number = kind_of_type(field.type) in ("number", "empty")
        as_number = field.with_type(pa.float64()) if is_number else field
        fields.append(field.with_type(pa.string()) if field.name == id_column else as_number)
    return ds.dataset(str(path), schema=pa.schema(fields), format=form)


def _check_names(file: Path, separator: str) -> None:
    """Refuse text whose first line cannot be names of columns."""
    with file.open(encoding="utf-8-sig", errors="replace") as text:
        cells = text.readline().rstrip("\r\n").split(separator)
    others = [name for sign, name in SEPARATORS.items() if len(cells) == 1 and sign in cells[0]]
    if others:
        raise Refusal(
            f"{file} seems to have {others[0]} between its cells.",
            f"In parts, only {SEPARATORS[separator]} are read from {file.suffix}. {REMEDY}",
            parameter="dataset",
        )
    if all(map(is_number, cells)):
        raise Refusal(
            f"{file}, line 1: the first line is all numbers ({listed(cells, 4)}).",
            "In parts, text is read with the names of its columns in the first line: add them.",
            parameter="dataset",
        )


def _is_dataset(data: Any) -> bool:
    if type(data).__module__.partition(".")[0] != "pyarrow":
        return False
    from pyarrow.dataset import Dataset

    return isinstance(data, Dataset)


def _hidden(file: Path) -> bool:
    return file.name.startswith((".", "_"))


def _suffix(file: Path) -> str:
    return Path(file.name.lower().removesuffix(".gz")).suffix
