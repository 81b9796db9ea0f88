"""What differs in the data, and where the rows are that answers name."""

import json
import subprocess
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import web as twin
from tests.web.test_record import answer, link, log, name

from linkshift._core.messages import Refusal
from linkshift.web.fingerprint import Difference, Fingerprint, Places, difference, matched, placed
from linkshift.web.record import Record
from linkshift.web.store import Event, Store

FEW = st.sampled_from([0.0, -0.0, 1.0, float("nan"), 1e-300, float("inf")])
TABLES = st.integers(1, 3).flatmap(
    lambda d: st.lists(st.lists(FEW, min_size=d, max_size=d), max_size=8)
)


def table(rows):
    return np.array(rows, dtype=float) if rows else np.zeros((0, 1))


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(40, 3))


# Hashes ------------------------------------------------------------------------------------------


@given(TABLES)
def test_hashes_are_those_of_the_twin(rows):
    found = Fingerprint.of(table(rows))
    assert found.rows.tolist() == [twin.row_hash(row) for row in rows]


def test_hashes_are_the_same_for_ever():
    """Or every store says that all rows have changed."""
    found = Fingerprint.of(np.array([[0.0, 1.5], [-2.0, np.nan]]))
    assert [hex(one) for one in found.rows] == ROWS
    assert [hex(one) for one in found.columns] == COLUMNS
    assert found.digest == DIGEST
    assert Fingerprint.of(np.eye(2), ["ä", 7]).digest == WITH_IDS


ROWS = ["0x57e227476eb5659e", "0x97f0809f1e2d32ac"]
COLUMNS = ["0x9e165f316cd92183", "0x46adb7c9f31f73fc"]
DIGEST = "d8de6c988fa82649e5a7c8c61e325443"
WITH_IDS = "8695d049b1c711d49ba9fed51bbea86b"


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_memory_layout_and_type_do_not_matter(order, dtype):
    numbers = np.arange(60).reshape(20, 3) - 5
    found = Fingerprint.of(np.array(numbers, dtype=dtype, order=order))
    assert found.digest == Fingerprint.of(numbers.astype(float)).digest
    assert Fingerprint.of(np.repeat(numbers, 2, axis=0)[::2]).digest == found.digest


def test_blocks_do_not_matter(monkeypatch, X):
    X[:, 1] = 3.0
    found = Fingerprint.of(X)
    for block in (1, 7, 40):
        monkeypatch.setattr("linkshift.web.fingerprint._BLOCK", block)
        other = Fingerprint.of(X)
        assert other.digest == found.digest


def test_rows_are_not_confused():
    rng = np.random.default_rng(0)
    small = rng.integers(0, 3, (20_000, 12)).astype(float)  # rows that are nearly the same
    distinct = len(np.unique(small, axis=0))
    assert len(np.unique(Fingerprint.of(small).rows)) == distinct
    one = np.eye(200)  # a place is part of it
    assert len(np.unique(Fingerprint.of(one).rows)) == 200


def test_a_column_is_all_its_rows_in_order(X):
    X[:, 2] = 1.0
    first, second, constant = Fingerprint.of(X).columns
    assert first != second
    assert constant == 0
    assert Fingerprint.of(X[:, [1]]).columns[0] == second
    assert Fingerprint.of(X[::-1]).columns[0] != first
    assert not np.isin(Fingerprint.of(np.ones((5, 4))).columns, [first, second]).any()


@pytest.mark.parametrize("ids", [None, ["a", "ä", "\0", 7, "7", 10**25, *range(100, 134)]])
def test_bytes_lead_back(X, ids):
    found = Fingerprint.of(X, ids)
    blobs = found.to_blobs()
    back = Fingerprint.from_blobs(*blobs)
    assert back.ids == found.ids
    assert back.rows.tolist() == found.rows.tolist()
    assert back.columns.tolist() == found.columns.tolist()
    assert back.digest == found.digest
    if ids is not None:
        other = zlib.compress(json.dumps(ids).encode(), 9), *blobs[1:]  # of another zlib
        assert Fingerprint.from_blobs(*other).digest == found.digest


