"""Rows of a cluster from its heart to its edge, and a few that stand for all of it."""

from __future__ import annotations

import numpy as np

from linkshift._core.arrays import Array

__all__ = ["exemplars_of", "from_heart"]

MOST_EXEMPLARS = 6
_MOST_COMPARED = 300  # rows of a cluster among which exemplars are sought
_OTHERS = 12  # clusters nearby that a row is compared with
_CHUNK = 8_192  # rows at once


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
        if chosen and left.min() >= nearest.sum():
            break  # all others are equal to one of these
        chosen.append(int(np.argmin(left)))
        nearest = np.minimum(nearest, away[:, chosen[-1]])
    return [int(members[i]) for i in chosen]


def from_heart(X: Array, labels: Array, exemplars: dict[int, list[int]], cluster: int) -> Array:
    r"""Order the rows of a cluster from its heart to its edge.

    By :math:`d / (d + d')` with d the distance of a row to the nearest exemplar of its cluster and
    :math:`d'` that to the nearest exemplar of another: what lies between clusters, or nearer to
    another, comes last, where somebody who looks for wrong members begins.
    """
    rows = np.flatnonzero(labels == cluster)
    own = np.array(exemplars[cluster])
    hearts = {k: some[0] for k, some in exemplars.items() if k != cluster}
    if hearts:
        away = _distances(X[list(hearts.values())], X[own[:1]])[:, 0]
        near = np.array(list(hearts))[np.argsort(away, kind="stable")[:_OTHERS]]
        others = np.array([row for k in near.tolist() for row in exemplars[k]])
    score = np.empty(len(rows))
    for start in range(0, len(rows), _CHUNK):
        some = rows[start : start + _CHUNK]
        inside = _distances(X[some], X[own]).min(axis=1)
        if hearts:
            outside = _distances(X[some], X[others]).min(axis=1)
            whole = inside + outside
            inside = np.where(whole > 0, inside / np.where(whole > 0, whole, 1.0), 0.5)
        score[start : start + _CHUNK] = inside
    score[rows == own[0]] = -1.0
    found: Array = rows[np.argsort(score, kind="stable")]
    return found


def _distances(a: Array, b: Array) -> Array:
    """Give distances of all pairs, about the middle of the second; none below zero."""
    middle = b.mean(axis=0)
    a, b = a - middle, b - middle
    square = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)[None] - 2 * (a @ b.T)
    found: Array = np.sqrt(np.maximum(square, 0.0))
    return found
