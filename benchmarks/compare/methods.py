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
from linkshift.baselines import (
    CDBSCAN,
    ConstrainedSpectral,
    COPKMeans,
    MPCKMeans,
    PCKMeans,
    SeededKMeans,
)

# Of C-DBSCAN, in columns from 0 to 1: as the CMS paper has it for two columns, and for more.
EPS, EPS_OF_MANY = 0.1, 0.31
# Of k-means with priced links, the best of three by the objective; the originals have one.
STARTS = 3
# Rounds over all links in which a kernel is learned (default 5,000): where a thousand answers are
# wrong in part, no kernel holds them all, and the search for one goes on to the last round.
ROUNDS = 300


@dataclass(frozen=True)
class Method:
    """How labels are made of rows and links.

    ``told`` is whether the number of classes is given; ``needs`` names modules; ``must`` and
    ``cannot`` whether such links are needed; ``slow`` methods see the first draw of links only.
    """

    labels: Callable[[Bases, Links], Array]
    told: bool = False
    needs: tuple[str, ...] = ()
    must: bool = False
    cannot: bool = False
    ours: bool = False
    slow: bool = False

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


def _by_density(b: Bases, links: Links) -> Array:
    """C-DBSCAN with the settings of the CMS paper."""
    model = CDBSCAN(EPS if b.X.shape[1] == 2 else EPS_OF_MANY, min_samples=2)
    found: Array = model.fit_predict(minmax_scale(b.X), links=links if len(links) else None)
    return found


METHODS: dict[str, Method] = {
    "auto": Method(automatic, ours=True),
    "cms": Method(_linked(lambda _: ConstrainedMeanShift()), cannot=True, ours=True, slow=True),
    "cms of the paper": Method(
        _linked(lambda _: ConstrainedMeanShift(growth="full", enforce=False, refine=None)),
        cannot=True,
        slow=True,
    ),
    "skms": Method(
        _linked(
            lambda b: KernelMeanShift(
                use_links="learn", learn_params={"max_iter": ROUNDS}, random_state=b.seed
            )
        ),
        must=True,
        cannot=True,
        ours=True,
        slow=True,
    ),
    "metric mean shift": Method(
        _linked(lambda b: MetricMeanShift(random_state=b.seed)), must=True, cannot=True, ours=True
    ),
    "mean shift + refine": Method(_refined(lambda _: MeanShift()), ours=True),
    "leiden + refine": Method(auto.METHODS["leiden"].labels, needs=("igraph", "leidenalg")),
    "umap + hdbscan + refine": Method(auto.METHODS["umap"].labels, needs=("umap",)),
    "c-dbscan": Method(_by_density),
    "auto told k": Method(
        lambda b, links: automatic(b, links, n_clusters=b.n_classes), told=True, ours=True
    ),
    "k-means": Method(lambda b, _: b.k_means, told=True),
    "k-means + refine": Method(auto.METHODS["kmeans"].labels, told=True),
    "pckmeans": Method(
        _linked(lambda b: PCKMeans(b.n_classes, n_init=STARTS, random_state=b.seed)),
        told=True,
        slow=True,
    ),
    "mpckmeans": Method(
        _linked(lambda b: MPCKMeans(b.n_classes, n_init=STARTS, random_state=b.seed)),
        told=True,
        slow=True,
    ),
    "cop-k-means": Method(
        _linked(lambda b: COPKMeans(b.n_classes, random_state=b.seed)), told=True, slow=True
    ),
    "seeded k-means": Method(
        _linked(lambda b: SeededKMeans(b.n_classes, random_state=b.seed)),
        told=True,
        must=True,
        slow=True,
    ),
    "constrained spectral": Method(
        _linked(lambda b: ConstrainedSpectral(b.n_classes, random_state=b.seed)),
        told=True,
        must=True,
        slow=True,
    ),
    "e2cp": Method(auto.propagation, told=True),
}
