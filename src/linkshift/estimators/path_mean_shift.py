"""Mean shift at the bandwidth that links support best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from linkshift._core.arrays import Array, Progress
from linkshift._core.messages import Refusal
from linkshift._core.threads import n_threads
from linkshift.bandwidth.path import BandwidthPath, bandwidth_path
from linkshift.estimators._base import METRICS, Fitted, MetricName
from linkshift.estimators._scores import ScoresSamples
from linkshift.explain import Evidence, Explains, Refit, kept_path
from linkshift.links import ClosedLinks, Links
from linkshift.modes import Modes, basin_labels, merging_share
from linkshift.profiles import Profile, ProfileName, get_profile
from linkshift.shift.density import Density, build_density
from linkshift.shift.engine import ascend

__all__ = ["PathMeanShift"]


@dataclass(frozen=True)
class _State:
    """The route along a bandwidth path: climb at its first level, then go with the mode."""

    density: Density  # of the first level
    modes: Modes  # of the first level
    lift: Array  # cluster of each mode of the first level
    bandwidths: Array  # from the first level to the one that was chosen


def route(X: Array, profile: Profile, centers: Array, lift: Array, bandwidths: Array) -> _State:
    """Lay out the first level, from its modes and those that they go on to."""
    first = float(bandwidths[0])
    # As the path sees them, so that rows near training rows go where these went.
    rows, count = np.unique(X + 0.0, axis=0, return_counts=True)
    density = build_density(rows, first, profile, sample_weight=count)
    modes = Modes(centers, np.full(len(centers), merging_share(profile) * first))
    return _State(density, modes, lift, bandwidths)


class PathMeanShift(Explains, ScoresSamples):
    r"""Mean shift at the bandwidth that links support best.

    Goes along :func:`linkshift.bandwidth_path` from many clusters to one, and takes the level
    with which the links agree best, with that level's clusters: rows climb at the smallest
    bandwidth first, and the modes go on from there as it grows. Links choose the level and do
    nothing else; :class:`RefinedClustering` lets them settle the rest.

    New rows climb at the first level, and go with the mode that they reach.

    Parameters
    ----------
    kernel : {"flat", "epanechnikov", "gaussian", "truncated_gaussian"} or Profile, default="flat"
        Kernel profile, see :mod:`linkshift.profiles`.
    max_iter : int, default=300
        A quarter of the largest number of steps at each level: modes may lie far along a flat
        ridge.
    tol : float, default=1e-3
        A start has arrived when it moves by at most this many bandwidths.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine" divides each row by its length, here and in ``predict``: squared distances are then
        :math:`2 - 2 \cos`, between 0 and 4, and lengths do not matter. ``bandwidth_`` and
        ``cluster_centers_`` are among these rows; a row of zeros has no direction, and raises.
    n_jobs : int, default=None
        Number of threads. ``None`` takes all cores. Labels do not depend on it.
    progress : callable, default=None
        Called with (levels made, levels).

    Attributes
    ----------
    labels_, n_clusters_ : ndarray of shape (n_samples,), int
        Cluster of each row, and how many there are.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Modes of the level.
    bandwidth_ : float
        Its bandwidth.
    n_iter_ : int
        Levels up to it.
    links_, link_report_ : Links, LinkReport
        The links, and which of them hold.

    See Also
    --------
    MeanShift : at a bandwidth that is given, or found from the data alone.
    linkshift.bandwidth_path : all levels.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift import Links, PathMeanShift
    >>> X = np.array([[0.0], [1.0], [4.0], [5.0], [20.0]])
    >>> links = Links(must=[(1, 2)], cannot=[(3, 4)])
    >>> PathMeanShift(kernel="gaussian").fit_predict(X, links=links)
    array([0, 0, 0, 0, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [
            StrOptions({"flat", "epanechnikov", "gaussian", "truncated_gaussian"}),
            Profile,
        ],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "metric": METRICS,
        "n_jobs": [Integral, None],
        "progress": [callable, None],
    }
    _counts_links = True
    _takes_cosine = True
    _min_samples = 2
    # Without links there is nothing to do: a meta-estimator hands them on unasked.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"links": True}

    def __init__(
        self,
        *,
        kernel: ProfileName | Profile = "flat",
        max_iter: int = 300,
        tol: float = 1e-3,
        metric: MetricName = "euclidean",
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.kernel = kernel
        self.max_iter = max_iter
        self.tol = tol
        self.metric = metric
        self.n_jobs = n_jobs
        self.progress = progress

    def _fit(self, data: Array, closed: ClosedLinks) -> Fitted:  # type: ignore[override]
        if not len(closed):
            raise Refusal(
                "The bandwidth is chosen by links, and there are none.",
                "Give fit(X, links=...), or use MeanShift.",
                command="Give --links, or leave out --bandwidth links.",
                parameter="links",
            )
        path = self._sweep(data, closed.links, self.progress)
        level, profile = path.best(by="links"), get_profile(self.kernel)
        lift = np.arange(path.n_clusters[0])
        for parent in path.parents[:level]:
            lift = parent[lift]
        state = route(data, profile, path.centers[0], lift, path.bandwidths[: level + 1])
        centers = path.centers[level]
        attributes = {
            "cluster_centers_": centers,
            "n_clusters_": centers.shape[0],
            "bandwidth_": float(path.bandwidths[level]),
            "n_iter_": level + 1,
        }
        return Fitted(path.labels(level), state, attributes)

    def _sweep(self, X: Array, links: Links, progress: Progress | None) -> BandwidthPath:
        return bandwidth_path(
            X,
            links,
            kernel=self.kernel,
            max_iter=4 * self.max_iter,
            tol=self.tol,
            n_jobs=self.n_jobs,
            progress=progress,
        )

    def _options(self) -> dict[str, Any]:
        return {
            "max_iter": 4 * self.max_iter,
            "tol": self.tol,
            "n_threads": n_threads(self.n_jobs),
        }

    def _predict(self, data: Array) -> Array:
        state = self._state
        starts = data.astype(state.modes.centers.dtype, copy=False)
        ends = ascend(state.density, starts, **self._options()).ends
        return state.lift[basin_labels(ends, state.modes)]

    def _evidence(self, row: int) -> Evidence:
        """Tell what explains a row: its path through the levels, and choices by other links."""
        return Evidence(
            self._fit_X,
            self._choose_again(),
            path=self._path(row),
            mode=self.cluster_centers_[self.labels_[row]],
            others="on the choice of the bandwidth",
        )

    def _density_at(self, bandwidth: float) -> Density:
        """Build the density of another level."""
        return build_density(**self._state.density.inputs() | {"bandwidth": bandwidth})

    def _scored_density(self) -> Density:
        return self._density_at(self.bandwidth_)

    def _path(self, row: int) -> Array:
        """Positions of a row as it climbs level after level."""
        path = self._fit_X[[row]]
        for h in self._state.bandwidths.tolist():
            climb = ascend(self._density_at(h), path[-1:], keep_paths=True, **self._options())
            path = np.concatenate([path[:-1], kept_path(climb, 0)])
        return path

    def _choose_again(self) -> Callable[[Links], Refit]:
        """Give a function that chooses the level by other links; one sweep serves all."""
        sweep = cache(partial(self._sweep, self._fit_X, self.links_, None))

        def choose(links: Links) -> Refit:
            if not len(links):
                raise ValueError("no links are left to choose a bandwidth by")
            path = sweep().under(links)
            level = path.best(by="links")
            chosen = float(path.bandwidths[level])
            note = ""
            if chosen != self.bandwidth_:
                note = f"the bandwidth is then {chosen:.3g} instead of {self.bandwidth_:.3g}"
            return Refit(path.labels(level), note)

        return choose
