"""Small groups: trees of average distances cut by links, in one piece or part by part."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers import blobs, same_partition

from linkshift import ConsensusClustering, Links
from linkshift.consensus import consensus, groups_within, small_groups
from linkshift.spaces.graph import neighbour_graph

seeds = st.integers(0, 2**32 - 1)


def pairs_of_rows(n_groups, seed=0, d=3):
    """Groups of one to three rows each, far from one another."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_groups), rng.integers(1, 4, n_groups))
    grid = np.stack(np.meshgrid(*d * [np.arange(8)], indexing="ij"), axis=-1).reshape(-1, d)
    centre = 3.0 * rng.permutation(grid)[:n_groups] + rng.uniform(-0.5, 0.5, (n_groups, d))
    return centre[y] + rng.normal(scale=0.05, size=(len(y), d)), y


def near_answers(X, y, n, seed=0):
    """Answers to pairs of a row and one of its three nearest neighbours."""
    rng = np.random.default_rng(seed)
    distance = ((X[:, None] - X) ** 2).sum(axis=2)
    a = rng.permutation(len(y))[:n]
    b = np.argsort(distance, axis=1)[a, rng.integers(1, 4, n)]
    pairs = np.unique(np.sort(np.stack([a, b], axis=1), axis=1), axis=0)
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return Links(pairs[same], pairs[~same], n_samples=len(y))


def average_linkage(X, reach):
    """Join the two groups of least average distance, while that is within reach."""
    groups = [[i] for i in range(len(X))]
    distance = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    while len(groups) > 1:
        best = min(
            (distance[np.ix_(groups[a], groups[b])].mean(), a, b)
            for a in range(len(groups))
            for b in range(a)
        )
        if best[0] > reach:
            break
        groups[best[2]] += groups.pop(best[1])
    labels = np.empty(len(X), dtype=int)
    for number, rows in enumerate(groups):
        labels[rows] = number
    return labels


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(2, 18), st.floats(0.05, 3.0))
def test_parts_have_the_groups_of_the_whole(seed, n, reach):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    assert same_partition(groups_within(X, reach), average_linkage(X, reach))


def test_parts_that_are_large_are_looked_at_by_shorter_distances(monkeypatch):
    X, y = pairs_of_rows(30)
    monkeypatch.setattr("linkshift.consensus.small._MOST_ROWS", 5)
    assert same_partition(groups_within(X, 1.0), y)
    found = groups_within(np.arange(40.0)[:, None] + 0.01 * X[:40, :1], 1.5)
    assert found.max() > 6


def test_the_cut_is_where_both_kinds_of_links_are_as_probable():
    X, y = pairs_of_rows(80)
    links = near_answers(X, y, 60)
    found = small_groups(X, links)
    assert same_partition(found.labels, y)
    assert same_partition(groups_within(X, found.reach), y)
    assert small_groups(X, Links(must=links.must)) is None
    assert small_groups(X, Links(cannot=links.cannot)) is None
    assert small_groups(X, Links(must=links.cannot, cannot=links.must)) is None  # kinds swapped


@pytest.mark.parametrize("k", [2, 17, 60])
def test_a_number_of_groups(k):
    X, _ = pairs_of_rows(40)
    assert small_groups(X, Links(), k).labels.max() + 1 == k
    assert small_groups(X, Links(), len(X)) is None


def test_links_choose_small_groups():
    X, y = pairs_of_rows(150)
    graph = neighbour_graph(X)
    links = near_answers(X, y, 80)
    chosen = consensus(X, graph, links)
    assert chosen.reach == small_groups(X, links).reach
    assert same_partition(chosen.labels, y)
    assert consensus(X, graph, Links()).reach is None
    assert same_partition(consensus(X, graph, Links(), n_clusters=150).labels, y)
    assert consensus(X, graph, links, max_clusters=20).labels.max() < 20


def test_links_do_not_choose_them_in_other_data():
    X, y = blobs(300, 3, k=4, std=1.0, seed=1)
    for seed in range(3):
        links = near_answers(X, y, 60, seed) + Links.sample(y, 30, random_state=seed)
        assert consensus(X, neighbour_graph(X), links).reach is None


def test_small_groups_of_more_rows_than_are_looked_at():
    X, y = pairs_of_rows(300)
    links = near_answers(X, y, 120)
    model = ConsensusClustering(max_rows=320).fit(X, links=links)
    assert len(X) > 500
    assert same_partition(model.labels_, y)
    assert same_partition(model.predict(X + 0.001), y)
    assert model.link_report_.share == 1.0
