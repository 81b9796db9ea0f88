"""Sparse matrices in npz files, as scipy.sparse.save_npz writes them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import NDArray

from linkshift.cli.talking import InputError

_FORMATS = ("csr", "csc")
_PARTS = {"indices", "indptr", "format", "shape", "data"}


@dataclass(frozen=True, eq=False)
class SparseTable:
    """A sparse matrix; its columns are called 0, 1, 2, ... and are only used all together."""

    path: Path
    data: Any
    views: ClassVar[dict[str, tuple[str, ...]]] = {}
    lists: ClassVar[dict[str, tuple[str, ...]]] = {}
    remarks: ClassVar[tuple[str, ...]] = ()
    sorted_by_row: ClassVar[bool] = True

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(str(i) for i in range(self.data.shape[1]))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.data.shape[0])

    def kind(self, name: str) -> str:  # noqa: ARG002 - all are the same
        """Give ``number``."""
        return "number"

    def matrix(self, names: tuple[str, ...]) -> NDArray[Any]:
        """Give some columns as floats, zeros included."""
        found: NDArray[Any] = self.data[:, [int(name) for name in names]].toarray()
        return found

    def values(self, name: str) -> list[Any]:
        """Give the entries of a column."""
        return list(self.matrix((name,)).ravel().tolist())

    def place(self, row: int) -> str:  # noqa: ARG002 - arrays have no lines
        """Give the file."""
        return str(self.path)


def is_sparse(arrays: dict[str, NDArray[Any]]) -> bool:
    """Whether the arrays of a file are the parts of a sparse matrix."""
    return arrays.keys() >= _PARTS


def sparse_table(path: Path, arrays: dict[str, NDArray[Any]]) -> SparseTable:
    """Put a sparse matrix together, and check it before any loop trusts it."""
    from scipy import sparse

    kind = bytes(arrays["format"].tobytes()).replace(b"\0", b"").decode("ascii", errors="replace")
    if kind not in _FORMATS:
        raise InputError(
            f"{path} holds a sparse matrix of the format {kind[:20]!r}. Save it as one of rows: "
            "scipy.sparse.save_npz(path, matrix.tocsr())."
        )
    if arrays["data"].dtype.kind not in "biuf":
        raise InputError(f"{path} holds a sparse matrix of {arrays['data'].dtype}, not numbers.")
    make = sparse.csr_array if kind == "csr" else sparse.csc_array
    parts = tuple(arrays[name] for name in ("data", "indices", "indptr"))
    matrix = make(parts, shape=tuple(arrays["shape"].tolist()))
    matrix.check_format(full_check=True)
    return SparseTable(path, matrix.tocsr().astype(float))
