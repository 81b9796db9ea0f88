"""Where the commands write: files that are checked before the work, and stdout."""

from __future__ import annotations

import json
import platform
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from linkshift import __version__
from linkshift._core import files
from linkshift.cli.talking import InputError, require

PICTURE_SUFFIXES = (".png", ".svg", ".pdf")
PAGE_SUFFIXES = (".html", ".htm")
MODEL_SUFFIXES = (".npz",)
TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".npz")
LABEL_SUFFIXES = (*TABLE_SUFFIXES, ".npy")
LINK_SUFFIXES = (".csv", ".json")
PIXEL_LABEL_SUFFIXES = (".png", ".npy")
OVERLAY_SUFFIXES = (".png",)


def check_targets(
    targets: Mapping[str, tuple[Path | None, Sequence[str]]], inputs: Sequence[Path]
) -> None:
    """Check all files that will be written, by option, and that no two are the same."""
    seen: dict[Path, str] = {}
    for option, (path, suffixes) in targets.items():
        if path is None:
            continue
        check_target(path, option, suffixes, inputs)
        other = seen.setdefault(path.resolve(), option)
        if other != option:
            raise InputError(f"{other} and {option} are both {path}; name two files.")
        if path.suffix.lower() == ".parquet":
            require(f"{option} {path}", "cli", "pandas", "pyarrow")
        if suffixes is PICTURE_SUFFIXES:
            require(option, "plot", "matplotlib")
            import matplotlib as mpl

            mpl.use("Agg")  # a file, not a window


def check_target(path: Path, option: str, suffixes: Sequence[str], inputs: Iterable[Path]) -> None:
    """Refuse, before any work is done, a file that could not be written afterwards."""
    if path.suffix.lower() not in suffixes:
        raise InputError(
            f"{option} {path}: unknown suffix {path.suffix!r}. Use one of {', '.join(suffixes)}."
        )
    try:
        if path.is_dir():
            raise InputError(f"{option} {path} is a folder; give a file name.")
        if not path.parent.is_dir():
            raise InputError(
                f"{option} {path}: the folder {path.parent} does not exist. "
                f"Create it first: mkdir -p {shlex.quote(str(path.parent))}"
            )
        for source in inputs:
            if path.exists() and source.exists() and path.samefile(source):
                raise InputError(f"{option} {path} would overwrite {source}; choose another name.")
    except OSError as error:  # such as a name that is too long
        raise InputError(f"{error.filename}: {error.strerror}. Choose another name.") from None


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to, and tell in words what goes wrong with it."""
    try:
        with files.replacing(path) as temporary:
            yield temporary
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.") from error


def write_text(path: Path, text: str) -> None:
    """Write text as it is, in UTF-8."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


def print_text(text: str) -> None:
    """Put data on stdout."""
    sys.stdout.write(text)
    sys.stdout.flush()


def print_json(report: Mapping[str, Any]) -> None:
    """Put a report on stdout, as one line."""
    print_text(json.dumps(report, allow_nan=False) + "\n")


def versions(*others: str) -> dict[str, str]:
    """Give the versions that a result depends on."""
    from importlib.metadata import version

    names = ("numpy", "scipy", "scikit-learn", "numba", *others)
    found = {name: version(name) for name in names}
    return {"linkshift": __version__, "python": platform.python_version(), **found}
