"""The graph of neighbours: smoothed rows and diffusion coordinates, for few columns or thousands.

Distances between far rows say little in many columns; who is near whom still does. Rows move here
in coordinates that only nearness makes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from linkshift._core.arrays import Array, first_of_equal_rows
from linkshift._core.threads import one_blas_thread
from linkshift.shift.neighbours import nearest_neighbours

__all__ = [
    "FEW",
    "N_AXES",
    "GraphSpace",
    "NeighbourGraph",
    "Spectrum",
    "graph_space",
    "mean_of_neighbours",
    "neighbour_graph",
    "symmetric_walk",
]

FEW = 5  # distinct rows from which there are neighbourhoods; of fewer, each is a place of its own
N_AXES = 40  # eigenvectors that diffusion coordinates have
_LISTED = 20  # neighbours that are known of each row, beside those with an edge
_SCALE = 7  # the neighbour whose distance is a row's own scale (Zelnik-Manor and Perona)
_SMOOTHED = 15  # neighbours that a smoothed row is the mean of, beside itself
_FAINT = 1e-4  # least weight of an edge: none is lost to underflow
_NO_AXIS = 1e-12  # eigenvalues up to this are zero but for rounding
_DENSE = 600  # rows up to which all eigenvectors at once are as quick


@dataclass(frozen=True, eq=False)
class NeighbourGraph:
    """Rows, their neighbours, and edges between them."""

    neighbours: Array  # (n, k): the nearest rows of each row, the nearest first
    distances: Array  # (n, k)
    weights: sparse.csr_matrix  # (n, n): symmetric, between 0 and 1

    def spectrum(self) -> Spectrum:
        """Eigenvectors of the random walk along the edges."""
        return spectrum(self.weights)


def neighbour_graph(X: Array, n_neighbors: int = 10) -> NeighbourGraph:
    r"""Join each row to its nearest neighbours, by weights that know the scale at either end.

    .. math:: w_{ij} = \exp\left(-\frac{\|x_i - x_j\|^2}{s_i s_j}\right)

    with :math:`s_i` the distance to the seventh neighbour, and at least a tenth of its median over
    all rows, so that twins stay joined to others (Zelnik-Manor and Perona, "Self-tuning spectral
    clustering", 2004). An edge is there when either row is among the other's neighbours.
    """
    n = X.shape[0]
    distances, neighbours = nearest_neighbours(X, min(max(_LISTED, n_neighbors), n - 1))
    k = min(n_neighbors, n - 1)
    near, rows = distances[:, :k], neighbours[:, :k]
    scale = _own_scale(near)
    weight = _edge_weights(near, scale, scale[rows])
    start = np.arange(0, n * k + 1, k)
    one_way = sparse.csr_matrix((weight.ravel(), rows.ravel(), start), shape=(n, n))
    return NeighbourGraph(neighbours, distances, one_way.maximum(one_way.T).tocsr())


def _own_scale(near: Array) -> Array:
    """Distance to the seventh neighbour, and at least a tenth of its median over all rows."""
    scale = near[:, min(_SCALE, near.shape[1]) - 1]
    apart = scale[scale > 0]
    least: Array = np.maximum(scale, 0.1 * np.median(apart) if apart.size else 1.0)
    return least


def _edge_weights(near: Array, scale: Array, scale_there: Array) -> Array:
    """Weights of edges by their lengths and the scales at both ends; squares do not overflow."""
    square = (near / scale[:, None]) * (near / scale_there)
    weight: Array = np.maximum(np.exp(-square), _FAINT)
    return weight


def mean_of_neighbours(X: Array, graph: NeighbourGraph) -> Array:
    """Smoothed rows: each the mean of itself and its 15 nearest neighbours."""
    return _mean_with(X.astype(np.float64), X, graph.neighbours[:, :_SMOOTHED])


def _mean_with(X: Array, others: Array, near: Array) -> Array:
    """Mean of each row and some other rows."""
    total = X
    for column in near.T:
        total = total + others[column]
    return total / (near.shape[1] + 1)


class Spectrum(NamedTuple):
    """Leading eigenpairs of the symmetric form of the random walk."""

    values: Array  # (m,): the largest first, 1 for each connected part
    vectors: Array  # (n, m): orthonormal
    degree: Array  # (n,): weight at each row

    def diffusion(self, time: int) -> Array:
        r"""Coordinates in which Euclidean distance is diffusion distance after some steps.

        .. math:: \Psi_t(i) = \left(\lambda_l^t \, v_{il} \sqrt{D / d_i}\right)_l

        with :math:`d_i` the degree and :math:`D` their sum (Coifman and Lafon, "Diffusion maps",
        2006): rows are near when walks from both are in the same places after ``time`` steps.
        """
        spread = np.sqrt(self.degree.sum() / self.degree)[:, None]
        return self.vectors * spread * np.clip(self.values, 0.0, 1.0) ** time


def spectrum(weights: sparse.csr_matrix, n_axes: int = N_AXES) -> Spectrum:
    """Eigenpairs of a symmetric graph's random walk; the same for any number of threads."""
    n = weights.shape[0]
    walk, degree = symmetric_walk(weights)
    with one_blas_thread():
        if n > max(_DENSE, 2 * n_axes):
            try:
                values, vectors = eigsh(walk, n_axes, which="LA", v0=np.ones(n), tol=1e-6)
            except ArpackNoConvergence:
                values, vectors = _all_at_once(walk, n_axes)
        else:
            values, vectors = _all_at_once(walk, n_axes)
    order = np.argsort(-values, kind="stable")
    return Spectrum(values[order], vectors[:, order], degree)


def symmetric_walk(weights: sparse.csr_matrix) -> tuple[sparse.csr_matrix, Array]:
    r"""Give the symmetric form :math:`D^{-1/2} W D^{-1/2}` of the random walk, and the degrees."""
    degree = np.asarray(weights.sum(axis=1)).ravel()
    root = sparse.diags(1 / np.sqrt(degree))
    return (root @ weights @ root).tocsr(), degree


def _all_at_once(walk: sparse.csr_matrix, n_axes: int) -> tuple[Array, Array]:
    n = walk.shape[0]
    values, vectors = linalg.eigh(walk.toarray(), subset_by_index=[max(n - n_axes, 0), n - 1])
    return values, vectors


# The graph as a space --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GraphSpace:
    """Coordinates of distinct rows that their neighbourhoods make, and the way there for new rows.

    See `graph_space`.
    """

    rows: Array  # (n, d): distinct
    coordinates: Array  # (n, m)
    n_edges: int  # neighbours that a new row has an edge to, or is averaged with
    scale: Array | None = None  # (n,): own scales of rows; none where rows are smoothed
    values: Array | None = None  # (m,): eigenvalue of each axis; none where rows are smoothed

    def transform(self, X: Array) -> Array:
        r"""Coordinates of rows; a row equal to one of the graph has that one's.

        Another row is joined to its nearest rows of the graph by the weights that edges have, and
        a step of the walk from it leads to j with probability :math:`p(x, j)`. In diffusion
        coordinates it is where the eigenvectors go on to (the extension by Nystroem)

        .. math:: \Psi(x) = \left(\frac{1}{\lambda_l} \sum_j p(x, j) \, \Psi_l(j)\right)_l,
                  \qquad p(x, j) = \frac{w(x, j)}{\sum_i w(x, i)}

        (Bengio et al., "Out-of-sample extensions for LLE, Isomap, MDS, eigenmaps, and spectral
        clustering", 2003), which is true of the rows of the graph; axes without a positive
        eigenvalue are zero for all. Among smoothed rows it is the mean of itself and its nearest
        rows.
        """
        X, n = np.asarray(X, dtype=np.float64), len(self.rows)
        first = first_of_equal_rows(np.concatenate([self.rows, X]))[n:]
        new = np.flatnonzero(first >= n)
        first[new] = 0
        found: Array = self.coordinates[first]
        if new.size:
            found[new] = self._of_new_rows(X[new])
        return found

    def _of_new_rows(self, X: Array) -> Array:
        near, rows = nearest_neighbours(self.rows, self.n_edges, X)
        if len(self.rows) < FEW:
            nearest: Array = self.coordinates[rows[:, 0]]
            return nearest
        if self.scale is None or self.values is None:
            return _mean_with(X, self.rows, rows)
        own = near[:, min(_SCALE, self.n_edges) - 1]
        # With distinct rows, a tenth of the median is what no scale is below, lifted or not.
        own = np.maximum(own, 0.1 * np.median(self.scale))
        weight = _edge_weights(near, own, self.scale[rows])
        step = weight / weight.sum(axis=1, keepdims=True)
        total = np.zeros((len(X), len(self.values)))
        for share, column in zip(step.T, rows.T, strict=True):
            total += share[:, None] * self.coordinates[column]
        return total / np.where(self.values > _NO_AXIS, self.values, np.inf)


def graph_space(rows: Array, n_edges: int, time: int | None) -> GraphSpace:
    """Diffusion coordinates of distinct rows after ``time`` steps; None: smoothed rows.

    Fewer than five rows have no neighbourhoods: each is a corner of a simplex, and new rows are at
    that of the nearest.
    """
    rows = np.asarray(rows, dtype=np.float64)
    n = len(rows)
    if n < FEW:
        return GraphSpace(rows, np.eye(n), 1)
    graph = neighbour_graph(rows, n_edges)
    if time is None:
        return GraphSpace(rows, mean_of_neighbours(rows, graph), min(_SMOOTHED, n - 1))
    n_edges = min(n_edges, n - 1)
    found, scale = graph.spectrum(), _own_scale(graph.distances[:, :n_edges])
    return GraphSpace(rows, found.diffusion(time), n_edges, scale, found.values)
