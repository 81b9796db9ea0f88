"""Choosing among candidates: agreement, modularity, the word of links."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from tests.helpers import blobs, linked_moons, same_partition, some_links
from tests.reference import consensus as twin

from linkshift import Links
from linkshift.consensus import Candidates, agreement, consensus, evidence, quality
from linkshift.consensus.choosing import far_links, modularity
from linkshift.spaces.graph import neighbour_graph

seeds = st.integers(0, 2**32 - 1)


def random_candidates(rng, n, c, n_families):
    labels = [np.unique(rng.integers(0, 6, size=n), return_inverse=True)[1] for _ in range(c)]
    family = np.sort(np.r_[np.arange(n_families), rng.integers(0, n_families, c - n_families)])
    return Candidates(np.array(labels), family)


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(4, 30), st.integers(2, 5), st.integers(2, 5))
def test_agreement_is_the_median_of_the_best_matches(seed, n, n_families, n_judges):
    rng = np.random.default_rng(seed)
    found = random_candidates(rng, n, n_families + int(rng.integers(0, 8)), n_families)
    judges = np.arange(min(n_judges, n_families))
    expected = []
    for one, own in zip(found.labels, found.family, strict=True):
        best = [
            max(adjusted_rand_score(one, other) for other in found.labels[found.family == f])
            for f in judges
            if f != own
        ]
        expected.append(np.median(best))
    np.testing.assert_allclose(agreement(found, judges), expected, atol=1e-9)


def test_every_family_judges_unless_some_are_named():
    found = random_candidates(np.random.default_rng(0), 20, 7, 3)
    np.testing.assert_array_equal(agreement(found), agreement(found, np.arange(3)))


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(3, 40), st.integers(1, 8))
def test_modularity_is_the_formula(seed, n, k):
    rng = np.random.default_rng(seed)
    weights = neighbour_graph(rng.normal(size=(n, 2))).weights
    labels = rng.integers(0, k, size=n)
    expected = twin.modularity(weights.toarray(), labels)
    assert modularity(labels, weights) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("n_columns", "of_graph", "of_count"), [(2, 8.0, -0.6), (7, 8.0, -0.6), (8, 22.0, 1.2)]
)
def test_quality_is_the_formula(n_columns, of_graph, of_count):
    rng = np.random.default_rng(0)
    weights = neighbour_graph(rng.normal(size=(30, 2))).weights
    found = random_candidates(rng, 30, 6, 3)
    agreed = rng.uniform(size=6)
    expected = [
        27 * a + of_graph * twin.modularity(weights.toarray(), one) + of_count * np.log2(k)
        for a, one, k in zip(agreed, found.labels, found.sizes, strict=True)
    ]
    np.testing.assert_allclose(quality(found, weights, agreed, n_columns), expected)


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(3, 30), st.integers(1, 40), st.sampled_from([0.0, 3.5, 90.0]))
def test_evidence_is_the_adjusted_rand_index_of_the_links(seed, n, m, n_far):
    rng = np.random.default_rng(seed)
    found = random_candidates(rng, n, 4, 2)
    links = some_links(rng, n, m, confidences=(1.0, 0.6, 0.1))
    total = links.must_confidence.sum() + links.cannot_confidence.sum()
    expected = [
        6 * np.sqrt(total) * twin.adjusted_rand_of_links(one, links, n_far) for one in found.labels
    ]
    np.testing.assert_allclose(evidence(found, links, n_far), expected, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(4, 30), st.integers(0, 20), st.integers(1, 6))
def test_evidence_of_groups_is_what_their_pairs_share(seed, n, m, n_groups):
    rng = np.random.default_rng(seed)
    found = random_candidates(rng, n, 4, 2)
    links = Links(must=some_links(rng, n, m).must)
    links += Links.apart_within(rng.integers(0, n_groups, size=n))
    expected = evidence(found, links.expanded(shared=True))
    np.testing.assert_allclose(evidence(found, links), expected, atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(6, 30), st.integers(4, 40))
def test_links_speak_for_the_classes_they_are_from(seed, n, m):
    rng = np.random.default_rng(seed)
    classes = np.unique(rng.integers(0, 3, size=n), return_inverse=True)[1]
    links = some_links(rng, n, m, classes=classes)
    others = random_candidates(rng, n, 5, 2)
    found = Candidates(np.vstack([classes, others.labels]), np.r_[0, others.family])
    said = evidence(found, links)
    assert said[0] >= said.max() - 1e-9


@pytest.mark.parametrize(("n", "near"), [(150, 18), (900, 40)])
def test_far_links_are_beyond_the_neighbours_of_both_ends(n, near):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    pairs = np.unique(np.sort(rng.integers(0, n, size=(60, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    distance = np.linalg.norm(X[:, None] - X[None], axis=2)
    expected = sum(
        min((distance[a] < distance[a, b]).sum(), (distance[b] < distance[a, b]).sum()) > near
        for a, b in pairs
    )
    assert far_links(X, Links(must=pairs)) == expected
    assert far_links(X, Links(must=pairs, must_confidence=0.5)) == expected / 2
    assert far_links(X, Links(cannot=pairs)) == 0


# The choice


def test_the_choice_is_the_best_candidate():
    X, y = blobs(120, 2, k=4, std=0.5, seed=3)
    graph = neighbour_graph(X)
    found = consensus(X, graph, Links())
    assert same_partition(found.labels, y)
    assert found.agreement > 0.99
    assert found.n_candidates > 20
    assert consensus(X, graph, Links.sample(y, 9, random_state=0)).n_candidates > (
        found.n_candidates
    )


@pytest.mark.parametrize("k", [2, 3, 5, 11, 30])
def test_what_is_known_of_the_number_of_clusters(k):
    X, y = blobs(120, 2, k=4, std=1.5, seed=3)
    graph = neighbour_graph(X)
    for links in (Links(), Links.sample(y, 20, random_state=0)):
        exactly = consensus(X, graph, links, n_clusters=k).labels
        assert exactly.max() + 1 == k
        assert consensus(X, graph, links, max_clusters=k).labels.max() + 1 <= k


def test_links_change_the_choice():
    X, y = blobs(150, 2, k=3, std=0.4, seed=0)
    coarse = np.where(y == 2, 1, y)  # two of the three blobs are one class
    graph = neighbour_graph(X)
    assert same_partition(consensus(X, graph, Links()).labels, y)
    links = Links.sample(coarse, 60, random_state=0)
    assert same_partition(consensus(X, graph, links).labels, coarse)


def test_progress_and_threads():
    X, _, links = linked_moons(100, 10)
    graph = neighbour_graph(X)
    for some, least in ((Links(), 9), (links, 14)):
        calls = []
        one = consensus(X, graph, some, progress=lambda *call: calls.append(call))  # noqa: B023
        assert len(calls) >= least
        assert calls == sorted(calls)
        assert calls[-1][0] == calls[-1][1]
        two = consensus(X, graph, some, n_threads=2)
        np.testing.assert_array_equal(one.labels, two.labels)
