"""Mean shift with any metric for each point: the literal twin, and the laws that it obeys.

All metrics are packed here; see ``test_composed`` for those that are not.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import anisotropic as twin

from linkshift.profiles import Profile
from linkshift.shift.anisotropic import build_composed, climb, composed_bandwidth, forms
from linkshift.shift.anisotropic.climb import evaluate
from linkshift.shift.density import build_density
from linkshift.shift.landscape import Ascent

PROFILES = [
    Profile("flat"),
    Profile("epanechnikov"),
    Profile("gaussian"),
    Profile("truncated_gaussian"),
    Profile("truncated_gaussian", reach=1.7),
]
every_profile = pytest.mark.parametrize("profile", PROFILES, ids=lambda p: f"{p.name}-{p.reach}")
CUT = Profile("truncated_gaussian")


def build(points, metrics, bandwidth, profile, **options):
    """Density for any metrics, packed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forms, "packing_pays", lambda _: True)
        return build_composed(points, *twin.directions(metrics), bandwidth, profile, **options)


def local_bandwidth(points, metrics, k, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forms, "packing_pays", lambda _: True)
        return composed_bandwidth(points, *twin.directions(metrics), k, **options)


def make(seed, n=30, d=3, rank=None, k=8):
    """Points in a few clumps with random metrics, bandwidths to about the k-th neighbour."""
    rng = np.random.default_rng(seed)
    clumps = 3.0 * rng.normal(size=(3, d))
    points = clumps[rng.integers(3, size=n)] + rng.normal(size=(n, d))
    roots = rng.normal(size=(n, d + 2 if rank is None else rank, d))
    metrics = roots.swapaxes(1, 2) @ roots * np.exp(rng.normal(size=(n, 1, 1)))
    ridged = twin.with_ridge(metrics, 1e-3)
    # Off the neighbour itself: nothing is on an edge, where rounding would decide.
    h = 1.01 * twin.local_bandwidth(points, ridged, min(k, n - 1)) if n > 1 else np.ones(1)
    return SimpleNamespace(points=points, metrics=metrics, ridged=ridged, h=h, rng=rng)


def twin_args(problem, profile):
    return (problem.points, problem.ridged, problem.h), (profile.name, profile.reach)


problems = st.builds(
    make, st.integers(0, 10**6), n=st.integers(2, 25), d=st.integers(1, 5), k=st.integers(2, 10)
)


# Against the twin


@every_profile
@settings(max_examples=15, deadline=None)
@given(problem=problems, dimension=st.sampled_from([None, 1.5]))
def test_a_step_and_its_density_are_the_twins(profile, problem, dimension):
    p = problem
    density = build(p.points, p.metrics, p.h, profile, dimension=dimension)
    starts = p.points + 0.1 * p.rng.normal(size=p.points.shape)
    ascent = density.climb(starts, max_iter=1)
    left, right = twin_args(p, profile)
    expected = np.array([twin.step(*left, s, *right, dimension) for s in starts])
    np.testing.assert_allclose(ascent.ends, expected, rtol=1e-9, atol=1e-9)
    values = np.array([twin.density(*left, s, *right, dimension) for s in starts])
    np.testing.assert_allclose(np.exp(ascent.log_density), values, rtol=1e-9)


@every_profile
@pytest.mark.parametrize("seed", range(3))
def test_whole_climbs_are_the_twins(profile, seed):
    p = make(seed, n=25, d=3)
    ascent = build(p.points, p.metrics, p.h, profile).climb(p.points, tol=1e-4, max_iter=500)
    left, right = twin_args(p, profile)
    walks = [twin.climb(*left, s, *right, max_iter=500, tol=1e-4) for s in p.points]
    np.testing.assert_allclose(ascent.ends, [end for end, _ in walks], rtol=1e-9, atol=1e-9)
    assert ascent.n_iter == max(steps for _, steps in walks)
    assert ascent.converged.all()


@every_profile
def test_precision_is_the_twins(profile):
    p = make(4)
    density = build(p.points, p.metrics, p.h, profile)
    precision, log_density = evaluate(density, p.points)
    left, right = twin_args(p, profile)
    to_working = density.forms.frame * density.forms.scale
    rows, columns = np.tril_indices(3)
    for s, packed, value in zip(p.points, precision, log_density, strict=True):
        full = np.zeros((3, 3))
        full[rows, columns] = full[columns, rows] = packed
        expected = twin.precision(*left, s, *right)
        np.testing.assert_allclose(to_working @ full @ to_working.T, expected, rtol=1e-9)
        np.testing.assert_allclose(np.exp(value), twin.density(*left, s, *right), rtol=1e-9)


