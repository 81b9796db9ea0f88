"""What a page prepares from a session: questions ahead, and the long sums in small steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from linkshift._core.arrays import Array
from linkshift.active.questions import Question

if TYPE_CHECKING:
    from linkshift.active.session import Session

__all__ = ["believed_so_far", "labels_before", "looked_at", "questions_ahead"]


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
            session._audits[key] = session._believed(i, answer)
            yield
