"""Mean-shift filtering: smoothing that keeps edges (Comaniciu, Meer 2002)."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkshift._core.arrays import Array, Progress
from linkshift._core.convergence import NotConverged
from linkshift._core.messages import Refusal, warn
from linkshift._core.text import counted
from linkshift._core.threads import n_threads
from linkshift.image._feature_loops import climb_features
from linkshift.image._filter_loops import KNOWN_SHAPE, WHOLE_LANES, climb_rows, opencv_rows
from linkshift.image._pixels import ColourSpace, Pixels, read_pixels
from linkshift.image.features import FeatureSpaces, pixel_features

Kernel = Literal["flat", "gaussian"]
Mode = Literal["converged", "opencv"]
Rows = Callable[[int, Array, Array], int]  # first row, values and places to fill: pixels not there

_STRIPE = 32  # rows of a unit of work
_TRUNCATE = 3.0  # bandwidths at which a Gaussian ends
_LEAST, _MOST = 1e-9, 1e9  # bandwidths in pixels and levels: beyond, all is outside, or inside
_WIDEST = 7.0  # of it: beyond, its weights leave the range of the exponential in the loops


@dataclass(frozen=True)
class ImageModes:
    """Where the pixels of an image end in the joint space of place and colour, or other features.

    Attributes
    ----------
    positions : ndarray of shape (h, w, 2), float32
        Place of each pixel's mode: x (column) and y (row).
    values : ndarray of shape (h, w, 1), (h, w, 3) or (h, w, n_features), float32
        Its colour, unrounded, in the units of the image or, filtered in Lab, as L*, a*, b*; or its
        features.
    """

    positions: NDArray[np.float32]
    values: NDArray[np.float32]


def mean_shift_filter(
    image: ArrayLike,
    spatial_bandwidth: float,
    range_bandwidth: float,
    *,
    kernel: Kernel = "flat",
    mode: Mode = "converged",
    colour_space: ColourSpace = "given",
    truncate: float | None = None,
    max_iter: int | None = None,
    tol: float | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Array:
    r"""Smooth an image and keep its edges: every pixel takes the colour of its mode.

    Pixels are points :math:`(p_i, c_i)` of place and colour. From each, mean shift goes to a mode
    of their density in the joint space,

    .. math:: (p, c) \leftarrow
              \frac{\sum_i g(p - p_i, c - c_i) \, (p_i, c_i)}{\sum_i g(p - p_i, c - c_i)}.

    For the flat kernel g is 1 where :math:`|x - x_i| \le h_s`, :math:`|y - y_i| \le h_s` and
    :math:`\|c - c_i\| \le h_r`, and zero elsewhere; for the Gaussian it is
    :math:`\exp(-\|p - p_i\|^2 / 2 h_s^2 - \|c - c_i\|^2 / 2 h_r^2)` in the same region with
    ``truncate`` times its bandwidths. No pixel and no step is left out.

    Parameters
    ----------
    image : array-like of shape (h, w), (h, w, 1), (h, w, 3) or (h, w, 4)
        Grey, RGB or RGBA; uint8, uint16 or float. Alpha passes through as it is and has no say.
    spatial_bandwidth : float
        :math:`h_s`, in pixels.
    range_bandwidth : float
        :math:`h_r`, in the units of the image's values (of 0 to 255 for uint8, 0 to 65535 for
        uint16, whatever range floats have), or of Lab.
    kernel : {"flat", "gaussian"}, default="flat"
        A Gaussian sees as far as a flat kernel of ``truncate`` times its bandwidths. Its steps
        cost more, and many more are needed: with the same window it takes ten times as long.
    mode : {"converged", "opencv"}, default="converged"
        "converged" goes on until steps are short. "opencv" gives what OpenCV's
        ``pyrMeanShiftFiltering(image, spatial_bandwidth, range_bandwidth, maxLevel=0)`` gives, bit
        for bit: it rounds to whole numbers after each step and stops early, after 5 or when the
        place stays the same. On three photographs 6 to 12 % of its pixels were more than 8 levels
        from their mode. For uint8 images with three channels and the flat kernel only; a spatial
        bandwidth below 1 counts as 1.
    colour_space : {"given", "lab"}, default="given"
        "lab" filters RGB in CIE L*a*b*, where distances are closer to what eyes see (uint8 and
        uint16 from black to white, floats from 0 to 1). Needs scikit-image.
    truncate : float, default=None
        Bandwidths at which the Gaussian ends, at most 7; None takes 3.
    max_iter : int, default=None
        Largest number of steps; None takes 1000, of mode "opencv" 5 (at most 100, as in OpenCV).
    tol : float, default=None
        Step, in bandwidths, at which a pixel has arrived: the root of :math:`\|dp\|^2 / h_s^2 +
        \|dc\|^2 / h_r^2`; None takes 1e-3. In mode "opencv" its ``epsilon``, None takes 1.
    n_jobs : int, default=None
        Number of threads. ``None`` takes all cores. The result does not depend on it.
    progress : callable, default=None
        Called with (rows done, rows).

    Returns
    -------
    ndarray
        The filtered image, of the shape and dtype of the image. Whole numbers are rounded to the
        nearest, half to even.

    See Also
    --------
    mean_shift_modes : places and unrounded colours of the modes.

    Notes
    -----
    Colours are held in float32 and places in float64. Sums of uint8 values are exact, and those of
    uint16 in windows up to 256 pixels wide; floats are taken relative to the middle of their range,
    so that a constant added to all of them is of no account.

    A pixel whose window is empty has arrived (the mean of some pixels may be near to none of them).
    So has one that goes in a circle: a flat window in place times one in colour is not the slope
    of any density, and sends a few pixels round and round.

    Time grows with the area of the window. Memory beyond the image and the result is 12 bytes for
    each pixel, 8 for grey images, and some rows.

    References
    ----------
    D. Comaniciu, P. Meer: Mean Shift: A Robust Approach Toward Feature Space Analysis. IEEE
    Transactions on Pattern Analysis and Machine Intelligence 24 (5), 2002, section 4.1.

    Examples
    --------
    Noise goes, the edge stays:

    >>> import numpy as np
    >>> from linkshift.image import mean_shift_filter
    >>> noise = np.random.default_rng(0).integers(-9, 10, size=(20, 20))
    >>> image = (np.where(np.arange(20) < 10, 60, 160) + noise).astype(np.uint8)
    >>> filtered = mean_shift_filter(image, 5, 30)
    >>> bool(np.ptp(filtered[:, :10]) < 6), bool(np.ptp(filtered[:, 10:]) < 6)
    (True, True)
    >>> bool(filtered[:, 10:].min() - filtered[:, :10].max() > 90)
    True
    """
    options = _checked(
        spatial_bandwidth, range_bandwidth, kernel, mode, colour_space, truncate, max_iter, tol
    )
    pixels = options.read(image)
    found = np.empty_like(pixels.image)

    def keep(begin: int, values: Array, _: Array) -> None:
        found[begin : begin + values.shape[0]] = pixels.to_image(values, begin)

    _run(pixels, options, keep, n_jobs, progress)
    return found.reshape(np.shape(image))


def mean_shift_modes(
    image: ArrayLike,
    spatial_bandwidth: float,
    range_bandwidth: float,
    *,
    kernel: Kernel = "flat",
    mode: Mode = "converged",
    colour_space: ColourSpace = "given",
    features: FeatureSpaces | None = None,
    truncate: float | None = None,
    max_iter: int | None = None,
    tol: float | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> ImageModes:
    r"""Find the mode of every pixel in the joint space of place and colour, or other features.

    Other parameters as in :func:`mean_shift_filter`, which rounds the colours of these modes.
    Memory beyond the image and the result (20 bytes for each pixel, 12 for grey images) is as
    there; with ``features``, 8 bytes for each pixel and feature.

    Parameters
    ----------
    image, spatial_bandwidth
        As in :func:`mean_shift_filter`.
    range_bandwidth : float
        With ``features``, in their units, from 0 to 100.
    features : str or mapping of str to float, default=None
        Feature space of :func:`pixel_features` in the place of colours, such as "texture" or
        ``{"lab": 1.0, "texture": 0.5}``: q of the pixels :math:`(p, q)` are then 24 or 27 numbers.
        A weight w makes the bandwidth of its columns :math:`h_r / w`. Time grows with their number:
        24 take about five times as long as three.

    Returns
    -------
    ImageModes

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.image import mean_shift_modes
    >>> modes = mean_shift_modes(np.array([[10, 12, 90, 90]], dtype=np.uint8), 2, 20)
    >>> modes.positions[0, :, 0]
    array([0.5, 0.5, 2.5, 2.5], dtype=float32)
    >>> modes.values[0, :, 0]
    array([11., 11., 90., 90.], dtype=float32)
    """
    options = _checked(
        spatial_bandwidth, range_bandwidth, kernel, mode, colour_space, truncate, max_iter, tol
    )
    if features is not None:
        return _feature_modes(image, features, options, n_jobs, progress)
    pixels = options.read(image)
    found = _no_modes(*pixels.size, pixels.n_colours)

    def keep(begin: int, values: Array, places: Array) -> None:
        rows = slice(begin, begin + values.shape[0])
        found.positions[rows] = places
        found.values[rows] = pixels.in_units(values)

    _run(pixels, options, keep, n_jobs, progress)
    return found


def _no_modes(h: int, w: int, n: int) -> ImageModes:
    return ImageModes(np.empty((h, w, 2), np.float32), np.empty((h, w, n), np.float32))


def _feature_modes(
    image: ArrayLike,
    features: FeatureSpaces,
    options: _Options,
    n_jobs: int | None,
    progress: Progress | None,
) -> ImageModes:
    if options.opencv or options.colour_space != "given":
        raise Refusal(
            "features are found in the image as it is, and filtered until all pixels have arrived.",
            'Leave mode and colour_space out: features="lab" are L*, a*, b*.',
            parameter="features",
        )
    given = pixel_features(image, features)
    h, w, n = given.shape
    planes = np.zeros((n, h, w + WHOLE_LANES - 1), dtype=np.float32)
    planes[:, :, :w] = np.moveaxis(given, 2, 0)
    found = _no_modes(h, w, n)
    arguments = (planes, w, *_window_arguments(options, h + w, 1.0))

    def stripe(begin: int) -> tuple[int, int]:
        end = min(begin + _STRIPE, h)
        rows = slice(begin, end)
        return end, climb_features(*arguments, begin, found.values[rows], found.positions[rows])

    _run_stripes(stripe, h, w, options, n_jobs, progress)
    return found


@dataclass(frozen=True)
class _Options:
    """What is asked of the filter, checked; what was None is its default."""

    h_s: float
    h_r: float
    reach: float | None  # bandwidths at which a Gaussian ends; None: the kernel is flat
    opencv: bool
    colour_space: ColourSpace
    max_iter: int
    tol: float

    def read(self, image: ArrayLike) -> Pixels:
        """Read the pixels, and refuse those that OpenCV's variant cannot take."""
        pixels = read_pixels(image, self.colour_space, self.h_r)
        if not self.opencv:
            return pixels
        if pixels.image.dtype != np.uint8 or pixels.image.shape[2] != 3:
            raise ValueError(
                f'mode="opencv" is for uint8 images of shape (h, w, 3), not for '
                f"{pixels.image.dtype} and {pixels.image.shape[2]} channels; take "
                'mode="converged", or convert the image.'
            )
        if self.reach is not None or self.colour_space != "given":
            raise ValueError(
                'mode="opencv" has the flat kernel in the given colours only; take '
                'mode="converged".'
            )
        return pixels


