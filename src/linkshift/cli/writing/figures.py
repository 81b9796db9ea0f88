"""Figures and pictures in files: clusters, labels of pixels, borders over an image."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkshift._core.arrays import Array
from linkshift.cli.talking import InputError
from linkshift.cli.writing.targets import replacing

_COLOUR = (1.0, 0.0, 1.0)  # magenta: rare in nature
_ROWS = 256  # drawn at a time: scikit-image draws in float64


def write_picture(
    path: Path, X: Array, labels: Array, view_names: Any, view_importances: Any, **extras: Any
) -> None:
    """Draw the clusters to a file; beside them what views say on them, if there are views."""
    import matplotlib.pyplot as plt

    from linkshift import plot

    if view_importances is None:
        figure: Any = plot.clusters(X, labels, **extras).figure
    else:
        n_clusters, n_views = view_importances.shape
        wide = min(max(2.0 + 0.6 * n_views, 4.0), 10.0)
        size = (6.5 + wide, min(max(5.0, 0.22 * n_clusters), 14.0))
        look: dict[str, Any] = {"figsize": size, "layout": "constrained"}
        figure, (left, right) = plt.subplots(1, 2, width_ratios=(6.5, wide), **look)
        plot.clusters(X, labels, ax=left, **extras)
        names, sizes = (found.tolist() for found in np.unique(labels, return_counts=True))
        about = {"cluster_names": names, "sizes": sizes, "title": "View importances"}
        plot.view_importances(view_importances, view_names=view_names, ax=right, **about)
    write_figure(path, figure)


def write_figure(path: Path, figure: Any) -> None:
    """Write a figure, and close it."""
    import matplotlib.pyplot as plt

    try:
        with replacing(path) as temporary:
            figure.savefig(temporary, dpi=150)
    finally:
        plt.close(figure)


def write_label_image(path: Path, labels: NDArray[np.int32]) -> None:
    """Write labels as .npy, or as .png of 8 bits, or of 16 where they are needed."""
    n = int(labels.max()) + 1
    if path.suffix.lower() == ".npy":
        with replacing(path) as temporary:
            np.save(temporary, labels)
        return
    if n > 65536:
        raise InputError(
            f"{path}: {n:,} segments are too many for 16 bits. Write the labels to a .npy file, or "
            "take a larger --min-size."
        )
    _write_png(path, labels.astype(np.uint8 if n <= 256 else np.uint16))


def write_overlay(path: Path, image: Array, labels: NDArray[np.int32]) -> None:
    """Write the image with the borders of its segments."""
    from skimage.segmentation import mark_boundaries

    h, w = labels.shape
    drawn = np.empty((h, w, 3), dtype=np.uint8)
    for begin in range(0, h, _ROWS):
        end = min(begin + _ROWS, h)
        # Borders look one row beyond; with two more they are those of the whole.
        low, high = max(begin - 2, 0), min(end + 2, h)
        part = mark_boundaries(image[low:high], labels[low:high], color=_COLOUR, mode="thick")
        drawn[begin:end] = np.rint(255.0 * part[begin - low : end - low])
    _write_png(path, drawn)


def _write_png(path: Path, array: Array) -> None:
    from PIL import Image

    with replacing(path) as temporary:
        Image.fromarray(array).save(temporary, format="PNG")
