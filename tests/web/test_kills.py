"""`kill -9` of the server while answers come in: what it said it has is on the disk.

What the store itself survives is tested in test_store_kills.py; here it is the whole server that
dies, in the middle of requests, with its worker.
"""

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.web.pages import PATIENCE, Visitor
from tests.web.screen import ADDRESS, BY_NAME, HEAP, entries, heaps

from linkshift.web.record import Record

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes as Linux does")

N = 4 * HEAP
# All is imported once, and each server is a fork: it starts in a moment, and so dies often.
_SERVERS = """
    import os, sys
    import linkshift.cli.commands.label, linkshift.cli.reading.asked, linkshift.cli.reading.problem
    import linkshift.web.desk, linkshift.web.opening, linkshift.web.serving
    from linkshift.cli.app import app

    for line in sys.stdin:
        told = line.rstrip()
        child = os.fork()
        if child == 0:
            for number in (1, 2):
                os.dup2(os.open(told, os.O_CREAT | os.O_WRONLY | os.O_APPEND), number)
            app(["label", *sys.argv[1:], "--no-browser"])
            os._exit(1)
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print("dead", status, flush=True)
"""


@pytest.fixture
def servers(tmp_path):
    """What starts servers on data.csv, one at a time."""
    heaps(tmp_path)
    command = [sys.executable, "-c", textwrap.dedent(_SERVERS), *BY_NAME]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, text=True, bufsize=1, cwd=tmp_path
    ) as process:
        yield Servers(process, tmp_path)
        process.stdin.close()


class Servers:
    def __init__(self, process, folder):
        self.process, self.folder, self.n = process, folder, 0
        self.workers = []

    def start(self):
        """Give a visitor of a new server, and the number of its process."""
        self.n += 1
        told = self.folder / f"told{self.n}.txt"
        self.process.stdin.write(f"{told}\n")
        pid = int(self.process.stdout.readline())
        end = time.monotonic() + PATIENCE
        while not (told.exists() and (found := ADDRESS.search(told.read_text()))):
            assert time.monotonic() < end, told.read_text()
            time.sleep(0.005)
        found_there = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True
        )
        self.workers += map(int, found_there.stdout.split())
        return Visitor(found[1]), pid

    def kill(self, pid):
        os.kill(pid, signal.SIGKILL)
        dead, status = self.process.stdout.readline().split()
        assert (dead, int(status)) == ("dead", signal.SIGKILL)


def runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Writer(threading.Thread):
    """Sends answers, actions of several, and what takes them back, until nobody is there."""

    def __init__(self, visitor, seed):
        super().__init__(daemon=True)
        self.visitor, self.draw = visitor, random.Random(seed)
        self.sent = []  # what was acknowledged: (seq, events)
        self.wrong = None
        self.heard = threading.Event()  # an answer was acknowledged

    def run(self):
        host, port = self.visitor.host, self.visitor.port
        with closing(http.client.HTTPConnection(host, port, timeout=PATIENCE)) as line:
            self.write(line)

    def write(self, line):
        headers = {"Content-Type": "application/json", "Cookie": self.visitor.cookie}
        headers["Origin"] = f"http://{self.visitor.netloc}"
        while True:
            path, body, events = self.request()
            try:
                line.request("POST", path, json.dumps(body), headers)
                with line.getresponse() as reply:
                    said = json.loads(reply.read())
            except (OSError, http.client.HTTPException, ValueError):
                return  # the server is gone, and has not said that it has this
            if reply.status != 200:
                self.wrong = said
                return
            self.sent.append((said["seq"], events))
            self.heard.set()

    def request(self):
        if self.draw.random() < 0.2:
            links = [self.link() for _ in range(3)]
            return "/api/act", {"do": "merge", "links": links}, links
        one = self.link()
        return "/api/answer", one, [one]

    def link(self):
        a, b = sorted(self.draw.sample(range(N), 2))
        return {"a": a, "b": b, "word": self.draw.choice(("same", "different"))}


def check(path, sent):
    """All that was acknowledged is there as it was said, and whole. Gives the number of entries."""
    found = entries(path)
    by_seq = {entry.seq: entry for entry in found}
    for last, events in sent:
        there = [by_seq.get(last - len(events) + 1 + i) for i in range(len(events))]
        assert None not in there, f"lost: {events} at {last}"
        said = [(one.body["a"], one.body["b"], one.body["word"]) for one in there]
        assert said == [(f"r{x['a']:02d}", f"r{x['b']:02d}", x["word"]) for x in events]
        assert len({one.action for one in there}) == 1
    sizes = [sum(e.action == action for e in found) for action in {e.action for e in found}]
    assert set(sizes) <= {1, 3}
    Record.of(found)
    return len(found)


@pytest.mark.parametrize(
    ("kills", "answers"), [(5, 30), pytest.param(200, 1000, marks=pytest.mark.slow)]
)
def test_no_answer_that_was_acknowledged_is_lost(servers, kills, answers):
    draw, path = random.Random(kills), servers.folder / "data.linkshift"
    sent, n, done = [], 0, 0
    while done < kills or n < answers:
        visitor, pid = servers.start()
        writers = [Writer(visitor, 2 * done + i) for i in range(2)]
        for writer in writers:
            writer.start()
        if draw.random() < 0.8:  # else it may die before it has said anything
            writers[0].heard.wait(PATIENCE)
        time.sleep(draw.uniform(0, 0.3))
        servers.kill(pid)
        for writer in writers:
            writer.join(PATIENCE)
            assert writer.wrong is None
            sent += writer.sent
        n, done = sum(len(events) for _, events in sent), done + 1
        assert check(path, sent) - n <= 6 * done  # written, and not told before the kill

    visitor, pid = servers.start()
    assert visitor.get("/api/state")["answers"] == check(path, sent)  # and it is used
    servers.kill(pid)
    end = time.monotonic() + PATIENCE
    while any(map(runs, servers.workers)):
        assert time.monotonic() < end, "workers outlive their servers"
        time.sleep(0.05)
    assert len(servers.workers) == servers.n


def test_a_lost_answer_would_be_seen(tmp_path):
    """The check finds what it looks for."""
    from linkshift.web.store import Event, Store

    body = {"a": "r00", "b": "r01", "word": "same"}
    body |= {"confidence": 1.0, "purpose": "learn", "by": "question"}
    with Store(tmp_path / "a.linkshift") as store:
        store.append([Event("answer", body)])
    one = {"a": 0, "b": 1, "word": "same"}
    assert check(tmp_path / "a.linkshift", [(1, [one])]) == 1
    for wrong in ((2, [one]), (1, [{**one, "b": 2}]), (1, [{**one, "word": "different"}])):
        with pytest.raises(AssertionError):
            check(tmp_path / "a.linkshift", [wrong])
