"""A fit reads links once, closes them once and looks for contradictions once."""

from collections import Counter

import numpy as np
import pytest
from tests.helpers import linked_moons

import linkshift
from linkshift import (
    ConsensusClustering,
    ConstrainedMeanShift,
    GroupFeatureClustering,
    KernelMeanShift,
    Links,
    MeanShift,
    MetricMeanShift,
    PathMeanShift,
    RefinedClustering,
)
from linkshift.baselines import (
    CDBSCAN,
    ConstrainedSpectral,
    COPKMeans,
    MPCKMeans,
    PCKMeans,
    SeededKMeans,
)
from linkshift.links import _closed, _conflicts, _links

X, Y, LINKS = linked_moons(60, 24, seed=2)
MUST = Links(must=LINKS.must, n_samples=len(X))
SOFT = Links(
    must=LINKS.must,
    cannot=LINKS.cannot,
    must_confidence=np.full(len(LINKS.must), 0.8),
    n_samples=len(X),
)

FITS = {
    "cms": (ConstrainedMeanShift(growth="full", max_iter=10), LINKS),
    "cms, soft links": (ConstrainedMeanShift(growth="full", max_iter=10), SOFT),
    "kernel, projected": (KernelMeanShift(n_neighbors=8, random_state=0), MUST),
    "kernel, learned": (
        KernelMeanShift(use_links="learn", n_neighbors=8, random_state=0),
        LINKS,
    ),
    "metric": (MetricMeanShift(n_neighbors=8, random_state=0), LINKS),
    "groups": (GroupFeatureClustering(2, n_init=2, max_iter=2, random_state=0), LINKS),
    "refined": (RefinedClustering(MeanShift()), LINKS),
    "refined, soft links": (RefinedClustering(MeanShift()), SOFT),
    "consensus": (ConsensusClustering(), LINKS),
    "consensus, soft links": (ConsensusClustering(), SOFT),
    "pckmeans": (PCKMeans(2, n_init=2, random_state=0), LINKS),
    "mpckmeans": (MPCKMeans(2, n_init=2, random_state=0), SOFT),
    "copkmeans": (COPKMeans(2, n_init=2, random_state=0), LINKS),
    "seeded": (SeededKMeans(2, n_init=2, random_state=0), LINKS),
    "cdbscan": (CDBSCAN(), LINKS),
    "spectral": (ConstrainedSpectral(2, random_state=0), LINKS),
    "path": (PathMeanShift(), LINKS),
    "plain": (MeanShift(), None),
}


@pytest.fixture
def count(monkeypatch):
    """How often links were parsed, brought into components, and searched for contradictions."""
    counts = Counter()

    def counted(module, name):
        original = getattr(module, name)

        def call(*args, **kwargs):
            counts[name] += 1
            return original(*args, **kwargs)

        monkeypatch.setattr(module, name, call)

    counted(linkshift.links._parse, "parse")
    for module in (_closed, _links):
        counted(module, "components")
        counted(module, "inside")
        counted(module, "close_components")
    init = _conflicts.Conflicts.__init__

    def search(self, links):
        counts["conflicts"] += 1
        init(self, links)

    monkeypatch.setattr(_conflicts.Conflicts, "__init__", search)
    return counts


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FITS)
def test_a_fit_closes_links_once(count, name):
    model, links = FITS[name]
    model.fit(X, **({} if links is None else {"links": links}))
    assert count["parse"] == 0  # who made them did that
    for what in ("components", "inside", "close_components"):
        assert count[what] <= 1, (what, dict(count))
    assert count["conflicts"] == 0  # chains are looked for when something is wrong only


@pytest.mark.filterwarnings("ignore")
def test_halves_of_the_links_are_links_of_their_own(count):
    # Where links say how far growth goes, each half bends a shift: three sets, each closed once.
    ConstrainedMeanShift(max_iter=10).fit(X, links=LINKS)
    assert count["parse"] == 0
    assert count["components"] == count["inside"] == count["close_components"] == 3
    assert count["conflicts"] == 0


def test_contradictions_are_searched_once(count):
    torn = Links(must=[(0, 1), (1, 2)], cannot=[(0, 2)], n_samples=len(X))
    count.clear()
    with pytest.raises(linkshift.ConflictError, match="0 - 1 - 2"):
        ConstrainedMeanShift().fit(X, links=torn)
    assert count["conflicts"] == count["components"] == 1
