"""What every landscape does, whatever its kernels: the same laws for all of them."""

import numpy as np
import pytest
from tests.reference.problems import PROFILES

from linkshift._core.messages import Refusal
from linkshift.profiles import Profile
from linkshift.shift.anisotropic import build_composed
from linkshift.shift.density import build_density
from linkshift.shift.landscape import Landscape

GAUSSIAN = Profile("gaussian")
every_profile = pytest.mark.parametrize("profile", PROFILES, ids=lambda p: p.name)
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda t: t.__name__)


def draw(seed, n, d, dtype=np.float64):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, d)) + 4.0 * rng.integers(3, size=(n, 1)) + 7.0
    return rng, points.astype(dtype)


def round_kernels(profile, dtype=np.float64, d=3, n=90, own=True, weights=True):
    """Points of which some have no weight, each with a bandwidth of its own."""
    rng, X = draw(0, n, d, dtype)
    h = rng.uniform(0.8, 1.6, size=n) * np.sqrt(d) if own else float(np.sqrt(d))
    weight = rng.integers(0, 3, size=n).astype(float) if weights else None
    return build_density(X, h, profile, sample_weight=weight, dimension=2.5 if own else None)


def tilted_kernels(profile, dtype=np.float64, d=3, n=90, n_bases=6, rank=None, own=True):
    rng, points = draw(1, n, d, dtype)
    bases = rng.normal(size=(n_bases, d))
    if rank is not None:
        bases = rng.normal(size=(n_bases, rank)) @ rng.normal(size=(rank, d))
    weights = rng.exponential(size=(n, n_bases)) * (rng.random((n, n_bases)) < 0.8)
    weights[:, 0] += 0.1
    h = rng.uniform(2.0, 4.0, size=n) if own else 3.0
    return build_composed(points, bases, weights, h, profile, dimension=1.5 if own else None)


LANDSCAPES = {
    "round": round_kernels,
    "round, one bandwidth": lambda *a: round_kernels(*a, own=False, weights=False),
    "round, many columns": lambda *a: round_kernels(*a, d=70),
    "tilted, packed": tilted_kernels,
    "tilted, composed": lambda *a: tilted_kernels(*a, d=8, own=False),
    "tilted, in a span": lambda *a: tilted_kernels(*a, d=6, rank=3),
}
every_landscape = pytest.mark.parametrize("make", LANDSCAPES.values(), ids=LANDSCAPES)


def rows_of(landscape):
    inputs = landscape.inputs()
    return inputs["X"] if "X" in inputs else inputs["points"]


def builder_of(landscape):
    return build_density if "X" in landscape.inputs() else build_composed


