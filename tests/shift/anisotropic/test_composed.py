"""Composed metrics: against packed ones, against the literal twin, and what holds in their span."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import anisotropic as twin

from linkshift.profiles import Profile
from linkshift.shift.anisotropic import build_composed, climb, composed_bandwidth, forms
from linkshift.shift.anisotropic._packed import expand
from linkshift.shift.anisotropic.climb import evaluate

PROFILES = [
    Profile("flat"),
    Profile("epanechnikov"),
    Profile("gaussian"),
    Profile("truncated_gaussian"),
    Profile("truncated_gaussian", reach=1.7),
]
every_profile = pytest.mark.parametrize("profile", PROFILES, ids=lambda p: f"{p.name}-{p.reach}")
CUT = Profile("truncated_gaussian")


@pytest.fixture(params=["as chosen", "composed"])
def layout(request, monkeypatch):
    """Small problems would all be packed: run them both ways."""
    if request.param == "composed":
        monkeypatch.setattr(forms, "packing_pays", lambda _: False)


def in_span(points, bases):
    """Points in an orthonormal basis of the span of the bases, and that basis."""
    _, singular, axes = np.linalg.svd(bases)
    axes = axes[: int((singular > 1e-9 * singular[0]).sum())].T
    return points @ axes, axes


def make(seed, n=30, d=3, n_bases=6, rank=None, k=8):
    """Points in a few clumps, random directions with random weights, some of them zero.

    ``inside`` and ``ridged`` are the points and metrics in the span, for the twin.
    """
    rng = np.random.default_rng(seed)
    clumps = 3.0 * rng.normal(size=(3, d))
    points = clumps[rng.integers(3, size=n)] + rng.normal(size=(n, d))
    bases = rng.normal(size=(n_bases, d))
    if rank is not None:
        bases = rng.normal(size=(n_bases, rank)) @ rng.normal(size=(rank, d))
    weights = rng.exponential(size=(n, n_bases)) * (rng.random((n, n_bases)) < 0.8)
    weights[:, 0] += 0.1
    weights *= np.exp(rng.normal(size=(n, 1)))
    inside, axes = in_span(points, bases)
    ridged = twin.with_ridge(twin.composed(bases @ axes, weights), 1e-3)
    h = 1.01 * twin.local_bandwidth(inside, ridged, min(k, n - 1)) if n > 1 else np.ones(1)
    return SimpleNamespace(points=points, bases=bases, weights=weights, h=h, rng=rng,
                           inside=inside, axes=axes, ridged=ridged)  # fmt: skip


def full_rank(seed, n, d, more, k):
    return make(seed, n=n, d=d, n_bases=d + more, k=k)


problems = st.builds(
    full_rank,
    st.integers(0, 10**6),
    n=st.integers(2, 25),
    d=st.integers(1, 6),
    more=st.integers(0, 10),
    k=st.integers(2, 10),
)
any_rank = st.builds(
    make,
    st.integers(0, 10**6),
    n=st.integers(2, 25),
    d=st.integers(3, 6),
    n_bases=st.integers(1, 9),
    rank=st.sampled_from([None, 1, 2, 3]),
    k=st.integers(2, 10),
)
either = st.sampled_from([None, False])


def composed(problem, profile, pays=False, **options):
    """Density of a problem; packing ``pays`` always, never, or as its size says (None)."""
    p = problem
    with pytest.MonkeyPatch.context() as patch:
        if pays is not None:
            patch.setattr(forms, "packing_pays", lambda _: pays)
        density = build_composed(p.points, p.bases, p.weights, p.h, profile, **options)
    assert pays is None or (density.forms.n_bases > 0) != pays
    return density


# Against the twin


@every_profile
@settings(max_examples=15, deadline=None)
@given(problem=any_rank, dimension=st.sampled_from([None, 1.5]), pays=either)
def test_a_step_and_its_density_are_the_twins_in_the_span(profile, problem, dimension, pays):
    p = problem
    density = composed(p, profile, pays, dimension=dimension)
    starts = p.points + 0.1 * p.rng.normal(size=p.points.shape)
    ascent = density.climb(density.to_starts(starts), max_iter=1)
    args = (p.inside, p.ridged, p.h), (profile.name, profile.reach, dimension)
    expected = np.array([twin.step(*args[0], s, *args[1]) for s in starts @ p.axes])
    ends = density.to_columns(ascent.ends, p.points) @ p.axes
    np.testing.assert_allclose(ends, expected, rtol=1e-8, atol=1e-8)
    values = np.array([twin.density(*args[0], s, *args[1]) for s in starts @ p.axes])
    np.testing.assert_allclose(np.exp(ascent.log_density), values, rtol=1e-8)


@every_profile
@pytest.mark.parametrize("shape", [(3, 7, None), (5, 3, None), (4, 9, 2)], ids=str)
def test_whole_climbs_are_the_twins(profile, shape):
    d, n_bases, rank = shape
    p = make(1, n=25, d=d, n_bases=n_bases, rank=rank)
    density = composed(p, profile)
    assert density.forms.points.shape[1] == p.axes.shape[1]
    ascent = density.climb(density.to_starts(p.points), tol=1e-4, max_iter=500)
    args = (p.inside, p.ridged, p.h), (profile.name, profile.reach)
    walks = [twin.climb(*args[0], s, *args[1], max_iter=500, tol=1e-4) for s in p.inside]
    ends = density.to_columns(ascent.ends, p.points) @ p.axes
    np.testing.assert_allclose(ends, [end for end, _ in walks], rtol=1e-8, atol=1e-8)
    assert ascent.n_iter == max(steps for _, steps in walks)
    assert ascent.converged.all()


@settings(max_examples=30, deadline=None)
@given(problem=any_rank, k=st.integers(1, 24), shift=st.sampled_from([0.0, 1e4]))
def test_composed_bandwidth_is_the_twins(problem, k, shift):
    p = problem
    k = min(k, p.points.shape[0] - 1)
    expected = twin.local_bandwidth(p.inside, p.ridged, k)
    for pays in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(forms, "packing_pays", lambda _, pays=pays: pays)
            h = composed_bandwidth(p.points + shift, p.bases, p.weights, k)
        np.testing.assert_allclose(h, expected, rtol=1e-8)


# Against the packed engine


@settings(max_examples=40, deadline=None)
@given(problem=problems, profile=st.sampled_from(PROFILES), dimension=st.sampled_from([None, 2.5]))
def test_climbs_and_modes_are_those_of_packed_metrics(problem, profile, dimension):
    p = problem
    ours = composed(p, profile, dimension=dimension)
    theirs = composed(p, profile, True, dimension=dimension)
    assert theirs.forms.n_bases == 0
    assert ours.span is None
    np.testing.assert_allclose(
        ours.kernels.log_factor, theirs.kernels.log_factor, rtol=1e-9, atol=1e-9
    )
    one, other = (density.climb(p.points, max_iter=40) for density in (ours, theirs))
    np.testing.assert_allclose(one.ends, other.ends, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(one.log_density, other.log_density, atol=1e-8)
    # On the same ends: ends that differ in the last bits may be ranked in another order.
    modes, expected = (density.merge(other, 0.31) for density in (ours, theirs))
    np.testing.assert_array_equal(modes.centers, expected.centers)
    np.testing.assert_array_equal(ours.label(other.ends, modes), theirs.label(other.ends, expected))
    starts = p.points + 0.1
    np.testing.assert_array_equal(ours.label(starts, modes), theirs.label(starts, expected))


@every_profile
def test_at_the_size_of_real_data(profile):
    p = make(2, n=150, d=40, n_bases=70, k=20)
    ours = build_composed(p.points, p.bases, p.weights, p.h, profile, dimension=5.0)
    assert ours.forms.n_bases == 70
    theirs = composed(p, profile, True, dimension=5.0)
    one, other = ours.climb(p.points), theirs.climb(p.points)
    np.testing.assert_allclose(one.ends, other.ends, rtol=1e-8, atol=1e-8)
    assert one.n_iter == other.n_iter
    h = [composed_bandwidth(p.points, p.bases, p.weights, 20)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forms, "packing_pays", lambda _: True)
        h.append(composed_bandwidth(p.points, p.bases, p.weights, 20))
    np.testing.assert_allclose(*h, rtol=1e-10)


@every_profile
def test_precision_is_that_of_packed_metrics(profile):
    p = make(3, d=4, n_bases=9)
    ours, theirs = composed(p, profile), composed(p, profile, True)
    weights, log_density = evaluate(ours, p.points)
    expected, log_expected = evaluate(theirs, p.points)
    np.testing.assert_allclose(log_density, log_expected, atol=1e-9)
    rows, columns = np.tril_indices(4)
    for w, H in zip(weights, expected, strict=True):
        matrix = np.zeros(10)
        expand(w, ours.forms.directions, matrix)
        full = [np.zeros((4, 4)), np.zeros((4, 4))]
        for values, square, laid in zip((matrix, H), full, (ours.forms, theirs.forms), strict=True):
            square[rows, columns] = square[columns, rows] = values
            frame = laid.frame * laid.scale
            square[:] = frame @ square @ frame.T
        np.testing.assert_allclose(*full, rtol=1e-8, atol=1e-10)


def test_packing_where_it_is_cheaper():
    few, many = make(4, d=3, n_bases=12), make(4, d=8, n_bases=12)
    assert composed(few, CUT, pays=None).forms.n_bases == 0
    assert composed(many, CUT, pays=None).forms.n_bases == 12


# Laws


@pytest.mark.usefixtures("layout")
@every_profile
def test_repeated_and_idle_directions_change_nothing(profile):
    p = make(5, d=4, n_bases=7)
    before = composed(p, profile, pays=None)
    idle = np.zeros((2, 4))
    idle[1] = 1.0
    bases = np.concatenate([p.bases, p.bases[:3], idle])
    half = p.weights.copy()
    half[:, :3] /= 2
    weights = np.concatenate([half, half[:, :3], np.ones((30, 1)), np.zeros((30, 1))], axis=1)
    after = build_composed(p.points, bases, weights, p.h, profile)
    one, other = (density.climb(p.points) for density in (before, after))
    np.testing.assert_allclose(one.ends, other.ends, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(one.log_density, other.log_density, atol=1e-9)


@pytest.mark.parametrize("unit", [1e-150, 1e150])
@pytest.mark.parametrize("what", ["points", "bases", "weights", "bases and weights"])
@pytest.mark.parametrize("rank", [None, 3])
@pytest.mark.usefixtures("layout")
@every_profile
def test_any_unit(profile, rank, what, unit):
    p = make(6, d=5, n_bases=8, rank=rank)
    before = composed(p, profile, pays=None)
    points, bases, weights = p.points, p.bases, p.weights
    if what == "points":
        points = unit * points
    if "bases" in what:
        bases = unit * bases
    if what == "weights":
        weights = unit * weights
    if what == "bases and weights":
        weights = weights / unit**1.5
    h = 1.01 * composed_bandwidth(points, bases, weights, 8)
    after = build_composed(points, bases, weights, h, profile)
    one, other = before.climb(before.to_starts(p.points)), after.climb(after.to_starts(points))
    ends = before.to_columns(one.ends, p.points), after.to_columns(other.ends, points)
    if what == "points":
        ends = ends[0], ends[1] / unit
    np.testing.assert_allclose(*ends, rtol=1e-8, atol=1e-8)
    assert np.isfinite(other.log_density).all()


def test_directions_of_very_different_length():
    p = make(7, d=4, n_bases=6)
    lengths = 10.0 ** np.array([-120, 3, 0, 140, -7, 12])
    before = composed(p, CUT)
    p.bases, p.weights = p.bases * lengths[:, None], p.weights / lengths / lengths
    after = composed(p, CUT)
    ends = [density.climb(p.points).ends for density in (before, after)]
    np.testing.assert_allclose(*ends, rtol=1e-9, atol=1e-9)


@every_profile
def test_threads_batches_and_rounds_change_no_bit(profile, monkeypatch):
    p = make(8, n=150, d=9, n_bases=20, rank=7, k=20)
    density = composed(p, profile)
    starts = density.to_starts(p.points)
    np.testing.assert_array_equal(density.to_starts(p.points[[7]]), starts[[7]])
    one = density.climb(starts, n_threads=1)
    for n_threads in (2, 3):
        other = density.climb(starts, n_threads=n_threads)
        np.testing.assert_array_equal(one.ends, other.ends)
        np.testing.assert_array_equal(one.log_density, other.log_density)
    modes = [density.merge(one, 0.3, n_threads=t) for t in (1, 2)]
    np.testing.assert_array_equal(modes[0].centers, modes[1].centers)
    labels = [density.label(one.ends, modes[0], n_threads=t) for t in (1, 2)]
    np.testing.assert_array_equal(*labels)
    h = [composed_bandwidth(p.points, p.bases, p.weights, 5, n_threads=t) for t in (1, 2)]
    np.testing.assert_array_equal(*h)
    part = density.climb(starts[5:30]).ends
    if profile.name == "gaussian":  # by matrix products: to rounding
        np.testing.assert_allclose(part, one.ends[5:30], atol=1e-10)
        return
    np.testing.assert_array_equal(part, one.ends[5:30])
    for budget in (1e-3, 1e9, -1e-6):
        monkeypatch.setattr(climb, "_BUDGET", budget)
        np.testing.assert_array_equal(density.climb(starts).ends, one.ends)
    # Every point looked at in every step: nothing that reaches a start was passed over.
    monkeypatch.setattr(climb, "_milestones", lambda _, x: np.zeros((x.shape[0], 150)))
    everything = density.climb(starts)
    np.testing.assert_array_equal(everything.ends, one.ends)
    np.testing.assert_array_equal(everything.log_density, one.log_density)


@settings(max_examples=30, deadline=None)
@given(problem=any_rank, shift=st.sampled_from([0.0, 1e7]), apart=st.sampled_from([0.0, 1e4, 1e8]))
def test_milestones_never_miss_a_point(problem, shift, apart):
    p = problem
    p.points = p.points + shift
    p.points[::2] += apart  # products lose the digits of what is near, in two clumps so far apart
    density = composed(p, CUT)
    laid = density.forms
    milestones = climb._milestones(density, laid.lifted)
    ridge = np.ones(density.forms.points.shape[1])
    for j in range(p.points.shape[0]):
        weights = np.append(laid.table[j, : laid.n_bases], laid.table[j, laid.n_bases] * ridge)
        r = laid.size[j] * np.sqrt((laid.lifted - laid.lifted[j]) ** 2 @ weights)
        assert (milestones[:, j] * laid.speed[j] <= np.maximum(r - 1, 0) * (1 + 1e-12)).all()
        top = np.linalg.eigvalsh((laid.bases.T * weights) @ laid.bases)[-1]
        assert laid.speed[j] >= laid.size[j] * np.sqrt(top) * (1 - 1e-12)


def test_the_gaussian_goes_by_products_or_directly_to_the_same_ends(monkeypatch):
    p = make(9, n=150, d=6, n_bases=14, k=20)
    density = composed(p, Profile("gaussian"))
    assert climb._products_serve(density, density.forms.lifted)
    products, H = density.climb(p.points, max_iter=20), evaluate(density, p.points)
    monkeypatch.setattr(climb, "_PRODUCT_ERROR", 0.0)
    direct, H_direct = density.climb(p.points, max_iter=20), evaluate(density, p.points)
    np.testing.assert_allclose(products.ends, direct.ends, atol=1e-9)
    np.testing.assert_allclose(products.log_density, direct.log_density, atol=1e-9)
    np.testing.assert_array_equal(products.converged, direct.converged)
    for one, other in zip(H, H_direct, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.usefixtures("layout")
@every_profile
def test_one_point_and_a_start_out_of_reach(profile):
    point = np.array([[1.0, 2.0, 3.0]])
    bases = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    density = build_composed(point, bases, np.ones((1, 2)), 1.0, profile)
    away = np.array([[1.0, 2.0, 3.0], [1.2, 2.3, -9.0], [90.0, 2.0, 3.0]])
    starts = density.to_starts(away)
    ascent = density.climb(starts)
    assert ascent.converged.all()
    ends = density.to_columns(ascent.ends, point)
    np.testing.assert_allclose(ends[:2], np.tile(point, (2, 1)), atol=1e-9)
    modes = density.merge(ascent, 0.3)
    if profile.name == "gaussian":
        assert len(modes.centers) == 1
        return
    np.testing.assert_array_equal(ascent.ends[2], starts[2])
    assert ascent.log_density[2] == -np.inf
    np.testing.assert_array_equal(density.label(ascent.ends, modes), [0, 0, 1])
    np.testing.assert_allclose(ends[2], [90, 2, 3], atol=1e-9)


@pytest.mark.usefixtures("layout")
def test_what_is_outside_of_the_span_plays_no_role():
    p = make(10, d=6, n_bases=8, rank=3)
    outside = np.eye(6) - p.axes @ p.axes.T
    moved = p.points + p.rng.normal(size=(30, 6)) @ outside
    ends = []
    for points in (p.points, moved):
        density = build_composed(points, p.bases, p.weights, p.h, CUT)
        ascent = density.climb(density.to_starts(points))
        ends.append(density.to_columns(ascent.ends, points) @ p.axes)
        h = composed_bandwidth(points, p.bases, p.weights, 8)
        np.testing.assert_allclose(1.01 * h, p.h, rtol=1e-9)
    np.testing.assert_allclose(*ends, rtol=1e-9, atol=1e-9)


@every_profile
def test_full_positions_are_means_outside_of_the_span(profile):
    p = make(11, d=6, n_bases=8, rank=3)
    density = composed(p, profile)
    positions = density.to_starts(p.points[:4])
    full = density.to_columns(positions, p.points)
    outside = np.eye(6) - p.axes @ p.axes.T
    means = []
    for s in p.inside[:4]:
        w = twin.weights(p.inside, p.ridged, p.h, s, profile.name, profile.reach)
        w *= np.trace(p.ridged, axis1=1, axis2=2) / p.h**2
        means.append(w @ p.points / w.sum())
    np.testing.assert_allclose(full @ p.axes, p.inside[:4], atol=1e-9)
    np.testing.assert_allclose(full @ outside, means @ outside, atol=1e-8)
    far = density.to_columns(positions + 1e3, p.points)
    if profile.name != "gaussian":
        np.testing.assert_allclose(far @ outside, [p.points.mean(axis=0) @ outside] * 4, atol=1e-8)


def test_full_positions_without_a_span_are_the_positions():
    p = make(12)
    assert composed(p, CUT).to_columns(p.points, p.points) is p.points
    assert composed(p, CUT).to_starts(p.points) is p.points


@settings(max_examples=25, deadline=None)
@given(problem=any_rank, profile=st.sampled_from(PROFILES), seed=st.integers(0, 99))
def test_modes_cover_the_ends_and_do_not_depend_on_their_order(problem, profile, seed):
    p = problem
    density = composed(p, profile)
    ascent = density.climb(density.to_starts(p.points))
    modes = density.merge(ascent, 0.3)
    labels = density.label(ascent.ends, modes)
    np.testing.assert_array_equal(
        density.label(modes.centers, modes), np.arange(len(modes.centers))
    )
    order = np.random.default_rng(seed).permutation(labels.size)
    other = replace(ascent, ends=ascent.ends[order], log_density=ascent.log_density[order])
    shuffled = density.merge(other, 0.3, n_threads=2)
    np.testing.assert_array_equal(shuffled.centers, modes.centers)
    np.testing.assert_array_equal(density.label(other.ends, shuffled), labels[order])


@pytest.mark.usefixtures("layout")
def test_coincident_points_have_bandwidth_zero():
    points = np.array([[1.0, 2.0], [1.0, 2.0], [4.0, 6.0]]) + 1e3
    h = composed_bandwidth(points, np.eye(2), np.ones((3, 2)), 1, ridge=0.0)
    np.testing.assert_allclose(h, [0, 0, 5])


def test_float32_stays_float32_and_close():
    p = make(13, d=5, n_bases=4)
    exact = composed(p, CUT).climb(composed(p, CUT).to_starts(p.points))
    p.points, p.bases = p.points.astype(np.float32), p.bases.astype(np.float32)
    density = composed(p, CUT)
    ascent = density.climb(density.to_starts(p.points))
    assert ascent.ends.dtype == np.float32
    full = density.to_columns(ascent.ends, p.points)
    assert full.dtype == np.float32
    assert full.shape == (30, 5)
    np.testing.assert_allclose(np.sort(ascent.log_density), np.sort(exact.log_density), atol=1e-3)


# At the door

NAN_BASES = np.array([[1.0, 0.0], [0.0, np.nan]])


@pytest.mark.usefixtures("layout")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": [[1, 1], [1, -1], [1, 1]]}, "negative; row 1"),
        ({"weights": [[1, 1], [1, 1], [0, 0]]}, "row 2 is zero"),
        ({"weights": [[1, 1], [1, np.nan], [1, 1]]}, "Row 1 of weights is not finite"),
        ({"weights": [[np.inf, 1], [1, 1], [1, 1]]}, "Row 0 of weights is not finite"),
        ({"weights": np.ones((3, 3))}, "weights must have shape"),
        ({"weights": np.ones(3)}, "weights must have shape"),
        ({"bases": NAN_BASES}, "Row 1 of bases is not finite"),
        ({"bases": np.eye(3)}, "bases must have shape"),
        ({"bases": np.empty((0, 2)), "weights": np.empty((3, 0))}, "bases must have shape"),
        ({"bases": np.zeros((2, 2))}, "row 0 is zero"),
        ({"bases": [[1, 0], [0, 0]], "weights": [[1, 1], [0, 1], [1, 1]]}, "row 1 is zero"),
        ({"points": [[0, 1], [np.nan, 0], [0, 0]]}, "Row 1 of points is not finite"),
        ({"ridge": -1.0}, "ridge"),
        ({"ridge": np.nan}, "ridge"),
    ],
)
def test_bad_input_raises_and_names_the_row(change, message):
    given_ = {"points": np.arange(6.0).reshape(3, 2), "bases": np.eye(2),
              "weights": np.ones((3, 2)), "ridge": 1e-3} | change  # fmt: skip
    points, bases, weights = (
        np.asarray(given_[name], dtype=float) for name in ("points", "bases", "weights")
    )
    with pytest.raises(ValueError, match=message):
        build_composed(points, bases, weights, 1.0, CUT, ridge=given_["ridge"])
    with pytest.raises(ValueError, match=message):
        composed_bandwidth(points, bases, weights, 1, ridge=given_["ridge"])


@pytest.mark.usefixtures("layout")
@pytest.mark.parametrize(
    "weights", [[[1, 1], [1, 0], [1, 1]], [[1, 1], [1, 0], [1, 0]], [[0, 1], [0, 1], [0, 1]]]
)
def test_a_metric_without_ridge_must_have_full_rank_in_the_span(weights):
    row = int(np.argmin(np.min(weights, axis=1)))
    with pytest.raises(ValueError, match=f"row {row} is not positive definite"):
        build_composed(np.arange(6.0).reshape(3, 2), np.eye(2), np.array(weights, dtype=float),
                       1.0, CUT, ridge=0.0)  # fmt: skip


@pytest.mark.parametrize("h", [[1.0, 0.0, 1.0], [1.0, np.nan, 1.0], [1.0, -1.0, 1.0]])
def test_bandwidths_that_are_not_positive_raise(h):
    with pytest.raises(ValueError, match="row 1"):
        build_composed(np.arange(6.0).reshape(3, 2), np.eye(2), np.ones((3, 2)), h, CUT)


@pytest.mark.parametrize("k", [0, 3])
def test_k_out_of_range_raises(k):
    with pytest.raises(ValueError, match="k must be"):
        composed_bandwidth(np.arange(6.0).reshape(3, 2), np.eye(2), np.ones((3, 2)), k)
