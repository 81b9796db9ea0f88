"""Candidates: trees cut as scipy does, hills by hand, and what all candidates are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import pdist
from tests.helpers import blobs, same_partition
from tests.reference import consensus as twin
from tests.reference import neighbour_graph as graph_twin

from linkshift import Links
from linkshift.consensus import Candidates, bent_by_links, candidates, linked_candidates
from linkshift.consensus.candidates import (
    MOST_CLUSTERS,
    PROMINENCES,
    RESOLUTIONS,
    communities,
    counts,
    hills,
    ward_cuts,
)
from linkshift.spaces.graph import neighbour_graph

seeds = st.integers(0, 2**32 - 1)


def assert_dense(labels):
    for one in labels:
        assert sorted(set(one.tolist())) == list(range(one.max() + 1))


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(2, 60), st.sampled_from([1, 2, 30]))
def test_cuts_are_those_of_scipy(seed, n, d):
    X = np.random.default_rng(seed).normal(size=(n, d))
    ks = counts(n)
    tree = linkage(pdist(X), "ward")
    for k, found in zip(ks, ward_cuts(X, ks), strict=True):
        # scipy cuts a tree of n rows into n clusters as if they were one.
        expected = cut_tree(tree, n_clusters=k)[:, 0] if k < n else np.arange(n)
        assert same_partition(found, expected)


def test_cuts_of_twins():
    X = np.repeat([[0.0], [1.0], [5.0]], 4, axis=0)
    (found,) = ward_cuts(X, [3])
    assert same_partition(found, np.repeat([0, 1, 2], 4))
    assert [one.max() + 1 for one in ward_cuts(X, [2, 7, 12])] == [2, 7, 12]


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 5000), st.one_of(st.none(), st.integers(2, 5000)))
def test_numbers_of_clusters(n, also):
    ks = counts(n, also)
    assert ks == sorted(set(ks))
    assert min(ks) == 2
    assert max(ks) <= n
    most = max((n + 1) // 2, 2)
    assert set(range(2, min(most, 12) + 1)) <= set(ks)
    assert also is None or also > n or also in ks
    assert max(ks) >= min(most, max(12, min(n // 4, 160)))
    assert all(k <= most or k == also for k in ks)


# Hills


def literal_hills(X, k, threshold, least=5):
    """Hills of the density: its height, the graph, joined hills, and no dust."""
    n = len(X)
    near = [graph_twin.neighbours_of(X, i, min(k, n - 1)) for i in range(n)]
    reach = np.array([np.linalg.norm(X[i] - X[near[i][-1]]) for i in range(n)])
    W = graph_twin.weights(X) > 0
    for i in range(n):
        W[i, near[i][:10]] = W[near[i][:10], i] = True
    labels = np.array(twin.hills(-np.log(reach), [np.flatnonzero(row) for row in W], threshold))
    names, count = np.unique(labels, return_counts=True)
    small = np.isin(labels, names[count < least])
    if small.all():
        return labels
    nearest = [graph_twin.neighbours_of(X, i, min(20, n - 1)) for i in range(n)]
    while small.any():
        goes = {i: [j for j in nearest[i] if not small[j]] for i in np.flatnonzero(small)}
        goes = {i: there[0] for i, there in goes.items() if there}
        if not goes:
            break
        for i, j in goes.items():
            labels[i] = labels[j]
        small[list(goes)] = False
    return labels


@settings(max_examples=25, deadline=None)
@given(seeds, st.integers(6, 60), st.sampled_from([1, 2, 5]), st.sampled_from([10, 20]))
def test_hills_are_the_literal_ones(seed, n, d, k):
    X = np.random.default_rng(seed).normal(size=(n, d))
    expected = []
    for threshold in PROMINENCES:
        labels = np.unique(literal_hills(X, k, threshold), return_inverse=True)[1]
        if not expected or labels.max() != expected[-1].max():
            expected.append(labels)
    found = hills(X, neighbour_graph(X), k)
    assert len(found) == len(expected)
    assert all(same_partition(one, other) for one, other in zip(found, expected, strict=True))
    assert_dense(found)


def test_hills_of_clear_clusters():
    X, y = blobs(200, 2, k=4, std=0.3, seed=1)
    assert any(same_partition(y, one) for one in hills(X, neighbour_graph(X), 10))


def test_hills_of_twins():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 30, axis=0)
    assert_dense(hills(X, neighbour_graph(X), 10))


# All of them


@settings(max_examples=15, deadline=None)
@given(seeds, st.integers(5, 80), st.sampled_from([1, 3, 20]), st.integers(1, 5))
def test_candidates_are_partitions_of_two_clusters_and_more(seed, n, d, k):
    X = np.random.default_rng(seed).normal(size=(n, d)) + 5 * np.arange(n)[:, None] % k
    graph = neighbour_graph(X)
    found = candidates(X, graph, also=min(n, 5))
    assert found.labels.shape == (len(found.family), n)
    assert_dense(found.labels)
    np.testing.assert_array_equal(found.sizes, [len(set(one.tolist())) for one in found.labels])
    assert found.sizes.min() >= 2
    assert found.sizes.max() <= MOST_CLUSTERS
    assert 5 in found.sizes
    assert len(set(found.family.tolist())) >= 4
    linked = linked_candidates(bent_by_links(graph.weights, Links(must=[(0, 1)])))
    both = found + linked
    assert len(both.labels) == len(found.labels) + len(linked.labels)
    assert set(found.family.tolist()).isdisjoint(both.family[len(found.labels) :].tolist())


def test_any_number_of_threads_gives_the_same_candidates():
    X, _ = blobs(150, 3)
    graph = neighbour_graph(X)
    for make in (
        lambda k: candidates(X, graph, n_threads=k),
        lambda k: linked_candidates(graph.weights, n_threads=k),
    ):
        one, two = make(1), make(2)
        np.testing.assert_array_equal(one.labels, two.labels)
        np.testing.assert_array_equal(one.family, two.family)


def test_communities_of_larger_resolution_are_more():
    X, _ = blobs(200, 2, k=4, std=1.0)
    found = [one.max() + 1 for one in communities(neighbour_graph(X).weights)]
    assert len(found) <= len(RESOLUTIONS)
    assert found[0] < found[len(found) // 2] < found[-1]


def test_a_number_of_clusters_beyond_the_most_is_no_candidate():
    X = np.random.default_rng(0).normal(size=(700, 2))
    found = candidates(X, neighbour_graph(X), also=650)
    assert found.sizes.max() <= MOST_CLUSTERS


def test_families_stay_apart():
    one = Candidates(np.array([[0, 1], [0, 1]]), np.array([0, 2]))
    both = one + one
    assert both.family.tolist() == [0, 2, 3, 5]
    assert both.labels.shape == (4, 2)


@pytest.mark.parametrize("also", [None, 3])
def test_candidates_of_few_rows(also):
    X = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]])
    found = candidates(X, neighbour_graph(X), also=also)
    assert any(same_partition(one, [0, 0, 1, 1, 2]) for one in found.labels)
