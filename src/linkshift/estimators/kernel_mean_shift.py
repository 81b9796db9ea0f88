"""Kernel mean shift: links as a projection (Tuzel et al. 2009), or as a learned kernel."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from linkshift._core.arrays import Array
from linkshift._core.convergence import warn_if_moving
from linkshift._core.labels import count_clusters
from linkshift._core.messages import Advice, warn
from linkshift._core.threads import n_threads, one_blas_thread
from linkshift.bandwidth.rules import neighbours_at_hand, spread_bandwidth
from linkshift.estimators._base import METRICS, Fitted, LinkedClusterer, MetricName
from linkshift.explain import CHANCE, Evidence, Explains, kept_path
from linkshift.links import ClosedLinks, Links
from linkshift.metrics import link_satisfaction
from linkshift.modes import Modes, basin_labels, merge_ends
from linkshift.profiles import Profile
from linkshift.refinement import nearest_of, refined_part
from linkshift.shift.coalesce import climb_spots
from linkshift.shift.density import Density, build_density
from linkshift.shift.engine import ascend
from linkshift.shift.neighbours import nearest_neighbours
from linkshift.spaces.kernel import KernelName, KernelSpace, spread_dimension
from linkshift.spaces.linked import LinkedSpace, linked_space, make_kernel

__all__ = ["KernelMeanShift"]

# The multiplier of the k-th distance is the first over sqrt(dimension + 2), but not less than the
# second over sqrt(2 log k). Chosen on the data of the paper and on Wine, WDBC, iris and digits,
# where 1.2 to 1.35 and 0.7 to 0.75 serve.
_AUTO_SCALE = 1.3
_LEAST_SCALE = 0.72
_EXACT_ROWS = 4000  # up to here "auto" takes no landmarks: seconds to a minute, 128 MB
_AUTO_LANDMARKS = 500
_LEARNED_DIMENSION = 1.0
_FEW = 500  # rows whose kernel matrix one thread is enough for
_MERGE = 1e-2  # ends within this many median bandwidths are one mode


@dataclass(frozen=True)
class _State:
    """A space, the density of rows in it, where they ended, and the basin of each row."""

    space: KernelSpace
    map: Array | None
    density: Density
    modes: Modes
    ends: Array  # of each start
    start: Array  # of each point
    basin: Array  # of each row
    nearest_point: Array | None  # of each row, where only a part of the rows was shifted


class KernelMeanShift(Explains, LinkedClusterer):
    r"""Mean shift in a kernel's feature space, shaped by links.

    Rows :math:`x_i` become points :math:`z_i` of the feature space of a kernel, in explicit
    coordinates (:mod:`linkshift.spaces.kernel`). Links shape the space. Then every point climbs
    the density of all points,

    .. math:: y \leftarrow \frac{\sum_j h_j^{-(d+2)} \exp(-\|y - z_j\|^2 / 2 h_j^2)\, z_j}
                                {\sum_j h_j^{-(d+2)} \exp(-\|y - z_j\|^2 / 2 h_j^2)},
              \qquad h_j = c \, \|z_j - z_{j,(k)}\|,

    and points that reach the same mode form a cluster.

    With ``use_links="project"`` the space is projected onto the null space of the must-links
    (:mod:`linkshift.spaces.null_space`): linked rows coincide, always end in one cluster, and
    what differs between them stops counting for all other rows as well. A few links help where
    clusters share a nuisance of few dimensions, such as the light on a face. Each link takes a
    dimension: too many take what tells clusters apart. With ``use_links="learn"`` a kernel is
    learned from must-links and cannot-links (:mod:`linkshift.spaces.learned_kernel`).

    Parameters
    ----------
    kernel : str or callable, default="gaussian"
        The kernel: "gaussian", "chi2", "polynomial", "linear" or "precomputed", see
        :class:`linkshift.spaces.kernel.Kernel`. For "precomputed" X is the Gram matrix (in
        ``predict``: values of new rows with all training rows). A callable takes two arrays of
        rows and gives the matrix of kernel values.
    sigma : float or "links", default=None
        Width of the Gaussian kernel. ``None`` is the mean pair distance, as in the paper;
        "links" picks the width at which must-links and cannot-links differ most
        (:func:`linkshift.spaces.kernel.sigma_from_links`). Larger widths give smoother and fewer
        dimensions: often a few mean pair distances are better with projection.
    degree : int, default=2
        Of the polynomial kernel :math:`(\gamma x^T y + c_0)^p`.
    gamma : float, default=None
        Of the polynomial kernel; ``None`` is one over the number of columns.
    coef0 : float, default=1.0
        Of the polynomial kernel.
    kernel_params : dict, default=None
        Keywords for a callable kernel.
    n_neighbors : int, default=20
        The k of the bandwidths: the distance to the k-th neighbour in the space that links have
        shaped. The row itself is not counted; rows that coincide with it are. At most
        n_samples - 1 are taken, with a warning.
    bandwidth_scale : float or "auto", default="auto"
        The multiplier c. "auto" is :math:`1.3 / \sqrt{D + 2}`, D being the participation ratio
        of the eigenvalues of the points' covariance (in the projected space; for a learned
        kernel, in the space before learning), but at least :math:`0.72 / \sqrt{2 \log k}`. A
        Gaussian of bandwidth h smooths as a ball of radius :math:`h \sqrt{D + 2}`: with c = 1,
        neighbourhoods in many dimensions hold all data. Below the least value a point outweighs
        its k neighbours together, and every point becomes its own cluster.
    dimension : float, "effective" or "rank", default=None
        The d of :math:`h^{d+2}`. "effective" is the participation ratio of the eigenvalues of
        the kernel matrix, :math:`(\sum \lambda)^2 / \sum \lambda^2`, mostly 1 to 3; "rank" its
        numerical rank, as in the paper. With the rank, which is often in the hundreds, the few
        points of the least bandwidth outweigh all others and take everything. ``None`` is
        "effective" for projection and 1 for a learned kernel, where links bring some rows very
        close together: on WDBC more links made results worse until d was this small.
    use_links : {"project", "learn"}, default="project"
        How links shape the space. Projection takes certain must-links only; others raise.
    learn_params : dict, default=None
        Keywords for :func:`linkshift.spaces.learned_kernel.learn_kernel`.
    refine : {"links", None}, default="links"
        Settle labels by links and neighbours, in the space, after the shift
        (:func:`linkshift.refine`; neighbours are a third of a typical cluster, 5 to 20). It gathers
        the splinters that too small a bandwidth leaves. ``None`` is the paper's algorithm.
    n_landmarks : int, "auto" or None, default="auto"
        ``None`` takes all rows as landmarks, which is exact and costs O(n^2) memory and O(n^3)
        time. A number is Nystroem's approximation by that many rows, drawn at random. "auto" is
        exact up to 4,000 rows and takes 500 landmarks above.
    max_points : int or None, default=4000
        Most points that are shifted. Of more rows, a random part of this size makes up the
        density (``n_neighbors`` counts within it), and each other row goes with the nearest
        point of it. ``None`` shifts all rows.
    max_iter : int, default=500
        Largest number of steps.
    tol : float, default=1e-5
        A point has arrived when it moves by at most this many bandwidths (of their geometric
        mean). End points within 1e-2 median bandwidths of each other are one mode.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine" divides each row by its length, here and in ``predict``: squared distances are then
        :math:`2 - 2 \cos`, between 0 and 4, and so the kernel is of directions. A row of zeros has
        none, and raises. Not for a precomputed kernel, where rows are kernel values.
    n_jobs : int, default=None
        Number of threads of the shift. ``None`` takes all cores. Labels do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the draws of landmarks and points; not used while all is exact.
    progress : callable, default=None
        Called with (points at rest, all points) after each step.

    Attributes
    ----------
    labels_, n_clusters_ : ndarray of shape (n_samples,), int
        Cluster of each row, and how many there are.
    links_, link_report_ : Links, LinkReport
        The links, those of ``partial_labels`` included, and which of them hold. A learned kernel
        may break some, and a warning says how many.
    embedding_ : ndarray of shape (n_samples, `rank_`)
        Points in the space that links have shaped, along its principal axes.
    shifted_ : ndarray of shape (n_samples, `rank_`)
        Where each point ended, in the same coordinates.
    bandwidth_ : ndarray of shape (n_points,)
        Bandwidth of each point that was shifted, c included.
    points_ : ndarray of shape (n_points,)
        The rows that were shifted; all of them up to ``max_points``.
    sigma_ : float
        Width of the Gaussian kernel (for that kernel only).
    bandwidth_scale_ : float
        The multiplier c.
    rank_ : int
        Dimensions of the space, to numerical rank.
    dimension_ : float
        The d of h^(d+2).
    effective_dimension_ : float
        Participation ratio of the kernel matrix that links have shaped.
    n_iter_ : int
        Steps made by the point that made most.

    See Also
    --------
    ConstrainedMeanShift : cannot-links inside the shift, in the space of the data.
    linkshift.refine : the refinement alone.

    Notes
    -----
    Rows whose k nearest neighbours coincide with them (to 1e-6 of the data's radius) take the
    smallest bandwidth of the others, but at most half the distance to the next such place; or 1
    when all rows coincide.

    Exact unless landmarks or ``max_points`` come in. All is computed in float64. Memory is
    O(n^2) when exact, else O(n m) for m landmarks.

    New rows are projected onto the span of the training rows, moved as links say, and climb to a
    mode. Where refinement has given the training rows of a mode several labels, the nearest of
    these rows in the space decides. Where only a part of the rows was shifted, the nearest row
    of that part does.

    References
    ----------
    Tuzel, Porikli, Meer: Kernel Methods for Weakly Supervised Mean Shift Clustering, ICCV 2009.
    Anand, Mittal, Tuzel, Meer: Semi-Supervised Kernel Mean Shift Clustering, PAMI 2014.

    Examples
    --------
    Six lines in three directions; one link on a line of each direction.

    >>> from linkshift import KernelMeanShift, Links
    >>> from linkshift.datasets import make_lines
    >>> X, y = make_lines(random_state=0)
    >>> links = Links(must=[(3, 36), (83, 116), (163, 196)])
    >>> KernelMeanShift(sigma=5.0).fit(X, links=links).n_clusters_
    6
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [
            StrOptions({"gaussian", "chi2", "polynomial", "linear", "precomputed"}),
            callable,
        ],
        "sigma": [Interval(Real, 0, None, closed="neither"), StrOptions({"links"}), None],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "coef0": [Interval(Real, 0, None, closed="left")],
        "kernel_params": [dict, None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "bandwidth_scale": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "dimension": [
            Interval(Real, 0, None, closed="left"),
            StrOptions({"effective", "rank"}),
            None,
        ],
        "use_links": [StrOptions({"project", "learn"})],
        "learn_params": [dict, None],
        "refine": [StrOptions({"links"}), None],
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "max_points": [Interval(Integral, 2, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "metric": METRICS,
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "progress": [callable, None],
    }
    _min_samples = 2
    _takes_cosine = True

    def __init__(
        self,
        kernel: KernelName | Callable[..., Any] = "gaussian",
        *,
        sigma: float | Literal["links"] | None = None,
        degree: int = 2,
        gamma: float | None = None,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        n_neighbors: int = 20,
        bandwidth_scale: float | Literal["auto"] = "auto",
        dimension: float | Literal["effective", "rank"] | None = None,
        use_links: Literal["project", "learn"] = "project",
        learn_params: dict[str, Any] | None = None,
        refine: Literal["links"] | None = "links",
        n_landmarks: int | Literal["auto"] | None = "auto",
        max_points: int | None = 4000,
        max_iter: int = 500,
        tol: float = 1e-5,
        metric: MetricName = "euclidean",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.kernel = kernel
        self.sigma = sigma
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_neighbors = n_neighbors
        self.bandwidth_scale = bandwidth_scale
        self.dimension = dimension
        self.use_links = use_links
        self.learn_params = learn_params
        self.refine = refine
        self.n_landmarks = n_landmarks
        self.max_points = max_points
        self.max_iter = max_iter
        self.tol = tol
        self.metric = metric
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.positive_only = self.kernel == "chi2"
        return tags

    def _check_combinations(self) -> None:
        """Refuse what would otherwise be ignored."""
        if self.sigma is not None and self.kernel != "gaussian":
            raise ValueError("sigma is the width of kernel='gaussian'; drop it for other kernels.")
        polynomial = self.degree != 2 or self.gamma is not None or self.coef0 != 1.0
        if polynomial and self.kernel != "polynomial":
            raise ValueError("degree, gamma and coef0 are for kernel='polynomial' only.")
        if self.kernel_params is not None and not callable(self.kernel):
            raise ValueError("kernel_params are keywords for a callable kernel; drop them.")
        if self.learn_params is not None and self.use_links != "learn":
            raise ValueError("learn_params are for use_links='learn' only.")
        if self.metric == "cosine" and self.kernel == "precomputed":
            raise ValueError("metric='cosine' needs rows, and X holds kernel values; drop it.")

    def _check_links(self, closed: ClosedLinks) -> None:
        """Refuse links that a projection cannot use."""
        links = closed.links
        if self.use_links == "learn":
            return
        if len(links.cannot):
            raise ValueError(
                "Projection uses must-links only, and there are cannot-links (partial labels of "
                "two classes and more make some). Set use_links='learn', or keep the must-links: "
                "links=Links(must=links.must)."
            )
        if not closed.all_certain:
            raise ValueError(
                "A projection holds for certain, but some must-links have a confidence below one. "
                "Set use_links='learn', drop them, or give them confidence one."
            )

    def _fit(self, data: Array, closed: ClosedLinks) -> Fitted:  # type: ignore[override]
        self._check_links(closed)
        random = check_random_state(self.random_state)
        kernel = make_kernel(
            self.kernel,
            data,
            closed.links,
            sigma=self.sigma,
            degree=self.degree,
            gamma=self.gamma,
            coef0=self.coef0,
            params=self.kernel_params,
        )
        space = partial(linked_space, use_links=self.use_links, learn_params=self.learn_params)
        landmarks = self._count_landmarks(len(data))
        # Another fit may take threads of BLAS away, which changes last bits: few rows need none.
        with one_blas_thread() if len(data) <= _FEW else nullcontext():
            embedding = space(data, kernel, closed, n_landmarks=landmarks, random_state=random)
        scale = self._scale(embedding)
        rows = self._pick_points(len(data), random)
        points, dimension = embedding.points[rows], self._dimension(embedding, closed)
        k = neighbours_at_hand(self.n_neighbors, points.shape[0])
        bandwidth = spread_bandwidth(points, k) * scale
        density = build_density(points, bandwidth, Profile("gaussian"), dimension=dimension)
        together = closed.closure.component[rows] if self.use_links == "project" else None
        merge = _MERGE * float(np.median(bandwidth))
        ascent, start = climb_spots(
            density, points, bandwidth, together, radius=merge, **self._options()
        )
        warn_if_moving(ascent.converged, self.max_iter)
        modes = merge_ends(ascent.ends, ascent.total, merge)
        basin = basin_labels(ascent.ends, modes)[start]
        nearest_point = nearest_of(embedding.points, rows)
        if nearest_point is not None:
            basin = basin[nearest_point]
        shaped = embedding.space, embedding.map
        state = _State(*shaped, density, modes, ascent.ends, start, basin, nearest_point)
        labels = basin
        if self.refine == "links" and len(closed):
            labels = refined_part(embedding.points, labels, closed, rows, nearest_point)
        self._warn_of_broken_links(labels, closed.links, scale)
        attributes = {
            "embedding_": embedding.points,
            "points_": rows,
            "bandwidth_": bandwidth,
            "bandwidth_scale_": scale,
            "dimension_": dimension,
            "effective_dimension_": embedding.effective_dimension,
            "rank_": embedding.rank,
            "n_iter_": ascent.n_iter,
        }
        if kernel.name == "gaussian":
            attributes["sigma_"] = kernel.sigma
        return Fitted(labels, state, attributes)

    def _dimension(self, embedding: LinkedSpace, closed: ClosedLinks) -> float:
        dimension = self.dimension
        if dimension is None:
            learned = self.use_links == "learn" and len(closed) > 0
            dimension = _LEARNED_DIMENSION if learned else "effective"
        named = {"effective": embedding.effective_dimension, "rank": float(embedding.rank)}
        return float(named[dimension] if isinstance(dimension, str) else dimension)

    def _count_landmarks(self, n: int) -> int | None:
        if self.n_landmarks != "auto":
            return self.n_landmarks
        return None if n <= _EXACT_ROWS or self.kernel == "linear" else _AUTO_LANDMARKS

    def _scale(self, embedding: LinkedSpace) -> float:
        """Return the multiplier of the k-th distance."""
        if self.bandwidth_scale != "auto":
            return float(self.bandwidth_scale)
        # Learning stretches the directions between clusters, which says nothing of their inside.
        points = embedding.before if self.use_links == "learn" else embedding.points
        least = _LEAST_SCALE / float(np.sqrt(2.0 * np.log(max(self.n_neighbors, 2))))
        return max(_AUTO_SCALE / float(np.sqrt(spread_dimension(points) + 2.0)), least)

    def _pick_points(self, n: int, random: np.random.RandomState) -> Array:
        """Rows that make up the density."""
        if self.max_points is None or n <= self.max_points:
            return np.arange(n)
        return np.sort(random.choice(n, self.max_points, replace=False))

    def _options(self) -> dict[str, Any]:
        return {
            "max_iter": self.max_iter,
            "tol": self.tol,
            "n_threads": n_threads(self.n_jobs),
            "progress": self.progress,
        }

    def _warn_of_broken_links(self, labels: Array, links: Links, scale: float) -> None:
        """Warn of links that do not hold, which the slack of a learned kernel allows."""
        report = link_satisfaction(labels, links)
        must, cannot = len(report.violated_must), len(report.violated_cannot)
        if not must + cannot:
            return
        told = [f"{must} of {report.n_must} must-links"] if report.n_must else []
        told += [f"{cannot} of {report.n_cannot} cannot-links"] if report.n_cannot else []
        remedy = f"below {scale:.2g} keeps more clusters apart"
        if not cannot:
            remedy = f"above {scale:.2g} joins more"
        if self.refine is None:
            remedy += ", and refine='links' settles most"
        warn(
            Advice(
                f"{' and '.join(told)} do not hold in the {count_clusters(labels)} clusters found.",
                f"link_report_ has the pairs. A bandwidth_scale {remedy}.",
                command="--json and --report list them.",
                parameter="bandwidth_scale",
                value=self.bandwidth_scale,
            )
        )

    @property
    def shifted_(self) -> Array:
        """Where each point ended; rows that were not shifted, where their nearest point did."""
        check_is_fitted(self, "labels_")
        state = self._state
        ends: Array = state.ends[state.start]
        return ends if state.nearest_point is None else ends[state.nearest_point]

    def _predict(self, data: Array) -> Array:
        state, labels, embedding = self._state, self.labels_, self.embedding_
        points = state.space.transform(data, state.map)
        if state.nearest_point is not None:
            nearest = nearest_neighbours(embedding[self.points_], 1, points)[1][:, 0]
            return labels[self.points_[nearest]]
        ends = ascend(state.density, points, **self._options() | {"progress": None}).ends
        basin = basin_labels(ends, state.modes)
        found = np.empty(points.shape[0], dtype=np.int64)
        for b in np.unique(basin):
            new, old = np.flatnonzero(basin == b), np.flatnonzero(state.basin == b)
            nearest = np.zeros(new.shape[0], dtype=np.intp)
            if (labels[old] != labels[old[0]]).any():
                nearest = nearest_neighbours(embedding[old], 1, points[new])[1][:, 0]
            found[new] = labels[old[nearest]]
        return found

    def _evidence(self, row: int) -> Evidence:
        """Tell what explains a row: its path in the space, and fresh fits."""
        state, notes, at = self._state, [], row
        if state.nearest_point is not None:
            at = int(self.points_[state.nearest_point[row]])
        if at != row:
            notes.append(f"It goes with row {at}, the nearest of those that were shifted.")
        options = self._options() | {"progress": None}
        ascent = ascend(state.density, self.embedding_[[at]], keep_paths=True, **options)
        if basin_labels(ascent.ends, state.modes)[0] != state.basin[row]:
            notes.append("In company, paths that came close went on as one, to another mode.")
        if self._is_random() and not isinstance(self.random_state, Integral):
            notes.append(CHANCE)
        return Evidence(
            self.embedding_,
            self._fresh_fit(self._fit_X),
            space="kernel",
            path=kept_path(ascent, 0),
            mode=state.modes.centers[state.basin[row]],
            before_links=state.basin,
            others="on the space as a whole",
            notes=tuple(notes),
        )

    def _is_random(self) -> bool:
        """Whether landmarks or points are drawn."""
        n = self._fit_X.shape[0]
        n_landmarks = self._count_landmarks(n)
        return (n_landmarks is not None and n_landmarks < n) or self.points_.shape[0] < n
