"""`linkshift label`: what it says and refuses, how it is left, and what it leaves behind."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.web.pages import PATIENCE, Visitor

from linkshift.web.store import Store

BY_NAME = ("data.csv", "--id-column", "name")
ADDRESS = re.compile(r"^Label: (http://127\.0\.0\.1:\d+/\?token=\S{43})$", re.MULTILINE)


class Page:
    """A command that runs: its address, what it says, and how it ends."""

    def __init__(self, *args, **settings):
        command = [sys.executable, "-m", "linkshift.cli", "label", *map(str, args)]
        self.told = Path("told.txt")
        with self.told.open("w") as file:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=file, env={**os.environ, **settings}
            )
        end = time.monotonic() + PATIENCE
        while (found := ADDRESS.search(self.told.read_text())) is None:
            assert self.process.poll() is None, self.told.read_text()
            assert time.monotonic() < end, self.told.read_text()
            time.sleep(0.02)
        self.address = found[1]

    def visitor(self):
        return Visitor(self.address)

    def leave(self, number=signal.SIGINT):
        """Send a signal; gives the exit code and all that was said."""
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        assert self.process.stdout.read() == b""
        self.process.stdout.close()
        return code, self.told.read_text()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def workers_of(page):
    """Processes that were started by a command."""
    found = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(page.process.pid)], capture_output=True, text=True
    )
    return [int(pid) for pid in found.stdout.split()]


def is_there(pid):
    """Whether a process runs; one that has ended and was not looked after does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def stored(path="data.linkshift"):
    with Store(path, read_only=True) as store:
        return [entry for entry in store.entries() if entry.kind != "data"]


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes as Linux has them")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_page_is_left_by_ctrl_c_with_all_that_was_said(data, number):
    with Page(*BY_NAME, "--no-browser", "--as", "Anna") as page:
        visitor = page.visitor()
        visitor.ready()
        visitor.post("/api/answer", a=0, b=1, word="same")
        said = visitor.post("/api/answer", a=0, b=30, word="different")
        assert said["state"]["answers"] == 2
        (worker,) = workers_of(page)
        code, told = page.leave(number)
    assert code == 0
    assert not is_there(worker)
    assert "data.linkshift holds 2 answers, 2 of them new." in told
    assert "linkshift links export data.linkshift -o data.links.csv" in told
    assert "linkshift cluster data.csv --id-column name --links data.links.csv" in told
    assert "Traceback" not in told
    assert "WARNING" not in told
    assert told.count("token") == 1
    assert [(entry.who, entry.body["a"], entry.body["b"]) for entry in stored()] == [
        ("Anna", "s00", "s01"),
        ("Anna", "s00", "s30"),
    ]
    assert sorted(p.name for p in Path().iterdir() if "linkshift" in p.name) == ["data.linkshift"]


def test_a_page_with_open_streams_is_left_at_once(data):
    import socket

    with Page(*BY_NAME, "--no-browser") as page:
        visitor = page.visitor()
        head = f"GET /api/events HTTP/1.1\r\nHost: {visitor.netloc}\r\nCookie: {visitor.cookie}"
        with socket.create_connection(("127.0.0.1", visitor.port), timeout=20) as line:
            line.sendall(f"{head}\r\n\r\n".encode())
            assert b"text/event-stream" in line.recv(2**16)
            before = time.monotonic()
            code, told = page.leave()
            assert time.monotonic() - before < 10
    assert code == 0
    assert "No answers yet in data.linkshift." in told


def test_after_a_kill_all_that_was_acknowledged_is_there(data):
    with Page(*BY_NAME, "--no-browser") as page:
        visitor = page.visitor()
        for b in range(1, 8):
            visitor.post("/api/answer", a=0, b=b, word="unknown")
        page.process.kill()
        page.process.wait()
    with Page(*BY_NAME, "--no-browser") as page:
        visitor = page.visitor()
        assert visitor.get("/api/state")["answers"] == 7
        assert visitor.post("/api/undo")["question"]["b"] == 7
        code, told = page.leave()
    assert code == 0
    assert "holds 6 answers." in told


def test_links_are_taken_in_once(data):
    Path("links.csv").write_text("a,b,kind\ns00,s01,must\ns00,s30,cannot\n")
    for new in (2, 0):
        with Page(*BY_NAME, "--no-browser", "--links", "links.csv") as page:
            found = page.visitor().get("/api/links")["links"]
            assert [(x["a"], x["b"], x["word"], x["given"]) for x in found] == [
                (0, 1, "same", True),
                (0, 30, "different", True),
            ]
            _, told = page.leave()
        assert f"links.csv: 2 lines, {new} new, {2 - new} known." in told
        assert "holds 0 answers and 2 given links." in told
    assert len(stored()) == 2


def test_what_the_page_writes_is_what_the_command_exports(data, run):
    with Page(*BY_NAME, "--no-browser", "--as", "Anna") as page:
        visitor = page.visitor()
        visitor.ready()
        for b, word, why in (
            (1, "same", "learn"),
            (30, "different", "learn"),
            (1, "different", "learn"),
            (1, "same", "confirm"),
            (2, "unknown", "audit"),
        ):
            visitor.post("/api/answer", a=0, b=b, word=word, purpose=why)
        _, _, links = visitor.raw("GET", "/api/export/links.csv")
        page.leave()
    assert run("links", "export", "data.linkshift").stdout == links.decode()
    run("links", "export", "data.linkshift", "-o", "data.links.csv")
    run("cluster", *BY_NAME, "--links", "data.links.csv", "-o", "labels.csv")


