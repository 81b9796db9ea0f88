r"""PHOG: directions of edges, counted in the cells of ever finer grids."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkshift.image._pixels import check_count
from linkshift.image.descriptors._images import edges, gradient, grey

_SCALE = 1.0  # of edges and gradients, in pixels


def phog(image: ArrayLike, *, n_bins: int = 20, n_levels: int = 4) -> NDArray[np.float64]:
    r"""Describe an image by a pyramid of histograms of the directions of its edges.

    Pixels on edges vote for their direction, from 0 to 180 degrees, with the strength of the
    gradient there; level l has :math:`2^l \times 2^l` cells [1]_. Compare rows by
    ``metric="chi2"``.

    Parameters
    ----------
    image : array-like of shape (h, w), (h, w, 1), (h, w, 3) or (h, w, 4)
        Grey, RGB or RGBA; uint8, uint16 or float from 0 to 1.
    n_bins : int, default=20
        Directions.
    n_levels : int, default=4
        Levels of the pyramid.

    Returns
    -------
    ndarray of shape (n_bins (4^n_levels - 1) / 3,)
        The histograms side by side; their sum is one, or zero without any edge.

    References
    ----------
    .. [1] A. Bosch, A. Zisserman, X. Munoz: Representing Shape with a Spatial Pyramid Kernel.
       CIVR 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.image.descriptors import phog
    >>> image = np.zeros((40, 40))
    >>> image[:, 20:] = 1.0  # one upright edge: its gradient points along x
    >>> phog(image, n_bins=4, n_levels=1)
    array([1., 0., 0., 0.])
    """
    n_bins, n_levels = check_count("n_bins", n_bins), check_count("n_levels", n_levels)
    lightness = grey(image)
    dx, dy = gradient(lightness, _SCALE)
    rows, columns = np.nonzero(edges(lightness, _SCALE))
    dx, dy = dx[rows, columns], dy[rows, columns]
    # Bins are about their directions: an upright edge is in the middle of the first.
    turn = np.arctan2(dy, dx) / np.pi
    direction = np.floor(turn * n_bins + 0.5).astype(np.int64) % n_bins
    h, w = lightness.shape
    parts = []
    for level in range(n_levels):
        side = 2**level
        cell = (rows * side // h) * side + columns * side // w
        weights = np.hypot(dx, dy).astype(np.float64)
        parts.append(np.bincount(cell * n_bins + direction, weights, side * side * n_bins))
    found = np.concatenate(parts).astype(np.float64)
    total = float(found.sum())
    return found / total if total > 0 else found
