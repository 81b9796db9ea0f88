"""A desk in a thread, for a session in Python, which takes in what is said there."""

from __future__ import annotations

import asyncio
import atexit
import os
import tempfile
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from linkshift._core.messages import Refusal
from linkshift.active.known import Told
from linkshift.active.log import Answer, link_in_words
from linkshift.web.desk import Desk
from linkshift.web.ledger import Ledger
from linkshift.web.opening import Opened, open_store
from linkshift.web.showable import material_of
from linkshift.web.store import Event

if TYPE_CHECKING:
    from linkshift.active.session import Session

__all__ = ["Hosted", "told_before"]

_LONGEST = 30.0  # seconds until a desk that does not open counts as lost


class Hosted:
    """A desk for a session, in a thread with a loop of its own.

    Parameters
    ----------
    session : Session
        Takes in what is said, and is what was said before.
    items : table, list, array or None
        What is shown of the rows; see `linkshift.web.showable.items_of`.
    store : path or None
        File of what is said; None for one that goes with the desk.
    who : str
        Who answers.
    title : str
        What the page is called.
    """

    def __init__(
        self,
        session: Session,
        items: Any,
        *,
        store: str | os.PathLike[str] | None,
        who: str,
        title: str,
    ) -> None:
        self.session, self.who = session, who
        self.material = material_of(session, items, title)
        self._folder = None
        if store is None:
            self._folder = tempfile.TemporaryDirectory(prefix="linkshift-")
            store = Path(self._folder.name) / "session.linkshift"
        self.desk: Desk | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._up = threading.Event()
        self._unwanted = False  # whether it came too late
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="linkshift-page", daemon=True)
        try:
            self._opened = open_store(store, self.material, who)
            try:
                told_before(session, self._opened, who)
                take_over(session, Ledger(self._opened.store, self._opened.rows, who))
            except BaseException:
                self._opened.store.close()
                raise
        except BaseException:
            self._leave()
            raise
        self.path: Path = self._opened.store.path

    def start(self) -> Self:
        """Open the desk, and wait until it is."""
        self._thread.start()
        if not self._up.wait(_LONGEST):
            self._unwanted = True
            self._hang_up()
            raise Refusal(
                f"The page did not open within {_LONGEST:g} seconds.",
                "Try again when the machine has less to do.",
            )
        if self._error is not None:
            self._thread.join()
            self._opened.store.close()
            self._leave()
            raise self._error
        atexit.register(self.stop)
        return self

    @property
    def running(self) -> bool:
        """Whether somebody is at the desk."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Close it. What was said is in the session, and in the file if one was named."""
        self._hang_up()
        if self._thread.ident is not None and threading.current_thread() is not self._thread:
            self._thread.join()
        self._leave()
        atexit.unregister(self.stop)

    def _hang_up(self) -> None:
        """Ask for the end."""
        if self.loop is not None and self._stop is not None and self.running:
            with suppress(RuntimeError):  # it has ended in the meantime
                self.loop.call_soon_threadsafe(self._stop.set)

    def _leave(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    # In the thread -------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as error:
            self._error = error
        finally:
            self._up.set()
            if self._unwanted:
                self._leave()

    async def _main(self) -> None:
        self.loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        if self._unwanted:
            self._stop.set()
        await self._hold(self._stop)

    async def _hold(self, stop: asyncio.Event) -> None:
        """Keep the desk open until it is to be closed; whoever carries requests does more."""
        desk = await self._open()
        try:
            self._ready(desk)
            await stop.wait()
        finally:
            await desk.close()

    async def _open(self) -> Desk:
        session = self.session
        desk = await Desk.open(
            self.material,
            self._opened,
            who=self.who,
            audit=session.audit,
            random_state=session.random_state,
        )
        desk.ledger.on_change = lambda: take_over(session, desk.ledger)
        return desk

    def _ready(self, desk: Desk) -> None:
        self.desk = desk
        self._up.set()


def told_before(session: Session, opened: Opened, who: str) -> None:
    """Write what a session was told into its store, where that does not say it yet."""
    ledger, key = Ledger(opened.store, opened.rows, who), opened.rows.key
    there = Counter((put.pair, put.word, put.confidence, put.purpose) for put in ledger.answers)
    linked = {(put.pair, put.word, put.confidence) for put in ledger.links}
    events = []
    for told in session._given:
        pair, word = (min(told.a, told.b), max(told.a, told.b)), _word(told)
        if (pair, word, told.confidence) not in linked:
            body: dict[str, Any] = {"a": key(told.a), "b": key(told.b), "word": word}
            body |= {"confidence": told.confidence, "source": "session"}
            events.append(Event("link", body))
    if events:
        opened.store.append(events, who)
    for one in session._answers:
        said = (one.pair, one.word, one.confidence, one.purpose)
        if there[said] > 0:
            there[said] -= 1
            continue
        said_of: dict[str, Any] = {"a": key(one.a), "b": key(one.b), "word": one.word}
        said_of |= {"confidence": one.confidence, "purpose": one.purpose, "by": "question"}
        opened.store.append([Event("answer", said_of)], who)  # each is taken back by itself


def _word(told: Told) -> str:
    return "same" if told.same else "different"


def take_over(session: Session, ledger: Ledger) -> None:
    """Have a session know what a store says, and nothing else."""
    ids = session.ids
    session._given = [
        Told(
            put.a,
            put.b,
            put.word == "same",
            put.confidence,
            link_in_words(put.a, put.b, put.word == "same", ids),
            True,
        )
        for put in ledger.links
    ]
    session._answers = [
        Answer(put.a, put.b, put.word, put.confidence, put.purpose) for put in ledger.answers
    ]
    session._asked, session._choice = [], None
