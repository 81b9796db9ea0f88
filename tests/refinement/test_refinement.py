"""Refinement by links: every move against its rule, as tests/reference/refinement.py has it."""

import tracemalloc
import warnings
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from tests.helpers import same_partition, some_links
from tests.reference import refinement as twin

from linkshift import Links, modes, refine
from linkshift._core.messages import Advice
from linkshift.links import ClosedLinks
from linkshift.modes import merge_close
from linkshift.refinement import (
    Places,
    absorb_dust,
    hold,
    merge_by_votes,
    nearest_places,
    nearest_rows,
    neighbours_vote,
    refined,
    settle,
)
from linkshift.refinement.refining import neighbours_by_size

seeds = st.integers(0, 2**32 - 1)


def make(seed, n=30, n_labels=4, m=25, confidences=(1.0,), consistent=True, noise=False):
    """Points, labels, links and neighbours."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    labels = np.unique(rng.integers(0, n_labels, size=n), return_inverse=True)[1]
    if noise:
        labels[rng.uniform(size=n) < 0.3] = -1
        labels[labels >= 0] = np.unique(labels[labels >= 0], return_inverse=True)[1]
    classes = rng.integers(0, 3, size=n) if consistent else None
    links = some_links(rng, n, m, classes=classes, confidences=confidences)
    return X, labels, links, nearest_rows(X, int(rng.integers(1, 8)))


def assert_dense(labels):
    assert sorted(set(labels[labels >= 0].tolist())) == list(range(labels.max(initial=-1) + 1))
    assert (labels >= -1).all()


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


# Settling


def sweep_by_sweep(labels, links, neighbours, penalty, most=60):
    """Labels after 0, 1, 2, ... sweeps, until they repeat."""
    states = [np.asarray(labels)]
    for sweeps in range(1, most):
        states.append(settle(labels, links, neighbours, penalty=penalty, max_sweeps=sweeps))
        if np.array_equal(states[-1], states[-2]):
            break
    return states


def units(n, links):
    """Rows of each unit, units in the order of their first rows."""
    unit = twin.units_of(n, links)
    return sorted(np.flatnonzero(unit == u).tolist() for u in set(unit.tolist()))


def as_lists(neighbours):
    """Neighbours of each row with their weights, the nearest or heaviest first."""
    if isinstance(neighbours, Places):
        pairs = zip(neighbours.rows.tolist(), neighbours.taken.tolist(), strict=True)
        return [[(j, w) for j, w in zip(*row, strict=True) if j >= 0] for row in pairs]
    if isinstance(neighbours, np.ndarray):
        return [[(j, 1.0) for j in row.tolist() if j >= 0] for row in neighbours]
    dense = neighbours.toarray()
    return [
        sorted(((j, row[j]) for j in np.flatnonzero(row).tolist()), key=lambda jw: (-jw[1], jw[0]))
        for row in dense
    ]


def cluster_sizes(labels, weight=None):
    weight = weight if weight is None else weight[labels >= 0]
    n = int(labels.max(initial=0)) + 1
    return np.bincount(labels[labels >= 0], weight, minlength=n).tolist()


def literal_settle(labels, links, neighbours, penalty, sweeps):
    """Iterated conditional modes by the energy; labels, and what each move gained its unit.

    Labels are tried in the order in which neighbours, then links name them: of equals the first.
    """
    labels, near = np.array(labels), as_lists(neighbours)
    by_places = isinstance(neighbours, Places)
    by_share = not by_places and not isinstance(neighbours, np.ndarray)
    groups = units(len(labels), links)
    weight = neighbours.weight if by_places else np.ones(len(labels))
    say = weight.copy()
    for rows in groups:
        if not weight[rows].any():
            say[rows] = 1.0
    where = {i: u for u, rows in enumerate(groups) for i in rows}
    home = [next((int(labels[i]) for i in rows if labels[i] >= 0), -1) for rows in groups]
    ends = np.concatenate([links.must, links.cannot])
    ends = np.concatenate([ends, ends[:, ::-1]]).tolist()
    pulls = np.concatenate([links.must, links.must[:, ::-1]]).tolist()
    nobody = [[] for _ in labels]
    gains = []
    for _ in range(sweeps):
        before, sizes = labels.copy(), cluster_sizes(labels, weight if by_places else None)
        for u, rows in enumerate(groups):
            partners = [j for i, j in ends if where[i] == u != where[j]]
            drawn = [j for i, j in pulls if where[i] == u != where[j]]
            if home[u] < 0 and not drawn and len(rows) == 1:
                continue  # noise without a must-link stays noise
            # Links see the labels of units, also of those that have not been visited yet.
            seen = np.array([home[where[i]] for i in range(len(labels))])
            around = twin.heard(near, sizes, home[u], labels, by_places)
            named = [int(labels[j]) for i in rows for j, _ in around[i]] + seen[partners].tolist()
            tried = [c for c in dict.fromkeys([home[u], *named]) if c >= 0]
            cost = {
                c: twin.energy(labels, rows, c, Links(), around, penalty, by_share, say)
                + twin.energy(seen, rows, c, links, nobody, penalty)
                for c in tried
            }
            best = tried[0] if tried else -1
            for c in tried:
                best = c if cost[c] < cost[best] - 1e-10 else best
            if home[u] >= 0 and best != home[u]:
                gains.append(cost[home[u]] - cost[best])
            home[u] = best
            labels[rows] = best
        if np.array_equal(labels, before):
            break
    return labels, gains


def some_graph(seed, n):
    """A symmetric graph of a few weights a row, some rows without any."""
    rng = np.random.default_rng(seed)
    weight = np.triu(rng.uniform(0.1, 1.0, (n, n)) * (rng.uniform(size=(n, n)) < 0.2), 1)
    return csr_array(weight + weight.T)


@settings(max_examples=40, deadline=None)
@given(
    seeds,
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0.0, 0.7, 4.0, 20.0]),
    st.sampled_from(["rows", "graph", "places"]),
)
def test_settling_is_iterated_conditional_modes(seed, soft, consistent, noise, penalty, kind):
    confidences = (1.0, 0.4, 0.8) if soft else (1.0,)
    X, labels, links, neighbours = make(
        seed, n=18, m=15, confidences=confidences, consistent=consistent, noise=noise
    )
    if kind == "graph":
        neighbours = some_graph(seed, 18)
    elif kind == "places":
        weight = np.random.default_rng(seed).choice([0.0, 0.3, 1.0, 2.5, 4.0], size=18)
        weight[0] = 1.5
        neighbours = nearest_places(X, 5, weight)
    for sweeps in (1, 3):
        expected, gains = literal_settle(labels, links, neighbours, penalty, sweeps)
        ours = settle(labels, links, neighbours, penalty=penalty, max_sweeps=sweeps)
        assert same_partition(ours, expected)
        np.testing.assert_array_equal(ours == -1, expected == -1)
        assert all(gain > 0 for gain in gains)  # no move costs its unit anything


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_weights_of_an_array_are_those_of_the_graph(seed):
    X, labels, links, _ = make(seed, n=30)
    neighbours = nearest_rows(X, 4)
    weights = np.random.default_rng(seed).uniform(0.5, 1.0, neighbours.shape)
    weights = -np.sort(-weights, axis=1)
    row, column = np.nonzero(neighbours >= 0)
    graph = csr_array((weights[row, column], (row, neighbours[row, column])), shape=(30, 30))
    ours = settle(labels, links, neighbours, weights=weights)
    np.testing.assert_array_equal(ours, settle(labels, links, graph))


def test_clusters_of_two_rows_are_not_outvoted():
    # 250 pairs in a row, a little nearer to each other than to the next: every link is kept, and
    # nothing has to change, though of twenty neighbours nineteen are strangers.
    labels = np.repeat(np.arange(250), 2)
    X = (2.0 * labels + np.tile([0.0, 0.8], 250))[:, None]
    links = Links(must=[(4, 5), (100, 101)], cannot=[(1, 2), (31, 77), (5, 490)])
    np.testing.assert_array_equal(refine(X, labels, links), labels)


def test_rows_by_themselves_stay_so_among_small_clusters():
    # People with one record, between others with two: no link asks for a merger.
    labels = np.repeat(np.arange(200), np.tile([2, 1], 100))
    X = (2.0 * labels + np.tile([0.0, 0.8, 0.4], 100))[:, None]
    links = Links(must=[(3, 4), (90, 91)], cannot=[(1, 2), (31, 77), (5, 290)])
    np.testing.assert_array_equal(refine(X, labels, links), labels)


def test_a_row_by_itself_goes_with_a_large_cluster():
    X = np.r_[np.linspace(0, 1, 20), 1.1, np.linspace(50, 51, 20)][:, None]
    labels = np.repeat([0, 1, 2], [20, 1, 20])
    found = refine(X, labels, Links(cannot=[(0, 40)]))
    np.testing.assert_array_equal(found, np.repeat([0, 1], [21, 20]))


def test_a_cluster_in_pieces_is_not_outvoted_where_neighbours_go_by_size():
    piece, rest = np.linspace(0, 0.1, 6), np.linspace(-10, -9, 15)
    other = np.linspace(0.21, 0.24, 21)
    far = [100.0 * c + other for c in range(1, 20)]
    X = np.concatenate([piece, rest, other, *far])[:, None]
    labels = np.repeat(range(21), 21)
    closed = ClosedLinks(Links(must=[(0, 10)]), 441)
    assert neighbours_by_size(labels) == 7
    np.testing.assert_array_equal(refined(X, labels, closed, n_neighbors=None), labels)
    assert not same_partition(refined(X, labels, closed), labels)


@pytest.mark.parametrize(
    ("sizes", "k"), [([], 5), ([3, 3], 5), ([30, 30, 1, 1], 10), ([100] + [1] * 90, 20)]
)
def test_neighbours_by_size(sizes, k):
    noise = [-1]  # noise is no cluster
    assert neighbours_by_size(np.array([*noise, *np.repeat(range(len(sizes)), sizes)], int)) == k


def test_records_that_a_link_parts_do_not_go_to_strangers():
    labels = np.repeat(np.arange(100), 2)
    X = (2.0 * labels + np.tile([0.0, 0.8], 100))[:, None]
    found = refine(X, labels, Links(cannot=[(80, 81)]))
    assert np.bincount(found).max() == 2
    assert found.max() == 100
    assert np.count_nonzero(found == found[80]) == np.count_nonzero(found == found[81]) == 1


def test_a_new_row_goes_with_a_small_cluster_that_is_nearest():
    trained = np.array([[0.0], [0.1], [1.0], [1.1], [1.2], [1.3], [1.4], [1.5], [1.6]])
    labels = np.repeat([0, 1], [2, 7])
    np.testing.assert_array_equal(neighbours_vote(np.array([[0.2]]), trained, labels, 10), [0])


def excess(labels, links, neighbours, penalty, *, everywhere):
    """How much the worst placed unit would gain by another label."""
    worst = 0.0
    present = sorted(set(labels[labels >= 0].tolist()))
    near, sizes = as_lists(neighbours), cluster_sizes(labels)
    for rows in units(len(labels), links):
        if labels[rows[0]] < 0:
            continue
        around = twin.heard(near, sizes, labels[rows[0]], labels)
        named = {int(labels[j]) for i in rows for j, _ in around[i]}
        for i, j in [*links.must.tolist(), *links.cannot.tolist()]:
            named |= {int(labels[i]), int(labels[j])} if {i, j} & set(rows) else set()
        here = twin.energy(labels, rows, labels[rows[0]], links, around, penalty)
        for c in present if everywhere else sorted(named - {-1}):
            there = twin.energy(labels, rows, c, links, around, penalty)
            worst = max(worst, here - there)
    return worst


@settings(max_examples=30, deadline=None)
@given(seeds, st.booleans(), st.booleans(), st.booleans(), st.sampled_from([0.0, 0.5, 2.0, 10.0]))
def test_where_settling_ends_no_unit_would_rather_move(seed, soft, consistent, noise, penalty):
    confidences = (1.0, 0.4, 0.8) if soft else (1.0,)
    _, labels, links, neighbours = make(
        seed, confidences=confidences, consistent=consistent, noise=noise
    )
    states = sweep_by_sweep(labels, links, neighbours, penalty)
    assume(np.array_equal(states[-1], states[-2]))
    assert excess(states[-1], links, neighbours, penalty, everywhere=False) < 1e-9


def test_settling_by_hand():
    labels = np.array([0, 0, 1, 1, 1])
    neighbours = np.array([[1, 2], [0, 2], [3, 4], [2, 4], [2, 3]])
    np.testing.assert_array_equal(settle(labels, Links(), neighbours), labels)
    # Row 2 must join row 0: the unit {0, 2} has neighbours 1 (0) and 2, 3, 4 (1).
    joined = settle(labels, Links(must=[(0, 2)]), neighbours, max_sweeps=1)
    assert joined[0] == joined[2]
    # Row 0 hears one neighbour, log(1 / 0.1) = 2.3 against 2 * 0.9; row 2 two, 3.0.
    steady = np.array([[1, 1], [0, 0], [3, 4], [2, 4], [2, 3]])
    doubtful = Links(must=[(0, 2)], must_confidence=0.9)
    np.testing.assert_array_equal(settle(labels, doubtful, steady, penalty=2.0), labels)
    # At a penalty of 4 the first to be asked, row 0, gives in (3.6), and then row 1 follows it.
    np.testing.assert_array_equal(settle(labels, doubtful, steady), [0] * 5)


@settings(max_examples=60, deadline=None)
@given(seeds, st.booleans(), st.integers(0, 3), st.sampled_from([0.0, 2.0, 50.0]))
def test_certain_must_links_always_hold(seed, noise, max_sweeps, penalty):
    _, labels, links, neighbours = make(seed, noise=noise)
    assume(not links.conflicts())
    settled = settle(labels, links, neighbours, penalty=penalty, max_sweeps=max_sweeps + 1)
    for i, j in links.must:
        assert settled[i] == settled[j]


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(1, 120))
def test_contradictory_links_settle_too(seed, m):
    X, labels, links, neighbours = make(seed, m=m, consistent=False)
    settled = settle(merge_by_votes(labels, links), links, neighbours)
    assert_dense(settled)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        refined = refine(X, labels, links)
    assert_dense(refined)
    broken = twin.broken(refined, links)
    assert [str(w.message).split()[0] for w in told] == [f"{broken:.0f}"] * bool(broken)


def test_what_does_not_contradict_holds_beside_what_does():
    X = np.arange(8.0)[:, None]
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    links = Links(must=[(0, 1), (1, 2), (0, 7)], cannot=[(0, 2), (5, 6)], n_samples=8)
    with pytest.warns(Advice, match="of confidence one stay"):
        refined = refine(X, labels, links)
    assert refined[5] != refined[6]
    apart = Links(must=[(0, 1), (1, 2), (3, 7)], cannot=[(0, 2), (5, 6)], n_samples=8)
    with pytest.warns(Advice, match="1 link of confidence one stays broken"):
        refined = refine(X, labels, apart)
    assert refined[5] != refined[6]
    assert refined[3] == refined[7]
    refine(X, labels, apart, enforce=False)  # asked to weigh only: no word


@settings(max_examples=60, deadline=None)
@given(seeds, st.booleans(), st.booleans(), st.sampled_from([0.0, 4.0]))
def test_certain_links_hold_after_refine(seed, noise, soft, penalty):
    X, labels, links, _ = make(seed, noise=noise, confidences=(1.0, 0.5) if soft else (1.0,))
    certain = links.where(links.must_confidence == 1, links.cannot_confidence == 1)
    assume(not certain.conflicts())
    assert twin.broken(refine(X, labels, links, penalty=penalty), certain) == 0


def test_a_contradiction_unbinds_all_units():
    # With the contradiction 3 - 4 elsewhere, must-link (0, 2) is one pair among others.
    labels = np.array([0, 0, 1, 1, 1])
    neighbours = np.array([[1, 1], [0, 0], [3, 4], [2, 4], [2, 3]])
    torn = Links(must=[(0, 2), (3, 4)], cannot=[(3, 4)])
    np.testing.assert_array_equal(settle(labels, torn, neighbours, penalty=2.0), labels)
    bound = settle(labels, Links(must=[(0, 2)]), neighbours)
    assert bound[0] == bound[2]


def test_noise_stays_noise_unless_linked():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    labels = (X[:, 0] > 0).astype(int)
    labels[:6] = -1
    links = Links(must=[(0, 10)], cannot=[(1, 20)])
    settled = refine(X, labels, links)
    assert (settled[2:6] == -1).all()
    assert settled[0] == settled[10] >= 0
    assert settled[1] == -1  # a cannot-link alone draws it nowhere
    assert (settled[6:] >= 0).all()


def test_refining_nothing_but_noise():
    X = np.arange(4.0)[:, None]
    out = refine(X, np.full(4, -1), Links(must=[(0, 1)], cannot=[(1, 2)]))
    assert out.shape == (4,)


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
