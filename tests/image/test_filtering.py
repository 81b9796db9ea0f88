"""The filter against its literal twin, against OpenCV, by its laws, and at its door."""

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from tests.reference import image_filter as twin

from linkshift.image import filtering, mean_shift_filter, mean_shift_modes, pixel_features

DTYPES = [np.uint8, np.uint16, np.float16, np.float32, np.float64]
SHAPES = [(9, 11, 3), (12, 7, 1), (1, 1, 3), (1, 14, 3), (14, 1, 1), (20, 33, 3)]
KINDS = [{}, {"kernel": "gaussian"}, {"mode": "opencv"}]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda k: next(iter(k.values()), "flat"))


def noisy_patches(shape, seed=0, *, noise=12.0):
    """Four patches of one colour each, with noise: uint8, (h, w, c)."""
    rng = np.random.default_rng(seed)
    h, w, c = shape
    palette = rng.integers(40, 216, size=(2, 2, c))
    rows = (np.arange(h) * 2 // h)[:, None]
    columns = (np.arange(w) * 2 // w)[None, :]
    image = palette[rows, columns] + rng.normal(scale=noise, size=shape)
    return image.clip(0, 255).round().astype(np.uint8)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("h_s", "h_r"), [(2.0, 20.1), (3.5, 35.3), (0.4, 9.7), (50.0, 61.9)])
def test_flat_is_its_literal_twin(shape, h_s, h_r):
    image = noisy_patches(shape, seed=1)
    modes = mean_shift_modes(image, h_s, h_r)
    values, positions = twin.converged(image, h_s, h_r)
    np.testing.assert_allclose(modes.values, values, rtol=1e-5)
    np.testing.assert_allclose(modes.positions, positions, atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES[:5], ids=str)
@pytest.mark.parametrize(("h_s", "h_r", "truncate"), [(1.0, 10.1, None), (2.5, 17.3, 1.7)])
def test_gaussian_is_its_literal_twin(shape, h_s, h_r, truncate):
    image = noisy_patches(shape, seed=2)
    found = mean_shift_modes(image, h_s, h_r, kernel="gaussian", truncate=truncate, tol=1e-4)
    values, positions = twin.converged(
        image, h_s, h_r, kernel="gaussian", truncate=truncate or 3.0, tol=1e-4
    )
    # Steps are as short as tol for some time before and after: ends may be a few of them apart.
    np.testing.assert_allclose(found.values, values, atol=0.02 * h_r)
    np.testing.assert_allclose(found.positions, positions, atol=0.02 * h_s)


@pytest.mark.parametrize("features", ["lab+texture", {"texture": 0.5}, "chroma", "rgb+position"])
@pytest.mark.parametrize("kernel", ["flat", "gaussian"])
def test_modes_of_features_are_those_of_the_twin(features, kernel):
    pytest.importorskip("skimage")
    image = noisy_patches((9, 12, 3), seed=4, noise=30.0)
    found = mean_shift_modes(image, 3.0, 15.0, features=features, kernel=kernel, tol=1e-4)
    values, positions = twin.converged(
        pixel_features(image, features), 3.0, 15.0, kernel=kernel, tol=1e-4
    )
    close = {"atol": 1e-3 if kernel == "flat" else 0.3}
    np.testing.assert_allclose(found.values, values, **close)
    np.testing.assert_allclose(found.positions, positions, **close)


def test_features_are_for_modes_of_the_image_as_it_is():
    pytest.importorskip("skimage")
    image = noisy_patches((40, 9, 3))
    one, two = (mean_shift_modes(image, 3, 9, features="texture", n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.values, two.values)
    assert one.values.shape == (40, 9, 24)
    for more in ({"mode": "opencv"}, {"colour_space": "lab"}):
        with pytest.raises(ValueError, match="Leave mode and colour_space out"):
            mean_shift_modes(image, 3, 9, features="lab", **more)
    with pytest.warns(UserWarning, match="still moving"):
        mean_shift_modes(image, 3, 9, features="lab", max_iter=1)


@pytest.mark.parametrize("kernel", ["flat", "gaussian"])
@pytest.mark.parametrize("max_iter", [1, 2, 3])
def test_single_steps_are_those_of_the_twin(kernel, max_iter):
    image = noisy_patches((15, 40, 3), seed=3)
    h_s = np.pi  # no pixel is on the edge of a window, where rounding would decide
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = mean_shift_modes(image, h_s, 21.7, kernel=kernel, max_iter=max_iter, tol=0.0)
    values, positions = twin.converged(image, h_s, 21.7, kernel=kernel, max_iter=max_iter, tol=0.0)
    np.testing.assert_allclose(found.values, values, rtol=1e-5)
    np.testing.assert_allclose(found.positions, positions, rtol=1e-5, atol=1e-4)


def test_a_pixel_that_goes_in_a_circle_has_arrived():
    # From the middle: 184, 177, 182 and 187 are near, their mean is (1.25, 0.75, 182.5); near that
    # is 182 alone, which is the middle again.
    image = np.array([[184, 192, 177], [189, 182, 191], [192, 193, 187]], dtype=np.uint8)
    modes = mean_shift_modes(image, 1, 5)  # no warning, which would be an error
    np.testing.assert_array_equal(modes.values[1, 1], [182])
    np.testing.assert_array_equal(modes.positions[1, 1], [1, 1])
    with pytest.warns(ConvergenceWarning, match="after 3 steps"):
        mean_shift_modes(image, 1, 5, max_iter=3)


def test_three_pixels_by_hand():
    modes = mean_shift_modes(np.array([[0, 10, 200]], dtype=np.uint8), 1, 10)
    np.testing.assert_array_equal(modes.values[0, :, 0], [5, 5, 200])
    np.testing.assert_array_equal(modes.positions[0], [[0.5, 0], [0.5, 0], [2, 0]])


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(st.integers(1, 9), st.integers(1, 22)),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.3, 1, 1.5, 2, 2.5, 7, 1e9]),
    st.sampled_from([0.5, 4, 16, 37.5, 103.9, 104, 105, 150, 441, 1e9]),
    st.sampled_from([(5, 1.0), (1, 1.0), (100, 0.0), (3, 40.0)]),
)
def test_opencv_mode_is_its_literal_twin(size, seed, sp, sr, criteria):
    image = np.random.default_rng(seed).integers(0, 256, size=(*size, 3)).astype(np.uint8)
    max_iter, epsilon = criteria
    found = mean_shift_modes(image, sp, sr, mode="opencv", max_iter=max_iter, tol=epsilon)
    values, positions = twin.opencv(image, sp, sr, max_iter=max_iter, epsilon=epsilon)
    np.testing.assert_array_equal(found.values, values)
    np.testing.assert_array_equal(found.positions, positions)


