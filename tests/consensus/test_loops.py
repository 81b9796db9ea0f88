"""Loops of the consensus beside their twins: communities, hills, agreement of pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import adjusted_rand_score
from tests.helpers import same_partition
from tests.reference import consensus as twin

from linkshift.consensus._loops import climb_hills, louvain, pair_agreement

seeds = st.integers(0, 2**32 - 1)
resolutions = st.sampled_from([0.05, 0.35, 1.0, 2.0, 8.0])


def random_graph(seed, n, density, equal):
    """Symmetric weights without loops; all one where ``equal``, so that gains tie."""
    rng = np.random.default_rng(seed)
    there = rng.uniform(size=(n, n)) < density
    there[0, 1] = True  # one edge at least
    W = np.triu(there * (1.0 if equal else rng.uniform(0.1, 1.0, size=(n, n))), k=1)
    return W + W.T


def communities(W, resolution):
    graph = sparse.csr_matrix(W)
    return louvain(graph.indptr, graph.indices, graph.data, resolution)


@settings(max_examples=80, deadline=None)
@given(seeds, st.integers(2, 40), st.sampled_from([0.05, 0.2, 0.6]), st.booleans(), resolutions)
def test_louvain_is_the_literal_loop(seed, n, density, equal, resolution):
    W = random_graph(seed, n, density, equal)
    np.testing.assert_array_equal(communities(W, resolution), twin.louvain(W, resolution))


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(2, 40), st.sampled_from([0.05, 0.2, 0.6]), resolutions)
def test_louvain_loses_no_modularity(seed, n, density, resolution):
    W = random_graph(seed, n, density, equal=False)
    found = communities(W, resolution)
    start = twin.modularity(W, np.arange(n), resolution)
    assert twin.modularity(W, found, resolution) >= start - 1e-9
    assert sorted(set(found.tolist())) == list(range(found.max() + 1))


@pytest.mark.parametrize("seed", range(8))
def test_louvain_is_as_good_as_that_of_networkx(seed):
    networkx = pytest.importorskip("networkx")
    rng = np.random.default_rng(seed)
    n, k = 120, int(rng.integers(2, 9))
    y = rng.integers(0, k, size=n)
    chance = np.where(y[:, None] == y[None], 0.3, 0.03)
    W = np.triu((rng.uniform(size=(n, n)) < chance) * rng.uniform(0.2, 1.0, size=(n, n)), k=1)
    W = W + W.T
    graph = networkx.from_numpy_array(W)
    theirs = np.empty(n, dtype=int)
    for c, members in enumerate(networkx.community.louvain_communities(graph, seed=seed)):
        theirs[list(members)] = c
    ours = communities(W, 1.0)
    assert twin.modularity(W, ours) >= twin.modularity(W, theirs) - 0.02


def test_parts_that_no_edge_joins_stay_apart():
    W = np.kron(np.eye(3), np.ones((4, 4)) - np.eye(4))
    np.testing.assert_array_equal(communities(W, 0.05), np.repeat([0, 1, 2], 4))


# Hills


def landscape(seed, n):
    """Heights, and a random graph in rows of neighbours (CSR)."""
    rng = np.random.default_rng(seed)
    height = rng.permutation(n) / n + rng.uniform(0, 0.5 / n, size=n)
    W = rng.uniform(size=(n, n)) < 3.0 / n
    W = (W | W.T) & ~np.eye(n, dtype=bool)
    return height, sparse.csr_matrix(W)


def climbed(height, edges, threshold):
    order = np.argsort(-height, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    found = climb_hills(order, rank, height, edges.indptr, edges.indices)
    summit, lower, higher, prominence = found
    into = np.arange(len(order))
    into[lower[prominence < threshold]] = higher[prominence < threshold]
    for _ in range(len(order)):
        into = into[into]
    return into[summit], found


@settings(max_examples=80, deadline=None)
@given(seeds, st.integers(2, 40), st.sampled_from([0.0, 0.1, 0.3, 0.6, 2.0]))
def test_hills_are_joined_by_their_prominence(seed, n, threshold):
    height, edges = landscape(seed, n)
    labels, (summit, lower, *_, prominence) = climbed(height, edges, threshold)
    neighbours = [row.indices.tolist() for row in edges]
    np.testing.assert_array_equal(labels, twin.hills(height, neighbours, threshold))
    assert (prominence >= 0).all()
    assert len(set(lower.tolist())) == len(lower)  # a summit is the lower of two once
    assert set(lower.tolist()) <= set(summit.tolist())


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(2, 60))
def test_without_a_limit_each_connected_part_is_a_hill(seed, n):
    height, edges = landscape(seed, n)
    labels, _ = climbed(height, edges, np.inf)
    parts = sparse.csgraph.connected_components(edges, directed=False)[1]
    assert same_partition(labels, parts)


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(2, 60))
def test_larger_thresholds_only_join(seed, n):
    height, edges = landscape(seed, n)
    fine, coarse = (climbed(height, edges, threshold)[0] for threshold in (0.1, 0.3))
    assert all(len(set(coarse[fine == c].tolist())) == 1 for c in set(fine.tolist()))


def test_hills_by_hand():
    # Heights along a line: summits at 1, 4 and 7; passes at 2 and 5.
    height = np.array([1.0, 5.0, 3.0, 3.5, 4.0, 1.5, 2.0, 3.2, 0.5])
    n = len(height)
    edges = sparse.csr_matrix(np.eye(n, k=1) + np.eye(n, k=-1))
    for threshold, expected in (
        (0.5, [1, 1, 1, 4, 4, 4, 7, 7, 7]),
        (1.5, [1, 1, 1, 1, 1, 1, 7, 7, 7]),  # the middle one rises 1 above its pass, the last 1.7
        (1.8, [1] * 9),
    ):
        np.testing.assert_array_equal(climbed(height, edges, threshold)[0], expected)


# Agreement


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(2, 60), st.integers(1, 6))
def test_agreement_is_the_adjusted_rand_index(seed, n, c):
    rng = np.random.default_rng(seed)
    labels = np.array(
        [
            np.unique(rng.integers(0, rng.integers(1, n + 1), size=n), return_inverse=True)[1]
            for _ in range(c)
        ]
    )
    found = pair_agreement(labels, labels.max(axis=1) + 1)
    expected = [[adjusted_rand_score(one, other) for other in labels] for one in labels]
    np.testing.assert_allclose(found, expected, atol=1e-9)
