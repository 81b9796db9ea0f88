"""Mean shift in coordinates that the graph of nearest neighbours makes."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from linkshift._core.arrays import Array, Progress, first_of_equal_rows
from linkshift.bandwidth.rules import neighbour_bandwidth, neighbours_at_hand
from linkshift.estimators._base import METRICS, Fitted, LinkedClusterer, MetricName, refuse_used
from linkshift.estimators.mean_shift import MeanShift
from linkshift.explain import Evidence, Explains
from linkshift.links import ClosedLinks
from linkshift.spaces.graph import FEW, GraphSpace, graph_space

__all__ = ["GraphMeanShift"]

_TIME, _N_EDGES = 64, 10
_NEIGHBOURS = 20  # by default, up to a thousand rows
_APART = 0.1  # bandwidth of corners of a simplex: each keeps to itself
# No bandwidth is below this share of the spread: a cluster that walks cannot leave is one place
# after a while, and what is left of differences within it means nothing.
_SAME_PLACE = 1e-2
_ROUNDING = 1e-6  # of eigenvectors, whose values are about one; and of means, of the rows' range


@dataclass(frozen=True)
class _State:
    """A space of distinct rows, the mean shift in it, and which of them each row is."""

    space: GraphSpace
    shift: MeanShift
    of_row: Array


def distinct_rows(data: Array) -> tuple[Array, Array]:
    """Find the first of each set of equal rows, and which of them each row is."""
    rows, of_row = np.unique(first_of_equal_rows(data), return_inverse=True)
    return rows, of_row.ravel()


class GraphMeanShift(Explains, LinkedClusterer):
    r"""Mean shift in coordinates that the graph of nearest neighbours makes.

    In many columns all distances between rows are about the same, and no bandwidth tells clusters
    apart; who is near whom still does. Each row is joined to its nearest neighbours, with weights
    that know the scale at either end, and rows move in diffusion coordinates: two rows are near
    when random walks along the edges, started from both, are in the same places after ``time``
    steps,

    .. math:: \Psi(i) = \left(\lambda_l^t \, \psi_l(i)\right)_{l = 1, \dots, 40}, \qquad
              P \psi_l = \lambda_l \psi_l, \qquad p_{ij} = \frac{w_{ij}}{\sum_k w_{ik}}, \qquad
              w_{ij} = \exp\left(-\frac{\|x_i - x_j\|^2}{s_i s_j}\right)

    with :math:`s_i` the distance to the seventh neighbour. There :class:`MeanShift` climbs, with a
    Gaussian kernel and a bandwidth for each row, and finds how many clusters there are.

    Parameters
    ----------
    coordinates : {"diffusion", "smooth"}, default="diffusion"
        Where rows move: in diffusion coordinates, or among rows that are each the mean of itself
        and its 15 nearest neighbours, as many columns as there are.
    time : int, default=64
        Steps of the walk; more steps see larger clusters. For diffusion coordinates only.
    n_edges : int, default=10
        Nearest rows that a row is joined to, as many as there are. For diffusion coordinates only.
    n_neighbors : int, default=None
        The bandwidth of each row is the distance to this neighbour in the coordinates, and at least
        a hundredth of the spread (root mean square) of diffusion coordinates. More neighbours give
        fewer clusters. ``None`` takes 20, and :math:`20 \sqrt{n / 1000}` for more than a thousand
        distinct rows: with a fixed number, clusters would grow in number with the rows.
    bandwidth : float, default=None
        One bandwidth for all rows instead, in the coordinates.
    metric : {"euclidean", "cosine"}, default="euclidean"
        Distance between rows that makes them neighbours; "cosine" goes by their directions.
    max_iter : int, default=300
        Largest number of steps of the mean shift.
    n_jobs : int, default=None
        Number of threads. ``None`` takes all cores. Labels do not depend on it.
    progress : callable, default=None
        Called with (starts at rest, all starts) after each step.

    Attributes
    ----------
    labels_, n_clusters_ : ndarray of shape (n_samples,), int
        Cluster of each row, and how many there are.
    embedding_ : ndarray of shape (n_samples, n_axes)
        Coordinates in which rows moved. Modes are there, too, and not among the columns: there is
        no ``cluster_centers_``.
    bandwidth_ : float or ndarray of shape (n_samples,)
        Bandwidth used, in these coordinates.
    n_iter_ : int
        Steps made by the start that made most.

    See Also
    --------
    ConsensusClustering : many ways of looking at the same graph, with links.
    RefinedClustering : links after this clustering, ``RefinedClustering(GraphMeanShift())``.
    KernelMeanShift : mean shift in a kernel's space.

    Notes
    -----
    Equal rows are one row of the graph, and count as many times where rows climb. Data of fewer
    than five distinct rows have a cluster for each.

    New rows are joined to their nearest training rows; from there eigenvectors go on to them
    (Nystroem, see :meth:`linkshift.spaces.graph.GraphSpace.transform`), and they climb as the
    others did.

    Time is that of neighbours (a tree up to 15 columns, all pairs above), of 40 eigenvectors, and
    of a Gaussian mean shift in 40 columns, in which all rows see all others: it grows with the
    square of the rows, and tens of thousands of rows take minutes.

    References
    ----------
    Coifman and Lafon, "Diffusion maps" (2006). Zelnik-Manor and Perona, "Self-tuning spectral
    clustering" (2004). Bengio et al., "Out-of-sample extensions for LLE, Isomap, MDS, eigenmaps,
    and spectral clustering" (2003).

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift import GraphMeanShift
    >>> rng = np.random.default_rng(0)
    >>> topic = np.repeat([0, 1, 2], 50)  # in 100 columns, of which three say something
    >>> X = rng.normal(size=(150, 100)) + 8 * np.eye(100)[topic]
    >>> model = GraphMeanShift().fit(X)
    >>> model.n_clusters_, model.embedding_.shape
    (3, (150, 40))
    >>> model.predict(8 * np.eye(100)[:3]).tolist() == model.labels_[[0, 50, 100]].tolist()
    True
    """

    _takes_links = False
    _instead_of_links = (
        "Use ConsensusClustering, or settle links after clustering with "
        "RefinedClustering(GraphMeanShift())."
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "coordinates": [StrOptions({"diffusion", "smooth"})],
        "time": [Interval(Integral, 1, None, closed="left")],
        "n_edges": [Interval(Integral, 2, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "bandwidth": [Interval(Real, 0, None, closed="neither"), None],
        "metric": METRICS,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "progress": [callable, None],
    }
    _takes_cosine = True

    def __init__(
        self,
        *,
        coordinates: Literal["diffusion", "smooth"] = "diffusion",
        time: int = _TIME,
        n_edges: int = _N_EDGES,
        n_neighbors: int | None = None,
        bandwidth: float | None = None,
        metric: MetricName = "euclidean",
        max_iter: int = 300,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.coordinates = coordinates
        self.time = time
        self.n_edges = n_edges
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.metric = metric
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.progress = progress

    def _check_combinations(self) -> None:
        """Refuse what would otherwise be ignored."""
        if self.bandwidth is not None and self.n_neighbors is not None:
            raise ValueError(
                "bandwidth and n_neighbors both say how far the kernel sees; give one of them."
            )
        if self.coordinates == "smooth":
            refuse_used(
                {"time": self.time != _TIME, "n_edges": self.n_edges != _N_EDGES},
                "has no meaning among smoothed rows; give it with coordinates='diffusion'.",
            )

    def _fit(self, data: Array, closed: ClosedLinks) -> Fitted:  # type: ignore[override] # noqa: ARG002
        rows, of_row = distinct_rows(data)
        space = graph_space(data[rows], self.n_edges, self._steps())
        shift = MeanShift(
            landmarks=None,
            kernel="gaussian",
            bandwidth=self._bandwidth(space),
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
            progress=self.progress,
        )
        count = np.bincount(of_row).astype(np.float64) if len(rows) < len(data) else None
        shift.fit(space.coordinates, sample_weight=count)
        state = _State(space, shift, of_row)
        return Fitted(shift.labels_[of_row], state, attributes_of(state))

    def _steps(self) -> int | None:
        return self.time if self.coordinates == "diffusion" else None

    def _bandwidth(self, space: GraphSpace) -> float | Array:
        """One bandwidth, or one for each distinct row."""
        points = space.coordinates
        if self.bandwidth is not None:
            return self.bandwidth
        if len(points) < FEW:
            return _APART
        h = neighbour_bandwidth(points, self._neighbours(len(points)))
        if space.values is None:
            least = _ROUNDING * float(np.ptp(space.rows, axis=0).max())
        else:
            spread = float(np.sqrt(points.var(axis=0).sum()))
            least = max(_SAME_PLACE * spread, _ROUNDING)
        return np.maximum(h, least)

    def _neighbours(self, n: int) -> int:
        """Return k for bandwidths: as given, with a warning where there are fewer rows."""
        if self.n_neighbors is None:
            return min(max(_NEIGHBOURS, isqrt(_NEIGHBOURS**2 * n // 1000)), n - 1)
        return neighbours_at_hand(self.n_neighbors, n)

    def _predict(self, data: Array) -> Array:
        state: _State = self._state
        return state.shift.predict(state.space.transform(data))

    def _evidence(self, row: int) -> Evidence:
        """Tell what explains a row: its path in the coordinates."""
        state = self._state
        known = state.shift._evidence(int(state.of_row[row]))
        return Evidence(
            self.embedding_, space="graph", path=known.path, mode=known.mode, notes=known.notes
        )


def attributes_of(state: _State) -> dict[str, Any]:
    """Attributes for all rows, from those of distinct ones."""
    shift, of_row = state.shift, state.of_row
    bandwidth = shift.bandwidth_
    return {
        "embedding_": state.space.coordinates[of_row],
        "bandwidth_": bandwidth[of_row] if np.ndim(bandwidth) else bandwidth,
        "n_iter_": shift.n_iter_,
    }
