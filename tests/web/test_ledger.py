"""What was said is taken in, in the order of the log, whoever waits for it and whatever fails."""

import asyncio
import threading

import numpy as np
import pytest
from tests.web.pages import desk_at, get, material_of, post

from linkshift.web.items import Items
from linkshift.web.ledger import Ledger
from linkshift.web.material import Material
from linkshift.web.opening import open_store
from linkshift.web.store import Event, Store


def said(a, b, word="same", **more):
    body = {"a": a, "b": b, "word": word, "confidence": 1.0}
    return Event("answer", {**body, "purpose": "learn", "by": "question", **more})


def linked(a, b):
    return Event("link", {"a": a, "b": b, "word": "same", "confidence": 1.0, "source": "l.csv"})


@pytest.fixture
def ledger_at(tmp_path):
    """Run a test of a ledger in a loop of its own."""

    def run(test, who="Anna"):
        async def within():
            opened = open_store(tmp_path / "rows.linkshift", material_of(), who)
            ledger = Ledger(opened.store, opened.rows, who)
            try:
                return await test(ledger)
            finally:
                await ledger.close()

        return asyncio.run(within())

    return run


def test_what_is_on_the_disk_is_known_though_nobody_waits_for_it(ledger_at):
    async def test(ledger):
        wait, append = threading.Event(), ledger.store.append

        def slow(*given):
            wait.wait(20)
            return append(*given)

        ledger.store.append = slow
        first = asyncio.create_task(ledger.append([said("r0", "r1")]))
        second = asyncio.create_task(ledger.append([said("r0", "r2")]))
        await asyncio.sleep(0.01)
        first.cancel()  # who asked has left, while it is written
        await asyncio.gather(first, return_exceptions=True)
        wait.set()
        await second
        assert [put.pair for put in ledger.answers] == [(0, 1), (0, 2)]
        assert ledger.version == ledger.told == 3

    ledger_at(test)


def test_answers_come_in_order_among_those_of_others(ledger_at, tmp_path):
    async def test(ledger):
        with Store(tmp_path / "rows.linkshift") as other:

            async def others():
                for b in range(1, 12):
                    other.append([said("r0", f"r{b}", "unknown")], "Ben")
                    await asyncio.sleep(0)

            async def mine():
                for b in range(3, 12):
                    await ledger.append([said("r2", f"r{b}", "unknown")])

            await asyncio.gather(others(), mine(), *(ledger.poll() for _ in range(20)))
            await ledger.poll()
            there = [entry.seq for entry in other.entries() if entry.kind == "answer"]
        assert [put.seq for put in ledger.answers] == there

    ledger_at(test)


def test_a_mistake_while_it_is_taken_in_is_told(ledger_at):
    async def test(ledger):
        def mistaken():
            raise KeyError("of ours")

        ledger.on_change = mistaken
        with pytest.raises(KeyError, match="of ours"):
            await ledger.append([said("r0", "r1")])
        ledger.on_change = None
        await ledger.append([said("r0", "r2")])
        assert len(ledger.answers) == 2

    ledger_at(test)


def test_names_are_no_news_to_the_clusters(ledger_at):
    async def test(ledger):
        await ledger.append([said("r0", "r1")])
        named = Event("name", {"name": "x", "rows": ["r0"], "replaces": None})
        (entry,) = await ledger.append([named])
        assert (ledger.told, ledger.version) == (2, 3)
        before = ledger.n_replays
        await ledger.append([Event("undo", {"action": entry.action})])
        assert ledger.told == ledger.version == 4
        assert ledger.n_replays == before  # of answers nothing is other than it was
        assert ledger.record.names == ()
        await ledger.append([Event("undo", {"action": 2})])
        assert ledger.answers == []

    ledger_at(test)


# --- what undo takes back -------------------------------------------------------------------------


