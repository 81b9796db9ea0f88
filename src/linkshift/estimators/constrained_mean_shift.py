"""Constrained mean shift: cannot-links inside mean shift (Schier et al. 2022), and beyond."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from linkshift._core.arrays import Array
from linkshift._core.threads import n_threads
from linkshift.bandwidth import grow, pair_range
from linkshift.estimators import _constrained_checks as checks
from linkshift.estimators import _growth
from linkshift.estimators._base import METRICS, Fitted, MetricName, WeightedClusterer, closed_links
from linkshift.estimators._columns import min_and_span
from linkshift.estimators._constrained_evidence import evidence_of
from linkshift.estimators._constrained_landmarks import (
    Representatives,
    fidelity,
    represent,
    tell_so,
)
from linkshift.explain import Evidence, Explains
from linkshift.links import ClosedLinks, Closure, Links
from linkshift.refinement import (
    Neighbours,
    absorb_dust,
    closed_for,
    founded,
    hold,
    merge_by_votes,
    neighbours_vote,
    settle,
    to_count,
    voters,
)
from linkshift.shift.constrained import LinkKernel, LinkKernelName
from linkshift.shift.constrained.runs import ConstrainedShift, Run, given_schedule, part_of

__all__ = ["ConstrainedMeanShift"]

_CHANGED = "Parameters have changed since fit; call fit again."


@dataclass(frozen=True)
class _State:
    """Scaled data and schedule, which links do not change; and runs to go on from."""

    low: Array
    span: Array
    points: Array  # scaled
    schedule: Array  # bandwidths, from the first iteration to the last that there could be
    params: dict[str, str]  # those that the runs depend on
    by: Representatives  # who is shifted
    runs: dict[str, Run] = field(default_factory=dict)  # of these, and of halves of the links
    weight: Array | None = None  # of each row

    def scaled(self, X: Array) -> Array:
        return (X.astype(np.float64) - self.low) / self.span

    def unscaled(self, points: Array) -> Array:
        return points * self.span + self.low

    @property
    def n_counted(self) -> float:
        """Rows, by their weights."""
        return float(len(self.points) if self.weight is None else self.weight.sum())


class ConstrainedMeanShift(Explains, WeightedClusterer):
    r"""Mean shift under must-links and cannot-links (CMS).

    Every point's centre climbs a density of its own, from which cannot-links take weight,

    .. math::

        t_i \leftarrow \frac{\sum_j k_h(s_j - t_i)\, w_{ij}\, s_j}
                            {\sum_j k_h(s_j - t_i)\, w_{ij}}, \qquad
        w_{ij} = \prod_{(x, y)} \bigl(1 - k_{h_c}(t_x - t_i)\, k_{h_c}(t_y - t_j)\bigr),

    while the bandwidth h grows until only links keep centres apart. Neither the bandwidth nor
    the number of clusters need be known. Afterwards links settle the rest
    (:func:`linkshift.refine`). The paper's algorithm is ``growth="full", refine=None,
    enforce=False``. It says nothing of how centres become labels; ours go by the closeness of the
    final centres alone, and ``merge_weight`` asks for the rule of the authors' code.

    Parameters
    ----------
    kernel : {"truncated_gaussian", "gaussian", "flat"}, default="truncated_gaussian"
        Kernel k, written :math:`\exp(-\|x\|^2 / h^2)` as in the paper.
    truncation : float, default=0.2
        Where the truncated Gaussian is cut: weights up to this are zero.
    constraint_scale : float, default=0.5
        The lambda of :math:`h_c = \max\{\epsilon, \min\{h, \lambda \|t_x - t_y\|\}\}`.
    bandwidth : float or array-like, default=None
        ``None`` grows h from the smallest nonzero distance between two points. A number keeps it
        fixed; an array gives h for each iteration, instead of ``max_iter``. In scaled units,
        where features run from 0 to 1, unless ``scale_features=False``.
    growth : {"links", "full"}, default="links"
        How far h grows when ``bandwidth`` is None. ``"full"``, as in the paper: to the largest
        distance between two points, which asks for many links. ``"links"``: the same when there
        is a link for two rows, from 2,500 links on, or with fewer than ten; with nothing to keep
        apart, to two default bandwidths. In between, half of the links bend the shift, the other
        half say at which of a few bandwidths they agree best: two more shifts of up to 5,000 rows.
    schedule : {"linear", "geometric"}, default="linear"
        How h grows when ``bandwidth`` is None.
    max_iter : int, default=80
        Number of iterations.
    blurring : bool, default=False
        Whether samples move along with their centres.
    scale_features : bool, default=True
        Bring every feature to [0, 1] first, as the paper does; not with ``metric="cosine"``. A
        column whose range is less than 1e-8 of the median range of those that are not constant
        counts as constant, with a warning: scaled, its rounding would weigh as much as the others.
    merge_above : float, default=0.99
        Rows whose final centres a chain of :math:`\exp(-\|x\|^2 / h^2)` above this connects, at the
        last h, share a label. The authors' code has 0.99 for images and 0.995 for synthetic sets.
    merge_weight : float, default=None
        Ask in addition, as the authors' code does, that the weights :math:`w_{ij}` of the last
        iteration along the chain be above this: 0.1 for images, 0 for synthetic sets. Where links
        are dense, rows are then alone. With ``kernel="flat"`` the chain is of centres within h.
    refine : {"links", None}, default="links"
        Settle labels by links and neighbours after the shift.
    enforce : bool, default=True
        Make every link of confidence one hold in ``labels_``: what refinement leaves open is
        moved to another cluster, if need be to a new one.
    min_cluster_size : int, default=1
        Clusters smaller than this are given to their neighbours' clusters, before refinement.
    n_neighbors : int, default=20
        Neighbours that have a say in refinement, in absorbing small clusters and in ``predict``.
    penalty : float, default=4.0
        Cost of a violated link in refinement.
    n_clusters, max_clusters : int, default=None
        How many clusters there are, or how many at most; as in :func:`linkshift.refine`.
    max_pairs : int, default=30000
        Most cannot-linked pairs of rows that bend the shift. When the closure has more, each
        pair of components is represented by an equal share of its pairs, with a warning. Labels
        honour all links in any case.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine" divides each row by its length: squared distances are then :math:`2 - 2 \cos`.
        Columns are then not scaled, which would turn the angles; bandwidths and ``shifted_`` are
        among these rows. A row of zeros raises.
    landmarks : "auto", int or None, default="auto"
        Landmarks that stand for the rows without links. ``None`` shifts every row. With a number,
        or with "auto" above 10,000 rows (2,000 landmarks then, and a warning that tells how
        faithful they are), rows that links name and landmarks are shifted, each row goes with the
        nearest of these, and then all rows settle by links and neighbours as ever. Time then grows
        about linearly with the rows, instead of like n^1.7.
    keep_history : bool, default=False
        Keep the positions of all iterations in ``history_``, for pictures and for ``refit``.
    n_jobs : int, default=None
        Number of threads. ``None`` takes all cores. Labels do not depend on it.
    progress : callable, default=None
        Called with (iterations made, iterations), of which there may be fewer in the end.

    Attributes
    ----------
    labels_, n_clusters_ : ndarray of shape (n_samples,), int
        Cluster of each row, and how many there are.
    links_, link_report_ : Links, LinkReport
        The links, those of ``partial_labels`` included, and which of them hold.
    shifted_ : ndarray of shape (n_samples, n_features)
        Where each row's centre ended, in the units of X.
    bandwidth_ : ndarray of shape (n_iterations,)
        Bandwidths up to where growth stopped, in scaled units when ``scale_features``.
    n_iter_ : int
        Iterations made; fewer when nothing could change any more.
    history_ : list of ndarray of shape (n_samples, n_features)
        Positions before each iteration and after the last, with ``keep_history``.
    fidelity_ : float
        Only with landmarks: the adjusted Rand index between clusters before links settle them and
        those of up to 128 rows that are shifted over all rows.

    See Also
    --------
    linkshift.refine : the refinement alone, after any clustering.

    Notes
    -----
    Links of confidence one are closed first: what is must-linked shares its cannot-links. They
    must not contradict each other; ``links.conflicts()`` explains where they do. Links with a
    lower confidence may. They are not closed, since a wrong answer would be multiplied: they bend
    the shift one by one, each by its confidence, and refinement weighs them.

    With ``sample_weight`` the terms of both sums over samples are multiplied by the weights, and
    rows count by them in the bandwidths' growth, in sizes and in votes; links bend the shift once,
    whatever their rows weigh. Rows of clusters that have no weight go with the nearest row that has
    some.

    New rows are labelled by a vote of the nearest training rows
    (:func:`linkshift.refinement.neighbours_vote`).

    References
    ----------
    Schier, Reinders, Rosenhahn: Constrained Mean Shift Clustering, SDM 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift import ConstrainedMeanShift, Links
    >>> X = np.array([[0.0], [0.1], [0.2], [0.8], [0.9], [1.0]])
    >>> links = Links(cannot=[(0, 5)])
    >>> ConstrainedMeanShift().fit_predict(X, links=links)
    array([0, 0, 0, 1, 1, 1])
    """

    _takes_groups: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions({"truncated_gaussian", "gaussian", "flat"})],
        "truncation": [Interval(Real, 0, 1, closed="neither")],
        "constraint_scale": [Interval(Real, 0, None, closed="neither")],
        "bandwidth": [Interval(Real, 0, None, closed="neither"), "array-like", None],
        "growth": [StrOptions({"links", "full"})],
        "schedule": [StrOptions({"linear", "geometric"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "blurring": ["boolean"],
        "scale_features": ["boolean"],
        "merge_above": [Interval(Real, 0, 1, closed="neither")],
        "merge_weight": [Interval(Real, 0, 1, closed="left"), None],
        "refine": [StrOptions({"links"}), None],
        "enforce": ["boolean"],
        "min_cluster_size": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "penalty": [Interval(Real, 0, None, closed="left")],
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "max_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "max_pairs": [Interval(Integral, 1, None, closed="left")],
        "metric": METRICS,
        "landmarks": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left"), None],
        "keep_history": ["boolean"],
        "n_jobs": [Integral, None],
        "progress": [callable, None],
    }
    _counts_links = True
    _takes_cosine = True

    def __init__(
        self,
        *,
        kernel: LinkKernelName = "truncated_gaussian",
        truncation: float = 0.2,
        constraint_scale: float = 0.5,
        bandwidth: float | ArrayLike | None = None,
        growth: Literal["links", "full"] = "links",
        schedule: Literal["linear", "geometric"] = "linear",
        max_iter: int = 80,
        blurring: bool = False,
        scale_features: bool = True,
        merge_above: float = 0.99,
        merge_weight: float | None = None,
        refine: Literal["links"] | None = "links",
        enforce: bool = True,
        min_cluster_size: int = 1,
        n_neighbors: int = 20,
        penalty: float = 4.0,
        n_clusters: int | None = None,
        max_clusters: int | None = None,
        max_pairs: int = 30_000,
        metric: MetricName = "euclidean",
        landmarks: Literal["auto"] | int | None = "auto",
        keep_history: bool = False,
        n_jobs: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.kernel = kernel
        self.truncation = truncation
        self.constraint_scale = constraint_scale
        self.bandwidth = bandwidth
        self.growth = growth
        self.schedule = schedule
        self.max_iter = max_iter
        self.blurring = blurring
        self.scale_features = scale_features
        self.merge_above = merge_above
        self.merge_weight = merge_weight
        self.refine = refine
        self.enforce = enforce
        self.min_cluster_size = min_cluster_size
        self.n_neighbors = n_neighbors
        self.penalty = penalty
        self.n_clusters = n_clusters
        self.max_clusters = max_clusters
        self.max_pairs = max_pairs
        self.metric = metric
        self.landmarks = landmarks
        self.keep_history = keep_history
        self.n_jobs = n_jobs
        self.progress = progress

    def _fit(  # type: ignore[override]
        self, data: Array, closed: ClosedLinks, *, sample_weight: Array | None
    ) -> Fitted:
        checks.check_usable(closed, refine=self.refine, enforce=self.enforce)
        # Rows without weight have no say in scales either.
        counted = slice(None) if sample_weight is None else sample_weight > 0
        low, span = np.zeros(data.shape[1]), np.ones(data.shape[1])
        if self.scale_features and not self._is_cosine():
            low, span = min_and_span(data[counted], getattr(self, "feature_names_in_", None))
        points = (data.astype(np.float64) - low) / span
        state = self._prepared(low, span, points, closed, sample_weight)
        return self._cluster(state, closed, data.dtype, measure=True)

    def _prepared(
        self, low: Array, span: Array, points: Array, closed: ClosedLinks, weight: Array | None
    ) -> _State:
        """Find out who is shifted, and how the bandwidth may grow."""
        by = represent(points, closed, self.landmarks, weight=weight, n_jobs=self.n_jobs)
        if self.bandwidth is None:
            counted = slice(None) if by.weight is None else by.weight > 0
            schedule = grow(*pair_range(by.points[counted]), self.max_iter, self.schedule)
        else:
            schedule = given_schedule(self.bandwidth, self.max_iter)
        return _State(low, span, points, schedule, self._shift_params(), by, weight=weight)

    def refit(self, *, links: Links | None = None, partial_labels: ArrayLike | None = None) -> Self:
        """Cluster the rows of the last ``fit`` again, with their weights, under other links.

        Goes on from the first iteration that the changed links could have altered, so that a
        few answers more or less cost a part of a fit; labels are those of a fresh fit. Needs
        ``keep_history=True``. Parameters must be as they were.

        Parameters
        ----------
        links : Links, default=None
            All links, not only the changed ones.
        partial_labels : array-like of shape (n_samples,), default=None
            As in ``fit``.

        Returns
        -------
        self
        """
        check_is_fitted(self, "labels_")
        if not self._state.runs:
            raise ValueError("refit goes on from the history: fit with keep_history=True first.")
        if self._shift_params() != self._state.params:
            raise ValueError(_CHANGED)
        closed = closed_links(links, partial_labels, len(self._fit_X), counted=True)
        checks.check_usable(closed, refine=self.refine, enforce=self.enforce)
        state: _State = self._state
        if not state.by.has(closed):  # others than before are shifted themselves
            state = self._prepared(state.low, state.span, state.points, closed, state.weight)
        found = self._cluster(state, closed, self._fit_X.dtype, measure=True)
        self._keep(self._fit_X, closed, found)
        return self

    def _check_combinations(self) -> None:
        checks.check_combinations(self)

    def _shift_params(self) -> dict[str, str]:
        """Parameters that the history depends on, as text, whole arrays included."""
        free = ("n_jobs", "progress")
        return {
            name: repr(np.asarray(value).tolist())
            for name, value in self.get_params().items()
            if name not in free
        }

    def _cluster(
        self,
        state: _State,
        closed: ClosedLinks,
        dtype: Any,
        *,
        keep: bool | None = None,
        measure: bool = False,
    ) -> Fitted:
        """Go through the stages: choose how far to grow, shift, label; tell of landmarks."""
        if self.bandwidth is None:
            checks.warn_without_cannot(closed, self.growth)
        closed = self._closed(closed)
        keep = self.keep_history if keep is None else keep
        runs = dict(state.runs)
        neighbours = voters(state.points, self.n_neighbors, state.weight)
        bandwidths, asked = _growth.grown(self, state, closed, neighbours, runs, keep=keep)
        by, own = state.by, state.by.closed(closed)
        measure &= by.rows is not None
        shift = self._shift(by.points, by.weight)
        run, ascent = shift.run(
            own,
            bandwidths,
            _growth.to_go_on(runs.get("all"), closed.links),
            keep=keep or measure,
            progress=part_of(self.progress, *((2, 3) if asked else (0, 1))),
            complain=True,
        )
        if keep:
            runs["all"] = run
        states, h = [ascent.before, (ascent.centres, ascent.group)], float(bandwidths[-1])
        found = shift.labels(states, run.bending, h, self._apart(own))
        labels = founded(state.points, by.spread(found), state.weight)
        labels = self._labels(labels, closed, neighbours)
        labels = to_count(
            state.points,
            labels,
            closed,
            exactly=self.n_clusters,
            at_most=self.max_clusters,
            weight=state.weight,
        )
        attributes = {
            "bandwidth_": bandwidths,
            "n_iter_": max(ascent.n_iter, 1),
            "shifted_": state.unscaled(ascent.centres[by.spread(ascent.group)]).astype(dtype),
        }
        if measure:
            faithful = fidelity(state.points, state.weight, by, shift, run, bandwidths, found)
            attributes["fidelity_"] = faithful
            if self.landmarks == "auto":
                tell_so(len(state.points), by, faithful)
        return Fitted(labels, replace(state, runs=runs), attributes)

    def _closed(self, closed: ClosedLinks) -> ClosedLinks:
        """Add what follows from the number of clusters."""
        return closed_for(closed, self.n_clusters, self.max_clusters)

    def _shift(self, points: Array, weight: Array | None) -> ConstrainedShift:
        return ConstrainedShift(
            points,
            LinkKernel(self.kernel, self.truncation),
            scale=self.constraint_scale,
            blurring=self.blurring,
            until_settled=self.enforce,
            max_pairs=self.max_pairs,
            merge_above=self.merge_above,
            merge_weight=self.merge_weight,
            n_threads=n_threads(self.n_jobs),
            weight=weight,
        )

    @property
    def history_(self) -> list[Array]:
        """Positions of all rows before each iteration and after the last."""
        state: _State | None = getattr(self, "_state", None)
        if state is None or not state.runs:
            raise AttributeError("history_ is there after fit with keep_history=True.")
        return [
            state.unscaled(centres[state.by.spread(group)]).astype(self._fit_X.dtype)
            for centres, group in state.runs["all"].history
        ]

    def _apart(self, closed: ClosedLinks) -> Closure | None:
        """Links across which nothing is merged."""
        return closed.closure if self.enforce else None

    def _labels(self, labels: Array, closed: ClosedLinks, neighbours: Neighbours) -> Array:
        """Let links settle what closeness has merged."""
        labels = absorb_dust(labels, neighbours, self.min_cluster_size)
        if self.refine == "links" and len(closed):
            labels = merge_by_votes(labels, closed.links)
            labels = settle(labels, closed, neighbours, penalty=self.penalty)
        if self.enforce:
            labels = hold(labels, closed.closure, neighbours)
        return labels

    def _predict(self, data: Array) -> Array:
        state = self._state
        known = (state.points, self.labels_, self.n_neighbors, state.weight)
        return neighbours_vote(state.scaled(data), *known)

    def _evidence(self, row: int) -> Evidence:
        """Tell what explains a row: its centre's path, what bent it, and fits from the history."""
        if self._shift_params() != self._state.params:
            raise ValueError(_CHANGED)
        return evidence_of(self, row)
