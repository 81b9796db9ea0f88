"""Choices of the benchmark: what is marked, what it counts, and what can be reached at all."""

import numpy as np
import pytest
from benchmarks.active import reach
from benchmarks.active.methods import METHODS
from benchmarks.active.oracle import Case, Oracle
from benchmarks.harness import Options
from sklearn.metrics import adjusted_rand_score

Y = np.array([0, 0, 1, 1, 2, 0])


def test_right_answers_mark_what_is_like_the_row():
    oracle = Oracle(Y)
    assert oracle.which(0, (1, 2, 5)) == [1, 5]
    assert oracle.which(4, (1, 2)) == []
    assert oracle.which(0, (1,)) == [1]
    assert oracle.which(0, (2,)) == []
    assert (len(oracle.asked), oracle.shown) == (4, 4 + 3 + 2 + 2)
    with pytest.raises(ValueError, match="stands twice"):
        oracle.which(0, (0, 2))
    with pytest.raises(ValueError, match="stands twice"):
        oracle.which(0, (2, 2))


def test_slips_and_what_nobody_knows():
    y = np.arange(300) % 3
    always = [Oracle(y, Case(wrong=1.0), seed).which(0, (3, 1, 2)) for seed in range(60)]
    assert all(said in ([], [1], [2]) for said in always)
    assert 15 < sum(said == [] for said in always) < 45
    assert all(len(Oracle(y, Case(wrong=1.0), seed).which(0, (1, 2, 4))) == 1 for seed in range(20))
    assert Oracle(y, Case(unknown=1.0)).which(0, (1, 2)) is None
    seldom = [
        Oracle(y, Case(wrong=0.2)).which(row, (row + 1, row + 3, row + 5)) for row in range(250)
    ]
    right = sum(said == [row + 3] for row, said in enumerate(seldom))
    assert 175 <= right <= 225
    again = Oracle(y, Case(wrong=0.2))
    assert [again.which(row, (row + 1, row + 3, row + 5)) for row in range(250)] == seldom


def test_a_session_of_choices_counts_clicks():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(6), 20)
    X = 3 * np.stack([y % 3, y // 3], axis=1) + rng.normal(size=(120, 2))
    oracle = Oracle(y)
    found = METHODS["session + one of five"].run(X, oracle, (0, 10, 20), 0)
    assert set(found) == {0, 10, 20}
    assert len(oracle.asked) == 20
    assert sum(oracle.purposes.values()) == 20
    assert oracle.purposes["audit"] == 2
    assert 60 < oracle.shown <= 120
    assert adjusted_rand_score(y, found[20]) > adjusted_rand_score(y, found[0])


def test_what_can_be_reached(monkeypatch):
    (row, mean) = reach.run(Options(size="tiny"))
    assert (row.cells["set"], row.cells["half"]) == ("moons", "seen")
    assert row.cells["hearts"] == 1.0  # of 80 rows each is a piece
    assert row.cells["100 classes"] == 1.0
    assert row.cells["20 classes"] > 0.5
    assert 0.5 < row.cells["AUC before"] < row.cells["AUC told"] <= 1
    assert mean.cells["hearts"] == 1.0
    monkeypatch.setattr(reach, "is_here", lambda name: False)
    assert list(reach.run(Options(size="tiny"))) == []
