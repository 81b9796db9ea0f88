"""Explanations: shares and outcomes against their literal twins, counterfactuals against fits."""

import copy
import json
import warnings

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from tests.helpers import some_links
from tests.reference import constrained as constrained_twin
from tests.reference import explanation as twin

from linkshift import (
    ConstrainedMeanShift,
    KernelMeanShift,
    Links,
    MeanShift,
    MetricMeanShift,
    PathMeanShift,
    RefinedClustering,
    model_files,
    plot,
)
from linkshift.explain import CHANCE, Explains
from linkshift.explain.counterfactuals import where_it_goes
from linkshift.explain.explanation import LEAST_SHARE, Counterfactual, Explanation, LinkRole

mpl.use("Agg")

# scikit-learn's blobs in three classes, which overlap a little.
X, y = make_blobs(60, centers=3, cluster_std=1.3, random_state=3)
LINKS = Links.sample(y, 16, random_state=0)
MUST = Links(must=Links.sample(y, 30, random_state=0).must)


def quiet_fit(model, X, links):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, links=links)


def of_classes(rng, n, soft):
    """Of links that do not contradict each other."""
    return {
        "classes": rng.integers(0, 3, size=n),
        "confidences": (0.4, 1.0) if soft else (1.0,),
    }


def same_case(case, row, now, then):
    """Whether a counterfactual is what two sets of labels say."""
    outcome, clusters = twin.where_it_goes(row, now.tolist(), then.tolist())
    return case.outcome == outcome and set(case.clusters) == clusters


# The shares of links -----------------------------------------------------------------------


def literal_shares(model, row):
    """Largest share along the path of each cannot-link, and where, by loops."""
    links, points = model.links_, model._state.points
    certain = links.must[links.must_confidence == 1.0].tolist()
    options = {
        "profile": constrained_twin.literal_kernel(model.kernel, model.truncation),
        "scale": model.constraint_scale,
        "floor": 1e-3 * np.ptp(points, axis=0).max(),
    }
    found = {}
    for link, c in zip(links.cannot.tolist(), links.cannot_confidence.tolist(), strict=True):
        pairs = twin.pairs_of_link(link, certain, len(points)) if c == 1.0 else [link]
        shares = [
            twin.share_taken(
                row,
                pairs,
                [c] * len(pairs),
                centres[group],
                centres[group] if model.blurring else points,
                h,
                **options,
            )
            for h, (centres, group) in zip(
                model.bandwidth_, model._state.runs["all"].history[:-1], strict=False
            )
        ]
        found[tuple(link)] = (max(shares), shares)
    return found


@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    kernel=st.sampled_from(["truncated_gaussian", "gaussian", "flat"]),
    blurring=st.booleans(),
    soft=st.booleans(),
)
def test_shares_are_those_of_the_twin(seed, kernel, blurring, soft):
    rng = np.random.default_rng(seed)
    n = 14
    data = rng.normal(size=(n, 2)) + 3.0 * rng.integers(0, 3, size=(n, 1))
    model = ConstrainedMeanShift(
        kernel=kernel, blurring=blurring, keep_history=True, max_iter=9, enforce=False, n_jobs=1
    )
    quiet_fit(model, data, some_links(rng, n, 8, **of_classes(rng, n, soft)))
    row = int(rng.integers(n))
    expected = literal_shares(model, row)
    explanation = model.explain(row, max_counterfactuals=0)
    cannot = [role for role in explanation.links if role.kind == "cannot"]
    # Links that say the same take the same, and are listed once.
    roles = {pair: role for role in cannot for pair in (role.pair, *role.alike)}
    for pair, (largest, shares) in expected.items():
        if pair in roles:
            assert roles[pair].share == pytest.approx(largest, abs=1e-7)
            if largest >= 2 * LEAST_SHARE:
                assert shares[roles[pair].step] == pytest.approx(largest, abs=1e-7)
        else:
            assert largest < LEAST_SHARE + 1e-7
            assert row not in pair


def test_the_share_of_one_pair_by_hand():
    # Two rows a quarter apart, one bandwidth of 1, h_c = 0.125: each sees both samples, with
    # weights 1 and exp(-1/16), and the link takes all of the other and nothing of its own.
    data = np.array([[0.0], [0.25]])
    model = ConstrainedMeanShift(
        bandwidth=1.0, scale_features=False, max_iter=1, enforce=False, refine=None
    ).fit(data, links=Links(cannot=[(0, 1)]))
    role = model.explain(0).links[0]
    other = np.exp(-1 / 16)
    assert role.share == pytest.approx(other / (1 + other))
    assert (role.step, role.acts, role.through) == (0, "own", (0, 1))


