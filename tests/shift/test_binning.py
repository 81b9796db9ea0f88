"""Pooling points in cells, against a dictionary."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkshift.shift.binning import pool_points


def pool_by_dictionary(X, cell, weight):
    """Cell of each row -> rows; the mean by weight, or plain where there is no weight."""
    X = X.astype(np.float64)
    rows_of = {}
    for i, key in enumerate(map(tuple, np.floor((X - X.min(axis=0)) / cell))):
        rows_of.setdefault(key, []).append(i)
    means, masses, groups = [], [], []
    for rows in rows_of.values():
        w = weight[rows]
        means.append((w @ X[rows]) / w.sum() if w.sum() > 0 else X[rows].mean(axis=0))
        masses.append(w.sum())
        groups.append(frozenset(rows))
    return means, masses, groups


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 200),
    st.integers(1, 4),
    st.sampled_from([0.3, 1.0, 2.5, 100.0]),
    st.sampled_from(["none", "some", "zeros"]),
)
def test_against_a_dictionary(seed, n, d, cell, weights):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 3
    weight = None if weights == "none" else rng.uniform(0.1, 2, size=n)
    if weights == "zeros":
        weight[rng.uniform(size=n) < 0.5] = 0.0
    cells = pool_points(X, cell, weight)
    means, masses, groups = pool_by_dictionary(X, cell, np.ones(n) if weight is None else weight)
    assert cells.points.shape == (len(means), d)
    assert cells.weight.shape == (len(means),)
    for mean, mass, group in zip(means, masses, groups, strict=True):
        here = cells.member[next(iter(group))]
        assert set(np.flatnonzero(cells.member == here)) == set(group)
        assert cells.weight[here] == pytest.approx(mass, rel=1e-12)
        np.testing.assert_allclose(cells.points[here], mean, rtol=0, atol=1e-12)


def test_four_points_by_hand():
    X = np.array([[0.0, 0.0], [0.5, 0.9], [1.0, 0.0], [7.0, 7.0]])
    cells = pool_points(X, 1.0, np.array([1.0, 3.0, 1.0, 2.0]))
    assert cells.member[0] == cells.member[1]
    assert len(set(cells.member)) == 3
    np.testing.assert_allclose(cells.points[cells.member[0]], [0.375, 0.675])
    np.testing.assert_array_equal(cells.weight[cells.member], [4, 4, 1, 2])


def test_mass_and_mean_are_kept():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(500, 3)), rng.uniform(size=500)
    cells = pool_points(X, 0.5, weight)
    assert cells.weight.sum() == pytest.approx(weight.sum())
    np.testing.assert_allclose(cells.weight @ cells.points, weight @ X, atol=1e-10)


def test_the_order_of_the_rows_does_not_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    shuffle = rng.permutation(300)
    here, there = pool_points(X, 0.7), pool_points(X[shuffle], 0.7)
    np.testing.assert_allclose(
        there.points[there.member], here.points[here.member][shuffle], atol=1e-12
    )


def test_float32_stays_float32_even_far_from_the_origin():
    rng = np.random.default_rng(0)
    X = (rng.integers(0, 64, size=(400, 2)) / 16 + 1e5).astype(np.float32)
    cells = pool_points(X, 1.0)
    assert cells.points.dtype == np.float32
    low = X.min(axis=0)
    keys = np.floor((X - low).astype(np.float64))
    for i in range(0, 400, 40):
        group = (keys == keys[i]).all(axis=1)
        exact = X[group].astype(np.float64).mean(axis=0)
        assert np.abs(cells.points[cells.member[i]] - exact).max() <= np.spacing(np.float32(1e5))


def test_all_points_equal_are_one_cell():
    cells = pool_points(np.full((10, 2), 3.3), 0.1)
    np.testing.assert_array_equal(cells.points, [[3.3, 3.3]])
    np.testing.assert_array_equal(cells.weight, [10])
