"""ConsensusClustering under links."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from tests.estimators.consensus_rows import assert_held, clear, consensus, rough, seeds
from tests.helpers import blobs, same_partition, some_links

from linkshift import ConflictError, ConsensusClustering, Links

# Links ----------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    seeds,
    st.integers(1, 50),
    st.integers(0, 60),
    st.integers(1, 8),
    st.booleans(),
    st.integers(0, 9),
)
def test_certain_links_hold_whatever_they_are(seed, n, m, n_classes, soft, n_twins):
    rng = np.random.default_rng(seed)
    X = rough(seed, n)
    X[:n_twins] = X[0]
    classes = rng.integers(0, n_classes, size=n)  # that have nothing to do with the rows
    confidences = (1.0, 0.9, 0.3) if soft else (1.0,)
    links = some_links(rng, n, m, classes=classes, confidences=confidences)
    model = consensus(X, links)
    assert_held(model.labels_, links)
    assert model.labels_.dtype == np.int64
    assert model.n_clusters_ == model.labels_.max() + 1
    np.testing.assert_array_equal(model.links_.must, links.must)
    assert 0 <= model.link_report_.share <= 1 or not len(links)
    assert -1 <= model.agreement_ <= 1
    assert model.n_candidates_ >= 1


@settings(max_examples=10, deadline=None)
@given(seeds, st.integers(20, 60), st.integers(10, 19), st.integers(0, 60), st.integers(0, 5))
def test_certain_links_hold_where_not_all_rows_are_looked_at(seed, n, max_rows, m, n_twins):
    rng = np.random.default_rng(seed)
    X = rough(seed, n)
    X[:n_twins] = X[0]
    links = some_links(rng, n, m, classes=rng.integers(0, 4, size=n))
    parameters = {"max_rows": max_rows, "random_state": seed}
    labels = consensus(X, links, **parameters).labels_
    assert_held(labels, links)
    np.testing.assert_array_equal(consensus(X, links, **parameters).labels_, labels)


@settings(max_examples=10, deadline=None)
@given(seeds, st.booleans())
def test_contradictions_raise_unless_links_are_weighed(seed, twins):
    rng = np.random.default_rng(seed)
    X = rough(seed, 30)
    if twins:
        X[:6] = X[0]
    links = some_links(rng, 30, 60)
    assume(links.conflicts())
    with pytest.raises(ConflictError, match=" - "):
        consensus(X, links)
    labels = consensus(X, links, enforce=False).labels_
    assert sorted(set(labels.tolist())) == list(range(labels.max() + 1))


def test_contradictions_of_doubtful_links_are_weighed():
    X, y = clear(0)
    a, b, c = (int(np.flatnonzero(y == k)[0]) for k in range(3))
    torn = Links(must=[(a, b), (b, c)], cannot=[(a, c)], must_confidence=[0.9, 0.5])
    assert same_partition(consensus(X, torn).labels_, y == 2)  # the surer must-link joins two


def test_links_along_a_chain_hold():
    X, y = clear(0, n=90)
    ends = [int(np.flatnonzero(y == c)[0]) for c in (0, 1, 2)]
    labels = consensus(X, Links(must=list(itertools.pairwise(ends)))).labels_
    assert labels[ends[0]] == labels[ends[2]]
    inside = np.flatnonzero(y == 0)[:6]
    chain = Links(must=list(itertools.pairwise(inside)), cannot=[(inside[0], ends[1])])
    labels = consensus(X, chain).labels_
    assert (labels[inside] == labels[inside[0]]).all()
    assert (labels[inside] != labels[ends[1]]).all()


def test_links_help_on_average():
    """Of a single set, a few links more may lead astray."""
    scores = []
    for seed in range(6):
        X, y = blobs(60, 2, std=2.5, seed=seed)
        links = Links.sample(y, 120, random_state=seed)
        scores.append([])
        for m in (0, 5, 20, 60, 120):
            some = links.where(
                np.arange(len(links.must)) < m * len(links.must) // 120,
                np.arange(len(links.cannot)) < m * len(links.cannot) // 120,
            )
            labels = consensus(X, some).labels_
            assert_held(labels, some)
            scores[-1].append(adjusted_rand_score(y, labels))
    mean = np.mean(scores, axis=0)
    assert mean[-1] > mean[-2] > mean[0]


def test_right_must_links_alone_do_no_harm():
    X, y = blobs(300, 4, k=8, std=1.0, seed=0)
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 300, size=(4000, 2))
    pairs = pairs[(y[pairs[:, 0]] == y[pairs[:, 1]]) & (pairs[:, 0] != pairs[:, 1])]
    none = adjusted_rand_score(y, consensus(X).labels_)
    for m in (20, 80, 200):
        labels = consensus(X, Links(must=pairs[:m], duplicates="drop")).labels_
        assert adjusted_rand_score(y, labels) > none - 0.02


@pytest.mark.parametrize("n", [3, 4, 5, 7, 8, 10, 12, 13, 20])
def test_few_rows_of_two_clear_clusters(n):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 2))
    X[n // 2 :] += 40
    assert same_partition(consensus(X).labels_, np.arange(n) >= n // 2)


def test_without_enforcement_links_are_weighed():
    X, y = clear(0, n=120)
    rng = np.random.default_rng(0)
    wrong = some_links(rng, 120, 30, classes=rng.integers(0, 3, size=120))
    held, weighed = consensus(X, wrong), consensus(X, wrong, enforce=False)
    assert held.link_report_.share == 1
    assert weighed.link_report_.share < 1
    assert adjusted_rand_score(y, weighed.labels_) > adjusted_rand_score(y, held.labels_)


def test_partial_labels_are_links():
    X, y = blobs(80, 2, std=2.5)
    known = np.where(np.arange(80) < 12, y, -1)
    model = ConsensusClustering(n_jobs=1).fit(X, partial_labels=known)
    assert len(model.links_) == 66
    assert same_partition(model.labels_[:12], y[:12])
