"""Mean shift with a learned metric: one for all points, or one for each (Cheema 2016)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from linkshift._core.arrays import Array
from linkshift._core.convergence import warn_if_moving
from linkshift._core.memory import check_memory
from linkshift._core.threads import n_threads
from linkshift.bandwidth import pair_mean
from linkshift.bandwidth.rules import lift_coincident, neighbours_at_hand, spread_bandwidth
from linkshift.estimators._base import Fitted, LinkedClusterer, known_classes
from linkshift.explain import CHANCE, Evidence, Explains, kept_path
from linkshift.links import ClosedLinks, Links
from linkshift.metric_learning import SCML
from linkshift.modes import Modes
from linkshift.profiles import Profile, ProfileName, get_profile
from linkshift.shift.anisotropic import build_composed, composed_bandwidth
from linkshift.shift.density import build_density
from linkshift.shift.landscape import Landscape
from linkshift.spaces.kernel import (
    Kernel,
    KernelSpace,
    kernel_space,
    space_bytes,
    spread_dimension,
)
from linkshift.spaces.metric import matrix_root

__all__ = ["MetricMeanShift"]


@dataclass(frozen=True)
class _State:
    """A space, the metric's density in it, and its modes."""

    space: KernelSpace | None
    rank: int  # coordinates that are kept of the space
    root: Array | None  # L of a metric for all points
    landscape: Landscape
    modes: Modes
    from_labels: bool  # whether the metric was learned from labels, not from links

    def starts(self, data: Array) -> Array:
        """Rows as they are climbed from: in the kernel's space, and measured by the metric."""
        points = data.astype(np.float64)
        if self.space is not None:
            points = self.space.transform(points)[:, : self.rank]
        return self.landscape.to_starts(_measured(points, self.root))


