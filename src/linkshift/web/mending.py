"""Clusters mended by hand: what an action would write, writing it, and names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linkshift.web.answering import answer_event, fresh, overtake, questions
from linkshift.web.events import Event
from linkshift.web.replies import Asked, Refused, row_of, rows_of, whole
from linkshift.web.state import short_state

if TYPE_CHECKING:
    from linkshift.web.desk import Desk
    from linkshift.web.names import Found

__all__ = ["act", "found_names", "homes_of", "name", "plan"]

_MOST_LINKS = 100  # of an action
_LONGEST_NAME = 200
# What the log calls an action; a row that joins another cluster is put among others of a kind.
_BY = {"merge": "merge", "split": "split", "out": "out", "name": "name", "join": "group"}


async def plan(desk: Desk, asked: Asked) -> dict[str, Any]:
    """Say which answers an action would write; nothing is written."""
    do, about = _about(desk, asked.body)
    if desk.engine.labels.version < 0:
        raise Refused(409, "There are no clusters yet.", "Wait a moment.")
    return await desk.engine.request("plan", do=do, about=about)


def _about(desk: Desk, body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Read what is to be done, and with what."""
    do = body.get("do")
    if not isinstance(do, str) or do not in _BY:
        raise Refused(400, f"do is none of {', '.join(_BY)}.")
    about: dict[str, Any] = {}
    for one in ("row", "cluster"):
        if one in body:
            about[one] = row_of(desk, body[one]) if one == "row" else whole(body[one], one)
    for some in ("rows", "exemplars"):
        if some in body:
            given = body[some]
            about[some] = _many(desk, given) if some == "rows" else rows_of(desk, given, some)
    if "clusters" in body:
        given = body["clusters"]
        if not isinstance(given, list) or len(given) > _MOST_LINKS:
            raise Refused(400, f"clusters is no list of at most {_MOST_LINKS} numbers.")
        about["clusters"] = [whole(one, "clusters") for one in given]
    return do, about


def _many(desk: Desk, given: Any) -> list[int]:
    """Read the rows inside a line that was drawn: they may be many."""
    if not isinstance(given, list):
        raise Refused(400, "rows is no list of rows.")
    return [row_of(desk, one, "rows") for one in given]


async def act(desk: Desk, asked: Asked) -> dict[str, Any]:
    """Write the answers of an action as they were shown, and a name with them: undone as one.

    ``asked`` is the key of the question on the page; if this answers it, undo gives it back.
    """
    do, links = asked.body.get("do"), asked.body.get("links", [])
    if not isinstance(do, str) or do not in _BY:
        raise Refused(400, f"do is none of {', '.join(_BY)}.")
    if not isinstance(links, list) or len(links) > _MOST_LINKS:
        raise Refused(400, f"links is no list of at most {_MOST_LINKS} answers.")
    events = []
    for link in links:
        if not isinstance(link, dict) or link.get("word") not in ("same", "different"):
            raise Refused(400, "A link has a, b and a word: same or different.")
        a, b = row_of(desk, link.get("a"), "a"), row_of(desk, link.get("b"), "b")
        if a == b:
            raise Refused(400, "A link is between two rows.")
        events.append(answer_event(desk, a, b, link["word"], "learn", _BY[do]))
    if asked.body.get("name") is not None:
        events.append(_name_event(desk, asked.body))
    if not events:
        raise Refused(400, "There is nothing to write.")
    on_page = next((one for one in questions(desk) if one["key"] == asked.body.get("asked")), None)
    entries = await desk.ledger.append(events, desk.who)
    overtake(desk, on_page, entries[-1].action)
    return {"seq": entries[-1].seq, "n": len(entries), **await fresh(desk)}


async def name(desk: Desk, asked: Asked) -> dict[str, Any]:
    """Name a cluster; an empty name takes its name away."""
    entries = await desk.ledger.append([_name_event(desk, asked.body)], desk.who)
    return {"seq": entries[-1].seq, "state": short_state(desk)}


def _name_event(desk: Desk, body: dict[str, Any]) -> Event:
    from linkshift.web.names import members_of

    k, given = whole(body.get("cluster"), "cluster"), body.get("name")
    if not isinstance(given, str) or len(given.strip()) > _LONGEST_NAME:
        raise Refused(400, f"name is no text of at most {_LONGEST_NAME} letters.")
    try:
        given.encode()
    except UnicodeEncodeError:  # the half of a sign, which no file could be written with
        raise Refused(400, "name holds half a letter.", "Type it anew.") from None
    labels = desk.engine.labels
    if labels.version < 0 or not (labels.labels == k).any():
        raise Refused(409, f"There is no cluster {k}.", "It has changed by now: look at the list.")
    before = found_names(desk).get(k)
    if before is None and not given.strip():
        raise Refused(409, f"Cluster {k} has no name.", "There is nothing to take away.")
    rows = members_of(labels.labels, k, desk.engine.exemplars.get(k, ()))
    body = {"name": given.strip(), "rows": [desk.ledger.rows.key(row) for row in rows]}
    return Event("name", {**body, "replaces": None if before is None else before.action})


def found_names(desk: Desk) -> dict[int, Any]:
    """Give the names in force by the cluster that has them now."""
    named, found = desk.ledger.record.names, homes_of(desk)
    return {k: named[i] for k, i in found.place.items()}


def homes_of(desk: Desk) -> Found:
    """Say where the names in force are now."""
    from linkshift.web.names import Found, Name, homes

    named, labels = desk.ledger.record.names, desk.engine.labels
    if not named or labels.version < 0:
        return Found()
    actions = tuple(one.action for one in named)
    row = desk.ledger.rows.row

    def placed() -> list[Name]:
        return [
            Name(one.name, tuple(r for key in one.rows if (r := row(key, one.data)) is not None))
            for one in named
        ]

    def work() -> Found:
        return homes(desk.once("named", actions, placed), labels.labels)

    found: Found = desk.once("names", (actions, labels.version), work)
    return found
