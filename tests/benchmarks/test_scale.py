"""The scale suite: a tiny run, each line of it in a process of its own."""

import numpy as np
import pytest
from benchmarks.harness import Options
from benchmarks.speed import scale
from benchmarks.speed.mean_shift_pp import mean_shift_pp
from tests.helpers import same_partition


def test_a_tiny_run():
    rows = [row.cells for row in scale.run(Options(size="tiny", repeats=1))]
    assert [row["method"] for row in rows] == list(scale.PLAIN)
    ours = rows[0]
    assert ours["ARI to truth"] > 0.9
    assert ours["fidelity"] > 0.9
    assert all(row["CPU s"] > 0 and row["MB"] >= 0 for row in rows)


def test_rows_are_the_same_for_a_seed():
    (X, y), (Z, z) = (scale.gaussians(300, 4, 1) for _ in range(2))
    assert (X == Z).all()
    assert (y == z).all()
    assert X.dtype == "float32"


@pytest.mark.slow
@pytest.mark.parametrize("part", ["growth", "links", "blobs"])
def test_other_parts(monkeypatch, part):
    monkeypatch.setenv("LINKSHIFT_SCALE", part)
    rows = [row.cells for row in scale.run(Options(size="tiny", repeats=1))]
    wanted = {"growth": scale.GROWTH, "links": scale.LINKED, "blobs": scale.METHODS["blobs"]}
    assert [row["method"] for row in rows] == list(wanted[part])
    assert all(row["refused"] == "" for row in rows)


def test_the_plan(monkeypatch):
    monkeypatch.setenv("LINKSHIFT_SCALE", "plan")
    (row,) = [row.cells for row in scale.run(Options(size="tiny", repeats=1))]
    assert row["MB of a summary"] > 0
    assert all(value > 0 for name, value in row.items() if "CPU s" in name)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_mean_shift_pp_is_the_literal_one(d):
    X = np.random.default_rng(d).uniform(0, 5, size=(120, d))
    points = X.copy()
    for _ in range(100):  # every point by itself
        cell = np.floor((points - points.min(axis=0)) / 0.7)
        near = (np.abs(cell[:, None] - cell[None]) <= 1).all(axis=2)
        moved = near @ points / near.sum(axis=1, keepdims=True)
        done = np.abs(moved - points).max() < 1e-3 * 0.7
        points = moved
        if done:
            break
    cell = np.floor((points - points.min(axis=0)) / 0.7)
    expected = np.unique(cell, axis=0, return_inverse=True)[1].ravel()
    assert same_partition(mean_shift_pp(X, 0.7), expected)
