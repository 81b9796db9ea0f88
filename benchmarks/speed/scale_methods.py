"""What `benchmarks.speed.scale` fits: a function each, of rows, their truth and links.

The truth is for those that are told how many clusters there are, or where.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn import cluster as others
from sklearn.neighbors import NearestCentroid

import linkshift
from benchmarks.harness import Array
from benchmarks.speed.mean_shift_pp import mean_shift_pp
from linkshift import Links, baselines

__all__ = ["GROWTH", "LINKED", "METHODS", "PLAIN"]

Fit = Callable[[Array, Array, Links | None], tuple[Array, float | None]]


def fitted(
    make: Callable[[int], Any], X: Array, y: Array, links: Links | None, *, kinds: str = ""
) -> tuple[Array, float | None]:
    """Labels of an estimator that takes links of some kinds, and its fidelity where it has one."""
    given: dict[str, Any] = {}
    if kinds and links is not None:
        given["links"] = links if kinds == "all" else Links(must=links.must)
    model = make(len(np.unique(y))).fit(X, **given)
    return model.labels_, getattr(model, "fidelity_", None)


def by_landmarks(X: Array, y: Array, _: Links | None) -> tuple[Array, float | None]:
    most = min(8_000, len(X) // 2)
    make = partial(linkshift.MeanShift, kernel="gaussian", landmarks=most)
    return fitted(lambda _k: make(), X, y, None)


def by_cells(X: Array, _: Array, __: Links | None, *, side: float) -> tuple[Array, None]:
    return mean_shift_pp(X, side), None


def by_truth(X: Array, y: Array, _: Links | None) -> tuple[Array, None]:
    """Nearest centre of the true clusters: what nobody who is not told them can beat by much."""
    return NearestCentroid().fit(X, y).predict(X), None


def _estimator(make: Callable[[int], Any], kinds: str = "") -> Fit:
    return partial(fitted, make, kinds=kinds)


def _fast_hdbscan() -> Any:
    return import_module("fast_hdbscan").HDBSCAN(min_cluster_size=50)


def _exact() -> Any:
    return linkshift.MeanShift(kernel="gaussian", landmarks=None)


PLAIN: dict[str, Fit] = {
    "landmarks": by_landmarks,
    "MiniBatchKMeans, told k": _estimator(
        lambda k: others.MiniBatchKMeans(k, n_init=3, random_state=0)
    ),
}
LINKED: dict[str, Fit] = {
    "ConstrainedMeanShift": _estimator(lambda _: linkshift.ConstrainedMeanShift(), "all"),
    "ConstrainedMeanShift, exact": _estimator(
        lambda _: linkshift.ConstrainedMeanShift(landmarks=None), "all"
    ),
}
GROWTH: dict[str, Fit] = {
    "MeanShift": PLAIN["landmarks"],
    "MeanShift, exact": _estimator(lambda _: _exact()),
    **LINKED,
    "ConsensusClustering": _estimator(lambda _: linkshift.ConsensusClustering(), "all"),
    "PathMeanShift": _estimator(lambda _: linkshift.PathMeanShift(), "all"),
    "GraphMeanShift": _estimator(lambda _: linkshift.GraphMeanShift()),
    "KernelMeanShift": _estimator(lambda _: linkshift.KernelMeanShift(random_state=0), "must"),
    "MetricMeanShift": _estimator(lambda _: linkshift.MetricMeanShift(random_state=0), "all"),
    "KMeans, told k": _estimator(lambda k: linkshift.KMeans(k, random_state=0)),
    "PCKMeans, told k": _estimator(lambda k: baselines.PCKMeans(k, random_state=0), "all"),
    "CDBSCAN": _estimator(lambda _: baselines.CDBSCAN(2.5, min_samples=10), "all"),
    "MiniBatchKMeans, told k": PLAIN["MiniBatchKMeans, told k"],
    "scikit-learn MeanShift": _estimator(lambda _: others.MeanShift(bin_seeding=True)),
    "scikit-learn HDBSCAN": _estimator(lambda _: others.HDBSCAN(min_cluster_size=50, copy=True)),
}
if find_spec("fast_hdbscan") is not None:
    GROWTH["fast_hdbscan"] = _estimator(lambda _: _fast_hdbscan())
METHODS: dict[str, dict[str, Fit]] = {
    "gaussians": PLAIN | GROWTH,
    "mnist": LINKED,
    "blobs": {
        "MeanShift": _estimator(lambda _: linkshift.MeanShift(kernel="gaussian")),
        **{f"MeanShift++, cells of {h}": partial(by_cells, side=h) for h in (0.5, 1.0, 1.5, 2.0)},
        "nearest true centre": by_truth,
    },
}
