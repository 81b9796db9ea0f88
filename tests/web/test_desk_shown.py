"""What a desk shows of clusters, and how it mends them; with a stand-in for the worker."""

import asyncio
import gc
import json

import numpy as np
import pytest
from tests.web.pages import LABELS, get, material_of, post, stored

from linkshift.web.items import Items
from linkshift.web.material import Material
from linkshift.web.opening import open_store
from linkshift.web.store import Store

# --- actions --------------------------------------------------------------------------------------


def test_an_action_writes_what_was_shown_and_is_undone_as_one(at):
    async def test(desk):
        desk.engine.cluster(LABELS)
        await post(desk, "/api/answer", a=0, b=4, word="different")
        planned = await post(desk, "/api/plan", do="merge", clusters=[0, 1])
        assert "so that cluster 0 and cluster 1 become one" in planned["text"]
        assert desk.ledger.version == 2  # nothing was written
        said = await post(desk, "/api/act", do="merge", links=planned["links"])
        assert said["n"] == len(planned["links"])
        by = {(put.pair, put.word, put.by) for put in desk.ledger.answers[1:]}
        shown = {(min(x["a"], x["b"]), max(x["a"], x["b"]), x["word"]) for x in planned["links"]}
        assert {(*pair, word) for pair, word, _ in by} == shown
        assert {one for *_, one in by} == {"merge"}
        undone = await post(desk, "/api/undo")
        assert undone["question"] is None or len(planned["links"]) == 1
        assert [put.word for put in desk.ledger.answers] == ["different"]

    at(test)


@pytest.mark.parametrize(
    "body",
    [
        {"do": "out", "row": 1},
        {"do": "split", "rows": [0, 1]},
        {"do": "split", "exemplars": [0, 3]},
        {"do": "join", "row": 0, "cluster": 2},
        {"do": "name", "cluster": 1, "name": "x"},
    ],
)
def test_all_actions_are_planned(at, body):
    async def test(desk):
        await post(desk, "/api/plan", 409, **body)
        desk.engine.cluster(LABELS)
        planned = await post(desk, "/api/plan", **body)
        assert planned["links"]
        await post(desk, "/api/act", do=body["do"], links=planned["links"])

    at(test)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"do": "burn"},
        {"do": ["merge"]},
        {"do": "out", "row": 12},
        {"do": "split", "rows": "0,1"},
        {"do": "split", "rows": [0, None]},
        {"do": "merge", "clusters": 3},
        {"do": "merge", "clusters": [0] * 101},
    ],
)
def test_what_is_no_plan_is_refused(at, body):
    async def test(desk):
        desk.engine.cluster(LABELS)
        await post(desk, "/api/plan", 400, **body)

    at(test)


@pytest.mark.parametrize(
    "links", [None, [], [{"a": 0, "b": 0, "word": "same"}], [{"a": 0}], ["same"], [{}] * 101]
)
def test_what_is_no_action_writes_nothing(at, links):
    async def test(desk):
        desk.engine.cluster(LABELS)
        await post(desk, "/api/act", 400, do="merge", links=links)
        good = [{"a": 0, "b": 4, "word": "same"}, {"a": 0, "b": 5, "word": "unknown"}]
        await post(desk, "/api/act", 400, do="merge", links=good)

    at(test)
    assert [kind for _, kind, _ in stored(at.path)] == ["data"]


def test_names_follow_their_clusters(at):
    async def test(desk):
        desk.engine.cluster(LABELS)
        await post(desk, "/api/name", cluster=0, name="first")
        await post(desk, "/api/name", cluster=2, name="third")
        desk.engine.cluster(np.repeat([7, 5, 5], 4))
        names = {one["k"]: one["name"] for one in (await get(desk, "/api/state"))["clusters"]}
        assert names == {7: "first", 5: "third"}
        await post(desk, "/api/name", cluster=7, name="one")
        await post(desk, "/api/name", cluster=5, name="")
        names = {one["k"]: one["name"] for one in (await get(desk, "/api/state"))["clusters"]}
        assert names == {7: "one", 5: None}
        await post(desk, "/api/undo")
        await post(desk, "/api/undo")
        names = {one["k"]: one["name"] for one in (await get(desk, "/api/state"))["clusters"]}
        assert names == {7: "first", 5: "third"}
        await post(desk, "/api/name", 409, cluster=9, name="x")
        await post(desk, "/api/name", 400, cluster=7, name="x" * 201)
        await post(desk, "/api/name", 400, cluster=7)

    at(test)


