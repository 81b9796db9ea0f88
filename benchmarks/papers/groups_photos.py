"""The photographs of Lin et al. (2010), section 5.1, and distances by the five descriptors.

``caltech101_20_images.zip`` in the folder of the data sets holds thirty photographs of each of
twenty categories. Distances take a quarter of an hour, and are kept in ``LINKSHIFT_CACHE`` (or
else the folder for temporary files): delete ``linkshift_photos_*.npz`` there after a change.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import additive_chi2_kernel, euclidean_distances

from linkshift.datasets.loading import FOLDER_VARIABLE
from linkshift.image import descriptors

Array = NDArray[Any]
ARCHIVE = "caltech101_20_images.zip"
_LONGER = 300  # pixels
_POINTS = 200  # edge pixels that are matched; the paper has 400, which take four times as long


def archive() -> Path | None:
    """Where the photographs are, or None."""
    folder = os.environ.get(FOLDER_VARIABLE)
    path = Path(folder, ARCHIVE) if folder else None
    return path if path is not None and path.is_file() else None


@cache
def photographs() -> tuple[list[Array], Array]:
    """Photographs, the longer side at most 300 pixels, and their categories as numbers."""
    from PIL import Image

    path = archive()
    assert path is not None
    images, categories = [], []
    with zipfile.ZipFile(path) as file:
        for name in sorted(name for name in file.namelist() if name.endswith(".jpg")):
            image = Image.open(io.BytesIO(file.read(name))).convert("RGB")
            image.thumbnail((_LONGER, _LONGER))
            images.append(np.asarray(image))
            categories.append(name.split("/")[0])
    return images, np.unique(categories, return_inverse=True)[1]


def _seeded(describe: Callable[..., Any]) -> list[Any]:
    images = photographs()[0]
    return [describe(image, n_points=_POINTS, random_state=i) for i, image in enumerate(images)]


def _gb() -> Array:
    return descriptors.match_distances(_seeded(descriptors.geometric_blur))


def _sift() -> Array:
    return descriptors.match_distances(_seeded(descriptors.sift))


def _ss() -> Array:
    features = [descriptors.self_similarity(image) for image in photographs()[0]]
    return descriptors.intersection_distances(descriptors.spatial_pyramids(features))


def _c2() -> Array:
    return euclidean_distances(descriptors.c2_features(photographs()[0]).astype(np.float64))


def _phog() -> Array:
    rows = np.array([descriptors.phog(image) for image in photographs()[0]])
    return np.sqrt(np.maximum(-0.5 * additive_chi2_kernel(rows), 0.0))


DISTANCES: dict[str, Callable[[], Array]] = {
    "GB": _gb,
    "SIFT": _sift,
    "SS": _ss,
    "C2": _c2,
    "PHOG": _phog,
}


def distances(name: str) -> Array:
    """Distances of all photographs by one descriptor, from the cache if they are there."""
    folder = Path(os.environ.get("LINKSHIFT_CACHE") or tempfile.gettempdir())
    path = folder / f"linkshift_photos_{name}.npz"
    if not path.is_file():
        print(f"{name}: describing {len(photographs()[0])} photographs", file=sys.stderr)
        folder.mkdir(parents=True, exist_ok=True)
        found = DISTANCES[name]()
        part = path.with_suffix(".part.npz")
        np.savez_compressed(part, distances=found)
        part.replace(path)
    with np.load(path) as file:
        return np.asarray(file["distances"])


if __name__ == "__main__":
    for name in reversed(DISTANCES):
        print(name, distances(name).shape, flush=True)
