"""A server as a person starts it, and a browser."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet

from benchmarks.harness import Array

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 300.0  # seconds


def chromium() -> str | None:
    """Find a browser, and what drives it."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    return path if find_spec("playwright") is not None else None


@contextmanager
def browser(path: str) -> Iterator[Any]:
    """Open a page of 1,200 x 800 pixels, in a browser without a graphics card."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Frames that nobody looks at come as often as those that somebody does.
        args = ["--no-sandbox", "--disable-gpu", "--disable-renderer-backgrounding"]
        found = playwright.chromium.launch(executable_path=path, headless=True, args=args)
        try:
            page = found.new_page(viewport={"width": 1200, "height": 800})
            page.emulate_media(reduced_motion="reduce")
            yield page
        finally:
            found.close()


def write_table(path: Path, X: Array) -> None:
    """Write rows to a Parquet file, a column for each number."""
    columns = {f"x{j}": X[:, j].astype("float32") for j in range(X.shape[1])}
    pyarrow.parquet.write_table(pa.table(columns), path)


class Command:
    """`linkshift label` on a file, from its start on."""

    def __init__(self, path: Path) -> None:
        words = [sys.executable, "-m", "linkshift.cli", "label", str(path), "--no-browser"]
        self.begin = time.perf_counter()
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        said = []
        assert self.process.stderr is not None
        for line in self.process.stderr:
            said.append(line)
            if found := re.search(r"Label: (\S+)", line):
                self.address = found[1]
                break
        else:
            raise RuntimeError("".join(said))
        self.up = self.seconds
        parts = urlsplit(self.address)
        self.host = parts.netloc
        reply, _ = self._read(f"/?{parts.query}", {})
        self.cookie = str(reply.getheader("Set-Cookie")).partition(";")[0]

    @property
    def seconds(self) -> float:
        """Seconds since the command was given."""
        return time.perf_counter() - self.begin

    def _read(self, target: str, headers: dict[str, str]) -> tuple[http.client.HTTPResponse, bytes]:
        line = http.client.HTTPConnection(self.host, timeout=PATIENCE)
        try:
            line.request("GET", target, headers=headers)
            reply = line.getresponse()
            return reply, reply.read()
        finally:
            line.close()

    def get(self, target: str) -> Any:
        """Read an address, as JSON or as bytes."""
        reply, data = self._read(target, {"Cookie": self.cookie})
        if reply.status != 200:
            raise RuntimeError(f"{target}: {reply.status} {data[:200]!r}")
        kind = str(reply.getheader("Content-Type"))
        return json.loads(data) if kind.startswith("application/json") else data

    def wait(self, what: str = "ready") -> float:
        """Wait for a phase of the session. Gives the seconds since the start."""
        while self.seconds < PATIENCE:
            phase = self.get("/api/state")["phase"]
            if phase == what:
                return self.seconds
            if phase.startswith("failed"):
                raise RuntimeError(phase)
            time.sleep(0.05)
        raise TimeoutError(what)

    def memory(self) -> float:
        """Most memory of the server and its worker so far, in GB; NaN where nobody tells."""
        if not Path("/proc/self/status").exists():
            return float("nan")
        return sum(map(_most_kb, [self.process.pid, *_children(self.process.pid)])) / 1e6

    def end(self) -> None:
        """Leave, as Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()


def _children(pid: int) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        if parent == pid:
            found.append(int(folder.name))
    return found


def _most_kb(pid: int) -> int:
    text = (Path("/proc") / str(pid) / "status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", text)[1])  # type: ignore[index]


@contextmanager
def command(folder: str | os.PathLike[str], X: Array) -> Iterator[Command]:
    """Start `linkshift label` on rows in a folder of their own."""
    path = Path(folder) / "rows.parquet"
    write_table(path, X)
    found = Command(path)
    try:
        yield found
    finally:
        found.end()
