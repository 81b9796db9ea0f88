r"""Spectral clustering of a similarity that is known by a factor.

For a similarity :math:`A = H H^T`, D holding its row sums, spectral clustering needs the largest
eigenvectors of :math:`D^{-1/2} A D^{-1/2}`. These are the left singular vectors of
:math:`D^{-1/2} H`, so that the (n, n) matrix is never made. k-means on the eigenvectors, each row
over the root of its row sum [1]_, gives the clusters.

A kernel has such a factor in the columns of a few of its samples, its landmarks [2]_: with C the
(n, s) columns and W their (s, s) part, :math:`H = C W^{-1/2}` gives
:math:`C W^{-1} C^T`, and the kernel itself when all samples are landmarks.

References
----------
.. [1] U. von Luxburg, "A Tutorial on Spectral Clustering", Statistics and Computing 17 (2007).
.. [2] C. Williams, M. Seeger, "Using the Nystrom Method to Speed Up Kernel Machines", NIPS 2000.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from linkshift._core.arrays import Array

_KMEANS_STARTS = 10
_ZERO = 1e-7  # singular values below this share of the largest are rounding
_LEAST_EIGENVALUE = 1e-6  # of the largest; kernels are kept in single precision


def spectral_clusters(
    factor: ArrayLike, n_clusters: int, *, random_state: int | np.random.RandomState | None = None
) -> tuple[NDArray[np.int64], Array]:
    """Cluster the samples of a similarity H H^T, whose row sums are positive but for rounding.

    Gives labels, and squared distances (n, n_clusters) to the means of all clusters among the
    eigenvectors.
    """
    H = np.asarray(factor, dtype=np.float64)
    means = KMeans(n_clusters, n_init=_KMEANS_STARTS, random_state=random_state)
    # Threads sum in an order of their own. Fewer different samples than clusters are no matter of
    # concern here: whoever asked parts them where that must be.
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        sums = H @ H.sum(axis=0)
        root = np.sqrt(np.maximum(sums, _ZERO * sums.max()))[:, None]
        points = _left_singular(H / root, n_clusters) / root
        labels = means.fit_predict(points).astype(np.int64)
        return labels, np.asarray(means.transform(points)) ** 2


def kernel_factor(columns: ArrayLike, landmarks: ArrayLike) -> Array:
    """Factor (n, rank) of a kernel that is known by the columns (n, s) of its landmarks.

    What is not positive semi-definite in the landmarks' own kernel is left out.
    """
    C = np.asarray(columns, dtype=np.float64)
    with threadpool_limits(limits=1):
        values, vectors = eigh(C[np.asarray(landmarks)])
        kept = values > _LEAST_EIGENVALUE * max(float(values[-1]), 0.0)
        return np.asarray(C @ (vectors[:, kept] / np.sqrt(values[kept])))


def _left_singular(matrix: Array, k: int) -> Array:
    """Left singular vectors of the k largest singular values (or of all, if there are fewer)."""
    n, width = matrix.shape
    if n <= width:
        return eigh(matrix @ matrix.T, subset_by_index=[max(n - k, 0), n - 1])[1]
    _, right = eigh(matrix.T @ matrix, subset_by_index=[max(width - k, 0), width - 1])
    left = matrix @ right
    length = np.linalg.norm(left, axis=0)
    return np.asarray(left[:, length > _ZERO] / length[length > _ZERO])