def test_the_digest_tells_data_apart(X):
    ids = [f"r{i}" for i in range(40)]
    others = [
        Fingerprint.of(X), Fingerprint.of(X[::-1]), Fingerprint.of(X[:, :2]),
        Fingerprint.of(X[:39]),
        Fingerprint.of(X, ids), Fingerprint.of(X, ids[::-1]), Fingerprint.of(X, range(40)),
        Fingerprint.of(X, map(str, range(40))),
    ]  # fmt: skip
    assert len({one.digest for one in others}) == len(others)


@pytest.mark.parametrize(
    ("ids", "told"),
    [
        (["a"] * 40, "stands twice"),
        (["a"], "1 ids and 40 rows"),
        ([*range(39), 0.5], "text or whole numbers"),
        ([*range(39), None], "text or whole numbers"),
        ([*range(39), True], "text or whole numbers"),
    ],
)
def test_ids_that_cannot_be_kept_are_refused(X, ids, told):
    with pytest.raises(Refusal, match=told):
        Fingerprint.of(X, ids)


def test_other_shapes_are_refused():
    with pytest.raises(Refusal, match="Give a table"):
        Fingerprint.of(np.zeros(3))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1)])
def test_empty_tables(shape):
    found = Fingerprint.of(np.zeros(shape))
    assert (found.n_rows, found.n_columns) == shape
    assert not any(difference(found, found)[:3])


def test_another_process_finds_the_same(X, tmp_path):
    np.save(tmp_path / "X.npy", X)
    code = (
        "import sys, numpy as np\nfrom linkshift.web.fingerprint import Fingerprint\n"
        "print(Fingerprint.of(np.load(sys.argv[1])).digest)"
    )
    for threads in ("1", "4"):
        out = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "X.npy")],
            env={"OMP_NUM_THREADS": threads, "PYTHONHASHSEED": threads},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert out.stdout.strip() == Fingerprint.of(X).digest


# What differs ------------------------------------------------------------------------------------


@given(TABLES, TABLES)
def test_rows_without_ids_are_matched_as_the_twin_does(before, now):
    found = matched(Fingerprint.of(table(before)), Fingerprint.of(table(now)))
    expected = [-1 if row is None else row for row in twin.places_by_numbers(before, now)]
    if len(before) != len(now):  # else rows may be known by their places
        assert found.tolist() == expected
    else:
        by_numbers = [row for row in expected if row >= 0]
        assert [row for row in found.tolist() if row in by_numbers] == by_numbers


@given(TABLES, st.randoms())
def test_rows_that_moved_are_found(rows, random):
    order = [*range(len(rows))]
    random.shuffle(order)
    X = table(rows)
    found = matched(Fingerprint.of(X), Fingerprint.of(X[order]))
    assert sorted(found.tolist()) == [*range(len(rows))]
    for row, place in enumerate(found):
        np.testing.assert_array_equal(X[row], X[order][place])


def test_equal_rows_keep_their_order():
    before, now = table([[1], [2], [1], [1]]), table([[1], [1], [3], [2], [1], [1]])
    assert matched(Fingerprint.of(before), Fingerprint.of(now)).tolist() == [0, 3, 1, 4]
    assert matched(Fingerprint.of(now), Fingerprint.of(before)).tolist() == [0, 2, -1, 1, 3, -1]


def test_difference_by_id(X):
    ids = [f"r{i}" for i in range(40)]
    before = Fingerprint.of(X, ids)
    Y = np.concatenate([X[5:][::-1], X[:2]])
    Y[3] += 1
    names = [*ids[5:][::-1], "new", 7]
    found = difference(before, Fingerprint.of(Y, names))
    assert found.new == ("new", 7)
    assert found.gone == tuple(ids[:5])
    assert found.changed == (names[3],)
    assert found.n_moved == 35 - 1 + 1 - int(ids.index(names[17]) == 17)
    assert str(found) == (
        "Since the last time 2 rows are new, 5 rows are gone, 1 row has other numbers."
    )


def test_difference_by_numbers(X):
    before = Fingerprint.of(X)
    found = difference(before, Fingerprint.of(np.concatenate([X[3:], X[:1], X[:1] + 1])))
    assert found.new == (38,)
    assert found.gone == (1, 2)
    assert found.changed == ()


