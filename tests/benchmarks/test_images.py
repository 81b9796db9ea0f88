"""The benchmark of segmentations: a fair choice of parameters, honest rows, absent peers told."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from benchmarks import images, run
from benchmarks.harness import Options
from joblib import Parallel

from linkshift import datasets
from linkshift.datasets import AnnotatedImage

pytest.importorskip("skimage", reason="scikit-image is not installed")

TINY = Options(size="tiny", repeats=1)


def halves(name, width=40):
    """An image of two flat halves, and a person who saw them."""
    labels = np.tile(np.arange(width) * 2 // width, (30, 1))
    image = np.repeat((labels * 200).astype(np.uint8)[..., None], 3, axis=2)
    return AnnotatedImage(name, image, labels[None], "val")


def stripes(image, *, n):
    """A method that knows nothing but how many stripes to cut."""
    return np.tile(np.arange(image.shape[1]) * n // image.shape[1], (image.shape[0], 1))


def test_the_best_on_every_second_image_is_taken():
    method = images.Method(stripes, "numpy", {"n": (1, 2, 4)})
    found = [halves("a"), halves("b", 60), halves("c")]
    with Parallel(n_jobs=1) as parallel:
        cells = images.row("stripes", method, found, Options(), parallel).cells
    assert cells["parameters"] == "n 2"
    assert cells["covering"] == cells["PRI"] == cells["covering, others"] == 1.0
    assert cells["VI"] == 0.0
    assert cells["segments"] == 2.0


def test_means_are_over_all_and_over_the_others():
    scores = [images.Score(0.5, 0.6, 2.0, 10, 1.0), images.Score(0.7, 0.8, 1.0, 20, 3.0)]
    cells = images.cells("one", {"k": 3}, scores, scores[1:])
    assert (cells["covering"], cells["PRI"], cells["VI"]) == (0.6, 0.7, 1.5)
    assert (cells["covering, others"], cells["PRI, others"]) == (0.7, 0.8)
    assert (cells["segments"], cells["CPU s"]) == (15.0, 2.0)


@pytest.mark.parametrize("name", images.METHODS)
def test_every_method_segments_at_every_point_of_its_grid(name):
    method = images.METHODS[name]
    pytest.importorskip(method.needs)
    settings = method.settings()
    assert len(settings) == np.prod([len(values) for values in method.grid.values()])
    image = halves("a").image
    for setting in (settings[0], settings[-1]):
        labels = method.function(image, **setting)
        assert labels.shape == image.shape[:2]
        assert labels.dtype.kind == "i"


@pytest.mark.parametrize("name", ["ours: mean shift", "felzenszwalb", "OpenCV mean shift"])
def test_two_halves_are_found(name):
    method = images.METHODS[name]
    pytest.importorskip(method.needs)
    setting = method.settings()[0] | ({"min_size": 20} if name == "felzenszwalb" else {})
    # Peers blur the image, and have it a pixel away.
    least = 1.0 if "ours" in name else 0.9
    assert images.score(method.function, halves("a"), setting).covering >= least


def test_an_absent_peer_is_told(monkeypatch):
    real = importlib.import_module

    def without(name, *rest):
        if name == "cv2":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(images.importlib, "import_module", without)
    method = images.METHODS["OpenCV mean shift"]
    with Parallel(n_jobs=1) as parallel:
        found = images.row("OpenCV", method, [halves("a"), halves("b")], TINY, parallel)
    assert found.cells == {"method": "OpenCV (not installed)"}


def test_absent_images_are_told(monkeypatch, tmp_path):
    monkeypatch.setenv("LINKSHIFT_DATA", str(tmp_path))
    (found,) = images.run(TINY)
    assert "LINKSHIFT_DATA" in str(found.cells["method"])


@pytest.mark.slow
def test_a_tiny_run():
    try:
        datasets.load_images()
    except FileNotFoundError:
        pytest.skip("the images are not here; set LINKSHIFT_DATA")
    suite = run.run_suite("images", TINY)
    assert suite["error"] is None
    names = [row["cells"]["method"].removesuffix(" (not installed)") for row in suite["rows"]]
    assert names == list(images.METHODS)
    for row in suite["rows"]:
        cells = row["cells"]
        if "covering" in cells:
            assert 0.0 < cells["covering"] <= 1.0
            assert 0.0 < cells["PRI"] <= 1.0
            assert cells["segments"] >= 1
