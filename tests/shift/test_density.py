"""Steps and densities against the literal twin, by hand, and at the edges of the numbers."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import mean_shift as twin
from tests.reference.problems import PROFILES, clear_of_edges, make_problem, problems, tolerance
from tests.shift.steps import DTYPES, every_dtype, every_profile, logs, step

from linkshift._core.threads import threads
from linkshift.profiles import Profile
from linkshift.shift.density import build_density
from linkshift.shift.step import mean_step


def starts_of(problem, seed=0):
    """The points, and some spots between and beyond them."""
    rng = np.random.default_rng(seed)
    between = problem.X[:20] + rng.normal(size=problem.X[:20].shape).astype(problem.X.dtype)
    return np.concatenate([problem.X, between])


def assert_step_is_the_twins(problem, starts):
    means, total = step(*problem.args, starts, weight=problem.weight)
    expected, reached = twin.mean_step(problem.X, problem.h, starts, **problem.twin)
    clear = clear_of_edges(problem, starts)
    assert means.dtype == problem.X.dtype
    np.testing.assert_array_equal(total[clear] > 0, reached[clear])
    # Where all weights are next to nothing (the rim of Epanechnikov), rounding rules.
    pairs = twin.pair_weights(problem.X, problem.h, starts, **problem.twin)
    firm = clear & ((pairs.sum(axis=1) == 0) | (pairs.sum(axis=1) > 1e-2 * pairs.max()))
    np.testing.assert_allclose(means[firm], expected[firm], rtol=0, atol=tolerance(problem))
    return firm


# By hand


def test_flat_step_of_three_points_by_hand():
    X = np.array([[0.0], [1.0], [2.5]])
    means, total = step(X, 1.0, Profile("flat"))
    np.testing.assert_array_equal(means, [[0.5], [0.5], [2.5]])
    np.testing.assert_array_equal(total, [2, 2, 1])


def test_epanechnikov_step_by_hand():
    X = np.array([[0.0], [1.0]])
    means, _ = step(X, 2.0, Profile("epanechnikov"))  # weights 1 and 1 - 1/4
    np.testing.assert_allclose(means, [[0.75 / 1.75], [1 / 1.75]], rtol=1e-15)


def test_gaussian_step_by_hand():
    X = np.array([[0.0, 0.0], [2.0, 0.0]])
    means, total = step(X, 1.0, Profile("gaussian"))
    e = np.exp(-2.0)
    np.testing.assert_allclose(means[:, 0], [2 * e / (1 + e), 2 / (1 + e)], rtol=1e-14)
    np.testing.assert_array_equal(means[:, 1], 0)
    np.testing.assert_allclose(total, 1 + e, rtol=1e-14)


def test_own_bandwidths_weigh_by_the_power_d_plus_two():
    # d = 1: factors 1 and 2^-3; from the middle, u = 1/4 and 1/16.
    X = np.array([[0.0], [1.0]])
    means, _ = step(X, np.array([1.0, 2.0]), Profile("flat"), np.array([[0.5]]))
    np.testing.assert_allclose(means, [[0.125 / 1.125]], rtol=1e-15)
    means, _ = step(X, np.array([1.0, 2.0]), Profile("flat"), np.array([[0.5]]), dimension=0)
    np.testing.assert_allclose(means, [[0.25 / 1.25]], rtol=1e-15)


def test_density_of_one_point_by_hand():
    at = np.array([[0.0], [1.0], [2.0], [2.1]])
    one = np.zeros((1, 1))
    flat = logs(one, 2.0, Profile("flat"), at)  # shadow: Epanechnikov, 3/4 (1 - u) / h
    np.testing.assert_allclose(np.exp(flat), [0.375, 0.28125, 0, 0], rtol=1e-14)
    gauss = logs(one, 2.0, Profile("gaussian"), at)
    np.testing.assert_allclose(gauss, -0.125 * at[:, 0] ** 2 - np.log(2 * np.sqrt(2 * np.pi)))


def test_the_edge_of_the_flat_kernel_counts():
    X = np.array([[0.0, 0.0], [3.0, 4.0]])
    np.testing.assert_array_equal(step(X, 5.0, Profile("flat"))[1], [2, 2])
    np.testing.assert_array_equal(step(X, np.nextafter(5.0, 0), Profile("flat"))[1], [1, 1])


# Against the twin


@settings(max_examples=80, deadline=None)
@given(problems())
def test_step_is_the_twins(problem):
    assert_step_is_the_twins(problem, starts_of(problem))


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(PROFILES),
    st.sampled_from(DTYPES),
    st.sampled_from([63, 64, 65, 130]),
    st.booleans(),
    st.booleans(),
)
def test_step_is_the_twins_in_many_dimensions(seed, profile, dtype, d, own, weights):
    problem = make_problem(seed, 90, d, profile, dtype, own, weights)
    assert_step_is_the_twins(problem, starts_of(problem))


@every_profile
@every_dtype
def test_step_is_the_twins_over_many_blocks(profile, dtype):
    for d, n in [(1, 400), (2, 3000), (5, 1000)]:
        problem = make_problem(d, n, d, profile, dtype, own=True, weights=True)
        problem = problem._replace(h=problem.h / 2)
        firm = assert_step_is_the_twins(problem, problem.X[::7])
        assert firm.mean() > 0.3


@settings(max_examples=60, deadline=None)
@given(problems())
def test_log_density_is_the_twins(problem):
    at = starts_of(problem)
    found = logs(*problem.args, at, weight=problem.weight)
    expected = twin.log_density(problem.X, problem.h, at, **problem.twin)
    clear = clear_of_edges(problem, at)
    single = problem.X.dtype == np.float32
    # Next to the edge of the kernel the density is a difference of near equals.
    firm = clear & ((expected > expected.max() - 5) | np.isneginf(expected))
    np.testing.assert_allclose(found[firm], expected[firm], rtol=0, atol=2e-3 if single else 1e-9)


def test_log_density_is_the_twins_by_matrix_products():
    for dtype, atol in [(np.float32, 1e-3), (np.float64, 1e-9)]:
        problem = make_problem(3, 80, 70, Profile("gaussian"), dtype, own=True, weights=True)
        expected = twin.log_density(problem.X, problem.h, problem.X, **problem.twin)
        found = logs(*problem.args, weight=problem.weight)
        np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


@every_profile
def test_density_integrates_to_one(profile):
    X = np.array([[0.0], [0.3], [2.0]])
    h, weight = np.array([0.5, 1.0, 0.7]), np.array([1.0, 2.0, 0.5])
    grid = np.linspace(-12, 14, 26001)
    value = np.exp(logs(X, h, profile, grid[:, None], weight=weight))
    assert value.sum() * (grid[1] - grid[0]) == pytest.approx(1.0, abs=1e-5)


@settings(max_examples=30, deadline=None)
@given(problems(max_n=60))
def test_a_weight_of_two_is_the_row_twice(problem):
    n = problem.X.shape[0]
    count = np.random.default_rng(n).integers(0, 4, size=n)
    count[0] = 2
    h = np.broadcast_to(problem.h, (n,))
    clear = clear_of_edges(problem, problem.X)
    by_weight = step(problem.X, h, problem.profile, weight=count.astype(float))[0]
    repeated = np.repeat(problem.X, count, axis=0)
    by_rows = step(repeated, np.repeat(h, count), problem.profile, problem.X)[0]
    atol = 10 * tolerance(problem)
    np.testing.assert_allclose(by_weight[clear], by_rows[clear], rtol=0, atol=atol)
    density_by_weight = logs(problem.X, h, problem.profile, weight=count.astype(float))
    density_by_rows = logs(repeated, np.repeat(h, count), problem.profile, problem.X)
    firm = clear & (density_by_rows > density_by_rows.max() - 5)
    np.testing.assert_allclose(density_by_weight[firm], density_by_rows[firm], atol=2e-3)


@every_profile
def test_the_unit_of_the_weights_does_not_matter(profile):
    problem = make_problem(5, 80, 2, profile, own=True, weights=True)
    plain = step(*problem.args, weight=problem.weight)[0]
    for unit in (1e-300, 1e300):
        np.testing.assert_allclose(
            step(*problem.args, weight=unit * problem.weight)[0], plain, atol=1e-11
        )


# Laws


@settings(max_examples=25, deadline=None)
@given(problems(max_n=120))
def test_the_order_of_the_rows_does_not_matter(problem):
    n = problem.X.shape[0]
    shuffle = np.random.default_rng(n).permutation(n)
    h = np.broadcast_to(problem.h, (n,))
    weight = None if problem.weight is None else problem.weight[shuffle]
    clear = clear_of_edges(problem, problem.X)
    found = step(problem.X[shuffle], h[shuffle], problem.profile, problem.X, weight=weight)[0]
    expected = step(*problem.args, weight=problem.weight)[0]
    np.testing.assert_allclose(found[clear], expected[clear], rtol=0, atol=10 * tolerance(problem))


@every_profile
@pytest.mark.parametrize(
    ("dtype", "offset", "atol"), [(np.float64, 1e6, 1e-8), (np.float32, 512, 1e-3)]
)
@pytest.mark.parametrize("own", [False, True])
def test_moving_the_origin_moves_the_means(profile, dtype, offset, atol, own):
    problem = make_problem(7, 150, 3, profile, np.float64, own, weights=True)
    # Multiples of 2^-10 are moved without rounding, in both precisions.
    X = (np.round(problem.X * 1024) / 1024).astype(dtype)
    problem = problem._replace(X=X)
    clear = clear_of_edges(problem, X)
    assert clear.sum() > 50
    here = step(X, problem.h, profile, weight=problem.weight)[0]
    moved = X + dtype(offset)
    there = step(moved, problem.h, profile, weight=problem.weight)[0]
    np.testing.assert_allclose(there[clear] - dtype(offset), here[clear], rtol=0, atol=atol)


@pytest.mark.parametrize("offset", [2.0**20, 2.0**27])
def test_moving_the_origin_moves_the_means_by_matrix_products(offset):
    X = np.round(np.random.default_rng(0).normal(size=(80, 64)) * 4096) / 1024
    here = step(X, 8.0, Profile("gaussian"))[0]
    there = step(X + offset, 8.0, Profile("gaussian"))[0]
    np.testing.assert_allclose(there - offset, here, rtol=0, atol=1e-6)


def test_wide_float32_data_by_matrix_products():
    rng = np.random.default_rng(0)
    far = np.repeat([0.0, 400.0, -400.0], 40)[:, None]
    X = (rng.normal(size=(120, 64)) + far).astype(np.float32)
    expected, _ = twin.mean_step(X, 3.0, X, "gaussian")
    np.testing.assert_allclose(step(X, 3.0, Profile("gaussian"))[0], expected, rtol=0, atol=3e-3)


@every_profile
@pytest.mark.parametrize(
    ("dtype", "unit"),
    [
        (np.float64, 1e-200),
        (np.float64, 1e150),
        (np.float64, 3.0),
        (np.float32, 1e-20),
        (np.float32, 1e18),
    ],
)
def test_the_unit_of_length_does_not_matter(profile, dtype, unit):
    problem = make_problem(9, 150, 3, profile, dtype, own=True, weights=True)
    clear = clear_of_edges(problem, problem.X)
    here = step(*problem.args, weight=problem.weight)[0]
    scaled = (problem.X.astype(np.float64) * unit).astype(dtype)
    there = step(scaled, problem.h * unit, profile, weight=problem.weight)[0]
    found = there.astype(np.float64) / unit
    np.testing.assert_allclose(found[clear], here[clear], rtol=0, atol=10 * tolerance(problem))
    density = logs(*problem.args, weight=problem.weight)
    scaled_density = logs(scaled, problem.h * unit, profile, weight=problem.weight)
    firm = clear & (density > density.max() - 5)
    np.testing.assert_allclose(
        scaled_density[firm] + 3 * np.log(unit),
        density[firm],
        atol=3e-3 if dtype == np.float32 else 1e-8,
    )


@every_profile
def test_turning_the_plane_turns_the_means(profile):
    problem = make_problem(11, 200, 2, profile, own=True, weights=True)
    turn = np.array([[np.cos(0.7), -np.sin(0.7)], [np.sin(0.7), np.cos(0.7)]])
    clear = clear_of_edges(problem, problem.X)
    expected = step(*problem.args, weight=problem.weight)[0] @ turn.T
    found = step(problem.X @ turn.T, problem.h, profile, weight=problem.weight)[0]
    np.testing.assert_allclose(found[clear], expected[clear], rtol=0, atol=1e-10)


# Threads, batches and blocks change no bit


@every_profile
@every_dtype
@pytest.mark.parametrize("d", [1, 3, 66])
def test_any_number_of_threads_gives_the_same_bits(profile, dtype, d):
    problem = make_problem(13, 1100, d, profile, dtype, own=d < 64, weights=True)
    means, total = step(*problem.args, weight=problem.weight)
    for n_threads in (2, 3, 7):
        other, other_total = step(*problem.args, weight=problem.weight, n_threads=n_threads)
        np.testing.assert_array_equal(other, means)
        np.testing.assert_array_equal(other_total, total)


@every_profile
@pytest.mark.parametrize(
    ("dtype", "d"),
    [
        (np.float32, 1),
        (np.float32, 3),
        (np.float64, 3),
        (np.float64, 10),
        (np.float64, 66),
        pytest.param(np.float32, 66, id="float32-66"),
    ],
)
def test_the_other_starts_do_not_change_a_bit(profile, dtype, d):
    problem = make_problem(17, 500, d, profile, dtype, own=d < 64, weights=True)
    density = build_density(*problem.args, sample_weight=problem.weight)
    starts = density.to_working(problem.X)
    rng = np.random.default_rng(0)
    with threads(1) as pool:
        means, total = mean_step(density, starts, pool)
        for size in (1, 1, 2, 63, 64, 65, 130):
            some = rng.choice(500, size=size, replace=False)
            part, part_total = mean_step(density, starts[some], pool)
            if density.products is not None and dtype == np.float32:
                # The BLAS may sum a row of a float32 product in another order elsewhere in a block.
                np.testing.assert_allclose(part, means[some], rtol=1e-5, atol=1e-5)
                continue
            np.testing.assert_array_equal(part, means[some])
            np.testing.assert_array_equal(part_total, total[some])


@every_profile
@every_dtype
@pytest.mark.parametrize("share", [0.3, 1.0, 4.0])
def test_skipping_and_taking_whole_blocks_changes_no_bit(profile, dtype, share):
    problem = make_problem(19, 1500, 2, profile, dtype, weights=True)
    density = build_density(problem.X, share * problem.h, profile, sample_weight=problem.weight)
    every_block = density.terms._replace(
        block_reach=np.full_like(density.terms.block_reach, np.inf),
        block_inner=np.full_like(density.terms.block_inner, -1.0),
    )
    starts = density.to_working(problem.X)
    with threads(1) as pool:
        means, total = mean_step(density, starts, pool)
        plain, plain_total = mean_step(replace(density, terms=every_block), starts, pool)
    np.testing.assert_array_equal(means, plain)
    np.testing.assert_array_equal(total, plain_total)
