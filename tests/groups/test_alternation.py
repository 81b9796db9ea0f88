"""The alternation from one partition: its parts in order, its laws, its end."""

import numpy as np
import pytest
from tests.helpers import same_partition

from linkshift import Links
from linkshift.groups import alternation as module
from linkshift.groups.alternation import (
    Alternation,
    alternate,
    random_partition,
    spectral_partition,
)
from linkshift.groups.assignment import assign
from linkshift.groups.boosting import held_out_scores, log_loss
from linkshift.groups.views import kernel_bank
from linkshift.links import ConflictError


def setting(seed=0, n=45, n_clusters=3, apart=6.0):
    """Well separated clusters in each of two views."""
    rng = np.random.RandomState(seed)
    y = np.arange(n) % n_clusters
    views = [rng.normal(size=(n, 2)) + apart * np.eye(n_clusters)[y][:, :2] for _ in range(2)]
    return kernel_bank(views), y


@pytest.mark.parametrize("seed", range(3))
def test_partitions_are_the_literal_ones(seed):
    bank, _ = setting(seed)
    start = random_partition(45, 3, size_bounds=(12, 18), random_state=seed)
    links = Links(must=[(0, 1)], cannot=[(2, 5)])
    way = alternate(
        bank,
        start,
        3,
        size_bounds=(12, 18),
        links=links,
        base=5,
        step=1,
        max_iter=4,
        n_folds=5,
        n_candidates=4,
        random_state=seed,
    )
    random, labels = np.random.RandomState(seed), start
    assert way.n_iter >= 2
    for k in range(way.n_iter):
        scores = held_out_scores(
            bank, labels, 3, n_rounds=5 + k, n_folds=5, n_candidates=4, random_state=random
        )
        # The costs of eq. 13, word for word.
        costs = np.logaddexp(0, -scores) + np.logaddexp(0, scores).sum(axis=1, keepdims=True)
        costs -= np.logaddexp(0, scores)
        expected = assign(costs, size_bounds=(12, 18), links=links)
        np.testing.assert_array_equal(way.partitions[k + 1], expected.labels)
        assert way.loss[k] == pytest.approx(log_loss(scores, expected.labels).sum())
        assert way.loss[k] == pytest.approx(expected.cost)
        assert way.changed[k] == np.mean(expected.labels != labels)
        labels = expected.labels
    np.testing.assert_array_equal(way.labels, labels)
    np.testing.assert_array_equal(way.partitions[0], start)


def test_rounds_grow_by_step(monkeypatch):
    bank, y = setting()
    seen = []

    def noted(*args, n_rounds, **options):
        seen.append(n_rounds)
        return held_out_scores(*args, n_rounds=n_rounds, **options)

    monkeypatch.setattr(module, "held_out_scores", noted)
    monkeypatch.setattr(module, "_AT_REST", 99)
    alternate(bank, y, 3, max_iter=4, random_state=0)
    alternate(bank, y, 3, base=2, step=0, max_iter=2, random_state=0)
    assert seen == [5, 7, 9, 11, 2, 2]


@pytest.mark.parametrize("seed", range(3))
def test_wrong_labels_are_put_right(seed):
    bank, y = setting(seed, n=90)
    start = np.where(np.random.RandomState(seed).rand(90) < 0.4, (y + 1) % 3, y)
    way = alternate(bank, start, 3, size_bounds=(24, 36), random_state=seed)
    assert (start == y).mean() < 0.75
    assert (way.labels == y).mean() > 0.9


def test_sizes_and_certain_links_hold_in_every_iteration():
    bank, _ = setting()
    links = Links(must=[(0, 1), (1, 2)], cannot=[(3, 6), (6, 9), (3, 9)])
    start = random_partition(45, 3, size_bounds=(14, 16), links=links, random_state=0)
    way = alternate(bank, start, 3, size_bounds=(14, 16), links=links, max_iter=5, random_state=0)
    for labels in way.partitions:
        sizes = np.bincount(labels, minlength=3)
        assert sizes.min() >= 14
        assert sizes.max() <= 16
        assert len(set(labels[[0, 1, 2]])) == 1
        assert len(set(labels[[3, 6, 9]])) == 3


def test_uncertain_links_have_a_price():
    bank, y = setting()
    doubt = Links(must=[(0, 1)], must_confidence=0.01)
    sure = Links(must=[(0, 1)], must_confidence=1 - 1e-12)
    options = {"size_bounds": (12, 18), "max_iter": 3, "random_state": 0}
    labels = alternate(bank, y, 3, links=doubt, **options).labels
    assert labels[0] != labels[1]
    labels = alternate(bank, y, 3, links=sure, **options).labels
    assert labels[0] == labels[1]


def test_it_ends_after_two_iterations_at_rest_and_not_at_a_rise_of_the_loss(monkeypatch):
    bank, y = setting(apart=30.0)
    way = alternate(bank, y, 3, size_bounds=(12, 18), max_iter=9, random_state=0)
    assert way.n_iter == 2
    np.testing.assert_array_equal(way.changed, [0.0, 0.0])
    rising = iter(range(99))
    monkeypatch.setitem(module.LOSSES, "log", lambda scores, labels: np.array([next(rising)]))
    monkeypatch.setattr(module, "assign", lambda costs, **_: Moving(y, next(rising)))
    way = alternate(bank, y, 3, max_iter=9, random_state=0)
    assert way.n_iter == 9
    assert (np.diff(way.loss) > 0).all()


