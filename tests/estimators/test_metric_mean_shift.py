"""MetricMeanShift as users meet it: the thesis's equations, its laws, labels, every refusal."""

import copy
import pickle
import tracemalloc
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.reference import anisotropic as twin
from tests.reference.mean_shift import weight

from linkshift import Links, MeanShift, MetricMeanShift
from linkshift.bandwidth import pair_mean
from linkshift.links import ConflictError
from linkshift.metric_learning import SCML
from linkshift.profiles import Profile
from linkshift.spaces.kernel import spread_dimension

KINDS = ["global", "local"]
KERNELS = [None, "gaussian"]
EDGE = 1.0 + 1e-9  # the k-th neighbour, whose distance is the bandwidth, is in
QUICK = {"n_bases": 30, "max_iter": 20, "random_state": 0}

# A hair beyond the k-th neighbour, where rounding does not decide.
OFF_EDGE = Profile("truncated_gaussian", reach=1.0 + 1e-6)

every_kind = pytest.mark.parametrize("kind", KINDS)
every_kernel = pytest.mark.parametrize("kernel", KERNELS)
on_and_off_the_edge = pytest.mark.parametrize(
    "profile", ["truncated_gaussian", OFF_EDGE], ids=["default", "off_edge"]
)


def same_partition(one, other):
    together = np.asarray(one)[:, None] == np.asarray(one)
    return bool((together == (np.asarray(other)[:, None] == np.asarray(other))).all())


