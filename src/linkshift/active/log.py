"""What a person said, in order: answers to pairs, of which the last one counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from linkshift._core.messages import Refusal
from linkshift.active.known import Told
from linkshift.links import Links
from linkshift.links._parse import parse

__all__ = [
    "Answer",
    "as_links",
    "in_words",
    "link_in_words",
    "read_answer",
    "read_links",
    "told_of",
    "word_of",
]

WORDS = {"same": "same", "s": "same", "must": "same", "different": "different", "d": "different"}
WORDS |= {"cannot": "different", "unknown": "unknown", "u": "unknown"}
PURPOSES = ("learn", "audit", "confirm")


@dataclass(frozen=True)
class Answer:
    """One answer: two rows by position, what was said, how surely, and why the pair was asked."""

    a: int
    b: int
    word: str
    confidence: float = 1.0
    purpose: str = "learn"

    @property
    def pair(self) -> tuple[int, int]:
        """The rows, the smaller number first."""
        return min(self.a, self.b), max(self.a, self.b)

    def as_dict(self, ids: list[Any] | None) -> dict[str, Any]:
        """Give plain values, rows by id."""
        found = asdict(self)
        if ids is not None:
            found["a"], found["b"] = ids[self.a], ids[self.b]
        return found


def word_of(answer: Any) -> str:
    """Read an answer: a word or its first letter, true or false, or nothing for unknown."""
    if answer is None:
        return "unknown"
    if isinstance(answer, (bool, np.bool_)):
        return "same" if answer else "different"
    word = WORDS.get(answer.strip().lower()) if isinstance(answer, str) else None
    if word is None:
        raise Refusal(
            f"{answer!r} is no answer.",
            'Answer "same", "different" or "unknown" (s, d, u; True, False, None).',
            parameter="answer",
        )
    return word


def read_answer(a: int, b: int, word: Any, confidence: Any, purpose: str) -> Answer:
    """Check an answer to a pair of rows."""
    if a == b:
        raise Refusal(
            f"Row {a} is asked about with itself.", "Name two different rows.", parameter="pair"
        )
    sure = isinstance(confidence, (int, float, np.number)) and not isinstance(confidence, bool)
    if not sure or not 0 < confidence <= 1:
        raise Refusal(
            f"confidence is {confidence!r}.",
            "Give a number above 0 and up to 1; 1 is certain.",
            parameter="confidence",
        )
    if purpose not in PURPOSES:
        raise Refusal(
            f"purpose is {purpose!r}.", f"It is one of {', '.join(PURPOSES)}.", parameter="purpose"
        )
    return Answer(int(a), int(b), word_of(word), float(confidence), purpose)


def told_of(answers: Iterable[Answer], ids: list[Any] | None) -> list[Told]:
    """Give what counts of the answers: of each pair the last one, unless it is unknown.

    Where it confirms an earlier one, or does not, it is told how often either was said.
    """
    last: dict[tuple[int, int], list[Answer]] = {}
    for answer in answers:
        # Popped so that it stands where it was said last.
        said = last.pop(answer.pair, [])
        last[answer.pair] = [*(said if answer.purpose == "confirm" else ()), answer]
    return [_counted(said, ids) for said in last.values() if said[-1].word != "unknown"]


def _counted(said: list[Answer], ids: list[Any] | None) -> Told:
    """Count what was said of one pair."""
    one = said[-1]
    words = [answer.word for answer in said if answer.word != "unknown"]
    times = words.count(one.word)
    return Told(
        one.a,
        one.b,
        one.word == "same",
        one.confidence,
        in_words(one.a, one.b, one.word, ids),
        audit=said[0].purpose == "audit",
        times=times,
        against=len(words) - times,
    )


def in_words(a: int, b: int, word: str, ids: list[Any] | None) -> str:
    """Say of two rows what was said of them."""
    names = f"rows {a} and {b}" if ids is None else f"{ids[a]!r} and {ids[b]!r}"
    return f"{names} {word}"


def as_links(told: Iterable[Told], ids: list[Any] | None) -> Links:
    """Give links between ids, or between rows where there are none."""
    pairs: Mapping[bool, list[Any]] = {True: [], False: []}
    sure: Mapping[bool, list[float]] = {True: [], False: []}
    for one in told:
        pairs[one.same].append((one.a, one.b) if ids is None else (ids[one.a], ids[one.b]))
        sure[one.same].append(one.confidence)
    # Ids that are whole numbers would be read as numbers of rows.
    keyed: Literal["id", "row"] = "row" if ids is None else "id"
    found = parse(
        pairs[True] or None,
        pairs[False] or None,
        sure[True] or None,
        sure[False] or None,
        keyed=keyed,
        duplicates="count",
    )
    return Links._make(found, None)


def link_in_words(a: int, b: int, same: bool, ids: list[Any] | None) -> str:
    """Say what a link that was given says."""
    return f"{in_words(a, b, 'same' if same else 'different', ids)} (a link)"


def read_links(links: Any, ids: list[Any] | None, n: int) -> list[Told]:
    """Take links that were given, between rows or ids."""
    given = Links.coerce(links)
    if len(given._pairs.apart):
        raise Refusal(
            "Groups of rows that are apart are not taken by a session.",
            "Give pairs: links between rows, one by one.",
            parameter="links",
        )
    if given.keyed_by_id:
        if ids is None:
            raise Refusal(
                "These links are between ids, and the rows have none here.",
                "Give the ids: Session(X, links, ids=...).",
                parameter="ids",
            )
        given = given.resolve(ids)
    given.check(n)
    return [
        Told(int(a), int(b), same, float(sure), link_in_words(int(a), int(b), same, ids), True)
        for pairs, confidence, same in (
            (given.must, given.must_confidence, True),
            (given.cannot, given.cannot_confidence, False),
        )
        for (a, b), sure in zip(pairs, confidence, strict=True)
    ]
