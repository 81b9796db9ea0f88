"""The space of a metric: rows x become L x, with M = L^T L."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from linkshift._core.arrays import Array

__all__ = ["matrix_root"]

# Relative to the largest: what is below stems from rounding.
_ROUNDING = 1e-10


def matrix_root(metric: ArrayLike, n_features: int | None = None) -> Array:
    r"""Return L of shape (rank, d) with :math:`M = L^T L`, the longest row first.

    M is symmetric and positive semi-definite to 1e-10 of its largest entry; what is no metric, or
    not for ``n_features`` columns, raises ValueError with the reason.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.spaces.metric import matrix_root
    >>> L = matrix_root([[4.0, 0.0], [0.0, 0.0]])
    >>> L.shape, np.allclose(L.T @ L, [[4.0, 0.0], [0.0, 0.0]])
    ((1, 2), True)
    """
    M = np.asarray(metric, dtype=np.float64)
    if M.ndim != 2 or M.shape[0] != M.shape[1] or n_features not in (None, M.shape[0]):
        d = n_features if n_features is not None else M.shape[0] if M.ndim else "d"
        raise ValueError(
            f"A metric for {d} columns is a matrix of shape ({d}, {d}), got shape {M.shape}."
        )
    if not np.isfinite(M).all():
        raise ValueError("The metric has entries that are not finite.")
    largest = float(np.abs(M).max(initial=0.0))
    if largest == 0.0:
        return np.zeros((0, M.shape[0]))
    M = M / largest
    if not np.abs(M - M.T).max() <= _ROUNDING:
        raise ValueError("The metric is not symmetric; (M + M.T) / 2 would be.")
    values, vectors = np.linalg.eigh((M + M.T) / 2.0)
    if values[0] < -_ROUNDING * values[-1]:
        raise ValueError(
            f"The metric is not positive semi-definite: it has the eigenvalue "
            f"{values[0] * largest:.3g}, and squared lengths would be negative."
        )
    kept = np.flatnonzero(values > _ROUNDING * values[-1])[::-1]
    return np.asarray((vectors[:, kept] * (np.sqrt(values[kept]) * np.sqrt(largest))).T)
