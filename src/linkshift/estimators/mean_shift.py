"""Plain mean shift: scikit-learn's and more, far faster."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from linkshift._core.arrays import Array, first_of_equal_rows
from linkshift._core.threads import n_threads, threads
from linkshift._explaining import Evidence, Explains, Refit
from linkshift.bandwidth import default_bandwidth, neighbour_bandwidth
from linkshift.estimators._common import joined_links, refuse_links_as_y
from linkshift.links import Links
from linkshift.metrics import link_satisfaction
from linkshift.modes import Modes, basin_labels, merge_ends, merging_share, nearest_labels
from linkshift.path import BandwidthPath, bandwidth_path
from linkshift.profiles import Profile, ProfileName, get_profile
from linkshift.shift.binning import Cells, pool_points
from linkshift.shift.blurring import blur
from linkshift.shift.density import Density, build_density
from linkshift.shift.engine import ascend
from linkshift.shift.landscape import Ascent
from linkshift.shift.neighbours import nearest_neighbours
from linkshift.shift.step import log_density

__all__ = ["MeanShift"]


class _Route(NamedTuple):
    """The way along a bandwidth path: climb at its first level, then go with the mode."""

    density: Density
    modes: Modes
    lift: Array  # cluster of each mode of the first level
    bandwidths: Array  # from the first level to the one that was chosen


class MeanShift(Explains, ClusterMixin, BaseEstimator):
    r"""Mean shift clustering.

    Every point climbs the density of the data until it stands on a mode,

    .. math:: x \leftarrow \frac{\sum_j w_j h_j^{-(d+2)} g(\|x - x_j\|^2 / h_j^2)\, x_j}
                                {\sum_j w_j h_j^{-(d+2)} g(\|x - x_j\|^2 / h_j^2)},

    and points that reach the same mode form a cluster. The number of clusters follows from the
    bandwidth h. With the default kernel and the same bandwidth, labels and centers are those of
    :class:`sklearn.cluster.MeanShift`.

    Parameters
    ----------
    bandwidth : float, array-like of shape (n_samples,) or "links", default=None
        How far the kernel sees: one number, or one for each row. ``None`` takes it from the data
        (:func:`linkshift.bandwidth.default_bandwidth`; scikit-learn's rule differs and often
        merges everything). "links" takes the level of :func:`linkshift.bandwidth_path` that the
        links given to ``fit`` support best, with that level's clusters: rows climb at the
        smallest bandwidth first, and the modes go on from there as it grows. Links choose the
        level and do nothing else; :class:`RefinedClustering` lets them settle the rest.
    seeds : array-like of shape (n_seeds, n_features), default=None
        Where to start climbing. ``None`` starts from every row.
    bin_seeding : bool, default=False
        Start from the occupied cells of a grid of one bandwidth instead of from every row:
        faster, but a mode that no cell leads to is missed.
    min_bin_freq : int, default=1
        Cells with fewer rows do not seed.
    cluster_all : bool, default=True
        If False, rows farther than the kernel's radius from their mode get the label -1. The
        radius is the kernel's reach, and :math:`\sqrt{d + 2}` bandwidths for the Gaussian (that
        of the flat kernel that smooths as much).
    n_jobs : int, default=None
        Number of threads. ``None`` takes all cores. Labels do not depend on it.
    max_iter : int, default=300
        Largest number of steps; with ``bandwidth="links"`` four times as many at each level,
        for modes that lie far along a flat ridge.
    kernel : {"flat", "epanechnikov", "gaussian", "truncated_gaussian"} or Profile, default="flat"
        Kernel profile, see :mod:`linkshift.profiles`.
    n_neighbors : int, default=None
        Give each row its own bandwidth: the distance to its k-th neighbour. Not together with
        ``bandwidth``.
    blurring : bool, default=False
        Move the points themselves along with the starts: fewer steps, a different clustering.
        New rows are then predicted by their nearest training row.
    assignment : {"auto", "nearest", "basin"}, default="auto"
        How rows get labels: by the nearest mode, as in scikit-learn, or by the mode that the row
        itself climbs to. "auto" is "nearest" for the flat kernel and whenever seeds are used,
        "basin" otherwise. ``predict`` follows the same rule.
    tol : float, default=1e-3
        A start has arrived when it moves by at most this many bandwidths.
    path_merge : float, default=0.0
        Let starts that come into the same cell, of this many bandwidths, go on as one.
        Approximate, and two to four times faster at 0.1 for Gaussian kernels. Nought is exact.
    bin_size : float, default=None
        Pool the points in cells of this many bandwidths before shifting. Approximate, for
        hundreds of thousands of rows and more in up to about five columns; 0.5 is a good size
        for the Gaussian kernel. The flat kernel sees whole cells come and go, and finds modes
        that are not there: take a smooth one. ``None`` is exact.
    keep_paths : bool, default=False
        Keep every position of every start in ``paths_``.
    progress : callable, default=None
        Called with (starts at rest, all starts) after each step.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Modes, the densest first.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    n_clusters_ : int
        Number of clusters.
    bandwidth_ : float or ndarray of shape (n_samples,)
        Bandwidth used; with ``bandwidth="links"`` that of the level.
    links_, link_report_ : Links, LinkReport
        The links, and which of them hold, with ``bandwidth="links"``.
    n_iter_ : int
        Steps made by the start that made most; levels, with ``bandwidth="links"``.
    paths_ : list of ndarray of shape (steps + 1, n_features)
        Positions of each start, with ``keep_paths=True``.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, when X has names.

    See Also
    --------
    ConstrainedMeanShift : with must-links and cannot-links.

    Notes
    -----
    Exact unless ``path_merge`` or ``bin_size`` is given: see :mod:`linkshift.shift.engine` for
    what is exact about each acceleration. Memory is O(n d). float32 stays float32.

    References
    ----------
    Fukunaga, Hostetler: The Estimation of the Gradient of a Density Function, 1975.
    Comaniciu, Meer: Mean Shift: A Robust Approach Toward Feature Space Analysis, PAMI 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift import MeanShift
    >>> X = np.array([[1, 1], [2, 1], [1, 0], [4, 7], [3, 5], [3, 6]])
    >>> clustering = MeanShift(bandwidth=2).fit(X)
    >>> clustering.labels_
    array([1, 1, 1, 0, 0, 0])
    >>> clustering.predict([[0, 0], [5, 5]])
    array([1, 0])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "bandwidth": [
            Interval(Real, 0, None, closed="neither"),
            "array-like",
            StrOptions({"links"}),
            None,
        ],
        "seeds": ["array-like", None],
        "bin_seeding": ["boolean"],
        "min_bin_freq": [Interval(Integral, 1, None, closed="left")],
        "cluster_all": ["boolean"],
        "n_jobs": [Integral, None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "kernel": [
            StrOptions({"flat", "epanechnikov", "gaussian", "truncated_gaussian"}),
            Profile,
        ],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "blurring": ["boolean"],
        "assignment": [StrOptions({"auto", "nearest", "basin"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "path_merge": [Interval(Real, 0, None, closed="left")],
        "bin_size": [Interval(Real, 0, None, closed="neither"), None],
        "keep_paths": ["boolean"],
        "progress": [callable, None],
    }

    def __init__(
        self,
        *,
        bandwidth: float | ArrayLike | Literal["links"] | None = None,
        seeds: ArrayLike | None = None,
        bin_seeding: bool = False,
        min_bin_freq: int = 1,
        cluster_all: bool = True,
        n_jobs: int | None = None,
        max_iter: int = 300,
        kernel: ProfileName | Profile = "flat",
        n_neighbors: int | None = None,
        blurring: bool = False,
        assignment: Literal["auto", "nearest", "basin"] = "auto",
        tol: float = 1e-3,
        path_merge: float = 0.0,
        bin_size: float | None = None,
        keep_paths: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.seeds = seeds
        self.bin_seeding = bin_seeding
        self.min_bin_freq = min_bin_freq
        self.cluster_all = cluster_all
        self.n_jobs = n_jobs
        self.max_iter = max_iter
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.blurring = blurring
        self.assignment = assignment
        self.tol = tol
        self.path_merge = path_merge
        self.bin_size = bin_size
        self.keep_paths = keep_paths
        self.progress = progress

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        links: Links | None = None,
        partial_labels: ArrayLike | None = None,
    ) -> MeanShift:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        y : ignored
            For scikit-learn's conventions only.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative; a weight of 2 equals the row twice.
        links : Links, default=None
            What ``bandwidth="links"`` goes by. Otherwise mean shift has no use for links, and
            giving any raises.
        partial_labels : array-like of shape (n_samples,), default=None
            Known classes, -1 where unknown; they become links and join ``links``.

        Returns
        -------
        self
        """
        refuse_links_as_y(y)
        by_links = self._by_links()
        if (links is not None or partial_labels is not None) and not by_links:
            raise ValueError(
                "MeanShift does not use links but to choose bandwidth='links'. Use "
                "ConstrainedMeanShift, or settle links after clustering with "
                "RefinedClustering(MeanShift()) or linkshift.refine(X, labels, links)."
            )
        data: Array = validate_data(self, X, dtype=[np.float64, np.float32])
        weight = self._check_weight(sample_weight, data)
        self._check_combinations()
        given = joined_links(links, partial_labels, data.shape[0], counted=True)
        if by_links:
            self._check_choice(given, weight)
        for earlier in ("paths_", "links_", "link_report_"):
            self.__dict__.pop(earlier, None)
        self._training = data  # for ``explain``
        self._route: _Route | None = None
        if by_links:
            return self._fit_by_links(data, given)
        profile = get_profile(self.kernel)
        self.bandwidth_ = self._bandwidth(data, profile, weight)
        cells: Cells | None = None
        points, point_weight = data, weight
        if self.bin_size is not None:
            cells = self._pool(data, weight)
            points, point_weight = cells.points, cells.weight
        self._density = build_density(points, self.bandwidth_, profile, sample_weight=point_weight)
        ascent = self._climb(points, point_weight, profile)
        self._modes = self._find_modes(ascent, point_weight)
        self._cells = cells
        self._fit_X = data if self.blurring else None
        self.n_iter_ = ascent.n_iter
        self.cluster_centers_ = self._modes.centers
        self.n_clusters_ = self.cluster_centers_.shape[0]
        if self.keep_paths:
            self.paths_ = ascent.paths
        self.labels_ = self._label(data, ascent)
        return self

    def _by_links(self) -> bool:
        return isinstance(self.bandwidth, str)

    def _check_choice(self, links: Links, weight: Array | None) -> None:
        if not len(links):
            raise ValueError(
                "bandwidth='links' chooses by links, and there are none: give fit(X, links=...), "
                "or leave bandwidth out."
            )
        if weight is not None:
            raise ValueError("bandwidth='links' takes no sample_weight; give a number.")

    def _fit_by_links(self, X: Array, given: Links) -> MeanShift:
        """Take the level of the bandwidth path that the links support best."""
        path = self._sweep(X, given, self.progress)
        level, profile = path.best(by="links"), get_profile(self.kernel)
        first, self.bandwidth_ = float(path.bandwidths[0]), float(path.bandwidths[level])
        lift = np.arange(path.n_clusters[0])
        for parent in path.parents[:level]:
            lift = parent[lift]
        # As the path sees them, so that training rows are predicted to the last bit.
        rows, count = np.unique(X + 0.0, axis=0, return_counts=True)
        self._route = _Route(
            build_density(rows, first, profile, sample_weight=count),
            Modes(path.centers[0], np.full(len(path.centers[0]), merging_share(profile) * first)),
            lift,
            path.bandwidths[: level + 1],
        )
        self._density = build_density(rows, self.bandwidth_, profile, sample_weight=count)
        centers = path.centers[level]
        self._modes = Modes(
            centers, np.full(len(centers), merging_share(profile) * self.bandwidth_)
        )
        self._cells, self._fit_X = None, None
        self.n_iter_ = level + 1
        self.cluster_centers_, self.n_clusters_ = centers, centers.shape[0]
        self.labels_ = path.labels(level)
        self.links_, self.link_report_ = given, link_satisfaction(self.labels_, given)
        return self

    def _check_weight(self, sample_weight: ArrayLike | None, X: Array) -> Array | None:
        if sample_weight is None:
            return None
        return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)

    def _check_combinations(self) -> None:
        """Refuse what would otherwise be ignored."""
        if self.n_neighbors is not None and self.bandwidth is not None:
            raise ValueError(
                "bandwidth and n_neighbors both say how far the kernel sees; give one of them."
            )
        if self.seeds is not None and self.bin_seeding:
            raise ValueError("seeds and bin_seeding both say where to start; give one of them.")
        if self.min_bin_freq != 1 and not self.bin_seeding:
            raise ValueError("min_bin_freq counts only with bin_seeding=True.")
        if self._by_links():
            for name, used in (
                ("seeds", self.seeds is not None),
                ("bin_seeding", self.bin_seeding),
                ("cluster_all=False", not self.cluster_all),
                ("blurring", self.blurring),
                ("assignment='nearest'", self.assignment == "nearest"),
                ("path_merge", self.path_merge > 0),
                ("bin_size", self.bin_size is not None),
                ("keep_paths", self.keep_paths),
            ):
                if used:
                    raise ValueError(
                        f"{name} does not go with bandwidth='links', which moves all rows along "
                        "the bandwidth path; give the bandwidth as a number."
                    )
            return
        one_bandwidth = self.n_neighbors is None and (
            self.bandwidth is None or np.ndim(self.bandwidth) == 0
        )
        for name, used in (
            ("bin_seeding", self.bin_seeding),
            ("bin_size", self.bin_size is not None),
        ):
            if used and not one_bandwidth:
                raise ValueError(f"{name} needs one bandwidth for all rows.")
        if self.blurring:
            for name, used in (
                ("seeds", self.seeds is not None),
                ("bin_seeding", self.bin_seeding),
                ("path_merge", self.path_merge > 0),
                ("assignment='nearest'", self.assignment == "nearest"),
            ):
                if used:
                    raise ValueError(f"{name} has no meaning with blurring=True: every row moves.")

    def _bandwidth(self, X: Array, profile: Profile, weight: Array | None) -> float | Array:
        if self.n_neighbors is not None:
            return neighbour_bandwidth(X, self.n_neighbors, sample_weight=weight)
        if self.bandwidth is None:
            return default_bandwidth(X, profile, sample_weight=weight)
        if np.ndim(self.bandwidth) == 0:
            bandwidth = float(self.bandwidth)  # type: ignore[arg-type]
            if not np.isfinite(bandwidth):
                raise ValueError(f"bandwidth must be finite, got {bandwidth}.")
            return bandwidth
        array = check_array(self.bandwidth, ensure_2d=False, dtype=np.float64)
        if array.shape != (X.shape[0],):
            raise ValueError(
                f"bandwidth must be a number or have one entry for each of the {X.shape[0]} rows; "
                f"its shape is {array.shape}."
            )
        if (array <= 0).any():
            row = int(np.argmax(array <= 0))
            raise ValueError(f"bandwidth must be positive; row {row} has {array[row]:g}.")
        return array

    def _pool(self, X: Array, weight: Array | None) -> Cells:
        assert self.bin_size is not None
        cells = pool_points(X, self.bin_size * float(self.bandwidth_), weight)
        if cells.points.shape[0] > 0.8 * X.shape[0]:
            warnings.warn(
                f"bin_size={self.bin_size} leaves {cells.points.shape[0]} cells for "
                f"{X.shape[0]} rows: it costs accuracy and saves nothing. Use a larger bin_size, "
                "or None for exact results.",
                stacklevel=4,
            )
        return cells

    def _climb(self, points: Array, weight: Array | None, profile: Profile) -> Ascent:
        options: dict[str, Any] = {
            "max_iter": self.max_iter,
            "tol": self.tol,
            "keep_paths": self.keep_paths,
            "n_threads": n_threads(self.n_jobs),
            "progress": self.progress,
        }
        if self.blurring:
            ascent = blur(points, self.bandwidth_, profile, sample_weight=weight, **options)
        else:
            ascent = ascend(
                self._density, self._starts(points, weight), merge_radius=self.path_merge, **options
            )
        late = int((~ascent.converged & (ascent.total > 0)).sum())
        if late:
            warnings.warn(
                f"{late} of {late + int(ascent.converged.sum())} starts were still moving after "
                f"max_iter={self.max_iter} steps; increase max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return ascent

    def _starts(self, points: Array, weight: Array | None) -> Array:
        if self.seeds is not None:
            seeds = check_array(self.seeds, dtype=[np.float64, np.float32])
            if seeds.shape[1] != points.shape[1]:
                raise ValueError(f"seeds have {seeds.shape[1]} columns, X has {points.shape[1]}.")
            return seeds.astype(points.dtype)
        if not self.bin_seeding:
            return points
        cell = float(self.bandwidth_)
        grid = np.round(points / cell)
        first = first_of_equal_rows(grid)
        count = np.bincount(first, weights=weight, minlength=points.shape[0])
        seeding = (count > 0) & (count >= self.min_bin_freq)
        if seeding.sum() == (points.shape[0] if weight is None else (weight > 0).sum()):
            warnings.warn(
                f"bin_seeding saves nothing: every row has a cell of its own at "
                f"bandwidth={cell:g}. Starting from the rows instead.",
                stacklevel=5,
            )
            return points if weight is None else points[weight > 0]
        return (grid[seeding] * cell).astype(points.dtype)

    def _find_modes(self, ascent: Ascent, weight: Array | None) -> Modes:
        reached = ascent.total > 0
        if weight is not None and self._started_everywhere():
            reached &= weight > 0  # rows without weight follow, they do not found clusters
        if not reached.any():
            raise ValueError(
                f"No point lies within bandwidth={self.bandwidth_} of any start. Use another way "
                "of seeding or a larger bandwidth."
            )
        ends, total = ascent.ends[reached], ascent.total[reached]
        share = merging_share(get_profile(self.kernel))
        return merge_ends(ends, total, share * self._local_bandwidth(ends))

    def _local_bandwidth(self, positions: Array) -> float | Array:
        """Bandwidth of the data point nearest to each position."""
        if np.ndim(self.bandwidth_) == 0:
            return float(self.bandwidth_)
        points = self._density.to_input(self._density.points[: self._density.n_points])
        nearest = nearest_neighbours(points, 1, positions)[1][:, 0]
        return self._density.bandwidth[nearest] * self._density.scale

    def _started_everywhere(self) -> bool:
        return self.seeds is None and not self.bin_seeding

    def _label(self, X: Array, ascent: Ascent) -> Array:
        """Labels of the training rows, by the same rule as ``predict``."""
        self._cell_labels: Array | None = None
        if self._assignment() == "nearest" or not self._started_everywhere():
            return self._predict(X)
        labels = basin_labels(ascent.ends, self._modes)
        if self._cells is not None:
            self._cell_labels = labels
            labels = labels[self._cells.member]
        return self._without_orphans(X, labels)

    def _assignment(self) -> str:
        if self.assignment != "auto":
            return self.assignment
        flat = get_profile(self.kernel).name == "flat" and not self.blurring
        return "nearest" if flat or not self._started_everywhere() else "basin"

    def predict(self, X: ArrayLike) -> Array:
        """Cluster of each row: its basin or its nearest mode, as ``assignment`` says.

        On the training data this is ``labels_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New data.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "labels_")
        return self._predict(validate_data(self, X, dtype=[np.float64, np.float32], reset=False))

    def _predict(self, X: Array) -> Array:
        route: _Route | None = getattr(self, "_route", None)  # models of format 1 may lack it
        if route is not None:
            return route.lift[self._basins(X, route.density, route.modes, 4 * self.max_iter)]
        if self._fit_X is not None:
            return self.labels_[nearest_neighbours(self._fit_X, 1, X)[1][:, 0]]
        if self._assignment() == "nearest":
            labels, _ = nearest_labels(X, self._modes)
        elif self._cell_labels is None:
            labels = self._basins(X, self._density, self._modes, self.max_iter)
        else:  # rows in a cell of the training data go with the cell
            assert self._cells is not None
            cell = self._cells.find(X)
            labels = self._cell_labels[cell]
            labels[cell < 0] = self._basins(X[cell < 0], self._density, self._modes, self.max_iter)
        return self._without_orphans(X, labels)

    def _basins(self, X: Array, density: Density, modes: Modes, max_iter: int) -> Array:
        """Label of the mode that each row climbs to."""
        if not X.shape[0]:
            return np.empty(0, dtype=np.int64)
        ascent = ascend(
            density,
            X.astype(modes.centers.dtype, copy=False),
            max_iter=max_iter,
            tol=self.tol,
            merge_radius=self.path_merge,
            n_threads=n_threads(self.n_jobs),
        )
        return basin_labels(ascent.ends, modes)

    def _without_orphans(self, X: Array, labels: Array) -> Array:
        """-1 for rows too far from their mode, when not all are to be clustered."""
        if self.cluster_all:
            return labels
        profile = get_profile(self.kernel)
        radius = self._local_bandwidth(self._modes.centers)
        if profile.name == "gaussian":
            radius = radius / Profile("flat").spread(X.shape[1])
        else:
            radius = radius * profile.squared_reach**0.5
        unit = self._density.scale  # squares of very small distances would vanish
        distance = np.linalg.norm((X - self._modes.centers[labels]) / unit, axis=1)
        allowed = np.broadcast_to(radius, self._modes.centers.shape[:1])[labels]
        return np.where(distance <= allowed / unit, labels, -1)

    def score_samples(self, X: ArrayLike) -> Array:
        """Log density of each row under the kernel density that the points climb.

        The density is that of the kernel's shadow (:mod:`linkshift.profiles`), normalised to
        integrate to one; minus infinity where no point reaches.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "labels_")
        data: Array = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        with threads(n_threads(self.n_jobs)) as pool:
            return log_density(self._density, self._density.to_working(data), pool)

    def _evidence(self, row: int) -> Evidence:
        """Tell what explains a row: its way, and where links chose the bandwidth, fresh fits."""
        path, label, notes = self._way(row), int(self.labels_[row]), []
        if not self._started_everywhere():
            notes.append("The fit started elsewhere; the path is what the row would do by itself.")
        if self._cells is not None:
            notes.append("Rows were pooled in cells: the path is that of the row's cell.")
        end = label if self._route is not None else int(basin_labels(path[-1:], self._modes)[0])
        if label == -1:
            notes.append("It is farther from its mode than the kernel's radius.")
        elif end != label:
            notes.append(f"Its path ends at the mode of cluster {end}; that of {label} is nearer.")
        return Evidence(
            self._training,
            None if self._route is None else self._choose_again(),
            path=path,
            mode=self._modes.centers[end if label == -1 else label],
            others="on the choice of the bandwidth",
            notes=tuple(notes),
        )

    def _sweep(
        self, X: Array, links: Links, progress: Callable[[int, int], None] | None
    ) -> BandwidthPath:
        return bandwidth_path(
            X,
            links,
            kernel=self.kernel,
            max_iter=4 * self.max_iter,
            tol=self.tol,
            n_jobs=self.n_jobs,
            progress=progress,
        )

    def _choose_again(self) -> Callable[[Links], Refit]:
        """Give a function that chooses the level by other links; one sweep serves all."""
        sweep = cache(partial(self._sweep, self._training, self.links_, None))

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

    def _way(self, row: int) -> Array:
        """Positions of a row as it climbs, or moves with all others."""
        options: dict[str, Any] = {
            "max_iter": self.max_iter,
            "tol": self.tol,
            "keep_paths": True,
            "n_threads": n_threads(self.n_jobs),
        }
        points, at = self._training, row
        if self._cells is not None:
            points, at = self._cells.points, int(self._cells.member[row])
        density, profile = self._density, get_profile(self.kernel)
        weight = np.exp(density.log_weight)
        if self._route is not None:
            options["max_iter"] *= 4
            rows, path = density.to_input(density.points[: density.n_points]), points[[at]]
            for h in self._route.bandwidths.tolist():
                level = build_density(rows, h, profile, sample_weight=weight)
                path = np.concatenate([path[:-1], _paths(ascend(level, path[-1:], **options))[0]])
            return path
        if not self.blurring:
            return _paths(ascend(density, points[[at]], **options))[0]
        weights = np.zeros(points.shape[0])
        weights[density.rows] = weight
        path = _paths(blur(points, self.bandwidth_, profile, sample_weight=weights, **options))[at]
        moves = np.flatnonzero((path[1:] != path[:-1]).any(axis=1))
        return path[: int(moves[-1]) + 2 if moves.size else 1]


def _paths(ascent: Ascent) -> list[Array]:
    assert ascent.paths is not None
    return ascent.paths