@every_landscape
@every_profile
@every_dtype
def test_what_was_given_builds_the_same_landscape_to_the_bit(make, profile, dtype):
    first = make(profile, dtype)
    rows = rows_of(first)
    copied = {
        name: value.copy() if isinstance(value, np.ndarray) else value
        for name, value in first.inputs().items()
    }
    again = builder_of(first)(**copied)
    assert rows.dtype == dtype
    assert first.inputs().keys() == again.inputs().keys()
    starts = np.concatenate([rows, rows[:20] + dtype(0.3)])
    np.testing.assert_array_equal(first.to_starts(starts), again.to_starts(starts))
    starts = first.to_starts(starts)
    one, two = (landscape.climb(starts, max_iter=30) for landscape in (first, again))
    for name in ("ends", "total", "converged", "n_iter", "log_density"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    modes = [landscape.merge(one, 0.3) for landscape in (first, again)]
    for name in ("centers", "radius"):
        np.testing.assert_array_equal(*(getattr(found, name) for found in modes))
    np.testing.assert_array_equal(
        first.label(one.ends, modes[0]), again.label(one.ends, modes[0], n_threads=2)
    )
    np.testing.assert_array_equal(
        first.to_columns(modes[0].centers, rows), again.to_columns(modes[0].centers, rows)
    )


@every_landscape
def test_the_arguments_are_kept_not_copied(make):
    landscape = make(GAUSSIAN)
    assert isinstance(landscape, Landscape)
    assert landscape.inputs() is not landscape.inputs()
    again = builder_of(landscape)(**landscape.inputs())
    assert all(again.inputs()[name] is value for name, value in landscape.inputs().items())
    assert landscape.n_points <= len(rows_of(landscape))


@every_landscape
@every_profile
@every_dtype
def test_keeping_paths_changes_no_bit(make, profile, dtype):
    landscape = make(profile, dtype)
    rows = rows_of(landscape)
    starts = landscape.to_starts(np.concatenate([rows[:30], rows[:3], rows[:1] + dtype(1e4)]))
    calls = []
    plain = landscape.climb(starts, max_iter=25)
    kept = landscape.climb(
        starts, max_iter=25, keep_paths=True, n_threads=2, progress=lambda *c: calls.append(c)
    )
    for name in ("ends", "total", "converged", "n_iter", "log_density"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(kept, name))
    assert plain.paths is None
    assert max(map(len, kept.paths)) - 1 <= kept.n_iter
    for start, end, path in zip(starts, kept.ends, kept.paths, strict=True):
        np.testing.assert_allclose(path[0], start, rtol=1e-6)
        np.testing.assert_array_equal(path[-1], end)
        assert path.dtype == end.dtype
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert all(n == len(starts) for _, n in calls)
    # One step from each position leads to the next.
    longest = max(kept.paths, key=len)
    steps = landscape.climb(longest[:-1], max_iter=1).ends
    np.testing.assert_allclose(steps, longest[1:], rtol=1e-4 if dtype == np.float32 else 1e-9)


@every_landscape
@every_profile
def test_ends_get_the_label_of_the_mode_that_took_them_in(make, profile):
    landscape = make(profile)
    ascent = landscape.climb(landscape.to_starts(rows_of(landscape)))
    modes = landscape.merge(ascent, 0.4, n_threads=2)
    m = len(modes.centers)
    assert modes.radius.shape == (m,)
    labels = landscape.label(ascent.ends, modes)
    np.testing.assert_array_equal(np.unique(labels), np.arange(m))
    np.testing.assert_array_equal(landscape.label(modes.centers, modes), np.arange(m))
    # Modes are ends, the densest first.
    first = [
        int(np.flatnonzero((ascent.ends == center).all(axis=1))[0]) for center in modes.centers
    ]
    height = ascent.total if ascent.log_density is None else ascent.log_density
    assert (np.diff(height[first]) <= 0).all()


def test_columns_of_round_kernels_by_hand():
    # At 0, points 0 and 1 weigh 1 and exp(-1/2); the third row has no weight.
    X, rows = np.array([[0.0], [1.0], [0.1]]), np.array([[2.0, 0.0], [4.0, 1.0], [99.0, 99.0]])
    density = build_density(X, 1.0, GAUSSIAN, sample_weight=np.array([1.0, 1.0, 0.0]))
    e = np.exp(-0.5)
    expected = [[(2 + 4 * e) / (1 + e), e / (1 + e)]]
    np.testing.assert_allclose(density.to_columns(np.zeros((1, 1)), rows), expected, rtol=1e-14)
    flat = build_density(X[:2], np.array([1.0, 2.0]), Profile("flat"))  # 1 and 2^-3
    found = flat.to_columns(np.array([[0.5], [50.0]]), rows[:2])
    np.testing.assert_allclose(found, [[(2 + 0.5) / 1.125, 0.125 / 1.125], [3.0, 0.5]], rtol=1e-14)


def test_merging_is_in_median_bandwidths():
    X = np.array([[0.0], [1.0], [2.0], [9.0]])
    density = build_density(X, np.array([1.0, 2.0, 2.0, 50.0]), Profile("flat"))
    np.testing.assert_array_equal(density.merge(density.climb(X), 0.25).radius, 0.5)


# At the door

X = np.arange(6.0).reshape(3, 2)
ROUND = {"X": X, "bandwidth": 1.0, "profile": GAUSSIAN, "sample_weight": None, "dimension": None}
TILTED = {
    "points": X,
    "bases": np.eye(2),
    "weights": np.ones((3, 2)),
    "bandwidth": 1.0,
    "profile": GAUSSIAN,
    "dimension": None,
    "ridge": 1e-3,
}
SHARED = [
    ({"points": X[0]}, "table"),
    ({"points": X[:0]}, "table"),
    ({"points": X[:, :0]}, "table"),
    ({"points": X.tolist()}, "table"),
    ({"points": None}, "table"),
    ({"points": X.astype(int)}, "float32 or float64"),
    ({"points": X.astype(np.float16)}, "float32 or float64"),
    ({"points": X.astype(complex)}, "float32 or float64"),
    ({"points": np.array([[0.0, 1.0], [np.nan, 0.0], [0.0, 0.0]])}, "Row 1 .* not finite"),
    ({"points": np.array([[0.0, 1.0], [1.0, 0.0], [0.0, -np.inf]])}, "Row 2 .* not finite"),
    ({"bandwidth": 0.0}, "positive; that of row 0"),
    ({"bandwidth": np.array([1.0, -1.0, 1.0])}, "positive; that of row 1"),
    ({"bandwidth": np.array([1.0, 1.0, np.nan])}, "positive; that of row 2"),
    ({"bandwidth": np.inf}, "positive; that of row 0"),
    ({"bandwidth": np.ones(1)}, "bandwidth must have shape"),
    ({"bandwidth": np.ones((3, 1))}, "bandwidth must have shape"),
    ({"bandwidth": None}, "bandwidth|positive"),
    ({"bandwidth": "wide"}, "bandwidth must be numbers"),
    ({"profile": "gaussian"}, "profile must be"),
    ({"profile": None}, "profile must be"),
    ({"dimension": np.nan}, "dimension must be"),
    ({"dimension": -1.0}, "dimension must be"),
    ({"dimension": "columns"}, "dimension must be"),
    ({"dimension": np.ones(3)}, "dimension must be"),
]
ONLY_ROUND = [
    ({"sample_weight": np.ones(2)}, "sample_weight must have shape"),
    ({"sample_weight": 1.0}, "sample_weight must have shape"),
    ({"sample_weight": np.array([1.0, -1.0, 1.0])}, "from 0 up; that of row 1"),
    ({"sample_weight": np.array([1.0, 1.0, np.inf])}, "from 0 up; that of row 2"),
    ({"sample_weight": np.zeros(3)}, "Every sample weight is zero"),
]
ONLY_TILTED = [
    ({"bases": np.eye(3)}, "bases must have shape"),
    ({"bases": np.ones(2)}, "bases must have shape"),
    ({"bases": "x"}, "bases must be numbers"),
    ({"weights": np.ones((2, 2))}, "weights must have shape"),
    ({"weights": None}, "weights must"),
    ({"ridge": -1.0}, "ridge must be"),
    ({"ridge": None}, "ridge must be"),
]


@pytest.mark.parametrize(("change", "message"), SHARED + ONLY_ROUND)
def test_bad_input_to_round_kernels_is_refused(change, message):
    change = {"X" if name == "points" else name: value for name, value in change.items()}
    with pytest.raises(Refusal, match=message):
        build_density(**ROUND | change)


@pytest.mark.parametrize(("change", "message"), SHARED + ONLY_TILTED)
def test_bad_input_to_tilted_kernels_is_refused(change, message):
    with pytest.raises(Refusal, match=message):
        build_composed(**TILTED | change)


def test_good_input_is_not_refused():
    for change in ({}, {"bandwidth": [1, 2, 3]}, {"dimension": 0}, {"dimension": np.float32(2)}):
        build_density(**ROUND | change)
        build_composed(**TILTED | change)
    build_density(**ROUND | {"sample_weight": np.array([0, 2, 1])})
