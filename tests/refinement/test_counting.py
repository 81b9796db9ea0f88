"""A number of clusters that is told: mergers by brute force, splits, links that hold throughout."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.helpers import same_partition, some_links
from tests.reference import refinement as twin

from linkshift import Links, refine
from linkshift._core.messages import Advice, Refusal
from linkshift.links import ClosedLinks, two_sided
from linkshift.refinement import to_count

seeds = st.integers(0, 2**32 - 1)


def count(labels):
    return len(set(labels[labels >= 0].tolist()))


def closed(n, **links):
    return ClosedLinks(Links(**links, n_samples=n), n)


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(1, 8), st.integers(0, 25), st.booleans(), st.booleans())
def test_mergers_are_those_of_the_literal_loop(seed, most, m, noise, weighted):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2))
    truth = rng.integers(0, 12, size=30)
    links = some_links(rng, 30, m, classes=truth)
    links = Links(cannot=links.cannot, n_samples=30)
    labels = np.where(rng.uniform(size=30) < 0.2 * noise, -1, truth)
    assume(count(labels) > 0)
    weight = rng.uniform(0.5, 3.0, size=30) if weighted else np.ones(30)
    expected = twin.merge_to_count(X, weight, labels, links.cannot, most)
    assume(count(expected) == most)  # otherwise clusters are dissolved: see below
    given = {"weight": weight} if weighted else {}
    ours = to_count(X, labels, ClosedLinks(links, 30), at_most=most, **given)
    assert same_partition(ours, expected)
    np.testing.assert_array_equal(ours == -1, labels == -1)


@settings(max_examples=80, deadline=None)
@given(seeds, st.integers(1, 6), st.integers(0, 60), st.integers(2, 4), st.booleans())
def test_certain_links_hold_for_every_number(seed, k, m, n_classes, at_most):
    rng = np.random.default_rng(seed)
    X, truth = rng.normal(size=(40, 2)), rng.integers(0, n_classes, size=40)
    links = some_links(rng, 40, m, classes=truth)
    labels = truth + n_classes * rng.integers(0, 2, size=40)  # every link holds but must-links
    asked = {"at_most": k} if at_most else {"exactly": k}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            ours = to_count(X, labels, ClosedLinks(links, 40), **asked)
        except Refusal as refusal:
            told = [refusal]
            ours = labels
    if told and isinstance(told[0], Refusal):
        assert not at_most
        assert "must-links" in str(told[0])
        return
    assert twin.broken(ours, links) == 0
    if not told:
        assert count(ours) <= k if at_most else count(ours) == k
    elif k >= n_classes:
        # Told or not, what the classes show to be possible may be missed by a greedy search, but
        # never by much.
        assert count(ours) <= k + 2


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(1, 80))
def test_two_clusters_are_always_found_where_there_are_two(seed, m):
    rng = np.random.default_rng(seed)
    X, truth = rng.normal(size=(40, 2)), rng.integers(0, 2, size=40)
    links = some_links(rng, 40, m, classes=truth)
    found = refine(X, rng.integers(0, 9, size=40), links, n_clusters=2)  # a warning would raise
    assert count(found) == 2
    assert twin.broken(found, links) == 0


def test_mergers_by_hand():
    X = np.array([[0.0], [1.0], [4.0], [9.0]])
    labels = np.arange(4)
    free = closed(4)
    np.testing.assert_array_equal(to_count(X, labels, free, at_most=3), [0, 0, 1, 2])
    np.testing.assert_array_equal(to_count(X, labels, free, exactly=2), [0, 0, 0, 1])
    np.testing.assert_array_equal(to_count(X, labels, free, at_most=7), labels)
    np.testing.assert_array_equal(to_count(X, labels, free), labels)
    apart = closed(4, cannot=[(0, 1), (1, 2)])
    np.testing.assert_array_equal(to_count(X, labels, apart, at_most=3), [0, 1, 0, 2])
    joined = closed(4, must=[(0, 3)])
    np.testing.assert_array_equal(to_count(X, labels, joined, at_most=3), [0, 1, 2, 0])


def test_what_links_keep_apart_is_dissolved():
    # Three clusters, every two of which are kept apart by links of different rows.
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0], [2.5], [9.5]])
    labels = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    links = closed(8, cannot=[(0, 3), (1, 7), (4, 6)])
    found = to_count(X, labels, links, exactly=2)
    np.testing.assert_array_equal(found, [0, 0, 0, 1, 1, 1, 0, 1])


def test_labels_are_swapped_along_a_chain_to_make_room():
    # Row 4 may join nobody: it is kept from 0 (cluster 0) and 2 (cluster 1). Swapping the labels of
    # 2 and 3, which are kept apart from each other alone, makes room.
    X = np.arange(5.0)[:, None]
    labels = np.array([0, 0, 1, 0, 2])
    links = closed(5, cannot=[(0, 4), (2, 4), (2, 3)])
    found = to_count(X, labels, links, at_most=2)
    assert count(found) == 2
    assert twin.broken(found, links.links) == 0


def test_more_clusters_than_there_are():
    X = np.array([[0.0], [1.0], [10.0], [11.0], [30.0], [30.5]])
    one = np.zeros(6, dtype=int)
    np.testing.assert_array_equal(to_count(X, one, closed(6), exactly=2), [1, 1, 1, 1, 0, 0])
    three = to_count(X, one, closed(6), exactly=3)
    assert same_partition(three, np.array([0, 0, 1, 1, 2, 2]))
    held = to_count(X, one, closed(6, must=[(1, 2), (3, 4)]), exactly=2)
    assert held[1] == held[2]
    assert held[3] == held[4]
    np.testing.assert_array_equal(to_count(X, one, closed(6), at_most=3), one)
    everyone = to_count(X, one, closed(6), exactly=6)
    assert count(everyone) == 6
    with_noise = to_count(X, np.array([0, 0, 0, 0, -1, -1]), closed(6), exactly=2)
    assert same_partition(with_noise, np.array([0, 0, 1, 1, -1, -1]))


def test_equal_rows_are_not_parted():
    X = np.repeat([[0.0], [1.0]], 5, axis=0)
    found = to_count(X, np.zeros(10, dtype=int), closed(10), exactly=2)
    assert same_partition(found, np.repeat([0, 1], 5))
    with pytest.raises(Refusal, match="make 2 groups"):
        to_count(X, np.zeros(10, dtype=int), closed(10), exactly=3)


def test_groups_with_one_mean_are_parted_too():
    X = np.array([[-1.0], [1.0], [-2.0], [2.0]])
    links = closed(4, must=[(0, 1), (2, 3)])
    found = to_count(X, np.zeros(4, dtype=int), links, exactly=2)
    assert same_partition(found, np.array([0, 0, 1, 1]))


def test_too_few_clusters_for_the_links():
    X = np.arange(4.0)[:, None]
    ring = Links(cannot=[(0, 1), (1, 2), (0, 2)])
    with pytest.raises(Refusal, match="ring"):
        refine(X, [0, 1, 2, 2], ring, n_clusters=2)
    with pytest.raises(Refusal, match="cannot-links"):
        refine(X, [0, 1, 2, 2], ring, max_clusters=1)
    four = Links(cannot=[(a, b) for a in range(4) for b in range(a)])
    with pytest.warns(Advice, match="4 clusters remain, not 3"):
        found = refine(X, [0, 1, 2, 2], four, n_clusters=3)
    assert count(found) == 4


# Links of two clusters


@settings(max_examples=80, deadline=None)
@given(seeds, st.integers(2, 30), st.integers(0, 60))
def test_two_sided_by_brute_force(seed, n, m):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, size=n)
    links = some_links(rng, n, m, classes=truth)
    ours = two_sided(ClosedLinks(links, n))
    np.testing.assert_array_equal(
        ours.component[:, None] == ours.component, twin.two_sided(n, links)
    )
    assert not ours.contradictory
    assert set(map(tuple, links.cannot.tolist())) == set(map(tuple, ours.links.cannot.tolist()))


def test_two_sided_leaves_contradictions_and_doubts():
    torn = ClosedLinks(Links(must=[(0, 1)], cannot=[(0, 1), (1, 2)]), 3)
    assert two_sided(torn) is torn
    soft = ClosedLinks(Links(cannot=[(0, 1), (1, 2)], cannot_confidence=[1.0, 0.9]), 3)
    np.testing.assert_array_equal(two_sided(soft).component, [0, 1, 2])
