import numpy as np
import pytest
from tests.reference import scml as twin

from linkshift import Links
from linkshift.metric_learning import bases as module
from linkshift.metric_learning.bases import label_bases, link_bases
from linkshift.metric_learning.triplets import link_triplets


def mixture(n=120, d=4, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.normal(size=(n, d)) + 2.0 * rng.normal(size=(classes, d))[y], y


def random():
    return np.random.RandomState(0)


@pytest.mark.parametrize(("d", "classes"), [(4, 3), (2, 4), (6, 2)])
def test_directions_are_fishers(d, classes):
    X, y = mixture(d=d, classes=classes)
    groups = [np.flatnonzero(y == c) for c in range(classes)]
    count = min(classes - 1, d)
    ours = module._discriminants(X, groups, count)
    theirs = twin.discriminants(X, y, module._RIDGE)[:count]
    np.testing.assert_allclose(np.abs(np.sum(ours * theirs, axis=1)), 1.0, rtol=1e-6)


def test_bases_are_of_unit_length_different_and_as_many_as_asked():
    X, y = mixture(n=300)
    B = label_bases(X, y, 50, random())
    assert B.shape == (50, 4)
    np.testing.assert_allclose(np.linalg.norm(B, axis=1), 1.0)
    likeness = np.abs(B @ B.T) - np.eye(50)
    assert likeness.max() < 1 - 1e-12


def test_two_classes_side_by_side_give_their_axis():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = np.column_stack((8.0 * y + rng.normal(size=120), rng.normal(size=120)))
    B = label_bases(X, y, 3, random())
    assert (np.abs(B[:, 0]) > 0.97).all()


def test_links_give_the_axis_that_they_speak_of():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    X = np.column_stack((6.0 * y + rng.normal(size=80), 3.0 * rng.normal(size=80)))
    links = Links.sample(y, 60, random_state=0)
    B = link_bases(X, link_triplets(X, links), 20, random())
    assert abs(B[0, 0]) > 0.97
    np.testing.assert_allclose(np.linalg.norm(B, axis=1), 1.0)


def test_unsure_links_count_less():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [2.0, 3.0], [2.5, 2.0]])
    pairs = {"must": [(0, 1), (3, 4)], "cannot": [(0, 2), (3, 5)]}
    sure = link_triplets(X, Links(**pairs))
    unsure = link_triplets(X, Links(**pairs, cannot_confidence=[1.0, 0.1]))
    one, other = (link_bases(X, t, 4, random())[:2] for t in (sure, unsure))
    assert not np.allclose(one, other)


def test_one_column_has_one_direction():
    X, y = mixture(d=1)
    np.testing.assert_array_equal(label_bases(X, y, 30, random()), [[1.0]])


def test_constant_columns_take_no_part():
    X, y = mixture()
    X[:, 2] = 5.0
    B = label_bases(X - X.mean(axis=0), y, 20, random())
    np.testing.assert_allclose(B[:, 2], 0.0, atol=1e-12)


def test_duplicates_and_fewer_rows_than_neighbours():
    X = np.repeat(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0], [1.0, 3.0]]), 2, axis=0)
    B = label_bases(X, np.repeat([0, 1, 0, 1], 2), 40, random())
    assert 1 <= len(B) <= 40
    np.testing.assert_allclose(np.abs(B[0]), [1.0, 0.0], atol=1e-12)


def test_rows_that_are_all_alike_raise():
    with pytest.raises(ValueError, match="all alike"):
        label_bases(np.zeros((6, 2)), np.array([0, 0, 0, 1, 1, 1]), 5, random())
