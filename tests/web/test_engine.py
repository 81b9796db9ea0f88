"""The engine: a process that says what a session says, is started again, and never outlives us."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.helpers import blobs

from linkshift import Links, Session
from linkshift._core.labels import first_come
from linkshift._core.messages import Refusal
from linkshift.web.engine import Engine, _reason

LONG = 120  # seconds that nothing here should need


def rows(n=90, d=3):
    return blobs(n, d, seed=4)


async def until(condition):
    """Wait for something that the worker does by itself."""
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end, "it never came"
        await asyncio.sleep(0.01)


def played(play, X, **settings):
    """Start an engine, have a coroutine play with it, and stop it whatever happens."""

    async def whole():
        engine = await Engine.start(X, **settings)
        try:
            return await asyncio.wait_for(play(engine), 2 * LONG)
        finally:
            await engine.stop()
            await engine.stop()

    return asyncio.run(whole())


def gone(pid):
    """Whether there is no such process, or one that only waits to be asked how it ended."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True


# The same as a session ----------------------------------------------------------------------------


def test_sixty_answers_give_what_they_give_a_session():
    X, y = rows()
    told = []

    async def play(engine):
        engine.on_change = lambda what: told.append((what, engine.phase))
        said, versions = [], []
        engine.send(0, [[0, 1, True, 1.0]], said)
        assert engine.phase == "looking"
        for version in range(1, 61):
            assert await engine.fresh(version - 1, LONG)
            questions = engine.questions.questions
            if not questions:
                break
            q = questions[0]
            word = "same" if y[q["a"]] == y[q["b"]] else "different"
            word = "unknown" if version % 13 == 0 else word
            said = [*said, [q["a"], q["b"], word, 1.0, q["purpose"]]]
            if version == 30:
                said = said[:-3]  # three are taken back
            engine.send(version, [[0, 1, True, 1.0]], said)
            versions.append(version)
        await until(lambda: engine.estimate and engine.estimate["version"] == versions[-1])
        assert engine.phase == "ready"
        k = int(engine.labels.labels[5])
        order = await engine.request("order", cluster=k)
        why = await engine.request("why", row=5)
        plan = await engine.request("plan", do="out", about={"row": 5})
        with pytest.raises(Refusal, match="no cluster 999"):
            await engine.request("order", cluster=999)
        with pytest.raises(Refusal, match="no row 999"):
            await engine.request("why", row=999)
        assert not await engine.fresh(1000, 0.01)
        return engine, said, order, why, plan

    engine, said, order, why, plan = played(play, X, ids=[f"r{i}" for i in range(90)])
    session = Session(X, Links([(0, 1)]), n_jobs=1)
    for a, b, word, confidence, purpose in said:
        session.answer(word, confidence, pair=(a, b), purpose=purpose)
    labels = engine.labels.labels
    assert labels.dtype == np.int32
    assert np.array_equal(first_come(labels, np.int64), session.labels_)
    assert engine.labels.n_clusters == session.n_clusters_
    assert engine.progress == session.progress()
    estimate = session.estimate()
    assert engine.estimate["text"] == str(estimate)
    assert engine.estimate["ari"] == list(estimate.ari)
    assert engine.estimate["n_audits"] == estimate.n_audits
    asked = session.ask(10)
    found = [(q["a"], q["b"], q["purpose"]) for q in engine.questions.questions]
    assert found[: len(asked)] == [(q.a, q.b, q.purpose) for q in asked]
    assert set(engine.exemplars) == set(labels.tolist())
    assert order["rows"].tolist()[0] == engine.exemplars[int(labels[5])][0]
    assert (why["row"], why["cluster"]) == (5, labels[5])
    assert why["text"][0].startswith("Row r5 is in cluster ")
    assert plan["links"]
    with pytest.raises(ValueError, match="read-only"):
        labels[0] = 3
    assert {"questions", "labels", "clusters", "progress", "estimate", "map"} <= {
        what for what, _ in told
    }
    assert told.count(("phase", "ready")) == 1


def test_map_comes_at_once_and_a_better_one_later():
    X, y = rows(120, 6)

    async def play(engine):
        await until(lambda: engine.places is not None)
        first = engine.places
        engine.send(0, [], [])
        await until(lambda: engine.places is not first)
        return first, engine.places

    first, better = played(play, X)
    assert first.shape == better.shape == (120, 2)
    assert first.dtype == better.dtype == np.float32
    away = np.linalg.norm(better[:, None] - better[None], axis=2)
    np.fill_diagonal(away, np.inf)
    assert (y[away.argmin(axis=1)] == y).mean() > 0.95


