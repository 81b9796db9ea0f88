"""The gallery of image segmentation: filters, feature spaces, bandwidths, methods and scribbles.

``python -m benchmarks.papers.image_pictures [--out docs/images]``. Needs matplotlib and
scikit-image, whose pictures it uses.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray
from skimage import data, draw
from skimage.color import label2rgb
from skimage.segmentation import mark_boundaries
from sklearn.datasets import make_blobs

from benchmarks.papers.kernel_pictures import save
from linkshift import kmeans_elbow as kmeans_elbow_of_rows
from linkshift import plot
from linkshift.image import kmeans_elbow, mean_shift_filter, segment

mpl.use("Agg")
import matplotlib.pyplot as plt

Array = NDArray[Any]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    out = parser.parse_args(arguments).out
    out.mkdir(parents=True, exist_ok=True)
    for name, picture in GALLERY.items():
        picture(out / f"image_{name}.png")
    return 0


def filters(path: Path) -> None:
    """Show a filter that runs to the end, and one that stops early."""
    image = data.astronaut()
    panels = {
        "original": image,
        "converged": mean_shift_filter(image, 8, 16),
        'mode="opencv": stops early, rounds': mean_shift_filter(image, 8, 16, mode="opencv"),
    }
    part = np.s_[60:260, 130:330]
    _show(path, {title: picture[part] for title, picture in panels.items()}, columns=3)


def methods(path: Path) -> None:
    """Show mean shift beside k-means."""
    image = data.coffee()
    panels = {
        "original": image,
        "mean shift": _outlined(image, segment(image)),
        "k-means, 5 clusters": _outlined(image, _kmeans(image, 5)),
    }
    _show(path, panels, columns=3)


def feature_spaces(path: Path) -> None:
    """Cluster the same pixels by four kinds of features."""
    image = data.chelsea()
    panels: dict[str, Array] = {}
    spaces: dict[str, tuple[str | dict[str, float], int]] = {
        "intensity": ("intensity", 4),
        "colour": ("lab", 4),
        "texture": ("texture", 4),
        "colour and place": ({"lab": 1.0, "position": 0.4}, 12),
    }
    for words, (features, count) in spaces.items():
        labels = segment(
            image, "kmeans", n_segments=count, features=features, connected=False, random_state=0
        )
        panels[words] = label2rgb(labels, image, kind="avg", bg_label=-1)
    _show(path, panels, columns=2)


def mode_spaces(path: Path) -> None:
    """Find modes of the same pixels in three feature spaces: two shades, two kinds of stripes."""
    i, j = np.mgrid[:96, :128]
    stripes = np.where(j < 64, j // 2 % 2, i // 2 % 2)
    shade = np.where((i < 48)[..., None], (150, 110, 90), (90, 110, 150))
    noise = np.random.default_rng(0).normal(0.0, 3.0, size=(96, 128, 1))
    image = (shade + 12 * stripes[..., None] + noise).clip(0, 255).astype(np.uint8)
    panels: dict[str, Array] = {"two shades, two kinds of stripes": image}
    spaces: dict[str, dict[str, float]] = {
        "colour": {"lab": 1.0},
        "texture": {"texture": 6.0},
        "colour and texture": {"lab": 1.0, "texture": 6.0},
    }
    for words, features in spaces.items():
        labels = segment(image, features=features, spatial_bandwidth=7.0)
        title = f"mean shift by {words}: {labels.max() + 1} segments"
        panels[title] = np.asarray(mark_boundaries(image, labels, color=(1, 0.9, 0), mode="thick"))
    _show(path, panels, columns=2)


def smoothing(path: Path) -> None:
    """Smooth out the clusters of k-means."""
    image = data.chelsea()
    panels = {}
    run: dict[str, Any] = {"n_segments": 4, "features": "lab", "connected": False, "min_size": 1}
    for smooth in (None, 0.5, 2.0):
        labels = segment(image, "kmeans", smooth=smooth, random_state=0, **run)
        title = "each pixel by itself" if smooth is None else f"smooth = {smooth:g}"
        panels[title] = label2rgb(labels, image, kind="avg", bg_label=-1)
    _show(path, panels, columns=3)


def bandwidths(path: Path) -> None:
    """Show fine and coarse segments."""
    image = data.coffee()
    panels = {}
    for merge in (5.0, 10.0, 20.0):
        for range_bandwidth in (4.0, 9.0):
            labels = segment(image, range_bandwidth=range_bandwidth, merge_bandwidth=merge)
            title = f"range {range_bandwidth:g}, merge {merge:g}: {labels.max() + 1} segments"
            panels[title] = _outlined(image, labels)
    _show(path, panels, columns=2)


def scribbles(path: Path) -> None:
    """Show what two strokes change."""
    image = data.astronaut()
    strokes = np.zeros(image.shape[:2], dtype=np.int64)
    for number, *ends in (
        (1, 60, 200, 120, 270),  # hair and face
        (1, 120, 225, 160, 225),
        (2, 430, 80, 290, 350),  # suit, across the strap
        (2, 260, 170, 330, 130),
    ):
        for shift in range(-2, 3):
            rows, columns = draw.line(ends[0], ends[1] + shift, ends[2], ends[3] + shift)
            strokes[rows, columns] = number
    marked = image.copy()
    marked[strokes == 1] = (255, 220, 0)
    marked[strokes == 2] = (0, 255, 255)
    panels = {
        "two strokes": marked,
        "without them": _outlined(image, segment(image)),
        "with them": _outlined(image, segment(image, scribbles=strokes)),
    }
    _show(path, panels, columns=3)


def elbow(path: Path) -> None:
    """Draw the elbow of k-means."""
    figure, axis = plt.subplots(figsize=(5.2, 3.6))
    plot.elbow(kmeans_elbow(data.coffee(), random_state=0), ax=axis)
    save(figure, path)


def held_out(path: Path) -> None:
    """Draw sums of squares of rows that are held out, beside those that are not."""
    grid = 5.0 * np.stack(np.divmod(np.arange(9), 3), axis=1)
    X, _ = make_blobs(120, centers=grid, cluster_std=0.8, random_state=0)
    numbers = range(1, 19)
    figure, axes = plt.subplots(1, 2, figsize=(10.4, 3.6))
    curve = kmeans_elbow_of_rows(X, numbers, random_state=0)
    plot.elbow(curve, ax=axes[0], title="elbow of all rows")
    curve = kmeans_elbow_of_rows(X, numbers, held_out=5, random_state=0)
    plot.elbow(curve, ax=axes[1], title="a fifth held out, five times")
    save(figure, path)


def _kmeans(image: Array, n_segments: int) -> Array:
    return segment(image, "kmeans", n_segments=n_segments, random_state=0)


def _outlined(image: Array, labels: Array) -> Array:
    """Mean colours, with white borders."""
    flat = label2rgb(labels, image, kind="avg", bg_label=-1)
    return np.asarray(mark_boundaries(flat, labels, color=(1, 1, 1)))


def _show(path: Path, panels: Mapping[str, Array], columns: int) -> None:
    rows = -(-len(panels) // columns)
    height, width = next(iter(panels.values())).shape[:2]
    size = (3.6 * columns, rows * (3.6 * height / width + 0.3))
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False)
    for axis, (title, picture) in zip(axes.flat, panels.items(), strict=True):
        axis.imshow(picture)
        axis.set_title(title, fontsize=9)
        axis.axis("off")
    save(figure, path)


GALLERY = {
    "filters": filters,
    "methods": methods,
    "feature_spaces": feature_spaces,
    "mode_spaces": mode_spaces,
    "smoothing": smoothing,
    "bandwidths": bandwidths,
    "scribbles": scribbles,
    "elbow": elbow,
    "held_out": held_out,
}

if __name__ == "__main__":
    sys.exit(main())
