"""Slips are found and mended; who makes none is hardly asked again."""

import numpy as np
import pytest
from tests.helpers import blobs, same_partition

from linkshift import Links, Session
from linkshift.active.slips import slips


def state_of(session):
    return session._memory.state(session._told)[1]


def mended(wrong_pair, word, confirm_wrongly=0):
    """Answer by three classes, but for one slip after eight answers; the session, and the truth."""
    X, y = blobs(60, 2, k=3, std=0.6, seed=2)
    session = Session(X, audit=0.0, n_jobs=1)
    for _ in range(8):
        question = session.ask()
        session.answer(bool(y[question.a] == y[question.b]))
    a, b = (int(np.flatnonzero(y == k)[i]) for k, i in wrong_pair)
    session.answer(word, pair=(a, b))
    left = confirm_wrongly
    for _ in range(25):
        question = session.ask()
        if question is None:
            break
        right = bool(y[question.a] == y[question.b])
        slip = {question.a, question.b} != {a, b} and question.purpose == "confirm" and left > 0
        left -= slip
        session.answer(right != slip)
    return session, y, (a, b)


@pytest.mark.parametrize("slips_again", [0, 1])
@pytest.mark.parametrize(
    ("pair", "word"), [(((0, 0), (1, 0)), "same"), (((0, 0), (0, 5)), "different")]
)
def test_slips_of_either_kind_are_mended(pair, word, slips_again):
    session, y, asked = mended(pair, word, slips_again)
    assert same_partition(session.labels_, y)
    said = [one["word"] for one in session.log if {one["a"], one["b"]} == set(asked)]
    aside = [{one.against.a, one.against.b} for one in session.contradictions()]
    assert said[-1] != word or set(asked) in aside


def test_who_contradicts_himself_is_asked_again_and_then_left_alone():
    X, y = blobs(60, 2, k=3, std=0.6, seed=2)
    session = Session(X, audit=0.0, n_jobs=1).run(lambda a, b: bool(y[a] == y[b]), 6)
    pair = tuple(int(np.flatnonzero(y == k)[0]) for k in (0, 1))
    words = ["same", "different", "same", "different", "same", "different"]
    for i, word in enumerate(words):
        session.answer(word, pair=pair, purpose="confirm" if i else "learn")
    assert pair not in {(one.told.a, one.told.b) for one in slips(state_of(session))}
    (told,) = [one for one in session._told if (one.a, one.b) == pair]
    assert (told.same, told.times, told.against) == (False, 3, 3)
    session.answer("same", pair=pair)  # by hand: what was said before does not count
    (told,) = [one for one in session._told if (one.a, one.b) == pair]
    assert (told.same, told.times, told.against) == (True, 1, 0)


def test_few_are_asked_again_where_all_are_right():
    X, y = blobs(300, 6, k=8, std=4.0, seed=3)  # where there is always something else to ask
    session = Session(X, n_jobs=1).run(lambda a, b: bool(y[a] == y[b]), 80)
    words = [one["purpose"] for one in session.log]
    assert words.count("confirm") <= 8


def test_whoever_slips_more_is_asked_again_more():
    X, y = blobs(300, 6, k=8, std=2.0, seed=3)
    counts, rates = [], []
    for share in (0.0, 0.15):
        rng = np.random.default_rng(0)

        def oracle(a, b, rng=rng, share=share):
            return bool((y[a] == y[b]) != (rng.uniform() < share))

        session = Session(X, n_jobs=1).run(oracle, 80)
        counts.append(sum(one["purpose"] == "confirm" for one in session.log))
        rates.append(state_of(session).rate)
    assert counts[0] < counts[1]
    assert rates[0] < 0.04 < rates[1]


def test_an_answer_takes_the_place_of_a_link_of_its_pair():
    X, _ = blobs(30, 2, seed=1)
    links = Links([(0, 1), (2, 3)])
    session = Session(X, links, n_jobs=1)
    session.answer("different", pair=(1, 0))
    assert session.links == Links([(2, 3)], [(1, 0)])
    assert session.labels_[0] != session.labels_[1]
    assert not session.contradictions()
    session.answer("unknown", pair=(0, 1))  # nobody can tell: the link was all that is known
    assert session.links == links
    session.undo()
    session.undo()
    assert session.links == links
    assert session.labels_[0] == session.labels_[1]


def test_links_of_both_kinds_are_kept_where_one_of_them_was_answered():
    X, _ = blobs(30, 2, seed=1)
    session = Session(X, n_jobs=1)
    session.answer("different", pair=(0, 1))
    both = Links([(0, 1)], [(0, 1)])
    session.links = both
    assert session.links == both
    assert len(session.contradictions()) == 1