def _checked(
    spatial_bandwidth: float,
    range_bandwidth: float,
    kernel: str,
    mode: str,
    colour_space: ColourSpace,
    truncate: float | None,
    max_iter: int | None,
    tol: float | None,
) -> _Options:
    h_s = _positive("spatial_bandwidth", spatial_bandwidth)
    h_r = _positive("range_bandwidth", range_bandwidth)
    for name, value, known in (
        ("kernel", kernel, ("flat", "gaussian")),
        ("mode", mode, ("converged", "opencv")),
    ):
        if value not in known:
            raise ValueError(f'{name}={value!r} is none of "{known[0]}" and "{known[1]}".')
    if truncate is not None and kernel == "flat":
        raise ValueError('truncate is for kernel="gaussian"; a flat kernel ends at its bandwidth.')
    reach = _TRUNCATE if truncate is None else _positive("truncate", truncate)
    if reach > _WIDEST:
        raise ValueError(f"truncate={truncate} is more than {_WIDEST:g}; weights there are zero.")
    opencv = mode == "opencv"
    steps = _steps(max_iter, opencv)
    default_tol = 1.0 if opencv else 1e-3
    limit = default_tol if tol is None else _number("tol", tol)
    if limit < 0.0:
        raise ValueError(f"tol={tol} is negative; a step is never shorter. Take 0 or more.")
    gaussian = kernel == "gaussian"
    return _Options(h_s, h_r, reach if gaussian else None, opencv, colour_space, steps, limit)


