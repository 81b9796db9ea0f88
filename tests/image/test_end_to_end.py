"""Images from end to end: what the functions and the command promise, tried from outside."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import label
from tests.helpers import same_partition
from typer.testing import CliRunner

from linkshift.cli.app import app
from linkshift.image import mean_shift_filter, pixel_features, segment

pytest.importorskip("skimage")
Image = pytest.importorskip("PIL.Image")

DTYPES = ("uint8", "uint16", "float32", "float64")
WIDTHS = {"intensity": 1, "rgb": 3, "lab": 3, "position": 2, "texture": 24}


def squares(dtype="uint8", channels=3, size=(24, 36)):
    """Left dark, right bright, a third colour in the middle of the right."""
    h, w = size
    places = np.zeros(size, dtype=int)
    places[:, w // 2 :] = 1
    places[h // 4 : 3 * h // 4, 2 * w // 3 : 5 * w // 6] = 2
    colours = np.array([(0.1, 0.2, 0.6), (0.9, 0.5, 0.1), (1.0, 1.0, 1.0)])[places]
    white = np.iinfo(dtype).max if np.dtype(dtype).kind == "u" else 1.0
    if channels == 4:
        alpha = np.random.default_rng(0).random(size)
        colours = np.dstack([colours, alpha])
    elif channels == 0:
        colours = colours[..., 1]
    return (colours * white).astype(dtype), places


# --- features -----------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(WIDTHS)), min_size=1, max_size=5, unique=True),
    st.lists(st.floats(0.01, 100.0), min_size=5, max_size=5),
    st.sampled_from([0, 3, 4]),
    st.sampled_from(DTYPES),
)
def test_spaces_are_freely_combined_and_weighted(names, weights, channels, dtype):
    image, _ = squares(dtype, channels, (6, 9))
    spaces = dict(zip(names, weights, strict=False))
    found = pixel_features(image, spaces)
    parts = [pixel_features(image, name) * np.float32(weight) for name, weight in spaces.items()]
    assert [part.shape[2] for part in parts] == [WIDTHS[name] for name in spaces]
    np.testing.assert_allclose(found, np.concatenate(parts, axis=2), rtol=1e-6)


def test_texture_tells_orientations_apart():
    y, x = np.mgrid[:40, :40]
    lying, standing = (np.uint8(127 + 100 * np.sin(axis)) for axis in (y, x))
    a, b = (pixel_features(image, "texture")[20, 20] for image in (lying, standing))
    assert np.linalg.norm(a - b) > 10.0
    plain = pixel_features(np.full((40, 40), 90, np.uint8), "texture")
    np.testing.assert_allclose(plain, 0.0, atol=0.05)  # beside responses up to 40
    np.testing.assert_allclose(a.sum(), b.sum(), rtol=1e-3)  # the same set of filters, turned


# --- filter -------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(1, 1), (1, 13), (13, 1), (17, 19)])
@pytest.mark.parametrize("bandwidths", [(0.5, 0.5), (2, 30), (3.5, 16.3), (50, 1000)])
def test_opencv_bit_for_bit(size, bandwidths):
    cv2 = pytest.importorskip("cv2")
    image = np.random.default_rng(sum(size)).integers(256, size=(*size, 3), dtype=np.uint8)
    image[:, size[1] // 2 :] //= 8
    theirs = cv2.pyrMeanShiftFiltering(image, *bandwidths, maxLevel=0)
    np.testing.assert_array_equal(mean_shift_filter(image, *bandwidths, mode="opencv"), theirs)


def literal(image, h_s, h_r, gaussian):
    """Mean shift of every pixel over all pixels, in float64."""
    values = image.reshape(*image.shape[:2], -1).astype(float)
    rows, columns = np.indices(values.shape[:2])
    found, reach = np.empty_like(values), 3.0 if gaussian else 1.0
    for i, j in np.ndindex(values.shape[:2]):
        y, x, c = float(i), float(j), values[i, j]
        for _ in range(500):
            far = ((values - c) ** 2).sum(axis=2)
            near = (abs(rows - y) <= reach * h_s) & (abs(columns - x) <= reach * h_s)
            g = 1.0 * (near & (far <= (reach * h_r) ** 2))
            if gaussian:
                place = (rows - y) ** 2 + (columns - x) ** 2
                g *= np.exp(-place / (2 * h_s**2) - far / (2 * h_r**2))
            new = (g * rows).sum(), (g * columns).sum(), (g[..., None] * values).sum(axis=(0, 1))
            ny, nx, nc = (part / g.sum() for part in new)
            step = ((ny - y) ** 2 + (nx - x) ** 2) / h_s**2 + ((nc - c) ** 2).sum() / h_r**2
            y, x, c = ny, nx, nc
            if step <= 1e-6:
                break
        found[i, j] = c
    return found.reshape(image.shape)


@pytest.mark.parametrize("kernel", ["flat", "gaussian"])
@pytest.mark.parametrize("channels", [0, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_filter_is_the_literal_mean_shift(kernel, channels, dtype):
    white = np.iinfo(dtype).max if np.dtype(dtype).kind == "u" else 1.0
    shape = (7, 8) if channels == 0 else (7, 8, 3)
    image = (np.random.default_rng(3).random(shape) * white).astype(dtype)
    found = mean_shift_filter(image, 2.0, 0.2 * white, kernel=kernel)
    assert found.shape == shape
    assert found.dtype == dtype
    wanted = literal(image, 2.0, 0.2 * white, kernel == "gaussian")
    rounding = 0.5 + 1e-3 if np.dtype(dtype).kind == "u" else 0.0
    np.testing.assert_allclose(found, wanted, atol=rounding + 1e-5 * white, rtol=0)


# --- segments -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["mean_shift", "kmeans"])
@pytest.mark.parametrize("channels", [0, 3, 4])
@pytest.mark.parametrize("dtype", [*DTYPES, "float16"])
def test_every_kind_of_image(method, channels, dtype):
    image, places = squares(dtype, channels)
    more = {"n_segments": 3, "features": "rgb", "random_state": 0} if method == "kmeans" else {}
    labels = segment(image, method, **more)
    assert same_partition(labels, places)


@pytest.mark.parametrize("method", ["mean_shift", "kmeans"])
@pytest.mark.parametrize("size", [(1, 1), (1, 2), (1, 31), (31, 1), (9, 7)])
@pytest.mark.parametrize("channels", [0, 3])
def test_images_of_one_colour_are_one_segment(method, size, channels):
    image = np.full(size if channels == 0 else (*size, 3), 77, dtype=np.uint8)
    np.testing.assert_array_equal(segment(image, method), np.zeros(size))


@pytest.mark.parametrize("method", ["mean_shift", "kmeans"])
@pytest.mark.parametrize("connected", [True, False])
@pytest.mark.parametrize("min_size", [1, 12, 10_000])
def test_small_regions_merge_and_labels_connect(method, connected, min_size):
    rng = np.random.default_rng(1)
    image = np.kron(rng.integers(256, size=(6, 8, 3)), np.ones((4, 4, 1))).astype(np.uint8)
    more = {"n_segments": 4, "random_state": 0} if method == "kmeans" else {}
    labels = segment(image, method, min_size=min_size, connected=connected, **more)
    sizes = np.bincount(labels.ravel())
    assert sizes.min() >= min(min_size, labels.size)
    if connected:
        assert all(label(labels == number)[1] == 1 for number in range(len(sizes)))


@pytest.mark.parametrize("method", ["mean_shift", "kmeans"])
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_every_pixel_of_a_stroke_is_honoured(method, data):
    h, w = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 12))
    seed = data.draw(st.integers(0, 2**31))
    rng = np.random.default_rng(seed)
    image = rng.integers(256, size=(h, w, 3), dtype=np.uint8)
    if data.draw(st.booleans()):
        image[...] = 50  # nothing in the picture speaks for the strokes
    strokes = rng.integers(1, 5, size=(h, w)) * (rng.random((h, w)) < rng.random())
    strokes[rng.integers(h), rng.integers(w)] = 9
    more = {} if method == "mean_shift" else {"n_segments": min(3, h * w), "random_state": 0}
    labels = segment(image, method, scribbles=strokes, **more)
    numbers = np.unique(strokes[strokes > 0])
    of_strokes = [np.unique(labels[strokes == number]) for number in numbers]
    assert all(len(found) == 1 for found in of_strokes)
    assert len({int(found[0]) for found in of_strokes}) == len(of_strokes)


def test_strokes_are_refused_before_the_work(monkeypatch):
    image, _ = squares()
    monkeypatch.setattr("linkshift.image.segmentation.mean_shift_modes", None)
    for strokes, words in (
        (np.ones((3, 3), int), r"\(3, 3\)"),
        (np.zeros((24, 36), int), "nothing is marked"),
        (np.full((24, 36), -1), "negative"),
    ):
        with pytest.raises(ValueError, match=words):
            segment(image, scribbles=strokes)


def test_infinite_bandwidth_leaves_the_strokes_only():
    image, places = squares()
    strokes = np.zeros(places.shape, int)
    strokes[3, 3], strokes[3, 30] = 1, 2
    labels = segment(image, scribbles=strokes, merge_bandwidth=np.inf, min_size=1)
    assert same_partition(labels, places > 0)
    with pytest.raises(ValueError, match="finite"):
        segment(image, merge_bandwidth=np.inf)


def test_bandwidths_of_any_size():
    image, places = squares()
    assert same_partition(segment(image, spatial_bandwidth=1e300), places)
    assert segment(image, range_bandwidth=1e300).max() == 0


def test_more_clusters_than_pixels():
    for image in (np.zeros((1, 2), np.uint8), np.array([[0, 255]], np.uint8)):
        with pytest.raises(ValueError, match="3 segments are more than the 2 pixels"):
            segment(image, "kmeans", n_segments=3)


# --- command ------------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Image.fromarray(squares()[0]).save("p.png")
    return tmp_path


def call(*args, code=0):
    result = CliRunner().invoke(app, ["segment", *map(str, args)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def refused(here, *args):
    """Call with a mistake: exit code 2, and no file written or changed. Gives the message."""
    before = {path: path.read_bytes() for path in here.iterdir() if path.is_file()}
    result = call(*args, code=2)
    assert result.stdout == ""
    assert before == {path: path.read_bytes() for path in here.iterdir() if path.is_file()}
    return " ".join(result.stderr.split())


def test_labels_overlay_and_scribbles(here):
    _, places = squares()
    call("p.png", "-o", "l.png", "--overlay", "o.png")
    assert same_partition(np.array(Image.open("l.png")), places)
    assert np.array(Image.open("o.png")).shape == (24, 36, 3)
    strokes = np.zeros(places.shape, np.uint8)
    strokes[2, 2:9], strokes[12, 20:28] = 1, 2
    Image.fromarray(strokes).save("s.png")
    call("p.png", "-o", "l.png", "--scribbles", "s.png")
    labels = np.array(Image.open("l.png"))
    assert same_partition(labels[strokes > 0], strokes[strokes > 0])


def write_16_bits(name, array):
    cv2 = pytest.importorskip("cv2")
    order = {3: [2, 1, 0], 4: [2, 1, 0, 3]}[array.shape[2]]
    assert cv2.imwrite(name, np.ascontiguousarray(array[..., order]))


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("planar", ["contig", "separate"])
def test_16_bits_of_colour_are_all_read(here, channels, planar):
    from linkshift.cli.reading.pictures import read_image

    tifffile = pytest.importorskip("tifffile")
    image = np.random.default_rng(0).integers(65536, size=(9, 7, channels), dtype=np.uint16)
    samples = image if planar == "contig" else np.moveaxis(image, 2, 0)
    tifffile.imwrite("w.tif", samples, photometric="rgb", planarconfig=planar)
    found = read_image(Path("w.tif"))
    assert found.dtype == np.uint16
    np.testing.assert_array_equal(found, image[..., :3])


@pytest.mark.parametrize("channels", [3, 4])
def test_16_bits_of_colour_in_png_are_refused(here, channels):
    """Eight of them would be lost without a word."""
    write_16_bits("w.png", np.full((9, 7, channels), 1000, dtype=np.uint16))
    message = refused(here, "w.png", "-o", "l.png")
    assert "w.png has 16 bits of colour" in message
    assert "Save it as .tif" in message


def test_16_bits_of_grey_in_png_are_all_read(here):
    from linkshift.cli.reading.pictures import read_image

    grey = np.random.default_rng(0).integers(65536, size=(9, 7), dtype=np.uint16)
    Image.fromarray(grey).save("w.png")
    np.testing.assert_array_equal(read_image(Path("w.png")), grey)


def test_16_bits_make_a_difference(here):
    tifffile = pytest.importorskip("tifffile")
    image = np.full((20, 20, 3), 1000, dtype=np.uint16)  # both halves are 3 of 255
    image[:, 10:] = 1020
    tifffile.imwrite("w.tif", image, photometric="rgb")
    args = ("--range-bandwidth", 0.01, "--merge-bandwidth", 0.01, "--json")
    assert json.loads(call("w.tif", *args).stdout)["sizes"] == [200, 200]


@pytest.mark.parametrize("mode", ["LA", "RGBA", "P"])
@pytest.mark.parametrize("orientation", [5, 8])
def test_pictures_with_alpha_are_turned(here, mode, orientation):
    from PIL import ImageOps

    from linkshift.cli.reading.pictures import read_image

    picture = Image.open("p.png").convert(mode)
    exif = picture.getexif()
    exif[0x0112] = orientation
    picture.save("t.png", exif=exif)
    seen = ImageOps.exif_transpose(Image.open("t.png")).convert("L" if mode == "LA" else "RGB")
    np.testing.assert_array_equal(read_image(Path("t.png")), np.array(seen))


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["jpg", "png", "tif", "deep"])
def test_pictures_are_read_as_they_are_seen(here, orientation, kind):
    from PIL import ImageOps

    from linkshift.cli.reading.pictures import read_image

    corner = np.zeros((16, 24, 3), np.uint8)
    corner[:8, :8], corner[8:, 16:] = 255, 120
    picture = Image.fromarray(corner)
    exif = picture.getexif()
    exif[0x0112] = orientation
    picture.save("seen.png", exif=exif)
    seen = np.array(ImageOps.exif_transpose(Image.open("seen.png")))
    if kind == "deep":
        tifffile = pytest.importorskip("tifffile")
        tag = [(274, "H", 1, orientation, True)]
        tifffile.imwrite("t.tif", corner.astype(np.uint16), photometric="rgb", extratags=tag)
        found = read_image(Path("t.tif"))
    else:
        picture.save(f"t.{kind}", exif=exif)
        found = read_image(Path(f"t.{kind}"))
    assert found.shape == seen.shape
    np.testing.assert_allclose(found.astype(int), seen, atol=12 if kind == "jpg" else 0)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK"])
@pytest.mark.parametrize("suffix", ["png", "tif", "jpg"])
def test_modes_of_pictures(here, mode, suffix):
    if (suffix == "png" and mode == "CMYK") or (suffix == "jpg" and mode in ("LA", "P", "RGBA")):
        pytest.skip("there are no such files")
    from linkshift.cli.reading.pictures import read_image

    picture = Image.open("p.png").convert(mode)
    picture.save(f"m.{suffix}")
    wanted = np.array(picture.convert("L" if mode in ("1", "L", "LA") else "RGB"))
    tolerance = 40 if suffix == "jpg" else 0
    found = read_image(Path(f"m.{suffix}"))
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found.astype(int), wanted, atol=tolerance)


@pytest.mark.parametrize("compression", ["tiff_lzw", "tiff_adobe_deflate", "packbits"])
def test_compressed_tiff(here, compression):
    Image.open("p.png").save("c.tif", compression=compression)
    assert json.loads(call("c.tif", "--json").stdout)["n_segments"] == 3


def test_files_that_are_no_pictures(here):
    noise = np.random.default_rng(0).integers(256, size=(30, 30, 3), dtype=np.uint8)
    Image.fromarray(noise).save("whole.png")
    whole = (here / "whole.png").read_bytes()
    (here / "half.png").write_bytes(whole[: len(whole) // 2])
    (here / "text.png").write_text("hello")
    (here / "empty.png").write_bytes(b"")
    (here / "folder.png").mkdir()
    for name in ("half.png", "text.png", "empty.png"):
        message = refused(here, name, "-o", "l.png")
        assert f"{name} cannot be read as a picture" in message
        assert "Save it anew" in message
    assert "folder.png is a folder; give a file" in refused(here, "folder.png", "-o", "l.png")
    assert "nowhere.png does not exist" in refused(here, "nowhere.png", "-o", "l.png")


@pytest.mark.parametrize("suffix", ["gif", "png", "webp", "tif"])
def test_several_frames(here, suffix):
    first = Image.open("p.png")
    other = Image.fromarray(255 - np.array(first))
    first.save(f"a.{suffix}", save_all=True, append_images=[other])
    message = refused(here, f"a.{suffix}", "-o", "l.png")
    assert f"a.{suffix}" in message
    assert ("Convert it" if suffix == "gif" else "Save one of them by itself") in message


@pytest.mark.parametrize(("factor", "words"), [(300.0, "to 300"), (-1.0, "from -1")])
def test_floats_beyond_black_and_white(here, factor, words):
    tifffile = pytest.importorskip("tifffile")
    image = squares("float32")[0] * np.float32(factor)
    tifffile.imwrite("f.tif", image, photometric="rgb")
    message = refused(here, "f.tif", "-o", "l.png")
    assert "f.tif holds floats" in message
    assert words in message
    assert "divide them" in message


def lines(size=(60, 60)):
    """Two thick strokes."""
    strokes = np.zeros(size, np.uint8)
    strokes[10:14, 5:50], strokes[40:44, 5:50] = 1, 2
    return strokes


@pytest.mark.parametrize("colour", [True, False])
@pytest.mark.parametrize("damage", ["jpg", "jpg as png", "smoothed"])
def test_strokes_that_compression_or_smoothing_has_damaged(here, colour, damage):
    Image.fromarray(np.zeros((60, 60, 3), np.uint8)).save("p.png")
    table = [(0, 0, 0), (250, 20, 20), (20, 20, 250)] if colour else [0, 100, 200]
    picture = Image.fromarray(np.array(table, np.uint8)[lines()])
    name = "s.png"
    if damage == "smoothed":
        picture.rotate(10, Image.Resampling.BICUBIC).save(name)
    else:
        picture.save("s.jpg", quality=60)
        if damage == "jpg":
            name = "s.jpg"
        else:
            Image.open("s.jpg").save(name)
    message = refused(here, "p.png", "-o", "l.png", "--scribbles", name)
    assert name in message
    assert "hard pencil" in message


def test_many_strokes_are_no_noise(here):
    """Clicks of one pixel, and a dense map of labels: many numbers, all of them meant."""
    Image.fromarray(np.zeros((60, 60, 3), np.uint8)).save("p.png")
    clicks = np.zeros((60, 60), np.uint8)
    clicks[::6, ::6] = np.arange(1, 101).reshape(10, 10)
    dense = np.kron(np.arange(1, 101).reshape(10, 10), np.ones((6, 6))).astype(np.uint8)
    for strokes in (clicks, dense):
        Image.fromarray(strokes).save("s.png")
        report = json.loads(call("p.png", "--scribbles", "s.png", "--json").stdout)
        assert report["n_strokes"] == report["n_segments"] == 100


def test_strokes_of_another_size(here):
    Image.fromarray(lines()).save("s.png")
    message = refused(here, "p.png", "-o", "l.png", "--scribbles", "s.png")
    assert "s.png is 60 x 60 pixels and the image is 36 x 24" in message


def test_outputs_that_cannot_be(here):
    message = refused(here, "p.png", "-o", "no/l.png")
    assert "no/l.png: the folder no does not exist" in message
    assert "mkdir" in message
    assert "would overwrite p.png" in refused(here, "p.png", "-o", "p.png")
    assert "would overwrite p.png" in refused(here, "p.png", "--overlay", here / "p.png")


def test_too_many_segments_for_the_labels_leave_no_overlay(here, monkeypatch):
    many = np.arange(24 * 36 * 100, dtype=np.int32).reshape(240, 360)
    Image.fromarray(np.zeros((240, 360), np.uint8)).save("b.png")
    monkeypatch.setattr("linkshift.image.segment", lambda *_, **__: many)
    message = refused(here, "b.png", "-o", "l.png", "--overlay", "o.png")
    assert "too many for 16 bits" in message


def test_the_command_names_its_options_and_the_file(here):
    for option in ("--spatial-bandwidth", "--range-bandwidth", "--merge-bandwidth"):
        message = refused(here, "p.png", "-o", "l.png", option, -1)
        assert f"p.png: The {option[2:].replace('-', ' ')} is -1.0, and must be" in message
        assert f"{option}." in message
    message = refused(here, "p.png", "-o", "l.png", "--method", "kmeans", "--segments", 9999)
    assert (
        "p.png: 9999 segments are more than the 864 pixels. Take a smaller --segments." in message
    )


def test_too_little_memory(here, monkeypatch):
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr("linkshift.image.segment", fail)
    assert "p.png is too large for the memory there is; scale it down" in refused(
        here, "p.png", "-o", "l.png"
    )
