"""ConstrainedMeanShift as users meet it: every parameter, every error, every promise."""

import pickle

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.helpers import blobs, real, same_partition, some_links
from tests.reference import constrained as twin

from linkshift import ConstrainedMeanShift, Links
from linkshift.datasets import make_moons
from linkshift.links import ConflictError
from linkshift.metrics import link_satisfaction
from linkshift.refinement import refine

KERNELS = ["truncated_gaussian", "gaussian", "flat"]
no_cannot_links = pytest.mark.filterwarnings("ignore:Without cannot-links")


X, TRUTH = blobs(seed=1)
LINKS = Links.sample(TRUTH, 60, random_state=0)
PAPER = {"refine": None, "enforce": False}


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


# Links hold


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 30),
    st.integers(1, 6),
    st.sampled_from(["links", None]),
    st.booleans(),
)
def test_every_consistent_link_holds(seed, n, n_classes, how, lattice):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 3, size=(n, 2)).astype(float) if lattice else rng.normal(size=(n, 2))
    truth = rng.integers(0, n_classes, size=n)
    links = some_links(rng, n, int(rng.integers(1, 2 * n)), classes=truth)
    model = ConstrainedMeanShift(refine=how, max_iter=6)
    if len(links.cannot):
        model.fit(points, links=links)
    else:
        with pytest.warns(UserWarning, match="Without cannot-links"):
            model.fit(points, links=links)
    assert model.link_report_.share == 1.0
    closure = links.closure(n)
    for i, j in closure.must_pairs():
        assert model.labels_[i] == model.labels_[j]
    for i, j in closure.cannot_pairs():
        assert model.labels_[i] != model.labels_[j]


def test_the_report_is_of_the_links_given():
    model = ConstrainedMeanShift(**PAPER, bandwidth=0.01, max_iter=2).fit(X, links=LINKS)
    expected = link_satisfaction(model.labels_, LINKS)
    assert model.link_report_.share == expected.share < 1.0
    np.testing.assert_array_equal(model.link_report_.violated_must, expected.violated_must)


def test_certain_links_hold_beside_an_uncertain_one():
    rng = np.random.default_rng(0)
    points, truth = rng.normal(size=(200, 2)), rng.integers(0, 3, size=200)
    links = Links.sample(truth, 200, random_state=1)
    sure = np.ones(len(links.cannot))
    sure[0] = 0.9
    mixed = Links(links.must, links.cannot, cannot_confidence=sure)
    labels = ConstrainedMeanShift().fit(points, links=mixed).labels_
    report = link_satisfaction(labels, Links(mixed.must, mixed.cannot[1:]))
    assert report.share == 1.0


def test_certain_contradictions_raise_beside_an_uncertain_link():
    links = Links(must=[(0, 1)], cannot=[(0, 1), (5, 6)], cannot_confidence=[1.0, 0.5])
    with pytest.raises(ConflictError, match="0 - 1"):
        ConstrainedMeanShift().fit(X, links=links)


def test_contradictions_raise_and_name_a_chain():
    with pytest.raises(ConflictError, match="0 - 7 - 3"):
        ConstrainedMeanShift().fit(X, links=Links(must=[(0, 7), (7, 3)], cannot=[(0, 3)]))


def test_contradictions_with_confidences_are_weighed():
    points = np.concatenate([np.linspace(0, 1, 20), np.linspace(3, 4, 20)])[:, None]
    truth = np.repeat([0, 1], 20)
    right = Links.sample(truth, 60, random_state=0)
    links = Links(right.must, right.cannot, must_confidence=0.9, cannot_confidence=0.9).add(
        must=[(0, 39)], cannot=[(0, 39)], must_confidence=0.2, cannot_confidence=0.9
    )
    assert links.conflicts()
    model = ConstrainedMeanShift().fit(points, links=links)
    assert same_partition(model.labels_, truth)
    assert model.link_report_.share < 1.0
    assert model.link_report_.weighted_share > 0.99


def test_confidence_matters():
    def gap(sure):
        points = np.concatenate([np.linspace(0, 0.4, 9), np.linspace(0.6, 1, 9)])[:, None]
        links = Links(cannot=[(2, 15)], cannot_confidence=sure)
        model = ConstrainedMeanShift(bandwidth=0.8, max_iter=4, **PAPER).fit(points, links=links)
        return float(model.shifted_[15, 0] - model.shifted_[2, 0])

    assert 0 <= gap(0.1) < gap(0.5) < gap(0.9) < gap(1.0)


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


