"""What :func:`linkshift.groups.assignment.assign` is to solve, on nodes instead of samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from linkshift._core.arrays import Array
from linkshift.links import ClosedLinks, Links

_SHOWN = 5


@dataclass(frozen=True, eq=False)
class Problem:
    """What the solver is to solve: nodes are components of certain must-links."""

    excess: Array  # (nodes, C): cost above the cheapest cluster; 0 where forbidden
    forbidden: Array  # (nodes, C)
    sizes: Array  # samples in each node
    least: int
    most: int
    apart: Array  # (m, 2): pairs of nodes that cannot meet
    cliques: list[list[int]]  # cover `apart`
    soft: Array  # (k, 2): pairs of nodes with uncertain links
    weight: Array  # (k,): price for apart if positive; the negative price for together

    @property
    def bounded(self) -> bool:
        return self.least > 0 or self.most < self.sizes.sum()

    def breaks(self, labels: Array) -> bool:
        """Whether labels break a constraint."""
        nodes = np.arange(len(labels))
        counts = np.bincount(labels, weights=self.sizes, minlength=self.excess.shape[1])
        return bool(
            self.forbidden[nodes, labels].any()
            or counts.min() < self.least
            or counts.max() > self.most
            or (labels[self.apart[:, 0]] == labels[self.apart[:, 1]]).any()
        )

    def price(self, labels: Array) -> float:
        """Price of the uncertain links that labels violate."""
        together = labels[self.soft[:, 0]] == labels[self.soft[:, 1]]
        return float(np.abs(self.weight[together == (self.weight < 0)]).sum())

    def total(self, labels: Array) -> float:
        """Excess cost and price."""
        return float(self.excess[np.arange(len(labels)), labels].sum()) + self.price(labels)


def contracted(
    d: Array, least: int, most: int, closed: ClosedLinks, link_weight: float
) -> tuple[Problem, Array, float]:
    """Join certain must-links to nodes; give the problem, each row's node, and constant prices."""
    closure = closed.closure
    component, n_nodes = closure.component, closure.n_components
    member = csr_array((np.ones(len(d)), (component, np.arange(len(d)))), shape=(n_nodes, len(d)))
    infinite = np.isinf(d)
    forbidden = (member @ infinite.astype(np.float64)) > 0
    nowhere = np.flatnonzero(forbidden.all(axis=1))
    if len(nowhere):
        raise ValueError(
            "infinite costs forbid every cluster to one or another of the must-linked samples "
            + _some(closure.members(int(nowhere[0])))
        )
    # The cheapest cluster of each row first: large costs that a row has in common would
    # otherwise swallow the digits of the rest.
    excess = member @ np.where(infinite, 0.0, d - d.min(axis=1, keepdims=True))
    excess -= np.where(forbidden, np.inf, excess).min(axis=1, keepdims=True)
    excess[forbidden] = 0.0

    apart = closure.component_cannot
    soft, weight, constant = _soft_pairs(closed.links, component, apart, link_weight)
    problem = Problem(excess, forbidden, closure.sizes, least, most, apart, [], soft, weight)
    return problem, component, constant


def _soft_pairs(
    links: Links, component: Array, apart: Array, link_weight: float
) -> tuple[Array, Array, float]:
    """Uncertain links between nodes, each pair once, and the prices that nothing can avoid.

    A must- and a cannot-link on the same pair, of prices v and w, cost min(v, w) in any case and
    the difference if the dearer one is violated.
    """
    soft_must, soft_cannot = links.must_confidence < 1.0, links.cannot_confidence < 1.0
    pairs = np.concatenate((links.must[soft_must], links.cannot[soft_cannot]))
    if not len(pairs) or link_weight == 0.0:
        return np.empty((0, 2), dtype=np.int64), np.empty(0), 0.0
    p = np.concatenate((links.must_confidence[soft_must], links.cannot_confidence[soft_cannot]))
    price = link_weight * (np.log1p(p) - np.log1p(-p))
    is_must = np.arange(len(p)) < soft_must.sum()

    nodes = np.sort(component[pairs], axis=1)
    n_nodes = int(component.max()) + 1
    key, where = np.unique(nodes @ np.array([n_nodes, 1]), return_inverse=True)
    v = np.bincount(where, weights=np.where(is_must, price, 0.0), minlength=len(key))
    w = np.bincount(where, weights=np.where(is_must, 0.0, price), minlength=len(key))
    left, right = np.divmod(key, n_nodes)
    joined, parted = left == right, np.isin(key, apart @ np.array([n_nodes, 1]))
    free = ~(joined | parted)
    constant = w[joined].sum() + v[parted].sum() + np.minimum(v, w)[free].sum()
    keep = free & (v != w)
    return np.column_stack((left, right))[keep], (v - w)[keep], float(constant)


def refuse_large_component(problem: Problem, component: Array) -> None:
    largest = int(problem.sizes.argmax())
    if problem.sizes[largest] > problem.most:
        raise ValueError(
            f"{problem.sizes[largest]} samples are must-linked to each other, more than a "
            f"cluster's {problem.most}: {_some(np.flatnonzero(component == largest))}"
        )


def clique_cover(problem: Problem, component: Array) -> list[list[int]]:
    """Cover the cannot-links between nodes by cliques, grown from each link not covered yet."""
    n_clusters = problem.excess.shape[1]
    near: dict[int, set[int]] = {}
    for a, b in problem.apart.tolist():
        near.setdefault(a, set()).add(b)
        near.setdefault(b, set()).add(a)
    covered: set[tuple[int, int]] = set()
    cliques: list[list[int]] = []
    for a, b in problem.apart.tolist():
        if (a, b) in covered:
            continue
        clique, common = [a, b], near[a] & near[b]
        while common and len(clique) <= n_clusters:
            # Whoever is held apart from most others leaves most to go on with.
            node = min(common, key=lambda other: (-len(near[other]), other))
            clique.append(node)
            common &= near[node]
        if len(clique) > n_clusters:
            _, first = np.unique(component, return_index=True)
            clusters = "is 1 cluster" if n_clusters == 1 else f"are {n_clusters} clusters"
            raise ValueError(
                f"{len(clique)} samples are cannot-linked to each other (directly or through "
                f"must-links), and there {clusters}: {_some(first[np.sort(clique)])}"
            )
        clique.sort()
        covered.update((x, y) for i, x in enumerate(clique) for y in clique[i + 1 :])
        cliques.append(clique)
    return cliques


def _some(rows: Array) -> str:
    shown = ", ".join(str(row) for row in rows[:_SHOWN].tolist())
    return shown + (f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else "")
