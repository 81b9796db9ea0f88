"""ConstrainedMeanShift at the edges: few rows, odd links, every parameter and every refusal."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from tests.estimators.constrained_problems import LINKS, TRUTH, X
from tests.helpers import blobs, same_partition

from linkshift import ConstrainedMeanShift, Links

no_cannot_links = pytest.mark.filterwarnings("ignore:Without cannot-links")


# Edges


def test_no_links_warn_and_the_bandwidth_stops_at_the_scale_of_the_density():
    data, y = make_blobs(300, centers=5, cluster_std=0.4, random_state=1)
    for links in (None, Links(must=[(0, int(np.flatnonzero(y == y[0])[1]))])):
        with pytest.warns(UserWarning, match="stops growing at the scale.*use MeanShift"):
            model = ConstrainedMeanShift().fit(data, links=links)
        assert adjusted_rand_score(y, model.labels_) > 0.95
        assert model.link_report_.share == 1.0
        assert len(model.bandwidth_) == 80
        assert model.bandwidth_[-1] == model.bandwidth_[-2]
    with pytest.warns(UserWarning, match="merges all rows into one cluster.*use MeanShift"):
        assert ConstrainedMeanShift(growth="full").fit(data).n_clusters_ == 1


def test_from_links_to_none_and_back_is_a_fresh_fit():
    """Without links bandwidths grow otherwise: what was kept of one serves the other not."""
    links = Links(cannot=[(0, 1)])
    models = [ConstrainedMeanShift(keep_history=True) for _ in range(2)]
    with pytest.warns(UserWarning, match="Without cannot-links"):
        fresh = models[0].fit(X).labels_
    with pytest.warns(UserWarning, match="Without cannot-links"):
        again = models[1].fit(X, links=links).refit(links=Links())
    np.testing.assert_array_equal(again.labels_, fresh)
    linked = models[0].refit(links=links).labels_
    np.testing.assert_array_equal(linked, ConstrainedMeanShift().fit(X, links=links).labels_)


def test_no_warning_at_a_fixed_bandwidth():
    model = ConstrainedMeanShift(bandwidth=0.1).fit(X, links=Links(must=[(0, 1)]))
    assert model.n_clusters_ > 1


def test_one_link():
    truth = np.repeat([0, 1], 30)
    points = np.random.default_rng(0).normal(size=(60, 2)) + 6.0 * truth[:, None]
    model = ConstrainedMeanShift().fit(points, links=Links(cannot=[(0, 59)]))
    assert same_partition(model.labels_, truth)


def test_everything_known():
    model = ConstrainedMeanShift().fit(X, links=Links.from_labels(TRUTH))
    assert same_partition(model.labels_, TRUTH)
    with pytest.warns(UserWarning, match="2700 cannot-linked pairs; 300 of them"):
        few = ConstrainedMeanShift(max_pairs=300).fit(X, links=Links.from_labels(TRUTH))
    assert same_partition(few.labels_, TRUTH)
    assert few.link_report_.share == 1.0


def test_a_cannot_link_between_identical_points():
    points = np.array([[0.0, 1.0]] * 2 + [[0.1, 1.0], [3.0, 3.0], [3.1, 3.0]])
    model = ConstrainedMeanShift().fit(points, links=Links(cannot=[(0, 1), (0, 3)]))
    assert model.labels_[0] != model.labels_[1]
    assert model.link_report_.share == 1.0


def test_links_to_duplicates():
    points = np.repeat(np.array([[0.0], [1.0], [5.0], [6.0]]), 5, axis=0)
    model = ConstrainedMeanShift().fit(points, links=Links(must=[(0, 1)], cannot=[(2, 17)]))
    assert same_partition(model.labels_, np.repeat([0, 0, 1, 1], 5))


@no_cannot_links
def test_few_rows():
    one = ConstrainedMeanShift().fit([[3.0, 4.0]])
    np.testing.assert_array_equal(one.labels_, [0])
    np.testing.assert_array_equal(one.shifted_, [[3.0, 4.0]])
    np.testing.assert_array_equal(one.predict([[0.0, 0.0]]), [0])
    two = [[0.0], [1.0]]
    np.testing.assert_array_equal(
        ConstrainedMeanShift().fit_predict(two, links=Links(cannot=[(0, 1)])), [0, 1]
    )
    np.testing.assert_array_equal(
        ConstrainedMeanShift().fit_predict(two, links=Links(must=[(0, 1)])), [0, 0]
    )


@no_cannot_links
@pytest.mark.parametrize("scale_features", [True, False])
def test_all_rows_equal(scale_features):
    points = np.full((6, 2), 3.0)
    model = ConstrainedMeanShift(scale_features=scale_features)
    np.testing.assert_array_equal(model.fit_predict(points), [0] * 6)
    np.testing.assert_array_equal(model.shifted_, points)
    labels = model.fit_predict(points, links=Links(cannot=[(0, 5)]))
    assert labels[0] != labels[5]


def test_a_constant_feature_changes_nothing():
    wider = np.column_stack([X[:, 0], np.full(90, 7.0), X[:, 1]])
    one = ConstrainedMeanShift().fit(X, links=LINKS)
    other = ConstrainedMeanShift().fit(wider, links=LINKS)
    np.testing.assert_array_equal(other.labels_, one.labels_)
    np.testing.assert_array_equal(other.shifted_[:, 1], 7.0)


def test_near_duplicates_in_many_columns():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 40))
    points = np.vstack([points, points[0] + 1e-9])
    model = ConstrainedMeanShift().fit(points, links=Links(cannot=[(0, 5)]))
    assert model.bandwidth_[0] > 0


def test_distances_whose_squares_vanish():
    points = [[0.0], [1e-170], [1.0]]
    model = ConstrainedMeanShift().fit(points, links=Links(cannot=[(0, 2)]))
    np.testing.assert_array_equal(model.labels_, [0, 0, 1])


# Parameters


def test_history():
    model = ConstrainedMeanShift(keep_history=True, max_iter=12).fit(X, links=LINKS)
    assert len(model.history_) == model.n_iter_ + 1
    np.testing.assert_allclose(model.history_[0], X, atol=1e-12)
    np.testing.assert_array_equal(model.history_[-1], model.shifted_)
    quiet = ConstrainedMeanShift(max_iter=12).fit(X, links=LINKS)
    np.testing.assert_array_equal(quiet.labels_, model.labels_)


def test_progress():
    calls = []
    model = ConstrainedMeanShift(max_iter=5, progress=lambda *made: calls.append(made))
    model.fit(X, links=LINKS)
    assert calls == [(i + 1, 5) for i in range(model.n_iter_)]


ROUGH, ROUGH_TRUTH = blobs(150, seed=3, std=4.0)
ROUGH[:, 1] *= 5.0
ROUGH_LINKS = Links.sample(ROUGH_TRUTH, 60, random_state=0)


@pytest.mark.parametrize(
    ("base", "change"),
    [
        ({}, {"kernel": "flat"}),
        ({}, {"kernel": "gaussian"}),
        ({}, {"truncation": 0.5}),
        ({}, {"constraint_scale": 0.2}),
        ({}, {"bandwidth": 0.2}),
        ({}, {"bandwidth": [0.1, 0.3]}),
        ({}, {"schedule": "geometric"}),
        ({}, {"max_iter": 9}),
        ({}, {"blurring": True}),
        ({}, {"scale_features": False}),
    ],
    ids=str,
)
def test_parameters_of_the_shift_have_an_effect(base, change):
    plain = ConstrainedMeanShift(**base).fit(ROUGH, links=ROUGH_LINKS)
    other = ConstrainedMeanShift(**base, **change).fit(ROUGH, links=ROUGH_LINKS)
    assert np.abs(other.shifted_ - plain.shifted_).max() > 1e-3


@pytest.mark.parametrize(
    ("base", "change"),
    [
        ({"enforce": False, "growth": "full"}, {"refine": None}),
        ({"refine": None, "bandwidth": 0.1}, {"enforce": False}),
        ({"enforce": False, "refine": None, "bandwidth": 0.1}, {"min_cluster_size": 5}),
        ({"enforce": False, "growth": "full"}, {"n_neighbors": 2}),
        ({"enforce": False, "bandwidth": 0.1}, {"penalty": 0.0}),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:The closure of the links")
def test_parameters_of_the_labels_have_an_effect(base, change):
    plain = ConstrainedMeanShift(**base).fit(ROUGH, links=ROUGH_LINKS)
    other = ConstrainedMeanShift(**base, **change).fit(ROUGH, links=ROUGH_LINKS)
    assert not same_partition(other.labels_, plain.labels_)
    np.testing.assert_array_equal(other.shifted_, plain.shifted_)


def test_max_pairs_has_an_effect():
    links = Links.from_labels(np.where(np.arange(150) % 3 == 0, ROUGH_TRUTH, -1))
    plain = ConstrainedMeanShift().fit(ROUGH, links=links)
    with pytest.warns(UserWarning, match="Raise max_pairs"):
        few = ConstrainedMeanShift(max_pairs=30).fit(ROUGH, links=links)
    assert np.abs(few.shifted_ - plain.shifted_).max() > 1e-3
    assert few.link_report_.share == 1.0


@pytest.mark.filterwarnings("ignore:The closure of the links")
@pytest.mark.parametrize(
    "parameters",
    [
        {"bandwidth": 0.2, "schedule": "geometric"},
        {"bandwidth": [0.1, 0.2], "max_iter": 3},
        {"bandwidth": [0.1, -0.2]},
        {"bandwidth": [0.1, np.nan]},
        {"bandwidth": []},
        {"bandwidth": [[0.1]]},
        {"bandwidth": 0.0},
        {"bandwidth": np.inf},
        {"kernel": "epanechnikov"},
        {"truncation": 0.0},
        {"truncation": 1.0},
        {"constraint_scale": 0.0},
        {"max_iter": 0},
        {"refine": "neighbours"},
        {"min_cluster_size": 0},
        {"n_neighbors": 0},
        {"penalty": -1.0},
        {"max_pairs": 0},
        {"progress": 3},
        {"bandwidth": [0.1, np.inf]},
        {"kernel": "flat", "truncation": 0.5},
        {"kernel": "gaussian", "truncation": 0.5},
        {"refine": None, "penalty": 5.0},
    ],
    ids=str,
)
def test_what_is_not_supported_raises(parameters):
    with pytest.raises(ValueError):
        ConstrainedMeanShift(**parameters).fit(X, links=LINKS)
