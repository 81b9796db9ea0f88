"""What stands in the file of a labelling page, as lines of a file of links.

The page's own links.csv and `linkshift links export` are both made here.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from linkshift._core.messages import Refusal
from linkshift._core.text import short
from linkshift.links import _files
from linkshift.web.fingerprint import Places, placed
from linkshift.web.record import Given, Record, Said

if TYPE_CHECKING:
    from linkshift.web.fingerprint import Fingerprint
    from linkshift.web.store import Store

__all__ = ["Held", "Line", "as_csv", "held", "in_force", "lines_of"]

_COLUMNS = (*_files.COLUMNS, "purpose", "who", "at")  # readers of links pass over the last three
_KINDS = {"same": "must", "different": "cannot", "unknown": _files.UNKNOWN}
_OTHERS = "Give the rows other ids."
Id = str | int


class Line(NamedTuple):
    """An answer, or a link that was given, as a line of a file has it."""

    a: Id
    b: Id
    word: str  # same, different or unknown
    confidence: float
    purpose: str  # of the question; empty for a link that was given
    who: str = ""
    at: str = ""

    @property
    def pair(self) -> frozenset[Id]:
        """Give the two ends, in no order."""
        return frozenset((self.a, self.b))


class Held(NamedTuple):
    """What stands in a store, in the names of the data that it was opened with last."""

    lines: tuple[Line, ...]
    notes: tuple[str, ...]  # on what names rows that are gone
    now: Fingerprint | None  # those data; None where it was opened with none


def held(store: Store) -> Held:
    """Give what stands in a store."""
    record, now = Record.of(store.entries()), store.last_data()
    return lines_of(record, None if now is None else Places(now, store.prints))


def lines_of(record: Record, places: Places | None) -> Held:
    """Give what stands in a record, in the names of some data; None: as it was written."""
    answers: Sequence[Said] = record.answers
    links: Sequence[Given] = record.links
    notes: tuple[str, ...] = ()
    now = None if places is None else places.now
    if places is not None:
        found = placed(record, places)
        answers, links = found.answers, found.links
        notes = found.notes
    ids = None if now is None else now.ids
    standing: list[Said | Given] = sorted([*answers, *links], key=lambda one: one.seq)
    lines = []
    for one in standing:
        a, b = (one.a, one.b) if ids is None else (ids[int(one.a)], ids[int(one.b)])
        purpose = one.purpose if isinstance(one, Said) else ""
        lines.append(Line(a, b, one.word, one.confidence, purpose, one.who, one.at))
    return Held(tuple(lines), notes, now)


def in_force(lines: Iterable[Line]) -> list[Line]:
    """Leave out what was said of a pair before it was said anew, unless that was to confirm it.

    An answer takes the place of a link that was given, and of links that are given twice one is
    enough. So a reader of links finds what a session finds in all of them.
    """
    lines = list(lines)
    since: dict[frozenset[Id], int] = {}
    given: dict[tuple[frozenset[Id], str], int] = {}
    for i, line in enumerate(lines):
        if not line.purpose:
            given[line.pair, line.word] = i
        elif line.purpose == "confirm":
            since.setdefault(line.pair, i)
        else:
            since[line.pair] = i
    return [
        line
        for i, line in enumerate(lines)
        if (i >= since[line.pair] and line.purpose if line.pair in since
            else given[line.pair, line.word] == i)
    ]  # fmt: skip


def as_csv(lines: Sequence[Line], separator: str = ",") -> str:
    """Give lines as CSV: the columns of `linkshift ask`, and who said it when."""
    _check_names(name for line in lines for name in (line.a, line.b))
    text = io.StringIO()
    # The writer does not see that a lone carriage return needs quotes.
    awkward = any("\r" in str(name) for line in lines for name in (line.a, line.b))
    settings: Any = {"delimiter": separator, "lineterminator": "\n"}
    settings["quoting"] = csv.QUOTE_ALL if awkward else csv.QUOTE_MINIMAL
    writer = csv.writer(text, **settings)
    writer.writerow(_COLUMNS)
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
            raise Refusal(
                f"{text} is a number in one answer and text in another, and a file of links tells "
                "them not apart.",
                _OTHERS,
            )


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Refusal(f"The id {short(text)} is no text that a file could hold.", _OTHERS) from None
    if not text or text != text.strip() or "\0" in text:
        raise Refusal(
            f"The id {short(text)} would not read back from a file of links: spaces around it are "
            "lost there.",
            _OTHERS,
        )
