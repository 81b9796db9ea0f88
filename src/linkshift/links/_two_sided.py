"""What links imply when there are two clusters only."""

from __future__ import annotations

import numpy as np

from linkshift._core.messages import Refusal
from linkshift.links._closed import ClosedLinks
from linkshift.links._closure import components


def two_sided(closed: ClosedLinks) -> ClosedLinks:
    """Add the must-links that hold between two clusters: whoever is apart from c is together.

    Components of must-links at an even distance in the graph of certain cannot-links share a side.
    Links that contradict each other carry nothing on, and stay as they are.

    Parameters
    ----------
    closed : ClosedLinks
        Links of data that have two clusters at most.

    Returns
    -------
    ClosedLinks

    Raises
    ------
    Refusal
        A ring of an odd number of cannot-links needs three clusters.

    Examples
    --------
    >>> from linkshift.links import ClosedLinks, Links, two_sided
    >>> two_sided(ClosedLinks(Links(cannot=[(0, 1), (1, 2)]), 4)).component
    array([0, 1, 0, 2])
    """
    if closed.contradictory:
        return closed
    closure = closed.closure.expanded()
    n, (a, b) = closure.n_components, closure.component_cannot.T
    # Two copies of every component, one a side; a cannot-link leads from side to side.
    crossing = np.concatenate([np.stack([a, b + n], axis=1), np.stack([a + n, b], axis=1)])
    place = components(crossing, 2 * n)
    if (place[:n] == place[n:]).any():
        raise Refusal(
            "Two clusters are too few: an odd number of cannot-links form a ring.",
            "Give a larger n_clusters or max_clusters, or remove some of the cannot-links.",
            command="Give a larger --clusters, or remove some of the cannot-links.",
            parameter="n_clusters",
            value=2,
        )
    row = np.unique(closure.component, return_index=True)[1]
    _, first, side = np.unique(place[:n], return_index=True, return_inverse=True)
    pairs = np.stack([row[first[side]], row], axis=1)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return ClosedLinks(closed.links.add(must=pairs), closed.n_samples)