def test_a_name_with_its_links_is_one_action(at):
    async def test(desk):
        desk.engine.cluster(LABELS)
        links = [{"a": 0, "b": 1, "word": "same"}]
        said = await post(desk, "/api/act", do="name", links=links, cluster=0, name="x")
        assert said["n"] == 2
        assert said["state"]["undoable"]["text"] == "1 answer, name 'x'"
        await post(desk, "/api/undo")
        assert (await get(desk, "/api/state"))["clusters"][0]["name"] is None
        assert desk.ledger.answers == []

    at(test)


# --- what is shown --------------------------------------------------------------------------------


def test_state_has_all_that_the_page_needs(at):
    async def test(desk):
        state = await get(desk, "/api/state")
        assert (state["phase"], state["clusters"], state["labels_version"]) == ("looking", [], -1)
        await post(desk, "/api/answer", a=0, b=1, word="same")
        await post(desk, "/api/answer", a=0, b=5, word="different")
        desk.engine.cluster(np.repeat([3, 1], [8, 4]))
        state = await get(desk, "/api/state")
        assert [(one["k"], one["size"], one["said"]) for one in state["clusters"]] == [
            (3, 8, 2),
            (1, 4, 0),
        ]
        assert state["clusters"][0]["exemplars"] == [0, 1, 2, 3, 4, 5]
        expected = {"title": "rows.csv", "n_rows": 12, "n_columns": 2, "kind": "table"}
        assert {key: state[key] for key in expected} == expected
        assert (state["who"], state["columns"], state["moved"]) == ("Anna", ["x", "note"], 0.25)
        json.dumps(state, allow_nan=False)
        short = (await get(desk, "/api/next"))["state"]
        assert short.items() <= state.items()

    at(test)


def test_rows_are_shown_with_their_clusters(at):
    async def test(desk):
        desk.engine.cluster(LABELS)
        found = (await get(desk, "/api/rows", rows="5,0"))["rows"]
        expected = {"row": 5, "id": "r5", "cluster": 1, "cells": ["15", "<i>5</i>"]}
        assert found == [expected, {**expected, **found[1]}]
        assert (await get(desk, "/api/rows"))["rows"] == []
        for rows in ("12", "-1", "a", "1,", "1.0", "1e1", " 1", "9" * 30, "1," * 500 + "1"):
            await get(desk, "/api/rows", 400, rows=rows)

    at(test)


def test_labels_and_places_are_numbers(at):
    async def test(desk):
        assert np.frombuffer(await get(desk, "/api/labels"), "<i4").tolist() == [-1] * 12
        assert await get(desk, "/api/map") == b""
        desk.engine.cluster(LABELS)
        desk.engine.places = np.arange(24, dtype=np.float32).reshape(12, 2)
        reply = await desk.handle("GET", "/api/labels", {})
        assert np.frombuffer(reply.content, "<i4").tolist() == LABELS.tolist()
        assert reply.headers["X-Version"] == "1"
        places = np.frombuffer(await get(desk, "/api/map"), "<f4")
        assert places.tolist() == list(range(24))

    at(test)


def test_a_cluster_is_shown_in_parts(at):
    async def test(desk):
        desk.engine.cluster(LABELS)
        found = await get(desk, "/api/cluster/1", start=1, count=2)
        assert (found["k"], found["n"], found["rows"]) == (1, 4, [5, 6])
        for query in ({"start": -1}, {"count": 0}, {"count": 501}, {"count": "x"}):
            await get(desk, "/api/cluster/1", 400, **query)
        await get(desk, "/api/cluster/x", 404)

    at(test)


