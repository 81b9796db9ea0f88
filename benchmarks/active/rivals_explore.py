"""Explore and consolidate, then PCKMeans: told the number of clusters.

S. Basu, A. Banerjee, R. J. Mooney, "Active semi-supervision for pairwise constrained clustering",
SDM 2004.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from benchmarks.active.neighbourhoods import Asking, Neighbourhoods, Spent
from benchmarks.active.oracle import Oracle
from benchmarks.harness import Array
from linkshift import Links
from linkshift.baselines import PCKMeans

STARTS = 3


def explore(X: Array, oracle: Oracle, checkpoints: Sequence[int], seed: int) -> dict[int, Array]:
    """Find one row of each cluster, each far from those before; then add rows to them."""
    rng = np.random.default_rng(seed)
    known = Neighbourhoods(int(rng.integers(len(X))), len(X))

    def labels(links: Links) -> Array:
        model = PCKMeans(oracle.n_classes, n_init=STARTS, random_state=seed)
        found: Array = model.fit_predict(X, links=links if len(links) else None)
        return found

    ask = Asking(oracle, checkpoints, labels)
    with suppress(Spent):
        _explore(X, oracle.n_classes, known, ask)
        _consolidate(X, known, ask, rng)
    return ask.finish()


def _explore(X: Array, n_clusters: int, known: Neighbourhoods, ask: Asking) -> None:
    """Ask about the row that is farthest from all that are settled, until all groups are known."""
    nearest = np.linalg.norm(X - X[known.groups[0][0]], axis=1)
    while len(known.groups) < n_clusters and known.free.any():
        rows = np.flatnonzero(known.free)
        row = int(rows[np.argmax(nearest[rows])])
        known.settle(row, _nearest_first(X, row, known), ask)
        nearest = np.minimum(nearest, np.linalg.norm(X - X[row], axis=1))


def _consolidate(X: Array, known: Neighbourhoods, ask: Asking, rng: np.random.Generator) -> None:
    """Ask about rows at random."""
    while known.free.any():
        row = int(rng.choice(np.flatnonzero(known.free)))
        known.settle(row, _nearest_first(X, row, known), ask, may_found=False)


def _nearest_first(X: Array, row: int, known: Neighbourhoods) -> list[int]:
    distance = np.linalg.norm(known.centres(X) - X[row], axis=1)
    return [int(group) for group in np.argsort(distance, kind="stable")]
