r"""Descriptors of small regions: geometric blur, SIFT and self-similarity; images by their matches.

`geometric_blur` and `sift` describe pixels on edges, `self_similarity` those of a grid. Images
that are described by many features are compared by matching them (`match_distances`) or by
counting visual words (:mod:`linkshift.image.descriptors.words`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from linkshift.image._pixels import check_count
from linkshift.image.descriptors._images import Floats, edges, gradient, grey, needs_opencv
from linkshift.image.descriptors._loops import self_similarities

Seed = int | np.random.RandomState | None

_EDGE_SCALE = 2.0  # of the edge detector, in pixels
_DIRECTIONS = 4  # channels of geometric blur
_RINGS = ((0, 1), (4, 8), (8, 8), (16, 10), (32, 12), (50, 12))  # radius, number of samples
_BLUR, _LEAST_BLUR = 0.5, 1.0  # the blur at distance r from the feature is 0.5 r + 1 pixels
_ANGLES, _RADII = 20, 4  # bins of self-similarity
_NOISE = 1.5  # sum of squared differences of patches that noise may explain


class LocalFeatures(NamedTuple):
    """Features of one image: where they are, and what is there."""

    positions: Floats  # (m, 2): x and y in pixels
    values: Floats  # (m, d)


def geometric_blur(
    image: ArrayLike, *, n_points: int = 400, random_state: Seed = 0
) -> LocalFeatures:
    r"""Describe pixels on edges by the edges around them, blurred more the farther they are.

    Edge strength in four directions makes four channels. Around a feature at :math:`x_0` each is
    sampled at 51 points :math:`x_0 + r`, on rings of radius 0 to 50 pixels, after a blur by a
    Gaussian of :math:`\sigma = 0.5 |r| + 1`: what may have moved farther is held less precisely
    [1]_. The 204 numbers are divided by their norm.

    Parameters
    ----------
    image : array-like of shape (h, w), (h, w, 1), (h, w, 3) or (h, w, 4)
        Grey, RGB or RGBA; uint8, uint16 or float from 0 to 1.
    n_points : int, default=400
        Edge pixels drawn, or all where there are fewer. In an image without edges, any pixels.
    random_state : int, RandomState or None, default=0
        Seed of the draw.

    Returns
    -------
    LocalFeatures
        ``positions`` (m, 2) and ``values`` (m, 204).

    References
    ----------
    .. [1] A. Berg, J. Malik: Geometric Blur for Template Matching. CVPR 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.image.descriptors import geometric_blur
    >>> image = np.zeros((60, 60))
    >>> image[20:40, 20:40] = 1.0
    >>> features = geometric_blur(image, n_points=20)
    >>> features.positions.shape, features.values.shape
    ((20, 2), (20, 204))
    """
    lightness = grey(image)
    points = _edge_points(lightness, check_count("n_points", n_points), random_state)
    dx, dy = gradient(lightness, 1.0)
    strength, angle = np.hypot(dx, dy), np.arctan2(dy, dx)
    channels = [
        strength * np.maximum(np.cos(2.0 * (angle - np.pi * k / _DIRECTIONS)), 0.0)
        for k in range(_DIRECTIONS)
    ]
    values = np.concatenate([_blurred(channels, points, *ring) for ring in _RINGS], axis=1)
    return LocalFeatures(points.astype(np.float32), _unit(values))


def sift(
    image: ArrayLike, *, n_points: int = 400, size: float = 16.0, random_state: Seed = 0
) -> LocalFeatures:
    """Describe pixels on edges by SIFT: histograms of gradients in 4 x 4 cells around them.

    Points are those of `geometric_blur`, upright and of one scale, as categories of objects ask
    for it [1]_; the descriptor is OpenCV's (extra ``image``). Values are divided by their norm.

    Parameters
    ----------
    image, n_points, random_state
        As in `geometric_blur`.
    size : float, default=16.0
        Diameter of the key points in pixels. A cell is three quarters of it wide.

    Returns
    -------
    LocalFeatures
        ``positions`` (m, 2) and ``values`` (m, 128).

    References
    ----------
    .. [1] D. Lowe: Distinctive Image Features from Scale-Invariant Keypoints. IJCV 60 (2004).

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.image.descriptors import sift
    >>> image = np.zeros((60, 60))
    >>> image[20:40, 20:40] = 1.0
    >>> sift(image, n_points=20).values.shape
    (20, 128)
    """
    with needs_opencv("sift needs"):
        import cv2
    lightness = grey(image)
    points = _edge_points(lightness, check_count("n_points", n_points), random_state)
    keys = [cv2.KeyPoint(float(x), float(y), float(size), 0.0) for x, y in points]
    _, values = cv2.SIFT.create().compute(np.round(255.0 * lightness).astype(np.uint8), keys)
    return LocalFeatures(points.astype(np.float32), _unit(np.asarray(values, dtype=np.float32)))


def self_similarity(image: ArrayLike, *, step: int = 6, radius: int = 20) -> LocalFeatures:
    r"""Describe pixels of a grid by where around them the image looks as it does there.

    The 5 x 5 patch at a pixel is compared with those around it, by the sum of squared differences
    s. The similarity :math:`\exp(-s / \max(s_0, s_1))` has :math:`s_0` for noise and
    :math:`s_1`, the largest s one pixel away, for texture. Its maxima in 20 x 4 log-polar bins,
    stretched from 0 to 1, are the descriptor [1]_.

    Parameters
    ----------
    image : array-like
        As in `geometric_blur`.
    step : int, default=6
        Distance of the pixels of the grid.
    radius : int, default=20
        Of the region that is looked at; the grid keeps this distance from the frame (less where
        the image is too small for it).

    Returns
    -------
    LocalFeatures
        ``positions`` (m, 2) and ``values`` (m, 80).

    References
    ----------
    .. [1] E. Shechtman, M. Irani: Matching Local Self-Similarities across Images and Videos.
       CVPR 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.image.descriptors import self_similarity
    >>> self_similarity(np.eye(64), step=8).values.shape
    (9, 80)
    """
    lightness = grey(image)
    step, radius = check_count("step", step), check_count("radius", radius)
    margin = radius + 2
    h, w = lightness.shape
    # Where the grid would be empty the image goes on as it ends.
    padded = np.pad(lightness, [(max(0, margin - side // 2),) * 2 for side in (h, w)], "edge")
    shift = [(padded.shape[i] - lightness.shape[i]) // 2 for i in (0, 1)]
    rows = np.arange(margin, padded.shape[0] - margin, step)
    columns = np.arange(margin, padded.shape[1] - margin, step)
    grid = np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2)
    offsets, bins = _log_polar(radius)
    values = np.zeros((len(grid), _ANGLES * _RADII), dtype=np.float32)
    self_similarities(np.ascontiguousarray(padded), grid, offsets, bins, _NOISE, values)
    low, high = values.min(axis=1, keepdims=True), values.max(axis=1, keepdims=True)
    values = (values - low) / np.where(high > low, high - low, 1.0)
    return LocalFeatures((grid - shift)[:, ::-1].astype(np.float32), values.astype(np.float32))


def match_distances(
    images: Sequence[LocalFeatures], *, position_weight: float = 0.0
) -> NDArray[np.float64]:
    r"""Compare images by the features of one that come nearest to those of the other.

    .. math:: D(A, B) = \frac12 \left(D_{A \to B} + D_{B \to A}\right), \qquad
              D_{A \to B} = \frac1m \sum_{i=1}^m \min_j \left( \|F^A_i - F^B_j\|^2 +
              w \|r^A_i - r^B_j\| \right),

    with F the values and r the positions, in units of the diagonal of their own bounding box [1]_.

    Parameters
    ----------
    images : sequence of LocalFeatures
        Of n images, at least one feature each.
    position_weight : float, default=0.0
        w: what it costs to match features in other places.

    Returns
    -------
    ndarray of shape (n, n)
        Distances, symmetric, zero on the diagonal.

    References
    ----------
    .. [1] H. Zhang, A. Berg, M. Maire, J. Malik: SVM-KNN. CVPR 2006, section 2.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.image.descriptors import LocalFeatures, match_distances
    >>> one = LocalFeatures(np.zeros((2, 2)), np.array([[0.0], [1.0]]))
    >>> two = LocalFeatures(np.zeros((1, 2)), np.array([[1.0]]))
    >>> match_distances([one, two])  # from one to two 1/2, from two to one 0
    array([[0.  , 0.25],
           [0.25, 0.  ]])
    """
    if not images or any(len(one.values) == 0 for one in images):
        raise ValueError("every image must have a feature; describe it with other parameters.")
    if not 0.0 <= position_weight < np.inf:
        raise ValueError(f"position_weight must be 0 or more and finite, got {position_weight!r}.")
    places = [_relative(one.positions) for one in images] if position_weight else []
    left, right = zip(*(_factors(one.values) for one in images), strict=True)
    found = np.zeros((len(images), len(images)))
    with threadpool_limits(limits=1):  # threads sum in an order of their own
        for a in range(len(images)):
            for b in range(a):
                apart = left[a] @ right[b]
                if position_weight:
                    far = np.linalg.norm(places[a][:, None] - places[b], axis=2)
                    apart += np.float32(position_weight) * far
                both = (np.maximum(apart.min(axis=i), 0.0).mean() for i in (0, 1))
                found[a, b] = found[b, a] = 0.5 * float(sum(both))
    return found


def _factors(values: Floats) -> tuple[Floats, Floats]:
    """Factors whose products are squared distances: (-2 F, |F|^2, 1) and (F, 1, |F|^2)^T."""
    F = np.asarray(values, dtype=np.float32)
    squares, ones = np.einsum("ij,ij->i", F, F)[:, None], np.ones((len(F), 1), dtype=np.float32)
    right = np.ascontiguousarray(np.hstack([F, ones, squares]).T)
    return np.hstack([np.float32(-2.0) * F, squares, ones]), right


def _edge_points(lightness: Floats, n_points: int, random_state: Seed) -> NDArray[np.int64]:
    """Draw edge pixels without replacement: x and y."""
    found = np.argwhere(edges(lightness, _EDGE_SCALE))
    if not len(found):
        found = np.argwhere(np.ones(lightness.shape, dtype=bool))
    chosen = check_random_state(random_state).permutation(len(found))[:n_points]
    return found[np.sort(chosen)][:, ::-1].astype(np.int64)


def _blurred(channels: list[Floats], points: Any, radius: float, count: int) -> Floats:
    """Sample blurred channels on a ring around each point, shape (points, 4 count)."""
    from scipy.ndimage import gaussian_filter, map_coordinates

    angles = 2.0 * np.pi * np.arange(count) / count
    x = points[:, :1] + radius * np.cos(angles)
    y = points[:, 1:] + radius * np.sin(angles)
    rings = []
    for channel in channels:
        smooth = gaussian_filter(channel, _BLUR * radius + _LEAST_BLUR, mode="constant")
        rings.append(map_coordinates(smooth, [y, x], order=1, mode="constant"))
    return np.concatenate(rings, axis=1).astype(np.float32)


def _unit(values: Floats) -> Floats:
    norms = np.linalg.norm(values, axis=1, keepdims=True)
    return (values / np.where(norms > 0, norms, 1.0)).astype(np.float32)


def _relative(positions: Floats) -> Floats:
    """Positions in units of the diagonal of their bounding box, from its corner."""
    corner = positions.min(axis=0)
    size = float(np.linalg.norm(positions.max(axis=0) - corner)) or 1.0
    return ((positions - corner) / size).astype(np.float32)


def _log_polar(radius: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Offsets (y, x) of a disc without its centre, and the bin of each."""
    reach = np.arange(-radius, radius + 1)
    offsets = np.stack(np.meshgrid(reach, reach, indexing="ij"), axis=-1).reshape(-1, 2)
    far = np.hypot(offsets[:, 0], offsets[:, 1])
    offsets, far = offsets[(far > 0) & (far <= radius)], far[(far > 0) & (far <= radius)]
    ring = np.ceil(np.log1p(far) / np.log1p(radius) * _RADII).astype(np.int64) - 1
    turn = np.arctan2(offsets[:, 0], offsets[:, 1]) / (2.0 * np.pi) % 1.0
    sector = (turn * _ANGLES).astype(np.int64) % _ANGLES
    return offsets.astype(np.int64), np.clip(ring, 0, _RADII - 1) * _ANGLES + sector
