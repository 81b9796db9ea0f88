"""Cells: the nearest rows, exactly, whatever the rows and the centres are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.neighbours import nearest

from linkshift.shift import cells as module
from linkshift.shift import neighbours
from linkshift.shift.cells import cells_of, nearest_by_cells, share_measured
from linkshift.shift.neighbours import nearest_neighbours


def _mixture(rng, n, d):
    return rng.normal(size=(5, d))[rng.integers(5, size=n)] * 4 + rng.normal(size=(n, d))


def _far(rng, n, d):
    rows = rng.normal(size=(n, d))
    rows[: n // 20] *= 1e6
    return rows


def _half_equal(rng, n, d):
    rows = rng.normal(size=(n, d))
    rows[::2] = rows[0]
    return rows


KINDS = {
    "mixture": _mixture,
    "lattice": lambda rng, n, d: rng.integers(0, 4, size=(n, d)).astype(float),
    "bits": lambda rng, n, d: rng.integers(0, 2, size=(n, d)).astype(float),
    "duplicates": lambda rng, n, d: _mixture(rng, n, d)[rng.integers(n // 5, size=n)],
    "half of them equal": _half_equal,
    "all equal": lambda rng, n, d: np.full((n, d), 0.3),
    "far rows": _far,
    "constant columns": lambda rng, n, d: rng.normal(size=(n, d)) * (np.arange(d) == 0) + 7.0,
    "jitter": lambda rng, n, d: (
        np.repeat(rng.normal(size=(n // 10, d)), 10, axis=0) + 1e-9 * rng.normal(size=(n, d))
    ),
    "far from the origin": lambda rng, n, d: 1e-3 * rng.normal(size=(n, d)) + 1e8,
    "tiny": lambda rng, n, d: 1e-200 * rng.normal(size=(n, d)),
    "large": lambda rng, n, d: 1e120 * rng.normal(size=(n, d)),
}


def _agree(found, expected):
    distance, index = found
    near, rows = expected
    np.testing.assert_allclose(distance, near, rtol=1e-14)
    # Multiply-adds that are fused may break a tie of rounded numbers, never one of whole ones.
    same = index == rows
    np.testing.assert_allclose(distance[~same], near[~same], rtol=1e-14)
    assert same.mean() > 0.99
    assert all(len(set(row)) == len(row) for row in index)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 25), st.integers(1, 20))
def test_nearest_rows_are_those_of_brute_force(kind, seed, d, k, n_centres):
    rng = np.random.default_rng(seed)
    rows = KINDS[kind](rng, 300, d)
    cells = cells_of(rows, rows[rng.integers(300, size=n_centres)])
    _agree(nearest_by_cells(cells, k), nearest(rows, k))
    asked = np.concatenate([rows[:20], KINDS[kind](rng, 40, d)])
    _agree(nearest_by_cells(cells, k, asked), nearest(rows, k, asked))


@pytest.mark.parametrize("kind", ["lattice", "bits", "duplicates", "all equal"])
def test_of_equally_near_rows_the_first(kind):
    rows = KINDS[kind](np.random.default_rng(0), 600, 3)
    _, index = nearest_by_cells(cells_of(rows, rows[:15]), 10)
    np.testing.assert_array_equal(index, nearest(rows, 10)[1])


def test_centres_without_rows_and_all_neighbours():
    rows = np.random.default_rng(0).normal(size=(30, 2))
    cells = cells_of(rows, np.concatenate([rows[:3], [[1e9, 0.0]]]))
    assert len(cells.centres) == 3
    _agree(nearest_by_cells(cells, 29), nearest(rows, 29))
    assert share_measured(cells, 30, rows) == 1.0


@pytest.mark.parametrize("d", [4, 20])
@pytest.mark.parametrize("own", [True, False])
def test_many_rows_have_the_neighbours_that_fewer_would_have(monkeypatch, d, own):
    rng = np.random.default_rng(d)
    rows = _mixture(rng, 1500, d)
    X = None if own else rows[:1200] + 0.3 * rng.normal(size=(1200, d))
    before = nearest_neighbours(rows, 20, X)
    asked = []
    monkeypatch.setattr(neighbours, "MANY", 1000)
    monkeypatch.setattr(
        neighbours, "nearest_by_cells", lambda *a: asked.append(a) or nearest_by_cells(*a)
    )
    after = nearest_neighbours(rows, 20, X)
    assert len(asked) == 1
    np.testing.assert_allclose(after[0], before[0], rtol=1e-12)
    np.testing.assert_array_equal(after[1], before[1])


def test_rows_without_clusters_in_many_columns_are_left_to_inner_products(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(1500, 40))
    before = nearest_neighbours(rows, 5)
    monkeypatch.setattr(neighbours, "MANY", 1000)
    monkeypatch.setattr(neighbours, "nearest_by_cells", None)
    for one, other in zip(before, nearest_neighbours(rows, 5), strict=True):
        np.testing.assert_array_equal(one, other)


def test_any_number_of_threads(monkeypatch):
    rows = _mixture(np.random.default_rng(0), 3000, 6).round(1)
    cells = cells_of(rows, rows[::60])
    found = []
    for count in (1, 2, 5):
        monkeypatch.setattr(module, "n_threads", lambda _, count=count: count)
        found.append(nearest_by_cells(cells, 12))
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, same)


@pytest.mark.slow
@pytest.mark.parametrize("d", [10, 64])
def test_up_to_the_stated_size_nothing_is_new(monkeypatch, d):
    rows = _mixture(np.random.default_rng(0), neighbours.MANY, d)
    monkeypatch.setattr(neighbours, "cells_of", None)
    nearest_neighbours(rows, 3)
