"""The bytes of a data file or of stdin, unpacked, and which format they are in."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from linkshift.cli.talking import InputError

STDIN = "-"
TEXT = (".csv", ".tsv", ".json", ".jsonl")
SUFFIXES = (*TEXT, ".parquet", ".arrow", ".npz", ".npy")
_SAME = {".ndjson": ".jsonl", ".feather": ".arrow", ".tab": ".tsv"}
_PACKED = ".gz"
# How files begin, for stdin, which has no name.
_BEGINNINGS = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"\x93NUMPY": ".npy",
    b"PK\x03\x04": ".npz",
    b"[": ".json",
}
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, eq=False)
class Content:
    """What there is to read: a format by its usual suffix, and bytes.

    ``path`` is what it is called; ``data`` are the bytes where they are not those of a file.
    """

    path: Path
    suffix: str
    data: bytes | None = None

    def open(self) -> BinaryIO:
        """Open the bytes for reading, from the start."""
        return self.path.open("rb") if self.data is None else io.BytesIO(self.data)

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self.path.stat().st_size if self.data is None else len(self.data)


def suffix_of(path: Path) -> str:
    """Give the suffix that says the format; .gz around it says nothing."""
    name = path.name.lower().removesuffix(_PACKED)
    suffix = Path(name).suffix
    return _SAME.get(suffix, suffix)


def content_of(path: Path) -> Content:
    """Find out what a file holds by its name, and what stdin holds by how it begins."""
    if str(path) == STDIN:
        return _of_stdin()
    suffix = suffix_of(path)
    if suffix not in SUFFIXES:
        raise InputError(
            f"cannot tell the format of {path} from its suffix. "
            f"Convert it to one of {', '.join(SUFFIXES)}; text may be packed (.csv.gz)."
        )
    if path.suffix.lower() != _PACKED:
        return Content(path, suffix)
    if suffix not in TEXT:
        raise InputError(f"{path}: only text is read from .gz files. Unpack it: gunzip -k {path}")
    return Content(path, suffix, _unpacked(path, path.read_bytes()))


def _of_stdin() -> Content:
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError(
            "- reads the table from stdin, and nothing is piped into it. Give a file, or pipe one: "
            "cat data.csv | linkshift cluster -"
        )
    path, data = Path("stdin"), sys.stdin.buffer.read()
    if data.startswith(_GZIP):
        data = _unpacked(path, data)
    start = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    for beginning, suffix in _BEGINNINGS.items():
        if start.startswith(beginning):
            return Content(path, suffix, data)
    if start.startswith(b"{"):
        # Of one object in several lines, the first is no JSON by itself.
        line = data.lstrip().split(b"\n", 1)
        lines = len(line) > 1 and line[0].rstrip().endswith(b"}") and line[1].strip() != b""
        return Content(path, ".jsonl" if lines else ".json", data)
    return Content(path, ".csv", data)


def _unpacked(path: Path, data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{path} cannot be unpacked: {str(error).rstrip('.')}. It may be cut short: pack it "
            "again with gzip."
        ) from error