def test_links_are_named_behind_a_closed_pair():
    # The link is between 4 and 9, must-linked to the rows that are near each other: 2 and 7.
    data = np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [9.0], [0.5], [0.6], [9.2], [9.3]])
    links = Links(must=[(2, 4), (7, 9)], cannot=[(4, 9)])
    model = ConstrainedMeanShift(
        bandwidth=0.4, scale_features=False, max_iter=5, refine=None, growth="links"
    )
    role, *_ = quiet_fit(model, data, links).explain(1, max_counterfactuals=0).links
    assert (role.kind, role.pair, role.acts) == ("cannot", (4, 9), "density")
    assert role.through == (2, 4, 9, 7)
    assert role.share > 0.05
    text = str(model.explain(1, max_counterfactuals=0))
    assert "most of it as (2, 7), by 2 - 4 - 9 - 7" in text


def test_roles_of_links():
    data = np.array([[0.0], [0.1], [0.2], [0.3], [4.0], [4.1], [4.2], [4.3], [8.0], [8.1]])
    links = Links(
        must=[(0, 1), (1, 2)],
        cannot=[(0, 4), (2, 5), (1, 8), (5, 8), (3, 9)],
        cannot_confidence=[1, 1, 1, 1, 0.5],
    )
    explanation = ConstrainedMeanShift().fit(data, links=links).explain(0, max_counterfactuals=0)
    roles = {(role.kind, role.pair): role for role in explanation.links}
    assert roles["cannot", (0, 4)].acts == "own"
    assert roles["must", (0, 1)].acts == "own"
    assert roles["must", (0, 1)].share is None
    through = roles["cannot", (2, 5)]
    assert (through.acts, through.chain) == ("component", (0, 1, 2))
    assert roles["must", (1, 2)].chain == (0, 1)
    assert roles["cannot", (1, 8)].chain == (0, 1)
    # Uncertain, and too far to take weight: it is not among them.
    assert ("cannot", (3, 9)) not in roles
    assert ("cannot", (5, 8)) not in roles
    assert all(role.holds for role in explanation.links)
    # Own links come first.
    assert {role.pair for role in explanation.links[:2]} == {(0, 4), (0, 1)}
    assert explanation.n_links == 7


def test_links_that_say_the_same_are_named():
    links = Links(must=[(0, 1), (4, 5)], cannot=[(0, 4), (1, 5), (0, 3)])
    data = np.array([[0.0], [0.1], [0.2], [1.0], [4.0], [4.1]])
    model = quiet_fit(ConstrainedMeanShift(), data, links)
    explanation = model.explain(0)
    alike = {role.pair: role.alike for role in explanation.links if role.kind == "cannot"}
    assert alike == {(0, 4): ((1, 5),), (0, 3): ()}
    assert "(1, 5) says the same" in str(explanation)
    # Alone, leaving out either would change nothing: they go together.
    (case,) = (case for case in explanation.counterfactuals if case.pair == (0, 4))
    assert case.alike == ((1, 5),)
    assert "without cannot-link (0, 4) and the one that says the same, " in str(explanation)
    less = quiet_fit(ConstrainedMeanShift(), data, Links(must=links.must, cannot=[(0, 3)]))
    assert case.n_clusters == less.n_clusters_ != model.n_clusters_


def test_links_that_only_keep_modes_apart():
    data = np.array([[0.0], [0.1], [0.2], [0.8], [0.9], [1.0]])
    links = Links(cannot=[(0, 5)])
    (role,) = ConstrainedMeanShift().fit(data, links=links).explain(1).links
    assert (role.acts, role.share, role.step) == ("mode", 0.0, None)
    # Not enforced, growth goes on until the link has to take weight.
    (role,) = ConstrainedMeanShift(enforce=False).fit(data, links=links).explain(1).links
    assert role.acts == "density"
    assert role.share > 0.2


def test_a_violated_link_is_told():
    links = Links(must=[(0, 30)], cannot=[(0, 5)])
    labels = np.r_[np.zeros(30, int), np.ones(30, int)]
    model = Halves(np.arange(60)).fit(X, links=links)
    assert model.labels_.tolist() == labels.tolist()
    roles = model.explain(0, max_counterfactuals=0).links
    assert [role.holds for role in roles] == [False, False]


