"""What is asked: nothing twice, nothing that is known, nothing that nobody could tell."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.active.sessions import KINDS, MOST, answers, ask_on, begin, closed, data, kinds, pairs_of
from tests.helpers import blobs, same_partition

from linkshift import Session
from linkshift.active import memory as module


@pytest.fixture(autouse=True, scope="module")
def few_rows_are_looked_at():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_ROWS", MOST)
        yield


@settings(max_examples=20, deadline=None)
@given(kinds, answers(sure=(1.0,), most=10), st.integers(1, 8), st.sampled_from([0.0, 0.2, 0.9]))
def test_a_batch_asks_nothing_twice_and_nothing_known(kind, some, n, audit):
    session = begin(kind, log=pairs_of(kind, some), audit=audit)
    for _ in range(3):
        batch = session.ask(n)
        assert len(batch) <= n
        pairs = [frozenset((one.a, one.b)) for one in batch]
        assert len(set(pairs)) == len(pairs)
        assert all(len(pair) == 2 for pair in pairs)
        last = {frozenset((one["a"], one["b"])): one["word"] for one in session.log}
        unknown = {pair for pair, word in last.items() if word == "unknown"}
        assert not unknown & set(pairs)
        same, different = closed(session)
        for one in batch:
            known = (one.a, one.b) in same | different
            assert known <= (one.purpose == "confirm" or bool(session.contradictions()))
            assert one.at_stake >= 0
            assert one.why.endswith(".")
        first = session.ask()
        assert (first is None) == (not batch)
        if batch:
            assert first == batch[0]
        for one in batch:
            y = data(kind)[1]
            session.answer(y[one.a] == y[one.b], pair=(one.a, one.b), purpose=one.purpose)


@settings(max_examples=12, deadline=None)
@given(kinds, st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.5]))
def test_unknown_is_never_asked_again(kind, seed, audit):
    rng = np.random.default_rng(seed)
    session = begin(kind, audit=audit)
    y = data(kind)[1]
    unknown = set()
    for _ in range(30):
        question = session.ask()
        if question is None:
            break
        pair = frozenset((question.a, question.b))
        assert pair not in unknown
        if rng.uniform() < 0.6:
            unknown.add(pair)
            session.answer("unknown")
        else:
            session.answer(bool(y[question.a] == y[question.b]))


@settings(max_examples=12, deadline=None)
@given(kinds, st.integers(0, 2**32 - 1), st.sampled_from([0.1, 0.3, 0.6]))
def test_answers_that_are_hardly_sure_are_asked_for_once(kind, seed, sure):
    # Where the model is surer of the opposite they are not taken, and yet they were given.
    rng = np.random.default_rng(seed)
    session, seen = begin(kind, audit=0.0), set()
    for _ in range(20):
        question = session.ask()
        if question is None:
            break
        pair = frozenset((question.a, question.b))
        assert question.purpose == "confirm" or pair not in seen
        seen.add(pair)
        session.answer(bool(rng.uniform() < 0.5), confidence=sure)


@pytest.mark.parametrize("seed", range(12))
def test_audits_of_a_batch_are_of_other_pairs(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.integers(5, 14)), 2))
    session = Session(X, audit=0.9, random_state=seed, n_jobs=1).run(lambda a, b: None, 10)
    pairs = [frozenset((one.a, one.b)) for one in session.ask(8)]
    assert len(set(pairs)) == len(pairs)


def test_unknown_of_rows_that_are_not_looked_at():
    session = begin("many", log=[(row, 43 - row, "unknown", 1.0) for row in range(20)])
    assert session.ask() is not None
    assert session.n_clusters_ > 0


@pytest.mark.parametrize("kind", KINDS)
def test_confirming_is_asked_once(kind):
    y = data(kind)[1]
    session = begin(kind, audit=0.0)
    confirmed = []
    for _ in range(60):
        question = session.ask()
        if question is None:
            break
        if question.purpose == "confirm":
            confirmed.append(frozenset((question.a, question.b)))
        else:
            same, different = closed(session)
            assert (question.a, question.b) not in same | different
        session.answer(bool(y[question.a] == y[question.b]))
    assert len(set(confirmed)) == len(confirmed)


def test_a_slip_is_asked_about_and_mended():
    X, y = blobs(60, 2, k=3, std=0.6, seed=2)
    session = Session(X, audit=0.0, n_jobs=1)
    for _ in range(8):
        question = session.ask()
        session.answer(bool(y[question.a] == y[question.b]))
    a, b = (int(np.flatnonzero(y == k)[0]) for k in (0, 1))
    session.answer("same", pair=(a, b))  # joins two clusters
    for _ in range(12):
        question = session.ask()
        if question is None:
            break
        session.answer(bool(y[question.a] == y[question.b]))
    asked = [one for one in session.log if {one["a"], one["b"]} == {a, b}]
    aside = [{one.against.a, one.against.b} for one in session.contradictions()]
    assert asked[-1]["word"] == "different" or {a, b} in aside
    assert same_partition(session.labels_, y)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 9])
def test_of_few_rows_every_pair_is_known_in_the_end(n):
    rng = np.random.default_rng(n)
    X, y = rng.normal(size=(n, 2)), rng.integers(0, 2, n)
    session = Session(X, n_jobs=1)
    for _ in range(n * n):
        question = session.ask()
        if question is None:
            break
        session.answer(bool(y[question.a] == y[question.b]))
    assert session.ask() is None
    assert session.ask(3) == []
    assert same_partition(session.labels_, y)
    same, different = closed(session)
    assert len(same | different) == n * n


def test_one_in_five_is_an_audit_after_the_tenth():
    X, y = blobs(80, 2, std=2.5)
    for audit, expected in ((0.2, 6), (0.0, 0), (0.5, 15)):
        session = ask_on(Session(X, audit=audit, n_jobs=1), y, 40)
        purposes = [one["purpose"] for one in session.log]
        assert "audit" not in purposes[:10]
        # Fewer: a pair that is drawn may be known already.
        assert expected / 2 <= purposes.count("audit") <= expected
        said = [one for one in session.log if one["purpose"] == "audit"]
        n_unknown = sum(one["word"] == "unknown" for one in said)
        assert session.estimate().n_audits <= len(said) - n_unknown


def test_answers_find_the_question_they_are_to():
    session = begin("plain")
    first, *_, last = session.ask(3)
    session.answer("same", pair=(last.b, last.a))
    assert session.log[-1]["purpose"] == last.purpose
    session.answer("different")  # the first is still open
    assert {session.log[-1]["a"], session.log[-1]["b"]} == {first.a, first.b}


def test_run_asks_an_oracle_until_its_budget_or_the_end():
    X, y = blobs(40, 2)
    asked = []

    def oracle(a, b):
        asked.append((a, b))
        return None if len(asked) % 5 == 0 else y[a] == y[b]

    session = Session(X, n_jobs=1).run(oracle, 20)
    assert [(one["a"], one["b"]) for one in session.log] == asked
    assert len(asked) == 20
    by_hand = Session(X, n_jobs=1)
    for i in range(1, 21):
        question = by_hand.ask()
        by_hand.answer("unknown" if i % 5 == 0 else bool(y[question.a] == y[question.b]))
    assert by_hand.log == session.log
    assert session.run(oracle, 0).log == by_hand.log


def test_progress_is_in_words():
    session = begin("plain")
    assert session.progress().startswith("Further 25 are expected to move ")
    ask_on(session, data("plain")[1], 3)
    assert session.progress().startswith("The last 3 answers changed ")
    assert session.progress().count("%") == 2
