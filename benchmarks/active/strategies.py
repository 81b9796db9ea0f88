"""Our own session, and pairs at random for the methods that take any links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.active.oracle import Bound, Oracle, Stopwatch
from benchmarks.auto.draws import draw_pairs
from benchmarks.auto.rivals import k_means
from benchmarks.harness import Array
from linkshift import Links, cluster, refine

#: ``run(X, oracle, checkpoints, seed)`` gives labels by the number of questions asked before.
Run = Callable[[Array, Oracle, Sequence[int], int], dict[int, Array]]


def session(X: Array, oracle: Oracle, checkpoints: Sequence[int], seed: int) -> dict[int, Array]:
    """Ask what `linkshift.Session` wants to know; labels are its own."""
    return _session(lambda model: np.array(model.labels_), X, oracle, checkpoints, seed)


def session_auto(
    X: Array, oracle: Oracle, checkpoints: Sequence[int], seed: int
) -> dict[int, Array]:
    """Ask the same, and let `linkshift.cluster` make labels of the links."""

    def labels(model: Any) -> Array:
        links = model.links if len(model.links) else None
        return cluster(X, links, random_state=seed).labels

    return _session(labels, X, oracle, checkpoints, seed)


def _session(
    labels: Callable[[Any], Array],
    X: Array,
    oracle: Oracle,
    checkpoints: Sequence[int],
    seed: int,
) -> dict[int, Array]:
    """Run a session; a question's seconds are those of an answer, the next question and labels."""
    new = import_module("linkshift.active").Session
    _compile()
    with Stopwatch() as clock:
        model = new(X, random_state=seed)
        question = model.ask()
    oracle.start = clock.seconds
    found: dict[int, Array] = {}
    for asked in range(max(checkpoints) + 1):
        if asked in checkpoints:
            found[asked] = labels(model)
            if asked:
                ari = model.estimate().ari
                oracle.estimates[asked] = Bound(float(ari.value), float(ari.low), float(ari.high))
        if question is None or asked == max(checkpoints):
            break
        answer = oracle(question.a, question.b)
        said = {True: "same", False: "different", None: "unknown"}[answer]
        with Stopwatch() as clock:
            model.answer(said)
            question = model.ask()
            _ = model.labels_
        oracle.seconds.append(clock.seconds)
    return found | {count: labels(model) for count in checkpoints if count not in found}


@lru_cache(maxsize=1)
def _compile() -> None:
    """Compile once in a process what a session compiles: that is no question's time."""
    y = np.arange(120) % 3
    X = y[:, None] + np.random.default_rng(0).normal(0, 0.2, (120, 4))
    model = import_module("linkshift.active").Session(X, random_state=0)
    model.run(Oracle(y), 8)
    _ = model.labels_, model.estimate()


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
