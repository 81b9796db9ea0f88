"""ConstrainedMeanShift as users meet it: every parameter, every error, every promise."""

import pickle

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.estimators.constrained_problems import LINKS, PAPER, TRUTH, X
from tests.helpers import blobs, real, same_partition
from tests.reference import constrained as twin

from linkshift import ConstrainedMeanShift, Links
from linkshift.datasets import make_moons
from linkshift.refinement import refine

KERNELS = ["truncated_gaussian", "gaussian", "flat"]


# What comes out


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("blurring", [False, True])
def test_attributes(kernel, blurring):
    model = ConstrainedMeanShift(kernel=kernel, blurring=blurring).fit(X, links=LINKS)
    assert model.labels_.shape == (90,)
    assert np.issubdtype(model.labels_.dtype, np.integer)
    assert sorted(set(model.labels_.tolist())) == list(range(model.n_clusters_))
    assert model.shifted_.shape == X.shape
    assert model.bandwidth_.shape == (80,)
    assert 1 <= model.n_iter_ <= 80
    assert model.n_features_in_ == 2
    assert not hasattr(model, "history_")
    assert model.link_report_.share == 1.0
    assert adjusted_rand_score(TRUTH, model.labels_) > 0.8


def test_the_schedule_runs_from_smallest_to_largest_distance():
    scaled = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    far = np.linalg.norm(scaled[:, None] - scaled, axis=2)
    low, high = far[far > 0].min(), far.max()
    linear = ConstrainedMeanShift(max_iter=7).fit(X, links=LINKS).bandwidth_
    np.testing.assert_allclose(linear, np.linspace(low, high, 7), rtol=1e-12)
    steps = ConstrainedMeanShift(max_iter=7, schedule="geometric").fit(X, links=LINKS).bandwidth_
    np.testing.assert_allclose(steps, np.geomspace(low, high, 7), rtol=1e-12)
    raw = ConstrainedMeanShift(max_iter=2, scale_features=False).fit(X, links=LINKS).bandwidth_
    far = np.linalg.norm(X[:, None] - X, axis=2)
    np.testing.assert_allclose(raw, [far[far > 0].min(), far.max()], rtol=1e-12)
    fixed = ConstrainedMeanShift(bandwidth=0.25, max_iter=3).fit(X, links=LINKS).bandwidth_
    np.testing.assert_array_equal(fixed, [0.25] * 3)
    given_ = ConstrainedMeanShift(bandwidth=[0.1, 0.3, 0.2]).fit(X, links=LINKS).bandwidth_
    np.testing.assert_array_equal(given_, [0.1, 0.3, 0.2])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("blurring", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_without_refinement_it_is_the_papers_algorithm(kernel, blurring, seed):
    points, truth = blobs(40, seed=seed, std=3.0)
    links = Links.sample(truth, 25, random_state=seed)
    model = ConstrainedMeanShift(
        kernel=kernel, blurring=blurring, constraint_scale=0.48713, **PAPER
    ).fit(points, links=links)
    scaled = (points - points.min(axis=0)) / np.ptp(points, axis=0)
    centres, _ = twin.constrained_shift(
        scaled,
        links.closure(40).cannot_pairs(),
        model.bandwidth_,
        profile=twin.literal_kernel(kernel),
        scale=0.48713,
        blurring=blurring,
    )
    expected = twin.closeness_components(centres, model.bandwidth_[-1])
    assert same_partition(model.labels_, expected)
    assert len(set(expected.tolist())) > 1
    if model.n_iter_ == 80:
        shifted = (model.shifted_ - points.min(axis=0)) / np.ptp(points, axis=0)
        np.testing.assert_allclose(shifted, centres, atol=1e-3)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(KERNELS),
    st.booleans(),
    st.sampled_from([(0.99, 0.1), (0.995, 0.0), (0.3, 0.5), (0.1, 0.0)]),
    st.sampled_from([None, 0.4, 3.0]),
)
def test_a_weight_asks_for_the_labels_of_the_authors_code(seed, kernel, blurring, rule, bandwidth):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 50))
    points, truth = rng.normal(size=(n, 2)), rng.integers(0, 4, size=n)
    cannot = [pair for pair in rng.integers(0, n, (3 * n, 2)) if truth[pair[0]] < truth[pair[1]]]
    links = Links(cannot=cannot[:n] or [(0, 1)], duplicates="drop")
    above, weight_above = (0.99, rule[1]) if kernel == "flat" else rule
    model = ConstrainedMeanShift(
        **PAPER, kernel=kernel, blurring=blurring, scale_features=False, keep_history=True,
        max_iter=12, bandwidth=bandwidth, merge_above=above, merge_weight=weight_above,
    ).fit(points, links=links)  # fmt: skip
    expected = twin.authors_labels(
        *model.history_[-2:],
        links.closure(n).cannot_pairs(),
        model.bandwidth_[-1],
        profile=twin.literal_kernel(kernel),
        above=above,
        weight_above=weight_above,
        floor=1e-3 * np.ptp(points, axis=0).max(),
    )
    assert same_partition(model.labels_, expected)
    fresh = ConstrainedMeanShift(**model.get_params()).set_params(keep_history=False)
    assert same_partition(fresh.fit(points, links=links).labels_, expected)
    assert same_partition(model.refit(links=links).labels_, expected)


