"""Trees of rows: how many clusters there are when two rows come together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkshift._core.arrays import Array

__all__ = ["Meeting", "meeting"]


class Meeting(NamedTuple):
    """Where rows come together in a tree, ready to be asked of any pairs.

    Rows stand in the order of the leaves; of two of them, the last merger between their places is
    the one that joins them. ``highest[k, i]`` is the last merger of 2^k gaps from place i on.
    """

    place: Array  # (n,): of each row among the leaves
    highest: Array  # (levels, n - 1)

    def clusters(self, a: Array, b: Array) -> Array:
        """Count the clusters at the moment when a joins b, for pairs of rows: n for a row itself.

        Arrays of rows that broadcast give an array of counts.
        """
        one, other = self.place[a], self.place[b]
        low, high = np.minimum(one, other), np.maximum(one, other)
        length = np.maximum(high - low, 1)
        level = np.frexp(length)[1] - 1  # the largest power of two that fits
        n = len(self.place)
        first = np.minimum(low, n - 2)
        last = np.maximum(high - (1 << level), 0)
        merger = np.maximum(self.highest[level, first], self.highest[level, last])
        found: Array = np.where(low == high, n, n - 1 - merger)
        return found


def meeting(tree: Array) -> Meeting:
    """Prepare a tree of scipy's form (n - 1 mergers, the lowest first)."""
    n = len(tree) + 1
    child = tree[:, :2].astype(np.int64)
    sizes = np.concatenate([np.ones(n, dtype=np.int64), tree[:, 3].astype(np.int64)])
    begin = np.zeros(2 * n - 1, dtype=np.int64)
    gap = np.empty(n - 1, dtype=np.int64)
    for merger in range(n - 2, -1, -1):
        left, right = child[merger]
        begin[left] = begin[n + merger]
        begin[right] = begin[left] + sizes[left]
        gap[begin[right] - 1] = merger
    levels = [gap]
    while 2 ** len(levels) <= n - 1:
        half = 2 ** (len(levels) - 1)
        longer = levels[-1].copy()
        longer[: n - 1 - half] = np.maximum(longer[: n - 1 - half], levels[-1][half:])
        levels.append(longer)
    return Meeting(begin[:n], np.stack(levels))
