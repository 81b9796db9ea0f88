"""What the desk answers, and what it writes before it does; with a stand-in for the worker."""

import asyncio
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from tests.web.pages import LABELS, desk_at, get, material_of, post, stored

from linkshift.active.known import Told
from linkshift.web.closing import Closing
from linkshift.web.items import Items
from linkshift.web.material import Material
from linkshift.web.store import Event, Store, StoreError

# --- answers --------------------------------------------------------------------------------------


def test_an_answer_is_stored_by_id_with_who_said_it(at):
    async def test(desk):
        said = await post(desk, "/api/answer", a=0, b=5, word="different", purpose="audit")
        assert said["state"]["answers"] == 1
        assert said["seq"] == said["state"]["version"]
        assert desk.engine.logs[-1] == (said["seq"], [], [[0, 5, "different", 1.0, "audit"]])

    at(test)
    who, kind, body = stored(at.path)[-1]
    assert (who, kind) == ("Anna", "answer")
    expected = {"a": "r0", "b": "r5", "word": "different", "purpose": "audit", "by": "question"}
    assert body == {**expected, "confidence": 1.0}


def test_rows_without_ids_are_stored_by_number(at):
    async def test(desk):
        await post(desk, "/api/answer", a=3, b=2, word="same")
        assert (await get(desk, "/api/rows", rows="3"))["rows"][0]["id"] == "3"

    at(test, material=material_of(ids=False))
    assert {k: stored(at.path)[-1][2][k] for k in "ab"} == {"a": 3, "b": 2}


BAD = [
    {},
    {"a": 0, "b": 1},
    {"a": 0, "b": 0, "word": "same"},
    {"a": 0, "b": 12, "word": "same"},
    {"a": -1, "b": 1, "word": "same"},
    {"a": "r0", "b": 1, "word": "same"},
    {"a": 0.0, "b": 1, "word": "same"},
    {"a": True, "b": 2, "word": "same"},
    {"a": [0], "b": 2, "word": "same"},
    {"a": 0, "b": 1, "word": "perhaps"},
    {"a": 0, "b": 1, "word": ["same"]},
    {"a": 0, "b": 1, "word": "same", "purpose": "fun"},
    {"a": 0, "b": 1, "word": "same", "by": "me"},
    {"a": 0, "b": 1, "word": "same", "confidence": 0},
    {"a": 0, "b": 1, "word": "same", "confidence": 1.5},
    {"a": 0, "b": 1, "word": "same", "confidence": "1"},
    {"a": 0, "b": 1, "word": "same", "confidence": float("nan")},
]


@pytest.mark.parametrize("body", BAD)
def test_what_is_no_answer_is_refused_and_nothing_written(at, body):
    async def test(desk):
        said = await post(desk, "/api/answer", 400, **body)
        assert said.keys() == {"error", "remedy"}
        return len(desk.engine.logs)

    assert at(test) == 1
    assert [kind for _, kind, _ in stored(at.path)] == ["data"]


def test_answers_at_once_are_all_kept_in_their_order(at):
    async def test(desk):
        pairs = [(a, b) for a in range(12) for b in range(a)]
        replies = await asyncio.gather(
            *(post(desk, "/api/answer", a=a, b=b, word="unknown") for a, b in pairs)
        )
        seqs = [reply["seq"] for reply in replies]
        assert seqs == sorted(seqs)
        assert [(put.a, put.b) for put in desk.ledger.answers] == pairs
        versions = [version for version, *_ in desk.engine.logs]
        assert versions == sorted(versions)

    at(test)
    assert len(stored(at.path)) == 67


def test_an_answer_is_on_the_disk_before_it_is_acknowledged(at):
    async def test(desk):
        for b in range(1, 4):
            said = await post(desk, "/api/answer", a=0, b=b, word="unknown")
            with closing(sqlite3.connect(f"file:{at.path}?mode=ro", uri=True)) as other:
                (last,) = other.execute("SELECT max(seq) FROM events").fetchone()
            assert last == said["seq"]

    at(test)


