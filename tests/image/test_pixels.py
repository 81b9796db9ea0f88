"""Images at the door: what is refused, and what the loops are handed."""

import builtins

import numpy as np
import pytest

from linkshift.image._filter_loops import WHOLE_LANES
from linkshift.image._pixels import read_pixels


@pytest.mark.parametrize(
    ("image", "error", "words"),
    [
        (np.zeros((4, 5), dtype=bool), TypeError, r"image.astype\(np.uint8\) \* 255"),
        (np.zeros((4, 5), dtype=np.int32), TypeError, r"int32.*image.astype\(np.float64\)"),
        (np.zeros((4, 5), dtype=complex), TypeError, "complex128"),
        (np.array([["a"]]), TypeError, "dtype"),
        (np.ma.masked_less(np.zeros((4, 5)), 1), TypeError, "fill it first"),
        (np.zeros(5), ValueError, r"\(h, w, 3\)"),
        (np.zeros((2, 4, 5, 3)), ValueError, "one by one"),
        (np.zeros((4, 5, 2)), ValueError, "np.moveaxis"),
        (np.zeros((3, 4, 5)), ValueError, "np.moveaxis"),
        (np.zeros((0, 5)), ValueError, "no pixels"),
        (np.zeros((4, 0, 3), dtype=np.uint8), ValueError, "no pixels"),
        (np.array([[0.0, np.nan]]), ValueError, "np.nan_to_num"),
        (np.array([[0.0, np.inf]], dtype=np.float32), ValueError, "np.nan_to_num"),
        (np.array([[0.0, 1e9]]), ValueError, "np.clip"),
    ],
)
def test_what_cannot_be_filtered_is_refused_with_the_remedy(image, error, words):
    with pytest.raises(error, match=words):
        read_pixels(image, "given", 10.0)


def test_nan_in_alpha_is_refused_too():
    image = np.zeros((2, 2, 4))
    image[0, 0, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        read_pixels(image, "given", 10.0)


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (np.zeros((4, 5), dtype=np.uint8), "is grey"),
        (np.full((4, 5, 3), 1.5), "from 0 to 1"),
        (np.full((4, 5, 3), -0.5), "from 0 to 1"),
    ],
)
def test_lab_is_refused_with_the_remedy(image, words):
    pytest.importorskip("skimage", reason="scikit-image is not installed")
    with pytest.raises(ValueError, match=words):
        read_pixels(image, "lab", 10.0)


def test_missing_library_is_named_with_its_extra(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("skimage"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"linkshift\[image\]"):
        read_pixels(np.zeros((2, 2, 3)), "lab", 10.0)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_planes_of_whole_numbers_are_the_numbers(dtype):
    image = np.random.default_rng(0).integers(0, np.iinfo(dtype).max, size=(70, 5, 4)).astype(dtype)
    planes = read_pixels(image, "given", 3.0).planes(np.float32)
    assert planes.shape == (3, 70, 5 + WHOLE_LANES - 1)
    np.testing.assert_array_equal(planes[:, :, :5], image[..., :3].transpose(2, 0, 1))
    assert not planes[:, :, 5:].any()


def test_grey_has_a_second_plane_of_zeros():
    planes = read_pixels(np.full((3, 4), 7, dtype=np.uint8), "given", 3.0).planes(np.float32)
    assert planes.shape == (2, 3, 4 + WHOLE_LANES - 1)
    assert (planes[0, :, :4] == 7).all()
    assert not planes[1].any()


@pytest.mark.parametrize("bandwidth", [1e-4, 0.1, 0.5, 3.0])
def test_floats_are_scaled_by_a_power_of_two_and_come_back(bandwidth):
    image = 1e3 + np.random.default_rng(0).random((6, 7, 3))
    pixels = read_pixels(image, "given", bandwidth)
    assert np.log2(pixels.scale) % 1.0 == 0.0
    assert 0.5 <= min(bandwidth, np.ptp(image)) / pixels.scale < 1.0
    values = np.moveaxis(pixels.planes(np.float32)[:, :, :7], 0, 2)
    np.testing.assert_allclose(pixels.to_image(values, 0), image, atol=1e-7)
    np.testing.assert_allclose(pixels.in_units(values), image, rtol=1e-7)


def test_whole_numbers_are_rounded_half_to_even():
    pixels = read_pixels(np.array([[0, 9, 9, 9]], dtype=np.uint8), "given", 3.0)
    values = np.array([0.5, 1.5, 2.4, 8.6], dtype=np.float32).reshape(1, 4, 1)
    np.testing.assert_array_equal(pixels.to_image(values, 0)[0, :, 0], [0, 2, 2, 9])


def test_rows_go_back_where_they_came_from_with_their_alpha():
    image = np.random.default_rng(0).integers(0, 256, size=(6, 4, 4)).astype(np.uint8)
    pixels = read_pixels(image, "given", 3.0)
    rows = pixels.to_image(image[2:5, :, :3].astype(np.float32), 2)
    np.testing.assert_array_equal(rows, image[2:5])
