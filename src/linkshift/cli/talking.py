"""What the commands say to people: everything on stderr, so that stdout is pure data."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

import typer

from linkshift._core.compiling import tell_of_compiling
from linkshift._core.interrupts import ask_again, remembered
from linkshift._core.messages import Advice, Refusal
from linkshift._core.text import counted, listed, near

if TYPE_CHECKING:
    from linkshift._core.arrays import Progress
    from linkshift.metrics import LinkReport

_COMPILING = "Compiling what no earlier run has used: it takes some seconds, and is kept ..."
_COMPILING_AGAIN = (
    "Compiling, as in every run: there is no folder to keep compiled code in. Name one in "
    "NUMBA_CACHE_DIR ..."
)


INTERRUPTED = 130  # exit code after Ctrl-C, as shells have it


class InputError(Exception):
    """Something that the user can put right: a message without traceback, exit code 2."""


def require(what: str, extra: str, *modules: str) -> None:
    """Refuse, before any work is done, what an extra is not installed for."""
    for module in modules:
        try:
            import_module(module)
        except ImportError:
            raise InputError(
                f"{what} cannot do without {module}, which is not installed. Install it with: "
                f'pip install "linkshift[{extra}]"'
            ) from None


@contextmanager
def exit_codes() -> Iterator[None]:
    """Leave with 2 after bad input and 130 after Ctrl-C; anything unexpected shows its trace."""
    try:
        with remembered():
            yield
    except (InputError, Refusal) as error:
        typer.secho("Error: ", fg=typer.colors.RED, bold=True, nl=False, err=True)
        typer.echo(_text(error), err=True)
        raise typer.Exit(2) from None
    except MemoryError as error:
        typer.secho("Error: ", fg=typer.colors.RED, bold=True, nl=False, err=True)
        typer.echo(f"{_memory(error)} Take fewer rows or columns, or a larger machine.", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("Interrupted. No file was left half-written.", err=True)
        raise typer.Exit(INTERRUPTED) from None


@dataclass(frozen=True)
class Console:
    """Says things on stderr; a quiet one only warns."""

    quiet: bool = False

    def __post_init__(self) -> None:
        """From now on, say so when something has to be compiled."""
        tell_of_compiling(lambda kept: self.say(_COMPILING if kept else _COMPILING_AGAIN))

    def say(self, text: str) -> None:
        """Print a line, unless quiet."""
        if not self.quiet:
            typer.echo(text, err=True)

    def warn(self, text: str) -> None:
        """Print a warning, even when quiet."""
        typer.secho("Warning: ", fg=typer.colors.YELLOW, bold=True, nl=False, err=True)
        typer.echo(text, err=True)

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Print a small table, unless quiet."""
        if not self.quiet:
            first, *lines = aligned(head, rows).splitlines()
            typer.echo("\n".join([typer.style(first, bold=True), *lines]), err=True)

    def finish(self, seconds: float | None, *written: object) -> None:
        """Say how long it took and what was written."""
        files = listed(file for file in written if file is not None)
        time = [] if seconds is None else [f"Time: {seconds:.2f} s."]
        if time or files:
            self.say(" ".join(time + ([f"Written: {files}."] if files else [])))

    @contextmanager
    def warnings(self) -> Iterator[None]:
        """Show the warnings of the library as plain lines."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            yield
        for text in dict.fromkeys(_text(warning.message) for warning in caught):
            self.warn(text)

    @contextmanager
    def progress(self, title: str) -> Iterator[Progress | None]:
        """Draw a bar with the time left while the block runs; nothing where nobody watches."""
        ask_again()
        if self.quiet or sys.stderr is None or not sys.stderr.isatty():
            yield None
            return
        from rich import progress as rich
        from rich.console import Console as RichConsole

        words, left = rich.TextColumn("{task.description}"), rich.TextColumn("time left")
        columns = words, rich.BarColumn(), rich.TaskProgressColumn(), left
        stderr = RichConsole(stderr=True)
        bar = rich.Progress(*columns, rich.TimeRemainingColumn(), console=stderr, transient=True)
        task = bar.add_task(title, total=None)

        def update(done: int, total: int) -> None:
            ask_again()
            bar.start()  # not before: lines that are said first would tear it
            bar.update(task, completed=done, total=total)

        try:
            yield update
        finally:
            if bar.live.is_started:
                bar.stop()


def _text(message: Exception | str) -> str:
    """Give a message in the words of the command."""
    return message.text("command") if isinstance(message, Advice | Refusal) else str(message)


def _memory(error: MemoryError) -> str:
    """Say what did not fit, where NumPy tells it."""
    return f"there is not enough memory{f': {error}.' if str(error) else '.'}"


@contextmanager
def passed_on(where: str = "") -> Iterator[None]:
    """Pass on the library's refusals, which are written for people."""
    try:
        yield
    except ValueError as error:
        raise InputError(where + _text(error)) from error


def aligned(head: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[str] = ()) -> str:
    """Give a table with its columns under each other; those in ``right`` end together."""
    from rich.cells import cell_len  # some letters are two places wide

    columns = []
    for name, *cells in zip(head, *rows, strict=True):
        column = [name, *cells]
        wide = max(map(cell_len, column))
        gaps = [" " * (wide - cell_len(cell)) for cell in column]
        pairs = zip(gaps, column, strict=True) if name in right else zip(column, gaps, strict=True)
        columns.append([a + b for a, b in pairs])
    return "".join(f"{'  '.join(line).rstrip()}\n" for line in zip(*columns, strict=True))


def hint(word: str, known: Iterable[str]) -> str:
    """Give `` Did you mean 'this'?``, or nothing."""
    name = near(word, known)
    return "" if name is None else f" Did you mean {name!r}?"


def shown_rows(rows: Sequence[int], most: int = 5) -> str:
    """Give ``row 3`` or ``rows 3, 17, 20 and 5 more``."""
    return ("row " if len(rows) == 1 else "rows ") + _some([str(row) for row in rows], most)


def kept_links(report: LinkReport) -> str:
    """Say which links hold."""
    kept = [
        f"{kept:,} of {n:,} {kind}"
        for kept, n, kind in (
            (report.must_kept, report.n_must, "must"),
            (report.cannot_kept, report.n_cannot, "cannot"),
        )
        if n
    ]
    if report.n_apart:
        kept.append(f"{report.apart_kept:,} of {counted(report.n_apart, 'group')} apart")
    return f"Links kept: {', '.join(kept) or 'there are none'}."


def shown_sizes(sizes: Sequence[int], noun: str, noise: int = 0) -> str:
    """Give ``3 clusters, sizes 20, 18, 2; noise 4``: the largest six, and how many more."""
    ordered = sorted(sizes, reverse=True)
    text = _some([f"{size:,}" for size in ordered], 6)
    text += f"; noise {noise:,}" if noise else ""
    return f"{counted(len(ordered), noun)}, {'size' if len(ordered) == 1 else 'sizes'} {text}"


def _some(words: Sequence[str], most: int) -> str:
    more = f" and {len(words) - most:,} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more
