r"""Visual words, and images as pyramids of their counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from linkshift._core.arrays import Array
from linkshift.image._pixels import check_count
from linkshift.image.descriptors.local import LocalFeatures, Seed

_MOST = 30_000  # features that words are learned from


def spatial_pyramids(
    images: Sequence[LocalFeatures],
    *,
    n_words: int = 200,
    n_levels: int = 3,
    random_state: Seed = 0,
) -> NDArray[np.float64]:
    r"""Count visual words in the cells of ever finer grids.

    Words are the means of a k-means clustering of the features of all images. Level l has
    :math:`2^l \times 2^l` cells over the box of an image's features. Counts are shares of the
    image's features, and weighed so that the sum of the smaller of two images' numbers is the
    pyramid match kernel [1]_: a match in a cell of level l of 0 to L counts
    :math:`2^{l - L - 1}`, of level 0 :math:`2^{-L}`. Rows sum to one.

    Parameters
    ----------
    images : sequence of LocalFeatures
        Of n images.
    n_words : int, default=200
        Visual words.
    n_levels : int, default=3
        Levels, L + 1.
    random_state : int, RandomState or None, default=0
        Seed of k-means.

    Returns
    -------
    ndarray of shape (n, n_words (4^n_levels - 1) / 3)
        One row for each image.

    References
    ----------
    .. [1] S. Lazebnik, C. Schmid, J. Ponce: Beyond Bags of Features. CVPR 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.image.descriptors import self_similarity, spatial_pyramids
    >>> images = np.random.default_rng(0).random((3, 64, 64))
    >>> pyramids = spatial_pyramids([self_similarity(image) for image in images], n_words=5)
    >>> pyramids.shape, pyramids.sum(axis=1).round(6)
    ((3, 105), array([1., 1., 1.]))
    """
    n_words, n_levels = check_count("n_words", n_words), check_count("n_levels", n_levels)
    random = check_random_state(random_state)
    everything = np.concatenate([one.values for one in images]).astype(np.float64)
    some = np.sort(random.permutation(len(everything))[:_MOST])
    if n_words > len(some):
        raise ValueError(f"n_words={n_words} words of {len(some)} features: take fewer words.")
    with threadpool_limits(limits=1):  # threads sum in an order of their own
        words = KMeans(n_words, n_init=1, max_iter=100, random_state=random).fit(everything[some])
        labels = words.predict(everything)
    ends = np.cumsum([len(one.values) for one in images])[:-1]
    return np.stack(
        [
            _pyramid(one, of_one, n_words, n_levels)
            for one, of_one in zip(images, np.split(labels, ends), strict=True)
        ]
    )


def intersection_distances(X: ArrayLike, Y: ArrayLike | None = None) -> NDArray[np.float64]:
    r"""Distances in the space of the intersection kernel :math:`\kappa = \sum_i \min(x_i, y_i)`.

    .. math:: d(x, y) = \sqrt{\kappa(x, x) + \kappa(y, y) - 2 \kappa(x, y)} = \sqrt{\|x - y\|_1}

    for rows that are not negative, such as `spatial_pyramids`. It may serve as ``metric`` of
    :class:`linkshift.GroupFeatureClustering`.

    Examples
    --------
    >>> from linkshift.image.descriptors import intersection_distances
    >>> intersection_distances([[0.5, 0.5], [0.25, 0.75]]).round(3)
    array([[0.   , 0.707],
           [0.707, 0.   ]])
    """
    from scipy.spatial.distance import cdist

    A = np.asarray(X, dtype=np.float64)
    B = A if Y is None else np.asarray(Y, dtype=np.float64)
    return np.asarray(np.sqrt(cdist(A, B, "cityblock")))


def _pyramid(image: LocalFeatures, words: NDArray[np.int64], n_words: int, n_levels: int) -> Array:
    """Weighed counts of one image, level by level."""
    low, high = image.positions.min(axis=0), image.positions.max(axis=0)
    place = (image.positions - low) / np.where(high > low, high - low, 1.0)
    parts = []
    for level in range(n_levels):
        side = 2**level
        cells = np.minimum((place * side).astype(np.int64), side - 1)
        at = (cells[:, 1] * side + cells[:, 0]) * n_words + words
        counts = np.bincount(at, minlength=side * side * n_words) / len(words)
        weight = 2.0 ** (level - n_levels) if level else 2.0 ** (1 - n_levels)
        parts.append(weight * counts)
    return np.concatenate(parts)
