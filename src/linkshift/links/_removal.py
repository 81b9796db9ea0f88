r"""Which links to give up so that the rest agree: minimum multicut with a way out.

Let the links be edges with weights w (their confidences). A cannot-link e
contradicts a chain P of must-links between its ends. Choose x in {0, 1} per link:

.. math:: \min_x \sum_e w_e x_e
   \quad\text{so that}\quad x_e + \sum_{m \in P} x_m \ge 1
   \quad\text{for every cannot-link } e \text{ and chain } P.

There are too many chains to list. They are added when a solution breaks them:
once a solution breaks none, it is the optimum of the whole problem.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkshift.links._closure import components
from linkshift.links._graph import LinkGraph
from linkshift.links._parse import FloatArray, IntArray
from linkshift.links._reduce import reduce_graph

Pair = tuple[Hashable, ...]
Constraint = frozenset[int]

EXACT_CONFLICTS = 2_000  # beyond this many conflicts in all, the greedy answer
BATCH_CONFLICTS = 50  # small components are solved together: one call instead of many
ROUNDS = 60
DEPTH = 4  # chains without common links looked for in one round
# All exact solving together may take so much work, whatever the machine does besides; it is counted
# as entries of the programme times steps of the simplex method, of which a second does about 1e8.
EXACT_WORK = 1e9
NODE_WORK = 1_000.0  # steps that a node of branch and bound counts for
ROOT_NODES = 100  # nodes that its beginning counts for: cuts, and what is tried before it branches
WHOLE_ENTRIES = 10_000  # of more entries that beginning alone takes too long, and has no limit
PRUNE_WORK = 200_000_000
SEARCH_WORK = 20_000_000  # steps of all searches for chains in one round
GREEDY_WORK = 500_000_000  # the same in all rounds of the greedy answer


@dataclass(frozen=True)
class Removal:
    """Links whose removal resolves every conflict.

    Attributes
    ----------
    must, cannot : tuple of pairs
        The links to remove.
    confidence : float
        The sum of their confidences: what is given up.
    exact : bool
        True when no other choice gives up less. False when the problem was too
        large to prove that; the links still resolve every conflict.
    """

    must: tuple[Pair, ...]
    cannot: tuple[Pair, ...]
    confidence: float
    exact: bool

    def __len__(self) -> int:
        return len(self.must) + len(self.cannot)


def smallest_removal(
    graph: LinkGraph, must_weight: FloatArray, cannot_weight: FloatArray
) -> tuple[IntArray, IntArray, bool]:
    """Positions of must- and cannot-links to remove, and whether that is proven best."""
    conflicts = graph.conflicting()
    must_out: list[IntArray] = [np.empty(0, dtype=np.int64)]
    cannot_out: list[IntArray] = [np.empty(0, dtype=np.int64)]
    small = len(conflicts) <= EXACT_CONFLICTS
    work = _Work(EXACT_WORK if small else 0.0)
    all_exact = True
    for batch in _batches(graph, conflicts, small):
        part, must, cannot = graph.restricted(batch)
        small_graph, weight, members = reduce_graph(part, must_weight[must])
        problem = _Problem(small_graph, np.concatenate((weight, cannot_weight[cannot])))
        chosen, exact = problem.solve(work)
        all_exact &= exact
        cut = chosen[chosen < len(members)]
        must_out += [must[list(members[bundle])] for bundle in cut]
        cannot_out.append(cannot[chosen[len(cut) :] - len(members)])
    return np.sort(np.concatenate(must_out)), np.sort(np.concatenate(cannot_out)), all_exact


def _batches(graph: LinkGraph, conflicts: IntArray, small: bool) -> list[IntArray]:
    """Components with conflicts, grouped so that a batch holds about `BATCH_CONFLICTS`."""
    where, counts = np.unique(graph.component[graph.cannot[conflicts, 0]], return_counts=True)
    if not len(where):
        return []
    if not small:
        return [where]
    group = (np.cumsum(counts) - counts) // BATCH_CONFLICTS
    return [where[group == g] for g in np.unique(group)]


@dataclass
class _Work:
    """How much work there may still be."""

    left: float


class _Problem:
    """One batch: variables are the must-links, then the cannot-links."""

    def __init__(self, graph: LinkGraph, weight: FloatArray) -> None:
        self.graph = graph
        self.weight = weight
        self.n_must = len(graph.must)
        self.constraints: dict[Constraint, None] = {}  # a set that keeps its order
        self._size = 1 + graph.n + self.n_must

    def solve(self, work: _Work) -> tuple[IntArray, bool]:
        """Exact until the work or the rounds run out; greedy then."""
        self._extend(np.zeros(len(self.weight), dtype=bool))
        x = self._tighten(work)
        if x is None or np.abs(x - np.round(x)).max(initial=0.0) > 1e-6:
            x = self._minimum(work, whole=True)
        for _ in range(ROUNDS):
            if x is None:
                break
            chosen = x > 0.5
            if not self._extend(chosen):
                return np.flatnonzero(chosen), True
            x = self._minimum(work, whole=True)
        return np.flatnonzero(self._greedy()), False

    def _broken(self, chosen: NDArray[np.bool_]) -> tuple[IntArray, NDArray[np.bool_]]:
        use = ~chosen[: self.n_must]
        conflicts = self.graph.conflicting(use)
        return conflicts[~chosen[self.n_must + conflicts]], use

    def _extend(self, chosen: NDArray[np.bool_], depth: int = DEPTH) -> bool:
        """Add the chains that a choice leaves standing; False when there are none."""
        for level in range(depth):
            conflicts, use = self._broken(chosen)
            if not len(conflicts):
                return level > 0
            # Each chain takes a search; those of the others come in later rounds, if still needed.
            conflicts = conflicts[:: math.ceil(len(conflicts) * self._size / SEARCH_WORK)]
            chosen = chosen.copy()
            for cannot, chain in self.graph.chains(conflicts, use):
                edges = self.graph.edges(chain)
                self.constraints[frozenset((*edges, self.n_must + cannot))] = None
                # Hiding this chain makes the next level look for one beside it.
                chosen[edges] = True
        return True

    def _tighten(self, work: _Work) -> FloatArray | None:
        """Add the chains that a fractional solution breaks; give one that breaks none.

        Without whole numbers the programme is solved at once. The chains that
        it takes to satisfy it leave the integer programme little to search, or
        nothing: where must-links form a path, the solution is whole by itself.
        """
        every = np.arange(len(self.graph.cannot))
        for _ in range(ROUNDS):
            x = self._minimum(work, whole=False)
            if x is None:
                return None
            before = len(self.constraints)
            # The small constant makes the shorter of two equally broken chains win.
            length = np.maximum(x[: self.n_must], 0) + 1e-6
            for cannot, chain in self.graph.chains(every, length=length):
                items = [*self.graph.edges(chain), self.n_must + cannot]
                if x[items].sum() < 1 - 1e-4:
                    self.constraints[frozenset(items)] = None
            if len(self.constraints) == before:
                return x
        return None

    def _minimum(self, work: _Work, *, whole: bool) -> FloatArray | None:
        """Solve the programme over the chains known so far; None when that is too much work."""
        from scipy.optimize import Bounds, LinearConstraint, linprog, milp
        from scipy.sparse import csr_array

        if work.left <= 0:
            return None
        sizes = [len(constraint) for constraint in self.constraints]
        flat = np.fromiter(
            (item for constraint in self.constraints for item in sorted(constraint)), np.int64
        )
        variables, column = np.unique(flat, return_inverse=True)
        row = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)  # scipy < 1.15 needs int32
        column = column.astype(np.int32)
        matrix = csr_array((np.ones(len(flat)), (row, column)), shape=(len(sizes), len(variables)))
        entries, cost = max(len(flat), 1), self.weight[variables]
        result: Any
        if whole:
            nodes = int(work.left / (NODE_WORK * entries)) - ROOT_NODES
            if entries > WHOLE_ENTRIES or nodes < 1:
                return None
            result = milp(
                cost,
                integrality=np.ones(len(variables)),
                bounds=Bounds(0, 1),
                constraints=LinearConstraint(matrix, lb=1),
                options={"mip_rel_gap": 0.0, "node_limit": nodes},
            )
            work.left -= NODE_WORK * entries * (ROOT_NODES + (result.mip_node_count or 0))
        else:
            steps = math.ceil(work.left / entries)
            ones = np.ones(len(sizes))
            options = {"maxiter": min(steps, 2**31 - 1)}
            result = linprog(
                cost, -matrix, -ones, bounds=(0, 1), method="highs-ds", options=options
            )
            work.left -= float(entries) * result.nit
        if result.status != 0:
            return None
        x = np.zeros(len(self.weight))
        x[variables] = result.x
        return x

    def _greedy(self) -> NDArray[np.bool_]:
        """Take the link that breaks most chains for its weight, until no chain is left."""
        chosen = np.zeros(len(self.weight), dtype=bool)
        hit: set[Constraint] = set()
        for _ in range(min(ROUNDS, 1 + GREEDY_WORK // (SEARCH_WORK + 20 * self._size))):
            waiting = [constraint for constraint in self.constraints if constraint not in hit]
            _hit_all(waiting, self.weight, chosen)
            hit.update(waiting)
            if not self._extend(chosen, depth=1):
                break
        conflicts, _ = self._broken(chosen)
        chosen[self.n_must + conflicts] = True
        chosen = self._pruned(chosen)
        only_cannot = np.zeros_like(chosen)
        only_cannot[self.n_must :] = True
        cheaper = self.weight[only_cannot].sum() < self.weight[chosen].sum()
        return only_cannot if cheaper else chosen

    def _pruned(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Put links back, the surest first, wherever that brings no conflict back."""
        chosen = chosen.copy()
        candidates = np.flatnonzero(chosen)
        if len(candidates) * (len(self.graph.cannot) + self.graph.n) > PRUNE_WORK:
            return chosen
        group = components(self.graph.must[~chosen[: self.n_must]], self.graph.n)
        left, right = self.graph.cannot.T
        for item in candidates[np.argsort(-self.weight[candidates], kind="stable")]:
            if item >= self.n_must:
                a, b = group[self.graph.cannot[item - self.n_must]]
                chosen[item] = a == b
                continue
            a, b = group[self.graph.must[item]]
            ends = (group[left] == a) & (group[right] == b)
            ends |= (group[left] == b) & (group[right] == a)
            chosen[item] = a != b and bool(np.any(ends & ~chosen[self.n_must :]))
            if not chosen[item]:
                group[group == b] = a
        return chosen


def _hit_all(constraints: list[Constraint], weight: FloatArray, chosen: NDArray[np.bool_]) -> None:
    """Greedy hitting set: mark links in `chosen` until every constraint holds one."""
    import heapq

    holders: dict[int, list[int]] = {}
    open_ = [not any(chosen[item] for item in constraint) for constraint in constraints]
    for index, constraint in enumerate(constraints):
        if open_[index]:
            for item in constraint:
                holders.setdefault(item, []).append(index)
    gain = {item: len(held) for item, held in holders.items()}
    heap = [(-count / weight[item], item) for item, count in gain.items()]
    heapq.heapify(heap)
    while heap:
        score, item = heapq.heappop(heap)
        current = -gain[item] / weight[item]
        if gain[item] == 0:
            continue
        if current > score:  # the score is stale: it has fallen since it was pushed
            heapq.heappush(heap, (current, item))
            continue
        chosen[item] = True
        for index in holders[item]:
            if open_[index]:
                open_[index] = False
                for other in constraints[index]:
                    gain[other] -= 1
