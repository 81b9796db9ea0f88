"""Fewer columns: principal components of many, and of sparse data always."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA, TruncatedSVD

from linkshift._core.messages import Advice, Refusal, warn
from linkshift._core.text import counted, listed
from linkshift._core.threads import one_blas_thread

__all__ = ["reduction", "warn_of_empty_rows", "warn_of_zero_rows"]

_FROM = 50  # columns from which on principal components take their place, and how many at most
_HELD = 0.95  # share of the variance that is enough
_SPARSE = 100  # components of sparse data
_MANY = 20  # columns that are not all zero by chance


def reduction(X: Any, pca: Any) -> tuple[dict[str, Any] | None, list[str]]:
    """Find principal components where they are wanted, and say what they hold."""
    n, d = X.shape
    least = min(n, d - 1 if sparse.issparse(X) and d > 1 else d)
    if isinstance(pca, Integral) and pca > least:
        raise Refusal(
            f"There are {counted(n, 'row')} and {counted(d, 'column')}, which have no {pca} "
            "principal components.",
            f"Take pca={least} or fewer.",
            command=f"Take --pca {least} or fewer.",
            parameter="pca",
            value=pca,
        )
    if sparse.issparse(X):
        if pca is None:
            raise Refusal(
                "Sparse data are clustered by their main components, and pca=None takes none.",
                "Give pca='auto' or a number; X.toarray() takes all columns as they are.",
                parameter="pca",
            )
        return _sparse_reduction(X, min(_SPARSE, least) if pca == "auto" else int(pca))
    if pca is None or (pca == "auto" and d < _FROM):
        return None, []
    with one_blas_thread():  # with more, the last bits would depend on their number
        found = PCA(min(_FROM, least) if pca == "auto" else int(pca), random_state=0).fit(X)
    held, axes = np.cumsum(found.explained_variance_ratio_), found.components_
    if pca == "auto":
        axes = axes[: 1 + int(np.searchsorted(held, _HELD))]
    share = held[len(axes) - 1] if np.isfinite(held).all() else 1.0  # of equal rows
    told = f"{d:,} columns became {counted(len(axes), 'principal component')}, which "
    told += f"{'holds' if len(axes) == 1 else 'hold'} {share:.0%} of the variance."
    mean = np.asarray(found.mean_, dtype=np.float64)
    return {"mean": mean.tolist(), "axes": axes.astype(np.float64).tolist()}, [told]


def _sparse_reduction(X: Any, k: int) -> tuple[dict[str, Any], list[str]]:
    if not np.isfinite(X.data).all():
        raise Refusal("The sparse matrix has values that are not finite.", "Fill or remove them.")
    with one_blas_thread():
        svd = TruncatedSVD(k, random_state=0).fit(X.astype(np.float64))
    whole = float((X.data.astype(np.float64) ** 2).sum())
    share = float((svd.singular_values_**2).sum()) / whole if whole else 1.0
    filled = X.nnz / max(X.shape[0] * X.shape[1], 1)
    told = (
        f"The sparse matrix ({X.shape[0]:,} x {X.shape[1]:,}, {filled:.2g} of it filled) became "
        f"{counted(k, 'column')} by a truncated singular value decomposition, which keeps "
        f"{min(share, 1.0):.0%} of the sum of squares."
    )
    return {"mean": None, "axes": svd.components_.tolist()}, [told]


def warn_of_empty_rows(X: Any) -> None:
    """Tell of rows without entries: nothing sets them apart, and nothing joins them to others."""
    empty = np.flatnonzero(np.diff((X != 0).tocsr().indptr) == 0).tolist()
    if empty:
        which = f"row {empty[0]}" if len(empty) == 1 else f"rows {listed(empty, 5)}"
        warn(
            Advice(
                f"{len(empty):,} of {counted(X.shape[0], 'row')} without entries in the sparse "
                f"matrix, such as texts without a known word: {which}. They are one point, at "
                "zero: a cluster by themselves, or part of one that they have no word in common "
                "with.",
                "Leave them out, X[X.getnnz(axis=1) > 0], or give them entries: rarer words "
                "(min_df=1), or embeddings of the texts.",
                command="Leave them out, in Python: X = scipy.sparse.load_npz(path); "
                "scipy.sparse.save_npz('filled.npz', X[X.getnnz(axis=1) > 0]); or give them "
                "entries: rarer words (min_df=1), or embeddings of the texts.",
                parameter="X",
            )
        )


def warn_of_zero_rows(X: Any, *, new: bool = False) -> None:
    """Tell of rows that are zero in all of many columns, where few are and others are not.

    So do embeddings look that have failed. Counts, in which zeros are frequent, are no such case.
    """
    rows = np.asarray(X)
    if rows.ndim != 2 or rows.shape[1] < _MANY or rows.dtype.kind not in "iuf":
        return
    is_zero = ~rows.any(axis=1)
    zero, rest = np.flatnonzero(is_zero).tolist(), rows[~is_zero] if is_zero.any() else rows
    many = len(zero) * 5 > len(rows) and not new
    if not zero or many or (len(rest) and np.count_nonzero(rest) < 0.9 * rest.size):
        return
    which = f"row {zero[0]}" if len(zero) == 1 else f"rows {listed(zero, 5)}"
    warn(
        Advice(
            f"{len(zero):,} of {counted(len(rows), 'row')} without entries, zero in all "
            f"{rows.shape[1]:,} columns: {which}. They are one point, whatever they stand for.",
            "Leave them out, X[X.any(axis=1)], or fill them in (embed what is missing).",
            command="Delete these rows, or fill them in (embed what is missing).",
            parameter="X",
        )
    )
