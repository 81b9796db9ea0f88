"""ConstrainedMeanShift by landmarks: linked rows whole, as faithful as it says, links hold."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from tests.helpers import blobs
from tests.reference import constrained as twin

from linkshift import ConstrainedMeanShift, Links
from linkshift._core.messages import Advice
from linkshift.estimators import _constrained_landmarks as module
from linkshift.links import ClosedLinks
from linkshift.shift.constrained import LinkKernel
from linkshift.shift.constrained.ascent import constrained_ascend, constrained_follow


def problem(n=1500, n_links=80, d=4, k=6, seed=1):
    X, y = blobs(n, d, k=k, std=1.0, seed=seed)
    return X, y, Links.sample(y, n_links, random_state=seed)


@cache
def exact_fit(dtype=np.float64):
    """What several tests compare with: the problem as it is, without landmarks."""
    X, _, links = problem()
    return ConstrainedMeanShift(landmarks=None).fit(X.astype(dtype), links=links)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_as_exact(dtype):
    X, y, links = problem()
    X = X.astype(dtype)
    exact = exact_fit(dtype)
    found = ConstrainedMeanShift(landmarks=300).fit(X, links=links)
    assert adjusted_rand_score(exact.labels_, found.labels_) > 0.95
    assert adjusted_rand_score(y, found.labels_) > 0.95
    assert found.fidelity_ > 0.9
    assert found.shifted_.dtype == dtype
    assert found.shifted_.shape == X.shape
    assert found.link_report_.share == 1.0
    assert not hasattr(exact, "fidelity_")


def test_linked_rows_are_shifted_themselves():
    X, _, links = problem()
    found = ConstrainedMeanShift(landmarks=100, scale_features=False).fit(X, links=links)
    by, rows = found._state.by, ClosedLinks(links, len(X)).linked_rows
    np.testing.assert_array_equal(by.points[: len(rows)], X[rows])
    np.testing.assert_array_equal(by.of_row[rows], np.arange(len(rows)))
    assert by.weight.sum() == len(X)
    nearest = ((X[:, None] - by.points[None]) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(by.of_row, nearest)


@pytest.mark.parametrize("landmarks", [1500, 1400])
def test_as_many_points_as_rows_are_exact(landmarks):
    X, _, links = problem()
    exact, found = exact_fit(), ConstrainedMeanShift(landmarks=landmarks).fit(X, links=links)
    np.testing.assert_array_equal(exact.labels_, found.labels_)
    np.testing.assert_array_equal(exact.shifted_, found.shifted_)
    assert not hasattr(found, "fidelity_")


def test_auto_is_exact_up_to_a_size_and_says_so_beyond(monkeypatch):
    X, _, links = problem()
    small = ConstrainedMeanShift().fit(X, links=links)  # a warning would be an error here
    exact = exact_fit()
    np.testing.assert_array_equal(small.labels_, exact.labels_)
    monkeypatch.setattr(module, "MOST_ROWS", 1000)
    monkeypatch.setattr(module, "N_LANDMARKS", 200)
    with pytest.warns(Advice, match=r"1,500 rows were shifted by \d+ that have links and 200 land"):
        found = ConstrainedMeanShift().fit(X, links=links)
    given_number = ConstrainedMeanShift(landmarks=200).fit(X, links=links)
    np.testing.assert_array_equal(found.labels_, given_number.labels_)
    assert found.fidelity_ == given_number.fidelity_


@given(
    seed=st.integers(0, 20),
    m=st.integers(1, 40),
    n_links=st.integers(0, 40),
    blurring=st.booleans(),
)
def test_links_hold_and_every_row_has_a_cluster(seed, m, n_links, blurring):
    X, y = blobs(120, 2, k=4, std=1.5, seed=seed)
    rng = np.random.default_rng(seed)
    pairs = rng.choice(120, size=(n_links, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    links = Links(must=pairs[same], cannot=pairs[~same], duplicates="drop")
    model = ConstrainedMeanShift(landmarks=m, max_iter=15, blurring=blurring, growth="full")
    if not len(links.cannot):
        return
    found = model.fit(X, links=links)
    assert found.labels_.shape == (120,)
    assert found.labels_.min() >= 0
    assert found.link_report_.share in (1.0, None)


def test_threads_change_nothing():
    X, _, links = problem()
    one, two = (
        ConstrainedMeanShift(landmarks=150, n_jobs=jobs).fit(X, links=links) for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.shifted_, two.shifted_)
    assert one.fidelity_ == two.fidelity_


def test_cannot_linked_twins_are_apart():
    X, _, _ = problem()
    X[7] = X[3]
    links = Links(cannot=[(3, 7)])
    labels = ConstrainedMeanShift(landmarks=50).fit(X, links=links).labels_
    assert labels[3] != labels[7]


def test_groups_whose_rows_are_apart():
    X, y, _ = problem(400)
    links = Links.apart_within(np.where(np.arange(400) < 40, np.arange(400) // 4, -1))
    links += Links.sample(y, 40, random_state=0)
    found = ConstrainedMeanShift(landmarks=60, growth="full").fit(X, links=links)
    rows = found._state.by.rows
    assert set(range(40)) <= set(rows.tolist())
    for first in range(0, 40, 4):
        assert len(set(found.labels_[first : first + 4])) == 4


def test_weights():
    X, _, links = problem(600, 60)
    plain = ConstrainedMeanShift(landmarks=100).fit(X, links=links)
    ones = ConstrainedMeanShift(landmarks=100).fit(X, links=links, sample_weight=np.ones(600))
    np.testing.assert_array_equal(plain.labels_, ones.labels_)
    rows = ClosedLinks(links, 600).linked_rows
    weight = np.ones(600)
    weight[rows[:5]] = 0.0
    weight[np.setdiff1d(np.arange(600), rows)[:50]] = 0.0
    found = ConstrainedMeanShift(landmarks=100).fit(X, links=links, sample_weight=weight)
    assert found._state.by.weight.sum() == weight.sum()
    assert found.link_report_.share == 1.0
    only = np.zeros(600)
    only[rows] = 1.0  # nobody is left to pool
    found = ConstrainedMeanShift(landmarks=100).fit(X, links=links, sample_weight=only)
    assert not hasattr(found, "fidelity_")


@pytest.mark.parametrize("more", [0, 15])
def test_refit_is_a_fresh_fit(more):
    X, y, links = problem(800, 60)
    model = ConstrainedMeanShift(landmarks=120, keep_history=True).fit(X, links=links)
    changed = links if not more else Links.sample(y, 60 + more, random_state=9)
    fresh = ConstrainedMeanShift(landmarks=120, keep_history=True).fit(X, links=changed)
    model.refit(links=changed)
    np.testing.assert_array_equal(model.labels_, fresh.labels_)
    np.testing.assert_array_equal(model.shifted_, fresh.shifted_)
    assert model.fidelity_ == fresh.fidelity_
    assert len(model.history_) == model.n_iter_ + 1
    assert all(state.shape == X.shape for state in model.history_)
    np.testing.assert_array_equal(model.history_[-1], model.shifted_)


def test_explain():
    X, _, links = problem(600, 60)
    model = ConstrainedMeanShift(landmarks=100).fit(X, links=links)
    row = int(np.setdiff1d(np.arange(600), model._state.by.rows)[0])
    found = model.explain(row)
    assert any("Landmarks stood for rows" in note for note in found.notes)
    linked = int(model._state.by.rows[0])
    np.testing.assert_allclose(model.explain(linked).path[0], X[linked])


def test_predict_is_a_vote_of_all_rows():
    X, _, links = problem(600, 60)
    model = ConstrainedMeanShift(landmarks=100).fit(X, links=links)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    new = X[:50] + 0.01
    assert (model.predict(new) == model.labels_[:50]).mean() > 0.95


# --- further centres along with a run -------------------------------------------------------------


def run_of(blurring, weight, kernel="truncated_gaussian"):
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(150, 3))
    cannot = np.array([(0, 1), (2, 3), (4, 5), (0, 5), (7, 100)])
    bandwidths = np.linspace(0.1, 0.6, 9)
    confidence = np.array([1.0, 1.0, 0.5, 1.0, 0.7])
    options = {"scale": 0.5, "floor": 1e-3, "blurring": blurring, "weight": weight}
    ascent = constrained_ascend(
        X,
        cannot,
        bandwidths,
        LinkKernel(kernel),
        confidence=confidence,
        keep_history=True,
        until_settled=False,
        merge_tol=1e-14,
        **options,
    )
    return X, cannot, confidence, bandwidths, options, ascent


@pytest.mark.parametrize("kernel", ["truncated_gaussian", "gaussian", "flat"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("blurring", [False, True])
def test_who_follows_goes_where_the_literal_sum_leads(blurring, weighted, kernel):
    weight = np.random.default_rng(0).uniform(0, 3, size=150) if weighted else None
    X, cannot, confidence, bandwidths, options, ascent = run_of(blurring, weight, kernel)
    starts = np.concatenate([X[:70], np.random.default_rng(1).uniform(size=(30, 3))])
    ends, again = (
        constrained_follow(
            starts,
            X,
            ascent.history,
            (cannot, confidence),
            bandwidths,
            LinkKernel(kernel),
            n_threads=jobs,
            **options,
        )
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(ends, again)
    history = [centres[group] for centres, group in ascent.history]
    literal = twin.follow(
        starts,
        X,
        history,
        cannot,
        bandwidths,
        profile=twin.literal_kernel(kernel),
        confidence=confidence,
        blurring=blurring,
        mass=1.0 if weight is None else weight,
    )
    np.testing.assert_allclose(ends, literal, atol=1e-9)
    if kernel != "flat":  # which jumps where rounding differs
        np.testing.assert_allclose(ends[:70], history[-1][:70], atol=1e-7)


def test_fidelity_is_low_where_landmarks_are_too_few():
    X, _, links = problem(1500, 80, k=8)
    few, many = (ConstrainedMeanShift(landmarks=m).fit(X, links=links).fidelity_ for m in (2, 400))
    assert few < many
