"""Weights in refinement: a row of weight 2 is the row twice, at every stage.

Copies stand side by side. Where links name a row, they name its first copy, and certain must-links
hold the others to it.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers import repeated, same_partition, some_links
from tests.reference import refinement as twin

from linkshift import Links, refine
from linkshift._core.labels import majority
from linkshift._core.messages import Refusal
from linkshift.links import ClosedLinks
from linkshift.refinement import (
    absorb_dust,
    agreeing,
    founded,
    hold,
    nearest_places,
    nearest_rows,
    neighbours_vote,
    settle,
    to_count,
)
from linkshift.refinement.places import as_places, cut, is_local

seeds = st.integers(0, 2**32 - 1)


def make(seed, n=24, n_labels=4, m=10, least=1, noise=False):
    """Rows, labels, links that do not contradict each other, and whole weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    labels = np.unique(rng.integers(0, n_labels, size=n), return_inverse=True)[1]
    if noise:
        labels[rng.uniform(size=n) < 0.2] = -1
    links = some_links(rng, n, m, classes=rng.integers(0, 3, size=n), confidences=(1.0, 0.6))
    weight = rng.integers(least, 4, size=n)
    named = np.unique(np.concatenate([links.must, links.cannot]))
    weight[named] = rng.integers(1, 4, size=len(named))
    if noise:  # a must-link, to a copy too, takes a row out of noise: linked rows of noise are one
        weight[named[labels[named] < 0]] = 1
    return X, labels, links, weight


def certain(links):
    return links.where(links.must_confidence == 1.0, links.cannot_confidence == 1.0)


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(2, 20), st.integers(1, 9))
def test_places_are_the_literal_ones(seed, n, k):
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(n, 2)), rng.choice([0.0, 0.4, 1.0, 1.7, 3.0], size=n)
    weight[0] = 1.0
    found = nearest_places(X, k, weight)
    for rows, taken, expected in zip(
        found.rows, found.taken, twin.nearest_places(X, weight, k), strict=True
    ):
        assert rows[rows >= 0].tolist() == [j for j, _ in expected]
        np.testing.assert_allclose(taken[rows >= 0], [w for _, w in expected], atol=1e-12)
        assert not taken[rows < 0].any()


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(1, 9))
def test_places_are_those_of_copies(seed, k):
    X, _, _, weight = make(seed)
    copies, _ = repeated(weight)
    ours, theirs = nearest_places(X, k, weight.astype(float)), nearest_rows(X[copies], k)
    for copy, i in enumerate(copies):
        near = theirs[copy][theirs[copy] >= 0]
        n = len(X)
        places = np.bincount(copies[near], minlength=n)
        rows = ours.rows[i]
        expected = np.bincount(rows[rows >= 0], ours.taken[i][rows >= 0], minlength=n)
        np.testing.assert_allclose(places, expected, atol=1e-12)


def test_ones_are_the_neighbours_without_weights():
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[30:] *= 20.0
    plain, places = nearest_rows(X, 7), nearest_places(X, 7, np.ones(60))
    np.testing.assert_array_equal(places.rows[:, 1:], plain)
    np.testing.assert_array_equal(places.taken[:, 1:], as_places(plain).taken)
    assert (places.rows[:, 0] == -1).all()


def test_places_by_hand():
    X = np.array([[0.0], [1.0], [3.0], [20.0]])
    found = nearest_places(X, 3, np.array([2.0, 1.5, 0.0, 6.0]))
    # Row 0 has its copy, 1.5 of row 1, and what is left of row 3, which is not too far: the second
    # place is row 1's. Row 3 has two... and all three places itself.
    assert found.rows[0].tolist() == [0, 1, -1]
    assert found.taken[0].tolist() == [1.0, 1.5, 0.0]
    assert found.rows[3].tolist() == [3, -1, -1]
    assert found.taken[3].tolist() == [3.0, 0.0, 0.0]
    assert found.rows[2].tolist() == [-1, 1, 0]  # without weight, it has neighbours all the same
    assert found.taken[2].tolist() == [0.0, 1.5, 1.5]


@settings(max_examples=80, deadline=None)
@given(seeds, st.booleans(), st.integers(1, 9), st.sampled_from([0.0, 0.7, 4.0]))
def test_settling_counts_a_row_of_weight_two_twice(seed, noise, k, penalty):
    X, labels, links, weight = make(seed, noise=noise)
    copies, tied = repeated(weight, links)
    ours = settle(labels, links, nearest_places(X, k, weight.astype(float)), penalty=penalty)
    theirs = settle(labels[copies], tied, nearest_rows(X[copies], k), penalty=penalty)
    np.testing.assert_array_equal(ours[copies], theirs)


