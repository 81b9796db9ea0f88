r"""One partition from many: samples that are often together belong together.

A run from a random partition finds most clusters and cuts or joins some others, each run
different ones. Which samples keep meeting is what runs have in common. Of T partitions, the
co-association of two samples [1]_ is the share in which they are together,

.. math:: A_{ij} = \frac1T \sum_{t=1}^T [y^t_i = y^t_j] = \frac1T (H H^T)_{ij},

H having a row for each sample and a column for each cluster of each partition, with a one where
the sample is in it. Spectral clustering of A needs the largest eigenvectors of
:math:`D^{-1/2} A D^{-1/2}`, D holding the row sums of A. These are the left singular vectors of
:math:`D^{-1/2} H`, so that the (n, n) matrix is never made.

Spectral clustering knows neither sizes nor links. One assignment puts that right. With
:math:`a_{ic}` the mean co-association of sample i with the other members of cluster c, the cost is

.. math:: d_{ic} = -\ln \frac{T a_{ic} + 1 / C}{T + 1},

a log-likelihood, as prices of uncertain links are: with :math:`-a_{ic}` itself, which lies within
0 and 1, a link of little confidence would outweigh what all partitions agree on.

Of ways to the same end, average linkage of A does worse when the partitions are few or differ
much, and powers of A (which sharpen it) change little.

References
----------
.. [1] A. Strehl, J. Ghosh, "Cluster Ensembles: a Knowledge Reuse Framework for Combining Multiple
       Partitions", JMLR 3 (2002).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from linkshift.groups.assignment import assign
from linkshift.links import Links

__all__ = ["co_association", "consensus", "mean_association", "spectral_labels"]

Array = NDArray[Any]

_KMEANS_STARTS = 10
_ZERO = 1e-7  # singular values below this are rounding; the largest is 1


def co_association(partitions: ArrayLike) -> Array:
    """Share of the partitions in which two samples are together, shape (n, n).

    Parameters
    ----------
    partitions : array-like of shape (T, n)
        Labels, 0, 1, ..., one row for each partition.

    Examples
    --------
    >>> from linkshift.groups.consensus import co_association
    >>> co_association([[0, 0, 1], [1, 1, 0], [0, 1, 1], [2, 2, 2]])
    array([[1.  , 0.75, 0.25],
           [0.75, 1.  , 0.5 ],
           [0.25, 0.5 , 1.  ]])
    """
    member = _membership(partitions)
    return np.asarray(member @ member.T) / np.asarray(partitions).shape[0]


def mean_association(partitions: ArrayLike, labels: ArrayLike, n_clusters: int) -> Array:
    """Mean co-association of each sample with the other members of each cluster.

    Nought where a cluster has no other member.

    Returns
    -------
    ndarray of shape (n, n_clusters)

    Examples
    --------
    >>> from linkshift.groups.consensus import mean_association
    >>> mean_association([[0, 0, 1], [1, 1, 0], [0, 1, 1], [2, 2, 2]], [0, 0, 1], 2)
    array([[0.75 , 0.25 ],
           [0.75 , 0.5  ],
           [0.375, 0.   ]])
    """
    member = _membership(partitions)
    cluster = (np.asarray(labels)[:, None] == np.arange(n_clusters)).astype(np.float64)
    sums = member @ (member.T @ cluster) / np.asarray(partitions).shape[0] - cluster
    others = cluster.sum(axis=0) - cluster
    return np.asarray(np.divide(sums, others, out=np.zeros_like(sums), where=others > 0))


def spectral_labels(
    partitions: ArrayLike,
    n_clusters: int,
    *,
    random_state: int | np.random.RandomState | None = None,
) -> NDArray[np.int64]:
    """Spectral clustering of the co-association, by k-means on scaled eigenvectors.

    Parameters
    ----------
    partitions : array-like of shape (T, n)
        Labels, 0, 1, ..., one row for each partition.
    n_clusters : int
        Number of clusters.
    random_state : int, RandomState or None, default=None
        Seed of k-means.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> from linkshift.groups.consensus import spectral_labels
    >>> labels = spectral_labels([[0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 0, 1]], 2, random_state=0)
    >>> labels[0] == labels[1] != labels[2] == labels[3]
    np.True_
    """
    member = _membership(partitions)
    root = np.sqrt(member @ member.sum(axis=0))[:, None]
    means = KMeans(n_clusters, n_init=_KMEANS_STARTS, random_state=random_state)
    # Threads sum in an order of their own. Fewer different samples than clusters are no matter of
    # concern: assign parts them where it must.
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        points = _left_singular(member / root, n_clusters) / root
        return np.asarray(means.fit_predict(points), dtype=np.int64)


def consensus(
    partitions: ArrayLike,
    n_clusters: int,
    *,
    size_bounds: tuple[int, int] | None = None,
    links: Links | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> NDArray[np.int64]:
    """Find the partition that says what many partitions have in common.

    Parameters
    ----------
    partitions : array-like of shape (T, n)
        Labels, 0, 1, ..., one row for each partition.
    n_clusters : int
        Number of clusters.
    size_bounds : (int, int), default=None
        Least and greatest size of a cluster.
    links : Links, default=None
        Links of confidence 1 hold; others have a price
        (:func:`linkshift.groups.assignment.assign`).
    random_state : int, RandomState or None, default=None
        Seed of k-means.

    Returns
    -------
    ndarray of shape (n,)
        Labels, 0 to n_clusters - 1.

    Examples
    --------
    >>> from linkshift import Links
    >>> from linkshift.groups.consensus import consensus
    >>> partitions = [[0, 0, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]]
    >>> labels = consensus(partitions, 2, links=Links(cannot=[(0, 1)]), random_state=0)
    >>> labels[0] != labels[1], labels[3] == labels[4] == labels[5]
    (np.True_, np.True_)
    """
    random = check_random_state(random_state)
    rough = spectral_labels(partitions, n_clusters, random_state=random)
    count = np.asarray(partitions).shape[0]
    share = count * mean_association(partitions, rough, n_clusters) + 1.0 / n_clusters
    costs = -np.log(share / (count + 1.0))
    return assign(costs, size_bounds=size_bounds, links=links).labels


def _membership(partitions: ArrayLike) -> Array:
    """H: which clusters of which partitions a sample is in, without empty ones."""
    columns = [
        labels[:, None] == np.unique(labels) for labels in np.asarray(partitions, dtype=np.int64)
    ]
    return np.concatenate(columns, axis=1).astype(np.float64)


def _left_singular(matrix: Array, k: int) -> Array:
    """Left singular vectors of the k largest singular values (or of all, if there are fewer)."""
    n, width = matrix.shape
    if n <= width:
        vectors: Array = eigh(matrix @ matrix.T, subset_by_index=[max(n - k, 0), n - 1])[1]
        return vectors
    _, right = eigh(matrix.T @ matrix, subset_by_index=[max(width - k, 0), width - 1])
    left = matrix @ right
    length = np.linalg.norm(left, axis=0)
    return np.asarray(left[:, length > _ZERO] / length[length > _ZERO])
