"""Groups of rows that are all apart from each other, kept as groups.

Ten thousand rows of one group are fifty million pairs. What is asked of them is asked by group:
which of their rows share a cluster, or a component of must-links. That takes time and memory of the
order of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkshift._core.messages import Refusal

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

__all__ = ["MOST_EXPANDED", "NO_GROUPS", "Groups"]

MOST_EXPANDED = 30_000  # pairs that groups may stand for where a method goes by pairs
_ALL_PAIRS = 1000  # of rows that must-links join against a group: up to here all are looked at


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of two and more nodes, group by group (CSR).

    Attributes
    ----------
    member : ndarray of shape (m,), int64
        Nodes (rows, components, ...), ascending within each group.
    start : ndarray of shape (n_groups + 1,), int64
        Where each group begins in ``member``.
    """

    member: IntArray
    start: IntArray

    @classmethod
    def of(cls, node: Any, group: Any) -> Groups:
        """Build from memberships; a node counts once, groups of one are left out."""
        node, group = (np.asarray(part, dtype=np.int64) for part in (node, group))
        order = np.lexsort((node, group))
        node, group = node[order], group[order]
        if len(node):
            new = np.concatenate(([True], (node[1:] != node[:-1]) | (group[1:] != group[:-1])))
            node, group = node[new], group[new]
            large = np.bincount(group)[group] > 1
            node, group = node[large], group[large]
        # Groups in the order of their first rows, then of the next; the same group once.
        size = np.unique(group, return_counts=True)[1]
        start = np.concatenate(([0], np.cumsum(size))).astype(np.int64)
        parts = sorted({tuple(part.tolist()) for part in _split(node, start)})
        return cls.listed(parts)

    @classmethod
    def listed(cls, parts: list[tuple[int, ...]]) -> Groups:
        """Build from groups that are in order already."""
        member = np.array([node for part in parts for node in part], dtype=np.int64)
        start = np.concatenate(([0], np.cumsum([len(part) for part in parts]))).astype(np.int64)
        for array in (member, start):
            array.setflags(write=False)
        return cls(member, start)

    @classmethod
    def coded(cls, member: IntArray, like: Groups) -> Groups:
        """Build from other names of the members of some groups, one for each entry."""
        return cls.of(member, like.group) if len(like) else like

    def __len__(self) -> int:
        """Give the number of groups."""
        return len(self.start) - 1

    def __iter__(self) -> Iterator[IntArray]:
        return _split(self.member, self.start)

    @property
    def sizes(self) -> IntArray:
        """Members of each group."""
        return np.diff(self.start)

    @property
    def group(self) -> IntArray:
        """Group of each entry of ``member``."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @property
    def n_pairs(self) -> int:
        """Pairs that the groups stand for; one that two groups hold counts twice."""
        return sum(size * (size - 1) // 2 for size in self.sizes.tolist())

    def mapped(self, code: IntArray) -> Groups:
        """Put another node in the place of each, -1 for none."""
        if not len(self):
            return self
        node = code[self.member]
        return Groups.of(node[node >= 0], self.group[node >= 0])

    def __add__(self, other: Groups) -> Groups:
        if not len(self) or not len(other):
            return self if len(self) else other
        group = np.concatenate((self.group, other.group + len(self)))
        return Groups.of(np.concatenate((self.member, other.member)), group)

    def split(self, code: IntArray) -> Groups:
        """Members of a group that have one code, -1 being none."""
        value = code[self.member].astype(np.int64)
        known = value >= 0
        key = self.group[known] * (int(value.max(initial=0)) + 1) + value[known]
        return Groups.of(self.member[known], np.unique(key, return_inverse=True)[1])

    def together(self, code: IntArray) -> IntArray:
        """Pairs of a group that have one code, -1 being none; of many, each with its next alone."""
        parts = self.split(code)
        if parts.n_pairs <= _ALL_PAIRS:
            return parts.pairs(_ALL_PAIRS)[0]
        inner = parts.group[1:] == parts.group[:-1]
        pairs = np.column_stack((parts.member[:-1][inner], parts.member[1:][inner]))
        return np.unique(pairs, axis=0).reshape(-1, 2)

    def broken(self, code: IntArray) -> NDArray[np.bool_]:
        """Which groups have two members of one code, -1 being none."""
        value, group = code[self.member], self.group
        order = np.lexsort((value, group))
        value, group = value[order], group[order]
        same = (value[1:] == value[:-1]) & (group[1:] == group[:-1]) & (value[1:] >= 0)
        found = np.zeros(len(self), dtype=bool)
        found[group[1:][same]] = True
        return found

    def pairs(self, limit: int) -> tuple[IntArray, FloatArray]:
        """Expand to pairs, each once, and the share of each: a group of m counts as m - 1."""
        if self.n_pairs > limit:
            raise Refusal(
                f"{len(self):,} groups of rows that are apart would make {self.n_pairs:,} pairs, "
                f"more than {limit:,}.",
                "Use ConsensusClustering, ConstrainedMeanShift or refine, which take groups as "
                "they are.",
                command="Use --method consensus or --method cms, which take groups as they are.",
                parameter="links",
            )
        found, share = [np.empty((0, 2), dtype=np.int64)], [np.empty(0)]
        for part in self:
            left, right = np.triu_indices(len(part), k=1)
            found.append(np.column_stack((part[left], part[right])))
            share.append(np.full(len(left), 2.0 / len(part)))
        pairs, weight = np.concatenate(found), np.concatenate(share)
        once, which = np.unique(pairs, axis=0, return_inverse=True)
        most = np.zeros(len(once))
        np.maximum.at(most, which.ravel(), weight)
        return once.reshape(-1, 2), most


def _split(member: IntArray, start: IntArray) -> Iterator[IntArray]:
    for first, last in zip(start[:-1].tolist(), start[1:].tolist(), strict=True):
        yield member[first:last]


NO_GROUPS = Groups.listed([])
