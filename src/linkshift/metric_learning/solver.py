r"""Weights of the bases, learned from triplets.

The hinge loss of triplets of total weight T and a penalty that switches bases off,

.. math::

    \frac1T \sum_{(i,j,k)} u_{ijk} \, [1 + d(x_i, x_j) - d(x_i, x_k)]_+
    + \beta \sum_k \|\tilde a_k\|,

is made small by stochastic steps over batches of anchors: a gradient step whose length for basis k
is :math:`\eta / \sqrt{\sum g_k^2}` over all gradients so far, then the proximal step of the
penalty, which shortens each :math:`\tilde a_k` and stops at zero. For a global metric
:math:`\tilde a_k` is the weight :math:`w_k \ge 0` itself and the problem is convex; for a local one
it is the column :math:`(a_k, c_k)` of :math:`w_k(x) = (a_k^T z_x + c_k)^2`.

Every few passes the whole objective is measured, for the last iterate and for the mean of those
since the last time. The best of all is kept, the start included; when neither is better than it,
the descent goes on from there with steps a quarter as long. At the end, bases that hardly count
are dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from linkshift._core.arrays import Array
from linkshift.metric_learning._loops import hinge_batch
from linkshift.metric_learning.triplets import Triplets

_STEPS_BETWEEN_CHECKS = 320
_SLOWER = np.float32(0.25)  # shorter steps after a check that found nothing better
_PATIENCE = 3  # checks in a row without much progress before the end
_SIZES = 2.0 ** np.arange(-8.0, 16.0)  # sums of equal weights to start from
_BLOCK = 256  # anchors whose weights are held at once
_PRUNED = 1e-4  # share of the objective that dropping bases may cost
_CUTS = 10.0 ** np.arange(-1, -7, -1.0)  # of the largest basis: those below are tried without
_STEP_GLOBAL = 1.0  # in uniform weights of the best size
_STEP_LOCAL = 5.0  # in root mean square coefficients of the global solution


@dataclass(frozen=True)
class Plan:
    """How long, and in what portions, to descend.

    ``batch_size`` counts anchors; "auto" is a 16th of them, from 1 to 64. ``progress`` is called
    with the number of the pass that is done. ``prune`` drops bases that hardly count.
    """

    max_iter: int = 100
    batch_size: int | str = "auto"
    tol: float = 1e-3
    progress: Callable[[int], None] | None = None
    prune: bool = True


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows on the bases, and what is known of them."""

    projections: Array  # (n, n_bases), float32: rows along the bases
    triplets: Triplets

    @classmethod
    def build(cls, X: Array, bases: Array, triplets: Triplets) -> Problem:
        """Project rows onto bases."""
        return cls(np.ascontiguousarray(X @ bases.T, dtype=np.float32), triplets)

    @property
    def n_bases(self) -> int:
        """Number of bases."""
        return int(self.projections.shape[1])

    def hinge(self, weights: Array, batch: Array, slope: Array) -> tuple[float, float]:
        """Loss and weight of triplets that hold; see ``hinge_batch``."""
        t = self.triplets
        targets = (t.target, t.target_start, t.target_weight)
        impostors = (t.impostor, t.impostor_start, t.impostor_weight)
        args = (self.projections, weights, batch, t.anchor, targets, impostors, slope)
        loss, held = hinge_batch(*args)
        return float(loss), float(held)

    def measure(self, weights_of: Callable[[Array], Array]) -> tuple[float, float]:
        """Mean loss and share of triplets that hold, weights being made block by block."""
        none = np.empty((0, self.n_bases), dtype=np.float32)
        loss = held = 0.0
        for first in range(0, self.triplets.anchor.size, _BLOCK):
            batch = np.arange(first, min(first + _BLOCK, self.triplets.anchor.size))
            more = self.hinge(weights_of(batch), batch, none)
            loss, held = loss + more[0], held + more[1]
        total = float(self.triplets.mass.sum())
        return loss / total, held / total


@dataclass(frozen=True, eq=False)
class Solution:
    """What was learned.

    ``coefficients`` (r, n_bases) are one row of weights for a global metric; rows a and, last, c
    for a local one.
    """

    coefficients: Array
    objective: float  # loss and penalty at the end
    start: float  # and at the start
    n_iter: int  # passes over all anchors


class _Model(Protocol):
    """What the descent needs to know of a problem."""

    problem: Problem
    start: Array
    rate: Any  # length of steps

    def gradient(self, x: Array, batch: Array) -> Array: ...
    def step(self, x: Array, gradient: Array) -> Array: ...
    def objective(self, x: Array) -> float: ...


def minimise_global(
    problem: Problem, beta: float, plan: Plan, random: np.random.RandomState
) -> Solution:
    """One weight for each basis (thesis eq. 2.12), from equal weights of the best size."""
    return _descend(_Global(problem, beta), plan, random)


def minimise_local(
    problem: Problem,
    weights: Array,
    embedding: Array,
    beta: float,
    plan: Plan,
    random: np.random.RandomState,
) -> Solution:
    """Weights that depend on the anchor (thesis eq. 2.15), from those of a global metric.

    A basis without weight has no slope and stays without. ``embedding`` has z of each row. The
    objective is no worse than at the start.
    """
    return _descend(_Local(problem, weights, embedding, beta), plan, random)


