import sys

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from sklearn.cluster import KMeans
from tests.reference import descriptors as twin

from linkshift.image import descriptors
from linkshift.image.descriptors import LocalFeatures


def drawing(shape="square", size=64):
    image = np.zeros((size, size))
    y, x = np.indices(image.shape) - size / 2
    inside = {
        "square": np.maximum(abs(y), abs(x)) < size / 4,
        "disc": np.hypot(y, x) < size / 4,
        "bar": abs(x) < size / 8,
    }[shape]
    image[inside] = 1.0
    return image


def noise(seed, shape=(60, 52)):
    return np.random.default_rng(seed).random(shape)


def random_features(seed, m=7, d=5):
    rng = np.random.default_rng(seed)
    return LocalFeatures(rng.random((m, 2)) * 90, rng.normal(size=(m, d)))


@pytest.mark.parametrize("describe", [descriptors.geometric_blur, descriptors.sift])
def test_features_are_of_edge_pixels_and_of_length_one(describe):
    image = drawing(size=96)
    found = describe(image, n_points=30)
    np.testing.assert_allclose(np.linalg.norm(found.values, axis=1), 1.0, rtol=1e-5)
    far = np.abs(np.abs(found.positions - 48).max(axis=1) - 24)
    assert far.max() <= 2  # all are on the square's sides
    assert len(np.unique(found.positions, axis=0)) == 30
    np.testing.assert_array_equal(describe(image, n_points=30).values, found.values)
    assert len(describe(image, n_points=10_000).values) < 400  # no more than there are
    assert len(describe(np.zeros((40, 40)), n_points=12).values) == 12  # no edges: anywhere


@pytest.mark.parametrize("describe", [descriptors.geometric_blur, descriptors.sift])
def test_colour_depth_and_alpha_do_not_matter(describe):
    image = np.round(255 * gaussian_filter(noise(0), 4) ** 0.5).astype(np.uint8)
    expected = describe(image, n_points=20).values
    colours = np.repeat(image[..., None], 4, axis=2)
    for same in (image / 255.0, image.astype(np.uint16) * 257, colours[..., :3], colours):
        np.testing.assert_allclose(describe(same, n_points=20).values, expected, atol=1e-4)


def test_geometric_blur_minds_a_shift_of_the_image_not_at_all():
    image = np.pad(drawing("disc", 60), 110)
    one = descriptors.geometric_blur(image, n_points=10_000)
    other = descriptors.geometric_blur(np.roll(image, (5, -7), axis=(0, 1)), n_points=10_000)
    np.testing.assert_allclose(other.values, one.values, atol=1e-5)


@pytest.mark.parametrize("seed", range(2))
def test_self_similarity_is_the_literal_one(seed):
    image = noise(seed).astype(np.float32)
    found = descriptors.self_similarity(image, step=7)
    assert len(found.values) == 3 * 2
    for (x, y), values in zip(found.positions.astype(int), found.values, strict=True):
        np.testing.assert_allclose(values, twin.self_similarity(image, y, x), atol=1e-5)


def test_self_similarity_of_images_too_small_for_the_region():
    found = descriptors.self_similarity(noise(0, (9, 50)))
    assert len(found.values)
    assert np.isfinite(found.values).all()
    assert (found.positions >= 0).all()
    assert (found.positions < [50, 9]).all()


@pytest.mark.parametrize("weight", [0.0, 0.7])
def test_matches_are_the_literal_ones(weight):
    images = [random_features(i, m) for i, m in enumerate((7, 3, 1))]
    found = descriptors.match_distances(images, position_weight=weight)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(np.diag(found), 0.0)
    for a in range(3):
        for b in range(a):
            expected = twin.match_distance(images[a], images[b], weight)
            assert found[a, b] == pytest.approx(expected, rel=1e-4)


