"""`linkshift segment`: labels, overlay, strokes, report; mistakes leave with exit code 2."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image")

from linkshift.cli.reading import pictures  # noqa: E402
from linkshift.cli.talking import InputError  # noqa: E402
from linkshift.cli.writing import figures  # noqa: E402
from linkshift.image import segment  # noqa: E402


@pytest.fixture
def picture(here):
    """p.png: left blue, right orange, a white square in the right half."""
    colours = np.empty((40, 60, 3), dtype=np.uint8)
    colours[:, :30], colours[:, 30:] = (20, 40, 160), (230, 140, 30)
    colours[10:26, 40:56] = 255
    Image.fromarray(colours).save("p.png")
    return "p.png"


@pytest.fixture
def strokes(here):
    """Write a picture of strokes from an array."""

    def write(array, name="s.png"):
        if name.endswith(".npy"):
            np.save(name, array)
        else:
            Image.fromarray(array).save(name)
        return name

    return write


def marks(dtype=np.uint8):
    """One stroke in the blue half, one from the orange into the white."""
    found = np.zeros((40, 60), dtype=dtype)
    found[20, 5:15] = 1
    found[15, 33:50] = 2
    return found


def read(name):
    return np.array(Image.open(name))


def test_labels_and_overlay(run, picture):
    result = run("segment", picture, "-o", "l.png", "--overlay", "o.png")
    assert result.stdout == ""
    assert "60 x 40 pixels, colour, uint8" in result.stderr
    assert "3 segments, sizes 1,200, 944, 256." in result.stderr
    assert "Written: l.png (8 bits), o.png." in result.stderr
    labels = read("l.png")
    assert labels.dtype == np.uint8
    assert [labels[0, 0], labels[0, 59], labels[12, 42]] == [0, 1, 2]
    drawn, image = read("o.png"), read(picture)
    changed = (drawn != image).any(axis=2)
    assert (drawn[changed] == (255, 0, 255)).all()
    assert changed[:, 29:31].all()
    assert not changed[:, :28].any()


def test_npy_and_grey_and_kmeans(run, picture):
    grey = read(picture)[..., 0]
    np.save("g.npy", grey)
    args = ("--method", "kmeans", "--segments", 3, "--seed", 1)
    run("segment", "g.npy", "-o", "l.npy", *args)
    labels = np.load("l.npy")
    assert labels.shape == (40, 60)
    assert labels.dtype == np.int32
    assert labels[0, 0] != labels[0, 59]
    run("segment", "g.npy", "-o", "again.npy", *args)
    np.testing.assert_array_equal(np.load("again.npy"), labels)


def test_features_and_smoothing(run, picture):
    run("segment", picture, "-o", "l.npy", "--features", "lab+texture")
    assert np.load("l.npy")[0, 0] != np.load("l.npy")[0, 59]
    smooth = ("--method", "kmeans", "--segments", 3, "--smooth", 1.0, "--features", "rgb")
    run("segment", picture, "-o", "s.npy", *smooth)
    assert np.load("s.npy")[0, 0] != np.load("s.npy")[0, 59]


def test_json(run, picture, strokes):
    name = strokes(marks())
    result = run("segment", picture, "--scribbles", name, "--json", "--quiet", "--threads", 1)
    report = json.loads(result.stdout)
    assert result.stderr == ""
    assert (report["height"], report["width"]) == (40, 60)
    assert report["n_segments"] == 2
    assert report["sizes"] == [1200, 1200]
    assert report["n_strokes"] == 2
    assert report["seconds"] > 0
    assert "scikit-image" in report["versions"]


@pytest.mark.parametrize("method", ["mean-shift", "kmeans"])
@pytest.mark.parametrize("kind", ["grey", "npy", "colour", "alpha", "palette", "16 bits"])
def test_kinds_of_strokes(run, picture, strokes, kind, method):
    numbers = marks()
    if kind == "npy":
        name = strokes(numbers.astype(np.int64), "s.npy")
    elif kind == "16 bits":
        name = strokes(numbers.astype(np.uint16) * 300)
    elif kind == "palette":
        name = "s.png"
        table = Image.fromarray(numbers).convert("P")
        table.putpalette([0, 0, 0, 255, 0, 0, 0, 255, 0])
        table.save(name)
    elif kind == "grey":
        name = strokes(numbers)
    else:
        colours = np.array([(0, 0, 0, 255), (255, 0, 0, 255), (0, 255, 0, 255)], dtype=np.uint8)
        if kind == "alpha":
            colours[0] = (255, 255, 255, 0)  # white, and transparent
        colours = colours if kind == "alpha" else colours[:, :3]
        name = strokes(colours[numbers])
    result = run("segment", picture, "-o", "l.npy", "--scribbles", name, "--method", method)
    assert "2 strokes on 27 pixels" in result.stderr
    labels = np.load("l.npy")
    assert len(np.unique(labels[numbers == 1])) == len(np.unique(labels[numbers == 2])) == 1
    assert labels[20, 5] != labels[15, 33]
    assert labels[15, 45] == labels[15, 33]  # the white square has joined the orange


def test_a_bright_background_is_pointed_out(run, picture, strokes):
    array = np.full((40, 60), 255, dtype=np.uint8)
    array[20, 5:15] = 0
    result = run("segment", picture, "--json", "--scribbles", strokes(array))
    assert "more than half of s.png is marked" in result.stderr


def test_16_bits_for_many_segments(run, here):
    image = (np.indices((40, 40)).sum(axis=0) % 2 * 255).astype(np.uint8)
    Image.fromarray(image).save("c.png")
    bandwidths = ("--spatial-bandwidth", 1, "--range-bandwidth", 1, "--merge-bandwidth", 1)
    result = run("segment", "c.png", "-o", "l.png", "--min-size", 1, *bandwidths)
    labels = read("l.png")
    assert labels.dtype == np.uint16
    assert labels.max() == 1599
    assert "l.png (16 bits)" in result.stderr


def test_too_many_segments_for_png(tmp_path):
    labels = np.arange(300 * 300, dtype=np.int32).reshape(300, 300)
    with pytest.raises(InputError, match=r"90,000 segments are too many.*npy"):
        figures.write_label_image(tmp_path / "l.png", labels)
    figures.write_label_image(tmp_path / "l.npy", labels)
    np.testing.assert_array_equal(np.load(tmp_path / "l.npy"), labels)


def test_overlay_in_stripes_is_that_of_the_whole(tmp_path, monkeypatch):
    mark_boundaries = pytest.importorskip("skimage.segmentation").mark_boundaries
    rng = np.random.default_rng(0)
    labels = np.kron(rng.integers(4, size=(10, 10)), np.ones((5, 5), dtype=np.int32))
    image = rng.integers(256, size=(50, 50, 3), dtype=np.uint8)
    monkeypatch.setattr(figures, "_ROWS", 7)
    figures.write_overlay(tmp_path / "o.png", image, labels.astype(np.int32))
    whole = mark_boundaries(image, labels, color=(1, 0, 1), mode="thick")
    np.testing.assert_array_equal(read(tmp_path / "o.png"), np.rint(255 * whole))


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "F"])
def test_kinds_of_pictures(picture, mode):
    suffix = {"CMYK": "jpg", "F": "tif"}.get(mode, "png")
    if mode in ("I;16", "F"):
        top = 65535 if mode == "I;16" else 1.0
        grey = read(picture)[..., 0] / 255 * top
        Image.fromarray(grey.astype(np.uint16 if mode == "I;16" else np.float32)).save(
            f"k.{suffix}"
        )
    else:
        Image.open(picture).convert(mode).save(f"k.{suffix}")
    found = pictures.read_image(Path(f"k.{suffix}"))
    assert found.shape == ((40, 60, 3) if mode in ("P", "RGB", "RGBA", "CMYK") else (40, 60))
    kinds = {"I;16": np.uint16, "F": np.float32}
    assert found.dtype == kinds.get(mode, np.uint8)
    red = found if found.ndim == 2 else found[..., 0]
    assert red[:, :28].mean() < red[:, 32:].mean()  # means: one bit is dithered


def test_pictures_are_turned_as_their_camera_says(picture):
    from PIL import ImageOps

    image = Image.open(picture)
    exif = image.getexif()
    exif[0x0112] = 6
    image.save("turned.png", exif=exif)
    seen = np.array(ImageOps.exif_transpose(Image.open("turned.png")))
    assert seen.shape == (60, 40, 3)
    np.testing.assert_array_equal(pictures.read_image(Path("turned.png")), seen)


# --- mistakes -----------------------------------------------------------------------------------


def test_nothing_to_write(refused, picture):
    assert "Give -o labels.png" in refused("segment", picture)


def test_missing_image(refused, picture):
    assert "q.png does not exist." in refused("segment", "q.png", "--json")


def test_not_an_image(refused, here):
    (here / "t.png").write_text("hello")
    message = refused("segment", "t.png", "--json")
    assert "t.png cannot be read as a picture" in message
    assert "Save it anew" in message


@pytest.mark.parametrize("suffix", ["png", "jpg", "tif"])
def test_truncated(refused, here, picture, suffix):
    noise = np.random.default_rng(0).integers(256, size=(40, 60, 3), dtype=np.uint8)
    Image.fromarray(noise).save(f"n.{suffix}")
    whole = (here / f"n.{suffix}").read_bytes()
    (here / f"n.{suffix}").write_bytes(whole[: len(whole) // 2])
    assert "cannot be read as a picture" in refused("segment", f"n.{suffix}", "--json")


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((2, 3, 4, 3), np.uint8), "Save one page"),
        (np.zeros((0, 3), np.uint8), "(0, 3)"),
        (np.full((4, 4), 300.0), "divide them by their white value"),
        (np.full((4, 4), np.nan), "holds NaN or infinity"),
        (np.full((4, 4), -5), "Scale it"),
        (np.full((4, 4), 200), "Say so"),
        (np.full((4, 4), "a"), "not numbers"),
        (np.array([[{}]], dtype=object), "cannot be read as a picture"),
    ],
)
def test_arrays_that_are_no_pictures(refused, here, array, words):
    np.save("a.npy", array, allow_pickle=True)
    assert words in refused("segment", "a.npy", "--json")


def test_unknown_suffixes(refused, picture, here):
    (here / "p.xyz").write_bytes(b"")
    assert "unknown suffix '.xyz'" in refused("segment", "p.xyz", "--json")
    assert "Use one of .png, .npy" in refused("segment", picture, "-o", "l.csv")
    assert "unknown suffix '.jpg'" in refused("segment", picture, "--overlay", "o.jpg")
    Image.fromarray(marks()).save("s.jpg")
    assert "with a hard pencil" in refused("segment", picture, "--json", "--scribbles", "s.jpg")


def test_inputs_are_not_overwritten(refused, picture, strokes):
    before = read(picture)
    name = strokes(marks())
    assert "would overwrite p.png" in refused("segment", picture, "-o", "./p.png")
    assert "would overwrite p.png" in refused("segment", picture, "--overlay", picture)
    assert "would overwrite s.png" in refused("segment", picture, "-o", name, "--scribbles", name)
    assert "both x.png" in refused("segment", picture, "-o", "x.png", "--overlay", "x.png")
    np.testing.assert_array_equal(read(picture), before)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((40, 60), np.uint8), "has no stroke"),
        (np.ones((60, 40), np.uint8), "s.png is 40 x 60 pixels and the image is 60 x 40"),
        (
            np.random.default_rng(0).integers(256, size=(40, 60, 3), dtype=np.uint8),
            "hard pencil, without smoothing",
        ),
    ],
)
def test_strokes_of_no_use(refused, picture, strokes, array, words):
    assert words in refused("segment", picture, "--json", "--scribbles", strokes(array))


def test_arrays_of_no_use_as_strokes(refused, picture, strokes):
    for array, words in ((marks() * 1.0, "whole numbers"), (-marks(np.int64), "strokes are 1, 2")):
        name = strokes(array, "s.npy")
        assert words in refused("segment", picture, "--json", "--scribbles", name)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--segments", 3), "--segments is for --method kmeans"),
        (("--seed", 3), "--seed is for --method kmeans"),
        (("--smooth", 3), "--smooth is for --method kmeans"),
        (("--features", "hue"), "known are"),
        (("--method", "kmeans", "--smooth", -1), "give a positive number"),
        (("--method", "kmeans", "--range-bandwidth", 3), "is for --method mean-shift"),
        (("--method", "kmean"), "Did you mean 'kmeans'?"),
        (("--spatial-bandwidth", -1), "The spatial bandwidth is -1.0, and must be positive"),
        (("--min-size", 0), "--min-size"),
        (("--threads", 0), "--threads"),
    ],
)
def test_options_that_make_no_sense(refused, picture, args, words):
    assert words in refused("segment", picture, "--json", *args)


def test_what_is_more_than_was_asked_for_is_explained(run, here):
    """Stripes of two colours: two clusters, eight places."""
    stripes = np.zeros((40, 80, 3), dtype=np.uint8)
    stripes[:, (np.arange(80) // 10) % 2 == 1] = (230, 140, 30)
    Image.fromarray(stripes).save("p.png")
    told = run("segment", "p.png", "-o", "l.png", "--method", "kmeans", "--segments", 4).stderr
    assert "They are the connected regions of 4 clusters" in told
    assert "--min-size" in told
    assert "connected regions" not in run("segment", "p.png", "-o", "l.png").stderr
    told = run("segment", "p.png", "-o", "l.png", "--method", "kmeans").stderr
    assert re.search(r"the connected regions of \d+ clusters", told)
    found = np.array(Image.open("l.png"))
    np.testing.assert_array_equal(found, segment(stripes, "kmeans", random_state=0))


def test_no_file_is_left_half_written(run, picture, here, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Image.Image, "save", fail)
    result = run("segment", picture, "-o", "l.png", code=2)
    assert "l.png cannot be written: No space left on device" in result.stderr
    assert sorted(path.name for path in here.iterdir()) == ["p.png"]


def test_without_the_extra(refused, picture, monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage", None)
    assert 'pip install "linkshift[image]"' in refused("segment", picture, "--json")


def test_help_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from linkshift.cli import main\n"
        "sys.argv = ['linkshift', 'segment', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'skimage', 'PIL', 'scipy', 'numba'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("Usage: linkshift segment")
    assert done.stderr == "[]\n"
