"""Spectral clustering by a factor: against the matrix that is never made."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score

from linkshift.groups.spectral import _left_singular, kernel_factor, spectral_clusters


def gaussian(seed=0, n=60, n_clusters=3, apart=3.0):
    rng = np.random.RandomState(seed)
    y = np.arange(n) % n_clusters
    X = rng.normal(size=(n, 2)) + apart * rng.normal(size=(n_clusters, 2))[y]
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    return np.exp(-squared / np.median(squared)), y


@given(st.integers(0, 999), st.integers(1, 12), st.integers(1, 20), st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_left_singular_vectors_are_those_of_the_decomposition(seed, n, width, k):
    matrix = np.random.RandomState(seed).normal(size=(n, width))
    found = _left_singular(matrix, k)
    expected = np.linalg.svd(matrix, full_matrices=False)[0][:, :k]
    # Where k > rank the wide case fills up with vectors of zero, which span nothing new.
    np.testing.assert_allclose(
        expected @ expected.T @ found[:, -expected.shape[1] :],
        found[:, -expected.shape[1] :],
        atol=1e-6,
    )


@pytest.mark.parametrize("seed", range(4))
def test_all_samples_as_landmarks_give_the_kernel(seed):
    kernel, _ = gaussian(seed)
    factor = kernel_factor(kernel, np.arange(len(kernel)))
    np.testing.assert_allclose(factor @ factor.T, kernel, atol=1e-4)


def test_few_landmarks_give_their_own_columns():
    kernel, _ = gaussian()
    landmarks = np.array([3, 8, 20, 41])
    factor = kernel_factor(kernel[:, landmarks], landmarks)
    np.testing.assert_allclose(factor @ factor[landmarks].T, kernel[:, landmarks], atol=1e-8)


def test_what_is_not_semi_definite_is_left_out():
    factor = kernel_factor(np.array([[1.0, 2.0], [2.0, 1.0]]), [0, 1])
    np.testing.assert_allclose(factor @ factor.T, np.full((2, 2), 1.5))


@pytest.mark.parametrize("seed", range(4))
def test_clusters_are_those_of_the_whole_matrix(seed):
    kernel, _ = gaussian(seed, apart=5.0)
    labels, distances = spectral_clusters(
        kernel_factor(kernel, np.arange(len(kernel))), 3, random_state=seed
    )
    theirs = SpectralClustering(3, affinity="precomputed", random_state=seed).fit_predict(kernel)
    assert adjusted_rand_score(labels, theirs) > 0.9
    np.testing.assert_array_equal(distances.argmin(axis=1), labels)
    again = spectral_clusters(kernel_factor(kernel, np.arange(len(kernel))), 3, random_state=seed)[
        0
    ]
    np.testing.assert_array_equal(labels, again)
