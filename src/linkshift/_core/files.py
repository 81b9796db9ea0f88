"""Files are written beside their target and renamed: there is never half a file."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from linkshift._core.interrupts import ask_again
from linkshift._core.messages import Refusal

__all__ = ["is_device", "replacing", "write_text"]


def is_device(path: str | os.PathLike[str]) -> bool:
    """Whether a path is there and is a pipe, a terminal, a stream of this process or the like.

    A file put in its place would be nobody's: a reader of the pipe would wait for ever.
    """
    try:
        found = Path(path).stat()
        folder = Path(path).parent.resolve()
    except (OSError, ValueError):
        return False
    # /dev/stdout is a file where it was redirected to one; its name is a device's all the same.
    named = folder == Path("/dev") or Path("/proc") in folder.parents
    return named or not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode))


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path to write to; it takes the target's place only when all went well.

    The temporary file is hidden, beside the target, and gone if anything is raised, Ctrl-C
    included. What was written is on the disk before the target is replaced. Of a symbolic link
    the link itself is replaced: the file that it leads to stays as it was. Pipes and devices are
    refused, and folders that are not there.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from linkshift._core.files import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder) / "labels.txt"
    ...     with replacing(target) as temporary:
    ...         _ = temporary.write_text("0 1 1")
    ...     target.read_text(), len(list(Path(folder).iterdir()))
    ('0 1 1', 1)
    """
    target = Path(path)
    if is_device(target):
        raise Refusal(
            f"{target} is no ordinary file, and cannot be replaced by one.", "Name a file."
        )
    if not target.parent.is_dir():
        raise Refusal(
            f"{target} cannot be written: there is no folder {target.parent}.",
            "Make the folder first, or name another.",
        )
    if target.is_dir():
        raise Refusal(f"{target} is a folder.", "Name a file in it.")
    # The suffix stays last: NumPy and matplotlib go by it.
    temporary = target.with_name(f".{target.stem}.{secrets.token_hex(4)}.tmp{target.suffix}")
    try:
        yield temporary
        with temporary.open("r+b") as stream:
            os.fsync(stream.fileno())
        ask_again()
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text as UTF-8, line ends as they are; there is never half a file."""
    with replacing(path) as temporary, temporary.open("x", encoding="utf-8", newline="") as file:
        file.write(text)
