"""Candidates: partitions of many granularities from families that look at rows in different ways.

* compact clusters: Ward's trees of smoothed rows, and of diffusion coordinates at three times;
* hills of a density: modes on the graph of neighbours, the lower of two joined to the higher
  where the pass between them is hardly lower than itself, in rows and in smoothed rows;
* communities of the graph: modularity at many resolutions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from linkshift._core.arrays import Array, Progress
from linkshift._core.disjoint import roots
from linkshift._core.labels import dense
from linkshift._core.progress import tell
from linkshift._core.threads import one_blas_thread, threads
from linkshift.consensus._loops import climb_hills, louvain
from linkshift.consensus.small import tree_of
from linkshift.shift.neighbours import nearest_neighbours
from linkshift.spaces.graph import NeighbourGraph, mean_of_neighbours, spectrum

__all__ = ["Candidates", "candidates", "counts", "linked_candidates"]

TIMES = (4, 16, 64)  # steps of the random walk
RESOLUTIONS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0, 8.0, 14.0)
PROMINENCES = (0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0)
MOST_CLUSTERS = 300  # of a candidate: tables of pairs of candidates stay small
_LEAST_ROWS = 5  # of a hill


class Candidates(NamedTuple):
    """Partitions of the same rows, and the family that each is from."""

    labels: Array  # (c, n): from 0 without gaps
    family: Array  # (c,)

    @property
    def sizes(self) -> Array:
        """Number of clusters of each."""
        sizes: Array = self.labels.max(axis=1) + 1
        return sizes

    def __add__(self, other: Candidates) -> Candidates:  # type: ignore[override]
        """All partitions of both; their families stay apart."""
        later = other.family + self.family.max() + 1
        return Candidates(
            np.concatenate([self.labels, other.labels]), np.concatenate([self.family, later])
        )


def candidates(
    X: Array,
    graph: NeighbourGraph,
    *,
    also: int | None = None,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> Candidates:
    """All families, from the rows and their graph; ``also`` is a number of clusters to offer.

    ``progress`` is called with (families made, families).
    """
    smooth, axes, ks = mean_of_neighbours(X, graph), graph.spectrum(), counts(len(X), also)
    return _collect(
        [
            partial(ward_cuts, smooth, ks),
            *(partial(ward_cuts, axes.diffusion(time), ks) for time in TIMES),
            partial(hills, X, graph, 10),
            partial(hills, smooth, graph, 20),
            partial(communities, graph.weights),
        ],
        also,
        n_threads,
        progress,
    )


def linked_candidates(
    weights: sparse.csr_matrix,
    *,
    also: int | None = None,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> Candidates:
    """Families that need no more than the weights of a graph: one that links have bent."""
    axes, ks = spectrum(weights), counts(weights.shape[0], also)
    cuts = [partial(ward_cuts, axes.diffusion(time), ks) for time in TIMES]
    return _collect([*cuts, partial(communities, weights)], also, n_threads, progress)


def _collect(
    families: list[Callable[[], list[Array]]],
    also: int | None,
    n_threads: int,
    progress: Progress | None,
) -> Candidates:
    made: list[list[Array]] = [[] for _ in families]

    def fits(labels: Array) -> bool:
        k, most = int(labels.max()) + 1, most_clusters(len(labels))
        return k > 1 and (k <= most or k == also) and k <= MOST_CLUSTERS

    def make(number: int) -> None:
        made[number] = [one for one in families[number]() if fits(one)]

    with one_blas_thread(), threads(n_threads) as pool:
        told = partial(tell, progress, total=len(families))
        pool.map(make, range(len(families)), told=told)
    family = np.repeat(np.arange(len(made)), [len(some) for some in made])
    return Candidates(np.array([one for some in made for one in some], dtype=np.int64), family)


def counts(n: int, also: int | None = None) -> list[int]:
    """Numbers of clusters to cut trees into: each up to 12, then a quarter more each time."""
    found = list(range(2, 13))
    while found[-1] < min(n // 4, 160):
        found.append(int(np.ceil(1.25 * found[-1])))
    asked = {also} if also is not None and 2 <= also <= n else set()
    return sorted({k for k in found if k <= most_clusters(n)} | asked)


def most_clusters(n: int) -> int:
    """Half of the rows, rounded up: all families would agree on a cluster for each row."""
    return max((n + 1) // 2, 2)


def ward_cuts(points: Array, ks: list[int]) -> list[Array]:
    """Cut Ward's tree into so many clusters each time."""
    tree, n = tree_of(points, "ward"), len(points)
    member = np.arange(2 * n - 1)  # a row of each node
    for node, (left, _) in enumerate(tree[:, :2].astype(np.int64)):
        member[n + node] = member[left]
    ends = member[tree[:, :2].astype(np.int64)]
    found = []
    for k in ks:
        a, b = ends[: n - k].T
        joined = sparse.csr_matrix((np.ones(n - k), (a, b)), shape=(n, n))
        found.append(connected_components(joined, directed=False)[1])
    return found


