"""Tables without names: npy and npz files. Columns are called 0, 1, 2, ..."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkshift.cli._console import InputError, listed


@dataclass(frozen=True, eq=False)
class ArrayTable:
    """A numeric matrix; an npz file may hold ids and labels beside it."""

    path: Path
    data: NDArray[Any]
    beside: dict[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Numbers of the columns, then names of the arrays beside them."""
        return (*(str(i) for i in range(self.data.shape[1])), *self.beside)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.data.shape[0])

    def kind(self, name: str) -> str:
        """Give ``number`` for columns, ``array`` for what lies beside them."""
        return "array" if name in self.beside else "number"

    def matrix(self, names: tuple[str, ...]) -> NDArray[Any]:
        """Give columns as floats; float32 stays."""
        chosen = self.data[:, [int(name) for name in names]]
        wanted = np.float32 if chosen.dtype == np.float32 else np.float64
        return np.ascontiguousarray(chosen, dtype=wanted)

    def values(self, name: str) -> list[Any]:
        """Give the entries of a column or of an array beside it."""
        column = self.beside[name] if name in self.beside else self.data[:, int(name)]
        return list(column.tolist())


def read_array(path: Path) -> ArrayTable:
    """Read an npy file, or the matrix of an npz file."""
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
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    name = "X" if "X" in arrays else (matrices[0] if len(matrices) == 1 else None)
    if name is None:
        shapes = listed(f"{name} {array.shape}" for name, array in arrays.items())
        raise InputError(
            f"{path} must hold an array called X, or only one with two dimensions. "
            f"It holds {shapes or 'nothing'}."
        )
    data = _checked(arrays[name], f"{path}, array {name}")
    beside = {k: a for k, a in arrays.items() if a.ndim == 1 and len(a) == len(data)}
    return ArrayTable(path, data, beside)


def _checked(array: NDArray[Any], where: str) -> NDArray[Any]:
    if array.ndim != 2:
        raise InputError(
            f"{where} has shape {array.shape}; expected rows and columns. "
            "A single column is array.reshape(-1, 1)."
        )
    if array.dtype.kind not in "biuf":
        raise InputError(f"{where} holds {array.dtype}, not numbers.")
    return array