# Where a row goes --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "then", "expected"),
    [
        ([0, 0, 0, 1, 1], [0, 0, 0, 1, 1], ("stays", (0,))),
        ([0, 0, 0, 1, 1], [5, 5, 5, 2, 2], ("stays", (0,))),
        ([0, 0, 0, 1, 1], [1, 0, 0, 1, 1], ("joins", (1,))),
        ([0, 0, 0, 1, 1], [0, 0, 0, 0, 0], ("merged", (0, 1))),
        ([0, 0, 0, 1, 1, 2, 2], [1, 0, 0, 1, 1, 1, 1], ("merged", (1, 2))),
        ([0, 0, 0, 0, 0, 1], [0, 0, 1, 1, 1, 2], ("new", (0,))),
        ([0, 0, 0, 1, 1], [2, 0, 0, 1, 1], ("alone", ())),
        ([0, 0, 0, 1, 1], [-1, 0, 0, 1, 1], ("noise", ())),
        ([-1, 0, 0], [-1, 0, 0], ("stays", (-1,))),
        ([-1, 0, 0], [0, 0, 0], ("joins", (0,))),
        ([-1, -1, 0], [1, 1, 0], ("new", ())),
        ([0, 1, 1], [0, 1, 1], ("stays", (0,))),
        ([0], [0], ("stays", (0,))),
    ],
)
def test_where_the_first_row_goes(now, then, expected):
    assert where_it_goes(0, np.array(now), np.array(then)) == expected


labels = st.lists(st.integers(-1, 3), min_size=1, max_size=14)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.data())
def test_outcomes_are_those_of_the_twin(data):
    now = data.draw(labels)
    then = data.draw(st.lists(st.integers(-1, 4), min_size=len(now), max_size=len(now)))
    row = data.draw(st.integers(0, len(now) - 1))
    outcome, clusters = where_it_goes(row, np.array(now), np.array(then))
    assert (outcome, set(clusters)) == twin.where_it_goes(row, now, then)
    renamed = [label if label == -1 else 9 - label for label in then]
    assert where_it_goes(row, np.array(now), np.array(renamed)) == (outcome, clusters)


# Counterfactuals ---------------------------------------------------------------------------


def check_counterfactuals(model, data, row, **options):
    """Compare each with a model that was fitted without the link; give the explanation."""
    explanation = model.explain(row, **options)
    assert explanation.counterfactuals
    for case in explanation.counterfactuals:
        fewer = model.links_.remove(**{case.kind: [case.pair]})
        other = quiet_fit(copy.deepcopy(model), data, fewer)
        assert same_case(case, row, model.labels_, other.labels_), case
        assert case.size == (other.labels_ == other.labels_[row]).sum()
        assert case.n_clusters == other.n_clusters_
    return explanation


@pytest.mark.parametrize("keep_history", [False, True])
def test_without_a_link_constrained_mean_shift_is_fitted_again(keep_history):
    links = Links.sample(y, 6, random_state=0)
    model = ConstrainedMeanShift(keep_history=keep_history, n_jobs=1).fit(X, links=links)
    cases = [
        case
        for row in (0, 7, 31)
        for case in check_counterfactuals(model, X, row, max_counterfactuals=4).counterfactuals
    ]
    assert {case.outcome for case in cases} != {"stays"}  # or nothing was tested


@settings(max_examples=5, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_counterfactuals_are_fits_for_any_links(seed, soft):
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(30, 2)) + 4.0 * rng.integers(0, 2, size=(30, 1))
    links = some_links(rng, 30, 12, **of_classes(rng, 30, soft))
    model = quiet_fit(ConstrainedMeanShift(max_iter=15, n_jobs=1), data, links)
    linked = np.unique(links.cannot)
    check_counterfactuals(model, data, int(rng.choice(linked)), max_counterfactuals=3)


def test_without_a_link_kernel_mean_shift_is_fitted_again():
    model = KernelMeanShift(n_neighbors=3, n_jobs=1).fit(X, links=MUST)
    explanation = check_counterfactuals(model, X, int(MUST.must[0, 0]), max_counterfactuals=3)
    assert explanation.counterfactuals[0].pair == explanation.links[0].pair
    cases = [*explanation.counterfactuals]
    for row in (3, 9):
        cases += check_counterfactuals(model, X, row, max_counterfactuals=3).counterfactuals
    assert {case.outcome for case in cases} != {"stays"}
    learned = quiet_fit(KernelMeanShift(use_links="learn", n_jobs=1), X, LINKS)
    check_counterfactuals(learned, X, 4, max_counterfactuals=2)


