"""What the links imply: components of must-links and the cannot-links between them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkshift._core.disjoint import DisjointSets
from linkshift._core.labels import first_come
from linkshift.links._groups import NO_GROUPS, Groups
from linkshift.links._parse import FloatArray, IntArray

PAIR_LIMIT = 50_000_000
BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class Closure:
    """The transitive closure of a set of links, kept small.

    Must-links are an equivalence: if a ~ b and b ~ c then a ~ c. A cannot-link between two samples
    separates everything that is must-linked to either: if a ~ a', b ~ b' and a cannot meet b, then
    a' cannot meet b' [1]_. Samples are therefore numbered by component, and cannot-links are kept
    between components. Memory is linear in samples and links.

    Attributes
    ----------
    component : ndarray of shape (n_samples,), int64
        The component of each sample, 0 to ``n_components - 1``, numbered by
        first appearance. A sample without must-links is a component by itself.
    n_components : int
        How many components there are.
    component_cannot : ndarray of shape (k, 2), int64
        Pairs of components that must stay apart: each once, smaller first, sorted.
    groups : Groups
        Components that must stay apart by group; their pairs are not in ``component_cannot``.

    References
    ----------
    .. [1] K. Wagstaff, C. Cardie, S. Rogers, S. Schroedl, "Constrained K-means
       Clustering with Background Knowledge", ICML 2001.

    Examples
    --------
    >>> from linkshift.links import Links
    >>> closure = Links(must=[(0, 1), (1, 2)], cannot=[(2, 3)]).closure()
    >>> closure.component
    array([0, 0, 0, 1])
    >>> closure.cannot_pairs().tolist()
    [[0, 3], [1, 3], [2, 3]]
    """

    component: IntArray
    n_components: int
    component_cannot: IntArray
    _order: IntArray = field(repr=False)
    _starts: IntArray = field(repr=False)
    groups: Groups = field(default=NO_GROUPS, repr=False)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.component)

    @property
    def sizes(self) -> IntArray:
        """Number of samples in each component."""
        return np.diff(self._starts)

    def members(self, c: int) -> IntArray:
        """Rows of component `c`, in ascending order."""
        if not 0 <= c < self.n_components:
            raise IndexError(f"component {c} is out of range: there are {self.n_components}")
        return self._order[self._starts[c] : self._starts[c + 1]]

    def must_pairs(self, limit: int = PAIR_LIMIT) -> IntArray:
        """Expand to every pair of samples that must be together.

        Parameters
        ----------
        limit : int, default=50_000_000
            Raise rather than build more pairs than this.

        Returns
        -------
        ndarray of shape (m, 2), int64
            Pairs with the smaller row first, in lexicographic order.
        """
        sizes = self.sizes
        _guard(sum(int(s) * (int(s) - 1) // 2 for s in sizes[sizes > 1]), limit, "must")
        rank = np.empty_like(self._order)
        rank[self._order] = np.arange(self.n_samples)
        # Members of a component stand in ascending order, so the partners of a
        # sample with a larger row are exactly those behind it in its component.
        later = self._starts[self.component + 1] - rank - 1
        begin = np.concatenate(([0], np.cumsum(later)))
        total = int(begin[-1])
        pairs = np.empty((total, 2), dtype=np.int64)
        # By blocks, so that what is computed on the way stays in the cache.
        cuts = np.unique(np.searchsorted(begin, np.append(np.arange(0, total, BLOCK), total)))
        for low, high in pairwise(cuts.tolist()):
            block, count = pairs[begin[low] : begin[high]], later[low:high]
            block[:, 0] = np.repeat(np.arange(low, high), count)
            block[:, 1] = self._order[_ranges(rank[low:high] + 1, count)]
        return pairs

    def cannot_pairs(self, limit: int = PAIR_LIMIT) -> IntArray:
        """Expand to every pair of samples that must be apart.

        Parameters and result are those of `must_pairs`.
        """
        left, right = self.expanded(limit).component_cannot.T
        sizes = self.sizes
        counts = sizes[left] * sizes[right]
        # Python's integers: the sum of large products must not overflow.
        _guard(sum(counts.tolist()), limit, "cannot")
        offset = _ranges(np.zeros_like(counts), counts)
        width = np.repeat(sizes[right], counts)
        a = self._order[np.repeat(self._starts[left], counts) + offset // width]
        b = self._order[np.repeat(self._starts[right], counts) + offset % width]
        pairs = np.column_stack((np.minimum(a, b), np.maximum(a, b)))
        return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]

    def expanded(self, limit: int = PAIR_LIMIT) -> Closure:
        """Write groups as pairs of components."""
        if not len(self.groups):
            return self
        between = np.concatenate((self.component_cannot, self.groups.pairs(limit)[0]))
        between = np.unique(between, axis=0).reshape(-1, 2)
        return replace(self, component_cannot=between, groups=NO_GROUPS)

    def are_apart(self, pairs: ArrayLike) -> NDArray[np.bool_]:
        """Say of pairs of samples whether links or groups hold them apart.

        Examples
        --------
        >>> from linkshift.links import Links
        >>> Links(must=[(0, 1)], cannot=[(1, 2)]).closure().are_apart([(0, 2), (0, 1)])
        array([ True, False])
        """
        from scipy.sparse import csr_array

        ends = np.sort(self.component[np.asarray(pairs, dtype=np.int64).reshape(-1, 2)], axis=1)
        n, found = self.n_components, self.component_cannot
        linked = np.isin(ends[:, 0] * n + ends[:, 1], found[:, 0] * n + found[:, 1])
        groups = self.groups
        ones = np.ones(len(groups.member))
        table = csr_array((ones, (groups.member, groups.group)), shape=(n, len(groups)))
        shared = table[ends[:, 0]].multiply(table[ends[:, 1]]).sum(axis=1)
        return np.asarray(linked | ((np.asarray(shared) > 0) & (ends[:, 0] != ends[:, 1])))


def _ranges(starts: IntArray, counts: IntArray) -> IntArray:
    """Concatenate ``arange(start, start + count)`` for each start and count."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    values = np.repeat(starts - (ends - counts), counts)
    values += np.arange(total)
    return values


