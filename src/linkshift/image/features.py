"""Feature spaces of pixels: intensity, colour, position, texture, combined with weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter

from linkshift.image._pixels import Pixels, needs_skimage, read_pixels

Floats = NDArray[np.float32]
FeatureSpaces = str | Mapping[str, float]

_ANY_RANGE = 2.0**100  # of values: nothing is filtered here
_SCALES = (1.0, 2.0)  # of the texture's filters, in pixels
_ORIENTATIONS = 6
_SMOOTHING = 4.0  # of their energy, in pixels


def pixel_features(image: ArrayLike, spaces: FeatureSpaces = "lab") -> Floats:
    r"""Describe every pixel in one feature space, or in several with weights.

    Segmentation is clustering in the space that is chosen here. Every space has the scale of L*,
    from 0 to 100, so that a weight of one gives all the same say:

    =============  ==  =============================================================================
    "intensity"     1  L* of CIE L*a*b*: from 0 (black) to 100 (white)
    "rgb"           3  red, green and blue as given (in sRGB), from 0 to 100
    "chroma"        2  a* and b* of it: from green to red, from blue to yellow
    "lab"           3  L*, a*, b*: a distance of 2 to 3 is just seen
    "position"      2  x and y, in hundredths of the longer side
    "texture"      24  root of the smoothed energy of 24 oriented filters of L*
    =============  ==  =============================================================================

    The filters are the first and second derivatives of Gaussians of scales 1 and 2 pixels in six
    directions,

    .. math:: r_{\sigma, 1, \theta} = \sigma \, \partial_\theta (G_\sigma * L), \quad
              r_{\sigma, 2, \theta} = \sigma^2 \, \partial_\theta^2 (G_\sigma * L), \quad
              t = \sqrt{G_4 * r^2},

    which follow from two and three separable filters. A step of 100 in L* gives responses up to 40.

    Parameters
    ----------
    image : array-like of shape (h, w), (h, w, 1), (h, w, 3) or (h, w, 4)
        Grey, RGB or RGBA; uint8, uint16 or float from 0 to 1. Grey counts as RGB with three equal
        channels. Alpha has no say.
    spaces : str or mapping of str to float, default="lab"
        Names joined by "+", such as "lab+position", each of weight one; or names with their
        weights, such as ``{"lab": 1.0, "position": 0.5}``. A weight is a factor of the columns.

    Returns
    -------
    ndarray of shape (h, w, d), float32
        The spaces side by side, in the order in which they are named.

    Notes
    -----
    Memory beyond the result is a few arrays of the size of one channel.

    References
    ----------
    W. T. Freeman, E. H. Adelson: The Design and Use of Steerable Filters. IEEE TPAMI 13 (9), 1991:
    directional derivatives from separable filters.

    Examples
    --------
    The classic choices are one call each:

    >>> import numpy as np
    >>> from linkshift.image import pixel_features
    >>> image = np.zeros((4, 8, 3), dtype=np.uint8)
    >>> image[:, 4:] = 255
    >>> pixel_features(image, "intensity")[0, [0, 7], 0]
    array([  0., 100.], dtype=float32)
    >>> pixel_features(image, "lab").shape, pixel_features(image, "texture").shape
    ((4, 8, 3), (4, 8, 24))
    >>> pixel_features(image, {"rgb": 1.0, "position": 0.5})[1, 4]
    array([100.  , 100.  , 100.  ,  25.  ,   6.25], dtype=float32)
    """
    weights = check_spaces(spaces)
    pixels = read_colours(image)
    h, w = pixels.size
    widths = [_SPACES[name][0] for name in weights]
    found = np.empty((h, w, sum(widths)), dtype=np.float32)
    begin = 0
    for (name, weight), width in zip(weights.items(), widths, strict=True):
        part = found[..., begin : begin + width]
        _SPACES[name][1](pixels, part)
        if weight != 1.0:
            part *= np.float32(weight)
        begin += width
    return found


def check_spaces(spaces: FeatureSpaces) -> dict[str, float]:
    """Give names and weights; refuse what is not known, twice there, or weighs nothing."""
    if isinstance(spaces, str):
        names = [name.strip() for name in spaces.split("+")]
        if len(set(names)) < len(names):
            raise ValueError(
                f'features="{spaces}" names a space twice; give weights instead, such as '
                '{"lab": 2.0, "position": 1.0}.'
            )
        given: dict[str, Any] = dict.fromkeys(names, 1.0)
    elif isinstance(spaces, Mapping):
        given = dict(spaces)
    else:
        raise TypeError(
            'features must be names such as "lab+position" or a mapping of names to weights, not '
            f"{type(spaces).__name__}."
        )
    if not given:
        raise ValueError(f"features names no space; known are {', '.join(_SPACES)}.")
    for name, weight in given.items():
        if name not in _SPACES:
            raise ValueError(f"features names {name!r}; known are {', '.join(_SPACES)}.")
        if isinstance(weight, bool) or not isinstance(weight, Real):
            raise TypeError(f"the weight of {name!r} must be a number, not {weight!r}.")
        if not 0.0 < float(weight) < math.inf:
            raise ValueError(f"the weight of {name!r} is {weight}; leave it out, or make it more.")
    return {name: float(weight) for name, weight in given.items()}


def read_colours(image: ArrayLike) -> Pixels:
    """Check an image whose colours are to be understood: floats from 0 to 1."""
    pixels = read_pixels(image, "given", _ANY_RANGE)
    if pixels.image.dtype.kind == "f" and (pixels.lowest < 0.0 or pixels.highest > 1.0):
        raise ValueError(
            f"image holds floats from {pixels.lowest:g} to {pixels.highest:g}; from 0 (black) to 1 "
            "(white) is what they mean here. Divide them by their white value, or use np.clip."
        )
    return pixels


def _unit_colours(pixels: Pixels, rows: slice) -> Floats:
    """Red, green and blue from 0 to 1."""
    values = pixels.image[rows, :, : pixels.n_colours].astype(np.float32)
    if pixels.image.dtype.kind == "u":
        values /= np.float32(np.iinfo(pixels.image.dtype).max)
    return values if pixels.n_colours == 3 else np.repeat(values, 3, axis=2)


def _rgb(pixels: Pixels, found: Floats) -> None:
    for rows in pixels.stripes():
        found[rows] = np.float32(100.0) * _unit_colours(pixels, rows)


def _lab(pixels: Pixels, found: Floats, first: int = 0) -> None:
    """Give L*, a*, b* from column ``first`` on, as many as there is room for."""
    with needs_skimage("intensity, chroma, lab and texture need"):
        from skimage.color import rgb2lab
    last = first + found.shape[2]
    for rows in pixels.stripes():
        found[rows] = rgb2lab(_unit_colours(pixels, rows))[..., first:last]
    if pixels.n_colours == 1:
        found[..., 1 - first :] = 0.0  # the conversion leaves some rounding
    if first == 0:
        np.clip(found[..., 0], 0.0, 100.0, out=found[..., 0])


def _position(pixels: Pixels, found: Floats) -> None:
    h, w = pixels.size
    unit = 100.0 / max(h, w)
    found[..., 0] = np.arange(w) * unit
    found[..., 1] = (np.arange(h) * unit)[:, None]


def _texture(pixels: Pixels, found: Floats) -> None:
    lightness = np.empty((*pixels.size, 1), dtype=np.float32)
    _lab(pixels, lightness)

    def derivative(scale: float, y: int, x: int) -> Floats:
        # Near the frame the image goes on as it ends there: no edge that is not in it.
        filtered: Floats = gaussian_filter(
            lightness[..., 0], scale, order=(y, x), mode="nearest", output=np.float32
        )
        return filtered * np.float32(scale ** (x + y))

    angles = np.pi * np.arange(_ORIENTATIONS) / _ORIENTATIONS
    column = 0
    for scale in _SCALES:
        dx, dy = derivative(scale, 0, 1), derivative(scale, 1, 0)
        for c, s in zip(np.cos(angles), np.sin(angles), strict=True):
            found[..., column] = _energy(np.float32(c) * dx + np.float32(s) * dy)
            column += 1
        dxx, dxy, dyy = (derivative(scale, 2 - k, k) for k in (2, 1, 0))
        for c, s in zip(np.cos(angles), np.sin(angles), strict=True):
            second = np.float32(c * c) * dxx + np.float32(2 * c * s) * dxy + np.float32(s * s) * dyy
            found[..., column] = _energy(second)
            column += 1


def _energy(response: Floats) -> Floats:
    smooth = gaussian_filter(response * response, _SMOOTHING, mode="nearest", output=np.float32)
    return np.sqrt(np.maximum(smooth, np.float32(0.0)))


# Name, number of columns, and what fills them.
_SPACES: dict[str, tuple[int, Callable[[Pixels, Floats], None]]] = {
    "intensity": (1, _lab),
    "rgb": (3, _rgb),
    "chroma": (2, partial(_lab, first=1)),
    "lab": (3, _lab),
    "position": (2, _position),
    "texture": (2 * len(_SCALES) * _ORIENTATIONS, _texture),
}
