"""The root of a metric: L with M = L^T L, and what is no metric."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers import random_metric

from linkshift.spaces.metric import matrix_root

# By hand


def test_a_diagonal_metric_by_hand():
    L = matrix_root([[4.0, 0.0], [0.0, 9.0]])
    np.testing.assert_allclose(np.abs(L), [[0.0, 3.0], [2.0, 0.0]], atol=1e-15)


def test_the_identity_has_orthonormal_rows():
    L = matrix_root(np.eye(5), 5)
    np.testing.assert_allclose(L @ L.T, np.eye(5), atol=1e-14)


def test_a_metric_of_noughts_has_no_rows():
    assert matrix_root(np.zeros((3, 3))).shape == (0, 3)


def test_a_metric_of_whole_numbers_is_one_too():
    L = matrix_root(np.array([[2, 1], [1, 2]]))
    assert L.dtype == np.float64
    np.testing.assert_allclose(L.T @ L, [[2, 1], [1, 2]], atol=1e-14)


def test_one_column():
    np.testing.assert_allclose(np.abs(matrix_root([[16.0]], 1)), [[4.0]])


# Laws


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 8),
    st.integers(1, 8),
    st.sampled_from([1e-300, 1e-20, 1.0, 1e20, 1e300]),
)
def test_the_square_of_the_root_is_the_metric_with_the_longest_row_first(seed, d, rank, unit):
    M = random_metric(seed, d, rank) * unit
    L = matrix_root(M, d)
    assert L.shape == (min(d, rank), d)
    np.testing.assert_allclose(L.T @ L, M, rtol=1e-9, atol=1e-9 * np.abs(M).max())
    lengths = np.linalg.norm(L / np.abs(L).max(), axis=1)
    assert (np.diff(lengths) <= 1e-12).all()


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_squared_lengths_are_those_of_the_metric(seed, d):
    M = random_metric(seed, d, d + 2)
    v = np.random.default_rng(seed + 1).normal(size=(7, d))
    moved = v @ matrix_root(M).T
    np.testing.assert_allclose(
        np.einsum("ij,ij->i", moved, moved), np.einsum("ij,jk,ik->i", v, M, v), rtol=1e-9
    )


def test_the_metric_is_left_as_it_was():
    M = random_metric(0, 4, 4)
    before = M.copy()
    matrix_root(M)
    np.testing.assert_array_equal(M, before)


# Rounding


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_rounding_is_forgiven_to_a_ten_thousand_millionth(unit):
    M = np.diag([1.0, 0.0]) * unit
    M[1, 1] = -1e-12 * unit
    assert matrix_root(M).shape == (1, 2)
    M = np.array([[1.0, 0.5], [0.5 + 1e-12, 1.0]]) * unit
    assert matrix_root(M).shape == (2, 2)


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_more_than_rounding_is_not_forgiven(unit):
    with pytest.raises(ValueError, match="positive semi-definite"):
        matrix_root(np.diag([1.0, -1e-8]) * unit)
    with pytest.raises(ValueError, match="symmetric"):
        matrix_root(np.array([[1.0, 0.5], [0.5 + 1e-8, 1.0]]) * unit)


@pytest.mark.parametrize("M", [[[1e308]], [[1.7e308, 0.0], [0.0, 1e308]]])
def test_the_largest_numbers_there_are(M):
    L = matrix_root(M)
    assert L.shape == np.shape(M)
    np.testing.assert_allclose(L.T @ L, M, rtol=1e-9, atol=1e295)


def test_the_smallest_number_there_is():
    np.testing.assert_allclose(matrix_root([[5e-324]]), [[np.sqrt(5e-324)]])


# Refusals


@pytest.mark.parametrize(
    ("M", "n_features", "words"),
    [
        ([[1.0, 2.0], [3.0, 4.0]], None, r"not symmetric; \(M \+ M.T\) / 2 would be"),
        ([[0.0, 1.0], [1.0, 0.0]], None, "not positive semi-definite.*eigenvalue -1"),
        ([[-1.0, 0.0], [0.0, -1.0]], None, "not positive semi-definite"),
        ([[0.0, 0.0], [0.0, -1.0]], None, "not positive semi-definite"),
        ([[np.nan, 0.0], [0.0, 1.0]], None, "not finite"),
        ([[np.inf, 0.0], [0.0, 1.0]], None, "not finite"),
        (np.eye(2), 3, r"3 columns is a matrix of shape \(3, 3\), got shape \(2, 2\)"),
        (np.ones(3), 3, r"\(3, 3\), got shape \(3,\)"),
        (np.ones((3, 2)), None, r"\(3, 3\), got shape \(3, 2\)"),
        (np.ones((3, 2)), 3, r"\(3, 3\), got shape \(3, 2\)"),
        (np.ones((2, 2, 2)), 2, r"\(2, 2\), got shape \(2, 2, 2\)"),
        (np.array(1.0), 2, r"\(2, 2\), got shape \(\)"),
        (np.array(1.0), None, r"got shape \(\)"),
    ],
)
def test_what_is_no_metric_raises_with_the_reason(M, n_features, words):
    with pytest.raises(ValueError, match=words):
        matrix_root(M, n_features)
