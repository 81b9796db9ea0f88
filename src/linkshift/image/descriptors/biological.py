r"""C2 features: patches of oriented edges, and how well an image has each where it was found.

The layers of the model are those of Mutch and Lowe [1]_, which follow Serre, Wolf and Poggio:

- image: a pyramid of ten sizes, each :math:`2^{1/4}` smaller; the largest has a shorter side of
  140 pixels;
- S1: Gabor filters, 11 x 11 pixels, in four directions, over the norm of the patch;
- C1: the largest S1 in 10 x 10 pixels of two sizes next to each other, every 5 pixels; what is
  below the middle between the weakest and the strongest direction is set to zero;
- S2: likeness :math:`\exp(-\|X - P\|^2 / 2 \alpha)` of C1 patches X to a prototype P of 4, 8, 12 or
  16 units, :math:`\alpha = (\text{size} / 4)^2`. Of P only the strongest direction of each unit
  counts;
- C2: the largest S2 of a prototype near the place where it was found, within a tenth of the image's
  sides and one size.

References
----------
.. [1] J. Mutch, D. Lowe: Multiclass Object Recognition with Sparse, Localized Features. CVPR 2006.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import correlate, maximum_filter, uniform_filter
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from linkshift.image._pixels import check_count, needs_skimage
from linkshift.image.descriptors._images import Floats, grey
from linkshift.image.descriptors.local import Seed

_SHORTER = 140  # pixels
_SIZES = 10  # of the image pyramid
_FACTOR = 2.0**0.25
_DIRECTIONS = 4
_GABOR = 11  # pixels
_POOL, _STRIDE = 10, 5  # of C1
_INHIBITION = 0.5
_PATCHES = (4, 8, 12, 16)  # C1 units
_NEAR, _NEAR_SIZES = 0.1, 1  # of C2: share of the sides, and sizes
_TINY = 1e-6


class _Prototypes(NamedTuple):
    """Patches of one size: what they are, which units count, and where they were found."""

    values: Floats  # (k, size size directions), zero where a unit does not count
    counts: Floats  # (k, size size directions): 0.0 or 1.0
    size: int
    layer: NDArray[np.int64]  # (k,): size of the image
    place: Floats  # (k, 2): centre, as shares of height and width


def c2_features(
    images: Sequence[ArrayLike],
    *,
    n_features: int = 1000,
    random_state: Seed = 0,
    progress: Callable[[int, int], None] | None = None,
) -> NDArray[np.float32]:
    """Describe images by how well they have patches of oriented edges that some of them have.

    Parameters
    ----------
    images : sequence of array-like
        Grey, RGB or RGBA; uint8, uint16 or float from 0 to 1. Sizes may differ.
    n_features : int, default=1000
        Prototypes, drawn from the images: a quarter of each of four sizes (the paper: 4,075).
    random_state : int, RandomState or None, default=0
        Seed of the draw.
    progress : callable, default=None
        Called with (images done, all images).

    Returns
    -------
    ndarray of shape (n, n_features), float32
        Values from 0 to 1.

    References
    ----------
    J. Mutch, D. Lowe: Multiclass Object Recognition with Sparse, Localized Features. CVPR 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.image.descriptors import c2_features
    >>> images = np.random.default_rng(0).random((2, 70, 70))
    >>> c2_features(images, n_features=8).shape
    (2, 8)
    """
    n_features = check_count("n_features", n_features)
    if not len(images):
        raise ValueError("there are no images; give at least one.")
    layers = [_c1(grey(image)) for image in images]
    shares = [len(part) for part in np.array_split(np.arange(n_features), len(_PATCHES))]
    random = check_random_state(random_state)
    prototypes = [
        _draw(layers, size, count, random)
        for size, count in zip(_PATCHES, shares, strict=True)
        if count
    ]
    found = np.empty((len(layers), n_features), dtype=np.float32)
    with threadpool_limits(limits=1):  # threads sum in an order of their own
        for i, of_image in enumerate(layers):
            found[i] = np.concatenate([_c2(of_image, some) for some in prototypes])
            if progress is not None:
                progress(i + 1, len(layers))
    return found


def _c1(lightness: Floats) -> list[Floats]:
    """C1 of an image, (h, w, directions) for each size; at least as large as the largest patch."""
    with needs_skimage("c2_features needs"):
        from skimage.transform import resize
    filters = _gabors()
    s1 = []
    for k in range(_SIZES):
        side = _SHORTER / _FACTOR**k / min(lightness.shape)
        shape = [max(_GABOR, round(length * side)) for length in lightness.shape]
        small = resize(lightness, shape, order=1, mode="edge", anti_aliasing=side < 1)
        small = small.astype(np.float32)
        squares = uniform_filter(small * small, _GABOR, mode="nearest") * _GABOR**2
        norm = np.sqrt(np.maximum(squares, 0.0))  # running sums leave some rounding
        s1.append(
            np.stack(
                [np.abs(correlate(small, g, mode="nearest")) / (norm + _TINY) for g in filters]
            )
        )
    return [_pool(first, second) for first, second in pairwise(s1)]


def _gabors() -> list[Floats]:
    """Make filters of mean zero and norm one; the constants are those of the paper."""
    reach = np.arange(_GABOR) - _GABOR // 2
    y, x = np.meshgrid(reach, reach, indexing="ij")
    found = []
    for angle in np.pi * np.arange(_DIRECTIONS) / _DIRECTIONS:
        along, across = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
        gabor = np.exp(-(along**2 + (0.3 * across) ** 2) / (2.0 * 4.5**2))
        gabor *= np.cos(2.0 * np.pi * along / 5.6)
        gabor -= gabor.mean()
        found.append((gabor / np.linalg.norm(gabor)).astype(np.float32))
    return found


def _pool(larger: Floats, smaller: Floats) -> Floats:
    """Take the strongest of both sizes around every fifth pixel; inhibit weak directions."""
    pooled = [maximum_filter(s1, (1, _POOL, _POOL), mode="nearest") for s1 in (larger, smaller)]
    h, w = (max(1, length // _STRIDE) for length in larger.shape[1:])
    parts = []
    for values in pooled:
        rows = ((np.arange(h) + 0.5) / h * values.shape[1]).astype(np.intp)
        columns = ((np.arange(w) + 0.5) / w * values.shape[2]).astype(np.intp)
        parts.append(values[:, rows[:, None], columns])
    c1 = np.moveaxis(np.maximum(*parts), 0, -1)
    low, high = c1.min(axis=-1, keepdims=True), c1.max(axis=-1, keepdims=True)
    c1 = np.where(c1 < low + _INHIBITION * (high - low), 0.0, c1).astype(np.float32)
    short = [max(0, _PATCHES[0] - length) for length in c1.shape[:2]]
    return np.pad(c1, [(0, short[0]), (0, short[1]), (0, 0)])


def _windows(c1: Floats, size: int) -> Floats:
    """All patches, (rows, columns, size, size, directions)."""
    return np.moveaxis(sliding_window_view(c1, (size, size), axis=(0, 1)), 2, -1)


def _draw(
    layers: list[list[Floats]], size: int, count: int, random: np.random.RandomState
) -> _Prototypes:
    """Draw patches from random places of random images."""
    values, kept, which, places = [], [], [], []
    for _ in range(count):
        of_image = layers[random.randint(len(layers))]
        large = [k for k, c1 in enumerate(of_image) if min(c1.shape[:2]) >= size] or [0]
        k = large[random.randint(len(large))]
        c1 = of_image[k]
        y, x = (random.randint(max(1, length - size + 1)) for length in c1.shape[:2])
        patch = c1[y : y + size, x : x + size]
        patch = np.pad(patch, [(0, size - patch.shape[0]), (0, size - patch.shape[1]), (0, 0)])
        strongest = patch.argmax(axis=-1)[..., None] == np.arange(_DIRECTIONS)
        values.append((patch * strongest).ravel())
        kept.append(strongest.ravel())
        which.append(k)
        places.append([(y + size / 2) / c1.shape[0], (x + size / 2) / c1.shape[1]])
    return _Prototypes(
        np.array(values, dtype=np.float32),
        np.array(kept, dtype=np.float32),
        size,
        np.array(which),
        np.array(places, dtype=np.float32),
    )


def _c2(layers: list[Floats], prototypes: _Prototypes) -> Floats:
    """Likeness of an image to each prototype of one size, where it may be."""
    size, count = prototypes.size, len(prototypes.values)
    least = np.full(count, np.inf, dtype=np.float32)  # squared distance
    squares = np.einsum("ij,ij->i", prototypes.values, prototypes.values)
    for k, c1 in enumerate(layers):
        some = np.flatnonzero(np.abs(prototypes.layer - k) <= _NEAR_SIZES)
        if min(c1.shape[:2]) < size or not some.size:
            continue
        windows = _windows(c1, size)
        rows, columns = windows.shape[:2]
        patches = np.ascontiguousarray(windows).reshape(rows * columns, -1)
        apart = (patches * patches) @ prototypes.counts[some].T
        apart -= 2.0 * (patches @ prototypes.values[some].T)
        y = (np.arange(rows) + size / 2) / c1.shape[0]
        x = (np.arange(columns) + size / 2) / c1.shape[1]
        place = prototypes.place[some]
        near_y = np.abs(y[:, None] - place[:, 0]) <= _NEAR + 0.5 / c1.shape[0]
        near_x = np.abs(x[:, None] - place[:, 1]) <= _NEAR + 0.5 / c1.shape[1]
        near = (near_y[:, None] & near_x).reshape(rows * columns, -1)
        best = np.where(near, apart, np.inf).min(axis=0)
        least[some] = np.minimum(least[some], best + squares[some])
    alpha = (size / _PATCHES[0]) ** 2
    return np.exp(-np.maximum(least, 0.0) / (2.0 * alpha)).astype(np.float32)
