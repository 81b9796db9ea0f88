"""A page with nothing but the map, served with the content policy of the labelling page."""

from __future__ import annotations

import io
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import linkshift

STATIC = Path(linkshift.__file__).parent / "web" / "static"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "media-src 'self' blob:; connect-src 'self'; font-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
WIDTH, HEIGHT = 600, 400
PAGES = {
    "/": (
        "text/html",
        '<!DOCTYPE html><meta charset="utf-8">'
        '<link rel="stylesheet" href="/test.css">'
        '<p>above</p><div id="box"><canvas id="chart"></canvas></div>',
    ),
    "/favicon.ico": ("image/png", ""),
    "/test.css": (
        "text/css",
        ":root { color-scheme: light dark } body { margin: 0; color: #222 }"
        f"#box {{ position: relative; width: {WIDTH}px; height: {HEIGHT}px; background: #fff }}"
        "canvas { display: block; width: 100%; height: 100% }"
        ".hidden { display: none }"
        "@media (prefers-color-scheme: dark) { body { color: #eee } #box { background: #1b1e23 } }",
    ),
}


class Handler(SimpleHTTPRequestHandler):
    def do_GET(self):
        if self.path not in PAGES:
            super().do_GET()
            return
        kind, text = PAGES[self.path]
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def end_headers(self):
        self.send_header("Content-Security-Policy", POLICY)
        super().end_headers()

    def log_message(self, *args):
        pass


@contextmanager
def served():
    """Serve the static files and the page around the map. Gives the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(STATIC)))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def address():
    with served() as address:
        yield address


@pytest.fixture
def chart(page, address):
    """The map on its page; nothing moves of itself, so that what is drawn is what is meant."""
    page.emulate_media(reduced_motion="reduce")
    page.goto(address)
    return Chart(page)


class Chart:
    """What tests do with the map, and what they read from it."""

    def __init__(self, page):
        self.page = page

    def open(self, xy, labels=None):
        """Make the map; what it tells is kept in `told`."""
        self.page.evaluate(
            """async ([xy, labels]) => {
              const { Scatter } = await import("/map.js");
              window.told = [];
              const tell = (name) => (...what) => told.push([name, ...what]);
              window.scatter = new Scatter(document.getElementById("chart"), {
                onHover: tell("hover"), onPick: tell("pick"), onLasso: tell("lasso"),
                onRemark: tell("remark"),
              });
              scatter.setPositions(Float32Array.from(xy, (v) => v ?? NaN));
              if (labels) scatter.setLabels(Int32Array.from(labels));
            }""",
            [as_json(xy), None if labels is None else np.asarray(labels).tolist()],
        )
        self.settle()
        return self

    def settle(self):
        """Wait until all is drawn, by two frames."""
        two = "() => new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(f)))"
        self.page.evaluate(two)

    def do(self, code, value=None):
        """Evaluate JavaScript in which `scatter` is the map and `v` is a value."""
        return self.page.evaluate(f"async (v) => {{ {code} }}", value)

    def wait(self, condition):
        """Wait until JavaScript holds; Playwright's own way is refused by the policy."""
        for _ in range(200):
            if self.do(f"return Boolean({condition})"):
                self.settle()
                return
            self.page.wait_for_timeout(25)
        pytest.fail(f"never came: {condition}")

    def places(self, n):
        """Pixels of n rows on the canvas (n, 2); NaN where a row has none."""
        code = "return Array.from({ length: v }, (_, row) => scatter.screenOf(row))"
        found = self.do(code, n)
        return np.array([[np.nan, np.nan] if one is None else one for one in found])

    def told(self, name):
        """What was told under a name, in order."""
        return [rest for first, *rest in self.do("return told") if first == name]

    @property
    def corner(self):
        box = self.page.locator("#chart").bounding_box()
        return np.array([box["x"], box["y"]])

    def move(self, place):
        """Move the mouse to a place in pixels of the canvas."""
        self.page.mouse.move(*self.at(place))

    def at(self, place):
        """A place of the canvas in pixels of the page."""
        return (self.corner + place).tolist()

    def drag(self, places):
        self.move(places[0])
        self.page.mouse.down()
        for place in places[1:]:
            self.move(place)
        self.page.mouse.up()

    def picture(self):
        """What is on the screen (height, width, 3)."""
        self.settle()
        shot = self.page.locator("#box").screenshot()
        return np.array(Image.open(io.BytesIO(shot)).convert("RGB")).astype(int)


def as_json(xy):
    """Numbers as JSON has them, which knows no NaN."""
    flat = np.asarray(xy, dtype=np.float32).ravel()
    return [float(value) if np.isfinite(value) else None for value in flat]
