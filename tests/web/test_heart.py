"""Exemplars and the order from heart to edge, by the letter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers import blobs
from tests.reference import web_worker as twin

from linkshift.web import heart
from linkshift.web.heart import exemplars_of, from_heart


def spread(n=60, k=3, d=3, seed=0):
    X, y = blobs(n, d, seed=seed)
    return X, (y % k).astype(np.int32)


@given(st.integers(0, 50), st.integers(4, 16))
def test_exemplars_are_those_of_the_twin(seed, n):
    X, _ = spread(n, seed=seed)
    labels = np.zeros(n, dtype=np.int32)
    found = exemplars_of(X, labels, np.arange(n))[0]
    assert found == twin.exemplars(X, list(range(n)), 6)


def test_each_cluster_has_its_own_by_its_number():
    X, y = spread()
    labels = np.array([9, 2, 30], dtype=np.int32)[y]
    found = exemplars_of(X, labels, np.arange(0, 60, 2))
    assert sorted(found) == [2, 9, 30]
    for k, rows in found.items():
        assert len(rows) == len(set(rows)) == 6
        assert (labels[rows] == k).all()
        assert all(row % 2 == 0 for row in rows)  # of those that may be


def test_cluster_without_any_that_may_be_has_others():
    X, labels = spread()
    found = exemplars_of(X, labels, np.flatnonzero(labels == 0))
    assert (labels[found[1]] == 1).all()
    assert len(found[1]) == 6


def test_equal_rows_have_one_exemplar():
    X = np.repeat([[0.0, 0.0], [5.0, 5.0]], 4, axis=0)
    assert len(exemplars_of(X, np.zeros(8, dtype=int), np.arange(8))[0]) == 2
    assert exemplars_of(X[:4], np.zeros(4, dtype=int), np.arange(4)) == {0: [0]}


def test_exemplars_show_both_parts_and_not_what_lies_far_out():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (100, 2)), rng.normal(20, 1, (40, 2)), [[-30.0, 40.0]]])
    found = exemplars_of(X, np.zeros(141, dtype=int), np.arange(141))[0]
    assert found[0] < 100  # the heart is in the larger part
    assert any(100 <= row < 140 for row in found)
    assert found[1] != 140


def test_order_is_that_of_the_twin():
    X, labels = spread(80)
    own = exemplars_of(X, labels, np.arange(80))
    order = from_heart(X, labels, own, 1)
    assert sorted(order) == np.flatnonzero(labels == 1).tolist()
    assert order[0] == own[1][0]
    others = [some for k, some in own.items() if k != 1]
    far = [twin.edge(X, row, own[1], others) for row in order]
    assert far[1:] == pytest.approx(sorted(far[1:]), abs=1e-7)


def test_what_is_of_another_cluster_comes_last():
    X, labels = spread(90)
    wrong = np.flatnonzero(labels == 2)[:3]
    labels[wrong] = 0
    order = from_heart(X, labels, exemplars_of(X, labels, np.arange(90)), 0)
    assert set(order[-3:]) == set(wrong)


def test_only_cluster_goes_by_its_own_exemplars(monkeypatch):
    X, _ = spread(50)
    labels = np.zeros(50, dtype=np.int32)
    own = exemplars_of(X, labels, np.arange(50))
    order = from_heart(X, labels, own, 0)
    away = [np.mean(sorted(np.linalg.norm(X[row] - X[own[0]], axis=1))[:3]) for row in order]
    assert away[1:] == pytest.approx(sorted(away[1:]), abs=1e-7)
    monkeypatch.setattr(heart, "_CHUNK", 7)
    assert from_heart(X, labels, own, 0).tolist() == order.tolist()


def test_rows_far_from_the_origin_are_told_apart():
    X, labels = spread(40)
    some = exemplars_of(X, labels, np.arange(40))
    assert exemplars_of(X + 1e7, labels, np.arange(40)) == some
