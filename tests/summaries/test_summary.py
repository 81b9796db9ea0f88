"""Summaries keep the sums of rows, in any order, by any number of threads, and when merged."""

import pickle
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers import blobs
from tests.reference import scale as twin
from threadpoolctl import threadpool_info, threadpool_limits

from linkshift._core.messages import Refusal
from linkshift._core.threads import _libraries, threads
from linkshift.profiles import Profile
from linkshift.summaries import landmark_density, merge, partition, place_landmarks, summarise
from linkshift.summaries import landmarks as landmarks_module
from linkshift.summaries.partition import grid_cells, train_centres
from linkshift.summaries.sampling import along_a_line


def same_totals(one, other, rtol=1e-9):
    for a, b in zip(twin.totals(*one[:3]), twin.totals(*other[:3]), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


def as_rows(X, weight=None):
    return X, np.ones(len(X)) if weight is None else weight, np.zeros(len(X))


def in_order(summary):
    order = np.lexsort(summary.points.T)
    return [value[order] for value in summary[:3]]


def same(one, other, **tolerance):
    for a, b in zip(in_order(one), in_order(other), strict=True):
        np.testing.assert_allclose(a, b, **{"rtol": 1e-7, "atol": 1e-9} | tolerance)


problems = st.tuples(
    st.integers(1, 400), st.integers(1, 6), st.integers(1, 60), st.integers(0, 10**6)
)


@given(problems)
@settings(max_examples=40, deadline=None)
def test_total_weight_mean_and_scatter_are_kept(problem):
    n, d, m, seed = problem
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(n, d)) + 5.0, rng.integers(1, 4, size=n).astype(float)
    keep = rng.choice(n, size=min(3, n), replace=False)
    summary = summarise(X, m, seed, sample_weight=weight, keep=keep)
    same_totals(summary, as_rows(X, weight))
    assert len(summary.points) <= m + len(keep)
    assert (summary.weights > 0).all()
    np.testing.assert_array_equal(summary.kept, np.sort(keep))
    np.testing.assert_array_equal(summary.points[: len(keep)], X[np.sort(keep)])
    np.testing.assert_array_equal(summary.weights[: len(keep)], weight[np.sort(keep)])
    assert not summary.spread[: len(keep)].any()


@given(st.integers(1, 9), st.integers(1, 5), st.integers(1, 40), st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_merging_keeps_totals_and_kept_rows(count, d, m, seed):
    rng = np.random.default_rng(seed)
    parts, first = [], 0
    X = rng.normal(size=(60 * count, d)) * 3.0
    for part in np.split(X, count):
        parts.append(summarise(part, m, seed, keep=[2], first=first))
        first += len(part)
    merged = merge(parts, m)
    same_totals(merged, as_rows(X))
    assert len(merged.points) <= m + count
    np.testing.assert_array_equal(merged.points[:count], X[merged.kept])
    assert sorted(merged.kept) == [2 + 60 * i for i in range(count)]


@pytest.mark.parametrize("d", [2, 6])
def test_workers_may_share_a_merge(d):
    X, _ = blobs(1600, d)
    parts = [summarise(part, 50) for part in np.split(X, 8)]
    at_once = merge(parts, 50)
    by_two = merge([merge(parts[i : i + 2], 50) for i in range(0, 8, 2)], 50)
    by_four = merge([merge(parts[:4], 50), merge(parts[4:], 50)], 50)
    for other in (by_two, by_four):
        for a, b in zip(at_once, other, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 3, 4, 12])