@pytest.mark.parametrize("name", ["astronaut", "chelsea", "coffee", "noise", "smooth noise"])
@pytest.mark.parametrize(("sp", "sr"), [(8, 16), (3, 50), (2.5, 103.6), (15.5, 9.5), (1, 150)])
def test_opencv_mode_is_opencv(name, sp, sr):
    cv2 = pytest.importorskip("cv2", reason="OpenCV is not installed")
    data = pytest.importorskip("skimage.data", reason="scikit-image is not installed")
    rng = np.random.default_rng(0)
    if name == "noise":
        image = rng.integers(0, 256, size=(61, 83, 3)).astype(np.uint8)
    elif name == "smooth noise":
        image = (128 + rng.normal(scale=10, size=(70, 45, 3)).cumsum(axis=1)).clip(0, 255)
        image = image.astype(np.uint8)
    else:
        image = np.ascontiguousarray(getattr(data, name)()[100:197, 130:261])
    peer = cv2.pyrMeanShiftFiltering(image, sp, sr, maxLevel=0)
    np.testing.assert_array_equal(mean_shift_filter(image, sp, sr, mode="opencv"), peer)


def test_opencv_mode_takes_opencv_criteria():
    cv2 = pytest.importorskip("cv2", reason="OpenCV is not installed")
    image = noisy_patches((40, 50, 3), noise=30.0)
    for max_iter, epsilon in [(1, 1.0), (30, 0.0), (7, 25.0)]:
        criteria = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_MAX_ITER, max_iter, epsilon)
        peer = cv2.pyrMeanShiftFiltering(image, 5, 40, maxLevel=0, termcrit=criteria)
        found = mean_shift_filter(image, 5, 40, mode="opencv", max_iter=max_iter, tol=epsilon)
        np.testing.assert_array_equal(found, peer)


