"""Points settle: each takes the label that its neighbours and its links agree on best."""

from __future__ import annotations

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.labels import dense
from linkshift.links import ClosedLinks, Links
from linkshift.refinement._loops import sweep

__all__ = ["settle"]

_FLOOR = 0.1  # neighbours granted to a label that has none: keeps its cost finite


def settle(
    labels: Array,
    links: Links | ClosedLinks,
    neighbours: Array,
    *,
    penalty: float = 2.0,
    max_sweeps: int = 20,
) -> Array:
    """Let points take the label that their neighbours and links agree on best.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        From 0 without gaps; -1 is noise.
    links : Links or ClosedLinks
        What is known of pairs.
    neighbours : ndarray of shape (n, k)
        Rows of the nearest neighbours of each point; -1 for none.
    penalty, max_sweeps
        As in :func:`refine`.

    Returns
    -------
    ndarray of shape (n,)
    """
    n_labels = int(labels.max(initial=-1)) + 1
    if n_labels == 0:
        return labels
    out = labels.astype(np.int64).copy()
    sweep(
        out,
        np.ascontiguousarray(neighbours),
        ClosedLinks.coerce(links, len(labels)).units,
        n_labels,
        float(penalty),
        _FLOOR,
        max_sweeps,
    )
    return dense(out)
