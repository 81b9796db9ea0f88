"""The graph of must-links: chains, and which cannot-links lie across a chain."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from linkshift.links._closure import components, inside
from linkshift.links._parse import FloatArray, IntArray

Item = TypeVar("Item")


class Found(Sequence[Item]):
    """A sequence whose items are worked out when they are asked for, several at once."""

    @abstractmethod
    def _items(self, wanted: Sequence[int]) -> tuple[Item, ...]: ...

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Item, ...]: ...
    def __getitem__(self, index: int | slice) -> Item | tuple[Item, ...]:
        wanted = range(len(self))[index]
        return self._items(wanted) if isinstance(wanted, range) else self._items([wanted])[0]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)}>"


@dataclass(frozen=True)
class LinkGraph:
    """Links on nodes 0 to n - 1, every node an end of some link.

    Rows are renumbered to nodes, so the cost depends on the links and not on
    how many samples the data have.
    """

    must: IntArray
    cannot: IntArray
    n: int

    @cached_property
    def component(self) -> IntArray:
        """Component of each node under all must-links."""
        return components(self.must, self.n)

    @cached_property
    def _edge_of(self) -> dict[tuple[int, int], int]:
        return {(a, b): e for e, (a, b) in enumerate(self.must.tolist())}

    def conflicting(self, use: NDArray[np.bool_] | None = None) -> IntArray:
        """Positions of cannot-links inside a component of the must-links in `use`."""
        component = self.component if use is None else components(self.must[use], self.n)
        return np.flatnonzero(inside(self.cannot, component))

    def edges(self, chain: tuple[int, ...]) -> list[int]:
        """Positions of the must-links along a chain of nodes."""
        return [self._edge_of[(a, b) if a < b else (b, a)] for a, b in pairwise(chain)]

    def restricted(self, components_wanted: IntArray) -> tuple[LinkGraph, IntArray, IntArray]:
        """Keep only some components; also give the positions of their must- and cannot-links.

        Cannot-links that leave a component can never be in conflict and are left out.
        """
        wanted = np.zeros(int(self.component.max()) + 1, dtype=bool)
        wanted[components_wanted] = True
        must = np.flatnonzero(wanted[self.component[self.must[:, 0]]])
        among = inside(self.cannot, self.component) & wanted[self.component[self.cannot[:, 0]]]
        cannot = np.flatnonzero(among)
        return compact(self.must[must], self.cannot[cannot])[0], must, cannot

    def chains(
        self,
        cannots: IntArray,
        use: NDArray[np.bool_] | None = None,
        length: FloatArray | None = None,
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Shortest chain of must-links for each of some conflicting cannot-links.

        The chains keep to the must-links in `use`. The shortest has the fewest
        links, or the smallest sum of `length` if each must-link has one.

        One breadth-first search serves every conflict that shares an end. The
        end with more conflicts is the source, so that few searches are needed.
        """
        matrix = self.matrix(use, length)
        sources = self._sources(cannots)
        order = np.argsort(sources, kind="stable")
        reached, last = np.empty(0), -1
        for index in order.tolist():
            source, cannot = int(sources[index]), int(cannots[index])
            if source != last:
                reached, last = _search(matrix, source, length is not None), source
            a, b = self.cannot[cannot].tolist()
            chain = walk(reached, source, b if source == a else a)
            yield cannot, chain if chain[0] == a else chain[::-1]

    def _sources(self, cannots: IntArray) -> IntArray:
        a, b = self.cannot[cannots].T
        degree = np.bincount(self.cannot[cannots].ravel(), minlength=self.n)
        return np.where(degree[a] >= degree[b], a, b)

    def matrix(self, use: NDArray[np.bool_] | None = None, length: FloatArray | None = None) -> Any:
        """Neighbours of each node, with the lengths of the must-links between (1 if not given)."""
        from scipy.sparse import csr_array

        # float64 is what scipy's searches work in: anything else is copied at every call.
        steps = np.ones(len(self.must)) if length is None else length
        chosen = slice(None) if use is None else use
        must, steps = self.must[chosen], steps[chosen]
        both = np.concatenate((must, must[:, ::-1])).astype(np.int32)  # which scipy < 1.15 needs
        entries = (np.tile(steps, 2), (both[:, 0], both[:, 1]))
        return csr_array(entries, shape=(self.n, self.n))


def compact(must: IntArray, cannot: IntArray) -> tuple[LinkGraph, IntArray]:
    """Renumber the rows that occur to 0, 1, ...; also give the row of each node."""
    rows, pairs = np.unique(np.concatenate((must, cannot)), return_inverse=True)
    pairs = pairs.reshape(-1, 2)
    return LinkGraph(pairs[: len(must)], pairs[len(must) :], len(rows)), rows


def _search(matrix: Any, source: int, by_length: bool) -> NDArray[Any]:
    from scipy.sparse.csgraph import breadth_first_order, dijkstra

    if by_length:
        found = dijkstra(matrix, indices=np.array([source]), return_predecessors=True)
        return np.asarray(found[1][0])
    return np.asarray(breadth_first_order(matrix, source, directed=True)[1])


def walk(predecessors: NDArray[Any], source: int, end: int) -> tuple[int, ...]:
    """Give the nodes from source to end."""
    chain = [end]
    while chain[-1] != source:
        chain.append(int(predecessors[chain[-1]]))
    return tuple(reversed(chain))
