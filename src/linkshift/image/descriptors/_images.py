"""What all descriptors begin with: a grey image, its edges and its gradients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter

from linkshift.image._pixels import needs_skimage
from linkshift.image.features import read_colours

Floats = NDArray[np.float32]

_LUMA = np.array([0.2125, 0.7154, 0.0721], dtype=np.float32)  # ITU-R BT.709


def grey(image: ArrayLike) -> Floats:
    """Give lightness from 0 (black) to 1 (white), shape (h, w)."""
    pixels = read_colours(image)
    values = pixels.image[..., : pixels.n_colours].astype(np.float32)
    if pixels.image.dtype.kind == "u":
        values /= np.float32(np.iinfo(pixels.image.dtype).max)
    found: Floats = values[..., 0] if pixels.n_colours == 1 else values @ _LUMA
    return found


def edges(lightness: Floats, sigma: float) -> NDArray[np.bool_]:
    """Find edge pixels with Canny's detector."""
    with needs_skimage("edges need"):
        from skimage.feature import canny
    found: NDArray[np.bool_] = canny(lightness.astype(np.float64), sigma=sigma)
    return found


def gradient(lightness: Floats, sigma: float) -> tuple[Floats, Floats]:
    """Give the derivatives along x and y of the image blurred by ``sigma``."""
    dx, dy = (
        gaussian_filter(lightness, sigma, order=order, mode="nearest", output=np.float32)
        for order in ((0, 1), (1, 0))
    )
    return dx, dy


@contextmanager
def needs_opencv(who: str) -> Iterator[None]:
    """Around an import: say who needs OpenCV, and how to get it."""
    try:
        yield
    except ImportError as error:
        raise ImportError(f'{who} OpenCV: pip install "linkshift[image]"') from error
