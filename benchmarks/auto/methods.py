"""The methods that are compared, and what counts: agreement, clusters, links that are broken."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from benchmarks.auto import rivals
from benchmarks.auto.draws import neighbours
from benchmarks.auto.sets import Table
from benchmarks.harness import Array
from linkshift import ConstrainedMeanShift, Links, cluster, refine
from linkshift.metrics import link_satisfaction

LEAST = 5  # rows of a cluster that counts


class Bases:
    """What no link changes: made once for a set, when first asked for."""

    def __init__(self, table: Table, seed: int = 0) -> None:
        self.X, self.y, self.n_classes, self.seed = *table, table.n_classes, seed

    @cached_property
    def near(self) -> Array:
        """Neighbours that near pairs are drawn from."""
        return neighbours(self.X)

    @cached_property
    def k_means(self) -> Array:
        """Labels of k-means, told the number of classes."""
        return rivals.k_means(self.X, self.n_classes, self.seed)

    @cached_property
    def leiden(self) -> Array:
        """Communities of the graph of nearest neighbours."""
        return rivals.leiden(self.X, self.seed)

    @cached_property
    def umap(self) -> Array:
        """Labels of HDBSCAN in the columns of UMAP."""
        return rivals.umap_hdbscan(self.X, self.seed)

    @cached_property
    def affinity(self) -> Array:
        """Similarities, n x n."""
        return rivals.affinity(self.X)

    @cached_property
    def propagator(self) -> Array:
        """How links spread over the similarities, n x n."""
        return rivals.propagator(self.affinity)


@dataclass(frozen=True)
class Method:
    """How labels are made of a set and links, and when that is tried.

    ``kinds`` are those of links (no links are of kind "none"); ``needs`` names modules.
    """

    labels: Callable[[Bases, Links], Array]
    kinds: tuple[str, ...] = ("none", "random", "near")
    needs: tuple[str, ...] = ()
    needs_cannot: bool = False

    @property
    def absent(self) -> list[str]:
        """Modules that are not installed."""
        return [name for name in self.needs if find_spec(name) is None]

    def tried(self, kind: str, links: Links) -> bool:
        """Whether the method is for such links."""
        return kind in self.kinds and (bool(len(links.cannot)) or not self.needs_cannot)


def automatic(b: Bases, links: Links, **more: Any) -> Array:
    """Let `linkshift.cluster` choose."""
    return cluster(b.X, links if len(links) else None, random_state=b.seed, **more).labels


def constrained(b: Bases, links: Links, **more: Any) -> Array:
    """Constrained mean shift; with a parameter that it does not have, a refusal."""
    if more.keys() - ConstrainedMeanShift().get_params().keys():
        raise ValueError(f"ConstrainedMeanShift does not take {', '.join(more)}.")
    return ConstrainedMeanShift(**more).fit_predict(b.X, links=links)


def propagation(b: Bases, links: Links) -> Array:
    changed = rivals.propagated(b.affinity, b.propagator, links)
    return rivals.spectral(changed, b.n_classes, b.seed)


LINKED = ("random", "near")
METHODS = {
    "auto": Method(automatic),
    "leiden": Method(lambda b, links: refine(b.X, b.leiden, links), needs=("igraph", "leidenalg")),
    "umap": Method(lambda b, links: refine(b.X, b.umap, links), needs=("umap",)),
    "e2cp": Method(propagation, kinds=("random",)),
    "kmeans": Method(lambda b, links: refine(b.X, b.k_means, links)),
    "spectral": Method(
        lambda b, _: rivals.spectral(b.affinity, b.n_classes, b.seed), kinds=("none",)
    ),
    "cms": Method(constrained, kinds=LINKED, needs_cannot=True),
}


class Score(NamedTuple):
    """One method on one draw."""

    ari: float
    log_ratio: float  # log2 of clusters found / classes, both of five rows or more
    broken: int  # links of confidence one that do not hold
    certain: int  # how many of these there are
    refused: bool = False


def score(labels: Callable[[], Array], y: Array, links: Links) -> Score:
    """Judge the labels of a method; one that refuses its input found one cluster.

    A row of noise has no cluster where clusters and links are counted; for the ARI all noise is
    one cluster.
    """
    refused = False
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what the defaults lead to: that is the question
        try:
            found = labels()
        except ValueError:
            found, refused = np.zeros(len(y), dtype=np.int64), True
    sure = certain(links)
    report = link_satisfaction(found, sure)
    broken = len(report.violated_must) + len(report.violated_cannot)
    ratio = np.log2(max(sizeable(found), 1) / max(sizeable(y), 1))
    ari = float(adjusted_rand_score(y, found))
    return Score(ari, float(ratio), broken, len(sure), refused)


def certain(links: Links) -> Links:
    """Links of confidence one."""
    return Links(
        must=links.must[links.must_confidence == 1],
        cannot=links.cannot[links.cannot_confidence == 1],
    )


def sizeable(labels: Array) -> int:
    """Count the clusters of five rows or more; noise is none."""
    return int((np.bincount(labels[labels >= 0]) >= LEAST).sum()) if (labels >= 0).any() else 0