@every_kind
def test_threads_and_stripes_change_nothing(kind, monkeypatch):
    image = noisy_patches((75, 40, 3), seed=4)
    one = mean_shift_modes(image, 2, 25, n_jobs=1, **kind)
    for n_jobs, stripe in [(2, 32), (3, 7), (2, 1), (1, 100)]:
        monkeypatch.setattr(filtering, "_STRIPE", stripe)
        other = mean_shift_modes(image, 2, 25, n_jobs=n_jobs, **kind)
        np.testing.assert_array_equal(one.values, other.values)
        np.testing.assert_array_equal(one.positions, other.positions)


@pytest.mark.parametrize("kernel", ["flat", "gaussian"])
@pytest.mark.parametrize("turn", ["rows", "columns", "transpose", "channels"])
def test_turned_image_gives_the_turned_result(kernel, turn):
    image = noisy_patches((16, 21, 3), seed=5)
    turns = {
        "rows": lambda a: a[::-1],
        "columns": lambda a: a[:, ::-1],
        "transpose": lambda a: a.transpose(1, 0, 2),
        "channels": lambda a: a[..., ::-1],
    }
    straight = mean_shift_modes(image, 2, 21.3, kernel=kernel, tol=1e-4).values
    turned = mean_shift_modes(turns[turn](image), 2, 21.3, kernel=kernel, tol=1e-4).values
    np.testing.assert_allclose(turned, turns[turn](straight), atol=0.02)


@pytest.mark.parametrize("kernel", ["flat", "gaussian"])
def test_constant_and_factor_go_through(kernel):
    image = noisy_patches((16, 21, 3), seed=6).astype(np.float64)
    plain = mean_shift_filter(image, 2, 21.3, kernel=kernel)
    moved = mean_shift_filter(image + 1e6, 2, 21.3, kernel=kernel)
    np.testing.assert_allclose(moved - 1e6, plain, atol=1e-3)
    scaled = mean_shift_filter(image * 1e-30, 2, 21.3e-30, kernel=kernel)
    np.testing.assert_allclose(scaled, plain * 1e-30, rtol=1e-3)


def test_whole_numbers_and_floats_agree():
    image = noisy_patches((16, 21, 3), seed=7)
    plain = mean_shift_modes(image, 2, 21.3)
    wide = mean_shift_modes(image.astype(np.uint16) * 257, 2, 21.3 * 257)
    real = mean_shift_modes(image.astype(np.float32) / 255, 2, 21.3 / 255)
    np.testing.assert_allclose(wide.values / 257, plain.values, rtol=1e-5)
    np.testing.assert_allclose(real.values * 255, plain.values, rtol=1e-4)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.sampled_from([0.7, 1.0, 3.0, 40.0]))
def test_colours_stay_between_those_of_the_image(seed, kind, h_s):
    image = np.random.default_rng(seed).integers(90, 160, size=(9, 13, 3)).astype(np.uint8)
    found = mean_shift_filter(image, h_s, 30, **kind)
    assert (found.min(axis=(0, 1)) >= image.min(axis=(0, 1))).all()
    assert (found.max(axis=(0, 1)) <= image.max(axis=(0, 1))).all()
    positions = mean_shift_modes(image, h_s, 30, **kind).positions
    assert positions.min() >= 0
    assert (positions.max(axis=(0, 1)) <= [12, 8]).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda t: t.__name__)
@pytest.mark.parametrize("shape", [(9, 14), (9, 14, 1), (9, 14, 3), (9, 14, 4), (1, 1), (1, 9)])
@pytest.mark.parametrize("kernel", ["flat", "gaussian"])
def test_image_of_one_colour_is_left_as_it_is(dtype, shape, kernel):
    image = np.full(shape, 0.7 if np.dtype(dtype).kind == "f" else 201, dtype=dtype)
    found = mean_shift_filter(image, 3, 0.5, kernel=kernel)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, image)


