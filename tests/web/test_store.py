"""The log of a labelling page: all that was acknowledged, and nothing by halves."""

import json
import os
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from linkshift._core.messages import Refusal
from linkshift.web import storing
from linkshift.web.events import KINDS, plain_id
from linkshift.web.fingerprint import Fingerprint
from linkshift.web.store import Event, Store, StoreError

_HEADER = 100


def answer(a="r1", b="r5", word="same", **more):
    body = {"a": a, "b": b, "word": word, "confidence": 1.0, "purpose": "learn", "by": "question"}
    return Event("answer", body | more)


def link(a="r1", b="r5", word="same", **more):
    body = {"a": a, "b": b, "word": word, "confidence": 1.0, "source": "links.csv"}
    return Event("link", body | more)


def undo(action):
    return Event("undo", {"action": action})


def name(text="Smith", rows=("r1", "r2"), replaces=None):
    return Event("name", {"name": text, "rows": list(rows), "replaces": replaces})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "people.linkshift"


@pytest.fixture
def store(path):
    with Store(path) as found:
        yield found


def run(code, *args, **options):
    """Run a script of its own, which has Store, answer and the like."""
    head = "from tests.web.test_store import *\nimport sys, os\n"
    script = [sys.executable, "-c", head + textwrap.dedent(code), *map(str, args)]
    here = Path(__file__).parents[2]
    return subprocess.Popen(script, stdout=subprocess.PIPE, text=True, cwd=here, **options)


def together(processes):
    """Wait for processes that run at the same time."""
    for process in [*processes]:
        process.communicate()
        assert process.returncode == 0


# What is written ---------------------------------------------------------------------------------


def test_what_was_appended_is_there_after_opening_again(path):
    events = [
        [answer(0, 5), answer(0, 7, "unknown", purpose="audit", by="merge", confidence=0.5)],
        [link("ä\n\0 'x'", "\udc80", "different")],
        [name("Grüße", [1, "1"])],
        [Event("setting", {"key": "audit", "value": {"share": [0.2, None, True, "x", 3]}})],
        [undo(1)],
    ]
    with Store(path) as store:
        written = [entry for one in events for entry in store.append(one, who="Anna")]
        assert store.entries() == written
    with Store(path) as store:
        assert store.entries() == written
        assert store.entries(after=4) == written[4:]
    assert [entry.seq for entry in written] == [1, 2, 3, 4, 5, 6]
    assert [entry.action for entry in written] == [1, 1, 3, 4, 5, 6]
    assert [entry.kind for entry in written] == [e.kind for one in events for e in one]
    assert [entry.body for entry in written] == [e.body for one in events for e in one]
    assert {entry.who for entry in written} == {"Anna"}


def test_times_are_utc_with_milliseconds(store):
    from datetime import UTC, datetime, timedelta

    (entry,) = store.append([answer()])
    assert len(entry.at) == len("2026-01-31T12:00:00.000Z")
    when = datetime.fromisoformat(entry.at)
    assert when.tzinfo == UTC
    assert abs(datetime.now(UTC) - when) < timedelta(seconds=60)


def test_several_people_in_one_action(store):
    written = store.append([answer()._replace(who="Ben"), answer(0, 1)], who=" Anna ")
    assert [entry.who for entry in written] == ["Ben", "Anna"]
    assert len({entry.action for entry in written}) == 1


def test_nothing_to_write_is_no_action(store):
    assert store.append([]) == []
    assert store.append([answer()])[0].seq == 1


def test_text_and_number_are_two_ids(store):
    store.append([answer(7, "7")])
    body = store.entries()[0].body
    assert (body["a"], body["b"]) == (7, "7")


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        (np.int64(7), 7),
        (np.uint8(7), 7),
        (np.str_("x"), "x"),
        (10**30, 10**30),
        ("", ""),
    ],
)
def test_scalars_of_numpy_become_plain(store, given, plain):
    store.append([answer(given, "other"), name(rows=[given])])
    first, second = store.entries()
    assert type(first.body["a"]) is type(plain)
    assert first.body["a"] == plain
    assert second.body["rows"] == [plain]


@pytest.mark.parametrize(
    "given", [1.0, float("nan"), True, np.True_, None, ("a", 1), np.float64(2), b"x", np.arange(3)]
)
def test_other_ids_are_refused_with_the_remedy(store, given):
    with pytest.raises(Refusal, match="text or whole numbers") as refusal:
        plain_id(given)
    assert "--id-column" in refusal.value.text("command")
    with pytest.raises(Refusal):
        store.append([answer(given)])
    assert store.entries() == []


def broken(event, **changes):
    body = {key: value for key, value in (event.body | changes).items() if value is not ...}
    return event._replace(body=body)


