"""What leaves the page: files that other programs and linkshift read as they were meant."""

import asyncio
import csv
import io
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from tests.web.pages import desk_at, get, material_of, post

import linkshift
from linkshift.tables.scaling import Scaling
from linkshift.web.items import Items
from linkshift.web.material import Material
from linkshift.web.store import Event, Store

LABELS = np.repeat([4, 0, 2], 4)


@pytest.fixture
def exported(tmp_path, monkeypatch):
    """Save something of a page on which was said what ``said`` says."""

    def run(*names, said=(), material=None, labels=LABELS, called=()):
        async def within():
            async with desk_at(tmp_path / "a.linkshift", monkeypatch, material) as desk:

                async def post(path, **body):
                    reply = await desk.handle("POST", path, {}, body)
                    assert reply.status == 200, reply.content

                desk.engine.cluster(labels)
                for a, b, word, *why in said:
                    purpose = why[0] if why else "learn"
                    await post("/api/answer", a=a, b=b, word=word, purpose=purpose)
                for k, name in called:
                    await post("/api/name", cluster=k, name=name)
                desk.engine.cluster(labels)
                found = [await desk.handle("GET", f"/api/export/{name}", {}) for name in names]
                assert [reply.status for reply in found] == [200] * len(names), found
                for name, reply in zip(names, found, strict=True):
                    told = reply.headers["Content-Disposition"]
                    assert told == f'attachment; filename="{name}"'
                return [reply.content for reply in found]

        return asyncio.run(within())

    return run


def table(data):
    return list(csv.reader(io.StringIO(data.decode(), newline="")))


def test_labels_are_those_of_the_page_with_names(exported):
    data, packed = exported("labels.csv", "labels.parquet", called=[(4, 'big "cats"\n=1+1')])
    head, *lines = table(data)
    assert head == ["id", "cluster", "name"]  # "name" is taken
    assert [line[0] for line in lines] == [f"r{i}" for i in range(12)]
    assert [int(line[1]) for line in lines] == LABELS.tolist()
    assert [line[2] for line in lines] == ['big "cats"\n=1+1'] * 4 + [""] * 8
    frame = pd.read_parquet(io.BytesIO(packed))
    assert frame.columns.tolist() == head
    assert frame["cluster"].tolist() == LABELS.tolist()
    assert frame["name"].tolist() == [line[2] for line in lines]


def test_rows_without_ids_are_numbered(exported):
    (data,) = exported("labels.csv", material=material_of(ids=False))
    head, *lines = table(data)
    assert head == ["row", "cluster", "name"]
    assert [line[0] for line in lines] == [str(i) for i in range(12)]


def test_ids_keep_the_name_of_their_column(exported):
    material = material_of()
    named = Material(material.X, material.items, id_column="person")
    assert table(exported("labels.csv", material=named)[0])[0] == ["person", "cluster", "name"]


def test_links_are_what_is_in_force(exported, tmp_path):
    said = [
        (0, 1, "same"),
        (1, 0, "different"),
        (0, 4, "different", "audit"),
        (4, 0, "different", "confirm"),
        (0, 8, "unknown"),
    ]
    (data,) = exported("links.csv", said=said)
    head, *lines = table(data)
    assert head[:6] == ["a", "b", "kind", "confidence", "purpose", "who"]
    assert [line[:6] for line in lines] == [
        ["r1", "r0", "cannot", "1", "learn", "Anna"],
        ["r0", "r4", "cannot", "1", "audit", "Anna"],
        ["r4", "r0", "cannot", "1", "confirm", "Anna"],
        ["r0", "r8", "unknown", "1", "learn", "Anna"],
    ]
    path = tmp_path / "links.csv"
    path.write_bytes(data)
    links = linkshift.Links.read_csv(path)
    assert (len(links.must_ids), len(links.cannot_ids)) == (0, 2)


def test_links_are_those_that_the_command_writes(exported, tmp_path):
    path = tmp_path / "a.linkshift"
    with Store(path) as store:  # of before the page was open, by the names as they are written
        given = {"a": "r2", "b": "r3", "word": "same", "confidence": 0.5, "source": "l.csv"}
        gone = {**given, "a": "r99"}
        store.append([Event("link", body) for body in (given, gone, given)], "Ben")
    said = [
        (0, 1, "same"),
        (1, 0, "different"),
        (1, 0, "different", "confirm"),
        (2, 3, "unknown", "audit"),
        (5, 6, "same"),
    ]
    (data,) = exported("links.csv", said=said)
    words = [sys.executable, "-m", "linkshift.cli", "links", "export", str(path)]
    out = subprocess.run(words, capture_output=True, check=True).stdout
    assert data == out
    assert data.count(b"\n") == 5
    assert b",Anna,20" in data


