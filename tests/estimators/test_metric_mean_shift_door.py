"""What MetricMeanShift takes, what it learns from, and every refusal."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler
from tests.estimators.metric_problems import (
    BLOBS,
    EYE,
    KINDS,
    KNOWN,
    LINKS,
    STRIPE,
    STRIPES,
    every_kind,
    model,
    scml,
)
from tests.helpers import same_partition

from linkshift import Links, MetricMeanShift
from linkshift.links import ConflictError
from linkshift.metric_learning import SCML

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
