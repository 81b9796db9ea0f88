"""Feature spaces: scales, weights, texture against its literal twin, and what is refused."""

import numpy as np
import pytest
from tests.reference import image_features as twin

from linkshift.image import pixel_features

color = pytest.importorskip("skimage.color", reason="scikit-image is not installed")

NAMES = {"intensity": 1, "rgb": 3, "chroma": 2, "lab": 3, "position": 2, "texture": 24}


def photograph(shape=(17, 12, 3), seed=0, dtype=np.uint8):
    values = np.random.default_rng(seed).random(shape)
    return (
        values.astype(dtype) if np.dtype(dtype).kind == "f" else to_whole(values, np.iinfo(dtype))
    )


def to_whole(values, info):
    return np.rint(values * info.max).astype(info.dtype)


@pytest.mark.parametrize(("name", "width"), NAMES.items())
@pytest.mark.parametrize("shape", [(1, 1, 3), (1, 9, 3), (9, 1, 4), (6, 5), (6, 5, 1), (6, 5, 4)])
def test_every_space_of_every_kind_of_image(name, width, shape):
    found = pixel_features(photograph(shape), name)
    assert found.shape == (*shape[:2], width)
    assert found.dtype == np.float32
    assert np.isfinite(found).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
def test_scales_do_not_depend_on_the_dtype(dtype):
    image = photograph(dtype=dtype)
    exact = photograph(dtype=np.float64)
    for name in NAMES:
        np.testing.assert_allclose(
            pixel_features(image, name), pixel_features(exact, name), atol=0.5
        )


def test_colours_and_places():
    image = photograph((70, 90, 3))  # more than one stripe of rows
    np.testing.assert_allclose(pixel_features(image, "lab"), color.rgb2lab(image), atol=1e-3)
    np.testing.assert_allclose(pixel_features(image, "rgb"), image / 2.55, atol=1e-4)
    lightness = pixel_features(image, "intensity")[..., 0]
    np.testing.assert_array_equal(lightness, pixel_features(image, "lab")[..., 0])
    chroma = pixel_features(image, "chroma")
    np.testing.assert_array_equal(chroma, pixel_features(image, "lab")[..., 1:])
    place = pixel_features(image, "position")
    np.testing.assert_allclose(place[40, 63], [70.0, 100 * 40 / 90], rtol=1e-6)


def test_black_and_white_are_0_and_100():
    image = np.array([[0, 255]], dtype=np.uint8)
    for name in ("intensity", "rgb", "lab"):
        found = pixel_features(image, name)
        np.testing.assert_array_equal(found[0, :, 0], [0.0, 100.0])


def test_grey_is_rgb_of_equal_channels():
    grey = photograph((8, 9))
    for name in NAMES:
        np.testing.assert_allclose(
            pixel_features(grey, name), pixel_features(np.dstack([grey] * 3), name), atol=0.02
        )
    assert (pixel_features(grey, "lab")[..., 1:] == 0.0).all()
    assert (pixel_features(grey, "chroma") == 0.0).all()


def test_alpha_has_no_say():
    image = photograph((8, 9, 4))
    for name in NAMES:
        np.testing.assert_array_equal(
            pixel_features(image, name), pixel_features(image[..., :3], name)
        )


def test_spaces_stand_side_by_side_with_their_weights():
    image = photograph()
    mixed = pixel_features(image, {"position": 0.5, "lab": 2.0})
    np.testing.assert_array_equal(mixed[..., :2], 0.5 * pixel_features(image, "position"))
    np.testing.assert_array_equal(mixed[..., 2:], 2.0 * pixel_features(image, "lab"))
    np.testing.assert_array_equal(
        pixel_features(image, "lab + position"),
        pixel_features(image, {"lab": 1, "position": np.float32(1.0)}),
    )


@pytest.mark.parametrize("shape", [(23, 19, 3), (6, 31, 3), (1, 5, 3)])
def test_texture_is_the_twin_s(shape):
    image = photograph(shape)
    lightness = pixel_features(image, "intensity")[..., 0].astype(np.float64)
    np.testing.assert_allclose(
        pixel_features(image, "texture"), twin.texture(lightness), rtol=1e-3, atol=1e-3
    )


def test_texture_tells_directions_apart():
    """Stripes: strongest in the filters across them, and turned with them."""
    wave = (np.arange(40) // 2 % 2 * 255).astype(np.uint8)
    upright = np.tile(wave, (40, 1))
    found = pixel_features(upright, "texture")[20, 20].reshape(2, 2, 6)
    turned = pixel_features(upright.T, "texture")[20, 20].reshape(2, 2, 6)
    assert (found[:, :, 0] > 3.0 * found[:, :, 3]).all()
    np.testing.assert_allclose(turned[:, :, 3], found[:, :, 0], rtol=1e-3)
    flat = pixel_features(np.full((9, 9), 80, np.uint8), "texture")
    np.testing.assert_allclose(flat, 0.0, atol=0.02)


@pytest.mark.parametrize(
    ("spaces", "error", "words"),
    [
        ("hue", ValueError, "intensity, rgb, chroma, lab, position, texture"),
        ("lab+", ValueError, "known are"),
        ("lab+lab", ValueError, "twice"),
        ({}, ValueError, "no space"),
        ({"lab": 0.0}, ValueError, "leave it out"),
        ({"lab": -1.0}, ValueError, "leave it out"),
        ({"lab": np.inf}, ValueError, "weight"),
        ({"lab": True}, TypeError, "number"),
        ({"lab": "1"}, TypeError, "number"),
        (["lab"], TypeError, "mapping"),
    ],
)
def test_spaces_that_are_refused(spaces, error, words):
    with pytest.raises(error, match=words):
        pixel_features(photograph(), spaces)


@pytest.mark.parametrize(
    ("image", "error", "words"),
    [
        (np.full((3, 3), 200.0), ValueError, "white value"),
        (np.full((3, 3), -0.1), ValueError, "white value"),
        (np.full((3, 3), np.nan), ValueError, "NaN"),
        (np.zeros((3, 3), bool), TypeError, "bool"),
        (np.zeros((3, 3), np.int32), TypeError, "int32"),
        (np.zeros((3, 3, 2), np.uint8), ValueError, "channels"),
        (np.zeros((0, 3), np.uint8), ValueError, "no pixels"),
    ],
)
def test_images_that_are_refused(image, error, words):
    with pytest.raises(error, match=words):
        pixel_features(image)
