"""Points settle: each takes the label that its neighbours and its links agree on best."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.labels import dense
from linkshift.links import ClosedLinks, Links
from linkshift.refinement._loops import sweep
from linkshift.refinement.places import Places

__all__ = ["settle"]

_FLOOR = 0.1  # neighbours granted to a label that has none: keeps its cost finite
_FLOOR_SHARE = 0.005  # the same, of the weight of all neighbours: 0.1 of 20


def settle(
    labels: Array,
    links: Links | ClosedLinks,
    neighbours: Any,
    *,
    weights: Array | None = None,
    penalty: float = 4.0,
    max_sweeps: int = 20,
) -> Array:
    r"""Let points take the label that their neighbours and links agree on best.

    The energy is that of :mod:`linkshift.refinement`. Neighbours with weights speak by their share
    of the weight, :math:`-\log(w_i(c) / w_i + 0.005)` instead of the count's term. Places that
    neighbours take are counted as that many neighbours; then the term of a row is multiplied by its
    own weight, and clusters are as large as their rows weigh.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        From 0 without gaps; -1 is noise.
    links : Links or ClosedLinks
        What is known of pairs.
    neighbours : ndarray of shape (n, k), Places, or scipy.sparse CSR matrix of shape (n, n)
        Rows of the nearest neighbours of each point, the nearest first; -1 for none. Or neighbours
        that take places. Or weights of a graph, not negative: the heaviest are the nearest.
    weights : ndarray of shape (n, k), default=None
        Weights of an array of neighbours.
    penalty, max_sweeps
        As in :func:`refine`.

    Returns
    -------
    ndarray of shape (n,)
    """
    n_labels = int(labels.max(initial=-1)) + 1
    if n_labels == 0:
        return labels
    units = ClosedLinks.coerce(links, len(labels)).units
    size, say = np.ones(len(labels)), np.ones(len(labels))
    if isinstance(neighbours, Places):
        size, say = neighbours.weight, neighbours.say(units.of_row)
        neighbours, weights, by_share = neighbours.rows, neighbours.taken, False
    else:
        by_share = weights is not None or not isinstance(neighbours, np.ndarray)
    out = labels.astype(np.int64).copy()
    sweep(
        out,
        _nearest_first(neighbours, weights),
        (size, say),
        units,
        n_labels,
        float(penalty),
        _FLOOR_SHARE if by_share else _FLOOR,
        by_share,
        max_sweeps,
    )
    return dense(out)


def _nearest_first(neighbours: Any, weights: Array | None) -> tuple[Array, Array, Array]:
    """Neighbours row by row: where each row begins, its neighbours, and their weights."""
    if isinstance(neighbours, np.ndarray):
        known = neighbours >= 0
        weight = np.ones(int(known.sum())) if weights is None else weights[known]
        start = np.concatenate(([0], np.cumsum(known.sum(axis=1))))
        return (
            start.astype(np.int64),
            neighbours[known].astype(np.int64),
            weight.astype(np.float64),
        )
    row = np.repeat(np.arange(neighbours.shape[0]), np.diff(neighbours.indptr))
    order = np.lexsort((-neighbours.data, row))
    return (
        neighbours.indptr.astype(np.int64),
        neighbours.indices[order].astype(np.int64),
        neighbours.data[order].astype(np.float64),
    )