@every_kind
@pytest.mark.parametrize("large", [1e4, 1e30, 1e200, 1e308])
def test_bandwidths_beyond_the_image_give_its_mean(kind, large):
    image = noisy_patches((6, 20, 3), seed=13)
    mean = image.mean(axis=(0, 1))
    found = mean_shift_filter(image, large, large, **kind)
    np.testing.assert_array_equal(found, np.broadcast_to(np.rint(mean), image.shape))
    if "mode" not in kind:
        found = mean_shift_filter(image.astype(np.float64), large, large, **kind)
        np.testing.assert_allclose(found, np.broadcast_to(mean, image.shape), rtol=1e-5)


@every_kind
@pytest.mark.parametrize("small", [1e-3, 1e-30, 1e-200, 5e-324])
def test_bandwidths_below_a_level_or_a_pixel_change_nothing(kind, small):
    image = np.arange(120, dtype=np.uint8).reshape(4, 10, 3)
    np.testing.assert_array_equal(mean_shift_filter(image, 3, small, **kind), image)
    if "mode" not in kind:  # a window of OpenCV's is never narrower than three pixels
        np.testing.assert_array_equal(mean_shift_filter(image, small, 500, **kind), image)
        real = image.astype(np.float64)
        np.testing.assert_allclose(mean_shift_filter(real, small, 500.0, **kind), real, rtol=1e-6)


def test_opencv_mode_leaves_one_colour_as_it_is():
    image = np.full((20, 40, 3), 255, dtype=np.uint8)
    np.testing.assert_array_equal(mean_shift_filter(image, 8, 16, mode="opencv"), image)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda t: t.__name__)
@pytest.mark.parametrize("channels", [None, 1, 3, 4])
def test_every_kind_of_image_keeps_its_form(dtype, channels):
    source = noisy_patches((17, 12, channels or 1), seed=8).astype(dtype)
    image = source[..., 0] if channels is None else source
    before = image.copy()
    found = mean_shift_filter(image, 3, 30.0)
    assert found.dtype == image.dtype
    assert found.shape == image.shape
    np.testing.assert_array_equal(image, before)
    assert not np.array_equal(found, image)
    if channels == 4:
        np.testing.assert_array_equal(found[..., 3], image[..., 3])
        np.testing.assert_array_equal(found[..., :3], mean_shift_filter(image[..., :3], 3, 30.0))


def test_any_memory_order_will_do():
    image = noisy_patches((17, 12, 3), seed=9)
    expected = mean_shift_filter(image, 3, 30)
    np.testing.assert_array_equal(mean_shift_filter(np.asfortranarray(image), 3, 30), expected)
    double = np.repeat(image, 2, axis=1)
    np.testing.assert_array_equal(mean_shift_filter(double[:, ::2], 3, 30), expected)
    read_only = image.copy()
    read_only.flags.writeable = False
    np.testing.assert_array_equal(mean_shift_filter(read_only, 3, 30), expected)
    found = mean_shift_filter([[0.0, 1.0], [0.5, 0.25]], 1, 10.0)
    np.testing.assert_allclose(found, np.full((2, 2), 0.4375))


@every_kind
def test_filter_is_the_rounded_colour_of_the_modes(kind):
    image = noisy_patches((17, 12, 3), seed=10)
    modes = mean_shift_modes(image, 3, 30, **kind)
    assert modes.values.dtype == modes.positions.dtype == np.float32
    np.testing.assert_array_equal(mean_shift_filter(image, 3, 30, **kind), np.rint(modes.values))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
def test_lab_is_a_detour_by_hand(dtype):
    color = pytest.importorskip("skimage.color", reason="scikit-image is not installed")
    white = np.iinfo(dtype).max if np.dtype(dtype).kind == "u" else 1.0
    colours = noisy_patches((70, 15, 3), seed=11) / 255.0 * white
    image = np.concatenate([colours, colours[..., :1]], axis=2).astype(dtype)
    found = mean_shift_filter(image, 3, 8.0, colour_space="lab")
    modes = mean_shift_modes(image, 3, 8.0, colour_space="lab")
    lab = color.rgb2lab(image[..., :3] / white)
    by_hand = mean_shift_modes(lab, 3, 8.0)
    np.testing.assert_allclose(modes.values, by_hand.values, atol=2e-3)
    back = color.lab2rgb(by_hand.values.astype(np.float64)) * white
    np.testing.assert_allclose(found[..., :3], back, atol=1e-4 * white + (white > 1.0))
    np.testing.assert_array_equal(found[..., 3], image[..., 3])


