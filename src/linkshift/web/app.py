"""The desk over HTTP: addresses, bodies, files of the page, and the stream of events.

Whoever gets this far has been let in by `linkshift.web.guard`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from linkshift.web.desk import Desk

__all__ = ["application", "static_files"]

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
_BEAT = 15.0  # seconds after which a silent stream says that it lives


def static_files() -> dict[str, Any]:
    """Give the files of the page by name; others are not served, whatever is asked for."""
    folder = resources.files("linkshift.web") / "static"
    return {
        file.name: file
        for file in folder.iterdir()
        if file.is_file() and f".{file.name.rpartition('.')[2]}" in _TYPES
    }


def application(desk: Desk) -> Starlette:
    """Make the application of a desk."""
    files = static_files()

    async def page(request: Request) -> Response:
        name = request.url.path.removeprefix("/static").removeprefix("/") or "index.html"
        if name not in files:
            raise HTTPException(404)
        data = files[name].read_bytes()
        mark = f'"{hashlib.sha256(data).hexdigest()[:32]}"'
        # Asked for anew each time: what an update of linkshift has changed is seen at once.
        headers = {"Cache-Control": "no-cache", "ETag": mark}
        if request.headers.get("if-none-match") == mark:
            return Response(status_code=304, headers=headers)
        kind = _TYPES[f".{name.rpartition('.')[2]}"]
        return Response(data, headers={**headers, "Content-Type": kind})

    async def api(request: Request) -> Response:
        body = await _json(request) if request.method == "POST" else None
        reply = await desk.handle(
            request.method,
            request.url.path,
            dict(request.query_params),
            body,
            span=request.headers.get("range"),
        )
        if isinstance(reply.content, bytes):
            headers = {**reply.headers, "Content-Type": reply.media_type}
            return Response(reply.content, reply.status, headers)
        return _plain(reply.content, reply.status, reply.headers)

    async def events(_: Request) -> Response:
        # It listens before the page is told that it does.
        return StreamingResponse(_stream(desk.changes(_BEAT)), media_type="text/event-stream")

    async def refused(_: Request, error: Any) -> Response:
        words = {
            404: ("There is nothing at this address.", ""),
            405: ("That is not done this way.", "Read by GET, write by POST."),
        }
        what, remedy = words.get(error.status_code, (str(error.detail), ""))
        return _plain({"error": what, "remedy": remedy}, error.status_code, error.headers)

    app = Starlette(
        routes=[
            Route("/api/events", events, methods=["GET"]),
            Route("/api/{rest:path}", api, methods=["GET", "POST"]),
            Route("/{name:path}", page, methods=["GET"]),
        ],
        exception_handlers={HTTPException: refused},
    )
    app.router.redirect_slashes = False
    return app


def _plain(content: Any, status: int, headers: Any = None) -> Response:
    # In ASCII: the name of a file may hold bytes that are no UTF-8, and could not be sent as such.
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return Response(text, status, dict(headers or {}), "application/json")


async def _json(request: Request) -> dict[str, Any]:
    """Read a body, which is a JSON object."""
    try:
        found = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise HTTPException(400, "The body is no JSON.") from None
    if not isinstance(found, dict):
        raise HTTPException(400, "The body is no JSON object.")
    return found


async def _stream(changes: AsyncIterator[dict[str, Any] | None]) -> AsyncIterator[str]:
    """Say what has changed, as it does, until either side leaves."""
    yield ": here\n\n"
    async for change in changes:
        yield (
            ": still here\n\n"
            if change is None
            else f"event: changed\ndata: {json.dumps(change)}\n\n"
        )