def test_who_leaves_while_it_is_written_does_not_lose_it(at):
    async def test(desk):
        asked = asyncio.create_task(post(desk, "/api/answer", a=0, b=1, word="same"))
        await asyncio.sleep(0)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        await desk.ledger.in_turn(lambda store: None)
        await asyncio.sleep(0.01)

    at(test)

    async def after(desk):
        return len(desk.ledger.answers)

    assert at(after) == len(stored(at.path)) - 1 == 1


class Broken:
    """A store whose disk takes nothing any more."""

    def __init__(self, store, cause):
        self.store, self.cause, self.read_only = store, cause, None

    def append(self, events, who=""):
        error = sqlite3.OperationalError("disk")
        error.sqlite_errorname = self.cause
        raise StoreError("The disk is full.", "Make room.") from error

    def __getattr__(self, name):
        return getattr(self.store, name)


@pytest.mark.parametrize(("cause", "status"), [("SQLITE_FULL", 507), ("SQLITE_BUSY", 503)])
def test_a_disk_that_takes_nothing_is_told_and_nothing_applied(at, cause, status):
    async def test(desk):
        await post(desk, "/api/answer", a=0, b=1, word="same")
        before = await get(desk, "/api/state")
        whole, desk.ledger.store = desk.ledger.store, Broken(desk.ledger.store, cause)
        said = await post(desk, "/api/answer", status, a=0, b=2, word="same")
        assert said == {"error": "The disk is full.", "remedy": "Make room."}
        for path in ("undo", "act"):
            links = [{"a": 0, "b": 4, "word": "same"}]
            await post(desk, f"/api/{path}", status, do="merge", links=links)
        assert await get(desk, "/api/state") == before
        desk.ledger.store = whole
        await post(desk, "/api/answer", a=0, b=2, word="same")

    at(test)
    assert sum(kind == "answer" for _, kind, _ in stored(at.path)) == 2


def test_undo_takes_back_the_last_action_and_shows_its_pair(at):
    async def test(desk):
        await post(desk, "/api/answer", a=0, b=1, word="same")
        await post(desk, "/api/answer", a=4, b=1, word="different", purpose="audit")
        said = await post(desk, "/api/undo")
        assert said["undone"] == "r4 and r1: different"
        pair = {k: said["question"][k] for k in ("key", "a", "b", "purpose")}
        assert pair == {"key": "4-1-audit", "a": 4, "b": 1, "purpose": "audit"}
        assert said["state"]["undoable"]["text"] == "r0 and r1: the same"
        assert desk.engine.logs[-1][2] == [[0, 1, "same", 1.0, "learn"]]
        await post(desk, "/api/undo")
        assert (await post(desk, "/api/undo", 409))["error"] == "There is nothing to take back."

    at(test)
    assert [kind for _, kind, _ in stored(at.path)] == ["data", "answer", "answer", "undo", "undo"]


def test_an_earlier_action_can_be_taken_back_once(at):
    async def test(desk):
        first = (await post(desk, "/api/answer", a=0, b=1, word="same"))["seq"]
        await post(desk, "/api/answer", a=0, b=2, word="same")
        await post(desk, "/api/undo", action=first)
        assert [put.pair for put in desk.ledger.answers] == [(0, 2)]
        await post(desk, "/api/undo", 409, action=first)
        await post(desk, "/api/undo", 409, action=999)
        await post(desk, "/api/undo", 400, action="all")

    at(test)


def test_all_is_there_after_a_restart(at):
    async def before(desk):
        desk.engine.cluster(LABELS)
        await post(desk, "/api/answer", a=0, b=1, word="same")
        await post(desk, "/api/answer", a=0, b=4, word="different")
        await post(desk, "/api/answer", a=0, b=8, word="unknown")
        await post(desk, "/api/undo")
        await post(desk, "/api/name", cluster=1, name="middle")
        return await get(desk, "/api/links"), desk.engine.logs[-1][1:]

    async def after(desk):
        desk.engine.cluster(LABELS)
        state = await get(desk, "/api/state")
        assert [one["name"] for one in state["clusters"]] == [None, "middle", None]
        assert state["undoable"]["text"] == "name 'middle'"
        return await get(desk, "/api/links"), desk.engine.logs[-1][1:]

    assert at(before) == at(after)


