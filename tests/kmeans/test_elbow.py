"""How many clusters: the elbow rule, and the largest jump of rows that are held out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkshift
from linkshift import kmeans_elbow
from linkshift.kmeans import elbow_point
from linkshift.kmeans.elbow import _largest_jump, _spread


def test_the_elbow_by_hand():
    # Of (0, 1), (1/3, 0.2), (2/3, 0.1), (1, 0) the second is farthest below the diagonal.
    assert elbow_point([1, 2, 3, 4], [100.0, 20.0, 10.0, 0.0]) == 2
    assert elbow_point([1, 2, 3, 4], [100.0, 90.0, 10.0, 0.0]) == 3


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.floats(0.0, 100.0), min_size=3, max_size=9),
    st.floats(0.5, 1e3),
    st.floats(-1e2, 1e2),
)
def test_the_elbow_is_the_farthest_from_the_chord(values, scale, shift):
    """Against the distance of points and line, whatever the units are."""
    y = np.sort(np.array(values))[::-1]
    k = np.arange(1, len(y) + 1)
    if y[0] - y[-1] < 1e-3:
        return
    found = elbow_point(k, y)
    u, v = (k - 1) / (k[-1] - 1), (y - y[-1]) / (y[0] - y[-1])
    below = (1.0 - u - v) / np.sqrt(2.0)  # of the line from (0, 1) to (1, 0)
    assert below[found - 1] == pytest.approx(below.max(), abs=1e-9)
    again = elbow_point(k, y * scale + shift)
    assert below[again - 1] == pytest.approx(below.max(), abs=1e-6)


@pytest.mark.parametrize("inertia", [[5.0, 5.0, 5.0], [0.0, 0.0, 0.0], [1.0, 2.0, 3.0]])
def test_without_a_fall_the_least(inertia):
    assert elbow_point([2, 3, 4], inertia) == 2


@pytest.mark.parametrize(
    ("k", "y"), [([], []), ([1, 2], [1.0]), ([2, 1], [1.0, 2.0]), ([[1]], [[1.0]])]
)
def test_curves_that_are_refused(k, y):
    with pytest.raises(ValueError, match="one length"):
        elbow_point(k, y)


def blobs(k, d=2, n=240, seed=0):
    rng = np.random.default_rng(seed)
    centres = 6.0 * np.eye(max(k, d))[:k, :d] if k <= d else rng.uniform(0, 40, size=(k, d))
    return centres[np.arange(n) % k] + rng.normal(size=(n, d)) * 0.5


@pytest.mark.parametrize(("k", "d"), [(1, 3), (3, 3), (5, 5), (6, 8)])
def test_rows_held_out_find_the_number(k, d):
    curve = kmeans_elbow(blobs(k, d), range(1, 10), held_out=4, random_state=0)
    assert curve.suggested == k
    assert curve.n_clusters.tolist() == list(range(1, 10))
    assert (curve.held_out[1:] > curve.inertia[1:]).all()


def test_the_sums_are_literal():
    X = blobs(3)
    curve = kmeans_elbow(X, [1, 3], held_out=2, random_state=5)
    assert curve.inertia[0] == pytest.approx(((X - X.mean(axis=0)) ** 2).sum())
    random = np.random.RandomState(5)
    random.randint(np.iinfo(np.int32).max, size=1)  # the draws of two fits
    random.randint(np.iinfo(np.int32).max, size=4)
    part = random.permutation(len(X)) % 2
    expected = sum(((X[part == p] - X[part != p].mean(axis=0)) ** 2).sum() for p in (0, 1))
    assert curve.held_out[0] == pytest.approx(expected)


def test_the_jump_by_hand():
    # With two effective columns the power is -1: 1/12, 1/4, 1/3 jump by 1/12, 1/6, 1/12.
    assert _largest_jump(np.array([1, 2, 3]), np.array([12.0, 4.0, 3.0]), 2.0) == 2
    # From 1 to 4 are three clusters more: 1/12 from nothing is the largest then.
    assert _largest_jump(np.array([1, 4, 5]), np.array([12.0, 6.0, 5.9]), 2.0) == 1
    assert _largest_jump(np.array([2, 3]), np.array([1.0, 1.5]), 2.0) == 2  # no fall
    assert _largest_jump(np.array([1, 2, 3]), np.array([1.0, 0.0, 0.0]), 2.0) == 2
    assert _largest_jump(np.array([7]), np.array([1.0]), 2.0) == 7


def test_effective_columns():
    rng = np.random.default_rng(0)
    assert _spread(rng.normal(size=(5000, 4))) == pytest.approx(4.0, rel=0.02)
    line = np.outer(rng.normal(size=50), [1.0, 2.0, 3.0])
    assert _spread(line) == pytest.approx(1.0)
    wide = rng.normal(size=(20, 60))
    values = np.linalg.eigvalsh(np.cov(wide.T))
    assert _spread(wide) == pytest.approx(values.sum() ** 2 / (values**2).sum())
    assert _spread(np.ones((4, 2))) == 1.0


def test_by_directions():
    """Rows of three directions and any length are three clusters."""
    rng = np.random.default_rng(0)
    X = np.eye(3)[np.arange(90) % 3] + 0.05 * rng.normal(size=(90, 3))
    X *= rng.uniform(0.1, 100.0, size=(90, 1))
    curve = kmeans_elbow(X, range(1, 8), held_out=3, metric="cosine", random_state=0)
    assert curve.suggested == 3
    scaled = kmeans_elbow(8.0 * X, range(1, 8), held_out=3, metric="cosine", random_state=0)
    np.testing.assert_array_equal(curve.inertia, scaled.inertia)


def test_threads_do_not_matter():
    one, two = (
        kmeans_elbow(blobs(4, 5), [2, 4], held_out=3, init="random", random_state=0, n_jobs=n)
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one.inertia, two.inertia)
    np.testing.assert_array_equal(one.held_out, two.held_out)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"n_clusters": []}, ValueError, "empty"),
        ({"n_clusters": [0]}, ValueError, "at least 1"),
        ({"n_clusters": [1.5]}, TypeError, "whole"),
        ({"n_clusters": [11]}, ValueError, "of 10 rows"),
        ({"n_clusters": [9], "held_out": 5}, ValueError, "of 8 rows that are not held out"),
        ({"held_out": 1, "n_clusters": [1]}, ValueError, "no number of parts"),
        ({"held_out": 11, "n_clusters": [1]}, ValueError, "no number of parts"),
        ({"held_out": -1}, ValueError, "at least 1"),
        ({"metric": "manhattan"}, ValueError, "manhattan"),
        ({"init": "first"}, ValueError, "k-means"),
    ],
)
def test_what_is_refused(given, error, words):
    with pytest.raises(error, match=words):
        kmeans_elbow(np.arange(10.0)[:, None], **given)


def test_numbers_too_large_to_square_are_refused():
    with pytest.raises(ValueError, match="infinite"):
        linkshift.kmeans_elbow([[1e200], [0.0]], [1])
