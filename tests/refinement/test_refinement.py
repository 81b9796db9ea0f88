"""Refinement by links: every move against its rule, as tests/reference/refinement.py has it."""

import tracemalloc
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers import same_partition, some_links
from tests.reference import refinement as twin
from tests.refinement.cases import assert_dense, make, seeds

from linkshift import Links, modes, refine
from linkshift.modes import merge_close
from linkshift.refinement import absorb_dust, hold, merge_by_votes, nearest_rows, settle

# Votes


@settings(max_examples=80, deadline=None)
@given(seeds, st.integers(2, 30), st.integers(1, 8), st.integers(0, 60), st.booleans())
def test_merging_by_votes_is_the_literal_loop(seed, n, n_labels, m, noise):
    # Confidences with no equal sums: ties would leave the order open.
    rng = np.random.default_rng(seed)
    labels = rng.integers(-1 if noise else 0, n_labels, size=n)
    labels[0] = max(labels[0], 0)  # nothing but noise: test_refining_nothing_but_noise
    links = some_links(rng, n, m)
    links = Links(
        links.must,
        links.cannot,
        must_confidence=rng.uniform(0.1, 1.0, size=len(links.must)),
        cannot_confidence=rng.uniform(0.1, 1.0, size=len(links.cannot)),
    )
    ours, expected = merge_by_votes(labels, links), twin.merge_by_votes(labels, links)
    assert same_partition(ours, expected)
    assert_dense(ours)
    np.testing.assert_array_equal(ours == -1, labels == -1)


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(0, 60))
def test_after_the_votes_no_two_clusters_want_to_merge(seed, m):
    _, labels, links, _ = make(seed, m=m, n_labels=8, consistent=False)
    ours = merge_by_votes(labels, links)
    for a in range(ours.max() + 1):
        for b in range(a + 1, ours.max() + 1):
            assert twin.evidence(ours, links, a, b) <= 1e-9


@settings(max_examples=80, deadline=None)
@given(seeds, st.integers(0, 80), st.booleans(), st.booleans())
def test_mergers_never_break_more_than_they_mend(seed, m, soft, noise):
    _, labels, links, _ = make(
        seed,
        m=m,
        n_labels=8,
        consistent=False,
        noise=noise,
        confidences=(1.0, 0.3, 0.7) if soft else (1.0,),
    )
    before, after = (twin.broken(x, links) for x in (labels, merge_by_votes(labels, links)))
    assert after <= before + 1e-9


def test_votes_by_hand():
    labels = np.array([0, 0, 1, 1, 2, 2])
    # One must-link between clusters that have none inside: 1.9 to a prior of 1.
    np.testing.assert_array_equal(merge_by_votes(labels, Links(must=[(0, 2)])), [0, 0, 0, 0, 1, 1])
    # Two to one: 3.8 - 1.9 - 1.
    two_to_one = Links(must=[(0, 2), (1, 3)], cannot=[(0, 3), (2, 4)])
    np.testing.assert_array_equal(merge_by_votes(labels, two_to_one), [0, 0, 0, 0, 1, 1])
    drawn = Links(must=[(0, 2)], cannot=[(0, 3)])
    np.testing.assert_array_equal(merge_by_votes(labels, drawn), labels)
    # The clearest first: 1 and 2 (two links) join, and then keep 0 away.
    order = Links(must=[(0, 2), (2, 4), (3, 5)], cannot=[(0, 4), (1, 5)])
    np.testing.assert_array_equal(merge_by_votes(labels, order), [0, 0, 1, 1, 1, 1])
    # A sure answer outweighs two doubtful ones.
    doubtful = Links(
        must=[(0, 2), (1, 3)], cannot=[(0, 3)], must_confidence=0.4, cannot_confidence=1.0
    )
    np.testing.assert_array_equal(merge_by_votes(labels, doubtful), labels)


def test_must_links_inside_say_how_many_to_expect_between():
    # Nine inside each: parts of one cluster would have 18 between them, 12 at least.
    labels = np.repeat([0, 1], 10)
    inside = [(a, a + 1) for a in range(9)] + [(a, a + 1) for a in range(10, 19)]
    for between, merged in ((5, False), (6, True)):
        links = Links(must=inside + [(a, a + 10) for a in range(between)])
        assert (len(set(merge_by_votes(labels, links).tolist())) == 1) == merged


