r"""One partition from many: samples that are often together belong together.

A run from one partition finds most clusters and cuts or joins some others, each run
different ones. Which samples keep meeting is what runs have in common. Of T partitions with
weights w, the co-association of two samples [1]_ is the share in which they are together,

.. math:: A_{ij} = \frac{\sum_t w_t [y^t_i = y^t_j]}{\sum_t w_t} = (H H^T)_{ij},

H having a row for each sample and a column for each cluster of each partition, with
:math:`\sqrt{w_t / \sum w}` where the sample is in it. The clusters are those of spectral
clustering with this similarity (:mod:`linkshift.groups.spectral`).

Spectral clustering knows neither sizes nor links. One assignment puts that right. With
:math:`a_{ic}` the mean co-association of sample i with the other members of cluster c, the cost is

.. math:: d_{ic} = -\ln \frac{T' a_{ic} + 1 / C}{T' + 1}, \qquad
          T' = \frac{(\sum_t w_t)^2}{\sum_t w_t^2},

(T' is T for equal weights) a log-likelihood, as prices of uncertain links are: with
:math:`-a_{ic}` itself, which lies within 0 and 1, a link of little confidence would outweigh what
all partitions agree on.

Of ways to the same end, average linkage of A does worse when the partitions are few or differ
much, and powers of A (which sharpen it) change little.

References
----------
.. [1] A. Strehl, J. Ghosh, "Cluster Ensembles: a Knowledge Reuse Framework for Combining Multiple
       Partitions", JMLR 3 (2002).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from sklearn.utils import check_random_state

from linkshift._core.arrays import Array
from linkshift.groups.assignment import assign
from linkshift.groups.spectral import spectral_clusters

_MOST_TRUST = 8.0  # highest power of the loss
_HEARD = 0.75  # share of the partitions that must have a say


def membership(partitions: ArrayLike, weights: ArrayLike | None = None) -> Array:
    """H: which clusters of which partitions a sample is in, without empty ones.

    ``partitions`` has a row of labels for each partition, ``weights`` how much it counts: not
    negative and not all zero; None: all the same.

    Examples
    --------
    >>> from linkshift.groups.consensus import membership
    >>> H = membership([[0, 0, 1], [1, 1, 0], [0, 1, 1], [2, 2, 2]])
    >>> H @ H.T
    array([[1.  , 0.75, 0.25],
           [0.75, 1.  , 0.5 ],
           [0.25, 0.5 , 1.  ]])
    """
    columns = [
        np.sqrt(share) * (labels[:, None] == np.unique(labels))
        for labels, share in zip(
            np.asarray(partitions, dtype=np.int64), _shares(partitions, weights), strict=True
        )
        if share > 0.0
    ]
    return np.concatenate(columns, axis=1)


def consensus(
    partitions: ArrayLike,
    n_clusters: int,
    *,
    weights: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
    **constraints: Any,
) -> NDArray[np.int64]:
    """Find the partition that says what many partitions have in common.

    ``constraints`` are the ``size_bounds`` and ``links`` of
    :func:`linkshift.groups.assignment.assign`; the other parameters are those of `membership`.

    Examples
    --------
    >>> from linkshift import Links
    >>> from linkshift.groups.consensus import consensus
    >>> partitions = [[0, 0, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]]
    >>> labels = consensus(partitions, 2, links=Links(cannot=[(0, 1)]), random_state=0)
    >>> bool(labels[0] != labels[1]), bool(labels[3] == labels[4] == labels[5])
    (True, True)
    """
    random = check_random_state(random_state)
    member = membership(partitions, weights)
    rough = spectral_clusters(member, n_clusters, random_state=random)[0]
    count = 1.0 / float((_shares(partitions, weights) ** 2).sum())
    share = count * _mean_association(member, rough, n_clusters) + 1.0 / n_clusters
    costs = -np.log(share / (count + 1.0))
    return assign(costs, **constraints).labels


def loss_weights(loss: ArrayLike) -> Array:
    r"""Weights of partitions by their losses: the less is lost, the more it counts.

    .. math:: w_t = (L_{\min} / L_t)^p

    The power p is 8, or else as high as leaves three quarters of the partitions with a say,
    :math:`(\sum_t w_t)^2 / \sum_t w_t^2 \ge 3 T / 4`. The loss ranks partitions badly
    when it hardly differs, and then weights hardly differ either. It ranks them well when clusters
    are there to be found, but not so well that one partition may outvote all others.

    Examples
    --------
    >>> from linkshift.groups.consensus import loss_weights
    >>> loss_weights([10.0, 10.1, 10.2]).round(2)
    array([1.  , 0.92, 0.85])
    >>> loss_weights([1.0, 1.0, 1.0, 9.0]).round(2)
    array([1., 1., 1., 0.])
    >>> loss_weights([1.0, 1.0, 9.0, 9.0]).round(2)
    array([1.  , 1.  , 0.27, 0.27])
    """
    L = np.asarray(loss, dtype=np.float64) + np.finfo(np.float64).tiny  # it may be zero
    logs = np.log(L.min() / L)

    def spare(power: float) -> float:
        w = np.exp(power * logs)
        return float(w.sum() ** 2 / (w**2).sum()) - _HEARD * L.size

    power = _MOST_TRUST
    if spare(power) < 0.0:
        # As p grows, so does every ratio of two weights, and the left-hand side falls.
        power = float(brentq(spare, 0.0, power))
    return np.asarray(np.exp(power * logs))


def _shares(partitions: ArrayLike, weights: ArrayLike | None) -> Array:
    """Check the weights, and divide them by their sum."""
    count = np.asarray(partitions).shape[0]
    w = np.ones(count) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != (count,):
        raise ValueError(
            f"weights must hold one number for each of the {count} partitions; their shape is "
            f"{w.shape}."
        )
    if not (np.isfinite(w).all() and w.min() >= 0.0 and w.max() > 0.0):
        raise ValueError("weights must be finite, not negative, and not all zero.")
    return np.asarray(w / w.sum())


def _mean_association(member: Array, labels: Array, n_clusters: int) -> Array:
    """Mean co-association of each sample with the other members of each cluster, (n, n_clusters).

    Zero where a cluster has no other member.
    """
    cluster = (labels[:, None] == np.arange(n_clusters)).astype(np.float64)
    sums = member @ (member.T @ cluster) - cluster
    others = cluster.sum(axis=0) - cluster
    return np.asarray(np.divide(sums, others, out=np.zeros_like(sums), where=others > 0))
