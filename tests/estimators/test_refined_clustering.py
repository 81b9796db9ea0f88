"""RefinedClustering: the clusterer's labels, then refine; predict by the neighbours."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from tests.helpers import linked_moons

from linkshift import Links, MeanShift, PathMeanShift, RefinedClustering, refine
from linkshift.datasets import make_moons


@pytest.fixture(scope="module")
def moons():
    return linked_moons(200, 40)


@pytest.mark.parametrize("clusterer", [None, MeanShift(kernel="gaussian"), KMeans(5)])
def test_labels_are_those_of_refine(moons, clusterer):
    X, _, links = moons
    if clusterer is not None and "random_state" in clusterer.get_params():
        clusterer.set_params(random_state=0)
    model = RefinedClustering(clusterer, n_neighbors=7, penalty=3.0).fit(X, links=links)
    before = (clusterer or MeanShift()).fit_predict(X)
    np.testing.assert_array_equal(model.estimator_.labels_, before)
    expected = refine(X, before, links, n_neighbors=7, penalty=3.0)
    np.testing.assert_array_equal(model.labels_, expected)
    assert (expected != before).any()
    assert model.links_ is not None
    assert len(model.links_) == len(links)


def test_without_links_the_clusterer_has_the_last_word(moons):
    X, *_ = moons
    model = RefinedClustering(MeanShift(kernel="gaussian")).fit(X)
    np.testing.assert_array_equal(model.labels_, MeanShift(kernel="gaussian").fit_predict(X))


def test_partial_labels_are_links(moons):
    X, y, _ = moons
    known = np.where(np.arange(len(y)) < 12, y, -1)
    by_labels = RefinedClustering().fit(X, partial_labels=known)
    by_links = RefinedClustering().fit(X, links=Links.from_labels(known, complete=True))
    np.testing.assert_array_equal(by_labels.labels_, by_links.labels_)
    assert by_labels.link_report_.must_kept == by_labels.link_report_.n_must


def test_predict_gives_training_rows_their_labels_and_new_ones_their_neighbours(moons):
    X, _, links = moons
    model = RefinedClustering().fit(X, links=links)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    near = model.predict(X + 1e-6)
    assert (near == model.labels_).mean() > 0.98


def test_noise_stays_noise(moons):
    X, _, links = moons
    X = np.vstack([X, [[50.0, 50.0]]])
    model = RefinedClustering(HDBSCAN(min_cluster_size=10, copy=True)).fit(X, links=links)
    assert model.labels_[-1] == -1
    assert model.n_clusters_ == model.labels_.max() + 1
    assert model.predict(X[-1:]) == [-1]


def test_links_choose_the_bandwidth_and_settle(moons):
    X, _, links = moons
    model = RefinedClustering(PathMeanShift(kernel="gaussian")).fit(X, links=links)
    inner = PathMeanShift(kernel="gaussian").fit(X, links=links)
    assert model.estimator_.bandwidth_ == inner.bandwidth_
    np.testing.assert_array_equal(model.labels_, refine(X, inner.labels_, links))


def test_what_is_no_clusterer_is_refused(moons):
    X, *_ = moons
    with pytest.raises(ValueError, match="estimator"):
        RefinedClustering("kmeans").fit(X)
    with pytest.raises(TypeError, match="links=") as error:
        RefinedClustering().fit(X, Links(must=[(0, 1)]))
    assert "y" in str(error.value)


@pytest.mark.parametrize(
    "clusterer",
    [KMeans(5, random_state=0), MeanShift(), PathMeanShift(kernel="gaussian")],
)
def test_what_if_is_what_a_new_fit_says(clusterer):
    X, y = make_moons(60, random_state=3)
    links = Links.sample(y, 5, random_state=0)
    model = RefinedClustering(clusterer).fit(X, links=links)
    refit = model._evidence(0).refit
    changed = 0
    for kind in ("must", "cannot"):
        for pair in getattr(links, kind):
            less = links.remove(**{kind: [pair]})
            labels = RefinedClustering(clusterer).fit(X, links=less).labels_
            np.testing.assert_array_equal(refit(less).labels, labels)
            changed += (labels != model.labels_).any()
    assert changed or (isinstance(clusterer, MeanShift) and clusterer.bandwidth == "links")
    explanation = model.explain(0)
    assert explanation.label == model.labels_[0]
    assert explanation.counterfactuals
    assert (explanation.path is None) == isinstance(clusterer, KMeans)


def test_a_clusterer_without_labels(moons):
    X, _, links = moons
    model = RefinedClustering(GaussianMixture(3, random_state=0)).fit(X, links=links)
    before = GaussianMixture(3, random_state=0).fit_predict(X)
    np.testing.assert_array_equal(model.labels_before_, before)
    assert model.explain(0).label == model.labels_[0]
    assert len(set(model.labels_before_.tolist())) == 3


def test_new_rows_are_counted_in_blocks(moons, monkeypatch):
    X, _, links = moons
    model = RefinedClustering().fit(X, links=links)
    new = X + 0.01
    whole = model.predict(new)
    monkeypatch.setattr("linkshift.refinement.neighbours._MOST_VOTES", 20)
    np.testing.assert_array_equal(model.predict(new), whole)


def near_pairs(X, truth, n, seed):
    """Links between rows and their 6th to 40th neighbours: what a person is shown."""
    rng = np.random.default_rng(seed)
    far = ((X[:, None] - X) ** 2).sum(axis=2)
    near = np.argsort(far, axis=1)[:, 6:41]
    pairs = {tuple(sorted((int(i), int(near[i, rng.integers(35)])))) for i in rng.choice(len(X), n)}
    pairs = np.array(sorted(pairs))
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    return pairs[same], pairs[~same]


def test_near_pairs_with_one_cannot_link_do_not_collapse():
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:500], truth[:500]
    before = KMeans(10, n_init=3, random_state=0).fit_predict(X)
    must, cannot = near_pairs(X, truth, 120, seed=0)
    alone = adjusted_rand_score(truth, before)
    for kept in (cannot[:0], cannot[:1], cannot):
        refined = refine(X, before, Links(must=must, cannot=kept))
        assert adjusted_rand_score(truth, refined) > alone - 0.02


def hard_links(made):
    """Classes that two clusters of k-means cut across, with many links: made, or published ones."""
    if made:
        rng = np.random.default_rng(0)
        X, truth = rng.normal(size=(300, 5)), rng.integers(0, 2, size=300)
        return X, truth, Links.sample(truth, 2500, random_state=0)
    path = Path(os.environ.get("LINKSHIFT_DATA", "")) / "pccc_saheart.npz"
    if not path.is_file():
        pytest.skip("pccc_saheart is not here; set LINKSHIFT_DATA")
    with np.load(path) as data:
        return data["X"], data["y"], Links(data["must_20"], data["cannot_20"])


@pytest.mark.parametrize("made", [True, False])
def test_certain_links_hold_after_two_means(made):
    X, truth, links = hard_links(made)
    model = RefinedClustering(KMeans(2, n_init=3, random_state=0)).fit(X, links=links)
    assert model.link_report_.weighted_share == 1.0
    assert adjusted_rand_score(truth, model.labels_) > 0.8


@pytest.mark.parametrize("asked", [{"n_clusters": 2}, {"max_clusters": 2}, {"n_clusters": 9}])
def test_a_number_of_clusters(moons, asked):
    X, _, links = moons
    model = RefinedClustering(KMeans(5, random_state=0), **asked).fit(X, links=links)
    (number,) = asked.values()
    assert model.n_clusters_ == number
    assert model.link_report_.weighted_share == 1.0
    np.testing.assert_array_equal(model.labels_, refine(X, model.labels_before_, links, **asked))
    with pytest.raises(ValueError, match="one of them"):
        RefinedClustering(n_clusters=2, max_clusters=3).fit(X, links=links)


def test_contradictory_links_are_told_once(moons):
    X, *_ = moons
    links = Links(must=[(0, 1), (1, 2)], cannot=[(0, 2)])
    with pytest.warns(UserWarning, match="1 link of confidence one stays broken") as told:
        model = RefinedClustering().fit(X, links=links)
    assert len(told) == 1
    report = model.link_report_
    assert len(report.violated_must) + len(report.violated_cannot) == 1
    model.explain(0)  # refits say nothing
    RefinedClustering(enforce=False).fit(X, links=links)