@pytest.mark.parametrize(
    "event",
    [
        Event("reply", {}),
        Event("answer", [1, 2]),
        broken(answer(), word="maybe"),
        broken(answer(), word=...),
        broken(answer(), note="x"),
        broken(answer(), confidence=0.0),
        broken(answer(), confidence=1.5),
        broken(answer(), confidence=float("nan")),
        broken(answer(), confidence="1"),
        broken(answer(), confidence=True),
        broken(answer(), purpose="joke"),
        broken(answer(), by="hand"),
        broken(answer(), b="r1"),
        broken(link(), word="unknown"),
        broken(link(), source=3),
        broken(link(), purpose="learn"),
        undo(0),
        undo("1"),
        undo(True),
        broken(undo(1), more=2),
        broken(name(), rows="r1"),
        name(rows=range(501)),
        name(replaces=0),
        name(""),
        name("x" * 10_001),
        name(3),
        Event("setting", {"key": "a", "value": float("inf")}),
        Event("setting", {"key": "a", "value": {1: 2}}),
        Event("setting", {"key": "a", "value": object()}),
        Event("setting", {"key": 1, "value": 2}),
        Event("data", {"n_rows": 1}),
        answer()._replace(who="a\nb"),
    ],
)
def test_what_no_store_should_hold_is_refused(store, event):
    with pytest.raises(Refusal) as refusal:
        store.append([answer(), event])
    assert not isinstance(refusal.value, StoreError)
    assert refusal.value.remedies["python"]
    assert store.entries() == []  # nor the first of the two


def test_every_kind_has_its_checks():
    assert set(KINDS) == {"answer", "link", "undo", "name", "setting", "data"}


@pytest.mark.parametrize("who", ["a\nb", "a\0", "\x1b[31m", "a\u2028b", "\u202eanna", "\ud800", 3])
def test_names_of_people_in_one_line(store, who):
    with pytest.raises(Refusal, match="name"):
        store.append([answer()], who=who)
    with pytest.raises(Refusal, match="name"):
        store.keep_data(Fingerprint.of(np.eye(2)), who=who)


def test_names_of_people_are_short(store):
    store.append([answer()], who="é" * 100)
    with pytest.raises(Refusal, match="101 letters"):
        store.append([answer()], who="é" * 101)


# Undo --------------------------------------------------------------------------------------------


def test_an_action_is_taken_back_once(store):
    action = store.append([answer(), answer(0, 1)])[0].action
    store.append([undo(action)], who="Ben")
    with pytest.raises(Refusal, match="already by Ben"):
        store.append([undo(action)])


@pytest.mark.parametrize("action", [2, 3, 4, 5, 99])
def test_what_is_no_action_of_answers_is_not_taken_back(store, action):
    store.append([answer(), answer(0, 1)])  # 1, of which 2 is a part
    store.append([Event("setting", {"key": "a", "value": 1})])  # 3
    store.append([undo(1)])  # 4
    with pytest.raises(Refusal, match="no action"):
        store.append([undo(action)])
    assert len(store.entries()) == 4


def test_an_undo_is_an_action_of_its_own(store):
    store.append([answer()])
    with pytest.raises(Refusal, match="of its own"):
        store.append([undo(1), answer()])


def test_two_servers_do_not_take_back_twice(path, store):
    with Store(path) as other:
        store.append([answer()])
        other.append([undo(1)])
        with pytest.raises(Refusal, match="already"):
            store.append([undo(1)])


def test_names_replace_names_only(store):
    store.append([answer()])
    store.append([name()])
    store.append([name("", (), replaces=2)])
    for action in (1, 9):
        with pytest.raises(Refusal, match="no name"):
            store.append([name(replaces=action)])


@pytest.mark.parametrize(
    "statement", ["DELETE FROM events", "UPDATE events SET who = 'x'", "REPLACE INTO events "
    "VALUES (1, 1, '', '', 'setting', '{}', 0, NULL)"]
)  # fmt: skip
def test_nothing_is_changed_whoever_writes(path, store, statement):
    store.append([answer()])
    other = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="only appended to"):
        other.execute(statement)
    other.close()


# What is no store --------------------------------------------------------------------------------


def refused(path, **options):
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StoreError) as refusal:
        Store(path, **options)
    assert refusal.value.remedies["python"]
    assert before is None or path.read_bytes() == before
    return str(refusal.value)


def test_a_text_is_no_store(path):
    path.write_text("a,b,kind\nr1,r2,must\n" * 20)
    assert "did not make it" in refused(path)
    assert "did not make it" in refused(path, read_only=True)


