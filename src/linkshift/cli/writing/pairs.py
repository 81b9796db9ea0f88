"""Two rows side by side, as a person looks at them in a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import typer
from rich.cells import cell_len, chop_cells

from linkshift._core.text import counted
from linkshift.cli.reading.columns import listed_columns, shown_values
from linkshift.cli.reading.tables import Table
from linkshift.tables.cells import cell_text, clean, differ

Rows = Sequence[tuple[str, Any, Any]]  # name of a column, and its two cells

_NARROWEST, _USUAL = 40, 80  # letters in a line
_GAP = "  "
_BETWEEN = " | "  # two texts
_MARK = "* "  # before a column in which the rows differ
_MOST_COLUMNS = 20  # where nobody says which
_LINES_OF_CELL, _LINES_OF_TEXT = 6, 18  # more would push their question off the screen


@dataclass(frozen=True)
class View:
    """What is shown of a row."""

    ids: list[Any] | None
    cells: dict[str, list[Any]]  # by column
    is_text: bool
    note: str = ""  # on columns that are not shown

    @classmethod
    def of(
        cls,
        table: Table,
        ids: list[Any] | None,
        id_column: str | None,
        show: str | None,
        text: str | None,
    ) -> View:
        """Take the columns that were asked for, or the first ones of a table."""
        if text is not None:
            return cls(ids, {text: shown_values(table, text, "--text")}, True)
        if show is not None:
            names = listed_columns(show, "--show")
            return cls(ids, {name: shown_values(table, name, "--show") for name in names}, False)
        parts = {part for names in table.lists.values() for part in names}
        names = tuple(n for n in table.names if n != id_column and n not in parts) or table.names
        n_left = len(names) - _MOST_COLUMNS
        note = ""
        if n_left > 0:
            note = (
                f"Shown of each row: the first {_MOST_COLUMNS} of its {len(names):,} columns. "
                "--show A,B,C or --text COLUMN name what you can judge by."
            )
        cells = {name: table.values(name) for name in names[:_MOST_COLUMNS]}
        return cls(ids, cells, False, note)

    def head(self, row: int) -> str:
        """Give the name of a row."""
        return f"row {row}" if self.ids is None else str(self.ids[row])

    def pair(self, i: int, j: int, *, whole: bool = False) -> str:
        """Give two rows side by side; long ones are cut unless the ``whole`` is wanted."""
        heads, width = (self.head(i), self.head(j)), terminal_width()
        rows = [(name, cells[i], cells[j]) for name, cells in self.cells.items()]
        show: Any = as_texts if self.is_text else side_by_side
        shown: str = show(heads, rows, width, whole=whole)
        alike = not any(differ(a, b) for _, a, b in rows)
        return f"{shown}\n(alike in all that is shown)" if alike else shown


def filled(text: str, after: int = 0) -> str:
    """Wrap a sentence to the width of the terminal, ``after`` letters that are there already."""
    lines = _wrapped(f"{'-' * (after - 1)} {text}" if after else text, terminal_width())
    return "\n".join(lines)[after:]


def terminal_width() -> int:
    """Give the width of the terminal that messages go to."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return max(int(given), _NARROWEST)
    try:
        wide = os.get_terminal_size(sys.__stderr__.fileno()).columns  # type: ignore[union-attr]
    except (AttributeError, OSError, ValueError):  # closed, or no terminal
        wide = 0
    return max(wide or _USUAL, _NARROWEST)


def side_by_side(
    heads: tuple[str, str],
    rows: Rows,
    width: int,
    *,
    whole: bool = False,
) -> str:
    """Show columns of two rows under each other; those in which they differ are marked.

    Long cells are wrapped, and cut unless the ``whole`` is wanted.
    """
    texts = [(clean(name), *_as_texts(a, b), differ(a, b)) for name, a, b in rows]
    widest = max((cell_len(name) for name, *_ in texts), default=0)
    names = min(widest, max(width // 4, 8))
    left = len(_MARK) + names + len(_GAP)
    most = (width - left - len(_GAP)) // 2
    cells = [line for _, a, b, _ in texts for text in (a, b) for line in text.split("\n")]
    half = min(most, max(map(cell_len, (*cells, *heads)), default=most))
    lines = [_heads(heads, left, half)]
    n_cut, most_lines = 0, None if whole else _LINES_OF_CELL
    for name, a, b, differs in texts:
        parts = [_wrapped(text, room) for text, room in ((name, names), (a, half), (b, half))]
        parts, cut = _cut(parts, most_lines)
        n_cut += cut
        for i, (n, x, y) in enumerate(zip_longest(*parts, fillvalue="")):
            mark = _MARK if differs and i == 0 else " " * len(_MARK)
            line = f"{mark}{_padded(n, names)}{_GAP}{_padded(x, half)}{_GAP}{y}".rstrip()
            lines.append(typer.style(line, bold=True) if differs else line)
    return _told(lines, n_cut)


def as_texts(heads: tuple[str, str], rows: Rows, width: int, *, whole: bool = False) -> str:
    """Show a text of two rows beside each other, wrapped, each in half of the width."""
    half = (width - len(_BETWEEN)) // 2
    ((_, *texts),) = rows
    parts = [_wrapped(cell_text(text), half) for text in texts]
    parts, n_cut = _cut(parts, None if whole else _LINES_OF_TEXT)
    lines = [_heads(heads, 0, half, _BETWEEN)]
    both = zip_longest(*parts, fillvalue="")
    lines += [f"{_padded(x, half)}{_BETWEEN}{y}".rstrip() for x, y in both]
    return _told(lines, n_cut)


def _told(lines: list[str], n_cut: int) -> str:
    more = f"... {counted(n_cut, 'more line')}: ? shows all"
    return "\n".join([*lines, more] if n_cut else lines)


def _heads(heads: tuple[str, str], left: int, half: int, gap: str = _GAP) -> str:
    """Give a line with the names of the two rows above what they hold."""
    first, second = (_wrapped(clean(head), half)[0] for head in heads)
    line = f"{' ' * left}{_padded(first, half)}{gap}{second}".rstrip()
    return typer.style(line, fg=typer.colors.CYAN)


def _cut(parts: list[list[str]], most: int | None) -> tuple[list[list[str]], int]:
    """Cut what is too long to be looked at, and say how many lines that leaves out."""
    longest = max(map(len, parts))
    if most is None or longest <= most:
        return parts, 0
    return [part[:most] for part in parts], longest - most


def _as_texts(a: Any, b: Any) -> tuple[str, str]:
    """Give two cells as text: numbers short, but so that different ones look different."""
    short = cell_text(a), cell_text(b)
    if short[0] == short[1] and differ(a, b):
        return clean(repr(a)), clean(repr(b))
    return short


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _wrapped(text: str, width: int) -> list[str]:
    """Break text at spaces into lines of a width; words that are wider are broken as well."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in _fitting(paragraph.split(), width):
            longer = f"{line} {word}" if line else word
            if cell_len(longer) > width:
                lines.append(line)
                longer = word
            line = longer
        lines.append(line)
    return lines


def _fitting(words: Sequence[str], width: int) -> Iterable[str]:
    for word in words:
        yield from chop_cells(word, width) if cell_len(word) > width else [word]
