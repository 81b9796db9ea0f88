"""Choices: a row beside others. Nothing known is shown; answers are ordinary ones of the log."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.active.sessions import KINDS, MOST, all_of, answers, begin, closed, data, kinds, pairs_of
from tests.helpers import blobs

from linkshift import Session
from linkshift._core.messages import Refusal
from linkshift.active import Choice
from linkshift.active import memory as module
from linkshift.active.among import Clicks
from linkshift.active.log import Answer


@pytest.fixture(autouse=True, scope="module")
def few_rows_are_looked_at():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_ROWS", MOST)
        yield


def like(choice, y):
    return [one for one in choice.among if y[one] == y[choice.row]]


def choose_on(session, y, clicks, n=5):
    for _ in range(clicks):
        choice = session.ask_among(n)
        if choice is None:
            break
        session.choose(like(choice, y))
    return session


# What is shown ------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(kinds, answers(sure=(1.0,), most=10), st.integers(1, 8), st.sampled_from([0.0, 0.2, 0.9]))
def test_nothing_known_is_shown_and_nothing_twice(kind, some, n, audit):
    session, y = begin(kind, log=pairs_of(kind, some), audit=audit), data(kind)[1]
    for click in range(5):
        choice = session.ask_among(n)
        if choice is None:
            assert session.ask() is None
            return
        assert 1 <= len(choice.among) <= n
        assert len({choice.row, *choice.among}) == len(choice.among) + 1
        last = {frozenset((one["a"], one["b"])): one["word"] for one in session.log}
        unknown = {pair for pair, word in last.items() if word == "unknown"}
        same, different = closed(session)
        for one in choice.among:
            assert frozenset((choice.row, one)) not in unknown
            known = (choice.row, one) in same | different or (one, choice.row) in same | different
            assert known <= (choice.purpose == "confirm" or bool(session.contradictions()))
            if not session.contradictions():
                assert not any((one, other) in same for other in choice.among if other != one)
        assert len(choice.among) == 1 or choice.purpose == "learn"
        assert choice.at_stake >= 0
        assert choice.why.endswith(".")
        assert session.ask_among(n) == choice
        session.choose(None if click == 2 else like(choice, y))


@settings(max_examples=10, deadline=None)
@given(kinds, st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_what_nobody_knows_is_never_shown_again(kind, seed, n):
    rng, session, y = np.random.default_rng(seed), begin(kind, audit=0.3), data(kind)[1]
    unknown = set()
    for _ in range(25):
        choice = session.ask_among(n)
        if choice is None:
            break
        pairs = {frozenset((choice.row, one)) for one in choice.among}
        assert not unknown & pairs
        if rng.uniform() < 0.6:
            unknown |= pairs
            session.choose(None)
        else:
            session.choose(like(choice, y))


def test_the_most_probable_come_first():
    X, y = blobs(200, 4, seed=1)
    session = choose_on(Session(X, audit=0.0, n_jobs=1), y, 6)
    choice = session.ask_among(8)
    chances = [session.probability(choice.row, one) for one in choice.among]
    assert len(chances) > 1
    assert chances == sorted(chances, reverse=True)
    fewer = session.ask_among(2)
    assert len(fewer.among) == 2


@pytest.mark.parametrize("kind", sorted({*KINDS} - {"rounded"}))  # there equal rows differ
def test_choices_find_the_clusters(kind):
    session, y = begin(kind, audit=0.0), data(kind)[1]
    choose_on(session, y, 40)
    same, different = closed(session)
    assert all(y[a] == y[b] for a, b in same)
    assert all(y[a] != y[b] for a, b in different)
    labels = session.labels_
    together = labels[:, None] == labels[None]
    assert (together == (y[:, None] == y[None])).mean() > 0.95


# What is kept -------------------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(kinds, answers(most=4), st.integers(1, 6), st.integers(0, 100))
def test_undo_takes_one_answer_and_leaves_no_trace(kind, some, clicks, number):
    session = choose_on(begin(kind, log=pairs_of(kind, some)), data(kind)[1], clicks)
    log = list(session.log)
    number %= len(log)
    session.ask_among()
    assert session.undo(number) == log[number]
    without = begin(kind, log=log[:number] + log[number + 1 :])
    assert session.ask_among() == without.ask_among()
    assert all_of(session) == all_of(without)


@settings(max_examples=10, deadline=None)
@given(kinds, answers(most=4), st.integers(0, 14))
def test_replay_from_json_is_the_same_to_the_bit(kind, some, clicks):
    session = begin(kind, log=pairs_of(kind, some), audit=0.4, random_state=3)
    choose_on(session, data(kind)[1], clicks)
    kept = json.loads(json.dumps(session.to_dict()))
    again = Session.from_dict(data(kind)[0], kept, n_jobs=1)
    assert again.ask_among(3) == session.ask_among(3)
    assert all_of(again) == all_of(session)


def test_marked_rows_are_the_same_and_the_others_different():
    X = blobs(60, 3, seed=2)[0]
    ids = [f"r{i}" for i in range(60)]
    session = Session(X, ids=ids, n_jobs=1)
    choice = session.ask_among(3)
    assert {choice.row, *choice.among} <= set(ids)
    session.choose([choice.among[0]], 0.8)
    assert [(one["a"], one["b"]) for one in session.log] == [
        (choice.row, one) for one in choice.among
    ]
    words = ["same"] + ["different"] * (len(choice.among) - 1)
    assert [one["word"] for one in session.log] == words
    assert {(one["confidence"], one["purpose"]) for one in session.log} == {(0.8, "learn")}
    session.choose(["r9"], choice=Choice("r3", ("r7", "r9"), "", 0.0))
    assert [one["word"] for one in session.log[-2:]] == ["different", "same"]
    session.choose(None, choice=Choice("r3", ("r20", "r21"), "", 0.0))
    assert [one["word"] for one in session.log[-2:]] == ["unknown", "unknown"]


def test_a_question_of_a_choice_is_no_longer_open():
    session = begin("plain")
    question = session.ask()
    session.choose([], choice=Choice(question.b, (question.a,), "", 0.0))
    with pytest.raises(Refusal, match="No question is open"):
        session.answer("same")


REFUSED = [
    (lambda s: s.choose([]), r"Call ask_among\(\) first"),
    (lambda s: s.ask_among(0), "from 1 on"),
    (lambda s: s.ask_among(2.0), "from 1 on"),
    (lambda s: s.ask_among(True), "from 1 on"),
    (lambda s: (s.ask_among(), s.choose([10**6])), "for none of them"),
    (lambda s: (s.ask_among(), s.choose("ab")), r"\[\] for none"),
    (lambda s: (s.ask_among(), s.choose(3)), r"\[\] for none"),
    (lambda s: (s.ask_among(), s.choose([], confidence=0)), "above 0"),
    (lambda s: (s.ask_among(), s.choose([]), s.choose([])), r"Call ask_among\(\) first"),
    (lambda s: (s.ask_among(), s.choose([]), s.ask_among(), s.undo(), s.choose([])), "first"),
    (lambda s: s.choose([], choice=Choice(0, (1, 99), "", 0.0)), "from 0 to 25"),
    (lambda s: s.choose([], choice=Choice(0, (1, 0), "", 0.0)), "two different rows"),
]


@pytest.mark.parametrize(("call", "remedy"), REFUSED)
def test_what_cannot_be_is_refused_and_changes_nothing(call, remedy):
    session = begin("plain", audit=0.0)
    with pytest.raises(Refusal, match=remedy):
        call(session)
    done = "first" in remedy and len(session.log) > 0  # a choice before was answered
    assert done or not session.log


# Audits -------------------------------------------------------------------------------------------


def test_one_choice_in_five_is_an_audit(monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", 400)
    X, y = blobs(400, 4, seed=3)
    rng = np.random.default_rng(0)
    session, purposes = Session(X + rng.normal(0, 2, X.shape), n_jobs=1), []
    for _ in range(30):
        choice = session.ask_among()
        purposes.append(choice.purpose)
        session.choose(like(choice, y))
    assert [i for i, one in enumerate(purposes) if one == "audit"] == [14, 19, 24, 29]
    assert len(session.log) > 60
    assert session.estimate().n_audits == 4


def test_clicks_are_choices_not_answers():
    def log(*some):
        return [Answer(a, b, "same", 1.0, why) for a, b, why in some]

    learn, audit = "learn", "audit"
    assert Clicks.of([]) == (0, -1)
    assert Clicks.of(log((1, 2, learn), (1, 3, learn), (2, 3, learn))) == (2, -1)
    assert Clicks.of(log((1, 2, learn), (1, 2, learn))) == (2, -1)
    assert Clicks.of(log((1, 2, audit), (1, 3, learn), (1, 4, learn))) == (2, 0)
    assert Clicks.of(log((1, 2, learn), (1, 3, audit), (1, 4, learn))) == (3, 1)
