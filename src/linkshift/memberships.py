"""How rows stand in their clusters: how surely they belong, how far out they are, who is typical.

All of it is from rows, labels and nearest neighbours, so that it means the same for every method.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erf
from sklearn.utils import check_array

from linkshift._core.arrays import Array
from linkshift._core.labels import NOISE
from linkshift._core.messages import Refusal
from linkshift.shift.neighbours import nearest_neighbours

__all__ = ["Membership", "is_quick", "membership"]

_NEIGHBOURS = 10
_NEAREST = 1e-6  # least square of a distance, in those of the farthest neighbour: twins have none
_MANY_COLUMNS, _MANY_ROWS = 15, 20_000  # all pairs of which take a minute
_SIGNIFICANCE = 3.0  # lambda of Kriegel et al.: three standard distances


@dataclass(frozen=True, eq=False)
class Membership:
    """How rows stand in their clusters.

    Attributes
    ----------
    clusters : ndarray of shape (n_clusters,)
        Numbers of the clusters, ascending; what follows has one entry for each, or for each row.
    probabilities : ndarray of shape (n,)
        How surely each row belongs to its cluster, from 0 to 1; 0 for noise.
    second : ndarray of shape (n,)
        The other cluster that is next to each row; -1 where no neighbour is of another.
    outlier_scores : ndarray of shape (n,)
        Probability that a row lies farther from its neighbours than these from theirs, from 0 to 1.
    exemplars : ndarray of shape (n_clusters,)
        The row of each cluster that is nearest to its centre.
    centers : ndarray of shape (n_clusters, d)
        Mean of the rows of each cluster.
    to_center : ndarray of shape (n,)
        Distance of each row to the centre of its cluster; infinite for noise.
    """

    clusters: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    second: NDArray[np.int64]
    outlier_scores: NDArray[np.float64]
    exemplars: NDArray[np.int64]
    centers: NDArray[np.float64]
    to_center: NDArray[np.float64]

    def typical(self, rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
        """Of the rows of a cluster, some that are nearest to its centre, the nearest first."""
        return rows[np.argsort(self.to_center[rows], kind="stable")[:most]]

    def borderline(self, rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
        """Of the rows of a cluster, some that belong least surely, the least sure first."""
        rows = rows[(self.probabilities[rows] < 1) & (self.second[rows] != NOISE)]
        return rows[np.argsort(self.probabilities[rows], kind="stable")[:most]]


def membership(X: ArrayLike, labels: ArrayLike) -> Membership:
    r"""Say how rows stand in their clusters, whatever method has made them.

    The probability of a row is the share that its own cluster has of its nearest neighbours,

    .. math:: p_i = \frac{\sum_{j \in N_i} w_{ij} [l_j = l_i]}{\sum_{j \in N_i} w_{ij}}, \qquad
       w_{ij} = \|x_i - x_j\|^{-2}

    which is the fuzzy rule of nearest neighbours of Keller et al. with m = 2. :math:`N_i` are the
    ten nearest rows, in a cluster of fewer rows as many as it has others: pairs as well can be
    sure of themselves. A cluster of one row has probability 1, noise 0.

    The outlier score is the local outlier probability of Kriegel et al. With
    :math:`s_i` the root of the mean square distance of row i to its ten neighbours,

    .. math:: q_i = \frac{s_i}{\operatorname{mean}_{j \in N_i} s_j} - 1, \qquad
       o_i = \max\left(0, \operatorname{erf} \frac{q_i}{3 \sqrt{2 \operatorname{mean} q^2}}\right)

    It goes by rows alone, and noise has one as well.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows as they were clustered: scaled, if they were.
    labels : array-like of shape (n,)
        Cluster of each row, a whole number; negative for noise.

    Returns
    -------
    Membership

    References
    ----------
    J. M. Keller, M. R. Gray and J. A. Givens, "A fuzzy K-nearest neighbor algorithm", IEEE
    Transactions on Systems, Man, and Cybernetics 15, 1985.

    H.-P. Kriegel, P. Kröger, E. Schubert and A. Zimek, "LoOP: local outlier probabilities", CIKM
    2009.

    Examples
    --------
    >>> from linkshift.memberships import membership
    >>> found = membership([[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]], [0, 0, 0, 1, 1, 1])
    >>> found.exemplars.tolist(), found.centers.ravel().tolist()
    ([1, 4], [1.0, 9.0])
    >>> found.probabilities.tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    rows = check_array(X, dtype=[np.float64, np.float32])
    given = np.asarray(labels)
    if given.shape != (len(rows),) or given.dtype.kind not in "iu":
        raise Refusal(
            f"labels must be a whole number for each of {len(rows):,} rows; they are "
            f"{given.dtype} of shape {given.shape}.",
            "Give the labels_ of a model.",
            parameter="labels",
        )
    numbers = np.where(given < 0, NOISE, given).astype(np.int64)
    clusters, position, sizes = np.unique(numbers, return_inverse=True, return_counts=True)
    k = min(_NEIGHBOURS, len(rows) - 1)
    if k:
        distance, near = nearest_neighbours(rows, k)
    else:
        distance, near = np.empty((1, 0)), np.empty((1, 0), dtype=np.intp)
    probabilities, second = _belonging(distance, numbers, near, sizes[position])
    is_cluster = clusters >= 0
    centers, exemplars, to_center = _centres(rows, position, sizes, is_cluster)
    return Membership(
        clusters[is_cluster],
        probabilities,
        second,
        _outlying(distance, near),
        exemplars,
        centers,
        to_center,
    )


