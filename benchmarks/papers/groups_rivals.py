"""Rivals of group-dependent features (Lin et al. 2010, section 5.1), all told how many clusters."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import (
    AffinityPropagation,
    AgglomerativeClustering,
    KMeans,
    SpectralClustering,
)

from linkshift.groups.consensus import membership
from linkshift.groups.spectral import spectral_clusters

Array = NDArray[Any]


def scaled(distances: Array, most: int | None = None) -> Array:
    """Coordinates by classical scaling, of the largest positive eigenvalues (all, or ``most``)."""
    squared = distances**2
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(-0.25 * (centred + centred.T))
    kept = np.flatnonzero(values > 1e-9 * values[-1])
    kept = kept if most is None else kept[-most:]
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def k_means(points: Array, n_clusters: int, seed: int) -> Array:
    labels: Array = KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(points)
    return labels


def spectral(kernel: Array, n_clusters: int, seed: int) -> Array:
    model = SpectralClustering(n_clusters, affinity="precomputed", random_state=seed)
    labels: Array = model.fit_predict(kernel)
    return labels


def affinity_propagation(similarity: Array, n_clusters: int, seed: int) -> Array:
    """Search for the preference that gives as many clusters as asked for, by halving."""
    low, high = 50.0 * float(similarity.min()), float(np.median(similarity))
    best: Array = np.zeros(len(similarity), dtype=np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it does not always settle
        for _ in range(12):
            middle = (low + high) / 2.0
            labels = AffinityPropagation(
                affinity="precomputed", preference=middle, random_state=seed, damping=0.9
            ).fit_predict(similarity)
            found = len(np.unique(labels))
            if abs(found - n_clusters) < abs(len(np.unique(best)) - n_clusters):
                best = labels
            if found == n_clusters:
                break
            low, high = (middle, high) if found < n_clusters else (low, middle)
    return best


def shared_ensemble(partitions: Sequence[Array], n_clusters: int, seed: int) -> Array:
    """Spectral clustering of how often samples are together (as Strehl and Ghosh's CSPA)."""
    return spectral_clusters(membership(partitions), n_clusters, random_state=seed)[0]


def evidence_accumulation(partitions: Sequence[Array], n_clusters: int) -> Array:
    """Average linkage of how often samples are together (Fred and Jain)."""
    member = membership(partitions)
    apart = 1.0 - member @ member.T
    model = AgglomerativeClustering(n_clusters, metric="precomputed", linkage="average")
    labels: Array = model.fit_predict(apart)
    return labels
