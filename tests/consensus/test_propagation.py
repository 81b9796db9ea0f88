"""Links spread over a graph, beside dense inverses."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.helpers import some_links
from tests.reference import consensus as twin

from linkshift import Links
from linkshift.consensus import bent_by_links
from linkshift.consensus.propagation import spread
from linkshift.spaces.graph import neighbour_graph

seeds = st.integers(0, 2**32 - 1)
CONFIDENCES = (1.0, 0.7, 0.2)


def problem(seed, n, m, classes=None):
    rng = np.random.default_rng(seed)
    weights = neighbour_graph(rng.normal(size=(n, 2)), int(rng.integers(2, 8))).weights
    return weights, some_links(rng, n, m, classes=classes, confidences=CONFIDENCES)


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(4, 40), st.integers(1, 40))
def test_what_links_say_of_edges_is_the_formula(seed, n, m):
    weights, links = problem(seed, n, m)
    edges = weights.tocoo()
    expected = twin.spread(weights.toarray(), links)[edges.row, edges.col]
    np.testing.assert_allclose(spread(weights, links), expected, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(4, 40), st.integers(1, 40))
def test_bent_graphs_are_the_formula(seed, n, m):
    weights, links = problem(seed, n, m)
    expected = twin.bent(weights.toarray(), links)
    np.testing.assert_allclose(bent_by_links(weights, links).toarray(), expected, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(4, 40), st.integers(1, 40))
def test_bent_graphs_are_graphs(seed, n, m):
    weights, links = problem(seed, n, m)
    bent = bent_by_links(weights, links)
    assert abs(bent - bent.T).max() < 1e-12
    assert bent.data.min() > 0
    assert bent.data.max() <= 1 + 1e-12
    before, after = weights.toarray() > 0, bent.toarray() > 0
    joined = np.zeros_like(before)
    joined[tuple(links.must.T)] = True
    np.testing.assert_array_equal(after, before | joined | joined.T)


def test_must_links_draw_their_surroundings_and_cannot_links_part_them():
    X = np.linspace(0, 1, 20)[:, None] ** 1.1
    weights = neighbour_graph(X, 3).weights
    W = weights.toarray()
    near = W > 0
    drawn = bent_by_links(weights, Links(must=[(5, 9)])).toarray()
    assert drawn[5, 9] == 1
    assert (drawn[near] >= W[near] - 1e-12).all()
    parted = bent_by_links(weights, Links(cannot=[(9, 10)])).toarray()
    assert parted[9, 10] < 1e-3
    assert (parted[near] <= np.maximum(W[near], 1e-4) + 1e-12).all()
    assert parted[0, 1] / W[0, 1] > parted[8, 9] / W[8, 9]  # what is far is hardly told


@pytest.mark.parametrize("kind", ["must", "cannot"])
def test_the_less_sure_a_link_is_the_less_it_says(kind):
    weights, _ = problem(0, 30, 1)
    loud, quiet = (
        spread(weights, Links(**{kind: [(0, 1)], f"{kind}_confidence": sure}))
        for sure in (1.0, 0.25)
    )
    np.testing.assert_allclose(quiet, 0.25 * loud)


@example(1200, 4, 3, 4)  # a must-link within a group of two: both say nothing together
@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(4, 40), st.integers(0, 20), st.integers(1, 6))
def test_groups_say_what_their_pairs_share(seed, n, m, n_groups):
    weights, links = problem(seed, n, m)
    column = np.random.default_rng(seed).integers(0, n_groups, size=n)
    links = Links(must=links.must, must_confidence=links.must_confidence)
    links += Links.apart_within(column)
    pairs = links.expanded(shared=True)
    np.testing.assert_allclose(spread(weights, links), spread(weights, pairs), atol=1e-12)
    ours, theirs = bent_by_links(weights, links), bent_by_links(weights, pairs)
    np.testing.assert_allclose(ours.toarray(), theirs.toarray(), atol=1e-9)
