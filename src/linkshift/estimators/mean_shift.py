"""Plain mean shift: scikit-learn's and more, far faster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions

from linkshift._core.arrays import Array, Progress, unit_rows
from linkshift._core.convergence import warn_if_moving
from linkshift._core.messages import Refusal
from linkshift._core.progress import stages, tell
from linkshift._core.threads import n_threads
from linkshift.bandwidth import default_bandwidth, neighbour_bandwidth
from linkshift.bandwidth.rules import checked_bandwidth
from linkshift.estimators._base import METRICS, Fitted, MetricName, WeightedClusterer
from linkshift.estimators._mean_shift_checks import check_combinations, climbs_by_itself
from linkshift.estimators._mean_shift_evidence import evidence_of
from linkshift.estimators._mean_shift_landmarks import (
    climb_by_landmarks,
    count_landmarks,
    few_rows_bandwidth,
    tell_so,
)
from linkshift.estimators._mean_shift_parts import (
    centers_of,
    clusters_of_modes,
    labels_by_modes,
    local_bandwidth,
    pooled,
    seeds_of_cells,
    without_far,
    work_of,
)
from linkshift.estimators._scores import ScoresSamples
from linkshift.explain import Evidence, Explains
from linkshift.links import ClosedLinks
from linkshift.modes import Modes, basin_labels, merge_ends, merging_share, nearest_labels
from linkshift.profiles import Profile, ProfileName, get_profile
from linkshift.refinement import to_count
from linkshift.shift.binning import Cells
from linkshift.shift.blurring import blur
from linkshift.shift.density import Density, build_density
from linkshift.shift.engine import ascend
from linkshift.shift.landscape import Ascent
from linkshift.shift.neighbours import nearest_neighbours
from linkshift.shift.skipping import ascend_skipping
from linkshift.summaries import Landmarks

__all__ = ["MeanShift"]


@dataclass(frozen=True)
class _State:
    """A density, its modes, the cells of pooled rows, and clusters of the modes."""

    density: Density
    modes: Modes
    bandwidth: float | Array
    cells: Cells | None = None
    cell_labels: Array | None = None
    told: Array | None = None  # of each mode, where the number of clusters was told; -1: several
    landmarks: Landmarks | None = None  # that stood for rows; the density is theirs


class MeanShift(Explains, ScoresSamples, WeightedClusterer):
    r"""Mean shift clustering.

    Every point climbs the density of the data until it stands on a mode,

    .. math:: x \leftarrow \frac{\sum_j w_j h_j^{-(d+2)} g(\|x - x_j\|^2 / h_j^2)\, x_j}
                                {\sum_j w_j h_j^{-(d+2)} g(\|x - x_j\|^2 / h_j^2)},

    and points that reach the same mode form a cluster. The number of clusters follows from the
    bandwidth h. With the default kernel and the same bandwidth, labels and centers are those of
    :class:`sklearn.cluster.MeanShift`.

    Parameters
    ----------
    bandwidth : float or array-like of shape (n_samples,), default=None
        How far the kernel sees: one number, or one for each row. ``None`` takes it from the data
        (:func:`linkshift.bandwidth.default_bandwidth`; scikit-learn's rule differs and often
        merges everything). :class:`PathMeanShift` lets links choose it.
    seeds : array-like of shape (n_seeds, n_features), default=None
        Where to start climbing. ``None`` starts from every row.
    bin_seeding : bool, default=False
        Start from the occupied cells of a grid of one bandwidth: faster, but misses modes.
    min_bin_freq : int, default=1
        Fewest rows of a cell that seeds.
    cluster_all : bool, default=True
        If False, rows farther than the kernel's radius from their mode get the label -1: its
        reach, or :math:`\sqrt{d + 2}` bandwidths for the Gaussian.
    n_jobs : int, default=None
        Number of threads. ``None`` takes all cores. Labels do not depend on it.
    max_iter : int, default=300
        Largest number of steps.
    kernel : {"flat", "epanechnikov", "gaussian", "truncated_gaussian"} or Profile, default="flat"
        Kernel profile, see :mod:`linkshift.profiles`.
    n_neighbors : int, default=None
        Give each row a bandwidth of its own: the distance to its k-th neighbour.
    blurring : bool, default=False
        Move the points along with the starts: fewer steps, a different clustering, and new rows
        go by their nearest training row.
    assignment : {"auto", "nearest", "basin"}, default="auto"
        How rows get labels, also in ``predict``: by the nearest mode, or by the one they climb to.
        "auto" is "nearest" for the flat kernel and whenever seeds are used, "basin" otherwise.
    tol : float, default=1e-3
        A start has arrived when it moves by at most this many bandwidths.
    path_merge : float, default=0.0
        Let starts in the same cell, of this many bandwidths, go on as one: approximate, and two to
        four times faster at 0.1 for Gaussian kernels. Zero is exact.
    end_radius, path_radius : float, default=0.0
        Starts within so many bandwidths of the end of another's path, or of any place on it, take
        its end without climbing: approximate, and faster for Gaussian kernels and many rows in
        few columns; 1 and 0.25 are usual. Rows of ``predict`` all climb. Zero is exact.
    bin_size : float, default=None
        Pool the points in cells of this many bandwidths before shifting. Approximate, for
        hundreds of thousands of rows and more in up to about five columns; 0.5 is a good size.
        Take a smooth kernel: the flat one sees whole cells come and go. ``None`` is exact.
    landmarks : "auto", int or None, default="auto"
        Let so many landmarks, weighted means of small groups of rows, climb in place of the rows
        (:func:`linkshift.scale.fit`), and the modes that they find go on over all rows;
        approximate, and nearly linear in n. "auto" takes 8,000 beyond 20,000 rows, beyond 50,000
        with up to 5 columns, and warns with ``fidelity_``; not where seeds, cells, paths, blurring
        or bandwidths of rows are asked for. ``None`` is exact. No chance comes in.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine" divides each row by its length: squared distances are then :math:`2 - 2 \cos`.
        Bandwidths, seeds and ``cluster_centers_`` are among these rows; a row of zeros raises.
    n_clusters, max_clusters : int, default=None
        How many clusters there are, or how many at most; what the bandwidth finds is merged, or
        split, by sums of squares. Where a mode was split, new rows go with the nearest row.
    keep_paths : bool, default=False
        Keep every position of every start in ``paths_``.
    progress : callable, default=None
        Called with (work done, all work) after each step, and within those of many starts.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Modes, the densest first; of merged clusters the densest, of split ones the means.
    labels_, n_clusters_ : ndarray of shape (n_samples,), int
        Cluster of each row, and how many there are.
    bandwidth_ : float or ndarray of shape (n_samples,)
        Bandwidth used.
    n_iter_ : int
        Steps made by the start that made most.
    paths_ : list of ndarray of shape (steps + 1, n_features)
        Positions of each start, with ``keep_paths=True``.
    fidelity_ : float
        With landmarks, the adjusted Rand index between labels by mode and those of rows that climb
        exactly, on 64 to 256 rows spread evenly: 1 where they agree.

    See Also
    --------
    ConstrainedMeanShift : with must-links and cannot-links.
    PathMeanShift : links choose the bandwidth.

    Notes
    -----
    Exact without ``path_merge``, radii, ``bin_size`` and landmarks. Memory is O(n d). float32 stays
    float32. With landmarks, ``score_samples`` and ``explain`` go by the density of these.

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

    _takes_links = False
    _instead_of_links = (
        "Use ConstrainedMeanShift, let links choose the bandwidth with PathMeanShift, or settle "
        "links after clustering with RefinedClustering(MeanShift()) or linkshift.refine(X, labels, "
        "links)."
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "bandwidth": [Interval(Real, 0, None, closed="neither"), "array-like", None],
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
        "end_radius": [Interval(Real, 0, None, closed="left")],
        "path_radius": [Interval(Real, 0, None, closed="left")],
        "bin_size": [Interval(Real, 0, None, closed="neither"), None],
        "landmarks": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left"), None],
        "metric": METRICS,
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "max_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "keep_paths": ["boolean"],
        "progress": [callable, None],
    }
    _takes_cosine = True

    def __init__(
        self,
        *,
        bandwidth: float | ArrayLike | None = None,
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
        end_radius: float = 0.0,
        path_radius: float = 0.0,
        bin_size: float | None = None,
        landmarks: Literal["auto"] | int | None = "auto",
        metric: MetricName = "euclidean",
        n_clusters: int | None = None,
        max_clusters: int | None = None,
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
        self.end_radius = end_radius
        self.path_radius = path_radius
        self.bin_size = bin_size
        self.landmarks = landmarks
        self.metric = metric
        self.n_clusters = n_clusters
        self.max_clusters = max_clusters
        self.keep_paths = keep_paths
        self.progress = progress

    def _fit(  # type: ignore[override]
        self,
        data: Array,
        closed: ClosedLinks,
        *,
        sample_weight: Array | None,
    ) -> Fitted:
        profile, weight = get_profile(self.kernel), sample_weight
        looking, climbing, labelling = stages(self.progress, *work_of(self.bandwidth is None))
        m = None if climbs_by_itself(self) else count_landmarks(self.landmarks, *data.shape)
        bandwidth = self._bandwidth(data, profile, weight, few_rows=m is not None)
        tell(looking, 1, 1)
        more: dict[str, Any] = {}
        if m is None:
            state, labels, ascent = self._climb_rows(data, bandwidth, weight, climbing)
            n_iter = ascent.n_iter
            if self.keep_paths:
                more = {"paths_": ascent.paths}
        else:
            state, labels, more["fidelity_"], n_iter = self._climb_landmarks(
                data, float(bandwidth), weight, m, climbing
            )
        modes = state.modes
        centers = modes.centers
        if self.n_clusters is not None or self.max_clusters is not None:
            by_mode, most = labels, self.max_clusters
            labels = to_count(
                data, labels, closed, exactly=self.n_clusters, at_most=most, weight=weight
            )
            told = clusters_of_modes(modes, by_mode, labels)
            state, centers = replace(state, told=told), centers_of(modes, told, data, labels)
        tell(labelling, 1, 1)
        attributes = {
            "cluster_centers_": centers,
            "n_clusters_": centers.shape[0],
            "bandwidth_": bandwidth,
            "n_iter_": n_iter,
        }
        return Fitted(labels, state, attributes | more)

    def _climb_rows(
        self, data: Array, bandwidth: float | Array, weight: Array | None, told: Progress | None
    ) -> tuple[_State, Array, Ascent]:
        """Let rows, or cells of them, climb; labels by mode."""
        cells: Cells | None = None
        points, point_weight = data, weight
        if self.bin_size is not None:
            cells = pooled(data, self.bin_size, float(bandwidth), weight)
            points, point_weight = cells.points, cells.weight
        profile = get_profile(self.kernel)
        density = build_density(points, bandwidth, profile, sample_weight=point_weight)
        ascent = self._climb(density, points, bandwidth, point_weight, told)
        modes = self._find_modes(density, ascent, bandwidth, point_weight)
        labels, cell_labels = None, None
        if self._assignment() == "basin" and self._started_everywhere():
            labels = basin_labels(ascent.ends, modes)
            if cells is not None:
                cell_labels, labels = labels, labels[cells.member]
        state = _State(density, modes, bandwidth, cells, cell_labels)
        if labels is None:
            labels = self._labels(data, state)
        else:
            labels = self._without_orphans(data, labels, state)
        return state, labels, ascent

    def _climb_landmarks(
        self, data: Array, bandwidth: float, weight: Array | None, m: int, told: Progress | None
    ) -> tuple[_State, Array, float, int]:
        """Let landmarks climb, with the rows going as they do; labels by mode."""
        skipping = {"end_radius": self.end_radius, "path_radius": self.path_radius}
        found = climb_by_landmarks(
            data,
            bandwidth,
            get_profile(self.kernel),
            m,
            weight=weight,
            nearest=self._assignment() == "nearest",
            skipping=skipping | {"merge_radius": self.path_merge},
            progress=told,
            **self._options(),
        )
        if self.landmarks == "auto":
            tell_so(len(data), m, found.fidelity)
        landmarks = found.landmarks
        state = _State(landmarks.density, found.modes, bandwidth, landmarks=landmarks)
        labels = self._without_orphans(data, found.labels, state)
        return state, labels, found.fidelity, found.n_iter

    def _check_combinations(self) -> None:
        check_combinations(self)

    def _bandwidth(
        self, X: Array, profile: Profile, weight: Array | None, *, few_rows: bool
    ) -> float | Array:
        if self.n_neighbors is not None:
            return neighbour_bandwidth(X, self.n_neighbors, sample_weight=weight)
        if self.bandwidth is None:
            default = few_rows_bandwidth if few_rows else default_bandwidth
            return default(X, profile, sample_weight=weight)
        return checked_bandwidth(self.bandwidth, X.shape[0])

    def _climb(
        self, density: Density, points: Array, h: Any, weight: Array | None, told: Progress | None
    ) -> Ascent:
        options = {**self._options(), "progress": told}
        if self.blurring:
            ascent = blur(points, h, density.profile, sample_weight=weight, **options)
        else:
            starts = self._starts(points, h, weight)
            radii: dict[str, Any] = {"end_radius": self.end_radius, "path_radius": self.path_radius}
            ascent = ascend_skipping(
                density, starts, merge_radius=self.path_merge, **options, **radii
            )
        moved = ascent.converged | (ascent.total > 0)
        warn_if_moving(ascent.converged[moved], self.max_iter, "starts")
        return ascent

    def _options(self) -> dict[str, Any]:
        keep, threads = self.keep_paths, n_threads(self.n_jobs)
        return dict(max_iter=self.max_iter, tol=self.tol, keep_paths=keep, n_threads=threads)

    def _starts(self, points: Array, bandwidth: float | Array, weight: Array | None) -> Array:
        if self.seeds is not None:
            seeds = check_array(self.seeds, dtype=[np.float64, np.float32])
            if seeds.shape[1] != points.shape[1]:
                raise ValueError(f"seeds have {seeds.shape[1]} columns, X has {points.shape[1]}.")
            seeds = unit_rows(seeds, "Seed") if self._is_cosine() else seeds
            return seeds.astype(points.dtype)
        if not self.bin_seeding:
            return points
        return seeds_of_cells(points, float(bandwidth), self.min_bin_freq, weight)

    def _find_modes(
        self, density: Density, ascent: Ascent, bandwidth: float | Array, weight: Array | None
    ) -> Modes:
        reached = ascent.total > 0
        if weight is not None and self._started_everywhere():
            reached &= weight > 0  # rows without weight follow, they do not found clusters
        if not reached.any():
            raise Refusal(
                f"No point was within bandwidth={bandwidth} of any start.",
                "Use another way of seeding or a larger bandwidth.",
                parameter="bandwidth",
                value=bandwidth,
            )
        ends, total = ascent.ends[reached], ascent.total[reached]
        share = merging_share(density.profile)
        return merge_ends(ends, total, share * local_bandwidth(density, bandwidth, ends))

    def _started_everywhere(self) -> bool:
        return self.seeds is None and not self.bin_seeding

    def _assignment(self) -> str:
        if self.assignment != "auto":
            return self.assignment
        flat = get_profile(self.kernel).name == "flat" and not self.blurring
        return "nearest" if flat or not self._started_everywhere() else "basin"

    def _predict(self, data: Array) -> Array:
        """By basin or nearest mode, as ``assignment`` says; blurred, by the nearest row."""
        if self.blurring:
            return self.labels_[nearest_neighbours(self._fit_X, 1, data)[1][:, 0]]
        state, labels = self._state, self._labels(data, self._state)
        if state.told is None:
            return labels
        return labels_by_modes(data, labels, state.told, self._fit_X, self.labels_)

    def _labels(self, X: Array, state: _State) -> Array:
        if self._assignment() == "nearest":
            labels, _ = nearest_labels(X, state.modes)
        elif state.landmarks is not None:
            labels = state.landmarks.label(X, n_threads=n_threads(self.n_jobs))
        elif state.cells is None or state.cell_labels is None:
            labels = self._basins(X, state)
        else:  # rows in a cell of the training data go with the cell
            cell = state.cells.find(X)
            labels = state.cell_labels[cell]
            labels[cell < 0] = self._basins(X[cell < 0], state)
        return self._without_orphans(X, labels, state)

    def _basins(self, X: Array, state: _State) -> Array:
        """Label of the mode that each row climbs to."""
        if not X.shape[0]:
            return np.empty(0, dtype=np.int64)
        ascent = ascend(
            state.density,
            X.astype(state.modes.centers.dtype, copy=False),
            merge_radius=self.path_merge,
            **self._options() | {"keep_paths": False},
        )
        return basin_labels(ascent.ends, state.modes)

    def _without_orphans(self, X: Array, labels: Array, state: _State) -> Array:
        """-1 for rows too far from their mode, when not all are to be clustered."""
        if self.cluster_all:
            return labels
        return without_far(X, labels, state.density, state.modes.centers, state.bandwidth)

    def _scored_density(self) -> Density:
        density: Density = self._state.density
        return density

    def _evidence(self, row: int) -> Evidence:
        return evidence_of(self, row)
