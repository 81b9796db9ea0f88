"""Redundant links: exactly those of the definition; without them nothing is lost."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import links_redundant as reference
from tests.reference.links_closure import cannot_closure, contradicting, must_closure

from linkshift.links import ImpliedLink, Links

N = 7
PAIR = st.tuples(st.integers(0, N - 1), st.integers(0, N - 1)).filter(lambda p: p[0] < p[1])
LEVEL = st.sampled_from([0.25, 0.5, 1.0])
EQUAL = st.dictionaries(PAIR, st.just(1.0), max_size=12)
WEIGHTED = st.dictionaries(PAIR, LEVEL, max_size=12)


def make(must, cannot):
    return Links(
        list(must),
        list(cannot),
        must_confidence=list(must.values()),
        cannot_confidence=list(cannot.values()),
    )


def listed(must, cannot):
    return [reference.Link("must", p, c) for p, c in must.items()] + [
        reference.Link("cannot", p, c) for p, c in cannot.items()
    ]


@settings(deadline=None)
@given(WEIGHTED, WEIGHTED)
def test_against_the_definition(must, cannot):
    found = make(must, cannot).redundant()
    expected = reference.redundant(listed(must, cannot))
    assert [(link.kind, link.pair) for link in found] == [(k, p) for k, p, _ in expected]
    assert len(found) == len(expected)


@settings(deadline=None)
@given(WEIGHTED, WEIGHTED)
def test_no_link_that_is_kept_is_implied_by_the_others(must, cannot):
    kept = make(must, cannot).redundant().drop()
    links = listed(
        dict(zip(kept.must_ids, kept.must_confidence.tolist(), strict=True)),
        dict(zip(kept.cannot_ids, kept.cannot_confidence.tolist(), strict=True)),
    )
    for link in links:
        assert not reference.implied(link, [other for other in links if other is not link])
    assert len(kept.redundant()) == 0


@settings(deadline=None)
@given(WEIGHTED, WEIGHTED)
def test_without_them_the_closure_is_the_same_at_every_confidence(must, cannot):
    kept = make(must, cannot).redundant().drop()
    kept_must = dict(zip(kept.must_ids, kept.must_confidence.tolist(), strict=True))
    kept_cannot = dict(zip(kept.cannot_ids, kept.cannot_confidence.tolist(), strict=True))
    for level in (0.25, 0.5, 1.0):
        before, after = (
            [[pair for pair, sure in kind.items() if sure >= level] for kind in links]
            for links in ((must, cannot), (kept_must, kept_cannot))
        )
        assert must_closure(before[0], N) == must_closure(after[0], N)
        assert cannot_closure(*before, N) == cannot_closure(*after, N)
        assert bool(contradicting(*before)) == bool(contradicting(*after))


@settings(deadline=None)
@given(EQUAL, EQUAL)
def test_equal_links_the_first_ones_stay(must, cannot):
    """A must-link is redundant when those before it already join its ends."""
    found = make(must, cannot).redundant()
    pairs = list(must)
    expected = [i for i, pair in enumerate(pairs) if pair in must_closure(pairs[:i], N)]
    assert found.must.tolist() == expected


@settings(deadline=None)
@given(WEIGHTED, WEIGHTED)
def test_what_implies_them_is_there_and_sure_enough(must, cannot):
    links = make(must, cannot)
    found = links.redundant()
    kept = found.drop()
    steps = dict(zip(kept.must_ids, kept.must_confidence.tolist(), strict=True))
    walls = dict(zip(kept.cannot_ids, kept.cannot_confidence.tolist(), strict=True))
    for link in found:
        sure = (must if link.kind == "must" else cannot)[link.pair]
        for chain in link.chains:
            assert len(chain) > 1
            for step in pairwise(chain):
                assert steps[tuple(sorted(step))] >= sure
        if link.kind == "must":
            assert link.cannot is None
            assert (link.chains[0][0], link.chains[0][-1]) == link.pair
        else:
            assert walls[link.cannot] >= sure
            moved = {chain[0]: chain[-1] for chain in link.chains}
            assert tuple(sorted(moved.get(end, end) for end in link.pair)) == link.cannot


def test_by_hand():
    links = Links([(0, 1), (1, 2), (0, 2), (4, 5)], [(0, 4), (2, 5), (3, 4)])
    found = links.redundant()
    assert found.must.tolist() == [2]
    assert found.cannot.tolist() == [1]
    assert found[0] == ImpliedLink("must", (0, 2), None, ((0, 1, 2),))
    assert found[-1] == ImpliedLink("cannot", (2, 5), (0, 4), ((2, 1, 0), (5, 4)))
    assert str(found[1]) == (
        "cannot-link (2, 5) follows from cannot-link (0, 4) and must-links 2 - 1 - 0 "
        "and must-links 5 - 4"
    )
    assert found[:1] == (found[0],)
    assert repr(found) == "<Redundant: 2>"
    assert found.drop() == Links([(0, 1), (1, 2), (4, 5)], [(0, 4), (3, 4)])
    with pytest.raises(IndexError):
        found[2]


def test_a_sure_link_is_not_implied_by_a_guess():
    must, sure = [(0, 1), (1, 2), (0, 2)], [0.5, 1, 1]
    found = Links(must, must_confidence=sure).redundant()
    assert [link.pair for link in found] == [(0, 1)]
    links = Links([(1, 2)], [(0, 1), (0, 2)], must_confidence=0.1)
    assert not links.redundant()
    assert len(Links([(1, 2)], [(0, 1), (0, 2)]).redundant()) == 1


def test_conflicts_are_not_redundant():
    links = Links([(0, 1), (1, 2)], [(0, 1), (0, 2), (1, 2)])
    assert len(links.conflicts()) == 3
    assert not links.redundant()


def test_a_weak_chain_that_joins_what_was_apart():
    """The two cannot-links become conflicts at 0.5; at 1 the second repeats the first."""
    links = Links(
        [(0, 1), (2, 3), (1, 2)], [(1, 3), (0, 2)], must_confidence=[1, 1, 0.5]
    ).redundant()
    assert [str(link) for link in links] == [
        "cannot-link (0, 2) follows from cannot-link (1, 3) and must-links 0 - 1 "
        "and must-links 2 - 3"
    ]


def test_by_id():
    found = Links([("a", "b"), ("c", "b"), ("c", "a")]).redundant()
    assert str(found[0]) == "must-link ('a', 'c') follows from must-links 'a' - 'b' - 'c'"
    assert found.drop().keyed_by_id


def test_none():
    assert len(Links().redundant()) == 0
    assert Links().redundant().drop() == Links()
    assert not Links([(0, 1)], [(1, 2)]).redundant()


def test_keeps_what_else_the_links_know():
    links = Links([(0, 1), (1, 2), (0, 2)], must_confidence=[0.9, 0.8, 0.7], n_samples=9)
    kept = links.redundant().drop()
    assert kept.n_samples == 9
    assert kept.must_confidence.tolist() == [0.9, 0.8]


def test_long_chain_and_far_rows():
    n, far = 100_000, 10**9
    row = np.arange(n) + far
    links = Links(
        np.column_stack((np.append(row[:-1], far), np.append(row[1:], row[-1]))),
        np.column_stack((row[:1000], np.full(1000, 5))),
    )
    found = links.redundant()
    assert found.must.tolist() == [n - 1]
    assert found.cannot.tolist() == list(range(1, 1000))
    assert len(found[0].chains[0]) == n
    assert "[99989 more]" in str(found[0])
    assert found.explain(0, longest=20).chains is None
    assert "a long chain of must-links" in str(found.explain(0, longest=20))
    assert found.explain(1, longest=20).chains == ((far + 1, far),)
    assert len(found.drop()) == n


@settings(deadline=None)
@given(WEIGHTED, WEIGHTED)
def test_summary(must, cannot):
    found = make(must, cannot).summary()
    rows = {end for pair in (*must, *cannot) for end in pair}
    together = must_closure(list(must), N)
    groups = {
        frozenset(q for q in rows if q == p or (min(p, q), max(p, q)) in together) for p in rows
    }
    groups = sorted((g for g in groups if len(g) > 1), key=lambda g: (-len(g), min(g)))
    assert (found.n_must, found.n_cannot, found.n_named) == (len(must), len(cannot), len(rows))
    assert found.first == tuple(min(g) for g in groups)
    assert found.sizes.tolist() == [len(g) for g in groups]
    assert found.must.tolist() == [sum(a in g for a, _ in must) for g in groups]
    assert found.within.tolist() == [sum(a in g and b in g for a, b in cannot) for g in groups]
    assert found.leaving.tolist() == [sum((a in g) != (b in g) for a, b in cannot) for g in groups]
    assert found.n_within == len(contradicting(list(must), list(cannot)))
    assert found.n_between == len(cannot) - found.n_within
    for given_, spread in (
        (must, found.must_confidence),
        (cannot, found.cannot_confidence),
    ):
        sure = list(given_.values())
        assert spread == ((min(sure), np.median(sure), max(sure)) if sure else None)
