"""ConstrainedMeanShift and its links: they hold, come in every form, and may change after a fit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from tests.estimators.constrained_problems import LINKS, PAPER, TRUTH, X
from tests.helpers import same_partition, some_links

from linkshift import ConstrainedMeanShift, Links
from linkshift.datasets import make_moons
from linkshift.links import ConflictError
from linkshift.metrics import link_satisfaction

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
