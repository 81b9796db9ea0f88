"""Answers of a labelling page as CSV, which every reader of links takes."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from linkshift._core.text import short
from linkshift.cli.reading.answers import COLUMNS
from linkshift.cli.reading.stores import Line
from linkshift.cli.talking import InputError
from linkshift.links import _files

__all__ = ["as_csv"]

_KINDS = {"same": "must", "different": "cannot", "unknown": _files.UNKNOWN}


def as_csv(lines: Sequence[Line], separator: str = ",") -> str:
    """Give lines as CSV: the columns of `linkshift ask`, and who said it when."""
    _check_names(name for line in lines for name in (line.a, line.b))
    text = io.StringIO()
    # The writer does not see that a lone carriage return needs quotes.
    awkward = any("\r" in str(name) for line in lines for name in (line.a, line.b))
    settings: Any = {"delimiter": separator, "lineterminator": "\n"}
    settings["quoting"] = csv.QUOTE_ALL if awkward else csv.QUOTE_MINIMAL
    writer = csv.writer(text, **settings)
    writer.writerow((*COLUMNS, "who", "at"))
    for line in lines:
        kind, sure = _KINDS[line.word], f"{line.confidence:.17g}"
        writer.writerow((line.a, line.b, kind, sure, line.purpose, line.who, line.at))
    return text.getvalue()


def _check_names(names: Iterable[str | int]) -> None:
    """Refuse names that would not read back as they are."""
    seen: dict[str, str | int] = {}
    for name in names:
        text = str(name)
        if not text or text != text.strip() or "\0" in text or not text.isprintable():
            _check_text(text)
        other = seen.setdefault(text, name)
        if type(other) is not type(name):
            raise InputError(
                f"{text} is a number in one answer and text in another, and a file of links tells "
                "them not apart. Give the rows other ids."
            )


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"The id {short(text)} is no text that a file could hold.") from None
    if not text or text != text.strip() or "\0" in text:
        raise InputError(
            f"The id {short(text)} would not read back from a file of links: spaces around it are "
            "lost there. Give the rows other ids."
        )
