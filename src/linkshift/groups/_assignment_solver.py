"""Labels of the nodes: the linear programme, branch and bound, and why there are none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from linkshift._core.arrays import Array
from linkshift.groups._assignment_problem import Problem
from linkshift.groups._assignment_programme import IMPOSSIBLE, Linear, Programme, programme_of

How = Literal["argmin", "linear programme", "integer programme"]

_WHOLE = 1e-6  # a solution is whole when no entry is farther from a whole number
_WIDEST_RANGE = 1e8  # of the costs as the solver sees them: its tolerances are absolute
_CORE = 2.0  # columns for each node that branch and bound begins with, on average
_WIDER = 1.25  # so many times the columns, when there are too few for any labels


def solve(problem: Problem, max_nodes: int, gap: float) -> tuple[Array, float, How]:
    """Labels of the nodes, the relative gap, and what it took."""
    cheapest = np.where(problem.forbidden, np.inf, problem.excess).argmin(axis=1)
    if not problem.breaks(cheapest) and problem.price(cheapest) == 0.0:
        return cheapest, 0.0, "argmin"

    scale = _scale(problem)
    programme = programme_of(problem, scale)
    linear = programme.linear()
    if linear.status == IMPOSSIBLE:
        raise ValueError(_reason(problem, max_nodes))
    if linear.x is not None and _is_whole(linear.x[: programme.n_y]):
        return _labels(problem, programme, linear.x), 0.0, "linear programme"
    x, bound = _finish(problem, programme, linear, max_nodes, gap)
    labels = _labels(problem, programme, x)
    total = problem.total(labels)
    if total <= 0.0:
        return labels, 0.0, "integer programme"
    # HiGHS leaves branches out that could save less than `gap`, and reports a bound as if they
    # could save nothing; the bound of the linear programme is free of that.
    found_gap = max((total - bound * scale) / total, gap)
    if linear.x is not None:
        found_gap = min(found_gap, max((total - linear.value * scale) / total, 0.0))
    return labels, found_gap, "integer programme"


def _finish(
    problem: Problem, programme: Programme, linear: Linear, max_nodes: int, gap: float
) -> tuple[Array, float]:
    """Whole solution and lower bound, by branch and bound on the columns that can matter.

    Let z be the value of the linear programme and r the reduced costs. A solution that uses
    column j costs at least z + r_j. So the best one with columns of r <= t is the best of all if
    it costs no more than z + t; if it costs more, that says which t is large enough. One that is
    within the gap of z is good enough at once.
    """
    n_y, share = programme.n_y, min(_CORE / problem.excess.shape[1], 1.0)
    reach, floor, reduced = np.inf, 0.0, linear.reduced.copy()
    reduced[n_y:] = 0.0
    if linear.x is not None:
        floor, reach = linear.value, float(np.quantile(reduced[:n_y], share))
    best, bound = None, floor
    while True:
        # Half the gap for the few columns of the beginning: their best may lie above z as well.
        share_of_gap = 0.5 if best is None and np.isfinite(reach) else 1.0
        columns = programme.allowed & (reduced <= reach)
        result = programme.whole(columns, max_nodes, share_of_gap * gap)
        if result.status == IMPOSSIBLE and np.isinf(reach):
            raise ValueError(_reason(problem, max_nodes))
        if result.x is not None:
            if best is None or result.fun < best.fun:
                best = result
            bound = max(bound, min(result.mip_dual_bound, floor + reach))
        if result.status not in (0, IMPOSSIBLE):
            break
        if best is None:  # too few columns for any labels
            share = _WIDER * max(share, 1.0 / problem.excess.shape[1])
            reach = np.inf if share >= 1.0 else float(np.quantile(reduced[:n_y], share))
            continue
        needed = best.fun - floor
        if needed <= max(reach, gap * best.fun):
            break
        reach = needed + _WHOLE
    if best is None:
        raise RuntimeError(
            f"no labels were found within max_nodes={max_nodes} nodes of branch and bound; raise it"
        )
    return best.x, bound


def _labels(problem: Problem, programme: Programme, x: Array) -> Array:
    labels = x[: programme.n_y].reshape(problem.excess.shape).argmax(axis=1)
    if problem.breaks(labels):
        raise RuntimeError(
            "the solver's labels break a constraint; the costs may differ by too many orders "
            "of magnitude"
        )
    return labels


def _is_whole(y: Array) -> bool:
    return bool(np.abs(y - np.round(y)).max() <= _WHOLE)


def _scale(problem: Problem) -> float:
    """Typical excess, the unit for the solver: its tolerances suit numbers about 1.

    Prices do not count, unless there is nothing else: in units of large prices the differences
    between costs would be rounding.
    """
    excess, prices = problem.excess[problem.excess > 0.0], np.abs(problem.weight)
    if not len(excess) and not len(prices):
        return 1.0
    largest = max(float(excess.max(initial=0.0)), float(prices.max(initial=0.0)))
    return max(float(np.median(excess if len(excess) else prices)), largest / _WIDEST_RANGE)


# Why not -------------------------------------------------------------------------------------


def _reason(problem: Problem, max_nodes: int) -> str:
    """Say what makes the problem impossible: drop one kind of constraint after the other.

    What is dropped without making labels possible is not to blame, and stays dropped; what is
    left at the end is impossible by itself.
    """
    n_nodes, n_clusters = problem.excess.shape
    none = np.empty((0, 2), dtype=np.int64)
    problem = replace(problem, soft=none, weight=np.empty(0))
    without: list[tuple[str, dict[str, Any]]] = [
        ("forbidden", {"forbidden": np.zeros_like(problem.forbidden)}),
        ("sizes", {"least": 0, "most": int(problem.sizes.sum())}),
        ("cannot", {"apart": none, "cliques": []}),
    ]
    blamed = set()
    for kind, change in without:
        candidate = replace(problem, **change)
        programme = programme_of(replace(candidate, excess=np.zeros_like(problem.excess)))
        if programme.whole(programme.allowed, max_nodes, 0.0).status == IMPOSSIBLE:
            problem = candidate
        else:
            blamed.add(kind)
    if blamed == {"cannot"}:
        return (
            f"the cannot-links need more than {n_clusters} clusters: no labels of "
            f"{n_clusters} kinds keep all of them"
        )
    parts = {
        "sizes": f"sizes from {problem.least} to {problem.most}",
        "must": f"must-links ({n_nodes} groups of up to {problem.sizes.max()} samples)",
        "cannot": f"{len(problem.apart)} cannot-links between them",
        "forbidden": "infinite costs",
    }
    if problem.sizes.max() > 1:
        blamed.add("must")
    else:
        parts["cannot"] = f"{len(problem.apart)} cannot-links"
    named = [text for kind, text in parts.items() if kind in blamed]
    return f"no labels of {n_clusters} kinds satisfy all of: " + "; ".join(named)
