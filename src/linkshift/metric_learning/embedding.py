r"""Smooth coordinates of rows, on which local metrics depend.

Kernel PCA with the Gaussian kernel: with the centred Gram matrix of the rows,

.. math:: \bar K = V \Lambda V^T, \qquad z(x) = \Lambda^{-1/2} V^T \, \bar k(x),

along the axes of the largest eigenvalues. All coordinates are divided by one number, so that the
mean squared length of the rows is 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from linkshift._core.arrays import Array
from linkshift.bandwidth import pair_mean, pair_quantile
from linkshift.spaces.kernel import Kernel

_EXACT_ROWS = 2000
_LANDMARKS = 1000
_CHUNK = 1 << 22
_RANK = 1e-10  # eigenvalues below this share of the largest are rounding


@dataclass(frozen=True, eq=False)
class Embedding:
    """A way from rows to coordinates z."""

    kernel: Kernel
    landmarks: Array  # (m, d): rows that the axes were found with
    column_means: Array  # mean kernel value of each landmark with all
    map: Array  # (m, r): from centred kernel values to coordinates

    def transform(self, X: Array) -> Array:
        """Coordinates of rows, in chunks of bounded memory."""
        out = np.empty((X.shape[0], self.map.shape[1]))
        rows = max(1, _CHUNK // self.landmarks.shape[0])
        for first in range(0, X.shape[0], rows):
            values = self.kernel(X[first : first + rows], self.landmarks)
            values -= self.column_means
            values -= values.mean(axis=1, keepdims=True)
            out[first : first + rows] = values @ self.map
        return out


def default_sigma(X: Array) -> float:
    """Half the median distance between rows; half the mean where the median is zero."""
    return 0.5 * (pair_quantile(X, 0.5) or pair_mean(X))


def kernel_embedding(
    X: Array, dimension: int, sigma: float, random: np.random.RandomState
) -> Embedding:
    """Kernel PCA of the rows of X, in ``dimension`` coordinates or as many as the kernel's rank.

    Above 2,000 rows the axes are those of 1,000 rows drawn at random.
    """
    landmarks = X
    if X.shape[0] > _EXACT_ROWS:
        landmarks = X[np.sort(random.choice(X.shape[0], _LANDMARKS, replace=False))]
    kernel = Kernel("gaussian", sigma=sigma)
    gram = kernel(landmarks)
    means = gram.mean(axis=0)
    gram -= means
    gram -= gram.mean(axis=1, keepdims=True)
    m = landmarks.shape[0]
    values, vectors = eigh(gram, subset_by_index=(max(m - dimension, 0), m - 1))
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > max(_RANK * values[0], m * np.finfo(np.float64).eps)
    values, vectors = values[kept], vectors[:, kept]
    # Whichever way the solver turned an axis, the largest entry is positive.
    largest = np.argmax(np.abs(vectors), axis=0)
    vectors = vectors * np.sign(vectors[largest, np.arange(vectors.shape[1])])
    length = np.sqrt(values.sum() / m) if values.size else 1.0
    return Embedding(kernel, landmarks, means, vectors / np.sqrt(values) / length)
