"""What a session refuses, each time with what to do instead, and what it takes for an answer."""

import numpy as np
import pandas as pd
import pytest
from tests.helpers import blobs

from linkshift import Links, Session
from linkshift._core.messages import Refusal
from linkshift.active.checks import checked_ids, checked_seed, checked_share
from linkshift.active.log import Answer, as_links, read_answer, told_of, word_of

X = blobs(12)[0]


def session(**more):
    return Session(X, **more)


def asked():
    found = session()
    found.ask()
    return found


REFUSED = [
    (lambda: session(ids=["a", "b"]), "an id for each row"),
    (lambda: session(ids=[0, 1] * 6), "an id of its own"),
    (lambda: session(audit=1.0), "0 to less than 1"),
    (lambda: session(audit=-0.1), "0 to less than 1"),
    (lambda: session(audit=True), "0 to less than 1"),
    (lambda: session(audit="0.2"), "0 to less than 1"),
    (lambda: session(audit=float("nan")), "0 to less than 1"),
    (lambda: session(n_jobs="many"), "whole number of threads"),
    (lambda: session(n_jobs=1.5), "whole number of threads"),
    (lambda: session(n_jobs=True), "whole number of threads"),
    (lambda: session(n_jobs=0), "whole number of threads"),
    (lambda: session(random_state=None), "whole number"),
    (lambda: session(random_state=-1), "whole number"),
    (lambda: session(random_state=0.5), "whole number"),
    (lambda: session(random_state=np.random.default_rng(0)), "whole number"),
    (lambda: session(links=Links([("a", "b")])), r"ids=\.\.\."),
    (lambda: session(links=Links([(0, 12)])), "12"),
    (lambda: session(links=Links.apart_within([0] * 6 + [1] * 6)), "Give pairs"),
    (lambda: session(ids=list("abcdefghijkl"), links=Links([("a", "z")])), "z"),
    (lambda: asked().answer("maybe"), '"same", "different" or "unknown"'),
    (lambda: asked().answer(1), "True, False, None"),
    (lambda: asked().answer("same", confidence=0), "above 0"),
    (lambda: asked().answer("same", confidence=1.5), "above 0"),
    (lambda: asked().answer("same", confidence="high"), "above 0"),
    (lambda: asked().answer("same", confidence=True), "above 0"),
    (lambda: asked().answer("same", confidence=float("nan")), "above 0"),
    (lambda: asked().answer("same", purpose="fun"), "learn, audit, confirm"),
    (lambda: session().answer("same"), r"ask\(\)"),
    (lambda: session().answer("same", pair=(3, 3)), "two different rows"),
    (lambda: session().answer("same", pair=(0, 12)), "from 0 to 11"),
    (lambda: session().answer("same", pair=(-1, 2)), "from 0 to 11"),
    (lambda: session().answer("same", pair=(0.0, 2)), "from 0 to 11"),
    (lambda: session().answer("same", pair=(True, 2)), "from 0 to 11"),
    (lambda: session().answer("same", pair=(1, 2, 3)), "Name two rows"),
    (lambda: session().answer("same", pair="ab"), "Name two rows"),
    (lambda: session(ids=list("abcdefghijkl")).answer("same", pair=("a", "z")), "such as 'a'"),
    (lambda: session(ids=list("abcdefghijkl")).answer("same", pair=(0, 1)), "such as 'a'"),
    (lambda: session().probability(0, 12), "from 0 to 11"),
    (lambda: session().undo(), "numbered from 0"),
    (lambda: session().undo(0), "numbered from 0"),
    (lambda: session().undo("1"), "numbered from 0"),
    (lambda: asked().undo(1.0), "numbered from 0"),
    (lambda: session(ids=[["a"]] * 12), "texts, numbers or tuples"),
    (lambda: session(ids=list("abcdefghijkl")).answer("same", pair=("a", ["b"])), "such as 'a'"),
    (lambda: session().answer("same", pair=3), "Name two rows"),
    (lambda: session().run(lambda a, b: True, -1), "whole number of questions"),
    (lambda: session().run(lambda a, b: True, 2.5), "whole number of questions"),
    (lambda: session().ask(0), "from 1 on"),
    (lambda: session().ask(2.0), "from 1 on"),
    (lambda: session().ask(True), "from 1 on"),
    (lambda: Session.from_dict(X, {**session().to_dict(), "version": 2}), "newer linkshift"),
    (lambda: Session.from_dict(X[:6], session().to_dict()), "the data that it was of"),
]