def test_another_programs_file_is_left_alone(path):
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE events (seq)")
    other.commit()
    other.close()
    assert "another program" in refused(path)


def test_a_newer_version_is_refused(path):
    Store(path).close()
    other = sqlite3.connect(path)
    other.execute("PRAGMA user_version = 2")
    other.close()
    told = refused(path)
    assert "newer linkshift" in told
    assert "pip install --upgrade" in told


@pytest.mark.parametrize("share", [0.0005, 0.001, 0.01, 0.3, 0.5, 0.9, 0.999])
def test_a_file_that_was_cut_short_is_refused(path, share):
    with Store(path) as store:
        store.append([answer(i, i + 1) for i in range(300)])
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(max(1, int(share * size)))
    assert "damaged" in refused(path)
    assert "damaged" in refused(path, read_only=True)


def test_a_file_with_rubbish_within_is_refused(path):
    with Store(path) as store:
        store.append([answer(i, i + 1) for i in range(300)])
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 8192 * 4096)
        file.write(b"\xff" * 4096)
    assert "damaged" in refused(path)


def test_an_event_that_is_no_json_is_told(path, store):
    store.append([answer()])
    other = sqlite3.connect(path)
    other.execute(
        "INSERT INTO events (action, at, who, kind, body, data) VALUES (2, '', '', 'name', '{', 0)"
    )
    other.commit()
    other.close()
    with pytest.raises(StoreError, match="no JSON"):
        store.entries()


