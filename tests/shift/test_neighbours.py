"""Block order: a permutation whose runs lie close together; boxes that hold their runs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkshift.shift._loops import BLOCK
from linkshift.shift.neighbours import block_order, boxes, nearest_neighbours


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 700), st.integers(1, 5), st.booleans())
def test_block_order_is_a_permutation(seed, n, d, lattice):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(n, d)).astype(float) if lattice else rng.normal(size=(n, d))
    order = block_order(X)
    np.testing.assert_array_equal(np.sort(order), np.arange(n))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(BLOCK + 1, 700), st.integers(1, 5))
def test_blocks_of_shuffled_rows_are_the_same(seed, n, d):
    rng = np.random.default_rng(seed)
    X, shuffle = rng.normal(size=(n, d)), rng.permutation(n)
    np.testing.assert_array_equal(shuffle[block_order(X[shuffle])], block_order(X))


def test_one_block_keeps_its_order():
    X = np.random.default_rng(0).normal(size=(BLOCK, 2))
    np.testing.assert_array_equal(block_order(X), np.arange(BLOCK))


def test_blocks_on_a_line_are_its_segments():
    rng = np.random.default_rng(0)
    x = rng.permutation(10 * BLOCK + 17).astype(float)
    order = block_order(x[:, None])
    for i in range(11):
        run = np.sort(x[order][i * BLOCK : (i + 1) * BLOCK])
        np.testing.assert_array_equal(run, np.arange(i * BLOCK, i * BLOCK + run.size))


def test_blocks_are_small():
    X = np.random.default_rng(0).uniform(size=(64 * BLOCK, 2))
    low, high = boxes(X[block_order(X)])
    # 64 blocks share the unit square: ideal area 1/64 each; unordered, each box is nearly 1.
    assert np.prod(high - low, axis=1).sum() < 1.5
    plain_low, plain_high = boxes(X)
    assert np.prod(plain_high - plain_low, axis=1).sum() > 50


def test_the_widest_coordinate_is_split():
    X = np.random.default_rng(0).uniform(size=(2 * BLOCK, 3)) * [1.0, 100.0, 1.0]
    order = block_order(X)
    assert X[order[:BLOCK], 1].max() <= X[order[BLOCK:], 1].min()


@pytest.mark.parametrize("n", [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_boxes_are_the_least_and_greatest_of_each_run(n, dtype):
    X = np.random.default_rng(n).normal(size=(n, 3)).astype(dtype)
    low, high = boxes(X)
    assert low.dtype == high.dtype == dtype
    assert low.shape == high.shape == (-(-n // BLOCK), 3)
    for i in range(low.shape[0]):
        run = X[i * BLOCK : (i + 1) * BLOCK]
        np.testing.assert_array_equal(low[i], run.min(axis=0))
        np.testing.assert_array_equal(high[i], run.max(axis=0))


@pytest.mark.parametrize("d", [2, 20])
@pytest.mark.parametrize("scale", [2.0**499, 2.0**800])
def test_numbers_whose_squares_overflow(d, scale):
    rng = np.random.default_rng(0)
    rows, asked = rng.normal(size=(50, d)), rng.normal(size=(9, d))
    for X in (None, asked):
        distance, index = nearest_neighbours(rows, 3, X)
        far, same = nearest_neighbours(rows * scale, 3, None if X is None else X * scale)
        np.testing.assert_array_equal(same, index)
        np.testing.assert_allclose(far / scale, distance)


@pytest.mark.parametrize("d", [2, 20])
def test_a_row_that_is_infinitely_far_has_neighbours(d):
    """It once made the search call itself for ever."""
    rows = np.random.default_rng(0).normal(size=(30, d))
    distance, found = nearest_neighbours(rows, 3, np.full((1, d), np.inf))
    assert np.isfinite(distance).all()
    assert len(set(found[0])) == 3
