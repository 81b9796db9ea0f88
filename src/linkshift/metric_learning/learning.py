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

__all__ = ["Learned", "learn"]


@dataclass(frozen=True, eq=False)
class Learned:
    """A metric, for data in units of ``scale``.

    Attributes
    ----------
    bases : ndarray of shape (K, d)
        The directions in use.
    coefficients : ndarray of shape (r, K)
        As in :class:`linkshift.metric_learning.solver.Solution`.
    scale : float
        Root mean square distance between rows and their impostors.
    objective, start : float
        Loss and penalty at the end and at the start of the last stage.
    n_iter : int
        Passes over all anchors, of all stages.
    embedding : Embedding or None
        Of a local metric.
    sigma : float or None
        Its width.
    """

    bases: Array
    coefficients: Array
    scale: float
    objective: float
    start: float
    n_iter: int
    embedding: Embedding | None = None
    sigma: float | None = None


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
    """Learn how much each basis counts: everywhere, or, from there, at each place.

    Parameters
    ----------
    data : ndarray of shape (n, d)
        Rows about their mean.
    triplets : Triplets
    bases : ndarray of shape (K, d)
    random : RandomState
        For batches and the embedding.
    local : bool
        Whether to go on from the global metric to a local one.
    beta : float
        Weight of the penalty.
    plan : Plan
        Of each stage.
    embedding_dimension, embedding_sigma : int, and float or None
        Of a local metric; None is :func:`linkshift.metric_learning.embedding.default_sigma`.
    progress : callable, default=None
        Called with (passes done, all passes).

    Returns
    -------
    Learned
    """
    stages = 2 if local else 1
    total = stages * plan.max_iter
    scale = _impostor_distance(data, triplets)
    unit = data / scale

    def stage(number: int) -> Plan:
        done = None
        if progress is not None:
            report, before = progress, number * plan.max_iter

            def done(passes: int) -> None:
                report(before + passes, total)

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
    if progress is not None:
        progress(total, total)
    return Learned(
        bases[used],
        solution.coefficients[:, used],
        scale,
        solution.objective,
        solution.start,
        n_iter,
        embedding,
        sigma,
    )


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
    used: Array = np.asarray(solution.coefficients.any(axis=0))
    used[0] |= not used.any()
    return used
