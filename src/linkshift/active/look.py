r"""What no answer changes: rows in small pieces, and what tells whether two rows belong together.

Of two rows a and b there are 24 features:

* from the trees of Ward over smoothed rows and over diffusion coordinates after 4, 16 and 64 steps:
  the logarithm of the number of clusters when a and b come together, in units of its spread over
  pairs of pieces, and as it is (less :math:`\log 15`, at most :math:`\log 200 / 15`);
* in the same four spaces: :math:`-\log \|a - b\|`;
* the share of partitions that have both in one cluster, of the hills among rows, those among
  smoothed rows, and the communities of the graph (the families of the consensus); the same again
  where there are fewer than eight columns;
* the logarithm of how much of a walk with restarts from one is at the other, for two lengths;
* the share of all partitions that have both in one cluster, weighted by
  :math:`e^{(q - \max q) / T}` with q the quality that the consensus gives them, T = 1 and 4;
* one, and one more where there are fewer than eight columns.

Features of the first, second, third and fourth kind are in units of their spread about their mean
over pairs of pieces.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.cluster.hierarchy import fcluster

from linkshift._core.arrays import Array
from linkshift._core.labels import dense
from linkshift._core.threads import one_blas_thread
from linkshift.active.trees import Meeting, meeting
from linkshift.consensus.candidates import TIMES, candidates
from linkshift.consensus.choosing import agreement, quality
from linkshift.consensus.small import tree_of
from linkshift.spaces.graph import (
    FEW,
    mean_of_neighbours,
    neighbour_graph,
    symmetric_walk,
)

__all__ = ["MOST_PIECES", "N_FEATURES", "Look", "Sight", "look_at"]

MOST_PIECES = 400
N_FEATURES = 24
_N_PLAIN, _N_SCALED = 15, 13
_FEW_COLUMNS = 8  # below which hills and communities say something else
_WALKS = ((0.8, 20), (0.97, 60))  # the chance to go on, and steps
_TEMPERATURES = (1.0, 4.0)
_HILLS_AND_COMMUNITIES = (4, 5, 6)  # families of the consensus
_USUAL, _MOST_CLUSTERS = 15.0, 200.0
_FAINT = 1e-6
_LEAST_WEIGHT = 1e-4  # of a partition that counts
_ROUNDING = 64 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Sight:
    """Ways of looking at rows, and what each tells of pairs."""

    spaces: tuple[Array, ...]  # of rows: smoothed, diffusion
    unit: tuple[Array, ...]  # a small distance of each space
    trees: tuple[Meeting, ...]
    partitions: Array  # (c, n)
    shares: Array  # (5, c): of each partition in a feature
    weights: sparse.csr_matrix  # of the graph of neighbours
    best: Array  # (n,): the partition of the highest quality

    @cached_property
    def hearing(self) -> sparse.csr_matrix:
        r"""Rows that hear their neighbours: :math:`D^{-1} W`."""
        degree = np.asarray(self.weights.sum(axis=1)).ravel()
        return (sparse.diags(1 / degree) @ self.weights).tocsr()

    @cached_property
    def _walk(self) -> tuple[sparse.csr_matrix, Array]:
        return symmetric_walk(self.weights)

    def plain(self, a: Array, b: Array) -> Array:
        """Features before they have units: trees, distances, shares, walks, qualities."""
        found = np.empty((_N_PLAIN, len(a), len(b)), dtype=np.float32)
        with one_blas_thread():
            for i, tree in enumerate(self.trees):
                found[i] = np.log(tree.clusters(a[:, None], b[None]))
            for i, (space, unit) in enumerate(zip(self.spaces, self.unit, strict=True)):
                found[4 + i] = -np.log(_distances(space[a], space[b]) + unit)
            for i, shares in zip((8, 9, 10, 13, 14), self.shares, strict=True):
                found[i] = _together(self.partitions, shares, a, b)
            for i, (on, steps) in enumerate(_WALKS):
                found[11 + i] = self._walks(a, b, on, steps)
        return found

    def _walks(self, a: Array, b: Array, on: float, steps: int) -> Array:
        """Log of how much of a walk from the one is at the other, beside what chance puts there."""
        flip = len(b) > len(a)
        start, end = (a, b) if flip else (b, a)
        walk, degree = self._walk
        step, each = (on * walk).astype(np.float32), np.arange(len(start))
        now = np.zeros((len(degree), len(start)), dtype=np.float32)
        now[start, each] = 1 - on
        for _ in range(steps):
            now = step @ now
            now[start, each] += 1 - on
        root = np.sqrt(degree)
        share = now[end] / (root[end][:, None] * root[start][None]) * degree.sum()
        found: Array = np.log((share.T if flip else share) + _FAINT)
        return found


@dataclass(frozen=True, eq=False)
class Look:
    """Rows in pieces, with features of all pairs of pieces. See `look_at`."""

    sight: Sight | None  # none of fewer than five rows: nothing tells pairs apart
    few_columns: bool
    piece: Array  # (n,): of each row
    row: Array  # (m,): the row at the heart of each piece
    size: Array  # (m,)
    middle: Array  # (13,): of features over pairs of pieces
    spread: Array  # (13,)
    features: Array  # (24, m, m): of pairs of hearts

    def __len__(self) -> int:
        """Count the pieces."""
        return len(self.row)

    def of_pairs(self, a: Array, b: Array) -> Array:
        """Features of every row of a with every row of b: (24, len(a), len(b))."""
        plain = np.zeros((_N_PLAIN, len(a), len(b)), dtype=np.float32)
        if self.sight is not None:
            plain = self.sight.plain(a, b)
        return _finished(plain, self.middle, self.spread, self.few_columns)


def look_at(X: Array, *, n_threads: int = 1) -> Look:
    """Look at distinct rows: their graph, spaces, trees, partitions and pieces.

    Pieces are the clusters of Ward's tree in diffusion coordinates after four steps, 400 at most;
    the row nearest to the mean of a piece is its heart.
    """
    X = np.asarray(X, dtype=np.float64)
    n, few_columns = X.shape[0], X.shape[1] < _FEW_COLUMNS
    piece, row, size = np.arange(n), np.arange(n), np.ones(n)
    sight, plain = None, np.zeros((_N_PLAIN, n, n), dtype=np.float32)
    if n >= FEW:
        graph = neighbour_graph(X)
        axes, smooth = graph.spectrum(), mean_of_neighbours(X - X.mean(axis=0), graph)
        spaces = (smooth, *(axes.diffusion(time) for time in TIMES))
        found = candidates(X, graph, n_threads=n_threads)
        worth = quality(found, graph.weights, agreement(found), X.shape[1])
        with one_blas_thread():
            trees = [tree_of(space, "ward") for space in spaces]
        piece = fcluster(trees[1], min(MOST_PIECES, n), "maxclust") - 1
        piece = dense(piece.astype(np.int64))
        row, size = _hearts(spaces[1], piece)
        sight = Sight(
            spaces,
            tuple(_small(space[row]) for space in spaces),
            tuple(meeting(tree) for tree in trees),
            found.labels,
            _shares(found.family, worth),
            graph.weights,
            found.labels[int(np.argmax(worth))] if len(worth) else np.zeros(n, dtype=np.int64),
        )
        plain = sight.plain(row, row)
    pairs = plain[:_N_SCALED, *np.triu_indices(len(row), 1)].astype(np.float64)
    middle, spread = (
        (pairs.mean(axis=1), pairs.std(axis=1)) if pairs.size else np.zeros((2, _N_SCALED))
    )
    spread = np.where(spread > 0, spread, 1.0)
    features = _finished(plain, middle, spread, few_columns)
    return Look(sight, few_columns, piece, row, size, middle, spread, features)


def _finished(plain: Array, middle: Array, spread: Array, few_columns: bool) -> Array:
    """Bring features to their units, and add those that are made of others."""
    out = np.empty((N_FEATURES, *plain.shape[1:]), dtype=np.float32)
    scaled = (plain[:_N_SCALED] - middle[:, None, None]) / spread[:, None, None]
    out[:13], out[13:15] = scaled, plain[13:15]
    out[15:19] = np.minimum(plain[:4], np.log(_MOST_CLUSTERS)) - np.log(_USUAL)
    out[19:22] = scaled[8:11] * few_columns
    out[22], out[23] = 1.0, float(few_columns)
    return out


def _hearts(points: Array, piece: Array) -> tuple[Array, Array]:
    """Find the row nearest to the mean of each piece, the first of equals; and sizes."""
    m = int(piece.max()) + 1
    size = np.bincount(piece, minlength=m)
    member = sparse.csr_matrix((1.0 / size[piece], (piece, np.arange(len(piece)))), (m, len(piece)))
    away = ((points - (member @ points)[piece]) ** 2).sum(axis=1)
    order = np.lexsort((np.arange(len(piece)), away, piece))
    return order[np.concatenate([[0], np.cumsum(size)[:-1]])], size.astype(np.float64)


def _distances(a: Array, b: Array) -> Array:
    """Give distances of points about the origin; what rounding makes of none is none."""
    sizes = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)[None]
    square = sizes - 2 * (a @ b.T)
    found: Array = np.sqrt(np.where(square > _ROUNDING * sizes, square, 0.0))
    return found


def _small(points: Array) -> Array:
    """Give a distance that is nearly none: rows in one place are not infinitely near."""
    away = _distances(points, points)
    return np.asarray(1e-3 * np.median(away) + 1e-3 * away.mean() + np.finfo(np.float32).tiny)


def _together(partitions: Array, share: Array, a: Array, b: Array) -> Array:
    found = np.zeros((len(a), len(b)))
    for labels, part in zip(partitions, share, strict=True):
        if part > 0:
            found += part * (labels[a][:, None] == labels[b][None])
    return found


def _shares(family: Array, worth: Array) -> Array:
    """Of each partition in each feature; families without a partition say nothing."""
    shares = []
    for number in _HILLS_AND_COMMUNITIES:
        there = family == number
        shares.append(there / max(there.sum(), 1))
    for temperature in _TEMPERATURES:
        weight = np.exp((worth - worth.max()) / temperature) if len(worth) else np.zeros(0)
        weight = np.where(weight < _LEAST_WEIGHT * weight.sum(), 0.0, weight)
        shares.append(weight / max(weight.sum(), np.finfo(float).tiny))
    return np.array(shares).reshape(5, -1)
