"""Smoothed assignments against the energy, in its literal form."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import smoothing as twin

from linkshift.image import segment, smooth_assignments


def problem(seed, k=3, size=(7, 9)):
    rng = np.random.default_rng(seed)
    return rng.integers(0, k, size=size), rng.integers(0, 20, size=(*size, k)) / 4.0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4), st.sampled_from([0.25, 1.0, 3.0]))
def test_labels_are_those_of_the_twin_and_energy_falls(seed, k, weight):
    labels, costs = problem(seed, k)
    found = smooth_assignments(labels, costs, weight=weight)
    np.testing.assert_array_equal(found, twin.smooth(labels, costs, weight))
    assert twin.energy(found, costs, weight) <= twin.energy(labels, costs, weight)
    np.testing.assert_array_equal(smooth_assignments(found, costs, weight=weight), found)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6))
def test_without_costs_most_neighbours_decide(seed, k):
    labels, costs = problem(seed, k)
    found = smooth_assignments(labels)
    np.testing.assert_array_equal(found, twin.smooth(labels, 0.0 * costs, 1.0))
    np.testing.assert_array_equal(found, smooth_assignments(labels, weight=7.0))


def test_sweeps_can_be_few():
    labels, costs = problem(1, size=(20, 20))
    one = smooth_assignments(labels, costs, max_iter=1)
    np.testing.assert_array_equal(one, twin.smooth(labels, costs, 1.0, max_iter=1))
    assert (one != smooth_assignments(labels, costs)).any()


def test_a_speck_goes_and_an_edge_stays():
    labels = np.repeat([[0] * 5 + [1] * 5], 8, axis=0)
    speckled = labels.copy()
    speckled[3, 2], speckled[5, 8] = 1, 0
    np.testing.assert_array_equal(smooth_assignments(speckled), labels)


@pytest.mark.parametrize(
    ("labels", "more", "error", "words"),
    [
        ([0, 1], {}, ValueError, "shape"),
        ([[0.5]], {}, ValueError, "whole numbers"),
        (np.zeros((0, 3), int), {}, ValueError, "shape"),
        ([[-1]], {}, ValueError, "from 0 on"),
        ([[2**40]], {}, ValueError, "from 0 on"),
        ([[0, 1]], {"costs": np.zeros((1, 2, 1))}, ValueError, "each label"),
        ([[0, 1]], {"costs": np.full((1, 2, 2), np.nan)}, ValueError, "finite"),
        ([[0]], {"weight": 0.0}, ValueError, "positive"),
        ([[0]], {"weight": "1"}, TypeError, "number"),
        ([[0]], {"max_iter": 0}, ValueError, "at least 1"),
    ],
)
def test_what_is_refused(labels, more, error, words):
    with pytest.raises(error, match=words):
        smooth_assignments(labels, **more)


def test_segments_of_k_means_are_smoothed():
    pytest.importorskip("skimage")
    rng = np.random.default_rng(0)
    levels = np.repeat([[90] * 20 + [160] * 20], 30, axis=0)
    image = np.clip(levels + 40 * rng.normal(size=(30, 40)), 0, 255).astype(np.uint8)
    run = {"n_segments": 2, "features": "intensity", "min_size": 1, "random_state": 0}
    rough, fine = (segment(image, "kmeans", smooth=s, **run) for s in (None, 2.0))
    assert fine.max() < rough.max() / 10
    twice = segment(image, "kmeans", smooth=2.0, connected=False, **run)
    wrong = (twice != (levels > 100)).mean()
    assert min(wrong, 1 - wrong) < 0.03
    with pytest.raises(ValueError, match="smooth has no meaning"):
        segment(image, smooth=1.0)
    with pytest.raises(ValueError, match="positive"):
        segment(image, "kmeans", smooth=-1.0, **run)
