"""What is written to a store: events, checked at the door, and the entries they become."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from linkshift._core.messages import Refusal
from linkshift._core.text import short

__all__ = ["KINDS", "Entry", "Event", "as_text", "checked_event", "checked_who", "now", "plain_id"]

WORDS = ("same", "different", "unknown")
PURPOSES = ("learn", "audit", "confirm")
ORIGINS = ("question", "merge", "split", "out", "name", "group")
_LONGEST_WHO = 100
_MOST_MEMBERS = 500
_LONGEST_TEXT = 10_000
# Control characters, halves of characters, ends of lines; and what turns the direction of writing,
# by which one name can be made to look like another.
_NO_NAME = ("Cc", "Cs", "Zl", "Zp")
_TURNING = {*"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"}


class Event(NamedTuple):
    """What is to be written. ``who`` is for entries of several people in one action."""

    kind: str
    body: dict[str, Any]
    who: str | None = None  # None: who appends it


class Entry(NamedTuple):
    """What stands in the store."""

    seq: int
    action: int  # the seq of the first entry that was written with it
    at: str  # UTC
    who: str
    kind: str
    body: dict[str, Any]
    data: int = 0  # which data its rows are of: a seq; 0 where none were there


def now() -> str:
    """Give the time: UTC, ISO 8601, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def plain_id(name: Any) -> str | int:
    """Give an id as JSON keeps it, text or whole number; others would come back changed.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.web.events import plain_id
    >>> plain_id(np.int64(7)), plain_id("7")
    (7, '7')
    """
    # Scalars of NumPy, which need not be imported for this.
    plain = name.item() if getattr(name, "ndim", None) == 0 else name
    if isinstance(plain, str):
        return str(plain)
    if isinstance(plain, int) and not isinstance(plain, bool):
        return int(plain)
    raise Refusal(
        f"{short(name)} names a row, and a file of answers keeps names that are text or whole "
        "numbers.",
        "Name the rows by text: ids=[str(name) for name in ids].",
        command="Choose another --id-column, with text or whole numbers.",
        parameter="ids",
    )


def checked_who(who: Any) -> str:
    """Check the name of a person: free text of at most 100 letters in one line; may be empty."""
    if not isinstance(who, str):
        raise _wrong(f"{short(who)} is no name of a person.", "Give text.", "who")
    if any(c in _TURNING or unicodedata.category(c) in _NO_NAME for c in who):
        raise _wrong(
            f"The name {short(who)} holds letters that are not shown, or ends of lines.",
            "Give a name in one line.",
            "who",
        )
    if len(who.strip()) > _LONGEST_WHO:
        raise _wrong(
            f"The name {short(who)} has {len(who.strip())} letters.",
            f"Give one of at most {_LONGEST_WHO}.",
            "who",
        )
    return who.strip()


def checked_event(event: Event) -> Event:
    """Check what is to be written, and give it in plain values."""
    kind, body, who = event
    if kind not in _CHECKS:
        raise _wrong(f"{short(kind)} is no kind of event.", f"Kinds are {', '.join(KINDS)}.")
    if not isinstance(body, dict):
        raise _wrong(f"The body of this {kind} is {short(body)}.", "Give a dict.")
    return Event(kind, _CHECKS[kind](body), None if who is None else checked_who(who))


def as_text(body: dict[str, Any]) -> str:
    """Give a body as JSON."""
    return json.dumps(body, allow_nan=False, separators=(",", ":"))


def _wrong(what: str, remedy: str, parameter: str | None = "events") -> Refusal:
    return Refusal(what, remedy, parameter=parameter)


def _only(body: dict[str, Any], kind: str, *names: str, more: tuple[str, ...] = ()) -> None:
    """Refuse a body in which something is missing, or that says what nobody would read."""
    missing = [name for name in names if name not in body]
    unknown = [name for name in body if name not in (*names, *more)]
    if missing or unknown:
        what = f"without {missing[0]!r}" if missing else f"with {short(unknown[0])}"
        raise _wrong(f"This is a body of {kind} {what}.", f"It has {', '.join(names)}.")


