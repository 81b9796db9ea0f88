"""The page of a session in Python: a server in a thread, whose answers the session takes in."""

from __future__ import annotations

import asyncio
import atexit
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from linkshift._core.messages import Refusal
from linkshift._core.text import counted
from linkshift.active.known import Told
from linkshift.active.log import Answer, link_in_words
from linkshift.web.desk import Desk
from linkshift.web.items import MOST_COLUMNS, Items
from linkshift.web.ledger import Ledger
from linkshift.web.material import Material
from linkshift.web.opening import Opened, open_store
from linkshift.web.serving import Door, annotator, listening, serve, show
from linkshift.web.store import Event

if TYPE_CHECKING:
    from linkshift.active.session import Session

__all__ = ["Serving", "items_of", "material_of", "serve_session", "told_before"]

_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")
_SOUNDS = (".wav", ".mp3", ".ogg", ".oga", ".flac", ".m4a")
_LONGEST = 30.0  # seconds until a server that does not start counts as lost


class Serving:
    """A page that is open, for a session. Made by `Session.serve`.

    Shown in a notebook it is a frame with the page; ``stop`` closes it, and so does the end of a
    ``with`` block.

    Attributes
    ----------
    address : str
        Where it is, with the token that opens it.
    path : Path
        File of what is said.
    """

    def __init__(
        self, session: Session, material: Material, opened: Opened, door: Door, who: str
    ) -> None:
        self._session, self._material, self._opened = session, material, opened
        self._door, self._who = door, who
        self.address = door.address("localhost")  # which notebooks are called as well
        self.path: Path = opened.store.path
        self.desk: Desk | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._up = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="linkshift-page", daemon=True)
        self._thread.start()
        self._up.wait(_LONGEST)
        if self._error is not None:
            self._thread.join()
            raise self._error
        atexit.register(self.stop)

    @property
    def running(self) -> bool:
        """Whether the page can be reached."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Close the page. What was said is in the session, and in the file if one was named."""
        if self._loop is not None and self._stop is not None and self.running:
            self._loop.call_soon_threadsafe(self._stop.set)
        if threading.current_thread() is not self._thread:
            self._thread.join()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
        atexit.unregister(self.stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<the labelling page at {self.address}>" if self.running else "<a page, closed>"

    def _repr_html_(self) -> str:
        if not self.running:
            return "<p>The labelling page was closed.</p>"
        address = escape(self.address, quote=True)
        return (
            f'<iframe src="{address}" width="100%" height="760" style="border: 1px solid #8886" '
            f'title="linkshift"></iframe><p><a href="{address}" target="_blank" '
            'rel="noreferrer">Open the page in a tab of its own</a></p>'
        )

    # In the thread -------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            self._error = error
        finally:
            self._up.set()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        await serve(self._open, self._door, ready=self._ready, stop=self._stop)

    async def _open(self) -> Desk:
        session = self._session
        desk = await Desk.open(
            self._material,
            self._opened,
            who=self._who,
            audit=session.audit,
            random_state=session.random_state,
        )
        desk.ledger.on_change = lambda: take_over(session, desk.ledger)
        return desk

    def _ready(self, desk: Desk) -> None:
        self.desk = desk
        self._up.set()


def serve_session(
    session: Session,
    items: Any = None,
    *,
    store: str | os.PathLike[str] | None = None,
    port: int = 0,
    browser: bool | None = None,
    who: str | None = None,
    title: str = "linkshift",
) -> Serving:
    """Open the page of a session; see `Session.serve`."""
    material = material_of(session, items, title)
    name = annotator() if who is None else who
    door = listening(port, framed=True)
    folder = None
    try:
        if store is None:
            folder = tempfile.TemporaryDirectory(prefix="linkshift-")
            store = Path(folder.name) / "session.linkshift"
        opened = open_store(store, material, name)
        try:
            told_before(session, opened, name)
            take_over(session, Ledger(opened.store, opened.rows, name))
            serving = Serving(session, material, opened, door, name)
        except BaseException:
            opened.store.close()
            raise
    except BaseException:
        door.socket.close()
        if folder is not None:
            folder.cleanup()
        raise
    serving._folder = folder
    if browser or (browser is None and not _in_notebook()):
        show(serving.address)
    return serving


def _in_notebook() -> bool:
    """Whether what is shown is shown in a notebook."""
    shell = sys.modules.get("IPython")
    found = shell.get_ipython() if shell is not None else None
    return found is not None and hasattr(found, "kernel")


def material_of(session: Session, items: Any, title: str) -> Material:
    """Give the rows of a session, and what is shown of them."""
    found = items_of(items, session._X, session.ids)
    notes = tuple(found.notes())
    columns = tuple(map(str, range(session._X.shape[1])))
    return Material(session._X, found, title=title, columns=columns, notes=notes)


def items_of(items: Any, X: Any, ids: list[Any] | None) -> Items:
    """Make what is shown: of a table, texts, paths of images or sounds, or images themselves."""
    if isinstance(items, Items):
        return items
    if items is None:
        n = X.shape[1]
        note = f"Shown of each row: the first {MOST_COLUMNS} of its {n:,} columns."
        cells = {str(j): X[:, j].tolist() for j in range(min(n, MOST_COLUMNS))}
        return Items("table", cells, ids, note=note if n > MOST_COLUMNS else "")
    if hasattr(items, "columns"):
        table = {str(name): _values(items[name]) for name in items.columns}
        _check_length(len(items), len(X))
        return Items("table", table, ids)
    if isinstance(items, np.ndarray) and items.ndim == 3:
        _check_length(len(items), len(X))
        flat: Any = items.reshape(len(items), -1)
        return Items("image", {"image": flat}, ids, "image", pixels=items.shape[1:])
    if isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
        raise Refusal(
            f"items is {type(items).__name__}.",
            "Give a table, a list of texts, or a list of paths of images or sounds, one for each "
            "row; None shows the columns.",
            parameter="items",
        )
    values = _values(items)
    _check_length(len(values), len(X))
    paths = [os.fspath(one) if isinstance(one, os.PathLike) else one for one in values]
    kinds = {Path(one).suffix.lower() if isinstance(one, str) else "" for one in paths if one}
    for kind, suffixes in (("image", _IMAGES), ("audio", _SOUNDS)):
        if kinds and kinds <= set(suffixes):
            return Items(kind, {kind: paths}, ids, kind)  # type: ignore[arg-type]
    return Items("text", {"text": paths}, ids)


def _values(column: Any) -> list[Any]:
    """Give cells as plain values, None where one is empty."""
    if hasattr(column, "notna"):
        column = column.astype(object).where(column.notna(), None)
    return [cell.item() if isinstance(cell, np.generic) else cell for cell in column]


def _check_length(n: int, n_rows: int) -> None:
    if n != n_rows:
        raise Refusal(
            f"There {'is' if n == 1 else 'are'} {counted(n, 'item')} to show, and the session has "
            f"{n_rows:,} rows.",
            "Give one for each row, in their order.",
            parameter="items",
        )


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
