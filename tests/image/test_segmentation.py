"""Segmentation by its laws, against its parts in slow form, on every kind of image, at the door."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from tests.reference import image_filter, image_regions

from linkshift.image import pixel_features, segment, segmentation_covering
from linkshift.image.regions import connected_regions
from linkshift.image.segmentation import _SPECK

pytest.importorskip("skimage", reason="scikit-image is not installed")

METHODS = [{"method": "mean_shift"}, {"method": "kmeans", "n_segments": 3, "random_state": 0}]
both = pytest.mark.parametrize("method", METHODS, ids=lambda m: m["method"])
seeds = st.integers(0, 10**6)


def noisy_patches(shape=(24, 30, 3), seed=0, *, noise=6.0):
    """Four patches of one colour each, with noise: uint8."""
    rng = np.random.default_rng(seed)
    h, w, c = shape
    palette = rng.permutation(np.linspace(20, 230, 4 * c)).reshape(2, 2, c)
    rows, columns = np.arange(h) * 2 // h, np.arange(w) * 2 // w
    image = palette[rows[:, None], columns[None, :]] + rng.normal(scale=noise, size=shape)
    return image.clip(0, 255).round().astype(np.uint8)


def truth(shape):
    return (np.arange(shape[0]) * 2 // shape[0])[:, None] * 2 + np.arange(shape[1]) * 2 // shape[1]


def test_patches_are_found():
    image = noisy_patches()
    expected = truth(image.shape)
    assert segmentation_covering(segment(image), expected) == 1.0
    found = segment(image, "kmeans", n_segments=4, random_state=0)
    assert segmentation_covering(found, expected) == 1.0


@pytest.mark.parametrize(
    "features", ["lab", {"intensity": 1.0, "chroma": 2.0}, {"lab": 1.0, "texture": 0.3}]
)
@pytest.mark.parametrize("seed", [0, 1])
def test_mean_shift_is_its_stages_one_after_the_other(seed, features):
    """Modes, regions and merging by the literal twins."""
    image = noisy_patches((12, 14, 3), seed, noise=25.0)
    h_s, h_r, merge, least = 3.0, 9.0, 14.0, 9
    values, places = image_filter.converged(pixel_features(image, features), h_s, h_r)
    labels = image_regions.mode_regions(values, places, h_s, h_r)
    own = pixel_features(image, features).astype(np.float64)
    labels = image_regions.merge(labels, own, [-1.0], min(_SPECK, least))
    labels = image_regions.merge(labels, own, [merge / 2 ** (k / 2) for k in range(11, -1, -1)])
    labels = image_regions.merge(labels, own, [-1.0], least)
    found = segment(
        image,
        spatial_bandwidth=h_s,
        range_bandwidth=h_r,
        merge_bandwidth=merge,
        min_size=least,
        features=features,
    )
    assert 1 < labels.max() + 1 < 20
    np.testing.assert_array_equal(found, labels)


def test_kmeans_is_scikit_learns():
    """On clusters that leave no doubt, parts and all."""
    image = np.zeros((9, 20), dtype=np.uint8)
    image[:, 5:10] = 120
    image[:, 15:] = 250
    found = segment(image, "kmeans", n_segments=3, features="intensity", connected=False)
    model = KMeans(3, n_init=4, random_state=0).fit(image.reshape(-1, 1))
    assert segmentation_covering(found, model.labels_.reshape(image.shape)) == 1.0
    assert found[0].tolist() == [0] * 5 + [1] * 5 + [0] * 5 + [2] * 5
    parts = segment(image, "kmeans", n_segments=3, features="intensity")
    assert parts[0].tolist() == [0] * 5 + [1] * 5 + [2] * 5 + [3] * 5


@both
@settings(max_examples=12, deadline=None)
@given(seed=seeds, noise=st.floats(0.0, 60.0), min_size=st.integers(1, 60))
def test_labels_are_connected_large_enough_and_in_order(method, seed, noise, min_size):
    image = noisy_patches((13, 17, 3), seed, noise=noise)
    labels = segment(image, **method, min_size=min_size)
    assert labels.dtype == np.int32
    assert labels.shape == image.shape[:2]
    # Of connected regions in the order of their first pixels this changes nothing.
    np.testing.assert_array_equal(connected_regions(labels), labels)
    assert np.bincount(labels.ravel()).min() >= min_size


@both
@settings(max_examples=8, deadline=None)
@given(seed=seeds, noise=st.floats(0.0, 60.0))
def test_labels_that_need_not_be_connected_are_unions_of_those_that_are(method, seed, noise):
    image = noisy_patches((13, 17, 3), seed, noise=noise)
    parts = segment(image, **method, min_size=4)
    labels = segment(image, **method, min_size=4, connected=False)
    pairs = set(zip(parts.ravel().tolist(), labels.ravel().tolist(), strict=True))
    assert len(pairs) == parts.max() + 1
    assert sorted(set(labels.ravel().tolist())) == list(range(labels.max() + 1))
    first = [int(np.flatnonzero(labels.ravel() == k)[0]) for k in range(labels.max() + 1)]
    assert first == sorted(first)


def test_mean_shift_joins_what_is_apart_and_alike():
    image = np.full((10, 30, 3), 40, dtype=np.uint8)
    image[:, 10:20] = (200, 90, 60)
    assert segment(image)[0, [0, 15, 29]].tolist() == [0, 1, 2]
    assert segment(image, connected=False)[0, [0, 15, 29]].tolist() == [0, 1, 0]


@both
@pytest.mark.parametrize("shape", [(1, 1), (1, 1, 3), (1, 9, 3), (9, 1, 1), (7, 8, 3), (40, 40, 4)])
def test_one_colour_is_one_segment(method, shape):
    if np.prod(shape[:2]) < method.get("n_segments", 1):
        method = method | {"n_segments": 1}
    for value in (0, 77, 255):
        assert (segment(np.full(shape, value, np.uint8), **method) == 0).all()


@both
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
@pytest.mark.parametrize("channels", [(), (1,), (3,), (4,)])
def test_two_flat_halves_are_two_segments_in_any_kind_of_image(method, dtype, channels):
    white = np.iinfo(dtype).max if np.dtype(dtype).kind == "u" else 1.0
    image = np.zeros((8, 12, *channels), dtype=dtype)
    image[:, 5:] = white
    if "n_segments" in method:
        method = method | {"n_segments": 2, "features": "lab"}
    expected = np.tile((np.arange(12) >= 5).astype(np.int32), (8, 1))
    np.testing.assert_array_equal(segment(image, **method), expected)


@pytest.mark.parametrize("shape", [(1, 12), (12, 1)])
def test_a_single_line(shape):
    image = np.where(np.arange(12) < 7, 30, 220).astype(np.uint8).reshape(shape)
    assert segment(image).ravel().tolist() == [0] * 7 + [1] * 5


def test_grey_is_segmented_as_rgb_of_equal_channels():
    grey = noisy_patches((24, 30, 1), seed=3, noise=4.0)[..., 0]
    labels = segment(grey)
    assert segmentation_covering(labels, truth(grey.shape)) == 1.0
    np.testing.assert_array_equal(segment(np.dstack([grey] * 3)), labels)
    np.testing.assert_array_equal(segment(grey[..., None]), labels)


def test_alpha_has_no_say():
    image = noisy_patches()
    alpha = np.random.default_rng(0).integers(0, 256, size=(*image.shape[:2], 1), dtype=np.uint8)
    np.testing.assert_array_equal(segment(np.dstack([image, alpha])), segment(image))


@both
def test_the_number_of_threads_does_not_matter(method):
    image = noisy_patches((70, 40, 3), noise=40.0)
    expected = segment(image, **method, n_jobs=1)
    for n_jobs in (2, 3):
        np.testing.assert_array_equal(segment(image, **method, n_jobs=n_jobs), expected)


def test_random_state_is_repeatable():
    image = np.random.default_rng(0).integers(0, 256, size=(30, 30, 3), dtype=np.uint8)
    settings = {"method": "kmeans", "n_segments": 6, "min_size": 1}
    first, again, other = (segment(image, **settings, random_state=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    shared = np.random.RandomState(1)
    np.testing.assert_array_equal(segment(image, **settings, random_state=shared), first)


def test_the_elbow_gives_the_number_of_clusters():
    image = np.repeat(np.repeat(np.array([[0, 120, 255]], np.uint8), 9, axis=0), 6, axis=1)
    labels = segment(image, "kmeans", features="intensity", random_state=0)
    assert labels[0, ::6].tolist() == [0, 1, 2]
    assert (segment(image[:1, :2], "kmeans", random_state=0) == 0).all()


def test_wider_bandwidths_leave_fewer_segments():
    image = noisy_patches((40, 40, 3), noise=25.0)
    counts = [
        segment(image, merge_bandwidth=width, min_size=1).max() + 1
        for width in (0.0, 5.0, 12.0, 1000.0)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1] == 1


def test_texture_tells_apart_what_colours_do_not():
    """Fine stripes upright and level: the same colours, at every scale but the filters'."""
    stripes = (np.arange(48) // 2 % 2 * 120 + 60).astype(np.uint8)
    image = np.hstack([np.tile(stripes, (48, 1)), np.tile(stripes[:, None], (1, 48))])
    halves = np.tile(np.arange(96) // 48, (48, 1))
    by_texture = segment(image, "kmeans", n_segments=2, features="texture", random_state=0)
    assert segmentation_covering(by_texture, halves) > 0.85
    by_intensity = segment(image, "kmeans", n_segments=2, features="intensity", random_state=0)
    assert segmentation_covering(by_intensity, halves) < 0.6
    modes = segment(image, features="texture", spatial_bandwidth=5.0)
    assert segmentation_covering(modes, halves) > 0.75
    assert segmentation_covering(segment(image, spatial_bandwidth=5.0), halves) < 0.6


@both
def test_progress_is_told(method):
    calls = []
    image = noisy_patches((70, 12, 3))
    segment(image, **method, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (70, 70)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


@both
def test_strokes_are_kept(method):
    image = noisy_patches((24, 30, 3), noise=10.0)
    strokes = np.zeros((24, 30), dtype=int)
    strokes[5, 2:12] = 1
    strokes[18, 2:12] = 1
    strokes[3, 17:20] = 2
    strokes[3, 25:28] = 3
    labels = segment(image, **method, scribbles=strokes, n_jobs=1)
    found = [set(labels[strokes == k].tolist()) for k in (1, 2, 3)]
    assert [len(labels) for labels in found] == [1, 1, 1]
    assert len(set.union(*found)) == 3
    joined = segment(image, **method, scribbles=strokes, n_jobs=2)
    np.testing.assert_array_equal(joined, labels)


IMAGE = noisy_patches((6, 7, 3))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"method": "watershed"}, ValueError, "none of"),
        ({"n_segments": 3}, ValueError, 'no meaning for method="mean_shift"'),
        ({"random_state": 0}, ValueError, 'no meaning for method="mean_shift"'),
        ({"method": "kmeans", "spatial_bandwidth": 3}, ValueError, "spatial_bandwidth has no"),
        ({"method": "kmeans", "range_bandwidth": 3}, ValueError, "range_bandwidth has no"),
        ({"method": "kmeans", "merge_bandwidth": 3}, ValueError, "merge_bandwidth has no"),
        ({"method": "kmeans", "n_segments": 0}, ValueError, "at least 1"),
        ({"method": "kmeans", "n_segments": 2.0}, TypeError, "whole number"),
        ({"method": "kmeans", "n_segments": 43}, ValueError, "more than the 42 pixels"),
        ({"spatial_bandwidth": 0}, ValueError, "spatial_bandwidth"),
        ({"range_bandwidth": -1.0}, ValueError, "range_bandwidth"),
        ({"range_bandwidth": "wide"}, TypeError, "range_bandwidth"),
        ({"merge_bandwidth": -1.0}, ValueError, "not negative"),
        ({"merge_bandwidth": np.nan}, ValueError, "finite"),
        ({"merge_bandwidth": True}, TypeError, "number"),
        ({"min_size": 0}, ValueError, "at least 1"),
        ({"min_size": 2.5}, TypeError, "whole number"),
        ({"connected": "yes"}, TypeError, "True or False"),
        ({"features": "hue"}, ValueError, "known are"),
        ({"scribbles": np.zeros((6, 7), int)}, ValueError, "nothing is marked"),
        ({"scribbles": np.ones((3, 3), int)}, ValueError, "one size"),
        ({"scribbles": np.ones((6, 7), int), "connected": False}, ValueError, "strokes"),
    ],
)
def test_arguments_that_are_refused(arguments, error, words):
    with pytest.raises(error, match=words):
        segment(IMAGE, **arguments)


@both
@pytest.mark.parametrize(
    ("image", "error", "words"),
    [
        (np.full((3, 3), 200.0), ValueError, "white value"),
        (np.full((3, 3, 3), np.inf), ValueError, "NaN or infinity"),
        (np.zeros((3, 3), bool), TypeError, "bool"),
        (np.zeros((3, 3), np.int64), TypeError, "int64"),
        (np.zeros((2, 3, 3, 3), np.uint8), ValueError, "shape"),
        (np.zeros((3, 3, 2), np.uint8), ValueError, "channels"),
        (np.zeros((0, 3, 3), np.uint8), ValueError, "no pixels"),
    ],
)
def test_images_that_are_refused(method, image, error, words):
    with pytest.raises(error, match=words):
        segment(image, **method)