def hills(points: Array, graph: NeighbourGraph, k: int) -> list[Array]:
    r"""Join hills of the density whose prominence is below each of some thresholds.

    The height is :math:`-\log r_k`, with :math:`r_k` the distance to the k-th neighbour, so that
    prominence is a ratio of distances, in any number of columns. Rows climb along the graph and
    along the ten nearest neighbours in these points (Koontz et al. 1976; joined as in Chazal et
    al., "Persistence-based clustering in Riemannian manifolds", 2013). Hills of fewer than five
    rows go to their neighbours.
    """
    n = len(points)
    distances, near = nearest_neighbours(points, min(k, n - 1))
    reach = distances[:, -1]
    height = -np.log(np.maximum(reach, 1e-3 * np.median(reach) + np.finfo(float).tiny))
    order = np.argsort(-height, kind="stable")
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    near = near[:, :10]
    start = np.arange(0, near.size + 1, near.shape[1])
    also = sparse.csr_matrix((np.ones(near.size), near.ravel(), start), shape=(n, n))
    edges = (also + also.T + graph.weights).tocsr()
    summit, lower, higher, prominence = climb_hills(
        order, rank, height, edges.indptr, edges.indices
    )
    found: list[Array] = []
    for threshold in PROMINENCES:
        into = np.arange(n)
        joins = prominence < threshold
        into[lower[joins]] = higher[joins]
        labels = _without_dust(dense(roots(into)[summit]), graph.neighbours)
        if not found or labels.max() != found[-1].max():
            found.append(labels)
    return found


def _without_dust(labels: Array, neighbours: Array) -> Array:
    """Rows of small clusters go with the nearest neighbour that is in a large one."""
    small = np.bincount(labels)[labels] < _LEAST_ROWS
    if small.all():
        return labels
    labels = labels.copy()
    while small.any():
        rows = np.flatnonzero(small)
        large = ~small[neighbours[rows]]
        found = large.any(axis=1)
        if not found.any():
            break
        rows, nearest = rows[found], large[found].argmax(axis=1)
        labels[rows] = labels[neighbours[rows, nearest]]
        small[rows] = False
    return dense(labels)


def communities(weights: sparse.csr_matrix) -> list[Array]:
    r"""Partitions of large modularity, at many resolutions.

    .. math:: Q_\gamma = \sum_c \left[\frac{w_{cc}}{D} - \gamma \left(\frac{d_c}{D}\right)^2\right]

    with :math:`w_{cc}` the weight inside and :math:`d_c` the degree of community c (Blondel et al.,
    "Fast unfolding of communities in large networks", 2008; Reichardt and Bornholdt 2006).
    """
    found = [louvain(weights.indptr, weights.indices, weights.data, g) for g in RESOLUTIONS]
    kept = [one for one, after in pairwise(found) if not np.array_equal(one, after)]
    return [*kept, found[-1]]
