"""What is shown of a row: cells of a table, a text, an image, a sound.

The page names a row and a column, never a file. Which file that is, a cell says, and which folder
it counts from was settled when the table was read.
"""

from __future__ import annotations

import struct
import threading
import zlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from linkshift._core.messages import Refusal
from linkshift._core.text import counted, short
from linkshift.tables.cells import cell_text, is_empty

__all__ = ["Items", "Kind", "Media", "NoMedia", "grey_png", "media_type"]

Kind = Literal["table", "text", "image", "audio"]
MOST_COLUMNS = 20  # where nobody says which
_MOST_LETTERS = 20_000  # of a cell: more is no text to compare
_MOST_FOUND = 50
_KEPT = 2_000  # letters of a row, ready to be searched
_MOST_BYTES = 2**28  # of a file
_SHORT = 12  # letters of a number that is shown whole
_SNIFFED = 4096


class NoMedia(Exception):
    """There is no image or sound to show in a cell, and why."""


class Media(NamedTuple):
    """A file to show, or the bytes of one, and what it is."""

    kind: str
    size: int
    read: Callable[[int, int], bytes]  # from, and how many


@dataclass(frozen=True, eq=False)
class Items:
    """What is shown of rows.

    Parameters
    ----------
    kind : {"table", "text", "image", "audio"}
        How the page shows them.
    cells : dict of lists
        By column, a cell for each row.
    ids : list, default=None
        What rows are called; None: by number.
    media : str, default=None
        Column of images or sounds.
    folder : Path, default="."
        Where paths in that column count from.
    pixels : (int, int), default=None
        Height and width of images that rows are themselves; `cells` has an array then.
    note : str
        On columns that are not shown.
    """

    kind: Kind
    cells: Mapping[str, Sequence[Any]]
    ids: list[Hashable] | None = None
    media: str | None = None
    folder: Path = Path()
    pixels: tuple[int, int] | None = None
    note: str = ""
    _searched: list[str | None] = field(default_factory=list, repr=False)
    _door: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder).absolute())

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of what is shown."""
        return tuple(self.cells)

    def head(self, row: int) -> str:
        """Give what a row is called."""
        return f"row {row}" if self.ids is None else cell_text(self.ids[row])

    def texts(self, row: int) -> list[str | None]:
        """Give the cells of a row as text; None where one is empty, or an image or a sound."""
        return [
            None if name == self.media or is_empty(cell := column[row]) else shown(cell)
            for name, column in self.cells.items()
        ]

    def notes(self) -> list[str]:
        """Say what those who look should know: columns left out, files that are not there."""
        found = [self.note] if self.note else []
        if self.media is not None and self.pixels is None:
            cells = self.cells[self.media]
            absent = [row for row, cell in enumerate(cells) if not self._is_there(cell)]
            if absent:
                first = cells[absent[0]]
                which = "nothing" if is_empty(first) else short(first)
                found.append(
                    f"{counted(len(absent), 'file')} of column {self.media!r} cannot be found, "
                    f"the first of {self.head(absent[0])}: {which}. Paths count from {self.folder}."
                )
        return found

    def _is_there(self, cell: Any) -> bool:
        try:
            return self._path(cell).is_file()
        except (NoMedia, OSError, ValueError):
            return False

    def _path(self, cell: Any) -> Path:
        if is_empty(cell) or not isinstance(cell, str) or not cell.strip() or "\0" in cell:
            raise NoMedia("This row names no file.")
        return self.folder / cell.strip()

    def file(self, row: int, column: int) -> Media:
        """Give the image or sound of a cell."""
        if not 0 <= column < len(self.columns) or self.columns[column] != self.media:
            raise NoMedia("That column holds no images and no sounds.")
        cell = self.cells[self.columns[column]][row]
        if self.pixels is not None:
            data = grey_png(np.asarray(cell).reshape(self.pixels))
            return Media("image/png", len(data), lambda start, n: data[start : start + n])
        path = self._path(cell)
        try:
            if not path.is_file():  # a pipe or a device would be waited for
                raise NoMedia("The file is not there.")
            with path.open("rb") as file:
                start = file.read(_SNIFFED)
                size = file.seek(0, 2)
        except (OSError, ValueError):
            raise NoMedia("The file cannot be read.") from None
        kind = media_type(start)
        wanted = "audio/" if self.kind == "audio" else "image/"
        if kind is None or not kind.startswith(wanted):
            what = "a sound that browsers play" if self.kind == "audio" else "an image to show"
            also = " SVG is not shown: it can hold scripts." if _is_svg(start) else ""
            raise NoMedia(f"The file is not {what}.{also}")
        if size > _MOST_BYTES:
            raise NoMedia(f"The file has {size:,} bytes, and that is too long to show.")
        return Media(kind, size, lambda start, n: _part(path, start, n))

    def search(self, text: str) -> list[int]:
        """Find rows by what they are called or show, whatever the case; the first fifty."""
        wanted = text.strip().casefold()
        if not wanted:
            return []
        n = len(next(iter(self.cells.values()), ())) if self.ids is None else len(self.ids)
        exact = [row for row in range(n) if wanted == self._name(row)]
        found = dict.fromkeys(exact)
        for row, line in enumerate(self._lines(n)):
            if len(found) >= _MOST_FOUND:
                break
            if wanted in (self._line(row) if line is None else line) or wanted in self._name(row):
                found[row] = None
        return list(found)[:_MOST_FOUND]

    def _lines(self, n: int) -> list[str | None]:
        """Give what rows show, to be searched; None of a row that is too long to be kept."""
        with self._door:  # several may search at a time
            if not self._searched:
                lines = (self._line(row) for row in range(n))
                self._searched.extend(line if len(line) <= _KEPT else None for line in lines)
            return self._searched

    def _line(self, row: int) -> str:
        return "\n".join(filter(None, self.texts(row))).casefold()

    def _name(self, row: int) -> str:
        return str(row if self.ids is None else self.ids[row]).casefold()


def shown(cell: Any) -> str:
    """Give a cell as text; a number that is short has all its digits, so that others look other."""
    if isinstance(cell, float) and not cell.is_integer() and len(repr(cell)) <= _SHORT:
        return repr(cell)
    text = cell_text(cell)
    return text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]} …"


def _part(path: Path, start: int, n: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(start)
            return file.read(n)
    except OSError:
        raise NoMedia("The file cannot be read.") from None


def media_type(start: bytes) -> str | None:
    """Say by its first bytes what a file is; None of what is not on the list, whatever its name.

    >>> media_type(b"RIFF....WAVEfmt "), media_type(b"<svg onload='alert(1)'>")
    ('audio/wav', None)
    """
    for mark, kind in _STARTS.items():
        if start.startswith(mark):
            return kind
    if start[:4] == b"RIFF":
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(start[8:12])
    if start[4:8] == b"ftyp":
        return "audio/mp4" if start[8:12] in (b"M4A ", b"M4B ", b"mp42", b"isom") else None
    frame = len(start) > 2 and start[0] == 0xFF and start[1] & 0xE6 == 0xE2  # layer III
    return "audio/mpeg" if frame else None


_STARTS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"BM": "image/bmp",
    b"ID3": "audio/mpeg",
    b"OggS": "audio/ogg",
    b"fLaC": "audio/flac",
}


def _is_svg(start: bytes) -> bool:
    return b"<svg" in start.lower()


def grey_png(pixels: Any) -> bytes:
    r"""Draw numbers as an image in grey, the least black and the largest white.

    >>> grey_png([[0, 1], [2, 3]])[:8]
    b'\x89PNG\r\n\x1a\n'
    """
    given = np.nan_to_num(np.asarray(pixels, dtype=np.float64))
    low, high = float(given.min()), float(given.max())
    scaled = (given - low) / (high - low) if high > low else np.zeros_like(given)
    grey = np.round(255 * scaled).astype(np.uint8)
    height, width = grey.shape
    # Before each line stands how it is filtered: not at all.
    lines = np.concatenate([np.zeros((height, 1), np.uint8), grey], axis=1).tobytes()
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    body = b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + body


def pixel_shape(text: str, n_columns: int) -> tuple[int, int]:
    """Read ``28x28``: the height and width of images that rows are."""
    height, mark, width = text.lower().partition("x")
    if not (mark and height.isdecimal() and width.isdecimal()):
        raise Refusal(f"pixels:{text} is no size.", "Say height and width, as in pixels:28x28.")
    shape = int(height), int(width)
    if shape[0] * shape[1] != n_columns:
        raise Refusal(
            f"pixels:{text} are {shape[0] * shape[1]:,} numbers, and rows have {n_columns:,}.",
            "Say height and width of the images that rows are.",
        )
    return shape