def test_the_doctor_names_who_said_what(at):
    async def test(desk):
        seqs = [
            (await post(desk, "/api/answer", a=a, b=b, word=word))["seq"]
            for a, b, word in ((0, 1, "same"), (1, 2, "same"), (0, 2, "different"))
        ]
        links = [{"a": a, "b": b, "word": "same", "given": False} for a, b in ((0, 1), (1, 2))]
        against = {"a": 2, "b": 0, "word": "different", "given": False}
        desk.engine.contradictions = [{"against": against, "chain": links, "text": "they clash"}]
        desk.engine.cluster(LABELS)
        found = await get(desk, "/api/doctor")
        (one,) = found["contradictions"]
        assert (one["weakest"], one["text"]) == (seqs[2], "they clash")
        assert [(x["action"], x["who"]) for x in one["chain"]] == [(s, "Anna") for s in seqs[:2]]
        assert found["doubts"] == []  # that one is told above
        await post(desk, "/api/keep", action=seqs[2])
        put = desk.ledger.answers[-1]
        assert (put.pair, put.word, put.purpose) == ((0, 2), "different", "confirm")
        await post(desk, "/api/keep", 404, action=99)
        desk.engine.contradictions = []
        desk.engine.cluster(LABELS)
        (doubt,) = (await get(desk, "/api/doctor"))["doubts"]
        assert (doubt["a"], doubt["b"], doubt["word"]) == (0, 2, "different")

    at(test)


def test_why_and_search(at):
    async def test(desk):
        assert (await get(desk, "/api/why/3"))["text"] == ["because"]
        assert desk.engine.asked == [("why", {"row": 3})]
        await get(desk, "/api/why/12", 400)
        assert (await get(desk, "/api/search", text="R11"))["rows"] == [11]

    at(test)


def test_media_come_in_parts(at, tmp_path):
    data = b"RIFF\0\0\0\0WAVE" + bytes(range(100))
    (tmp_path / "a.wav").write_bytes(data)
    X = material_of().X[:2]
    items = Items("audio", {"s": ["a.wav", "gone.wav"]}, None, "s", tmp_path)

    async def test(desk):
        async def ask(span, path="/api/media/0/0"):
            return await desk.handle("GET", path, {}, span=span)

        whole = await ask(None)
        assert (whole.status, whole.content, whole.media_type) == (200, data, "audio/wav")
        for span, start, end in (
            ("bytes=0-3", 0, 4),
            ("bytes=5-", 5, 112),
            ("bytes=-10", 102, 112),
            ("bytes=100-99999", 100, 112),
            ("bytes=-99999", 0, 112),
        ):
            part = await ask(span)
            assert (part.status, part.content) == (206, data[start:end])
            assert part.headers["Content-Range"] == f"bytes {start}-{end - 1}/112"
        for span in ("bytes=112-", "bytes=5-3", "bytes=-0", "bytes=999999999999999-"):
            assert (await ask(span)).status == 416
        for span in ("bytes=0-1,5-6", "lines=1-2", "bytes=-", "bytes=a-b", "bytes=" + "9" * 99):
            assert (await ask(span)).content == data  # passed over
        assert (await ask(None, "/api/media/1/0")).status == 404
        assert (await ask(None, "/api/media/0/1")).status == 404
        assert (await ask(None, "/api/media/2/0")).status == 400
        gone = (await ask(None, "/api/media/1/0")).content
        assert str(tmp_path) not in json.dumps(gone)

    at(test, material=Material(X, items))


