"""Segmentation of natural images against what people drew: mean shift, k-means and peers.

``python -m benchmarks.run images [--quick | --full]``. 26 images of BSDS500 (Arbelaez et al. 2011)
with 5 to 8 human segmentations each. Every method has a small grid of parameters, the same for all
images; the ones with the best mean covering on every second image (the first, the third, ...) are
taken, and scores are given for all images and for the others alone. The form of our merging of
regions and the values in its grid were settled after many trials with all 26 in view: for it,
"others" are not unseen, and it had more effort than the peers. One image that falls apart or not is
0.01 of a mean. SLIC and quickshift are made for superpixels, and stand here because they are at
hand. ``LINKSHIFT_IMAGES_PARTS`` in the environment picks methods, such as ``SLIC,felzenszwalb``.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from benchmarks.harness import Array, Cell, Options, Row, run_parts
from linkshift import datasets
from linkshift.datasets import AnnotatedImage
from linkshift.image import ImageModes, pixel_features, segment, segmentation_scores
from linkshift.image.regions import merge_small, mode_regions, region_graph

TITLE = (
    "segmentations against people's (BSDS500): means over images; parameters chosen by covering on "
    "every second image, scores on all and on the others; CPU seconds an image, one thread"
)


class Score(NamedTuple):
    """How one segmentation did."""

    covering: float
    rand_index: float
    information: float
    n_segments: int
    cpu: float


# Methods: an image and parameters to labels -------------------------------------------------------


def mean_shift(image: Array, *, place: float, merge: float) -> Array:
    return segment(image, spatial_bandwidth=place, merge_bandwidth=merge, n_jobs=1)


def by_features(image: Array, *, merge: float, **spaces: float) -> Array:
    """Find modes in another feature space, in which regions are compared as well."""
    return segment(image, spatial_bandwidth=7.0, merge_bandwidth=merge, features=spaces, n_jobs=1)


def modes_alone(image: Array, *, place: float, colour: float) -> Array:
    """Group modes as in the paper of 2002: regions are not compared by their means."""
    return segment(
        image, spatial_bandwidth=place, range_bandwidth=colour, merge_bandwidth=0.0, n_jobs=1
    )


def k_means(image: Array, *, k: int, position: float, smooth: float | None = None) -> Array:
    run: dict[str, Any] = {"n_segments": k, "smooth": smooth, "n_jobs": 1, "random_state": 0}
    return segment(image, "kmeans", features={"lab": 1.0, "position": position}, **run)


def felzenszwalb(image: Array, **parameters: Any) -> Array:
    labels: Array = _skimage().felzenszwalb(image, sigma=0.8, **parameters)
    return labels


def slic(image: Array, **parameters: Any) -> Array:
    labels: Array = _skimage().slic(image, start_label=0, **parameters)
    return labels


def quickshift(image: Array, **parameters: Any) -> Array:
    labels: Array = _skimage().quickshift(image, rng=0, **parameters)
    return labels


def opencv(image: Array, *, sp: int, sr: int, step: float) -> Array:
    """Filter, join neighbours up to a step in colour, and merge small regions as ours are."""
    filtered = importlib.import_module("cv2").pyrMeanShiftFiltering(image, sp, sr)
    h, w = image.shape[:2]
    still = ImageModes(np.zeros((h, w, 2), np.float32), filtered.astype(np.float32))
    regions = mode_regions(still, 1.0, step)
    _, into = merge_small(region_graph(regions, pixel_features(image, "lab")), h * w // 300)
    return into[regions]


def _skimage() -> Any:
    return importlib.import_module("skimage.segmentation")


class Method(NamedTuple):
    """A function, the module that it needs, and the values that each parameter is tried with."""

    function: Callable[..., Array]
    needs: str
    grid: dict[str, Sequence[Any]]

    def settings(self) -> list[dict[str, Any]]:
        """Give every point of the grid."""
        return [dict(zip(self.grid, point, strict=True)) for point in product(*self.grid.values())]


METHODS = {
    "ours: mean shift": Method(
        mean_shift,
        "linkshift",
        {"place": (7.0, 12.0), "merge": (8.0, 9.0, 10.0)},
    ),
    "ours: mean shift by texture": Method(
        by_features, "linkshift", {"texture": (1.0, 2.0), "merge": (5.0, 10.0)}
    ),
    "ours: mean shift by colour and texture": Method(
        by_features,
        "linkshift",
        {"lab": (1.0,), "texture": (0.2, 0.5), "merge": (9.0, 11.0)},
    ),
    "ours: modes alone": Method(
        modes_alone, "linkshift", {"place": (7.0, 12.0), "colour": (6.5, 8.0, 10.0, 13.0)}
    ),
    "ours: k-means": Method(
        k_means, "linkshift", {"k": (2, 3, 5, 8), "position": (0.05, 0.1, 0.2)}
    ),
    "ours: k-means smoothed": Method(
        k_means, "linkshift", {"k": (2, 3, 5, 8), "position": (0.1,), "smooth": (0.5, 1.0, 2.0)}
    ),
    "felzenszwalb": Method(
        felzenszwalb,
        "skimage",
        {"scale": (300, 600, 1000, 1500, 2500, 4000), "min_size": (500, 1000)},
    ),
    "SLIC": Method(slic, "skimage", {"n_segments": (2, 3, 5, 8), "compactness": (5.0, 20.0, 80.0)}),
    "quickshift": Method(
        quickshift, "skimage", {"kernel_size": (3, 6), "max_dist": (10, 20, 40), "ratio": (0.5, 1)}
    ),
    "OpenCV mean shift": Method(
        opencv, "cv2", {"sp": (7, 12), "sr": (15, 25, 40), "step": (3.0, 6.0, 9.0)}
    ),
}


def run(options: Options) -> Iterator[Row]:
    try:
        images = datasets.load_images()
    except FileNotFoundError:
        yield Row({"method": "bsds500_sample26.npz is absent; set LINKSHIFT_DATA"})
        return
    if options.size == "tiny":
        images = [cut(image) for image in images[:2]]
    # A few that are spread over the file, of both halves.
    images = images[:: options.pick(1, 5, 1)]
    with Parallel(n_jobs=options.pick(1, 2, 2), max_nbytes=None) as parallel:

        def part(name: str, options: Options) -> Iterator[Row]:
            yield row(name, METHODS[name], images, options, parallel)

        parts = {name: partial(part, name) for name in METHODS}
        yield from run_parts("LINKSHIFT_IMAGES_PARTS", parts, list(METHODS), options)


def cut(one: AnnotatedImage) -> AnnotatedImage:
    """Take a part that shows that it runs."""
    part = slice(60, 150), slice(60, 180)
    return AnnotatedImage(one.name, one.image[part], one.segmentations[:, *part], one.split)


def row(
    name: str, method: Method, images: list[AnnotatedImage], options: Options, parallel: Parallel
) -> Row:
    try:
        importlib.import_module(method.needs)
    except ImportError:
        return Row({"method": f"{name} (not installed)"})
    settings = method.settings()[: options.pick(2, None, None)]
    tried = parallel(
        delayed(score)(method.function, one, setting) for setting in settings for one in images[::2]
    )
    n = len(images[::2])
    by_setting = [tried[i : i + n] for i in range(0, len(tried), n)]
    best = int(np.argmax([np.mean([s.covering for s in scores]) for scores in by_setting]))
    others = parallel(delayed(score)(method.function, one, settings[best]) for one in images[1::2])
    return Row(cells(name, settings[best], by_setting[best] + others, others))


def score(function: Callable[..., Array], one: AnnotatedImage, setting: dict[str, Any]) -> Score:
    begin = time.process_time()
    labels = function(one.image, **setting)
    cpu = time.process_time() - begin
    found = segmentation_scores(labels, one.segmentations)
    return Score(
        found.covering,
        found.rand_index,
        found.variation_of_information,
        len(np.unique(labels)),
        cpu,
    )


def cells(
    name: str, setting: dict[str, Any], scores: list[Score], others: list[Score]
) -> dict[str, Cell]:
    found: dict[str, Cell] = {
        "method": name,
        "parameters": ", ".join(f"{key} {value:g}" for key, value in setting.items()),
    }
    for words, some in (("", scores), (", others", others)):
        mean = np.mean(np.array(some), axis=0)
        found[f"covering{words}"] = round(float(mean[0]), 3)
        found[f"PRI{words}"] = round(float(mean[1]), 3)
        found[f"VI{words}"] = round(float(mean[2]), 3)
        if not words:
            found["segments"] = round(float(mean[3]), 1)
            found["CPU s"] = round(float(mean[4]), 2)
    return found
