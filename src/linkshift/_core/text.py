"""Text: files that must be UTF-8, values shortened, numbers of things in words."""

from __future__ import annotations

import codecs
import csv
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

__all__ = [
    "SEPARATORS",
    "PathLike",
    "check_text",
    "counted",
    "csv_lines",
    "find_encoding",
    "is_number",
    "listed",
    "near",
    "short",
]

PathLike = str | os.PathLike[str]

# Of cells in text, with what they are called.
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars (|)"}
_CHUNK = 1 << 20
# The mark of UTF-32 begins with that of UTF-16, so it comes first.
_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_SHOWN = 60
_STUTTER = re.compile(r"(.)\1+")
_NEAR = 0.75  # a slip of the pen in four letters; "width" and "weight" are farther
# Bytes that no text in Windows-1252 has: five stand for nothing, most below 32 are no letters.
_CONTROL = {0x81, 0x8D, 0x8F, 0x90, 0x9D, 0x7F, *range(32)} - {*b"\t\n\r\f"}


def check_text(path: PathLike) -> None:
    """Raise ValueError, naming file and line, unless a file holds UTF-8 text.

    A byte order mark of UTF-8 is allowed. NUL is a character, but in a table it
    means that the file is something else, or was damaged.
    """
    with Path(path).open("rb") as file:
        wrong = _wrong_byte(file, os.fspath(path))
    if wrong is not None:
        raise ValueError(wrong.problem)


def find_encoding(file: BinaryIO, where: str) -> tuple[str, int]:
    """Give the encoding of text, and the first line that is not UTF-8; 0 where all is.

    Beside UTF-8 it is Windows-1252, which holds Latin-1: where the first letter beyond ASCII is no
    UTF-8, and no byte speaks against text. All else raises ValueError, as in `check_text`.
    """
    wrong = _wrong_byte(file, where)
    if wrong is None:
        return "utf-8-sig", 0
    file.seek(0)
    content = file.read()
    # A file that ends amid a letter was cut short, and one with letters in UTF-8 was damaged.
    at_end = wrong.offset >= len(content) - 1
    if (
        wrong.byte
        and not at_end
        and content[: wrong.offset].isascii()
        and not _CONTROL & {*content}
    ):
        return "cp1252", wrong.line
    raise ValueError(wrong.problem)


class _Wrong(NamedTuple):
    """A byte that is not UTF-8; 0 stands for NUL and for text of another width."""

    offset: int
    byte: int
    line: int
    problem: str


def _wrong_byte(file: BinaryIO, where: str) -> _Wrong | None:
    start = file.read(4)
    for mark, encoding in _MARKS:
        if start.startswith(mark):
            return _Wrong(0, 0, 1, f"{where}, line 1: this is {encoding} text. Save it as UTF-8")
    file.seek(0)
    found = _first_wrong(file)
    if found is None:
        return None
    offset, byte = found
    file.seek(0)
    before = file.read(offset)
    line = 1 + before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n")
    problem = f"{where}, line {line}: the byte 0x{byte:02x} is not UTF-8 text. Save it as UTF-8"
    if byte == 0:
        problem = (
            f"{where}, line {line}: a NUL byte, which no table holds: the file is damaged, or no "
            "text, or UTF-16. Save it as UTF-8"
        )
    return _Wrong(offset, byte, line, problem)


def _first_wrong(file: BinaryIO) -> tuple[int, int] | None:
    """Offset and value of the first byte that is no UTF-8, or NUL."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    before = 0  # bytes decoded; a character cut in two by a chunk's end is not among them
    while True:
        chunk = file.read(_CHUNK)
        nul = chunk.find(b"\0")
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(chunk if nul < 0 else chunk[:nul], final=not chunk)
        except UnicodeDecodeError as error:
            return before + error.start, error.object[error.start]
        if nul >= 0:
            return before + pending + nul, 0
        if not chunk:
            return None
        before += pending + len(chunk) - len(decoder.getstate()[0])


def csv_lines(
    file: Iterable[str], where: str, **options: Any
) -> Iterator[tuple[int, int, list[str]]]:
    """Give the cells of each record of a CSV file with its first and its last line."""
    reader = csv.reader(file, **options)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise ValueError(f"{where}, line {line}: {error}; is a quote not closed?") from error
        if cells is None:
            return
        yield line, reader.line_num, cells


def short(value: object) -> str:
    """Give the repr of what a file holds, cut where it is long."""
    try:
        text = repr(value if not isinstance(value, (str, bytes)) else value[: 2 * _SHOWN])
    except (ValueError, RecursionError):  # too many digits, or too deep
        return f"a very long {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def is_number(text: str) -> bool:
    """Whether text reads as a number; nan and inf do."""
    with suppress(ValueError):
        float(text)
        return True
    return False


def near(word: str, known: Iterable[str]) -> str | None:
    """Give the name that a word was meant to be: but for a slip of the pen the same, or None.

    Where there is none, it is the one name that the word is a part of (``iris``, ``uci_iris``).
    Names that differ in their numbers are two names (``x1``, ``x2``), and a suffix that two files
    have in common makes them no more alike.
    """
    names = {name.lower(): name for name in known if _numbers(name) == _numbers(word)}
    stem = _stem(word.lower())
    for close in get_close_matches(word.lower(), names, n=5, cutoff=_NEAR):
        if get_close_matches(stem, [_stem(close)], cutoff=_NEAR):
            return names[close]
        if len(stem) > 1 and _STUTTER.sub(r"\1", stem) == _STUTTER.sub(r"\1", _stem(close)):
            return names[close]  # a letter typed twice, in a name too short to be near
    parts = [name for low, name in names.items() if word.lower() in re.split(r"[\W_]+", low)]
    return parts[0] if len(parts) == 1 else None


def _stem(name: str) -> str:
    return name.removesuffix(Path(name).suffix)


def _numbers(name: str) -> list[str]:
    """Give the numbers in a name; 07 is 7."""
    return [digits.lstrip("0") for digits in re.findall("[0-9]+", name)]


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Give ``1 row``, ``2,000 rows``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(items: Iterable[object], most: int = 8) -> str:
    """Join with commas, and shorten a long list in its middle."""
    texts = [str(item) for item in items]
    if len(texts) > most:
        texts = [*texts[: most - 1], "...", texts[-1]]
    return ", ".join(texts)