def _guard(count: int, limit: int, kind: str) -> None:
    if count > limit:
        raise ValueError(
            f"the closure implies {count:,} {kind}-link pairs, more than the limit of {limit:,}; "
            "work with .component and .component_cannot, or pass a larger limit"
        )


def components(must: IntArray, n: int) -> IntArray:
    """Component of each of `n` nodes, numbered by first appearance."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(must), dtype=np.int8), (must[:, 0], must[:, 1])), shape=(n, n))
    _, raw = connected_components(graph, directed=False)
    return first_come(raw, np.int64)


def inside(cannot: IntArray, component: IntArray) -> NDArray[np.bool_]:
    """Which cannot-links have both ends in one component."""
    return np.asarray(component[cannot[:, 0]] == component[cannot[:, 1]])


def close_components(component: IntArray, cannot: IntArray, apart: Groups = NO_GROUPS) -> Closure:
    """Close consistent links, given the components; the caller has ruled conflicts out."""
    n_components = int(component.max(initial=-1)) + 1
    order = np.argsort(component, kind="stable")
    starts = np.searchsorted(component[order], np.arange(n_components + 1))
    between = np.unique(np.sort(component[cannot], axis=1), axis=0).reshape(-1, 2)
    for array in (component, order, starts, between):
        array.setflags(write=False)
    return Closure(
        component, n_components, between, order, starts.astype(np.int64), apart.mapped(component)
    )


# What a subset keeps of the closure ---------------------------------------------------------


def chained(must: IntArray, confidence: FloatArray, n: int) -> tuple[IntArray, FloatArray]:
    """Each component as a chain: nodes in order, and the confidence of each gap to the next.

    Nodes are joined from the surest link down, the joined groups end to end. That is the leaf order
    of the single-linkage tree, so the confidence with which any two samples are linked (the weakest
    link on the strongest path between them) is the lowest gap between them; 0 between chains.
    """
    forest = DisjointSets(n)
    following, tail, gap_after = [-1] * n, list(range(n)), [0.0] * n
    for e in np.argsort(-confidence, kind="stable"):
        left, right = forest.find(int(must[e, 0])), forest.find(int(must[e, 1]))
        if left != right:  # a root is the head of its chain
            following[tail[left]] = right
            gap_after[tail[left]] = float(confidence[e])
            forest.parent[right], tail[left] = left, tail[right]
    order: list[int] = []
    for node in range(n):
        if forest.find(node) == node:
            step = node
            while step >= 0:
                order.append(step)
                step = following[step]
    positions = np.array(order, dtype=np.int64)
    return positions, np.array(gap_after)[positions]


def spanning(pairs: IntArray, confidence: FloatArray, n: int) -> NDArray[np.bool_]:
    """Mark the links of the surest spanning forest; among equals the earlier link wins."""
    forest = DisjointSets(n)
    used = np.zeros(len(pairs), dtype=bool)
    for e in np.argsort(-confidence, kind="stable"):
        used[e] = forest.join(int(pairs[e, 0]), int(pairs[e, 1]))
    return used


def implied(
    must: IntArray,
    must_confidence: FloatArray,
    cannot: IntArray,
    cannot_confidence: FloatArray,
    kept: NDArray[np.bool_],
) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
    """Links that stand in, among the kept nodes, for what the closure implies.

    Must-links: one between neighbours on each chain, passing over nodes that
    are not kept. Cannot-links: each end moves to the kept node it is most
    surely linked to. A moved link is as sure as the weakest link used.
    """
    order, gap = chained(must, must_confidence, len(kept))
    before, to_before = _nearest_kept(order, gap, kept)
    # The same walk from the other end: the gap in front of a node becomes the one behind it.
    reversed_gap = np.concatenate((gap[:-1][::-1], np.zeros(min(len(kept), 1))))
    after, to_after = _nearest_kept(order[::-1], reversed_gap, kept)
    sure = np.where(to_before >= to_after, to_before, to_after)
    stand_in = np.where(to_before >= to_after, before, after)

    line = order[kept[order]]
    joined = np.array(_joining(order, gap, kept), dtype=np.float64)
    usable = joined > 0
    pairs = np.sort(np.column_stack((line[:-1], line[1:]))[usable], axis=1)

    a, b = cannot.T
    confidence = np.minimum(cannot_confidence, np.minimum(sure[a], sure[b]))
    alive = confidence > 0
    moved = np.sort(stand_in[cannot[alive]], axis=1).reshape(-1, 2)
    return pairs, joined[usable], moved, confidence[alive]


def _nearest_kept(
    order: IntArray, gap: FloatArray, kept: NDArray[np.bool_]
) -> tuple[IntArray, FloatArray]:
    """For each node the last kept node at or before it on its chain, and how surely linked."""
    found = np.full(len(kept), -1, dtype=np.int64)
    sure = np.zeros(len(kept))
    current, weakest = -1, 0.0
    for node, step in zip(order.tolist(), gap.tolist(), strict=True):
        if kept[node]:
            current, weakest = node, 1.0
        found[node], sure[node] = current, weakest
        weakest = min(weakest, step)  # a gap of 0 ends the chain
    return found, sure


def _joining(order: IntArray, gap: FloatArray, kept: NDArray[np.bool_]) -> list[float]:
    """Weakest gap between each kept node and the next kept one."""
    joined: list[float] = []
    weakest, started = 1.0, False
    for node, step in zip(order.tolist(), gap.tolist(), strict=True):
        if kept[node]:
            if started:
                joined.append(weakest)
            weakest, started = 1.0, True
        weakest = min(weakest, step)
    return joined