def test_rows_around_a_link_are_alone_by_the_authors_rule():
    # Five rows in one place, two of them apart: their weight is nought, even for themselves.
    points = np.array([[0.0], [0.0], [0.0], [0.0], [0.0], [9.0], [9.0]])
    links = Links(cannot=[(0, 1), (0, 5)])
    labels = ConstrainedMeanShift(**PAPER, merge_weight=0.1, bandwidth=1.0, max_iter=3).fit_predict(
        points, links=links
    )
    assert len(set(labels.tolist())) == 6
    assert labels[5] == labels[6]
    ours = ConstrainedMeanShift(**PAPER, bandwidth=1.0, max_iter=3).fit_predict(points, links=links)
    assert len(set(ours.tolist())) == 2


def test_links_hold_whatever_the_rule_for_labels():
    for above, weight in ((0.5, None), (0.995, 0.0), (0.99, 0.1)):
        model = ConstrainedMeanShift(merge_above=above, merge_weight=weight).fit(X, links=LINKS)
        assert model.link_report_.share == 1.0


def test_a_flat_kernel_has_one_closeness():
    model = ConstrainedMeanShift(kernel="flat", merge_weight=0.1, merge_above=0.9)
    with pytest.raises(ValueError, match="drop merge_above"):
        model.fit(X, links=LINKS)


def test_with_refinement_it_is_the_papers_algorithm_refined():
    points, truth = blobs(150, std=4.0, seed=1)
    links = Links.sample(truth, 80, random_state=0)
    paper = ConstrainedMeanShift(**PAPER).fit(points, links=links)
    ours = ConstrainedMeanShift(enforce=False).fit(points, links=links)
    scaled = (points - points.min(axis=0)) / np.ptp(points, axis=0)
    np.testing.assert_array_equal(ours.labels_, refine(scaled, paper.labels_, links))
    assert not same_partition(ours.labels_, paper.labels_)


# Predict


@pytest.mark.parametrize("d", [1, 2, 8])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale_features", [True, False])
def test_predict_agrees_with_labels_on_the_training_data(d, dtype, scale_features):
    points, truth = blobs(300, d, seed=1, std=4.0)
    points = np.unique(points.astype(dtype), axis=0)
    links = Links.sample(truth[: len(points)], 100, random_state=0)
    model = ConstrainedMeanShift(scale_features=scale_features, max_iter=20)
    labels = model.fit_predict(points, links=links)
    assert len(set(labels.tolist())) > 2
    np.testing.assert_array_equal(model.predict(points), labels)
    shuffle = np.random.default_rng(0).permutation(len(points))[:50]
    np.testing.assert_array_equal(model.predict(points[shuffle]), labels[shuffle])


