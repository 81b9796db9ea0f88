"""`kill -9` at any moment: every acknowledged answer is there, and whole actions only."""

import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from linkshift.web.record import Record
from linkshift.web.store import Store

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="writers are forked")

# Starts writers as it is told to, one after the other, and says when each is dead: Python is
# started once, and imports nothing but the store.
_WRITERS = """
    import os, random, sys
    from linkshift.web.store import Event, Store

    def write(path, seed):
        draw = random.Random(seed)
        os.write(1, f"pid {os.getpid()}\\n".encode())
        with Store(path) as store:
            there = store.entries()
            gone = {e.body["action"] for e in there if e.kind == "undo"}
            standing = sorted({e.action for e in there if e.kind == "answer"} - gone)
            while True:
                events = chosen(draw, standing)
                written = store.append(events, who=f"{len(events)}")
                os.write(1, f"ack {written[0].seq} {len(written)}\\n".encode())
                if written[0].kind == "answer":
                    standing.append(written[0].action)

    def chosen(draw, standing):
        if standing and draw.random() < 0.2:
            action = standing.pop(draw.randrange(len(standing)))
            return [Event("undo", {"action": action})]
        size = draw.randrange(1, 5)
        body = {"word": "same", "confidence": 1.0, "purpose": "learn", "by": "merge"}
        # Now and then more than a page of the file, and more than the log takes before it is
        # brought into the file.
        long = draw.choice((1, 1, 1, 5_000, 100_000))
        ends = [{"a": f"r{i}" * long, "b": size} for i in range(size)]
        return [Event("answer", end | body) for end in ends]

    for line in sys.stdin:
        path, seed = line.rsplit(" ", 1)
        child = os.fork()
        if child == 0:
            try:
                write(path, int(seed))
            except BaseException as error:
                os.write(1, f"error {error!r}\\n".encode())
            os._exit(1)
        _, status = os.waitpid(child, 0)
        os.write(1, f"dead {status}\\n".encode())
"""


@pytest.fixture
def writers():
    command = [sys.executable, "-c", textwrap.dedent(_WRITERS)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1) as process:
        yield process
        process.stdin.close()


def written_until_killed(writers, path, seed, seconds):
    """Let a writer run, kill it, and give the actions that it was told are on the disk."""
    writers.stdin.write(f"{path} {seed}\n")
    pid = int(writers.stdout.readline().removeprefix("pid "))
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    told = {}
    for line in writers.stdout:
        word, *numbers = line.split()
        if word == "dead":
            assert numbers == [str(signal.SIGKILL.value)]
            return told
        assert word == "ack", line
        told[int(numbers[0])] = int(numbers[1])
    raise AssertionError("the writers have ended")


def check(path, told):
    """All that was acknowledged is there; each action is whole; the log replays."""
    if not path.exists():
        assert not told
        return 0
    with Store(path) as store:
        entries = store.entries()
    sizes = {}
    for entry in entries:
        sizes[entry.action] = sizes.get(entry.action, 0) + 1
    assert told.items() <= sizes.items()
    assert [entry.seq for entry in entries] == [*range(1, len(entries) + 1)]
    for entry in entries:
        assert entry.who == str(sizes[entry.action])  # as many as were given
    Record.of(entries)
    return len(sizes)


@pytest.mark.parametrize("times", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_no_acknowledged_answer_is_lost(tmp_path, writers, times):
    draw = random.Random(0)
    files, path = {}, None
    for seed in range(times):
        if seed % 7 == 0:  # the making of a file has its moments, too
            path = tmp_path / f"{len(files)}.linkshift"
            told = files[path] = {}
        told |= written_until_killed(writers, path, seed, draw.uniform(0, 0.04))
        if draw.random() < 0.7:  # else it is the next writer who finds what was left
            n_there = check(path, told)
            assert n_there - len(told) <= 7  # written, and not told before the kill: one a time
    for path, told in files.items():
        check(path, told)
    assert sum(map(len, files.values())) > times // 4  # or nothing was put to the test


def test_half_an_action_would_be_seen(tmp_path):
    """The check above finds what it looks for."""
    from linkshift.web.store import Event

    path = tmp_path / "a.linkshift"
    body = {"b": 1, "word": "same", "confidence": 1.0, "purpose": "learn", "by": "merge"}
    with Store(path) as store:
        store.append([Event("answer", {"a": 0} | body), Event("answer", {"a": 2} | body)], "2")
    check(path, {1: 2})
    for wrong in ({1: 1}, {1: 2, 3: 1}):
        with pytest.raises(AssertionError):
            check(path, wrong)
    with Store(path) as store:
        store.append([Event("answer", {"a": 0} | body)], "2")  # as if the other were lost
    with pytest.raises(AssertionError):
        check(path, {1: 2})
