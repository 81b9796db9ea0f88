"""Ascents against the literal twin, and the laws that they and blurring obey."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import mean_shift as twin
from tests.reference.problems import PROFILES, make_problem, problems

from linkshift import MeanShift
from linkshift._core.arrays import _multipliers, first_of_equal_rows
from linkshift.profiles import Profile
from linkshift.shift.blurring import blur
from linkshift.shift.density import build_density
from linkshift.shift.engine import ascend

DTYPES = [np.float32, np.float64]
every_profile = pytest.mark.parametrize("profile", PROFILES, ids=lambda p: p.name)
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=lambda t: t.__name__)


def climb(problem, starts=None, **options):
    density = build_density(*problem.args, sample_weight=problem.weight)
    return ascend(density, problem.X if starts is None else starts, **options)


def typical(problem):
    return float(np.exp(np.average(np.log(np.broadcast_to(problem.h, problem.X.shape[:1])))))


# By hand


def test_flat_ascent_of_six_points_by_hand():
    X = np.array([[0.0], [1.0], [2.0], [10.0], [10.5], [30.0]])
    ascent = ascend(build_density(X, 1.5, Profile("flat")), X, keep_paths=True)
    # 0 -> 0.5 -> 1 (sees 0, 1, 2) -> 1;  10 and 10.5 meet in 10.25;  30 is alone.
    np.testing.assert_array_equal(ascent.ends, [[1], [1], [1], [10.25], [10.25], [30]])
    np.testing.assert_array_equal(ascent.total, [3, 3, 3, 2, 2, 1])
    np.testing.assert_array_equal(ascent.paths[0], [[0], [0.5], [1]])
    np.testing.assert_array_equal(ascent.paths[1], [[1]])
    np.testing.assert_array_equal(ascent.paths[5], [[30]])
    assert ascent.converged.all()
    assert ascent.n_iter == 3


def test_two_gaussians_within_two_bandwidths_meet_in_the_middle():
    X = np.array([[0.0], [1.0]])
    ends = ascend(build_density(X, 1.0, Profile("gaussian")), X, tol=1e-10, max_iter=2000).ends
    np.testing.assert_allclose(ends, 0.5, atol=1e-8)
    apart = ascend(build_density(3 * X, 1.0, Profile("gaussian")), 3 * X, tol=1e-10).ends
    assert apart[0] < 0.5
    assert apart[1] > 2.5


# Against the twin


@settings(max_examples=30, deadline=None)
@given(problems(max_n=40, max_d=4, dtypes=[np.float64]))
def test_ascent_is_the_twins(problem):
    ascent = climb(problem, keep_paths=True)
    ends, paths = twin.ascend(problem.X, problem.h, problem.X, **problem.twin)
    for i, path in enumerate(paths):
        # A point at the very edge of a kernel, or a step at the very tolerance, may tip either
        # way; from there on paths differ rightly. Random numbers make that all but impossible.
        np.testing.assert_allclose(ascent.ends[i], ends[i], rtol=0, atol=1e-8)
        np.testing.assert_allclose(ascent.paths[i][:5], path[:5][: len(ascent.paths[i])], atol=1e-8)
    assert ascent.n_iter == max(len(path) - 1 for path in paths)


@every_profile
def test_float32_ends_near_the_twins(profile):
    problem = make_problem(1, 150, 2, profile, np.float32)._replace(h=1.5)
    ends, _ = twin.ascend(problem.X, 1.5, problem.X, **problem.twin)
    near = np.linalg.norm(climb(problem).ends - ends, axis=1) < 0.02
    assert near.mean() > 0.97  # a start on a ridge may roll down the other side


def test_matrix_products_climb_as_the_twin_does():
    for dtype, atol in [(np.float64, 1e-8), (np.float32, 1e-2)]:
        problem = make_problem(2, 40, 70, Profile("gaussian"), dtype)._replace(h=6.0)
        ends, _ = twin.ascend(problem.X, 6.0, problem.X, **problem.twin)
        np.testing.assert_allclose(climb(problem).ends, ends, rtol=0, atol=atol)


# Laws


@settings(max_examples=40, deadline=None)
@given(problems(max_n=60, max_d=5))
def test_the_density_never_falls_along_a_path(problem):
    ascent = climb(problem, keep_paths=True)
    slack = 1e-4 if problem.X.dtype == np.float32 else 1e-10
    for start, end, path in zip(problem.X, ascent.ends, ascent.paths, strict=True):
        np.testing.assert_array_equal(path[-1], end)
        np.testing.assert_allclose(path[0], start, rtol=1e-6, atol=1e-6)
        logs = twin.log_density(problem.X, problem.h, path, **problem.twin)
        reached = np.isfinite(logs)  # rows without weight may start where nothing reaches
        assert (np.diff(logs[reached]) >= -slack).all()
        assert (np.diff(reached.astype(int)) >= 0).all()


@every_profile
def test_ends_are_fixed_points(profile):
    problem = make_problem(3, 100, 2, profile, own=True, weights=True)
    ends = climb(problem).ends
    again, _ = twin.mean_step(problem.X, problem.h, ends, **problem.twin)
    assert np.linalg.norm(again - ends, axis=1).max() <= 1e-3 * np.max(problem.h)


@every_profile
@pytest.mark.parametrize("own", [False, True])
def test_laws_of_whole_ascents(profile, own):
    problem = make_problem(4, 150, 2, profile, np.float64, own, weights=True)
    exact = {"tol": 1e-9, "max_iter": 5000}
    ends = climb(problem, **exact).ends
    h = np.broadcast_to(problem.h, (150,))
    shuffle = np.random.default_rng(0).permutation(150)
    shuffled = problem._replace(X=problem.X[shuffle], h=h[shuffle], weight=problem.weight[shuffle])
    np.testing.assert_allclose(climb(shuffled, **exact).ends, ends[shuffle], atol=1e-5)
    moved = problem._replace(X=problem.X + np.array([1e4, -1e4]))
    np.testing.assert_allclose(climb(moved, **exact).ends - [1e4, -1e4], ends, atol=1e-5)
    scaled = problem._replace(X=1e5 * problem.X, h=1e5 * problem.h)
    np.testing.assert_allclose(climb(scaled, **exact).ends / 1e5, ends, atol=1e-5)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    turned = problem._replace(X=problem.X @ turn.T)
    np.testing.assert_allclose(climb(turned, **exact).ends, ends @ turn.T, atol=1e-5)


@pytest.mark.parametrize("run", ["ascend", "blur"])
@every_profile
def test_a_weight_of_two_is_the_row_twice(profile, run):
    problem = make_problem(5, 80, 2, profile)
    count = np.random.default_rng(0).integers(1, 4, size=80)
    repeated = np.repeat(problem.X, count, axis=0)
    if run == "blur":
        by_weight = blur(problem.X, problem.h, profile, sample_weight=count.astype(float))
        by_rows = blur(repeated, problem.h, profile)
    else:
        by_weight = climb(problem._replace(weight=count.astype(float)))
        by_rows = climb(problem._replace(X=repeated))
    np.testing.assert_allclose(by_rows.ends, np.repeat(by_weight.ends, count, axis=0), atol=1e-6)


# Bits


@every_profile
@every_dtype
@pytest.mark.parametrize("d", [2, 66])
def test_any_number_of_threads_gives_the_same_bits(profile, dtype, d):
    problem = make_problem(6, 600, d, profile, dtype, own=d == 2, weights=True)
    one = climb(problem, max_iter=8)
    blurred = blur(*problem.args, sample_weight=problem.weight, max_iter=3)
    for n_threads in (2, 3, 7):
        other = climb(problem, max_iter=8, n_threads=n_threads)
        np.testing.assert_array_equal(other.ends, one.ends)
        np.testing.assert_array_equal(other.total, one.total)
        assert other.n_iter == one.n_iter
        other = blur(*problem.args, sample_weight=problem.weight, max_iter=3, n_threads=n_threads)
        np.testing.assert_array_equal(other.ends, blurred.ends)


@every_profile
@pytest.mark.parametrize(("dtype", "d"), [(np.float32, 2), (np.float64, 2), (np.float64, 66)])
def test_the_other_starts_do_not_change_a_bit(profile, dtype, d):
    problem = make_problem(7, 400, d, profile, dtype, weights=True)
    everyone = climb(problem)
    rng = np.random.default_rng(0)
    for size in (1, 3, 150):
        some = rng.choice(400, size=size, replace=False)
        part = climb(problem, problem.X[some])
        np.testing.assert_array_equal(part.ends, everyone.ends[some])
        np.testing.assert_array_equal(part.total, everyone.total[some])
        np.testing.assert_array_equal(part.converged, everyone.converged[some])


@every_profile
def test_equal_starts_end_on_the_same_spot(profile):
    problem = make_problem(8, 200, 2, profile, lattice=True)
    ends = climb(problem).ends
    first = first_of_equal_rows(problem.X)
    np.testing.assert_array_equal(ends, ends[first])


# Options


def test_max_iter_stops_and_says_who_is_late():
    problem = make_problem(9, 100, 2, Profile("gaussian"))
    ascent = climb(problem, max_iter=1)
    expected, _ = twin.mean_step(problem.X, problem.h, problem.X, "gaussian")
    step = np.linalg.norm(expected - problem.X, axis=1)
    assert ascent.n_iter == 1
    np.testing.assert_allclose(ascent.ends, expected, atol=1e-10)
    np.testing.assert_array_equal(ascent.converged, step <= 1e-3 * problem.h)
    assert not ascent.converged.all()


def test_tol_is_in_bandwidths():
    problem = make_problem(10, 100, 2, Profile("gaussian"))
    loose, tight = climb(problem, tol=0.1), climb(problem, tol=1e-6, max_iter=5000)
    assert loose.n_iter < tight.n_iter
    _, paths = twin.ascend(problem.X, problem.h, problem.X, "gaussian", tol=0.1)
    np.testing.assert_allclose(loose.ends, [path[-1] for path in paths], atol=1e-9)


def test_merge_radius_lets_starts_go_on_as_one():
    problem = make_problem(11, 400, 2, Profile("gaussian"))
    exact, merged = climb(problem), climb(problem, merge_radius=0.5)
    assert np.unique(merged.ends, axis=0).shape[0] < np.unique(exact.ends, axis=0).shape[0]
    # Approximate, but not wild: nearly all starts end near where they should.
    off = np.linalg.norm(merged.ends - exact.ends, axis=1) / typical(problem)
    assert np.median(off) < 0.1


def test_merged_starts_take_total_and_convergence_from_their_leader():
    X = np.random.default_rng(12).normal(size=(50, 2))
    density = build_density(X, 1.0, Profile("gaussian"))
    merged = ascend(density, X, merge_radius=100.0)
    # One cell: after the first step all move as one (two cells per axis around zero).
    assert np.unique(merged.ends, axis=0).shape[0] <= 4
    for end in np.unique(merged.ends, axis=0):
        here = (merged.ends == end).all(axis=1)
        assert np.unique(merged.total[here]).size == 1
        assert merged.converged[here].all()


@pytest.mark.parametrize("run", ["ascend", "blur"])
def test_progress_counts_up_to_all_starts(run):
    problem = make_problem(13, 60, 2, Profile("gaussian"))
    calls = []
    if run == "blur":
        result = blur(*problem.args, progress=lambda *call: calls.append(call))
    else:
        result = climb(problem, progress=lambda *call: calls.append(call))
    assert len(calls) == result.n_iter
    assert all(n == 60 for _, n in calls)
    assert calls[-1] == (60, 60)
    if run == "ascend":
        assert all(a[0] <= b[0] for a, b in pairwise(calls))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_progress_moves_within_the_steps_of_many_starts(n_threads):
    n, calls = 9_000, []
    model = MeanShift(bandwidth=0.02, n_jobs=n_threads, progress=lambda *call: calls.append(call))
    model.fit(np.random.default_rng(0).random((n, 1)))
    done = [call[0] for call in calls]
    assert len(calls) > model.n_iter_ + 30
    assert done == sorted(done)
    total = calls[-1][1]
    assert done[0] < total / 20
    assert calls[-1] == (total, total)


@every_profile
@every_dtype
def test_starts_that_nothing_reaches_stay_and_have_no_total(profile, dtype):
    X = np.zeros((4, 2), dtype=dtype)
    starts = np.array([[0.5, 0.0], [50.0, 50.0]], dtype=dtype)
    ascent = ascend(build_density(X, 1.0, profile), starts)
    np.testing.assert_allclose(ascent.ends[0], 0.0, atol=1e-6)
    if profile.name == "gaussian":
        assert ascent.total[1] > 0
        np.testing.assert_allclose(ascent.ends[1], 0.0, atol=1e-6)
    else:
        assert ascent.total[1] == 0
        np.testing.assert_array_equal(ascent.ends[1], starts[1])
    assert ascent.ends.dtype == dtype


def test_no_starts_are_no_ends():
    ascent = ascend(build_density(np.zeros((3, 2)), 1.0, Profile("flat")), np.empty((0, 2)))
    assert ascent.ends.shape == (0, 2)
    assert ascent.n_iter == 0


# Equal rows


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 200),
    st.integers(1, 5),
    st.sampled_from(DTYPES),
)
def test_first_of_equal_rows(seed, n, d, dtype):
    rows = np.random.default_rng(seed).integers(-1, 2, size=(n, d)).astype(dtype)
    seen = {}
    expected = [seen.setdefault(tuple(row), i) for i, row in enumerate(rows.tolist())]
    np.testing.assert_array_equal(first_of_equal_rows(rows), expected)


def test_minus_zero_is_zero():
    rows = np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, -1.0]])
    np.testing.assert_array_equal(first_of_equal_rows(rows), [0, 0, 2])


def test_rows_that_only_share_a_hash_stay_apart():
    # The hash is a sum of products: a second column can make up for the first.
    def fold(words):
        return words ^ (words >> np.uint64(32))

    a, b = _multipliers(2)
    inverse = np.uint64(pow(int(b), -1, 1 << 64))
    bits = np.array([[1.0, 2.0]]).view(np.uint64)
    first = np.linspace(3.0, 4.0, 100).view(np.uint64)
    with np.errstate(over="ignore"):
        wanted = fold(bits) @ np.array([a, b])
        second = fold((wanted - fold(first) * a) * inverse)
        both = np.column_stack([first, second])
        np.testing.assert_array_equal(fold(both) @ np.array([a, b]), np.repeat(wanted, 100))
    rows = np.concatenate([bits, np.column_stack([first, second])]).view(np.float64)
    rows = rows[np.isfinite(rows).all(axis=1)]
    assert len(rows) > 50
    np.testing.assert_array_equal(first_of_equal_rows(rows), np.arange(len(rows)))
