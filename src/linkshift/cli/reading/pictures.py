"""Pictures from files: images, and strokes that are drawn on them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkshift._core.arrays import Array
from linkshift._core.text import counted
from linkshift.cli.reading.tables import check_readable
from linkshift.cli.talking import InputError

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp", ".npy")
STROKE_SUFFIXES = (".png", ".tif", ".tiff", ".bmp", ".npy")  # formats that keep colours as they are

_TIFF_AXES = ("YX", "YXS", "SYX")  # of one page: rows, columns, samples
_MOST_COLOURS = 256  # of strokes; smoothed lines have more
_MOST_ENTANGLED = 8  # strokes that are mere dots between others: compression and smoothing
_HARD_PENCIL = (
    "Draw strokes with a hard pencil, without smoothing, on a black or transparent layer; save "
    "that layer alone, as .png. A file that was a .jpg once has lost its colours: draw it anew."
)


def read_image(path: Path) -> Array:
    """Read a picture as (h, w) or (h, w, 3): uint8, uint16, or float from 0 to 1."""
    check_suffix(path, IMAGE_SUFFIXES)
    return _colours(_read(path), path)


def read_strokes(path: Path, size: tuple[int, int]) -> NDArray[np.int64]:
    """Read strokes as numbers (h, w), 0 where nothing is marked."""
    if path.suffix.lower() in (".jpg", ".jpeg", ".webp"):
        check_readable(path)
        raise InputError(
            f"{path}: {path.suffix} changes colours a little, and each would be a stroke of its "
            f"own. {_HARD_PENCIL}"
        )
    check_suffix(path, STROKE_SUFFIXES)
    array = _read(path)
    if array.shape[:2] != size:
        raise InputError(
            f"{path} is {_size(array.shape)} pixels and the image is {_size(size)}: strokes are "
            "drawn on the image itself, in its full size."
        )
    if array.dtype.kind not in "uib":
        raise InputError(
            f"{path} holds {array.dtype}; strokes are whole numbers, 0 where nothing is marked."
        )
    if array.ndim == 3 and array.shape[2] > 2:
        strokes = _numbers_of_colours(array[..., :3], path)
    else:
        strokes = (array if array.ndim == 2 else array[..., 0]).astype(np.int64)
    if array.ndim == 3 and array.shape[2] in (2, 4):
        alpha = array[..., -1]
        strokes[alpha <= np.iinfo(alpha.dtype).max // 2] = 0
    if strokes.min() < 0:
        raise InputError(f"{path} holds the number {strokes.min()}; strokes are 1, 2, ...")
    if not strokes.any():
        raise InputError(
            f"{path} has no stroke: all is 0, black or transparent. Draw on it, or leave "
            "--scribbles out."
        )
    if path.suffix.lower() != ".npy":  # whose numbers nobody has painted
        _refuse_noise(strokes, path)
    return strokes


def _refuse_noise(strokes: NDArray[np.int64], path: Path) -> None:
    """Refuse what compression or smoothing has made of strokes.

    Noise makes numbers most of whose pixels have a neighbour of another stroke and none of their
    own. Drawn strokes and dense maps of labels have neighbours of their own, clicks have none.
    """
    own, others = np.zeros((2, *strokes.shape), dtype=bool)
    for one, other in ((np.s_[:, 1:], np.s_[:, :-1]), (np.s_[1:], np.s_[:-1])):
        same = strokes[one] == strokes[other]
        apart = ~same & (strokes[one] > 0) & (strokes[other] > 0)
        for side in (one, other):
            own[side] |= same
            others[side] |= apart
    found, ranks, pixels = np.unique(strokes, return_inverse=True, return_counts=True)
    alone = np.bincount(ranks.reshape(strokes.shape)[others & ~own], minlength=len(found))
    entangled = int(np.count_nonzero(2 * alone > pixels))  # zero is never among them
    n_strokes = int(np.count_nonzero(found))
    if entangled > _MOST_ENTANGLED and 2 * entangled > n_strokes:
        raise InputError(
            f"{path} has {counted(n_strokes, 'stroke')}, most of them edges of others, as "
            f"compression and smoothing make them. {_HARD_PENCIL}"
        )


def _numbers_of_colours(colours: Array, path: Path) -> NDArray[np.int64]:
    """Give a number to each colour but black."""
    bits = 8 * colours.dtype.itemsize
    keys = np.zeros(colours.shape[:2], dtype=np.int64)
    for channel in range(3):
        keys = keys << bits | colours[..., channel].astype(np.int64)
    found, numbers = np.unique(keys, return_inverse=True)
    if len(found) > _MOST_COLOURS:
        raise InputError(
            f"{path} has {counted(len(found), 'colour')}, each of which would be a stroke of its "
            f"own. {_HARD_PENCIL}"
        )
    numbers = numbers.reshape(keys.shape).astype(np.int64)
    return numbers if found[0] == 0 else numbers + 1


def check_suffix(path: Path, suffixes: tuple[str, ...]) -> None:
    """Refuse a file that is not there or of an unknown kind."""
    check_readable(path)
    if path.suffix.lower() not in suffixes:
        raise InputError(
            f"{path}: unknown suffix {path.suffix!r}. Convert it to one of {', '.join(suffixes)}."
        )


def _read(path: Path) -> Array:
    """Read the numbers of a file, whatever they are: (h, w) or (h, w, channels)."""
    suffix = path.suffix.lower()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of tags in the file that nothing here looks at
            if suffix == ".npy":
                array = np.load(path, allow_pickle=False)
            elif suffix in (".tif", ".tiff"):
                array = _read_tiff(path)
            else:
                array = _read_shallow(path)
    except InputError:
        raise
    except MemoryError:
        raise InputError(f"{path} is too large for the memory there is; scale it down.") from None
    except Exception as error:  # readers raise anything, from SyntaxError to struct.error
        reason = str(error).rstrip(".") or type(error).__name__
        raise InputError(
            f"{path} cannot be read as a picture: {reason}. "
            "Is it whole, and of the kind its suffix says? Save it anew from a picture editor."
        ) from None
    array = np.asarray(array)
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[..., 0]
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] > 4) or array.size == 0:
        raise InputError(
            f"{path} has the shape {array.shape}; a picture is (h, w) or (h, w, 1 to 4 channels). "
            "Save one page or frame of it by itself."
        )
    return array


def _read_tiff(path: Path) -> Array:
    """Read the one page of a TIFF: Pillow knows colour tables and inks, tifffile deep numbers."""
    import tifffile

    with tifffile.TiffFile(path) as file:
        page: Any = file.pages[0]
        whole = [other for other in file.pages if not other.is_reduced]  # type: ignore[union-attr]
        if len(whole) > 1 or file.series[0].size != page.size or page.axes not in _TIFF_AXES:
            raise InputError(f"{path} has several pages or frames. Save one of them by itself.")
        if page.bitspersample <= 8:
            return _read_shallow(path)
        if page.photometric not in (1, 2):  # zero is black; red, green, blue
            raise InputError(
                f"{path} has {page.bitspersample} bits of {page.photometric.name}. Convert it "
                "to RGB or to grey."
            )
        array: Array = page.asarray()
        if page.axes == "SYX":
            array = np.moveaxis(array, 0, 2)
        return _turned(array, int(page.tags.valueof(274, default=1)))


def _read_shallow(path: Path) -> Array:
    """Read what has up to 8 bits for a channel, and grey of 16 bits."""
    import imageio.v3 as iio

    with path.open("rb") as start:
        head = start.read(26)
    if head.startswith(b"\x89PNG") and head[24:25] == b"\x10" and head[25:] != b"\0":
        raise InputError(
            f"{path} has 16 bits of colour, of which 8 would be lost: a .png of 16 bits is read in "
            "grey only. Save it as .tif without compression, or with 8 bits."
        )
    opened: Any = iio.imopen(path, "r", plugin="pillow")  # with options that only Pillow has
    with opened as file:
        # Phones put further pictures into a .jpg (MPO), thumbnails are pages of a TIFF.
        frames = file.properties(index=...).n_images or 1
        if frames > 1 and path.suffix.lower() in (".png", ".webp"):
            raise InputError(f"{path} has several frames. Save one of them by itself.")
        about = file.metadata(index=0, exclude_applied=False)
        clear = "transparency" in about
        mode = {"P": "RGBA" if clear else "RGB", "PA": "RGBA"}.get(about["mode"], about["mode"])
        if clear and mode in ("L", "RGB"):
            mode += "A"
        elif mode not in ("1", "L", "LA", "RGB", "RGBA", "I", "I;16", "I;16B", "F"):
            mode = "RGB"  # from CMYK, for example
        array: Array = file.read(index=0, mode=None if mode == about["mode"] else mode)
        # Cameras store a picture lying down and say so; labels and strokes go by what is seen.
        # Asked again: where Pillow has turned it already, it no longer says so.
        about = file.metadata(index=0, exclude_applied=False)
        return _turned(array, int(about.get("Orientation", 1)))


def _turned(array: Array, orientation: int) -> Array:
    """Turn and mirror a picture as the tag of its orientation says, 1 to 8."""
    if orientation in (5, 6, 7, 8):
        array = array.swapaxes(0, 1)
    if orientation in (3, 4, 7, 8):
        array = array[::-1]
    if orientation in (2, 3, 6, 7):
        array = array[:, ::-1]
    return array


def _colours(array: Array, path: Path) -> Array:
    """Bring what was read to a kind that can be segmented; alpha goes."""
    if array.ndim == 3:
        array = array[..., 0] if array.shape[2] == 2 else array[..., :3]
    if array.dtype == bool:
        return array.astype(np.uint8) * np.uint8(255)
    if array.dtype in (np.uint8, np.uint16):
        return np.ascontiguousarray(array)
    if array.dtype.kind in "iu":
        if array.min() < 0 or array.max() > 65535:
            raise InputError(
                f"{path} holds numbers from {array.min()} to {array.max()}; pictures go from 0 to "
                "255 or 65535, or are floats from 0 to 1. Scale it."
            )
        if array.max() <= 255:
            raise InputError(
                f"{path} holds {array.dtype} up to {array.max()}, of which white may be 255 or "
                "65535. Say so: save it .astype(np.uint8) or .astype(np.uint16)."
            )
        return array.astype(np.uint16)
    if array.dtype.kind != "f":
        raise InputError(f"{path} holds {array.dtype}, not numbers.")
    if not np.isfinite(array).all():
        raise InputError(
            f"{path} holds NaN or infinity. Put numbers from 0 (black) to 1 (white) in their place."
        )
    if array.min() < 0 or array.max() > 1:
        raise InputError(
            f"{path} holds floats from {array.min():g} to {array.max():g}; 0 is black and 1 is "
            "white. Take their black value away and divide them by their white value."
        )
    return array.astype(np.float32)


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[1]} x {shape[0]}"