def _converged(pixels: Pixels, options: _Options) -> Rows:
    h, w = pixels.size
    grid = _grid(pixels.planes(np.float32), w)
    arguments = (grid, *_window_arguments(options, h + w, pixels.scale))

    def rows(begin: int, values: Array, places: Array) -> int:
        return int(climb_rows(*arguments, begin, np.empty(KNOWN_SHAPE), values, places))

    return rows


def _window_arguments(options: _Options, longest: int, scale: float) -> tuple[Any, ...]:
    """Say what the loops take of bandwidths, kernel and end."""
    h_s = min(max(options.h_s, _LEAST), _MOST)
    own = min(max(options.h_r / scale, _LEAST), _MOST)
    ends = 1.0 if options.reach is None else options.reach
    half = -0.5 * math.log2(math.e)
    return (
        min(ends * h_s, float(longest)),  # the whole image from everywhere
        np.float32((ends * own) ** 2),
        options.reach is not None,
        (np.float32(half / h_s**2), np.float32(half / own**2)),
        (h_s, own),
        options.tol,
        options.max_iter,
    )


def _opencv(pixels: Pixels, options: _Options) -> Rows:
    h, w = pixels.size
    radius = np.float32(max(min(options.h_s, float(h + w)), 1.0))
    limit = int(np.rint(min(options.h_r * options.h_r, 3.0 * 255.0**2)))
    root = math.isqrt(limit) + 1
    # What one row's sums can come to; 16 bits are twice as fast as 32.
    length = min(2 * math.ceil(radius) + 1, w) + WHOLE_LANES
    largest = max(3 * root * root, length * max(min(root, 255), length))
    whole = next(t for t in (np.int16, np.int32, np.int64) if largest <= np.iinfo(t).max)
    planes = pixels.planes(whole)
    limits = (whole(limit), whole(root))
    arguments = (_grid(planes, w), radius, *limits, options.tol, options.max_iter)

    def rows(begin: int, values: Array, places: Array) -> int:
        opencv_rows(*arguments, begin, np.empty(KNOWN_SHAPE), values, places)
        return 0

    return rows


