"""Where rows are on the map: in two dimensions, so that neighbours among all columns are near.

At once by their principal components (`plane`), and by and by with t-SNE (`neighbourly`), which a
process of its own works out: ``python -m linkshift.web.places``, started by the worker, of low
priority and ended with it.
"""

from __future__ import annotations

import os
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from linkshift._core.arrays import Array, first_of_equal_rows
from linkshift.web.process import Inbox, taken_over
from linkshift.web.wire import write

__all__ = ["is_worth", "neighbourly", "plane"]

_FEWEST = 8  # rows that have neighbours worth speaking of
_COLUMNS = 30  # that distances are measured in
_PERPLEXITY = 30.0
_NEAR = 3  # rows by which others are placed
_JITTER = 0.004  # of the map's size
_NICE = 15
_STEPS = 500  # from principal components it has settled by then


def plane(X: Array) -> NDArray[np.float32]:
    """Give columns as they are, where there are one or two, or the principal components."""
    from linkshift.pictures.scene import Plane

    places = Plane.of(X).project(X)
    if X.shape[1] == 1:  # heights mean nothing: a band
        places[:, 1] *= 0.2 * max(float(np.ptp(places[:, 0])), float(np.finfo(np.float32).tiny))
    return places.astype(np.float32)


def is_worth(X: Array) -> bool:
    """Whether a map by neighbours shows more than the plane does."""
    return X.shape[1] > 2 and len(X) >= _FEWEST


def neighbourly(X: Array, looked: Array) -> NDArray[np.float32]:
    """Place rows by t-SNE of some of them, the others among their nearest.

    It starts from the principal components, so that the large is where it was, and depends on the
    rows alone.
    """
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    from linkshift.pictures.scene import Plane

    X = np.asarray(X, dtype=np.float64)
    first = looked[np.unique(first_of_equal_rows(X[looked]))]  # equal rows are one
    some = X[first]
    if len(first) < _FEWEST:
        return plane(X)
    start = Plane.of(some).project(some)
    scale = max(float(start[:, 0].std()), float(np.finfo(np.float32).tiny))
    if some.shape[1] > _COLUMNS:
        some = PCA(min(_COLUMNS, *some.shape), svd_solver="full").fit_transform(some)
    drawn = TSNE(
        init=(start * (1e-4 / scale)).astype(np.float32),
        perplexity=min(_PERPLEXITY, (len(first) - 1) / 3),
        max_iter=_STEPS,
        random_state=0,
        n_jobs=1,
    ).fit_transform(some)
    return _among(X, first, drawn.astype(np.float64))


def _among(X: Array, first: Array, drawn: Array) -> NDArray[np.float32]:
    """Place rows that were not drawn by the weighted mean of the nearest that were."""
    from linkshift.shift.neighbours import nearest_neighbours

    places = np.empty((len(X), 2))
    places[first] = drawn
    others = np.setdiff1d(np.arange(len(X)), first)
    if len(others):
        away, near = nearest_neighbours(X[first], min(_NEAR, len(first)), X[others])
        # Of rows that are equal to one that was drawn, that one alone.
        weight = np.where(away > 0, away[:, :1] / np.where(away > 0, away, 1.0), 1.0) ** 2
        weight /= weight.sum(axis=1, keepdims=True)
        there = (weight[:, :, None] * drawn[near]).sum(axis=1)
        size = float(np.ptp(drawn, axis=0).max())
        angle = others * (np.pi * (3 - 5**0.5))  # the golden angle: no two neighbours alike
        reach = _JITTER * size * np.sqrt((others * 0.7548776662466927) % 1.0)
        places[others] = there + reach[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return places.astype(np.float32)


def main() -> None:
    """Place the rows of each message that comes."""
    inward, outward = taken_over()
    inbox = Inbox(inward)
    with suppress(AttributeError, OSError):  # where there is no such thing
        os.nice(_NICE)
    while True:
        inbox.wait()
        message = inbox.message()
        if message is None or message[0]["kind"] != "draw":
            os._exit(0)
        X, looked = message[1]
        write(outward, {"kind": "places"}, [neighbourly(X, looked)])


if __name__ == "__main__":
    main()
