"""Any clustering, settled by links."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin, MetaEstimatorMixin, _fit_context, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from linkshift._core.arrays import Array
from linkshift._explaining import Evidence, Explains, Refit
from linkshift.estimators._common import joined_links, predict_new, refuse_links_as_y
from linkshift.estimators.mean_shift import MeanShift
from linkshift.links import Links
from linkshift.metrics import link_satisfaction
from linkshift.refinement import neighbours_vote, refine

__all__ = ["RefinedClustering"]


class RefinedClustering(Explains, MetaEstimatorMixin, ClusterMixin, BaseEstimator):
    """A clusterer, and links that settle what it found (:func:`linkshift.refine`).

    Clusters with more must-links than cannot-links between them are merged; then every row takes
    the label that its neighbours and its links agree on best. Certain must-links hold afterwards,
    unless they contradict each other or both rows are noise. Cannot-links are weighed, and may stay
    broken.

    Parameters
    ----------
    estimator : clusterer, default=None
        Anything with ``fit_predict``; ``None`` is ``MeanShift()``. It sees no links, but for
        ``MeanShift(bandwidth="links")``, which chooses its bandwidth by them.
    n_neighbors : int, default=20
        Neighbours that have a say in a row's label, and in ``predict``.
    penalty : float, default=2.0
        Cost of a violated link of confidence one, in units of -log(share of neighbours).

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, -1 for noise.
    n_clusters_ : int
        Number of clusters.
    estimator_ : clusterer
        The fitted clusterer.
    labels_before_ : ndarray of shape (n_samples,)
        What the clusterer found.
    links_ : Links
        The links, those of partial labels included.
    link_report_ : LinkReport
        Which links hold.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, when X has names.

    See Also
    --------
    linkshift.refine : the same for labels at hand.
    ConstrainedMeanShift : links that act while the points move.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> from linkshift import Links, RefinedClustering
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [9.0], [10.0]])
    >>> model = RefinedClustering(KMeans(3, random_state=0), n_neighbors=2)
    >>> model.fit(X, links=Links(must=[(1, 2)], cannot=[(0, 5)])).labels_
    array([0, 0, 0, 0, 1, 1])
    >>> model.predict([[2.5], [8.0]])
    array([0, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods("fit_predict"), None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "penalty": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self, estimator: Any = None, *, n_neighbors: int = 20, penalty: float = 2.0
    ) -> None:
        self.estimator = estimator
        self.n_neighbors = n_neighbors
        self.penalty = penalty

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            inner = get_tags(self.estimator)
            tags.non_deterministic = inner.non_deterministic
            tags.requires_fit = True
        return tags

    @_fit_context(prefer_skip_nested_validation=False)  # the clusterer checks its own parameters
    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        links: Links | None = None,
        partial_labels: ArrayLike | None = None,
    ) -> RefinedClustering:
        """Cluster the rows of X, then let links settle the labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        y : ignored
            For scikit-learn's conventions only; partial labels enter by ``partial_labels``.
        links : Links, default=None
            Must-links and cannot-links; they may contradict each other.
        partial_labels : array-like of shape (n_samples,), default=None
            Known classes, -1 where unknown; they become links and join ``links``.

        Returns
        -------
        self
        """
        refuse_links_as_y(y)
        data: Array = validate_data(self, X, dtype=[np.float64, np.float32])
        given = joined_links(links, partial_labels, data.shape[0], counted=True)
        clusterer = MeanShift() if self.estimator is None else clone(self.estimator)
        chooses = isinstance(clusterer, MeanShift) and isinstance(clusterer.bandwidth, str)
        labels = clusterer.fit_predict(data, **({"links": given} if chooses else {}))
        self.estimator_ = clusterer
        self.labels_before_: Array = np.asarray(labels)
        self.links_ = given
        self.labels_ = refine(
            data, labels, given, n_neighbors=self.n_neighbors, penalty=self.penalty
        )
        self.n_clusters_ = int(self.labels_.max()) + 1
        self.link_report_ = link_satisfaction(self.labels_, given)
        self._fit_X = data
        return self

    def _evidence(self, row: int) -> Evidence:
        """Tell the clusterer's own evidence; without a link, only the refinement is made again."""
        inner = self.estimator_
        known = inner._evidence(row) if isinstance(inner, Explains) else Evidence(self._fit_X)
        choose = known.refit if isinstance(inner, MeanShift) else None  # bandwidth="links"

        def refit(links: Links) -> Refit:
            base = Refit(self.labels_before_) if choose is None else choose(links)
            labels = refine(
                self._fit_X, base.labels, links, n_neighbors=self.n_neighbors, penalty=self.penalty
            )
            return Refit(labels, base.note)

        return replace(
            known,
            refit=refit,
            bending=None,
            before_links=self.labels_before_,
            notes=tuple(f"Before links: {note}" for note in known.notes),
            others="after the clustering, where their rows are",
        )

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Cluster of each row, by a vote of the nearest training rows.

        The vote is that of :func:`linkshift.refinement.neighbours_vote`; training rows get
        ``labels_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New data.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "labels_")
        data: Array = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return predict_new(
            data,
            self._fit_X,
            self.labels_,
            lambda new: neighbours_vote(new, self._fit_X, self.labels_, self.n_neighbors),
        )
