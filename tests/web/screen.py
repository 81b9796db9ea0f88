"""The labelling page as a person has it: the command that serves it, and what is on the screen.

`Command` is `linkshift label` in a process of its own, `Screen` the page in a browser. Both wait
for what they name, and never for a time.
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from tests.web.pages import PATIENCE, Visitor

from linkshift.web.store import Store

ADDRESS = re.compile(r"^Label: (http://127\.0\.0\.1:(\d+)/\?token=\S{43})$", re.MULTILINE)
BY_NAME = ("data.csv", "--id-column", "name", "--columns", "x,y")
WORDS = {"s": "same", "d": "different", "u": "unknown"}
HEAP = 12  # rows of one kind, in the table below
_MS = 1000 * PATIENCE


def heaps(folder, n=4, gap=3.0, **columns):
    """Write data.csv: rows r00, r01, ... in heaps, with x, y and a text. Gives the folder."""
    rng = np.random.default_rng(0)
    heap = np.repeat(np.arange(n), HEAP)
    centres = np.stack([heap % 2, heap // 2], axis=1) * gap
    X = centres + rng.normal(scale=0.5, size=centres.shape)
    table = {"name": [f"r{i:02d}" for i in range(len(X))], "x": X[:, 0], "y": X[:, 1]}
    table["said"] = [f"{'abcdefgh'[k] * 5} is number {i}" for i, k in enumerate(heap)]
    pd.DataFrame(table | columns).to_csv(folder / "data.csv", index=False)
    return folder


def same_heap(a, b):
    return a // HEAP == b // HEAP


class Command:
    """`linkshift label` in a folder, from its start until the end of the `with`."""

    def __init__(self, folder, *args, port=0, before=()):
        self.folder, self.told = Path(folder), Path(folder) / f"told{time.monotonic_ns()}.txt"
        command = [*before, sys.executable, "-m", "linkshift.cli", "label", *map(str, args)]
        command += ["--no-browser", "--port", str(port)]
        here = {"PYTHONPATH": os.pathsep.join(map(str, [Path.cwd(), *sys.path]))}
        with self.told.open("w") as file:
            self.process = subprocess.Popen(
                command, stdout=file, stderr=file, cwd=folder, env={**os.environ, **here}
            )
        end = time.monotonic() + PATIENCE
        while (found := ADDRESS.search(self.said())) is None:
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < end, self.said()
            time.sleep(0.02)
        self.address, self.port = found[1], int(found[2])

    def said(self):
        return self.told.read_text()

    def visitor(self):
        return Visitor(self.address)

    def leave(self):
        """Press Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(PATIENCE) == 0, self.said()
        assert "Traceback" not in self.said()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()


def entries(path):
    """What a file of answers holds, without what it says of the data."""
    with Store(path, read_only=True) as store:
        return [entry for entry in store.entries() if entry.kind != "data"]