def test_ids_that_a_file_of_links_cannot_hold_are_refused(tmp_path, monkeypatch):
    X = material_of().X
    spaced = Material(X, Items("table", {"x": X[:, 0].tolist()}, [f" r{i}" for i in range(12)]))

    async def test():
        async with desk_at(tmp_path / "a.linkshift", monkeypatch, spaced) as desk:
            await post(desk, "/api/answer", a=0, b=1, word="same")
            told = await get(desk, "/api/export/links.csv", 409)
            assert "spaces around it" in told["error"]
            assert told["remedy"] == "Give the rows other ids."

    asyncio.run(test())


def test_a_report_shows_the_labels_of_the_page(exported):
    ids = [f"<script>{i}</script>" for i in range(12)]
    material = material_of()
    items = Items("text", {"t": [f"<img src=x>{i}" for i in range(12)]}, ids)
    hostile = Material(material.X, items, title="<script>t</script>", columns=("<b>", "y"))
    (data,) = exported("report.html", said=[(0, 5, "different")], material=hostile)
    page = data.decode()
    assert "12 rows" in page
    assert "3 clusters" in page
    assert "<script>0" not in page
    assert "<script>t" not in page
    assert "<img src=x>" not in page


def test_a_model_predicts_from_tables_as_they_were_read(exported, tmp_path):
    rng = np.random.default_rng(0)
    raw = np.concatenate([rng.normal(c, 1.0, (30, 2)) for c in (0, 20, 40)]) * [1, 1000]
    scaling = Scaling.of(raw, "standard", ["x", "y"])
    ids = [f"r{i}" for i in range(90)]
    items = Items("table", {"x": raw[:, 0].tolist()}, ids)
    material = Material(
        scaling.apply(raw), items, raw, "heaps.csv", "name", ("x", "y"), scaling=scaling
    )
    labels = np.repeat([7, 1, 7], 30)
    said = [(0, 70, "same"), (0, 30, "different"), (31, 65, "different"), (2, 80, "same")]
    (data,) = exported("model.npz", said=said, material=material, labels=labels)
    path = tmp_path / "model.npz"
    path.write_bytes(data)
    found = linkshift.load(path)
    assert "adjusted Rand index to the labels of the page: 1.00" in found.why
    assert np.asarray(found.labels).tolist() == labels.tolist()
    new = np.array([[0.0, 0.0], [20.0, 20_000.0], [40.0, 40_000.0]])
    assert found.predict(new).tolist() == [7, 1, 7]
    assert found.columns == ("x", "y")
    assert found.labels.index.tolist() == ids


def test_before_there_are_clusters_only_links_leave(tmp_path, monkeypatch):
    async def test():
        async with desk_at(tmp_path / "a.linkshift", monkeypatch) as desk:
            for name, status in (
                ("links.csv", 200),
                ("labels.csv", 409),
                ("model.npz", 409),
                ("report.html", 409),
                ("labels.xlsx", 404),
                ("..", 404),
            ):
                reply = await desk.handle("GET", f"/api/export/{name}", {})
                assert reply.status == status, name

    asyncio.run(test())


def test_what_cannot_be_made_is_told(exported, monkeypatch, tmp_path):
    async def test():
        async with desk_at(tmp_path / "a.linkshift", monkeypatch) as desk:
            desk.engine.cluster(LABELS)
            monkeypatch.setattr(
                "linkshift.web.out._order", lambda *_: ({"make": "something else"}, [])
            )
            reply = await desk.handle("GET", "/api/export/model.npz", {})
            assert (reply.status, reply.content["error"]) == (
                409,
                "something else is nothing to make.",
            )
            monkeypatch.setattr("linkshift.web.out._order", lambda *_: ({}, []))
            reply = await desk.handle("GET", "/api/export/model.npz", {})
            assert (reply.status, reply.content["error"]) == (
                500,
                "model.npz could not be made.",
            )

    asyncio.run(test())
