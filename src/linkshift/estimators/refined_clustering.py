"""Any clustering, settled by links."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from linkshift._core.arrays import Array
from linkshift._core.messages import Refusal
from linkshift.estimators._base import METRICS, Fitted, MetricName, WeightedClusterer
from linkshift.estimators.mean_shift import MeanShift
from linkshift.explain import Evidence, Explains, Refit
from linkshift.links import ClosedLinks, Links
from linkshift.refinement import check_count, neighbours_vote, refined, warn_of_broken

__all__ = ["RefinedClustering"]

_REFINING = ("n_neighbors", "penalty", "enforce", "n_clusters", "max_clusters")


@dataclass(frozen=True)
class _State:
    """What new rows are labelled by, beside the rows."""

    weight: Array | None  # of each row


class RefinedClustering(Explains, MetaEstimatorMixin, WeightedClusterer):
    r"""A clusterer, and links that settle what it found (:func:`linkshift.refine`).

    Clusters that have as many must-links between them as parts of one would are merged; then every
    row takes the label that its neighbours and its links agree on best. Certain links hold
    afterwards; those that contradict each other cannot, and a warning says how many stay broken.

    Parameters
    ----------
    estimator : clusterer, default=None
        Anything with ``fit_predict``; ``None`` is ``MeanShift()``. It sees the links when it
        requests them: :class:`PathMeanShift` does, others after ``set_fit_request(links=True)``
        (scikit-learn's metadata routing).
    n_neighbors : int, default=20
        Neighbours that have a say in a row's label, and in ``predict``.
    penalty : float, default=4.0
        Cost of a violated link of confidence one, in units of -log(share of neighbours).
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine" divides each row by its length, here and in ``predict``: squared distances are then
        :math:`2 - 2 \cos`, between 0 and 4, and lengths do not matter, neither to neighbours nor to
        the clusterer, which gets these rows. A row of zeros has no direction, and raises.
    enforce : bool, default=True
        Make every link of confidence one hold; if False, cannot-links are weighed only.
    n_clusters, max_clusters : int, default=None
        How many clusters there are, or how many at most; as in :func:`linkshift.refine`.

    Attributes
    ----------
    labels_, n_clusters_ : ndarray of shape (n_samples,), int
        Cluster of each row, -1 for noise, and how many there are.
    estimator_ : clusterer
        The fitted clusterer.
    labels_before_ : ndarray of shape (n_samples,)
        What the clusterer found.
    links_, link_report_ : Links, LinkReport
        The links, those of partial labels included, and which of them hold.

    Notes
    -----
    New rows are labelled by a vote of the nearest training rows
    (:func:`linkshift.refinement.neighbours_vote`).

    ``sample_weight`` goes to the clusterer, which must take it, and to the refinement.

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

    _takes_groups: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods("fit_predict"), None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "penalty": [Interval(Real, 0, None, closed="left")],
        "metric": METRICS,
        "enforce": ["boolean"],
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "max_clusters": [Interval(Integral, 1, None, closed="left"), None],
    }
    _counts_links = True
    _takes_cosine = True

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_neighbors: int = 20,
        penalty: float = 4.0,
        enforce: bool = True,
        n_clusters: int | None = None,
        max_clusters: int | None = None,
        metric: MetricName = "euclidean",
    ) -> None:
        self.estimator = estimator
        self.n_neighbors = n_neighbors
        self.penalty = penalty
        self.enforce = enforce
        self.n_clusters = n_clusters
        self.max_clusters = max_clusters
        self.metric = metric

    def _check_combinations(self) -> None:
        check_count(self.n_clusters, self.max_clusters)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            inner = get_tags(self.estimator)
            tags.non_deterministic = inner.non_deterministic
            tags.requires_fit = True
        return tags

    def _fit(  # type: ignore[override]
        self, data: Array, closed: ClosedLinks, *, sample_weight: Array | None
    ) -> Fitted:
        clusterer = MeanShift() if self.estimator is None else clone(self.estimator)
        wanted: dict[str, Any] = {"links": closed.links} if _requests_links(clusterer) else {}
        if sample_weight is not None:
            _check_takes_weights(clusterer)
            wanted["sample_weight"] = sample_weight
        before: Array = np.asarray(clusterer.fit_predict(data, **wanted))
        attributes = {"estimator_": clusterer, "labels_before_": before}
        labels = self._refined(data, before, closed, sample_weight)
        if self.enforce:
            warn_of_broken(labels, closed)
        return Fitted(labels, _State(sample_weight), attributes)

    def _refined(self, X: Array, labels: Array, closed: ClosedLinks, weight: Array | None) -> Array:
        options = {name: value for name, value in vars(self).items() if name in _REFINING}
        return refined(X, labels, closed, weight=weight, **options)

    def _predict(self, data: Array) -> Array:
        known = (self._fit_X, self.labels_, self.n_neighbors, self._state.weight)
        return neighbours_vote(data, *known)

    def _evidence(self, row: int) -> Evidence:
        """Tell the clusterer's own evidence; without a link, only the refinement is made again."""
        inner = self.estimator_
        known = inner._evidence(row) if isinstance(inner, Explains) else Evidence(self._fit_X)
        again = known.refit if _requests_links(inner) else None

        def refit(links: Links) -> Refit:
            base = Refit(self.labels_before_) if again is None else again(links)
            closed = ClosedLinks(links, len(self._fit_X))
            labels = self._refined(self._fit_X, base.labels, closed, self._state.weight)
            return Refit(labels, base.note)

        return replace(
            known,
            refit=refit,
            bending=None,
            before_links=self.labels_before_,
            notes=tuple(f"Before links: {note}" for note in known.notes),
            others="after the clustering, where their rows are",
        )


def _requests_links(clusterer: Any) -> bool:
    """Whether a clusterer's ``fit`` has asked for links."""
    return "links" in get_routing_for_object(clusterer).consumes("fit", ["links"])


def _check_takes_weights(clusterer: Any) -> None:
    """Refuse weights that the clusterer would not see."""
    if not has_fit_parameter(clusterer, "sample_weight"):
        raise Refusal(
            f"{type(clusterer).__name__} does not take sample_weight.",
            "Take a clusterer that does, such as MeanShift or KMeans, or give the weights to the "
            "refinement alone: linkshift.refine(X, labels, links, sample_weight=...).",
            parameter="sample_weight",
        )
