"""Sessions of few rows, of equal ones, of columns that say nothing, of rows with names."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from tests.active.sessions import all_of, ask_on
from tests.helpers import blobs, same_partition

from linkshift import Links, Session

CASES = {
    "two rows": np.array([[0.0, 1.0], [2.0, 3.0]]),
    "three rows": np.eye(3),
    "four rows": np.eye(4),
    "five rows": np.arange(10.0).reshape(5, 2),
    "two equal rows": np.ones((2, 2)),
    "all rows equal": np.ones((12, 3)),
    "two places": np.repeat([[0.0], [1.0]], 8, axis=0),
    "one column": np.arange(20.0)[:, None] ** 1.5,
    "constant columns": np.c_[np.ones(20), np.arange(20.0) % 7, np.zeros(20)],
    "huge": blobs(20, 2)[0] * 1e100,
    "tiny": blobs(20, 2)[0] * 1e-100,
    "far away": blobs(20, 2)[0] + 1e7,
    "one row far away": np.concatenate([blobs(19, 2)[0], [[1e9, 1e9]]]),
    "more columns than rows": blobs(8, 30)[0],
    "whole numbers": np.arange(24).reshape(12, 2),
}


@pytest.mark.parametrize("X", CASES.values(), ids=CASES)
def test_a_session_of_odd_rows_goes_all_the_way(X):
    n = len(X)
    y = np.arange(n) % 2
    session = Session(X, n_jobs=1)
    ask_on(session, y, 16)
    session.answer("different", pair=(0, 1))
    found = all_of(session)
    labels = np.array(found["labels"])
    assert labels.shape == (n,)
    assert labels[0] != labels[1]
    estimate = found["estimate"]
    assert np.isfinite([*estimate.precision, *estimate.recall, *estimate.ari]).all()
    again = Session.from_dict(X, json.loads(json.dumps(session.to_dict())), n_jobs=1)
    assert all_of(again) == found
    session.answer("same", pair=(0, 1))
    session.links = Links([(0, 1)])
    assert session.labels_[0] == session.labels_[1]
    assert session.probability(0, 1) == 1.0


def test_equal_rows_are_one_place_until_somebody_says_otherwise():
    X = np.repeat(blobs(15, 2)[0], 2, axis=0)
    session = Session(X, n_jobs=1)
    np.testing.assert_array_equal(session.labels_[::2], session.labels_[1::2])
    assert session.probability(0, 1) == 1.0
    session.answer("different", pair=(0, 1))
    assert session.labels_[0] != session.labels_[1]
    assert session.probability(0, 1) == 0.0
    session.answer("same", pair=(1, 4))
    session.answer("different", pair=(0, 5))
    assert session.labels_[1] == session.labels_[4]
    assert session.labels_[0] != session.labels_[5]


def test_scale_changes_nothing_much():
    X, _ = blobs(40, 2, std=0.5)
    plain = Session(X, n_jobs=1).labels_
    for scale in (1e-6, 1e6):
        assert same_partition(plain, Session(scale * X, n_jobs=1).labels_)


@pytest.mark.parametrize("ids", [[f"row {i}" for i in range(30)], list(range(100, 130)), "index"])
def test_rows_are_called_by_their_ids(ids):
    X, y = blobs(30, 2)
    names = [f"n{i}" for i in range(30)] if ids == "index" else ids
    rows = pd.DataFrame(X, index=names) if ids == "index" else X
    named = Session(rows, Links([(0, 7)]), n_jobs=1, ids=None if ids == "index" else ids)
    plain = Session(X, Links([(0, 7)]), n_jobs=1)
    for _ in range(14):
        one, other = plain.ask(), named.ask()
        assert (other.a, other.b) == (names[one.a], names[one.b])
        assert (other.why, other.at_stake, other.purpose) == (one.why, one.at_stake, one.purpose)
        for session in (plain, named):
            session.answer(bool(y[one.a] == y[one.b]))
    np.testing.assert_array_equal(plain.labels_, named.labels_)
    assert named.links.keyed_by_id
    assert named.links.resolve(names) == plain.links
    assert named.probability(names[3], names[4]) == plain.probability(3, 4)
    assert [(one["a"], one["b"]) for one in named.log] == [
        (names[one["a"]], names[one["b"]]) for one in plain.log
    ]
    named.links = named.links
    assert named.links.resolve(names) == plain.links
    kept = json.loads(json.dumps(named.to_dict()))
    again = Session.from_dict(rows, kept, n_jobs=1, ids=None if ids == "index" else ids)
    assert again.links == named.links
    np.testing.assert_array_equal(again.labels_, named.labels_)
    assert again.ask() == named.ask()


class Recorder(BaseEstimator):
    """Says what it was fitted with."""

    def fit_predict(self, X, links=None):
        Recorder.links = links
        return np.zeros(len(X), dtype=int)


def test_labels_by_another_method_have_the_links_that_hold():
    X = np.repeat(blobs(12, 2)[0], 2, axis=0)
    session = Session(X, n_jobs=1)
    assert session.labels_by(Recorder()).tolist() == [0] * 24
    assert Recorder.links is None
    session.same(0, 4, 9)
    session.answer("different", pair=(20, 23))
    session.labels_by(Recorder())
    assert Recorder.links == session.links
    session.answer("different", pair=(0, 9))
    session.labels_by(Recorder())
    (one,) = session.contradictions()
    aside = (one.against.a, one.against.b)
    left = [*Recorder.links.must.tolist(), *Recorder.links.cannot.tolist()]
    assert len(left) == 3
    assert sorted(aside) not in [sorted(pair) for pair in left]


@pytest.mark.slow
def test_more_rows_than_are_looked_at():
    X, _ = blobs(2_700, 3, std=0.7, seed=1)
    session = Session(X, n_jobs=1)
    assert len(session.labels_) == 2_700
    outside = sorted(set(range(2_700)) - session._memory.drawn)[:3]
    session.answer("different", pair=tuple(outside[:2]))
    session.answer("same", pair=(outside[0], outside[2]))
    session.answer("unknown", pair=(outside[1], outside[2]))
    labels = session.labels_
    assert labels[outside[0]] == labels[outside[2]] != labels[outside[1]]
    assert session.ask() is not None
