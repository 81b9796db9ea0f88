"""Data that is not a cloud of points: twins, constant columns, heavy tails, noise, a row or two.

Walks over all estimators as they are by default. ``DATA`` has the data and its classes, ``TOLD``
how much of the classes each estimator must find; all else is asked of every estimator: labels
without gaps, no infinities, known rows known, and neither all rows apart nor (with two classes and
more) all together.
"""

import warnings
from functools import cache
from inspect import signature

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from tests.estimators.variants import CLUSTERERS, quiet_fit

import linkshift
from linkshift import (
    ConstrainedMeanShift,
    GraphMeanShift,
    GroupFeatureClustering,
    KernelMeanShift,
    KMeans,
    Links,
    MeanShift,
    MetricMeanShift,
    PathMeanShift,
    RefinedClustering,
)

# Estimators that are told the number of clusters (or eps, as rivals are), or have a metric to
# learn, are not walked: what they do with special data is in their own tests.
ELSEWHERE = {GroupFeatureClustering, MetricMeanShift, GraphMeanShift, KMeans}
KINDS = {type(variant.make(1.0, 2)) for variant in CLUSTERERS.values()} - ELSEWHERE
KINDS = {kind for kind in KINDS if "baselines" not in kind.__module__}
SHAPES = {
    **{kind.__name__: kind for kind in KINDS},
    "MeanShift gaussian": lambda: MeanShift(kernel="gaussian"),
    "PathMeanShift gaussian": lambda: PathMeanShift(kernel="gaussian"),
    "KernelMeanShift learn": lambda: KernelMeanShift(use_links="learn"),
}
every_one = pytest.mark.parametrize("name", sorted(SHAPES))
both_dtypes = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def blobs(rng, per=60):
    return np.concatenate([rng.normal(size=(per, 2)), 10.0 + rng.normal(size=(per, 2))])


def twins(rng):
    """100 zeros and 100 ones, scikit-learn issue 28926."""
    return np.repeat([[0.0], [1.0]], 100, axis=0), np.repeat([0, 1], 100)


def mostly_twins(rng):
    """A few distinct rows beside many that are equal."""
    few = 10.0 + rng.normal(size=(30, 2))
    return np.concatenate([np.zeros((150, 2)), few]), np.repeat([0, 1], [150, 30])


def many_noughts(rng):
    """A column as counts have it: mostly zero, else anything above."""
    few = np.abs(rng.normal(size=(50, 1)))
    return np.concatenate([np.zeros((150, 1)), few]), np.repeat([0, 1], [150, 50])


def constant_column(rng):
    return np.insert(blobs(rng), 1, 3.0, axis=1), np.repeat([0, 1], 60)


def nearly_constant_column(rng):
    noise = 1e-33 * rng.normal(size=120)
    return np.insert(blobs(rng), 1, noise, axis=1), np.repeat([0, 1], 60)


def heavy_tails(rng):
    return rng.standard_cauchy((200, 3)), np.arange(200) % 2


def blob_in_noise(rng):
    """One dense blob in sparse noise."""
    blob, noise = 0.1 * rng.normal(size=(200, 2)), rng.uniform(-10.0, 10.0, size=(40, 2))
    return np.concatenate([blob, noise]), np.repeat([0, 1], [200, 40])


def thirty(rng):
    """30 clusters in the plane, smaller than the k of the default bandwidth."""
    centres = 10.0 * np.stack(np.meshgrid(np.arange(6), np.arange(5)), axis=-1).reshape(-1, 2)
    return np.repeat(centres, 30, axis=0) + rng.normal(size=(900, 2)), np.repeat(np.arange(30), 30)


DATA = {
    data.__name__: data
    for data in (
        *(twins, mostly_twins, many_noughts, constant_column, nearly_constant_column),
        *(heavy_tails, blob_in_noise, thirty),
    )
}
# Least adjusted Rand index with the classes; where nothing is said, none.
TOLD = {
    "twins": 1.0,
    "mostly_twins": 0.9,
    "many_noughts": 0.5,
    "constant_column": 0.6,
    "nearly_constant_column": 0.6,
    "thirty": 0.95,
}
# Equal rows are one row of the graph of neighbours, which is then too small to be a cluster; and a
# kernel's space has one mode where most rows are in one place.
WEAKER = {("ConsensusClustering", "mostly_twins"): 0.6, ("KernelMeanShift", "many_noughts"): None}


@cache
def problem(data, dtype):
    """Rows, classes, and links that say some of them."""
    X, y = DATA[data](np.random.default_rng(0))
    n_links = 460 if y.max() > 1 else 20
    return X.astype(dtype), y, Links.sample(y, n_links, random_state=0)


def usable(name, links):
    """Links that an estimator takes at all."""
    if name.startswith("MeanShift") or name == "KernelMeanShift":
        return None
    return links


def fitted(name, X, links):
    return quiet_fit(SHAPES[name](), X, links=usable(name, links))


@cache
def model_of(name, data, dtype):
    X, _, links = problem(data, dtype)
    return fitted(name, X, links)


def assert_sound(model, X):
    """Labels without gaps, finite numbers, and known rows known."""
    labels = model.labels_
    assert set(labels.tolist()) == set(range(model.n_clusters_))
    for attribute in ("cluster_centers_", "shifted_", "embedding_", "bandwidth_"):
        if hasattr(model, attribute):
            assert np.isfinite(getattr(model, attribute)).all()
    np.testing.assert_array_equal(model.predict(X), labels)
    new = model.predict(X * X.dtype.type(1.001))
    assert new.min() >= 0
    assert new.max() < model.n_clusters_


