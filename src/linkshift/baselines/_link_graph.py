"""Links as the k-means loops want them: which groups of rows pull, which push."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkshift._core.arrays import Array
from linkshift.links import Links


class LinkGraph(NamedTuple):
    """Links between components of rows, component by component.

    Every pair of rows of two joined components is one link. A component of must-linked rows is
    joined to itself.
    """

    component: Array  # component of each row
    edge: Array  # the other component of each edge, component by component
    weight: Array  # positive for must, negative for cannot
    edge_start: Array  # where each component begins in ``edge``

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.edge_start) - 1


def link_graph(links: Links, n: int, weight: float) -> LinkGraph:
    """Close certain links, and weigh all by ``weight`` times their confidence.

    As soon as one link has a confidence below one, none are closed: each stays a pair of rows,
    so that wrong answers do not multiply. Certain links that contradict each other raise.
    """
    confidences = np.concatenate([links.must_confidence, links.cannot_confidence])
    if (confidences == 1.0).all():
        closure = links.closure(n)
        component = closure.component
        together = np.flatnonzero(closure.sizes > 1)
        must, cannot = np.stack([together, together], axis=1), closure.component_cannot
        signed = np.concatenate([np.ones(len(must)), -np.ones(len(cannot))])
    else:
        component, must, cannot = np.arange(n), links.must, links.cannot
        signed = np.concatenate([links.must_confidence, -links.cannot_confidence])
    pairs = np.concatenate([must, cannot]).astype(np.int64)
    back = pairs[:, 0] != pairs[:, 1]
    one, other = np.concatenate([pairs, pairs[back, ::-1]]).T
    signed = weight * np.concatenate([signed, signed[back]])
    order = np.argsort(one, kind="stable")
    n_components = int(component.max(initial=-1)) + 1
    counts = np.bincount(one, minlength=n_components)
    return LinkGraph(
        component=component.astype(np.int64),
        edge=np.ascontiguousarray(other[order]),
        weight=signed[order],
        edge_start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
    )