# --- questions ------------------------------------------------------------------------------------


def test_no_question_whose_answer_is_known(at):
    async def test(desk):
        desk.engine.prompt = False
        for pair, word in (((0, 1), "same"), ((1, 2), "same"), ((2, 5), "different")):
            await post(desk, "/api/answer", a=pair[0], b=pair[1], word=word)
        await post(desk, "/api/answer", a=8, b=9, word="unknown")
        desk.engine.offer((1, 0), (0, 2), (0, 5), (9, 8), (8, 10), (3, 0), version=1)
        found = await get(desk, "/api/next")
        assert [one["key"] for one in found["questions"]] == ["8-10-learn", "3-0-learn"]
        # What is behind is no reason to ask again what was just said.
        said = await post(desk, "/api/answer", a=8, b=10, word="same")
        assert [one["key"] for one in said["questions"]] == ["3-0-learn"]

    at(test)


def test_a_confirmation_is_asked_until_it_is_given(at):
    async def test(desk):
        desk.engine.prompt = False
        await post(desk, "/api/answer", a=0, b=1, word="same")
        desk.engine.offer((0, 1), purpose="confirm")
        assert len((await get(desk, "/api/next"))["questions"]) == 1
        said = await post(desk, "/api/answer", a=1, b=0, word="same", purpose="confirm")
        assert said["questions"] == []

    at(test)


def test_a_fresh_question_is_waited_for_no_longer_than_a_moment(at):
    async def test(desk):
        said = await post(desk, "/api/answer", a=0, b=1, word="same")
        assert desk.engine.waited == [(said["seq"], 0.02)]

    at(test)


def test_answers_the_worker_set_aside_make_nothing_known(at):
    async def test(desk):
        for a, b, word in ((0, 1, "same"), (1, 2, "same"), (0, 2, "different")):
            await post(desk, "/api/answer", a=a, b=b, word=word)
        desk.engine.contradictions = [
            {"against": {"a": 1, "b": 0, "word": "same", "given": False}, "chain": [], "text": ""}
        ]
        desk.engine.cluster(LABELS)
        assert desk.ledger.closing.says(0, 2) is False
        assert desk.ledger.closing.says(0, 1) is False  # by the others
        desk.engine.contradictions = []
        desk.engine.cluster(LABELS)
        assert desk.ledger.closing.says(0, 2) is True

    at(test)


def test_it_is_finished_when_nothing_is_left(at):
    async def test(desk):
        desk.engine.offer((0, 1))
        assert not (await get(desk, "/api/state"))["finished"]
        desk.engine.cluster(LABELS)
        desk.engine.offer()
        assert (await get(desk, "/api/state"))["finished"]

    at(test)


# --- what follows ---------------------------------------------------------------------------------


def pairs_known(told, n):
    """Count, by trying all, the pairs that answers tell of."""
    closing = Closing.over(told)
    return sum(closing.says(a, b) is not None for a in range(n) for b in range(a))


def test_the_count_of_what_follows_is_that_of_all_pairs():
    rng = np.random.default_rng(0)
    for _ in range(60):
        n = int(rng.integers(3, 14))
        told = []
        for _ in range(int(rng.integers(1, 25))):
            a, b = rng.choice(n, 2, replace=False).tolist()
            told.append(Told(a, b, bool(rng.random() < 0.5), 1.0, ""))
        closing = Closing.over(told)
        assert closing.n_pairs == pairs_known(told, n)
        kept = {(min(t.a, t.b), max(t.a, t.b)) for t in closing.taken}
        assert closing.n_implied == closing.n_pairs - len(kept)


