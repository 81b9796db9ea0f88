"""Steps and densities at the edges of the numbers, without weights, in little memory."""

import tracemalloc

import numpy as np
import pytest
from tests.reference import mean_shift as twin
from tests.reference.problems import clear_of_edges, make_problem
from tests.shift.steps import every_dtype, every_profile, logs, step

from linkshift._core.threads import threads
from linkshift.profiles import Profile
from linkshift.shift.density import build_density
from linkshift.shift.step import log_density, mean_step

# The edges of the numbers


@pytest.mark.parametrize("ratio", [1e4, 1e6])
@every_profile
def test_powers_of_bandwidths_do_not_underflow(profile, ratio):
    # h^(d+2) spans ratio^62: 1e248 fits in float64, 1e372 does not.
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(5, 60)), rng.normal(size=(5, 60)) / ratio + 1e3])
    h = np.repeat([10.0, 10.0 / ratio], 5)
    means, total = step(X, h, profile)
    assert (total > 0).all()
    log_factor = -62.0 * np.log(h / h.min())
    u = twin.squared_distances(X, X) / h**2
    with np.errstate(divide="ignore"):
        log_pair = log_factor + np.log(twin.weight(profile.name, u, profile.reach))
    pair = np.exp(log_pair - log_pair.max(axis=1, keepdims=True))
    expected = pair @ X / pair.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(means, expected, rtol=1e-9, atol=1e-9)


@every_profile
def test_the_density_does_not_underflow_with_powers_of_bandwidths(profile):
    X = np.concatenate([np.zeros((1, 60)), np.full((1, 60), 100.0)])
    h = np.array([1.0, 1e-6])  # the narrow point's factor is 1e360 times the wide one's
    at = np.full((1, 60), 0.05)
    expected = logs(X[:1], 1.0, profile, at) - np.log(2.0)
    np.testing.assert_allclose(logs(X, h, profile, at), expected, rtol=1e-9)


@every_dtype
@pytest.mark.parametrize("d", [3, 64])
@pytest.mark.parametrize("far", [1e2, 1e4, 1e8, 1e18])
def test_far_starts_of_the_gaussian_move_to_the_data(dtype, d, far):
    X = np.random.default_rng(0).normal(size=(30, d)).astype(dtype)
    start = np.zeros((1, d), dtype=dtype)
    start[0, 0] = far
    means, total = step(X, 1.0, Profile("gaussian"), start)
    assert total[0] > 0
    assert (means[0] >= X.min(axis=0)).all()
    assert (means[0] <= X.max(axis=0)).all()
    if far < 1e7:  # the nearest point outweighs all others
        np.testing.assert_allclose(means[0], X[np.argmax(X[:, 0])], atol=1e-5)


def test_far_density_of_the_gaussian_is_finite():
    X = np.zeros((1, 1))
    np.testing.assert_allclose(
        logs(X, 1.0, Profile("gaussian"), np.array([[1e3]])), [-5e5 - 0.5 * np.log(2 * np.pi)]
    )


@pytest.mark.parametrize("name", ["flat", "epanechnikov", "truncated_gaussian"])
def test_starts_that_nothing_reaches_stay(name):
    start = np.array([[5.0, 5.0]])
    means, total = step(np.zeros((3, 2)), 1.0, Profile(name), start)
    np.testing.assert_array_equal(means, start)
    assert total[0] == 0
    assert logs(np.zeros((3, 2)), 1.0, Profile(name), start) == [-np.inf]


def test_float32_works_in_float32_unless_the_data_are_wide():
    X = np.array([[0.0], [999.0]], dtype=np.float32)
    assert build_density(X, 1.0, Profile("flat")).dtype == np.float32
    assert build_density(X * np.float32(1.01), 1.0, Profile("flat")).dtype == np.float64
    assert build_density(X.astype(np.float64), 1.0, Profile("flat")).dtype == np.float64
    # The narrowest bandwidth counts, and so does the range of the factors.
    narrow = np.array([1.0, 0.9])
    assert build_density(X, narrow, Profile("flat")).dtype == np.float64
    weights = np.array([1.0, 1e-30])
    assert build_density(X, 1.0, Profile("flat"), sample_weight=weights).dtype == np.float64


@every_profile
def test_wide_float32_data_are_as_good_as_float64(profile):
    problem = make_problem(23, 200, 2, profile, np.float32)
    X = problem.X.copy()
    X[::2] += np.float32(4096)
    problem = problem._replace(X=X)
    clear = clear_of_edges(problem, X)
    found = step(X, problem.h, profile)[0]
    expected, _ = twin.mean_step(X, problem.h, X, profile.name, reach=profile.reach)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[clear], expected[clear], rtol=1e-7, atol=1e-6)


@every_profile
def test_float32_far_from_the_origin(profile):
    rng = np.random.default_rng(1)
    X = (np.round(rng.normal(size=(200, 2)) * 8) / 8 + 1e6).astype(np.float32)
    problem = make_problem(1, 200, 2, profile, np.float32)._replace(X=X, h=1.0123, weight=None)
    clear = clear_of_edges(problem, X)
    density = build_density(X, 1.0123, profile)
    with threads(1) as pool:
        means, _ = mean_step(density, density.to_working(X), pool)
    expected, _ = twin.mean_step(X, 1.0123, X, profile.name, reach=profile.reach)
    working = (expected - density.centre.astype(np.float64)) / density.scale
    assert clear.sum() > 100
    np.testing.assert_allclose(means[clear], working[clear], rtol=0, atol=1e-4)


# Rows without weight, and memory


@every_profile
def test_rows_without_weight_have_no_say(profile):
    problem = make_problem(29, 120, 3, profile, own=True, weights=True)
    kept = problem.weight > 0
    assert 0 < kept.sum() < 120
    found = step(*problem.args, weight=problem.weight)[0]
    expected = step(
        problem.X[kept], problem.h[kept], profile, problem.X, weight=problem.weight[kept]
    )[0]
    np.testing.assert_array_equal(found, expected)


def test_no_weight_at_all_is_an_error():
    with pytest.raises(ValueError, match="weight"):
        build_density(np.zeros((3, 1)), 1.0, Profile("flat"), sample_weight=np.zeros(3))


def test_working_coordinates_go_there_and_back():
    X = np.random.default_rng(0).normal(size=(50, 3)) * 100
    density = build_density(X, 3.3, Profile("flat"))
    np.testing.assert_array_equal(density.to_input(density.to_working(X)), X)
    np.testing.assert_array_equal(np.sort(density.rows), np.arange(50))
    own = density.to_input(density.points[: density.n_points])
    np.testing.assert_array_equal(own, X[density.rows])


@pytest.mark.parametrize(("far", "limit"), [(0.0, 20e6), (1e3, 160e6)], ids=["near", "far"])
def test_memory_does_not_grow_with_the_square_of_n(far, limit):
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    # 20,000 x 20,000 float64 would be 3.2 GB; from afar, 1,200 x 20,000 would be 192 MB.
    starts = X[:1_200] + far
    density = build_density(X, 1.0, Profile("gaussian"))
    working = density.to_working(starts if far else X)
    tracemalloc.start()
    try:
        with threads(2) as pool:
            mean_step(density, working, pool)
            log_density(density, working[:500], pool)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < limit


# The pool


def test_threads_raise_the_error_of_a_task():
    def fail(value):
        if value == 3:
            raise KeyError(value)

    for n_threads in (1, 2):
        with threads(n_threads) as pool, pytest.raises(KeyError):
            pool.map(fail, range(5))
