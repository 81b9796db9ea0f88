"""Links closed once: what every stage of a fit takes instead of links.

``Links`` is what the user said; `ClosedLinks` is what follows from it for data of so many rows.
It is made once, at the door of an estimator. What a stage does not ask for is not worked out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from linkshift._core.arrays import offsets
from linkshift.links._closure import Closure, close_components, components, inside
from linkshift.links._combine import union
from linkshift.links._conflicts import conflict_error
from linkshift.links._graph import LinkGraph, walk
from linkshift.links._groups import MOST_EXPANDED, Groups
from linkshift.links._links import Links
from linkshift.links._parse import FloatArray, IntArray, Parsed


class SignedEdges(NamedTuple):
    """Links between nodes, node by node (CSR), each from both of its ends."""

    other: IntArray  # the node at the other end
    weight: FloatArray  # confidence: positive for must, negative for cannot
    start: IntArray  # where each node begins in ``other``; one entry more than nodes


def signed_edges(pairs: IntArray, weight: FloatArray, n: int) -> SignedEdges:
    """Lay out weighted pairs of ``n`` nodes; a node paired with itself stands once."""
    back = pairs[:, 0] != pairs[:, 1]
    one, other = np.concatenate([pairs, pairs[back, ::-1]]).T
    order = np.argsort(one, kind="stable")
    return SignedEdges(
        np.ascontiguousarray(other[order], dtype=np.int64),
        np.concatenate([weight, weight[back]])[order],
        offsets(one, n),
    )


class Units(NamedTuple):
    """Rows that certain must-links hold together, and the other links between these units."""

    of_row: IntArray
    member: IntArray  # rows, unit by unit
    start: IntArray  # where each unit begins in ``member``
    edges: SignedEdges
    group: IntArray  # groups whose members are apart, unit by unit
    group_start: IntArray  # where each unit begins in ``group``


@dataclass(frozen=True, eq=False)
class ClosedLinks:
    """What links imply for data of ``n_samples`` rows.

    Links of confidence one are *certain*: they are closed, that is, carried along chains of
    must-links. Others stay pairs, since closing would multiply a wrong answer. Nor is anything
    carried along when certain links contradict each other: somebody erred, and nobody knows who.

    Attributes
    ----------
    links : Links
        As given, by row, fitting the data.
    n_samples : int
        Rows of the data.

    Examples
    --------
    >>> from linkshift.links import ClosedLinks, Links
    >>> links = Links(must=[(0, 1), (2, 3)], cannot=[(1, 2)], must_confidence=[1, 0.5])
    >>> closed = ClosedLinks(links, 4)
    >>> closed.component
    array([0, 0, 1, 2])
    >>> closed.closure.cannot_pairs().tolist()
    [[0, 2], [1, 2]]
    >>> closed.whole.component
    array([0, 0, 1, 1])
    """

    links: Links
    n_samples: int

    @classmethod
    def coerce(cls, value: Any, n_samples: int) -> ClosedLinks:
        """Accept closed links, or what people pass as links, for data of so many rows."""
        if not isinstance(value, ClosedLinks):
            return cls(Links.coerce(value).check(n_samples), n_samples)
        if value.n_samples != n_samples:
            raise ValueError(
                f"the links are closed for {value.n_samples} samples, but the data have "
                f"{n_samples}; for a subset of the data use take(rows)"
            )
        return value

    def __len__(self) -> int:
        """Give the number of links."""
        return len(self.links)

    @cached_property
    def linked_rows(self) -> IntArray:
        """Rows that links name, groups of rows that are apart included."""
        pairs = self.links._pairs
        ends = [pairs.must.ravel(), pairs.cannot.ravel(), pairs.apart.member]
        return np.unique(np.concatenate(ends))

    @cached_property
    def certain(self) -> Links:
        """The links of confidence one."""
        links = self.links
        return links.where(links.must_confidence == 1.0, links.cannot_confidence == 1.0)

    @property
    def all_certain(self) -> bool:
        """Whether every link has confidence one."""
        return len(self.certain) == len(self.links)

    @cached_property
    def _certain_component(self) -> IntArray:
        return components(self.certain.must, self.n_samples)

    @cached_property
    def must_component(self) -> IntArray:
        """Component of each row under all must-links, whatever their confidence."""
        if self.all_certain:
            return self._certain_component
        return components(self.links.must, self.n_samples)

    @cached_property
    def contradictory(self) -> bool:
        """Whether certain links contradict each other."""
        component = self._certain_component
        return bool(
            inside(self.certain.cannot, component).any() or self.groups.broken(component).any()
        )

    @property
    def groups(self) -> Groups:
        """Groups of rows that are all apart from each other."""
        return self.links._pairs.apart

    @property
    def component(self) -> IntArray:
        """Component of each row under certain must-links; its own where these contradict."""
        return np.arange(self.n_samples) if self.contradictory else self._certain_component

    @cached_property
    def closure(self) -> Closure:
        """The closure of the certain links; contradictions raise `ConflictError`."""
        if self.contradictory:
            raise conflict_error(self.certain.conflicts())
        return close_components(self._certain_component, self.certain.cannot, self.groups)

    @cached_property
    def whole(self) -> Closure:
        """The closure of all links, whatever their confidence; contradictions raise."""
        return self.closure if self.all_certain else self.links.closure(self.n_samples)

    @cached_property
    def units(self) -> Units:
        """Rows that move together when labels settle, and the links between them."""
        links, unit = self.links, self.component
        n_units = int(unit.max(initial=-1)) + 1
        loose = links.must_confidence < 1.0
        if self.contradictory:
            loose[:] = True
        pairs = unit[np.concatenate([links.must[loose], links.cannot])]
        weight = np.concatenate([links.must_confidence[loose], -links.cannot_confidence])
        apart = pairs[:, 0] != pairs[:, 1]
        groups = self.groups.mapped(unit)
        order = np.argsort(groups.member, kind="stable")
        return Units(
            unit.astype(np.int64),
            np.argsort(unit, kind="stable"),
            offsets(unit, n_units),
            signed_edges(pairs[apart], weight[apart], n_units),
            groups.group[order],
            offsets(groups.member, n_units),
        )

    def expanded(self, limit: int = MOST_EXPANDED) -> ClosedLinks:
        """Write groups as cannot-links."""
        return ClosedLinks(self.links.expanded(limit), self.n_samples) if len(self.groups) else self

    @cached_property
    def confidence(self) -> ImpliedConfidence:
        """Confidence of every pair that is linked, given or implied by all links."""
        return ImpliedConfidence(self.links, self.whole)

    def take(self, rows: IntArray) -> ClosedLinks:
        """Close the links inside a subset of the rows, renumbered."""
        return ClosedLinks(self.links.take(rows), len(rows))

    def with_implied(self, groups: Mapping[int, IntArray]) -> Links:
        """Add the links that follow between some rows of the components of `whole`.

        Parameters
        ----------
        groups : mapping
            Rows of each component that take part, ascending. Components that are held apart must
            be among them.
        """
        confidence = self.confidence
        must = [rows[np.stack(np.triu_indices(rows.size, 1), axis=1)] for rows in groups.values()]
        cannot = [
            np.stack(np.meshgrid(groups[a], groups[b]), axis=2).reshape(-1, 2)
            for a, b in confidence.between
        ]
        none = np.empty((0, 2), dtype=np.int64)
        implied = Parsed(
            np.concatenate([none, *must]),
            np.sort(np.concatenate([none, *cannot]), axis=1),
            np.repeat(confidence.inside[list(groups)], [len(pairs) for pairs in must]),
            np.repeat(list(confidence.between.values()), [len(pairs) for pairs in cannot]),
            None,
        )
        return Links._make(union(self.links._pairs, implied), self.n_samples)

    def chains(self, row: int) -> Chains:
        """Shortest chains of certain must-links from a row to all that it is linked to."""
        from scipy.sparse.csgraph import breadth_first_order

        order, before = breadth_first_order(self._must_matrix, row, directed=True)
        length = {row: 1}
        for node in order[1:].tolist():
            length[node] = length[int(before[node])] + 1
        return Chains(row, before, length)

    @cached_property
    def _must_matrix(self) -> Any:
        must = self.certain.must if not self.contradictory else self.certain.must[:0]
        matrix = LinkGraph(must, must[:0], self.n_samples).matrix()
        matrix.sort_indices()  # of equally short chains, the one through lower rows
        return matrix


@dataclass(frozen=True, eq=False)
class Chains:
    """Shortest chains of must-links from a row to each row of its component.

    Attributes
    ----------
    row : int
        The first row.
    before : ndarray of shape (n,)
        The row before each row on its chain.
    length : dict
        Rows on the chain to each row that there is one to, both ends counted.
    """

    row: int
    before: IntArray
    length: dict[int, int]

    def to(self, row: int) -> tuple[int, ...]:
        """Give the rows of the chain, from the first to this one."""
        return walk(self.before, self.row, row)


class ImpliedConfidence:
    """Confidence of linked pairs: as given, or that of the weakest link it is implied by.

    Attributes
    ----------
    inside : ndarray of shape (n_components,)
        Least confidence of the must-links in each component.
    between : dict
        Greatest confidence with which two components, the lower first, are held apart.
    """

    def __init__(self, links: Links, closure: Closure) -> None:
        self._links, self._component = links, closure.component
        self.inside = np.ones(closure.n_components)
        np.minimum.at(self.inside, closure.component[links.must[:, 0]], links.must_confidence)
        self.between: dict[tuple[int, int], float] = {}
        apart = np.sort(closure.component[links.cannot], axis=1).tolist()
        for (a, b), c in zip(apart, links.cannot_confidence.tolist(), strict=True):
            implied = min(c, self.inside[a], self.inside[b])
            self.between[a, b] = max(self.between.get((a, b), 0.0), implied)

    @cached_property
    def _given(self) -> dict[tuple[int, int], float]:
        links = self._links
        pairs = np.sort(np.concatenate([links.must, links.cannot]), axis=1).tolist()
        known = np.concatenate([links.must_confidence, links.cannot_confidence]).tolist()
        return {(a, b): c for (a, b), c in zip(pairs, known, strict=True)}

    def of(self, pairs: IntArray) -> FloatArray:
        """Confidence of each of some pairs that are linked."""
        return np.array([self._of(*sorted(pair)) for pair in pairs.tolist()], dtype=np.float64)

    def _of(self, a: int, b: int) -> float:
        given = self._given.get((a, b))
        if given is not None:
            return given
        one, other = sorted((int(self._component[a]), int(self._component[b])))
        return float(self.inside[one]) if one == other else self.between[one, other]
