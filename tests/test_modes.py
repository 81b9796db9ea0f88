"""Merging end points and labelling, against scikit-learn's rule written out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import mean_shift as twin

from linkshift._core.messages import Refusal
from linkshift.modes import Modes, basin_labels, merge_ends, nearest_labels


def draw(seed, n, d, lattice):
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, 4, size=(n, d)).astype(float) if lattice else rng.normal(size=(n, d))
    density = rng.integers(1, 5, size=n).astype(float)
    return rng, ends, density


cases = (
    st.integers(0, 2**32 - 1),
    st.integers(1, 50),
    st.integers(1, 3),
    st.booleans(),
    st.booleans(),
)


@settings(max_examples=50, deadline=None)
@given(*cases)
def test_merge_is_scikit_learns_rule(seed, n, d, lattice, own):
    rng, ends, density = draw(seed, n, d, lattice)
    radius = rng.uniform(0.2, 1.5, size=n) if own else 1.0
    if own:  # where several ends share a spot, their radius is that of the spot
        radius = np.abs(ends).sum(axis=1) % 1.3 + 0.2
    modes = merge_ends(ends, density, radius)
    np.testing.assert_array_equal(modes.centers, twin.merge_ends(ends, density, radius))
    assert modes.radius.shape == (modes.centers.shape[0],)


@settings(max_examples=40, deadline=None)
@given(*cases)
def test_every_end_has_a_mode_that_covers_it(seed, n, d, lattice, own):
    _, ends, density = draw(seed, n, d, lattice)
    radius = np.abs(ends).sum(axis=1) % 1.3 + 0.2 if own else np.full(n, 0.7)
    modes = merge_ends(ends, density, radius)
    labels = basin_labels(ends, modes)
    far = np.linalg.norm(ends[:, None] - modes.centers[None], axis=2)
    for i in range(n):  # the densest mode that covers the end is the first
        assert labels[i] == np.flatnonzero(far[i] <= modes.radius)[0]


@settings(max_examples=30, deadline=None)
@given(*cases)
def test_the_order_of_the_rows_does_not_matter(seed, n, d, lattice, own):
    rng, ends, density = draw(seed, n, d, lattice)
    radius = np.abs(ends).sum(axis=1) % 1.3 + 0.2 if own else np.full(n, 0.7)
    shuffle = rng.permutation(n)
    here = merge_ends(ends, density, radius)
    there = merge_ends(ends[shuffle], density[shuffle], radius[shuffle])
    np.testing.assert_array_equal(here.centers, there.centers)
    np.testing.assert_array_equal(here.radius, there.radius)
    np.testing.assert_array_equal(
        basin_labels(ends[shuffle], there), basin_labels(ends, here)[shuffle]
    )


def test_by_hand():
    ends = np.array([[0.0], [0.9], [1.0], [1.9], [5.0]])
    density = np.array([1.0, 2.0, 3.0, 1.0, 1.0])
    modes = merge_ends(ends, density, 1.0)
    np.testing.assert_array_equal(modes.centers, [[1.0], [5.0]])  # the edge counts
    np.testing.assert_array_equal(basin_labels(ends, modes), [0, 0, 0, 0, 1])
    narrow = merge_ends(ends, density, 0.5)
    np.testing.assert_array_equal(narrow.centers, [[1.0], [5.0], [1.9], [0.0]])


def test_ties_in_density_go_to_the_larger_coordinates():
    ends = np.array([[0.0, 9.0], [1.0, 0.0], [1.0, 0.5]])
    modes = merge_ends(ends, np.ones(3), 1.0)
    np.testing.assert_array_equal(modes.centers, [[1.0, 0.5], [0.0, 9.0]])


def test_ends_no_mode_covers_go_to_the_nearest():
    modes = Modes(np.array([[0.0], [10.0]]), np.array([1.0, 1.0]))
    np.testing.assert_array_equal(basin_labels(np.array([[4.0], [6.0], [100.0]]), modes), [0, 1, 1])


def test_where_modes_overlap_the_denser_one_takes_the_end():
    modes = Modes(np.array([[0.0], [1.5]]), np.array([1.0, 1.0]))
    np.testing.assert_array_equal(basin_labels(np.array([[0.9], [1.1]]), modes), [0, 1])
    labels, distance = nearest_labels(np.array([[0.9], [1.1]]), modes)
    np.testing.assert_array_equal(labels, [1, 1])
    np.testing.assert_allclose(distance, [0.6, 0.4])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([np.float32, np.float64]), st.integers(1, 20))
def test_nearest_labels_by_brute_force(seed, dtype, d):
    rng = np.random.default_rng(seed)
    X, centers = rng.normal(size=(50, d)).astype(dtype), rng.normal(size=(6, d)).astype(dtype)
    labels, distance = nearest_labels(X, Modes(centers, np.ones(6)))
    far = np.linalg.norm(X[:, None].astype(float) - centers[None].astype(float), axis=2)
    np.testing.assert_array_equal(labels, far.argmin(axis=1))
    np.testing.assert_allclose(distance, far.min(axis=1), rtol=1e-4)


def test_nearest_labels_far_from_the_origin():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(200, 2)) * 1024) / 1024
    centers = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    here, _ = nearest_labels(X, Modes(centers, np.ones(4)))
    there, _ = nearest_labels(X + 2.0**30, Modes(centers + 2.0**30, np.ones(4)))
    np.testing.assert_array_equal(there, here)


@pytest.mark.parametrize(
    "unit",
    [
        1e-200,
        1e-20,
        1e150,
    ],
)
def test_the_unit_of_length_does_not_matter(unit):
    ends = np.array([[0.0, 0.0], [0.5, 0.0], [5.0, 0.0], [5.5, 0.0]])
    density = np.array([2.0, 1.0, 2.0, 1.0])
    modes = merge_ends(unit * ends, density, unit)
    np.testing.assert_allclose(modes.centers / unit, [[5.0, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(basin_labels(unit * ends, modes), [1, 1, 0, 0])
    np.testing.assert_array_equal(nearest_labels(unit * ends, modes)[0], [1, 1, 0, 0])


def test_float32_stays_float32():
    ends = np.array([[0.0], [3.0]], dtype=np.float32)
    modes = merge_ends(ends, np.array([1.0, 2.0]), 1.0)
    assert modes.centers.dtype == np.float32
    np.testing.assert_array_equal(modes.centers, [[3], [0]])


@pytest.mark.parametrize("far", [1e3, 1e10, 1e100])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_a_mode_far_away_does_not_blur_the_others(far, offset):
    """Inner products lose the digits that tell near modes apart; distances do not."""
    centers = np.array([[2.0, 3.0], [far, 0.0], [0.0, 1.0], [far, far]]) + offset
    rows = np.array([[0.0, 1.0], [0.4, 1.3], [2.0, 3.0], [1.9, 2.0], [far, 1.0]]) + offset
    labels, distance = nearest_labels(rows, Modes(centers, np.ones(4)))
    assert labels.tolist() == [2, 2, 0, 0, 1]
    exact = np.hypot(*(rows - centers[labels]).T)
    np.testing.assert_allclose(distance, exact, rtol=1e-12)


def test_the_nearest_mode_is_the_first_of_equals():
    rng = np.random.default_rng(0)
    centers = rng.integers(-3, 4, size=(30, 3)).astype(float)
    rows = rng.integers(-3, 4, size=(200, 3)).astype(float)
    squared = ((rows[:, None] - centers) ** 2).sum(axis=2)
    labels, distance = nearest_labels(rows, Modes(centers, np.ones(30)))
    np.testing.assert_array_equal(labels, squared.argmin(axis=1))
    np.testing.assert_allclose(distance, np.sqrt(squared.min(axis=1)))


def test_distances_whose_squares_are_infinite_are_refused():
    with pytest.raises(
        Refusal, match=r"Numbers up to 1e\+200 are too large for a radius of about 1"
    ):
        merge_ends(np.array([[0.0], [1e200]]), np.ones(2), 1.0)
