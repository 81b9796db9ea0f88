"""The map: columns as they are, principal components, and neighbours near each other."""

import subprocess
import sys

import numpy as np
import pytest
from tests.helpers import blobs
from tests.reference import web_worker as twin

from linkshift.web import places
from linkshift.web.places import is_worth, neighbourly, plane


def test_two_columns_are_shown_as_they_are():
    X = np.random.default_rng(0).normal(size=(30, 2))
    assert np.array_equal(plane(X), X.astype(np.float32))
    assert not is_worth(X)


def test_one_column_is_a_band():
    X = np.random.default_rng(0).normal(size=(30, 1)) * 100
    found = plane(X)
    assert np.array_equal(found[:, 0], X[:, 0].astype(np.float32))
    assert 0 < np.ptp(found[:, 1]) <= 0.2 * np.ptp(X) * 1.0001
    assert np.isfinite(plane(np.zeros((4, 1)))).all()


def test_more_columns_by_their_principal_components():
    X = np.random.default_rng(0).normal(size=(200, 5)) * [9, 5, 1, 1, 1]
    found = plane(X)
    assert found.dtype == np.float32
    assert np.allclose(np.abs(np.corrcoef(found[:, 0], X[:, 0])[0, 1]), 1, atol=0.05)
    assert np.array_equal(found, plane(X))


def test_others_are_placed_by_the_nearest_by_the_letter(monkeypatch):
    monkeypatch.setattr(places, "_JITTER", 0.0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    X[30] = X[3]  # equal to one that is drawn
    first, drawn = np.arange(0, 20), rng.normal(size=(20, 2))
    found = places._among(X, first, drawn)
    assert np.allclose(found[:20], drawn, atol=1e-6)
    for row in range(20, 40):
        assert found[row] == pytest.approx(twin.placed(X, row, first.tolist(), drawn, 3), abs=1e-4)


def test_jitter_is_small_and_the_same_each_time():
    rng = np.random.default_rng(0)
    X, drawn = rng.normal(size=(60, 4)), rng.normal(size=(20, 2))
    X[20:] = X[5]
    found = places._among(X, np.arange(20), drawn)
    assert np.array_equal(found, places._among(X, np.arange(20), drawn))
    away = np.linalg.norm(found[20:] - drawn[5], axis=1)
    assert 0 < away.max() <= 0.004 * np.ptp(drawn, axis=0).max() * 1.001
    assert len(np.unique(found[20:], axis=0)) == 40


def test_neighbours_are_near_each_other():
    X, y = blobs(160, 6, seed=1)
    looked = np.arange(0, 160, 2)
    found = neighbourly(X, looked)
    assert found.shape == (160, 2)
    assert np.isfinite(found).all()
    assert np.array_equal(found, neighbourly(X.astype(np.float64), looked))
    away = np.linalg.norm(found[:, None] - found[None], axis=2)
    np.fill_diagonal(away, np.inf)
    assert (y[away.argmin(axis=1)] == y).mean() > 0.95


def test_few_different_rows_are_shown_by_components():
    X = np.repeat(np.eye(4), 5, axis=0)
    assert np.array_equal(neighbourly(X, np.arange(20)), plane(X))


def test_process_ends_when_nobody_listens():
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "linkshift.web.places"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    process.stdin.close()
    assert process.wait(60) == 0
    assert process.stdout.read() == b""
    process.stdout.close()
