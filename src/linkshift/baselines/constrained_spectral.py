"""ConstrainedSpectral: spectral clustering whose vectors must agree with links."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from threadpoolctl import threadpool_limits

from linkshift._core.arrays import Array
from linkshift._core.labels import dense
from linkshift._core.memory import check_memory
from linkshift._core.messages import Refusal
from linkshift.estimators._base import Fitted, LinkedClusterer
from linkshift.links import ClosedLinks
from linkshift.metrics import link_satisfaction
from linkshift.refinement.neighbours import neighbours_vote

_MATRICES = 7  # of all pairs of rows, at the peak
_SCALE_ROWS = 7  # neighbours by which a row's scale is told, and that vote for new rows
_LEAST_DEGREE = 1e-3  # of the mean: a row far from all would be worth more than all others
_RIDGE = 1e-8  # of the Laplacian, whose least eigenvalue is zero
_TRIVIAL = 1e-6  # how far from constant an indicator must be to tell anything
_LOOKED_AT = 4  # feasible vectors, in clusters
_BELOW = 1.1  # least eigenvalues of Q: all vectors are feasible


class _Graph(NamedTuple):
    """Normalised Laplacian and links, and one over the root of each row's degree."""

    laplacian: Array
    constraints: Array
    scale: Array


class ConstrainedSpectral(LinkedClusterer):
    r"""Spectral clustering under links (constrained spectral clustering, CSP).

    With similarities A, degrees D, the Laplacian :math:`L = I - D^{-1/2} A D^{-1/2}`, links
    :math:`Q_{ij}` (confidence of a must-link, minus that of a cannot-link) and
    :math:`\bar{Q} = D^{-1/2} Q D^{-1/2}`, it looks for vectors of little cost that agree with links
    at least so far,

    .. math:: \min_v v^T L v \quad \text{subject to} \quad
              v^T \bar{Q} v \ge \beta\, v^T v,

    among the solutions of :math:`L v = \lambda (\bar{Q} - \beta I) v` with
    :math:`\lambda > 0`. The K - 1 cheapest, each times :math:`1 - v^T L v`, are the coordinates
    :math:`D^{-1/2} V` that k-means clusters.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, K.
    beta : {"auto", "kth"} or float, default="auto"
        How far vectors must agree with links (the paper's :math:`\beta` over the volume).
        "kth" is the original's choice, half-way between the K-th and the next largest eigenvalue
        of :math:`\bar{Q}`, so that K vectors are left. "auto" tries that, half of it, zero, and 1.1
        times the least eigenvalue, and keeps the clusters that hold most links; of equals those of
        the lowest threshold.
    gamma : float or None, default=None
        Similarity :math:`\exp(-\gamma \|x - y\|^2)`. None: :math:`\gamma` is one over the product
        of the distances of x and y to their seventh neighbours.
    n_init : int, default=10
        Starts of k-means.
    random_state : int, RandomState or None, default=None
        The source of chance.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    beta_ : float
        The threshold of the labels.
    embedding_ : ndarray of shape (n_samples, n_vectors)
        What k-means clustered.
    n_clusters_ : int
        Number of clusters that have rows.
    link_report_ : LinkReport
        Which links hold.

    See Also
    --------
    linkshift.KernelMeanShift : takes must-links in a kernel's space.

    Notes
    -----
    With few links for each row the original's threshold leaves vectors that are zero but on a few
    rows: those of the largest eigenvalues of a sparse Q. K-means then finds these rows and one
    cluster of all others; the page on baselines has numbers. Lower thresholds give up agreement
    for cost, down to spectral clustering without links.

    Links are weighed, not held, and enter as they are given: closed ones would have the rows of the
    largest component outweigh all others. What is solved is the symmetric and definite problem
    :math:`(\bar{Q} - \beta I) v = \mu (L + 10^{-8} I) v`; of its vectors the 4 K of largest
    :math:`\mu` are looked at.
    Memory grows with the square of the rows, time with the cube. New rows are labelled by a vote
    of the nearest rows.

    References
    ----------
    Wang, Qian, Davidson: On Constrained Spectral Clustering and Its Applications, Data Mining and
    Knowledge Discovery 28, 2014. Scales by neighbours: Zelnik-Manor, Perona: Self-Tuning Spectral
    Clustering, NIPS 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift import Links
    >>> from linkshift.baselines import ConstrainedSpectral
    >>> X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2], [2.0], [2.1], [2.2]])
    >>> links = Links(must=[(0, 3), (1, 4), (2, 5)], cannot=[(3, 6), (4, 7), (5, 8)])
    >>> labels = ConstrainedSpectral(2, random_state=0).fit_predict(X, links=links)
    >>> bool(labels[0] == labels[3] != labels[6])
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "beta": [StrOptions({"auto", "kth"}), Interval(Real, None, None, closed="neither")],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        beta: Literal["auto", "kth"] | float = "auto",
        gamma: float | None = None,
        n_init: int = 10,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.beta = beta
        self.gamma = gamma
        self.n_init = n_init
        self.random_state = random_state

    def _fit(self, data: Array, closed: ClosedLinks) -> Fitted:  # type: ignore[override]
        n, k = len(data), self.n_clusters
        if n < k:
            raise ValueError(f"n_samples={n} should be >= n_clusters={k}.")
        check_memory(
            8.0 * _MATRICES * n * n,
            f"Constrained spectral clustering of {n:,} rows",
            "Take a part of the rows, and predict the others.",
        )
        seed = check_random_state(self.random_state).randint(2**31)
        with threadpool_limits(limits=1):  # threads sum in an order of their own
            graph = _graph(data.astype(np.float64), closed, self.gamma)
            found = {}
            for beta in _thresholds(graph, k, self.beta):
                points = _coordinates(graph, beta, k)
                if points is not None:
                    found[beta] = points, _k_means(points, k, self.n_init, seed)
        if not found:
            most = float(
                eigh(graph.constraints, eigvals_only=True, subset_by_index=[n - 1, n - 1])[0]
            )
            raise Refusal(
                f"With beta={self.beta} no vector agrees with the links so far and says anything: "
                f"the largest eigenvalue of their matrix is {most:.3g}.",
                "Give a smaller beta, or beta='auto'.",
                parameter="beta",
                value=self.beta,
            )
        beta = max(found, key=lambda b: (_agreement(found[b][1], closed), -b))
        points, labels = found[beta]
        return Fitted(labels, None, {"beta_": beta, "embedding_": points.astype(data.dtype)})

    def _predict(self, data: Array) -> Array:
        return neighbours_vote(data, self._fit_X, self.labels_, _SCALE_ROWS)


def _graph(X: Array, closed: ClosedLinks, gamma: float | None) -> _Graph:
    """Similarities and links of all pairs, normalised."""
    n = len(X)
    similar = squareform(pdist(X, "sqeuclidean"))
    if gamma is None:
        scale = np.sqrt(np.partition(similar, min(_SCALE_ROWS, n - 1), axis=1))
        scale = scale[:, min(_SCALE_ROWS, n - 1)]
        scale = np.maximum(scale, _TRIVIAL * max(float(scale.max()), np.finfo(float).tiny))
        similar /= scale[:, None]
        similar /= scale
    else:
        similar *= gamma
    similar = np.exp(-similar)
    np.fill_diagonal(similar, 0.0)
    degree = similar.sum(axis=1)
    # All rows are a little similar where one is far from all; a graph of one row has no degree.
    degree = np.maximum(degree, _LEAST_DEGREE * degree.mean()) if degree.any() else np.ones(n)
    root = 1.0 / np.sqrt(degree)
    laplacian = -root[:, None] * similar * root
    laplacian[np.diag_indices(n)] += 1.0
    return _Graph(laplacian, root[:, None] * _constraints(closed) * root, root)


def _constraints(closed: ClosedLinks) -> Array:
    """Confidences of linked pairs, those of cannot-links negative; contradictions raise."""
    links = closed.links
    closed.closure  # noqa: B018 (raises)
    matrix = np.zeros((closed.n_samples, closed.n_samples))
    for pairs, value in (
        (links.must, links.must_confidence),
        (links.cannot, -links.cannot_confidence),
    ):
        matrix[pairs[:, 0], pairs[:, 1]] = matrix[pairs[:, 1], pairs[:, 0]] = value
    return matrix


def _thresholds(graph: _Graph, k: int, beta: Any) -> list[float]:
    """Thresholds to try; without links all are the same."""
    if not graph.constraints.any():
        return [-1.0]
    if not isinstance(beta, str):
        return [float(beta)]
    n = len(graph.constraints)
    values = eigh(graph.constraints, eigvals_only=True)
    kth = float(values[n - k] + values[max(n - k - 1, 0)]) / 2.0
    least = min(float(values[0]), -np.finfo(float).tiny)
    return [kth] if beta == "kth" else [kth, kth / 2.0, 0.0, _BELOW * least]


def _coordinates(graph: _Graph, beta: float, k: int) -> Array | None:
    """Weighted coordinates of the rows, or None where no feasible vector tells anything."""
    n = len(graph.scale)
    if k == 1:
        return np.zeros((n, 1))
    one = np.eye(n)
    most = [max(n - _LOOKED_AT * k, 0), n - 1]
    agreed = graph.constraints - beta * one
    values, vectors = eigh(agreed, graph.laplacian + _RIDGE * one, subset_by_index=most)
    vectors = vectors[:, values > 0.0]
    vectors = vectors / np.linalg.norm(vectors, axis=0)
    rows = graph.scale[:, None] * vectors
    centred = rows - rows.mean(axis=0)
    telling = np.linalg.norm(centred, axis=0) > _TRIVIAL * np.linalg.norm(rows, axis=0)
    cost = (vectors * (graph.laplacian @ vectors)).sum(axis=0)
    order = np.argsort(np.where(telling, cost, np.inf), kind="stable")
    chosen = order[: min(k - 1, int(telling.sum()))]
    if not len(chosen):
        return None
    return np.asarray(
        rows[:, chosen] * (1.0 - cost[chosen]) / np.linalg.norm(1.0 / graph.scale) * n
    )


def _k_means(points: Array, k: int, n_init: int, seed: int) -> Array:
    """Cluster; fewer different points than clusters are no matter of concern here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return dense(KMeans(k, n_init=n_init, random_state=seed).fit_predict(points))


def _agreement(labels: Array, closed: ClosedLinks) -> int:
    """Count the links that hold, less those that do not."""
    report = link_satisfaction(labels, closed.links)
    return len(closed) - 2 * (len(report.violated_must) + len(report.violated_cannot))