@pytest.mark.parametrize("rank", [1, 2])
def test_rank_deficient_metrics_get_the_stated_ridge(rank):
    p = make(5, d=4, rank=rank)
    ascent = build(p.points, p.metrics, p.h, CUT).climb(p.points, max_iter=3)
    left, right = twin_args(p, CUT)
    expected = [twin.climb(*left, s, *right, max_iter=3)[0] for s in p.points]
    np.testing.assert_allclose(ascent.ends, expected, rtol=1e-8, atol=1e-8)


@settings(max_examples=30, deadline=None)
@given(problem=problems, k=st.integers(1, 24), shift=st.sampled_from([0.0, 1e4]))
def test_local_bandwidth_is_the_twins(problem, k, shift):
    k = min(k, problem.points.shape[0] - 1)
    points = problem.points + shift
    h = local_bandwidth(points, problem.metrics, k)
    expected = twin.local_bandwidth(points, problem.ridged, k)
    np.testing.assert_allclose(h, expected, rtol=1e-9)


# By hand


def test_two_points_by_hand():
    # From 0, both are in reach: B = (1, 4 * 2) with h = 1, so x = (0 + 8 * 0.4) / 9.
    points, metrics = np.array([[0.0], [0.4]]), np.array([[[1.0]], [[4.0]]])
    density = build(points, metrics, 1.0, Profile("flat"), ridge=0.0)
    np.testing.assert_allclose(density.climb(points[:1], max_iter=1).ends, [[3.2 / 9]], rtol=1e-14)


def test_local_bandwidth_of_coincident_points_is_zero():
    points = np.array([[1.0, 2.0], [1.0, 2.0], [4.0, 6.0]]) + 1e3
    metrics = np.stack([np.eye(2)] * 3)
    np.testing.assert_allclose(local_bandwidth(points, metrics, 1, ridge=0.0), [0, 0, 5])
    np.testing.assert_allclose(local_bandwidth(points, metrics, 2, ridge=0.0), [5, 5, 5])


def test_one_point():
    density = build(np.array([[1.0, 2.0]]), np.eye(2)[None], 1.0, CUT, ridge=0.0)
    ascent = density.climb(np.array([[1.0, 2.0], [1.2, 2.3], [9.0, 2.0]]))
    np.testing.assert_allclose(ascent.ends, [[1, 2], [1, 2], [9, 2]], atol=1e-14)
    np.testing.assert_array_equal(ascent.total > 0, [True, True, False])
    assert ascent.converged.all()


def test_a_start_out_of_reach_stays_to_the_bit_and_says_so():
    p = make(6)
    starts = np.array([[1e3, 0.1, 0.3], p.points[0]])
    ascent = build(p.points, p.metrics, p.h, CUT).climb(starts)
    np.testing.assert_array_equal(ascent.ends[0], starts[0])
    assert ascent.converged.all()
    assert ascent.log_density[0] == -np.inf
    assert ascent.total[0] == 0
    assert ascent.total[1] == 1


@pytest.mark.parametrize("profile", PROFILES[:1] + PROFILES[3:4], ids=lambda p: p.name)
def test_the_neighbour_that_set_the_bandwidth_is_in(profile):
    p = make(7, n=200, d=4)
    h = local_bandwidth(p.points, p.metrics, 5)
    density = build(p.points, p.metrics, h, profile)
    z = np.array([[twin.squared_distance(x, y, M, s) for y in p.points]
                  for x, M, s in zip(p.points, p.ridged, h, strict=True)])  # fmt: skip
    for j in range(20):
        edge = int(np.argmin(np.abs(z[j] - 1.0)))
        # Seen from the neighbour on its edge, point j is there: alone, it would draw it in.
        alone = build(p.points[[j]], p.metrics[[j]], h[[j]], profile)
        np.testing.assert_allclose(alone.climb(p.points[[edge]]).ends, p.points[[j]], atol=1e-9)
    assert density.n_points == 200


# Laws


