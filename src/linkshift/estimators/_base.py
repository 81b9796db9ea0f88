"""What all estimators share: one door in, ``fit``, and one door out, ``predict``.

An estimator is its parameters and a `_fit` that turns data and closed links into a `Fitted`
value. It reads ``self`` for parameters only and sets nothing: a fit that raises leaves an earlier
one as it was.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from linkshift._core.arrays import Array, first_of_equal_rows, unit_rows
from linkshift._core.attributes import all_or_none
from linkshift._core.labels import count_clusters
from linkshift._core.lazy import refuse_dask
from linkshift._core.messages import Refusal
from linkshift.links import BindsLinks, ClosedLinks, Links, class_codes
from linkshift.metrics import link_satisfaction
from linkshift.refinement import checked_weights

if TYPE_CHECKING:
    from linkshift.memberships import Membership

__all__ = [
    "METRICS",
    "Fitted",
    "LinkedClusterer",
    "MetricName",
    "WeightedClusterer",
    "closed_links",
    "keep_known",
    "known_classes",
    "refuse_links_as_y",
    "refuse_used",
]

_MOST_COMPLETE = 200  # labelled rows, whose pairs number 19,900

# What a distance between rows is; behind the door it is always that of straight lines.
MetricName = Literal["euclidean", "cosine"]
METRICS: list[Any] = [StrOptions({"euclidean", "cosine"})]

_READ_BY_SKLEARN = ("n_features_in_", "feature_names_in_")


# Of fitted estimators, beside them: what can be worked out again is no part of a model.
_MEMBERSHIPS: WeakKeyDictionary[Any, tuple[Any, Membership]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Fitted:
    """What a fit finds.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        Cluster of each row, -1 for noise.
    state : object
        What ``predict`` and ``explain`` go on from; the estimator's own.
    attributes : dict
        What users may look at, by the names of the fitted attributes.
    """

    labels: Array
    state: Any = None
    attributes: dict[str, Any] = field(default_factory=dict)


class LinkedClusterer(BindsLinks, ClusterMixin, BaseEstimator):
    """A clusterer that takes must-links and cannot-links."""

    # Whether groups of rows that are apart are taken as they are; few enough are pairs for others.
    _takes_groups: ClassVar[bool] = False

    # Whether links are counted: up to 200 labelled rows are then linked pair by pair.
    _counts_links: ClassVar[bool] = False

    # Whether ``metric`` may be "cosine": rows are then divided by their length at the door.
    _takes_cosine: ClassVar[bool] = False

    # What to do with links where none are taken (``_takes_links``).
    _instead_of_links: ClassVar[str] = ""

    # Rows that a fit needs.
    _min_samples: ClassVar[int] = 1

    labels_: NDArray[np.int64]
    links_: Links
    _fit_X: Array
    _state: Any

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        links: Links | None = None,
        partial_labels: ArrayLike | None = None,
        **unknown: Any,
    ) -> Self:
        """Cluster the rows of X under links.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        y : ignored
            For scikit-learn's conventions only; known classes enter by ``partial_labels``.
        links : Links, default=None
            Must-links and cannot-links. Those that are keyed by id are found in the index of a
            DataFrame. An estimator that has no use for links refuses them.
        partial_labels : array-like of shape (n_samples,), default=None
            Known classes, -1 (or None, NaN) where unknown; they become links and join ``links``.
        **unknown
            Raises.

        Returns
        -------
        self
        """
        _refuse_unknown(type(self).__name__, unknown)
        return self._fit_once(X, y, links, partial_labels)

    def _fit_once(
        self,
        X: Any,
        y: object,
        links: Links | None,
        partial_labels: ArrayLike | None,
        **more: Any,
    ) -> Self:
        """Read, close the links, fit, keep; whatever raises leaves an earlier fit as it was."""
        refuse_links_as_y(y)
        if not self._takes_links and not (links is None and partial_labels is None):
            raise Refusal(
                f"{type(self).__name__} does not use links.",
                self._instead_of_links,
                parameter="links",
            )
        with all_or_none(self):
            data = self._read(X, reset=True)
            links = self._links_for_fit(links, X)
            self._check_combinations()
            rows = self._rows(data)
            closed = closed_links(links, partial_labels, len(rows), counted=self._counts_links)
            more |= self._supervision(links, partial_labels)
            if more.get("sample_weight") is not None:
                more["sample_weight"] = checked_weights(more["sample_weight"], rows)
            used = closed if self._takes_groups else closed.expanded()
            self._keep(rows, closed, self._fit(data, used, **more))
        return self

    @abstractmethod
    def _fit(self, data: Any, closed: ClosedLinks, **more: Any) -> Fitted:
        """Cluster; sets nothing."""

    @abstractmethod
    def _predict(self, data: Any) -> Array:
        """Labels of rows that were not in ``fit``; of no rows, none."""

    def _read(self, X: Any, *, reset: bool) -> Any:
        """Check the data, in ``fit`` and behind it: the one place where they come in."""
        refuse_dask(X, type(self).__name__)
        return self._checked(X, reset=reset)

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """Give the data as `_fit` takes them; with "cosine", as rows of length one."""
        data = validate_data(
            self,
            X,
            dtype=[np.float64, np.float32],
            reset=reset,
            ensure_min_samples=self._min_samples if reset else 1,
            copy=reset,  # it is kept, and the caller may write into the original
        )
        return unit_rows(data) if self._is_cosine() else data

    def _is_cosine(self) -> bool:
        """Whether rows count by their directions alone."""
        return self._takes_cosine and getattr(self, "metric", "euclidean") == "cosine"

    def _rows(self, data: Any) -> Array:
        """One row for each sample, to tell which are equal."""
        rows: Array = data
        return rows

    def _check_combinations(self) -> None:
        """Refuse parameters that would otherwise be ignored; each is valid by itself."""

    def _supervision(
        self,
        links: Links | None,  # noqa: ARG002 (for those that override it)
        partial_labels: ArrayLike | None,  # noqa: ARG002
    ) -> dict[str, Any]:
        """Tell `_fit` what else it wants to know of what was given."""
        return {}

    def _keep(self, rows: Array, closed: ClosedLinks, fitted: Fitted) -> None:
        """Set the attributes of this fit, and drop those of an earlier one."""
        parameters = self.get_params(deep=False)
        for name in [name for name in vars(self) if name.endswith("_")]:
            if name not in parameters and name not in _READ_BY_SKLEARN:
                delattr(self, name)
        self.labels_ = fitted.labels.astype(np.int64, copy=False)
        self.n_clusters_ = count_clusters(self.labels_)
        self.links_ = closed.links
        self.link_report_ = link_satisfaction(self.labels_, closed.links)
        for name, value in fitted.attributes.items():
            setattr(self, name, value)
        self._fit_X, self._state = rows, fitted.state

    @property
    def probabilities_(self) -> NDArray[np.float64]:
        """How surely each row belongs to its cluster, from 0 to 1: :func:`linkshift.membership`."""
        return self._membership().probabilities

    @property
    def outlier_scores_(self) -> NDArray[np.float64]:
        """How far out each row is among its neighbours, from 0 to 1."""
        return self._membership().outlier_scores

    @property
    def exemplars_(self) -> NDArray[np.int64]:
        """The row of each cluster that is nearest to its mean, by ascending cluster."""
        return self._membership().exemplars

    def _membership(self) -> Membership:
        """How rows stand in their clusters, worked out when first asked for."""
        from linkshift.memberships import membership

        check_is_fitted(self, "labels_")
        labels, found = _MEMBERSHIPS.get(self, (None, None))
        if found is None or labels is not self.labels_:
            found = membership(self._fit_X, self.labels_)
            _MEMBERSHIPS[self] = (self.labels_, found)
        return found

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Cluster of each row; a row equal to one that was in ``fit`` has that one's label.

        Where links or sizes part rows that are equal, it is the label of the first; the rows of
        ``fit`` as a whole get ``labels_``. The class says how other rows get theirs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New data.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "labels_")
        data = self._read(X, reset=False)
        return keep_known(
            self._rows(data), self._fit_X, self.labels_, lambda new: self._predict(data[new])
        )


_WEIGHTS = """\
sample_weight : array-like of shape (n_samples,), default=None
    Counts of rows, not negative, whole or not. A row of weight 2 is the row twice. If links name
    it, they name the first of the two, and the other moves with it: what a link says does not
    depend on weights. A row of weight zero follows, and founds no cluster unless links ask for one.
