r"""Settle links after any clustering.

Three moves, and a fourth on request. First, clusters vote: while links say of two clusters that
they are one (`merge_by_votes`), the clearest pair is merged. Then points settle: each takes, in
turn, of the labels that a neighbour or a link names the one that costs least,

.. math:: E(c) = -\sum_{i \in u} \log \frac{\max(n_i(c), \epsilon)}{k}
          \; + \; \beta \, (\text{confidence of the links that } c \text{ would violate}),

where :math:`n_i(c)` counts the k nearest neighbours of i with label c, and u is the point with all
that is must-linked to it (iterated conditional modes; Besag 1986). A point listens to as many
neighbours at most as its cluster has other rows: twenty would outvote every cluster of two. A row
by itself listens to the nearest, if that is in a cluster of five rows or more. Links of confidence
one that do not contradict each other make such units, so that must-links always hold. Links with a
lower confidence, and all links as soon as certain ones contradict each other, stay pairs: one wrong
answer then costs one pair, and is not passed on along the chains. Then certain links are held
(`hold`): who is still with one of those it is cannot-linked to moves. Last, those who know the
number of clusters get it (`to_count`).

Rows may have weights: a row of weight w is w rows in one place that move as one. It takes w places
among the neighbours of others, and w - 1 among its own (:mod:`linkshift.refinement.places`), its
term of E counts w times, and sizes of clusters are sums of weights. What a link says does not
depend on the weights of its rows.
"""

from linkshift.refinement.counting import check_count, closed_for, to_count
from linkshift.refinement.holding import agreeing, hold, warn_of_broken
from linkshift.refinement.neighbours import (
    absorb_dust,
    nearest_rows,
    neighbours_vote,
)
from linkshift.refinement.places import Neighbours, Places, founded, is_local, nearest_places
from linkshift.refinement.refining import (
    checked_weights,
    nearest_of,
    refine,
    refined,
    refined_part,
    voters,
)
from linkshift.refinement.settling import settle
from linkshift.refinement.votes import merge_by_votes

__all__ = [
    "Neighbours",
    "Places",
    "absorb_dust",
    "agreeing",
    "check_count",
    "checked_weights",
    "closed_for",
    "founded",
    "hold",
    "is_local",
    "merge_by_votes",
    "nearest_of",
    "nearest_places",
    "nearest_rows",
    "neighbours_vote",
    "refine",
    "refined",
    "refined_part",
    "settle",
    "to_count",
    "voters",
    "warn_of_broken",
]
