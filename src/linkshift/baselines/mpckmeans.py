"""MPCKMeans: PCKMeans that learns how to weigh the features."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import StrOptions

from linkshift._core.arrays import Array
from linkshift.baselines._estimator import LinkGraph, PenalisedKMeans, Run, means
from linkshift.baselines._loops import (
    Tallies,
    farthest_pair,
    mpck_objective,
    mpck_scatter,
    mpck_sweep,
    tally,
)

_LEAST_VARIANCE = 1e-3  # of a cluster, as a share of the data's: keeps metrics finite


class MPCKMeans(PenalisedKMeans):
    r"""K-means with penalties for violated links and learned metrics (MPCKMeans).

    Finds labels l, centres :math:`\mu` and diagonal metrics A that make small

    .. math::

        J = \sum_i s_i \bigl( \|x_i - \mu_{l_i}\|^2_{A_{l_i}} - \log \det A_{l_i} \bigr)
            + \sum_{(i, j) \in M} w_{ij} f_M(i, j) [l_i \ne l_j]
            + \sum_{(i, j) \in C} w_{ij} f_C(i, j) [l_i = l_j],

    .. math::

        f_M = \tfrac{1}{2} \|x_i - x_j\|^2_{A_{l_i}} + \tfrac{1}{2} \|x_i - x_j\|^2_{A_{l_j}},
        \qquad
        f_C = \|x' - x''\|^2_{A_{l_i}} - \|x_i - x_j\|^2_{A_{l_i}},

    where x' and x'' are the two rows farthest apart in the metric (eq. 5 to 7), and s are sample
    weights, one unless given. A violated must-link between far rows is dear, and so is a violated
    cannot-link between near ones.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    metric : {"per_cluster", "single"}, default="per_cluster"
        One diagonal metric for each cluster, or one for all.
    weight : float, default=1.0
        Price w of a violated link of confidence one, times f.
    init, n_init, max_iter, random_state
        As for :class:`PCKMeans`.

    Attributes
    ----------
    metrics_ : ndarray of shape (n_clusters, n_features)
        Diagonal of each cluster's metric. Others are those of :class:`PCKMeans`.

    See Also
    --------
    PCKMeans : without metrics.

    Notes
    -----
    Two guards that the paper lacks. The rows x', x'' change with the metric, so that its update
    can raise J; such an update is dropped, hence J never rises. A cluster's variance along a
    feature is taken to be at least a thousandth of the data's, so that a cluster of one row has a
    metric.

    Links are closed, or weighed by their confidence, as in :class:`PCKMeans`.

    References
    ----------
    Bilenko, Basu, Mooney: Integrating Constraints and Metric Learning in Semi-Supervised
    Clustering, ICML 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift import Links
    >>> from linkshift.baselines import MPCKMeans
    >>> X = np.array([[0.0, 0.0], [0.1, 1.0], [0.0, 2.0], [1.0, 0.0], [0.9, 1.0], [1.0, 2.0]])
    >>> links = Links(must=[(0, 2), (3, 5)], cannot=[(0, 3)])
    >>> labels = MPCKMeans(2, random_state=0).fit_predict(X, links=links)
    >>> bool(labels[0] == labels[1] == labels[2] != labels[3] == labels[4] == labels[5])
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PenalisedKMeans._parameter_constraints,
        "metric": [StrOptions({"per_cluster", "single"})],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: Literal["per_cluster", "single"] = "per_cluster",
        weight: float = 1.0,
        init: Literal["neighbourhoods", "k-means++"] | ArrayLike = "neighbourhoods",
        n_init: int = 10,
        max_iter: int = 300,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            n_clusters,
            weight=weight,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            random_state=random_state,
        )
        self.metric = metric

    @property
    def metrics_(self) -> Array:
        """Diagonal of each cluster's metric."""
        return self._state.metric

    def _settled(
        self,
        X: Array,
        weight: Array,
        graph: LinkGraph,
        begin: Run,
        most: int,
        random: np.random.RandomState,
    ) -> Run:
        n, d = X.shape
        centres, metric = begin.centres, begin.metric
        labels = np.full(n, -1, dtype=np.int64)
        shape = (graph.n_components, len(centres))
        sums, squares = np.zeros((*shape, d)), np.zeros((*shape, d))
        tallies = Tallies(np.zeros(shape, dtype=np.int64), sums, squares)
        counted = X[weight > 0]
        span = _spans(counted, metric)
        least = _least_variance(counted, weight[weight > 0])
        objectives: list[float] = []
        changed = n
        while changed and len(objectives) < most:
            tally(X, labels, graph.component, tallies)  # afresh: differences lose digits
            reach = (span * metric).sum(axis=1)
            order = random.permutation(n)
            changed = mpck_sweep(X, weight, order, labels, centres, metric, reach, graph, tallies)
            centres = means(X, weight, labels, centres)
            tally(X, labels, graph.component, tallies)
            before = mpck_objective(X, weight, labels, centres, metric, reach, graph, tallies)
            scatter = mpck_scatter(X, weight, labels, centres, span, graph, tallies)
            sizes = np.bincount(labels, weight, minlength=len(centres))[:, None]
            tried = _metrics(scatter, sizes, least, metric, shared=self.metric == "single")
            tried_span = _spans(counted, tried)
            reach = (tried_span * tried).sum(axis=1)
            after = mpck_objective(X, weight, labels, centres, tried, reach, graph, tallies)
            if after <= before:
                metric, span = tried, tried_span
            objectives.append(min(before, after))
        return Run(labels, centres, metric, np.array(objectives), len(objectives))


def _least_variance(X: Array, weight: Array) -> Array:
    """Floor of a cluster's variance by feature; one where the feature is constant."""
    if (weight == 1.0).all():
        variance = X.var(axis=0)
    else:
        middle = np.average(X, axis=0, weights=weight)
        variance = np.average((X - middle) ** 2, axis=0, weights=weight)
    return np.where(variance > 0, _LEAST_VARIANCE * variance, 1.0)


def _metrics(scatter: Array, sizes: Array, least: Array, old: Array, *, shared: bool) -> Array:
    """Best diagonal metrics for given labels: the inverse of each cluster's mean scatter."""
    if shared:
        new = 1.0 / np.maximum(scatter.sum(axis=0) / sizes.sum(), least)
        return np.tile(new, (len(old), 1))
    new = 1.0 / np.maximum(scatter / np.where(sizes > 0, sizes, 1.0), least)
    return np.where(sizes > 0, new, old)


def _spans(X: Array, metric: Array) -> Array:
    """Squared difference, by feature, of the two rows farthest apart in each metric."""
    kinds, which = np.unique(metric, axis=0, return_inverse=True)
    return np.stack([_span(X, diagonal) for diagonal in kinds])[which.ravel()]


def _span(X: Array, diagonal: Array) -> Array:
    stretched = X * np.sqrt(diagonal)
    # Rounded up: rows as far as the bound allows must not be missed.
    radius = np.sqrt((stretched**2).sum(axis=1)) * (1.0 + 1e-12)
    order = np.argsort(-radius, kind="stable")
    one, other = farthest_pair(np.ascontiguousarray(stretched[order]), radius[order])
    return (X[order[one]] - X[order[other]]) ** 2