def test_other_machines_are_warned_of(data):
    with Page(*BY_NAME, "--no-browser", "--allow-remote") as page:
        _, told = page.leave()
    assert "Warning: --allow-remote: other machines can reach this page." in told
    assert re.search(r"From other machines: http://\S+:\d+/\?token=", told)


def test_the_browser_is_opened_with_the_address(data, tmp_path):
    script = tmp_path / "browser.sh"
    script.write_text(f'#!/bin/sh\nprintf %s "$1" > "{tmp_path}/opened"\n')
    script.chmod(0o755)
    with Page(*BY_NAME, BROWSER=f"{script} %s") as page:
        end = time.monotonic() + 20
        while not (tmp_path / "opened").exists() or not (tmp_path / "opened").read_text():
            assert time.monotonic() < end
            time.sleep(0.02)
        page.leave()
    assert (tmp_path / "opened").read_text() == page.address


def test_rows_are_shown_as_was_asked(here, frame):
    frame["file"] = [f"{i}.png" for i in range(len(frame))]
    frame["say"] = "hello"
    frame.to_csv("data.csv", index=False)
    for args, kind, cells in (
        ((), "table", ["x", "y", "file", "say"]),
        (("--show", "say,x"), "table", ["say", "x"]),
        (("--text", "say"), "text", ["say"]),
        (("--image", "file"), "image", ["file"]),
    ):
        with Page(*BY_NAME, "--no-browser", *args) as page:
            state = page.visitor().get("/api/state")
            _, told = page.leave()
        assert (state["kind"], state["columns"], state["n_columns"]) == (kind, cells, 2)
        assert ("60 files of column 'file' cannot be found" in told) == (kind == "image")


def test_rows_that_are_images(here):
    X = np.random.default_rng(0).random((30, 12))
    X[:, 5] = 0.25  # no part of what is clustered, but of the image
    np.save("pixels.npy", X)
    with Page("pixels.npy", "--no-browser", "--image", "pixels:3x4") as page:
        visitor = page.visitor()
        assert visitor.get("/api/state")["kind"] == "image"
        status, headers, body = visitor.raw("GET", "/api/media/7/0")
        page.leave()
    assert (status, headers["content-type"], body[:4]) == (200, "image/png", b"\x89PNG")
    assert Path("pixels.linkshift").exists()


REFUSED = {
    "stdin": (("-",), "stdin has no place"),
    "two looks": ((*BY_NAME, "--text", "x", "--image", "y"), "--text and --image both say"),
    "no file": (("nothing.csv",), "nothing.csv does not exist"),
    "other suffix": (("data.cvs",), "data.cvs does not exist. Did you mean 'data.csv'?"),
    "no column": ((*BY_NAME, "--image", "nope"), "no column 'nope'"),
    "no size": (("data.csv", "--image", "pixels:5"), "pixels:5 is no size"),
    "other size": (("data.csv", "--image", "pixels:5x5"), "25 numbers, and rows have 2"),
    "no numbers": (("data.csv", "--columns", "name"), "not numeric"),
    "no links": ((*BY_NAME, "--links", "nope.csv"), "nope.csv does not exist"),
    "no store": ((*BY_NAME, "--store", "data.csv"), "no file of answers"),
    "no folder": ((*BY_NAME, "--store", "away/a.linkshift"), "the folder away does not exist"),
    "no name": ((*BY_NAME, "--as", "a\nb"), "ends of lines"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_mistakes_are_told_before_a_page_opens(data, refused, monkeypatch, case):
    args, message = REFUSED[case]
    monkeypatch.setattr("linkshift.web.serving.run", lambda *_, **__: pytest.fail("it opened"))
    before = sorted(Path().iterdir())
    assert message in refused("label", *args, "--no-browser")
    assert sorted(Path().iterdir()) == before


def test_a_taken_port_is_refused(data, refused):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        told = refused("label", *BY_NAME, "--no-browser", "--port", port)
    assert f"Port {port} cannot be listened at" in told
    assert "--port" in told


def test_without_the_extra_it_says_how_to_get_it(data, refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "starlette", None)
    assert 'pip install "linkshift[web]"' in refused("label", *BY_NAME)


def test_nothing_heavy_is_imported_before_the_page_is_up(data):
    """The page is up soon: scikit-learn and numba are for the worker."""
    script = """
import sys
import linkshift.web.serving as serving
def run(opened, door, *, ready):
    found = [name for name in ("sklearn", "numba", "scipy.optimize") if name in sys.modules]
    print("heavy:", found)
    sys.exit(0)
serving.run = run
from linkshift.cli import main
sys.argv = ["linkshift", "label", "data.csv", "--id-column", "name", "--no-browser"]
main()
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert found.stdout == "heavy: []\n", found.stdout + found.stderr


def test_a_table_that_has_changed_is_told_of(data, frame):
    with Page(*BY_NAME, "--no-browser") as page:
        page.visitor().post("/api/answer", a=0, b=1, word="same")
        page.leave()
    more = pd.concat([frame[1:], frame[:1].assign(name="new")])
    more.to_csv("data.csv", index=False)
    with Page(*BY_NAME, "--no-browser") as page:
        _, told = page.leave()
    assert "Since the last time 1 row is new, 1 row is gone." in told
    assert "1 answer names rows that are not in the data now" in told
