"""Cells of a table as a person looks at them."""

from __future__ import annotations

import unicodedata
from typing import Any

__all__ = ["cell_text", "clean", "differ", "is_empty"]

_EMPTY = "(empty)"
# Inside words of some scripts, and in pictures made of several; all other such signs are left out.
_JOINERS = "\u200c\u200d"


def is_empty(cell: Any) -> bool:
    """Whether there is nothing in a cell."""
    return cell is None or bool(cell != cell)


def differ(a: Any, b: Any) -> bool:
    """Whether two cells hold different things; text is the same with other spaces around it.

    >>> differ("a ", "a"), differ(None, float("nan")), differ(0, None)
    (False, False, True)
    """
    if isinstance(a, str) and isinstance(b, str):
        return a.strip() != b.strip()
    missing = is_empty(a), is_empty(b)
    return missing[0] != missing[1] if any(missing) else bool(a != b)


def cell_text(cell: Any) -> str:
    """Give a cell as text: numbers short, and nothing that would be obeyed rather than shown.

    >>> cell_text(3.0), cell_text(0.123456789), cell_text(True), cell_text(None)
    ('3', '0.123457', 'true', '(empty)')
    """
    if is_empty(cell):
        return _EMPTY
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return f"{cell:.0f}" if cell.is_integer() and abs(cell) < 1e15 else f"{cell:.6g}"
    return clean(str(cell))


def clean(text: str) -> str:
    """Take out what a terminal would obey rather than show: a cell is only looked at."""
    text = text.strip().replace("\r\n", "\n").replace("\r", "\n").expandtabs(4)
    return "".join(
        letter if letter == "\n" or letter in _JOINERS or not _commands(letter) else "\ufffd"
        for letter in text
    )


def _commands(letter: str) -> bool:
    return unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp")