def test_predict_agrees_with_labels_in_forty_columns():
    rng = np.random.default_rng(0)
    points, truth = rng.normal(size=(300, 40)), rng.integers(0, 4, size=300)
    model = ConstrainedMeanShift(max_iter=20)
    labels = model.fit_predict(points, links=Links.sample(truth, 300, random_state=0))
    np.testing.assert_array_equal(model.predict(points), labels)


def test_predict_is_the_vote_of_the_docs():
    points, truth = blobs(200, std=3.0, seed=1)
    model = ConstrainedMeanShift(n_neighbors=9).fit(
        points, links=Links.sample(truth, 100, random_state=0)
    )
    new = np.random.default_rng(0).uniform(points.min(0), points.max(0), size=(100, 2))
    unit = np.ptp(points, axis=0)
    far = np.linalg.norm((new[:, None] - points) / unit, axis=2)
    expected = []
    for row in far:
        nearest = np.argsort(row)[:9]
        vote = np.exp(-((row[nearest] / row[nearest[-1]]) ** 2))
        expected.append(np.bincount(model.labels_[nearest], weights=vote).argmax())
    np.testing.assert_array_equal(model.predict(new), expected)
    assert len(set(expected)) > 1


def test_predict_before_fit_and_of_another_width():
    with pytest.raises(NotFittedError):
        ConstrainedMeanShift().predict(X)
    with pytest.raises(ValueError, match="3 features"):
        ConstrainedMeanShift().fit(X, links=LINKS).predict(np.ones((2, 3)))


# What must not matter


def test_both_precisions_give_the_same_labels():
    points, truth = make_moons(400, random_state=0)
    links = Links.sample(truth, 200, random_state=0)
    wide = ConstrainedMeanShift().fit(points, links=links)
    narrow = ConstrainedMeanShift().fit(points.astype(np.float32), links=links)
    # Which of two moons of one size comes first is a matter of rounding.
    assert adjusted_rand_score(wide.labels_, narrow.labels_) >= 0.98
    assert narrow.shifted_.dtype == np.float32
    assert wide.shifted_.dtype == np.float64


def test_any_number_of_threads_gives_the_same_bits():
    points, truth = blobs(250, 4, std=4.0, seed=1)
    links = Links.sample(truth, 200, random_state=0)
    one = ConstrainedMeanShift(n_jobs=1).fit(points, links=links)
    for n_jobs in (2, -1, None):
        more = ConstrainedMeanShift(n_jobs=n_jobs).fit(points, links=links)
        np.testing.assert_array_equal(more.labels_, one.labels_)
        np.testing.assert_array_equal(more.shifted_, one.shifted_)


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_the_unit_of_length_does_not_matter_with_scaled_features(unit):
    one = ConstrainedMeanShift().fit(X, links=LINKS)
    other = ConstrainedMeanShift().fit(unit * X, links=LINKS)
    np.testing.assert_array_equal(other.labels_, one.labels_)
    np.testing.assert_allclose(other.shifted_ / unit, one.shifted_, rtol=1e-6)


@pytest.mark.parametrize(
    "unit",
    [
        1e-5,
        1e5,
    ],
)
def test_the_unit_of_length_does_not_matter_without_scaling(unit):
    one = ConstrainedMeanShift(scale_features=False).fit(X, links=LINKS)
    other = ConstrainedMeanShift(scale_features=False).fit(unit * X, links=LINKS)
    np.testing.assert_array_equal(other.labels_, one.labels_)
    np.testing.assert_allclose(other.shifted_ / unit, one.shifted_, rtol=0, atol=1e-3)


def test_the_order_of_the_rows_does_not_matter():
    shuffle = np.random.default_rng(0).permutation(len(X))
    one = ConstrainedMeanShift(**PAPER).fit(X, links=LINKS)
    there = ConstrainedMeanShift(**PAPER).fit(X[shuffle], links=LINKS.take(shuffle))
    assert same_partition(there.labels_, one.labels_[shuffle])


# scikit-learn


