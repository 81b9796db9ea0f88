"""Tables without names: npy and npz files. Columns are called 0, 1, 2, ...

An npz file may hold views instead: several matrices with the same number of rows. The columns of
a view are called by its name and their number, as in shape_0.
"""

from __future__ import annotations

import math
import re
import shlex
import warnings
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linkshift._core.text import counted, listed, short
from linkshift.cli.reading.contents import Content
from linkshift.cli.reading.sparse import SparseTable, is_sparse, sparse_table
from linkshift.cli.talking import InputError

_MOST_INFLATED = 1032  # times: what deflate can make of a byte at most


@dataclass(frozen=True, eq=False)
class ArrayTable:
    """A numeric matrix; an npz file may hold ids and labels beside it.

    Where the matrix is made of views, side by side, ``views`` names their columns.
    """

    path: Path
    data: NDArray[Any]
    beside: dict[str, NDArray[Any]] = field(default_factory=dict)
    views: dict[str, tuple[str, ...]] = field(default_factory=dict)
    lists: ClassVar[dict[str, tuple[str, ...]]] = {}
    remarks: ClassVar[tuple[str, ...]] = ()
    sorted_by_row: ClassVar[bool] = True

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns: numbers, where there are no views."""
        if self.views:
            return tuple(column for columns in self.views.values() for column in columns)
        return tuple(str(i) for i in range(self.data.shape[1]))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, then of the arrays beside them."""
        return (*self.columns, *self.beside)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.data.shape[0])

    def kind(self, name: str) -> str:
        """Give ``number`` for columns, ``array`` for what lies beside them."""
        return "array" if name in self.beside else "number"

    def matrix(self, names: tuple[str, ...]) -> NDArray[Any]:
        """Give columns as floats; float32 stays."""
        position = {name: i for i, name in enumerate(self.columns)}
        chosen = self.data[:, [position[name] for name in names]]
        wanted = np.float32 if chosen.dtype == np.float32 else np.float64
        with np.errstate(over="ignore"):  # of long doubles: infinite values are refused later
            return np.ascontiguousarray(chosen, dtype=wanted)

    def values(self, name: str) -> list[Any]:
        """Give the entries of a column or of an array beside it."""
        if name not in self.beside:
            return list(self.data[:, self.columns.index(name)].tolist())
        array = self.beside[name]
        if array.dtype.kind == "S":
            return [text.decode("utf-8", errors="replace") for text in array.tolist()]
        return list(array.tolist())

    def place(self, row: int) -> str:  # noqa: ARG002 - arrays have no lines
        """Give the file."""
        return str(self.path)


def read_array(content: Content) -> ArrayTable | SparseTable:
    """Read an npy file, or the matrix or the views of an npz file."""
    path = content.path
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of headers that older versions wrote
            loaded = _load(content)
            if isinstance(loaded, dict) and is_sparse(loaded):
                return sparse_table(path, loaded)
    except InputError:
        raise
    except Exception as error:  # damaged bytes break the readers in any place
        text = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"{path} cannot be read: {text[:200].rstrip('.')}. It may be cut short or be "
            "something else: write it again with numpy.save or numpy.savez."
        ) from error
    if isinstance(loaded, np.ndarray):
        return ArrayTable(path, _checked(loaded, str(path)))
    return _pick(path, loaded)


def _load(content: Content) -> NDArray[Any] | dict[str, NDArray[Any]]:
    """Give the array of an npy file, or all arrays of an npz file."""
    path = content.path
    with content.open() as file:
        if not zipfile.is_zipfile(file):
            file.seek(0)
            _check_header(file, content.size, str(path))
            file.seek(0)
            return np.lib.format.read_array(file, allow_pickle=False)
        arrays = {}
        with zipfile.ZipFile(file) as archive:
            for item in archive.infolist():
                if not item.filename.endswith(".npy"):
                    continue  # not an array
                name = item.filename.removesuffix(".npy")
                where = f"{path}, array {name}"
                if item.file_size > 10_000 + _MOST_INFLATED * item.compress_size:
                    raise InputError(
                        f"{where} says that {item.compress_size:,} bytes hold "
                        f"{item.file_size:,}, which cannot be. Write it again with numpy.savez."
                    )
                with archive.open(item) as member:
                    _check_header(member, item.file_size, where)
                with archive.open(item) as member:
                    arrays[name] = np.lib.format.read_array(member, allow_pickle=False)
        return arrays


