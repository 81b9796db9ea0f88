"""Belief in links: walks against the inverse they are, laws, and errors that are found."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from tests.helpers import linked_moons

from linkshift.links import Links
from linkshift.spaces import belief
from linkshift.spaces.belief import link_belief


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(300, centers=5, cluster_std=0.7, random_state=0)


def is_wrong(links, y):
    must, cannot = (y[pairs[:, 0]] == y[pairs[:, 1]] for pairs in (links.must, links.cannot))
    return ~must, cannot


def test_walks_are_the_inverse(blobs):
    X, _ = blobs
    graph = belief._normalised_graph(X)
    np.testing.assert_allclose(graph.toarray(), graph.toarray().T, atol=1e-12)
    exact = np.linalg.inv(np.eye(len(X)) - belief._ALPHA * graph.toarray())
    found = belief._summed(graph, np.eye(len(X)))
    assert np.abs(found - exact).max() < 0.05 * np.abs(exact).max()


def test_what_others_say_link_by_link(blobs):
    X, y = blobs
    links = Links.sample(y, 40, random_state=0)
    pairs = np.concatenate((links.must, links.cannot))
    ends, codes = np.unique(pairs, return_inverse=True)
    codes, walks = codes.reshape(-1, 2), belief._walks(X, ends)
    walks = (walks + walks.T) / 2
    weight = np.random.default_rng(0).random(len(codes))
    expected = [
        sum(
            weight[q] * (walks[a, c] * walks[b, d] + walks[a, d] * walks[b, c])
            for q, (c, d) in enumerate(codes)
            if q != p
        )
        for p, (a, b) in enumerate(codes)
    ]
    np.testing.assert_allclose(belief._near(walks, codes, weight), expected, atol=1e-9)


@pytest.mark.parametrize("n", [30, 100, 300])
def test_right_answers_are_believed(blobs, n):
    X, y = blobs
    found = link_belief(X, Links.sample(y, n, random_state=0))
    assert found.error_rate == 0
    assert (found.must == 1).all()
    assert (found.cannot == 1).all()


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.2])
def test_wrong_answers_are_found(blobs, rate):
    X, y = blobs
    links = Links.sample(y, 400, random_state=0, error_rate=rate)
    found = link_belief(X, links)
    assert rate / 4 < found.error_rate < rate + 0.03
    wrong, doubted = np.concatenate(is_wrong(links, y)), np.concatenate(found[:2]) < 0.5
    assert (wrong & doubted).sum() > 0.4 * wrong.sum()  # the others lie where classes meet
    assert (wrong & doubted).sum() > 0.9 * doubted.sum()


def test_in_parts(blobs, monkeypatch):
    X, y = blobs
    links = Links.sample(y, 600, random_state=0, error_rate=0.2)
    monkeypatch.setattr(belief, "_MOST_LINKS", 250)
    monkeypatch.setattr(belief, "_MOST_ROWS", 200)
    found = link_belief(X, links)
    wrong, doubted = np.concatenate(is_wrong(links, y)), np.concatenate(found[:2]) < 0.5
    assert (wrong & doubted).sum() > 0.9 * doubted.sum() > 0


def test_a_least_rate_judges_where_none_shows(blobs):
    X, y = blobs
    same = np.flatnonzero(y == y[0])[1]
    links = Links.sample(y, 60, random_state=0).add(must=[(0, same)], cannot=[(0, same)])
    found = link_belief(X, links, least_rate=0.02)
    at = [links.must.tolist().index([0, same]), links.cannot.tolist().index([0, same])]
    assert found.must[at[0]] > found.cannot[at[1]]


@pytest.mark.parametrize("kind", ["must", "cannot"])
def test_one_kind_tells_nothing(kind):
    found = link_belief(np.arange(6.0)[:, None], Links(**{kind: [(0, 1), (2, 3)]}))
    assert found.error_rate == 0
    assert (np.concatenate(found[:2]) == 1).all()


@pytest.mark.parametrize("X", [np.zeros((4, 2)), np.array([[0], [1e-300], [1e300], [-1e300]])])
def test_coincident_and_extreme_rows(X):
    links = Links(must=[(0, 1), (2, 3)], cannot=[(0, 2), (1, 3), (0, 1)])
    found = link_belief(X, links, least_rate=0.02)
    assert all(((p >= 0) & (p <= 1)).all() for p in found[:2])


def test_data_with_few_rows():
    X, _, links = linked_moons(20, 12)[:3]
    assert len(link_belief(X, links).must) == len(links.must)


def test_contrast_is_the_share_of_comparisons(blobs):
    X, y = blobs
    links = Links.sample(y, 60, random_state=1)
    pairs = np.concatenate((links.must, links.cannot))
    ends, codes = np.unique(pairs, return_inverse=True)
    codes, walks = codes.reshape(-1, 2), belief._walks(X, ends)
    joined = walks[codes[:, 0], codes[:, 1]]
    must, cannot = joined[: len(links.must)], joined[len(links.must) :]
    wins = [(m > c) + 0.5 * (m == c) for m in must for c in cannot]
    found = link_belief(X, links).contrast
    assert found.auc == pytest.approx(np.mean(wins), abs=1e-2)
    assert found.p_value < 1e-6


def test_contrast_of_few_links_is_not_told(blobs):
    X, y = blobs
    links = Links.sample(y, 60, random_state=1)
    few = Links(must=links.must[:4], cannot=links.cannot)
    assert link_belief(X, few).contrast is None
    assert link_belief(X, Links(must=links.must[:14])).contrast is None
    assert link_belief(X, Links(cannot=links.cannot)).contrast is None


def test_must_links_alone_are_compared_with_other_pairs_of_their_rows(blobs):
    X, y = blobs
    must = Links.sample(y, 200, random_state=1).must[:30]
    found = link_belief(X, Links(must=must)).contrast
    assert found.auc > 0.75
    assert found.p_value < 0.01
    order = np.random.default_rng(0).permutation(len(y))
    assert link_belief(X, Links(must=order[must])).contrast.p_value > 0.2


def test_links_of_other_rows_are_at_chance(blobs):
    X, y = blobs
    seen = []
    for seed in range(20):
        links = Links.sample(y, 60, random_state=seed)
        order = np.random.default_rng(seed).permutation(len(y))
        seen.append(link_belief(X, Links(order[links.must], order[links.cannot])).contrast)
    assert 0.4 < np.mean([one.auc for one in seen]) < 0.6
    assert np.mean([one.p_value > 0.2 for one in seen]) > 0.5


@pytest.mark.parametrize(("rate", "doubted"), [(0.15, True), (0.45, False)])
def test_equal_rows_that_are_told_apart_say_that_data_does_not_show_the_classes(rate, doubted):
    """As with a display of seven bits, some of which fail: other digits may look the same."""
    rng = np.random.default_rng(0)
    X = np.repeat(make_blobs(40, centers=4, cluster_std=0.5, random_state=0)[0], 10, axis=0)
    y = np.repeat(make_blobs(40, centers=4, cluster_std=0.5, random_state=0)[1], 10)
    links = Links.sample(y, 200, random_state=0, error_rate=0.15)
    pairs = np.array([(a, a + 1) for a in range(0, 400, 10)])
    apart = rng.random(40) < rate
    links = links.add(must=pairs[~apart], cannot=pairs[apart])
    assert (link_belief(X, links).error_rate > 0) == doubted