def test_pyramids_match_by_their_definition():
    images = [random_features(i, 40) for i in range(3)]
    pyramids = descriptors.spatial_pyramids(images, n_words=4, n_levels=3)
    np.testing.assert_allclose(pyramids.sum(axis=1), 1.0)
    bags = descriptors.spatial_pyramids(images, n_words=4, n_levels=1)
    assert bags.shape == (3, 4)
    words = _words(images)
    places = []
    for one in images:
        low, high = one.positions.min(axis=0), one.positions.max(axis=0)
        places.append((one.positions - low) / (high - low))
    for a, b in ((0, 1), (1, 2)):
        expected = twin.pyramid_match(words[a], places[a], words[b], places[b], 4, 3)
        assert np.minimum(pyramids[a], pyramids[b]).sum() == pytest.approx(expected)
    apart = descriptors.intersection_distances(pyramids)
    kernel = np.array([[np.minimum(p, q).sum() for q in pyramids] for p in pyramids])
    np.testing.assert_allclose(apart**2, 2.0 - 2.0 * kernel, atol=1e-12)


def _words(images):
    """The word of each feature of each image, as the first steps of spatial_pyramids find them."""
    random = np.random.RandomState(0)
    everything = np.concatenate([image.values for image in images])
    rows = np.sort(random.permutation(len(everything)))
    model = KMeans(4, n_init=1, max_iter=100, random_state=random).fit(everything[rows])
    return [model.predict(image.values) for image in images]


def test_phog_counts_directions_cell_by_cell():
    image = drawing("bar")
    found = descriptors.phog(image, n_bins=4, n_levels=2)
    assert found.sum() == pytest.approx(1.0)
    levels = found[:4], found[4:].reshape(4, 4)
    assert levels[0][0] > 0.4  # all that is not rounding is across the bar
    np.testing.assert_allclose(levels[1].sum(axis=0), levels[0], atol=1e-12)
    np.testing.assert_allclose(levels[1][:, 0], levels[0][0] / 4, rtol=0.1)
    turned = descriptors.phog(image.T, n_bins=4, n_levels=1)
    assert turned.argmax() == 2
    assert descriptors.phog(np.zeros((20, 20))).sum() == 0.0


def test_c2_knows_an_image_and_where_things_are():
    images = [drawing(shape, 80) for shape in ("square", "disc", "bar")]
    found = descriptors.c2_features(images, n_features=40)
    assert found.shape == (3, 40)
    assert (found >= 0).all()
    assert (found <= 1).all()
    # Each prototype is a patch of one of the images, which has it.
    assert (found.max(axis=0) > 0.99).all()
    assert not (found.min(axis=0) > 0.99).all()
    moved = descriptors.c2_features([*images, np.roll(images[0], 38, axis=1)], n_features=40)
    assert np.abs(moved[3] - moved[0]).max() > 0.05
    calls = []
    descriptors.c2_features(images, n_features=4, progress=lambda *call: calls.append(call))
    assert calls == [(1, 3), (2, 3), (3, 3)]


def test_shapes_are_told_apart():
    images = [np.roll(drawing(s, 96), k, axis=0) for s in ("square", "disc", "bar") for k in (0, 5)]
    features = [descriptors.geometric_blur(image, n_points=60) for image in images]
    apart = descriptors.match_distances(features)
    np.fill_diagonal(apart, np.inf)
    np.testing.assert_array_equal(apart.argmin(axis=1), [1, 0, 3, 2, 5, 4])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: descriptors.geometric_blur(drawing(), n_points=0), ValueError, "n_points=0"),
        (lambda: descriptors.sift(3.0 * drawing()), ValueError, "from 0 .black. to 1"),
        (lambda: descriptors.self_similarity(drawing(), step=0), ValueError, "step=0"),
        (lambda: descriptors.match_distances([]), ValueError, "every image must have a feature"),
        (
            lambda: descriptors.match_distances([random_features(0)], position_weight=-1.0),
            ValueError,
            "position_weight must be 0 or more",
        ),
        (
            lambda: descriptors.spatial_pyramids([random_features(0)], n_words=99),
            ValueError,
            "take fewer words",
        ),
        (lambda: descriptors.c2_features([]), ValueError, "there are no images"),
        (lambda: descriptors.phog(np.zeros((4, 4, 2))), ValueError, "2 channels"),
    ],
)
def test_refusals(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_opencv_is_asked_for_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(ImportError, match=r"OpenCV: pip install .linkshift.image"):
        descriptors.sift(drawing())
