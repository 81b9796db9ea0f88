"""The methods that are compared, each as its authors run it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from sklearn.preprocessing import minmax_scale

from benchmarks.auto import methods as auto
from benchmarks.auto.methods import Bases, automatic
from benchmarks.harness import Array
from linkshift import (
    ConstrainedMeanShift,
    KernelMeanShift,
    Links,
    MeanShift,
    MetricMeanShift,
    refine,
)
from linkshift.baselines import MPCKMeans, PCKMeans

NEIGHBOURHOOD = {True: 0.1, False: 0.31}  # eps of C-DBSCAN in the CMS paper: few columns or not


@dataclass(frozen=True)
class Method:
    """How labels are made of rows and links.

    ``told`` is whether the number of classes is given; ``needs`` names modules; ``must`` and
    ``cannot`` whether such links are needed.
    """

    labels: Callable[[Bases, Links], Array]
    told: bool = False
    needs: tuple[str, ...] = ()
    must: bool = False
    cannot: bool = False
    ours: bool = False

    @property
    def absent(self) -> list[str]:
        """Modules that are not installed."""
        return [name for name in self.needs if find_spec(name) is None]

    def tried(self, links: Links) -> bool:
        """Whether the method is for such links."""
        return (bool(len(links.must)) or not self.must) and (
            bool(len(links.cannot)) or not self.cannot
        )


def _linked(estimator: Callable[[Bases], Any]) -> Callable[[Bases, Links], Array]:
    """Fit an estimator with the links, where there are any."""

    def labels(b: Bases, links: Links) -> Array:
        found: Array = estimator(b).fit_predict(b.X, links=links if len(links) else None)
        return found

    return labels


def _refined(estimator: Callable[[Bases], Any]) -> Callable[[Bases, Links], Array]:
    """Refine what an estimator finds without links."""

    def labels(b: Bases, links: Links) -> Array:
        found = estimator(b).fit_predict(b.X)
        return refine(b.X, found, links) if len(links) else found

    return labels


def _unit(b: Bases) -> Bases:
    """Give the rows in columns from 0 to 1, as the CMS paper has them."""
    other = object.__new__(Bases)
    other.__dict__.update(X=minmax_scale(b.X), y=b.y, n_classes=b.n_classes, seed=b.seed)
    return other


METHODS: dict[str, Method] = {
    "auto": Method(automatic, ours=True),
    "cms": Method(_linked(lambda _: ConstrainedMeanShift()), cannot=True, ours=True),
    "cms of the paper": Method(
        _linked(lambda _: ConstrainedMeanShift(growth="full", enforce=False, refine=None)),
        cannot=True,
    ),
    "skms": Method(
        _linked(lambda b: KernelMeanShift(use_links="learn", random_state=b.seed)),
        must=True,
        cannot=True,
        ours=True,
    ),
    "metric mean shift": Method(
        _linked(lambda b: MetricMeanShift(random_state=b.seed)), must=True, cannot=True, ours=True
    ),
    "mean shift, refined": Method(_refined(lambda _: MeanShift()), ours=True),
    "leiden, refined": Method(auto.METHODS["leiden"].labels, needs=("igraph", "leidenalg")),
    "umap + hdbscan, refined": Method(auto.METHODS["umap"].labels, needs=("umap",)),
    "auto, told k": Method(
        lambda b, links: automatic(b, links, n_clusters=b.n_classes), told=True, ours=True
    ),
    "k-means": Method(lambda b, _: b.k_means, told=True),
    "k-means, refined": Method(auto.METHODS["kmeans"].labels, told=True),
    "pckmeans": Method(_linked(lambda b: PCKMeans(b.n_classes, random_state=b.seed)), told=True),
    "mpckmeans": Method(_linked(lambda b: MPCKMeans(b.n_classes, random_state=b.seed)), told=True),
    "e2cp": Method(auto.propagation, told=True, must=False),
}
