"""Contradictions: all found, each with a shortest chain, resolved at the least cost."""

import itertools
import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.links_closure import cheapest_removal, contradicting, distance

from linkshift.links import Conflict, Links, _removal

N = 7
PAIR = st.tuples(st.integers(0, N - 1), st.integers(0, N - 1)).filter(lambda p: p[0] < p[1])
PAIRS = st.lists(PAIR, unique=True, max_size=12)
FEW = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda p: p[0] < p[1]),
    unique=True,
    max_size=6,
)


@settings(deadline=None)
@given(PAIRS, PAIRS)
def test_every_conflict_with_a_shortest_chain(must, cannot):
    conflicts = Links(must, cannot).conflicts()
    assert [c.cannot for c in conflicts] == contradicting(must, cannot)
    assert bool(conflicts) == (len(conflicts) > 0)
    for conflict in conflicts:
        a, b = conflict.cannot
        assert conflict.chain[0] == a
        assert conflict.chain[-1] == b
        assert {tuple(sorted(step)) for step in pairwise(conflict.chain)} <= set(must)
        assert len(conflict.chain) - 1 == distance(must, a, b)


@settings(deadline=None)
@given(PAIRS, PAIRS)
def test_resolve_removes_what_is_suggested_and_nothing_else(must, cannot):
    links = Links(must, cannot)
    conflicts = links.conflicts()
    removal = conflicts.suggested_removal
    resolved = conflicts.resolve()
    assert removal.exact
    assert not resolved.conflicts()
    assert len(links) - len(resolved) == len(removal) == removal.confidence
    assert resolved.add(removal.must, removal.cannot) == links


@settings(deadline=None, max_examples=60)
@given(FEW, FEW, st.data())
def test_removal_is_cheapest_of_all_subsets(must, cannot, data):
    level = st.sampled_from([0.25, 0.5, 1.0])
    must_sure = data.draw(st.lists(level, min_size=len(must), max_size=len(must)))
    cannot_sure = data.draw(st.lists(level, min_size=len(cannot), max_size=len(cannot)))
    links = Links(must, cannot, must_confidence=must_sure, cannot_confidence=cannot_sure)
    removal = links.conflicts().suggested_removal
    assert removal.exact
    best = cheapest_removal(must, cannot, must_sure, cannot_sure)
    assert removal.confidence == pytest.approx(best)


@settings(deadline=None)
@given(PAIRS, PAIRS)
def test_greedy_answer_resolves_everything_and_does_not_claim_to_be_best(must, cannot):
    links = Links(must, cannot)
    exact = links.conflicts().suggested_removal
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_removal, "EXACT_CONFLICTS", 0)
        conflicts = links.conflicts()
        greedy = conflicts.suggested_removal
    assert not conflicts.resolve().conflicts()
    assert greedy.exact == (not conflicts)
    assert exact.confidence <= greedy.confidence <= len(conflicts)
    if conflicts:
        assert "perhaps not the smallest" in str(conflicts)


def test_one_weak_must_link_explains_many_conflicts():
    must = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    cannot = [(a, b) for a in (0, 1, 2) for b in (3, 4, 5)]
    conflicts = Links(must, cannot).conflicts()
    assert len(conflicts) == 9
    assert conflicts.suggested_removal.must == ((2, 3),)
    assert conflicts.suggested_removal.cannot == ()


def test_confidence_decides_what_goes():
    must, cannot = [(0, 1), (1, 2)], [(0, 2)]
    weak_cannot = Links(must, cannot, cannot_confidence=0.3).conflicts().suggested_removal
    assert weak_cannot.cannot == ((0, 2),)
    assert weak_cannot.confidence == 0.3
    # two disjoint chains: cutting both costs 0.4, the cannot-link alone 0.5
    links = Links(
        [(0, 1), (1, 2), (0, 3), (3, 2)],
        cannot,
        must_confidence=[0.2, 1, 1, 0.2],
        cannot_confidence=0.5,
    )
    assert links.conflicts().suggested_removal.must == ((0, 1), (2, 3))


def test_must_and_cannot_on_the_same_pair():
    conflicts = Links([(3, 8)], [(8, 3)]).conflicts()
    assert conflicts[0] == Conflict(cannot=(3, 8), chain=(3, 8))
    assert len(conflicts.suggested_removal) == 1


def test_by_id_without_knowing_the_rows():
    links = Links([("ann", "bob"), ("bob", "cid")], [("cid", "ann"), ("dan", "ann")])
    conflicts = links.conflicts()
    assert len(conflicts) == 1
    assert set(conflicts[0].cannot) == {"ann", "cid"}
    assert conflicts[0].chain[1] == "bob"
    assert not conflicts.resolve().conflicts()
    assert "'bob'" in str(conflicts)


def test_sequence():
    links = Links([(i, i + 1) for i in range(30)], [(0, i) for i in range(5, 30)])
    conflicts = links.conflicts()
    assert conflicts[-1] == conflicts[24] == list(conflicts)[24]
    assert conflicts[3:5] == (conflicts[3], conflicts[4])
    with pytest.raises(IndexError):
        conflicts[25]
    text = str(conflicts)
    assert "25 conflicts among 30 must-links" in text
    assert "and 15 more" in text
    assert "Smallest removal that resolves all (1 link" in text
    assert "[8 more]" in str(conflicts[13])
    assert len(repr(conflicts)) < 80


