"""Questions and answers: what may be asked next, what was said, what is taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linkshift.web.events import ORIGINS, PURPOSES, WORDS
from linkshift.web.replies import Asked, Refused, row_of, whole
from linkshift.web.state import in_words, short_state
from linkshift.web.store import Event

if TYPE_CHECKING:
    from linkshift.web.desk import Desk

__all__ = ["answer", "answer_event", "following", "fresh", "keep", "overtake", "questions", "undo"]

_MOST_OVERTAKEN = 100
_PATIENCE = 0.02  # seconds for a fresh question; after that the prepared ones do


def questions(desk: Desk) -> list[dict[str, Any]]:
    """Give what may be asked next: never what is known, or was answered since it was thought of."""
    ledger, (version, found) = desk.ledger, desk.engine.questions
    return [
        {"key": f"{one['a']}-{one['b']}-{one['purpose']}", **one}
        for one in found
        if (
            not ledger.answered_after(one["a"], one["b"], version)
            if one["purpose"] == "confirm"
            else not ledger.needless(one["a"], one["b"])
        )
    ]


def _next(desk: Desk) -> dict[str, Any]:
    """Give the questions, with the two rows of the first, so that it can be shown at once."""
    from linkshift.web.showing import shown_row

    found = questions(desk)
    rows = [shown_row(desk, found[0][end]) for end in "ab"] if found else []
    return {"questions": found, "rows": rows, "state": short_state(desk)}


async def following(desk: Desk, _: Asked) -> dict[str, Any]:
    """Say what to ask next."""
    return _next(desk)


async def fresh(desk: Desk) -> dict[str, Any]:
    """Say what to ask next, by what was just said if that takes no longer than a moment."""
    await desk.engine.fresh(desk.ledger.told, _PATIENCE)
    return _next(desk)


async def answer(desk: Desk, asked: Asked) -> dict[str, Any]:
    """Keep an answer; it is on the disk when this returns."""
    a, b = row_of(desk, asked.body.get("a"), "a"), row_of(desk, asked.body.get("b"), "b")
    if a == b:
        raise Refused(400, "A row is the same as itself.", "Name two rows.")
    word, purpose = asked.body.get("word", ""), asked.body.get("purpose", "learn")
    by, sure = asked.body.get("by", "question"), asked.body.get("confidence", 1.0)
    for name, value, known in (
        ("word", word, WORDS),
        ("purpose", purpose, PURPOSES),
        ("by", by, ORIGINS),
    ):
        if value not in known:
            raise Refused(400, f"{name} is none of {', '.join(known)}.")
    is_number = isinstance(sure, (int, float)) and not isinstance(sure, bool)
    if not is_number or not 0 < sure <= 1:
        raise Refused(400, "confidence is no number above 0 and up to 1.", "1 is certain.")
    event = answer_event(desk, a, b, word, purpose, by, float(sure))
    entries = await desk.ledger.append([event], desk.who)
    return {"seq": entries[-1].seq, **await fresh(desk)}


def answer_event(
    desk: Desk,
    a: int,
    b: int,
    word: str,
    purpose: str = "learn",
    by: str = "question",
    confidence: float = 1.0,
) -> Event:
    """Make the event of an answer about two rows."""
    key = desk.ledger.rows.key
    body = {"a": key(a), "b": key(b), "word": word, "confidence": confidence}
    return Event("answer", {**body, "purpose": purpose, "by": by})


async def undo(desk: Desk, asked: Asked) -> dict[str, Any]:
    """Take back the last action, or the one that is named."""
    record = desk.ledger.record
    action = asked.body.get("action")
    action = desk.ledger.undoable if action is None else whole(action, "action", 1)
    if action is None:
        raise Refused(409, "There is nothing to take back.")
    record.check_undo(action)
    told = in_words(desk, action)
    of_it = [put for put in desk.ledger.answers if put.action == action]
    await desk.ledger.append([Event("undo", {"action": action})], desk.who)
    question = desk.overtaken.pop(action, None)
    if len(of_it) == 1 and of_it[0].by == "question":
        put = of_it[0]
        question = {
            "key": f"{put.a}-{put.b}-{put.purpose}",
            "a": put.a,
            "b": put.b,
            "purpose": put.purpose,
            "why": "You took its answer back.",
            "at_stake": 0.0,
            "probability": None,
        }
    elif question is not None and desk.ledger.needless(question["a"], question["b"]):
        question = None  # it was answered otherwise, too
    return {"undone": told, "action": action, "question": question, **await fresh(desk)}


def overtake(desk: Desk, asked: Any, action: int) -> None:
    """Remember the question on the page if an action has answered it: undo asks it again."""
    if asked is not None and desk.ledger.needless(asked["a"], asked["b"]):
        desk.overtaken[action] = asked
        while len(desk.overtaken) > _MOST_OVERTAKEN:
            del desk.overtaken[next(iter(desk.overtaken))]


async def keep(desk: Desk, asked: Asked) -> dict[str, Any]:
    """Say an answer once more: it is right, whatever stands against it."""
    action = whole(asked.body.get("action"), "action", 1)
    of_it = [put for put in desk.ledger.answers if put.action == action]
    if not of_it:
        raise Refused(
            404, f"No answer of action {action} stands.", "Look at what stands there now."
        )
    events = [
        answer_event(desk, put.a, put.b, put.word, "confirm", "question", put.confidence)
        for put in of_it
    ]
    entries = await desk.ledger.append(events, desk.who)
    return {"seq": entries[-1].seq, **await fresh(desk)}