@every_profile
@pytest.mark.parametrize("metric", ["identity", "random"])
def test_one_metric_for_all_is_plain_mean_shift(profile, metric):
    p = make(8, n=60, d=3)
    L = np.eye(3) if metric == "identity" else p.rng.normal(size=(3, 3)) + 2 * np.eye(3)
    M = np.stack([L.T @ L] * 60)
    mapped = p.points @ L.T
    h = 1.01 * local_bandwidth(p.points, M, 12, ridge=0.0)
    options = {"tol": 1e-8, "max_iter": 3000}
    density = build(p.points, M, h, profile, ridge=0.0)
    ours = density.climb(p.points, **options)
    plain = build_density(mapped, h, profile, dimension=3).climb(mapped, **options)
    np.testing.assert_allclose(ours.ends @ L.T, plain.ends, atol=1e-5)
    one = density.climb(p.points, max_iter=1)
    expected = [twin.step_global(p.points, M[0], h, s, profile.name, profile.reach)
                for s in p.points]  # fmt: skip
    np.testing.assert_allclose(one.ends, expected, rtol=1e-10, atol=1e-10)


@every_profile
@settings(max_examples=10, deadline=None)
@given(problem=problems)
def test_density_never_falls(profile, problem):
    p = problem
    density = build(p.points, p.metrics, p.h, profile)
    x, last = p.points, np.full(p.points.shape[0], -np.inf)
    for _ in range(6):
        ascent = density.climb(x, max_iter=1, tol=0.0)
        assert (ascent.log_density >= last - 1e-9).all()
        x, last = ascent.ends, ascent.log_density


@settings(max_examples=25, deadline=None)
@given(problem=problems, profile=st.sampled_from(PROFILES))
def test_a_change_of_coordinates_moves_the_ends_with_it(problem, profile):
    p = problem
    n, d = p.points.shape
    metrics = p.metrics + 0.1 * np.eye(d)
    A = p.rng.normal(size=(d, d)) + 3 * np.eye(d)
    inverse = np.linalg.inv(A)
    h = 1.01 * local_bandwidth(p.points, metrics, min(5, n - 1), ridge=0.0)
    before = build(p.points, metrics, h, profile, ridge=0.0).climb(p.points, max_iter=30)
    there = inverse.T @ metrics @ inverse
    there = 0.5 * (there + there.swapaxes(1, 2))
    mapped = p.points @ A.T - 7.0
    after = build(mapped, there, h, profile, ridge=0.0).climb(mapped, max_iter=30)
    np.testing.assert_allclose(after.ends, before.ends @ A.T - 7.0, rtol=1e-6, atol=1e-6)
    factor = np.linalg.slogdet(A)[1]  # the density is per volume
    np.testing.assert_allclose(after.log_density + factor, before.log_density, atol=1e-6)