def test_implied_answers_are_those_beyond_what_was_said(at):
    async def test(desk):
        implied = []
        for a, b, word in ((0, 1, "same"), (1, 2, "same"), (4, 5, "same"), (0, 4, "different")):
            said = await post(desk, "/api/answer", a=a, b=b, word=word)
            implied.append(said["state"]["implied"])
        assert implied == [0, 1, 1, 6]
        await post(desk, "/api/answer", a=0, b=4, word="unknown")
        state = await get(desk, "/api/state")
        assert (state["answers"], state["implied"], state["unknown"]) == (5, 1, 1)
        await post(desk, "/api/answer", a=0, b=8, word="same", confidence=0.5)
        assert (await get(desk, "/api/state"))["implied"] == 1

    at(test)


def test_what_is_kept_up_is_what_a_replay_gives(at):
    rng = np.random.default_rng(1)

    async def test(desk):
        for _ in range(80):
            a, b = rng.choice(12, 2, replace=False).tolist()
            word = str(rng.choice(["same", "different", "unknown"]))
            if rng.random() < 0.2 and desk.ledger.record.undoable:
                await post(desk, "/api/undo")
            else:
                await post(desk, "/api/answer", a=a, b=b, word=word)
            ledger = desk.ledger
            kept = (list(ledger.answers), dict(ledger.last), ledger.closing.n_pairs)
            ledger._replay()
            assert kept == (ledger.answers, ledger.last, ledger.closing.n_pairs)

    at(test)


# --- several people -------------------------------------------------------------------------------


def test_two_servers_on_one_store_take_each_other_in(at, monkeypatch):
    async def test(desk):
        async with desk_at(at.path, monkeypatch, who="Ben") as other:
            await post(desk, "/api/answer", a=0, b=1, word="same")
            said = await post(other, "/api/answer", a=0, b=1, word="different")
            assert said["state"]["answers"] == 2  # Anna's came in with its own
            assert said["state"]["disagreements"] == 1
            assert (await get(desk, "/api/state"))["answers"] == 1
            assert await desk.ledger.poll()
            assert not await desk.ledger.poll()
            (found,) = (await get(desk, "/api/doctor"))["disagreements"]
            assert [(one["who"], one["word"]) for one in found["said"]] == [
                ("Anna", "same"),
                ("Ben", "different"),
            ]
            assert desk.ledger.answers == other.ledger.answers
            assert desk.engine.logs[-1] == other.engine.logs[-1]
            await post(other, "/api/undo", action=found["said"][0]["action"])
            await post(desk, "/api/undo", 409, action=found["said"][0]["action"])
            await desk.ledger.poll()
            assert (await get(desk, "/api/state"))["disagreements"] == 0

    at(test)


def test_what_others_write_is_looked_for_by_itself(at, monkeypatch):
    monkeypatch.setattr("linkshift.web.desk._POLL", 0.01)

    async def test(desk):
        changes = desk.changes()
        await anext(changes)  # that all may be new
        with Store(at.path) as store:
            body = {"a": "r0", "b": "r1", "word": "same", "confidence": 1.0}
            store.append([Event("answer", {**body, "purpose": "learn", "by": "question"})], "Ben")
        change = await asyncio.wait_for(anext(changes), 10)
        assert change["what"] == ["questions"]
        assert (await get(desk, "/api/links"))["links"][0]["who"] == "Ben"
        await changes.aclose()

    at(test)


# --- data that change -----------------------------------------------------------------------------


def reordered(order, ids=None):
    X = material_of().X[order]
    return Material(X, Items("table", {"x": X[:, 0].tolist()}, ids))


@pytest.mark.parametrize("named", [True, False])
def test_answers_follow_their_rows(at, named):
    async def before(desk):
        await post(desk, "/api/answer", a=0, b=5, word="different")
        await post(desk, "/api/answer", a=2, b=3, word="same")

    order = np.array([5, 4, 1, 0, 2, 6, 7, 8, 9, 10, 11])  # without row 3

    async def after(desk):
        state = await get(desk, "/api/state")
        assert desk.engine.logs[-1][2] == [[3, 0, "different", 1.0, "learn"]]
        told = " ".join(state["notes"])
        assert "1 row is gone" in told
        assert "1 answer names rows that are not in the data now" in told

    at(before, material=material_of(ids=named))
    at(after, material=reordered(order, [f"r{i}" for i in order] if named else None))
