"""Consensus of partitions: against the matrix that is never made, and its laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.helpers import same_partition

from linkshift import Links
from linkshift.groups import consensus as module
from linkshift.groups.assignment import assign
from linkshift.groups.consensus import (
    _mean_association,
    consensus,
    loss_weights,
    membership,
)
from linkshift.groups.spectral import _left_singular, spectral_clusters

some_partitions = arrays(
    np.int64, st.tuples(st.integers(1, 6), st.integers(2, 12)), elements=st.integers(0, 3)
)


def noisy(y, n_partitions=10, wrong=0.2, seed=0):
    """The same clusters under other numbers, some samples misplaced."""
    rng = np.random.RandomState(seed)
    n_clusters = y.max() + 1
    out = []
    for _ in range(n_partitions):
        labels = np.where(rng.rand(y.size) < wrong, rng.randint(n_clusters, size=y.size), y)
        out.append(rng.permutation(n_clusters)[labels])
    return np.array(out)


def co_association(partitions, weights=None):
    member = membership(partitions, weights)
    return member @ member.T


def mean_association(partitions, labels, n_clusters, weights=None):
    return _mean_association(membership(partitions, weights), labels, n_clusters)


def spectral_labels(partitions, n_clusters, random_state):
    return spectral_clusters(membership(partitions), n_clusters, random_state=random_state)[0]


@given(some_partitions)
@settings(max_examples=50, deadline=None)
def test_co_association_is_the_literal_one(partitions):
    expected = np.mean([labels[:, None] == labels for labels in partitions], axis=0)
    np.testing.assert_allclose(co_association(partitions), expected)


@given(some_partitions, st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_mean_association_is_the_literal_one(partitions, seed):
    n = partitions.shape[1]
    labels = np.random.RandomState(seed).randint(3, size=n)
    A = co_association(partitions)
    expected = np.zeros((n, 4))  # the last cluster is empty
    for i in range(n):
        for c in range(4):
            others = [j for j in range(n) if j != i and labels[j] == c]
            expected[i, c] = A[i, others].mean() if others else 0.0
    np.testing.assert_allclose(mean_association(partitions, labels, 4), expected, atol=1e-12)


@pytest.mark.parametrize("n_partitions", [2, 30])
def test_singular_vectors_span_what_eigenvectors_of_the_matrix_do(n_partitions):
    """Once with fewer columns than samples, once with more."""
    y = np.arange(40) % 4
    partitions = noisy(y, n_partitions)
    A = co_association(partitions)
    degree = A.sum(axis=1)
    _, vectors = np.linalg.eigh(A / np.sqrt(np.outer(degree, degree)))
    H = membership(partitions)
    left = _left_singular(H / np.sqrt(H @ H.sum(axis=0))[:, None], 4)
    expected = vectors[:, -4:] @ vectors[:, -4:].T
    np.testing.assert_allclose(left @ left.T, expected, atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_what_partitions_agree_on_is_found(seed):
    y = np.arange(60) % 4
    partitions = noisy(y, wrong=0.2, seed=seed)
    assert same_partition(spectral_labels(partitions, 4, random_state=seed), y)
    assert same_partition(consensus(partitions, 4, size_bounds=(12, 18), random_state=seed), y)


def test_partitions_that_are_all_the_same_are_the_consensus():
    y = np.arange(20) % 5
    for count in (1, 3):
        found = consensus(np.tile(y, (count, 1)), 5, size_bounds=(4, 4), random_state=0)
        assert same_partition(found, y)


@given(some_partitions, st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_anything_gives_labels_within_the_bounds(partitions, seed):
    n = partitions.shape[1]
    n_clusters = 1 + seed % n
    bounds = (n // n_clusters, -(-n // n_clusters))
    labels = consensus(partitions, n_clusters, size_bounds=bounds, random_state=seed)
    sizes = np.bincount(labels, minlength=n_clusters)
    assert sizes.size == n_clusters
    assert sizes.min() >= bounds[0]
    assert sizes.max() <= bounds[1]


def test_links_hold():
    y = np.arange(24) % 3
    partitions = noisy(y, wrong=0.1)
    links = Links(must=[(0, 1)], cannot=[(2, 5)])
    labels = consensus(partitions, 3, size_bounds=(6, 10), links=links, random_state=0)
    assert labels[0] == labels[1]
    assert labels[2] != labels[5]
    rest = np.setdiff1d(np.arange(24), [0, 1, 2, 5])
    assert same_partition(labels[rest], y[rest])


def test_uncertain_links_have_a_price():
    y = np.arange(24) % 3
    partitions = noisy(y, wrong=0.1)
    # What ten partitions agree on outweighs a link that is as likely to be a guess as not.
    for confidence, together in ((0.01, False), (0.5, False), (1 - 1e-12, True)):
        links = Links(must=[(0, 1)], must_confidence=confidence)
        labels = consensus(partitions, 3, links=links, random_state=0)
        assert (labels[0] == labels[1]) == together


def test_numbers_of_clusters_and_order_of_partitions_do_not_matter():
    y = np.arange(40) % 4
    partitions = noisy(y)
    one = consensus(partitions, 4, random_state=0)
    other = consensus(3 - partitions[::-1], 4, random_state=0)
    assert same_partition(one, other)
    np.testing.assert_array_equal(one, consensus(partitions, 4, random_state=0))


def test_costs_are_the_literal_ones(monkeypatch):
    seen = []

    def noted(costs, **options):
        seen.append(costs)
        return assign(costs, **options)

    monkeypatch.setattr(module, "assign", noted)
    partitions = noisy(np.arange(20) % 2, n_partitions=4)
    consensus(partitions, 2, random_state=0)
    rough = spectral_labels(partitions, 2, random_state=0)
    mean = mean_association(partitions, rough, 2)
    np.testing.assert_allclose(seen[0], -np.log((4 * mean + 0.5) / 5))


@given(some_partitions, st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_whole_weights_are_repetitions(partitions, seed):
    weights = np.random.RandomState(seed).randint(0, 3, size=len(partitions))
    weights[0] += 1
    repeated = np.repeat(partitions, weights, axis=0)
    labels = np.random.RandomState(seed).randint(3, size=partitions.shape[1])
    np.testing.assert_allclose(
        co_association(partitions, weights), co_association(repeated), atol=1e-12
    )
    np.testing.assert_allclose(
        mean_association(partitions, labels, 3, weights),
        mean_association(repeated, labels, 3),
        atol=1e-12,
    )


def test_weights_decide_whom_to_believe():
    y, other = np.arange(24) % 3, np.arange(24) // 8
    partitions = np.concatenate([np.tile(y, (3, 1)), np.tile(other, (2, 1))])
    for weights, expected in ((None, y), ([1, 1, 1, 9, 9], other), ([0, 0, 0, 1, 0], other)):
        found = consensus(partitions, 3, weights=weights, size_bounds=(8, 8), random_state=0)
        assert same_partition(found, expected)


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [0.0, 0.0], [1.0, np.nan]])
def test_weights_that_make_no_sense_are_refused(weights):
    with pytest.raises(ValueError, match="weights must"):
        consensus([[0, 1, 1], [0, 0, 1]], 2, weights=weights)


@given(st.lists(st.floats(0.0, 1e6), min_size=1, max_size=20))
def test_loss_weights_rank_and_leave_most_a_say(loss):
    weights = loss_weights(loss)
    assert weights.max() == 1.0
    assert weights.min() >= 0.0
    order = np.argsort(loss, kind="stable")
    assert (np.diff(weights[order]) <= 1e-12).all()
    assert weights.sum() ** 2 / (weights**2).sum() >= 0.75 * len(loss) - 1e-6


def test_loss_weights_are_the_eighth_power_where_losses_are_close():
    loss = np.array([3.0, 3.1, 3.3])
    np.testing.assert_allclose(loss_weights(loss), (3.0 / loss) ** 8)
    np.testing.assert_array_equal(loss_weights(np.zeros(4)), 1.0)