@every_profile
@pytest.mark.parametrize("c", [1e-8, 0.3, 1e6])
def test_scaling_metrics_and_bandwidths_together_changes_nothing(profile, c):
    p = make(9)
    before = build(p.points, p.metrics, p.h, profile).climb(p.points)
    after = build(p.points, c * p.metrics, np.sqrt(c) * p.h, profile).climb(p.points)
    np.testing.assert_allclose(after.ends, before.ends, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(after.log_density, before.log_density, atol=1e-9)


@every_profile
def test_a_data_set_twice_has_the_same_ends(profile):
    p = make(10)
    once = build(p.points, p.metrics, p.h, profile).climb(p.points)
    twice = build(
        np.tile(p.points, (2, 1)), np.tile(p.metrics, (2, 1, 1)), np.tile(p.h, 2), profile
    )
    again = twice.climb(np.tile(p.points, (2, 1)))
    np.testing.assert_allclose(again.ends, np.tile(once.ends, (2, 1)), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(again.ends[:30], again.ends[30:])
    np.testing.assert_allclose(again.log_density[:30], once.log_density + np.log(2), atol=1e-9)


@pytest.mark.parametrize("unit", [1e-200, 1e-30, 1e150])
@every_profile
def test_any_unit_in_a_hundred_dimensions(profile, unit):
    rng = np.random.default_rng(11)
    points = rng.normal(size=(40, 100))
    composed = rng.normal(size=(120, 100)), rng.exponential(size=(40, 120)) / 120
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forms, "packing_pays", lambda _: True)
        h = 1.01 * composed_bandwidth(points, *composed, 10)
        before = build_composed(points, *composed, h, profile).climb(points)
        h_there = 1.01 * composed_bandwidth(unit * points, *composed, 10)
        after = build_composed(unit * points, *composed, h_there, profile).climb(unit * points)
    np.testing.assert_allclose(after.ends / unit, before.ends, rtol=1e-8, atol=1e-8)
    assert np.isfinite(after.log_density).all()
    assert (after.total > 0).all()


@every_profile
def test_kernels_far_smaller_than_their_distances(profile):
    points = np.array([[0.0, 1.0], [1.0, 0.0], [0.3, 0.4]])
    density = build(points, np.stack([np.eye(2)] * 3), [1e-200, 1e-200, 1.0], profile)
    ascent = density.climb(points)
    np.testing.assert_array_equal(ascent.ends[:2], points[:2])
    assert ascent.converged.all()


@every_profile
def test_threads_batches_and_rounds_change_no_bit(profile, monkeypatch):
    p = make(12, n=150, d=6, k=20)
    density = build(p.points, p.metrics, p.h, profile)
    one = density.climb(p.points, n_threads=1)
    for other in [density.climb(p.points, n_threads=2), density.climb(p.points, n_threads=3)]:
        np.testing.assert_array_equal(one.ends, other.ends)
        np.testing.assert_array_equal(one.log_density, other.log_density)
    part = density.climb(p.points[5:30]).ends
    if profile.name == "gaussian":  # by matrix products: to rounding
        np.testing.assert_allclose(part, one.ends[5:30], atol=1e-10)
        return
    np.testing.assert_array_equal(part, one.ends[5:30])
    np.testing.assert_array_equal(density.climb(p.points[[7]]).ends, one.ends[[7]])
    monkeypatch.setattr(climb, "_PAIRS", 1000)
    np.testing.assert_array_equal(density.climb(p.points).ends, one.ends)
    for budget in (1e-3, 1e9):
        monkeypatch.setattr(climb, "_BUDGET", budget)
        np.testing.assert_array_equal(density.climb(p.points).ends, one.ends)
    # Every point looked at in every step: nothing that reaches a start was passed over.
    monkeypatch.setattr(climb, "_BUDGET", -1e-6)
    monkeypatch.setattr(climb, "_milestones", lambda _, x: np.zeros((x.shape[0], 150)))
    everything = density.climb(p.points)
    np.testing.assert_array_equal(everything.ends, one.ends)
    np.testing.assert_array_equal(everything.log_density, one.log_density)


def test_the_gaussian_goes_by_products_or_directly_to_the_same_ends(monkeypatch):
    p = make(17, n=150, d=6, k=20)
    density = build(p.points, p.metrics, p.h, Profile("gaussian"))
    assert climb._products_serve(density, density.forms.points)
    products, H = density.climb(p.points, max_iter=20), evaluate(density, p.points)
    monkeypatch.setattr(climb, "_PRODUCT_ERROR", 0.0)
    assert not climb._products_serve(density, density.forms.points)
    direct, H_direct = density.climb(p.points, max_iter=20), evaluate(density, p.points)
    np.testing.assert_allclose(products.ends, direct.ends, atol=1e-9)
    np.testing.assert_allclose(products.log_density, direct.log_density, atol=1e-9)
    np.testing.assert_array_equal(products.converged, direct.converged)
    np.testing.assert_allclose(H[0], H_direct[0], atol=1e-9)
    np.testing.assert_allclose(H[1], H_direct[1], atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(problem=problems, shift=st.sampled_from([0.0, 1e3, 1e7]), spread=st.sampled_from([1, 1e4]))
def test_milestones_never_miss_a_point(problem, shift, spread):
    p = problem
    points = spread * p.points + shift
    density = build(points, p.metrics, p.h, CUT)
    laid = density.forms
    milestones = climb._milestones(density, laid.points)
    rows, columns = np.tril_indices(points.shape[1])
    for j in range(points.shape[0]):
        full = np.zeros((points.shape[1],) * 2)
        full[rows, columns] = full[columns, rows] = laid.table[j, : rows.size]
        difference = laid.points - laid.points[j]
        r = laid.size[j] * np.sqrt(np.einsum("ij,jk,ik->i", difference, full, difference))
        assert (milestones[:, j] * laid.speed[j] <= np.maximum(r - 1, 0) * (1 + 1e-12)).all()
        assert laid.speed[j] >= laid.size[j] * np.sqrt(np.linalg.eigvalsh(full)[-1]) * (1 - 1e-12)


def test_a_point_is_where_its_start_is_in_any_batch():
    p = make(19, n=100, d=7)
    laid = build(p.points, p.metrics, p.h, CUT).forms
    for rows in ([3], [4, 5], range(90)):
        np.testing.assert_array_equal(laid.to_working(p.points[rows]), laid.points[rows])
    away = p.points - laid.centre
    np.testing.assert_allclose(laid.to_input(laid.points), away, rtol=1e-10, atol=1e-12)


def test_float32_stays_float32_and_close():
    p = make(13)
    density = build(p.points.astype(np.float32), p.metrics.astype(np.float32), p.h, CUT)
    ascent = density.climb(p.points.astype(np.float32))
    assert ascent.ends.dtype == np.float32
    exact = build(p.points, p.metrics, p.h, CUT).climb(p.points)
    np.testing.assert_allclose(ascent.ends, exact.ends, atol=1e-3)


@every_profile
def test_no_starts(profile):
    p = make(18)
    density = build(p.points, p.metrics, p.h, profile)
    ascent = density.climb(p.points[:0])
    assert ascent.ends.shape == (0, 3)
    assert ascent.total.shape == (0,)
    assert ascent.n_iter == 0


def test_steps_run_out():
    p = make(14)
    ascent = build(p.points, p.metrics, p.h, Profile("gaussian")).climb(p.points, max_iter=2)
    assert ascent.n_iter == 2
    assert not ascent.converged.all()


def test_progress_ends_with_all_starts():
    p = make(15, n=150)
    calls = []
    starts = np.concatenate([p.points, p.points])
    density = build(p.points, p.metrics, p.h, CUT)
    density.climb(starts, n_threads=2, progress=lambda *call: calls.append(call))
    assert calls[-1] == (300, 300)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


# Modes


def ended(ends, log_density):
    """An ascent that ended there."""
    m = len(ends)
    return Ascent(ends, np.ones(m), np.ones(m, bool), 1, log_density=np.array(log_density))


def test_merging_by_hand():
    # Two long kernels side by side: 0.2 apart along the short axis is 0.2 bandwidths, 2 along the
    # long one as well.
    M = np.diag([1.0, 0.01])
    density = build(np.zeros((1, 2)), M[None], 1.0, Profile("gaussian"), ridge=0.0)
    ends = np.array([[0.0, 0.0], [0.0, 2.0], [0.2, 0.0], [0.5, 0.0], [0.6, 0.0]])
    modes = density.merge(ended(ends, [5.0, 4.0, 3.0, 2.0, 1.0]), 0.3)
    np.testing.assert_array_equal(modes.centers, ends[[0, 3]])
    np.testing.assert_array_equal(density.label(ends, modes), [0, 0, 0, 1, 1])
    far = np.array([[0.9, 0.0], [-4.0, 0.0]])
    np.testing.assert_array_equal(density.label(far, modes), [1, 0])


@settings(max_examples=25, deadline=None)
@given(problem=problems, profile=st.sampled_from(PROFILES), seed=st.integers(0, 99))
def test_modes_cover_the_ends_and_do_not_depend_on_their_order(problem, profile, seed):
    p = problem
    density = build(p.points, p.metrics, p.h, profile)
    ascent = density.climb(p.points)
    modes = density.merge(ascent, 0.3)
    labels = density.label(ascent.ends, modes)
    np.testing.assert_array_equal(np.unique(labels), np.arange(len(modes.centers)))
    np.testing.assert_array_equal(
        density.label(modes.centers, modes), np.arange(len(modes.centers))
    )
    left, right = twin_args(p, profile)
    H = [
        [twin.precision(*left, s, *right) for s in where] for where in (ascent.ends, modes.centers)
    ]
    for i, label in enumerate(labels):
        # Ends of a clear case go to the densest mode that covers them.
        away = ascent.ends[i] - modes.centers
        squares = [min(v @ H[0][i] @ v, v @ M @ v) for v, M in zip(away, H[1], strict=True)]
        assert squares[label] <= 0.09 * (1 + 1e-6)
        assert all(square >= 0.09 * (1 - 1e-6) for square in squares[:label])
    order = np.random.default_rng(seed).permutation(labels.size)
    other = ended(ascent.ends[order], ascent.log_density[order])
    shuffled = density.merge(other, 0.3, n_threads=2)
    np.testing.assert_array_equal(shuffled.centers, modes.centers)
    np.testing.assert_array_equal(density.label(other.ends, shuffled, n_threads=2), labels[order])


def test_an_end_out_of_reach_is_its_own_mode():
    p = make(16)
    density = build(p.points, p.metrics, p.h, CUT)
    starts = np.concatenate([p.points, [[1e3, 0, 0], [1e3, 0, 0], [-1e3, 0, 0]]])
    ascent = density.climb(starts)
    modes = density.merge(ascent, 0.3)
    labels = density.label(ascent.ends, modes)
    assert labels[-3] == labels[-2]
    assert (labels == labels[-1]).sum() == 1
    assert (labels == labels[-2]).sum() == 2


# At the door


def test_no_steps_raises():
    density = build(np.zeros((1, 1)), np.ones((1, 1, 1)), 1.0, CUT)
    with pytest.raises(ValueError, match="max_iter"):
        density.climb(np.zeros((1, 1)), max_iter=0)
