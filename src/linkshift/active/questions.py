r"""Which pair to ask next: the one with the most at stake.

What is at stake is

.. math:: (n_1 \, n_2)^{3/4} \; P(\text{the present clusters are wrong about the two parts})

with :math:`n_1, n_2` the rows of two parts that are together or apart: two clusters, two groups
of answers that the model has joined, a branch of the tree of pieces and the rest of its cluster, or
the two sides of an answer that may have been a slip. Pairs of which answers tell are never asked,
but to confirm an answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linkshift._core.arrays import Array
from linkshift.active._loops import join
from linkshift.active.look import Look
from linkshift.active.slips import slips
from linkshift.active.state import State, heart

__all__ = ["Branches", "Candidate", "Question", "branches", "candidates", "open_branches"]

_POWER = 0.75
_MOST = 40  # candidates of a kind
_AGAIN = 0.5  # what an answer again is worth beside a new one: of other pairs it says nothing
_ODD_ROW = 0.1  # chance that a row is not of its piece


@dataclass(frozen=True)
class Question:
    """A pair to ask about.

    Attributes
    ----------
    a, b : ids of the two rows (their positions where rows have no ids)
    why : str
        What the answer decides.
    at_stake : float
        Rows on either side and the chance that they are in the wrong clusters; larger is more.
    purpose : {"learn", "audit", "confirm"}
        To learn, to measure how good the clusters are, or to make sure of an earlier answer.
    """

    a: Any
    b: Any
    why: str
    at_stake: float
    purpose: str = "learn"


class Candidate(NamedTuple):
    """A question between two rows by position, and which parts it is about."""

    at_stake: float
    a: int
    b: int
    why: str
    about: frozenset[int]  # clusters
    purpose: str = "learn"
    moves: float = 0.0  # rows that the answer is expected to move


class Branches(NamedTuple):
    """The tree of pieces by the first belief: its nodes as runs of an order of the pieces."""

    order: Array  # (m,)
    low: Array  # (2m - 1,): where the run of each node begins
    high: Array  # and ends
    size: Array
    heart: Array  # the piece at the heart of each


def branches(look: Look, belief: Array) -> Branches:
    """Join all pieces by their average belief."""
    m = len(look)
    _, first, second, _ = join(belief, look.size, np.arange(m), np.zeros((m, m), bool), -1.0)
    members = [np.array([i]) for i in range(m)]
    at = list(range(m))
    for a, b in zip(first, second, strict=True):
        members.append(np.concatenate([members[at[a]], members[at[b]]]))
        at[a] = len(members) - 1
    order = members[-1]
    place = np.argsort(order)
    low = np.array([place[some].min() for some in members])
    size = np.array([look.size[some].sum() for some in members])
    hearts = [heart(belief, look.size, _among(some, m)) for some in members]
    return Branches(order, low, low + [len(some) for some in members], size, np.array(hearts))


def _among(items: Array, m: int) -> Array:
    among = np.zeros(m, dtype=bool)
    among[items] = True
    return among


def candidates(
    state: State,
    tree: Branches,
    never: frozenset[tuple[int, int]] = frozenset(),
) -> list[Candidate]:
    """All that could be asked, the most at stake first.

    Pairs that nobody could tell are ``never`` asked again.
    """
    blocked = np.zeros(state.belief.shape, dtype=bool)
    for a, b in never:
        blocked[state.item[a], state.item[b]] = blocked[state.item[b], state.item[a]] = True
    found = [
        *_between_clusters(state, blocked),
        *_groups_within(state, blocked),
        *_branches_within(state, tree, blocked),
    ]

    def new(some: list[Candidate]) -> list[Candidate]:
        """Leave out what is known, or was not to be told."""
        return [
            one
            for one in some
            if _pair(one.a, one.b) not in never and state.known.says(one.a, one.b) is None
        ]

    found = new(found) or new(list(_rows_of_pieces(state)))
    found += _slips(state)
    return sorted(found, key=lambda one: (-one.at_stake, one.a, one.b))


def _pair(a: int, b: int) -> tuple[int, int]:
    return (a, b) if a < b else (b, a)


def _stake(n_1: Any, n_2: Any, wrong: Any) -> Any:
    return (n_1 * n_2) ** _POWER * wrong


def _row(state: State, item: int) -> int:
    """Give the row that an item is asked by: one that was asked about, if there is one."""
    return int(state.named[item] if state.named[item] >= 0 else state.row[item])


def _sizes(state: State) -> Array:
    return np.bincount(state.cluster, state.size)


def _between_clusters(state: State, blocked: Array) -> Iterator[Candidate]:
    """Yield two clusters that may be one, by the most probable pair of their cores."""
    core, owner = state.cores
    k, size = int(state.cluster.max()) + 1, _sizes(state)
    if k < 2:
        return
    order = np.argsort(owner, kind="stable")
    core, owner = core[order], owner[order]
    begin = np.searchsorted(owner, np.arange(k))
    belief = state.belief[np.ix_(core, core)]
    group = state.group[core]
    apart = state.apart[np.ix_(group, group)]
    count = np.bincount(owner)

    def over(values: Array, how: np.ufunc) -> Array:
        found: Array = how.reduceat(how.reduceat(values, begin, axis=0), begin, axis=1)
        return found

    chance = over(belief, np.add) / np.outer(count, count)
    stake = _stake(size[:, None], size[None], chance)
    stake[over(apart, np.logical_or)] = 0.0
    one, other = np.triu_indices(k, 1)
    some = np.argsort(-stake[one, other], kind="stable")[:_MOST]
    for a, b in zip(one[some], other[some], strict=True):
        if stake[a, b] <= 0:
            continue
        rows, columns = np.flatnonzero(owner == a), np.flatnonzero(owner == b)
        both = np.ix_(core[rows], core[columns])
        open_ = np.where(blocked[both], -1.0, state.belief[both])
        i, j = np.unravel_index(int(open_.argmax()), open_.shape)
        if open_[i, j] < 0:
            continue
        yield Candidate(
            float(stake[a, b]),
            _row(state, int(core[rows[i]])),
            _row(state, int(core[columns[j]])),
            f"Two clusters of {size[a]:,.0f} and {size[b]:,.0f} rows may be one "
            f"({chance[a, b]:.0%}).",
            frozenset((int(a), int(b))),
            moves=float(min(size[a], size[b]) * chance[a, b]),
        )


def _groups_within(state: State, blocked: Array) -> Iterator[Candidate]:
    """Two groups of answers that the model has joined, by the most probable pair of their items."""
    named = np.flatnonzero(state.named >= 0)
    if len(named) < 2:
        return
    group, owner = state.group[named], state.cluster[named]
    belief = state.belief[np.ix_(named, named)]
    near = state.belief[:, named].argmax(axis=1)
    weight = np.bincount(group[near], state.size, minlength=int(state.group.max()) + 1)
    i, j = np.nonzero(np.triu((owner[:, None] == owner[None]) & (group[:, None] != group[None])))
    if not len(i):
        return
    likely = np.where(blocked[np.ix_(named, named)], -1.0, belief)
    order = np.lexsort((-likely[i, j], group[j], group[i]))
    i, j = i[order], j[order]
    first = np.ones(len(i), dtype=bool)
    first[1:] = (np.diff(group[i]) != 0) | (np.diff(group[j]) != 0)
    i, j = i[first], j[first]
    stake = _stake(weight[group[i]], weight[group[j]], 1 - belief[i, j])
    for at in np.argsort(-stake, kind="stable")[:_MOST]:
        a, b = named[i[at]], named[j[at]]
        yield Candidate(
            float(stake[at]),
            _row(state, a),
            _row(state, b),
            f"{weight[group[i[at]]]:,.0f} and {weight[group[j[at]]]:,.0f} rows are in one cluster "
            f"by the model alone ({state.belief[a, b]:.0%}).",
            frozenset((int(state.cluster[a]),)),
            moves=float(
                min(weight[group[i[at]]], weight[group[j[at]]]) * (1 - belief[i[at], j[at]])
            ),
        )


def open_branches(state: State, tree: Branches) -> tuple[Array, Array]:
    """Find the branches without a core whose pieces are of one cluster.

    And the item of each piece; -1 for pieces that are taken apart.
    """
    m = len(tree.order)
    whole = np.full(m, -1)
    single = np.flatnonzero(np.bincount(state.piece, minlength=m)[state.piece] == 1)
    whole[state.piece[single]] = single
    marked = whole < 0
    marked[state.piece[state.cores[0]]] = True
    label = np.where(whole >= 0, state.cluster[whole], -1)[tree.order]
    marks = np.concatenate([[0], np.cumsum(marked[tree.order])])
    turns = np.concatenate([[0], np.cumsum(np.concatenate([[0], np.diff(label) != 0]))])
    pure = (turns[tree.high] == turns[tree.low + 1]) & (marks[tree.high] == marks[tree.low])
    return np.flatnonzero(pure), whole


def _branches_within(state: State, tree: Branches, blocked: Array) -> Iterator[Candidate]:
    """Yield branches of pieces without a core, with the nearest core of their cluster."""
    node, whole = open_branches(state, tree)
    if not len(node):
        return
    core, owner = state.cores
    k = state.cluster[whole[tree.heart[node]]]
    size = _sizes(state)
    hearts = whole[tree.heart[node]]
    open_ = (owner[None] == k[:, None]) & ~blocked[hearts][:, core]
    near = np.where(open_, state.belief[hearts][:, core], -1.0)
    best = near.argmax(axis=1)
    chance = near[np.arange(len(node)), best]
    stake = _stake(tree.size[node], np.maximum(size[k] - tree.size[node], 0.0), 1 - chance)
    stake[chance < 0] = 0.0
    for at in np.argsort(-stake, kind="stable")[:_MOST]:
        a, b = whole[tree.heart[node[at]]], core[best[at]]
        if stake[at] > 0 and a != b:
            yield Candidate(
                float(stake[at]),
                _row(state, a),
                _row(state, b),
                f"{tree.size[node[at]]:,.0f} of the {size[k[at]]:,.0f} rows of a cluster may be of "
                f"another ({1 - chance[at]:.0%}).",
                frozenset((int(k[at]),)),
                moves=float(tree.size[node[at]] * (1 - chance[at])),
            )


def _slips(state: State) -> Iterator[Candidate]:
    """Answers that may have been slips: see `linkshift.active.slips`."""
    for told, (one, other, _), wrong in slips(state):
        word = "same" if told.same else "different"
        parts = "together" if told.same else "apart"
        yield Candidate(
            float(_AGAIN * _stake(one, other, wrong)),
            told.a,
            told.b,
            f"To make sure: you said {word}, which alone holds {one:,.0f} and {other:,.0f} rows "
            f"{parts}; it was a slip by {wrong:.0%}.",
            frozenset((int(state.cluster[state.item[told.a]]),)),
            "confirm",
            float(min(one, other) * wrong),
        )


def _rows_of_pieces(state: State) -> Iterator[Candidate]:
    """When all pieces are known: of each item, the row farthest from the one it is known by."""
    sight, known = state.look.sight, set(state.bending.rows)
    if sight is None:
        return
    points = sight.spaces[1]
    for item in np.argsort(-state.size, kind="stable")[:_MOST]:
        by = _row(state, int(item))
        rows = [row for row in np.flatnonzero(state.item == item) if row not in known and row != by]
        if not rows:
            continue
        far = rows[int(((points[rows] - points[by]) ** 2).sum(axis=1).argmax())]
        yield Candidate(
            float(_stake(1.0, state.size[item], _ODD_ROW)),
            int(far),
            by,
            f"The row farthest from the others in a piece of {state.size[item]:,.0f}.",
            frozenset((int(state.cluster[item]),)),
        )
