"""K-means and the rivals in files: their fields, and how they are built again."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkshift.baselines._estimator import KMeansState
from linkshift.baselines.cdbscan import DensityState
from linkshift.estimators.kmeans import KMeansCentres
from linkshift.models.rules import Built, Sizes, Values

__all__ = ["CDBSCAN", "CENTRES", "KMEANS", "SEEDED", "SPECTRAL", "cdbscan", "centres", "kmeans"]

KMEANS = {
    "_state.centres": "f k d",
    "objectives_": "f iterations",
    "n_iter_": "int 1..",
    "labels_": "i n 0..k",
}


def kmeans(_: Any, values: Values, __: Sizes) -> Built:
    """Put centres back where the rows are."""
    X, found = values["_fit_X"], values["_state.centres"]
    origin = X.mean(axis=0, dtype=np.float64)
    state = KMeansState(origin, found, np.ones_like(found))
    return state, {"cluster_centers_": (found + origin).astype(X.dtype)}


CENTRES = {
    "_state.centres": "f k d",
    "inertia_": "float",
    "n_iter_": "int 1..",
    "labels_": "i n 0..k",
}


def centres(_: Any, values: Values, __: Sizes) -> Built:
    """Give the centres of plain k-means."""
    state = KMeansCentres(values["_state.centres"])
    return state, {"cluster_centers_": state.centres.astype(values["_fit_X"].dtype)}


SEEDED = {**KMEANS, "seeds_": "i n -1..k"}
CDBSCAN = {"core_sample_indices_": "i core 0..n", "labels_": "i n -1..n"}
SPECTRAL = {"beta_": "float", "embedding_": "x n vectors", "labels_": "i n 0..n"}


def cdbscan(model: Any, values: Values, __: Sizes) -> Built:
    """Find the core rows again."""
    rows, points = values["core_sample_indices_"], values["_fit_X"].astype(np.float64)
    return DensityState(rows, points[rows], values["labels_"][rows], model.eps), {}