def _check_header(file: Any, size: int, where: str) -> None:
    """Refuse before memory is taken: an array that is not all there, or one of objects."""
    version = np.lib.format.read_magic(file)
    # Version 3 differs from 2 in the letters that fields may be named with.
    first = version == (1, 0)
    read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject:
        raise InputError(
            f"{where} holds Python objects, and loading those could run any code. "
            "Save plain numbers or text: array.astype(float) or array.astype(str)."
        )
    if min(shape, default=0) < 0:  # NumPy 1 takes as many rows as there are
        raise InputError(
            f"{where} has shape {short(shape)}, which no array has: it is damaged. Write it again "
            "with numpy.save or numpy.savez."
        )
    needed, there = math.prod(shape) * dtype.itemsize, size - file.tell()
    if needed > there:
        raise InputError(
            f"{where} has shape {short(shape)}, and only {counted(there, 'byte')} of it are there: "
            "it is cut short or damaged. Write it again with numpy.save or numpy.savez."
        )


def _pick(path: Path, arrays: dict[str, NDArray[Any]]) -> ArrayTable:
    if "header" in arrays and b'"linkshift model"' in arrays["header"].tobytes()[:200]:
        raise InputError(
            f"{path} is a model and no table. New rows go with it like this: linkshift predict "
            f"{shlex.quote(str(path))} DATA"
        )
    matrices = ["X"] if "X" in arrays else [name for name, a in arrays.items() if a.ndim == 2]
    checked = {name: _checked(arrays[name], f"{path}, array {name}") for name in matrices}
    if len({len(matrix) for matrix in checked.values()}) != 1:
        shapes = listed(f"{name} {array.shape}" for name, array in arrays.items())
        raise InputError(
            f"{path} must hold an array called X, or one or several with two dimensions and the "
            f"same number of rows. It holds {shapes or 'nothing'}."
        )
    tables = _named_views(path, checked, arrays) if len(checked) > 1 else checked
    data = np.hstack(list(tables.values()))
    beside = {k: a for k, a in arrays.items() if a.ndim == 1 and len(a) == len(data)}
    views = {name: tuple(f"{name}_{i}" for i in range(a.shape[1])) for name, a in tables.items()}
    return ArrayTable(path, data, beside, views if len(views) > 1 else {})


def _named_views(
    path: Path, matrices: dict[str, NDArray[Any]], arrays: dict[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """Matrices by the names of the views: their own, or for X_view1, ... those in view_names."""
    if not all(re.fullmatch(r"X_view\d+", name) for name in matrices):
        return matrices
    keys = sorted(matrices, key=lambda name: int(name.removeprefix("X_view")))
    names = [name.removeprefix("X_") for name in keys]
    if "view_names" in arrays:
        names = [str(name) for name in arrays["view_names"].ravel()]
    if len(names) != len(keys) or len(set(names)) < len(names):
        raise InputError(
            f"{path} holds {len(keys)} views, and in view_names {listed(names)}. Give each view "
            "a name of its own."
        )
    return {name: matrices[key] for name, key in zip(names, keys, strict=True)}


def _checked(array: NDArray[Any], where: str) -> NDArray[Any]:
    if array.dtype.kind not in "biuf":
        remedy = "Save the columns of numbers alone, as array.astype(float)."
        if array.dtype.kind == "c":
            remedy = "Save the real and the imaginary parts as columns."
        elif array.dtype.names:
            remedy = (
                "Save its fields as columns: numpy.lib.recfunctions.structured_to_unstructured."
            )
        raise InputError(f"{where} holds {short(array.dtype)}, not numbers. {remedy}")
    if array.ndim != 2:
        raise InputError(
            f"{where} has shape {array.shape}; expected rows and columns. "
            "A single column is array.reshape(-1, 1)."
        )
    return array
