r"""Which rows to show side by side: one row, and others of which it may be like one.

The row stands for a part of the rows: a branch of the tree of pieces in which nobody was asked, a
group of answers, or a cluster without any. Beside it stands a row of each of the n groups that it
most probably belongs to, as far as answers do not tell. Groups are what answers hold together, and
clusters without any: rows that are known to be the same do not stand side by side. Shown is the
part with most at stake in all,

.. math:: \sum_i (n_0 \, n_i)^{3/4} \; P(\text{the present clusters are wrong about the part and i})

with :math:`n_0` the rows of the part and :math:`n_i` those of the group. A row belongs to one
cluster: beliefs in the most probable groups of all clusters are scaled to sum to one at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.messages import Refusal
from linkshift.active.log import Answer
from linkshift.active.questions import Branches, _row, _stake, open_branches
from linkshift.active.state import State

__all__ = ["Choice", "Clicks", "Joint", "joint", "marked"]


@dataclass(frozen=True)
class Choice:
    """A row, and others beside it: whoever answers marks those that are like it.

    Attributes
    ----------
    row : id of the row
    among : tuple of ids
        Other rows, the most probable first. Of none answers tell whether it is the same as the row,
        but where one is confirmed, and no two of them are known to be the same.
    why : str
        What the answer decides.
    at_stake : float
        Rows on either side and the chance that they are in the wrong clusters, over all pairs.
    purpose : {"learn", "audit", "confirm"}
        As that of a `Question`; to audit or to confirm there is one other row.
    """

    row: Any
    among: tuple[Any, ...]
    why: str
    at_stake: float
    purpose: str = "learn"


class Joint(NamedTuple):
    """A choice between rows by position."""

    at_stake: float
    row: int
    among: tuple[int, ...]
    why: str


class _Groups(NamedTuple):
    """Groups of answers and clusters without any, by the items that stand for them."""

    core: Array  # (c,): items, those of a group side by side
    begin: Array  # (g,): where each group begins
    cluster: Array  # (g,)
    weight: Array  # (g,): rows that go with each


class _Parts(NamedTuple):
    """Parts of the rows, by the items that stand for them."""

    item: Array
    size: Array
    whole: Array  # whether its cluster goes where it goes


def joint(state: State, tree: Branches, never: frozenset[tuple[int, int]], n: int) -> Joint | None:
    """Find a row and up to n others with most at stake; None where nothing is open.

    Pairs that nobody could tell are ``never`` asked again.
    """
    groups = _groups(state)
    parts = _parts(state, tree, groups)
    belief = _open_beliefs(state, parts, groups, never)
    chance = np.maximum.reduceat(belief, groups.begin, axis=1)
    value = _values(state, parts, groups, chance)
    best = np.argsort(-chance, axis=1, kind="stable")[:, :n]
    total = np.take_along_axis(value, best, axis=1).sum(axis=1)
    end = np.append(groups.begin[1:], len(groups.core))
    for at in np.argsort(-total, kind="stable"):
        if not total[at] > 0:
            break
        row, stake, others = _row(state, int(parts.item[at])), 0.0, list[int]()
        for g in best[at]:
            if chance[at, g] < 0:
                continue
            nearest = groups.begin[g] + belief[at, groups.begin[g] : end[g]].argmax()
            other = _row(state, int(groups.core[nearest]))
            # Audits that hold anyway make no groups, and yet they tell.
            known = state.known.says(row, other) is not None
            if not known and not any(state.known.says(other, one) for one in others):
                others.append(other)
                stake += float(value[at, g])
        if stake > 0:
            why = f"{parts.size[at]:,.0f} rows go with the one that is like theirs, or with none."
            return Joint(stake, row, tuple(others), why)
    return None


def _groups(state: State) -> _Groups:
    core, owner = state.cores
    order = np.lexsort((core, state.group[core]))
    core, owner = core[order], owner[order]
    begin = np.flatnonzero(np.diff(state.group[core], prepend=-1))
    with_it = np.where(state.cluster[:, None] == owner[None], state.belief[:, core], -1.0)
    weight = np.bincount(with_it.argmax(axis=1), state.size, minlength=len(core))
    return _Groups(core, begin, owner[begin], np.add.reduceat(weight, begin))


def _parts(state: State, tree: Branches, groups: _Groups) -> _Parts:
    node, whole = open_branches(state, tree)
    size = np.repeat(groups.weight, np.diff(np.append(groups.begin, len(groups.core))))
    return _Parts(
        np.concatenate([groups.core, whole[tree.heart[node]]]),
        np.concatenate([size, tree.size[node]]),
        np.arange(len(groups.core) + len(node)) < len(groups.core),
    )


def _open_beliefs(
    state: State, parts: _Parts, groups: _Groups, never: frozenset[tuple[int, int]]
) -> Array:
    """Beliefs of parts and items of groups; -1 for what is known, or is not to be asked."""
    item, core = parts.item, groups.core
    belief = state.belief[np.ix_(item, core)].copy()
    belief[state.group[item][:, None] == state.group[core][None]] = -1.0
    belief[state.apart[np.ix_(state.group[item], state.group[core])]] = -1.0
    for pair in never:
        a, b = (state.item[row] for row in pair)
        belief[np.ix_(item == a, core == b)] = belief[np.ix_(item == b, core == a)] = -1.0
    return belief


def _values(state: State, parts: _Parts, groups: _Groups, chance: Array) -> Array:
    """Weigh what is at stake for each part and group; a row belongs to one cluster."""
    order = np.argsort(groups.cluster, kind="stable")
    first = np.flatnonzero(np.diff(groups.cluster[order], prepend=-1))
    of_clusters = np.maximum.reduceat(np.maximum(chance, 0.0)[:, order], first, axis=1)
    scaled = chance / np.maximum(of_clusters.sum(axis=1), 1.0)[:, None]
    here = state.cluster[parts.item]
    together = here[:, None] == groups.cluster[None]
    clusters = ~together & parts.whole[:, None]  # that would be one
    rows = np.bincount(state.cluster, state.size)
    n_0 = np.where(clusters, rows[here][:, None], parts.size[:, None])
    n_i = np.where(clusters, rows[groups.cluster][None], groups.weight[None])
    wrong = np.where(together, 1 - scaled, scaled)
    value: Array = np.where(chance >= 0, _stake(n_0, n_i, wrong), 0.0)
    return value


class Clicks(NamedTuple):
    """How often somebody has answered: all answers about the rows of one choice are one click."""

    number: int
    audit: int  # that the last audit was; -1 for none

    @classmethod
    def of(cls, answers: Sequence[Answer]) -> Clicks:
        """Count them: answers to learn from that follow each other are of one choice by its row."""
        audit = 0 if answers and answers[0].purpose == "audit" else -1
        number = min(len(answers), 1)
        shown = {answers[0].b} if answers else set()
        for before, one in pairwise(answers):
            learn = before.purpose == one.purpose == "learn"
            if learn and before.a == one.a and one.b not in shown:
                shown.add(one.b)
                continue
            number, shown = number + 1, {one.b}
            audit = number - 1 if one.purpose == "audit" else audit
        return cls(number, audit)


def marked(picked: Iterable[Any] | None, among: Sequence[Any]) -> list[bool | None]:
    """Say of each row of a choice whether it was marked; None where nobody knows."""
    if picked is None:
        return [None] * len(among)
    if isinstance(picked, str) or not isinstance(picked, Iterable):
        raise Refusal(
            f"{picked!r} is no list of rows.",
            "Give the ids of all that are like the row: [] for none, None where you do not know.",
            parameter="picked",
        )
    like = list(picked)
    for one in like:
        if one not in among:
            raise Refusal(
                f"{one!r} is not among the rows that were shown.",
                f"Mark some of {', '.join(map(repr, among))}; [] for none of them.",
                parameter="picked",
            )
    return [one in like for one in among]
