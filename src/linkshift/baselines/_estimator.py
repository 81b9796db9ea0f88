"""What the k-means methods under links share: the door, restarts, prediction."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from linkshift._core.arrays import Array
from linkshift._core.messages import Refusal
from linkshift.baselines._initial import neighbourhood_centres
from linkshift.estimators._base import Fitted, WeightedClusterer
from linkshift.kmeans.fitting import check_enough
from linkshift.links import ClosedLinks, SignedEdges, signed_edges


class Run(NamedTuple):
    """What one start leads to."""

    labels: Array
    centres: Array
    metric: Array  # diagonal of each cluster's metric
    objectives: Array  # after each iteration
    n_iter: int


class LinkGraph(NamedTuple):
    """Links between components of rows.

    Every pair of rows of two joined components is one link. A component of must-linked rows is
    joined to itself. Rows without a link are all in the last component, which has no edge:
    what is kept for each component then grows with the links, not with the rows.
    """

    component: Array  # component of each row
    edges: SignedEdges

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.edges.start) - 1


def link_graph(closed: ClosedLinks, weight: float) -> LinkGraph:
    """Weigh links by ``weight`` times their confidence; certain ones are closed first.

    As soon as one link has a confidence below one, none are closed: each stays a pair of rows,
    so that wrong answers do not multiply. Certain links that contradict each other raise.
    """
    links = closed.links
    if closed.all_certain:
        component, cannot = closed.closure.component, closed.closure.component_cannot
        together = np.flatnonzero(closed.closure.sizes > 1)
        must = np.stack([together, together], axis=1)
        signed = np.concatenate([np.ones(len(must)), -np.ones(len(cannot))])
    else:
        component, must, cannot = np.arange(closed.n_samples), links.must, links.cannot
        signed = np.concatenate([links.must_confidence, -links.cannot_confidence])
    joined, pairs = np.unique(np.concatenate([must, cannot]), return_inverse=True)
    place = np.full(int(component.max(initial=-1)) + 1, len(joined), dtype=np.int64)
    place[joined] = np.arange(len(joined))
    edges = signed_edges(pairs.reshape(-1, 2), weight * signed, len(joined) + 1)
    return LinkGraph(place[component], edges)


_LARGEST = 1e150  # number in the data
_FRESH = 3  # assignments afresh that may fail before a run ends


@dataclass(frozen=True)
class KMeansState:
    """What new rows are measured by."""

    origin: Array
    centres: Array  # about the origin
    metric: Array


class LinkedKMeans(WeightedClusterer):
    """K-means under links: the best of several runs. New rows go to the nearest centre.

    Squared distances of rows are multiplied by their weights, links are not.

    What a run is told of the links is made once, by `_prepared`.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"neighbourhoods", "k-means++"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Literal["neighbourhoods", "k-means++"] | ArrayLike = "neighbourhoods",
        n_init: int = 10,
        max_iter: int = 300,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(  # type: ignore[override]
        self, data: Array, closed: ClosedLinks, *, sample_weight: Array | None
    ) -> Fitted:
        weight = np.ones(data.shape[0]) if sample_weight is None else sample_weight
        check_enough(data.shape[0], sample_weight, self.n_clusters)
        if (largest := float(np.abs(data).max())) > _LARGEST:
            raise Refusal(
                f"Squares of numbers up to {largest:.3g}, which k-means goes by, are infinite.",
                f"Divide the columns by their spread, or leave out rows beyond {_LARGEST:g}.",
                parameter="X",
            )
        random = check_random_state(self.random_state)
        # Centred: sums of squares then lose no digits.
        origin = data.mean(axis=0, dtype=np.float64)
        points = data - origin
        prepared = self._prepared(points, weight, closed)
        runs = []
        for _ in range(self.n_init):
            centres = self._first_centres(points, weight, prepared, origin, closed, random)
            runs.append(self._run(points, weight, prepared, centres, random))
        best = min(runs, key=lambda run: float(run.objectives[-1]))
        attributes = {
            "cluster_centers_": (best.centres + origin).astype(data.dtype),
            "objectives_": best.objectives,
            "n_iter_": best.n_iter,
            **self._more(prepared),
        }
        return Fitted(best.labels, KMeansState(origin, best.centres, best.metric), attributes)

    def _more(self, prepared: Any) -> dict[str, Any]:  # noqa: ARG002 (for seeds)
        """Give further attributes of a fit."""
        return {}

    @abstractmethod
    def _prepared(self, X: Array, weight: Array, closed: ClosedLinks) -> Any:
        """Bring links into the form that runs take."""

    @abstractmethod
    def _run(
        self,
        X: Array,
        weight: Array,
        prepared: Any,
        centres: Array,
        random: np.random.RandomState,
    ) -> Run:
        """Iterate from some centres until no label changes."""

    def _first_centres(
        self,
        X: Array,
        weight: Array,
        prepared: Any,  # noqa: ARG002 (for seeds)
        origin: Array,
        closed: ClosedLinks,
        random: np.random.RandomState,
    ) -> Array:
        if isinstance(self.init, str):
            linked = begins_with_links(self.init)
            together = closed.must_component if linked else np.arange(len(X))
            return neighbourhood_centres(X, weight, together, self.n_clusters, random)
        centres = np.asarray(self.init, dtype=np.float64)
        if centres.shape != (self.n_clusters, X.shape[1]):
            raise ValueError(
                f"init has shape {centres.shape}; {self.n_clusters} centres with "
                f"{X.shape[1]} features need {(self.n_clusters, X.shape[1])}."
            )
        return centres - origin

    def _predict(self, data: Array) -> Array:
        state = self._state
        points = data - state.origin
        distance = [
            ((points - centre) ** 2 * metric).sum(axis=1) - np.log(metric).sum()
            for centre, metric in zip(state.centres, state.metric, strict=True)
        ]
        return np.stack(distance, axis=1).argmin(axis=1)


