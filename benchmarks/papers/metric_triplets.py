"""Triplets inside the clustering, which Cheema's thesis (2016, section 6.2) leaves to future work.

Triplets of nearest rows pull each row to its nearest rows only, and classes come in several
clusters. Here the clusters of one run say what the next metric is learned from, in one of two ways:

- ``pseudo-labels``: rows of clusters whose labelled members agree take their class, and triplets
  are drawn among all rows that now have one;
- ``across clusters``: the targets of a labelled row are the nearest rows of its class that ended in
  another cluster, its impostors the nearest rows of other classes, both under the metric so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from linkshift import SCML, MetricMeanShift
from linkshift.metric_learning.triplets import Triplets

Array = NDArray[Any]
Kind = Literal["global", "local"]
WAYS = ("pseudo-labels", "across clusters")
ROUNDS = 2
LEAST_MEMBERS = 3  # labelled rows of a cluster that is trusted
LEAST_SHARE = 0.9  # of them in one class


class _Taught(SCML):
    """The learner with triplets from outside."""

    given: Triplets

    def _prepare(self, *arguments: Any) -> tuple[Array, Triplets, Array]:
        data, _, bases = super()._prepare(*arguments)
        return data, self.given, bases


def rounds(kind: Kind, X: Array, known: Array, seed: int, **parameters: Any) -> dict[str, Array]:
    """Clusters of the first run, and of each way's rounds; ``known`` has -1 for hidden classes."""
    rows = np.flatnonzero(known >= 0)
    first = SCML(kind, random_state=seed).fit(X[rows], known[rows])
    shift = MetricMeanShift(first, n_jobs=1, **parameters)
    found = {"first run": shift.fit(X).labels_}
    for way in WAYS:
        metric, clusters = first, found["first run"]
        for number in range(1, ROUNDS + 1):
            metric = _learned_again(way, kind, X, known, clusters, metric, seed)
            clusters = shift.set_params(metric=metric).fit(X).labels_
            found[f"{way}, round {number}"] = clusters
    return found


def _learned_again(
    way: str, kind: Kind, X: Array, known: Array, clusters: Array, metric: SCML, seed: int
) -> SCML:
    if way == "pseudo-labels":
        taught = trusted(known, clusters)
        rows = np.flatnonzero(taught >= 0)
        return SCML(kind, random_state=seed).fit(X[rows], taught[rows])
    rows = np.flatnonzero(known >= 0)
    learner = _Taught(kind, random_state=seed)
    learner.given = across(metric.distances(X[rows], X[rows]), known[rows], clusters[rows])
    return learner.fit(X[rows], known[rows])


def trusted(known: Array, clusters: Array) -> Array:
    """Classes as known, and where their clusters' labelled members agree, those of the others."""
    taught = known.copy()
    for cluster in np.unique(clusters):
        inside = clusters == cluster
        counts = np.bincount(known[inside & (known >= 0)], minlength=1)
        if counts.sum() >= LEAST_MEMBERS and counts.max() >= LEAST_SHARE * counts.sum():
            taught[inside & (known < 0)] = counts.argmax()
    return taught


def across(
    distances: Array, y: Array, clusters: Array, n_targets: int = 3, n_impostors: int = 10
) -> Triplets:
    """Nearest rows of a row's class in other clusters against nearest rows of other classes.

    Targets are in its own cluster where its class is in no other.
    """
    anchors, targets, impostors = [], [], []
    for i in range(len(y)):
        same = y == y[i]
        same[i] = False
        away = same & (clusters != clusters[i])
        near = np.flatnonzero(away if away.any() else same)
        far = np.flatnonzero(y != y[i])
        if near.size and far.size:
            anchors.append(i)
            targets.append(_first(distances[i], near, n_targets))
            impostors.append(_first(distances[i], far, n_impostors))
    return Triplets(np.array(anchors), *_joined(targets), *_joined(impostors))


def _first(distances: Array, rows: Array, count: int) -> Array:
    """Find the nearest of some rows."""
    return rows[np.argsort(distances[rows], kind="stable")[:count]]


def _joined(lists: Sequence[Array]) -> tuple[Array, Array, Array]:
    """One array, weights of one, and where each list starts."""
    joined = np.concatenate(lists)
    start = np.concatenate(([0], np.cumsum([len(rows) for rows in lists])))
    return joined, np.ones(joined.size), start
