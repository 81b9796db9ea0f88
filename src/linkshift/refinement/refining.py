"""Refinement: labels of any clustering, settled by links and neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_consistent_length

from linkshift._core.arrays import Array
from linkshift._core.labels import dense
from linkshift.links import ClosedLinks, Links
from linkshift.refinement.neighbours import nearest_rows
from linkshift.refinement.settling import settle
from linkshift.refinement.votes import merge_by_votes
from linkshift.shift.neighbours import nearest_neighbours

__all__ = ["nearest_of", "refine", "refined", "refined_part"]


def refine(
    X: ArrayLike,
    labels: ArrayLike,
    links: Links,
    *,
    n_neighbors: int = 20,
    penalty: float = 2.0,
    max_sweeps: int = 20,
) -> Array:
    """Improve a clustering with must-links and cannot-links.

    Works after any method. Certain must-links hold afterwards, but between rows of noise that have
    no neighbours in clusters; cannot-links, and links that
    contradict each other, are weighed against the neighbours and may stay broken.

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
    penalty : float, default=2.0
        Cost of a violated link of confidence one, in units of -log(share of neighbours).
    max_sweeps : int, default=20
        Largest number of rounds over all points; usually three to six are made.

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
    return refined(
        data,
        current,
        ClosedLinks(given, data.shape[0]),
        n_neighbors=n_neighbors,
        penalty=penalty,
        max_sweeps=max_sweeps,
    )


def refined(
    X: Array, labels: Array, closed: ClosedLinks, *, n_neighbors: int = 20, **options: Any
) -> Array:
    """Do what :func:`refine` does, with links that are closed and arguments that are checked.

    Other options are those of :func:`settle`.
    """
    if not len(closed) or (labels < 0).all():
        return dense(labels)
    merged = merge_by_votes(labels, closed.links)
    neighbours = nearest_rows(X, n_neighbors)
    return settle(merged, closed, neighbours, **options)


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
        return refined(X, labels, closed)
    chosen = np.union1d(rows, np.concatenate([closed.links.must, closed.links.cannot]))
    labels = labels.copy()
    labels[chosen] = refined(X[chosen], labels[chosen], closed.take(chosen))
    others = np.setdiff1d(np.arange(labels.shape[0]), chosen)
    labels[others] = labels[rows[nearest[others]]]
    return np.unique(labels, return_inverse=True)[1]