def test_one_cannot_link_more_does_not_join_everything():
    # Two clusters with many must-links inside and a few wrong ones between: with and without a
    # cannot-link elsewhere, they stay two.
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 40)
    must = [(a, a + 1) for a in range(39)] + [(a, a + 1) for a in range(40, 79)]
    must += [(int(a), int(a) + 40) for a in rng.choice(40, 5, replace=False)]
    for cannot in ([], [(0, 100)]):
        merged = merge_by_votes(labels, Links(must=must, cannot=cannot))
        np.testing.assert_array_equal(merged, labels)


def test_many_clusters_are_quick():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(10_000), 2)
    truth = labels // 100
    links = Links.sample(truth, 50_000, random_state=rng)
    merged = merge_by_votes(labels, links)
    assert len(set(merged.tolist())) < 10_000
    assert twin.broken(merged, links) < twin.broken(labels, links)


# Holding


@settings(max_examples=50, deadline=None)
@given(seeds, st.integers(2, 40), st.integers(0, 120), st.integers(1, 6), st.booleans())
def test_hold_makes_every_closed_link_hold(seed, n, m, n_classes, adverse):
    rng = np.random.default_rng(seed)
    X, truth = rng.normal(size=(n, 2)), rng.integers(0, n_classes, size=n)
    labels = np.zeros(n, dtype=int) if adverse else rng.integers(0, 5, size=n)
    links = some_links(rng, n, m, classes=truth)
    closure = links.closure(n)
    held = hold(labels, closure, nearest_rows(X, 5))
    assert twin.held_by(closure.must_pairs(), closure.cannot_pairs(), held)
    assert_dense(held)
    free = np.ones(n, dtype=bool)
    free[np.concatenate([links.must, links.cannot]).ravel()] = False
    assert same_partition(held[free], labels[free])


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_hold_leaves_alone_what_holds_already(seed):
    rng = np.random.default_rng(seed)
    X, truth = rng.normal(size=(30, 2)), rng.integers(0, 4, size=30)
    links = some_links(rng, 30, 40, classes=truth)
    assert same_partition(hold(truth, links.closure(30), nearest_rows(X, 5)), truth)


def test_hold_by_hand():
    # Row 2 quarrels with both 0 and 1 and moves, to the cluster of its neighbour.
    labels = np.array([0, 0, 0, 1, 1])
    neighbours = np.array([[1], [0], [3], [4], [3]])
    held = hold(labels, Links(cannot=[(0, 2), (1, 2)]).closure(5), neighbours)
    np.testing.assert_array_equal(held, [0, 0, 1, 1, 1])
    # When that is taken too, to a new one.
    held = hold(labels, Links(cannot=[(0, 2), (1, 2), (2, 3)]).closure(5), neighbours)
    np.testing.assert_array_equal(held, [0, 0, 2, 1, 1])
    # A component takes the label of most of its rows.
    held = hold(labels, Links(must=[(0, 3), (3, 4)]).closure(5), neighbours)
    np.testing.assert_array_equal(held, [1, 0, 0, 1, 1])


def test_hold_does_not_write_to_its_input():
    labels = np.array([0, 0])
    hold(labels, Links(cannot=[(0, 1)]).closure(2), np.array([[1], [0]]))
    np.testing.assert_array_equal(labels, [0, 0])


def test_hold_joins_noise():
    held = hold(np.array([-1, -1, 0]), Links(must=[(0, 1)]).closure(3), np.array([[1], [0], [0]]))
    assert held[0] == held[1] >= 0


# Dust


def test_dust_by_hand():
    labels = np.array([0, 0, 0, 1, 2, 2, 2, 3])
    neighbours = np.array([[1, 2], [0, 2], [0, 1], [0, 1], [5, 6], [4, 6], [4, 5], [3, 4]])
    np.testing.assert_array_equal(absorb_dust(labels, neighbours, 1), labels)
    np.testing.assert_array_equal(absorb_dust(labels, neighbours, 2), [0, 0, 0, 0, 1, 1, 1, 1])
    # Everything is dust: nothing to join.
    np.testing.assert_array_equal(absorb_dust(labels, neighbours, 4), labels)


