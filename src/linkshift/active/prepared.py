"""What a page prepares from a session: questions ahead, and the long sums in small steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from linkshift._core.arrays import Array
from linkshift.active.estimate import Audit, audit
from linkshift.active.log import Answer, read_answer
from linkshift.active.questions import Question

if TYPE_CHECKING:
    from linkshift.active.session import Session

__all__ = [
    "believed",
    "believed_so_far",
    "labels_before",
    "labels_with",
    "links_in_force",
    "looked_at",
    "questions_ahead",
]


def questions_ahead(session: Session, n: int) -> list[tuple[Question, float | None]]:
    """Give ``ask(n)``, and where clusters are few and questions fewer, the next best after these.

    Each with the session's own guess, but for those that it could mislead: an audit measures it,
    and a slip is no news to it.
    """
    asked = session.ask(n)
    there = {frozenset((one.a, one.b)) for one in asked}
    for one in session._picking.candidates:
        if len(asked) >= n:
            break
        question = session._question(one)
        pair = frozenset((question.a, question.b))
        if pair not in there:
            asked.append(question)
            there.add(pair)

    def guess(one: Question) -> float | None:
        return session.probability(one.a, one.b) if one.purpose == "learn" else None

    return [(one, guess(one)) for one in asked]


def labels_before(session: Session, n: int) -> Array:
    """Give the labels that the session had some answers ago."""
    left = max(len(session._answers) - n, 0)
    return session._memory.labels(session._told_by(session._answers[:left]))


def looked_at(session: Session) -> Array:
    """Give the rows that are looked at, whatever answers name."""
    return np.array(sorted(session._memory.drawn), dtype=np.int64)


def believed_so_far(session: Session) -> Iterator[None]:
    """Work out what `Session.estimate` needs of each audit; it is quick afterwards."""
    for i, answer in enumerate(list(session._answers)):
        if answer.purpose != "audit" or answer.word == "unknown":
            continue
        key = (*session._given, *session._answers[: i + 1])
        if key not in session._audits:
            session._audits[key] = believed(session, i, answer)
            yield


def believed(session: Session, place: int, answer: Answer) -> Audit | None:
    """Give what was believed before an answer; None of rows not looked at, or equal ones."""
    sight, before = session._memory.state(session._told_by(session._answers[:place]))
    if not {answer.a, answer.b} <= sight.place.keys():
        return None
    a, b = sight.place[answer.a], sight.place[answer.b]
    return None if a == b else audit(before, a, b, answer.word == "same", place)


def links_in_force(session: Session) -> list[tuple[int, int, Literal["same", "different"]]]:
    """Give certain answers and links, the last word for each pair."""
    return [
        (int(one.a), int(one.b), "same" if one.same else "different")
        for one in session._told
        if one.confidence == 1.0
    ]


def labels_with(session: Session, links: Sequence[tuple[int, int, str]]) -> Array | None:
    """Give the labels that the session would have with some more answers.

    None where it would have to look at other rows for it, which takes seconds.
    """
    memory = session._memory
    place = memory.sight(session._told).place
    if len(session._X) > len(memory.drawn) and any(
        row not in place for a, b, _ in links for row in (a, b)
    ):
        return None
    more = [read_answer(a, b, word, 1.0, "learn") for a, b, word in links]
    return memory.labels(session._told_by([*session._answers, *more]))
