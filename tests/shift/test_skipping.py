"""Starts that do not climb: near another's path, or near its end."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers import blobs
from tests.reference import mean_shift as twin

from linkshift.profiles import Profile
from linkshift.shift.density import build_density
from linkshift.shift.engine import ascend
from linkshift.shift.skipping import ascend_skipping, spread_order

X, _ = blobs(150, k=3, std=1.0, seed=1)


def density(X, h=1.0, kernel="gaussian"):
    return build_density(X, h, Profile(kernel))


@pytest.mark.parametrize("kernel", ["gaussian", "flat"])
@pytest.mark.parametrize(("end", "path"), [(1.0, 0.0), (0.0, 0.25), (0.8, 0.3)])
def test_ends_are_those_of_the_twin(kernel, end, path):
    found = ascend_skipping(density(X, 1.5, kernel), X, end_radius=end, path_radius=path)
    expected = twin.ascend_skipping(X, 1.5, X, spread_order(X), kernel, end, path, first=150 // 8)
    np.testing.assert_allclose(found.ends, expected, atol=1e-2)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000), st.floats(0.0, 2.0), st.floats(0.0, 1.0), st.integers(1, 3))
def test_every_end_is_that_of_a_start_that_climbs(seed, end, path, n_threads):
    rows = np.random.default_rng(seed).normal(size=(120, 2))
    one, plain = density(rows, 0.7), ascend(density(rows, 0.7), rows)
    options = {"end_radius": end, "path_radius": path, "keep_paths": True}
    found = ascend_skipping(one, rows, n_threads=n_threads, **options)
    again = ascend_skipping(one, rows, n_threads=1, **options)
    np.testing.assert_array_equal(found.ends, again.ends)
    climbed = np.array(
        [
            not np.array_equal(p, [x, e])
            for p, x, e in zip(found.paths, rows, found.ends, strict=True)
        ]
    )
    np.testing.assert_array_equal(found.ends[climbed], plain.ends[climbed])
    kept = {tuple(row) for row in plain.ends.tolist()}
    assert all(tuple(row) in kept for row in found.ends.tolist())
    assert all(
        (p[0] == x).all() and (p[-1] == e).all()
        for p, x, e in zip(found.paths, rows, found.ends, strict=True)
    )


def test_without_radii_all_climb():
    found, plain = ascend_skipping(density(X), X), ascend(density(X), X)
    np.testing.assert_array_equal(found.ends, plain.ends)


def test_an_end_takes_what_is_near():
    rows = np.concatenate([X, X + 1e-9, X - 1e-9])
    calls = []
    found = ascend_skipping(
        density(rows), rows, path_radius=1e-6, keep_paths=True, progress=lambda *c: calls.append(c)
    )
    assert sum(len(path) > 2 for path in found.paths) <= 450
    assert calls[-1] == (450, 450)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


def test_starts_that_see_nothing_take_nobody_in():
    starts = np.array([[0.0, 900.0], [0.0, 900.1], *X[:20]])
    found = ascend_skipping(density(X, 1.0, "flat"), starts, end_radius=1.0, path_radius=1.0)
    np.testing.assert_array_equal(found.ends[:2], starts[:2])
    assert (found.total[:2] == 0).all()


def test_the_first_starts_are_spread():
    line = np.random.default_rng(0).permutation(1000.0 * np.arange(1000))[:, None]
    order = spread_order(line)
    assert sorted(order.tolist()) == list(range(1000))
    first = np.sort(line[order[:8], 0])
    assert (np.diff(first) > 40_000).all()