class Screen:
    """The page, with a pair on it."""

    def __init__(self, page, address, *, ready=True):
        self.page = page
        page.goto(address)
        if ready:
            self.wait_for_pair()

    # Looking -------------------------------------------------------------------------------------

    def at(self, selector):
        return self.page.locator(selector)

    def wait(self, selector, state="visible"):
        self.page.wait_for_selector(selector, state=state, timeout=_MS)
        return self.page.locator(selector).first

    def until(self, script, *given):
        """Wait until a script is true, or what it promises: Playwright takes a promise for true."""
        end = time.monotonic() + PATIENCE
        while not self.page.evaluate(script, *given):
            assert time.monotonic() < end, script
            self.page.wait_for_timeout(20)

    def wait_for_pair(self):
        self.wait("[data-view=ask] [data-pair], [data-part=finished]")

    @property
    def question(self):
        """Key of the question that is shown: rows and purpose."""
        a, b, purpose = self.at("[data-part=pair]").get_attribute("data-question").split("-")
        return int(a), int(b), purpose

    def figure(self, name):
        return self.at(f"[data-figure={name}]").get_attribute("data-value")

    def state(self):
        """What the server says."""
        return self.page.evaluate("fetch('/api/state').then((reply) => reply.json())")

    def get(self, path):
        return self.page.evaluate("(path) => fetch(path).then((reply) => reply.json())", path)

    def labels(self):
        return self.page.evaluate(
            "fetch('/api/labels').then((r) => r.arrayBuffer()).then((b) => [...new Int32Array(b)])"
        )

    def settled(self):
        """Wait until the clusters are those of all answers, and the page shows them."""
        self.until(
            "() => fetch('/api/state').then((reply) => reply.json()).then((state) =>"
            " state.phase === 'ready' && !state.refitting"
            " && document.querySelector('[data-figure=clusters]')?.dataset.value"
            " === String(state.n_clusters)"
            " && document.querySelector('[data-figure=answers]')?.dataset.value"
            " === String(state.answers))"
        )
        return self.state()

    # Doing ---------------------------------------------------------------------------------------

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def answer(self, key):
        """Press a key of an answer, and wait until it counts. Gives the question."""
        before, n = self.question, int(self.figure("answers"))
        self.press(key)
        self.counts(n + 1)
        self.until(
            "(key) => { const at = document.querySelector('[data-part=pair]');"
            " return at.dataset.question !== key; }",
            "-".join(map(str, before)),
        )
        self.wait_for_pair()
        return before

    def counts(self, n):
        """Wait until so many answers are shown."""
        self.until(
            "(n) => document.querySelector('[data-figure=answers]')?.dataset.value === String(n)", n
        )

    def go(self, view):
        """Press the key of a view."""
        keys = dict(ask="a", map="v", clusters="c", doctor="e", why="w", out="o")
        self.press(keys[view])
        self.wait(f"[data-tab={view}][aria-current]")
        return self.at(f"[data-view={view}]")

    def plan(self):
        """Wait for the links that an action would write. Gives (a, b, word) of each."""
        self.wait("[data-sheet=plan] [data-do=write]")
        found = self.page.eval_on_selector_all(
            "[data-sheet=plan] [data-link]", "(all) => all.map((one) => ({...one.dataset}))"
        )
        return [(*map(int, one["link"].split("-")), one["word"]) for one in found]

    def focus_row(self, row):
        """Go to an item of the cluster that is open, by arrows."""
        self.wait(f"[data-part=members] [data-row='{row}']")
        self.until("() => document.activeElement.matches('[data-part=members] [data-row]')")
        rows = "(all) => all.map((one) => Number(one.dataset.row))"
        shown = self.page.eval_on_selector_all("[data-part=members] [data-row]", rows)
        here = int(self.page.evaluate("document.activeElement.dataset.row"))
        steps = shown.index(row) - shown.index(here)
        self.press(*["ArrowRight" if steps > 0 else "ArrowLeft"] * abs(steps))
        assert int(self.page.evaluate("document.activeElement.dataset.row")) == row

    def open_cluster(self, k):
        """From the list of clusters, by keys."""
        self.go("clusters")
        if self.at("[data-part=members]").count():
            # The first key forgets what is picked, the next goes back.
            picked = self.at("[data-part=members] [aria-pressed=true]").count()
            self.press("Escape", *["Escape"] * bool(picked))
        self.wait(f"[data-cluster='{k}']")
        n = self.at("[data-cluster]").count()
        self.press(*["ArrowUp"] * n)
        while self.page.evaluate("document.activeElement.dataset.openCluster") != str(k):
            self.press("ArrowDown")
            n -= 1
            assert n >= 0
        self.press("Enter")
        self.wait("[data-part=members] [data-row]")

    def closed(self):
        """Wait until no sheet is open."""
        self.wait("dialog", "detached")

    def download(self, name):
        """Save a file of the last view. Gives its path."""
        with self.page.expect_download(timeout=_MS) as found:
            self.at(f"[data-download='{name}']").click()
        assert found.value.suggested_filename == name
        return Path(found.value.path())
