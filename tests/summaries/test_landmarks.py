"""Mean shift on landmarks: the formula, the rows' own when they are all landmarks, and labels."""

import pickle

import numpy as np
import pytest
from tests.helpers import blobs
from tests.reference import scale as twin

from linkshift import MeanShift
from linkshift.profiles import Profile
from linkshift.shift.engine import ascend
from linkshift.summaries import (
    Landmarks,
    landmark_density,
    place_landmarks,
    summarise,
    widened_bandwidth,
)
from linkshift.summaries import landmarks as module

KERNELS = [Profile(name) for name in ("flat", "epanechnikov", "gaussian")] + [
    Profile("truncated_gaussian", reach=2.0)
]


@pytest.mark.parametrize("profile", KERNELS, ids=lambda profile: profile.name)
def test_landmarks_climb_as_the_formula_says(profile):
    X, _ = blobs(200, 4, k=3)
    h = 2.0 / profile.spread(4) / 2.0
    summary = summarise(X, 25)
    density = landmark_density(summary, h, profile)
    ends = ascend(density, summary.points, tol=1e-10, max_iter=2000).ends
    for i in range(0, 25, 5):
        expected = twin.climb(*summary[:3], h, profile, summary.points[i])
        np.testing.assert_allclose(ends[i], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("profile", KERNELS, ids=lambda profile: profile.name)
def test_widened_bandwidths(profile):
    for spread in (0.0, 0.5, 30.0):
        found = widened_bandwidth(np.array([spread]), 1.5, profile, 3)
        np.testing.assert_allclose(found, twin.widened(spread, 1.5, profile, 3))


def labelled(X, m, h, kernel="gaussian"):
    profile = Profile(kernel)
    density = landmark_density(summarise(X, m), h, profile)
    exact = MeanShift(bandwidth=h, kernel=kernel, landmarks=None).fit(X)
    modes = exact._state.modes
    ends = ascend(density, density.inputs()["X"]).ends
    label = np.linalg.norm(ends[:, None] - modes.centers[None], axis=2).argmin(axis=1)
    return place_landmarks(density, label), exact


@pytest.mark.parametrize("m", [60, 1500])  # all around, or those of some cells
@pytest.mark.parametrize("d", [2, 5, 70])
def test_rows_go_where_they_climb(d, m, monkeypatch):
    monkeypatch.setattr(module, "_NEARBY", 300)
    X = blobs(4000, d, k=6)[0].astype(np.float32)
    landmarks, exact = labelled(X, m, 1.5 * d**0.25)
    assert (len(landmarks.coarse) == 1) == (m == 60)
    labels = landmarks.label(X)
    assert np.mean(labels == exact.labels_) > 0.99
    np.testing.assert_array_equal(labels, landmarks.label(X, n_threads=3))
    order = np.random.default_rng(0).permutation(len(X))
    assert np.mean(labels[order] == landmarks.label(X[order])) > 0.999


def test_a_landmark_keeps_its_label():
    X, _ = blobs(500, 4)
    density = landmark_density(summarise(X, 500), 2.0, Profile("gaussian"))
    any_labels = np.random.default_rng(0).integers(5, size=500)
    landmarks = place_landmarks(density, any_labels)
    np.testing.assert_array_equal(landmarks.label(X), any_labels)


def test_parts_of_rows_change_nothing(monkeypatch):
    X, _ = blobs(3000, 4)
    landmarks, _ = labelled(X, 100, 2.0)
    whole = landmarks.label(X)
    monkeypatch.setattr(module, "_ENTRIES", 4 * 700)
    np.testing.assert_array_equal(landmarks.label(X), whole)


def test_no_rows_and_far_rows():
    X, _ = blobs(600, 3)
    landmarks, _ = labelled(X, 50, 2.0, "flat")
    assert isinstance(landmarks, Landmarks)
    assert landmarks.label(X[:0]).shape == (0,)
    far = landmarks.label(X[:1] + 1e4)
    assert 0 <= far[0] <= landmarks.labels.max()


@pytest.mark.parametrize("kept", [0, 1 << 22])
def test_rows_in_parts_have_the_same_labels(kept, monkeypatch):
    """Densities around cells are kept between parts, where they are small, and do not travel."""
    monkeypatch.setattr(module, "_KEPT", kept)
    X = np.random.default_rng(0).normal(size=(6_000, 4))
    summary = summarise(X, 2_000)
    density = landmark_density(summary, 0.5, Profile("gaussian"))
    placed = place_landmarks(density, np.arange(len(summary.points)) % 7)
    fresh = len(pickle.dumps(placed))
    whole = placed.label(X)
    assert len(placed._around) == (len(placed.coarse) if kept else 0)
    assert len(pickle.dumps(placed)) == fresh
    for again in (placed, pickle.loads(pickle.dumps(placed))):
        parts = [again.label(part) for part in np.array_split(X, 5)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)