class _Global:
    def __init__(self, problem: Problem, beta: float) -> None:
        self.problem, self.beta = problem, beta
        self.mean = problem.triplets.anchor.size / float(problem.triplets.mass.sum())
        self.slope = np.zeros((1, problem.n_bases), dtype=np.float32)
        self.squares = np.zeros(problem.n_bases)
        self.start = self._equal_weights()
        self.rate = _STEP_GLOBAL * float(self.start.max())

    def _equal_weights(self) -> Array:
        """Equal weights of the best size, as far as some anchors, evenly spread, can tell."""
        m = self.problem.triplets.anchor.size
        some = np.unique(np.linspace(0, m - 1, min(m, _BLOCK)).astype(np.intp))
        mass = float(self.problem.triplets.mass[some].sum())
        none = np.empty((0, self.problem.n_bases), dtype=np.float32)

        def objective(weight: float) -> float:
            x = np.full((1, self.problem.n_bases), weight, dtype=np.float32)
            return self.problem.hinge(x, some, none)[0] / mass + self.beta * float(x.sum())

        best = min(_SIZES / self.problem.n_bases, key=objective)
        return np.full((1, self.problem.n_bases), best)

    def gradient(self, x: Array, batch: Array) -> Array:
        self.slope[...] = 0
        self.problem.hinge(x.astype(np.float32), batch, self.slope)
        return self.slope * (self.mean / batch.size) + self.beta

    def step(self, x: Array, gradient: Array) -> Array:
        self.squares += gradient[0] ** 2
        length = self.rate / np.sqrt(np.maximum(self.squares, np.finfo(np.float64).tiny))
        return np.maximum(0.0, x - length * gradient)

    def objective(self, x: Array) -> float:
        weights = x.astype(np.float32)
        return self.problem.measure(lambda _: weights)[0] + self.beta * float(x.sum())


class _Local:
    def __init__(self, problem: Problem, weights: Array, embedding: Array, beta: float) -> None:
        self.problem, self.beta = problem, beta
        rows = embedding[problem.triplets.anchor]
        self.z = np.column_stack((rows, np.ones(len(rows)))).astype(np.float32)
        self.mean = problem.triplets.anchor.size / float(problem.triplets.mass.sum())
        self.squares = np.zeros(problem.n_bases, dtype=np.float32)
        self.start = np.zeros((self.z.shape[1], problem.n_bases), dtype=np.float32)
        self.start[-1] = np.sqrt(weights)
        used = max(int((weights > 0).sum()), 1)
        self.rate = np.float32(_STEP_LOCAL * np.sqrt(float(weights.sum()) / used))

    def gradient(self, x: Array, batch: Array) -> Array:
        z = self.z[batch]
        roots = z @ x
        slope = np.zeros_like(roots)
        self.problem.hinge(roots * roots, batch, slope)
        roots *= slope
        gradient: Array = z.T @ roots
        gradient *= np.float32(2.0 * self.mean / batch.size)
        return gradient

    def step(self, x: Array, gradient: Array) -> Array:
        self.squares += np.einsum("ij,ij->j", gradient, gradient)
        least = np.finfo(np.float32).tiny
        length = self.rate / np.sqrt(np.maximum(self.squares, least))
        length[self.squares == 0] = 0
        moved = x - length * gradient
        norm = np.sqrt(np.einsum("ij,ij->j", moved, moved))
        shrink = length * np.float32(self.beta)
        moved *= np.where(norm > shrink, 1 - shrink / np.maximum(norm, shrink + least), 0)
        return moved

    def objective(self, x: Array) -> float:
        loss = self.problem.measure(lambda batch: (self.z[batch] @ x) ** 2)[0]
        return loss + self.beta * float(np.sqrt(np.einsum("ij,ij->j", x, x)).sum())


def _descend(model: _Model, plan: Plan, random: np.random.RandomState) -> Solution:
    """Go over all anchors until the objective has all but stopped falling."""
    m = model.problem.triplets.anchor.size
    size = plan.batch_size
    batch_size = min(max(m // 16, 1), 64) if isinstance(size, str) else min(size, m)
    steps = -(-m // batch_size)
    every = max(1, round(_STEPS_BETWEEN_CHECKS / steps))
    x = best = model.start
    start = lowest = model.objective(x)
    mean, count = np.zeros_like(x), 0
    n_iter = idle = 0
    while n_iter < plan.max_iter:
        order = random.permutation(m)
        for first in range(0, m, batch_size):
            batch = order[first : first + batch_size]
            x = model.step(x, model.gradient(x, batch))
            mean += x
            count += 1
        n_iter += 1
        if plan.progress is not None:
            plan.progress(n_iter)
        if n_iter % every == 0 or n_iter == plan.max_iter:
            mean /= count
            before = lowest
            for candidate in (x, mean):
                value = model.objective(candidate)
                if value < lowest:
                    best, lowest = candidate, value
            mean, count = np.zeros_like(x), 0
            if lowest == before:  # steps were too long: back, and on with shorter ones
                x = best
                model.rate = model.rate * _SLOWER
            idle = idle + 1 if before - lowest <= plan.tol * lowest else 0
            if idle == _PATIENCE:
                break
    if plan.prune:
        best, lowest = _pruned(model, best, lowest, start)
    return Solution(best.astype(np.float64), lowest, start, n_iter)


def _pruned(model: _Model, x: Array, lowest: float, start: float) -> tuple[Array, float]:
    """Without the bases that hardly count: as many as cost next to nothing."""
    norm = np.sqrt(np.einsum("ij,ij->j", x, x))
    for cut in _CUTS * norm.max():
        fewer = np.where(norm >= cut, x, 0).astype(x.dtype)
        value = model.objective(fewer)
        if value <= min(lowest * (1 + _PRUNED), max(start, lowest)):
            return fewer, value
    return x, lowest
