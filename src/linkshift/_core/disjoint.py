"""Disjoint sets: which members hang together. ``disjoint_loops`` has them for jit loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["DisjointSets", "roots"]


class DisjointSets:
    """Sets of 0, ..., n - 1, joined two at a time.

    ``parent[i]`` leads from a member towards the root of its set. Who becomes the root of a
    joined set is the caller's choice: ``parent[loser] = winner``.

    Examples
    --------
    >>> from linkshift._core.disjoint import DisjointSets
    >>> sets = DisjointSets(4)
    >>> sets.join(1, 3), sets.join(3, 1)
    (True, False)
    >>> [sets.find(i) for i in range(4)]
    [0, 1, 2, 1]
    """

    def __init__(self, n: int) -> None:
        self.parent = list(range(n))

    def find(self, member: int) -> int:
        """Return the root of a member's set, halving the path on the way."""
        parent = self.parent
        while parent[member] != member:
            parent[member] = member = parent[parent[member]]
        return member

    def join(self, one: int, other: int) -> bool:
        """Join two sets under the root of the first; whether they were two."""
        a, b = self.find(one), self.find(other)
        self.parent[b] = a
        return a != b


def roots(parent: NDArray[Any]) -> NDArray[Any]:
    """Follow all parents to the ends of their chains at once, by pointer jumping."""
    while True:
        further = parent[parent]
        if np.array_equal(further, parent):
            return parent
        parent = further
