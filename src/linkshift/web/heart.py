"""Rows of a cluster from its heart to its edge, and a few that stand for all of it."""

from __future__ import annotations

import numpy as np

from linkshift._core.arrays import Array

__all__ = ["exemplars_of", "from_heart"]

MOST_EXEMPLARS = 6
_MOST_COMPARED = 300  # rows of a cluster among which exemplars are sought
_OTHERS = 12  # clusters nearby that a row is compared with
_BY = 3  # exemplars that say how near a cluster is
_CHUNK = 8_192  # rows at once
_ROUNDING = 1e-7


def exemplars_of(X: Array, labels: Array, among: Array) -> dict[int, list[int]]:
    """Choose up to six rows of each cluster that stand for it, its heart first.

    The heart is the row with the least sum of distances to the others; each further one is that
    which leaves the least sum of distances of all rows to the nearest exemplar. So they are spread
    over the cluster, but no row at its rim is one because it lies far out.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    labels : ndarray of shape (n,)
        Numbers of clusters, not negative; there may be gaps.
    among : ndarray
        Rows that may be chosen. A cluster without any may have any of its rows.
    """
    order = np.argsort(labels, kind="stable")
    may = np.zeros(len(labels), dtype=bool)
    may[among] = True
    found = {}
    for members in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
        some = members[may[members]]
        found[int(labels[members[0]])] = _spread(X, some if len(some) else members)
    return found


def _spread(X: Array, members: Array) -> list[int]:
    """Choose exemplars among some rows."""
    if len(members) > _MOST_COMPARED:
        members = members[np.arange(_MOST_COMPARED) * len(members) // _MOST_COMPARED]
    away = _distances(X[members], X[members])
    nearest = np.full(len(members), np.inf)
    chosen: list[int] = []
    for _ in range(min(MOST_EXEMPLARS, len(members))):
        left = np.minimum(away, nearest[:, None]).sum(axis=0)
        if chosen and left.min() >= nearest.sum() * (1 - _ROUNDING):
            break  # all others are equal to one of these
        # Of sums that differ by rounding the first.
        chosen.append(int(np.argmax(left <= left.min() * (1 + _ROUNDING))))
        nearest = np.minimum(nearest, away[:, chosen[-1]])
    return [int(members[i]) for i in chosen]


def from_heart(X: Array, labels: Array, exemplars: dict[int, list[int]], cluster: int) -> Array:
    r"""Order the rows of a cluster from its heart to its edge.

    By :math:`d / (d + d')` with d the mean distance of a row to the three nearest exemplars of its
    cluster and :math:`d'` to those of another, where that is least: what lies between clusters, or
    nearer to another, comes last, where somebody who looks for wrong members begins. Three, as one
    may be a wrong member itself.
    """
    rows = np.flatnonzero(labels == cluster)
    heart = exemplars[cluster][:1]
    hearts = {k: some[0] for k, some in exemplars.items() if k != cluster}
    near: list[int] = []
    if hearts:
        away = _distances(X[list(hearts.values())], X[heart])[:, 0]
        near = np.array(list(hearts))[np.argsort(away, kind="stable")[:_OTHERS]].tolist()
    score = np.empty(len(rows))
    for start in range(0, len(rows), _CHUNK):
        some = X[rows[start : start + _CHUNK]]
        inside = _to(some, X[exemplars[cluster]])
        if near:
            outside = np.min([_to(some, X[exemplars[k]]) for k in near], axis=0)
            whole = inside + outside
            inside = np.where(whole > 0, inside / np.where(whole > 0, whole, 1.0), 0.5)
        score[start : start + _CHUNK] = inside
    score[rows == heart[0]] = -1.0
    found: Array = rows[np.argsort(score, kind="stable")]
    return found


def _to(rows: Array, exemplars: Array) -> Array:
    """Give the mean distance to the three nearest exemplars."""
    found: Array = np.sort(_distances(rows, exemplars), axis=1)[:, :_BY].mean(axis=1)
    return found


def _distances(a: Array, b: Array) -> Array:
    """Give distances of all pairs, about the middle of the second; none below zero."""
    middle = b.mean(axis=0)
    a, b = a - middle, b - middle
    square = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)[None] - 2 * (a @ b.T)
    found: Array = np.sqrt(np.maximum(square, 0.0))
    return found
