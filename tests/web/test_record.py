"""The replay of a log: laws, and its slow twin."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import web as twin

from linkshift._core.messages import Refusal
from linkshift.web.events import Entry
from linkshift.web.record import Disagreement, Given, Name, Record, Said, disagreements
from linkshift.web.store import Event, Store

IDS = [0, 1, "0", "1", "x"]
PEOPLE = ["Anna", "Ben", ""]


def answer(a=0, b=1, word="same", **more):
    body = {"a": a, "b": b, "word": word, "confidence": 1.0, "purpose": "learn", "by": "question"}
    return Event("answer", body | more)


def link(a=0, b=1, word="same"):
    body = {"a": a, "b": b, "word": word, "confidence": 0.5, "source": "links.csv"}
    return Event("link", body)


def name(text, replaces=None, rows=(0, 1)):
    return Event("name", {"name": text, "rows": list(rows), "replaces": replaces})


def undo(action):
    return Event("undo", {"action": action})


def log(*actions, who=""):
    """Entries of actions, each an event or a list of them."""
    found = []
    for events in actions:
        first = len(found) + 1
        for kind, body, by in events if isinstance(events, list) else [events]:
            seq = len(found) + 1
            found.append(Entry(seq, first, f"at {seq}", by or who, kind, body, seq % 3))
    return found


@st.composite
def logs(draw):
    """Logs that a store could hold."""
    actions, standing, names = [], [], []
    n = 0
    for _ in range(draw(st.integers(0, 14))):
        kinds = ["answers", "links", "name", "setting", "data", "undo", "undo"]
        kind = draw(st.sampled_from(kinds))
        pair = st.lists(st.sampled_from(IDS), min_size=2, max_size=2, unique=True)
        who = draw(st.sampled_from(PEOPLE))
        if kind == "undo" and standing:
            events = [undo(standing.pop(draw(st.integers(0, len(standing) - 1))))]
        elif kind == "answers":
            words = st.sampled_from(["same", "different", "unknown"])
            some = draw(st.lists(st.tuples(pair, words), min_size=1, max_size=3))
            events = [answer(*ends, word) for ends, word in some]
            standing.append(n + 1)
        elif kind == "links":
            words = st.sampled_from(["same", "different"])
            some = draw(st.lists(st.tuples(pair, words), min_size=1, max_size=2))
            events = [link(*ends, word) for ends, word in some]
            standing.append(n + 1)
        elif kind == "name":
            replaces = draw(st.sampled_from([None, *names]))
            text = draw(st.sampled_from(["A", "B"] + [""] * (replaces is not None)))
            events = [name(text, replaces), *([answer()] * draw(st.integers(0, 1)))]
            names.append(n + 1)
            standing.append(n + 1)
        else:
            body = {"key": draw(st.sampled_from("ab")), "value": n}
            counts = dict.fromkeys(["n_rows", "n_columns", "new", "gone", "changed"], n)
            events = [Event("data", counts) if kind == "data" else Event("setting", body)]
        actions.append([event._replace(who=who) for event in events])
        n += len(events)
    return log(*actions)


def as_said(entry):
    body = entry.body
    head = entry.action, entry.seq, entry.who, entry.at
    if entry.kind == "answer":
        ends = body["a"], body["b"], body["word"], body["confidence"]
        return Said(*head, *ends, body["purpose"], body["by"], entry.data)
    if entry.kind == "link":
        ends = body["a"], body["b"], body["word"], body["confidence"]
        return Given(*head, *ends, body["source"], entry.data)
    return Name(*head, body["name"], tuple(body["rows"]), body["replaces"], entry.data)


@given(logs())
def test_a_record_is_what_its_twin_says(entries):
    record = Record.of(entries)
    expected = [as_said(entry) for entry in twin.standing(entries)]
    assert record.answers == tuple(one for one in expected if isinstance(one, Said))
    assert record.links == tuple(one for one in expected if isinstance(one, Given))
    assert record.named == tuple(one for one in expected if isinstance(one, Name))
    assert [(one.action, one.name) for one in record.names] == twin.names(entries)
    assert dict(record.settings) == twin.settings(entries)
    assert record.undoable == twin.undoable(entries)
    assert record.n_entries == len(entries)
    assert record.last_seq == (entries[-1].seq if entries else 0)
    data = [entry for entry in entries if entry.kind == "data"]
    assert record.last_data == (data[-1] if data else None)


@given(logs(), st.lists(st.integers(0, 40)))
def test_read_at_once_or_as_they_come(entries, cuts):
    places = sorted({0, len(entries), *(cut for cut in cuts if cut < len(entries))})
    record = Record()
    for start, end in pairwise(places):
        before, kept = record, repr(record)
        record = record.then(entries[start:end])
        assert repr(before) == kept
    assert record == Record.of(entries)
    assert record.then([]) is record


@given(logs())
def test_a_log_with_undo_is_the_log_without_the_action(entries):
    record = Record.of(entries)
    for action in record.taken_back:
        other = Record.of(twin.without(entries, action))
        for part in ("answers", "links", "named", "names", "settings", "undoable"):
            assert getattr(record, part) == getattr(other, part)


@given(logs())
def test_undo_of_the_newest_action_leads_back(entries):
    record = Record.of(entries)
    while (action := record.undoable) is not None:
        record.check_undo(action)
        last = record.last_seq + 1
        before = record
        record = record.then([Entry(last, last, "", "", "undo", {"action": action})])
        assert record == before.then([Entry(last, last, "", "", "undo", {"action": action})])
        assert record.undoable is None or record.undoable < action
        assert len(record.answers) <= len(before.answers)
    assert record.answers == record.links == record.named == ()


@given(logs())
def test_what_may_be_taken_back(entries):
    record = Record.of(entries)
    there = {entry.action for entry in twin.standing(entries)}
    for action in range(record.last_seq + 3):
        assert record.stands(action) == (action in there)
        if action in there:
            record.check_undo(action)
        else:
            with pytest.raises(Refusal):
                record.check_undo(action)
            with pytest.raises(Refusal):
                record.then(
                    [Entry(99, 99, "", "", "setting", {"key": "a", "value": 1}),
                     Entry(100, 100, "", "", "undo", {"action": action})]
                )  # fmt: skip


@given(logs())
def test_disagreements_are_what_their_twin_says(entries):
    found = disagreements(Record.of(entries))
    said = [({one.a, one.b}, {(s.who, s.word) for s in one.said}) for one in found]
    assert sorted(map(repr, said)) == sorted(map(repr, twin.disagreements(entries)))
    for one in found:
        assert [s.seq for s in one.said] == sorted(s.seq for s in one.said)


def test_two_people_who_differ():
    entries = log(
        [answer(0, 1, "same", purpose="audit")._replace(who="Anna")],
        [answer(1, 0, "different")._replace(who="Ben")],
        [answer(0, 2)._replace(who="Anna")],
        [answer(0, 2, "unknown")._replace(who="Ben")],
    )
    (one,) = disagreements(Record.of(entries))
    assert isinstance(one, Disagreement)
    assert {one.a, one.b} == {0, 1}
    assert [(s.who, s.word, s.at) for s in one.said] == [
        ("Anna", "same", "at 1"),
        ("Ben", "different", "at 2"),
    ]
    agreed = [*entries, *[Entry(9, 9, "", "Anna", *answer(0, 1, "different")[:2])]]
    assert disagreements(Record.of(agreed)) == []
    taken_back = [*entries, Entry(9, 9, "", "", "undo", {"action": 2})]
    assert disagreements(Record.of(taken_back)) == []


def test_one_person_who_changes_his_mind_agrees_with_himself():
    entries = log(answer(0, 1, "same"), answer(0, 1, "different"), who="Anna")
    assert disagreements(Record.of(entries)) == []


def test_names_that_replace_each_other_and_come_back():
    entries = log(name("A"), name("B", replaces=1), name("", replaces=2))
    assert [one.name for one in Record.of(entries[:1]).names] == ["A"]
    assert [one.name for one in Record.of(entries[:2]).names] == ["B"]
    assert Record.of(entries).names == ()
    back = Record.of([*entries, Entry(4, 4, "", "", "undo", {"action": 3})])
    assert [one.name for one in back.names] == ["B"]
    back = back.then([Entry(5, 5, "", "", "undo", {"action": 2})])
    assert [one.name for one in back.names] == ["A"]


def test_settings_stay_when_an_action_is_taken_back():
    entries = log([answer(), Event("setting", {"key": "a", "value": 1})], undo(1))
    record = Record.of(entries)
    assert record.answers == ()
    assert record.settings == {"a": 1}


def test_it_is_said_who_took_an_action_back():
    entries = log(answer(), undo(1), who="Ben")
    with pytest.raises(Refusal, match="already by Ben, at 2"):
        Record.of(entries).check_undo(1)


@pytest.mark.parametrize(
    "entries",
    [
        log(answer(), undo(1), undo(1)),
        log(answer(), undo(1), undo(2)),
        log(undo(7)),
        log(Event("setting", {"key": "a", "value": 1}), undo(1)),
        log([answer(), answer()], undo(2)),
        log(answer(), Event("reply", {})),
        log(answer()) * 2,
        log(answer(), answer())[::-1],
    ],
)
def test_logs_that_no_store_holds_are_refused(entries):
    with pytest.raises(Refusal) as refusal:
        Record.of(entries)
    assert refusal.value.remedies["python"]


def test_the_time_of_an_answer_that_came_from_a_file():
    entries = log(answer(said="2026-01-01T00:00:00.000Z"), answer())
    assert [one.at for one in Record.of(entries).answers] == ["2026-01-01T00:00:00.000Z", "at 2"]


@settings(max_examples=15)
@given(logs())
def test_a_store_takes_every_such_log_and_gives_it_back(tmp_path_factory, entries):
    with Store(tmp_path_factory.mktemp("log") / "a.linkshift") as store:
        for action in dict.fromkeys(entry.action for entry in entries):
            events = [Event(e.kind, e.body, e.who) for e in entries if e.action == action]
            store.append(events)
        found = store.entries()
    assert [e[:2] + e[3:6] for e in found] == [e[:2] + e[3:6] for e in entries]
    Record.of(found)


def test_a_long_log_is_no_burden():
    """It is read in one pass: with the square of its length this would not end."""
    actions = [answer(i, i + 1) for i in range(40_000)]
    actions += [undo(i + 1) for i in range(0, 40_000, 2)]
    record = Record.of(log(*actions))
    assert len(record.answers) == 20_000
    for i in range(500):
        seq = record.last_seq + 1
        record = record.then([Entry(seq, seq, "", "", *answer(i, -1 - i)[:2])])
    assert len(record.answers) == 20_500
