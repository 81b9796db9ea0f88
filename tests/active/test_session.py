"""Laws of a session: no trace of what was taken back, replay to the bit, answers that hold."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.active.sessions import (
    KINDS,
    MOST,
    all_of,
    answers,
    ask_on,
    begin,
    data,
    kinds,
    links_of,
    pairs_of,
)
from tests.helpers import same_partition
from tests.reference import active as twin

from linkshift import Links, Session
from linkshift.active import memory as module


@pytest.fixture(autouse=True, scope="module")
def few_rows_are_looked_at():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_ROWS", MOST)
        yield


# No trace -----------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(kinds, answers(most=5), answers(), st.integers(0, 14), st.integers(0, 100))
def test_undo_equals_a_session_that_never_had_the_answer(kind, given_links, some, asked, number):
    links = links_of(kind, given_links)
    session = begin(kind, links, pairs_of(kind, some))
    ask_on(session, data(kind)[1], asked)
    log = list(session.log)
    if not log:
        return
    all_of(session)  # whatever it keeps of it must not show
    number %= len(log)
    assert session.undo(number) == log[number]
    without = begin(kind, links, log[:number] + log[number + 1 :])
    assert all_of(session) == all_of(without)


@settings(max_examples=15, deadline=None)
@given(kinds, answers(most=6), st.data())
def test_undo_of_everything_in_any_order_is_the_beginning(kind, some, draw):
    session, fresh = begin(kind, log=pairs_of(kind, some)), begin(kind)
    while session.log:
        session.undo(draw.draw(st.integers(-len(session.log), len(session.log) - 1)))
    assert all_of(session) == all_of(fresh)


@settings(max_examples=15, deadline=None)
@given(kinds, answers(most=8))
def test_looking_leaves_no_trace(kind, some):
    quiet, looked = begin(kind), begin(kind)
    for a, b, word, sure in pairs_of(kind, some):
        quiet.answer(word, sure, pair=(a, b))
        looked.answer(word, sure, pair=(a, b))
        all_of(looked)
    assert all_of(quiet) == all_of(looked)


# Replay -------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(kinds, answers(most=5), answers(), st.integers(0, 14))
def test_replay_from_json_is_the_same_to_the_bit(kind, given_links, some, asked):
    links = links_of(kind, given_links)
    session = begin(kind, links, pairs_of(kind, some), audit=0.4, random_state=3)
    ask_on(session, data(kind)[1], asked)
    kept = json.loads(json.dumps(session.to_dict()))
    again = Session.from_dict(data(kind)[0], kept, n_jobs=1)
    assert all_of(again) == all_of(session)
    assert again.to_dict() == session.to_dict()


@pytest.mark.parametrize("kind", KINDS)
def test_threads_change_nothing(kind):
    one, two = (ask_on(begin(kind, n_jobs=jobs), data(kind)[1], 13) for jobs in (1, 2))
    assert all_of(one) == all_of(two)


def test_links_in_both_kinds_are_kept():
    # Equal rows, with a link of either kind: only one can hold, here and after a replay.
    X = data("twice")[0]
    links = Links([(0, 13), (1, 2)], [(0, 13), (3, 16)])
    session = Session(X, links, n_jobs=1)
    again = Session.from_dict(X, json.loads(json.dumps(session.to_dict())), n_jobs=1)
    assert all_of(again) == all_of(session)
    assert session.labels_[3] != session.labels_[16]


# Answers hold -------------------------------------------------------------------------------------


def certain(session):
    links = session.links
    found = [(*pair, True) for pair in links.must[links.must_confidence == 1].tolist()]
    return found + [(*pair, False) for pair in links.cannot[links.cannot_confidence == 1].tolist()]


@settings(max_examples=60, deadline=None)
@given(kinds, answers(most=3), answers(most=14))
def test_certain_answers_hold_unless_they_contradict(kind, given_links, some):
    session = begin(kind, links_of(kind, given_links), pairs_of(kind, some))
    told = certain(session)
    same, different = twin.closure(told, KINDS[kind])
    if same & different:
        return
    labels = session.labels_
    for a, b, alike in told:
        assert (labels[a] == labels[b]) == alike, (a, b, alike)
    assert labels.min() == 0
    assert session.n_clusters_ == len(set(labels.tolist())) == labels.max() + 1
    assert list(dict.fromkeys(labels.tolist())) == list(range(session.n_clusters_))


@settings(max_examples=40, deadline=None)
@given(kinds, answers(words=("same", "different"), sure=(1.0,), most=14))
def test_the_others_hold_where_some_contradict(kind, some):
    session = begin(kind, log=pairs_of(kind, some))
    aside = {(one.against.a, one.against.b) for one in session.contradictions()}
    labels = session.labels_
    for a, b, alike in certain(session):
        if (a, b) not in aside and (b, a) not in aside:
            assert (labels[a] == labels[b]) == alike


@settings(max_examples=40, deadline=None)
@given(kinds, answers(sure=(1.0,), most=14))
def test_probability_is_what_answers_say(kind, some):
    session = begin(kind, log=pairs_of(kind, some))
    for a, b, alike in certain(session):
        assert session.probability(a, b) in (0.0, 1.0)
        if not session.contradictions():
            assert session.probability(a, b) == alike
            assert session.probability(b, a) == alike


@settings(max_examples=30, deadline=None)
@given(kinds, answers(words=("same", "different"), most=14))
def test_contradictions_have_chains_that_contradict(kind, some):
    X, _ = data(kind)
    session = begin(kind, log=pairs_of(kind, some))
    equal = [(a, b, True) for a in range(len(X)) for b in range(a) if np.array_equal(X[a], X[b])]
    said = {(a, b, word == "same") for a, b, word, _ in pairs_of(kind, some)}
    for one in session.contradictions():
        assert one.against[:3] in said
        assert {told[:3] for told in one.chain} <= said
        same, different = twin.closure([told[:3] for told in one.chain] + equal, len(X))
        assert one.against[:2] in (different if one.against.same else same)
        assert one.against.name in str(one)


@settings(max_examples=30, deadline=None)
@given(kinds, answers(most=8), st.integers(0, 10**4), st.integers(0, 10**4))
def test_a_later_answer_takes_the_place_of_an_earlier_one(kind, some, a, b):
    a, b = a % KINDS[kind], b % KINDS[kind]
    if a == b:
        return
    log = [one for one in pairs_of(kind, some) if {a, b} != {one[0], one[1]}]
    for word in ("same", "different", "unknown"):
        changed = begin(kind, log=[(a, b, "different", 1.0), *log, (b, a, "same", 0.9)])
        changed.answer(word, pair=(b, a))
        straight = begin(kind, log=[*log, (b, a, word, 1.0)])
        assert changed.links == straight.links
        assert changed.labels_.tolist() == straight.labels_.tolist()
        assert len(changed.log) == len(straight.log) + 2


# Links --------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(kinds, answers(most=4), answers(most=8), answers(most=8), st.booleans())
def test_links_are_what_they_were_set_to(kind, first, some, later, mixed):
    session = begin(kind, links_of(kind, first), pairs_of(kind, some))
    links = links_of(kind, later)
    if mixed:  # some of those that were there already
        there = session.links
        links = Links(
            np.concatenate([links.must.reshape(-1, 2), there.must.reshape(-1, 2)[::2]]),
            there.cannot.reshape(-1, 2)[::2],
        )
    session.links = links
    assert session.links == links
    assert set(session.links.must_ids) == set(links.must_ids)
    # Answers that are among them are answers still; the others were given.
    given = session.to_dict()["links"]
    must = [(a, b, sure) for a, b, same, sure in given if same]
    cannot = [(a, b, sure) for a, b, same, sure in given if not same]
    straight = begin(
        kind,
        Links(
            [pair[:2] for pair in must] or None,
            [pair[:2] for pair in cannot] or None,
            must_confidence=[pair[2] for pair in must] or None,
            cannot_confidence=[pair[2] for pair in cannot] or None,
        ),
        session.log,
    )
    assert session.labels_.tolist() == straight.labels_.tolist()
    session.links = session.links
    assert session.links == links


def test_setting_links_keeps_the_log_of_what_stays():
    session = begin("plain", log=[(0, 1, "same", 1.0), (2, 3, "different", 1.0)])
    session.answer("unknown", pair=(4, 5))
    session.links = Links([(0, 1), (6, 7)])
    assert [one["word"] for one in session.log] == ["same", "unknown"]
    assert session.links == Links([(0, 1), (6, 7)])
    session.undo(0)
    assert session.links == Links([(6, 7)])
    session.links = Links()
    assert session.links == Links()


def test_a_merge_and_a_split_by_hand():
    session = begin("plain")
    session.same(0, 1, 2)
    session.different(0, 5, 9)
    assert session.links == Links([(0, 1), (1, 2)], [(0, 5), (0, 9), (5, 9)])
    labels = session.labels_
    assert labels[0] == labels[1] == labels[2]
    assert len({labels[0], labels[5], labels[9]}) == 3


def test_changed_are_the_rows_that_moved():
    session = begin("plain")
    assert session.changed.tolist() == []
    before = session.labels_
    a, b = np.flatnonzero(before == 0)[:2].tolist()
    session.answer("different", pair=(a, b))
    changed = session.changed.tolist()
    assert changed
    kept = np.setdiff1d(np.arange(len(before)), changed)
    assert same_partition(before[kept], session.labels_[kept])
    session.answer("unknown", pair=(0, 3))
    assert session.changed.tolist() == []
