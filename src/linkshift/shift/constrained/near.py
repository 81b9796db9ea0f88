"""Centres near the ends of links: a bit for each, and how close they are, as far as memory goes.

Which centre is near which end is marked by bits. The closeness takes eight bytes for each of them,
which may be as many as centres times links: it is worked out for panels, of as many blocks of
centres as fit, and a step goes through pairs of panels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from linkshift._core.arrays import LEAST_SQUARE, Array
from linkshift._core.memory import check_memory
from linkshift._core.threads import threads
from linkshift.shift.constrained import _loops as loops

if TYPE_CHECKING:
    from linkshift.shift.constrained.ascent import LinkKernel

__all__ = ["LOG2E", "Blocks", "Links", "Marks", "Panels", "Tiles", "near_links"]

LOG2E = float(np.log2(np.e))
_LIST_TASK = 256
_ENTRY = 12  # bytes of a member and its closeness
_PANEL = 1 << 29  # bytes of a panel, of which two are there at a time


class Blocks(NamedTuple):
    """Positions in blocks of 64, turned on their side, with boxes around them."""

    columns: Array
    low: Array
    high: Array


class Links(NamedTuple):
    """Distinct links between centres."""

    ends: Array  # two centres; for the loops, the lists of those near them
    multiplicity: Array
    confidence: Array


class Near(NamedTuple):
    """Lists of centres, members and closeness list by list, of some blocks.

    Those of list e and block w begin at ``start[e] + rank[w, e]``.
    """

    mask: Array  # (blocks, lists): which of the 64 centres of a block
    rank: Array  # (blocks + 1, lists): how many in the blocks before
    start: Array
    member: Array
    value: Array


class Tiles(NamedTuple):
    """Pairs of blocks: of one panel with one of the same or of a later one."""

    own: Near
    other: Near
    first: int  # blocks of the one
    last: int
    begin: int  # blocks of the other
    end: int


@dataclass(frozen=True)
class Marks:
    """Which centres are near which (end, bandwidth), that is, on which list."""

    kernel: LinkKernel
    centres: Array
    end: Array  # the centre that each list is about
    slope: Array
    mask: Array
    rank: Array

    def filled(self, blocks: Blocks, first: int, last: int, pool: threads) -> Near:
        """Members of each list in blocks ``first`` to ``last``, and their closeness."""
        counts = self.rank[last] - self.rank[first]
        ends = np.cumsum(counts, dtype=np.int64)
        size = int(ends[-1]) if len(ends) else 0
        member, value = np.empty(size, dtype=np.int32), np.empty(size)
        near = Near(self.mask, self.rank, ends - counts - self.rank[first], member, value)
        n_lists = len(self.end)

        def fill(e: int) -> None:
            part = e, min(e + _LIST_TASK, n_lists)
            args = blocks, self.centres, self.end, self.slope, near
            loops.fill_lists(self.kernel.kind, *args, first, last, *part)

        pool.map(fill, range(0, n_lists, _LIST_TASK))
        return near


class Panels:
    """Closeness of centres, in panels of blocks that memory has room for."""

    def __init__(self, marks: Marks, blocks: Blocks, pool: threads) -> None:
        self._marks, self._blocks, self._pool = marks, blocks, pool
        before = _ENTRY * marks.rank.sum(axis=1, dtype=np.int64)  # bytes before each block
        n_blocks = len(before) - 1
        self._edges = np.array([0, n_blocks])
        if before[-1] > 2 * _PANEL:
            steps = np.arange(0, before[-1], _PANEL)
            self._edges = np.unique([*np.searchsorted(before, steps), n_blocks])

    def pairs(self) -> Iterator[Tiles]:
        """Every panel with itself and each later one, in the order in which one loop would go."""
        panels = list(zip(self._edges[:-1].tolist(), self._edges[1:].tolist(), strict=True))
        for p, one in enumerate(panels):
            own = self._filled(*one)
            yield Tiles(own, own, *one, *one)
            for other in panels[p + 1 :]:
                yield Tiles(own, self._filled(*other), *one, *other)

    def _filled(self, first: int, last: int) -> Near:
        return self._marks.filled(self._blocks, first, last, self._pool)


def near_links(
    centres: Array,
    blocks: Blocks,
    links: Links,
    kernel: LinkKernel,
    h: float,
    scale: float,
    floor: float,
    pool: threads,
) -> tuple[Links, Marks]:
    """Centres near the ends of links, within the bandwidth of each link; ends become lists."""
    length = np.linalg.norm(centres[links.ends[:, 0]] - centres[links.ends[:, 1]], axis=1)
    width = np.repeat(np.maximum(floor, np.minimum(h, scale * length)), 2)  # eq. 4.4
    # While h is below most links' own scale, ends at the same centre have the same list.
    end, width, lists = _distinct_lists(links.ends.ravel(), width)
    marks = _marked(centres, blocks, end, width, kernel, pool)
    return links._replace(ends=lists.reshape(-1, 2)), marks


def _distinct_lists(end: Array, width: Array) -> tuple[Array, Array, Array]:
    """Distinct (end, width) pairs, in this order, and which of them each pair is."""
    order = np.lexsort((width, end))
    end, width = end[order], width[order]
    fresh = np.ones(len(end), dtype=bool)
    fresh[1:] = (end[1:] != end[:-1]) | (width[1:] != width[:-1])
    which = np.empty(len(end), dtype=np.int64)
    which[order] = np.cumsum(fresh) - 1
    return end[fresh], width[fresh], which


def _marked(
    centres: Array, blocks: Blocks, end: Array, width: Array, kernel: LinkKernel, pool: threads
) -> Marks:
    """Mark the centres near each end, and count them."""
    n_lists, n_blocks = len(end), len(blocks.low)
    square = np.maximum(width**2, LEAST_SQUARE)
    check_memory(
        float(_ENTRY * n_blocks * n_lists),
        f"The table of centres near the ends of cannot-links ({n_lists:,} ends, {len(centres):,} "
        "centres)",
        "Lower max_pairs, or set landmarks.",
        command="Give fewer cannot-links.",
        parameter="max_pairs",
    )
    mask = np.empty((n_blocks, n_lists), dtype=np.uint64)
    rank = np.empty((n_blocks + 1, n_lists), dtype=np.int32)

    def mark(first: int) -> None:
        last = min(first + _LIST_TASK, n_lists)
        loops.mark_lists(blocks, centres, end, kernel.limit * square, first, last, mask, rank)

    pool.map(mark, range(0, n_lists, _LIST_TASK))
    return Marks(kernel, centres, end, -LOG2E / square, mask, rank)
