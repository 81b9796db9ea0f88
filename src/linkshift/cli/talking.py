"""What the commands say to people: everything on stderr, so that stdout is pure data."""

from __future__ import annotations

import difflib
import io
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer

from linkshift._core.messages import Advice, Refusal
from linkshift._core.text import counted, listed

if TYPE_CHECKING:
    from linkshift._core.arrays import Progress


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
        yield
    except (InputError, Refusal) as error:
        typer.secho("Error: ", fg=typer.colors.RED, bold=True, nl=False, err=True)
        typer.echo(_text(error), err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("Interrupted. No file was left half-written.", err=True)
        raise typer.Exit(130) from None


@dataclass(frozen=True)
class Console:
    """Says things on stderr; a quiet one only warns."""

    quiet: bool = False

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
            _stderr().print(_table(head, rows))

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
        if self.quiet or not sys.stderr.isatty():
            yield None
            return
        from rich import progress as rich

        columns = (
            rich.TextColumn("{task.description}"),
            rich.BarColumn(),
            rich.TaskProgressColumn(),
            rich.TextColumn("time left"),
            rich.TimeRemainingColumn(),
        )
        bar = rich.Progress(*columns, console=_stderr(), transient=True)
        task = bar.add_task(title, total=None)

        def update(done: int, total: int) -> None:
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


@contextmanager
def passed_on(where: str = "") -> Iterator[None]:
    """Pass on the library's refusals, which are written for people."""
    try:
        yield
    except ValueError as error:
        raise InputError(where + _text(error)) from error


def _stderr() -> Any:
    from rich.console import Console as RichConsole

    return RichConsole(stderr=True)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()) -> Any:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in head:
        table.add_column(escape(name), justify="right" if name in right else "left")
    for row in rows:
        table.add_row(*map(escape, row))
    return table


def aligned(head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str]) -> str:
    """Give a table with its columns under each other; those in ``right`` end together."""
    from rich.console import Console as RichConsole

    console = RichConsole(file=io.StringIO(), width=1_000_000)  # lines are never broken
    console.print(_table(head, rows, right))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def one_of(choices: Iterable[str]) -> Callable[[str | None], str | None]:
    """Make an option's callback that accepts only some words, and knows what was meant."""
    allowed = tuple(choices)

    def check(value: str | None) -> str | None:
        if value is None or value in allowed:
            return value
        raise typer.BadParameter(
            f"{value!r} is not one of {', '.join(allowed)}.{hint(value, allowed)}"
        )

    return check


def hint(word: str, known: Iterable[str]) -> str:
    """Give `` Did you mean 'this'?``, or nothing."""
    names = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), names, n=1)
    return f" Did you mean {names[close[0]]!r}?" if close else ""


def shown_rows(rows: Sequence[int], most: int = 5) -> str:
    """Give ``row 3`` or ``rows 3, 17, 20 and 5 more``."""
    text = ("row " if len(rows) == 1 else "rows ") + ", ".join(str(row) for row in rows[:most])
    return text + (f" and {len(rows) - most:,} more" if len(rows) > most else "")


def shown_sizes(sizes: Sequence[int], noun: str, most: int = 6) -> str:
    """Give ``3 clusters, sizes 20, 18, 2``: the largest first, and how many more there are."""
    ordered = sorted(sizes, reverse=True)
    text = ", ".join(f"{size:,}" for size in ordered[:most])
    text += f" and {len(ordered) - most:,} more" if len(ordered) > most else ""
    return f"{counted(len(ordered), noun)}, {'size' if len(ordered) == 1 else 'sizes'} {text}"
