"""K-means against its literal twin, scikit-learn's, and its laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.cluster import KMeans
from tests.reference import kmeans as twin

from linkshift._core.arrays import unit_rows
from linkshift.kmeans import STARTS, fit_kmeans, nearest_centres
from linkshift.kmeans.starts import first_centres
from linkshift.methods import _checks


def points(seed=0, n=40, d=3):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("spherical", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_steps_are_those_of_the_twin(seed, spherical):
    X = points(seed)
    X = unit_rows(X) if spherical else X
    start = X[:5]
    found = fit_kmeans(X, 5, init=start, spherical=spherical, tol=0.0, random=None)
    labels, centres = twin.lloyd(X, start, spherical)
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_allclose(found.centres, centres, atol=1e-12)
    assert found.inertia == pytest.approx(twin.ssd(X, labels, centres))
    assert found.converged


def test_an_empty_cluster_takes_the_farthest_row():
    X = np.array([[0.0], [1.0], [2.0], [50.0], [51.0]])
    start = np.array([[0.0], [1.0], [900.0]])
    found = fit_kmeans(X, 3, init=start, random=None, tol=0.0)
    labels, centres = twin.lloyd(X, start)
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_allclose(found.centres, centres)
    assert len(set(found.labels.tolist())) == 3


@pytest.mark.parametrize("init", STARTS)
def test_fewer_places_than_clusters(init):
    X = np.repeat([[0.0], [1.0]], 5, axis=0)
    found = fit_kmeans(X, 4, init=init, random=np.random.RandomState(0))
    assert found.inertia == 0.0
    assert len(set(found.labels.tolist())) == 2
    assert found.converged


@settings(max_examples=60, deadline=None)
@given(
    arrays(np.float64, (7, 2), elements=st.integers(-20, 20).map(float)),
    st.integers(1, 3),
    st.sampled_from(STARTS),
)
def test_never_below_the_least_there_is(X, k, init):
    """And every row is with its nearest centre, whatever the start."""
    found = fit_kmeans(X, k, init=init, tol=0.0, random=np.random.RandomState(0))
    assert found.inertia >= twin.least_ssd(X.tolist(), k) - 1e-6
    assert found.labels.tolist() == [twin.nearest(x, found.centres) for x in X]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_more_steps_never_raise_the_sum(seed, spherical):
    X = points(seed, 30)
    X = unit_rows(X) if spherical else X
    options = {"init": X[:4], "spherical": spherical, "tol": 0.0, "random": None}
    sums = [fit_kmeans(X, 4, max_iter=steps, **options).inertia for steps in range(1, 8)]
    assert (np.diff(sums) <= 1e-9).all()


def test_the_greedy_start_is_that_of_the_twin():
    for seed in range(4):
        X = points(seed, 25, 2)
        found = first_centres(X, np.ones(len(X)), 5, "greedy", np.random.RandomState(0))
        np.testing.assert_array_equal(found, X[twin.greedy_rows(X.tolist(), 5)])


def test_a_random_start_draws_no_row_twice():
    X = np.arange(10.0)[:, None]
    found = first_centres(X, np.ones(len(X)), 10, "random", np.random.RandomState(3))
    assert sorted(found[:, 0].tolist()) == list(range(10))


def test_not_worse_than_scikit_learns_and_the_same_for_any_threads():
    X = np.random.default_rng(1).random((400, 3)).astype(np.float32)
    fits = [fit_kmeans(X, 7, n_jobs=n, random=np.random.RandomState(3)) for n in (1, 2, 3)]
    np.testing.assert_array_equal(fits[0].labels, fits[1].labels)
    np.testing.assert_array_equal(fits[0].labels, fits[2].labels)
    seeds = np.random.RandomState(3).randint(np.iinfo(np.int32).max, size=4)
    alone = [KMeans(7, n_init=1, random_state=seed).fit(X).inertia_ for seed in seeds]
    assert fits[0].inertia == pytest.approx(min(alone), rel=1e-4)


def test_many_points_are_all_taken_into_account():
    """Starts are from a sample; what comes out is settled for all points."""
    X = np.random.default_rng(1).random((30_000, 2)).astype(np.float32)
    found = fit_kmeans(X, 3, n_jobs=2, random=np.random.RandomState(0))
    again = fit_kmeans(X, 3, n_jobs=1, random=np.random.RandomState(0))
    np.testing.assert_array_equal(found.labels, again.labels)
    means = np.stack([X[found.labels == c].mean(axis=0) for c in range(3)])
    np.testing.assert_allclose(found.centres, means, atol=5e-3)


def test_nearest_centres_by_hand():
    labels, apart = nearest_centres(np.array([[0.0], [4.0], [5.0]]), np.array([[3.0], [0.0]]))
    assert labels.tolist() == [1, 0, 0]
    assert apart.tolist() == [0.0, 1.0, 4.0]


def test_the_command_line_knows_the_same_starts():
    assert _checks.STARTS == STARTS
