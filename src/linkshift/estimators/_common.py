"""What every estimator needs at its door."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from linkshift._core.arrays import first_of_equal_rows
from linkshift._core.messages import Advice, warn
from linkshift._core.text import counted
from linkshift.bandwidth import neighbour_bandwidth
from linkshift.links import Links, class_codes

_MOST_COMPLETE = 200  # labelled rows, whose pairs number 19,900
_COINCIDENT = 1e-6  # bandwidths below this share of the extent are rounding


def refuse_links_as_y(y: object) -> None:
    """Scikit-learn's clusterers ignore y: links in its place would be dropped without a word."""
    if isinstance(y, Links):
        raise TypeError("Links were given in the place of y, which is ignored; write links=...")


def joined_links(
    links: Links | None, partial_labels: ArrayLike | None, n: int, *, counted: bool = False
) -> Links:
    """Links and partial labels as one set of links, checked against the number of rows.

    For a method that counts links, up to 200 labelled rows are linked pair by pair.
    """
    given = Links.coerce(links).check(n)
    if partial_labels is None:
        return given
    known = known_classes(partial_labels, n)
    complete = counted and int((known >= 0).sum()) <= _MOST_COMPLETE
    return given + Links.from_labels(known, complete=complete).check(n)


def known_classes(partial_labels: ArrayLike, n: int) -> NDArray[np.int64]:
    """Partial labels as numbers, -1 where unknown (-1, None, NaN), one for each row."""
    codes = class_codes(partial_labels)
    if len(codes) != n:
        raise ValueError(
            f"partial_labels has {len(codes)} entries for {n} rows; give one for each row, -1 "
            "where the class is unknown."
        )
    return codes


def predict_new(
    X: NDArray[Any],
    fit_X: NDArray[Any],
    labels: NDArray[Any],
    predict: Callable[[NDArray[Any]], NDArray[Any]],
) -> NDArray[np.int64]:
    """Labels of rows: a training row keeps its own, ``predict`` is called on the others."""
    n = fit_X.shape[0]
    seen = first_of_equal_rows(np.concatenate([fit_X, X]))[n:]
    known = seen < n
    found = np.empty(X.shape[0], dtype=np.int64)
    found[known] = labels[seen[known]]
    if not known.all():
        found[~known] = predict(X[~known])
    return found


def neighbours_at_hand(n_neighbors: int, n_points: int) -> int:
    """Return k for bandwidths: ``n_neighbors``, or all other points, with a warning."""
    k = min(n_neighbors, n_points - 1)
    if k < n_neighbors:
        warn(
            Advice(
                f"{counted(n_neighbors, 'neighbour')} asked for, and there are only {k} other "
                "points: bandwidths reach to the farthest.",
                "Take a smaller n_neighbors.",
                command="Take a smaller --n-neighbors.",
                parameter="n_neighbors",
                value=n_neighbors,
            )
        )
    return k


def spread_bandwidth(points: NDArray[Any], k: int) -> NDArray[Any]:
    """Distance of each point to its k-th neighbour, lifted where neighbours coincide with it."""
    radius = float(np.linalg.norm(points - points.mean(axis=0), axis=1).max())
    return lift_coincident(neighbour_bandwidth(points, k), radius)


class NotConverged(Advice, ConvergenceWarning):
    """Advice on what was still moving when the steps were over."""


def tell_of_late_points(converged: NDArray[Any], max_iter: int, noun: str = "points") -> None:
    """Warn of points that had not arrived when the steps were over."""
    late = int((~converged).sum())
    if late:
        warn(
            NotConverged(
                f"{late} of {converged.shape[0]} {noun} were still moving after "
                f"{counted(max_iter, 'step')}.",
                "Increase max_iter or tol.",
                command="Take a larger --max-iter.",
                parameter="max_iter",
                value=max_iter,
            )
        )


def lift_coincident(bandwidth: NDArray[Any], extent: float) -> NDArray[Any]:
    """Where k neighbours coincide but for rounding, take the least bandwidth of the others."""
    real = bandwidth > _COINCIDENT * extent
    least = bandwidth[real].min() if real.any() else 1.0
    return np.where(real, bandwidth, least)
