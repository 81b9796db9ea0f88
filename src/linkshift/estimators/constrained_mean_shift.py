"""Constrained mean shift: cannot-links inside mean shift (Schier et al. 2022), and beyond."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from linkshift._core.arrays import Array
from linkshift._core.threads import n_threads
from linkshift._explaining import Evidence, Explains, Refit
from linkshift._link_shares import Bending
from linkshift.bandwidth import grow, pair_range
from linkshift.estimators._common import joined_links, refuse_links_as_y
from linkshift.estimators._growth import (
    best_stop,
    halves,
    rows_to_ask,
    stops,
    worth_asking,
)
from linkshift.links import Closure, Links
from linkshift.metrics import link_satisfaction
from linkshift.modes import merge_close
from linkshift.refinement import (
    absorb_dust,
    certain_links,
    hold,
    merge_by_votes,
    nearest_rows,
    neighbours_vote,
    settle,
)
from linkshift.shift.constrained import (
    ConstrainedAscent,
    History,
    LinkKernel,
    LinkKernelName,
    constrained_ascend,
    first_effect,
)
from linkshift.shift.constrained.bending import centres_apart, changed_pairs, closed_pairs

__all__ = ["ConstrainedMeanShift"]


class _Run(NamedTuple):
    """A shift that another one can go on from."""

    history: History
    bending: tuple[Array, Array]  # cannot-linked pairs of rows, and their confidence


class ConstrainedMeanShift(Explains, ClusterMixin, BaseEstimator):
    r"""Mean shift under must-links and cannot-links (CMS).

    Every point's centre climbs a density of its own, from which cannot-links take weight,

    .. math::

        t_i \leftarrow \frac{\sum_j k_h(s_j - t_i)\, w_{ij}\, s_j}
                            {\sum_j k_h(s_j - t_i)\, w_{ij}}, \qquad
        w_{ij} = \prod_{(x, y)} \bigl(1 - k_{h_c}(t_x - t_i)\, k_{h_c}(t_y - t_j)\bigr),

    while the bandwidth h grows until only links keep centres apart. Neither the bandwidth nor
    the number of clusters need be known. Afterwards links settle the rest
    (:func:`linkshift.refine`). The paper's algorithm is ``growth="full", refine=None,
    enforce=False``, but for its labels, which here go by the closeness of the final centres
    alone.

    Parameters
    ----------
    kernel : {"truncated_gaussian", "gaussian", "flat"}, default="truncated_gaussian"
        Kernel k, written :math:`\exp(-\|x\|^2 / h^2)` as in the paper.
    truncation : float, default=0.2
        Where the truncated Gaussian is cut: weights up to this are nought.
    constraint_scale : float, default=0.5
        The lambda of :math:`h_c = \max\{\epsilon, \min\{h, \lambda \|t_x - t_y\|\}\}`.
    bandwidth : float or array-like, default=None
        ``None`` grows h from the smallest nonzero distance between two points. A number keeps it
        fixed; an array gives h for each iteration (``max_iter`` is then not used and must stay
        at its default). In scaled units, where features run from 0 to 1, unless
        ``scale_features=False``.
    growth : {"links", "full"}, default="links"
        How far h grows when ``bandwidth`` is None. ``"full"``, as in the paper: to the largest
        distance between two points, where links alone keep clusters apart. That asks for many
        links. ``"links"``: the same when there is a link for two rows, from 2,500 links on, or
        with fewer than ten. In between, half of the links bend the shift and the other half say
        at which of a few bandwidths they agree with the clusters best; growth stops there. This
        costs two more shifts, of at most 5,000 rows.
    schedule : {"linear", "geometric"}, default="linear"
        How h grows when ``bandwidth`` is None.
    max_iter : int, default=80
        Number of iterations.
    blurring : bool, default=False
        Whether samples move along with their centres.
    scale_features : bool, default=True
        Bring every feature to [0, 1] first, as the paper does. Constant features become 0.
    refine : {"links", None}, default="links"
        Settle labels by links and neighbours after the shift.
    enforce : bool, default=True
        Make every link hold in ``labels_``: what refinement leaves open is moved to another
        cluster, if need be to a new one. Links with a confidence below one are never enforced.
    min_cluster_size : int, default=1
        Clusters smaller than this are given to their neighbours' clusters, before refinement.
    n_neighbors : int, default=20
        Neighbours that have a say in refinement, in absorbing small clusters and in ``predict``.
    penalty : float, default=2.0
        Cost of a violated link in refinement.
    max_pairs : int, default=30000
        Most cannot-linked pairs of rows that bend the shift. When the closure has more (large
        must-linked components), each pair of components is represented by an equal share of
        its pairs, at least one, with a warning. Labels honour all links in any case. Links of
        lower confidence are not closed and do not count.
    keep_history : bool, default=False
        Keep the positions of all iterations in ``history_``, for pictures and for ``refit``.
    n_jobs : int, default=None
        Number of threads. ``None`` takes all cores. Labels do not depend on it.
    progress : callable, default=None
        Called with (iterations made, iterations) after each iteration; the number of all may
        shrink when links say that growth stops early.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    n_clusters_ : int
        Number of clusters.
    links_ : Links
        The links that were given, those of ``partial_labels`` included.
    link_report_ : LinkReport
        Which of them hold.
    shifted_ : ndarray of shape (n_samples, n_features)
        Where each row's centre ended, in the units of X.
    bandwidth_ : ndarray of shape (n_iterations,)
        Schedule of bandwidths up to where growth stopped, in scaled units when
        ``scale_features``.
    n_iter_ : int
        Iterations made; fewer than scheduled when nothing could change any more.
    history_ : list of ndarray of shape (n_samples, n_features)
        Positions before each iteration and after the last, with ``keep_history=True``.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, when X has names.

    See Also
    --------
    MeanShift : without links.
    linkshift.refine : the refinement alone, after any clustering.

    Notes
    -----
    Links of confidence one are closed first: what is must-linked shares its cannot-links. They
    must not contradict each other; ``links.conflicts()`` explains where they do. Links with a
    lower confidence may. They are not closed, since a wrong answer would be multiplied: they bend
    the shift one by one, each by its confidence, and refinement weighs them.

    Without cannot-links the growing bandwidth merges everything into one cluster; a warning
    says so.

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
        "refine": [StrOptions({"links"}), None],
        "enforce": ["boolean"],
        "min_cluster_size": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "penalty": [Interval(Real, 0, None, closed="left")],
        "max_pairs": [Interval(Integral, 1, None, closed="left")],
        "keep_history": ["boolean"],
        "n_jobs": [Integral, None],
        "progress": [callable, None],
    }

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
        refine: Literal["links"] | None = "links",
        enforce: bool = True,
        min_cluster_size: int = 1,
        n_neighbors: int = 20,
        penalty: float = 2.0,
        max_pairs: int = 30_000,
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
        self.refine = refine
        self.enforce = enforce
        self.min_cluster_size = min_cluster_size
        self.n_neighbors = n_neighbors
        self.penalty = penalty
        self.max_pairs = max_pairs
        self.keep_history = keep_history
        self.n_jobs = n_jobs
        self.progress = progress

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        links: Links | None = None,
        partial_labels: ArrayLike | None = None,
    ) -> ConstrainedMeanShift:
        """Cluster the rows of X under links.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        y : ignored
            For scikit-learn's conventions only; partial labels enter by ``partial_labels``.
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
        self._check_combinations()
        given = joined_links(links, partial_labels, data.shape[0], counted=True)
        closure = self._close(given, data.shape[0])  # raises before anything is set
        self._dtype = data.dtype
        self._set_scaling(data)
        self._fit_points = self._scaled(data)
        self._bandwidths = self._schedule(self._fit_points)
        self._runs: dict[str, _Run] = {}
        self._fit_params = self._shift_params()
        return self._cluster(given, closure)

    def refit(
        self, *, links: Links | None = None, partial_labels: ArrayLike | None = None
    ) -> ConstrainedMeanShift:
        """Cluster the rows of the last ``fit`` again, under other links.

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
        if not self._runs:
            raise ValueError("refit goes on from the history: fit with keep_history=True first.")
        if self._shift_params() != self._fit_params:
            raise ValueError("Parameters have changed since fit; call fit again.")
        n = self._fit_points.shape[0]
        given = joined_links(links, partial_labels, n, counted=True)
        return self._cluster(given, self._close(given, n))

    def _check_combinations(self) -> None:
        """Refuse what would otherwise be ignored."""
        if self.truncation != 0.2 and self.kernel != "truncated_gaussian":
            raise ValueError("truncation is for kernel='truncated_gaussian' only.")
        if self.penalty != 2.0 and self.refine is None:
            raise ValueError(
                "penalty is the price of a link in refinement: it needs refine='links'."
            )

    def _shift_params(self) -> dict[str, str]:
        """Parameters that the history depends on, as text, whole arrays included."""
        free = ("n_jobs", "progress")
        return {
            name: repr(np.asarray(value).tolist())
            for name, value in self.get_params().items()
            if name not in free
        }

    def _close(self, links: Links, n: int) -> Closure:
        """Close the certain links; refuse contradictions, and links that would be ignored."""
        self._refuse_idle_links(links)
        return certain_links(links).closure(n)

    def _refuse_idle_links(self, links: Links) -> None:
        """Refuse links that nothing would look at."""
        if self.refine is not None:
            return
        if (links.must_confidence < 1.0).any():
            raise ValueError(
                "Must-links with a confidence below one act through refinement alone; set "
                "refine='links', or give them confidence one."
            )
        if len(links.must) and not len(links.cannot) and not self.enforce:
            raise ValueError(
                "With refine=None and enforce=False must-links only spread cannot-links, and there "
                "are none; set refine='links' or enforce=True."
            )

    def _cluster(self, links: Links, closure: Closure) -> ConstrainedMeanShift:
        """Go through the stages: choose how far to grow, shift, label."""
        if not len(links.cannot) and self.bandwidth is None:
            warnings.warn(
                "Without cannot-links nothing keeps centres apart, and the growing bandwidth "
                "merges all rows into one cluster. Give cannot-links, a fixed bandwidth, or use "
                "MeanShift.",
                stacklevel=4,
            )
        neighbours = nearest_rows(self._fit_points, self.n_neighbors)
        stop, asked = self._stop(links, neighbours)
        self.bandwidth_ = self._bandwidths[: stop + 1]
        part = (2, 3) if asked else (0, 1)
        run, ascent = self._shift(
            "all",
            self._fit_points,
            links,
            closure,
            self.bandwidth_,
            keep=self.keep_history,
            part=part,
        )
        if self.keep_history:
            self._runs["all"] = run
        self.n_iter_ = max(ascent.n_iter, 1)
        self.labels_ = self._labels(ascent, float(self.bandwidth_[-1]), links, closure, neighbours)
        self.n_clusters_ = int(self.labels_.max()) + 1
        self.links_ = links
        self.link_report_ = link_satisfaction(self.labels_, links)
        self.shifted_ = self._unscaled(ascent.centres[ascent.group])
        return self

    def _stop(self, links: Links, neighbours: Array) -> tuple[int, bool]:
        """Return the last iteration of the schedule, and whether links were asked for it."""
        points, last = self._fit_points, len(self._bandwidths) - 1
        growing = self.bandwidth is None and self.growth == "links"
        if not growing or not worth_asking(links, len(points)):
            return last, False
        rows = rows_to_ask(points, links)
        whole = len(rows) == len(points)
        sample = points if whole else points[rows]
        parts = halves(sample, links if whole else links.take(rows))
        near = neighbours if whole else nearest_rows(sample, self.n_neighbors)
        sample_stops = stops(sample, self._bandwidths)

        def labels_at_stops(part: int) -> list[Array]:
            used = parts[part]
            closure = certain_links(used).closure(len(sample))
            run, ascent = self._shift(
                f"half {part}" if whole else "sample",
                sample,
                used,
                closure,
                self._bandwidths,
                keep=True,
                part=(part, 3),
            )
            if self.keep_history and whole:
                self._runs[f"half {part}"] = run
            labels = []
            for stop in sample_stops:
                centres, group = run.history[min(stop + 1, len(run.history) - 1)]
                state = replace(ascent, centres=centres, group=group)
                labels.append(
                    self._labels(state, float(self._bandwidths[stop]), used, closure, near)
                )
            return labels

        return stops(points, self._bandwidths)[best_stop(parts, labels_at_stops)], True

    def _shift(
        self,
        name: str,
        points: Array,
        links: Links,
        closure: Closure,
        bandwidths: Array,
        *,
        keep: bool,
        part: tuple[int, int],
    ) -> tuple[_Run, ConstrainedAscent]:
        """Shift under links, from where the last run of that name can be gone on with.

        It is the ``part[0]``-th shift of ``part[1]``, for progress.
        """
        cannot, confidence = self._bending_links(links, closure, warn=name == "all")
        shift = self._shift_options(points)
        kernel = LinkKernel(self.kernel, self.truncation)
        past = None
        if name in self._runs:
            before = self._runs[name]
            changed = changed_pairs(before.bending, (cannot, confidence))
            kept = first_effect(points, changed, before.history, bandwidths, kernel, **shift)
            past = before.history[: min(kept, len(bandwidths)) + 1]
        ascent = constrained_ascend(
            points,
            cannot,
            bandwidths,
            kernel,
            confidence=confidence,
            keep_history=keep,
            until_settled=self.enforce,
            past=past,
            n_threads=n_threads(self.n_jobs),
            progress=self._progress(*part),
            **shift,
        )
        return _Run(ascent.history, (cannot, confidence)), ascent

    def _shift_options(self, points: Array) -> dict[str, Any]:
        """How links act, for the shift and for what looks at it."""
        return {
            "scale": self.constraint_scale,
            "floor": 1e-3 * (float(np.ptp(points, axis=0).max()) or 1.0),
            "blurring": self.blurring,
        }

    def _progress(self, part: int, parts: int) -> Callable[[int, int], None] | None:
        """Progress of one shift as progress of the whole."""
        report = self.progress
        if report is None:
            return None
        return lambda made, total: report(part * total + made, parts * total)

    @property
    def history_(self) -> list[Array]:
        """Positions of all rows before each iteration and after the last."""
        if not getattr(self, "_runs", None):
            raise AttributeError("history_ is there after fit with keep_history=True.")
        return [self._unscaled(centres[group]) for centres, group in self._runs["all"].history]

    def _bending_links(self, links: Links, closure: Closure, *, warn: bool) -> tuple[Array, Array]:
        """Cannot-linked pairs of rows that bend the shift, and their confidence."""
        certain = closed_pairs(closure, self.max_pairs, warn=warn)
        unsure = links.cannot_confidence < 1.0
        pairs = np.concatenate([certain, links.cannot[unsure]])
        return pairs, np.concatenate([np.ones(len(certain)), links.cannot_confidence[unsure]])

    def _schedule(self, points: Array) -> Array:
        if self.bandwidth is None:
            return grow(*pair_range(points), self.max_iter, self.schedule)
        if self.schedule != "linear" or self.growth != "links":
            raise ValueError(
                "schedule and growth say how the bandwidth grows; they need bandwidth=None."
            )
        if np.ndim(self.bandwidth) == 0:
            return np.full(self.max_iter, float(self.bandwidth))  # type: ignore[arg-type]
        bandwidths = np.asarray(self.bandwidth, dtype=np.float64)
        if self.max_iter != 80:
            raise ValueError("An array of bandwidths says how many iterations; drop max_iter.")
        valid = np.isfinite(bandwidths) & (bandwidths > 0)
        if bandwidths.ndim != 1 or not len(bandwidths) or not valid.all():
            raise ValueError("bandwidth must be a positive number or a 1-D array of such.")
        return bandwidths

    def _labels(
        self,
        ascent: ConstrainedAscent,
        bandwidth: float,
        links: Links,
        closure: Closure,
        neighbours: Array,
    ) -> Array:
        """From end positions to labels: merge what is close, then let links settle."""
        labels = self._merged(ascent.centres, ascent.group, bandwidth, closure)
        labels = absorb_dust(labels, neighbours, self.min_cluster_size)
        if self.refine == "links" and len(links):
            labels = merge_by_votes(labels, links)
            labels = settle(labels, links, neighbours, penalty=self.penalty)
        if self.enforce:
            labels = hold(labels, closure, neighbours)
        return labels

    def _merged(self, centres: Array, group: Array, bandwidth: float, closure: Closure) -> Array:
        """Cluster of each row by the closeness of the centres alone."""
        apart = None
        if self.enforce and len(closure.component_cannot):
            apart = centres_apart(group, closure)
        # The paper's threshold: kernel value above 0.99 at the last bandwidth.
        radius = bandwidth * np.sqrt(-np.log(0.99))
        return merge_close(centres, radius, apart)[group]

    def _set_scaling(self, X: Array) -> None:
        low = X.min(axis=0).astype(np.float64)
        span = np.ptp(X, axis=0).astype(np.float64)
        if not self.scale_features:
            low, span = np.zeros_like(low), np.ones_like(span)
        span[span == 0] = 1.0
        self._low, self._span = low, span

    def _scaled(self, X: Array) -> Array:
        return (X.astype(np.float64) - self._low) / self._span

    def _unscaled(self, points: Array) -> Array:
        return (points * self._span + self._low).astype(self._dtype)

    def predict(self, X: ArrayLike) -> Array:
        """Cluster of each row, by a vote of the nearest training rows.

        The vote is that of :func:`linkshift.refinement.neighbours_vote`. A row that coincides with
        a training row gets that row's label, so that training rows get ``labels_``.

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
        return neighbours_vote(self._scaled(data), self._fit_points, self.labels_, self.n_neighbors)

    def _evidence(self, row: int) -> Evidence:
        """Tell what explains a row: its centre's way, what bent it, and fits from the history."""
        if self._shift_params() != self._fit_params:
            raise ValueError("Parameters have changed since fit; call fit again.")
        points, links = self._fit_points, self.links_
        closure = certain_links(links).closure(len(points))
        twin = self._with_history(closure)
        run = twin._runs["all"]
        centres, group = run.history[-1]
        bending = Bending(
            *run.bending,
            history=run.history,
            bandwidths=self.bandwidth_,
            points=points,
            kernel=LinkKernel(self.kernel, self.truncation),
            enforced=self.enforce,
            **self._shift_options(points),
        )
        return Evidence(
            points,
            twin._refit_without,
            path=np.stack([centres[group[row]] for centres, group in run.history]),
            shown=self._unscaled,
            bending=bending,
            before_links=self._merged(centres, group, float(self.bandwidth_[-1]), closure),
        )

    def _with_history(self, closure: Closure) -> ConstrainedMeanShift:
        """Copy the model, with the history of its shift, kept or made again."""
        twin = copy.copy(self)
        twin.keep_history, twin.progress, twin._runs = True, None, dict(self._runs)
        if "all" not in twin._runs:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # fit has said it
                twin._runs["all"], _ = twin._shift(
                    "all",
                    twin._fit_points,
                    twin.links_,
                    closure,
                    twin.bandwidth_,
                    keep=True,
                    part=(0, 1),
                )
        return twin

    def _refit_without(self, links: Links) -> Refit:
        """Cluster a copy under other links, from the history of this one."""
        other = copy.copy(self)
        other._runs = dict(self._runs)
        other._cluster(links, self._close(links, len(self._fit_points)))
        self._runs = {**other._runs, **self._runs}  # halves that were not there serve the next
        note = ""
        if len(other.bandwidth_) != len(self.bandwidth_):
            ends = [f"{model.bandwidth_[-1]:.3g}" for model in (other, self)]
            note = f"its bandwidth then grows to {ends[0]} instead of {ends[1]}"
        return Refit(other.labels_, note)
