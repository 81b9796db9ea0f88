"""The page's requests, whoever carries them: HTTP, or the channel of a notebook.

All is called in one event loop, and nothing here waits for a refit or holds up the loop: the store
writes in a thread, the clusters come from another process, files are read in threads.
"""

from __future__ import annotations

import asyncio
import re
import traceback
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from typing import Any, Self
from weakref import WeakSet

from linkshift._core.messages import Refusal
from linkshift._core.text import counted
from linkshift.web import answering, mending, out, settings, showing, state
from linkshift.web.engine import Engine
from linkshift.web.ledger import Ledger
from linkshift.web.material import Material
from linkshift.web.opening import Opened
from linkshift.web.replies import Asked, Refused, Reply, refused
from linkshift.web.store import Entry

__all__ = ["Desk"]

_GATHERED = 0.1  # seconds in which news become one
_POLL = 1.0  # seconds between looks at what others have written
_TELLS = {"progress": "estimate", "phase": "notes"}  # what the page calls it
_ALL = ("clusters", "estimate", "labels", "map", "names", "notes", "questions", "settings")


class Desk:
    """What was said of some rows, what follows, and who asks. Made by `open`.

    Attributes
    ----------
    material : Material
    ledger : Ledger
    engine : Engine
    who : str
        Who answers here.
    """

    def __init__(self, material: Material, ledger: Ledger, engine: Engine, who: str) -> None:
        self.material, self.ledger, self.engine, self.who = material, ledger, engine, who
        self.notes: tuple[str, ...] = ()
        self.cached: dict[str, tuple[Any, Any]] = {}  # what is worked out once of something
        self.overtaken: dict[int, dict[str, Any]] = {}  # questions that actions answered
        self._ears: WeakSet[_Ear] = WeakSet()  # who has left without a word is gone
        self._hushed = False
        self._sent = -1  # which version of the log the engine has
        self._poll: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls,
        material: Material,
        opened: Opened,
        *,
        who: str = "",
        audit: float = 0.2,
        random_state: int = 0,
    ) -> Self:
        """Open a desk for rows and the store of what was said of them.

        Parameters
        ----------
        material : Material
            The rows.
        opened : Opened
            The store, and which rows its keys name.
        who : str
            Who answers here.
        audit, random_state : float and int
            As of `Session`.
        """
        ledger = Ledger(opened.store, opened.rows, who)
        ids = material.ids
        engine = await Engine.start(material.X, audit, random_state, ids=ids)
        self = cls(material, ledger, engine, who)
        self.notes = (*material.notes, *opened.notes)
        ledger.on_entries = self._written
        engine.on_change = self._changed
        self._send()
        self._poll = asyncio.create_task(self._look_for_others())
        return self

    async def close(self) -> None:
        """End streams, the worker and the store. May be called twice."""
        self.hush()
        if self._poll is not None:
            self._poll.cancel()
            with suppress(asyncio.CancelledError):
                await self._poll
            self._poll = None
            try:
                await self.engine.stop()
            finally:
                await self.ledger.close()

    def hush(self) -> None:
        """End the streams of events."""
        self._hushed = True
        for ear in [*self._ears]:
            ear.called.set()

    # Requests ------------------------------------------------------------------------------------

    async def handle(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: dict[str, Any] | None = None,
        *,
        span: str | None = None,
    ) -> Reply:
        """Answer a request; what is refused is an answer, too.

        Parameters
        ----------
        method : {"GET", "POST"}
        path : str
            Such as ``/api/state``.
        query : mapping
            What follows ``?`` in the address.
        body : dict, default=None
            Of a POST.
        span : str, default=None
            The part of the bytes that is wanted, as in HTTP's Range.
        """
        try:
            for pattern, methods in _ROUTES.items():
                match = re.fullmatch(pattern, path, re.ASCII)
                if match is None:
                    continue
                if method not in methods:
                    raise Refused(405, "That is not done this way.", "Read by GET, write by POST.")
                asked = Asked(match.groups(), query, body or {}, span)
                found = await methods[method](self, asked)
                return found if isinstance(found, Reply) else Reply(200, found)
            raise Refused(404, "There is nothing at this address.")
        except Refused as no:
            return Reply(no.status, no.words)
        except Refusal as no:
            return Reply(refused(no).status, refused(no).words)

    # What happens --------------------------------------------------------------------------------

    def changes(self, beat: float = 15.0) -> AsyncIterator[dict[str, Any] | None]:
        """Say what has changed, as it does; None where nothing has for ``beat`` seconds.

        It listens from this call on, and says first that all may be new: whoever begins to listen
        has read something before, or was away, and has missed nothing.
        """
        ear = _Ear(_ALL)
        self._ears.add(ear)
        return self._heard(ear, beat)

    async def _heard(self, ear: _Ear, beat: float) -> AsyncIterator[dict[str, Any] | None]:
        try:
            while not self._hushed:
                try:
                    await asyncio.wait_for(ear.called.wait(), beat)
                except TimeoutError:
                    yield None
                    continue
                await asyncio.sleep(_GATHERED)  # a refit tells its parts one after the other
                ear.called.clear()
                if ear.what and not self._hushed:
                    what, ear.what = sorted(ear.what), set()
                    yield {**state.versions(self), "what": what}
        finally:
            self._ears.discard(ear)

    def tell(self, *what: str) -> None:
        """Say to all who listen that something is new."""
        for ear in [*self._ears]:
            ear.what.update(what)
            ear.called.set()

    def once(self, name: str, of: Any, work: Any) -> Any:
        """Work something out once for what it is of."""
        kept = self.cached.get(name)
        if kept is None or kept[0] != of:
            kept = self.cached[name] = of, work()
        return kept[1]

    def _written(self, entries: list[Entry]) -> None:
        kinds = {entry.kind for entry in entries}
        if self.ledger.told > self._sent:
            self._send()
        what = {"setting": "settings", "name": "names"}
        also = ("names",) if "undo" in kinds else ()
        self.tell(*(what.get(kind, "questions") for kind in kinds), *also)

    def _changed(self, what: str) -> None:
        if what == "labels":
            against = (one["against"] for one in self.engine.contradictions)
            self.ledger.set_aside((min(x["a"], x["b"]), max(x["a"], x["b"])) for x in against)
        self.tell(_TELLS.get(what, what))

    def _send(self) -> None:
        ledger = self.ledger
        self._sent = ledger.told
        self.engine.send(ledger.told, ledger.given_log(), ledger.answer_log())

    async def _look_for_others(self) -> None:
        while True:
            await asyncio.sleep(_POLL)
            try:
                await self.ledger.poll()
            except Refusal:
                pass  # it is told when something is to be written
            except Exception:  # of ours: the next look may do, and somebody should know
                traceback.print_exc()

    def all_notes(self) -> list[str]:
        """Say what those who look should know."""
        found = [*self.notes]
        if n := self.ledger.n_elsewhere:
            names = "names" if n == 1 else "name"
            found.append(
                f"{counted(n, 'answer')} {names} rows that are not in the data now: kept in the "
                "file, and not used."
            )
        return found