class MetricMeanShift(Explains, LinkedClusterer):
    r"""Mean shift under a metric that is learned from some labels or links.

    With one metric :math:`M = L^T L` for all points (*global*), points climb the density of the
    points :math:`L x_j` (eq. 4.3 and 4.5 of the thesis):

    .. math:: x \leftarrow \frac{\sum_j h_j^{-(d+2)} g(z_j)\, x_j}{\sum_j h_j^{-(d+2)} g(z_j)},
              \qquad z_j = \frac{(x - x_j)^T M (x - x_j)}{h_j^2},
              \qquad h_j = \|L x_j - L x_{j,(k)}\|.

    With a metric :math:`M_j` for each point (*local*), every kernel is tilted by the metric of
    its point (eq. 4.6 and 4.8, :mod:`linkshift.shift.anisotropic`). Points that reach the same
    mode form a cluster. With ``kernel="gaussian"`` all of this happens in the coordinates of a
    kernel (eq. 4.9 to 4.11).

    Parameters
    ----------
    metric : {"global", "local"}, SCML or array-like of shape (d, d), default="global"
        A name learns that kind of metric in ``fit``, from ``partial_labels`` or ``links``, by
        :class:`linkshift.SCML`. An SCML that is not fitted does, too, with its
        own parameters. A fitted one is used as it is, and so is a matrix M, symmetric and
        positive semi-definite. (scikit-learn's ``clone`` forgets fits, also in cross-validation:
        wrap a fitted SCML in ``sklearn.frozen.FrozenEstimator`` there.)
    kernel : "gaussian" or None, default=None
        Learn and shift in the feature space of this kernel. Not with a metric that is there
        already, since the space is made in ``fit``.
    sigma : float, default=None
        Width of the kernel; ``None`` is the mean pair distance over the root of 2. A metric is
        learned in the space, so that a narrower kernel, which has more directions to choose from,
        does better than the wider one of :class:`KernelMeanShift`.
    variance : float, default=0.999
        Share of the trace of the kernel matrix that the coordinates keep.
    n_neighbors : int, default=20
        The k of the bandwidths. The row itself is not counted. At most n_samples - 1 are taken,
        with a warning. A class in several clusters asks for a larger k, classes in one for a
        smaller one.
    profile : str or Profile, default="truncated_gaussian"
        Kernel profile: "truncated_gaussian", "gaussian", "epanechnikov" or "flat", see
        :mod:`linkshift.profiles`. The full Gaussian is the thesis's; with these bandwidths it
        finds the classes where they are few and apart, and far too few clusters elsewhere.
    dimension : {"effective", "columns"} or float, default="effective"
        The d of :math:`h^{d+2}`. "effective" is the participation ratio of the points under the
        metric (the mean of local ones), "columns" the number of columns, as in the thesis, where
        dense clusters swallow their neighbours.
    ridge : float, default=1e-3
        Local metrics are of low rank, and eq. 4.8 needs their inverse: this share of their mean
        eigenvalue is added to all (within what the bases span; outside, no metric measures
        anything). Not used for a global metric.
    merge_radius : float, default=0.3
        End points within this many bandwidths of each other are one mode.
    max_iter : int, default=300
        Largest number of steps.
    tol : float, default=1e-3
        A point has arrived when it moves by at most this many bandwidths.
    n_jobs : int, default=None
        Number of threads of the shift. ``None`` takes all cores. Labels do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of SCML, where that has none of its own.
    progress : callable, default=None
        Called with (points at rest, all points) as points arrive.

    Attributes
    ----------
    labels_, n_clusters_ : ndarray of shape (n_samples,), int
        Cluster of each row, and how many there are.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Modes, in the columns of X (not with a kernel).
    metric_ : SCML or ndarray
        What measured.
    bandwidth_ : ndarray of shape (n_samples,)
        Bandwidth of each row, in its metric.
    dimension_ : float
        The d of h^(d+2).
    sigma_ : float
        Width of the kernel (with a kernel only).
    rank_ : int
        Columns in which was learned and shifted.
    links_ : Links
        The links that were given, those of ``partial_labels`` included.
    link_report_ : LinkReport
        Which of them hold.
    n_iter_ : int
        Steps made by the point that made most.

    See Also
    --------
    linkshift.SCML : the metric alone.
    linkshift.metrics.labelled_score : scores after clusters are named by labelled rows.

    Notes
    -----
    Columns should be on comparable scales; the thesis standardises them and then scales rows to
    unit length.

    Rows whose k nearest neighbours coincide with them (to 1e-6 of the largest distance from the
    mean, or of the largest bandwidth for local metrics) take the smallest bandwidth of the
    others, or 1 when all coincide.

    Partial labels alone are learned from as labels: at least two classes, and two rows of one.
    Together with ``links`` they become links. Rows are learned from that have both kinds of
    links, given or implied. New rows climb to a mode.

    Links are learned from and not enforced: see ``link_report_``, and :func:`linkshift.refine`.

    Memory is O(n r) for a global metric of rank r, O(n K) for local ones with K bases in use
    (O(n d^2) where that is less), O(n^2) with a kernel. All is computed in float64.

    References
    ----------
    Cheema: Anisotropic Mean Shift Clustering using Distance Metric Learning, 2016.

    Examples
    --------
    The classes differ in the first column only, and the second has the larger spread.

    >>> import numpy as np
    >>> from linkshift import MetricMeanShift
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 100)
    >>> X = np.column_stack((y + 0.1 * rng.normal(size=200), rng.normal(size=200)))
    >>> known = np.where(rng.random(200) < 0.3, y, -1)  # three of ten labels
    >>> model = MetricMeanShift(n_neighbors=70, random_state=0).fit(X, partial_labels=known)
    >>> model.n_clusters_
    2
    >>> bool((model.predict([[0.0, 2.0], [0.0, -2.0]]) == model.labels_[0]).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "metric": [StrOptions({"global", "local"}), SCML, FrozenEstimator, "array-like"],
        "kernel": [StrOptions({"gaussian"}), None],
        "sigma": [Interval(Real, 0, None, closed="neither"), None],
        "variance": [Interval(Real, 0, 1, closed="right")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "profile": [
            StrOptions({"flat", "epanechnikov", "gaussian", "truncated_gaussian"}),
            Profile,
        ],
        "dimension": [
            Interval(Real, 0, None, closed="left"),
            StrOptions({"effective", "columns"}),
        ],
        "ridge": [Interval(Real, 0, None, closed="left")],
        "merge_radius": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "progress": [callable, None],
    }
    _min_samples = 2

    def __init__(
        self,
        metric: Literal["global", "local"] | SCML | FrozenEstimator | ArrayLike = "global",
        *,
        kernel: Literal["gaussian"] | None = None,
        sigma: float | None = None,
        variance: float = 0.999,
        n_neighbors: int = 20,
        profile: ProfileName | Profile = "truncated_gaussian",
        dimension: float | Literal["effective", "columns"] = "effective",
        ridge: float = 1e-3,
        merge_radius: float = 0.3,
        max_iter: int = 300,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.metric = metric
        self.kernel = kernel
        self.sigma = sigma
        self.variance = variance
        self.n_neighbors = n_neighbors
        self.profile = profile
        self.dimension = dimension
        self.ridge = ridge
        self.merge_radius = merge_radius
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    def _supervision(self, links: Links | None, partial_labels: ArrayLike | None) -> dict[str, Any]:
        return {"from_links": links is not None, "partial_labels": partial_labels}

    def _fit(  # type: ignore[override]
        self,
        data: Array,
        closed: ClosedLinks,
        *,
        from_links: bool,
        partial_labels: ArrayLike | None,
    ) -> Fitted:
        metric = self._check_metric(from_links or partial_labels is not None)
        space, points = self._embed(data)
        from_labels = not from_links and partial_labels is not None
        if isinstance(metric, SCML) and not _is_fitted(metric):
            labels = partial_labels if from_labels else None
            metric = self._learned(metric, points, closed.links, labels)
        landscape, root, attributes = self._landscape(points, metric)
        threads = n_threads(self.n_jobs)
        starts = landscape.to_starts(_measured(points, root))
        ascent = landscape.climb(starts, progress=self.progress, **self._options())
        warn_if_moving(ascent.converged, self.max_iter)
        modes = landscape.merge(ascent, self.merge_radius, n_threads=threads)
        labels_found = landscape.label(ascent.ends, modes, n_threads=threads)
        attributes |= {"metric_": metric, "rank_": points.shape[1], "n_iter_": int(ascent.n_iter)}
        if space is None:
            centers = landscape.to_columns(modes.centers, points)
            attributes["cluster_centers_"] = centers.astype(data.dtype)
        else:
            attributes["sigma_"] = space.kernel.sigma
        state = _State(space, points.shape[1], root, landscape, modes, from_labels)
        return Fitted(labels_found, state, attributes)

    def _embed(self, data: Array) -> tuple[KernelSpace | None, Array]:
        """Coordinates in which to learn and shift: those of the kernel, or the columns."""
        if self.kernel is None:
            return None, data.astype(np.float64)
        n = len(data)
        check_memory(
            space_bytes(n),
            f"The kernel space of {n:,} rows, which is exact,",
            "Fit fewer rows, drawn at random, and let predict place the others; or drop kernel.",
            parameter="kernel",
        )
        sigma = float(pair_mean(data) / np.sqrt(2.0)) if self.sigma is None else float(self.sigma)
        space, coordinates = kernel_space(data, Kernel("gaussian", sigma=sigma))
        share = np.cumsum(np.einsum("ij,ij->j", coordinates, coordinates))
        rank = int(np.searchsorted(share, self.variance * share[-1])) + 1
        return space, np.ascontiguousarray(coordinates[:, :rank])

    def _check_metric(self, supervised: bool) -> Any:
        """Return the metric that was given, ready or not; refuse what would be ignored."""
        if self.kernel is None and (self.sigma is not None or self.variance != 0.999):
            raise ValueError("sigma and variance are for kernel='gaussian'; drop them.")
        metric: Any = self.metric
        if isinstance(metric, FrozenEstimator):
            metric = metric.estimator
            if not (isinstance(metric, SCML) and _is_fitted(metric)):
                raise ValueError(
                    f"A frozen metric is used as it is, and must be a fitted SCML; got {metric!r}."
                )
        if isinstance(metric, str):
            metric = SCML("local" if metric == "local" else "global")
        if isinstance(metric, SCML) and not _is_fitted(metric):
            if not supervised:
                raise ValueError(
                    f"A {metric.kind} metric is learned from fit(X, partial_labels=...) or "
                    "fit(X, links=...), and there was neither. Without any, give a matrix or a "
                    "fitted SCML as metric, or use MeanShift."
                )
            return metric
        if supervised:
            raise ValueError(
                "The metric is there already: links and partial_labels would be ignored. Drop "
                "them, or learn from them: metric='global', 'local' or clone(scml)."
            )
        if self.kernel is not None:
            raise ValueError(
                "A metric that is there already cannot measure in the space of a kernel, which "
                "is made in fit. Drop kernel, or learn: metric='global', 'local' or an SCML "
                "that is not fitted."
            )
        if not isinstance(metric, SCML):
            matrix_root(metric, self.n_features_in_)
            return np.array(metric, dtype=np.float64)
        if metric.n_features_in_ != self.n_features_in_:
            raise ValueError(
                f"The metric was learned from {metric.n_features_in_} columns, X has "
                f"{self.n_features_in_}."
            )
        names = getattr(metric, "feature_names_in_", None)
        mine = getattr(self, "feature_names_in_", None)
        if names is not None and mine is not None and list(names) != list(mine):
            raise ValueError(
                f"The metric was learned from columns {list(names)}, X has {list(mine)}: give "
                "the same ones in the same order."
            )
        return metric

    def _learned(
        self, metric: SCML, points: Array, links: Links, partial_labels: ArrayLike | None
    ) -> SCML:
        """Learn a metric from labels, or from links where there are none."""
        learner = clone(metric)
        if learner.random_state is None:
            learner.set_params(random_state=self.random_state)
        if partial_labels is None:
            return learner.fit(points, links=links)
        codes = known_classes(partial_labels, points.shape[0])
        known = np.flatnonzero(codes != -1)
        if known.size < 2:
            raise ValueError(
                f"{known.size} of the partial_labels are known; a metric needs at least two "
                "classes, and two rows of one of them."
            )
        labels = list(partial_labels)  # type: ignore[arg-type]
        return learner.fit(points[known], np.array([labels[i] for i in known]))

    def _landscape(
        self, points: Array, metric: Any
    ) -> tuple[Landscape, Array | None, dict[str, Any]]:
        """Build the density under one metric, with its L, or under that of each point."""
        k = neighbours_at_hand(self.n_neighbors, points.shape[0])
        profile, weights = get_profile(self.profile), _local_weights(metric, points)
        if weights is None:
            root = _root(metric, points.shape[1])
            measured = _measured(points, root)
            bandwidth, dimension = spread_bandwidth(measured, k), self._dimension(measured, points)
            landscape: Landscape = build_density(measured, bandwidth, profile, dimension=dimension)
        else:
            root, bases = None, metric.bases_
            h = composed_bandwidth(
                points, bases, weights, k, ridge=self.ridge, n_threads=n_threads(self.n_jobs)
            )
            bandwidth = lift_coincident(h, float(h.max()))
            mean_root = np.sqrt(weights.mean(axis=0))[:, None] * bases
            dimension = self._dimension(points @ mean_root.T, points)
            landscape = build_composed(
                points,
                bases,
                weights,
                bandwidth,
                profile,
                dimension=dimension,
                ridge=self.ridge,
            )
        return landscape, root, {"bandwidth_": bandwidth, "dimension_": dimension}

    def _dimension(self, measured: Array, points: Array) -> float:
        if self.dimension == "columns":
            return float(points.shape[1])
        if self.dimension == "effective":
            return spread_dimension(measured)
        return float(self.dimension)

    def _options(self) -> dict[str, Any]:
        return {"max_iter": self.max_iter, "tol": self.tol, "n_threads": n_threads(self.n_jobs)}

    def _predict(self, data: Array) -> Array:
        state = self._state
        ends = state.landscape.climb(state.starts(data), **self._options()).ends
        return state.landscape.label(ends, state.modes, n_threads=n_threads(self.n_jobs))

    def _evidence(self, row: int) -> Evidence:
        """Tell what explains a row: its path under the metric, and fresh fits."""
        state, notes = self._state, []
        points = state.starts(self._fit_X)
        ascent = state.landscape.climb(points[[row]], keep_paths=True, **self._options())
        if state.from_labels:
            notes.append(
                "The metric was learned from labels, not from links: there is no fit without one "
                "of the links."
            )
        elif len(self.links_) and not isinstance(self.metric_.random_state, Integral):
            notes.append(CHANCE)
        return Evidence(
            points,
            None if state.from_labels else self._fresh_fit(self._fit_X),
            space="metric",
            path=kept_path(ascent, 0),
            mode=state.modes.centers[self.labels_[row]],
            others="" if state.from_labels else "on the metric as a whole",
            notes=tuple(notes),
        )


def _measured(points: Array, root: Array | None) -> Array:
    """L x; one column of zeros for a metric that measures nothing, x where there is no L."""
    if root is None:
        return points
    if not root.shape[0]:
        return np.zeros((points.shape[0], 1))
    return np.ascontiguousarray(points @ root.T)


def _local_weights(metric: Any, points: Array) -> Array | None:
    """Weights of the bases at each point; None where there is no local metric."""
    if not isinstance(metric, SCML) or metric.kind == "global":
        return None
    with warnings.catch_warnings():  # names of columns were compared in fit
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        weights: Array = metric.weights_at(points)
    return weights if weights.any() else None  # all zero, as SCML has warned


def _root(metric: Any, n_columns: int) -> Array:
    """L of a metric for all points; no rows where local ones are zero everywhere."""
    if not isinstance(metric, SCML):
        return matrix_root(metric)
    root: Array = metric.components_ if metric.kind == "global" else np.zeros((0, n_columns))
    return root


def _is_fitted(metric: SCML) -> bool:
    try:
        check_is_fitted(metric, "bases_")
    except NotFittedError:
        return False
    return True