def test_lab_of_the_most_vivid_colours_gives_no_warning():
    pytest.importorskip("skimage", reason="scikit-image is not installed")
    corners = np.array(np.meshgrid([0, 255], [0, 255], [0, 255])).T.reshape(1, -1, 3)
    image = np.repeat(corners, 6, axis=0).astype(np.uint8)
    unchanged = mean_shift_filter(image, 2, 1.0, colour_space="lab")
    np.testing.assert_array_equal(unchanged, image)
    mean_shift_filter(image, 3, 150.0, colour_space="lab")  # means outside of RGB are cut off


def test_progress_counts_rows():
    seen = []
    image = noisy_patches((75, 8, 3))
    mean_shift_filter(image, 2, 20, n_jobs=2, progress=lambda *done: seen.append(done))
    assert seen == [(32, 75), (64, 75), (75, 75)]


def test_pixels_that_have_not_arrived_are_told():
    image = noisy_patches((16, 16, 3), seed=12)
    with pytest.warns(ConvergenceWarning, match="Increase max_iter or tol") as caught:
        mean_shift_filter(image, 3, 30, max_iter=1)
    assert caught[0].filename == __file__
    mean_shift_filter(image, 3, 30, max_iter=1, mode="opencv")  # stopping early is what it does


@pytest.mark.parametrize(("channels", "extra"), [(1, 8), (3, 12)], ids=["grey", "colour"])
def test_memory_is_what_the_docstring_says(channels, extra):
    image = noisy_patches((900, 800, channels))
    mean_shift_filter(image[:40, :40], 1, 5, n_jobs=1)
    tracemalloc.start()
    try:
        mean_shift_filter(image, 1, 5, n_jobs=1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (peak - image.nbytes) / (900 * 800) < extra * 1.25  # a stripe's buffers are small


GOOD = {"image": np.zeros((4, 5, 3), dtype=np.uint8), "spatial_bandwidth": 2, "range_bandwidth": 9}


@pytest.mark.parametrize("function", [mean_shift_filter, mean_shift_modes])
@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"spatial_bandwidth": 0}, ValueError, "must be positive"),
        ({"spatial_bandwidth": -1.0}, ValueError, "must be positive"),
        ({"range_bandwidth": 0.0}, ValueError, "must be positive"),
        ({"range_bandwidth": np.nan}, ValueError, "not finite"),
        ({"spatial_bandwidth": np.inf}, ValueError, "not finite"),
        ({"spatial_bandwidth": "8"}, TypeError, "must be a number"),
        ({"range_bandwidth": True}, TypeError, "must be a number"),
        ({"kernel": "epanechnikov"}, ValueError, '"flat" and "gaussian"'),
        ({"mode": "fast"}, ValueError, '"converged" and "opencv"'),
        ({"colour_space": "luv"}, ValueError, '"given" and "lab"'),
        ({"truncate": 2.0}, ValueError, "for kernel"),
        ({"kernel": "gaussian", "truncate": 9.0}, ValueError, "more than 7"),
        ({"kernel": "gaussian", "truncate": 0}, ValueError, "must be positive"),
        ({"max_iter": 0}, ValueError, "at least one step"),
        ({"max_iter": 2.5}, TypeError, "whole number"),
        ({"max_iter": 101, "mode": "opencv"}, ValueError, "at most 100"),
        ({"tol": -1e-3}, ValueError, "negative"),
        ({"mode": "opencv", "kernel": "gaussian"}, ValueError, 'take mode="converged"'),
        ({"mode": "opencv", "colour_space": "lab"}, ValueError, 'take mode="converged"'),
        ({"mode": "opencv", "image": np.zeros((4, 5), np.uint8)}, ValueError, "convert the image"),
        ({"mode": "opencv", "image": np.zeros((4, 5, 3))}, ValueError, "convert the image"),
        ({"mode": "opencv", "image": np.zeros((4, 5, 4), np.uint8)}, ValueError, "convert"),
    ],
)
def test_wrong_arguments_are_refused_with_the_remedy(function, change, error, words):
    with pytest.raises(error, match=words):
        function(**{**GOOD, **change})
