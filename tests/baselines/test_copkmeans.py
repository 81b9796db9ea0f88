import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.reference.baselines import cop_assignment

from linkshift import ConflictError, Links
from linkshift.baselines import COPKMeans
from linkshift.baselines.copkmeans import _assign


def problem(seed, n=40, k=3, n_links=40):
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    X = rng.normal(size=(n, 2)) + rng.normal(size=(k, 2))[y]
    return X, y, Links.sample(y, n_links, random_state=seed)


def holds(labels, links):
    must, cannot = labels[links.must], labels[links.cannot]
    return (must[:, 0] == must[:, 1]).all() and (cannot[:, 0] != cannot[:, 1]).all()


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), n_links=st.integers(3, 120), k=st.integers(2, 5))
def test_no_link_is_ever_violated(seed, n_links, k):
    X, y, _ = problem(seed, k=k)
    assume(len(np.unique(y)) == k and n_links >= k * (k - 1) // 2)
    links = Links.sample(y, n_links, random_state=seed)
    try:
        model = COPKMeans(k, n_init=3, random_state=seed).fit(X, links=links)
    except ValueError as refused:
        assert "has none left" in str(refused)  # noqa: PT017
        assert k > 2  # with two clusters it finds what there is
        return
    assert holds(model.labels_, links)
    assert (np.diff(model.objectives_) <= 1e-9 * model.objectives_[0]).all()
    spread = 0.5 * ((X - model.cluster_centers_[model.labels_]) ** 2).sum()
    assert model.objectives_[-1] == pytest.approx(spread)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), n_links=st.integers(3, 80))
def test_assignments_are_those_of_the_twin(seed, n_links):
    X, y, _ = problem(seed, k=3)
    assume(len(np.unique(y)) == 3)
    links = Links.sample(y, n_links, random_state=seed)
    closure = links.closure(len(X))
    bodies = COPKMeans(3)._prepared(X, np.ones(len(X)), _closed(links, len(X)))
    centres = X[:3]
    found = _assign(bodies, centres, np.random.RandomState(seed))
    tied = np.unique(closure.component_cannot)
    order = np.random.RandomState(seed).permutation(tied)
    twin = cop_assignment(X, centres, closure.component, closure.component_cannot.tolist(), order)
    if twin is None:
        assert not isinstance(found, np.ndarray)
    else:
        np.testing.assert_array_equal(found[closure.component], twin)


def _closed(links, n):
    from linkshift.links import ClosedLinks

    return ClosedLinks(links.check(n), n)


@pytest.mark.parametrize("seed", range(5))
def test_two_clusters_never_fail_where_links_can_hold(seed):
    # A chain of cannot-links: assigned in any order, it ends dead more often than not.
    X, _, _ = problem(seed)
    chain = Links(cannot=[(i, i + 1) for i in range(39)])
    labels = COPKMeans(2, n_init=1, random_state=seed).fit_predict(X, links=chain)
    assert holds(labels, chain)


def test_a_dead_end_names_the_row_and_the_links():
    X = np.arange(6.0)[:, None]
    links = Links(must=[(2, 5)], cannot=[(0, 1), (0, 2), (1, 5)])
    with pytest.raises(ValueError, match=r"has none left") as refused:
        COPKMeans(2, random_state=0).fit(X, links=links)
    text = str(refused.value)
    assert sum(pair in text for pair in ("(0, 1)", "(0, 2)", "(1, 5)")) == 2
    assert "Raise n_clusters" in text
    assert holds(COPKMeans(3, random_state=0).fit_predict(X, links=links), links)


def test_contradictions_and_uncertain_links_raise():
    X = np.arange(6.0)[:, None]
    with pytest.raises(ConflictError):
        COPKMeans(2).fit(X, links=Links(must=[(0, 1), (1, 2)], cannot=[(0, 2)]))
    with pytest.raises(ValueError, match="1 of 1 links have a confidence below one"):
        COPKMeans(2).fit(X, links=Links(must=[(0, 1)], must_confidence=0.5))


def test_without_links_it_is_k_means():
    from sklearn.cluster import KMeans

    X, _, _ = problem(0)
    ours = COPKMeans(3, init=X[:3], n_init=1, random_state=0).fit(X)
    theirs = KMeans(3, init=X[:3], n_init=1, tol=0).fit(X)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_)


def test_long_chains_of_must_links_do_not_recurse():
    n = 5000
    X = np.linspace(0.0, 1.0, n)[:, None]
    links = Links(must=[(i, i + 1) for i in range(n - 2)], cannot=[(0, n - 1)])
    labels = COPKMeans(2, n_init=1, random_state=0).fit_predict(X, links=links)
    assert len(np.unique(labels[:-1])) == 1
    assert labels[-1] != labels[0]
