"""Tables without names: npy and npz files. Columns are called 0, 1, 2, ...

An npz file may hold views instead: several matrices with the same number of rows. The columns of
a view are called by its name and their number, as in shape_0.
"""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkshift.cli._console import InputError, listed


@dataclass(frozen=True, eq=False)
class ArrayTable:
    """A numeric matrix; an npz file may hold ids and labels beside it.

    Where the matrix is made of views, side by side, ``views`` names their columns.
    """

    path: Path
    data: NDArray[Any]
    beside: dict[str, NDArray[Any]] = field(default_factory=dict)
    views: dict[str, tuple[str, ...]] = field(default_factory=dict)

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
        return np.ascontiguousarray(chosen, dtype=wanted)

    def values(self, name: str) -> list[Any]:
        """Give the entries of a column or of an array beside it."""
        if name in self.beside:
            return list(self.beside[name].tolist())
        return list(self.data[:, self.columns.index(name)].tolist())


def read_array(path: Path) -> ArrayTable:
    """Read an npy file, or the matrix or the views of an npz file."""
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return ArrayTable(path, _checked(loaded, str(path)))
        with loaded:
            arrays = {name: loaded[name] for name in loaded.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{path} cannot be read: {error}. Write it with numpy.save or numpy.savez."
        ) from error
    return _pick(path, arrays)


def _pick(path: Path, arrays: dict[str, NDArray[Any]]) -> ArrayTable:
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
    if array.ndim != 2:
        raise InputError(
            f"{where} has shape {array.shape}; expected rows and columns. "
            "A single column is array.reshape(-1, 1)."
        )
    if array.dtype.kind not in "biuf":
        raise InputError(f"{where} holds {array.dtype}, not numbers.")
    return array
