import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN
from sklearn.metrics import adjusted_rand_score
from tests.helpers import linked_moons, same_partition
from tests.reference.baselines import cdbscan

from linkshift import ConflictError, Links
from linkshift.baselines import CDBSCAN


def problem(seed, n, n_links, classes=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = rng.normal(size=(n, 2)) + 1.5 * rng.normal(size=(classes, 2))[y]
    return X, Links.sample(y, n_links, random_state=seed)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_links=st.integers(3, 60),
    eps=st.sampled_from([0.3, 0.6, 1.0]),
    least=st.integers(1, 4),
    leaf_size=st.sampled_from([5, 10, None]),
)
def test_it_is_the_twin_and_all_links_hold(seed, n_links, eps, least, leaf_size):
    X, links = problem(seed, 36, n_links)
    model = CDBSCAN(eps, min_samples=least, leaf_size=leaf_size).fit(X, links=links)
    twin = np.array(cdbscan(X, links, eps, least, leaf_size or len(X)))
    np.testing.assert_array_equal(model.labels_ < 0, twin < 0)
    clustered = twin >= 0
    assert same_partition(model.labels_[clustered], twin[clustered])
    report = model.link_report_
    assert len(report.violated_must) == len(report.violated_cannot) == 0


@pytest.mark.parametrize("least", [1, 2, 5])
@pytest.mark.parametrize("leaf_size", [4, 30, None])
def test_without_links_it_is_dbscan(least, leaf_size):
    X, _ = problem(least, 200, 3)
    ours = CDBSCAN(0.4, min_samples=least, leaf_size=leaf_size).fit(X)
    theirs = DBSCAN(eps=0.4, min_samples=least).fit(X)
    np.testing.assert_array_equal(ours.core_sample_indices_, theirs.core_sample_indices_)
    core = theirs.core_sample_indices_
    assert same_partition(ours.labels_[core], theirs.labels_[core])
    np.testing.assert_array_equal(ours.labels_ < 0, theirs.labels_ < 0)


def test_links_mend_what_one_radius_cannot():
    X, y, links = linked_moons(200, 200, seed=0)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    wide = CDBSCAN(0.2, min_samples=2)
    assert wide.fit(X).n_clusters_ == 1
    assert adjusted_rand_score(y, wide.fit(X, links=links).labels_) > 0.9


def test_a_must_link_takes_its_rows_along_when_their_clusters_may_not_meet():
    # 0, 1 and 2, 3 are local clusters; 1 and 2 are must-linked, 0 and 3 are not to meet.
    X = np.array([[0.0], [0.1], [5.0], [5.1]])
    links = Links(must=[(1, 2)], cannot=[(0, 3)])
    labels = CDBSCAN(0.2, min_samples=2).fit_predict(X, links=links)
    assert labels[1] == labels[2]
    assert labels[0] != labels[3]


def test_new_rows_go_by_the_nearest_dense_row():
    X = np.array([[0.0], [0.1], [0.2], [2.0], [2.1], [9.0]])
    model = CDBSCAN(0.15, min_samples=2).fit(X)
    assert model.predict([[0.25], [1.9], [8.95], [5.0]]).tolist() == [0, 1, -1, -1]
    alone = CDBSCAN(0.01).fit(X)
    assert alone.labels_.tolist() == [-1] * 6
    assert alone.predict([[0.0], [3.0]]).tolist() == [-1, -1]


def test_contradictions_and_uncertain_links_raise():
    X, _ = problem(0, 30, 3)
    with pytest.raises(ConflictError):
        CDBSCAN().fit(X, links=Links(must=[(0, 1), (1, 2)], cannot=[(0, 2)]))
    with pytest.raises(ValueError, match="confidence below one"):
        CDBSCAN().fit(X, links=Links(must=[(0, 1)], must_confidence=0.5))


def test_too_many_neighbours_are_refused_before_they_are_looked_for(monkeypatch):
    monkeypatch.setenv("LINKSHIFT_MEMORY_GB", "0.0001")
    X, _ = problem(0, 100, 3)
    with pytest.raises(ValueError, match="pairs of neighbours within eps=50"):
        CDBSCAN(50.0).fit(X)
