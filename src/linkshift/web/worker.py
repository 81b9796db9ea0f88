"""The process that clusters: ``python -m linkshift.web.worker``, started by `linkshift.web.engine`.

It reads messages from stdin and writes what follows from the newest log to stdout, in parts, and
looks between the parts whether something newer waits. It ends when stdin does.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkshift.web.process import Inbox, Process, taken_over
from linkshift.web.wire import write

if TYPE_CHECKING:
    from linkshift.active.known import Contradiction, Told
    from linkshift.active.session import Session

__all__ = ["Worker", "main"]

_AHEAD = 10  # questions
_RECENT = 10  # answers whose effect is told
_KEPT = 32  # labels after earlier answers, to tell it by


class Newer(Exception):
    """A newer log waits: what is worked on can be done later."""


class Unfit(Exception):
    """The data or the log are none to work with, and would not be the next time."""


@contextmanager
def _refused() -> Iterator[None]:
    """Tell what is wrong with what came from what is wrong here."""
    try:
        yield
    except ValueError as error:  # a Refusal is one
        raise Unfit(" ".join(str(error).split())) from error


class Worker:
    """A session that follows a log, and what is told of it.

    Parameters
    ----------
    inbox : Inbox
    outward : binary stream
    """

    def __init__(self, inbox: Inbox, outward: Any) -> None:
        self._inbox, self._outward = inbox, outward
        self._session: Session | None = None
        self._job: Iterator[None] = iter(())
        self._first = False  # whether the next step of the job is the questions
        self._version = -1

    # Messages ------------------------------------------------------------------------------------

    def run(self) -> None:
        """Work for ever: what is newest first, then questions, requests, and all the rest."""
        while True:
            log = self._inbox.newest() if self._session is not None else None
            if log is not None:
                with _refused():
                    self._bring(log)
            elif not self._first and (message := self._inbox.message()) is not None:
                self._see_to(message)
            elif not self._step():
                self._inbox.wait()

    def _step(self) -> bool:
        """Do the next part; say whether there was one."""
        self._first = False
        try:
            next(self._job)
        except StopIteration:
            return False
        return True

    def _see_to(self, message: tuple[dict[str, Any], list[NDArray[Any]]]) -> None:
        from linkshift._core.messages import Refusal

        head, arrays = message
        if head["kind"] == "open":
            with _refused():
                self._open(head, *arrays)
        elif head["kind"] == "places":
            self._say({"kind": "map", "better": True}, [arrays[0]])
        else:
            try:
                found, *rest = getattr(self, f"_reply_{head['kind']}")(head)
            except Newer:
                self._inbox.again(message)
                return
            except Refusal as error:
                found, rest = {"error": error.problem, "remedy": error.remedies["python"]}, []
            except Exception as error:
                traceback.print_exc()
                found, rest = {"error": f"{type(error).__name__}: {error}", "remedy": ""}, []
            reply = {"kind": "reply", "request": head["request"], "version": self._version}
            self._say({**reply, **found}, rest)

    def _say(self, head: dict[str, Any], arrays: Sequence[NDArray[Any]] = ()) -> None:
        write(self._outward, _finite(head), arrays)

    # The data and the log ------------------------------------------------------------------------

    def _open(
        self, head: dict[str, Any], X: NDArray[np.float64], before: NDArray[Any] | None = None
    ) -> None:
        """Begin a session; ``before`` are labels of a worker that has stopped."""
        from linkshift.active.session import Session
        from linkshift.web.places import plane
        from linkshift.web.stable import Stable

        self._session = Session(X, audit=head["audit"], random_state=head["random_state"], n_jobs=1)
        self._X, self._ids, self._stable = X, head["ids"], Stable(before)
        self._given: list[Any] = []
        self._said: list[Any] = []
        self._history: dict[Any, NDArray[Any]] = {}
        self._labelled = self._shown_for = -1  # versions
        self._drawing: Process | None = None
        self._map = head["map"]
        if self._map:
            self._say({"kind": "map", "better": False}, [plane(X)])

    def _bring(self, log: dict[str, Any]) -> None:
        """Bring the session to a log, by what both have in common."""
        session, said = self._open_session, log["answers"]
        given = self._given if log["given"] is None else log["given"]  # None: as before
        if given != self._given:
            for _ in self._said:
                session.undo()
            self._said, self._given = [], given
            session.links = _links(given)
        same = 0
        while same < min(len(said), len(self._said)) and said[same] == self._said[same]:
            same += 1
        for _ in range(len(self._said) - same):
            session.undo()
        for a, b, word, confidence, purpose in said[same:]:
            session.answer(word, confidence, pair=(a, b), purpose=purpose)
        self._said, self._version = said, log["version"]
        self._job, self._first = self._follow(), True

    @property
    def _open_session(self) -> Session:
        assert self._session is not None
        return self._session

    # What follows --------------------------------------------------------------------------------

    def _follow(self) -> Iterator[None]:
        """Tell what follows from the log, part by part."""
        from linkshift.active.prepared import believed_so_far

        session, version = self._open_session, self._version
        self._tell_questions()
        yield
        self._tell_labels()
        yield
        self._tell_clusters()
        yield
        self._say({"kind": "progress", "version": version, "text": session.progress()})
        yield
        yield from believed_so_far(session)
        found = session.estimate()
        figures = {name: list(getattr(found, name)) for name in ("ari", "precision", "recall")}
        told = {**figures, "n_audits": found.n_audits, "text": str(found)}
        self._say({"kind": "estimate", "version": version, **told})
        yield
        self._draw()

    def _tell_questions(self) -> None:
        from linkshift.active.prepared import questions_ahead

        found = [
            {
                "a": int(one.a),
                "b": int(one.b),
                "why": one.why,
                "at_stake": float(one.at_stake),
                "purpose": one.purpose,
                "probability": guess,
            }
            for one, guess in questions_ahead(self._open_session, _AHEAD)
        ]
        self._say({"kind": "questions", "version": self._version, "questions": found})

    def _tell_labels(self) -> None:
        from linkshift.active.prepared import labels_before
        from linkshift.methods.numbering import numbers_like

        if self._labelled == self._version:
            return  # a request needed them
        session = self._open_session
        labels = session.labels_
        self._remember(len(self._said), labels)
        then = self._history.get(self._prefix(max(len(self._said) - _RECENT, 0)))
        if then is None:
            then = labels_before(session, _RECENT)
            self._remember(max(len(self._said) - _RECENT, 0), then)
        self._labels, self._numbers = labels, self._stable.follow(labels)
        self._labelled = self._version
        n_clusters = int(labels.max()) + 1
        moved = numbers_like(labels, then, n_clusters)[labels] != then
        head = {
            "kind": "labels",
            "version": self._version,
            "n_clusters": n_clusters,
            "moved_by_last_10": float(moved.mean()),
            "contradictions": [self._in_words(one) for one in session.contradictions()],
        }
        self._say(head, [self._numbers])

    def _prefix(self, n: int) -> Any:
        """Give what stands for the log up to an answer."""
        return tuple(map(tuple, self._given)), tuple(map(tuple, self._said[:n]))

    def _remember(self, n: int, labels: NDArray[Any]) -> None:
        """Keep labels after some answers; the oldest go."""
        self._history[self._prefix(n)] = labels
        while len(self._history) > _KEPT:
            del self._history[next(iter(self._history))]

    def _in_words(self, one: Contradiction) -> dict[str, Any]:
        """Give a contradiction, rows by number, and in words by what people call them."""
        from linkshift.active.known import Contradiction
        from linkshift.active.log import in_words, link_in_words

        def named(told: Told) -> Told:
            word = "same" if told.same else "different"
            if told.given:
                return told._replace(name=link_in_words(told.a, told.b, told.same, self._ids))
            return told._replace(name=in_words(told.a, told.b, word, self._ids))

        text = Contradiction(named(one.against), tuple(map(named, one.chain)))
        chain = [_plain(told) for told in one.chain]
        return {"against": _plain(one.against), "chain": chain, "text": str(text)}

    def _tell_clusters(self) -> None:
        from linkshift.active.prepared import looked_at
        from linkshift.web.heart import exemplars_of

        self._tell_labels()
        if self._shown_for == self._version:
            return
        self._shown = exemplars_of(self._X, self._numbers, looked_at(self._open_session))
        self._shown_for = self._version
        rows = [row for some in self._shown.values() for row in some]
        owner = [k for k, some in self._shown.items() for _ in some]
        found = [np.array(owner, dtype=np.int32), np.array(rows, dtype=np.int32)]
        self._say({"kind": "clusters", "version": self._version}, found)

    # The better map ------------------------------------------------------------------------------

    def _draw(self) -> None:
        """Have another process make the better map, once; it comes back as a message."""
        from linkshift.active.prepared import looked_at
        from linkshift.web.places import is_worth

        if not self._map or self._drawing is not None or not is_worth(self._X):
            return
        self._drawing = drawing = Process("linkshift.web.places")
        drawing.send({"kind": "draw"}, [self._X.astype(np.float32), looked_at(self._open_session)])

        def heard(message: tuple[dict[str, Any], list[NDArray[Any]]] | None) -> None:
            if message is not None:
                drawing.send({"kind": "stop"})
                self._inbox.put(message)

        drawing.listen(heard)

    # Requests ------------------------------------------------------------------------------------

    def _reply_order(self, head: dict[str, Any]) -> tuple[Any, ...]:
        from linkshift._core.messages import Refusal
        from linkshift.web.heart import from_heart

        self._needs_log()
        self._tell_clusters()
        k = head["cluster"]
        if k not in self._shown:
            raise Refusal(f"There is no cluster {k}.", "It has changed by now: look at the list.")
        rows = from_heart(self._X, self._numbers, self._shown, k)
        return {"cluster": k, "names": ["rows"]}, rows.astype(np.int32)

    def _reply_why(self, head: dict[str, Any]) -> tuple[Any, ...]:
        self._needs_log()
        self._tell_labels()
        why = self._open_session.explain(head["row"], progress=self._give_way)
        numbers = np.zeros(int(self._labels.max()) + 1, dtype=np.int64)
        numbers[self._labels] = self._numbers
        return (why.renumbered(numbers).called(self._ids).to_dict(),)

    def _reply_plan(self, head: dict[str, Any]) -> tuple[Any, ...]:
        from linkshift.active.prepared import labels_with, links_in_force, looked_at
        from linkshift.web.actions import Standing, planned

        self._needs_log()
        self._tell_clusters()
        session, ids = self._open_session, self._ids

        def tried(links: Any) -> Any:
            """Give labels with the links, unless there is something newer to do."""
            self._give_way()
            return labels_with(session, links)

        standing = Standing(
            self._X,
            self._numbers,
            self._shown,
            links_in_force(session),
            looked_at(session),
            tried,
            str if ids is None else lambda row: str(ids[row]),
        )
        return (planned(standing, head["do"], head["about"]).to_dict(),)

    def _give_way(self, *_: Any) -> None:
        if self._inbox.newer():
            raise Newer

    def _needs_log(self) -> None:
        from linkshift._core.messages import Refusal

        if self._version < 0:
            raise Refusal("Nothing was clustered yet.", "Ask again in a moment.")


def _finite(told: Any) -> Any:
    """Give None in the place of a number that JSON has none for."""
    if isinstance(told, dict):
        return {key: _finite(value) for key, value in told.items()}
    if isinstance(told, (list, tuple)):
        return [_finite(value) for value in told]
    return None if isinstance(told, float) and not isfinite(told) else told


def _links(given: list[Any]) -> Any:
    """Make links of what was given."""
    from linkshift.links import Links

    kinds = [[one for one in given if bool(one[2]) is same] for same in (True, False)]
    pairs = [[one[:2] for one in some] or None for some in kinds]
    sure = [[one[3] for one in some] or None for some in kinds]
    return Links(*pairs, must_confidence=sure[0], cannot_confidence=sure[1])


def _plain(told: Told) -> dict[str, Any]:
    word = "same" if told.same else "different"
    return {"a": int(told.a), "b": int(told.b), "word": word, "given": bool(told.given)}


def main() -> None:
    """Read messages until stdin ends."""
    inward, outward = taken_over()
    worker = Worker(Inbox(inward), outward)
    try:
        worker.run()
    except Unfit as error:
        worker._say({"kind": "failed", "text": str(error)})
    except BrokenPipeError:  # nobody listens any more
        sys.exit(0)


if __name__ == "__main__":
    main()
