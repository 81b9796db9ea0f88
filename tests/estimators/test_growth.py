"""How far the bandwidth grows: the links' own judgement."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from linkshift import ConstrainedMeanShift, Links, datasets
from linkshift.bandwidth import grow, pair_range
from linkshift.estimators._growth import best_stop, halves, rows_to_ask, stops, worth_asking

BLOBS, BLOB_TRUTH = make_blobs(
    400, 8, centers=10, cluster_std=0.6, center_box=(-4, 4), random_state=0
)


def random_links(y, n, seed):
    """Pairs at random, without care for covering all pairs of classes."""
    pairs = np.random.default_rng(seed).integers(len(y), size=(n, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return Links(must=pairs[same], cannot=pairs[~same], duplicates="drop")


def pairs_of(links):
    return {
        (kind, *pair)
        for kind, pairs in (("must", links.must), ("cannot", links.cannot))
        for pair in np.sort(pairs, axis=1).tolist()
    }


def test_growth_stops_before_clusters_without_a_link_between_them_merge():
    links = random_links(BLOB_TRUTH, 40, seed=1)
    full = ConstrainedMeanShift(growth="full").fit(BLOBS, links=links)
    chosen = ConstrainedMeanShift().fit(BLOBS, links=links)
    assert adjusted_rand_score(BLOB_TRUTH, full.labels_) < 0.9
    assert adjusted_rand_score(BLOB_TRUTH, chosen.labels_) > 0.97
    assert chosen.bandwidth_[-1] < full.bandwidth_[-1]
    np.testing.assert_array_equal(chosen.bandwidth_, full.bandwidth_[: len(chosen.bandwidth_)])


def test_growth_goes_on_where_only_links_hold_the_clusters():
    X, y = datasets.make_moons(300, random_state=0)
    model = ConstrainedMeanShift().fit(X, links=Links.sample(y, 60, random_state=0))
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert model.n_clusters_ == 2


@pytest.mark.parametrize("n_links", [5, 250])
def test_few_and_many_links_grow_in_full(n_links):
    links = random_links(BLOB_TRUTH, n_links, seed=2)
    chosen = ConstrainedMeanShift().fit(BLOBS, links=links)
    full = ConstrainedMeanShift(growth="full").fit(BLOBS, links=links)
    np.testing.assert_array_equal(chosen.labels_, full.labels_)
    np.testing.assert_array_equal(chosen.bandwidth_, full.bandwidth_)


def test_stops_are_iterations_up_to_the_last():
    bandwidths = grow(*pair_range(BLOBS), 80)
    found = stops(BLOBS, bandwidths)
    assert found == sorted(found)
    assert len(set(found)) > 2
    assert found[-1] == 79
    assert stops(BLOBS, bandwidths[:2]) == [1] * len(found)


def test_links_are_asked_when_there_are_some_but_not_plenty():
    few = Links(must=[(0, 1)], cannot=[(i, i + 50) for i in range(9)])
    assert worth_asking(few, 100)
    assert not worth_asking(few, 20)
    assert not worth_asking(Links(must=few.must, cannot=few.cannot[1:]), 100)
    assert not worth_asking(Links(must=[(i, i + 1) for i in range(40)]), 100)
    assert not worth_asking(Links(cannot=[(i, i + 1) for i in range(2500)]), 10**6)


def test_of_many_rows_those_with_links_and_some_others_are_asked():
    X = np.random.default_rng(0).normal(size=(6000, 2))
    links = Links(must=[(0, 5999)], cannot=[(17, 4321), (0, 17)])
    rows = rows_to_ask(X, links)
    assert len(rows) == 5000
    assert {0, 17, 4321, 5999} <= set(rows.tolist())
    assert len(np.unique(rows)) == 5000
    np.testing.assert_array_equal(rows_to_ask(X[:5000], Links(must=[(0, 1)])), np.arange(5000))


@pytest.mark.slow
def test_growth_stops_in_many_rows_too():
    X, y = make_blobs(6000, 6, centers=12, cluster_std=0.6, center_box=(-4, 4), random_state=0)
    links = random_links(y, 60, seed=1)
    full = ConstrainedMeanShift(growth="full").fit(X, links=links)
    chosen = ConstrainedMeanShift(keep_history=True).fit(X, links=links)
    assert adjusted_rand_score(y, full.labels_) < 0.9
    assert adjusted_rand_score(y, chosen.labels_) > 0.97
    more = random_links(y, 70, seed=1)
    fresh = ConstrainedMeanShift().fit(X, links=more)
    np.testing.assert_array_equal(chosen.refit(links=more).labels_, fresh.labels_)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), extra=st.integers(1, 20))
def test_halves_are_all_links_and_stay_when_others_come(seed, extra):
    links = random_links(BLOB_TRUTH, 40, seed)
    parts = halves(BLOBS, links)
    assert pairs_of(parts[0]) | pairs_of(parts[1]) == pairs_of(links)
    assert not pairs_of(parts[0]) & pairs_of(parts[1])
    more = halves(BLOBS, links + random_links(BLOB_TRUTH, extra, seed + 1))
    for part, larger in zip(parts, more, strict=True):
        assert pairs_of(part) <= pairs_of(larger)


def test_halves_share_links_about_evenly():
    parts = halves(BLOBS, random_links(BLOB_TRUTH, 1000, seed=3))
    assert 400 < len(parts[0]) < 600


def test_halves_keep_confidence():
    links = Links(
        must=[(0, 1), (2, 3), (4, 5)], cannot=[(0, 7), (8, 9)], must_confidence=[0.2, 0.4, 0.9]
    )
    total = sum(part.must_confidence.sum() for part in halves(BLOBS, links))
    assert total == pytest.approx(1.5)


def test_labels_do_not_depend_on_the_order_of_rows():
    links = random_links(BLOB_TRUTH, 60, seed=5)
    order = np.random.default_rng(0).permutation(len(BLOBS))
    here = ConstrainedMeanShift().fit_predict(BLOBS, links=links)
    there = ConstrainedMeanShift().fit_predict(BLOBS[order], links=links.take(order))
    assert adjusted_rand_score(here[order], there) == 1.0


def test_best_stop_is_where_unused_links_agree_and_the_last_of_equals():
    parts = [Links(must=[(0, 1)], cannot=[(0, 2)]), Links(must=[(2, 3)], cannot=[(1, 3)])]
    crumbled, right, swallowed = np.arange(4), np.array([0, 0, 1, 1]), np.zeros(4, dtype=int)
    asked = []

    def labels_at_stops(part):
        asked.append(part)
        return [crumbled, right, right, swallowed]

    assert best_stop(parts, labels_at_stops) == 2
    assert asked == [0, 1]
    # Half of the links each: a draw.
    assert best_stop(parts, lambda _: [crumbled, swallowed]) == 1


def test_a_part_is_judged_by_the_other_part():
    parts = [Links(cannot=[(0, 1)]), Links(cannot=[(2, 3)])]
    # Own links always hold; the other part's only at the first stop.
    own = [np.array([0, 1, 2, 2]), np.array([2, 2, 0, 1])]
    assert best_stop(parts, lambda part: [np.arange(4), own[part]]) == 0


def test_refit_chooses_as_a_fresh_fit_does():
    links = random_links(BLOB_TRUTH, 60, seed=6)
    fewer = Links(must=links.must[1:], cannot=links.cannot[3:])
    model = ConstrainedMeanShift(keep_history=True).fit(BLOBS, links=fewer)
    for given_links in (links, fewer, random_links(BLOB_TRUTH, 250, seed=7), links):
        again = model.refit(links=given_links)
        fresh = ConstrainedMeanShift(keep_history=True).fit(BLOBS, links=given_links)
        np.testing.assert_array_equal(again.labels_, fresh.labels_)
        np.testing.assert_array_equal(again.bandwidth_, fresh.bandwidth_)


def test_growth_needs_a_growing_bandwidth():
    with pytest.raises(ValueError, match="bandwidth=None"):
        ConstrainedMeanShift(growth="full", bandwidth=0.3).fit(
            BLOBS, links=random_links(BLOB_TRUTH, 20, seed=0)
        )


def test_progress_runs_through_all_shifts():
    shares = []
    model = ConstrainedMeanShift(progress=lambda made, total: shares.append(made / total))
    model.fit(BLOBS, links=random_links(BLOB_TRUTH, 40, seed=1))
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert {1 / 3, 2 / 3} <= set(shares)
