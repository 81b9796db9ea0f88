import numpy as np
import pytest
from tests.reference import scml as twin

from linkshift.metric_learning import embedding as module
from linkshift.metric_learning.embedding import default_sigma, kernel_embedding

X = np.random.default_rng(0).normal(size=(40, 3))
NEW = np.random.default_rng(1).normal(size=(7, 3))


def test_coordinates_are_those_of_kernel_pca_for_old_and_new_rows():
    embedding = kernel_embedding(X, 5, 1.5, np.random.RandomState(0))
    for rows in (X, NEW):
        expected = twin.kernel_pca(X, rows, 1.5, 5)
        # Axes have no sign: squares, and products of two coordinates up to sign.
        np.testing.assert_allclose(np.abs(embedding.transform(rows)), np.abs(expected), atol=1e-8)


def test_mean_squared_length_is_one():
    Z = kernel_embedding(X, 10, 1.0, np.random.RandomState(0)).transform(X)
    assert (Z**2).sum(axis=1).mean() == pytest.approx(1.0)


def test_dimension_is_capped_by_the_rank():
    twins = np.repeat(X[:4], 5, axis=0)
    assert kernel_embedding(twins, 40, 1.0, np.random.RandomState(0)).map.shape == (20, 3)
    alike = kernel_embedding(np.zeros((6, 2)), 40, 1.0, np.random.RandomState(0))
    assert alike.transform(NEW[:, :2]).shape == (7, 0)


def test_chunks_and_draws(monkeypatch):
    whole = kernel_embedding(X, 4, 1.0, np.random.RandomState(0)).transform(NEW)
    monkeypatch.setattr(module, "_CHUNK", 1)
    parts = kernel_embedding(X, 4, 1.0, np.random.RandomState(0)).transform(NEW)
    np.testing.assert_allclose(parts, whole, atol=1e-12)
    monkeypatch.setattr(module, "_EXACT_ROWS", 30)
    monkeypatch.setattr(module, "_LANDMARKS", 20)
    drawn = kernel_embedding(X, 4, 1.0, np.random.RandomState(0))
    assert drawn.landmarks.shape == (20, 3)
    assert drawn.transform(NEW).shape == (7, 4)


def test_default_sigma():
    assert default_sigma(np.array([[0.0], [1.0], [3.0]])) == 1.0
    assert default_sigma(np.array([[0.0], [0.0], [0.0], [0.0], [4.0]])) == pytest.approx(0.8)
