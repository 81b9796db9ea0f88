"""The handle of the worker: what the server sends it, and what came back last.

The worker is a process of its own, so that no refit holds up a key. `Engine.send` gives it the
whole log; it goes from what it has to that, and tells what follows in parts, the next questions
first.
Whoever reads finds the last of each, with the version of the log that it is of.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkshift._core.messages import Refusal
from linkshift.web.process import Process

__all__ = ["Engine", "Labels", "Questions"]

_RESTARTS, _WITHIN = 3, 60.0  # so many restarts in so many seconds, then it has failed
_LOST = "The process that clusters has stopped"


class Questions(NamedTuple):
    """Pairs that may be asked next, the most at stake first; of a version of the log."""

    version: int  # -1: none yet
    questions: list[dict[str, Any]]  # a, b, why, at_stake, purpose, probability (None: hidden)


class Labels(NamedTuple):
    """Clusters of all rows, of a version of the log."""

    version: int  # -1: none yet
    labels: NDArray[np.int32]  # not to be written to; numbers stay, and leave gaps
    n_clusters: int
    moved: float  # share of the rows that the last ten answers moved


class Engine:
    """What the server knows of the clusters, and the process that works them out.

    Made by `start`. All is to be called in the event loop that it was started in, where
    ``on_change`` is called too, with what is new: "questions", "labels", "clusters" (exemplars),
    "progress", "estimate", "map" or "phase".

    Rows are numbers from 0; clusters have numbers that they keep from refit to refit.

    Attributes
    ----------
    questions : Questions
    labels : Labels
    contradictions : list of dict
        ``{against: {a, b, word, given}, chain: [the same], text}``, with the labels.
    exemplars : dict of int to list of int
        Up to six rows of each cluster, spread over it, its heart first; a little after the labels.
    progress : str
    estimate : dict or None
        ``{version, ari: [value, low, high], precision, recall, n_audits, text}``.
    places : ndarray of shape (n, 2) or None
        The map, float32; twice new at the beginning, and then no more.
    phase : str
        "looking" until there are questions and labels, then "ready"; "failed: ..." with the reason.
    remedy : str
        What may help where it has failed; `again` tries it once more.
    on_change : callable or None
    """

    def __init__(self) -> None:
        self.questions = Questions(-1, [])
        self.labels = Labels(-1, np.zeros(0, dtype=np.int32), 0, 0.0)
        self.contradictions: list[dict[str, Any]] = []
        self.exemplars: dict[int, list[int]] = {}
        self.progress = ""
        self.estimate: dict[str, Any] | None = None
        self.places: NDArray[np.float32] | None = None
        self.phase, self.remedy = "looking", ""
        self.on_change: Callable[[str], None] | None = None
        self._X: NDArray[np.float64] = np.zeros((0, 0))
        self._settings: dict[str, Any] = {}
        self._log: dict[str, Any] | None = None
        self._process: Process | None = None
        self._there: list[Any] | None = None  # links that the worker has
        self._sent = -1, 0.0  # which version of the log, and when
        self._pace = 0.0  # seconds that the last questions took
        self._crashes: list[tuple[float, int]] = []  # when, and at which version
        self._numbers = count(1)
        self._requests: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._better = False  # whether the better map is there

    @classmethod
    async def start(
        cls,
        X: Any,
        audit: float = 0.2,
        random_state: int = 0,
        *,
        ids: Sequence[Any] | None = None,
        on_change: Callable[[str], None] | None = None,
    ) -> Engine:
        """Start the worker. It waits for the first log: ``send(0, [], [])`` for none.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, scaled, as `Session` takes them.
        audit, random_state
            As of `Session`.
        ids : sequence, default=None
            What texts call the rows; everything else has their numbers.
        on_change : callable, default=None
        """
        new = cls()
        new.on_change = on_change
        new._X = np.ascontiguousarray(X, dtype=np.float64)
        new._settings = {"audit": audit, "random_state": random_state}
        new._settings["ids"] = None if ids is None else [str(one) for one in ids]
        new.labels = Labels(-1, _still(np.zeros(len(new._X), dtype=np.int32)), 0, 0.0)
        new._begin()
        return new

    def send(
        self, version: int, given: Sequence[Sequence[Any]], answers: Sequence[Sequence[Any]]
    ) -> None:
        """Say what was said by now; what follows comes by itself, of the newest log only.

        Parameters
        ----------
        version : int
            Of the log: the larger, the newer.
        given : sequence of (a, b, same, confidence)
            Links that were given.
        answers : sequence of (a, b, word, confidence, purpose)
            Answers in order, those that were taken back left out.
        """
        self._log = {
            "kind": "log",
            "version": version,
            "given": [list(one) for one in given],
            "answers": [list(one) for one in answers],
        }
        self._sent = version, monotonic()
        if self._process is not None:
            there, self._there = self._there, self._log["given"]
            # Links are many, and stay: they are sent once.
            same = there == self._there
            self._process.send({**self._log, "given": None} if same else self._log)

    async def fresh(self, version: int, timeout: float) -> bool:
        """Wait until there are questions of this version or a newer one; False: not in time.

        Where the last ones took longer than that, nobody waits in vain.
        """
        if self.questions.version >= version:
            return True
        if self._pace > timeout:
            return False
        came: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (version, came)
        self._waiting.append(entry)
        try:
            await asyncio.wait_for(came, timeout)
        except TimeoutError:
            return False
        finally:
            if entry in self._waiting:
                self._waiting.remove(entry)
        return True

    async def request(self, kind: str, **about: Any) -> dict[str, Any]:
        """Ask the worker something; it answers between its other parts, from the newest log.

        - ``request("order", cluster=k)``: ``{version, rows: int32 array}`` from heart to edge
        - ``request("why", row=r)``: ``{version, row, cluster, text: [lines], path, links, what_if,
          other: {k, probability} or None}``, as `linkshift.active.why.Why` has it
        - ``request("plan", do="merge", about={"clusters": [1, 4]})``: ``{version, links, text,
          note}``, what an action would write (`linkshift.web.actions.planned`): merge {clusters},
          out {row}, join {row, cluster}, split {rows} or {exemplars: [r, s]}, name {cluster}

        Raises
        ------
        Refusal
            No such cluster or row, or the worker has stopped.
        """
        if self._process is None:
            raise Refusal(f"{_LOST}: {self.phase}.", "Stop and start the page again.")
        number = next(self._numbers)
        reply: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._requests[number] = reply
        self._process.send({"kind": kind, "request": number, **about})
        try:
            return await reply
        finally:
            self._requests.pop(number, None)

    async def again(self) -> None:
        """Start the worker once more, after it has failed."""
        if not self.phase.startswith("failed"):
            raise Refusal("Nothing has failed.", "Wait a moment.")
        self._crashes.clear()
        self._anew()

    async def stop(self) -> None:
        """End the worker. May be called twice."""
        process, self._process = self._process, None
        self._give_up(f"{_LOST}: the page was closed.")
        if process is not None:
            await asyncio.to_thread(process.stop)

    # Within --------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Start a process, and tell it all that it needs to be where the last one was."""
        loop = asyncio.get_running_loop()
        process = Process("linkshift.web.worker")

        def heard(message: tuple[dict[str, Any], list[NDArray[Any]]] | None) -> None:
            """Pass on what a thread has read, unless the loop is closed by now."""
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._take, process, message)

        self._process = process
        before = [] if self.labels.version < 0 else [self.labels.labels]
        opened = {"kind": "open", **self._settings, "map": not self._better}
        process.send(opened, [self._X, *before])
        self._there = None
        if self._log is not None:
            self._there = self._log["given"]
            process.send(self._log)
        process.listen(heard)

    def _take(
        self, process: Process, message: tuple[dict[str, Any], list[NDArray[Any]]] | None
    ) -> None:
        """Take what the worker said, or its end."""
        if process is not self._process:
            return  # of one that was stopped
        if message is None:
            self._ended(process)
            return
        head, arrays = message
        kind = head.pop("kind")
        if kind == "reply":
            self._reply(head, arrays)
        elif kind == "failed":  # it will not be better next time
            self._process = None
            self._fail(head["text"], _REMEDIES["unfit"])
        else:
            getattr(self, f"_take_{kind}")(head, arrays)
            if self.phase == "looking" and min(self.questions.version, self.labels.version) >= 0:
                self._enter("ready")
            self._tell(kind)

    def _take_questions(self, head: dict[str, Any], _: list[NDArray[Any]]) -> None:
        self.questions = Questions(head["version"], head["questions"])
        version, since = self._sent
        if head["version"] == version:
            self._pace = monotonic() - since
        for version, came in list(self._waiting):
            if version <= head["version"] and not came.done():
                came.set_result(None)

    def _take_labels(self, head: dict[str, Any], arrays: list[NDArray[Any]]) -> None:
        found = _still(arrays[0])
        self.labels = Labels(head["version"], found, head["n_clusters"], head["moved_by_last_10"])
        self.contradictions = head["contradictions"]

    def _take_clusters(self, _: dict[str, Any], arrays: list[NDArray[Any]]) -> None:
        owner, rows = arrays
        found: dict[int, list[int]] = {}
        for k, row in zip(owner.tolist(), rows.tolist(), strict=True):
            found.setdefault(k, []).append(row)
        self.exemplars = found

    def _take_progress(self, head: dict[str, Any], _: list[NDArray[Any]]) -> None:
        self.progress = head["text"]

    def _take_estimate(self, head: dict[str, Any], _: list[NDArray[Any]]) -> None:
        self.estimate = head

    def _take_map(self, head: dict[str, Any], arrays: list[NDArray[Any]]) -> None:
        self.places = _still(arrays[0])
        self._better = head["better"]

    def _reply(self, head: dict[str, Any], arrays: list[NDArray[Any]]) -> None:
        reply = self._requests.pop(head.pop("request"), None)
        if reply is None or reply.done():
            return
        if "error" in head:
            reply.set_exception(Refusal(head["error"], head["remedy"]))
            return
        reply.set_result(head | dict(zip(head.pop("names", ()), arrays, strict=True)))

    def _ended(self, process: Process) -> None:
        """Start again, unless it has stopped too often of late."""
        now, self._process = monotonic(), None
        version = -1 if self._log is None else self._log["version"]
        late = [one for one in self._crashes if one[0] > now - _WITHIN or one[1] == version]
        self._crashes = [*late, (now, version)]
        self._give_up(f"{_LOST}, and is started again.")
        # Of one log it stops each time, however long it takes to get there.
        at_this = sum(one[1] == version for one in self._crashes)
        in_short = sum(one[0] > now - _WITHIN for one in self._crashes)
        if max(at_this, in_short) > _RESTARTS:
            self._fail(*_reason(process))
            return
        self._anew()

    def _anew(self) -> None:
        """Start a worker in the place of one that is gone; prepared questions stay meanwhile."""
        self.remedy = ""
        self._enter("looking")
        self.questions = self.questions._replace(version=-1)
        self._begin()

    def _fail(self, why: str, remedy: str) -> None:
        self._give_up(f"{_LOST}: {why}")
        self.remedy = remedy
        self._enter(f"failed: {why}")

    def _give_up(self, why: str) -> None:
        """Tell those who wait for an answer that there will be none."""
        for reply in self._requests.values():
            if not reply.done():
                reply.set_exception(Refusal(why, "Ask again."))
        self._requests.clear()

    def _enter(self, phase: str) -> None:
        if phase != self.phase:
            self.phase = phase
            self._tell("phase")

    def _tell(self, what: str) -> None:
        if self.on_change is not None:
            self.on_change(what)


def _reason(process: Process) -> tuple[str, str]:
    """Say in words why a worker stopped, and what may help."""
    last, status = process.last_words(), process.status
    if "MemoryError" in last:
        return f"There is too little memory: {last}", _REMEDIES["memory"]
    if last:
        return f"{_LOST}: {last}", _REMEDIES["crash"]
    if status is not None and status < 0:
        name = signal.Signals(-status).name if -status in signal.valid_signals() else -status
        why = ", as systems do where memory runs out" if name == "SIGKILL" else ""
        return f"{_LOST}: it was ended by {name}{why}.", _REMEDIES["memory"]
    return f"{_LOST} without a word.", _REMEDIES["crash"]


_REMEDIES = {
    "unfit": "Correct the table or its links, and start the command anew; answers are kept.",
    "memory": "Close what else takes memory, and try again; answers are kept.",
    "crash": "Try again; if it stays so, take the last answer back, and try once more. Answers are "
    "kept.",
}


def _still(array: NDArray[Any]) -> NDArray[Any]:
    """Give an array that nobody writes to by mistake."""
    array.flags.writeable = False
    return array
