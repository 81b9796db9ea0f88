"""MeanShift refuses what it cannot use, and ignores no parameter."""

import re

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from tests.estimators.mean_shift_rows import X, every_kernel
from tests.helpers import blobs

import linkshift
from linkshift import Links, MeanShift
from linkshift.profiles import Profile

# Bad input


def changed(value):
    bad = X.copy()
    bad[7, 1] = value
    return bad


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (changed(np.nan), "NaN"),
        (changed(np.inf), "infinity"),
        ([["a", "b"], ["c", "d"]], "could not convert|numeric"),
        (np.empty((0, 2)), "0 sample"),
        (np.empty((3, 0)), "0 feature"),
        (np.arange(5.0), "2D"),
        (np.ones((2, 2, 2)), "dim"),
        (X + 1j, "[Cc]omplex"),
    ],
)
def test_bad_data(data, message):
    with pytest.raises(ValueError, match=message):
        MeanShift().fit(data)


@every_kernel
@pytest.mark.parametrize("blurring", [False, True])
def test_one_point_and_equal_points_are_one_cluster(kernel, blurring):
    for data in (np.array([[3.0, 4.0]]), np.full((20, 2), 5.5)):
        model = MeanShift(kernel=kernel, blurring=blurring).fit(data)
        np.testing.assert_array_equal(model.labels_, 0)
        np.testing.assert_allclose(model.cluster_centers_, data[:1])
        np.testing.assert_array_equal(model.predict(data), 0)


@pytest.mark.parametrize(
    "bandwidth",
    [
        0,
        -1.0,
        np.nan,
        np.inf,
        "wide",
        np.ones(299),
        np.ones((300, 2)),
        np.r_[np.ones(299), 0.0],
        np.r_[np.ones(299), -1.0],
        np.r_[np.ones(299), np.nan],
        np.r_[np.ones(299), np.inf],
        [],
    ],
    ids=str,
)
def test_bad_bandwidths(bandwidth):
    with pytest.raises(ValueError, match=r"bandwidth|NaN|infinity|minimum of 1"):
        MeanShift(bandwidth=bandwidth).fit(X)


def test_the_row_of_a_bad_bandwidth_is_named():
    with pytest.raises(ValueError, match="row 7"):
        MeanShift(bandwidth=np.r_[np.ones(7), -2.0, np.ones(292)]).fit(X)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_jobs": 0},
        {"n_jobs": 1.5},
        {"kernel": "box"},
        {"kernel": None},
        {"max_iter": 0},
        {"tol": -1.0},
        {"path_merge": -0.1},
        {"end_radius": -1.0},
        {"path_radius": -0.1},
        {"bin_size": 0.0},
        {"min_bin_freq": 0, "bin_seeding": True},
        {"n_neighbors": 0},
        {"n_neighbors": 300},
        {"assignment": "far"},
        {"progress": 3},
        {"keep_paths": "yes"},
        {"seeds": np.zeros((2, 3))},
        {"seeds": np.zeros(2)},
        {"seeds": np.full((1, 2), np.nan)},
        {"seeds": np.full((1, 2), 1e6), "bandwidth": 1.0},
        {"bin_seeding": True, "min_bin_freq": 1000},
    ],
    ids=str,
)
def test_bad_parameters(parameters):
    with pytest.raises(ValueError):
        MeanShift(**parameters).fit(X)


def test_too_few_steps_warn():
    with pytest.warns(ConvergenceWarning, match="after 1 step"):
        model = MeanShift(bandwidth=2.0, kernel="gaussian", max_iter=1).fit(X)
    assert model.n_iter_ == 1
    with pytest.warns(ConvergenceWarning, match="after 1 step"):
        MeanShift(bandwidth=2.0, kernel="gaussian", max_iter=1, blurring=True).fit(X)


def test_links_raise_and_name_a_remedy_that_exists():
    with pytest.raises(ValueError, match="links") as caught:
        MeanShift(bandwidth=2.0).fit(X, links=Links(must=[(0, 1)]))
    named = re.findall(r"linkshift\.(\w+)", str(caught.value))
    assert named
    for name in named:
        assert callable(getattr(linkshift, name))


def test_predicting_before_fitting_and_with_other_columns():
    with pytest.raises(NotFittedError):
        MeanShift().predict(X)
    with pytest.raises(NotFittedError):
        MeanShift().score_samples(X)
    with pytest.raises(ValueError, match="3 features"):
        MeanShift(bandwidth=2.0).fit(X).predict(np.ones((2, 3)))


# No parameter is ignored

