"""Rules for bandwidths, against brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from tests.reference import bandwidth as twin
from tests.reference.mean_shift import squared_distances

from linkshift.bandwidth import (
    default_bandwidth,
    neighbour_bandwidth,
    pair_distances,
    pair_mean,
    pair_quantile,
    pair_range,
)
from linkshift.profiles import Profile

PROFILES = [
    Profile("flat"),
    Profile("epanechnikov"),
    Profile("gaussian"),
    Profile("truncated_gaussian"),
    Profile("truncated_gaussian", 0.5),
    Profile("truncated_gaussian", 3.0),
]


def kth_distance(X, k):
    """Distance to the k-th other row, row by row."""
    out = []
    for i in range(X.shape[0]):
        others = np.delete(X, i, axis=0)
        out.append(np.sort(np.sqrt(squared_distances(X[i : i + 1], others)[0]))[k - 1])
    return np.array(out)


def neighbours_of_default(n, d):
    return np.round(32 * (1 + 2 / d) * (n / 1000) ** ((d + 18) / (4 * d + 24)))


def draw(seed, n, d, lattice):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 3, size=(n, d)).astype(float) if lattice else rng.normal(size=(n, d))


# The k-th neighbour


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.integers(1, 20), st.booleans(), st.data())
def test_neighbour_bandwidth_by_brute_force(seed, n, d, lattice, data):
    X = draw(seed, n, d, lattice)
    k = data.draw(st.integers(1, n - 1))
    expected = kth_distance(X, k)
    least = expected[expected > 0].min(initial=np.inf)
    twins = np.flatnonzero(expected == 0)
    for i in twins:
        apart = np.sqrt(squared_distances(X[i : i + 1], X[twins])[0])
        expected[i] = min(least, apart[apart > 0].min(initial=np.inf) / 2)
    expected[np.isinf(expected)] = 1.0
    np.testing.assert_allclose(neighbour_bandwidth(X, k), expected, rtol=1e-7)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(1, 4), st.booleans(), st.data())
def test_neighbour_bandwidth_takes_weights_as_counts(seed, n, d, lattice, data):
    X = draw(seed, n, d, lattice)
    count = np.random.default_rng(seed).integers(0, 4, size=n)
    count[:2] += 1
    k = data.draw(st.integers(1, int(count.sum()) - 1))
    by_weight = neighbour_bandwidth(X, k, sample_weight=count)
    by_rows = neighbour_bandwidth(np.repeat(X, count, axis=0), k)
    kept = count > 0
    np.testing.assert_allclose(np.repeat(by_weight[kept], count[kept]), by_rows, rtol=1e-7)
    assert (by_weight > 0).all()


def test_points_with_k_twins_get_the_least_bandwidth_or_half_the_way_to_others():
    X = np.array([[0.0], [0.0], [3.0], [5.0]])
    np.testing.assert_allclose(neighbour_bandwidth(X, 1), [2, 2, 2, 2], rtol=1e-8)
    X = np.array([[0.0], [0.0], [1.0], [1.0], [9.0]])
    np.testing.assert_allclose(neighbour_bandwidth(X, 1), [0.5, 0.5, 0.5, 0.5, 8], rtol=1e-8)
    np.testing.assert_array_equal(neighbour_bandwidth(np.zeros((4, 2)), 2), np.ones(4))


@pytest.mark.parametrize("k", [0, -1, 3, 4])
def test_too_many_or_too_few_neighbours(k):
    with pytest.raises(ValueError, match="n_neighbors"):
        neighbour_bandwidth(np.arange(3.0)[:, None], k)


def test_weights_count_towards_the_neighbours_there_are():
    X = np.arange(3.0)[:, None]
    assert neighbour_bandwidth(X, 3, sample_weight=np.array([2.0, 1.0, 1.0])).shape == (3,)
    with pytest.raises(ValueError, match="n_neighbors"):
        neighbour_bandwidth(X, 2, sample_weight=np.array([1.0, 1.0, 0.0]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbour_bandwidth_is_float64_and_leaves_its_input_alone(dtype):
    X = draw(0, 20, 2, False).astype(dtype)
    before = X.copy()
    h = neighbour_bandwidth(X, 3)
    assert h.dtype == np.float64
    np.testing.assert_array_equal(X, before)
    np.testing.assert_allclose(h, kth_distance(X.astype(float), 3), rtol=1e-5)


def test_neighbour_bandwidth_far_from_the_origin():
    X = np.round(draw(0, 50, 20, False) * 1024) / 1024
    expected = neighbour_bandwidth(X, 5)
    np.testing.assert_allclose(neighbour_bandwidth(X + 2.0**20, 5), expected, rtol=1e-2)


# The default


def carried(profile, d, k):
    if profile.name == "gaussian":
        return max(1 / np.sqrt(d + 2), min(1.0, 1 / np.sqrt(2 * np.log(max(k, 2)))))
    return max(1.0, 1 / profile.reach)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 120),
    st.integers(1, 6),
    st.sampled_from(["plain", "lattice", "clumps", "spots"]),
    st.sampled_from(PROFILES),
)
def test_default_bandwidth_by_brute_force(seed, n, d, kind, profile):
    X = draw(seed, n, d, kind == "lattice")
    if kind == "clumps":
        X[:] += 100.0 * np.round(X[:1] * (np.arange(n) % 7)[:, None])
    if kind == "spots":
        X = np.round(X[np.arange(n) % 3])
    k, r = twin.default_radius(X.tolist())
    expected = r * carried(profile, twin.varying(X.tolist()), k) if r > 0 else 1.0
    assert default_bandwidth(X, profile) == pytest.approx(expected, rel=1e-7)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.integers(1, 4), st.booleans())
def test_default_bandwidth_takes_weights_as_counts(seed, n, d, lattice):
    X = draw(seed, n, d, lattice)
    count = np.random.default_rng(seed).integers(0, 4, size=n)
    count[0] += 1
    repeated = np.repeat(X, count, axis=0)
    for profile in PROFILES[:3]:
        by_weight = default_bandwidth(X, profile, sample_weight=count)
        assert by_weight == pytest.approx(default_bandwidth(repeated, profile), rel=1e-7)


def test_weights_of_one_change_nothing():
    X = draw(0, 50, 2, False)
    plain = default_bandwidth(X, PROFILES[0])
    assert default_bandwidth(X, PROFILES[0], sample_weight=np.ones(50)) == plain
    assert default_bandwidth(X, PROFILES[0], sample_weight=np.r_[np.ones(25), np.zeros(25)]) == (
        default_bandwidth(X[:25], PROFILES[0])
    )


@pytest.mark.parametrize("n", [1, 2, 50])
def test_points_that_coincide_get_one(n):
    assert default_bandwidth(np.full((n, 3), 7.0), PROFILES[0]) == 1.0


def test_mostly_twins_still_get_a_positive_bandwidth():
    X = np.zeros((100, 2))
    X[0] = [3.0, 4.0]
    assert default_bandwidth(X, PROFILES[0]) == pytest.approx(2.5)


def test_places_that_many_rows_share_are_apart():
    X = np.repeat([[0.0], [1.0]], 100, axis=0)
    assert default_bandwidth(X, PROFILES[0]) == 0.5
    nearly = X + 1e-17 * np.arange(200)[:, None]
    assert default_bandwidth(nearly, PROFILES[0]) == pytest.approx(0.5)
    # To the nearest of them, in the median: a stray pair close together does not rule.
    X = np.repeat([[0.0], [1e-3], [1.0], [3.0], [5.0]], [50, 50, 90, 90, 90], axis=0)
    assert default_bandwidth(X, PROFILES[0]) == pytest.approx(0.5, rel=1e-2)


def test_few_rows_beside_many_twins_have_their_own_scale():
    others = draw(0, 30, 2, False)
    X = np.concatenate([np.zeros((150, 2)), 10.0 + others])
    found = default_bandwidth(X, PROFILES[0])
    assert found == pytest.approx(default_bandwidth(others, PROFILES[0]), rel=0.2)


def test_rows_that_differ_by_rounding_are_twins():
    rng = np.random.default_rng(0)
    spots = np.repeat(rng.normal(size=(4, 5)), 60, axis=0)
    noisy = spots * (1.0 + 1e-16 * rng.integers(-1, 2, size=spots.shape))
    assert len(np.unique(noisy, axis=0)) > 8
    expected = default_bandwidth(spots, PROFILES[0])
    assert default_bandwidth(noisy, PROFILES[0]) == pytest.approx(expected, rel=1e-9)
    assert expected > 0.1


@pytest.mark.parametrize("noise", [0.0, 1e-33])
def test_constant_columns_do_not_count(noise):
    X = draw(0, 100, 2, False)
    more = np.full((100, 3), 7.0) + noise * draw(1, 100, 3, False)
    more[:, 0] = noise * np.arange(100)
    for profile in PROFILES:
        found = default_bandwidth(np.hstack([more[:, :1], X]), profile)
        assert found == pytest.approx(default_bandwidth(X, profile), rel=1e-12)


def test_clusters_smaller_than_k_are_told_apart():
    grid = 10.0 * np.stack(np.meshgrid(np.arange(10), np.arange(5)), axis=-1).reshape(-1, 2)
    X = np.repeat(grid, 40, axis=0) + draw(0, 2000, 2, False)
    assert neighbours_of_default(2000, 2) > 40
    assert 1.0 < default_bandwidth(X, PROFILES[0]) < 4.0


@pytest.mark.parametrize("seed", range(10))
def test_one_cluster_has_no_gap(seed):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0.0, 2.0 * np.pi, size=400)
    curve = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    for X in (
        rng.normal(size=(400, 1)),
        rng.uniform(size=(400, 2)),
        rng.normal(size=(400, 5)),
        curve,
    ):
        k = int(neighbours_of_default(400, X.shape[1]))
        assert default_bandwidth(X, PROFILES[0]) == pytest.approx(np.median(kth_distance(X, k)))


def test_weights_that_are_no_counts_are_refused_with_a_remedy():
    X = draw(0, 50, 2, False)
    with pytest.raises(ValueError, match="bandwidth="):
        default_bandwidth(X, PROFILES[0], sample_weight=np.full(50, 1e-3))


def test_no_weight_at_all_is_refused():
    with pytest.raises(ValueError, match="Every sample weight is zero"):
        default_bandwidth(draw(0, 50, 2, False), PROFILES[0], sample_weight=np.zeros(50))


def test_many_rows_are_sampled_evenly_and_without_chance():
    X = draw(0, 5000, 2, False)
    found = default_bandwidth(X, PROFILES[0])
    assert found == default_bandwidth(X, PROFILES[0])
    k = int(neighbours_of_default(5000, 2))
    exact = np.median(np.sort(np.sqrt(squared_distances(X[:1000], X)), axis=1)[:, k])
    assert found == pytest.approx(exact, rel=0.1)
    shuffle = np.random.default_rng(0).permutation(5000)
    assert default_bandwidth(X[shuffle], PROFILES[0]) == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("unit", [1e-100, 1e-6, 1e6, 1e100])
def test_the_default_scales_with_the_data(unit):
    X = draw(0, 80, 3, False)
    for profile in PROFILES:
        found = default_bandwidth(unit * X, profile)
        assert found == pytest.approx(unit * default_bandwidth(X, profile), rel=1e-6)


def test_the_default_grows_less_than_linearly_with_n():
    # Two clusters stay two: k grows with the square root of n, not with n.
    rng = np.random.default_rng(0)
    for n in (200, 3000):
        X = np.concatenate([rng.normal(size=(n, 2)), rng.normal(size=(n, 2)) + 8])
        assert default_bandwidth(X, PROFILES[0]) < 4


# Pairs


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 50), st.floats(0, 1))
def test_pair_quantile_by_brute_force(seed, n, quantile):
    X = draw(seed, n, 2, False)
    far = [np.linalg.norm(X[i] - X[j]) for i in range(n) for j in range(i)]
    assert pair_quantile(X, quantile) == pytest.approx(np.quantile(far, quantile))


@pytest.mark.parametrize("quantile", [-0.1, 1.1, np.nan])
def test_quantiles_out_of_range(quantile):
    with pytest.raises(ValueError, match="quantile"):
        pair_quantile(np.zeros((3, 1)), quantile)


def test_a_pair_needs_two():
    with pytest.raises(ValueError, match="two points"):
        pair_quantile(np.zeros((1, 2)), 0.5)


def test_pair_mean_by_brute_force():
    X = np.random.default_rng(0).normal(size=(50, 3))
    assert pair_mean(X) == pytest.approx(pdist(X).mean())
    np.testing.assert_allclose(pair_distances(X), pdist(X))
    assert pair_mean(np.ones((4, 2))) == 1.0
    many = np.random.default_rng(1).normal(size=(5000, 2))
    assert pair_distances(many).shape == (2000 * 1999 // 2,)
    assert pair_mean(many) == pytest.approx(np.sqrt(np.pi), rel=0.03)
    with pytest.raises(ValueError, match="two points"):
        pair_mean(np.zeros((1, 2)))


# The nearest and the farthest two rows


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 200),
    st.integers(1, 20),
    st.sampled_from(["normal", "lattice", "sphere", "far", "line"]),
)
def test_pair_range_by_brute_force(seed, n, d, shape):
    X = draw(seed, n, d, shape == "lattice")
    if shape == "sphere":  # all as far from the middle: nothing can be left out
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    elif shape == "far":
        X[0] += 1e6
    elif shape == "line":
        X = np.outer(np.arange(n), X[0])
    apart = pdist(X)
    apart = apart[apart > 0]
    expected = (apart.min(), apart.max()) if apart.size else (1.0, 1.0)
    found = pair_range(X)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)
    if expected[0] > 1e-12 * expected[1]:
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-6)