def test_there_is_nothing_elsewhere(at):
    async def test(desk):
        for path in ("/", "/api", "/api/", "/api/state/", "/api/state2", "/api/media/1", "x"):
            await get(desk, path, 404)
        for path in ("/api/media/1/../0", "/api/media/\u0661/0", "/api/export/../x", "/api/why/-1"):
            await get(desk, path, 404)
        await get(desk, "/api/answer", 405)
        await post(desk, "/api/state", 405)

    at(test)


# --- events ---------------------------------------------------------------------------------------


def test_changes_are_told_together_and_end_with_the_desk(at, monkeypatch):
    monkeypatch.setattr("linkshift.web.desk._GATHERED", 0.02)

    async def test(desk):
        told = []

        async def listen():
            async for change in desk.changes(0.05):
                told.append(change)

        listening = asyncio.create_task(listen())
        while None not in told:  # it is quiet
            await asyncio.sleep(0.01)
        told.clear()
        desk.engine.cluster(LABELS)
        await asyncio.sleep(0)
        desk.tell("map")
        while not any(told):
            await asyncio.sleep(0.01)
        (change,) = [one for one in told if one]
        assert change == {"version": 1, "labels_version": 1, "what": ["labels", "map"]}
        desk.hush()
        await asyncio.wait_for(listening, 5)
        assert len(desk._ears) == 0

    at(test)


def test_who_begins_to_listen_is_told_that_all_may_be_new_and_misses_nothing(at):
    async def test(desk):
        changes = desk.changes()  # from here on, though nobody reads yet
        desk.engine.cluster(LABELS)
        first = await anext(changes)
        assert {"labels", "map", "questions", "settings"} <= set(first["what"])
        assert first["labels_version"] == 1
        desk.tell("map")
        assert (await anext(changes))["what"] == ["map"]

    at(test)


def test_who_leaves_without_a_word_is_forgotten(at):
    async def test(desk):
        changes = desk.changes()
        assert len(desk._ears) == 1
        del changes  # never begun
        gc.collect()
        read = desk.changes()
        await anext(read)
        del read
        gc.collect()
        await asyncio.sleep(0.01)
        assert len(desk._ears) == 0

    at(test)


def test_looks_for_others_go_on_after_a_mistake(at, monkeypatch, capsys):
    monkeypatch.setattr("linkshift.web.desk._POLL", 0.01)

    async def test(desk):
        looks, poll = [], desk.ledger.poll

        async def mistaken():
            looks.append(1)
            if len(looks) < 3:
                raise KeyError("a mistake of ours")
            return await poll()

        desk.ledger.poll = mistaken
        while len(looks) < 4:
            await asyncio.sleep(0.01)
        await post(desk, "/api/answer", a=0, b=1, word="same")

    at(test)
    assert "a mistake of ours" in capsys.readouterr().err


# --- stores that cannot be written ----------------------------------------------------------------


def test_a_store_that_only_reads_shows_all_and_takes_nothing(at, tmp_path):
    async def before(desk):
        await post(desk, "/api/answer", a=0, b=1, word="same")

    at(before)
    path = at.path

    class ReadOnly(Store):
        def __init__(self, path):
            super().__init__(path, read_only=True)

    import linkshift.web.opening as opening

    usual, opening.Store = opening.Store, ReadOnly
    try:

        async def after(desk):
            state = await get(desk, "/api/state")
            assert (state["answers"], bool(state["read_only"])) == (1, True)
            await post(desk, "/api/answer", 503, a=0, b=2, word="same")
            assert (await get(desk, "/api/state"))["answers"] == 1

        at(after, path=path)
    finally:
        opening.Store = usual
    assert sum(kind == "answer" for _, kind, _ in stored(path)) == 1


def test_ids_that_a_store_cannot_keep_are_refused_before_it_is_made(tmp_path):
    material = material_of(n=4)
    odd = Material(material.X, Items("table", {"x": [1] * 4}, [(1, 2), 2.5, None, "a"]))
    with pytest.raises(ValueError, match="names a row"):
        open_store(tmp_path / "a.linkshift", odd)
    assert list(tmp_path.iterdir()) == []
