import numpy as np
import pytest
from sklearn.cluster import KMeans
from tests.reference.baselines import seeded_kmeans

from linkshift import Links
from linkshift.baselines import SeededKMeans
from linkshift.baselines._initial import seed_components
from linkshift.links import signed_edges


def mixture(seed=0, n=90, k=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    return rng.normal(size=(n, 2)) + 2.0 * rng.normal(size=(k, 2))[y], y


def known(y, seed, each=4):
    """Some classes are known; they are numbered by first appearance, as components are."""
    rng = np.random.default_rng(seed)
    seeds = np.full(len(y), -1)
    for c in np.unique(y):
        seeds[rng.choice(np.flatnonzero(y == c), each, replace=False)] = c
    return seeds


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_twin(seed, constrained):
    X, y = mixture(seed)
    seeds = known(y, seed)
    model = SeededKMeans(3, constrained=constrained, n_init=1).fit(X, partial_labels=seeds)
    labels, centres = seeded_kmeans(X, model.seeds_, 3, constrained)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_allclose(model.cluster_centers_, centres)
    assert (np.diff(model.objectives_) <= 1e-9 * model.objectives_[0]).all()
    for c in range(3):  # seeds are the classes, under other numbers
        assert len(np.unique(model.seeds_[seeds == c])) == 1
    assert ((model.seeds_ >= 0) == (seeds >= 0)).all()
    if constrained:
        np.testing.assert_array_equal(model.labels_[seeds >= 0], model.seeds_[seeds >= 0])


def test_without_seeds_it_is_k_means():
    X, _ = mixture(0)
    ours = SeededKMeans(3, n_init=5, random_state=0).fit(X)
    theirs = KMeans(3, n_init=20, random_state=0).fit(X)
    assert 2 * ours.objectives_[-1] == pytest.approx(theirs.inertia_, rel=1e-3)


def test_components_that_are_held_apart_begin_clusters_first():
    # 5 rows at 0, 4 at 10, 2 at 1: the far ones would be next, were the near not held apart.
    means, sizes = np.array([[0.0], [10.0], [1.0], [20.0]]), np.array([5, 4, 2, 1])
    none = signed_edges(np.empty((0, 2), dtype=int), np.empty(0), 4)
    assert seed_components(means, sizes, sizes, none, 2) == [0, 1]
    assert seed_components(means, sizes, sizes, none, 4) == [0, 1, 2]  # a row alone begins nothing
    apart = signed_edges(np.array([[0, 2]]), -np.ones(1), 4)
    assert seed_components(means, sizes, sizes, apart, 2) == [0, 2]
    lonely = signed_edges(np.array([[0, 3]]), -np.ones(1), 4)
    assert seed_components(means, sizes, sizes, lonely, 2) == [0, 3]


def test_links_that_concern_no_seed_are_counted():
    X, y = mixture(1)
    a, b, c = (np.flatnonzero(y == k) for k in range(3))
    links = Links(must=[(a[0], a[1]), (b[0], b[1])], cannot=[(a[0], b[0]), (c[0], c[1])])
    with pytest.warns(UserWarning, match="1 link of 4 neither join"):
        model = SeededKMeans(2, random_state=0).fit(X, links=links)
    assert set(np.flatnonzero(model.seeds_ >= 0)) == {a[0], a[1], b[0], b[1]}


def test_uncertain_links_are_refused():
    X, _ = mixture(0)
    with pytest.raises(ValueError, match="SeededKMeans holds every link as certain"):
        SeededKMeans(2).fit(X, links=Links(must=[(0, 1)], must_confidence=0.5))
