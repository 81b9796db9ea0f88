import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from linkshift import ConflictError, Links
from linkshift.baselines import PCKMeans


def mixture(seed=0, n=120, d=2, k=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    return rng.normal(size=(n, d)) + 2.0 * rng.normal(size=(k, d))[y], y


def literal_objective(X, labels, centres, must, cannot, weight, sample_weight=1.0):
    """J as it is printed, pair by pair."""
    total = 0.5 * (sample_weight * ((X - centres[labels]) ** 2).sum(axis=1)).sum()
    total += weight * sum(labels[a] != labels[b] for a, b in must)
    return total + weight * sum(labels[a] == labels[b] for a, b in cannot)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_links=st.integers(3, 200),
    weight=st.floats(0, 5),
    confidence=st.sampled_from([1.0, 0.6]),
    weighted=st.booleans(),
)
def test_objective_never_rises_and_is_the_printed_one(seed, n_links, weight, confidence, weighted):
    X, y = mixture(seed)
    sampled = Links.sample(y, n_links, random_state=seed)
    links = Links(
        sampled.must,
        sampled.cannot,
        must_confidence=confidence,
        cannot_confidence=confidence,
    )
    rng = np.random.default_rng(seed)
    s = rng.choice([0.0, 0.5, 1.0, 3.0], size=len(X)) if weighted else np.ones(len(X))
    model = PCKMeans(3, weight=weight, n_init=1, random_state=seed)
    model.fit(X, links=links, sample_weight=s)
    assert (np.diff(model.objectives_) <= 1e-9 * model.objectives_[0]).all()
    if confidence == 1.0:
        closure = links.closure(len(X))
        must, cannot = closure.must_pairs(), closure.cannot_pairs()
    else:
        must, cannot = links.must, links.cannot
    expected = literal_objective(
        X, model.labels_, model.cluster_centers_, must, cannot, weight * confidence, s
    )
    assert model.objectives_[-1] == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_without_links_it_is_k_means(seed):
    X, _ = mixture(seed)
    first = X[[0, 40, 80]]
    ours = PCKMeans(3, init=first, n_init=1, random_state=seed).fit(X)
    theirs = KMeans(3, init=first, n_init=1, tol=0).fit(X)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_)
    assert 2 * ours.objectives_[-1] == pytest.approx(theirs.inertia_)


LINE = np.array([[0.0], [0.1], [0.4], [0.6], [0.9], [1.0]])


def test_must_link_pulls_a_row_over():
    free = PCKMeans(2, random_state=0).fit_predict(LINE)
    assert free[2] != free[5]
    pulled = PCKMeans(2, random_state=0).fit_predict(LINE, links=Links(must=[(2, 5)]))
    assert pulled[2] == pulled[5]


def test_cannot_link_pushes_a_row_away():
    free = PCKMeans(2, random_state=0).fit_predict(LINE)
    assert free[0] == free[2]
    pushed = PCKMeans(2, random_state=0).fit_predict(LINE, links=Links(cannot=[(0, 2)]))
    assert pushed[0] != pushed[2]


def test_a_cheap_link_is_violated_and_reported():
    model = PCKMeans(2, weight=1e-4, init=[[0.1], [0.9]], random_state=0)
    model.fit(LINE, links=Links(must=[(0, 5)]))
    assert model.labels_[0] != model.labels_[5]
    assert model.link_report_.violated_must.tolist() == [[0, 5]]


def test_links_are_closed():
    # 0 - 1 and 1 | 2 say 0 | 2: row 2 pays twice for staying.
    X = np.array([[0.0], [0.0], [0.2], [1.0]])
    links = Links(must=[(0, 1)], cannot=[(1, 2)])
    first = [[0.0], [1.0]]
    d = 0.5 * (0.8**2 - 0.2**2)
    model = PCKMeans(2, weight=0.9 * d, init=first, n_init=1, random_state=0).fit(X, links=links)
    assert model.labels_[2] != model.labels_[0]


def test_contradictions_raise_unless_uncertain():
    links = Links(must=[(0, 1), (1, 2)], cannot=[(0, 2)])
    with pytest.raises(ConflictError):
        PCKMeans(2).fit(LINE, links=links)
    unsure = Links(links.must, links.cannot, must_confidence=0.5, cannot_confidence=0.5)
    assert len(PCKMeans(2, random_state=0).fit(LINE, links=unsure).labels_) == 6


def test_confidence_matters():
    first = [[0.0], [1.0]]
    for confidence, together in ((1.0, True), (0.1, False)):
        links = Links(must=[(0, 3)], must_confidence=confidence)
        model = PCKMeans(2, weight=0.4, init=first, n_init=1, random_state=0)
        labels = model.fit_predict(LINE, links=links)
        assert (labels[0] == labels[3]) == together


def test_seed_decides():
    X, y = mixture(3)
    links = Links.sample(y, 60, random_state=0)
    one, two = (PCKMeans(3, random_state=7).fit(X, links=links) for _ in range(2))
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.cluster_centers_, two.cluster_centers_)


def test_more_runs_are_never_worse():
    X, y = mixture(5, k=6)
    links = Links.sample(y, 100, random_state=0)
    few, many = (
        PCKMeans(6, init="k-means++", n_init=n, random_state=0).fit(X, links=links) for n in (1, 10)
    )
    assert many.objectives_[-1] <= few.objectives_[-1]


def test_predict_keeps_fitted_labels_and_takes_the_nearest_centre():
    X, y = mixture(1)
    model = PCKMeans(3, random_state=0).fit(X, links=Links.sample(y, 200, random_state=0))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.predict(model.cluster_centers_ + 1e-9), np.arange(3))


def test_float32_stays():
    X, _ = mixture(0)
    assert PCKMeans(3).fit(X.astype(np.float32)).cluster_centers_.dtype == np.float32


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"init": np.zeros((2, 5))}, "init has shape"),
        ({"weight": -1.0}, "weight"),
        ({"init": "random"}, "init"),
        ({"n_clusters": 7}, "n_clusters=7"),
    ],
)
def test_bad_arguments_raise(parameters, message):
    with pytest.raises(ValueError, match=message):
        PCKMeans(**({"n_clusters": 2} | parameters)).fit(LINE)


def test_a_link_out_of_range_raises():
    with pytest.raises(ValueError, match="6"):
        PCKMeans(2).fit(LINE, links=Links(must=[(0, 6)]))


def test_partial_labels_are_links():
    X = np.array([[0.0], [0.2], [1.0], [1.2]])
    known = [0, -1, 1, -1]
    by_label = PCKMeans(2, random_state=0).fit(X, partial_labels=known)
    by_link = PCKMeans(2, random_state=0).fit(X, links=Links.from_labels(known))
    np.testing.assert_array_equal(by_label.labels_, by_link.labels_)
    assert by_label.link_report_.n_cannot == 1
    with pytest.raises(ValueError, match="3 entries for 4 rows"):
        PCKMeans(2).fit(X, partial_labels=known[:3])