def test_none():
    conflicts = Links([(0, 1)], [(1, 2)]).conflicts()
    assert not conflicts
    assert len(conflicts) == 0
    assert str(conflicts) == "No conflicts among 1 must-link and 1 cannot-link."
    assert conflicts.resolve() == Links([(0, 1)], [(1, 2)])
    assert not Links().conflicts()


def test_independent_of_how_large_the_row_numbers_are():
    far = 10**15
    assert Links([(0, far), (far, 5)], [(0, 5)]).conflicts()[0].chain == (0, far, 5)


@pytest.mark.parametrize("shape", ["chain", "star", "tree"])
def test_thousand_conflicts_in_a_component_of_five_thousand(shape):
    n = 5000
    rng = np.random.default_rng(0)
    child = np.arange(1, n)
    parent = {"chain": child - 1, "star": 0 * child, "tree": rng.integers(child)}[shape]
    cannot = rng.choice(n, size=(1000, 2), replace=True)
    cannot = cannot[cannot[:, 0] != cannot[:, 1]]
    links = Links(np.column_stack((parent, child)), cannot, duplicates="drop")
    conflicts = links.conflicts()
    assert len(conflicts) == len(links.cannot) > 990
    known = {tuple(pair) for pair in links.must.tolist()}
    for conflict in conflicts[:100]:
        assert {tuple(sorted(step)) for step in pairwise(conflict.chain)} <= known
    assert not conflicts.resolve().conflicts()


def test_many_separate_conflicts_are_solved_exactly():
    first = 3 * np.arange(300)
    must = np.concatenate(
        (np.column_stack((first, first + 1)), np.column_stack((first + 1, first + 2)))
    )
    removal = Links(must, np.column_stack((first, first + 2))).conflicts().suggested_removal
    assert removal.exact
    assert len(removal) == 300


def test_long_chain_with_many_conflicts():
    """Disjoint stretches of one chain each need a cut; overlapping ones share it."""
    n = 100_000
    row = np.arange(n)
    starts = np.arange(0, n - 1000, 1000)
    cannot = np.concatenate(
        (np.column_stack((starts, starts + 999)), np.column_stack((starts + 10, starts + 990)))
    )
    conflicts = Links(np.column_stack((row[:-1], row[1:])), cannot).conflicts()
    removal = conflicts.suggested_removal
    assert len(conflicts) == 2 * len(starts)
    assert removal.exact
    assert len(removal) == len(starts)
    assert not conflicts.resolve().conflicts()


def test_exactness_is_a_matter_of_work_not_of_time(monkeypatch):
    """Where each look at the clock is an hour later, the answer is the same."""
    clock = itertools.count(0.0, 3600.0)
    for name in ("time", "monotonic", "perf_counter"):
        monkeypatch.setattr(time, name, lambda: next(clock))
    rng = np.random.default_rng(0)
    chain = np.column_stack((np.arange(39), np.arange(1, 40)))
    cannot = [(a, b) for a, b in np.sort(rng.integers(40, size=(40, 2))) if b - a > 1]
    assert Links(chain, cannot, duplicates="drop").conflicts().suggested_removal.exact
    monkeypatch.setattr(_removal, "EXACT_WORK", 0.0)
    conflicts = Links(chain, cannot, duplicates="drop").conflicts()
    assert not conflicts.suggested_removal.exact
    assert not conflicts.resolve().conflicts()


def test_parallel_chains_are_cut_together():
    # Three chains join 0 and 9; a dead end hangs on one of them.
    must = [(0, 1), (1, 9), (0, 2), (2, 9), (0, 3), (3, 9), (3, 4), (4, 5)]
    sure = [0.1, 0.9, 0.9, 0.2, 0.3, 0.8, 0.01, 0.01]
    removal = Links(must, [(0, 9)], must_confidence=sure).conflicts().suggested_removal
    assert set(removal.must) == {(0, 1), (2, 9), (0, 3)}
    assert removal.confidence == pytest.approx(0.6)


def test_one_wrong_must_link_behind_very_many_conflicts():
    """More chains than can be searched for: a part of them is enough to find the link."""
    n, rng = 3000, np.random.default_rng(0)
    child = np.arange(1, n)
    trees = [np.column_stack((at + rng.integers(child), at + child)) for at in (0, n)]
    must = np.concatenate((*trees, [[17, n + 99]]))
    cannot = np.column_stack((rng.integers(n, size=20_000), n + rng.integers(n, size=20_000)))
    conflicts = Links(must, cannot, duplicates="drop").conflicts()
    assert len(conflicts) > 19_000
    assert conflicts.suggested_removal.must == ((17, n + 99),)
    assert conflicts.suggested_removal.cannot == ()
    assert not conflicts.resolve().conflicts()
    assert conflicts.positions.tolist() == list(range(len(conflicts)))
