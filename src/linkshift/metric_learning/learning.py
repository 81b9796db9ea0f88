"""The metric of bases and triplets, in one stage (global) or two (local)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from linkshift._core.arrays import Array, Progress
from linkshift._core.messages import Advice, warn
from linkshift.metric_learning.embedding import Embedding, default_sigma, kernel_embedding
from linkshift.metric_learning.solver import (
    Plan,
    Problem,
    Solution,
    minimise_global,
    minimise_local,
)
from linkshift.metric_learning.triplets import Triplets


@dataclass(frozen=True, eq=False)
class Learned:
    """A metric, for data in units of ``scale``."""

    bases: Array  # (K, d): the directions in use
    coefficients: Array  # (r, K): as in a Solution
    scale: float  # root mean square distance between rows and their impostors
    objective: float  # loss and penalty at the end of the last stage
    start: float  # and at its start
    n_iter: int  # passes over all anchors, of all stages
    embedding: Embedding | None = None  # of a local metric
    sigma: float | None = None  # its width


def learn(
    data: Array,
    triplets: Triplets,
    bases: Array,
    random: np.random.RandomState,
    *,
    local: bool,
    beta: float,
    plan: Plan,
    embedding_dimension: int,
    embedding_sigma: float | None = None,
    progress: Progress | None = None,
) -> Learned:
    """Learn how much each basis counts: everywhere, or, if ``local``, from there at each place.

    ``data`` are rows about their mean, ``beta`` the weight of the penalty, ``plan`` that of each
    stage; without ``embedding_sigma`` it is :func:`default_sigma`.
    """
    stages = 2 if local else 1
    total = stages * plan.max_iter
    scale = _impostor_distance(data, triplets)
    unit = data / scale
    report: Progress = (lambda *_: None) if progress is None else progress

    def stage(number: int) -> Plan:
        def done(passes: int) -> None:
            report(number * plan.max_iter + passes, total)

        # Bases of the first stage that hardly count may yet grow.
        return replace(plan, progress=done, prune=number == stages - 1)

    embedding = sigma = None
    solution = minimise_global(Problem.build(unit, bases, triplets), beta, stage(0), random)
    used, n_iter = _in_use(solution), solution.n_iter
    if local:
        bases = bases[used]
        sigma = default_sigma(data) if embedding_sigma is None else float(embedding_sigma)
        embedding = kernel_embedding(data, embedding_dimension, sigma, random)
        solution = minimise_local(
            Problem.build(unit, bases, triplets),
            solution.coefficients[0, used],
            embedding.transform(data),
            beta,
            stage(1),
            random,
        )
        used, n_iter = _in_use(solution), n_iter + solution.n_iter
    if not solution.coefficients.any():
        warn(
            Advice(
                f"All weights are zero, and with them all distances: beta={beta} is too large, or "
                "the triplets contradict each other.",
                "Take a smaller beta.",
                parameter="beta",
                value=beta,
            )
        )
    report(total, total)
    coefficients, objectives = solution.coefficients[:, used], (solution.objective, solution.start)
    return Learned(bases[used], coefficients, scale, *objectives, n_iter, embedding, sigma)


def _impostor_distance(data: Array, triplets: Triplets) -> float:
    """Root mean square distance between anchors and impostors, weighed."""
    rows = np.repeat(triplets.anchor, np.diff(triplets.impostor_start))
    difference = data[rows] - data[triplets.impostor]
    squared = np.einsum("ij,ij->i", difference, difference)
    scale = float(np.sqrt(np.average(squared, weights=triplets.impostor_weight)))
    if scale == 0:
        raise ValueError(
            "All rows that should be apart coincide: no metric can tell them from each other. "
            "Describe the rows better."
        )
    return scale


def _in_use(solution: Solution) -> Array:
    """Bases with coefficients; the first one when there are none, so that shapes stay valid."""
    used = np.asarray(solution.coefficients.any(axis=0))
    used[0] |= not used.any()
    return used
