"""What a person meets in a session: contradictions in words, slips of the hand, many answers."""

import numpy as np
import pytest

from linkshift import Links, Session


@pytest.fixture(scope="module")
def heaps():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(c, 0.4, (30, 2)) for c in (0, 3, 6)])


def test_a_contradiction_says_who_and_what_against_it(heaps):
    session = Session(heaps, Links([(0, 1), (1, 2)], [(0, 2)]))
    (found,) = session.contradictions()
    assert str(found) == (
        "Answers contradict each other. Set aside as the least probable: rows 0 and 2 different (a "
        "link). Against it: rows 0 and 1 same (a link); rows 1 and 2 same (a link)."
    )
    again = Session.from_dict(heaps, session.to_dict())
    assert list(map(str, again.contradictions())) == [str(found)]


def test_a_contradiction_goes_by_ids_where_there_are_some(heaps):
    names = [f"n{i}" for i in range(len(heaps))]
    session = Session(heaps, ids=names)
    session.same("n0", "n1", "n2")
    session.answer("different", pair=("n0", "n2"))
    assert "probable: 'n0' and 'n2' different. Against it: 'n0' and 'n1' same" in str(
        session.contradictions()[0]
    )


@pytest.mark.slow
def test_rows_that_are_not_looked_at_may_be_unknown():
    """Of more than 2,500 rows some are not looked at, unless links name them."""
    X = np.random.default_rng(0).normal(size=(2_600, 2))
    X[:1_300] += 6
    session = Session(X)
    a, b, c = [row for row in range(len(X)) if row not in session._memory.drawn][:3]
    session.answer("unknown", pair=(a, b))
    assert session.ask() is not None
    session.answer("same", pair=(a, c), purpose="confirm")
    assert session.labels_[a] == session.labels_[c]
    session.answer("unknown", pair=(a, c), purpose="confirm")
    assert session.ask() is not None


def test_estimates_are_the_same_whether_they_were_asked_for_before(heaps):
    truth = np.repeat([0, 1, 2], 30)
    session = Session(heaps, audit=0.5)
    early = []
    for _ in range(24):
        question = session.ask()
        session.answer("same" if truth[question.a] == truth[question.b] else "different")
        early.append(session.estimate())
    assert early[-1].n_audits > 3
    assert Session.from_dict(heaps, session.to_dict()).estimate() == early[-1]
    session.undo(3)  # what was believed at later audits is another thing now
    assert Session.from_dict(heaps, session.to_dict()).estimate() == session.estimate()


def test_one_answer_is_no_plural(heaps):
    session = Session(heaps)
    session.answer("same", pair=(0, 1))
    assert session.progress().startswith("The last answer changed ")