@pytest.mark.parametrize(("call", "remedy"), REFUSED)
def test_what_cannot_be_is_refused_with_the_remedy(call, remedy):
    with pytest.raises(Exception, match=remedy) as found:
        call()
    assert isinstance(found.value, (ValueError, TypeError))


@pytest.mark.parametrize("bad", [X[:1], X[:, 0], X * np.nan, [["a", "b"]] * 3])
def test_rows_that_are_none_are_refused(bad):
    with pytest.raises(ValueError):
        Session(bad)


def test_a_refused_answer_leaves_the_question_open():
    found = asked()
    with pytest.raises(Refusal):
        found.answer("maybe")
    with pytest.raises(Refusal):
        found.answer("same", confidence=2)
    assert found.log == ()
    found.answer("different")
    assert len(found.log) == 1


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("same", "same"),
        (" S ", "same"),
        ("must", "same"),
        (True, "same"),
        (np.True_, "same"),
        ("Different", "different"),
        ("d", "different"),
        ("cannot", "different"),
        (False, "different"),
        ("u", "unknown"),
        ("unknown", "unknown"),
        (None, "unknown"),
    ],
)
def test_answers_are_words_letters_and_truths(said, word):
    assert word_of(said) == word


def test_ids_come_from_the_index_unless_it_counts_the_rows():
    rows = np.zeros((3, 2))
    assert checked_ids(None, rows, 3) is None
    assert checked_ids(None, [[0, 0]] * 3, 3) is None  # lists have a method of that name
    assert checked_ids(None, pd.DataFrame(rows), 3) is None
    assert checked_ids(None, pd.DataFrame(rows, index=[5, 6, 7]), 3) == [5, 6, 7]
    assert checked_ids("xyz", pd.DataFrame(rows, index=[5, 6, 7]), 3) == ["x", "y", "z"]
    found = checked_ids(np.array([4, 5, 6]), rows, 3)
    assert [type(name) for name in found] == [int] * 3  # as JSON has them
    with pytest.raises(Refusal, match="5 stands twice"):
        checked_ids(None, pd.DataFrame(rows, index=[5, 6, 5]), 3)


def test_numbers_of_numpy_are_numbers():
    assert checked_seed(np.int64(7)) == 7
    assert checked_share(0) == 0.0
    found = session()
    found.answer(np.True_, confidence=np.float32(0.5), pair=np.array([0, 1]))
    assert found.log[0] == {
        "a": 0,
        "b": 1,
        "word": "same",
        "confidence": 0.5,
        "purpose": "learn",
    }


def test_the_last_answer_to_a_pair_counts_and_stands_where_it_was_said():
    log = [
        read_answer(0, 1, "same", 1.0, "learn"),
        read_answer(2, 3, "different", 0.5, "learn"),
        read_answer(1, 0, "different", 1.0, "confirm"),
        read_answer(4, 5, "same", 1.0, "learn"),
        read_answer(5, 4, "unknown", 1.0, "learn"),
    ]
    told = told_of(log, None)
    assert [(one.a, one.b, one.same, one.confidence) for one in told] == [
        (2, 3, False, 0.5),
        (1, 0, False, 1.0),
    ]
    assert as_links(told, None) == Links(None, [(2, 3), (1, 0)], cannot_confidence=[0.5, 1.0])
    names = list("uvwxyz")
    assert as_links(told, names).cannot_ids == (("w", "x"), ("v", "u"))
    assert told_of(log, names)[0].name == "'w' and 'x' different"
    assert Answer(3, 1, "same").pair == (1, 3)


def test_what_confirms_an_answer_is_counted_with_it():
    words = [("same", "audit"), ("different", "confirm"), ("unknown", "confirm")]
    words += [("same", "confirm"), ("same", "confirm"), ("different", "learn")]
    counts = []
    for n in range(1, len(words) + 1):
        log = [read_answer(0, 1, word, 1.0, purpose) for word, purpose in words[:n]]
        counts.append([(one.same, one.times, one.against, one.audit) for one in told_of(log, None)])
    assert counts == [
        [(True, 1, 0, True)],
        [(False, 1, 1, True)],
        [],
        [(True, 2, 1, True)],
        [(True, 3, 1, True)],
        [(False, 1, 0, False)],  # not to confirm: by hand
    ]