def test_clone_and_pickle():
    model = ConstrainedMeanShift(max_iter=15, bandwidth=None, keep_history=True)
    copy = clone(model.fit(X, links=LINKS))
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "labels_")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.labels_)
    assert again.link_report_.share == model.link_report_.share


def test_fit_does_not_change_parameters_or_data():
    model, points = ConstrainedMeanShift(), X.copy()
    before = model.get_params()
    model.fit(points, links=LINKS)
    assert model.get_params() == before
    np.testing.assert_array_equal(points, X)
    first = model.labels_
    np.testing.assert_array_equal(model.fit(points, links=LINKS).labels_, first)


def test_fitting_again_forgets():
    model = ConstrainedMeanShift().fit(X, links=LINKS)
    model.fit(X[:, :1], links=Links(cannot=[(0, 1)]))
    assert model.n_features_in_ == 1
    assert model.link_report_.n_cannot == 1
    assert model.shifted_.shape == (90, 1)


def test_links_travel_through_a_pipeline():
    with sklearn.config_context(enable_metadata_routing=True):
        step = ConstrainedMeanShift().set_fit_request(links=True)
        pipe = make_pipeline(StandardScaler(), step).fit(X, links=LINKS)
    assert pipe[-1].link_report_.n_must == len(LINKS.must)
    assert pipe[-1].link_report_.n_cannot == len(LINKS.cannot)
    np.testing.assert_array_equal(pipe.predict(X), pipe[-1].labels_)


def test_links_are_cut_down_to_folds():
    links = Links.sample(TRUTH, 1500, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        step = ConstrainedMeanShift(max_iter=10).set_fit_request(links=True)
        found = cross_validate(
            make_pipeline(StandardScaler(), step),
            X,
            TRUTH,
            params={"links": links},
            scoring="adjusted_rand_score",
            cv=3,
            return_estimator=True,
            return_indices=True,
        )
    assert found["test_score"].min() > 0.6
    for fitted, rows in zip(found["estimator"], found["indices"]["train"], strict=True):
        report = fitted[-1].link_report_
        assert report.n_must + report.n_cannot == len(links.take(rows)) > 0


def test_without_a_request_links_do_not_vanish():
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="links"),
    ):
        make_pipeline(StandardScaler(), ConstrainedMeanShift()).fit(X, links=LINKS)


# Quality on real data


@pytest.mark.parametrize(
    ("name", "floor"), [("moons", 0.99), ("sipu_jain", 0.995), ("sipu_aggregation", 0.985)]
)
def test_quality_on_synthetic_sets(name, floor):
    score = []
    for seed in range(2):
        if name == "moons":
            points, truth = make_moons(500, random_state=seed)
        else:
            points, truth = real(name).X, real(name).y
        links = Links.sample(truth, len(truth), random_state=seed)
        model = ConstrainedMeanShift().fit(points, links=links)
        assert model.link_report_.share == 1.0
        score.append(adjusted_rand_score(truth, model.labels_))
    assert np.mean(score) >= floor


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options", "floor"),
    [
        ("cms_dkm-mnist", PAPER, 0.70),
        ("cms_dkm-fashion-mnist", PAPER, 0.41),
        ("cms_dkm-gtsrb", PAPER, 0.53),
        ("cms_dkm-mnist", {}, 0.80),
        ("cms_dkm-fashion-mnist", {}, 0.53),
        ("cms_dkm-gtsrb", {}, 0.70),
    ],
)
def test_quality_on_embeddings(name, options, floor):
    everything, classes = real(name).X, real(name).y
    score = []
    # Single draws differ by 0.05 and more: floors are well below the means of many draws, which
    # `python -m benchmarks.run cms` gives.
    for seed in range(4):
        rows = np.random.default_rng(seed).permutation(len(classes))[:2000]
        points, truth = everything[rows], classes[rows]
        links = Links.sample(truth, 2000, random_state=seed)
        model = ConstrainedMeanShift(**options).fit(points, links=links)
        score.append(adjusted_rand_score(truth, model.labels_))
    assert np.mean(score) >= floor