def test_without_a_link_metric_mean_shift_is_fitted_again():
    model = MetricMeanShift(n_neighbors=15, random_state=0, n_jobs=1).fit(X, links=LINKS)
    explanation = check_counterfactuals(model, X, 2, max_counterfactuals=2)
    assert CHANCE not in explanation.notes


def test_without_a_link_another_bandwidth_is_chosen():
    data, links = X[:20], Links.sample(y[:20], 4, random_state=2)
    model = PathMeanShift(n_jobs=1).fit(data, links=links)
    explanation = check_counterfactuals(model, data, 0, max_counterfactuals=9)
    assert len(explanation.counterfactuals) == len(links)
    assert any("bandwidth is then" in case.note for case in explanation.counterfactuals)
    last = PathMeanShift().fit(X, links=Links(cannot=[(0, 1)])).explain(0)
    assert [case.outcome for case in last.counterfactuals] == ["unfit"]


def test_a_fit_that_fails_is_told():
    links = Links(must=[(0, 1)], cannot=[(0, 2)])
    model = quiet_fit(MetricMeanShift(random_state=0, n_neighbors=10), X, links)
    cases = model.explain(0).counterfactuals
    assert {case.outcome for case in cases} == {"unfit"}
    assert all(case.note for case in cases)
    assert "there is no fit (" in str(model.explain(0))


def test_labels_that_were_learned_from_have_no_counterfactuals():
    known = np.where(np.arange(60) < 25, y, -1)
    model = MetricMeanShift(random_state=0).fit(X, partial_labels=known)
    explanation = model.explain(0)
    assert not explanation.counterfactuals
    assert explanation.links
    assert any("learned from labels" in note for note in explanation.notes)


def test_how_many_counterfactuals_and_their_progress():
    model = KernelMeanShift().fit(X, links=Links(must=MUST.must[:4]))
    told = []
    assert model.explain(0, max_counterfactuals=0, progress=told.append).counterfactuals == ()
    assert told == []
    calls = []
    explanation = model.explain(
        0, max_counterfactuals=9, progress=lambda done, total: calls.append((done, total))
    )
    assert len(explanation.counterfactuals) == 4
    assert calls == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


def test_growth_that_stops_elsewhere_is_told():
    # With nine links instead of ten, links are not asked any more, and growth goes on.
    links = Links.sample(y, 10, random_state=2)
    model = ConstrainedMeanShift(n_jobs=1).fit(X, links=links)
    row = int(links.cannot[0, 0])
    other = quiet_fit(ConstrainedMeanShift(), X, links.remove(cannot=[links.cannot[0]]))
    assert len(other.bandwidth_) > len(model.bandwidth_)  # or there is nothing to tell
    notes = {case.pair: case.note for case in model.explain(row).counterfactuals}
    assert f"grows to {other.bandwidth_[-1]:.3g}" in notes[tuple(links.cannot[0].tolist())]


def test_chance_is_told():
    random = quiet_fit(KernelMeanShift(max_points=40), X, MUST)
    assert CHANCE in random.explain(0, max_counterfactuals=0).notes
    seeded = quiet_fit(KernelMeanShift(max_points=40, random_state=0), X, MUST)
    assert CHANCE not in seeded.explain(0, max_counterfactuals=0).notes
    assert CHANCE not in KernelMeanShift().fit(X).explain(0).notes
    learned = MetricMeanShift().fit(X, links=LINKS)
    assert CHANCE in learned.explain(0, max_counterfactuals=0).notes


# Paths and modes ---------------------------------------------------------------------------


