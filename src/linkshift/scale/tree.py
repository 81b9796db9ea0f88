"""Summaries merged as they come, in the tree of `linkshift.scale.merge`.

Of n chunks, as many summaries are kept as n has ones in the binary system.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from linkshift.summaries import Summary, merge

__all__ = ["Node", "add_leaf", "root"]


class Node(NamedTuple):
    """Two to the power of ``level`` chunks that follow each other, merged."""

    level: int
    summary: Summary


def add_leaf(
    nodes: Sequence[Node], leaf: Summary, m: int, *, n_jobs: int | None = None
) -> list[Node]:
    """Add the summary of the next chunk: equal levels are merged, as a one is carried.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.scale import summarise
    >>> from linkshift.scale.tree import add_leaf
    >>> nodes, leaf = [], summarise(np.arange(40.0).reshape(10, 4), 3)
    >>> for _ in range(6):
    ...     nodes = add_leaf(nodes, leaf, 3)
    >>> [node.level for node in nodes]
    [2, 1]
    """
    kept, node = list(nodes), Node(0, leaf)
    while kept and kept[-1].level == node.level:
        pair = [kept.pop().summary, node.summary]
        node = Node(node.level + 1, merge(pair, m, n_jobs=n_jobs))
    return [*kept, node]


def root(nodes: Sequence[Node], m: int, *, n_jobs: int | None = None) -> Summary:
    """Merge what is left: the summary of all chunks, that of `merge` of their list."""
    level, found = nodes[-1]
    for above, summary in reversed(nodes[:-1]):
        while level < above:  # without a neighbour, a summary goes up alone
            level, found = level + 1, merge([found], m, n_jobs=n_jobs)
        level, found = level + 1, merge([summary, found], m, n_jobs=n_jobs)
    return found if level else merge([found], m, n_jobs=n_jobs)
