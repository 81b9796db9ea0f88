"""Blurring against the literal twin and by hand; ``test_engine`` has what ascents share with it."""

import numpy as np
from hypothesis import given, settings
from tests.reference import mean_shift as twin
from tests.reference.problems import make_problem, problems

from linkshift.profiles import Profile
from linkshift.shift.blurring import blur


def test_blurring_two_points_by_hand():
    # One step takes (0, 2) to (2e, 2) / (1 + e) with e = exp(-2).
    X = np.array([[0.0], [2.0]])
    with_one_step = blur(X, 1.0, Profile("gaussian"), max_iter=1)
    e = np.exp(-2.0)
    np.testing.assert_allclose(with_one_step.ends, [[2 * e / (1 + e)], [2 / (1 + e)]], rtol=1e-14)
    assert not with_one_step.converged.any()
    np.testing.assert_allclose(blur(X, 1.0, Profile("gaussian")).ends, 1.0, atol=1e-3)


@settings(max_examples=20, deadline=None)
@given(problems(max_n=40, max_d=4, dtypes=[np.float64]))
def test_blurring_is_the_twins(problem):
    found = blur(*problem.args, sample_weight=problem.weight, max_iter=30)
    expected = twin.blur(problem.X, problem.h, max_iter=30, **problem.twin)
    np.testing.assert_allclose(found.ends, expected, rtol=0, atol=1e-8)


def test_rows_without_weight_are_blurred_along_but_do_not_pull():
    X = np.array([[0.0], [0.4], [1.0]])
    weight = np.array([1.0, 0.0, 1.0])
    found = blur(X, 1.0, Profile("gaussian"), sample_weight=weight, max_iter=1).ends
    expected, _ = twin.mean_step(X[[0, 2]], 1.0, X, "gaussian")
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_blurring_keeps_the_paths():
    problem = make_problem(14, 40, 2, Profile("gaussian"))
    result = blur(*problem.args, keep_paths=True)
    for row, end, path in zip(problem.X, result.ends, result.paths, strict=True):
        np.testing.assert_array_equal(path[0], row)
        np.testing.assert_array_equal(path[-1], end)
        assert len(path) == result.n_iter + 1


def test_points_with_other_bandwidths_stay_apart_when_they_meet():
    # Twins in place with unequal bandwidths are two points, not one of double weight.
    X = np.array([[0.0], [0.0], [1.5]])
    h = np.array([1.0, 2.0, 1.0])
    found = blur(X, h, Profile("gaussian"), max_iter=4, tol=0.0).ends
    expected = twin.blur(X, h, "gaussian", max_iter=4, tol=0.0)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_blurring_does_not_write_to_its_input():
    problem = make_problem(15, 50, 2, Profile("flat"), weights=True)
    X, weight = problem.X.copy(), problem.weight.copy()
    blur(*problem.args, sample_weight=problem.weight)
    np.testing.assert_array_equal(problem.X, X)
    np.testing.assert_array_equal(problem.weight, weight)
