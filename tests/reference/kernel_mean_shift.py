"""Kernel mean shift, word for word: Tuzel, Porikli, Meer (ICCV 2009), eq. 9 to 20 and figure 2.

Points of the feature space are weighting vectors alpha; there are no coordinates. Slow and plain.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def projected_kernel(K: Array, pairs: Any) -> Array:
    """Eq. 19 and 20: the kernel matrix after projection onto the null space of the links."""
    if not len(pairs):
        return K.copy()
    first, second = np.asarray(pairs).T
    scaling = (
        K[np.ix_(first, first)]
        - K[np.ix_(first, second)]
        - K[np.ix_(second, first)]
        + K[np.ix_(second, second)]
    )
    columns = K[:, first] - K[:, second]
    return K - columns @ np.linalg.pinv(scaling, rcond=1e-10, hermitian=True) @ columns.T


def squared_distances(K: Array) -> Array:
    """Eq. 11 between all points."""
    own = np.diag(K)
    return np.maximum(own[:, None] + own[None, :] - 2.0 * K, 0.0)


def kth_bandwidths(K: Array, k: int) -> Array:
    """Distance to the k-th neighbour, the point itself not counted."""
    return np.sqrt(np.sort(squared_distances(K), axis=1)[:, k])


def shift_point(K: Array, i: int, h: Array, dimension: float, tol: float, max_iter: int) -> Array:
    """Eq. 12 from the i-th point until the step is at most tol: the mode's weighting vector."""
    own = np.diag(K)
    log_factor = -(dimension + 2.0) * np.log(h)
    alpha: Array = np.zeros(len(K))
    alpha[i] = 1.0
    for _ in range(max_iter):
        inner = K @ alpha
        squared = np.maximum(alpha @ inner + own - 2.0 * inner, 0.0)
        log_weight = log_factor - 0.5 * squared / h**2
        weight = np.exp(log_weight - log_weight.max())  # a common factor cancels
        moved = weight / weight.sum()
        step = moved - alpha
        alpha = moved
        if step @ K @ step <= tol**2:
            break
    return alpha


def kernel_mean_shift(
    K: Array,
    pairs: Any,
    k: int,
    *,
    dimension: float,
    scale: float = 1.0,
    tol: float = 1e-5,
    merge: float = 1e-2,
    max_iter: int = 2000,
) -> tuple[Array, Array, Array]:
    """Figure 2. Labels, the weighting vectors of the modes (one a point), and the kernel matrix.

    ``dimension`` is the d of h^(d+2), ``scale`` multiplies the bandwidths (1 in the paper).
    Tolerances are in bandwidths: the geometric mean for steps, the median for grouping.
    """
    K = projected_kernel(K, pairs)
    h = scale * kth_bandwidths(K, k)
    typical = float(np.exp(np.log(h).mean()))
    modes = np.array(
        [shift_point(K, i, h, dimension, tol * typical, max_iter) for i in range(len(K))]
    )
    return group(modes, K, merge * float(np.median(h))), modes, K


def group(modes: Array, K: Array, radius: float) -> Array:
    """Number modes in order of appearance; those within ``radius`` of a group's first join it."""
    inner = modes @ K @ modes.T
    own = np.diag(inner)
    squared = own[:, None] + own[None, :] - 2.0 * inner
    labels = np.full(len(modes), -1)
    for i in range(len(modes)):
        if labels[i] < 0:
            labels[(labels < 0) & (squared[i] <= radius**2)] = labels.max() + 1
    return labels
