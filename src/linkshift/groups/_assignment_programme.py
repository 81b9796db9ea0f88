"""The linear and the integer programme of an assignment, as HiGHS takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array, vstack

from linkshift._core.arrays import Array
from linkshift.groups._assignment_problem import Problem

IMPOSSIBLE = 2  # SciPy's status
_FIRST = 3  # clusters of each node, the cheapest ones, that the linear programme begins with
_NEGATIVE = 1e-7  # a reduced cost below minus this is negative: the solver's own tolerance
_NEAR = 0.1  # columns with reduced costs up to this come in with the negative ones


@dataclass(frozen=True, eq=False)
class Linear:
    """Solution of the linear programme; x and the reduced costs are over all columns."""

    status: int
    x: Array | None
    value: float
    reduced: Array


@dataclass(frozen=True, eq=False)
class Programme:
    """Minimise ``objective @ x`` for x in [0, 1] with ``low <= matrix @ x <= high``."""

    objective: Array
    matrix: Any
    low: Array
    high: Array
    allowed: Array  # which x may be other than 0
    rank: Array  # of each x among the clusters of its node, from the cheapest; 0 behind Y
    n_y: int  # these first x are vec(Y); those behind are whole when Y is

    def linear(self) -> Linear:
        r"""Solve without integrality, on few columns and on more until none is missed.

        A column j that was left out is missed when its reduced cost
        :math:`r_j = d_j - a_j^\top \pi` is negative, with the duals :math:`\pi` of the rows.
        Cannot-links between clusters that are not in play have no row, and most are not.
        """
        first = _FIRST
        columns = self.allowed & (self.rank < first)
        while True:
            result = self._linear_on(columns)
            left_out = self.allowed & ~columns
            if result.status == IMPOSSIBLE and left_out.any():
                first *= 2
                columns = self.allowed & (columns | (self.rank < first))
            elif result.status == 0 and (result.reduced[left_out] < -_NEGATIVE).any():
                columns = columns | (left_out & (result.reduced <= _NEAR))
            else:
                return result

    def _linear_on(self, columns: Array) -> Linear:
        matrix, low, high = self._needed_rows(columns)
        equal = low == high
        below, above = ~equal & np.isfinite(high), ~equal & np.isfinite(low)
        result: Any = linprog(
            self.objective[columns],
            A_eq=matrix[equal],
            b_eq=low[equal],
            A_ub=vstack((matrix[below], -matrix[above]), format="csr"),
            b_ub=np.concatenate((high[below], -low[above])),
            bounds=(0, None),  # x <= 1 follows from the rows and the prices
        )
        if result.status != 0:
            return Linear(result.status, None, np.nan, np.zeros(len(self.objective)))
        dual = np.zeros(len(low))
        dual[equal] = result.eqlin.marginals
        dual[below] += result.ineqlin.marginals[: below.sum()]
        dual[above] -= result.ineqlin.marginals[below.sum() :]
        reduced = self.objective - self.matrix.T @ dual
        return Linear(0, self._spread(result.x, columns), float(result.fun), reduced)

    def whole(self, columns: Array, max_nodes: int, gap: float) -> Any:
        """Solve for whole Y on some of the columns."""
        matrix, low, high = self._needed_rows(columns)
        needed = np.isfinite(low) | np.isfinite(high)
        rows = matrix[needed].tocsc()
        # scipy < 1.15 needs int32
        rows.indices, rows.indptr = rows.indices.astype(np.intc), rows.indptr.astype(np.intc)
        result = milp(
            self.objective[columns],
            integrality=(np.arange(len(columns)) < self.n_y)[columns].astype(np.int64),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(rows, low[needed], high[needed]),
            options={"node_limit": max_nodes, "mip_rel_gap": gap},
        )
        if result.x is not None:
            result.x = self._spread(result.x, columns)
        return result

    def _needed_rows(self, columns: Array) -> tuple[Any, Array, Array]:
        """Rows on some columns, with infinite bounds where no x in [0, 1] can pass them."""
        matrix = self.matrix[:, columns].tocsr()
        ones = np.ones(matrix.shape[1])
        greatest, least = matrix.maximum(0) @ ones, matrix.minimum(0) @ ones
        equal = self.low == self.high
        low = np.where(~equal & (least >= self.low), -np.inf, self.low)
        high = np.where(~equal & (greatest <= self.high), np.inf, self.high)
        return matrix, low, high

    def _spread(self, x: Array, columns: Array) -> Array:
        """Put a solution back among all columns."""
        spread = np.zeros(len(columns))
        spread[columns] = x
        return spread


def programme_of(problem: Problem, scale: float = 1.0) -> Programme:
    """Programme of a problem, with costs in units of ``scale``."""
    matrix, low, high, prices = _rows(problem)
    behind = len(prices)
    allowed = np.concatenate((~problem.forbidden.ravel(), np.ones(behind, dtype=bool)))
    objective = np.concatenate((problem.excess.ravel(), prices)) / scale
    order = np.where(problem.forbidden, np.inf, problem.excess).argsort(axis=1, kind="stable")
    rank = np.concatenate((order.argsort(axis=1).ravel(), np.zeros(behind, dtype=np.intp)))
    return Programme(objective, matrix.tocsc(), low, high, allowed, rank, problem.excess.size)


def _rows(problem: Problem) -> tuple[Any, Array, Array, Array]:
    """Rows of the programme, their bounds, and the prices of the variables behind Y."""
    n_nodes, n_clusters = problem.excess.shape
    n_y = n_nodes * n_clusters
    must = problem.weight > 0
    k_must, k_cannot = int(must.sum()), int((~must).sum())
    width = n_y + k_must * n_clusters + k_cannot
    y = np.arange(n_y).reshape(n_nodes, n_clusters)
    blocks: list[Any] = []
    lows: list[Array] = []
    highs: list[Array] = []

    def block(columns: Array, values: Array, low: float, high: float) -> None:
        """Add one row for each row of `columns`."""
        count, entries = columns.shape
        start = np.arange(0, count * entries + 1, entries)
        data = np.broadcast_to(values, columns.shape).ravel().astype(np.float64)
        blocks.append(csr_array((data, columns.ravel(), start), shape=(count, width)))
        lows.append(np.full(count, low))
        highs.append(np.full(count, high))

    block(y, np.ones(1), 1.0, 1.0)
    if problem.bounded:
        block(y.T, problem.sizes, problem.least, problem.most)
    for size in sorted({len(clique) for clique in problem.cliques}):
        same = np.array([clique for clique in problem.cliques if len(clique) == size])
        block(y[same].transpose(0, 2, 1).reshape(-1, size), np.ones(1), -np.inf, 1.0)
    if k_must:
        # y_ac - y_bc <= s_c, with the price on the sum of s: half the distance of the two rows.
        a, b = y[problem.soft[must, 0]], y[problem.soft[must, 1]]
        s = n_y + np.arange(k_must * n_clusters).reshape(k_must, n_clusters)
        block(np.stack((a, b, s), axis=2).reshape(-1, 3), np.array([1, -1, -1]), -np.inf, 0.0)
    if k_cannot:
        a, b = y[problem.soft[~must, 0]], y[problem.soft[~must, 1]]
        s = n_y + k_must * n_clusters + np.arange(k_cannot)
        s = np.broadcast_to(s[:, None], a.shape)
        block(np.stack((a, b, s), axis=2).reshape(-1, 3), np.array([1, 1, -1]), -np.inf, 1.0)
    prices = np.concatenate((np.repeat(problem.weight[must], n_clusters), -problem.weight[~must]))
    return vstack(blocks, format="csr"), np.concatenate(lows), np.concatenate(highs), prices