def test_of_logs_sent_at_once_the_newest_counts():
    X, _ = rows()
    seen = []

    async def play(engine):
        engine.on_change = lambda what: seen.append((what, engine.labels.version))
        for version in range(40):
            engine.send(version, [], [[0, i, "same", 1.0, "learn"] for i in range(1, version + 1)])
        assert await engine.fresh(39, LONG)
        await until(lambda: engine.labels.version == 39)

    played(play, X)
    assert len({version for what, version in seen if what == "labels"}) < 40


@pytest.mark.skipif(os.name != "posix", reason="processes are ended by signals")
def test_links_are_sent_once_and_again_to_a_new_worker():
    X, _ = rows()
    links = [[0, 1, True, 1.0]]

    async def play(engine):
        sent, process = [], engine._process
        process.send, send = (
            lambda head, *more: (sent.append(head), send(head, *more)),
            process.send,
        )
        engine.send(1, links, [])
        engine.send(2, links, [[3, 4, "same", 1.0, "learn"]])
        engine.send(3, [], [])
        engine.send(4, links, [])
        assert [head["given"] for head in sent] == [links, None, [], links]
        os.kill(process.pid, signal.SIGTERM)
        await until(lambda: engine.labels.version == 4 and engine._process is not process)
        await until(lambda: engine.phase == "ready")
        assert engine._there == links
        plan = await engine.request("plan", do="out", about={"row": 1})
        assert {"a": 0, "b": 1, "word": "different"} in plan["links"]  # it knows of the link

    played(play, X)


def test_contradiction_is_told_by_rows_and_by_what_people_call_them():
    X, _ = rows()

    async def play(engine):
        said = [[0, 3, "same"], [3, 6, "same"], [0, 6, "different"]]
        engine.send(1, [], [[*one, 1.0, "learn"] for one in said])
        await until(lambda: engine.labels.version == 1)
        return engine.contradictions

    (found,) = played(play, X, ids=[f"r{i}" for i in range(90)])
    everything = [found["against"], *found["chain"]]
    assert {(one["a"], one["b"], one["word"]) for one in everything} == {
        (0, 3, "same"), (3, 6, "same"), (0, 6, "different")
    }  # fmt: skip
    assert "'r0' and 'r6' different" in found["text"]


@pytest.mark.slow
def test_questions_stay_while_a_row_is_looked_at_that_was_not():
    X, y = blobs(2_520, 3, seed=4)
    looked = Session(X)._memory.drawn
    left = next(row for row in range(len(X)) if row not in looked)

    async def play(engine):
        engine.send(0, [], [])
        await until(lambda: engine.phase == "ready")
        before, phases = engine.questions, []
        engine.on_change = lambda what: phases.append(engine.phase)
        said = [[left, before.questions[0]["a"], "different", 1.0, "learn"]]
        engine.send(1, [], said)
        assert not await engine.fresh(1, 0.02)  # an answer does not wait for it
        assert engine.questions == before
        assert len(before.questions) >= 5
        for version in range(2, 6):  # others are answered meanwhile
            q = before.questions[version]
            word = "same" if y[q["a"]] == y[q["b"]] else "different"
            said = [*said, [q["a"], q["b"], word, 1.0, q["purpose"]]]
            engine.send(version, [], said)
        await until(lambda: engine.labels.version == 5)
        assert set(phases) == {"ready"}
        return engine.labels.labels, said

    labels, said = played(play, X)
    session = Session(X, n_jobs=1)
    for a, b, word, confidence, purpose in said:
        session.answer(word, confidence, pair=(a, b), purpose=purpose)
    assert np.array_equal(first_come(labels, np.int64), session.labels_)


def test_nobody_waits_for_what_will_not_come_in_time(monkeypatch):
    X, _ = rows()
    clock = [0.0]
    monkeypatch.setattr("linkshift.web.engine.monotonic", lambda: clock[0])

    async def play(engine):
        engine.send(1, [], [])
        clock[0] = 0.5  # the questions take half a second
        await until(lambda: engine.questions.version == 1)
        engine.send(2, [], [[0, 3, "same", 1.0, "learn"]])
        waiting = asyncio.ensure_future(engine.fresh(2, 0.02))
        await asyncio.sleep(0)
        assert waiting.done()  # at once, not after the time that it may take
        assert not waiting.result()
        clock[0] += 0.01
        await until(lambda: engine.questions.version == 2)
        engine.send(3, [], [])
        waiting = asyncio.ensure_future(engine.fresh(3, LONG))
        await asyncio.sleep(0)
        assert not waiting.done()
        assert await waiting

    played(play, X)


