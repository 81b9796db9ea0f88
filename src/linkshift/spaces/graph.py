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

from linkshift._core.arrays import Array
from linkshift._core.threads import one_blas_thread
from linkshift.shift.neighbours import nearest_neighbours

__all__ = ["N_AXES", "NeighbourGraph", "Spectrum", "mean_of_neighbours", "neighbour_graph"]

N_AXES = 40  # eigenvectors that diffusion coordinates have
_LISTED = 20  # neighbours that are known of each row, beside those with an edge
_SCALE = 7  # the neighbour whose distance is a row's own scale (Zelnik-Manor and Perona)
_SMOOTHED = 15  # neighbours that a smoothed row is the mean of, beside itself
_FAINT = 1e-4  # least weight of an edge: none is lost to underflow
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
    scale = near[:, min(_SCALE, k) - 1]
    apart = scale[scale > 0]
    scale = np.maximum(scale, 0.1 * np.median(apart) if apart.size else 1.0)
    weight = np.maximum(np.exp(-(near**2) / (scale[:, None] * scale[rows])), _FAINT)
    start = np.arange(0, n * k + 1, k)
    one_way = sparse.csr_matrix((weight.ravel(), rows.ravel(), start), shape=(n, n))
    return NeighbourGraph(neighbours, distances, one_way.maximum(one_way.T).tocsr())


def mean_of_neighbours(X: Array, graph: NeighbourGraph) -> Array:
    """Smoothed rows: each the mean of itself and its 15 nearest neighbours."""
    near = graph.neighbours[:, :_SMOOTHED]
    total = X.astype(np.float64)
    for column in near.T:
        total = total + X[column]
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
    degree = np.asarray(weights.sum(axis=1)).ravel()
    root = sparse.diags(1 / np.sqrt(degree))
    walk = (root @ weights @ root).tocsr()
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


def _all_at_once(walk: sparse.csr_matrix, n_axes: int) -> tuple[Array, Array]:
    n = walk.shape[0]
    values, vectors = linalg.eigh(walk.toarray(), subset_by_index=[max(n - n_axes, 0), n - 1])
    return values, vectors
