"""K-means as an estimator: starts, directions, what is refused, and the one call."""

import numpy as np
import pytest
from sklearn.cluster import KMeans as TheirKMeans
from tests.helpers import blobs, same_partition
from tests.reference import kmeans as twin

import linkshift
from linkshift import KMeans, Links, RefinedClustering
from linkshift._core.arrays import unit_rows
from linkshift._core.convergence import NotConverged

X, Y = blobs(150, 3, k=4, std=0.5, seed=3)


@pytest.mark.parametrize("init", ["k-means++", "random", "greedy", X[:4]])
def test_clusters_are_those_of_scikit_learn(init):
    ours = KMeans(4, init=init, random_state=0).fit(X)
    n_init = 10 if isinstance(init, str) else 1
    theirs = TheirKMeans(
        4, init="k-means++" if isinstance(init, str) else init, n_init=n_init, random_state=0
    ).fit(X)
    assert same_partition(ours.labels_, theirs.labels_)
    assert ours.inertia_ == pytest.approx(theirs.inertia_)
    new = X + 0.1
    assert same_partition(ours.predict(new), theirs.predict(new))


def test_by_directions_centres_have_length_one_and_lengths_do_not_matter():
    rng = np.random.default_rng(0)
    rows = np.eye(3)[np.arange(60) % 3] + 0.1 * rng.normal(size=(60, 3))
    lengths = rng.lognormal(size=(60, 1))
    model = KMeans(3, metric="cosine", random_state=0).fit(rows * lengths)
    assert same_partition(model.labels_, np.arange(60) % 3)
    np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1.0)
    unit = unit_rows(rows * lengths)
    cosines = unit @ model.cluster_centers_.T
    assert model.inertia_ == pytest.approx((2.0 - 2.0 * cosines.max(axis=1)).sum())
    np.testing.assert_array_equal(model.predict(5.0 * rows), model.labels_)
    labels, centres = twin.lloyd(unit, unit[:3], spherical=True)
    given = KMeans(3, metric="cosine", init=(rows * lengths)[:3], tol=0.0).fit(rows * lengths)
    np.testing.assert_array_equal(given.labels_, labels)
    np.testing.assert_allclose(given.cluster_centers_, centres)


def test_steps_that_are_over_are_told():
    with pytest.warns(NotConverged, match="1 of 1 runs"):
        KMeans(4, init="random", n_init=1, max_iter=1, random_state=1).fit(X)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"n_clusters": 200}, "n_clusters=200"),
        ({"init": np.zeros((3, 3))}, "4 centres with 3 features"),
        ({"init": np.full((4, 3), np.nan)}, "finite"),
        ({"init": X[:4], "n_init": 3}, "would all be the same"),
        ({"init": "far"}, "init"),
        ({"init": np.zeros((4, 3)), "metric": "cosine"}, "Centre 0 is all zeros"),
    ],
)
def test_what_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        KMeans(**{"n_clusters": 4, **given}).fit(X)
    with pytest.raises(ValueError, match="infinite"):
        KMeans(1).fit([[1e200]])


@pytest.mark.parametrize("given", [{"links": Links(must=[(0, 1)])}, {"partial_labels": Y}])
def test_links_are_refused_with_a_remedy(given):
    with pytest.raises(ValueError, match=r"PCKMeans.*RefinedClustering"):
        KMeans(4).fit(X, **given)
    model = RefinedClustering(KMeans(4, random_state=0), n_clusters=4).fit(X, **given)
    assert model.link_report_.share == 1.0


def test_the_one_call_takes_starts_and_distances():
    found = linkshift.cluster(X, method="kmeans", n_clusters=4, metric="cosine", init="greedy")
    assert (found.model.metric, found.model.init) == ("cosine", "greedy")
    assert found.done == "K-means, by cosine, 4 clusters, the best of up to 10 starts (greedy)."
    both = linkshift.cluster(
        X, Links(must=[(0, 1)]), method="kmeans", n_clusters=4, metric="cosine", max_iter=50
    )
    assert both.model.metric == both.model.estimator_.metric == "cosine"
    assert both.model.estimator_.max_iter == 50
    with pytest.raises(ValueError, match="init must be one of"):
        linkshift.cluster(X, method="kmeans", n_clusters=4, init=X[:4])
    with pytest.raises(ValueError, match=r"init.*method='kmeans'"):
        linkshift.cluster(X, init="greedy")
