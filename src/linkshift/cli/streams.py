"""Standard streams as a command may find them: closed, full, or of another encoding."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from pathlib import Path
from typing import Any, NoReturn


class _Stream:
    """A stream to write to, which knows what to do when it cannot be written."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text."""
        try:
            written: int = self._stream.write(text)
        except OSError as error:
            self._lost(error)
            return len(text)
        return written

    def flush(self) -> None:
        """Write what waits."""
        try:
            self._stream.flush()
        except OSError as error:
            self._lost(error)

    def _lost(self, error: OSError) -> None:
        raise NotImplementedError


class _Said(_Stream):
    """For people: what cannot be said is no reason to end the work."""

    def _lost(self, error: OSError) -> None:  # noqa: ARG002 (it cannot be told)
        # Python flushes at exit, which would fail once more and change the exit code.
        self._stream = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 (stays open)


class _Data(_Stream):
    """For results: what cannot be written is an error, but for a reader that has had enough."""

    def _lost(self, error: OSError) -> NoReturn:
        if error.errno == errno.EPIPE:
            raise error  # the command ends without a word then
        lost, self._stream = self._stream, Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
        # What waits is written when the lost one is freed: Python 3.14 tells where that fails.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(self._stream.fileno(), lost.fileno())
        print(
            f"Error: stdout cannot be written: {error.strerror or error}. Write to a file on a "
            "disk that has room, with -o where the command has it.",
            file=sys.stderr,
        )
        sys.exit(2)


def prepare() -> None:
    """Make the standard streams such that neither data nor messages end in a traceback.

    Data are UTF-8, in a pipe as in a file, whatever the locale; a terminal is shown what it can
    show. A stream that is closed stays so, but its number is taken: the next file that is opened
    would otherwise get it, and what C libraries say would be written there.
    """
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if stream is None:
            os.open(os.devnull, os.O_RDWR)
    # A stream that somebody has put in the place of stdout is theirs.
    if sys.stdout is not None and sys.stdout is sys.__stdout__:
        sys.stdout = _data(sys.stdout)
    if sys.stderr is not None:
        sys.stderr = _Said(sys.stderr)


def _data(out: Any) -> _Data:
    encoding = out.encoding if out.isatty() else "utf-8"
    # Not the stream itself: unbuffered, Python drops what a write leaves over without a word.
    binary = io.BufferedWriter(getattr(out.buffer, "raw", out.buffer))
    return _Data(io.TextIOWrapper(binary, encoding, errors="backslashreplace", newline=""))
