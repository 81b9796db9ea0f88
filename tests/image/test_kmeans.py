"""The elbow of an image's pixels."""

import numpy as np
import pytest

import linkshift
from linkshift.image import kmeans_elbow, pixel_features

pytest.importorskip("skimage", reason="scikit-image is not installed")


def patches(levels, side=6):
    return np.repeat(np.repeat(np.array([levels], dtype=np.uint8), side, axis=0), side, axis=1)


def test_three_greys():
    curve = kmeans_elbow(patches([0, 120, 255]), range(1, 8), features="intensity", random_state=0)
    assert curve.suggested == 3
    assert curve.n_clusters.tolist() == list(range(1, 8))
    assert (np.diff(curve.inertia) <= 1e-6).all()
    np.testing.assert_allclose(curve.inertia[2:], 0.0, atol=1e-6)


def test_it_is_the_elbow_of_the_features():
    image = np.random.default_rng(0).integers(0, 256, size=(9, 8), dtype=np.uint8)
    options = {"held_out": 3, "init": "greedy", "random_state": 0}
    curve = kmeans_elbow(image, [1, 2, 5], features="rgb", **options)
    rows = linkshift.kmeans_elbow(pixel_features(image, "rgb").reshape(72, 3), [1, 2, 5], **options)
    np.testing.assert_array_equal(curve.held_out, rows.held_out)
    np.testing.assert_array_equal(curve.inertia, rows.inertia)


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
