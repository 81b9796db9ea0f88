"""MetricMeanShift against the thesis: its equations literally, and the laws of its metrics."""

import copy
import tracemalloc
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from tests.estimators.metric_problems import (
    BLOB,
    BLOBS,
    EDGE,
    EYE,
    OFF_EDGE,
    STRIPES,
    every_kind,
    model,
    on_and_off_the_edge,
    scml,
    stripes,
)
from tests.helpers import random_metric, same_partition
from tests.reference import anisotropic as twin
from tests.reference.mean_shift import weight

from linkshift import MeanShift, MetricMeanShift
from linkshift.metric_learning import SCML
from linkshift.profiles import Profile
from linkshift.spaces.kernel import spread_dimension

# Eq. 4.3 and 4.5, literally


def literal_bandwidth(X, M, k):
    return twin.local_bandwidth(X, [M] * len(X), k)


def literal_climb(X, M, h, s, profile, d, tol=1e-7, max_iter=2000):
    for _ in range(max_iter):
        moved = twin.step_global(X, M, h, s, profile.name, profile.reach * EDGE, d)
        step, s = moved - s, moved
        if step @ M @ step <= (tol * np.median(h)) ** 2:
            break
    return s


def assert_in_the_first_basin_that_covers(squared, labels, radius):
    """Labels are the first mode within the radius; ``squared`` holds distances to all modes."""
    covered = squared <= (radius * 1.001) ** 2
    surely = squared <= (radius * 0.999) ** 2
    for row, label in enumerate(labels):
        assert covered[row, label]
        assert not surely[row, :label].any()


@pytest.mark.parametrize("name", ["truncated_gaussian", "gaussian", "epanechnikov", "flat"])
@pytest.mark.parametrize("dimension", ["effective", "columns", 1.5])
def test_a_global_metric_gives_the_climbs_of_equation_4_5(name, dimension):
    X, M, k = stripes(n=45, seed=3)[0], random_metric(3, 3), 10
    X[:, 0] *= 4.0
    profile = Profile(name)
    fitted = MetricMeanShift(
        M, n_neighbors=k, profile=name, dimension=dimension, tol=1e-7, max_iter=3000
    ).fit(X)
    h = literal_bandwidth(X, M, k)
    np.testing.assert_allclose(fitted.bandwidth_, h, rtol=1e-8)
    d = {
        "effective": spread_dimension(X @ np.linalg.cholesky(M)),
        "columns": 3.0,
        1.5: 1.5,
    }[dimension]
    assert fitted.dimension_ == pytest.approx(d)
    ends = np.array([literal_climb(X, M, h, s, profile, d) for s in X])
    far = ends[:, None] - fitted.cluster_centers_
    squared = np.einsum("nmi,ij,nmj->nm", far, M, far)
    assert_in_the_first_basin_that_covers(squared, fitted.labels_, 0.3 * np.median(h))
    # Modes are where ends are, and stay where they are.
    assert (squared.min(axis=0) <= (1e-3 * np.median(h)) ** 2).all()


def test_a_truncated_gaussian_may_reach_farther():
    X, M = stripes(n=45, seed=4)[0], random_metric(4, 3)
    profile = Profile("truncated_gaussian", reach=1.4)
    fitted = MetricMeanShift(M, n_neighbors=5, profile=profile, tol=1e-7).fit(X)
    h = literal_bandwidth(X, M, 5)
    ends = np.array([literal_climb(X, M, h, s, profile, fitted.dimension_) for s in X])
    far = ends[:, None] - fitted.cluster_centers_
    squared = np.einsum("nmi,ij,nmj->nm", far, M, far)
    assert_in_the_first_basin_that_covers(squared, fitted.labels_, 0.3 * np.median(h))


# Eq. 4.6 and 4.8, literally


def tilted_weights(X, metrics, h, s, d):
    """(sqrt(det M_j) h_j^-D)^(d / D) g(z_j): for d = D, the number of columns, the thesis's."""
    D = X.shape[1]
    volume = [np.sqrt(np.linalg.det(M)) * hj**-D for M, hj in zip(metrics, h, strict=True)]
    z = [twin.squared_distance(s, x, M, hj) for x, M, hj in zip(X, metrics, h, strict=True)]
    return np.array(volume) ** (d / D) * weight("truncated_gaussian", np.array(z), EDGE)


