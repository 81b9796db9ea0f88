"""Contradictions settled by weight: the links that are believed least are set aside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkshift._core.disjoint import DisjointSets
from linkshift.links._closure import components
from linkshift.links._graph import LinkGraph, compact
from linkshift.links._parse import FloatArray, IntArray, Parsed
from linkshift.links._removal import smallest_removal

if TYPE_CHECKING:
    from linkshift.links._links import Links

EXACT_CONFLICTS = 200  # beyond, a proof may take seconds; surest first then


@dataclass(frozen=True)
class Settled:
    """Links without contradictions, and those that were set aside for it.

    Attributes
    ----------
    links : Links
        The links that remain.
    set_aside : Links
        The others: putting any one of them back brings a contradiction back.
    exact : bool
        True when no other choice sets aside less weight. False when there was too much to prove
        that, and links were taken one by one instead, the surest first.
    """

    links: Links
    set_aside: Links
    exact: bool


def settle(
    links: Links, must_weight: ArrayLike | None = None, cannot_weight: ArrayLike | None = None
) -> Settled:
    """See :meth:`Links.settle`. Groups of rows that are apart stay: links go instead."""
    must = _checked(links, "must", must_weight)
    cannot = _checked(links, "cannot", cannot_weight)
    pairs, n_must = links._pairs, len(must)
    n_links, heavy = n_must + len(cannot), 1.0 + must.sum() + cannot.sum()
    held = quarrels(pairs)
    while True:
        graph, _ = compact(pairs.must, np.concatenate((pairs.cannot, held)))
        kept, exact = _least(graph, must, np.concatenate((cannot, np.full(len(held), heavy))))
        left = links.where(kept[:n_must], kept[n_must:n_links])
        new = quarrels(left._pairs)
        if not len(new):
            break
        held = np.unique(np.concatenate((held, new)), axis=0)
    gone = links.where(~kept[:n_must], ~kept[n_must:n_links])
    return Settled(left, gone._only_pairs(), exact)


def quarrels(pairs: Parsed) -> IntArray:
    """Pairs of groups, whose rows are apart, that must-links join."""
    if not len(pairs.apart):
        return np.empty((0, 2), dtype=np.int64)
    n = 1 + max(int(pairs.must.max(initial=-1)), int(pairs.apart.member.max(initial=-1)))
    return pairs.apart.together(components(pairs.must, n))


def _least(
    graph: LinkGraph, must: FloatArray, cannot: FloatArray
) -> tuple[NDArray[np.bool_], bool]:
    """Which links stay when those of least weight go, and whether that is proven."""
    conflicts = graph.conflicting()
    weight, n_must = np.concatenate((must, cannot)), len(must)
    kept, exact = np.ones(len(weight), dtype=bool), True
    if len(conflicts):
        kept = _extended(graph, weight, np.zeros(len(weight), dtype=bool))
        exact = False
    if 0 < len(conflicts) <= EXACT_CONFLICTS:
        gone_must, gone_cannot, proven = smallest_removal(graph, must, cannot)
        least = np.ones(len(weight), dtype=bool)
        least[gone_must] = least[n_must + gone_cannot] = False
        least = _extended(graph, weight, least)
        if proven or weight[least].sum() > weight[kept].sum():
            kept, exact = least, proven
    return kept, exact


def _checked(links: Links, kind: str, given: ArrayLike | None) -> FloatArray:
    """Weights of the links of one kind; their confidences where none are given."""
    confidence: FloatArray = getattr(links, f"{kind}_confidence")
    if given is None:
        return confidence
    weight = np.asarray(given, dtype=np.float64)
    if weight.shape != confidence.shape:
        raise ValueError(
            f"{kind}_weight has shape {weight.shape}; give one number for each of the "
            f"{len(confidence)} {kind}-links"
        )
    if not (np.isfinite(weight) & (weight > 0)).all():
        raise ValueError(f"{kind}_weight must be more than 0 and finite")
    return weight


def _extended(graph: LinkGraph, weight: FloatArray, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Add links to some that agree, the heaviest first, wherever no contradiction follows.

    Once a link is refused it stays refused, as links are only added: no link that is left out in
    the end could be put back.
    """
    sets = DisjointSets(graph.n)
    apart: list[set[int]] = [set() for _ in range(graph.n)]  # of roots, the roots held apart
    pairs = np.concatenate((graph.must, graph.cannot)).tolist()
    order = np.lexsort((-weight, ~kept))  # those that are in already come first
    out = np.zeros(len(weight), dtype=bool)
    for item in order.tolist():
        a, b = map(sets.find, pairs[item])
        if item >= len(graph.must):
            out[item] = a != b
            if a != b:
                apart[a].add(b)
                apart[b].add(a)
            continue
        out[item] = b not in apart[a]
        if out[item] and a != b:
            a, b = (a, b) if len(apart[a]) >= len(apart[b]) else (b, a)
            sets.join(a, b)
            for other in apart[b]:
                apart[other].remove(b)
                apart[other].add(a)
            apart[a] |= apart[b]
            apart[b] = set()
    return out
