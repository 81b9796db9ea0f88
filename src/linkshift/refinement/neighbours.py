"""Neighbours that have a say: in refinement, for small clusters, and for new rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkshift._core.arrays import Array
from linkshift._core.labels import dense, majority
from linkshift.refinement.places import Neighbours, as_places, cut, is_local
from linkshift.shift.neighbours import nearest_neighbours

__all__ = ["absorb_dust", "nearest_rows", "neighbours_vote"]

_MOST_VOTES = 1 << 22  # of new rows for clusters, counted at a time: 32 MB


def nearest_rows(X: Array, n_neighbors: int) -> Array:
    """Rows of the nearest neighbours of each row, itself not counted; -1 where one is too far.

    Never more than about the square root of n, and none more than eight times as far as the second
    nearest: in a handful of rows, or in a small cluster by itself, twenty neighbours would be
    mostly strangers, and the largest cluster would win every vote.
    """
    k = min(n_neighbors, int(np.ceil(np.sqrt(X.shape[0]))), X.shape[0] - 1)
    if k == 0:
        return np.empty((X.shape[0], 0), dtype=np.intp)
    distance, rows = nearest_neighbours(X, k)
    return np.where(is_local(distance), rows, -1)


def neighbours_vote(
    X: Array, trained: Array, labels: Array, n_neighbors: int, weight: Array | None = None
) -> NDArray[np.int64]:
    r"""Label new rows by a vote of the nearest rows that have labels.

    Each of the ``n_neighbors`` nearest rows (at most about the square root of their number) votes
    with :math:`\exp(-(r / r_k)^2)`, r being its distance and r_k that of the farthest of them;
    rows much farther than the second nearest have no vote (`is_local`), and no more rows vote than
    are in the cluster of the nearest one: others would outvote every small cluster. A row that
    coincides with one that has a label gets that label.

    Parameters
    ----------
    X : ndarray of shape (m, d)
        New rows.
    trained : ndarray of shape (n, d)
        Rows with labels.
    labels : ndarray of shape (n,)
        Their labels; -1 is noise, and votes like a cluster.
    n_neighbors : int
        Rows that have a vote.
    weight : ndarray of shape (n,), default=None
        Weights of the rows with labels: one of weight 2 votes twice, and is two of the
        ``n_neighbors``.

    Returns
    -------
    ndarray of shape (m,)
    """
    if weight is None:
        weight = np.ones(trained.shape[0])
    elif not weight.all():
        trained, labels, weight = trained[weight > 0], labels[weight > 0], weight[weight > 0]
    k = min(n_neighbors, int(np.ceil(np.sqrt(weight.sum()))))
    distance, rows = nearest_neighbours(trained, min(k, trained.shape[0]), X)
    taken = cut(weight[rows], float(k))
    farthest = np.where(taken > 0, distance, 0.0).max(axis=1, keepdims=True)
    farthest = np.maximum(farthest, np.finfo(np.float64).tiny)
    vote = np.exp(-((distance / farthest) ** 2)) * is_local(distance, taken)
    known, code = np.unique(labels, return_inverse=True)
    vote *= cut(taken, np.bincount(code, weight)[code[rows[:, :1]]])
    found = np.empty(X.shape[0], dtype=labels.dtype)
    block = max(_MOST_VOTES // len(known), 1)
    for first in range(0, X.shape[0], block):
        part = slice(first, first + block)
        votes = np.zeros((len(rows[part]), len(known)))
        for column in range(rows.shape[1]):
            np.add.at(votes, (np.arange(len(votes)), code[rows[part, column]]), vote[part, column])
        found[part] = known[votes.argmax(axis=1)]
    twin = distance[:, 0] == 0
    found[twin] = labels[rows[twin, 0]]
    return found.astype(np.int64)


def absorb_dust(labels: Array, neighbours: Neighbours, min_size: int) -> Array:
    """Give the rows of clusters smaller than ``min_size`` to their neighbours' clusters.

    A row takes the label that most of its neighbours outside dust have. Rows whose neighbours
    are all dust wait for the next round; what no round reaches stays as it is. No cluster is
    smaller than one row, whatever its weight.
    """
    labels = dense(labels)
    if min_size == 1 or not (labels >= 0).any():
        return labels
    near_rows, taken, weight = as_places(neighbours)
    sizes = np.bincount(labels[labels >= 0], weight[labels >= 0])
    dust = (labels >= 0) & (sizes[labels] < min_size)
    if dust.all():
        return labels
    while dust.any():
        rows = np.flatnonzero(dust)
        near = near_rows[rows]
        around = np.where((near < 0) | dust[near], -1, labels[near])
        vote = np.array(
            [
                majority(row[row >= 0], place[row >= 0])
                for row, place in zip(around, taken[rows], strict=True)
            ]
        )
        if (vote < 0).all():
            break
        labels[rows[vote >= 0]] = vote[vote >= 0]
        dust[rows[vote >= 0]] = False
    return dense(labels)
