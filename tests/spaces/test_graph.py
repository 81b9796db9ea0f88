"""The graph of neighbours, beside dense matrices of tests/reference/neighbour_graph.py."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from tests.helpers import blobs
from tests.reference import neighbour_graph as twin

from linkshift.spaces import graph as module
from linkshift.spaces.graph import N_AXES, mean_of_neighbours, neighbour_graph, spectrum

seeds = st.integers(0, 2**32 - 1)


def rows(seed, n, d):
    return np.random.default_rng(seed).normal(size=(n, d))


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(3, 45), st.sampled_from([1, 2, 5, 20]), st.integers(2, 14))
def test_weights_are_the_formula(seed, n, d, n_neighbors):
    X = rows(seed, n, d)
    found = neighbour_graph(X, n_neighbors).weights
    np.testing.assert_allclose(found.toarray(), twin.weights(X, n_neighbors), rtol=1e-9)


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(2, 60), st.integers(1, 20), st.integers(2, 25), st.integers(0, 30))
def test_weights_are_symmetric_and_between_zero_and_one(seed, n, d, n_neighbors, n_twins):
    X = rows(seed, n, d)
    X[: min(n_twins, n)] = X[0]
    graph = neighbour_graph(X, n_neighbors)
    assert (abs(graph.weights - graph.weights.T)).max() == 0
    assert graph.weights.data.min() >= 1e-4
    assert graph.weights.data.max() <= 1
    assert graph.weights.diagonal().max() == 0
    assert (np.diff(graph.distances, axis=1) >= 0).all()
    assert (graph.neighbours != np.arange(n)[:, None]).all()
    assert (np.diff(graph.weights.indptr) >= min(n_neighbors, n - 1)).all()


def test_neighbours_are_more_than_edges():
    graph = neighbour_graph(rows(0, 60, 2), 5)
    assert graph.neighbours.shape == (60, 20)
    assert neighbour_graph(rows(0, 60, 2), 30).neighbours.shape == (60, 30)
    assert neighbour_graph(rows(0, 7, 2), 10).neighbours.shape == (7, 6)


@settings(max_examples=20, deadline=None)
@given(seeds, st.floats(1e-6, 1e6), st.sampled_from([2, 20]))
def test_units_and_the_origin_do_not_matter(seed, scale, d):
    X = rows(seed, 40, d)
    here, there = neighbour_graph(X).weights, neighbour_graph(scale * (X + 3.0)).weights
    np.testing.assert_allclose(there.toarray(), here.toarray(), rtol=1e-6)


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(2, 40), st.integers(1, 20))
def test_smoothed_rows_are_means(seed, n, d):
    X = rows(seed, n, d)
    found = mean_of_neighbours(X, neighbour_graph(X))
    np.testing.assert_allclose(found, twin.smoothed(X), rtol=1e-9, atol=1e-12)


def test_smoothed_rows_of_small_numbers_are_double():
    X = rows(0, 30, 3).astype(np.float32)
    assert mean_of_neighbours(X, neighbour_graph(X)).dtype == np.float64


# Diffusion


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(3, 40), st.sampled_from([1, 2, 4, 16]))
def test_distances_of_all_coordinates_are_diffusion_distances(seed, n, time):
    # Without negative eigenvalues, as of a Gaussian kernel.
    W = rbf_kernel(rows(seed, n, 2), gamma=2.0)
    found = spectrum(sparse.csr_matrix(W), n_axes=n).diffusion(time)
    np.testing.assert_allclose(
        euclidean_distances(found), twin.diffusion_distances(W, time), atol=1e-6
    )


@settings(max_examples=20, deadline=None)
@given(seeds, st.integers(3, 40), st.sampled_from([4, 16]))
def test_walks_that_go_back_and_forth_are_left_out(seed, n, time):
    # Negative eigenvalues are such walks; without them distances are smaller, by what they add.
    X = rows(seed, n, 2)
    axes = spectrum(neighbour_graph(X).weights, n_axes=n)
    W = twin.weights(X)
    far = euclidean_distances(axes.diffusion(time)) ** 2
    back = axes.vectors * np.sqrt(W.sum() / W.sum(axis=1))[:, None]
    back = back * np.minimum(axes.values, 0.0) ** time
    far += euclidean_distances(back) ** 2
    np.testing.assert_allclose(np.sqrt(far), twin.diffusion_distances(W, time), atol=1e-6)


@pytest.mark.parametrize("n", [20, 60, 700])
def test_leading_eigenpairs(n):
    X = rows(n, n, 3)
    graph = neighbour_graph(X)
    values, vectors, degree = found = graph.spectrum()
    m = min(N_AXES, n)
    W = graph.weights.toarray()
    np.testing.assert_allclose(values, twin.eigenvalues(W)[:m], atol=1e-5)
    np.testing.assert_allclose(degree, W.sum(axis=1))
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(m), atol=1e-6)
    root = np.diag(1 / np.sqrt(degree))
    np.testing.assert_allclose(root @ W @ root @ vectors, vectors * values, atol=1e-4)
    assert found.diffusion(4).shape == (n, m)


def test_each_connected_part_has_an_eigenvalue_of_one():
    X, y = blobs(90, 2, k=3, std=0.1)
    axes = neighbour_graph(X).spectrum()
    np.testing.assert_allclose(axes.values[:3], 1.0)
    assert axes.values[3] < 1 - 1e-6
    places = axes.diffusion(1000)  # walks have forgotten all but their part
    assert max(np.ptp(places[y == c], axis=0).max() for c in range(3)) < 1e-6


def test_where_arnoldi_fails_all_eigenvectors_are_worked_out(monkeypatch):
    weights = neighbour_graph(rows(0, 700, 2)).weights
    expected = spectrum(weights).values

    def fail(*_, **__):
        raise ArpackNoConvergence("no convergence", np.empty(0), np.empty(0))

    monkeypatch.setattr(module, "eigsh", fail)
    np.testing.assert_allclose(spectrum(weights).values, expected, atol=1e-5)