def _pair(body: dict[str, Any], kind: str, words: tuple[str, ...]) -> dict[str, Any]:
    a, b = plain_id(body["a"]), plain_id(body["b"])
    if a == b:
        raise _wrong(f"{short(a)} is paired with itself.", "Name two different rows.")
    _one_of(body, "word", words)
    sure = body["confidence"]
    if isinstance(sure, bool) or not isinstance(sure, (int, float)) or not 0 < sure <= 1:
        raise _wrong(
            f"The confidence of this {kind} is {short(sure)}.",
            "Give a number above 0 and up to 1; 1 is certain.",
        )
    found = body | {"a": a, "b": b, "confidence": float(sure)}
    if "said" in body:
        _text(body, "said")
    return found


def _one_of(body: dict[str, Any], name: str, known: tuple[str, ...]) -> None:
    if body[name] not in known:
        raise _wrong(f"{name} is {short(body[name])}.", f"It is one of {', '.join(known)}.")


def _text(body: dict[str, Any], name: str) -> str:
    text = body[name]
    if not isinstance(text, str) or len(text) > _LONGEST_TEXT:
        raise _wrong(
            f"{name} is {short(text)}.", f"Give text of at most {_LONGEST_TEXT:,} letters."
        )
    return text


def _number(body: dict[str, Any], name: str, least: int = 0) -> None:
    if type(body[name]) is not int or body[name] < least:
        raise _wrong(f"{name} is {short(body[name])}.", f"Give a whole number from {least} on.")


def _answer(body: dict[str, Any]) -> dict[str, Any]:
    _only(body, "answer", "a", "b", "word", "confidence", "purpose", "by", more=("said",))
    _one_of(body, "purpose", PURPOSES)
    _one_of(body, "by", ORIGINS)
    return _pair(body, "answer", WORDS)


def _link(body: dict[str, Any]) -> dict[str, Any]:
    _only(body, "link", "a", "b", "word", "confidence", "source", more=("said",))
    _text(body, "source")
    return _pair(body, "link", WORDS[:2])


def _undo(body: dict[str, Any]) -> dict[str, Any]:
    _only(body, "undo", "action")
    _number(body, "action", 1)
    return dict(body)


def _name(body: dict[str, Any]) -> dict[str, Any]:
    _only(body, "name", "name", "rows", "replaces")
    _text(body, "name")
    rows = body["rows"]
    if not isinstance(rows, (list, tuple)) or len(rows) > _MOST_MEMBERS:
        raise _wrong(
            f"The rows of this name are {short(rows)}.",
            f"Give a list of at most {_MOST_MEMBERS} rows of the cluster.",
        )
    if body["replaces"] is not None:
        _number(body, "replaces", 1)
    if not body["name"] and body["replaces"] is None:
        raise _wrong("An empty name takes another one away.", "Say which: replaces.")
    return body | {"rows": [plain_id(row) for row in rows]}


def _setting(body: dict[str, Any]) -> dict[str, Any]:
    _only(body, "setting", "key", "value")
    _text(body, "key")
    return body | {"value": _json(body["value"])}


def _json(value: Any) -> Any:
    """Give a value as JSON keeps it: text, numbers, true, false, nothing, lists and dicts."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, (list, tuple)):
        return [_json(item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _json(item) for key, item in value.items()}
    raise _wrong(f"The setting is {short(value)}.", "Give what JSON can keep.")


def _data(body: dict[str, Any]) -> dict[str, Any]:
    counts = ("n_rows", "n_columns", "new", "gone", "changed")
    _only(body, "data", *counts, more=("print",))
    for name in body:
        _number(body, name)
    return dict(body)


_CHECKS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "answer": _answer,
    "link": _link,
    "undo": _undo,
    "name": _name,
    "setting": _setting,
    "data": _data,
}
KINDS = tuple(_CHECKS)