@settings(max_examples=80, deadline=None)
@given(seeds, st.booleans(), st.integers(1, 9))
def test_holding_counts_a_row_of_weight_two_twice(seed, noise, k):
    X, labels, links, weight = make(seed, m=25, noise=noise)
    copies, tied = repeated(weight, links)
    n, places = len(X), nearest_places(X, k, weight.astype(float))
    ours = hold(labels, agreeing(ClosedLinks(links, n)), places)
    closed = ClosedLinks(tied, len(copies))
    theirs = hold(labels[copies], agreeing(closed), nearest_rows(X[copies], k))
    assert same_partition(ours[copies], theirs)


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(1, 9), st.integers(1, 8))
def test_dust_is_told_by_weight(seed, k, least):
    X, labels, _, weight = make(seed, n_labels=9)
    copies, _ = repeated(weight)
    ours = absorb_dust(labels, nearest_places(X, k, weight.astype(float)), least)
    theirs = absorb_dust(labels[copies], nearest_rows(X[copies], k), least)
    np.testing.assert_array_equal(ours[copies], theirs)


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(1, 8), st.booleans())
def test_a_number_of_clusters_is_reached_by_weight(seed, k, linked):
    X, labels, links, weight = make(seed, n_labels=6, m=4)
    links = certain(links) if linked else Links()
    copies, tied = repeated(weight, links)
    try:
        theirs = to_count(X[copies], labels[copies], ClosedLinks(tied, len(copies)), at_most=k)
    except (ValueError, Warning) as error:  # too few, or a warning: both say the same
        with pytest.raises(type(error)):
            to_count(X, labels, ClosedLinks(links, len(X)), at_most=k, weight=weight.astype(float))
        return
    ours = to_count(X, labels, ClosedLinks(links, len(X)), at_most=k, weight=weight.astype(float))
    assert same_partition(ours[copies], theirs)


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(1, 12), st.booleans())
def test_new_rows_are_voted_for_by_weight(seed, k, zeros):
    X, labels, _, weight = make(seed, m=0, least=0 if zeros else 1)
    weight[0] = 2
    copies, _ = repeated(weight)
    new = np.random.default_rng(seed + 1).normal(size=(15, 2))
    ours = neighbours_vote(new, X, labels, k, weight.astype(float))
    np.testing.assert_array_equal(ours, neighbours_vote(new, X[copies], labels[copies], k))


@settings(max_examples=40, deadline=None)
@given(seeds, st.sampled_from([None, 2, 3]))
def test_refining_counts_a_row_of_weight_two_twice(seed, n_clusters):
    # Of rows without links: what holds the copies of linked ones together has votes of its own.
    X, labels, links, weight = make(seed, m=6)
    links = certain(links)
    weight[np.unique(np.concatenate([links.must, links.cannot]))] = 1
    copies, same = repeated(weight, links)
    assert len(same) == len(links)
    options = {"n_neighbors": 5, "max_clusters": n_clusters}
    try:
        theirs = refine(X[copies], labels[copies], same, **options)
    except (ValueError, Warning) as error:
        with pytest.raises(type(error)):
            refine(X, labels, links, sample_weight=weight, **options)
        return
    ours = refine(X, labels, links, sample_weight=weight, **options)
    assert same_partition(ours[copies], theirs)


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_rows_without_weight_have_no_say(seed):
    X, labels, links, weight = make(seed, least=0)
    weight = weight.astype(float)
    kept = np.flatnonzero(weight)
    every = refine(X, labels, links, n_neighbors=5, sample_weight=weight)
    some = refine(
        X[kept], labels[kept], links.take(kept), n_neighbors=5, sample_weight=weight[kept]
    )
    assert same_partition(every[kept], some)


def test_weights_of_one_are_no_weights():
    X, labels, links, _ = make(3)
    np.testing.assert_array_equal(
        refine(X, labels, links, sample_weight=np.ones(len(X))), refine(X, labels, links)
    )


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.ones(23), "sample_weight"),
        (-np.ones(24), "[Nn]egative"),
        (np.zeros(24), "Every sample weight is zero"),
        (np.full(24, np.nan), "NaN"),
    ],
)
def test_weights_that_are_none_raise(weight, words):
    X, labels, links, _ = make(0)
    with pytest.raises(ValueError, match=words):
        refine(X, labels, links, sample_weight=weight)


def test_all_weights_zero_is_a_refusal():
    X, labels, links, _ = make(0)
    with pytest.raises(Refusal) as caught:
        refine(X, labels, links, sample_weight=np.zeros(24))
    assert caught.value.parameter == "sample_weight"


def test_clusters_without_weight_go_with_the_nearest_row_that_has_some():
    X = np.array([[0.0], [1.0], [5.0], [6.0], [6.4]])
    labels, weight = np.array([0, 1, 2, 1, 2]), np.array([1.0, 0.5, 0.0, 2.0, 0.0])
    np.testing.assert_array_equal(founded(X, labels, weight), [0, 1, 1, 1, 1])
    assert founded(X, labels, None) is labels


def test_cut_and_is_local_by_hand():
    np.testing.assert_array_equal(cut(np.array([[0.5, 1.0, 2.0]]), 2.0), [[0.5, 1.0, 0.5]])
    distance = np.array([[0.0, 1.0, 7.9, 8.1]])
    # The second place is of the neighbour at 1; with a weight of 3 the first has it.
    assert is_local(distance, np.array([[1.0, 1.0, 1.0, 1.0]])).tolist() == [[1, 1, 1, 0]]
    assert is_local(distance, np.array([[3.0, 1.0, 1.0, 1.0]])).all()
    assert is_local(distance).tolist() == [[1, 1, 1, 0]]


def test_majority_by_weight():
    labels = np.array([2, 2, 0])
    assert majority(labels) == 2
    assert majority(labels, np.array([1.0, 1.0, 2.5])) == 0
    assert majority(labels, np.zeros(3)) == 2
    assert majority(labels[:0], np.zeros(0)) == -1
