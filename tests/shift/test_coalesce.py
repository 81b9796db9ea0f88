"""Climbing in company against climbing alone."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from linkshift.profiles import Profile
from linkshift.shift.coalesce import climb_together, group_close
from linkshift.shift.density import build_density
from linkshift.shift.engine import ascend

GAUSSIAN = Profile("gaussian")


def literal_groups(positions, radius):
    leader = -np.ones(len(positions), dtype=int)
    for i in range(len(positions)):
        if leader[i] < 0:
            near = np.linalg.norm(positions - positions[i], axis=1) <= radius
            leader[near & (leader < 0)] = i
    return leader


@pytest.mark.parametrize("n", [0, 1, 2, 300, 1300])
@pytest.mark.parametrize("d", [1, 3])
def test_groups_are_those_of_the_plain_loop(n, d):
    positions = np.random.default_rng(n).uniform(size=(n, d)) * 10
    np.testing.assert_array_equal(group_close(positions, 0.31), literal_groups(positions, 0.31))


@pytest.mark.parametrize("d", [2, 80, 150])  # 150 columns of 200 points: by inner products
def test_ends_are_those_of_climbing_alone(d):
    X, _ = make_blobs(200, d, centers=4, random_state=d)
    h = np.random.default_rng(0).uniform(0.8, 1.2, size=200) * 0.6 * np.sqrt(d)
    radius = 0.01 * np.median(h)
    alone = ascend(build_density(X, h, GAUSSIAN, dimension=3.0), X, tol=1e-5, max_iter=1000)
    company = climb_together(X, h, GAUSSIAN, X, dimension=3.0, radius=radius, max_iter=1000)
    assert company.converged.all()
    np.testing.assert_allclose(company.ends, alone.ends, atol=2 * radius)
    assert company.ends.dtype == np.float64
    assert len(np.unique(company.ends, axis=0)) < 100


def test_far_rows_keep_to_themselves_among_inner_products():
    # Weights of all other points underflow in float32, and the start's own is the least of all.
    X = np.random.default_rng(0).normal(size=(70, 100)) * 0.01
    X[0, 0] = 1.0
    h = np.full(70, 0.05)
    h[0] = 0.09
    ascent = climb_together(X, h, GAUSSIAN, X, dimension=100.0, radius=1e-4, max_iter=1000)
    alone = ascend(build_density(X, h, GAUSSIAN, dimension=100.0), X, tol=1e-5, max_iter=1000)
    np.testing.assert_allclose(ascent.ends, alone.ends, atol=2e-4)
    assert np.linalg.norm(ascent.ends[0] - X[0]) < 1e-3


def test_out_of_steps():
    X = np.random.default_rng(1).normal(size=(50, 2))
    ascent = climb_together(
        X, np.full(50, 0.5), GAUSSIAN, X, dimension=2.0, radius=1e-9, max_iter=3
    )
    assert not ascent.converged.all()
    assert ascent.n_iter <= 4


@pytest.mark.parametrize("d", [70, 200])
def test_any_number_of_threads_and_progress(d):
    X, _ = make_blobs(300, d, centers=3, random_state=0)
    h = np.full(300, 5.0 * np.sqrt(d / 70))
    seen = []
    one = climb_together(X, h, GAUSSIAN, X, dimension=2.0, radius=0.05)
    two = climb_together(
        X,
        h,
        GAUSSIAN,
        X,
        dimension=2.0,
        radius=0.05,
        n_threads=2,
        progress=lambda done, of: seen.append((done, of)),
    )
    np.testing.assert_array_equal(one.ends, two.ends)
    assert seen[-1] == (300, 300)
