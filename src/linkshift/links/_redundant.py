"""Links that say nothing new: others, at least as sure, imply them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkshift._core.disjoint import DisjointSets
from linkshift.links._combine import named
from linkshift.links._conflicts import shown_chain
from linkshift.links._graph import Found, compact
from linkshift.links._parse import FloatArray, IntArray, Kind
from linkshift.links._removal import Pair

if TYPE_CHECKING:
    from linkshift.links._links import Links


@dataclass(frozen=True)
class ImpliedLink:
    """A link that other links imply.

    Attributes
    ----------
    kind : {"must", "cannot"}
        Which kind of link it is.
    pair : (a, b)
        Its ends.
    cannot : pair or None
        For a cannot-link the cannot-link that it repeats; None for a must-link.
    chains : tuple of tuples
        The chains of must-links behind it: for a must-link one from end to end,
        for a cannot-link one from each end to an end of `cannot`, where the two
        ends differ. None where a chain is longer than was asked for.
    """

    kind: Kind
    pair: Pair
    cannot: Pair | None
    chains: tuple[tuple[Hashable, ...], ...] | None

    def __str__(self) -> str:
        parts = [] if self.cannot is None else [f"cannot-link ({_shown(self.cannot)})"]
        if self.chains is None:
            parts.append("a long chain of must-links")
        else:
            parts += [f"must-links {shown_chain(chain)}" for chain in self.chains]
        return f"{self.kind}-link ({_shown(self.pair)}) follows from {' and '.join(parts)}"


def _shown(pair: Pair) -> str:
    return ", ".join(repr(end) for end in pair)


class Redundant(Found[ImpliedLink]):
    """Every link that others imply: all of them can go, and nothing is lost.

    A link of confidence c is redundant when other links, each of confidence c or more, imply it: a
    must-link when a chain of must-links joins its ends, a cannot-link when such chains lead from
    its ends to those of another cannot-link. Of links that imply each other the surest stays, among
    equals the first. A cannot-link inside a chain is no repetition but a conflict, and stays.

    What stays implies the same as all links did, with every confidence from which links may be
    counted; and of what stays, no link is implied by others that are as sure.

    A sequence of `ImpliedLink`, must-links first, in the order of the links.

    Attributes
    ----------
    must, cannot : ndarray of int64
        Positions of the redundant links in ``links.must`` and ``links.cannot``.

    Examples
    --------
    >>> from linkshift.links import Links
    >>> links = Links(must=[(0, 1), (1, 2), (0, 2)], cannot=[(0, 3), (2, 3)])
    >>> for link in links.redundant():
    ...     print(link)
    must-link (0, 2) follows from must-links 0 - 1 - 2
    cannot-link (2, 3) follows from cannot-link (0, 3) and must-links 2 - 1 - 0
    >>> links.redundant().drop()
    Links(2 must, 1 cannot)
    """

    def __init__(self, links: Links) -> None:
        self.links = links
        pairs = links._pairs
        self._graph, self._rows = compact(pairs.must, pairs.cannot)
        self._must_implied, self._implied_by = implied_links(
            self._graph.must, pairs.must_confidence, self._graph.cannot, pairs.cannot_confidence
        )
        self.must: IntArray = np.flatnonzero(self._must_implied)
        self.cannot: IntArray = np.flatnonzero(self._implied_by >= 0)

    def __len__(self) -> int:
        return len(self.must) + len(self.cannot)

    def _items(self, wanted: Sequence[int]) -> tuple[ImpliedLink, ...]:
        return tuple(self.explain(index) for index in wanted)

    def explain(self, index: int, longest: int | None = None) -> ImpliedLink:
        """Give a redundant link with what implies it.

        Parameters
        ----------
        index : int
            Which one, from 0.
        longest : int, default=None
            Chains of more links than this are not given; None gives all. With
            many links on long chains this bounds the work.
        """
        if index < len(self.must):
            ends = self._graph.must[self.must[index]]
            return ImpliedLink("must", self._names(ends), None, self._chains([ends], longest))
        position = int(self.cannot[index - len(self.must)])
        ends, other = self._graph.cannot[[position, self._implied_by[position]]]
        sure = float(self.links._pairs.cannot_confidence[position])
        if not self._forest.joined(int(ends[0]), int(other[0]), sure):
            other = other[::-1]
        steps = [step for step in zip(ends, other, strict=True) if step[0] != step[1]]
        return ImpliedLink(
            "cannot", self._names(ends), self._names(np.sort(other)), self._chains(steps, longest)
        )

    def drop(self) -> Links:
        """Give the links without the redundant ones: their closure is the same."""
        return self.links._without(self.must, self.cannot)

    def _names(self, nodes: Sequence[int] | IntArray) -> Pair:
        return named(self._rows[np.asarray(nodes)].reshape(1, -1), self.links._pairs.names)[0]

    def _chains(
        self, steps: Sequence[Sequence[int]], longest: int | None
    ) -> tuple[tuple[Hashable, ...], ...] | None:
        found = [self._forest.path(int(a), int(b), longest) for a, b in steps]
        return None if None in found else tuple(self._names(path) for path in found if path)

    @cached_property
    def _forest(self) -> _Rooted:
        kept = ~self._must_implied
        confidence = self.links._pairs.must_confidence[kept]
        return rooted(self._graph.must[kept], confidence, self._graph.n)


def implied_links(
    must: IntArray, must_confidence: FloatArray, cannot: IntArray, cannot_confidence: FloatArray
) -> tuple[NDArray[np.bool_], IntArray]:
    """Which must-links are implied, and for each cannot-link the one that implies it, or -1.

    Links are visited from the surest down, must-links first among equals. A must-link within a
    component is implied, any other joins two. The cannot-links between components stand in a table
    for each component, that of the smaller table being moved when two are joined: m links cost
    O(m log m).
    """
    n = 1 + max(int(must.max(initial=-1)), int(cannot.max(initial=-1)))
    order = np.argsort(-np.concatenate((must_confidence, cannot_confidence)), kind="stable")
    ends = np.concatenate((must, cannot))[order]
    sets = DisjointSets(n)
    apart: list[dict[int, int]] = [{} for _ in range(n)]  # other component: rank of the link
    repeats = [-1] * len(order)  # rank of the link that implies this one; its own, for a must
    for rank, (a, b, is_must) in enumerate(
        zip(ends[:, 0].tolist(), ends[:, 1].tolist(), (order < len(must)).tolist(), strict=True)
    ):
        a, b = sets.find(a), sets.find(b)
        if is_must:
            if a == b:
                repeats[rank] = rank
            else:
                if len(apart[a]) < len(apart[b]):
                    a, b = b, a
                sets.parent[b] = a
                _move(apart, b, a)
        elif a != b:
            first = apart[a].setdefault(b, rank)
            apart[b][a] = first
            if first != rank:
                repeats[rank] = first
    by = np.full(len(order), -1, dtype=np.int64)
    ranks = np.array(repeats, dtype=np.int64)
    by[order] = np.where(ranks >= 0, order[ranks], -1)
    return by[: len(must)] >= 0, np.where(by < 0, -1, by - len(must))[len(must) :]


def _move(apart: list[dict[int, int]], source: int, target: int) -> None:
    """Join the table of one component to that of another, keeping the surest link to each."""
    there = apart[target]
    for other, rank in apart[source].items():
        del apart[other][source]
        if other != target:  # else the two are joined although apart: a conflict, reported there
            rank = min(rank, there.get(other, rank))
            there[other] = apart[other][target] = rank
    apart[source] = {}


class _Rooted(NamedTuple):
    """A forest with a root in each tree."""

    parent: list[int]
    sure: list[float]  # confidence of the link to the parent
    depth: list[int]
    root: list[int]

    def joined(self, a: int, b: int, confidence: float) -> bool:
        """Whether a chain of links that are sure enough joins two nodes.

        The forest is the surest, so its path has the surest weakest link of all chains.
        """
        if self.root[a] != self.root[b]:
            return False
        while a != b:
            if self.depth[a] < self.depth[b]:
                a, b = b, a
            if self.sure[a] < confidence:
                return False
            a = self.parent[a]
        return True

    def path(self, a: int, b: int, longest: int | None = None) -> tuple[int, ...] | None:
        """Nodes from `a` to `b` in one tree; None when there are more than `longest` steps."""
        up, down = [a], [b]
        while up[-1] != down[-1]:
            side = up if self.depth[up[-1]] >= self.depth[down[-1]] else down
            side.append(self.parent[side[-1]])
            if longest is not None and len(up) + len(down) - 2 > longest:
                return None
        return (*up, *reversed(down[:-1]))


def rooted(forest: IntArray, confidence: FloatArray, n: int) -> _Rooted:
    """Hang each tree of a forest on one of its nodes."""
    around: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    for (a, b), sure in zip(forest.tolist(), confidence.tolist(), strict=True):
        around[a].append((b, sure))
        around[b].append((a, sure))
    tree = _Rooted([-1] * n, [1.0] * n, [0] * n, [-1] * n)
    for start in range(n):
        if tree.root[start] >= 0:
            continue
        tree.root[start] = start
        waiting = [start]
        while waiting:
            node = waiting.pop()
            for other, sure in around[node]:
                if tree.root[other] < 0:
                    tree.parent[other], tree.sure[other] = node, sure
                    tree.depth[other], tree.root[other] = tree.depth[node] + 1, start
                    waiting.append(other)
    return tree
