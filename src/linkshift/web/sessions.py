"""The page of a session in Python: a server in a thread, whose answers the session takes in."""

from __future__ import annotations

import asyncio
import os
import sys
from html import escape
from typing import TYPE_CHECKING, Any, Self

from linkshift.web.hosting import Hosted
from linkshift.web.serving import Door, annotator, listening, serve, show

if TYPE_CHECKING:
    from linkshift.active.session import Session

__all__ = ["Serving", "serve_session"]


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

    def __init__(self, hosted: _Served) -> None:
        self._hosted, self.path = hosted, hosted.path
        self.address = hosted.door.address("localhost")  # which notebooks are called as well

    @property
    def running(self) -> bool:
        """Whether the page can be reached."""
        return self._hosted.running

    def stop(self) -> None:
        """Close the page. What was said is in the session, and in the file if one was named."""
        self._hosted.stop()

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


class _Served(Hosted):
    """A desk that is asked over HTTP."""

    def __init__(self, session: Session, items: Any, door: Door, **about: Any) -> None:
        self.door = door
        super().__init__(session, items, **about)

    async def _hold(self, stop: asyncio.Event) -> None:
        await serve(self._open, self.door, ready=self._ready, stop=stop)


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
    name = annotator() if who is None else who
    door = listening(port, framed=True)
    try:
        hosted = _Served(session, items, door, store=store, who=name, title=title).start()
    except BaseException:
        door.socket.close()
        raise
    serving = Serving(hosted)
    if browser or (browser is None and not _in_notebook()):
        show(serving.address)
    return serving


def _in_notebook() -> bool:
    """Whether what is shown is shown in a notebook."""
    shell = sys.modules.get("IPython")
    found = shell.get_ipython() if shell is not None else None
    return found is not None and hasattr(found, "kernel")