def is_quick(n_rows: int, n_columns: int) -> bool:
    """Whether neighbours are found in seconds: by a tree of few columns, or among few rows."""
    return n_columns <= _MANY_COLUMNS or n_rows <= _MANY_ROWS


def _belonging(distance: Array, labels: Array, near: Array, sizes: Array) -> tuple[Array, Array]:
    """Share of each row's own cluster among its neighbours, and the next other cluster."""
    n, k = near.shape
    if not k:
        return (labels != NOISE).astype(np.float64), np.full(n, NOISE)
    farthest = distance[:, -1:]
    with np.errstate(invalid="ignore", divide="ignore"):
        square = np.where(farthest > 0, (distance / farthest) ** 2, 1.0)
    weight = 1.0 / np.maximum(square, _NEAREST)
    there = labels[near]
    own = there == labels[:, None]
    counted = weight * (np.arange(k) < np.minimum(sizes - 1, k)[:, None])
    total = counted.sum(axis=1)
    share = np.where(total > 0, (counted * own).sum(axis=1) / np.where(total > 0, total, 1.0), 1.0)
    # Sums over all own neighbours in another order than over all may miss 1 by rounding.
    share = np.where((own | (counted == 0)).all(axis=1), 1.0, np.minimum(share, 1.0))
    share[labels == NOISE] = 0.0
    other = np.zeros((n, k))
    for column in range(k):
        same = there == there[:, [column]]
        other[:, column] = np.where(same, weight, 0.0).sum(axis=1)
    other[own | (there == NOISE)] = 0.0
    best = other.argmax(axis=1)
    chosen = np.arange(n), best
    return share, np.where(other[chosen] > 0, there[chosen], NOISE)


def _outlying(distance: Array, near: Array) -> Array:
    """Local outlier probabilities."""
    n, k = near.shape
    if not k:
        return np.zeros(n)
    scale = distance.max()
    if not scale > 0:
        return np.zeros(n)
    own = np.sqrt(((distance / scale) ** 2).mean(axis=1))
    around = own[near].mean(axis=1)
    known = around > 0
    excess = np.where(known, own / np.where(known, around, 1.0) - 1.0, 0.0)
    typical = _SIGNIFICANCE * np.sqrt((excess[known] ** 2).mean()) if known.any() else 0.0
    score = erf(excess / (typical * np.sqrt(2.0))) if typical > 0 else np.zeros(n)
    score = np.maximum(score, 0.0)
    # All neighbours lie in one place, which has others of its own nearer, and the row does not.
    score[~known & (own > 0)] = 1.0
    found: Array = score
    return found


def _centres(
    rows: Array, position: Array, sizes: Array, is_cluster: Array
) -> tuple[Array, Array, Array]:
    """Mean of each cluster, its nearest row, and the distance of all rows to theirs."""
    order, last = np.argsort(position, kind="stable"), np.cumsum(sizes)
    to_center = np.full(len(rows), np.inf)
    centers, exemplars = [], []
    for c in np.flatnonzero(is_cluster).tolist():
        members = order[last[c] - sizes[c] : last[c]]
        block = rows[members].astype(np.float64)
        largest = max(float(np.abs(block).max(initial=0.0)), np.finfo(np.float64).tiny)
        block = block / largest  # sums of very large numbers overflow
        middle = block.mean(axis=0)
        away = np.sqrt(((block - middle) ** 2).sum(axis=1)) * largest
        to_center[members] = away
        exemplars.append(int(members[np.argmin(away)]))
        centers.append(middle * largest)
    d = rows.shape[1]
    middles = np.array(centers, dtype=np.float64).reshape(-1, d)
    return middles, np.array(exemplars, dtype=np.int64), to_center