# Crashes ------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="processes are ended by signals")
def test_worker_that_is_killed_is_started_again_where_it_was():
    X, _y = rows()

    async def play(engine):
        phases = []
        engine.on_change = lambda what: phases.append(engine.phase) if what == "phase" else None
        said = [[0, 3, "same", 1.0, "learn"], [0, 7, "different", 1.0, "learn"]]
        engine.send(1, [], said[:1])
        await until(lambda: engine.labels.version == 1)
        engine.send(2, [], said)
        await until(lambda: engine.labels.version == 2)
        before, old = engine.labels.labels, engine._process.pid
        os.kill(old, signal.SIGKILL)
        waiting = asyncio.ensure_future(engine.request("why", row=3))
        await until(lambda: engine._process is not None and engine._process.pid != old)
        with pytest.raises(Refusal, match="stopped"):
            await waiting
        assert np.array_equal(engine.labels.labels, before)  # the page goes on meanwhile
        assert await engine.fresh(2, LONG)
        assert (await engine.request("why", row=3))["row"] == 3
        assert np.array_equal(engine.labels.labels, before)
        return phases, old, engine._process.pid

    phases, *pids = played(play, X)
    assert phases == ["ready", "looking", "ready"]
    assert all(gone(pid) for pid in pids)


async def kill_until_it_has_failed(engine):
    pids = []
    while not engine.phase.startswith("failed"):
        process = engine._process
        if process is not None and process.pid not in pids:
            pids.append(process.pid)
            os.kill(process.pid, signal.SIGKILL)
        await asyncio.sleep(0.01)
    return pids


@pytest.mark.skipif(os.name != "posix", reason="processes are ended by signals")
@pytest.mark.parametrize("within", [60.0, 0.0])  # 0: as if between two ends there were minutes
def test_worker_that_is_killed_too_often_has_failed_and_is_tried_again(monkeypatch, within):
    monkeypatch.setattr("linkshift.web.engine._WITHIN", within)
    X, _ = rows()

    async def play(engine):
        engine.send(4, [], [])
        pids = await kill_until_it_has_failed(engine)
        assert len(pids) == 4  # the first, and three that were started again
        assert "SIGKILL, as systems do where memory runs out" in engine.phase
        assert "try again" in engine.remedy
        with pytest.raises(Refusal, match="stopped"):
            await engine.request("why", row=3)
        engine.send(5, [], [])  # is kept, and does no harm
        await engine.again()
        assert (engine.phase, engine.remedy) == ("looking", "")
        await until(lambda: engine.phase == "ready")
        assert engine.labels.version == 5
        with pytest.raises(Refusal, match="Nothing has failed"):
            await engine.again()

    played(play, X)


@pytest.mark.parametrize(
    ("last", "status", "told", "remedy"),
    [
        ("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 9 TiB", 1, "memory: numpy",
         "Close"),
        ("KeyError: 3", 1, "stopped: KeyError: 3", "take the last answer back"),
        ("", -11, "SIGSEGV", "memory"),
        ("", 1, "without a word", "Try again"),
    ],
)  # fmt: skip
def test_why_a_worker_stopped_is_said_in_words(last, status, told, remedy):
    process = SimpleNamespace(last_words=lambda: last, status=status)
    found = _reason(process)
    assert told in found[0]
    assert remedy in found[1]


def test_data_that_are_none_are_tried_once():
    X, _ = rows()
    X[4, 1] = np.nan

    async def play(engine):
        await until(lambda: engine.phase.startswith("failed"))
        assert "NaN" in engine.phase
        assert "Correct the table" in engine.remedy
        assert engine._crashes == []
        await engine.again()  # it is no better by itself
        await until(lambda: engine.phase.startswith("failed"))

    played(play, X)


# The end ------------------------------------------------------------------------------------------

SERVER = """
import asyncio, sys
import numpy as np
from linkshift.web.engine import Engine, _reason

async def main():
    X = np.random.default_rng(0).normal(size=(2000, 6))
    engine = await Engine.start(X)
    engine.send(0, [], [])
    print(engine._process.pid, flush=True)
    if sys.argv[1] == "ready":
        await engine.fresh(0, 100)
        print("ready", flush=True)
    await asyncio.sleep(100)

asyncio.run(main())
"""


@pytest.mark.skipif(not Path("/proc").exists(), reason="processes are sought in /proc")
@pytest.mark.parametrize("when", ["at once", "ready"])
def test_worker_dies_with_a_server_that_is_killed(when):
    server = subprocess.Popen([sys.executable, "-c", SERVER, when], stdout=subprocess.PIPE)
    pid = int(server.stdout.readline())
    if when == "ready":
        assert server.stdout.readline().strip() == b"ready"
    else:
        time.sleep(1.5)  # in the middle of a start, or of the first look
    server.kill()
    server.wait()
    server.stdout.close()
    end = time.monotonic() + LONG
    while not gone(pid):
        assert time.monotonic() < end, "the worker lives on"
        time.sleep(0.02)