def test_dust_beside_dust_waits_a_round():
    labels = np.array([0, 0, 0, 1, 2])
    neighbours = np.array([[1], [2], [0], [0], [3]])
    np.testing.assert_array_equal(absorb_dust(labels, neighbours, 2), [0, 0, 0, 0, 0])
    stranded = np.array([[1], [2], [0], [4], [3]])
    np.testing.assert_array_equal(absorb_dust(labels, stranded, 2), labels)


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(1, 6), st.booleans())
def test_dust_joins_and_the_rest_stays(seed, min_size, noise):
    rng = np.random.default_rng(seed)
    labels = rng.geometric(0.15, size=40) - 1
    if noise:
        labels[:5] = -1
    X = rng.normal(size=(40, 2))
    out = absorb_dust(labels, nearest_rows(X, 5), min_size)
    sizes = np.bincount(labels[labels >= 0])
    large = (labels >= 0) & (sizes[labels] >= min_size)
    assert same_partition(out[large], labels[large])
    np.testing.assert_array_equal(out == -1, labels == -1)
    assert_dense(out)
    if large.any() and not noise:
        assert np.bincount(out).min() >= min_size or len(set(out)) < len(set(labels))


def test_dust_of_nothing_but_noise():
    labels = np.full(3, -1)
    np.testing.assert_array_equal(absorb_dust(labels, np.array([[1], [2], [0]]), 2), labels)


# Neighbours


@pytest.mark.parametrize(("n", "asked", "k"), [(1, 20, 0), (2, 20, 1), (9, 20, 3), (10, 20, 4)])
def test_neighbours_are_limited_by_the_square_root(n, asked, k):
    X = np.random.default_rng(0).normal(size=(n, 2))
    assert nearest_rows(X, asked).shape == (n, k)


def test_neighbours_by_brute_force():
    X = np.random.default_rng(0).normal(size=(500, 3))
    far = np.linalg.norm(X[:, None] - X, axis=2)
    np.fill_diagonal(far, np.inf)
    order = np.argsort(far, axis=1)[:, :20]
    distance = np.take_along_axis(far, order, axis=1)
    strangers = distance > 8.0 * distance[:, 1:2]
    assert strangers.any()
    np.testing.assert_array_equal(nearest_rows(X, 20), np.where(strangers, -1, order))
    assert nearest_rows(X, 30).shape == (500, 23)


# All together


@settings(max_examples=30, deadline=None)
@given(seeds, st.booleans())
def test_without_links_the_partition_stays(seed, noise):
    X, labels, _, _ = make(seed, noise=noise)
    out = refine(X, 3 * labels + 2 * (labels < 0), Links())
    np.testing.assert_array_equal(out, labels)


def test_refining_two_blobs_cut_in_four():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 2)) + 8.0 * truth[:, None]
    cut = 2 * truth + (X[:, 1] > 8 * truth)
    assert len(set(cut)) == 4
    links = Links.sample(truth, 60, random_state=0)
    assert same_partition(refine(X, cut, links), truth)


def test_refine_is_votes_then_settling_then_holding():
    X, labels, links, _ = make(5, n=50)
    neighbours = nearest_rows(X, 4)
    expected = settle(merge_by_votes(labels, links), links, neighbours, penalty=1.5, max_sweeps=2)
    options = {"n_neighbors": 4, "penalty": 1.5, "max_sweeps": 2}
    weighed = refine(X, labels, links, **options, enforce=False)
    np.testing.assert_array_equal(weighed, expected)
    held = refine(X, labels, links, **options)
    np.testing.assert_array_equal(held, hold(expected, links.closure(50), neighbours))
    assert (held != expected).any()


def test_every_parameter_of_refine_has_an_effect():
    X, labels, links, _ = make(2, n=200, m=150)
    plain = refine(X, labels, links)
    for change in (
        {"n_neighbors": 2},
        {"penalty": 0.01},
        {"max_sweeps": 1},
        {"enforce": False},
        {"n_clusters": 3},
        {"max_clusters": 3},
    ):
        assert not same_partition(refine(X, labels, links, **change), plain)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"penalty": -0.1}, "penalty"),
        ({"n_clusters": 0}, "n_clusters"),
        ({"max_clusters": 0}, "max_clusters"),
        ({"n_clusters": 2, "max_clusters": 2}, "one of them"),
        ({"n_clusters": 3}, "at most 2"),
        ({"labels": [0, 1]}, "inconsistent"),
        ({"links": Links(must=[(0, 9)])}, "9"),
        ({"links": Links(n_samples=7)}, "7 samples"),
        ({"X": [[np.nan], [1.0], [2.0]]}, "NaN"),
        ({"links": Links(must=[("a", "b")])}, "resolve"),
        ({"labels": [[0, 0], [0, 1], [1, 1]]}, "labels"),
    ],
    ids=str,
)
def test_refine_errors(change, match):
    arguments = {"X": [[0.0], [1.0], [2.0]], "labels": [0, 0, 1], "links": Links(must=[(0, 2)])}
    refine(**arguments)
    with pytest.raises(ValueError, match=match):
        refine(**arguments | change)


