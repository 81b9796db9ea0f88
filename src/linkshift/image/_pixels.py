"""Images at the door: checked once, and turned into what the loops work on and back."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from linkshift._core.arrays import Array
from linkshift._core.messages import Refusal
from linkshift.image._filter_loops import WHOLE_LANES

ColourSpace = Literal["given", "lab"]

_ROWS = 64  # converted at a time: colour conversions need many times the memory of their input
_FINEST = 2.0**-22  # of the span of the values: what float32 can still resolve


@dataclass(frozen=True)
class Pixels:
    """An image, and how its values relate to those that are filtered.

    Filtered values are ``(value - offset) / scale`` in the given colours, L*, a*, b* in Lab. Offset
    and scale are zero and one for whole numbers, which float32 holds exactly; for floats the middle
    of the values and a power of two near the range bandwidth, or their span if that is less.
    """

    image: Array  # (h, w, channels), as given
    n_colours: int  # channels that are filtered: 1 or 3; a channel after them is alpha
    colour_space: ColourSpace  # where they are filtered
    lowest: float  # value of the filtered channels
    highest: float
    offset: float
    scale: float

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return self.image.shape[0], self.image.shape[1]

    def stripes(self) -> list[slice]:
        """Rows that are converted at a time."""
        h = self.size[0]
        return [slice(begin, min(begin + _ROWS, h)) for begin in range(0, h, _ROWS)]

    def planes(self, dtype: type[np.number[Any]]) -> Array:
        """Put filtered values into padded planes: 3, or 2 if grey, of which the last is zero."""
        h, w = self.size
        found = np.zeros((3 if self.n_colours == 3 else 2, h, w + WHOLE_LANES - 1), dtype=dtype)
        for rows in self.stripes():
            values = self._to_filtered(self.image[rows, :, : self.n_colours])
            found[: self.n_colours, rows, :w] = np.moveaxis(values, 2, 0)
        return found

    def to_image(self, values: Array, begin: int) -> Array:
        """Give rows of the image from row ``begin`` on; alpha as it was."""
        rows = self.image[begin : begin + values.shape[0]].copy()
        rows[..., : self.n_colours] = self._to_given(values)
        return rows

    def in_units(self, values: Array) -> Array:
        """Give filtered values in the units of the image, or of Lab, without rounding."""
        if self.offset == 0.0 and self.scale == 1.0:
            return values
        return (values.astype(np.float64) * self.scale + self.offset).astype(np.float32)

    def _to_filtered(self, rows: Array) -> Array:
        if self.colour_space == "lab":
            white = np.float32(_white(self.image.dtype))
            return _skimage_color().rgb2lab(rows.astype(np.float32) / white)
        if self.image.dtype.kind == "u":
            return rows
        return (rows.astype(np.float64) - self.offset) / self.scale

    def _to_given(self, values: Array) -> Array:
        dtype = self.image.dtype
        if self.colour_space == "lab":
            # Beyond this b*, blue is negative: scikit-image cuts it off as well, with a warning.
            lab = values.copy()
            most = (lab[..., 0] + np.float32(16.0)) * np.float32(200.0 / 116.0)
            np.minimum(lab[..., 2], most - np.float32(1e-3), out=lab[..., 2])
            found = _skimage_color().lab2rgb(lab).astype(np.float64) * _white(dtype)
        else:
            found = values.astype(np.float64) * self.scale + self.offset
        found = found.clip(self.lowest, self.highest)  # means are between; rounding may not be
        return (np.rint(found) if dtype.kind == "u" else found).astype(dtype)


def read_pixels(image: ArrayLike, colour_space: ColourSpace, range_bandwidth: float) -> Pixels:
    """Check an image; refuse what cannot be filtered, with the remedy.

    Floats are scaled to the range bandwidth.
    """
    if colour_space not in get_args(ColourSpace):
        raise ValueError(f'colour_space={colour_space!r} is none of "given" and "lab".')
    array = _check_array(image)
    n_colours = 1 if array.shape[2] == 1 else 3
    colours = array[..., :n_colours]
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(
            "image holds NaN or infinity; replace them first, for example with "
            "np.nan_to_num(image), or filter the part without them."
        )
    lowest, highest = float(colours.min()), float(colours.max())
    offset, scale = 0.0, 1.0
    if colour_space == "lab":
        _check_lab(array.dtype, n_colours, lowest, highest)
        return Pixels(array, n_colours, colour_space, 0.0, _white(array.dtype), offset, scale)
    if array.dtype.kind == "f":
        offset = 0.5 * lowest + 0.5 * highest
        span = highest - lowest
        scale = 2.0 ** min(math.frexp(min(range_bandwidth, span or range_bandwidth))[1], 1000)
        if range_bandwidth < _FINEST * highest - _FINEST * lowest:
            raise Refusal(
                f"A range bandwidth of {range_bandwidth} is too fine for values from {lowest} to "
                f"{highest}: they are filtered in float32.",
                "Take a larger range_bandwidth, or cut off outliers with np.clip.",
                command="Take a larger --range-bandwidth.",
                parameter="range_bandwidth",
                value=range_bandwidth,
            )
    return Pixels(array, n_colours, colour_space, lowest, highest, offset, scale)


def _check_array(image: ArrayLike) -> Array:
    """Bring the image to (h, w, channels), of a dtype and shape that can be filtered."""
    if isinstance(image, np.ma.MaskedArray):
        raise TypeError("image is a masked array, whose mask has no meaning here; fill it first.")
    array = np.asarray(image)
    if array.dtype == bool:
        raise TypeError(
            "image is of dtype bool, which has no distances to speak of; convert it with "
            "image.astype(np.uint8) * 255."
        )
    if array.dtype not in (np.uint8, np.uint16, np.float16, np.float32, np.float64):
        raise TypeError(
            f"image is of dtype {array.dtype}; uint8, uint16, float16, float32 and float64 can be "
            "filtered. Convert it, for example with image.astype(np.float64)."
        )
    if array.ndim not in (2, 3):
        raise ValueError(
            f"image has shape {array.shape}; it must be (h, w), (h, w, 1), (h, w, 3) or (h, w, 4). "
            "Filter the images of a stack one by one."
        )
    array = array[..., None] if array.ndim == 2 else array
    if array.shape[2] not in (1, 3, 4):
        raise ValueError(
            f"image has {array.shape[2]} channels in its last axis; 1 (grey), 3 (RGB) and 4 (RGBA) "
            "can be filtered. Put channels last with np.moveaxis, or select some."
        )
    if array.size == 0:
        raise ValueError(f"image has shape {array.shape[:2]} and no pixels; give at least one.")
    return array


def _check_lab(dtype: np.dtype[Any], n_colours: int, lowest: float, highest: float) -> None:
    if n_colours != 3:
        raise ValueError(
            'colour_space="lab" needs an RGB or RGBA image, and this one is grey; take "given".'
        )
    if dtype.kind == "f" and (lowest < 0.0 or highest > 1.0):
        raise ValueError(
            f'colour_space="lab" needs float colours from 0 to 1, and these go from {lowest} to '
            f'{highest}; divide them by their white value, or take "given".'
        )
    _skimage_color()  # tell early that it is missing


def _white(dtype: np.dtype[Any]) -> float:
    return float(np.iinfo(dtype).max) if dtype.kind == "u" else 1.0


def _skimage_color() -> Any:
    with needs_skimage('colour_space="lab" needs'):
        from skimage import color
    return color


@contextmanager
def needs_skimage(what: str) -> Iterator[None]:
    """Around an import: say who needs scikit-image, and how to get it."""
    try:
        yield
    except ImportError as error:
        raise ImportError(f'{what} scikit-image: pip install "linkshift[image]"') from error