def test_sums_are_those_of_the_twin(d, dtype):
    X = blobs(900, d)[0].astype(dtype)
    weight = np.random.default_rng(0).uniform(0.5, 3.0, size=len(X))
    if d <= 3:
        label, _ = grid_cells(X, 40)
    else:
        with threads(1) as pool:
            label = train_centres(X, weight, 40, 0).assign(X, pool)
    used, label = np.unique(label, return_inverse=True)
    summary = summarise(X, 40, 0, sample_weight=weight)
    assert summary.points.dtype == dtype
    points, weights, spread = twin.summed(X, weight, label.ravel(), len(used))
    tolerance = 1e-5 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(summary.points, points, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(summary.weights, weights)
    np.testing.assert_allclose(summary.spread, spread, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("d", [2, 8])
def test_the_order_of_rows_does_not_matter(d):
    X, _ = blobs(3000, d)
    order = np.random.default_rng(1).permutation(len(X))
    same(summarise(X, 60, 5), summarise(X[order], 60, 5))


@pytest.mark.parametrize("d", [2, 8])
def test_a_weight_of_two_is_the_row_twice(d):
    X, _ = blobs(2000, d)
    weight = np.random.default_rng(1).integers(0, 3, size=len(X)).astype(float)
    twice = np.repeat(X, weight.astype(int), axis=0)
    same(summarise(X, 60, sample_weight=weight), summarise(twice, 60))


@pytest.mark.parametrize("d", [2, 8, 70])
def test_any_number_of_threads(d):
    X = blobs(20_000, d)[0].astype(np.float32)
    one, two = (summarise(X, 200, n_jobs=n_jobs) for n_jobs in (1, 3))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


def blas_threads():
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [2, 16])
def test_any_number_of_blas_threads(d, dtype):
    X, weight = blobs(9000, d, seed=5)[0].astype(dtype), np.arange(9000) % 3 + 0.5
    found = []
    for n in (1, 2):
        with threadpool_limits(n, user_api="blas"):
            summary = summarise(X, 300, sample_weight=weight)
            merged = merge([summary, summarise(X[:4000], 300)], 200)
            density = landmark_density(merged, 2.0, Profile("gaussian"))
            landmarks = place_landmarks(density, np.arange(len(merged.points)))
            found.append((*summary, *merged, landmarks.coarse, landmarks.label(X)))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


class Watched(np.ndarray):
    """Rows that tell how many threads a product of theirs has."""

    seen: ClassVar[list[set[int]]] = []

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if ufunc is np.matmul:
            self.seen.append(blas_threads())
        plain = [np.asarray(value) for value in inputs]
        return getattr(ufunc, method)(*plain, **options)


def test_every_product_is_by_one_blas_thread(monkeypatch):
    """Most BLAS add up in the same order for small products, and none promises it."""
    X = blobs(9000, 6, seed=5)[0]
    nearest, seen = partition.nearest, []
    _libraries.cache_clear()  # a test before this one may have loaded others since

    def watched(*args):
        seen.append(blas_threads())
        return nearest(*args)

    monkeypatch.setattr(partition, "nearest", watched)
    monkeypatch.setattr(landmarks_module, "nearest", watched)
    with threadpool_limits(2, user_api="blas"):
        summary = summarise(X, 1500)
        density = landmark_density(summary, 2.0, Profile("gaussian"))
        place_landmarks(density, np.arange(len(summary.points))).label(X[:500])
        along_a_line(X.view(Watched), 0)
    assert len(seen) > 100
    assert len(Watched.seen) == 1
    assert all(threads == {1} for threads in [*seen, *Watched.seen])


def test_few_rows_are_their_own_landmarks():
    X, _ = blobs(50, 5)
    summary = summarise(X, 50, keep=[7])
    same_totals(summary, as_rows(X))
    np.testing.assert_array_equal(np.sort(summary.points, axis=0), np.sort(X, axis=0))
    assert not summary.spread.any()


@pytest.mark.parametrize("d", [2, 5])
def test_landmarks_are_as_small_as_their_number_allows(d):
    X, _ = blobs(5000, d)
    spreads = [
        np.average(s.spread, weights=s.weights) for s in (summarise(X, m) for m in (50, 500))
    ]
    assert spreads[1] < 0.6 * spreads[0] < 0.5 * X.var(axis=0).mean()


def test_hand_computed():
    X = np.array([[0.0], [0.2], [10.0], [10.2], [10.4]])
    summary = summarise(X, 2)
    points, weights, spread = in_order(summary)
    np.testing.assert_allclose(points[:, 0], [0.1, 10.2])
    np.testing.assert_allclose(weights, [2.0, 3.0])
    np.testing.assert_allclose(spread, [0.01, 0.08 / 3])


def test_far_from_the_origin_spreads_have_digits():
    X, _ = blobs(2000, 5)
    near, far = summarise(X, 40), summarise(X + 1e6, 40)
    same_totals(near._replace(points=near.points + 1e6), far, rtol=1e-6)


def test_special_rows():
    same_points = summarise(np.ones((500, 6)), 20)
    np.testing.assert_allclose(same_points.points, 1.0)
    assert same_points.weights.sum() == 500
    constant = np.random.default_rng(0).normal(size=(500, 2)) * [1.0, 0.0]
    assert summarise(constant, 30).weights.sum() == 500
    outlier = np.random.default_rng(0).normal(size=(500, 3))
    outlier[0] = 1e12
    assert summarise(outlier, 30).weights.sum() == 500


def test_summaries_travel():
    summary = summarise(blobs(300, 4)[0], 20, keep=[3])
    again = pickle.loads(pickle.dumps(summary))
    assert all(np.array_equal(a, b) for a, b in zip(summary, again, strict=True))


def test_refusals():
    X, _ = blobs(20, 4)
    with pytest.raises(ValueError, match="m=0"):
        summarise(X, 0)
    with pytest.raises(Refusal, match="row 20 of 20"):
        summarise(X, 5, keep=[20])
    with pytest.raises(Refusal, match="weight is zero"):
        summarise(X, 5, keep=[1], sample_weight=[1.0, 0.0] * 10)
    with pytest.raises(Refusal, match="zero"):
        summarise(X, 5, sample_weight=np.zeros(20))
    with pytest.raises(Refusal, match="not finite"):
        summarise(X * np.inf, 5)
    with pytest.raises(Refusal, match="at least one"):
        merge([], 5)
    with pytest.raises(Refusal, match="4 and 5 columns"):
        merge([summarise(X, 5), summarise(np.ones((3, 5)), 5)], 5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nearest_is_the_nearest_in_blocks_and_by_threads(dtype, monkeypatch):
    """Memory that a thread uses again does not show: not in other shapes, nor in other threads."""
    monkeypatch.setattr(partition, "_AT_ONCE", 64)
    rng = np.random.default_rng(0)
    problems = [
        (rng.normal(size=(n, d)).astype(dtype), rng.normal(size=(k, d)))
        for n, k, d in [(100, 7, 3), (5, 90, 2), (0, 4, 4), (40, 1, 70), (64, 8, 8)] * 8
    ]
    found = [None] * len(problems)

    def task(i):
        rows, centres = problems[i]
        found[i] = partition.nearest(rows, centres, centres.mean(axis=0), 2.0)

    with threads(4) as pool:
        pool.map(task, range(len(problems)))
    for (rows, centres), label in zip(problems, found, strict=True):
        square = ((rows[:, None].astype(float) - centres) ** 2).sum(axis=2)
        np.testing.assert_array_equal(label, square.argmin(axis=1))
