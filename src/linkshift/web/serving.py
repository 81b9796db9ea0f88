"""A server for a desk: its port, its address, its end; and one in a thread, for sessions."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import secrets
import signal
import socket
import sys
import threading
import traceback
import webbrowser
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import uvicorn

from linkshift._core.messages import Refusal
from linkshift.web.app import application
from linkshift.web.desk import Desk
from linkshift.web.guard import Guard

__all__ = ["Door", "annotator", "listening", "serve"]

_HERE, _ANYWHERE = "127.0.0.1", "0.0.0.0"  # the second only where other machines may come
_LINE = 600  # seconds that a connection stays open without a request
_PATIENCE = 3  # seconds that requests have to end when the server does


@dataclass(frozen=True)
class Door:
    """A socket that listens, and the token that opens it."""

    socket: socket.socket
    remote: bool = False
    framed: bool = False
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    @property
    def port(self) -> int:
        """Its number."""
        return int(self.socket.getsockname()[1])

    def address(self, host: str = _HERE) -> str:
        """Where to go, with the token."""
        return f"http://{host}:{self.port}/?token={self.token}"


def listening(port: int = 0, *, remote: bool = False, framed: bool = False) -> Door:
    """Take a port of this machine; 0 takes a free one."""
    # By its number, or asyncio does not know that it is TCP, and every reply may wait 40 ms for the
    # other side to say that it has the first half of it.
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform != "win32":  # there it would let two servers have one port
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((_ANYWHERE if remote else _HERE, port))
        found.listen(128)
    except (OSError, OverflowError) as error:
        found.close()
        raise Refusal(
            f"Port {port} cannot be listened at: {getattr(error, 'strerror', None) or error}.",
            "Give another port, or none: then a free one is taken.",
            command="Give another --port, or leave it out: then a free one is taken.",
            parameter="port",
        ) from None
    return Door(found, remote, framed)


def annotator() -> str:
    """Give the name of whoever is at this machine, as far as it is known."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""


class _Server(uvicorn.Server):
    """Says when it is ready; signals are not its business."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(
    opened: Callable[[], Awaitable[Desk]],
    door: Door,
    *,
    ready: Callable[[Desk], None],
    stop: asyncio.Event,
    told: Callable[[Exception], None] = traceback.print_exception,
) -> Desk:
    """Serve a desk until ``stop`` is set; then streams end, and the desk is closed.

    Parameters
    ----------
    opened : callable
        Opens the desk, in the loop that serves it.
    door : Door
        Where.
    ready : callable
        Is called when requests are answered.
    stop : asyncio.Event
        Ends it all.
    told : callable
        Is told of errors that are ours.
    """
    try:
        desk = await opened()
    except BaseException:
        door.socket.close()
        raise
    try:
        app: Any = application(desk)
        guard: Any = Guard(app, door.port, door.token, door.remote, door.framed, told=told)
        config = uvicorn.Config(
            guard,
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",  # what is refused is no news, and errors are told by the guard
            access_log=False,  # it would hold the token
            proxy_headers=False,
            server_header=False,
            # Longer than people look at a pair: a key should not meet a line that is being closed.
            timeout_keep_alive=_LINE,
            timeout_graceful_shutdown=_PATIENCE,
        )
        server = _Server(config, lambda: ready(desk))
        running = asyncio.create_task(server.serve([door.socket]))
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait({running, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        desk.hush()  # streams would keep the server waiting
        server.should_exit = True
        await running
    finally:
        door.socket.close()
        await desk.close()
    return desk


def run(
    opened: Callable[[], Awaitable[Desk]],
    door: Door,
    *,
    ready: Callable[[Desk], None],
) -> Desk:
    """Serve in the main thread until Ctrl-C or SIGTERM, which is how a page is left."""

    async def main() -> Desk:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        with _signals(loop, stop):
            return await serve(opened, door, ready=ready, stop=stop)

    return asyncio.run(main())


@contextlib.contextmanager
def _signals(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> Iterator[None]:
    """While the block runs, Ctrl-C and SIGTERM ask for the end rather than break in."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}

    def on_signal(*_: Any) -> None:
        loop.call_soon_threadsafe(stop.set)

    for number in numbers:
        signal.signal(number, on_signal)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def show(address: str) -> None:
    """Open a browser, without waiting for it."""
    threading.Thread(target=_open, args=(address,), daemon=True).start()


def _open(address: str) -> None:
    with contextlib.suppress(webbrowser.Error, OSError):
        webbrowser.open(address)
