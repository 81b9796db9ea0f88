"""Rows of length one, and columns that are constant."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import normalize

from linkshift._core.arrays import unit_rows, varying_columns
from linkshift._core.messages import Refusal

both_dtypes = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def drawn(seed, n, d, dtype):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(dtype)


@both_dtypes
@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 50))
def test_lengths_are_one_and_directions_stay(dtype, seed, n, d):
    X = drawn(seed, n, d, dtype)
    rows = unit_rows(X)
    assert rows.dtype == dtype
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(np.linalg.norm(rows.astype(float), axis=1), 1.0, rtol=8 * eps)
    length = np.linalg.norm(X.astype(float), axis=1)[:, None]
    np.testing.assert_allclose(rows, X / length, rtol=16 * eps)


@both_dtypes
@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 50))
def test_doing_it_twice_and_powers_of_two_change_no_bit(dtype, seed, n, d):
    X = drawn(seed, n, d, dtype)
    rows = unit_rows(X)
    np.testing.assert_array_equal(unit_rows(rows), rows)
    powers = 2.0 ** np.random.default_rng(seed).integers(-30, 31, size=(n, 1))
    np.testing.assert_array_equal(unit_rows(X * powers.astype(dtype)), rows)
    np.testing.assert_array_equal(unit_rows(rows * powers.astype(dtype)), rows)


@both_dtypes
@pytest.mark.parametrize("power", ["tiny", "max"])
def test_squares_neither_vanish_nor_explode(dtype, power):
    X = np.array([[3.0, -4.0], [1.0, 0.0]], dtype=dtype)
    factor = getattr(np.finfo(dtype), power) * dtype(8.0 if power == "tiny" else 0.125)
    np.testing.assert_allclose(unit_rows(X * factor), [[0.6, -0.8], [1.0, 0.0]], rtol=1e-6)


@both_dtypes
def test_rows_that_others_have_divided_stay(dtype):
    rows = normalize(drawn(0, 500, 30, dtype))
    np.testing.assert_array_equal(unit_rows(rows), rows)


def test_a_row_of_zeros_is_named():
    X = np.ones((5, 2))
    X[[2, 4]] = 0.0
    with pytest.raises(
        Refusal, match=r"Row 2 is all zeros \(1 more like it\).*euclidean"
    ) as refused:
        unit_rows(X)
    assert refused.value.parameter == "metric"
    assert "--metric euclidean" in refused.value.text("command")


@pytest.mark.parametrize(
    ("span", "varying"),
    [
        ([1.0, 0.0, 2.0], [True, False, True]),
        ([1.0, 1e-33, 2.0], [True, False, True]),
        ([1e-30, 1e-31, 0.0], [True, True, False]),
        ([0.0, 0.0], [False, False]),
    ],
)
def test_columns_without_a_range(span, varying):
    assert varying_columns(np.array(span)).tolist() == varying
