"""What the k-means methods under links share: the door, restarts, prediction."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from linkshift._core.arrays import Array
from linkshift.baselines._initial import neighbourhood_centres
from linkshift.baselines._link_graph import LinkGraph, link_graph
from linkshift.estimators._common import joined_links, refuse_links_as_y
from linkshift.links import Links
from linkshift.metrics import link_satisfaction


class Run(NamedTuple):
    """What one start leads to."""

    labels: Array
    centres: Array
    metric: Array  # diagonal of each cluster's metric
    objectives: Array  # after each iteration
    n_iter: int


class LinkedKMeans(ClusterMixin, BaseEstimator):
    """K-means under links: the best of several runs by the objective."""

    n_clusters: int
    weight: float
    init: Any
    n_init: int
    max_iter: int
    random_state: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "weight": [Interval(Real, 0, None, closed="left")],
        "init": [StrOptions({"neighbourhoods", "k-means++"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        links: Links | None = None,
        partial_labels: ArrayLike | None = None,
    ) -> Self:
        """Cluster the rows of X under links.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        y : ignored
            For scikit-learn's conventions only.
        links : Links, default=None
            Must-links and cannot-links.
        partial_labels : array-like of shape (n_samples,), default=None
            Known classes, -1 where unknown; they become links and join ``links``.

        Returns
        -------
        self
        """
        refuse_links_as_y(y)
        data: Array = validate_data(self, X, dtype=[np.float64, np.float32])
        n = data.shape[0]
        if n < self.n_clusters:
            raise ValueError(f"n_samples={n} should be >= n_clusters={self.n_clusters}.")
        given = joined_links(links, partial_labels, n)
        graph = link_graph(given, n, self.weight)
        random = check_random_state(self.random_state)
        # Centred: sums of squares then lose no digits.
        self._origin = data.mean(axis=0, dtype=np.float64)
        points = data - self._origin
        runs = [
            self._run(points, graph, self._first_centres(points, given, random), random)
            for _ in range(self.n_init)
        ]
        best = min(runs, key=lambda run: float(run.objectives[-1]))
        self.labels_ = best.labels
        self.cluster_centers_ = (best.centres + self._origin).astype(data.dtype)
        self.objectives_ = best.objectives
        self.n_iter_ = best.n_iter
        self.n_clusters_ = len(np.unique(best.labels))
        self.link_report_ = link_satisfaction(self.labels_, given)
        self._centres, self._metric = best.centres, best.metric
        self._label_of_row = dict(zip(map(bytes, data), best.labels.tolist(), strict=True))
        return self

    @abstractmethod
    def _run(
        self, X: Array, graph: LinkGraph, centres: Array, random: np.random.RandomState
    ) -> Run:
        """Iterate from some centres until no label changes."""

    def _first_centres(self, X: Array, links: Links, random: np.random.RandomState) -> Array:
        if isinstance(self.init, str):
            used = links if self.init == "neighbourhoods" else Links()
            return neighbourhood_centres(X, used, self.n_clusters, random)
        centres = np.asarray(self.init, dtype=np.float64)
        if centres.shape != (self.n_clusters, X.shape[1]):
            raise ValueError(
                f"init has shape {centres.shape}; {self.n_clusters} centres with "
                f"{X.shape[1]} features need {(self.n_clusters, X.shape[1])}."
            )
        return centres - self._origin

    def predict(self, X: ArrayLike) -> Array:
        """Cluster of the nearest centre; a row that was in ``fit`` keeps its label.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New data.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        data: Array = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        points = data - self._origin
        distance = np.stack(
            [
                ((points - centre) ** 2 * metric).sum(axis=1) - np.log(metric).sum()
                for centre, metric in zip(self._centres, self._metric, strict=True)
            ],
            axis=1,
        )
        nearest = distance.argmin(axis=1).tolist()
        known = self._label_of_row
        return np.array(
            [known.get(bytes(row), label) for row, label in zip(data, nearest, strict=True)],
            dtype=np.int64,
        )


def means(X: Array, labels: Array, centres: Array) -> Array:
    """Mean of each cluster's rows; an empty cluster keeps its centre."""
    sums = np.zeros_like(centres)
    np.add.at(sums, labels, X)
    sizes = np.bincount(labels, minlength=len(centres))
    return np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)
