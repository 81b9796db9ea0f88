"""Frames of the map while it is zoomed and panned, in headless Chromium.

There WebGL is worked out by the processor, in a process of its own. What a laptop's graphics card
draws in no time takes all of ours, so that frames a second here say little of a laptop. What is
ours in any browser is the JavaScript of a frame, of which 60 a second leave 16.7 ms.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import linkshift
from benchmarks.harness import Options, Row, left_out
from benchmarks.web.pages import browser, chromium

HERE = Path(__file__).parent
STATIC = Path(linkshift.__file__).parent / "web" / "static"
CLUSTERS = 20
WAYS = {"WebGL2, by the processor": True, "without WebGL2": False}


def run(options: Options) -> Iterator[Row]:
    """Open, colour, hover, lasso and move maps of made rows, 1,200 x 800 pixels."""
    path = chromium()
    if path is None:
        yield left_out("the map", "needs Chromium and Playwright")
        return
    sizes = options.pick([1_000], [10_000, 100_000], [10_000, 100_000, 1_000_000])
    seconds = options.pick(0.3, 3.0, 10.0)
    with served() as address, opened(path, address) as page:
        for n in sizes:
            for way, has_webgl in WAYS.items():
                given = [n, CLUSTERS, seconds, has_webgl]
                took = page.evaluate("(given) => window.measure(...given)", given)
                yield Row(_cells(n, way, took))


def _cells(n: int, way: str, took: dict[str, Any]) -> dict[str, Any]:
    return {
        "table": "the map while it is moved",
        "rows": n,
        "drawn by": way,
        "frames a second": round(took["frames"], 1),
        "JavaScript of a frame, median ms": round(took["median"], 2),
        "95 % ms": round(took["late"], 2),
        "worst ms": round(took["worst"], 1),
        "frames": took["n_frames"],
        "to open, ms": round(took["open"], 1),
        "other clusters, ms": round(took["relabel"], 1),
        "hover, ms": round(took["hover"], 3),
        "lasso, ms": round(took["lasso"], 1),
    }


class _Files(SimpleHTTPRequestHandler):
    """Files of this folder, and below /static those of the page."""

    def translate_path(self, path: str) -> str:
        if path.startswith("/static/"):
            return str(STATIC / Path(path).name)
        return str(HERE / Path(path).name)

    def log_message(self, *_: Any) -> None:
        """Say nothing: stderr is for the benchmarks."""


@contextmanager
def served() -> Iterator[str]:
    """Serve the map and the page that moves it. Gives the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Files, directory=str(HERE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def opened(path: str, address: str) -> Iterator[Any]:
    """Open the page in a browser."""
    with browser(path) as page:
        page.goto(f"{address}/map_frames.html")
        page.wait_for_function("window.isReady")
        yield page
