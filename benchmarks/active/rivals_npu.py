"""NPU: asked about is the row whose neighbourhood is least clear for what it costs to learn it.

S. Xiong, J. Azimi, X. Z. Fern, "Active learning of constraints for semi-supervised clustering",
IEEE TKDE 26 (1), 2014. As published it is told the number of clusters and clusters by MPCKMeans,
here with one metric for all clusters, as one for each takes minutes where columns are many;
`npu_refined` is told nothing, has as many clusters as there are neighbourhoods, and clusters by
k-means from their means and `linkshift.refine`. It clusters anew after every row that is
settled; the published one, which is slow, when answers are a tenth more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier

from benchmarks.active.neighbourhoods import Asking, Neighbourhoods, Spent
from benchmarks.active.oracle import Oracle
from benchmarks.harness import Array
from linkshift import Links, refine
from linkshift.baselines import MPCKMeans

TREES = 50
GROWTH = 1.1  # of the answers, after which MPCKMeans is fitted again


def npu(X: Array, oracle: Oracle, checkpoints: Sequence[int], seed: int) -> dict[int, Array]:
    """Run it as published, told the number of clusters."""

    def labels(links: Links, _: Neighbourhoods) -> Array:
        model = MPCKMeans(oracle.n_classes, metric="single", n_init=1, random_state=seed)
        found: Array = model.fit_predict(X, links=links if len(links) else None)
        return found

    return _ask(labels, X, oracle, checkpoints, seed, growth=GROWTH)


def npu_refined(
    X: Array, oracle: Oracle, checkpoints: Sequence[int], seed: int
) -> dict[int, Array]:
    """Run it on k-means that is refined, told nothing."""

    def labels(links: Links, known: Neighbourhoods) -> Array:
        if len(known.groups) == 1:
            return np.zeros(len(X), dtype=np.int64)
        centres = known.centres(X)
        base: Array = KMeans(len(centres), init=centres, n_init=1).fit_predict(X)
        for place, group in enumerate(known.groups):
            base[group] = place  # else a must-link between two clusters would make them one
        most = int(np.clip(len(X) / len(centres) / 3, 5, 20))  # smaller clusters, fewer voters
        return refine(X, base, links, n_neighbors=most)

    return _ask(labels, X, oracle, checkpoints, seed)


def _ask(
    labels: Callable[[Links, Neighbourhoods], Array],
    X: Array,
    oracle: Oracle,
    checkpoints: Sequence[int],
    seed: int,
    growth: float = 1.0,
) -> dict[int, Array]:
    rng = np.random.default_rng(seed)
    known = Neighbourhoods(int(rng.integers(len(X))), len(X))
    ask = Asking(oracle, checkpoints, lambda links: labels(links, known))
    current, of = labels(ask.links, known), 0  # how many answers it is made of
    with suppress(Spent):
        while known.free.any():
            if ask.count > of * growth:
                current, of = labels(ask.links, known), ask.count
            row, order = _most_informative(X, current, known, rng)
            known.settle(row, order, ask)
    return ask.finish()


def _most_informative(
    X: Array, labels: Array, known: Neighbourhoods, rng: np.random.Generator
) -> tuple[int, list[int]]:
    """Find the row to ask about, and the neighbourhoods by how probably they are its own."""
    rows = np.flatnonzero(known.free)
    chance = _memberships(X, labels, known, rows, int(rng.integers(2**31)))
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.where(chance > 0, chance * np.log2(chance), 0.0).sum(axis=1)
    ranked = -np.sort(-chance, axis=1)
    questions = ranked @ np.arange(1, chance.shape[1] + 1)  # until the right one is found
    gain = entropy / questions
    best = rng.choice(np.flatnonzero(gain >= gain.max() - 1e-12))
    order = np.argsort(-chance[best], kind="stable")
    return int(rows[best]), [int(group) for group in order]


def _memberships(X: Array, labels: Array, known: Neighbourhoods, rows: Array, seed: int) -> Array:
    """How probably rows are of each neighbourhood, (rows, neighbourhoods).

    Rows are alike as often as they end in the same leaf of a forest that has learned the clusters.
    """
    forest = RandomForestClassifier(TREES, random_state=seed, n_jobs=1)
    leaves = forest.fit(X, labels).apply(X)
    likeness = np.empty((len(rows), len(known.groups)))
    for place, group in enumerate(known.groups):
        same = [(leaves[rows] == leaves[member]).mean(axis=1) for member in group]
        likeness[:, place] = np.mean(same, axis=0)
    total = likeness.sum(axis=1, keepdims=True)
    even = np.full_like(likeness, 1.0 / likeness.shape[1])
    return np.divide(likeness, total, out=even, where=total > 0)