def _grid(planes: Array, w: int) -> tuple[Array, int, int, int, int, int]:
    """Planes as the loops take them."""
    n, h, pitch = planes.shape
    return planes.reshape(-1), h * pitch, (n - 1) * h * pitch, h, w, pitch


def _run(
    pixels: Pixels,
    options: _Options,
    keep: Callable[[int, Array, Array], None],
    n_jobs: int | None,
    progress: Progress | None,
) -> None:
    """Run the loop on stripes of rows, and hand over what each gives."""
    h, w = pixels.size
    fill = _opencv(pixels, options) if options.opencv else _converged(pixels, options)

    def one(begin: int) -> tuple[int, int]:
        end = min(begin + _STRIPE, h)
        values = np.empty((end - begin, w, 3), dtype=np.float32)
        places = np.empty((end - begin, w, 2), dtype=np.float32)
        moving = fill(begin, values, places)
        keep(begin, values[..., : pixels.n_colours], places)
        return end, moving

    _run_stripes(one, h, w, options, n_jobs, progress)


def _run_stripes(
    one: Callable[[int], tuple[int, int]],
    h: int,
    w: int,
    options: _Options,
    n_jobs: int | None,
    progress: Progress | None,
) -> None:
    """Call ``one`` with the first row of each stripe; it gives the last, and pixels that move."""
    not_converged = 0
    with ThreadPoolExecutor(n_threads(n_jobs)) as pool:
        for end, moving in pool.map(one, range(0, h, _STRIPE)):
            not_converged += moving
            if progress is not None:
                progress(end, h)
    if not_converged:
        warn(
            NotConverged(
                f"{not_converged} of {h * w} pixels were still moving after "
                f"{counted(options.max_iter, 'step')}.",
                "Increase max_iter or tol.",
                command="",
                parameter="max_iter",
                value=options.max_iter,
            )
        )


def _steps(max_iter: int | None, opencv: bool) -> int:
    if max_iter is None:
        return 5 if opencv else 1000
    if isinstance(max_iter, bool) or not isinstance(max_iter, Integral):
        raise TypeError(f"max_iter must be a whole number, not {max_iter!r}.")
    if max_iter < 1:
        raise ValueError(f"max_iter={max_iter}: at least one step is needed.")
    if opencv and max_iter > 100:
        raise ValueError(f'max_iter={max_iter}: mode="opencv" takes at most 100 steps.')
    return int(max_iter)


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, not {value!r}.")
    if not math.isfinite(value):
        raise _refusal(name, value, "which is not finite", "finite")
    return float(value)


def _positive(name: str, value: object) -> float:
    number = _number(name, value)
    if number <= 0.0:
        why = "and must be positive: with none, every pixel would stay as it is"
        raise _refusal(name, value, why, "larger")
    return number


def _refusal(name: str, value: object, why: str, better: str) -> Refusal:
    return Refusal(
        f"The {name.replace('_', ' ')} is {value}, {why}.",
        f"Give a {better} {name}.",
        command=f"Give a {better} --{name.replace('_', '-')}.",
        parameter=name,
        value=value,
    )
