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
from linkshift._core.interrupts import ask_again
from linkshift.cli.talking import InputError, require

TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".npz")
LABEL_SUFFIXES = (*TABLE_SUFFIXES, ".npy")
_SUFFIXES = {  # of all options but --output, with which commands differ
    "--plot": (".png", ".svg", ".pdf"),
    "--report": (".html", ".htm"),
    "--save": (".npz",),
    "--overlay": (".png",),
    "--links-output": (".csv", ".json"),
}


def check_targets(
    inputs: Iterable[Path | None], suffixes: Sequence[str] = (), **targets: Path | None
) -> None:
    """Refuse, before any work is done, files that could not be written afterwards.

    They are given by option; ``suffixes`` are those that --output may have.
    """
    if ".csv" in suffixes and targets.get("output") is None:  # a table goes to stdout then
        _check_stdout()
    sources = [path for path in inputs if path is not None]
    seen: dict[Path, str] = {}
    for name, path in targets.items():
        if path is None:
            continue
        option = f"--{name.replace('_', '-')}"
        _check_target(path, option, _SUFFIXES.get(option, suffixes), sources)
        other = seen.setdefault(path.resolve(), option)
        if other != option:
            raise InputError(f"{other} and {option} are both {path}; name two files.")
        if path.suffix.lower() == ".parquet":
            require(f"{option} {path}", "cli", "pandas", "pyarrow")
        if option == "--plot":
            require(option, "plot", "matplotlib")
            import matplotlib as mpl

            mpl.use("Agg")  # a file, not a window


def _check_stdout() -> None:
    if sys.stdout is None:
        raise InputError(
            "stdout is closed, and the result goes there. Leave it open, or redirect it to a file."
        )


def _check_target(path: Path, option: str, suffixes: Sequence[str], inputs: list[Path]) -> None:
    if files.is_device(path):
        raise InputError(
            f"{option} {path} is no ordinary file, and cannot be replaced by one. Name a file; "
            "for a pipe, leave the option out where the result then goes to stdout."
        )
    if str(path) == "-":
        raise InputError(f"{option} does not write to stdout. Name a file: {', '.join(suffixes)}.")
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
        raise InputError(
            f"{path} cannot be written: {error.strerror or error}. Choose another place."
        ) from error


def write_text(path: Path, text: str) -> None:
    """Write text as it is, in UTF-8."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


def print_text(text: str) -> None:
    """Put data on stdout."""
    _check_stdout()
    ask_again()
    sys.stdout.write(text)
    sys.stdout.flush()


def print_json(report: Mapping[str, Any]) -> None:
    """Put a report on stdout, as one line."""
    print_text(json.dumps(report, allow_nan=False) + "\n")


def name(path: Path | None) -> str | None:
    """Give the name of a file for a report."""
    return None if path is None else str(path)


def versions(*others: str) -> dict[str, str]:
    """Give the versions that a result depends on."""
    from importlib.metadata import version

    found = {"linkshift": __version__, "python": platform.python_version()}
    return found | {p: version(p) for p in ("numpy", "scipy", "scikit-learn", "numba", *others)}
