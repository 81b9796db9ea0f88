"""The labelling page as a widget: for notebooks in which no port can be reached.

Colab, VS Code and marimo show what a notebook makes somewhere else than where Python runs. There
the page speaks by the kernel's channel, which anywidget (extra ``notebook``) opens; it is the same
page.
"""

from __future__ import annotations

import asyncio
import os
import traceback
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

try:
    import anywidget
    import traitlets
except ModuleNotFoundError as error:
    raise ImportError(
        f'The widget needs {error.name}: pip install "linkshift[notebook]"'
    ) from error

from linkshift.web.bundle import bundle
from linkshift.web.desk import Desk
from linkshift.web.hosting import Hosted
from linkshift.web.replies import Reply
from linkshift.web.serving import annotator

if TYPE_CHECKING:
    from linkshift.active.session import Session

__all__ = ["LabelWidget"]


def _static(name: str) -> str:
    return (resources.files("linkshift.web") / "static" / name).read_text(encoding="utf-8")


class _Called(Hosted):
    """A desk that is asked by messages."""

    def __init__(self, widget: LabelWidget, session: Session, items: Any, **about: Any) -> None:
        self.widget = widget
        super().__init__(session, items, **about)

    async def _hold(self, stop: asyncio.Event) -> None:
        desk = await self._open()
        telling = asyncio.create_task(self._tell(desk))
        try:
            self._ready(desk)
            await stop.wait()
        finally:
            await desk.close()
            await telling

    async def _tell(self, desk: Desk) -> None:
        async for change in desk.changes():
            if change is not None:
                self.widget.send({"event": "changed", "data": change})


class LabelWidget(anywidget.AnyWidget):
    """The labelling page of a session, in a notebook.

    What is answered is in the session at once, as with `Session.serve`. Cells that run keep the
    kernel from hearing the page: an answer waits until they are done.

    Parameters
    ----------
    session : Session
        Whose questions are asked.
    items : table, list, array or None
        What is shown of the rows: a data frame, texts, paths of images or sounds, or images
        themselves as an array of shape (n, height, width); None for the columns.
    store : path, default=None
        File of what is said, such as ``photos.linkshift``; None keeps it in the session alone.
    who : str, default=None
        Who answers; None for the name of the user.
    title : str, default="linkshift"
        What the page is called.
    height : int, default=760
        In pixels.

    Examples
    --------
    In the last line of a cell::

        from linkshift.web.widget import LabelWidget

        LabelWidget(session, items=texts)
    """

    _css = _static("style.css")
    _esm = f"{bundle('widget.js', _static)}export default {{ render }};\n"
    height = traitlets.Int(760).tag(sync=True)

    def __init__(
        self,
        session: Session,
        items: Any = None,
        *,
        store: str | os.PathLike[str] | None = None,
        who: str | None = None,
        title: str = "linkshift",
        height: int = 760,
    ) -> None:
        super().__init__(height=height)
        name = annotator() if who is None else who
        self.hosted = _Called(self, session, items, store=store, who=name, title=title).start()
        self.on_msg(self._asked)

    def stop(self) -> None:
        """Stop answering the page. What was said is in the session, and in the file if any."""
        self.hosted.stop()

    def close(self) -> None:
        """Take the widget away."""
        self.stop()
        super().close()

    def _asked(self, _: Any, message: Any, __: Any) -> None:
        """Answer a request of the page: in the desk's loop, not in the kernel's."""
        loop = self.hosted.loop
        if loop is None or not self.hosted.running:
            closed = {"error": "The page was closed.", "remedy": "Run its cell again."}
            self.send({"id": message.get("id"), "status": 503, "json": closed})
            return
        asyncio.run_coroutine_threadsafe(self._answer(message), loop)

    async def _answer(self, message: dict[str, Any]) -> None:
        desk = self.hosted.desk
        assert desk is not None
        address = urlsplit(str(message.get("path", "")))
        body = message.get("body")
        try:
            reply: Reply = await desk.handle(
                str(message.get("method")),
                address.path,
                dict(parse_qsl(address.query)),
                body if isinstance(body, dict) else None,
            )
        except Exception as error:  # of ours; the page should not wait for ever
            traceback.print_exception(error)
            reply = Reply(500, {"error": "Something went wrong.", "remedy": "Try again."})
        told = {"id": message.get("id"), "status": reply.status, "media_type": reply.media_type}
        if isinstance(reply.content, bytes):
            self.send(told, buffers=[reply.content])
        else:
            self.send({**told, "json": reply.content})
