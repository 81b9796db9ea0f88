"""Our own session, with labels of its own or of another method, with audits and without."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.active.oracle import Bound, Oracle, Stopwatch
from benchmarks.harness import Array
from linkshift import cluster

#: ``run(X, oracle, checkpoints, seed)`` gives labels by the number of questions asked before.
Run = Callable[[Array, Oracle, Sequence[int], int], dict[int, Array]]


def session(X: Array, oracle: Oracle, checkpoints: Sequence[int], seed: int) -> dict[int, Array]:
    """Ask what `linkshift.Session` wants to know; labels are its own."""
    return _session(_own, X, oracle, checkpoints, seed)


def session_among(
    X: Array, oracle: Oracle, checkpoints: Sequence[int], seed: int
) -> dict[int, Array]:
    """Show a row beside up to five others, and ask which are like it: a question is a choice."""
    return _session(_own, X, oracle, checkpoints, seed, among=5)


def session_unaudited(
    X: Array, oracle: Oracle, checkpoints: Sequence[int], seed: int
) -> dict[int, Array]:
    """Spend no question on knowing how good the clusters are: what audits cost."""
    return _session(_own, X, oracle, checkpoints, seed, audit=0)


def session_auto(
    X: Array, oracle: Oracle, checkpoints: Sequence[int], seed: int
) -> dict[int, Array]:
    """Ask the same, and let `linkshift.cluster` make labels of the links."""

    def labels(model: Any) -> Array:
        links = model.links if len(model.links) else None
        return cluster(X, links, random_state=seed).labels

    return _session(labels, X, oracle, checkpoints, seed)


def _own(model: Any) -> Array:
    return np.array(model.labels_)


def _session(
    labels: Callable[[Any], Array],
    X: Array,
    oracle: Oracle,
    checkpoints: Sequence[int],
    seed: int,
    *,
    among: int | None = None,
    **settings: float,
) -> dict[int, Array]:
    """Run a session; a question's seconds are those of an answer, the next question and labels.

    Questions are pairs, or choices ``among`` so many rows.
    """
    new = import_module("linkshift.active").Session
    _compile()
    with Stopwatch() as clock:
        model = new(X, random_state=seed, **settings)
        question = model.ask() if among is None else model.ask_among(among)
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
        oracle.purposes[question.purpose] += 1
        if among is None:
            answer = oracle(question.a, question.b)
            said = {True: "same", False: "different", None: "unknown"}[answer]
        else:
            picked = oracle.which(question.row, question.among)
        with Stopwatch() as clock:
            if among is None:
                model.answer(said)
                question = model.ask()
            else:
                model.choose(picked)
                question = model.ask_among(among)
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
