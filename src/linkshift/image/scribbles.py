"""Scribbles: strokes on an image that say what belongs together and what does not."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkshift._core.arrays import Array
from linkshift._core.labels import first_come
from linkshift.image._region_loops import add_up
from linkshift.image._scribble_loops import flood, mean_step, merge_regions
from linkshift.image.regions import least_size

_BANDWIDTH = 16.0
_PLACE = 10.0  # distance of the ends of the longer side, in units of the features
_CONTRAST = 0.25  # share of the contrast along the border in the distance of two regions
_BORDER = 0.25  # power of the shape of their border


def segment_scribbled(
    regions: ArrayLike,
    features: ArrayLike,
    scribbles: ArrayLike,
    *,
    bandwidth: float = _BANDWIDTH,
    min_size: int | None = None,
) -> NDArray[np.int32]:
    r"""Segment an image by strokes over an over-segmentation of it.

    Pixels marked with the same number will have one label, pixels marked with different numbers
    different ones, always. Regions that have strokes of several numbers are cut first: each of
    their pixels goes to the nearest stroke, where a step to a neighbour costs
    :math:`1 + \|df\|^2 / s^2` for a difference df of features, whose mean square is s^2. Now every
    region has one number or none. Regions are points, of the mean features of their pixels and
    weighted by their count; regions of one number are must-linked, regions of different numbers are
    cannot-linked.

    Then neighbouring regions merge, the nearest two first and never against a cannot-link, until
    the nearest are farther than the bandwidth. What has met no stroke by then stays a segment of
    its own, unless it is smaller than ``min_size``: then it joins its nearest neighbour. The
    distance of two regions that touch is

    .. math:: \Bigl(\tfrac{3}{4} \sqrt{\|m_a - m_b\|^2 + \|p_a - p_b\|^2}
              + \tfrac{1}{4} c_{ab}\Bigr)
              \Bigl(\frac{\sqrt{\min(n_a, n_b)}}{l_{ab}}\Bigr)^{1/4},

    with the mean features m, the mean places p (the longer side of the image counts as 10), the
    counts n, the length l of the common border and the mean difference c of the features across it.
    In the end all that has grown from the parts of one stroke is one segment; until then they have
    means of their own, since a stroke may well go over several colours.

    Parameters
    ----------
    regions : array-like of shape (h, w), of whole numbers from 0
        Connected regions, such as those of mean shift, or superpixels.
    features : array-like of shape (h, w, d)
        Features of the pixels, such as L*a*b* colours or filtered ones.
    scribbles : array-like of shape (h, w), of whole numbers
        0 where nothing is marked, otherwise the number of the stroke.
    bandwidth : float, default=16
        Distance up to which regions merge, in units of the features; 16 suits colours in L*a*b*.
        With ``np.inf`` there are no segments but those of the strokes.
    min_size : int, default=None
        Pixels that a segment without a stroke has at least; None takes a three-hundredth of the
        image.

    Returns
    -------
    ndarray of shape (h, w), int32
        Labels 0, 1, ... in the order of their first pixels, row by row.

    See Also
    --------
    segment : makes the regions, the features and this call.
    linkshift.ConstrainedMeanShift : clustering under links, of points that have no neighbours.

    Notes
    -----
    Constrained mean shift of the regions under the same links leaves neighbourhood aside: what is
    between two strokes in colour is scattered over both, and fewer pixels are right than by merging
    neighbours (``python -m benchmarks.run scribbles``). As a further term of the distance above its
    clusters made no difference that could be told from chance.

    Examples
    --------
    Two strokes part what looks the same; without them it would be one:

    >>> import numpy as np
    >>> from linkshift.image.scribbles import segment_scribbled
    >>> regions = np.zeros((3, 8), dtype=int)
    >>> features = np.zeros((3, 8, 1))
    >>> strokes = np.zeros((3, 8), dtype=int)
    >>> strokes[1, 0], strokes[1, 7] = 1, 2
    >>> segment_scribbled(regions, features, strokes)[1]
    array([0, 0, 0, 0, 1, 1, 1, 1], dtype=int32)
    """
    values = _check_features(features)
    size = values.shape[:2]
    areas = _check_numbers("regions", regions, size)
    marks = check_scribbles(scribbles, size)
    limit = _check_bandwidth(bandwidth)
    least = least_size(min_size, marks.size)
    strokes, n_strokes = _dense(marks)
    pieces = _cut(_dense(areas + 1)[0] - 1, values, strokes)
    sizes, means, places = _regions(pieces, values)
    pairs, borders = _borders(pieces, values, len(sizes))
    numbers = np.zeros(len(sizes), dtype=np.int64)
    numbers[pieces[strokes > 0]] = strokes[strokes > 0]
    points = np.hstack([means, places * (_PLACE / max(size))])
    into = merge_regions(pairs, borders, points, sizes, numbers, limit, least, _CONTRAST, _BORDER)
    # Each part of a stroke has grown by itself; now they are one.
    first = np.zeros(n_strokes + 1, dtype=np.int64)
    first[numbers[into]] = into
    into = np.where(numbers[into] > 0, first[numbers[into]], into)
    return first_come(into[pieces], np.int32)


def _cut(regions: Array, values: Array, strokes: Array) -> Array:
    """Cut the regions that have strokes of several numbers, so that each has one at most."""
    n = int(regions.max()) + 1
    marked = strokes > 0
    where, number = regions[marked], strokes[marked]
    least, most = np.full(n, np.iinfo(np.int64).max), np.zeros(n, dtype=np.int64)
    np.minimum.at(least, where, number)
    np.maximum.at(most, where, number)
    several = least < most
    if not several.any():
        return regions
    scale = mean_step(regions, several, values) or 1.0
    nearest = flood(regions, several, values, scale, strokes)
    # Pieces of a region are its pairs with a number; zero is what no stroke reaches.
    n_pieces = np.where(several, most + 1, 1)
    offset = np.concatenate([[0], np.cumsum(n_pieces)[:-1]])
    return _dense(offset[regions] + nearest + 1)[0] - 1


def _regions(regions: Array, values: Array) -> tuple[Array, Array, Array]:
    """Pixels of each region, their mean features, and their mean row and column."""
    n = int(regions.max()) + 1
    h, w, d = values.shape
    counts, sums = np.zeros(n, dtype=np.int64), np.zeros((n, d))
    add_up(regions, values, counts, sums)
    rows = np.bincount(regions.ravel(), np.repeat(np.arange(h, dtype=np.float64), w), n)
    columns = np.bincount(regions.ravel(), np.tile(np.arange(w, dtype=np.float64), h), n)
    sizes = counts.astype(np.float64)
    return sizes, sums / sizes[:, None], np.stack([rows, columns], axis=1) / sizes[:, None]


def _borders(regions: Array, values: Array, n: int) -> tuple[Array, Array]:
    """Regions that touch, and of each border its length and the sum of the differences across."""
    keys, steps = [], []
    for one, other in (
        ((slice(None), slice(None, -1)), (slice(None), slice(1, None))),
        ((slice(None, -1), slice(None)), (slice(1, None), slice(None))),
    ):
        a, b = regions[one], regions[other]
        border = a != b
        low, high = np.minimum(a[border], b[border]), np.maximum(a[border], b[border])
        keys.append(low * n + high)
        difference = values[one][border].astype(np.float64) - values[other][border]
        steps.append(np.sqrt((difference**2).sum(axis=1)))
    key, which = np.unique(np.concatenate(keys), return_inverse=True)
    step = np.concatenate(steps)
    length = np.bincount(which, minlength=len(key)).astype(np.float64)
    borders = np.stack([length, np.bincount(which, step, len(key))], axis=1)
    return np.stack([key // n, key % n], axis=1), borders


def _dense(numbers: Array) -> tuple[Array, int]:
    """Close the gaps between numbers above zero, 1, 2, ..., and count them; zeros stay."""
    there = np.zeros(int(numbers.max()) + 1, dtype=bool)
    there[numbers] = True
    there[0] = False
    rank = np.cumsum(there)
    rank[0] = 0
    return rank[numbers], int(rank[-1])


# --- checks -------------------------------------------------------------------------------------


def _check_features(features: ArrayLike) -> Array:
    values = np.asarray(features)
    if values.ndim != 3:
        raise ValueError(
            f"features have shape {values.shape}; they must be (h, w, d). Give one feature as "
            "features[..., None]."
        )
    if values.dtype.kind not in "fiu":
        raise TypeError(f"features are of dtype {values.dtype}; convert them to float.")
    if values.size == 0:
        raise ValueError(f"features have shape {values.shape}: there is no pixel or no feature.")
    if values.dtype.kind in "iu" or values.dtype.itemsize < 4:
        values = values.astype(np.float32 if values.dtype.itemsize < 4 else np.float64)
    if not np.isfinite(values).all():
        raise ValueError("features hold NaN or infinity; replace them, as by np.nan_to_num.")
    return np.ascontiguousarray(values)


def check_scribbles(scribbles: ArrayLike, size: tuple[int, ...]) -> Array:
    """Give strokes as int64; refuse those of another size, and those that mark nothing."""
    marks = _check_numbers("scribbles", scribbles, size)
    if not marks.any():
        raise ValueError(
            "scribbles are all 0: nothing is marked. Mark pixels with 1, 2, ..., or segment "
            "without scribbles."
        )
    return marks


def _check_numbers(name: str, numbers: ArrayLike, size: tuple[int, ...]) -> Array:
    array = np.asarray(numbers)
    if array.dtype.kind not in "iu":
        raise TypeError(
            f"{name} are of dtype {array.dtype}; they must be whole numbers, as by "
            f"{name}.astype(np.int64)."
        )
    if array.shape != size:
        raise ValueError(
            f"{name} have shape {array.shape}, the image has {tuple(size)}. Bring them to one size "
            "first."
        )
    if array.min() < 0:
        raise ValueError(f"{name} hold {array.min()}; they must not be negative.")
    if array.max() > 4 * array.size + 65535:  # tables of this length are made
        found = np.unique(array, return_inverse=True)[1].reshape(size)
        # Zero keeps its meaning where it is there, and is not given to another number.
        array = found if array.min() == 0 else found + 1
    return array.astype(np.int64)


def _check_bandwidth(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"bandwidth must be a number, not {value!r}.")
    bandwidth = float(value)
    if not bandwidth >= 0.0:
        raise ValueError(f"bandwidth={value} must be zero or more; np.inf is allowed.")
    return bandwidth
