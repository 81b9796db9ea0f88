"""``metric="cosine"``: directions are all that counts, for every estimator that takes it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.estimators.variants import CLUSTERERS, VARIANTS, differ, outcome, quiet_fit
from tests.helpers import same_partition

import linkshift
from linkshift import ConstrainedMeanShift, KernelMeanShift, Links, MeanShift, model_files
from linkshift._core.arrays import unit_rows
from linkshift._core.messages import Refusal

TAKES = [name for name, v in CLUSTERERS.items() if getattr(v.make(1.0, 3), "_takes_cosine", False)]
OF_ROWS = [name for name in TAKES if "precomputed" not in name]
NOT_IN_FILES = ["Kernel function", "Refined k-means"]  # with parts that are not linkshift's own
LINKS = Links(must=[(0, 1), (20, 21)], cannot=[(0, 20), (1, 25)])
CENTRED = "KMeans"  # whose means are divided by their lengths, too; nothing moves there
every_one = pytest.mark.parametrize("name", OF_ROWS)


def directions(seed=0, d=3, dtype=np.float64):
    """Rows along two directions, of any length."""
    rng = np.random.default_rng(seed)
    X = 0.15 * rng.normal(size=(40, d))
    X[:20, 0] += 1.0
    X[20:, 1] += 1.0
    return (X * rng.lognormal(size=(40, 1))).astype(dtype)


def fitted(name, X, metric="cosine"):
    variant = VARIANTS[name]
    model = variant.make(0.6, X.shape[1]).set_params(metric=metric)
    return quiet_fit(model, X, links=variant.usable(LINKS))


def seen(name, model, new):
    return outcome(VARIANTS[name], model, None, new)


def test_these_are_all_that_take_it():
    kinds = {type(VARIANTS[name].make(1.0, 3)).__name__ for name in TAKES}
    assert kinds == {
        *("MeanShift", "PathMeanShift", "ConstrainedMeanShift", "KernelMeanShift"),
        *("RefinedClustering", "ConsensusClustering", "GraphMeanShift", "KMeans"),
    }


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", [name for name in OF_ROWS if name != CENTRED])
def test_it_is_a_fit_of_rows_of_length_one(name, dtype):
    X, new = directions(dtype=dtype), directions(1, dtype=dtype)
    plain = fitted(name, unit_rows(X), "euclidean")
    by_angle = fitted(name, X)
    assert not differ(seen(name, plain, unit_rows(new)), seen(name, by_angle, new))
    assert by_angle._fit_X.dtype == dtype


@every_one
@settings(max_examples=3, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_lengths_do_not_matter(name, seed):
    X = directions(seed)
    rng = np.random.default_rng(seed)
    powers, factors = 2.0 ** rng.integers(-20, 20, size=(40, 1)), rng.uniform(0.01, 99.0, (40, 1))
    model = fitted(name, X)
    again = fitted(name, X * powers)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(model.predict(X * powers), model.labels_)
    assert same_partition(fitted(name, X * factors).labels_, model.labels_)


@every_one
def test_clusters_are_directions(name):
    labels = fitted(name, directions()).labels_
    assert (labels[:20] == labels[0]).mean() > 0.4
    assert not set(labels[:20]) & set(labels[20:]) or "k-means" in name


@every_one
def test_a_row_of_zeros_has_no_direction(name):
    X = directions()
    model = fitted(name, X)
    before = seen(name, model, X)
    for call in (model.fit, model.predict):
        with pytest.raises(Refusal, match="Row 7 is all zeros"):
            call(np.where(np.arange(40)[:, None] == 7, 0.0, X))
    assert not differ(seen(name, model, X), before)


@pytest.mark.parametrize("name", TAKES)
def test_other_metrics_are_refused(name):
    X = directions()
    model = VARIANTS[name].make(0.6, 3).set_params(metric="manhattan")
    with pytest.raises(ValueError, match="'metric' parameter"):
        model.fit(VARIANTS[name].table(X, X))


def test_kernel_values_have_no_direction():
    K = np.eye(5)
    with pytest.raises(ValueError, match="kernel values; drop it"):
        KernelMeanShift("precomputed", metric="cosine", n_neighbors=2).fit(K)


def test_seeds_are_directions():
    X, options = directions(), {"bandwidth": 0.6, "metric": "cosine"}
    seeds = np.array([[5.0, 0.1, 0.0], [0.0, 0.3, 0.0]])
    near, far = (
        MeanShift(**options, seeds=seeds * length).fit(X).cluster_centers_
        for length in (1.0, 1024.0)
    )
    np.testing.assert_array_equal(near, far)
    with pytest.raises(Refusal, match="Seed 1 is all zeros"):
        MeanShift(**options, seeds=[[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]).fit(X)


def test_columns_are_not_scaled():
    X = directions() * [1.0, 1.0, 100.0]
    one, other = (
        ConstrainedMeanShift(metric="cosine", scale_features=scaled).fit(X, links=LINKS)
        for scaled in (True, False)
    )
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.shifted_, other.shifted_)


@pytest.mark.parametrize("name", [name for name in OF_ROWS if name != CENTRED])
def test_rows_are_explained(name):
    model = fitted(name, directions())
    explanation = model.explain(3)
    assert explanation.label == model.labels_[3]
    if explanation.path is not None and explanation.space == "input":
        # Of rows in a cell, the mean.
        rtol = 0.02 if "bin_size" in name else 1e-9
        np.testing.assert_allclose(np.linalg.norm(explanation.path[0]), 1.0, rtol=rtol)


@pytest.mark.parametrize("name", [n for n in OF_ROWS if n not in NOT_IN_FILES])
def test_model_files_keep_it(name, tmp_path):
    X, new = directions(), directions(1)
    model = fitted(name, X)
    model_files.save(model, tmp_path / "model.npz")
    again = model_files.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.predict(X * 4.0), model.labels_)
    assert not differ(seen(name, again, new), seen(name, model, new))


@pytest.mark.filterwarnings("ignore:.*links do not hold")
@pytest.mark.parametrize("method", ["auto", "mean-shift", "cms", "kernel", "skms"])
@pytest.mark.parametrize("links", [None, LINKS])
def test_one_call_takes_it(method, links):
    if method == "kernel" and links is not None:
        links = Links(must=links.must)
    if method == "cms" and links is None:
        return
    X = directions()
    found = linkshift.cluster(X, links, method=method, metric="cosine", random_state=0)
    assert "by cosine" in found.done
    assert found.model.metric == "cosine"
    np.testing.assert_array_equal(found.predict(X * 2.0), found.labels)
    other = linkshift.cluster(X * 8.0, links, method=method, metric="cosine", random_state=0)
    np.testing.assert_array_equal(found.labels, other.labels)


@pytest.mark.parametrize("options", [{"method": "metric"}, {"method": "groups", "n_clusters": 2}])
def test_methods_with_metrics_of_their_own_refuse_it(options):
    with pytest.raises(Refusal, match="no meaning with the method"):
        linkshift.cluster(directions(), LINKS, metric="cosine", **options)
