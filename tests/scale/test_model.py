"""Four functions for rows in chunks: fit and predict."""

import pickle

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from tests.helpers import blobs

from linkshift import MeanShift, scale
from linkshift._core.messages import Refusal

KERNELS = ("flat", "epanechnikov", "gaussian", "truncated_gaussian")


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_summary_of_all_rows_is_mean_shift(kernel, dtype):
    X = blobs(300, 4, k=5)[0].astype(dtype)
    h = 2.0 if kernel == "gaussian" else 5.0
    model = scale.fit(scale.summarise(X, 300), bandwidth=h, kernel=kernel)
    exact = MeanShift(bandwidth=h, kernel=kernel, assignment="basin").fit(X)
    np.testing.assert_array_equal(model.modes.centers, exact.cluster_centers_)
    np.testing.assert_array_equal(scale.predict(model, X), exact.labels_)
    assert model.modes.centers.dtype == dtype


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
@pytest.mark.parametrize("d", [2, 8])
def test_chunks_are_clustered_as_one_table(kernel, d):
    X, _ = blobs(6000, d, k=8, std=0.7, seed=3)
    chunks = np.array_split(X, 5)
    summaries = [scale.summarise(chunk, 400, seed) for seed, chunk in enumerate(chunks)]
    model = scale.fit(scale.merge(summaries, 400), kernel=kernel)
    labels = np.concatenate([scale.predict(model, chunk) for chunk in chunks])
    exact = MeanShift(
        bandwidth=model.bandwidth, kernel=kernel, assignment="basin", landmarks=None
    ).fit(X)
    assert adjusted_rand_score(exact.labels_, labels) > 0.97


def test_the_bandwidth_is_that_of_the_rows():
    X, _ = blobs(5000, 6)
    summary = scale.summarise(X, 300)
    found = scale.fit(summary).bandwidth
    np.testing.assert_allclose(found, MeanShift(kernel="gaussian").fit(X).bandwidth_, rtol=0.1)


def test_threads_and_pickles_change_nothing():
    X, _ = blobs(3000, 5)
    summary = scale.summarise(X, 200)
    one, two = (scale.fit(summary, n_jobs=n_jobs) for n_jobs in (1, 2))
    labels = scale.predict(one, X, n_jobs=1)
    np.testing.assert_array_equal(labels, scale.predict(two, X, n_jobs=2))
    np.testing.assert_array_equal(labels, scale.predict(pickle.loads(pickle.dumps(one)), X))


def test_kept_rows_have_labels_of_their_own():
    X, _ = blobs(2000, 5)
    model = scale.fit(scale.summarise(X, 100, keep=[5, 40]))
    labels = scale.predict(model, X[[5, 40]])
    np.testing.assert_array_equal(labels, model.landmarks.labels[:2])


def test_refusals():
    X, _ = blobs(100, 4)
    summary = scale.summarise(X, 20)
    model = scale.fit(summary)
    with pytest.raises(Refusal, match="3 columns"):
        scale.predict(model, X[:, :3])
    with pytest.raises(Refusal, match="not finite"):
        scale.predict(model, X * np.nan)
    assert scale.predict(model, X[:0]).shape == (0,)
