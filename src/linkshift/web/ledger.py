"""What was said, as the server knows it: the store, its replay, and what follows for the rows.

All that touches the disk runs in one thread, one thing after the other; what it gives is taken in
by the event loop, in the same order. So nothing that is acknowledged is not on the disk, and
nothing waits for the disk but the answer itself.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

from linkshift.active.known import Told
from linkshift.web.closing import Closing
from linkshift.web.fingerprint import Places
from linkshift.web.record import Record
from linkshift.web.store import Entry, Event, Store

__all__ = ["Ledger", "Put"]

T = TypeVar("T")
_ASIDE = ("name", "setting")  # what no cluster depends on


class Put(NamedTuple):
    """An answer or a link that stands, about two rows of the data by number."""

    seq: int
    action: int
    who: str
    at: str
    a: int
    b: int
    word: str
    confidence: float
    purpose: str
    by: str
    given: bool

    @property
    def pair(self) -> tuple[int, int]:
        """The rows, the smaller number first."""
        return min(self.a, self.b), max(self.a, self.b)

    @property
    def told(self) -> Told:
        """As what follows from it takes it."""
        return Told(self.a, self.b, self.word == "same", self.confidence, "", self.given)


class Ledger:
    """The log of a store, and what it says of rows.

    Parameters
    ----------
    store : Store
        Where it stands.
    rows : Places
        Which rows of the data its keys name.
    who : str
        Who answers here.
    """

    def __init__(self, store: Store, rows: Places, who: str = "") -> None:
        self.store, self.rows, self.who = store, rows, who
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="linkshift-store")
        self._last = 0  # seq that the thread has read; only the thread looks at it
        self.on_entries: Callable[[list[Entry]], None] | None = None
        self.on_change: Callable[[], None] | None = None
        self.aside: frozenset[tuple[int, int]] = frozenset()  # pairs the worker has set aside
        self.others: set[int] = set()  # actions of other people, since this page was opened
        self.n_replays = 0  # between two of these only pairs came of which nobody had spoken
        entries = store.entries()
        self._last = entries[-1].seq if entries else 0
        self.version = self.told = self._last  # told: seq of the last that clusters depend on
        self.record = Record.of(entries)
        self._replay()

    # Writing -------------------------------------------------------------------------------------

    async def append(self, events: Sequence[Event], who: str | None = None) -> list[Entry]:
        """Write one action; it is on the disk and taken in when this returns. Gives its entries."""
        name = self.who if who is None else who
        return await self._taken_in(lambda: self._written(events, name))

    async def poll(self) -> bool:
        """Take in what others have written to the file; whether there was something."""
        return await self._taken_in(self._read)

    async def in_turn(self, work: Callable[[Store], T]) -> T:
        """Do something with the store, after all that was asked for before."""
        return await self._in_thread(lambda: work(self.store))

    async def close(self) -> None:
        """Close the store, after all that was asked for before."""
        await self._in_thread(self.store.close)
        self._thread.shutdown()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        running = asyncio.get_running_loop().run_in_executor(self._thread, work)
        return await asyncio.shield(running)

    async def _taken_in(self, work: Callable[[], tuple[T, list[Entry]]]) -> T:
        """Do what gives new entries, and take these in, also where whoever asked has left.

        The end of the work does it, not whoever waits for it: so all comes in the order of the log.
        """
        loop = asyncio.get_running_loop()
        told: asyncio.Future[T] = loop.create_future()

        def take(done: asyncio.Future[tuple[T, list[Entry]]]) -> None:
            try:
                found, new = done.result()
                self._take(new)
            except BaseException as error:
                if not told.done():
                    told.set_exception(error)
                return
            if not told.done():
                told.set_result(found)

        loop.run_in_executor(self._thread, work).add_done_callback(take)
        return await told

    def _written(self, events: Sequence[Event], who: str) -> tuple[list[Entry], list[Entry]]:
        """Append, and give what is new with what others have written before it."""
        if not self.store.data:  # the file could not be written when it was opened
            self.store.keep_data(self.rows.now, who)
        mine = self.store.append(events, who)
        new = mine
        if mine and mine[0].seq != self._last + 1:
            new = self.store.entries(after=self._last)
            self._note(new)
        self._last = new[-1].seq if new else self._last
        return mine, new

    def _read(self) -> tuple[bool, list[Entry]]:
        if not self.store.changed():
            return False, []
        new = self.store.entries(after=self._last)
        self._note(new)
        self._last = new[-1].seq if new else self._last
        return bool(new), new

    def _note(self, new: Iterable[Entry]) -> None:
        """Note what other people did on pages of theirs; what was imported is nobody's."""
        self.others.update(
            entry.action
            for entry in new
            if entry.kind in ("answer", "name")
            and "said" not in entry.body
            and entry.who not in ("", self.who)
        )

    # What it says --------------------------------------------------------------------------------

    def _take(self, new: list[Entry]) -> None:
        """Take in what was written; plain answers to new pairs without replaying all."""
        new = [entry for entry in new if entry.seq > self.version]
        if not new:
            return
        self.record = self.record.then(new)
        self.version = new[-1].seq
        if any(entry.kind not in _ASIDE for entry in new):
            self.told = self.version
        if not self._grown(new):
            self._replay()
        if self.on_entries is not None:
            self.on_entries(new)
        if self.on_change is not None:
            self.on_change()

    def _grown(self, new: Iterable[Entry]) -> bool:
        """Add answers to pairs that nobody spoke of before; False where it takes a replay."""
        for entry in new:
            body = entry.body
            if entry.kind in _ASIDE:
                continue
            if entry.kind == "undo" and not self._said_in(body["action"]):
                continue  # of a name
            if entry.kind != "answer":
                return False
            a, b = (self.rows.row(body[end], entry.data) for end in "ab")
            if a is None or b is None:
                return False
            put = _put(entry, a, b)
            if put.pair in self.last:
                return False
            self.answers.append(put)
            self._count(put)
        return True

    def _said_in(self, action: int) -> bool:
        """Whether an action answered or linked something that counts here."""
        # Of what is not in the data it is not known here: it may be of that.
        there = any(_has(part, action) for part in (self.answers, self.links))
        return there or self.n_elsewhere > 0

    def _replay(self) -> None:
        """Work all out anew from what stands."""
        self.n_replays += 1
        self.answers: list[Put] = []
        self.links: list[Put] = []
        self.n_elsewhere = 0  # about rows that are not in the data
        for said in self.record.answers:
            self._find(said, self.answers, given=False)
        for link in self.record.links:
            self._find(link, self.links, given=True)
        self._given = [[put.a, put.b, put.word == "same", put.confidence] for put in self.links]
        self.last: dict[tuple[int, int], Put] = {}
        for put in (*self.links, *self.answers):
            self.last[put.pair] = put
        self._close_again()

    def _find(self, said: Any, into: list[Put], *, given: bool) -> None:
        a, b = self.rows.row(said.a, said.data), self.rows.row(said.b, said.data)
        if a is None or b is None or a == b:
            self.n_elsewhere += 1
            return
        into.append(_put(said, a, b, given=given))

    def _close_again(self) -> None:
        standing = list(self.last.values())
        # What the worker has set aside comes last, so that the same answers count here as there.
        standing.sort(key=lambda put: (put.pair in self.aside, not put.given))
        self.closing = Closing()
        for put in standing:
            self._close_over(put)

    def _count(self, put: Put) -> None:
        self.last[put.pair] = put
        self._close_over(put)

    def _close_over(self, put: Put) -> None:
        if put.word != "unknown" and put.confidence == 1.0:
            self.closing.take(put.told)

    def set_aside(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Note which answers do not count, by the worker, which knows how probable they are."""
        aside = frozenset(pairs)
        if aside != self.aside:
            self.aside = aside
            self._close_again()

    def needless(self, a: int, b: int) -> bool:
        """Whether a pair was answered, or its answer follows from others."""
        return (min(a, b), max(a, b)) in self.last or self.closing.says(a, b) is not None

    def answered_after(self, a: int, b: int, version: int) -> bool:
        """Whether something was said of a pair after some version of the log."""
        put = self.last.get((min(a, b), max(a, b)))
        return put is not None and put.seq > version

    @property
    def undoable(self) -> int | None:
        """The newest action that can be taken back, but for what others did on their pages."""
        return self.record.newest(self.others)

    @property
    def n_unknown(self) -> int:
        """Pairs of which nobody knows."""
        return sum(put.word == "unknown" for put in self.last.values())

    def given_log(self) -> list[list[Any]]:
        """Links that were given, as the worker takes them."""
        return self._given

    def answer_log(self) -> list[list[Any]]:
        """Answers that stand, as the worker takes them."""
        return [[put.a, put.b, put.word, put.confidence, put.purpose] for put in self.answers]


def _has(puts: Sequence[Put], action: int) -> bool:
    """Whether an action is among those of puts, which are in order."""
    place = bisect_left(puts, action, key=attrgetter("action"))
    return place < len(puts) and puts[place].action == action


def _put(said: Any, a: int, b: int, *, given: bool = False) -> Put:
    """Make a `Put` of an entry, or of what a record says."""
    body = said.body if isinstance(said, Entry) else said._asdict()
    purpose, by = body.get("purpose", "learn"), body.get("by", body.get("source", ""))
    sure, word = float(body["confidence"]), body["word"]
    return Put(said.seq, said.action, said.who, said.at, a, b, word, sure, purpose, by, given)
