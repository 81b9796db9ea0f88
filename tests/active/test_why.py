"""Why a row is where it is: what holds it, what is next, and what if, where that is known."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.active.sessions import MOST, answers, begin, kinds, pairs_of

from linkshift import Session
from linkshift._core.messages import Refusal
from linkshift.active import memory as module
from linkshift.explain.counterfactuals import where_it_goes


@pytest.fixture(autouse=True, scope="module")
def few_rows_are_looked_at():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_ROWS", MOST)
        yield


def heaps(n=20, k=3, d=3):
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(6 * c, 0.5, (n, d)) for c in range(k)]), np.repeat(
        range(k), n
    )


@pytest.fixture
def two():
    """Two heaps, few enough to be looked at."""
    return heaps(12, 2)[0]


# What holds it ------------------------------------------------------------------------------------


def test_row_that_nobody_was_asked_about(two):
    why = Session(two).explain(3)
    assert (why.row, why.cluster, why.size) == (3, 0, 12)
    assert (why.same, why.nearest, why.roles, why.cases) == ((), None, (), ())
    assert str(why).startswith("Row 3 is in cluster 0, with 11 others.\nNo answer names it")


def test_chain_of_answers_is_told_with_what_is_the_same(two):
    session = Session(two)
    session.same(3, 5, 8, 20)
    why = session.explain(3)
    assert why.same == (5, 8, 20)
    own, *through = why.roles
    assert (own.a, own.b, own.word, own.acts, own.chain, own.holds) == (3, 5, "same", "own", (), 1)
    assert [(one.a, one.b, one.acts, one.chain) for one in through] == [
        (5, 8, "component", (3, 5)),
        (8, 20, "component", (3, 5, 8)),
    ]
    assert "Answers say that it is the same as rows 5, 8 and 20." in str(why)


def test_row_goes_with_the_named_row_by_its_belief(two):
    session = Session(two)
    session.same(3, 5)
    why = session.explain(7)
    assert why.nearest in (3, 5)
    assert why.belief == pytest.approx(session.probability(7, why.nearest))
    assert [(one.a, one.b, one.acts) for one in why.roles] == [(3, 5, "near")]
    assert f"It goes with row {why.nearest}, which answers name: {why.belief:.0%}" in str(why)


def test_next_cluster_is_told_but_not_one_that_answers_hold_apart(two):
    session = Session(two)
    session.same(3, 5)
    session.same(14, 16)
    why = session.explain(7)
    if why.other is not None:
        k, probability, row = why.other
        assert k == session.labels_[row] != why.cluster
        assert probability == pytest.approx(session.probability(7, row))
    session.different(7, 14)
    assert session.explain(7).other is None
    assert "No other cluster is near." in str(session.explain(7))


def test_answer_that_was_set_aside_is_told(two):
    session = Session(two)
    session.same(1, 2, 3)
    session.different(1, 3)
    aside = session.contradictions()[0].against
    roles = {(one.a, one.b, one.word): one.acts for one in session.explain(1).roles}
    assert roles[aside.a, aside.b, "same" if aside.same else "different"] == "aside"


def test_answer_of_less_confidence_is_told_with_it(two):
    session = Session(two)
    session.answer("same", 0.8, pair=(0, 1))
    assert "(0, 1) same of confidence 0.8: its own; holds" in str(session.explain(0))


# What if ------------------------------------------------------------------------------------------


def test_without_the_answer_that_joined_two_heaps_they_part(two):
    session = Session(two)
    session.same(2, 14)
    why = session.explain(2)
    assert (why.cluster, why.size) == (0, 24)
    (case,) = why.cases
    assert case.role.a == 2
    assert case.size == 12
    assert case.outcome in ("new", "stays", "parts")
    session = Session(heaps(12, 2)[0][:20])  # the second heap is smaller: the first lives on
    session.same(2, 14)
    (case,) = session.explain(14).cases
    assert (case.outcome, case.size) == ("new", 8)
    assert "without (2, 14) same it becomes part of a new cluster, with 7 others" in str(
        session.explain(14)
    )


def test_without_an_answer_that_another_stands_in_for_it_stays(two):
    session = Session(two)
    session.same(2, 14)
    session.same(2, 15)
    session.same(14, 15)
    why = session.explain(2)
    assert {case.outcome for case in why.cases} == {"stays"}
    assert (
        str(why)
        .splitlines()[-2 if why.sure else -1]
        .startswith("  without any one of these it stays in cluster 0: ")
    )


def test_without_the_answer_that_took_it_out_it_joins(two):
    session = Session(two)
    session.different(2, 5)
    alone = session.explain(2)
    without = session.labels_.copy()
    session.undo()
    then = session.labels_
    (case,) = alone.cases
    assert (case.outcome, case.clusters) == where_it_goes(2, without, then)


@settings(max_examples=25, deadline=None)
@given(kinds, answers(most=6), st.integers(0, 100))
def test_cases_are_those_of_a_session_without_the_answer(kind, some, row):
    session = begin(kind, log=pairs_of(kind, some))
    row %= len(session.labels_)
    before, log = session.to_dict(), session.labels_.copy()
    why = session.explain(row)
    assert session.to_dict() == before
    assert np.array_equal(session.labels_, log)
    assert len(why.cases) == min(len(why.roles), 8)
    for case in why.cases:
        if case.outcome == "unknown":
            continue
        pair = {case.role.a, case.role.b}
        other = begin(kind, log=[one for one in session.log if {one["a"], one["b"]} != pair])
        then = other.labels_
        assert case.size == (then == then[row]).sum()
        outcome, clusters = where_it_goes(row, session.labels_, then)
        assert case.clusters == clusters
        assert case.outcome == outcome or (case.outcome, outcome) == ("parts", "stays")


@settings(max_examples=25, deadline=None)
@given(kinds, answers(most=8), st.integers(0, 100))
def test_what_is_told_of_any_row_is_so(kind, some, row):
    session = begin(kind, log=pairs_of(kind, some))
    labels = session.labels_
    row %= len(labels)
    why = session.explain(row, max_what_ifs=0)
    assert why.cases == ()
    assert (why.row, why.cluster) == (row, labels[row])
    assert why.size == (labels == labels[row]).sum()
    assert why.path[0] == row
    assert len(set(why.path)) == len(why.path)
    assert (labels[list(why.path)] == why.cluster).all()
    named = {one[end] for one in session.log for end in ("a", "b")}
    assert why.nearest is None or why.nearest in named
    assert set(why.same) <= named - {row}
    assert (why.other is None) or (labels[why.other[2]] == why.other[0] != why.cluster)
    for role in why.roles:
        assert role.holds == ((labels[role.a] == labels[role.b]) == (role.word == "same"))
        if role.acts == "own":
            assert row in (role.a, role.b)
        if role.acts == "component":
            assert role.chain[0] == row
            assert role.chain[-1] in (role.a, role.b)
            assert set(role.chain[1:]) <= set(why.same)
    json.dumps(why.to_dict())
    assert str(why)
    assert repr(why)


def test_most_of_the_cases_and_who_is_told_of_them(two):
    session = Session(two)
    session.same(*range(12))
    heard = []
    why = session.explain(0, max_what_ifs=3, progress=lambda done, of: heard.append((done, of)))
    assert (len(why.roles), len(why.cases)) == (11, 3)
    assert heard == [(0, 3), (1, 3), (2, 3)]
    assert "  and 3 more" in str(why)
    for wrong in (-1, 1.5, True, "3"):
        with pytest.raises(Refusal, match="max_what_ifs"):
            session.explain(0, max_what_ifs=wrong)


# Names and numbers --------------------------------------------------------------------------------


def test_rows_are_called_by_their_ids(two):
    ids = [f"r{i}" for i in range(24)]
    session = Session(two, ids=ids)
    session.same("r3", "r5", "r20")
    why = session.explain("r3")
    text = str(why)
    assert text.startswith("Row r3 is in cluster 0, with 23 others.\n")
    assert "rows r5 and r20" in text
    assert "(r5, r20) same: through the same r3 - r5" in text
    found = why.to_dict()
    assert found["row"] == 3
    assert found["ids"] == {str(row): f"r{row}" for row in why.mentioned()}
    with pytest.raises(Refusal, match="No row has the id"):
        session.explain(3)
    plain = Session(two)
    plain.same(3, 5, 20)
    assert str(plain.explain(3).called(ids)) == text


def test_clusters_are_called_by_other_numbers(two):
    session = Session(two[:20])
    session.same(14, 2)
    why = session.explain(14).renumbered(np.array([7, 8]))
    assert why.cluster == 7
    assert str(why).startswith("Row 14 is in cluster 7")
    session.undo()
    other = session.explain(14).renumbered(np.array([7, 8]))
    assert other.cluster == 8
    assert other.other is None or other.other[0] == 7


def test_row_that_was_not_looked_at_goes_by_its_nearest():
    X, _ = heaps(30)
    session = Session(X)
    row = next(i for i in range(90) if i not in session._memory.drawn)
    why = session.explain(row)
    mine, of = why.voters
    assert 0 < mine <= of
    assert f"{mine} of the {of} nearest rows" in str(why)
    assert str(session.explain(row)) == str(Session(X).explain(row))
    session.same(row, 0 if row else 1)
    assert session.explain(row).voters is None  # by now it is
    assert [case.outcome for case in session.explain(row).cases] == ["unknown"]


def test_text_is_html_in_a_notebook():
    session = Session(heaps(12, 2)[0], ids=["<b>x</b>", *range(1, 24)])
    session.same("<b>x</b>", 5)
    html = session.explain("<b>x</b>")._repr_html_()
    assert "<b>x</b>" not in html
    assert "&lt;b&gt;x&lt;/b&gt;" in html
