r"""Answers that may have been slips, by what is on their two sides.

.. math:: P(\text{slip}) = \frac{1}{1 + e^{s} \, ((1 - \epsilon) / \epsilon)^{v}}

with v how often the answer was said, less how often the opposite; :math:`\epsilon` the share of
slips; and s the score of what was said, without that answer: 0.8 of the model's score of the pair
by the other answers (`linkshift.active.belief.left_out`) and 0.6 of the average score between the
rows that answers name on its two sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, log
from typing import NamedTuple

import numpy as np
from scipy.special import logit

from linkshift._core.arrays import Array
from linkshift.active.belief import PAIR
from linkshift.active.known import Told
from linkshift.active.state import State

__all__ = ["Sides", "Slip", "sides", "slips"]

_ACROSS = 0.6  # weight of the score between the sides
_SURE = 0.002  # no belief between the sides is surer
_ENOUGH, _MOST = 2, 5  # times that an answer is said more often than its opposite; and in all
_LARGEST = 50.0  # score


class Sides(NamedTuple):
    """What an answer holds together or apart: rows on either side, and the score between them."""

    one: float
    other: float
    across: float


class Slip(NamedTuple):
    """An answer, its sides, and how probable it is that it was a slip."""

    told: Told
    sides: Sides
    wrong: float


def slips(state: State) -> Iterator[Slip]:
    """Yield answers that no other stands in for, and that were not confirmed yet."""
    between, odds = sides(state), log((1 - state.rate) / state.rate)
    for told in state.bending.taken:
        net, pair = told.times - told.against, (told.a, told.b)
        if (
            told.given
            or pair not in between
            or net >= _ENOUGH
            or told.times + told.against >= _MOST
        ):
            continue
        score = PAIR * state.alone[told] + _ACROSS * between[pair].across
        score = score if told.same else -score
        yield Slip(told, between[pair], 1 / (1 + exp(min(score + net * odds, _LARGEST))))


def sides(state: State) -> dict[tuple[int, int], Sides]:
    """Rows on either side of each answer that no other stands in for, and the score between.

    Answers "same" make a tree of each group, of which each cuts off a branch: in the order in which
    the tree is walked, a run.
    """
    named = np.flatnonzero(state.named >= 0)
    if not len(named):
        return {}
    weight = dict.fromkeys(state.bending.rows, 0.0)
    of_item = named[state.belief[:, named].argmax(axis=1)]
    for item, size in zip(of_item, state.size, strict=True):
        weight[int(state.named[item])] += float(size)
    trees, parent = _trees(state)
    order = np.array([row for tree in trees for row in tree])
    item = state.item[order]
    score = logit(np.clip(state.belief[np.ix_(item, item)], _SURE, 1 - _SURE))
    rows = np.array([weight[row] for row in order.tolist()])
    starts = np.cumsum([0, *(len(tree) for tree in trees)])
    found: dict[tuple[int, int], Sides] = {}
    for tree, low in zip(trees, starts[:-1], strict=True):
        run = slice(low, low + len(tree))
        found |= _branches(tree, parent, score[run, run], rows[run])
    of_row = {row: g for g, tree in enumerate(trees) for row in tree}
    total = np.add.reduceat(rows, starts[:-1])
    between: dict[tuple[int, int], list[Told]] = {}
    for told in state.bending.taken:
        if not told.same:
            one, other = of_row[told.a], of_row[told.b]
            between.setdefault((min(one, other), max(one, other)), []).append(told)
    for (one, other), some in between.items():
        if len(some) == 1:
            across = score[starts[one] : starts[one + 1], starts[other] : starts[other + 1]].mean()
            pair = some[0].a, some[0].b
            found[pair] = Sides(float(total[one]), float(total[other]), float(across))
    return found


def _branches(
    tree: list[int], parent: dict[int, int], score: Array, rows: Array
) -> dict[tuple[int, int], Sides]:
    """Sides of the answers of one tree, whose rows are in the order of a walk."""
    n = len(tree)
    place = {row: i for i, row in enumerate(tree)}
    end = list(range(1, n + 1))
    for i in range(n - 1, 0, -1):
        up = place[parent[tree[i]]]
        end[up] = max(end[up], end[i])
    sums = np.zeros((n + 1, n + 1))
    sums[1:, 1:] = score.cumsum(axis=0).cumsum(axis=1)
    weight = np.concatenate([[0.0], rows.cumsum()])
    found: dict[tuple[int, int], Sides] = {}
    for i in range(1, n):
        j, size = end[i], end[i] - i
        branch = float(weight[j] - weight[i])
        own = sums[j, j] - sums[i, j] - sums[j, i] + sums[i, i]
        across = float((sums[j, n] - sums[i, n] - own) / (size * (n - size)))
        one = Sides(branch, max(float(weight[n]) - branch, 0.0), across)
        found[tree[i], parent[tree[i]]] = found[parent[tree[i]], tree[i]] = one
    return found


def _trees(state: State) -> tuple[list[list[int]], dict[int, int]]:
    """Walk the trees of answers "same", depth first: rows of each in order, and their parents."""
    edges: dict[int, list[int]] = {}
    for told in state.bending.taken:
        if told.same:
            edges.setdefault(told.a, []).append(told.b)
            edges.setdefault(told.b, []).append(told.a)
    trees: list[list[int]] = []
    parent: dict[int, int] = {}
    for start in state.bending.rows:
        if start in parent:
            continue
        parent[start] = -1
        tree, todo = [], [start]
        while todo:
            at = todo.pop()
            tree.append(at)
            for there in edges.get(at, ()):
                if there not in parent:
                    parent[there] = at
                    todo.append(there)
        trees.append(tree)
    return trees, parent