def tilted_precision(X, metrics, h, s, d):
    w = tilted_weights(X, metrics, h, s, d)
    return np.einsum("j,jkl->kl", w / h**2, metrics) / w.sum()


def tilted_climb(X, metrics, h, s, d, tol):
    for _ in range(300):
        w = tilted_weights(X, metrics, h, s, d) / h**2
        left = np.einsum("j,jkl->kl", w, metrics)
        step = np.linalg.solve(left, np.einsum("j,jkl,jl->k", w, metrics, X)) - s
        H, s = tilted_precision(X, metrics, h, s, d), s + step
        if step @ H @ step <= tol**2:
            break
    return s


def test_the_climb_here_is_that_of_equation_4_8(crossed):
    X, _, metric = crossed
    metrics = twin.with_ridge(metric.metric_at(X[:25]), 1e-3)
    h = twin.local_bandwidth(X[:25], metrics, 8)
    for s in X[:5]:
        end = tilted_climb(X[:25], metrics, h, s, 3.0, 1e-3)
        expected, _ = twin.climb(X[:25], metrics, h, s, "truncated_gaussian", EDGE)
        np.testing.assert_allclose(end, expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("dimension", ["columns", "effective", 1.2])
@pytest.mark.parametrize("ridge", [1e-3, 0.1])
def test_local_metrics_give_the_climbs_of_equation_4_8(crossed, dimension, ridge):
    X, local = crossed[0][:40], crossed[2]
    metrics = local.metric_at(X)
    shape = metrics / np.trace(metrics, axis1=1, axis2=2)[:, None, None]
    assert np.ptp(shape, axis=0).max() > 0.3  # metrics do differ
    ridged = twin.with_ridge(metrics, ridge)
    fitted = MetricMeanShift(local, n_neighbors=10, dimension=dimension, ridge=ridge, tol=1e-4).fit(
        X
    )
    h = twin.local_bandwidth(X, ridged, 10)
    np.testing.assert_allclose(fitted.bandwidth_, h, rtol=1e-8)
    values, vectors = np.linalg.eigh(metrics.mean(axis=0))
    spread = spread_dimension(X @ vectors * np.sqrt(np.maximum(values, 0.0)))
    d = {"columns": 3.0, "effective": spread, 1.2: 1.2}[dimension]
    assert fitted.dimension_ == pytest.approx(d)
    ends = np.array([tilted_climb(X, ridged, h, s, d, 1e-4) for s in X])
    at_ends = np.array([tilted_precision(X, ridged, h, s, d) for s in ends])
    at_modes = np.array([tilted_precision(X, ridged, h, s, d) for s in fitted.cluster_centers_])
    far = ends[:, None] - fitted.cluster_centers_
    squared = np.minimum(
        np.einsum("nmi,nij,nmj->nm", far, at_ends, far),
        np.einsum("nmi,mij,nmj->nm", far, at_modes, far),
    )
    assert_in_the_first_basin_that_covers(squared, fitted.labels_, 0.3)
    assert fitted.n_clusters_ > 1
    np.testing.assert_allclose(squared.min(axis=0), 0.0, atol=1e-9)  # modes are ends


@pytest.mark.parametrize("dimension", ["columns", 4.0, 1.2])
def test_the_unit_of_each_local_metric_does_not_matter(crossed, dimension):
    # A metric and the bandwidth that is measured by it share their unit.
    X, _, local = crossed

    class Rescaled(SCML):
        def metric_at(self, X):
            return super().metric_at(X) * np.exp(np.sin(np.arange(len(X))))[:, None, None]

    other = copy.deepcopy(local)
    other.__class__ = Rescaled
    one = MetricMeanShift(local, dimension=dimension).fit(X)
    two = MetricMeanShift(other, dimension=dimension).fit(X)
    assert same_partition(one.labels_, two.labels_)
    np.testing.assert_allclose(one.cluster_centers_, two.cluster_centers_, rtol=1e-6, atol=1e-6)


def test_local_metrics_find_what_one_metric_does_not(crossed):
    X, y, _ = crossed
    truth = 2 * (X[:, 2] > 7.5) + y
    one = MetricMeanShift("global", n_neighbors=30, random_state=0).fit(X, partial_labels=y)
    local = MetricMeanShift("local", n_neighbors=30, random_state=0).fit(X, partial_labels=y)
    assert adjusted_rand_score(truth, local.labels_) > 0.9
    assert adjusted_rand_score(truth, one.labels_) < adjusted_rand_score(truth, local.labels_)


# Laws of one metric


@pytest.mark.parametrize("k", [5, 12, 20])
def test_the_identity_gives_plain_adaptive_mean_shift(k):
    plain = MeanShift(kernel="truncated_gaussian", n_neighbors=k).fit(BLOBS)
    ours = MetricMeanShift(EYE, n_neighbors=k, dimension="columns").fit(BLOBS)
    np.testing.assert_allclose(ours.bandwidth_, plain.bandwidth_, rtol=1e-12)
    if k == 20:
        assert same_partition(ours.labels_, plain.labels_)
        assert same_partition(ours.labels_, BLOB)
    # One merges more than the other, and none tears what the other kept together, but for that.
    assert adjusted_rand_score(plain.labels_, ours.labels_) > 0.8


problems = st.tuples(
    st.integers(0, 10**6), st.integers(3, 40), st.integers(1, 4), st.integers(1, 12)
)


def make(seed, n, d, k):
    rng = np.random.default_rng(seed)
    X = 3.0 * rng.normal(size=(3, d))[rng.integers(3, size=n)] + rng.normal(size=(n, d))
    return SimpleNamespace(X=X, M=random_metric(seed, d), k=min(k, n - 1), rng=rng)


@on_and_off_the_edge
@settings(max_examples=40, deadline=None)
@given(problem=problems, dimension=st.sampled_from(["effective", 2.5]))
def test_a_matrix_is_the_identity_on_transformed_rows(profile, problem, dimension):
    p = make(*problem)
    L = np.linalg.cholesky(p.M).T
    one = MetricMeanShift(p.M, n_neighbors=p.k, profile=profile, dimension=dimension).fit(p.X)
    other = MetricMeanShift(
        np.eye(len(L)), n_neighbors=p.k, profile=profile, dimension=dimension
    ).fit(p.X @ L.T)
    assert same_partition(one.labels_, other.labels_)
    np.testing.assert_allclose(one.bandwidth_, other.bandwidth_, rtol=1e-7)
    assert one.dimension_ == pytest.approx(other.dimension_)


@on_and_off_the_edge
@settings(max_examples=40, deadline=None)
@given(problem=problems, factor=st.sampled_from([1e-200, 1e-9, 4.0, 123.4, 1e9, 1e200]))
def test_a_multiple_of_the_metric_gives_the_same(profile, problem, factor):
    p = make(*problem)
    one = MetricMeanShift(p.M, n_neighbors=p.k, profile=profile).fit(p.X)
    other = MetricMeanShift(factor * p.M, n_neighbors=p.k, profile=profile).fit(p.X)
    assert same_partition(one.labels_, other.labels_)
    np.testing.assert_allclose(other.bandwidth_, np.sqrt(factor) * one.bandwidth_, rtol=1e-7)
    assert one.dimension_ == pytest.approx(other.dimension_)


@on_and_off_the_edge
@settings(max_examples=40, deadline=None)
@given(problem=problems, shift=st.floats(-1e4, 1e4))
def test_the_origin_does_not_matter(profile, problem, shift):
    p = make(*problem)
    one = MetricMeanShift(p.M, n_neighbors=p.k, profile=profile).fit(p.X)
    other = MetricMeanShift(p.M, n_neighbors=p.k, profile=profile).fit(p.X + shift)
    assert same_partition(one.labels_, other.labels_)
    np.testing.assert_allclose(one.bandwidth_, other.bandwidth_, rtol=1e-6)


@on_and_off_the_edge
@settings(max_examples=40, deadline=None)
@given(problem=problems)
def test_the_order_of_rows_does_not_matter(profile, problem):
    p = make(*problem)
    order = p.rng.permutation(len(p.X))
    one = MetricMeanShift(p.M, n_neighbors=p.k, profile=profile).fit(p.X)
    other = MetricMeanShift(p.M, n_neighbors=p.k, profile=profile).fit(p.X[order])
    assert same_partition(one.labels_[order], other.labels_)


@settings(max_examples=40, deadline=None)
@given(problems, st.sampled_from(["flat", "truncated_gaussian", "epanechnikov", "gaussian"]))
def test_what_holds_after_every_fit(problem, profile):
    p = make(*problem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = MetricMeanShift(p.M, n_neighbors=p.k, profile=profile).fit(p.X)
    assert sorted(set(fitted.labels_.tolist())) == list(range(fitted.n_clusters_))
    np.testing.assert_array_equal(fitted.predict(p.X), fitted.labels_)
    # A mode is a mean of rows, and of its own basin.
    assert fitted.cluster_centers_.shape == (fitted.n_clusters_, p.X.shape[1])
    assert (fitted.cluster_centers_ <= p.X.max(axis=0) + 1e-9).all()
    assert (fitted.cluster_centers_ >= p.X.min(axis=0) - 1e-9).all()
    assert (fitted.bandwidth_ > 0).all()
    assert 1.0 - 1e-9 <= fitted.dimension_ <= p.X.shape[1] + 1e-9


@on_and_off_the_edge
def test_a_center_belongs_to_its_own_cluster(profile):
    for seed in range(150):
        p = make(seed, 30, 2, 5)
        fitted = MetricMeanShift(p.M, n_neighbors=5, profile=profile).fit(p.X)
        found = fitted.predict(fitted.cluster_centers_)
        np.testing.assert_array_equal(found, np.arange(fitted.n_clusters_), err_msg=f"{seed=}")


@pytest.mark.parametrize("rank", [1, 2])
def test_a_metric_of_low_rank_sees_its_directions_only(rank):
    X, _ = stripes()
    L = np.random.default_rng(1).normal(size=(rank, 3))
    flat = MetricMeanShift(np.eye(rank), n_neighbors=12, profile=OFF_EDGE).fit(X @ L.T)
    fitted = MetricMeanShift(L.T @ L, n_neighbors=12, profile=OFF_EDGE).fit(X)
    assert same_partition(flat.labels_, fitted.labels_)
    np.testing.assert_allclose(fitted.bandwidth_, flat.bandwidth_, rtol=1e-6)
    assert fitted.rank_ == 3
    unseen = np.linalg.svd(L)[2][-1]
    np.testing.assert_array_equal(fitted.predict(X + 100.0 * unseen), fitted.labels_)


def test_a_metric_that_measures_nothing_finds_one_cluster():
    fitted = MetricMeanShift(np.zeros((2, 2))).fit(BLOBS)
    assert fitted.n_clusters_ == 1
    np.testing.assert_array_equal(fitted.bandwidth_, np.ones(90))
    np.testing.assert_array_equal(fitted.predict(BLOBS + 1e3), np.zeros(90))
    np.testing.assert_allclose(fitted.cluster_centers_, [BLOBS.mean(axis=0)])


@pytest.mark.parametrize("metric", [EYE.tolist(), EYE.astype(np.float32), EYE.astype(int)])
def test_a_matrix_may_be_anything_like_an_array(metric):
    fitted = MetricMeanShift(metric).fit(BLOBS)
    assert same_partition(fitted.labels_, BLOB)
    np.testing.assert_array_equal(fitted.metric_, EYE)
    assert isinstance(fitted.metric_, np.ndarray)


def test_a_matrix_that_is_changed_later_does_not_change_the_fit():
    M = np.eye(2)
    fitted = MetricMeanShift(M).fit(BLOBS)
    M[0, 0] = 7.0
    np.testing.assert_array_equal(fitted.metric_, np.eye(2))


def density_of(X, M, h, d, at):
    """Eq. 4.4 but for constants."""
    return [twin.density(X, [M] * len(X), h, s, "truncated_gaussian", EDGE, d) for s in at]


@pytest.mark.parametrize("seed", range(8))
def test_two_rows_are_on_the_edge_of_each_others_kernels_which_is_in(seed):
    X = np.random.default_rng(seed).normal(size=(2, 2))
    assert MetricMeanShift(EYE, n_neighbors=1).fit(X).n_clusters_ == 1


def test_the_neighbour_that_set_the_bandwidth_is_in_wherever_the_origin_is():
    X = np.random.default_rng(0).normal(size=(60, 2))
    one = MetricMeanShift(EYE, n_neighbors=10).fit(X)
    for shift in (1.0, 3.3, 10.0):
        other = MetricMeanShift(EYE, n_neighbors=10).fit(X + shift)
        assert same_partition(one.labels_, other.labels_)


def test_many_modes_do_not_take_the_memory_of_all_pairs():
    X = np.random.default_rng(0).normal(size=(6000, 2))
    metric = MetricMeanShift(EYE, n_neighbors=3, n_jobs=1)
    metric.fit(X[:500])  # what is compiled or loaded does not count
    tracemalloc.start()
    try:
        fitted = metric.fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert fitted.n_clusters_ > 500
    assert peak < 40e6  # O(n r), says the docstring; modes times rows would be more


# Laws of local metrics


@pytest.mark.parametrize("dimension", ["effective", "columns"])
def test_equal_local_metrics_are_one_metric(dimension):
    labels = make_blobs(90, centers=[[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]], random_state=1)[1]
    local = copy.deepcopy(scml("local").fit(BLOBS, labels))
    local.coefficients_[:, :-1] = 0.0
    local.coefficients_[:, -1] = np.random.default_rng(0).normal(size=len(local.bases_))
    M = local.metric_at(BLOBS[:1])[0]
    tilted = MetricMeanShift(local, ridge=1e-12, dimension=dimension).fit(BLOBS)
    flat = MetricMeanShift(M, dimension=dimension).fit(BLOBS)
    np.testing.assert_allclose(tilted.bandwidth_, flat.bandwidth_, rtol=1e-6)
    assert tilted.dimension_ == pytest.approx(flat.dimension_)
    assert same_partition(tilted.labels_, flat.labels_)
    new = BLOBS + 0.5
    assert same_partition(tilted.predict(new), flat.predict(new))


def test_a_multiple_of_local_metrics_gives_the_same(learned):
    one = MetricMeanShift(learned["local"]).fit(STRIPES)
    scaled = copy.deepcopy(learned["local"])
    scaled.coefficients_ *= 64.0
    other = MetricMeanShift(scaled).fit(STRIPES)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_allclose(other.bandwidth_, 64.0 * one.bandwidth_, rtol=1e-8)


def test_with_a_large_ridge_local_metrics_are_the_identity(crossed):
    X, _ = make_blobs(
        90, 3, centers=[[0, 0, 0], [12, 0, 0], [0, 12, 0]], cluster_std=1.0, random_state=1
    )
    options = {"dimension": 2.0, "profile": OFF_EDGE}
    tilted = MetricMeanShift(crossed[2], ridge=1e9, **options).fit(X)
    flat = MetricMeanShift(np.eye(3), **options).fit(X)
    assert same_partition(tilted.labels_, flat.labels_)
    assert tilted.n_clusters_ == 3
    # Up to the merging, the modes are the same.
    ours, theirs = tilted.cluster_centers_, flat.cluster_centers_
    assert np.linalg.norm(ours[:, None] - theirs, axis=2).min(axis=1).max() < 0.3


def test_without_a_ridge_metrics_measure_within_the_span_of_their_bases():
    X = np.random.default_rng(0).normal(size=(30, 50))
    y = np.arange(30) % 3
    X[:, 0] += 5.0 * y
    for ridge in (0.0, 1e-3):
        fitted = model("local", ridge=ridge, n_neighbors=9).fit(X, partial_labels=y)
        assert same_partition(fitted.labels_, y)


def test_clusters_of_local_metrics_are_numbered_from_the_densest(crossed):
    X, _, local = crossed
    fitted = MetricMeanShift(local, dimension="columns", n_neighbors=12, tol=1e-6).fit(X)
    ridged = twin.with_ridge(local.metric_at(X), 1e-3)
    density = [
        twin.density(X, ridged, fitted.bandwidth_, s, "truncated_gaussian", EDGE)
        for s in fitted.cluster_centers_
    ]
    assert fitted.n_clusters_ > 4
    assert (np.diff(density) <= 1e-6 * density[0]).all()


def test_the_ridge_acts_on_local_metrics_only(learned):
    one = MetricMeanShift(learned["local"]).fit(STRIPES)
    other = MetricMeanShift(learned["local"], ridge=0.5).fit(STRIPES)
    assert not np.allclose(one.bandwidth_, other.bandwidth_)
    one = MetricMeanShift(learned["global"]).fit(STRIPES)
    other = MetricMeanShift(learned["global"], ridge=0.5).fit(STRIPES)
    np.testing.assert_array_equal(one.bandwidth_, other.bandwidth_)
    np.testing.assert_array_equal(one.labels_, other.labels_)


@every_kind
def test_the_order_of_rows_does_not_matter_to_a_fitted_metric(learned, kind):
    order = np.random.default_rng(0).permutation(len(STRIPES))
    one = MetricMeanShift(learned[kind]).fit(STRIPES)
    other = MetricMeanShift(learned[kind]).fit(STRIPES[order])
    assert same_partition(one.labels_[order], other.labels_)
