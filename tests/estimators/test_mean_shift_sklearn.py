"""The same labels and centers as scikit-learn's MeanShift, row by row."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import MeanShift as ScikitMeanShift
from sklearn.neighbors import KernelDensity
from tests.helpers import blobs

from linkshift import MeanShift


def assert_same(X, **parameters):
    ours, theirs = MeanShift(**parameters).fit(X), ScikitMeanShift(**parameters).fit(X)
    assert ours.cluster_centers_.shape == theirs.cluster_centers_.shape
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    if parameters.get("cluster_all", True):  # scikit-learn's predict never says -1, ours does
        new = X[::3] + 0.1
        np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))
    return ours


OPTIONS = [
    {},
    {"cluster_all": False},
    {"bin_seeding": True},
    {"bin_seeding": True, "min_bin_freq": 4},
    {"bin_seeding": True, "min_bin_freq": 3, "cluster_all": False},
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_max_iter_is_scikit_learns_plus_one():
    # scikit-learn counts the steps after the first: its max_iter=1 makes two.
    X = blobs(150, 2, k=5)[0]
    ours = MeanShift(bandwidth=2.0, max_iter=2).fit(X)
    theirs = ScikitMeanShift(bandwidth=2.0, max_iter=1).fit(X)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-10)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize(("d", "bandwidth"), [(2, 2.0), (10, 8.0)])
def test_blobs(d, bandwidth, options):
    ours = assert_same(blobs(150, d, k=5)[0], bandwidth=bandwidth, **options)
    assert ours.n_clusters_ > 1
    if options.get("cluster_all") is False and d == 2:
        assert (ours.labels_ == -1).any()


@pytest.mark.parametrize("d", [2, 10])
def test_seeds(d):
    X = blobs(150, d, k=5)[0]
    seeds = np.concatenate([X[::40], np.full((1, d), 1e3)])  # one out of all points' reach
    assert_same(X, bandwidth=2.0 * np.sqrt(d), seeds=seeds)
    assert_same(X, bandwidth=2.0 * np.sqrt(d), seeds=X[:1], cluster_all=False)


@pytest.mark.parametrize(("d", "bandwidth"), [(1, 0.8), (3, 3.0)])
def test_a_few_hundred_rows(d, bandwidth):
    assert_same(blobs(300, d, k=5)[0], bandwidth=bandwidth)


@pytest.mark.slow
@pytest.mark.parametrize(("d", "bandwidth"), [(2, 1.2), (3, 2.0), (10, 7.0)])
def test_many_rows(d, bandwidth):
    assert_same(blobs(2000, d, k=5)[0], bandwidth=bandwidth)
    assert_same(blobs(2000, d, k=5)[0], bandwidth=bandwidth, bin_seeding=True, min_bin_freq=2)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 20),
    st.integers(1, 3),
    st.sampled_from([1.0, 1.5, 2.0, 2.5]),
    st.booleans(),
)
def test_whole_numbers_with_ties(seed, n, d, bandwidth, cluster_all):
    X = np.random.default_rng(seed).integers(0, 8, size=(n, d)).astype(float)
    ours = MeanShift(bandwidth=bandwidth, cluster_all=cluster_all).fit(X)
    theirs = ScikitMeanShift(bandwidth=bandwidth, cluster_all=cluster_all).fit(X)
    # Starts may reach one spot with different counts on the way; scikit-learn keeps the count of
    # whichever row came last, which decides ties between modes. Then only the rule can be tested.
    if ours.cluster_centers_.shape == theirs.cluster_centers_.shape and np.allclose(
        ours.cluster_centers_, theirs.cluster_centers_
    ):
        far = np.linalg.norm(X[:, None] - ours.cluster_centers_[None], axis=2)
        clear = np.diff(np.sort(far, axis=1)[:, :2], axis=1).min(axis=1, initial=1) > 1e-9
        np.testing.assert_array_equal(ours.labels_[clear], theirs.labels_[clear])
    else:
        gaps = np.linalg.norm(ours.cluster_centers_[:, None] - ours.cluster_centers_, axis=2)
        assert (gaps[~np.eye(len(gaps), dtype=bool)] > bandwidth).all()


def test_the_examples_of_scikit_learns_documentation():
    X = np.array([[1, 1], [2, 1], [1, 0], [4, 7], [3, 5], [3, 6]])
    ours = assert_same(X, bandwidth=2)
    np.testing.assert_array_equal(ours.labels_, [1, 1, 1, 0, 0, 0])


@pytest.mark.parametrize("seed", range(2))
def test_bin_seeding_when_every_row_has_its_own_cell(seed):
    found = 0
    for attempt in range(20):
        X = np.random.default_rng(1000 * seed + attempt).normal(size=(10, 2)) * 5
        if len(np.unique(np.round(X / 1.5), axis=0)) < 10:
            continue
        found += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            assert_same(X, bandwidth=1.5, bin_seeding=True)
    assert found


# The density against KernelDensity


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("kernel", "theirs"), [("gaussian", "gaussian"), ("flat", "epanechnikov")])
def test_score_samples_is_kernel_density(kernel, theirs, d, weighted):
    X = blobs(200, d, k=5)[0]
    weight = np.random.default_rng(0).uniform(0.5, 2, size=200) if weighted else None
    at = np.concatenate([X, X[:20] + 0.3])
    ours = MeanShift(bandwidth=2.0, kernel=kernel).fit(X, sample_weight=weight)
    tree = KernelDensity(bandwidth=2.0, kernel=theirs, rtol=0, atol=0).fit(X, sample_weight=weight)
    np.testing.assert_allclose(ours.score_samples(at), tree.score_samples(at), rtol=0, atol=1e-8)


def test_score_samples_where_nothing_reaches():
    X = blobs(50, 2, k=5)[0]
    assert MeanShift(bandwidth=1.0).fit(X).score_samples([[1e6, 0.0]]) == [-np.inf]
    far = MeanShift(bandwidth=1.0, kernel="gaussian").fit(X).score_samples([[1e3, 0.0]])
    expected = KernelDensity(bandwidth=1.0).fit(X).score_samples([[1e3, 0.0]])
    np.testing.assert_allclose(far, expected, rtol=1e-9)
