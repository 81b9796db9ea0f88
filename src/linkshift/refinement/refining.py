"""Refinement: labels of any clustering, settled by links and neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import _check_sample_weight

from linkshift._core.arrays import Array
from linkshift._core.labels import dense
from linkshift._core.messages import Refusal
from linkshift.links import ClosedLinks, Links
from linkshift.refinement.counting import check_count, closed_for, to_count
from linkshift.refinement.holding import agreeing, hold, warn_of_broken
from linkshift.refinement.neighbours import nearest_rows
from linkshift.refinement.places import Neighbours, nearest_places
from linkshift.refinement.settling import settle
from linkshift.refinement.votes import merge_by_votes
from linkshift.shift.neighbours import nearest_neighbours

__all__ = [
    "checked_weights",
    "nearest_of",
    "neighbours_by_size",
    "refine",
    "refined",
    "refined_part",
    "voters",
]


def refine(
    X: ArrayLike,
    labels: ArrayLike,
    links: Links,
    *,
    n_neighbors: int = 20,
    penalty: float = 4.0,
    max_sweeps: int = 20,
    enforce: bool = True,
    n_clusters: int | None = None,
    max_clusters: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> Array:
    """Improve a clustering with must-links and cannot-links.

    Works after any method. Certain links hold afterwards. Those that contradict each other cannot:
    they are weighed against the neighbours, and a warning says how many stay broken.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The data that was clustered.
    labels : array-like of shape (n_samples,)
        Its labels; -1 is noise. Noise stays noise unless a must-link concerns it.
    links : Links
        What is known of pairs.
    n_neighbors : int, default=20
        Neighbours that have a say in a point's label; at most about the square root of the
        number of rows, and none that is eight times as far as the second nearest.
    penalty : float, default=4.0
        Cost of a violated link of confidence one, in units of -log(share of neighbours).
    max_sweeps : int, default=20
        Largest number of rounds over all points; usually three to six are made.
    enforce : bool, default=True
        Make every link of confidence one hold: what neighbours and links leave open is moved to
        another cluster, if need be to a new one. If False, cannot-links are weighed only.
    n_clusters, max_clusters : int, default=None
        How many clusters there are, or how many at most; give one of them. Clusters are then
        merged, or split, by sums of squares (:mod:`linkshift.refinement.counting`). Of two
        clusters, two cannot-links make a must-link.
    sample_weight : array-like of shape (n_samples,), default=None
        Not negative. A row of weight 2 is two rows in one place, which move as one: it has two
        votes among the neighbours of others, one among its own, and counts twice in sizes and sums
        of squares. What a link says does not depend on weights. A row of weight zero has no vote.

    Returns
    -------
    ndarray of shape (n_samples,)
        New labels, from 0 without gaps; -1 is noise.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift import Links, refine
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [9.0], [10.0]])
    >>> refine(X, [0, 0, 1, 1, 2, 2], Links(must=[(1, 2)], cannot=[(0, 5)]), n_neighbors=2)
    array([0, 0, 0, 0, 1, 1])
    """
    data = check_array(X, dtype=[np.float64, np.float32])
    current = np.asarray(labels)
    check_consistent_length(data, current)
    given = Links.coerce(links).check(data.shape[0])
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors must be at least 1, got {n_neighbors}.")
    if not penalty >= 0:
        raise ValueError(f"penalty must be a number and not negative, got {penalty}.")
    if current.ndim != 1 or current.dtype.kind not in "iu":
        raise ValueError(
            f"labels must be a 1-D array of whole numbers, -1 for noise; got shape {current.shape} "
            f"of {current.dtype}."
        )
    for name, value in (("n_clusters", n_clusters), ("max_clusters", max_clusters)):
        if value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}.")
    check_count(n_clusters, max_clusters)
    if sample_weight is not None:
        sample_weight = checked_weights(sample_weight, data)
    closed = ClosedLinks(given, data.shape[0])
    found = refined(
        data,
        current,
        closed,
        n_neighbors=n_neighbors,
        enforce=enforce,
        n_clusters=n_clusters,
        max_clusters=max_clusters,
        penalty=penalty,
        max_sweeps=max_sweeps,
        weight=sample_weight,
    )
    if enforce:
        warn_of_broken(found, closed)
    return found


def refined(
    X: Array,
    labels: Array,
    closed: ClosedLinks,
    *,
    n_neighbors: int | None = 20,
    enforce: bool = True,
    n_clusters: int | None = None,
    max_clusters: int | None = None,
    weight: Array | None = None,
    **options: Any,
) -> Array:
    """Do what :func:`refine` does, with links that are closed and arguments that are checked.

    Without a number of neighbours it is that of `neighbours_by_size`. Other options are those of
    :func:`settle`. What stays broken is left to the caller to tell.
    """
    labels = dense(labels)
    if len(closed):
        closed = closed_for(closed, n_clusters, max_clusters)
        labels = merge_by_votes(labels, closed.links)
        k = neighbours_by_size(labels) if n_neighbors is None else n_neighbors
        neighbours = voters(X, k, weight)
        labels = settle(labels, closed, neighbours, **options)
        if enforce:
            labels = hold(labels, agreeing(closed), neighbours)
    return to_count(X, labels, closed, exactly=n_clusters, at_most=max_clusters, weight=weight)


def voters(X: Array, n_neighbors: int, weight: Array | None) -> Neighbours:
    """Neighbours that have a say, with weights or without."""
    return (
        nearest_rows(X, n_neighbors) if weight is None else nearest_places(X, n_neighbors, weight)
    )


def checked_weights(sample_weight: ArrayLike, X: Array) -> Array | None:
    """Weights of rows as float64, not negative; None where all are one."""
    given = np.asarray(sample_weight)
    if given.size and given.dtype.kind in "biuf" and not given.any():
        raise Refusal(
            "Every sample weight is zero: no row counts.",
            "Give some rows a weight above zero, or leave sample_weight out.",
            parameter="sample_weight",
        )
    weight: Array = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    return None if (weight == 1.0).all() else weight


def neighbours_by_size(labels: Array) -> int:
    """Give a third of the cluster that the median row is in, 5 to 20.

    Of a cluster of 21 rows in pieces of six, twenty neighbours are mostly strangers.
    """
    labels = labels[labels >= 0]
    typical = float(np.median(np.bincount(labels)[labels])) if labels.size else 0.0
    return int(np.clip(typical / 3.0, 5, 20))


def nearest_of(X: Array, rows: Array) -> Array | None:
    """For each row the nearest of some, by its place among them; None where these are all."""
    if rows.shape[0] == X.shape[0]:
        return None
    nearest: Array = nearest_neighbours(X[rows], 1, X)[1][:, 0]
    nearest[rows] = np.arange(rows.shape[0])
    return nearest


def refined_part(
    X: Array, labels: Array, closed: ClosedLinks, rows: Array, nearest: Array | None
) -> Array:
    """Refine some rows and the linked ones; others go as the nearest of these rows."""
    if nearest is None:
        return refined(X, labels, closed, n_neighbors=None)
    chosen = np.union1d(rows, np.concatenate([closed.links.must, closed.links.cannot]))
    labels = labels.copy()
    part = closed.take(chosen)
    labels[chosen] = refined(X[chosen], labels[chosen], part, n_neighbors=None)
    others = np.setdiff1d(np.arange(labels.shape[0]), chosen)
    labels[others] = labels[rows[nearest[others]]]
    return np.unique(labels, return_inverse=True)[1]
