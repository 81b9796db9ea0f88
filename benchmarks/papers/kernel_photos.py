"""The photographs of Tuzel et al. (2009), section 6.3, as bags of visual words.

``caltech4_images.zip`` in the folder of the data sets holds a hundred photographs each of
airplanes, cars, faces and motorbikes, out of Caltech-101. The paper's cars are seen from behind
(Caltech-4); these are not in the archive, and cars from the side stand in for them. Features are
SIFT at extrema of differences of Gaussians (OpenCV, extra ``image``), 500 words by k-means. They
take a few minutes, and are kept in ``LINKSHIFT_CACHE`` (or else the folder for temporary files):
delete ``linkshift_caltech4_*.npz`` there after a change.

Two widths of the photographs, since the paper prints none: 480 pixels, where most photographs have
the paper's 500 to 3,500 points, and twice as much, where they have more. Words of few points are
noisy: two photographs of one class, of m points each, are at a squared chi2 distance of up to about
500 / m.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkshift.datasets.loading import FOLDER_VARIABLE
from linkshift.image.descriptors import LocalFeatures, spatial_pyramids

Array = NDArray[Any]
ARCHIVE = "caltech4_images.zip"
N_WORDS = 500
WIDTHS = (480, 960)  # pixels; with this contrast most of the first have 500 to 3,500 points
_CONTRAST = 0.01  # of extrema; OpenCV's own 0.04 leaves some photographs with 50 points


def archive() -> Path | None:
    """Where the photographs are, or None."""
    folder = os.environ.get(FOLDER_VARIABLE)
    path = Path(folder, ARCHIVE) if folder else None
    return path if path is not None and path.is_file() else None


@cache
def photographs() -> tuple[list[Array], Array, list[str]]:
    """Grey photographs, their categories as numbers, and the categories' names."""
    from PIL import Image

    path = archive()
    assert path is not None
    images, categories = [], []
    with zipfile.ZipFile(path) as file:
        for name in sorted(name for name in file.namelist() if name.endswith(".jpg")):
            image = Image.open(io.BytesIO(file.read(name))).convert("L")
            images.append(np.asarray(image))
            categories.append(name.split("/")[0])
    names, y = np.unique(categories, return_inverse=True)
    return images, y, names.tolist()


def interest_points(
    image: Array, width: int = WIDTHS[0], contrast: float = _CONTRAST
) -> LocalFeatures:
    """Scale a photograph to a width and describe its extrema of differences of Gaussians."""
    import cv2

    height = round(image.shape[0] * width / image.shape[1])
    scaled = cv2.resize(image, (width, height), interpolation=cv2.INTER_CUBIC)
    keys, values = cv2.SIFT.create(contrastThreshold=contrast).detectAndCompute(scaled, None)
    positions = np.array([key.pt for key in keys], dtype=np.float32).reshape(-1, 2)
    return LocalFeatures(positions, np.asarray(values, dtype=np.float32))


def bags(
    images: Sequence[Array], n_words: int = N_WORDS, width: int = WIDTHS[0]
) -> tuple[Array, Array]:
    """Shares of the words in each photograph, and how many points it has."""
    features = [interest_points(image, width) for image in images]
    rows = spatial_pyramids(features, n_words=n_words, n_levels=1)
    return rows, np.array([len(one.values) for one in features])


@cache
def histograms(width: int = WIDTHS[0]) -> tuple[Array, Array, Array]:
    """Rows of 500 words, classes and numbers of points, from the cache if they are there."""
    folder = Path(os.environ.get("LINKSHIFT_CACHE") or tempfile.gettempdir())
    path = folder / f"linkshift_caltech4_{width}.npz"
    if not path.is_file():
        images, y, _ = photographs()
        print(f"describing {len(images)} photographs, {width} pixels wide", file=sys.stderr)
        folder.mkdir(parents=True, exist_ok=True)
        rows, counts = bags(images, width=width)
        part = path.with_suffix(".part.npz")
        np.savez_compressed(part, X=rows, y=y, counts=counts)
        part.replace(path)
    with np.load(path) as file:
        return np.asarray(file["X"]), np.asarray(file["y"]), np.asarray(file["counts"])