@both_dtypes
@pytest.mark.parametrize("data", DATA)
@every_one
def test_special_data(name, data, dtype):
    X, y, _ = problem(data, dtype)
    model = model_of(name, data, dtype)
    assert_sound(model, X)
    assert model.n_clusters_ < 0.5 * len(X)
    least = WEAKER.get((name, data), TOLD.get(data))
    if least is not None:
        assert model.n_clusters_ > 1
        assert adjusted_rand_score(y, model.labels_) >= least


@both_dtypes
@every_one
def test_a_dense_blob_is_not_torn_by_noise_around_it(name, dtype):
    _, y, _ = problem("blob_in_noise", dtype)
    labels = model_of(name, "blob_in_noise", dtype).labels_
    largest = labels == np.bincount(labels).argmax()
    # With the flat kernel the default bandwidth tears it anyway, and more so without noise.
    assert largest[y == 0].mean() > (0.25 if name == "MeanShift" else 0.5)
    assert largest[y == 0].mean() > largest[y == 1].mean()


@every_one
def test_equal_rows_are_in_one_cluster(name):
    labels = model_of(name, "mostly_twins", np.float64).labels_
    assert len(set(labels[:150].tolist())) == 1


@pytest.mark.parametrize("name", ["MeanShift", "MeanShift gaussian"])
@pytest.mark.parametrize("n_neighbors", [5, 20, 99])
def test_twins_with_a_bandwidth_of_their_own(name, n_neighbors):
    X, *_ = problem("twins", np.float64)
    model = SHAPES[name]().set_params(n_neighbors=n_neighbors).fit(X)
    np.testing.assert_array_equal(model.bandwidth_, np.full(200, 0.5))
    assert model.n_clusters_ == (1 if "gaussian" in name else 2)


@every_one
@both_dtypes
def test_a_constant_column_changes_nothing(name, dtype):
    X, _, links = problem("constant_column", dtype)
    labels = model_of(name, "constant_column", dtype).labels_
    assert adjusted_rand_score(fitted(name, X[:, [0, 2]], links).labels_, labels) == 1.0


@both_dtypes
def test_a_nearly_constant_column_is_told_where_columns_are_scaled(dtype):
    pandas = pytest.importorskip("pandas")
    X, _, links = problem("nearly_constant_column", dtype)
    model = ConstrainedMeanShift()
    with pytest.warns(UserWarning, match=r"count as constant: 1\. Scale the columns"):
        model.fit(X, links=links)
    with pytest.warns(UserWarning, match=r"count as constant: dust\."):
        model.fit(pandas.DataFrame(X, columns=["a", "dust", "b"]), links=links)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ConstrainedMeanShift(scale_features=False).fit(X, links=links)
        constant = model_of("ConstrainedMeanShift", "constant_column", dtype)
        ConstrainedMeanShift().fit(X * [1.0, 1e33, 1.0], links=links)
    np.testing.assert_array_equal(model.labels_, constant.labels_)
    np.testing.assert_array_equal(model.shifted_[:, 1], X[:, 1].min())


@both_dtypes
@every_one
def test_one_row(name, dtype):
    X = np.ones((1, 2), dtype=dtype)
    if SHAPES[name]()._min_samples > 1:
        with pytest.raises(ValueError, match="minimum of 2 is required"):
            fitted(name, X, None)
        return
    model = fitted(name, X, None)
    assert model.labels_.tolist() == [0]
    assert_sound(model, X)


@both_dtypes
@pytest.mark.parametrize("kind", ["must", "cannot"])
@every_one
def test_two_rows(name, kind, dtype):
    X = np.array([[0.0, 0.0], [1.0, 1.0]], dtype=dtype)
    model = fitted(name, X, Links(**{kind: [(0, 1)]}))
    assert_sound(model, X)
    if kind == "must" and usable(name, Links()) is not None:
        assert model.n_clusters_ == 1
    if kind == "cannot" and name.startswith(("Path", "Constrained")):
        assert model.n_clusters_ == 2


@both_dtypes
@pytest.mark.parametrize("value", [0.0, 0.3, 1e30])
@every_one
def test_rows_that_are_all_equal(name, value, dtype):
    X = np.full((30, 2), value, dtype=dtype)
    model = fitted(name, X, Links(must=[(0, 1)]))
    assert_sound(model, X)
    assert model.n_clusters_ == 1


@every_one
def test_directions_with_twins(name):
    # By cosine rows of one direction are twins but for rounding.
    if "metric" not in signature(type(SHAPES[name]())).parameters:
        return
    rng = np.random.default_rng(0)
    X = np.repeat([[1.0, 2.0, 3.0], [3.0, 1.0, 0.5]], 30, axis=0) * rng.uniform(0.1, 9.0, (60, 1))
    y = np.repeat([0, 1], 30)
    model = SHAPES[name]().set_params(metric="cosine")
    quiet_fit(model, X, links=usable(name, Links.sample(y, 20, random_state=0)))
    assert adjusted_rand_score(y, model.labels_) == 1.0


def test_no_estimator_is_left_out():
    known = {kind.__name__ for kind in KINDS | ELSEWHERE}
    public = {
        name for name in linkshift.__all__ if hasattr(getattr(linkshift, name), "fit_predict")
    }
    assert public <= known
    assert {type(make()) for make in SHAPES.values()} == KINDS
    assert RefinedClustering in KINDS
