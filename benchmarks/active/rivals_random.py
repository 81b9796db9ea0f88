"""Pairs at random, for the methods that take any links."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.active.oracle import Oracle
from benchmarks.auto.draws import draw_pairs
from benchmarks.auto.rivals import k_means
from benchmarks.harness import Array
from linkshift import Links, cluster, refine


def random_auto(
    X: Array, oracle: Oracle, checkpoints: Sequence[int], seed: int
) -> dict[int, Array]:
    """Ask about pairs at random, and let `linkshift.cluster` choose."""

    def labels(links: Links) -> Array:
        return cluster(X, links if len(links) else None, random_state=seed).labels

    return _at_random(labels, X, oracle, checkpoints, seed)


def random_k_means(
    X: Array, oracle: Oracle, checkpoints: Sequence[int], seed: int
) -> dict[int, Array]:
    """Ask about pairs at random; k-means, told the number of classes, is refined by them."""
    base = k_means(X, oracle.n_classes, seed)

    def labels(links: Links) -> Array:
        return refine(X, base, links) if len(links) else base

    return _at_random(labels, X, oracle, checkpoints, seed)


def _at_random(
    labels: Callable[[Links], Array],
    X: Array,
    oracle: Oracle,
    checkpoints: Sequence[int],
    seed: int,
) -> dict[int, Array]:
    pairs = draw_pairs(len(X), max(checkpoints), seed)
    answers = [oracle(a, b) for a, b in pairs]
    found = {}
    for count in checkpoints:
        found[count] = labels(links_of(pairs[:count], answers[:count], len(X)))
    return found


def links_of(pairs: Array, answers: Sequence[bool | None], n_samples: int) -> Links:
    """Make links of answers; what is unknown makes none."""
    known = np.array([answer is not None for answer in answers], dtype=bool)
    same = np.array([answer is True for answer in answers], dtype=bool)
    rows = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    return Links(must=rows[same], cannot=rows[known & ~same], n_samples=n_samples)
