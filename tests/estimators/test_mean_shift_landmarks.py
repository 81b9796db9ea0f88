"""MeanShift by landmarks: as faithful as it says, with all that exact mean shift has."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from tests.helpers import blobs
from tests.reference import mean_shift as twin

from linkshift import MeanShift, model_files
from linkshift._core.messages import Advice
from linkshift.estimators import _mean_shift_landmarks as module
from linkshift.profiles import Profile

KERNELS = ("flat", "epanechnikov", "gaussian", "truncated_gaussian")


def problem(n=3000, d=4, k=6, dtype=np.float64, seed=1):
    X, y = blobs(n, d, k=k, std=1.0, seed=seed)
    return X.astype(dtype), y


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("d", [2, 6])
def test_as_exact_mean_shift(kernel, d, dtype):
    X, _ = problem(d=d, dtype=dtype)
    reach = Profile(kernel).spread(d)
    h = 0.9 / reach
    exact = MeanShift(kernel=kernel, bandwidth=h, landmarks=None).fit(X)
    found = MeanShift(kernel=kernel, bandwidth=h, landmarks=600).fit(X)
    assert adjusted_rand_score(exact.labels_, found.labels_) > 0.95
    assert found.fidelity_ > 0.9
    assert found.cluster_centers_.dtype == dtype
    assert not hasattr(exact, "fidelity_")


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
def test_centres_are_modes_of_the_rows(kernel):
    X, _ = problem(800)
    h = 1.0 if kernel == "gaussian" else 3.0
    found = MeanShift(kernel=kernel, bandwidth=h, landmarks=60, tol=1e-7).fit(X)
    for centre in found.cluster_centers_:
        weight = twin.weight(kernel, ((X - centre) ** 2).sum(axis=1) / h**2)
        np.testing.assert_allclose(weight @ X / weight.sum(), centre, atol=1e-4)


def test_as_many_landmarks_as_rows_are_exact():
    X, _ = problem(500)
    exact, found = (
        MeanShift(kernel="gaussian", landmarks=landmarks).fit(X) for landmarks in (None, 500)
    )
    np.testing.assert_array_equal(exact.labels_, found.labels_)
    np.testing.assert_array_equal(exact.cluster_centers_, found.cluster_centers_)
    assert not hasattr(found, "fidelity_")


def test_auto_is_exact_up_to_a_size_and_says_so_beyond(monkeypatch):
    X, _ = problem(2000, 6)
    small = MeanShift(kernel="gaussian").fit(X)  # a warning would be an error here
    np.testing.assert_array_equal(
        small.labels_, MeanShift(kernel="gaussian", landmarks=None).fit(X).labels_
    )
    monkeypatch.setattr(module, "MOST_ROWS", 1999)
    monkeypatch.setattr(module, "N_LANDMARKS", 300)
    with pytest.warns(Advice, match=r"2,000 rows .* 300 landmarks.*landmarks=None") as told:
        found = MeanShift(kernel="gaussian").fit(X)
    assert len(told) == 1
    assert f"is {found.fidelity_:.2f}" in str(told[0].message)
    MeanShift(kernel="gaussian").fit(X[:1999])
    MeanShift(kernel="gaussian", landmarks=None).fit(X)
    for other in ({"bin_size": 2.0}, {"blurring": True}, {"bin_seeding": True}, {"n_neighbors": 9}):
        assert not hasattr(MeanShift(max_iter=9999, **other).fit(X), "fidelity_")


def test_the_sizes_of_auto():
    assert module.count_landmarks("auto", 20_000, 6) is None
    assert module.count_landmarks("auto", 20_001, 6) == 8_000
    assert module.count_landmarks("auto", 50_000, 5) is None
    assert module.count_landmarks("auto", 50_001, 5) == 8_000
    assert module.count_landmarks(None, 10**9, 99) is None


@pytest.mark.parametrize(
    "other",
    [
        {"seeds": [[0.0] * 4]},
        {"bin_seeding": True},
        {"bin_size": 0.5},
        {"bandwidth": [1.0] * 300},
        {"n_neighbors": 5},
        {"blurring": True},
        {"keep_paths": True},
    ],
    ids=lambda other: next(iter(other)),
)
def test_what_landmarks_would_ignore_raises(other):
    X, _ = problem(300)
    with pytest.raises(ValueError, match=r"landmarks=None") as refused:
        MeanShift(landmarks=50, **other).fit(X)
    assert next(iter(other)) in str(refused.value)


@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": "gaussian"},
        {"kernel": "flat"},
        {"kernel": "flat", "assignment": "basin"},
        {"kernel": "gaussian", "n_clusters": 3},
        {"kernel": "gaussian", "max_clusters": 4},
        {"kernel": "gaussian", "metric": "cosine", "bandwidth": 0.1},
        {"kernel": "gaussian", "cluster_all": False},
        {"kernel": "gaussian", "path_merge": 0.1, "end_radius": 0.5},
    ],
    ids=str,
)
def test_predict_explain_and_files(parameters, tmp_path):
    X, _ = problem(900)
    new = X[::4] + 0.3
    h = 3.0 if parameters["kernel"] == "flat" else 1.2
    model = MeanShift(**{"bandwidth": h, "landmarks": 150, **parameters}).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    path = tmp_path / "model.npz"
    model_files.save(model, path)
    again = model_files.load(path)
    for asked in (X, new):
        np.testing.assert_array_equal(again.predict(asked), model.predict(asked))
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert again.fidelity_ == model.fidelity_
    np.testing.assert_array_equal(model.score_samples(new), again.score_samples(new))
    told = model.explain(3)
    assert any("andmarks" in note for note in told.notes)
    np.testing.assert_array_equal(told.path, again.explain(3).path)


def test_weights_are_counts():
    X, _ = problem(1500)
    weight = np.random.default_rng(0).integers(1, 4, size=len(X)).astype(float)
    twice = np.repeat(X, weight.astype(int), axis=0)
    options = {"kernel": "gaussian", "bandwidth": 1.0, "landmarks": 200}
    one = MeanShift(**options).fit(X, sample_weight=weight)
    other = MeanShift(**options).fit(twice)
    np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, atol=1e-3)
    labels = np.repeat(one.labels_, weight.astype(int))
    assert adjusted_rand_score(labels, other.labels_) > 0.999


def test_threads_order_and_progress():
    X, _ = problem(2000)
    calls = []
    options = {"kernel": "gaussian", "landmarks": 300}
    one = MeanShift(n_jobs=1, **options).fit(X)
    two = MeanShift(n_jobs=3, progress=lambda *call: calls.append(call), **options).fit(X)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.cluster_centers_, two.cluster_centers_)
    assert one.fidelity_ == two.fidelity_
    done = [call[0] for call in calls]
    assert done == sorted(done)
    assert calls[-1][0] == calls[-1][1]
    order = np.random.default_rng(2).permutation(len(X))
    other = MeanShift(**options).fit(X[order])
    assert adjusted_rand_score(one.labels_[order], other.labels_) > 0.99


def test_a_default_bandwidth_from_some_rows(monkeypatch):
    X, _ = problem(4000, 6)
    exact = MeanShift(kernel="gaussian", landmarks=None).fit(X).bandwidth_
    monkeypatch.setattr(module, "_BANDWIDTH_ROWS", 1000)
    found = module.few_rows_bandwidth(X, Profile("gaussian"), sample_weight=None)
    np.testing.assert_allclose(found, exact, rtol=0.05)
    counts = np.full(len(X), 3.0)
    weighted = module.few_rows_bandwidth(X, Profile("gaussian"), sample_weight=counts)
    exact = MeanShift(kernel="gaussian", landmarks=None).fit(np.repeat(X, 3, axis=0)).bandwidth_
    np.testing.assert_allclose(weighted, exact, rtol=0.05)


def test_unfaithful_labels_are_told(monkeypatch):
    X, _ = problem(3000, 4)
    good = MeanShift(kernel="gaussian", bandwidth=1.0, landmarks=500).fit(X)
    bad = MeanShift(kernel="gaussian", bandwidth=1.0, landmarks=2).fit(X)
    assert bad.fidelity_ < 0.8 < good.fidelity_