def test_the_same_and_the_first_data(X):
    same = difference(Fingerprint.of(X), Fingerprint.of(X.copy()))
    assert same == Difference(n_columns=(3, 3))
    assert str(same) == ""
    first = difference(None, Fingerprint.of(X))
    assert str(first) == ""
    assert not first.new


def test_rows_that_were_edited_in_their_places(X):
    Y = X.copy()
    Y[[4, 30]] += 1
    found = difference(Fingerprint.of(X), Fingerprint.of(Y))
    assert found == Difference(changed=(4, 30), n_columns=(3, 3))
    assert "2 rows have other numbers" in str(found)


def test_edited_and_moved_rows_are_not_guessed(X):
    Y = X[np.r_[1, 0, 2:40]].copy()
    Y[20] += 1
    found = difference(Fingerprint.of(X), Fingerprint.of(Y))
    assert (found.new, found.gone, found.changed) == ((20,), (20,), ())


def test_columns_that_were_left_out_or_added(X):
    for before, now in ((X, X[:, [2, 0]]), (X[:, :1], X)):
        place = matched(Fingerprint.of(before), Fingerprint.of(now))
        assert place.tolist() == [*range(40)]
        told = str(difference(Fingerprint.of(before), Fingerprint.of(now)))
        assert f"{now.shape[1]} columns in the place of {before.shape[1]}" in told


def test_another_table_of_as_many_rows_is_another_table(X):
    others = [X + 1, np.hstack([X + 1, X]) * 2, np.ones_like(X)]
    for other in others:
        assert (matched(Fingerprint.of(X), Fingerprint.of(other)) == -1).all()
    both = np.ones((40, 2))  # a column in which all have the same bears out nothing
    both[:, 0] = X[:, 0]
    other = both.copy()
    other[:, 0] += 1
    assert (matched(Fingerprint.of(both), Fingerprint.of(other)) == -1).all()


def test_columns_and_order_at_once_are_not_guessed(X):
    found = matched(Fingerprint.of(X), Fingerprint.of(X[::-1, :2]))
    assert (found == -1).all()


def test_ids_that_came_or_went(X):
    ids = [f"r{i}" for i in range(40)]
    for before, now in (
        (Fingerprint.of(X), Fingerprint.of(X[::-1], ids)),
        (Fingerprint.of(X, ids), Fingerprint.of(X[::-1])),
        (Fingerprint.of(X, ids), Fingerprint.of(X[::-1], range(40))),  # another column
    ):
        assert matched(before, now).tolist() == [*range(40)][::-1]


# Where rows are ----------------------------------------------------------------------------------


def record_of(*events, data=1):
    return Record.of(entry._replace(data=data) for entry in log(*events))


def test_answers_follow_rows_that_moved(X):
    before, now = Fingerprint.of(X), Fingerprint.of(X[::-1])
    record = record_of(answer(0, 1), link(2, 39, "different"), name("A", rows=[5, 6]))
    found = placed(record, Places(now, {1: before}))
    assert [(one.a, one.b, one.word) for one in found.answers] == [(39, 38, "same")]
    assert [(one.a, one.b, one.word) for one in found.links] == [(37, 0, "different")]
    assert found.names[0].rows == (34, 33)
    assert found.notes == found.unplaced == ()
    assert found.answers[0].seq == record.answers[0].seq


def test_what_names_rows_that_are_gone_is_told_and_comes_back(X):
    before, now = Fingerprint.of(X), Fingerprint.of(X[2:-1])
    record = record_of(
        answer(0, 1), answer(1, 5), answer(4, 5), link(2, 39), name("A", rows=[0, 7]),
        name("B", rows=[0, 39]),
    )  # fmt: skip
    found = placed(record, Places(now, {1: before, 9: now}))
    assert [(one.a, one.b) for one in found.answers] == [(2, 3)]
    assert found.links == ()
    assert [(one.name, one.rows) for one in found.names] == [("A", (5,))]
    assert found.notes == (
        "2 answers name rows that are not in the data now: they stay in the file, and are not "
        "used.",
        "1 link names rows that are not in the data now: it stays in the file, and is not used.",
        "1 name is of rows that are not in the data now.",
    )
    assert found.unplaced == (*record.answers[:2], *record.links, record.names[1])
    back = placed(record, Places(before, {1: before, 9: now}))
    assert [(one.a, one.b) for one in back.answers] == [(0, 1), (1, 5), (4, 5)]
    assert back.notes == ()


