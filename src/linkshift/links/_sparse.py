"""Links as a sparse matrix: above zero together, below zero apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkshift.links._parse import Parsed, check_count

__all__ = ["is_sparse", "of_matrix", "to_matrix"]


def is_sparse(value: Any) -> bool:
    """Whether a value is one of scipy's sparse matrices or arrays; scipy is not imported."""
    return type(value).__module__.startswith("scipy.sparse") and hasattr(value, "tocoo")


def of_matrix(matrix: Any) -> tuple[dict[str, Any], int]:
    """Give pairs and confidences, in the words of `Links`, and the number of rows."""
    if not is_sparse(matrix):
        raise TypeError(f"a scipy.sparse matrix is needed, got {type(matrix).__name__}")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"the matrix has shape {matrix.shape}; it must have a row and a column for each sample"
        )
    found = matrix.tocsr().copy()
    found.sum_duplicates()
    entries = found.tocoo()
    value = entries.data.astype(np.float64)
    used = value != 0
    value, row, column = value[used], entries.row[used], entries.col[used]
    if not np.isfinite(value).all():
        raise ValueError("the matrix holds numbers that are not finite; set them to zero")
    if (row == column).any():
        raise ValueError("the diagonal links samples with themselves; set it to zero")
    pairs = np.sort(np.column_stack((row, column)).astype(np.int64), axis=1)
    once, first, which = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    unlike = np.flatnonzero(value != value[first][which.ravel()])
    if unlike.size:
        a, b = pairs[unlike[0]].tolist()
        raise ValueError(
            f"the entries ({a}, {b}) and ({b}, {a}) differ; fill one half, or both alike"
        )
    value, must = value[first], value[first] > 0
    arguments = {
        "must": once[must],
        "cannot": once[~must],
        "must_confidence": value[must],
        "cannot_confidence": -value[~must],
    }
    return arguments, int(matrix.shape[0])


def to_matrix(pairs: Parsed, n_samples: int) -> Any:
    """Give a symmetric CSR array."""
    from scipy.sparse import csr_array

    n = check_count(n_samples)
    ends = np.concatenate((pairs.must, pairs.cannot))
    value = np.concatenate((pairs.must_confidence, -pairs.cannot_confidence))
    once = np.unique(ends, axis=0)
    if len(once) < len(ends):
        raise ValueError(
            "a pair is must-linked and cannot-linked, and a matrix has one place for it; "
            "take links.conflicts().resolve()"
        )
    row, column = np.concatenate((ends, ends[:, ::-1])).T
    return csr_array((np.tile(value, 2), (row, column)), shape=(n, n))