def test_undo_leaves_alone_what_others_say_meanwhile(ledger_at, tmp_path):
    async def before(ledger):
        await ledger.append([said("r0", "r1")], "Carl")  # another day

    async def test(ledger):
        await ledger.append([said("r0", "r2")])
        with Store(tmp_path / "rows.linkshift") as other:
            other.append([said("r0", "r3")], "Ben")
            other.append([Event("name", {"name": "x", "rows": ["r0"], "replaces": None})], "Ben")
        await ledger.poll()
        found = []
        while (action := ledger.undoable) is not None:
            found.append(action)
            await ledger.append([Event("undo", {"action": action})])
        assert found == [3, 2]  # Anna's, then Carl's; Ben sits at his page
        assert [put.who for put in ledger.answers] == ["Ben"]

    ledger_at(before, "Carl")
    ledger_at(test)


def test_what_is_imported_meanwhile_is_taken_back_by_anybody(ledger_at, tmp_path):
    async def test(ledger):
        with Store(tmp_path / "rows.linkshift") as other:
            other.append([linked("r0", "r3")._replace(who="Ben")])
            other.append([said("r0", "r4", said="2024-05-01T10:00:00Z")], "Ben")
            other.append([said("r0", "r5")], "")
            other.append([said("r0", "r6")], "Anna")  # another window of hers
        await ledger.poll()
        for action in (5, 4, 3, 2):
            assert ledger.undoable == action
            await ledger.append([Event("undo", {"action": action})])
        assert ledger.undoable is None

    ledger_at(test)


# --- rows of earlier data -------------------------------------------------------------------------


def test_names_of_before_any_data_are_found_by_how_they_are_written(tmp_path, monkeypatch):
    path = tmp_path / "rows.linkshift"
    X = material_of().X
    with Store(path) as store:  # as `linkshift links import` does, before the page was ever open
        store.append([linked("3", "7"), linked("3", "nobody")])

    async def test():
        numbered = Material(X, Items("table", {"x": X[:, 0].tolist()}, [*range(100, 89, -1), 7]))
        async with desk_at(path, monkeypatch, numbered) as desk:
            assert desk.engine.logs[-1][1] == []  # there is no 3
        numbered = Material(X, Items("table", {"x": X[:, 0].tolist()}, [*range(12)]))
        async with desk_at(path, monkeypatch, numbered) as desk:
            assert desk.engine.logs[-1][1] == [[3, 7, True, 1.0]]
            notes = " ".join((await get(desk, "/api/state"))["notes"])
            assert "1 answer names rows that are not in the data now" in notes
        async with desk_at(path, monkeypatch, material_of(ids=False)) as desk:
            assert desk.engine.logs[-1][1] == [[3, 7, True, 1.0]]

    asyncio.run(test())


def test_rows_are_found_though_another_page_has_the_file_open_with_other_data(
    tmp_path, monkeypatch
):
    path = tmp_path / "rows.linkshift"
    whole = material_of(ids=False)
    order = np.arange(12)[::-1]
    turned = Material(whole.X[order], Items("table", {"x": whole.X[order, 0].tolist()}, None))

    async def test():
        async with (
            desk_at(path, monkeypatch, whole) as one,
            desk_at(path, monkeypatch, turned, who="Ben") as other,
        ):
            await post(other, "/api/answer", a=0, b=3, word="same")
            await one.ledger.poll()
            assert [put.pair for put in one.ledger.answers] == [(8, 11)]

    asyncio.run(test())


def test_a_file_that_can_be_written_later_says_of_which_data_its_rows_are(tmp_path, monkeypatch):
    path = tmp_path / "rows.linkshift"
    with Store(path):
        pass
    keep, n = Store.keep_data, []

    def refusing(self, *given):
        n.append(1)
        if len(n) == 1:
            self.data = 0  # as where the folder is read-only for now
            return []
        return keep(self, *given)

    monkeypatch.setattr(Store, "keep_data", refusing)

    async def test():
        async with desk_at(path, monkeypatch, material_of(ids=False)) as desk:
            await post(desk, "/api/answer", a=0, b=3, word="same")
            assert [put.pair for put in desk.ledger.answers] == [(0, 3)]

    asyncio.run(test())
    with Store(path, read_only=True) as store:
        data, answer = store.entries()
    assert (data.kind, answer.data) == ("data", data.seq)