BASE = {"bandwidth": 1.0, "kernel": "gaussian"}
EFFECTS = [
    ({}, {"bandwidth": 3.0}),
    ({}, {"bandwidth": np.linspace(0.5, 2.5, 300)}),
    ({}, {"seeds": X[:2]}),
    ({}, {"metric": "cosine"}),
    ({"bandwidth": 0.5}, {"bin_seeding": True}),
    ({"bin_seeding": True, "kernel": "flat"}, {"min_bin_freq": 4}),
    ({}, {"cluster_all": False}),
    ({}, {"kernel": "flat"}),
    ({}, {"kernel": Profile("truncated_gaussian", 2.0)}),
    ({"bandwidth": None}, {"n_neighbors": 5}),
    ({}, {"blurring": True}),
    ({}, {"assignment": "nearest"}),
    ({}, {"tol": 0.1}),
    ({}, {"path_merge": 0.5}),
    ({}, {"path_radius": 0.5, "end_radius": 1.0}),
    ({}, {"bin_size": 0.5}),
    ({}, {"landmarks": 40}),
    ({}, {"n_clusters": 3}),
    ({}, {"max_clusters": 2}),
    ({}, {"keep_paths": True}),
]


def results(model):
    return (
        model.labels_.tolist(),
        model.cluster_centers_.tolist(),
        model.n_iter_,
        hasattr(model, "paths_"),
    )


@pytest.mark.parametrize(("base", "change"), EFFECTS, ids=str)
def test_every_parameter_has_an_effect(base, change):
    rough, _ = blobs(300, k=4, std=2.5)
    before = MeanShift(**{**BASE, **base}).fit(rough)
    after = MeanShift(**{**BASE, **base, **change}).fit(rough)
    assert results(before) != results(after)


def test_every_parameter_is_tested_for_an_effect():
    elsewhere = {"n_jobs", "max_iter", "progress"}  # speed; the warning; the callback
    assert {name for _, change in EFFECTS for name in change} | elsewhere == set(
        MeanShift().get_params()
    )


def test_progress_is_called():
    calls = []
    model = MeanShift(bandwidth=2.0, progress=lambda *call: calls.append(call)).fit(X)
    shares = [done / total for done, total in calls]
    assert len(shares) >= model.n_iter_
    assert shares == sorted(shares)
    assert shares[-1] == 1


@pytest.mark.parametrize(
    "parameters",
    [
        {"bandwidth": 1.0, "n_neighbors": 5},
        {"seeds": X[:2], "bin_seeding": True},
        {"min_bin_freq": 2},
        {"n_neighbors": 5, "bin_seeding": True},
        {"n_neighbors": 5, "bin_size": 0.5},
        {"bandwidth": np.ones(300), "bin_seeding": True},
        {"bandwidth": np.ones(300), "bin_size": 0.5},
        {"blurring": True, "seeds": X[:2]},
        {"blurring": True, "bin_seeding": True},
        {"blurring": True, "path_merge": 0.1},
        {"blurring": True, "end_radius": 1.0},
        {"blurring": True, "path_radius": 0.1},
        {"blurring": True, "assignment": "nearest"},
    ],
    ids=lambda p: "+".join(p),
)
def test_combinations_that_would_be_ignored_raise(parameters):
    with pytest.raises(ValueError):
        MeanShift(**parameters).fit(X)


def test_cells_that_save_nothing_warn():
    with pytest.warns(UserWarning, match="bin_size"):
        MeanShift(bandwidth=1.0, bin_size=0.01).fit(X)


def test_own_bandwidths_are_those_of_the_rows():
    h = np.linspace(1.0, 3.0, 300)
    shuffle = np.random.default_rng(0).permutation(300)
    here = MeanShift(bandwidth=h, kernel="gaussian").fit(X)
    there = MeanShift(bandwidth=h[shuffle], kernel="gaussian").fit(X[shuffle])
    np.testing.assert_array_equal(there.labels_, here.labels_[shuffle])
    np.testing.assert_array_equal(here.bandwidth_, h)


@every_kernel
def test_equal_own_bandwidths_are_one_bandwidth(kernel):
    one = MeanShift(bandwidth=2.0, kernel=kernel).fit(X)
    many = MeanShift(bandwidth=np.full(300, 2.0), kernel=kernel).fit(X)
    np.testing.assert_array_equal(many.labels_, one.labels_)
    np.testing.assert_allclose(many.cluster_centers_, one.cluster_centers_, atol=1e-10)


def test_a_bandwidth_as_a_list():
    listed = MeanShift(bandwidth=[2.0] * 300).fit(X)
    np.testing.assert_array_equal(listed.labels_, MeanShift(bandwidth=2.0).fit(X).labels_)
