"""ClosedLinks: what links imply, beside the plainest ways to say it."""

from collections import deque
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkshift import ConflictError, Links
from linkshift.links import ClosedLinks, signed_edges


@st.composite
def problems(draw, consistent=False):
    """Links between a few rows, certain and not; consistent ones come from classes."""
    n = draw(st.integers(2, 9))
    pairs = list(combinations(range(n), 2))
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=10))
    sure = draw(
        st.lists(st.sampled_from([1.0, 0.9, 0.5]), min_size=len(chosen), max_size=len(chosen))
    )
    if consistent:
        classes = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
        kinds = [classes[a] == classes[b] for a, b in chosen]
    else:
        kinds = draw(st.lists(st.booleans(), min_size=len(chosen), max_size=len(chosen)))
    return n, [(a, b, must, c) for (a, b), must, c in zip(chosen, kinds, sure, strict=True)]


def closed(n, entries):
    must = [(a, b) for a, b, is_must, _ in entries if is_must]
    cannot = [(a, b) for a, b, is_must, _ in entries if not is_must]
    links = Links(
        must,
        cannot,
        must_confidence=[c for *_, is_must, c in entries if is_must],
        cannot_confidence=[c for *_, is_must, c in entries if not is_must],
    )
    return ClosedLinks(links, n)


def reached(n, entries, start, certain=True):
    """Rows on chains of must-links from a row, with the length of the shortest."""
    length, waiting = {start: 1}, deque([start])
    while waiting:
        at = waiting.popleft()
        for a, b, must, c in entries:
            if must and (c == 1.0 or not certain) and at in (a, b):
                other = b if at == a else a
                if other not in length:
                    length[other] = length[at] + 1
                    waiting.append(other)
    return length


def contradicts(n, entries, certain=True):
    return any(
        b in reached(n, entries, a, certain)
        for a, b, must, c in entries
        if not must and (c == 1.0 or not certain)
    )


@settings(max_examples=200, deadline=None)
@given(problems())
def test_components_are_what_certain_chains_connect(problem):
    n, entries = problem
    found = closed(n, entries)
    assert found.contradictory == contradicts(n, entries)
    for row in range(n):
        together = set(np.flatnonzero(found.component == found.component[row]).tolist())
        assert together == ({row} if found.contradictory else set(reached(n, entries, row)))
    assert found.all_certain == all(c == 1.0 for *_, c in entries)
    for closure, certain in (("closure", True), ("whole", False)):
        if contradicts(n, entries, certain):
            with pytest.raises(ConflictError):
                getattr(found, closure)
        else:
            component = getattr(found, closure).component
            for row in range(n):
                together = set(np.flatnonzero(component == component[row]).tolist())
                assert together == set(reached(n, entries, row, certain))


@settings(max_examples=200, deadline=None)
@given(problems())
def test_chains_are_the_shortest(problem):
    n, entries = problem
    found = closed(n, entries)
    certain = {(a, b) for a, b, must, c in entries if must and c == 1.0}
    for row in range(n):
        chains = found.chains(row)
        expected = {row: 1} if found.contradictory else reached(n, entries, row)
        assert chains.length == expected
        for other, length in expected.items():
            chain = chains.to(other)
            assert (chain[0], chain[-1], len(chain)) == (row, other, length)
            assert all((min(step), max(step)) in certain for step in pairwise(chain))


@settings(max_examples=200, deadline=None)
@given(problems())
def test_units_carry_every_link_that_is_not_inside_one(problem):
    n, entries = problem
    found = closed(n, entries)
    units, component = found.units, found.component
    np.testing.assert_array_equal(units.of_row, component)
    expected = []
    for a, b, must, c in entries:
        loose = not must or c < 1.0 or found.contradictory
        if loose and component[a] != component[b]:
            expected.append((component[a], component[b], c if must else -c))
            expected.append((component[b], component[a], c if must else -c))
    edges = units.edges
    seen = [
        (u, int(edges.other[e]), float(edges.weight[e]))
        for u in range(len(edges.start) - 1)
        for e in range(edges.start[u], edges.start[u + 1])
    ]
    assert sorted(seen) == sorted(expected)
    for u in range(len(units.start) - 1):
        rows = units.member[units.start[u] : units.start[u + 1]]
        np.testing.assert_array_equal(rows, np.flatnonzero(component == u))


@settings(max_examples=200, deadline=None)
@given(problems(consistent=True))
def test_an_implied_link_is_as_sure_as_the_weakest_behind_it(problem):
    n, entries = problem
    found = closed(n, entries)
    component = found.whole.component
    given_links = {(a, b): c for a, b, _, c in entries}
    least = {int(k): 1.0 for k in component}
    for a, _, must, c in entries:
        if must:
            least[int(component[a])] = min(least[int(component[a])], c)
    for a, b in combinations(range(n), 2):
        one, other = int(component[a]), int(component[b])
        apart = [
            min(c, least[one], least[other])
            for x, y, must, c in entries
            if not must and {int(component[x]), int(component[y])} == {one, other}
        ]
        if one == other or apart:
            expected = given_links.get((a, b), least[one] if one == other else max(apart or [0]))
            assert found.confidence.of(np.array([[b, a]])) == [expected]


@settings(max_examples=100, deadline=None)
@given(problems(consistent=True))
def test_implied_links_are_all_pairs_of_the_closure(problem):
    n, entries = problem
    found = closed(n, entries)
    groups = {c: found.whole.members(c) for c in range(found.whole.n_components)}
    everything = found.with_implied(groups)
    assert set(map(tuple, everything.must.tolist())) == set(
        map(tuple, found.whole.must_pairs().tolist())
    )
    assert set(map(tuple, everything.cannot.tolist())) == set(
        map(tuple, found.whole.cannot_pairs().tolist())
    )
    # Those that were given come first, as they were.
    np.testing.assert_array_equal(everything.must[: len(found.links.must)], found.links.must)


def test_edges_stand_at_both_ends_and_a_loop_once():
    pairs, weight = np.array([[0, 2], [1, 1]]), np.array([0.5, -1.0])
    edges = signed_edges(pairs, weight, 4)
    assert edges.other.tolist() == [2, 1, 0]
    assert edges.weight.tolist() == [0.5, -1.0, 0.5]
    assert edges.start.tolist() == [0, 1, 2, 3, 3]


def test_coerce_keeps_what_is_closed_and_looks_at_the_rows():
    found = ClosedLinks.coerce({"must": [(0, 1)]}, 3)
    assert ClosedLinks.coerce(found, 3) is found
    assert len(ClosedLinks.coerce(None, 3)) == 0
    with pytest.raises(ValueError, match="closed for 3 samples, but the data have 4"):
        ClosedLinks.coerce(found, 4)
    with pytest.raises(ValueError, match="out of range"):
        ClosedLinks.coerce({"must": [(0, 9)]}, 3)


def test_where_needs_a_mask_for_each_link():
    links = Links(must=[(0, 1), (1, 2)], cannot=[(0, 3)], n_samples=5)
    kept = links.where([False, True], [False])
    assert (kept.must.tolist(), len(kept.cannot), kept.n_samples) == ([[1, 2]], 0, 5)
    with pytest.raises(ValueError, match="each of the 2 must-links"):
        links.where([True], [True])
