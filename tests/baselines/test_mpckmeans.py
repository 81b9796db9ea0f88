import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from linkshift import Links
from linkshift.baselines import MPCKMeans
from linkshift.baselines.mpckmeans import _span


def mixture(seed=0, n=80, d=3, k=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    return rng.normal(size=(n, d)) + 2.0 * rng.normal(size=(k, d))[y], y


def literal_objective(X, labels, centres, metric, links, weight):
    """Eq. 5 as it is printed, pair by pair."""
    closure = links.closure(len(X))
    total = 0.0
    for x, h in zip(X, labels, strict=True):
        total += metric[h] @ (x - centres[h]) ** 2 - np.log(metric[h]).sum()
    for a, b in closure.must_pairs():
        if labels[a] != labels[b]:
            both = metric[labels[a]] + metric[labels[b]]
            total += weight * 0.5 * both @ (X[a] - X[b]) ** 2
    for a, b in closure.cannot_pairs():
        if labels[a] == labels[b]:
            m = metric[labels[a]]
            farthest = pdist(X * np.sqrt(m)).max() ** 2
            total += weight * (farthest - m @ (X[a] - X[b]) ** 2)
    return total


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_links=st.integers(3, 120),
    weight=st.sampled_from([0.0, 0.03, 1.0]),
    metric=st.sampled_from(["single", "per_cluster"]),
)
def test_objective_never_rises_and_is_the_printed_one(seed, n_links, weight, metric):
    X, y = mixture(seed)
    links = Links.sample(y, n_links, random_state=seed)
    model = MPCKMeans(3, metric=metric, weight=weight, n_init=1, random_state=seed)
    model.fit(X, links=links)
    J = model.objectives_
    assert (np.diff(J) <= 1e-9 * np.abs(J).max()).all()
    expected = literal_objective(
        X, model.labels_, model.cluster_centers_, model.metrics_, links, weight
    )
    assert J[-1] == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_one_metric_or_one_a_cluster():
    X, y = mixture(2)
    links = Links.sample(y, 40, random_state=0)
    single = MPCKMeans(3, metric="single", random_state=0).fit(X, links=links).metrics_
    several = MPCKMeans(3, random_state=0).fit(X, links=links).metrics_
    assert (single == single[0]).all()
    assert not (several == several[0]).all()


def test_without_links_the_metric_is_the_inverse_variance():
    X, _ = mixture(4)
    model = MPCKMeans(1, random_state=0).fit(X)
    np.testing.assert_allclose(model.metrics_[0], 1.0 / X.var(axis=0))


def test_links_teach_which_feature_counts():
    # Classes differ in the first feature; the second is noise of much larger spread.
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = np.column_stack([y + 0.1 * rng.normal(size=120), 3.0 * rng.normal(size=120)])
    links = Links.sample(y, 100, random_state=0)
    # A high price freezes the first labels, wrong as they are: J is then far from its least.
    model = MPCKMeans(2, metric="single", weight=0.03, random_state=0).fit(X, links=links)
    assert model.metrics_[0, 0] > 10 * model.metrics_[0, 1]
    assert max(np.mean(model.labels_ == y), np.mean(model.labels_ != y)) > 0.95


def test_must_and_cannot_links_pull_and_push():
    X = np.array([[0.0], [0.1], [0.4], [0.6], [0.9], [1.0]])
    pulled = MPCKMeans(2, weight=10, random_state=0).fit_predict(X, links=Links(must=[(2, 5)]))
    assert pulled[2] == pulled[5]
    pushed = MPCKMeans(2, weight=10, random_state=0).fit_predict(X, links=Links(cannot=[(0, 1)]))
    assert pushed[0] != pushed[1]


def test_a_constant_feature_and_a_lone_row_have_a_metric():
    X, _ = mixture(6)
    X[:, 1] = 5.0
    X[0] = [1e3, 5.0, 1e3]
    model = MPCKMeans(3, random_state=0).fit(X)
    assert np.isfinite(model.metrics_).all()


def test_seed_decides():
    X, y = mixture(3)
    links = Links.sample(y, 60, random_state=0)
    one, two = (MPCKMeans(3, random_state=7).fit(X, links=links) for _ in range(2))
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.metrics_, two.metrics_)


def test_predict_keeps_fitted_labels():
    X, y = mixture(1)
    model = MPCKMeans(3, random_state=0).fit(X, links=Links.sample(y, 100, random_state=0))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert set(model.predict(X + 0.5)) <= {0, 1, 2}


def test_unknown_metric_raises():
    with pytest.raises(ValueError, match="metric"):
        MPCKMeans(2, metric="full").fit(np.eye(4))


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 60), d=st.integers(1, 5))
def test_farthest_rows_are_the_farthest(seed, n, d):
    rng = np.random.default_rng(seed)
    X, diagonal = rng.normal(size=(n, d)), rng.uniform(0.1, 3.0, size=d)
    assert _span(X, diagonal) @ diagonal == pytest.approx(pdist(X * np.sqrt(diagonal)).max() ** 2)
