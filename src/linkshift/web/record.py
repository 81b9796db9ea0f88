"""The state of a page: a replay of its log, from entries alone.

The same entries give the same record, whether they are read at once or as they come; and a log with
an undo gives what it would give without the action that was taken back.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from linkshift._core.messages import Refusal
from linkshift.web.events import Entry

__all__ = ["Disagreement", "Given", "Name", "Record", "Said", "disagreements"]

Id = str | int


class Said(NamedTuple):
    """An answer that stands."""

    action: int
    seq: int
    who: str
    at: str
    a: Id
    b: Id
    word: str  # same, different or unknown
    confidence: float
    purpose: str  # learn, audit or confirm
    by: str  # what a person did: question, merge, split, out, name or group
    data: int = 0  # which data the rows are of


class Given(NamedTuple):
    """A link that was given, and stands."""

    action: int
    seq: int
    who: str
    at: str
    a: Id
    b: Id
    word: str  # same or different
    confidence: float
    source: str  # name of a file
    data: int = 0


class Name(NamedTuple):
    """A name, and members of the cluster that had it."""

    action: int
    seq: int
    who: str
    at: str
    name: str
    rows: tuple[Id, ...]
    replaces: int | None = None  # the action of the name in whose place it came
    data: int = 0


class Disagreement(NamedTuple):
    """A pair of which people said different things last, each once, in the order of time."""

    a: Id
    b: Id
    said: tuple[Said, ...]


class HasAnswers(Protocol):
    """What answers can be read from."""

    @property
    def answers(self) -> Sequence[Said]:
        """Answers that stand, in order."""


_action = attrgetter("action")


@dataclass(frozen=True, eq=True)
class Record:
    """What stands after some entries.

    Attributes
    ----------
    answers, links : tuple
        Those that were not taken back, in order.
    settings : mapping
        The last value of each key; undo leaves them alone.
    personal : mapping
        The same of each person: from who to key to value.
    taken_back : mapping
        From action to the entry that took it back.
    n_entries, last_seq : int
        How many were read, and the seq of the last; 0 for none.

    Examples
    --------
    >>> from linkshift.web.events import Entry
    >>> from linkshift.web.record import Record
    >>> body = {"a": 0, "b": 5, "word": "same", "confidence": 1.0}
    >>> answer = Entry(1, 1, "", "Anna", "answer", body | {"purpose": "learn", "by": "question"})
    >>> record = Record.of([answer])
    >>> len(record.answers), record.undoable
    (1, 1)
    >>> record = record.then([Entry(2, 2, "", "Anna", "undo", {"action": 1})])
    >>> len(record.answers), record.undoable
    (0, None)
    """

    answers: tuple[Said, ...] = ()
    links: tuple[Given, ...] = ()
    named: tuple[Name, ...] = ()  # all that stand; `names` are those that no other one replaced
    settings: Mapping[str, Any] = field(default_factory=dict)
    personal: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    taken_back: Mapping[int, Entry] = field(default_factory=dict)
    n_entries: int = 0
    last_seq: int = 0
    last_data: Entry | None = None

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Record:
        """Replay a log from its start."""
        return cls().then(entries)

    def then(self, entries: Iterable[Entry]) -> Record:
        """Go on with what was appended; this record stays as it is.

        A store refuses to hold undo of what is not there or was taken back, and an entry twice:
        such a log was made by something else, and is refused here as well.
        """
        more = _More(self)
        for entry in entries:
            more.take(entry)
        return more.record() if more.n else self

    @cached_property
    def names(self) -> tuple[Name, ...]:
        """Names in force: the last of those that replace each other, unless that took it away."""
        replaced = {one.replaces for one in self.named}
        return tuple(one for one in self.named if one.name and one.action not in replaced)

    @cached_property
    def undoable(self) -> int | None:
        """The newest action that answered, linked or named, and still stands."""
        return self.newest()

    def newest(self, but: Collection[int] = ()) -> int | None:
        """Give the newest of the actions that can be taken back, but for some."""
        last = (
            next((one.action for one in reversed(part) if one.action not in but), None)
            for part in self._parts
        )
        return max((action for action in last if action is not None), default=None)

    def stands(self, action: int) -> bool:
        """Whether an action answered, linked or named, and was not taken back."""
        return any(_has(part, action) for part in self._parts)

    def parts_of(self, action: int) -> tuple[list[Said], list[Given], list[Name]]:
        """Give what an action answered, linked and named, and still stands."""
        answers, links, named = (
            list(
                part[
                    bisect_left(part, action, key=_action) : bisect_right(part, action, key=_action)
                ]
            )
            for part in self._parts
        )
        return answers, links, named

    def check_undo(self, action: int) -> None:
        """Refuse to take back what does not stand, and say why."""
        if self.stands(action):
            return
        if (entry := self.taken_back.get(action)) is not None:
            by = f" by {entry.who}" if entry.who else ""
            raise Refusal(
                f"Action {action} was taken back already{by}, {entry.at}.",
                "Look at what stands there now.",
                parameter="action",
            )
        raise Refusal(
            f"There is no action {action} that can be taken back.",
            "Answers, links and names are taken back by the number of their action; what was taken "
            "back is said again, not brought back by an undo of the undo.",
            parameter="action",
        )

    @property
    def _parts(self) -> tuple[Sequence[Any], ...]:
        return self.answers, self.links, self.named


def disagreements(record: HasAnswers) -> list[Disagreement]:
    """Pairs of which the last standing answers of two people differ; "unknown" differs from none.

    Rows are compared by what they are called. Where they have no ids and the data were reordered,
    give the answers in rows of the present data (`linkshift.web.fingerprint.placed`).
    """
    last: dict[frozenset[Id], dict[str, Said]] = {}
    for one in record.answers:
        said = last.setdefault(frozenset((one.a, one.b)), {})
        said.pop(one.who, None)  # so that it stands where it was said last
        said[one.who] = one
    found = []
    for people in last.values():
        said_last = tuple(one for one in people.values() if one.word != "unknown")
        if len({one.word for one in said_last}) > 1:
            found.append(Disagreement(said_last[0].a, said_last[0].b, said_last))
    return found


class _More:
    """A record as entries come; what was taken back is left out once, at the end."""

    def __init__(self, record: Record) -> None:
        self._before = record
        self._answers, self._links, self._named = ([*part] for part in record._parts)
        self._settings: dict[str, Any] = dict(record.settings)
        self._personal: dict[str, dict[str, Any]] = {
            who: dict(theirs) for who, theirs in record.personal.items()
        }
        self._undone: dict[int, Entry] = {}
        self._last_seq, self._data, self.n = record.last_seq, record.last_data, 0

    def take(self, entry: Entry) -> None:
        if entry.seq <= self._last_seq:
            raise Refusal(
                f"Entry {entry.seq} comes after entry {self._last_seq}.",
                "Give the entries of a store in their order, each once.",
                parameter="entries",
            )
        seq, action, at, who, kind, body, data = entry
        if kind == "answer":
            at = body.get("said", at)
            a, b, word, sure = body["a"], body["b"], body["word"], body["confidence"]
            why, by = body["purpose"], body["by"]
            self._answers.append(Said(action, seq, who, at, a, b, word, sure, why, by, data))
        elif kind == "link":
            at = body.get("said", at)
            a, b, word, sure = body["a"], body["b"], body["word"], body["confidence"]
            self._links.append(Given(action, seq, who, at, a, b, word, sure, body["source"], data))
        elif kind == "name":
            rows = tuple(body["rows"])
            self._named.append(
                Name(action, seq, who, at, body["name"], rows, body["replaces"], data)
            )
        elif kind == "setting":
            self._settings[body["key"]] = body["value"]
            self._personal.setdefault(who, {})[body["key"]] = body["value"]
        elif kind == "undo":
            self._undo(body["action"], entry)
        elif kind == "data":
            self._data = entry
        else:
            raise Refusal(
                f"Entry {seq} is of the kind {kind!r}, which this linkshift does not know.",
                "Install a newer one: pip install --upgrade linkshift",
                parameter="entries",
            )
        self._last_seq, self.n = seq, self.n + 1

    def _undo(self, action: int, entry: Entry) -> None:
        there = action not in self._undone and any(
            _has(part, action) for part in (self._answers, self._links, self._named)
        )
        if not there:
            raise Refusal(
                f"Entry {entry.seq} takes back action {action}, which does not stand.",
                "The log was changed by hand; put a copy of the file in its place.",
                parameter="entries",
            )
        self._undone[action] = entry

    def record(self) -> Record:
        before, undone = self._before, self._undone
        answers, links, named = (
            tuple(one for one in part if one.action not in undone) if undone else tuple(part)
            for part in (self._answers, self._links, self._named)
        )
        taken_back = before.taken_back
        if undone:
            taken_back = MappingProxyType({**taken_back, **undone})
        return Record(
            answers,
            links,
            named,
            settings=MappingProxyType(self._settings),
            personal=MappingProxyType(self._personal),
            taken_back=taken_back,
            n_entries=before.n_entries + self.n,
            last_seq=self._last_seq,
            last_data=self._data,
        )


def _has(part: Sequence[Any], action: int) -> bool:
    """Whether an action is among those of a part, which are in order."""
    place = bisect_left(part, action, key=_action)
    return place < len(part) and part[place].action == action
