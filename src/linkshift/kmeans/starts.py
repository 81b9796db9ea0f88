"""First centres of k-means: rows of the data, chosen by chance or with care."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from sklearn.cluster import kmeans_plusplus

from linkshift._core.arrays import Array
from linkshift._core.threads import one_blas_thread
from linkshift.kmeans._loops import residuals

StartName = Literal["k-means++", "random", "greedy"]
STARTS: tuple[StartName, ...] = get_args(StartName)

_CANDIDATES = 1_000  # rows that a greedy start chooses among


def first_centres(
    points: Array,
    weight: Array,
    k: int,
    init: StartName,
    random: np.random.RandomState,
) -> Array:
    r"""Choose ``k`` rows.

    "random" draws them, none twice. "k-means++" draws each by its squared distance to those that
    there are (Arthur and Vassilvitskii 2007; scikit-learn's, which tries a few draws and keeps the
    best). "greedy" takes, one after the other, the row that leaves the least residual,

    .. math:: \min_c \sum_j \min(\|x_j - c\|^2, \min_{i \text{ chosen}} \|x_j - c_i\|^2),

    of all rows or, where there are more, of 1,000 that are drawn. Draws and sums go by weights:
    rows without weight are not chosen.
    """
    if init == "random":
        share = None if (weight == 1.0).all() else weight / weight.sum()
        return points[random.choice(points.shape[0], k, replace=False, p=share)]
    if init == "greedy":
        return points[_greedy_rows(points, weight, k, random)]
    with one_blas_thread():  # its sums would differ with the number of threads
        return kmeans_plusplus(points, k, sample_weight=weight, random_state=random)[0]


def is_certain(init: StartName, n_rows: int) -> bool:
    """Whether no chance comes in: all starts are then the same."""
    return init == "greedy" and n_rows <= _CANDIDATES


def _greedy_rows(points: Array, weight: Array, k: int, random: np.random.RandomState) -> Array:
    n = points.shape[0]
    rows = np.flatnonzero(weight)
    if len(rows) > _CANDIDATES:
        rows = rows[np.sort(random.choice(len(rows), max(_CANDIDATES, k), replace=False))]
    nearest = np.full(n, np.inf)
    chosen = np.empty(k, dtype=np.intp)
    free = np.ones(rows.size, dtype=bool)
    left = np.empty(rows.size)
    for i in range(k):
        residuals(points, weight, rows, nearest, left)
        best = int(np.argmin(np.where(free, left, np.inf)))
        free[best], chosen[i] = False, rows[best]
        apart = points.astype(np.float64) - points[rows[best]]
        nearest = np.minimum(nearest, np.einsum("ij,ij->i", apart, apart))
    return chosen