def test_links_of_another_kind():
    X = [[0.0], [1.0], [2.0]]
    as_dict = refine(X, [0, 0, 1], {"must": [(0, 2)]})
    np.testing.assert_array_equal(as_dict, refine(X, [0, 0, 1], Links(must=[(0, 2)])))
    with pytest.raises(TypeError, match="links must be"):
        refine(X, [0, 0, 1], [(0, 2)])


# Closeness with links between (linkshift.modes.merge_close)


@settings(max_examples=80, deadline=None)
@given(seeds, st.integers(1, 30), st.integers(1, 3), st.integers(0, 20), st.floats(0.01, 3.0))
def test_merging_close_centres_by_brute_force(seed, n, d, m, radius):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n, d))
    apart = rng.integers(0, n, size=(m, 2))
    assert same_partition(merge_close(centres, radius), twin.merge_close(centres, radius))
    ours = merge_close(centres, radius, apart)
    assert same_partition(ours, twin.merge_close(centres, radius, apart.tolist()))
    assert_dense(ours)
    for a, b in apart:
        assert a == b or ours[a] != ours[b]


@settings(max_examples=80, deadline=None)
@given(seeds, st.integers(2, 60), st.integers(1, 3), st.integers(0, 20), st.integers(1, 40))
def test_very_many_close_centres_by_one_radius_after_the_other(seed, n, d, m, most):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n, d))
    apart = rng.integers(0, n, size=(m, 2))
    radius = float(rng.uniform(0.01, 3.0))
    steps = rng.uniform(size=(n, n)) < 0.7
    given = {"apart": apart, "families": [{i % 9} if i % 3 else set() for i in range(n)]}
    wanted = merge_close(centres, radius, **given, steps=steps)
    with mock.patch.multiple(modes, _CLOSE_PAIRS=most, _SAMPLE=7, _AT_A_TIME=5):
        ours = merge_close(centres, radius, apart)
        again = merge_close(centres, radius, **given, steps=steps)
    assert same_partition(ours, twin.merge_close(centres, radius, apart.tolist()))
    np.testing.assert_array_equal(again, wanted)


def test_close_centres_in_many_pairs():
    """Pairs of 4,000 centres on two spots, 4 million on each, are not kept."""
    spots = np.repeat([[0.0, 0.0], [9.0, 9.0]], 2_000, axis=0)
    centres = spots + np.random.default_rng(0).normal(scale=0.1, size=(4_000, 2))
    with mock.patch.object(modes, "_CLOSE_PAIRS", 1 << 14):
        tracemalloc.start()
        found = merge_close(centres, 1.0, np.array([(0, 2_000)]))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        np.testing.assert_array_equal(found, np.repeat([0, 1], 2_000))
        assert peak < 60e6  # of 4 million pairs, 64 bytes each would be four times as much


def test_the_shortest_step_first():
    centres = np.array([[0.0], [1.0], [1.9]])
    np.testing.assert_array_equal(merge_close(centres, 1.5), [0, 0, 0])
    np.testing.assert_array_equal(merge_close(centres, 1.5, np.array([(0, 2)])), [0, 1, 1])
    np.testing.assert_array_equal(merge_close(centres, 0.5), [0, 1, 2])


# Small clusters and noise


@pytest.mark.parametrize("small", [3, 6, 10])
def test_a_small_cluster_by_itself_is_not_outvoted(small):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 0.02, (small, 2)), rng.normal(1, 0.02, (300, 2))])
    labels = np.repeat([0, 1], [small, 300])
    refined = refine(X, labels, Links(must=[(100, 101)]))
    np.testing.assert_array_equal(refined, labels)


def test_noise_is_not_drawn_to_what_it_is_cannot_linked_to():
    X = np.arange(10.0)[:, None]
    labels = np.array([-1] + [0] * 9)
    np.testing.assert_array_equal(refine(X, labels, Links(cannot=[(0, 1)])), labels)