# Ways to give links


def test_links_of_another_kind():
    expected = ConstrainedMeanShift().fit(X, links=LINKS).labels_
    as_dict = {"must": LINKS.must.tolist(), "cannot": LINKS.cannot.tolist()}
    for links in (as_dict, (LINKS.must, LINKS.cannot)):
        np.testing.assert_array_equal(ConstrainedMeanShift().fit(X, links=links).labels_, expected)
    with pytest.raises(TypeError, match="links must be"):
        ConstrainedMeanShift().fit(X, links=[(0, 1)])


def test_partial_labels():
    known = np.where(np.arange(90) % 5 == 0, TRUTH, -1)
    model = ConstrainedMeanShift().fit(X, partial_labels=known)
    expected = ConstrainedMeanShift().fit(X, links=Links.from_labels(known))
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert same_partition(model.labels_[known >= 0], known[known >= 0])
    both = ConstrainedMeanShift().fit(X, links=LINKS, partial_labels=known)
    assert both.link_report_.n_must > len(LINKS.must)
    assert both.link_report_.share == 1.0


def test_links_and_partial_labels_may_contradict():
    with pytest.raises(ConflictError):
        ConstrainedMeanShift().fit(X[:4], links=Links([(0, 1)]), partial_labels=[0, 1, -1, -1])


@pytest.mark.parametrize(
    "given_",
    [
        {"links": Links(cannot=[(0, 90)])},
        {"links": Links(cannot=[(0, 1)], n_samples=91)},
        {"links": Links(cannot=[("a", "b")])},
        {"partial_labels": np.r_[TRUTH, 0]},
        {"partial_labels": TRUTH[:50]},
        {"links": Links(cannot=[(0, 1)], n_samples=90), "partial_labels": TRUTH[:50]},
    ],
    ids=["row", "n_samples", "ids", "labels-long", "labels-short", "both"],
)
def test_links_for_other_rows_raise(given_):
    with pytest.raises(ValueError):
        ConstrainedMeanShift(max_iter=2).fit(X, **given_)


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


# Other links on the same rows


def test_refit_gives_the_labels_of_a_fresh_fit():
    points, truth = make_moons(200, random_state=3)
    links = Links.sample(truth, 60, random_state=0)
    model = ConstrainedMeanShift(keep_history=True).fit(points, links=links)
    rng = np.random.default_rng(5)
    for _ in range(6):
        a, b = rng.choice(200, size=2, replace=False)
        known = links.must.tolist() + links.cannot.tolist()
        if sorted((a, b)) in known:
            continue
        pair = [(int(a), int(b))]
        links = links.add(must=pair) if truth[a] == truth[b] else links.add(cannot=pair)
        fresh = ConstrainedMeanShift(keep_history=True).fit(points, links=links)
        np.testing.assert_array_equal(model.refit(links=links).labels_, fresh.labels_)
        np.testing.assert_array_equal(model.shifted_, fresh.shifted_)
        assert len(model.history_) == len(fresh.history_)
    fewer = links.remove(cannot=links.cannot[:3])
    fresh = ConstrainedMeanShift().fit(points, links=fewer)
    np.testing.assert_array_equal(model.refit(links=fewer).labels_, fresh.labels_)


def test_refit_needs_a_history_and_the_same_parameters():
    links = Links.sample(TRUTH, 20, random_state=0)
    with pytest.raises(ValueError, match="keep_history"):
        ConstrainedMeanShift().fit(X, links=links).refit(links=links)
    model = ConstrainedMeanShift(keep_history=True).fit(X, links=links)
    with pytest.raises(ValueError, match="fit again"):
        model.set_params(truncation=0.3).refit(links=links)


def test_a_refused_fit_leaves_no_half_fitted_model():
    model = ConstrainedMeanShift()
    with pytest.raises(ConflictError):
        model.fit(X, links=Links(must=[(0, 1)], cannot=[(0, 1)]))
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_a_small_cluster_by_itself_is_found_and_predicted():
    rng = np.random.default_rng(0)
    points = np.vstack([rng.normal(0, 0.02, (3, 2)), rng.normal(1, 0.02, (60, 2))])
    model = ConstrainedMeanShift().fit(points, links=Links(cannot=[(0, 10)]))
    np.testing.assert_array_equal(np.bincount(model.labels_), [3, 60])
    assert model.predict([[0.0, 0.0]])[0] == model.labels_[0]
