"""Refinement under groups of rows that are apart: as under their pairs, without the pairs."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.helpers import same_partition, some_links
from tests.reference import refinement as twin

from linkshift import Links, refine
from linkshift._core.messages import Refusal
from linkshift.links import ClosedLinks
from linkshift.metrics import link_satisfaction
from linkshift.modes import merge_close
from linkshift.refinement import hold, merge_by_votes, nearest_rows, settle

seeds = st.integers(0, 2**32 - 1)


def make(seed, n=24, n_labels=4, m=10, n_groups=6):
    """Points, labels and links that agree with groups."""
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(n, 2)), rng.integers(0, n_labels, size=n)
    labels = np.unique(labels, return_inverse=True)[1]
    column = rng.integers(-1, n_groups, size=n)
    links = some_links(rng, n, m, classes=rng.integers(0, 3, size=n))
    links = (Links.apart_within(column) + links).settle().links
    return X, labels, links, nearest_rows(X, int(rng.integers(1, 8)))


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(0, 40), st.integers(1, 8))
def test_votes_are_those_of_the_pairs(seed, m, n_labels):
    rng = np.random.default_rng(seed)
    _, labels, links, _ = make(seed, m=m, n_labels=n_labels)
    sure = rng.uniform(0.1, 1.0, size=len(links.must))  # no ties
    links = links._make(links._pairs._replace(must_confidence=sure), links.n_samples)
    assert same_partition(merge_by_votes(labels, links), merge_by_votes(labels, links.expanded()))


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(0, 30), st.booleans())
@example(43726119, 19, False)  # two components that share two groups are one pair
def test_holding_is_that_of_the_pairs(seed, m, noise):
    _, labels, links, near = make(seed, m=m)
    if noise:
        labels[np.random.default_rng(seed).uniform(size=len(labels)) < 0.3] = -1
    links = Links.apart_within(np.arange(24) // 3) + Links(links.must[:3], n_samples=24)
    links = links.settle().links
    ours = hold(labels, links.closure(), near)
    np.testing.assert_array_equal(ours, hold(labels, links.closure().expanded(), near))
    report = link_satisfaction(ours, links)
    assert (report.share, report.weighted_share) == (1.0, 1.0)
    assert report.n_apart == report.apart_kept == len(links.apart)


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(1, 8), st.integers(2, 6))
def test_settling_is_the_literal_loop(seed, n_groups, n_labels):
    rng = np.random.default_rng(seed)
    n = 24
    X, labels = rng.normal(size=(n, 2)), rng.integers(0, n_labels, size=n)
    labels = np.unique(labels, return_inverse=True)[1]
    links = Links.apart_within(rng.integers(-1, n_groups, size=n))
    links += Links.apart_within(rng.integers(-1, n_groups, size=n))
    near = nearest_rows(X, int(rng.integers(1, 8)))
    listed = [[j for j in row if j >= 0] for row in near.tolist()]
    expected = twin.settle_groups(labels, [g.tolist() for g in links.apart], listed, penalty=1.5)
    assert same_partition(settle(labels, links, near, penalty=1.5), expected)


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(1, 12))
def test_centres_of_a_family_never_meet(seed, n_families):
    rng = np.random.default_rng(seed)
    centres = rng.uniform(size=(12, 2))
    families = [set(rng.integers(0, n_families, size=2).tolist()) for _ in range(12)]
    apart = [(a, b) for a in range(12) for b in range(a) if families[a] & families[b]]
    ours = merge_close(centres, 0.4, families=families)
    assert same_partition(ours, twin.merge_close(centres, 0.4, apart))


def test_rows_of_a_group_go_their_ways():
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    links = Links.apart_within(["p", "p", None, "p", None, None])
    labels = refine(X, [0, 0, 0, 1, 1, 1], links)
    assert len({labels[0], labels[1], labels[3]}) == 3


def test_contradictions_are_told():
    X = np.arange(6.0)[:, None]
    links = Links.apart_within([0, 0, 0, -1, -1, -1]).add(must=[(0, 3), (3, 1)])
    with pytest.warns(UserWarning, match="stays broken"):
        labels = refine(X, [0, 0, 0, 0, 1, 1], links)
    assert len(set(labels[:3].tolist())) == 3  # groups are believed


def test_too_few_clusters_for_a_group():
    X = np.arange(6.0)[:, None]
    links = Links.apart_within([0, 0, 0, -1, -1, -1])
    for number in ({"n_clusters": 2}, {"max_clusters": 2}, {"n_clusters": 1}):
        with pytest.raises(Refusal, match="too few: 3 rows of one group"):
            refine(X, [0, 0, 1, 1, 1, 1], links, **number)
    labels = refine(X, [0, 0, 0, 0, 1, 1], links, n_clusters=3)
    assert len(set(labels[:3].tolist())) == len(set(labels.tolist())) == 3


def test_thousands_of_rows_of_one_group():
    """Two sources without duplicates: 5,000 records in both, and nothing of 25 million pairs."""
    rng = np.random.default_rng(0)
    X = np.tile(rng.normal(size=(5000, 3)), (2, 1)) + rng.normal(scale=1e-3, size=(10_000, 3))
    links = Links.apart_within(np.repeat(["here", "there"], 5000))
    labels = refine(X, np.tile(np.arange(5000) // 2, 2), links)
    report = link_satisfaction(labels, links)
    assert (report.n_apart, report.apart_kept) == (2, 2)
    assert ClosedLinks(links, 10_000).closure.groups.n_pairs == 2 * 5000 * 4999 // 2
