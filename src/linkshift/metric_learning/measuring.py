"""Distances by a learned metric, and votes of the nearest rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from linkshift._core.arrays import Array
from linkshift.metric_learning.embedding import Embedding

_CHUNK = 1 << 22  # numbers held at once
_VOTERS = 3


@dataclass(frozen=True, eq=False)
class GlobalMetric:
    """The same weights of bases everywhere; ``components`` is a root of the matrix."""

    centre: Array
    bases_weights: Array
    components: Array

    @property
    def n_bases(self) -> int:
        """Number of bases."""
        return self.bases_weights.size

    def weights(self, data: Array) -> Array:
        """Weights of the bases at each row."""
        return np.repeat(self.bases_weights[None], data.shape[0], axis=0)

    def project(self, data: Array) -> Array:
        """Rows along what distances are computed from."""
        return (data - self.centre) @ self.components.T

    def squared(self, start: Array, ends: Array) -> Array:
        """Squared distances of rows to rows that are projected already."""
        return np.asarray(euclidean_distances(self.project(start), ends, squared=True))


@dataclass(frozen=True, eq=False)
class LocalMetric:
    """Weights of bases that follow the place; distances are by the metric where they start."""

    centre: Array
    bases: Array
    coefficients: Array
    embedding: Embedding

    @property
    def n_bases(self) -> int:
        """Number of bases."""
        return int(self.bases.shape[0])

    def weights(self, data: Array) -> Array:
        """Weights of the bases at each row."""
        Z = self.embedding.transform(data - self.centre)
        return (Z @ self.coefficients[:, :-1].T + self.coefficients[:, -1]) ** 2

    def project(self, data: Array) -> Array:
        """Rows along what distances are computed from."""
        return (data - self.centre) @ self.bases.T

    def squared(self, start: Array, ends: Array) -> Array:
        """Squared distances of rows to rows that are projected already."""
        starts, weights = self.project(start), self.weights(start)
        squared = weights @ (ends * ends).T
        squared -= 2.0 * (weights * starts) @ ends.T
        squared += np.einsum("nk,nk,nk->n", weights, starts, starts)[:, None]
        return np.maximum(squared, 0.0)


def blocks(
    metric: GlobalMetric | LocalMetric, start: Array, end: Array
) -> Iterator[tuple[slice, Array]]:
    """Squared distances from rows to rows, some rows of ``start`` at a time, and which."""
    rows = max(1, _CHUNK // max(end.shape[0], metric.n_bases, 1))
    ends = metric.project(end)
    for first in range(0, start.shape[0], rows):
        part = slice(first, first + rows)
        yield part, metric.squared(start[part], ends)


def votes(
    metric: GlobalMetric | LocalMetric, data: Array, training: Array, classes: Array
) -> Array:
    """Class, by number, of most of the nearest training rows."""
    winners = np.empty(data.shape[0], dtype=np.intp)
    for rows, squared in blocks(metric, data, training):
        near = np.argsort(squared, axis=1, kind="stable")[:, :_VOTERS]
        counts = np.zeros((near.shape[0], int(classes.max()) + 1))
        for place in range(near.shape[1]):
            # The nearest has a little more to say: it decides where all differ.
            share = 1.5 if place == 0 else 1.0
            np.add.at(counts, (np.arange(len(near)), classes[near[:, place]]), share)
        winners[rows] = counts.argmax(axis=1)
    return winners


def root(rows: Array) -> Array:
    """Make the fewest rows L with the same L^T L, the longest first."""
    _, singular, right = np.linalg.svd(rows, full_matrices=False)
    rank = int((singular > singular[0] * max(rows.shape) * np.finfo(np.float64).eps).sum())
    kept = singular[: max(rank, 1), None] * right[: max(rank, 1)]
    sign = np.sign(right[np.arange(len(kept)), np.argmax(np.abs(right[: len(kept)]), axis=1)])
    return kept * sign[:, None]