class _Ear:
    """Somebody who listens."""

    def __init__(self, what: Iterable[str]) -> None:
        self.called, self.what = asyncio.Event(), set(what)
        self.called.set()


async def again(desk: Desk, _: Asked) -> dict[str, Any]:
    """Start what clusters anew, where it has failed."""
    await desk.engine.again()
    return {"state": state.short_state(desk)}


_ROUTES: dict[str, dict[str, Any]] = {
    r"/api/state": {"GET": state.whole_state},
    r"/api/next": {"GET": answering.following},
    r"/api/answer": {"POST": answering.answer},
    r"/api/undo": {"POST": answering.undo},
    r"/api/keep": {"POST": answering.keep},
    r"/api/settings": {"POST": settings.change},
    r"/api/again": {"POST": again},
    r"/api/plan": {"POST": mending.plan},
    r"/api/act": {"POST": mending.act},
    r"/api/name": {"POST": mending.name},
    r"/api/rows": {"GET": showing.rows},
    r"/api/media/(\d{1,12})/(\d{1,6})": {"GET": showing.media},
    r"/api/map": {"GET": showing.places},
    r"/api/labels": {"GET": showing.labels},
    r"/api/links": {"GET": showing.links},
    r"/api/cluster/(\d{1,12})": {"GET": showing.cluster},
    r"/api/doctor": {"GET": showing.doctor},
    r"/api/why/(\d{1,12})": {"GET": showing.why},
    r"/api/search": {"GET": showing.search},
    r"/api/export/([a-z.]{1,40})": {"GET": out.export},
}
