"""PathMeanShift(): the level of the bandwidth path that the links support best."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers import linked_moons

from linkshift import Links, MeanShift, PathMeanShift, bandwidth_path

KERNELS = ("flat", "epanechnikov", "gaussian", "truncated_gaussian")


@pytest.fixture(scope="module")
def moons():
    return linked_moons(90, 40, seed=1)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_labels_and_bandwidth_are_those_of_the_path(moons, kernel, dtype):
    X, _, links = moons
    X = X.astype(dtype)
    model = PathMeanShift(kernel=kernel).fit(X, links=links)
    path = bandwidth_path(X, links, kernel=kernel, max_iter=1200)
    level = path.best(by="links")
    assert model.bandwidth_ == path.bandwidths[level]
    np.testing.assert_array_equal(model.labels_, path.labels(level))
    np.testing.assert_array_equal(model.cluster_centers_, path.centers[level])
    assert model.n_clusters_ == path.n_clusters[level]
    assert model.cluster_centers_.dtype == dtype
    report = model.link_report_
    assert report.n_must - report.must_kept == path.violated_must[level]
    assert report.n_cannot - report.cannot_kept == path.violated_cannot[level]


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(KERNELS))
def test_training_rows_are_predicted_as_they_were_labelled(seed, kernel):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=30)
    X = rng.normal(size=(30, 2)) + 3.0 * np.stack([y, y % 2], axis=1)
    X[5] = X[6]  # equal rows
    links = Links.sample(y, 15, random_state=int(rng.integers(1000)))
    model = PathMeanShift(kernel=kernel).fit(X, links=links)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_the_density_is_that_of_the_bandwidth(moons):
    X, _, links = moons
    model = PathMeanShift(kernel="gaussian").fit(X, links=links)
    plain = MeanShift(bandwidth=model.bandwidth_, kernel="gaussian").fit(X)
    np.testing.assert_allclose(model.score_samples(X), plain.score_samples(X), rtol=1e-10)


def test_far_rows_have_a_cluster(moons):
    X, _, links = moons
    model = PathMeanShift(kernel="gaussian").fit(X, links=links)
    far = model.predict([[1e3, 1e3], [-1e3, 0.0]])
    assert ((far >= 0) & (far < model.n_clusters_)).all()


def test_it_needs_links(moons):
    X, *_ = moons
    for none in (None, Links()):
        with pytest.raises(ValueError, match=r"fit\(X, links=\.\.\.\)"):
            PathMeanShift().fit(X, links=none)
    with pytest.raises(ValueError, match="'links'"):
        MeanShift(bandwidth="links").fit(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_training_rows_are_predicted_alike_when_steps_are_few(moons):
    X, _, links = moons
    for max_iter in (5, 20, 40):
        model = PathMeanShift(kernel="gaussian", max_iter=max_iter)
        model.fit(X, links=links)
        np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_partial_labels_choose_too(moons):
    X, y, _ = moons
    known = np.where(np.arange(len(y)) % 10 == 0, y, -1)
    model = PathMeanShift().fit(X, partial_labels=known)
    links = Links.from_labels(known, complete=True)
    assert model.bandwidth_ == PathMeanShift().fit(X, links=links).bandwidth_
    with pytest.raises(ValueError, match="does not use links"):
        MeanShift().fit(X, partial_labels=known)


def test_a_refused_fit_changes_nothing(moons):
    X, _, links = moons
    model = PathMeanShift().fit(X, links=links)
    before = vars(model).copy()
    with pytest.raises(ValueError, match="there are none"):
        model.fit(X[:20])
    assert vars(model) == before
