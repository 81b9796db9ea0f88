"""Segmentation by strokes: strokes drawn in people's segments, and how well segments come back."""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy.ndimage import binary_dilation, distance_transform_edt
from sklearn.metrics import adjusted_rand_score

from benchmarks.harness import Array, Options, Row, run_parts
from linkshift import ConstrainedMeanShift, Links, datasets
from linkshift.image import pixel_features, segment, segmentation_covering
from linkshift.image.scribbles import segment_scribbled

TITLE = (
    "Strokes in the k largest segments of a person's segmentation (26 images of BSDS500, one "
    "person each, one straight stroke of up to 40 pixels a segment): mean covering of and ARI with "
    "that segmentation. Constants of segment_scribbled were chosen on a part of these images"
)
NAME = "bsds500_sample26"
LENGTH = 40
PEOPLE = 1  # of those who have segmented an image
TRIES = 60  # lines drawn at random, of which the longest counts
BETA = 5000.0  # of the random walker: of 130 (its default), 1000 and 5000 the best
ALONE = "superpixels by constrained mean shift"

Method = Callable[[Array, Array], Array]


def run(options: Options) -> Iterator[Row]:
    photographs = read_photographs()
    if photographs is None:
        yield Row({"strokes": None, "method": f"{NAME}.npz is absent"})
        return
    chosen = {name: photographs[name] for name in sorted(photographs)[: options.pick(1, 6, None)]}

    def part(method: str, call: Method, options: Options) -> Iterator[Row]:
        for k in options.pick((3,), (4, 8), (2, 4, 8)):
            yield compare(k, method, call, chosen, options)

    parts = {method: partial(part, method, call) for method, call in methods().items()}
    yield from run_parts("LINKSHIFT_SCRIBBLES_PARTS", parts, list(parts), options)


def read_photographs() -> dict[str, tuple[Array, Array]] | None:
    """Name of each image -> colours (h, w, 3) and people's segmentations (people, h, w)."""
    try:
        images = datasets.load_images(NAME)
    except FileNotFoundError:
        return None
    return {one.name: (one.image, one.segmentations) for one in images}


def methods() -> dict[str, Method]:
    """Give every way to use strokes, and one that does not."""
    return {
        "segment without strokes": lambda image, _: segment(image),
        "segment": lambda image, strokes: segment(image, scribbles=strokes),
        "superpixels": of_superpixels,
        "superpixels, all taken by strokes": lambda image, strokes: of_superpixels(
            image, strokes, bandwidth=np.inf
        ),
        ALONE: by_shift_alone,
        "scikit-image watershed": watershed,
        "scikit-image random walker": random_walker,
    }


def compare(
    k: int,
    name: str,
    call: Method,
    photographs: Mapping[str, tuple[Array, Array]],
    options: Options,
) -> Row:
    coverings, rands, counts = [], [], []
    seconds = 0.0
    for index, (image, people) in enumerate(photographs.values()):
        for person, truth in enumerate(people[:PEOPLE]):
            rng = np.random.default_rng([options.seed, index, person])
            strokes = draw_strokes(truth, k, rng)
            begin = time.perf_counter()
            labels = call(image, strokes)
            seconds += time.perf_counter() - begin
            coverings.append(segmentation_covering(labels, truth))
            rands.append(adjusted_rand_score(truth.ravel(), labels.ravel()))
            counts.append(len(np.unique(labels)))
    return Row(
        {
            "strokes": k,
            "method": name,
            "covering": float(np.mean(coverings)),
            "ARI": float(np.mean(rands)),
            "segments": float(np.mean(counts)),
            "s per image": seconds / len(coverings),
        }
    )


# --- strokes ------------------------------------------------------------------------------------


def draw_strokes(truth: Array, k: int, rng: np.random.Generator) -> Array:
    """Draw one stroke in each of the k largest segments, numbered 1, 2, ..."""
    found, counts = np.unique(truth, return_counts=True)
    strokes = np.zeros(truth.shape, dtype=np.int64)
    for number, label in enumerate(found[np.argsort(-counts, kind="stable")][:k], start=1):
        strokes[draw_stroke(truth == label, rng)] = number
    return strokes


def draw_stroke(inside: Array, rng: np.random.Generator) -> Array:
    """Draw a line three pixels wide that does not leave the segment: the longest of some."""
    depth = distance_transform_edt(np.pad(inside, 1))[1:-1, 1:-1]
    rows, columns = np.nonzero(depth >= min(3.0, depth.max()))
    best = (rows[:1], columns[:1])
    for _ in range(TRIES):
        start = rng.integers(len(rows))
        near = np.hypot(rows - rows[start], columns - columns[start]) <= LENGTH
        end = rng.choice(np.flatnonzero(near))
        line = _line((rows[start], columns[start]), (rows[end], columns[end]))
        if inside[line].all() and len(line[0]) > len(best[0]):
            best = line
    drawn = np.zeros_like(inside)
    drawn[best] = True
    return np.asarray(binary_dilation(drawn) & inside)


def _line(start: tuple[int, int], end: tuple[int, int]) -> tuple[Array, Array]:
    n = int(max(abs(end[0] - start[0]), abs(end[1] - start[1]))) + 1
    ends = zip(start, end, strict=True)
    row, column = (np.rint(np.linspace(a, b, n)).astype(np.int64) for a, b in ends)
    return row, column


# --- methods ------------------------------------------------------------------------------------


def superpixels(image: Array) -> Array:
    slic = importlib.import_module("skimage.segmentation").slic
    found: Array = slic(image, 800, compactness=10, start_label=0)
    return found


def of_superpixels(image: Array, strokes: Array, **options: Any) -> Array:
    return segment_scribbled(superpixels(image), pixel_features(image, "lab"), strokes, **options)


def by_shift_alone(image: Array, strokes: Array) -> Array:
    """Cluster superpixels by mean colour and place under the links of strokes, nothing else."""
    regions = superpixels(image)
    values = pixel_features(image, {"lab": 1.0, "position": 0.6})
    counts = np.bincount(regions.ravel())
    sums = [np.bincount(regions.ravel(), values[..., j].ravel()) for j in range(values.shape[2])]
    known = np.full(len(counts), -1)
    known[regions[strokes > 0]] = strokes[strokes > 0]  # of several the last
    model = ConstrainedMeanShift(growth="full", scale_features=False)
    X = np.stack(sums, axis=1) / counts[:, None]
    labels: Array = model.fit_predict(X, links=Links.from_labels(known))
    return labels[regions]


def watershed(image: Array, strokes: Array) -> Array:
    grey = importlib.import_module("skimage.color").rgb2gray(image)
    edges = importlib.import_module("skimage.filters").sobel(grey)
    found: Array = importlib.import_module("skimage.segmentation").watershed(edges, strokes)
    return found


def random_walker(image: Array, strokes: Array) -> Array:
    walker = importlib.import_module("skimage.segmentation").random_walker
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of probabilities a little beyond 0 and 1
        found: Array = walker(image, strokes, beta=BETA, mode="cg_j", channel_axis=2)
    return found