def stripes(n=90, d=3, noise=2.0, seed=0):
    """Three classes along the first column; the others are noise of larger spread."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = noise * rng.normal(size=(n, d))
    X[:, 0] = 2.0 * y + 0.2 * rng.normal(size=n)
    return X, y


def sides(n=200, seed=0):
    """Which column tells two classes apart depends on the side, which the last column tells."""
    rng = np.random.default_rng(seed)
    side, y = rng.integers(2, size=n), rng.integers(2, size=n)
    X = 3.0 * rng.normal(size=(n, 3))
    X[np.arange(n), side] = 2.0 * y + 0.2 * rng.normal(size=n)
    X[:, 2] = 15.0 * side + 0.2 * rng.normal(size=n)
    return X, y


def some_of(y, share=0.5, seed=0):
    """Labels of which the rest is unknown."""
    return np.where(np.random.default_rng(seed).random(len(y)) < share, y, -1)


def random_metric(seed, d, rank=None):
    rows = np.random.default_rng(seed).normal(size=(d + 1 if rank is None else rank, d))
    return rows.T @ rows


def scml(kind="global", **parameters):
    return SCML(kind, **{**QUICK, **parameters})


def model(metric="global", **parameters):
    metric = scml(metric) if isinstance(metric, str) else metric
    return MetricMeanShift(metric, **{"random_state": 0, **parameters})


BLOBS, BLOB = make_blobs(
    90, centers=[[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]], cluster_std=1.0, random_state=1
)
STRIPES, STRIPE = stripes()
KNOWN = some_of(STRIPE)
LINKS = Links.sample(STRIPE, 90, random_state=0)
EYE = np.eye(2)


@pytest.fixture(scope="module")
def learned():
    """Fitted metrics of both kinds, on stripes."""
    return {kind: scml(kind).fit(STRIPES, STRIPE) for kind in KINDS}


@pytest.fixture(scope="module")
def crossed():
    """Data with a local metric that does change from side to side."""
    X, y = sides()
    return X, y, SCML("local", random_state=0).fit(X, y)


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


# What is learned


@every_kind
@pytest.mark.parametrize("how", ["labels", "links", "both"])
def test_a_learned_metric_finds_what_plain_mean_shift_does_not(kind, how):
    given_ = {
        "labels": {"partial_labels": KNOWN},
        "links": {"links": LINKS},
        "both": {"partial_labels": KNOWN, "links": LINKS},
    }[how]
    fitted = model(kind, n_neighbors=25).fit(STRIPES, **given_)
    plain = MetricMeanShift(np.eye(3), n_neighbors=25).fit(STRIPES)
    assert adjusted_rand_score(STRIPE, fitted.labels_) > 0.9
    assert adjusted_rand_score(STRIPE, plain.labels_) < 0.5
    assert fitted.link_report_.share > 0.9
    assert isinstance(fitted.metric_, SCML)
    assert fitted.metric_.kind == kind


@every_kind
def test_a_name_is_an_scml_of_that_kind(kind):
    named = MetricMeanShift(kind, random_state=3).fit(STRIPES, partial_labels=KNOWN)
    known = KNOWN >= 0
    alone = SCML(kind, random_state=3).fit(STRIPES[known], KNOWN[known])
    again = MetricMeanShift(alone).fit(STRIPES)
    np.testing.assert_array_equal(named.metric_.bases_, alone.bases_)
    np.testing.assert_array_equal(named.labels_, again.labels_)
    np.testing.assert_array_equal(named.bandwidth_, again.bandwidth_)


def test_an_scml_is_learned_with_its_own_parameters_and_left_as_it_was():
    metric = SCML("global", n_bases=7, max_iter=3, random_state=5)
    fitted = MetricMeanShift(metric, random_state=1).fit(STRIPES, partial_labels=KNOWN)
    assert not hasattr(metric, "bases_")
    assert fitted.metric_ is not metric
    assert fitted.metric_.n_bases_ <= 7
    assert fitted.metric_.random_state == 5
    fitted.fit(STRIPES, partial_labels=KNOWN)  # not taken for a fitted one the second time
    seedless = SCML("global", n_bases=7, max_iter=3)
    one = MetricMeanShift(seedless, random_state=5).fit(STRIPES, partial_labels=KNOWN)
    np.testing.assert_array_equal(one.metric_.metric_, fitted.metric_.metric_)
    assert seedless.random_state is None


@every_kind
def test_a_fitted_metric_is_used_as_it_is(learned, kind):
    before = pickle.dumps(learned[kind])
    fitted = MetricMeanShift(learned[kind]).fit(STRIPES)
    assert fitted.metric_ is learned[kind]
    assert pickle.dumps(learned[kind]) == before
    frozen = MetricMeanShift(FrozenEstimator(learned[kind])).fit(STRIPES)
    np.testing.assert_array_equal(frozen.labels_, fitted.labels_)
    assert frozen.metric_ is learned[kind]


def test_a_fitted_global_metric_is_its_matrix(learned):
    fitted = MetricMeanShift(learned["global"]).fit(STRIPES)
    matrix = MetricMeanShift(learned["global"].metric_).fit(STRIPES)
    assert same_partition(fitted.labels_, matrix.labels_)
    np.testing.assert_allclose(fitted.bandwidth_, matrix.bandwidth_, rtol=1e-6)


@every_kind
def test_a_clone_forgets_the_fit_and_a_frozen_one_does_not(learned, kind):
    with pytest.raises(ValueError, match="partial_labels"):
        clone(MetricMeanShift(learned[kind])).fit(STRIPES)
    frozen = clone(MetricMeanShift(FrozenEstimator(learned[kind]))).fit(STRIPES)
    assert frozen.metric_ is learned[kind]


def test_a_frozen_metric_that_is_not_fitted_raises():
    # Frozen means that fit does nothing: learning it all the same would go against its word.
    with pytest.raises((ValueError, NotFittedError), match="fit"):
        MetricMeanShift(FrozenEstimator(scml())).fit(STRIPES, partial_labels=KNOWN)


def test_a_frozen_estimator_that_is_no_metric_raises_with_its_name():
    with pytest.raises((TypeError, ValueError), match=r"SCML"):
        MetricMeanShift(FrozenEstimator(StandardScaler().fit(BLOBS))).fit(BLOBS)


@every_kind
def test_labels_and_links_together_become_links(kind):
    links = Links(must=[(0, 3), (1, 4)], cannot=[(0, 1), (3, 4)])
    both = model(kind).fit(STRIPES, links=links, partial_labels=KNOWN)
    joined = model(kind).fit(STRIPES, links=links + Links.from_labels(KNOWN))
    np.testing.assert_array_equal(both.labels_, joined.labels_)
    assert both.metric_.classes_ is None
    assert both.link_report_.n_must == joined.link_report_.n_must
    assert both.link_report_.share == joined.link_report_.share


def test_labels_alone_are_learned_from_as_labels():
    fitted = model().fit(STRIPES, partial_labels=KNOWN + 0.0)
    np.testing.assert_array_equal(fitted.metric_.classes_, [0, 1, 2])


def test_links_and_labels_that_contradict_each_other_raise():
    y = np.full(90, -1)
    y[[0, 1, 2, 3]] = [0, 0, 1, 1]
    with pytest.raises(ConflictError):
        model().fit(STRIPES, partial_labels=y, links=Links(cannot=[(0, 1)]))


def test_y_is_ignored():
    one = model().fit(STRIPES, partial_labels=KNOWN)
    other = model().fit(STRIPES, np.zeros(5), partial_labels=KNOWN)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(
        model().fit_predict(STRIPES, STRIPE, partial_labels=KNOWN), one.labels_
    )


def test_links_in_the_place_of_y_raise():
    with pytest.raises(TypeError, match=r"links=\.\.\."):
        model().fit(STRIPES, LINKS)
    with pytest.raises(TypeError, match=r"links=\.\.\."):
        model(np.eye(3)).fit(STRIPES, LINKS)


def names(y, unknown):
    out = np.array(["red", "green", "blue"], dtype=object)[y]
    out[1::2] = unknown
    return out


@every_kind
def test_classes_may_have_names(kind):
    numbers = STRIPE.copy()
    numbers[1::2] = -1
    expected = model(kind).fit(STRIPES, partial_labels=numbers)
    named = model(kind).fit(STRIPES, partial_labels=names(STRIPE, -1))
    np.testing.assert_array_equal(named.metric_.classes_, ["blue", "green", "red"])
    assert named.link_report_.n_must == expected.link_report_.n_must
    whole = model(kind).fit(STRIPES, partial_labels=np.array(["a", "b", "c"])[STRIPE])
    np.testing.assert_array_equal(whole.metric_.classes_, ["a", "b", "c"])


def test_unknown_is_no_class_in_a_list_with_names():
    # numpy makes the text "-1" of it.
    fitted = model().fit(STRIPES, partial_labels=names(STRIPE, -1).tolist())
    np.testing.assert_array_equal(fitted.metric_.classes_, ["blue", "green", "red"])


@pytest.mark.parametrize("unknown", [None, np.nan], ids=["None", "NaN"])
def test_what_is_unknown_to_links_is_unknown_here(unknown):
    # Links.from_labels takes -1, None and NaN for unknown, and the report is made from it.
    labels = names(STRIPE, unknown)
    assert Links.from_labels(labels).n_samples == 90
    fitted = model().fit(STRIPES, partial_labels=labels)
    np.testing.assert_array_equal(fitted.metric_.classes_, ["blue", "green", "red"])


def test_numbers_may_come_as_objects():
    # As from a column of pandas with missing values that were filled.
    fitted = model().fit(STRIPES, partial_labels=KNOWN.astype(object))
    np.testing.assert_array_equal(fitted.metric_.classes_, [0, 1, 2])


def test_the_report_counts_the_links_of_labels_too():
    fitted = model().fit(STRIPES, partial_labels=KNOWN)
    expected = Links.from_labels(KNOWN)
    assert fitted.link_report_.n_must == len(expected.must)
    assert fitted.link_report_.n_cannot == len(expected.cannot)
    unlinked = MetricMeanShift(np.eye(3)).fit(STRIPES)
    assert unlinked.link_report_.n_must == unlinked.link_report_.n_cannot == 0


# In the space of a kernel


@every_kind
def test_coordinates_keep_the_share_of_the_trace_that_is_asked_for(kind):
    for variance in (0.5, 0.95, 0.999):
        fitted = model(kind, kernel="gaussian", variance=variance, sigma=2.0)
        fitted.fit(STRIPES, partial_labels=KNOWN)
        K = rbf_kernel(STRIPES, gamma=1 / 8.0)
        share = np.cumsum(np.linalg.eigvalsh(K)[::-1]) / np.trace(K)
        assert share[fitted.rank_ - 1] >= variance - 1e-12
        assert fitted.rank_ == 1 or share[fitted.rank_ - 2] < variance
        assert fitted.metric_.n_features_in_ == fitted.rank_


def test_all_of_the_trace_is_the_whole_rank():
    fitted = model(kernel="gaussian", variance=1.0, sigma=2.0).fit(STRIPES, partial_labels=KNOWN)
    assert 85 <= fitted.rank_ <= 90


@every_kind
def test_a_kernel_is_the_same_on_its_coordinates(kind):
    fitted = model(kind, kernel="gaussian", sigma=2.0).fit(STRIPES, partial_labels=KNOWN)
    values, vectors = np.linalg.eigh(rbf_kernel(STRIPES, gamma=1 / 8.0))  # eq. 4.10, 4.11
    coordinates = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1][:, : fitted.rank_]
    metric = fitted.metric_
    by_hand = model(kind).fit(coordinates, partial_labels=KNOWN)
    if kind == "global":
        # The signs of the axes are free, and SCML's chance sees them: by its own matrix, then.
        sign = np.sign(np.einsum("ij,ij->j", coordinates, fitted_coordinates(fitted)))
        M = metric.metric_ * sign * sign[:, None]
        by_hand = MetricMeanShift(M).fit(coordinates)
        np.testing.assert_allclose(by_hand.bandwidth_, fitted.bandwidth_, rtol=1e-5)
        assert same_partition(by_hand.labels_, fitted.labels_)
    assert by_hand.rank_ == fitted.rank_


def fitted_coordinates(fitted):
    return fitted._space.transform(STRIPES)[:, : fitted.rank_]


def test_the_default_width_follows_the_mean_pair_distance():
    fitted = model(kernel="gaussian").fit(STRIPES, partial_labels=KNOWN)
    assert fitted.sigma_ == pytest.approx(pair_mean(STRIPES) / np.sqrt(2))
    given_ = model(kernel="gaussian", sigma=3).fit(STRIPES, partial_labels=KNOWN)
    assert given_.sigma_ == 3.0


@every_kind
def test_a_kernel_has_no_centers_but_predicts(kind):
    fitted = model(kind, kernel="gaussian", sigma=9.73).fit(BLOBS, partial_labels=BLOB)
    assert not hasattr(fitted, "cluster_centers_")
    assert same_partition(fitted.labels_, BLOB)
    np.testing.assert_array_equal(fitted.predict(BLOBS), fitted.labels_)
    np.testing.assert_array_equal(fitted.predict(BLOBS + 0.05), fitted.labels_)
    firsts = [fitted.labels_[c == BLOB][0] for c in range(3)]
    np.testing.assert_array_equal(fitted.predict([[0.5, 0.5], [12, 1], [1, 12]]), firsts)


@every_kind
def test_a_kernel_finds_what_no_line_separates(kind):
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    angle, radius = rng.uniform(0, 2 * np.pi, 200), 1.0 + 3.0 * y + 0.1 * rng.normal(size=200)
    X = np.column_stack((radius * np.cos(angle), radius * np.sin(angle)))
    given_ = {"partial_labels": some_of(y)}
    flat = model(n_neighbors=30).fit(X, **given_)
    bent = model(kind, kernel="gaussian", n_neighbors=70).fit(X, **given_)
    assert adjusted_rand_score(y, bent.labels_) > 0.9
    assert adjusted_rand_score(y, flat.labels_) < 0.5


# What comes out


@every_kind
@every_kernel
def test_attributes(kind, kernel):
    fitted = model(kind, kernel=kernel).fit(STRIPES, partial_labels=KNOWN)
    assert fitted.labels_.shape == (90,)
    assert np.issubdtype(fitted.labels_.dtype, np.integer)
    assert sorted(set(fitted.labels_.tolist())) == list(range(fitted.n_clusters_))
    assert fitted.bandwidth_.shape == (90,)
    assert isinstance(fitted.n_iter_, int)
    assert 1 <= fitted.n_iter_ <= 300
    assert fitted.n_features_in_ == 3
    assert isinstance(fitted.rank_, int)
    assert isinstance(fitted.dimension_, float)
    assert isinstance(fitted.n_clusters_, int)
    assert hasattr(fitted, "sigma_") == (kernel is not None)
    assert hasattr(fitted, "cluster_centers_") == (kernel is None)
    if kernel is None:
        assert fitted.rank_ == 3
        assert fitted.cluster_centers_.shape == (fitted.n_clusters_, 3)
    columns = model(kind, kernel=kernel, dimension="columns").fit(STRIPES, partial_labels=KNOWN)
    assert columns.dimension_ == columns.rank_


@every_kind
def test_centers_are_in_the_columns_of_the_data_and_among_their_members(kind):
    fitted = model(kind).fit(BLOBS, partial_labels=BLOB)
    assert same_partition(fitted.labels_, BLOB)
    for cluster, center in enumerate(fitted.cluster_centers_):
        members = BLOBS[fitted.labels_ == cluster]
        assert np.linalg.norm(center - members.mean(axis=0)) < 1.0
    np.testing.assert_array_equal(fitted.predict(fitted.cluster_centers_), [0, 1, 2])


@every_kind
@every_kernel
def test_single_precision_gives_the_same(kind, kernel):
    one = model(kind, kernel=kernel).fit(BLOBS, partial_labels=BLOB)
    other = model(kind, kernel=kernel).fit(BLOBS.astype(np.float32), partial_labels=BLOB)
    np.testing.assert_array_equal(other.predict(BLOBS.astype(np.float32)), other.labels_)
    assert same_partition(one.labels_, other.labels_)
    assert other.bandwidth_.dtype == np.float64
    if kernel is None:
        assert other.cluster_centers_.dtype == np.float32


def test_a_matrix_in_single_precision_data():
    one = MetricMeanShift(np.eye(3), n_neighbors=8).fit(STRIPES.astype(np.float32))
    other = MetricMeanShift(np.eye(3), n_neighbors=8).fit(
        STRIPES.astype(np.float32).astype(np.float64)
    )
    np.testing.assert_array_equal(one.labels_, other.labels_)


@every_kind
@every_kernel
def test_the_number_of_threads_does_not_matter(kind, kernel):
    fits = [
        model(kind, kernel=kernel, n_jobs=n_jobs).fit(STRIPES, partial_labels=KNOWN)
        for n_jobs in (1, 2, 3, -1, None)
    ]
    for other in fits[1:]:
        np.testing.assert_array_equal(other.labels_, fits[0].labels_)
        new = STRIPES + 0.1
        np.testing.assert_array_equal(other.predict(new), fits[0].predict(new))


@every_kind
@pytest.mark.parametrize("how", ["labels", "links"])
def test_a_seed_gives_the_same_again(kind, how):
    given_ = {"partial_labels": KNOWN} if how == "labels" else {"links": LINKS}
    metric = SCML(kind, n_bases=30, max_iter=5)
    fits = [
        MetricMeanShift(metric, random_state=seed).fit(STRIPES, **given_)
        for seed in (7, 7, np.random.RandomState(7))
    ]
    for other in fits[1:]:
        np.testing.assert_array_equal(other.bandwidth_, fits[0].bandwidth_)
        np.testing.assert_array_equal(other.labels_, fits[0].labels_)
    different = MetricMeanShift(metric, random_state=8).fit(STRIPES, **given_)
    assert not np.array_equal(different.bandwidth_, fits[0].bandwidth_)


@every_kind
@every_kernel
def test_training_rows_keep_their_labels_and_new_rows_climb(kind, kernel):
    fitted = model(kind, kernel=kernel).fit(STRIPES, partial_labels=KNOWN)
    np.testing.assert_array_equal(fitted.predict(STRIPES), fitted.labels_)
    np.testing.assert_array_equal(fitted.predict(STRIPES[[5, 3]]), fitted.labels_[[5, 3]])
    nudged = fitted.predict(STRIPES + 1e-9)
    assert (nudged == fitted.labels_).mean() > 0.97
    mixed = fitted.predict(np.vstack([STRIPES[:3] + 1e-3, STRIPES[:3]]))
    np.testing.assert_array_equal(mixed[3:], fitted.labels_[:3])


@every_kind
def test_new_rows_go_to_the_right_basin(kind):
    fitted = model(kind).fit(BLOBS, partial_labels=some_of(BLOB))
    new, y = make_blobs(
        60, centers=[[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]], cluster_std=1.0, random_state=2
    )
    firsts = np.array([fitted.labels_[c == BLOB][0] for c in range(3)])
    np.testing.assert_array_equal(fitted.predict(new), firsts[y])
    # Out of reach of every row: the nearest mode.
    np.testing.assert_array_equal(fitted.predict([[90.0, -1.0], [-1.0, 90.0]]), firsts[[1, 2]])


def test_predict_does_not_depend_on_parameters_set_after_fit():
    fitted = MetricMeanShift(EYE).fit(BLOBS)
    expected = fitted.predict(BLOBS + 0.1)
    fitted.set_params(kernel="gaussian")
    np.testing.assert_array_equal(fitted.predict(BLOBS + 0.1), expected)


def test_a_second_fit_leaves_nothing_of_the_first(learned):
    fitted = model(kernel="gaussian").fit(STRIPES, partial_labels=KNOWN)
    fitted.set_params(kernel=None).fit(BLOBS, partial_labels=BLOB)
    assert not hasattr(fitted, "sigma_")
    assert fitted.rank_ == fitted.n_features_in_ == 2
    assert fitted.cluster_centers_.shape == (fitted.n_clusters_, 2)
    fresh = model().fit(BLOBS, partial_labels=BLOB)
    np.testing.assert_array_equal(fitted.predict(BLOBS + 0.3), fresh.predict(BLOBS + 0.3))
    fitted.set_params(kernel="gaussian").fit(STRIPES, partial_labels=KNOWN)
    assert not hasattr(fitted, "cluster_centers_")
    fitted.set_params(kernel=None, metric=learned["local"]).fit(STRIPES)
    local = MetricMeanShift(learned["local"]).fit(STRIPES)
    np.testing.assert_array_equal(fitted.predict(STRIPES + 0.3), local.predict(STRIPES + 0.3))
    fitted.set_params(metric=learned["global"]).fit(STRIPES)
    flat = MetricMeanShift(learned["global"]).fit(STRIPES)
    np.testing.assert_array_equal(fitted.predict(STRIPES + 0.3), flat.predict(STRIPES + 0.3))
    public = {name for name in vars(fitted) if name.endswith("_") and name[0] != "_"}
    assert public == {name for name in vars(flat) if name.endswith("_") and name[0] != "_"}


def test_a_second_fit_frees_the_memory_of_the_first(learned):
    fitted = model(kernel="gaussian").fit(STRIPES, partial_labels=KNOWN)
    fitted.set_params(kernel=None, metric=learned["local"]).fit(STRIPES)
    fitted.set_params(metric=learned["global"]).fit(STRIPES)
    fresh = MetricMeanShift(learned["global"]).fit(STRIPES)
    assert set(vars(fitted)) == set(vars(fresh))


@every_kind
@every_kernel
def test_a_fit_can_be_stored(kind, kernel):
    fitted = model(kind, kernel=kernel).fit(STRIPES, partial_labels=KNOWN)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(STRIPES + 0.2), fitted.predict(STRIPES + 0.2))


@every_kind
def test_the_data_are_left_as_they_were(learned, kind):
    X, y = STRIPES.copy(), KNOWN.copy()
    X.flags.writeable = y.flags.writeable = False
    model(kind).fit(X, partial_labels=y)
    MetricMeanShift(learned[kind]).fit(X)
    np.testing.assert_array_equal(X, STRIPES)


@every_kind
def test_the_order_in_memory_does_not_matter(learned, kind):
    one = MetricMeanShift(learned[kind]).fit(STRIPES)
    other = MetricMeanShift(learned[kind]).fit(np.asfortranarray(STRIPES))
    np.testing.assert_array_equal(one.labels_, other.labels_)


def test_in_a_pipeline():
    pipe = make_pipeline(StandardScaler(), model(n_neighbors=25))
    labels = pipe.fit_predict(STRIPES, metricmeanshift__partial_labels=STRIPE)
    assert adjusted_rand_score(STRIPE, labels) > 0.9
    np.testing.assert_array_equal(pipe.predict(STRIPES), labels)


def test_in_a_grid_search(learned):
    def score(estimator, X, y):
        return adjusted_rand_score(y, estimator.predict(X))

    search = GridSearchCV(
        MetricMeanShift(FrozenEstimator(learned["global"])),
        {"n_neighbors": [3, 20]},
        scoring=score,
        cv=3,
    ).fit(STRIPES, STRIPE)
    assert search.best_params_ == {"n_neighbors": 20}


def test_labels_in_a_grid_search_are_split_with_the_rows():
    def score(estimator, X, y):
        return adjusted_rand_score(y, estimator.predict(X))

    search = GridSearchCV(model(), {"n_neighbors": [3, 20]}, scoring=score, cv=3)
    search.fit(STRIPES, STRIPE, partial_labels=KNOWN)
    assert search.best_params_ == {"n_neighbors": 20}


@every_kind
def test_names_of_columns(kind):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(STRIPES, columns=["a", "b", "c"])
    fitted = model(kind).fit(frame, partial_labels=KNOWN)
    np.testing.assert_array_equal(fitted.feature_names_in_, ["a", "b", "c"])
    np.testing.assert_array_equal(fitted.predict(frame), fitted.labels_)
    series = pandas.Series(KNOWN, index=np.arange(90)[::-1])
    again = model(kind).fit(frame, partial_labels=series)
    np.testing.assert_array_equal(again.labels_, fitted.labels_)


@every_kind
def test_a_metric_that_was_learned_from_names_takes_these_names(kind):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(STRIPES, columns=["a", "b", "c"])
    metric = scml(kind).fit(frame, STRIPE)
    fitted = MetricMeanShift(metric).fit(frame)  # without a warning
    plain = MetricMeanShift(scml(kind).fit(STRIPES, STRIPE)).fit(STRIPES)
    np.testing.assert_array_equal(fitted.labels_, plain.labels_)


@every_kind
def test_a_metric_that_was_learned_from_names_refuses_others(kind):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(STRIPES, columns=["a", "b", "c"])
    metric = scml(kind).fit(frame, STRIPE)
    with pytest.raises(ValueError, match="learned from columns"):
        MetricMeanShift(metric).fit(frame[["c", "b", "a"]])


# Refusals


def test_without_labels_or_links_there_is_nothing_to_learn_from():
    for metric in (*KINDS, SCML()):
        with pytest.raises(ValueError, match=r"partial_labels=.*links=.*matrix.*MeanShift"):
            MetricMeanShift(metric).fit(STRIPES)


@pytest.mark.parametrize("given_", [{"links": LINKS}, {"partial_labels": KNOWN}], ids=str)
@pytest.mark.parametrize("which", ["matrix", "global", "local", "frozen"])
def test_labels_and_links_are_not_ignored_with_a_metric_that_is_there(learned, which, given_):
    metric = {"matrix": np.eye(3), "frozen": FrozenEstimator(learned["local"]), **learned}[which]
    with pytest.raises(ValueError, match=r"Drop them, or learn from them: metric='global'"):
        MetricMeanShift(metric).fit(STRIPES, **given_)


@pytest.mark.parametrize("which", ["matrix", "global", "local", "frozen"])
def test_a_kernel_is_not_ignored_with_a_metric_that_is_there(learned, which):
    metric = {"matrix": np.eye(3), "frozen": FrozenEstimator(learned["local"]), **learned}[which]
    with pytest.raises(ValueError, match="Drop kernel, or learn"):
        MetricMeanShift(metric, kernel="gaussian").fit(STRIPES)


@pytest.mark.parametrize("metric", ["global", np.eye(3)], ids=["nothing to learn from", "matrix"])
def test_what_cannot_work_is_refused_before_the_kernel_is_computed(monkeypatch, metric):
    def work(*_, **__):
        raise AssertionError("O(n^3) for nothing")

    monkeypatch.setattr("linkshift.estimators.metric_mean_shift.kernel_space", work)
    with pytest.raises(ValueError, match=r"Drop kernel|there was neither"):
        MetricMeanShift(metric, kernel="gaussian").fit(STRIPES)


@pytest.mark.parametrize("change", [{"sigma": 2.0}, {"variance": 0.9}, {"variance": 1.0}], ids=str)
@pytest.mark.parametrize("metric", ["global", "local", np.eye(3)], ids=["global", "local", "M"])
def test_options_of_a_kernel_are_not_ignored_without_one(metric, change):
    given_ = {"partial_labels": KNOWN} if isinstance(metric, str) else {}
    with pytest.raises(ValueError, match=r"kernel='gaussian'.*drop"):
        MetricMeanShift(metric, **change).fit(STRIPES, **given_)


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        (np.eye(2), r"3 columns is a matrix of shape \(3, 3\), got shape \(2, 2\)"),
        (np.ones(3), r"got shape \(3,\)"),
        (np.ones((3, 2)), r"got shape \(3, 2\)"),
        (np.ones((90, 3, 3)), r"got shape \(90, 3, 3\)"),
        (np.triu(np.ones((3, 3))), "not symmetric"),
        (np.diag([1.0, 1.0, -1.0]), "not positive semi-definite"),
        (np.diag([1.0, np.nan, 1.0]), "not finite"),
        (np.diag([1.0, np.inf, 1.0]), "not finite"),
    ],
)
def test_a_matrix_that_is_no_metric_raises(metric, words):
    with pytest.raises(ValueError, match=words):
        MetricMeanShift(metric).fit(STRIPES)


@every_kind
def test_a_metric_of_other_columns_raises(learned, kind):
    with pytest.raises(ValueError, match=r"from 3 columns, X has 2"):
        MetricMeanShift(learned[kind]).fit(BLOBS)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"metric": "euclidean"}, "'metric' parameter"),
        ({"metric": 1.0}, "'metric' parameter"),
        ({"metric": None}, "'metric' parameter"),
        ({"kernel": "linear"}, "'kernel' parameter"),
        ({"sigma": 0.0, "kernel": "gaussian"}, "'sigma' parameter"),
        ({"sigma": "links", "kernel": "gaussian"}, "'sigma' parameter"),
        ({"variance": 0.0, "kernel": "gaussian"}, "'variance' parameter"),
        ({"variance": 1.1, "kernel": "gaussian"}, "'variance' parameter"),
        ({"n_neighbors": 0}, "'n_neighbors' parameter"),
        ({"n_neighbors": 2.5}, "'n_neighbors' parameter"),
        ({"profile": "box"}, "'profile' parameter"),
        ({"dimension": -1.0}, "'dimension' parameter"),
        ({"dimension": "rank"}, "'dimension' parameter"),
        ({"dimension": np.nan}, "'dimension' parameter"),
        ({"dimension": np.inf}, "'dimension' parameter"),
        ({"ridge": -1e-3}, "'ridge' parameter"),
        ({"ridge": np.nan}, "'ridge' parameter"),
        ({"merge_radius": 0.0}, "'merge_radius' parameter"),
        ({"merge_radius": np.inf}, "'merge_radius' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"tol": -1.0}, "'tol' parameter"),
        ({"tol": np.nan}, "'tol' parameter"),
        ({"n_jobs": 1.5}, "'n_jobs' parameter"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"random_state": "seed"}, "'random_state' parameter"),
        ({"progress": 3}, "'progress' parameter"),
    ],
    ids=str,
)
def test_a_parameter_out_of_range_raises_with_its_name(change, words):
    with pytest.raises(ValueError, match=words):
        MetricMeanShift(**change).fit(STRIPES, partial_labels=KNOWN)


@every_kind
@pytest.mark.parametrize(
    ("given_", "error", "words"),
    [
        ({"partial_labels": KNOWN[:5]}, ValueError, "5 entries for 90 rows"),
        ({"partial_labels": KNOWN[:, None]}, ValueError, "one label for each"),
        ({"partial_labels": 3}, (TypeError, ValueError), r"each row|one label"),
        ({"partial_labels": np.full(90, -1)}, ValueError, "partial_labels|label"),
        ({"partial_labels": np.where(KNOWN == 1, 1, -1)}, ValueError, "one class only.*another"),
        ({"links": Links()}, ValueError, "no must-links.*Give"),
        ({"links": Links(must=[(0, 1)])}, ValueError, "no cannot-links.*Give"),
        ({"links": Links(must=[(0, 90)], cannot=[(0, 1)])}, ValueError, "90"),
        ({"links": [(0, 1)]}, TypeError, "Links"),
    ],
    ids=range(9),
)
def test_labels_and_links_that_cannot_be_learned_from_raise(kind, given_, error, words):
    with pytest.raises(error, match=words):
        model(kind).fit(STRIPES, **given_)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_data_must_be_finite(bad):
    X = STRIPES.copy()
    X[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        MetricMeanShift(np.eye(3)).fit(X)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        MetricMeanShift(np.eye(3)).fit(STRIPES).predict(X)


def test_predict_needs_a_fit_and_the_same_columns():
    with pytest.raises(NotFittedError):
        MetricMeanShift().predict(BLOBS)
    with pytest.raises(ValueError, match="features"):
        MetricMeanShift(EYE).fit(BLOBS).predict(STRIPES)


@every_kind
def test_weights_that_are_all_nought_are_told(kind):
    # SCML warns of it, in both kinds; a global metric of noughts then finds one cluster.
    lazy = model(SCML(kind, beta=1e6, max_iter=3, n_bases=20))
    with pytest.warns(UserWarning, match="smaller beta"):
        fitted = lazy.fit(STRIPES, partial_labels=KNOWN)
    assert fitted.n_clusters_ == 1


# Edges


@every_kernel
@every_kind
def test_four_rows(kind, kernel):
    fitted = model(kind, kernel=kernel, n_neighbors=1)
    fitted.fit(BLOBS[[0, 1, 2, 3]], partial_labels=[0, 0, 1, 1])
    assert fitted.labels_.shape == (4,)


@pytest.mark.parametrize("metric", [EYE, np.diag([1.0, 0.0]), np.zeros((2, 2))], ids=range(3))
def test_two_rows(metric):
    fitted = MetricMeanShift(metric, n_neighbors=1).fit([[0.0, 0.0], [0.0, 5.0]])
    assert fitted.n_clusters_ == 1  # each is on the edge of the other's kernel
    np.testing.assert_allclose(fitted.cluster_centers_, [[0.0, 2.5]], atol=0.05)


def test_one_row_raises():
    with pytest.raises(ValueError, match="1 sample"):
        MetricMeanShift(EYE).fit([[0.0, 1.0]])


@every_kind
def test_too_many_neighbours_warn(learned, kind):
    with pytest.warns(UserWarning, match=r"90 neighbours .*only 89 other") as caught:
        fitted = MetricMeanShift(learned[kind], n_neighbors=90).fit(STRIPES)
    assert caught[0].filename == __file__
    whole = MetricMeanShift(learned[kind], n_neighbors=89).fit(STRIPES)
    np.testing.assert_array_equal(fitted.bandwidth_, whole.bandwidth_)


@every_kind
def test_all_rows_equal(learned, kind):
    fitted = MetricMeanShift(learned[kind], n_neighbors=3).fit(np.full((8, 3), 0.1))
    assert fitted.n_clusters_ == 1
    np.testing.assert_array_equal(fitted.bandwidth_, np.ones(8))
    np.testing.assert_allclose(fitted.cluster_centers_, [[0.1, 0.1, 0.1]])
    np.testing.assert_array_equal(fitted.predict([[0.1, 0.1, 0.1], [9.0, 8.0, 7.0]]), [0, 0])


@every_kind
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_more_duplicates_than_neighbours_take_the_least_bandwidth_of_the_others(kind, shift):
    rng = np.random.default_rng(0)
    metric = scml(kind).fit(STRIPES + shift, STRIPE)
    X = np.vstack([STRIPES, np.repeat(STRIPES[:1], 15, axis=0)])[rng.permutation(105)] + shift
    fitted = MetricMeanShift(metric, n_neighbors=10).fit(X)
    twins = (STRIPES[0] + shift == X).all(axis=1)
    assert twins.sum() == 16
    assert (fitted.bandwidth_[twins] == fitted.bandwidth_[~twins].min()).all()
    assert len(set(fitted.labels_[twins].tolist())) == 1


@every_kind
@every_kernel
def test_one_column(kind, kernel):
    X, y = BLOBS[:, :1] * 3.0, (BLOB == 1).astype(int)
    fitted = model(kind, kernel=kernel, n_neighbors=29).fit(X, partial_labels=y)
    assert fitted.n_clusters_ >= 2
    sides = [set(fitted.labels_[y == c].tolist()) for c in (0, 1)]
    assert not sides[0] & sides[1]


@every_kind
def test_a_constant_column_changes_nothing(kind):
    X = np.column_stack((BLOBS, np.full(90, 7.0)))
    fitted = model(kind).fit(X, partial_labels=BLOB)
    assert same_partition(fitted.labels_, BLOB)
    np.testing.assert_allclose(fitted.cluster_centers_[:, 2], 7.0)


@every_kind
@every_kernel
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_powers_of_bandwidths_do_not_underflow(kind, kernel, unit):
    width = {} if kernel is None else {"kernel": kernel, "sigma": 9.0 * unit}
    fitted = model(kind, **width, dimension=500).fit(unit * BLOBS, partial_labels=BLOB)
    assert fitted.dimension_ == 500.0
    assert same_partition(fitted.labels_, BLOB)
    assert np.isfinite(fitted.bandwidth_).all()
    np.testing.assert_array_equal(fitted.predict(unit * BLOBS), fitted.labels_)
    if kernel is None:
        assert np.isfinite(fitted.cluster_centers_).all()


def test_many_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 300))
    X[30:] += 2.0
    fitted = MetricMeanShift(np.eye(300), dimension="columns").fit(X)
    assert fitted.dimension_ == 300.0
    assert np.isfinite(fitted.cluster_centers_).all()
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)


@every_kind
def test_too_few_steps_warn(learned, kind):
    with pytest.warns(ConvergenceWarning, match="after 1 step. Increase max_iter") as caught:
        fitted = MetricMeanShift(learned[kind], max_iter=1).fit(STRIPES)
    assert fitted.n_iter_ == 1
    assert caught[0].filename == __file__


@every_kind
@every_kernel
def test_progress_is_called(kind, kernel):
    seen = []
    fitted = model(kind, kernel=kernel, progress=lambda *call: seen.append(call))
    fitted.fit(STRIPES, partial_labels=KNOWN)
    assert seen[-1] == (90, 90)
    assert all(of == 90 for _, of in seen)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    before = len(seen)
    fitted.predict(STRIPES + 0.1)
    assert len(seen) == before


@pytest.mark.parametrize("unit", [1e-150, 1e-30, 1e30, 1e150])
@pytest.mark.parametrize("how", ["matrix", *KINDS, "links", "kernel"])
def test_the_unit_does_not_matter(how, unit):
    given_ = {"partial_labels": BLOB}
    if how == "matrix":
        fitted, given_ = MetricMeanShift(EYE), {}
    elif how == "links":
        fitted, given_ = model(), {"links": Links.sample(BLOB, 60, random_state=0)}
    elif how == "kernel":
        fitted = model(kernel="gaussian", sigma=9.73 * unit)
    else:
        fitted = model(how)
    fitted.fit(unit * BLOBS, **given_)
    assert same_partition(fitted.labels_, BLOB)
    np.testing.assert_array_equal(fitted.predict(unit * (BLOBS + 0.1)), fitted.labels_)
    if how != "kernel":
        means = [BLOBS[fitted.labels_ == c].mean(axis=0) for c in range(3)]
        assert np.abs(fitted.cluster_centers_ / unit - means).max() < 1.0


@every_kind
@pytest.mark.parametrize("shift", [1e3, -1e6])
def test_the_origin_does_not_matter_to_learning(kind, shift):
    near = model(kind).fit(BLOBS, partial_labels=BLOB)
    far = model(kind).fit(BLOBS + shift, partial_labels=BLOB)
    assert same_partition(near.labels_, far.labels_)
    np.testing.assert_allclose(far.bandwidth_, near.bandwidth_, rtol=1e-2)
    np.testing.assert_allclose(
        np.sort(far.cluster_centers_ - shift, axis=0), np.sort(near.cluster_centers_, axis=0),
        atol=0.05,
    )  # fmt: skip


def test_a_wider_radius_merges_more():
    counts = [
        MetricMeanShift(EYE, n_neighbors=4, merge_radius=radius).fit(BLOBS).n_clusters_
        for radius in (1e-3, 0.3, 5.0, 1e6)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 1
