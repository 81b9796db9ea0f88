"""What a set of links looks like: groups of must-linked samples, cannot-links, confidences."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from linkshift.links._closure import inside
from linkshift.links._combine import named
from linkshift.links._graph import compact
from linkshift.links._parse import FloatArray, IntArray, Parsed


@dataclass(frozen=True, eq=False)
class Summary:
    """Links in numbers, by group: all samples that must-links join, two or more.

    Groups are sorted by size, the largest first; among equals by their first sample.
    Only samples that some link names are counted, so the cost depends on the links and
    not on how large their row numbers are.

    Attributes
    ----------
    n_must, n_cannot : int
        Numbers of links.
    n_apart : int
        Number of groups whose samples are all apart.
    n_named : int
        Number of samples that some link or group names.
    first : tuple
        For each group its first sample: the smallest row, or the id that came first.
    sizes, must, within, leaving : ndarray of int64
        For each group the numbers of its samples, of its must-links, of cannot-links
        between two of its samples (conflicts), of cannot-links that lead out of it.
    n_within, n_between : int
        Numbers of cannot-links inside a group, and of all others.
    must_confidence, cannot_confidence : (lowest, median, highest) or None
        None where there are no such links.

    Examples
    --------
    >>> from linkshift.links import Links
    >>> found = Links(must=[(0, 1), (1, 2), (5, 6)], cannot=[(2, 6), (6, 9)]).summary()
    >>> found.sizes.tolist(), found.leaving.tolist(), found.n_named
    ([3, 2], [1, 2], 6)
    """

    n_must: int
    n_cannot: int
    n_apart: int
    n_named: int
    first: tuple[Hashable, ...]
    sizes: IntArray
    must: IntArray
    within: IntArray
    leaving: IntArray
    n_within: int
    n_between: int
    must_confidence: tuple[float, float, float] | None
    cannot_confidence: tuple[float, float, float] | None


def summarise(pairs: Parsed) -> Summary:
    """Count links by group."""
    graph, rows = compact(pairs.must, pairs.cannot)
    component = graph.component
    count = int(component.max(initial=-1)) + 1
    sizes = np.bincount(component, minlength=count)
    first = np.unique(component, return_index=True)[1]
    # Stable: components are numbered by their first node, and stay so among equal sizes.
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > 1]
    conflicting = inside(graph.cannot, component)
    ends = component[graph.cannot]

    def per_group(which: IntArray) -> IntArray:
        return np.bincount(which, minlength=count)[order]

    return Summary(
        n_must=len(pairs.must),
        n_cannot=len(pairs.cannot),
        n_apart=len(pairs.apart),
        n_named=len(np.union1d(rows, pairs.apart.member)),
        first=tuple(name for (name,) in named(rows[first[order]].reshape(-1, 1), pairs.names)),
        sizes=sizes[order],
        must=per_group(component[graph.must[:, 0]]),
        within=per_group(ends[conflicting, 0]),
        leaving=per_group(ends[~conflicting].ravel()),
        n_within=int(conflicting.sum()),
        n_between=int((~conflicting).sum()),
        must_confidence=_spread(pairs.must_confidence),
        cannot_confidence=_spread(pairs.cannot_confidence),
    )


def _spread(confidence: FloatArray) -> tuple[float, float, float] | None:
    if not len(confidence):
        return None
    return float(confidence.min()), float(np.median(confidence)), float(confidence.max())