def test_the_papers_rule_stops_before_the_loss_rises(monkeypatch):
    bank, y = setting()
    losses = iter([9.0, 8.0, 7.0, 7.5, 1.0])
    monkeypatch.setitem(module.LOSSES, "log", lambda scores, labels: np.array([next(losses)]))
    moves = iter(range(99))
    monkeypatch.setattr(module, "assign", lambda costs, **_: Moving(y, 2 * next(moves)))
    way = alternate(bank, y, 3, max_iter=9, stop="rise", random_state=0)
    np.testing.assert_array_equal(way.loss, [9.0, 8.0, 7.0])
    np.testing.assert_array_equal(way.labels, np.roll(y, 2))


class Moving:
    """Labels that never come to rest."""

    def __init__(self, y, k):
        self.labels = np.roll(y, k // 2)


def test_numbers_of_clusters_and_threads_do_not_matter():
    bank, _ = setting()
    start = random_partition(45, 3, random_state=3)
    options = {"size_bounds": (12, 18), "max_iter": 4, "random_state": 0}
    one = alternate(bank, start, 3, **options)
    other = alternate(bank, np.array([2, 0, 1])[start], 3, **options)
    assert same_partition(one.labels, other.labels)
    threads = alternate(bank, start, 3, n_threads=2, **options)
    np.testing.assert_array_equal(one.partitions, threads.partitions)
    np.testing.assert_array_equal(one.loss, threads.loss)


def test_labels_to_begin_with_are_left_alone():
    bank, y = setting()
    given = y.copy()
    alternate(bank, given, 3, max_iter=2, random_state=0)
    np.testing.assert_array_equal(given, y)


def test_last_iterations():
    partitions = np.arange(4)[:, None] + np.zeros((1, 3), int)
    way = Alternation(partitions, np.zeros(3), np.zeros(3))
    np.testing.assert_array_equal(way.last(1)[:, 0], [3])
    np.testing.assert_array_equal(way.last(2)[:, 0], [2, 3])
    np.testing.assert_array_equal(way.last(5)[:, 0], [1, 2, 3, 3, 3])
    assert way.n_iter == 3


def test_random_partitions_are_even():
    """Every pair of samples is as often together as any other."""
    together = np.zeros((8, 8))
    for seed in range(300):
        labels = random_partition(8, 2, size_bounds=(4, 4), random_state=seed)
        assert np.bincount(labels).tolist() == [4, 4]
        together += labels[:, None] == labels
    share = together[np.triu_indices(8, 1)] / 300
    assert np.abs(share - 3 / 7).max() < 0.115  # four standard deviations


def test_random_partitions_respect_links_and_say_why_they_cannot():
    links = Links(must=[(0, 1)], cannot=[(1, 2)])
    for seed in range(5):
        labels = random_partition(6, 2, size_bounds=(3, 3), links=links, random_state=seed)
        assert labels[0] == labels[1] != labels[2]
    with pytest.raises(ConflictError):
        random_partition(6, 2, links=Links(must=[(0, 1)], cannot=[(0, 1)]))
    with pytest.raises(ValueError, match="must-linked"):
        random_partition(6, 2, size_bounds=(3, 3), links=Links(must=[(0, 1), (1, 2), (2, 3)]))


def test_random_state_is_all_that_is_random():
    one = random_partition(30, 3, random_state=1)
    np.testing.assert_array_equal(one, random_partition(30, 3, random_state=1))
    assert (one != random_partition(30, 3, random_state=2)).any()


@pytest.mark.parametrize("landmarks", [1000, 15])
def test_spectral_partitions_find_clusters_keep_bounds_and_links(monkeypatch, landmarks):
    monkeypatch.setattr(module, "_LANDMARKS", landmarks)
    bank, y = setting(apart=12.0)
    labels = spectral_partition(bank, 3, size_bounds=(12, 18), random_state=0)
    assert same_partition(labels, y)
    links = Links(must=[(0, 1)], cannot=[(2, 5)])
    bent = spectral_partition(bank, 3, size_bounds=(12, 18), links=links, random_state=0)
    assert bent[0] == bent[1]
    assert bent[2] != bent[5]
    rest = np.setdiff1d(np.arange(45), [0, 1, 2, 5])
    assert same_partition(bent[rest], y[rest])


def test_spectral_partitions_differ_and_repeat():
    """Two views that contradict each other: mixtures lean to one or the other."""
    rng = np.random.RandomState(0)
    y = np.arange(64) % 4
    views = [8.0 * part[:, None] + rng.normal(size=(64, 2)) for part in (y // 2, y % 2)]
    bank = kernel_bank(views)
    found = [spectral_partition(bank, 2, size_bounds=(20, 44), random_state=s) for s in range(8)]
    ways = {same_partition(labels, y // 2) for labels in found}
    assert ways == {True, False}
    again = spectral_partition(bank, 2, size_bounds=(20, 44), random_state=3)
    np.testing.assert_array_equal(again, found[3])


@pytest.mark.parametrize("n", [1, 2, 6])
def test_spectral_partitions_of_equal_samples_keep_the_bounds(n):
    bank = kernel_bank([np.ones((n, 2))])
    labels = spectral_partition(bank, n, size_bounds=(1, 1), random_state=0)
    assert sorted(labels) == list(range(n))


def test_spectral_partition_without_kept_kernels_is_the_same():
    X = [np.random.RandomState(m).normal(size=(45, 2)) for m in range(2)]
    kept, computed = kernel_bank(X), kernel_bank(X, max_bytes=0)
    assert computed.values is None
    found = [
        spectral_partition(bank, 3, size_bounds=(12, 18), random_state=0)
        for bank in (kept, computed)
    ]
    assert same_partition(*found)