@pytest.mark.parametrize("blurring", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_path_of_constrained_mean_shift(dtype, blurring):
    model = ConstrainedMeanShift(blurring=blurring).fit(X.astype(dtype), links=LINKS)
    kept = ConstrainedMeanShift(blurring=blurring, keep_history=True)
    kept.fit(X.astype(dtype), links=LINKS)
    for row in (0, 11):
        explanation = model.explain(row, max_counterfactuals=0)
        assert explanation.space == "input"
        np.testing.assert_array_equal(explanation.path, np.stack(kept.history_)[:, row])
        np.testing.assert_array_equal(explanation.path[-1], model.shifted_[row])
        np.testing.assert_array_equal(explanation.mode, model.shifted_[row])
        assert explanation.path.dtype == dtype
        nearest = nearest_in(model._state.points, model._state.scaled(explanation.path))
        collapsed = [r for i, r in enumerate(nearest) if not i or r != nearest[i - 1]]
        assert list(explanation.path_rows) == collapsed
        assert explanation.mode_row == nearest[-1]


def nearest_in(points, positions):
    """Rows nearest to each position."""
    return [int(((points - at) ** 2).sum(axis=1).argmin()) for at in positions]


@pytest.mark.parametrize(
    "options",
    [
        {"bandwidth": 2.0},
        {"bandwidth": 1.0, "kernel": "gaussian"},
        {"n_neighbors": 12, "kernel": "gaussian"},
        {"bandwidth": 1.0, "kernel": "gaussian", "blurring": True},
    ],
)
def test_the_path_of_mean_shift(options):
    model = MeanShift(keep_paths=True, **options).fit(X)
    for row in (0, 11, 59):
        explanation = model.explain(row)
        path = model.paths_[row]
        assert len(explanation.path) <= len(path)  # without the rest of the others' time
        np.testing.assert_array_equal(explanation.path[0], X[row])
        np.testing.assert_array_equal(explanation.path, path[: len(explanation.path)])
        np.testing.assert_array_equal(explanation.path[-1], path[-1])
        center = model.cluster_centers_[explanation.label]
        np.testing.assert_array_equal(explanation.mode, center)
        assert explanation.mode_row == nearest_in(X, [center])[0]
        assert explanation.links == explanation.counterfactuals == ()


def test_a_path_along_growing_bandwidths_ends_at_the_mode():
    model = PathMeanShift(kernel="gaussian").fit(X, links=LINKS)
    for row in (0, 11, 59):
        explanation = model.explain(row, max_counterfactuals=0)
        np.testing.assert_array_equal(explanation.path[0], X[row])
        away = np.linalg.norm(explanation.path[-1] - explanation.mode)
        assert away <= 0.5 * model.bandwidth_  # within which ends are one mode


def test_pooled_rows_seeds_and_noise_are_told():
    pooled = MeanShift(bandwidth=2.0, bin_size=0.5, kernel="gaussian").fit(X)
    explanation = pooled.explain(3)
    np.testing.assert_allclose(
        explanation.path[0], pooled._state.cells.points[pooled._state.cells.member[3]]
    )
    assert any("cell" in note for note in explanation.notes)
    seeded = MeanShift(bandwidth=2.0, bin_seeding=True).fit(X)
    assert any("started elsewhere" in note for note in seeded.explain(3).notes)
    sparse = MeanShift(bandwidth=1.0, cluster_all=False, seeds=X[:2]).fit(X)
    noise = int(np.flatnonzero(sparse.labels_ == -1)[0])
    explanation = sparse.explain(noise)
    assert explanation.label == -1
    assert explanation.size == (sparse.labels_ == -1).sum()
    assert str(explanation).startswith(f"Row {noise} is noise, with")
    assert any("radius" in note for note in explanation.notes)


def test_a_path_that_ends_at_another_mode_is_told():
    model = MeanShift(bandwidth=1.0, kernel="gaussian", assignment="nearest").fit(X)
    basin = MeanShift(bandwidth=1.0, kernel="gaussian").fit(X)
    astray = np.flatnonzero(model.labels_ != basin.labels_)
    assert astray.size  # or there is nothing to tell
    row = int(astray[0])
    expected = f"ends at the mode of cluster {basin.labels_[row]}"
    assert any(expected in note for note in model.explain(row).notes)
    kept = int(np.flatnonzero(model.labels_ == basin.labels_)[0])
    assert model.explain(kept).notes == ()


def test_the_path_of_kernel_mean_shift():
    links = Links(must=[(0, 40), (1, 2)])
    model = KernelMeanShift(n_neighbors=10).fit(X, links=links)
    for row in (0, 40, 5):
        explanation = model.explain(row, max_counterfactuals=0)
        assert explanation.space == "kernel"
        np.testing.assert_array_equal(explanation.path[0], model.embedding_[row])
        np.testing.assert_array_equal(explanation.path[-1], model.shifted_[row])
        assert "in the kernel's space" in str(explanation)
    # Must-linked rows are on one spot, and go one way.
    first, second = (model.explain(row, max_counterfactuals=0).path for row in (0, 40))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("metric", ["global", "local"])
@pytest.mark.parametrize("kernel", [None, "gaussian"])
def test_the_path_of_metric_mean_shift(metric, kernel):
    model = MetricMeanShift(metric, kernel=kernel, random_state=0, n_neighbors=15, tol=1e-6)
    quiet_fit(model, X, LINKS)
    for row in (0, 33):
        explanation = model.explain(row, max_counterfactuals=0)
        assert explanation.space == "metric"
        assert explanation.label == model.labels_[row]
        bandwidth = float(np.median(model.bandwidth_))
        away = np.linalg.norm(explanation.path[-1] - explanation.mode)
        assert away <= model.merge_radius * bandwidth * (1 if metric == "global" else 10)
        assert explanation.path_rows[0] == row


def test_rows_that_links_moved_are_told():
    # Two clumps; a must-link takes row 5 from its own to the other.
    data = np.array([[0.0], [0.1], [0.2], [0.3], [0.45], [3.0], [3.1], [3.2], [3.3]])
    links = Links(must=[(4, 5)], cannot=[(0, 8), (1, 7)])
    model = ConstrainedMeanShift(bandwidth=0.3, scale_features=False).fit(data, links=links)
    assert model.labels_.tolist() == [0, 0, 0, 0, 0, 0, 1, 1, 1]
    explanation = model.explain(5)
    assert any("now mostly in cluster 1" in note for note in explanation.notes)
    assert "without must-link (4, 5) it joins cluster 1" in str(explanation)
    assert model.explain(1, max_counterfactuals=0).notes == ()


# Any estimator -----------------------------------------------------------------------------


class Halves(Explains, ClusterMixin, BaseEstimator):
    """Labels 0 and 1 in the order given; each must-link swaps the labels of row 0."""

    def __init__(self, order=None):
        self.order = order

    def fit(self, X, y=None, *, links=None):
        self.links_ = Links.coerce(links)
        self.labels_ = (np.asarray(self.order) >= len(X) // 2).astype(int)
        self.labels_[0] = (len(self.links_.must) + 1) % 2
        self._fit_X = X
        return self


def test_an_estimator_without_a_path_has_links_and_counterfactuals():
    links = Links(must=[(7, 8)], cannot=[(3, 40), (0, 59)])
    explanation = Halves(np.arange(60)).fit(X, links=links).explain(0)
    assert explanation.path is None
    assert explanation.mode is None
    assert [role.pair for role in explanation.links] == [(0, 59)]
    outcomes = {case.pair: (case.outcome, case.clusters) for case in explanation.counterfactuals}
    assert outcomes == {
        (0, 59): ("stays", (0,)),
        (7, 8): ("joins", (1,)),
        (3, 40): ("stays", (0,)),
    }
    assert "without must-link (7, 8) it joins cluster 1" in str(explanation)
    json.dumps(explanation.to_dict())


def test_a_refined_clustering_is_fitted_again_without_a_link():
    # k-means cuts the three blobs into eight, and must-links put some together again.
    links = Links(must=MUST.must[:3])
    model = RefinedClustering(KMeans(8, n_init=1, random_state=0)).fit(X, links=links)
    cases = []
    for row in np.unique(links.must)[:3].tolist():
        cases += check_counterfactuals(model, X, row, max_counterfactuals=3).counterfactuals
    assert {case.outcome for case in cases} != {"stays"}


def test_contradictory_links_are_not_passed_on():
    links = Links(must=[(0, 1), (1, 2)], cannot=[(0, 2), (2, 9)])
    explanation = Halves(np.arange(60)).fit(X, links=links).explain(0, max_counterfactuals=0)
    assert {role.pair for role in explanation.links} == {(0, 1), (0, 2)}


def test_models_of_earlier_versions_are_refused():
    model = ConstrainedMeanShift().fit(X, links=LINKS)
    del model.links_
    with pytest.raises(ValueError, match="Fit it again"):
        model.explain(0)


def test_changed_parameters_are_refused():
    model = ConstrainedMeanShift().fit(X, links=LINKS)
    with pytest.raises(ValueError, match="changed since fit"):
        model.set_params(penalty=1.0).explain(0)


# The whole ---------------------------------------------------------------------------------

MODELS = [
    ConstrainedMeanShift(n_jobs=1),
    ConstrainedMeanShift(n_jobs=1, keep_history=True),
    KernelMeanShift(n_jobs=1, use_links="learn", random_state=0),
    MetricMeanShift(n_jobs=1, random_state=0, n_neighbors=15),
]


def snapshot(value):
    """All that a fitted model holds, as text."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return {key: snapshot(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [snapshot(item) for item in value]
    if hasattr(value, "__dict__"):
        return type(value).__name__, snapshot(vars(value))
    return repr(value)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_explaining_leaves_the_model_alone_and_works_from_a_file(model, tmp_path):
    model = quiet_fit(copy.deepcopy(model), X, LINKS)
    before = snapshot(vars(model))
    found = model.explain(4, max_counterfactuals=2).to_dict()
    assert snapshot(vars(model)) == before
    model_files.save(model, tmp_path / "model.npz")
    loaded = model_files.load(tmp_path / "model.npz")
    assert loaded.links_ == model.links_
    assert loaded.explain(4, max_counterfactuals=2).to_dict() == found


def test_mean_shift_explains_from_a_file(tmp_path):
    model = MeanShift(bandwidth=2.0, bin_size=0.6, kernel="gaussian", n_jobs=1).fit(X)
    model_files.save(model, tmp_path / "model.npz")
    loaded = model_files.load(tmp_path / "model.npz")
    assert loaded.explain(4).to_dict() == model.explain(4).to_dict()


def test_plain_values():
    explanation = ConstrainedMeanShift().fit(X, links=LINKS).explain(np.int64(7))
    plain = explanation.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["row"] == 7
    assert plain["ids"] is None
    assert plain["path"] == explanation.path.tolist()
    assert plain["links"][0]["pair"] == list(explanation.links[0].pair)
    assert len(plain["counterfactuals"]) == 5


def test_names_are_for_the_text():
    ids = [f"id{i}" for i in range(60)]
    model = ConstrainedMeanShift().fit(X, links=LINKS)
    explanation = model.explain(7, ids=ids, max_counterfactuals=1)
    text = str(explanation)
    assert text.startswith("Row id7 is in cluster")
    a, b = explanation.counterfactuals[0].pair
    assert f"without {explanation.counterfactuals[0].kind}-link (id{a}, id{b})" in text
    named = explanation.to_dict()["ids"]
    assert named["7"] == "id7"
    assert set(named) >= {str(row) for role in explanation.links for row in role.pair}
    assert (
        model.explain(7, max_counterfactuals=1).to_dict()["links"]
        == (explanation.to_dict()["links"])
    )


def test_the_text():
    roles = (
        LinkRole("cannot", (5, 17), 0.8, True, "density", share=0.4321, step=9, through=(5, 17)),
        LinkRole("must", (3, 7), 1.0, False, "component", chain=(1, 3)),
    )
    cases = (
        Counterfactual("cannot", (5, 17), "joins", (2,), 9, 3),
        Counterfactual("must", (3, 7), "merged", (0, 1, 2), 30, 1, "and more"),
        Counterfactual("must", (3, 8), "merged", (0, 2), 30, 1),
        Counterfactual("must", (3, 9), "new", (0,), 3, 4),
        Counterfactual("must", (3, 10), "alone", (), 1, 4),
        Counterfactual("must", (3, 11), "noise", ()),
    )
    explanation = Explanation(
        row=1,
        label=1,
        size=2,
        space="input",
        path=np.array([[0.0, 1.0], [0.25, 1.0]]),
        path_rows=(1, 4),
        mode=np.array([0.25, 1.0]),
        mode_row=4,
        links=roles,
        n_links=3,
        counterfactuals=cases,
        notes=("It rains.",),
    )
    assert str(explanation).splitlines() == [
        "Row 1 is in cluster 1, with 1 other.",
        "Path: 1 step, past rows 1, 4.",
        "Mode: at (0.25, 1), nearest to row 4.",
        "Links that act on it:",
        "  cannot-link (5, 17) of confidence 0.8: through the density; takes up to 43 % of its "
        "weight (step 9); holds",
        "  must-link (3, 7): through must-links 1 - 3; is violated",
        "What if:",
        "  without cannot-link (5, 17) it joins cluster 2",
        "  without must-link (3, 7) clusters 0, 1 and 2 become one (and more)",
        "  without must-link (3, 8) it joins clusters 0 and 2, which become one",
        "  without must-link (3, 9) it becomes part of a new cluster, with rows of cluster 0",
        "  without must-link (3, 10) it is alone in a cluster",
        "  without must-link (3, 11) it becomes noise",
        "Note: It rains.",
    ]


def test_wrong_arguments():
    model = MeanShift(bandwidth=2.0).fit(X)
    for row in (60, -1):
        with pytest.raises(IndexError, match=f"row {row} is out of range"):
            model.explain(row)
    for row in (1.0, "1", None, True):
        with pytest.raises(TypeError, match="whole number"):
            model.explain(row)
    with pytest.raises(ValueError, match="not be negative"):
        model.explain(0, max_counterfactuals=-1)
    with pytest.raises(TypeError, match="whole number"):
        model.explain(0, max_counterfactuals=1.5)
    with pytest.raises(ValueError, match="all 60 rows"):
        model.explain(0, ids=["a"])
    with pytest.raises(TypeError, match="got text"):
        model.explain(0, ids="a" * 60)
    with pytest.raises(NotFittedError):
        MeanShift().explain(0)


def test_one_row_and_equal_rows():
    explanation = MeanShift().fit([[1.0, 2.0]]).explain(0)
    assert (explanation.size, explanation.path_rows, explanation.mode_row) == (1, (0,), 0)
    assert "alone" in str(explanation)
    one = quiet_fit(ConstrainedMeanShift(), np.array([[1.0, 2.0]]), None).explain(0)
    assert one.path.tolist() == [[1.0, 2.0]]
    same = np.repeat([[0.0], [1.0]], 5, axis=0)
    links = Links(cannot=[(0, 9)])
    explanation = ConstrainedMeanShift().fit(same, links=links).explain(1)
    assert [role.acts for role in explanation.links] == ["density"]
    # Without it, the bandwidth stops growing before two spots are one.
    assert explanation.counterfactuals[0].outcome == "stays"
    assert MeanShift(bandwidth=0.5).fit(same).explain(7).size == 5


# The picture -------------------------------------------------------------------------------


def drawn(ax, label):
    """Artists of that label: positions of a scatter, or of a line."""
    for artist in (*ax.collections, *ax.lines):
        if artist.get_label() == label:
            return np.asarray(
                artist.get_xydata() if artist in ax.lines else artist.get_offsets(), dtype=float
            )
    raise AssertionError(f"no {label!r} among the artists")


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_picture_shows_path_mode_and_links():
    model = ConstrainedMeanShift().fit(X, links=LINKS)
    explanation = model.explain(7, max_counterfactuals=0)
    ax = plot.explanation(explanation, X, labels=model.labels_)
    np.testing.assert_allclose(drawn(ax, "its path"), explanation.path)
    np.testing.assert_allclose(drawn(ax, "the row"), X[[7]])
    np.testing.assert_allclose(drawn(ax, "modes"), explanation.mode[None])
    shown = sum(
        len(artist.get_segments()) for artist in ax.collections if hasattr(artist, "get_segments")
    )
    assert shown == min(12, len(explanation.links))
    assert legend_of(ax)[:3] == ["the row", "its path", "its mode"]
    fewer = plot.explanation(explanation, X, max_links=2, legend=False, title="seven")
    assert fewer.get_legend() is None
    assert fewer.get_title(loc="left") == "seven"
    mpl.pyplot.close("all")


def test_the_picture_of_another_space_goes_through_rows():
    model = KernelMeanShift(n_neighbors=5).fit(X, links=MUST)
    explanation = model.explain(3, max_counterfactuals=0)
    ax = plot.explanation(explanation, X)
    rows = [3, *explanation.path_rows, explanation.mode_row]
    np.testing.assert_allclose(drawn(ax, "rows on its path"), X[rows])
    np.testing.assert_allclose(drawn(ax, "modes"), X[[explanation.mode_row]])
    bare = plot.explanation(Halves(np.arange(60)).fit(X).explain(0), X)
    assert legend_of(bare) == ["the row"]
    mpl.pyplot.close("all")


def test_pictures_of_one_column_and_of_many():
    one = ConstrainedMeanShift().fit(X[:, :1], links=LINKS).explain(7, max_counterfactuals=0)
    ax = plot.explanation(one, X[:, :1])
    assert len(np.unique(drawn(ax, "its path")[:, 1])) == 1
    wide = np.hstack([X, X**2])
    many = MeanShift(bandwidth=20.0).fit(wide)
    ax = plot.explanation(many.explain(7), wide, labels=many.labels_)
    assert drawn(ax, "its path").shape == (len(many.explain(7).path), 2)
    mpl.pyplot.close("all")


def test_wrong_arguments_of_the_picture():
    explanation = MeanShift(bandwidth=2.0).fit(X).explain(50)
    with pytest.raises(TypeError, match="explain"):
        plot.explanation(X, explanation)
    with pytest.raises(ValueError, match="fitted on"):
        plot.explanation(explanation, X[:10])
    with pytest.raises(ValueError, match="columns"):
        plot.explanation(explanation, X[:, :1])


def test_many_labels_are_told_once():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 2)) + 6.0 * y[:, None]
    model = quiet_fit(ConstrainedMeanShift(), X, Links.from_labels(y, complete=True))
    explanation = model.explain(0, max_counterfactuals=0)
    (cannot,) = (role for role in explanation.links if role.kind == "cannot")
    assert cannot.acts == "own"
    assert len(cannot.alike) == 60 * 60 - 1
