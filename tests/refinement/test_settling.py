"""Rows that settle by neighbours and links, against tests/reference/refinement.py."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from tests.helpers import same_partition
from tests.reference import refinement as twin
from tests.refinement.cases import assert_dense, make, seeds

from linkshift import Links, refine
from linkshift._core.messages import Advice
from linkshift.links import ClosedLinks
from linkshift.refinement import (
    Places,
    merge_by_votes,
    nearest_places,
    nearest_rows,
    neighbours_vote,
    refined,
    settle,
)
from linkshift.refinement.refining import neighbours_by_size

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
