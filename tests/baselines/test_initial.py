import numpy as np
import pytest

from linkshift import Links
from linkshift.baselines._initial import neighbourhood_centres

X = np.array([[0.0], [0.2], [0.4], [5.0], [5.2], [1.0], [1.2], [9.0]])
MUST = [(0, 1), (1, 2), (3, 4), (5, 6)]


def together(must, X):
    return Links(must).closure(len(X)).component


def centres(n_clusters, must=MUST, seed=0):
    random = np.random.RandomState(seed)
    return neighbourhood_centres(X, np.ones(len(X)), together(must, X), n_clusters, random)


def test_the_largest_first_then_the_far_and_large():
    # Means 0.2 (three rows), 5.1 and 1.1 (two rows each).
    np.testing.assert_allclose(centres(3).ravel(), [0.2, 5.1, 1.1])
    np.testing.assert_allclose(centres(2).ravel(), [0.2, 5.1])


def test_size_weighs():
    # 9.0 and its twin are farther than the three rows about 5, but fewer.
    data = np.array([[0.0]] * 5 + [[5.0]] * 4 + [[9.0]] * 2)
    chain = [(i, i + 1) for i in range(10) if i not in (4, 8)]
    found = neighbourhood_centres(
        data, np.ones(len(data)), together(chain, data), 2, np.random.RandomState(0)
    )
    np.testing.assert_allclose(found.ravel(), [0.0, 5.0])


def test_rest_is_drawn_from_the_rows():
    found = centres(5)
    np.testing.assert_allclose(found[:3].ravel(), [0.2, 5.1, 1.1])
    assert set(found[3:].ravel()) <= set(X.ravel())


@pytest.mark.parametrize("seed", range(3))
def test_draws_favour_far_rows(seed):
    # All rows but one coincide with the centre: only that one has a chance.
    data = np.array([[0.0], [0.0], [0.0], [3.0]])
    found = neighbourhood_centres(
        data, np.ones(len(data)), together([(0, 1)], data), 2, np.random.RandomState(seed)
    )
    np.testing.assert_allclose(found.ravel(), [0.0, 3.0])


def test_identical_rows_still_give_centres():
    data = np.zeros((4, 2))
    found = neighbourhood_centres(
        data, np.ones(len(data)), together([(0, 1)], data), 3, np.random.RandomState(0)
    )
    assert found.shape == (3, 2)


def test_without_must_links_it_is_k_means_plus_plus():
    assert centres(4, must=None).shape == (4, 1)