"""


def _with_weights(text: str | None) -> str:
    """Give the text on ``fit`` with that on weights, before that on links."""
    before, links, after = cleandoc(text or "").partition("links : Links")
    return f"{before}{_WEIGHTS}{links}{after}"


class WeightedClusterer(LinkedClusterer):
    """A clusterer that takes weights of rows as well."""

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        links: Links | None = None,
        partial_labels: ArrayLike | None = None,
        **unknown: Any,
    ) -> Self:
        """Cluster the rows of X under links, with weights: the text is below."""
        _refuse_unknown(type(self).__name__, unknown)
        return self._fit_once(X, y, links, partial_labels, sample_weight=sample_weight)

    fit.__doc__ = _with_weights(LinkedClusterer.fit.__doc__)


def keep_known(
    rows: Array, fit_X: Array, labels: Array, predict: Callable[[Array], Array]
) -> NDArray[np.int64]:
    """Labels of rows: that of the first equal training row, else what ``predict`` says.

    All training rows in their order get the labels that they have, equal ones in two clusters too.
    ``predict`` is called with the indices of the other rows, when there are any. Numbers are
    compared, not bits: -0.0 equals 0.0, and float32 the same value in float64.
    """
    if np.array_equal(rows, fit_X):
        return labels.astype(np.int64)
    n = fit_X.shape[0]
    first = first_of_equal_rows(np.concatenate([fit_X, rows]))[n:]
    found = np.empty(rows.shape[0], dtype=np.int64)
    known = first < n
    found[known] = labels[first[known]]
    new = np.flatnonzero(~known)
    if new.size:
        found[new] = predict(new)
    return found


def refuse_used(used: Mapping[str, bool], reason: str) -> None:
    """Refuse the first of some parameters that is used, by its name and a reason."""
    for name, is_used in used.items():
        if is_used:
            raise Refusal(f"{name} {reason}", parameter=name.partition("=")[0])


def _refuse_unknown(name: str, unknown: Mapping[str, Any]) -> None:
    """Refuse arguments of ``fit`` that are not there, and weights with a remedy."""
    if "sample_weight" in unknown:
        raise Refusal(
            f"{name} does not take sample_weight.",
            "Give whole weights as copies, X[np.repeat(np.arange(len(X)), sample_weight)], or use "
            "MeanShift, ConstrainedMeanShift, KMeans, RefinedClustering, PCKMeans, MPCKMeans, "
            "COPKMeans, SeededKMeans or CDBSCAN, which do.",
            parameter="sample_weight",
        )
    for argument in unknown:
        raise TypeError(f"{name}.fit() got an unexpected keyword argument {argument!r}")


def refuse_links_as_y(y: object) -> None:
    """Scikit-learn's clusterers ignore y: links in its place would be dropped without a word."""
    if isinstance(y, Links):
        raise TypeError("Links were given in the place of y, which is ignored; write links=...")


def closed_links(
    links: Links | None, partial_labels: ArrayLike | None, n: int, *, counted: bool = False
) -> ClosedLinks:
    """Links and partial labels as one set, checked against the number of rows and closed.

    For a method that counts links, up to 200 labelled rows are linked pair by pair.
    """
    closed = ClosedLinks.coerce(links, n)
    if partial_labels is None:
        return closed
    known = known_classes(partial_labels, n)
    complete = counted and int((known >= 0).sum()) <= _MOST_COMPLETE
    return ClosedLinks(closed.links + Links.from_labels(known, complete=complete).check(n), n)


def known_classes(partial_labels: ArrayLike, n: int) -> NDArray[np.int64]:
    """Partial labels as numbers, -1 where unknown (-1, None, NaN), one for each row."""
    codes = class_codes(partial_labels)
    if len(codes) != n:
        raise ValueError(
            f"partial_labels has {len(codes)} entries for {n} rows; give one for each row, -1 "
            "where the class is unknown."
        )
    return codes