def test_places_where_no_store_can_be(tmp_path, path):
    assert "is a folder" in refused(tmp_path)
    assert "mkdir -p" in refused(tmp_path / "none" / "a.linkshift")
    assert "no file" in refused(path, read_only=True)
    path.symlink_to("nowhere")
    assert "leads nowhere" in refused(path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        assert "no ordinary file" in refused(tmp_path / "pipe")


def test_an_empty_file_becomes_a_store(path):
    path.touch()
    with Store(path) as store:
        assert store.append([answer()])[0].seq == 1


def test_a_log_without_its_file_is_not_thrown_away(path, tmp_path):
    store = Store(path)
    store.append([answer()])
    log = path.with_name("people.linkshift-wal")
    kept = log.read_bytes()
    store.close()
    path.unlink()
    log.write_bytes(kept)
    assert "newest answers" in refused(path)
    path.touch()
    assert "newest answers" in refused(path)
    assert log.read_bytes() == kept


def test_the_store_is_one_file_when_it_is_closed(path):
    with Store(path) as store:
        store.append([answer()])
    with Store(path, read_only=True) as store:
        assert len(store.entries()) == 1
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_the_file_says_what_it_is(path):
    Store(path).close()
    head = path.read_bytes()[:_HEADER]
    assert head[68:72] == b"LKSH"
    assert int.from_bytes(head[60:64], "big") == storing.VERSION
    other = sqlite3.connect(path)
    about = dict(other.execute("SELECT key, value FROM meta"))
    other.close()
    assert about["format"] == "1"
    assert about["made_by"].startswith("linkshift ")


def test_a_closed_store_says_so(path):
    store = Store(path)
    store.close()
    store.close()
    for call in (store.entries, store.changed, lambda: store.append([answer()])):
        with pytest.raises(StoreError, match="was closed"):
            call()


def test_commits_are_on_the_disk(store):
    def pragma(what):
        return store._connection.execute(f"PRAGMA {what}").fetchone()[0]

    assert pragma("journal_mode") == "wal"
    assert pragma("synchronous") == 2  # FULL


# Where WAL cannot be -----------------------------------------------------------------------------


@pytest.fixture
def without_wal(monkeypatch):
    """As in folders of a network: no memory is shared."""
    connect = storing._connect
    monkeypatch.setattr(
        storing, "_connect", lambda path, mode: connect(path, f"mode={mode}&vfs=unix-dotfile")
    )


@pytest.mark.skipif(sys.platform == "win32", reason="there, SQLite has no such way to lock")
def test_a_journal_where_wal_cannot_be(path, without_wal):
    with Store(path) as store:
        assert store._connection.execute("PRAGMA journal_mode").fetchone()[0] == "delete"
        assert store._connection.execute("PRAGMA synchronous").fetchone()[0] == 2
        store.append([answer()])
        with Store(path) as other:
            assert other.append([undo(1)])[0].seq == 2
        assert store.changed()
        assert len(store.entries()) == 2
    with Store(path) as store:
        assert len(store.entries()) == 2


# Several at a time -------------------------------------------------------------------------------


def test_another_one_has_written(path, store):
    store.entries()
    assert not store.changed()
    store.append([answer()])
    assert not store.changed()  # that was us
    with Store(path) as other:
        other.append([answer(0, 1)])
        assert store.changed()
        assert store.changed()  # until it is read
        assert [entry.seq for entry in store.entries(after=1)] == [2]
        assert not store.changed()


def test_two_processes_append_at_the_same_time(path):
    Store(path).close()
    code = """
        with Store(sys.argv[1]) as store:
            for i in range(60):
                store.append([answer(i, i + 1), answer(i, i + 2)], who=sys.argv[2])
    """
    together(run(code, path, who) for who in ("Anna", "Ben"))
    with Store(path) as store:
        entries = store.entries()
    assert [entry.seq for entry in entries] == [*range(1, 241)]
    assert [entry.action for entry in entries] == [seq for i in range(1, 241, 2) for seq in (i, i)]
    for who in ("Anna", "Ben"):
        assert [e.body["a"] for e in entries if e.who == who][::2] == [*range(60)]


def test_two_processes_make_the_file_at_the_same_time(path):
    code = "with Store(sys.argv[1]) as store: store.append([answer()])"
    together(run(code, path) for _ in range(3))
    with Store(path) as store:
        assert [entry.seq for entry in store.entries()] == [1, 2, 3]


def test_many_threads_take_turns(path, store):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        written = list(pool.map(lambda i: store.append([answer(i, i + 1)])[0].seq, range(40)))
    assert sorted(written) == [*range(1, 41)]


def test_a_long_writing_of_another_program_is_told(path, monkeypatch):
    monkeypatch.setattr(storing, "_PATIENCE", 0.05)
    with Store(path) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another program is writing"):
            store.append([answer()])
        with Store(path) as second:  # it opens all the same: it may write later
            assert second.read_only is None
        other.execute("ROLLBACK")
        other.close()
        assert store.append([answer()])[0].seq == 1


# Data --------------------------------------------------------------------------------------------


def test_data_are_kept_once(path):
    X = np.arange(12.0).reshape(6, 2)
    first, second = Fingerprint.of(X), Fingerprint.of(X[:4])
    with Store(path) as store:
        assert store.last_data() is None
        assert store.last_data_seq() == 0
        assert store.append([answer(0, 1)])[0].data == 0
        (entry,) = store.keep_data(first, who="Anna")
        assert entry.kind == "data"
        assert entry.who == "Anna"
        assert entry.body == {"n_rows": 6, "n_columns": 2, "new": 0, "gone": 0, "changed": 0}
        assert store.keep_data(first) == []
        assert store.append([answer(0, 1)])[0].data == entry.seq == 2
    with Store(path) as store:
        assert store.last_data().digest == first.digest
        assert store.keep_data(Fingerprint.of(X)) == []
        assert store.data == 2
        (changed,) = store.keep_data(second)
        assert changed.body["gone"] == 2
        (back,) = store.keep_data(first)  # and kept only once
        assert store.data == 2
        assert store.last_data_seq() == 2
        assert store.last_data().digest == first.digest
        assert [*store.history()] == [2, changed.seq]
        assert store.keep_data(first) == []
    with Store(path) as store:
        assert {seq: one.digest for seq, one in store.history().items()} == {
            2: first.digest,
            changed.seq: second.digest,
        }
        assert [entry.seq for entry in store.entries()] == [1, 2, 3, changed.seq, back.seq]


def test_data_of_two_servers_do_not_mix(path):
    X = np.arange(12.0).reshape(6, 2)
    with Store(path) as one, Store(path) as other:
        one.keep_data(Fingerprint.of(X))
        other.keep_data(Fingerprint.of(X[::-1]))
        assert one.append([answer(0, 1)])[0].data == 1
        assert other.append([answer(0, 1)])[0].data == 2


def test_looking_after_a_store_waits_for_nothing_heavy():
    code = """
        import sys
        import linkshift.web
        import linkshift.web.record
        from linkshift.web.store import Store
        heavy = {"starlette", "uvicorn", "numba", "sklearn", "numpy", "pandas", "scipy"}
        assert not heavy & set(sys.modules), heavy & set(sys.modules)
        import linkshift.web.fingerprint
        heavy -= {"numpy"}
        assert not heavy & set(sys.modules), heavy & set(sys.modules)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


def test_bodies_are_json_that_others_can_read(path, store):
    store.append([answer("Ä", 3)])
    other = sqlite3.connect(path)
    (text,) = other.execute("SELECT body FROM events").fetchone()
    assert json.loads(text)["a"] == "Ä"
    if sqlite3.sqlite_version_info >= (3, 38):
        found = other.execute("SELECT json_extract(body, '$.word') FROM events").fetchone()
        assert found == ("same",)
    other.close()
