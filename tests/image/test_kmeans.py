"""The elbow rule, and k-means that does not depend on threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from linkshift.image import kmeans_elbow
from linkshift.image.kmeans import elbow_point, fit_kmeans

pytest.importorskip("skimage", reason="scikit-image is not installed")


def patches(levels, side=6):
    return np.repeat(np.repeat(np.array([levels], dtype=np.uint8), side, axis=0), side, axis=1)


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


def test_three_greys():
    curve = kmeans_elbow(patches([0, 120, 255]), range(1, 8), features="intensity", random_state=0)
    assert curve.suggested == 3
    assert curve.n_segments.tolist() == list(range(1, 8))
    assert (np.diff(curve.inertia) <= 1e-6).all()
    np.testing.assert_allclose(curve.inertia[2:], 0.0, atol=1e-6)


def test_the_sum_of_squares_is_literal():
    image = np.random.default_rng(0).integers(0, 256, size=(9, 8), dtype=np.uint8)
    curve = kmeans_elbow(image, [1], features="rgb", random_state=0)
    points = np.repeat(image.reshape(-1, 1) / 2.55, 3, axis=1)
    expected = ((points - points.mean(axis=0)) ** 2).sum()
    assert curve.inertia[0] == pytest.approx(expected, rel=1e-4)


def test_many_pixels_are_sampled_repeatably():
    image = np.random.default_rng(0).integers(0, 256, size=(160, 150, 3), dtype=np.uint8)
    first, again = (kmeans_elbow(image, [1, 3], random_state=4, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(first.inertia, again.inertia)


@pytest.mark.parametrize(
    ("numbers", "error", "words"),
    [([], ValueError, "empty"), ([0], ValueError, "at least 1"), ([1.5], TypeError, "whole")],
)
def test_numbers_that_are_refused(numbers, error, words):
    with pytest.raises(error, match=words):
        kmeans_elbow(patches([0, 9]), numbers)


def test_not_worse_than_one_start_and_the_same_for_any_threads():
    points = np.random.default_rng(1).random((400, 3)).astype(np.float32)
    fits = [fit_kmeans(points, 7, n, np.random.RandomState(3)) for n in (1, 2, 3)]
    np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)
    np.testing.assert_array_equal(fits[0].labels_, fits[2].labels_)
    seeds = np.random.RandomState(3).randint(np.iinfo(np.int32).max, size=4)
    alone = [KMeans(7, n_init=1, random_state=seed).fit(points).inertia_ for seed in seeds]
    assert fits[0].inertia_ == pytest.approx(min(alone), rel=1e-5)


def test_many_points_are_all_taken_into_account():
    """Starts are from a sample; what comes out is settled for all points."""
    points = np.random.default_rng(1).random((30_000, 2)).astype(np.float32)
    model = fit_kmeans(points, 3, 2, np.random.RandomState(0))
    again = fit_kmeans(points, 3, 1, np.random.RandomState(0))
    np.testing.assert_array_equal(model.labels_, again.labels_)
    means = np.stack([points[model.labels_ == c].mean(axis=0) for c in range(3)])
    np.testing.assert_allclose(model.cluster_centers_, means, atol=5e-3)


def test_more_clusters_than_pixels_are_refused():
    with pytest.raises(ValueError, match="more than the 4 pixels"):
        fit_kmeans(np.zeros((4, 1)), 5, 1, np.random.RandomState(0))