class PenalisedKMeans(LinkedKMeans):
    """K-means that pays for violated links."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LinkedKMeans._parameter_constraints,
        "weight": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        weight: float = 1.0,
        init: Literal["neighbourhoods", "k-means++"] | ArrayLike = "neighbourhoods",
        n_init: int = 10,
        max_iter: int = 300,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            n_clusters, init=init, n_init=n_init, max_iter=max_iter, random_state=random_state
        )
        self.weight = weight

    def _prepared(self, X: Array, weight: Array, closed: ClosedLinks) -> LinkGraph:  # noqa: ARG002
        if len(closed) and self.weight == 0 and not begins_with_links(self.init):
            raise Refusal(
                "With weight=0 links cost nothing, and the first centres are not theirs: they "
                "would be ignored.",
                "Give a positive weight or init='neighbourhoods', or drop the links.",
                parameter="weight",
                value=self.weight,
            )
        return link_graph(closed, self.weight)

    def _run(
        self,
        X: Array,
        weight: Array,
        prepared: LinkGraph,
        centres: Array,
        random: np.random.RandomState,
    ) -> Run:
        """Settle, and again with all rows assigned afresh, as long as that lowers the objective.

        A label is held by the labels of all that it is linked to: afresh, the first rows are free.
        """
        begin = Run(np.empty(0), centres, np.ones_like(centres), np.empty(0), 0)
        best = self._settled(X, weight, prepared, begin, self.max_iter, random)
        failed = 0
        linked = len(prepared.edges.other) > 0
        while linked and failed < _FRESH and best.n_iter < self.max_iter:
            again = self._settled(X, weight, prepared, best, self.max_iter - best.n_iter, random)
            if not again.objectives[-1] < best.objectives[-1]:
                failed += 1
                continue
            failed = 0
            lower = again.objectives[again.objectives < best.objectives[-1]]
            lower = lower[lower <= np.minimum.accumulate(lower)]
            objectives = np.concatenate([best.objectives, lower])
            best = again._replace(objectives=objectives, n_iter=best.n_iter + again.n_iter)
        return best

    @abstractmethod
    def _settled(
        self,
        X: Array,
        weight: Array,
        graph: LinkGraph,
        begin: Run,
        most: int,
        random: np.random.RandomState,
    ) -> Run:
        """Iterate from the centres and metric of a run, with no labels, until none changes."""


def refuse_uncertain(closed: ClosedLinks, method: str) -> None:
    """Refuse links of a confidence below one where all must hold."""
    if closed.all_certain:
        return
    raise Refusal(
        f"{method} holds every link as certain, and {len(closed) - len(closed.certain)} of "
        f"{len(closed)} links have a confidence below one.",
        "Leave them out, give them confidence one, or use PCKMeans, which weighs links.",
        parameter="links",
    )


def apart_components(closed: ClosedLinks) -> SignedEdges:
    """Which components of certain must-links are held apart; contradictions raise."""
    pairs = closed.closure.component_cannot
    return signed_edges(pairs, -np.ones(len(pairs)), closed.closure.n_components)


def begins_with_links(init: Any) -> bool:
    """Whether first centres come from must-linked rows."""
    return isinstance(init, str) and init == "neighbourhoods"


def means(X: Array, weight: Array, labels: Array, centres: Array) -> Array:
    """Mean of each cluster's rows; one without weight keeps its centre."""
    sums = np.zeros_like(centres)
    np.add.at(sums, labels, weight[:, None] * X)
    sizes = np.bincount(labels, weight, minlength=len(centres))
    known = sizes > 0
    return np.where(known[:, None], sums / np.where(known, sizes, 1.0)[:, None], centres)
