"""Who may speak with the server: every request is checked before anything looks at what it wants.

A page in a browser may be asked by any other page to send requests here, and any program of the
machine may try. So a request has to know a secret (a cookie, given once for the token in the
address that was printed), to name this server in ``Host`` (a foreign name that leads here is
refused), and to come from the page itself. Bodies are JSON, short, and all there before anybody
reads them.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from linkshift.web.replies import Refused

__all__ = ["MOST_BYTES", "Guard", "policy"]

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]
Headers = Sequence[tuple[bytes, bytes]]

MOST_BYTES = 2**20  # of a body
_MOST_QUERY = 2**15
_PATIENCE = 30.0  # seconds for a body to come
_HERE = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(?::(\d{1,5}))?", re.IGNORECASE)
_ANYWHERE = re.compile(r"([a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::(\d{1,5}))?", re.IGNORECASE)
# No escapes at all: none of our addresses has one, and what is not decoded hides nothing.
_PATH = re.compile(rb"/(?:[A-Za-z0-9_-][A-Za-z0-9._-]*(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)*)?")
_NOWHERE = "'none'"
_CLOSE = (b"connection", b"close")
_FRAMES = "http://localhost:* http://127.0.0.1:*"


def policy(*, framed: bool = False) -> str:
    """Give the content policy: nothing inline, nothing from elsewhere."""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
        "media-src 'self' blob:; connect-src 'self'; font-src 'none'; base-uri 'none'; "
        f"form-action 'none'; frame-ancestors {_FRAMES if framed else _NOWHERE}"
    )


class _Host(NamedTuple):
    """What a request calls this server."""

    name: str
    port: int


@dataclass
class Guard:
    """Stands before an ASGI application, and lets in who may come in.

    Parameters
    ----------
    app : callable
        The application.
    port : int
        The port that it is reached at.
    token : str
        What the address has that was printed.
    remote : bool, default=False
        Whether other machines may come: then by any name of this one, with the token all the same.
    framed : bool, default=False
        Whether a notebook of this machine may show the page in a frame.
    told : callable, default=None
        Is told of errors inside the application.
    """

    app: App
    port: int
    token: str
    remote: bool = False
    framed: bool = False
    told: Callable[[Exception], None] | None = None
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    @property
    def cookie(self) -> str:
        """Name of the cookie: browsers do not keep those of two ports apart."""
        return f"linkshift_{self.port}"

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        started = False

        async def safely(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message = {**message, "headers": self._added(message.get("headers", ()))}
            await send(message)

        try:
            entered = self._entered(scope)
            if entered is not None:
                await _answer(safely, 303, b"", entered)
                return
            body = await self._body(scope, receive)
            await self.app(scope, _replayed(body, receive), safely)
        except Refused as no:
            if not started:
                await _answer(safely, no.status, no.body, no.headers)
        except Exception as error:
            if self.told is not None:
                self.told(error)
            if started:
                raise
            wrong = Refused(500, "Something went wrong.", "The terminal says what; try again.")
            await _answer(safely, wrong.status, wrong.body)

    def _added(self, headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """Add what every answer says."""
        there = {name.lower() for name, _ in headers}
        also = {
            b"content-security-policy": policy(framed=self.framed).encode(),
            b"x-content-type-options": b"nosniff",
            b"referrer-policy": b"no-referrer",
            b"cross-origin-resource-policy": b"same-origin",
            b"cross-origin-opener-policy": b"same-origin",
            b"permissions-policy": b"camera=(), microphone=(), geolocation=()",
            b"cache-control": b"no-store",
        }
        if not self.framed:
            also[b"x-frame-options"] = b"DENY"
        return [*headers, *((name, value) for name, value in also.items() if name not in there)]

    # What is checked -----------------------------------------------------------------------------

    def _entered(self, scope: Message) -> Headers | None:
        """Check who asks; of the address with the token, give the way in."""
        headers, method = scope["headers"], scope["method"]
        host = self._host(headers)
        self._check_origin(headers, host, method, scope)
        path = scope.get("raw_path") or scope["path"].encode()
        if path == b"/" and method == "GET" and self._has_token(scope["query_string"]):
            cookie = f"{self.cookie}={self.secret}; HttpOnly; SameSite=Strict; Path=/"
            return ((b"location", b"/"), (b"set-cookie", cookie.encode()))
        if not self._has_cookie(headers):
            raise Refused(
                401,
                "This page is for the one who started it.",
                "Open the address that was printed in the terminal; it has the key to this page.",
            )
        if method not in ("GET", "POST"):
            raise Refused(405, "Only GET and POST are answered.", "", (b"allow", b"GET, POST"))
        if not _PATH.fullmatch(path):
            raise Refused(404, "There is nothing at this address.")
        if len(scope["query_string"]) > _MOST_QUERY:
            raise Refused(414, "The address is too long.", "Ask for fewer rows at a time.")
        return None

    def _host(self, headers: Headers) -> _Host:
        """Read the name by which this server was called; it has to be one of its own."""
        found = _all(headers, b"host")
        known = _ANYWHERE if self.remote else _HERE
        match = known.fullmatch(found[0]) if len(found) == 1 else None
        host = match and _Host(match[1].lower(), int(match[2] or 80))
        if host is None or not (self.remote or host.port == self.port):
            raise Refused(
                403,
                "This server does not go by that name.",
                f"Open http://127.0.0.1:{self.port}/ with the token that was printed.",
            )
        return host

    def _check_origin(self, headers: Headers, host: _Host, method: str, scope: Message) -> None:
        """Refuse what another page sent; of writes, what does not say that our own page did."""
        writes = method not in ("GET", "HEAD")
        no = Refused(403, "Another page asked for this.", "Only the page itself may.")
        origins, sites = _all(headers, b"origin"), _all(headers, b"sec-fetch-site")
        if len(origins) > 1 or len(sites) > 1:
            raise no
        if origins and not self._is_own(origins[0], host):
            raise no
        if sites and sites[0] != "same-origin":
            # The address may be typed, or be in a notebook's frame: that is the page, and no more.
            enters = scope["path"] == "/" and not writes
            if not (enters or (sites[0] == "none" and not writes)):
                raise no
        if writes and not origins and not sites:
            raise no

    def _is_own(self, origin: str, host: _Host) -> bool:
        """Whether an origin is that of this server, by the name the request itself calls it."""
        scheme, mark, rest = origin.lower().partition("://")
        if not mark or scheme not in (("http", "https") if self.remote else ("http",)):
            return False
        match = _ANYWHERE.fullmatch(rest)
        usual = 443 if scheme == "https" else 80
        if match is None or match[1] != host.name:
            return False
        port = int(match[2] or usual)
        return port == host.port or (scheme == "https" and port == 443 and host.port == 80)

    def _has_token(self, query: bytes) -> bool:
        given = [value for name, value in parse_qsl(query.decode("latin-1")) if name == "token"]
        return len(given) == 1 and _equal(given[0], self.token)

    def _has_cookie(self, headers: Headers) -> bool:
        # Another server of this machine may have set one of the same name: one that is right is.
        found = False
        for line in _all(headers, b"cookie"):
            for part in line.split(";"):
                name, _, value = part.strip().partition("=")
                if name == self.cookie:
                    found |= _equal(value, self.secret)
        return found

    async def _body(self, scope: Message, receive: Receive) -> bytes:
        """Read the body of a write, all of it and no more than is allowed; reads have none."""
        headers = scope["headers"]
        if scope["method"] == "GET":
            if _all(headers, b"transfer-encoding") or _all(headers, b"content-length") not in (
                [],
                ["0"],
            ):
                raise Refused(400, "A question has no body.", "Send what is to be kept by POST.")
            return b""
        lengths = _all(headers, b"content-length")
        if len(lengths) > 1 or (lengths and _all(headers, b"transfer-encoding")):
            raise Refused(400, "The request says twice how long it is.", "Say it once.", _CLOSE)
        kinds = _all(headers, b"content-type")
        kind, _, more = (kinds[0] if len(kinds) == 1 else "").partition(";")
        charset = more.strip().lower().replace('"', "")
        if kind.strip().lower() != "application/json" or charset not in ("", "charset=utf-8"):
            raise Refused(415, "Only JSON is taken.", "Send Content-Type: application/json.")
        if _all(headers, b"content-encoding") not in ([], ["identity"]):
            raise Refused(415, "Packed bodies are not taken.", "Send it unpacked.")
        large = Refused(
            413,
            "The body is longer than 1 MB.",
            "Send less at a time.",
            _CLOSE,
        )
        # What a header says is believed only where it says too much.
        for length in lengths:
            if not length.isdecimal() or int(length[:12]) > MOST_BYTES:
                raise large
        parts, n = [], 0
        try:
            async with asyncio.timeout(_PATIENCE):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(400, "The request was broken off.")
                    parts.append(message.get("body", b""))
                    n += len(parts[-1])
                    if n > MOST_BYTES:
                        raise large
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            raise Refused(408, "The request did not end.", "Send it again.") from None


def _all(headers: Headers, name: bytes) -> list[str]:
    """Give all values of a header."""
    return [value.decode("latin-1").strip() for key, value in headers if key.lower() == name]


def _equal(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), known.encode())


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Give the body that was read once more, and then what comes after it."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _answer(send: Send, status: int, body: bytes, headers: Headers = ()) -> None:
    kind = ((b"content-type", b"application/json"),) if body else ()
    size = (b"content-length", str(len(body)).encode())
    await send(
        {"type": "http.response.start", "status": status, "headers": [*headers, *kind, size]}
    )
    await send({"type": "http.response.body", "body": body})