def test_answers_by_id_follow_the_ids(X):
    ids = [f"r{i}" for i in range(40)]
    before, now = Fingerprint.of(X, ids), Fingerprint.of(X[10:] * 2, ids[10:])
    record = record_of(answer("r11", "r12"), answer("r1", "r12"))
    found = placed(record, Places(now, {1: before}))
    assert [(one.a, one.b) for one in found.answers] == [(1, 2)]
    assert found.notes[0].startswith("1 answer names rows")


def test_an_id_and_a_text_that_look_alike_are_two_rows():
    X = np.arange(6.0).reshape(3, 2)
    now = Fingerprint.of(X, [7, "7", "x"])
    places = Places(now, {1: now})
    assert [places.row(one, 1) for one in (7, "7", "x", "y")] == [0, 1, 2, None]


@pytest.mark.parametrize("known", [7, "7"])
def test_links_of_before_any_data_are_found_by_their_text(known):
    X = np.arange(6.0).reshape(3, 2)
    places = Places(Fingerprint.of(X, ["a", "b", known]), {})
    assert [places.row(one, 0) for one in ("a", "7", 7, "c", 1)] == [0, 2, 2, None, None]
    alike = Places(Fingerprint.of(X, ["a", 7, "7"]), {})
    assert alike.row("7", 0) == 2
    assert alike.row(7, 0) == 1
    numbers = Places(Fingerprint.of(X), {})
    texts = ("0", 2, "2", "3", "-1", "x", "1.5", "²", "9" * 30)
    assert [numbers.row(one, 0) for one in texts] == [0, 2, 2, None, None, None, None, None, None]


def test_a_pair_that_is_one_row_now_is_left_out():
    X = np.arange(6.0).reshape(3, 2)
    found = placed(record_of(answer("7", 7), data=0), Places(Fingerprint.of(X, ["a", "b", 7]), {}))
    assert found.answers == ()
    assert found.notes


def test_from_numbers_to_ids_and_back(X):
    ids = [f"r{i}" for i in range(40)]
    plain, named = Fingerprint.of(X), Fingerprint.of(X[::-1], ids)
    assert Places(named, {1: plain}).row(0, 1) == 39
    assert Places(plain, {1: named}).row("r0", 1) == 39
    assert Places(plain, {1: named}).row("r99", 1) is None
    assert Places(plain, {1: plain}).row("r0", 1) is None
    assert Places(plain, {1: plain}).row(40, 1) is None


def test_answers_of_two_servers_each_in_its_own_order(X, tmp_path):
    now = Fingerprint.of(X)
    with Store(tmp_path / "a.linkshift") as one, Store(tmp_path / "a.linkshift") as other:
        one.keep_data(now)
        other.keep_data(Fingerprint.of(X[::-1]))
        said = {"word": "same", "confidence": 1.0, "purpose": "learn", "by": "question"}
        one.append([Event("answer", {"a": 0, "b": 1} | said)])
        other.append([Event("answer", {"a": 0, "b": 1} | said)])
        found = placed(Record.of(one.entries()), Places(now, one.history()))
    assert [(answer.a, answer.b) for answer in found.answers] == [(0, 1), (39, 38)]


def test_a_difference_can_be_large():
    """Some hundred thousand rows, in no loop over them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 4))
    order = rng.permutation(len(X))[:-7]
    found = difference(Fingerprint.of(X), Fingerprint.of(X[order]))
    assert len(found.gone) == 7
    assert found.new == found.changed == ()
    place = matched(Fingerprint.of(X), Fingerprint.of(X[order]))
    np.testing.assert_array_equal(order[place[place >= 0]], np.flatnonzero(place >= 0))
