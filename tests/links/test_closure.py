"""The transitive closure against the letter of its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.links_closure import cannot_closure, contradicting, must_closure

from linkshift.links import ConflictError, Links
from linkshift.links._closure import BLOCK

N = 7
PAIR = st.tuples(st.integers(0, N - 1), st.integers(0, N - 1)).filter(lambda p: p[0] < p[1])
PAIRS = st.lists(PAIR, unique=True, max_size=7)


@settings(deadline=None)
@given(PAIRS, PAIRS)
def test_against_the_definition(must, cannot):
    links = Links(must, cannot)
    if contradicting(must, cannot):
        with pytest.raises(ConflictError):
            links.closure(N)
        return
    closure = links.closure(N)
    expected_must = sorted(must_closure(must, N))
    expected_cannot = sorted(cannot_closure(must, cannot, N))
    assert [tuple(p) for p in closure.must_pairs().tolist()] == expected_must
    assert [tuple(p) for p in closure.cannot_pairs().tolist()] == expected_cannot
    assert closure.must_pairs().shape == (len(expected_must), 2)
    assert closure.cannot_pairs().shape == (len(expected_cannot), 2)


@settings(deadline=None)
@given(PAIRS)
def test_components_are_dense_and_numbered_by_appearance(must):
    closure = Links(must, n_samples=N).closure()
    first = [int(np.flatnonzero(closure.component == c)[0]) for c in range(closure.n_components)]
    assert first == sorted(first)
    assert len(closure.component) == closure.n_samples == N
    members = [closure.members(c).tolist() for c in range(closure.n_components)]
    assert sorted(row for rows in members for row in rows) == list(range(N))
    assert [len(m) for m in members] == closure.sizes.tolist()
    for c, rows in enumerate(members):
        assert rows == sorted(rows)
        assert (closure.component[rows] == c).all()


@settings(deadline=None)
@given(PAIRS, PAIRS, st.permutations(range(N)))
def test_renaming_the_samples_renames_the_closure(must, cannot, order):
    links = Links(must, cannot).conflicts().resolve()
    moved = Links(np.array(order)[links.must], np.array(order)[links.cannot])
    for name in ("must_pairs", "cannot_pairs"):
        pairs = getattr(links.closure(N), name)()
        expected = np.sort(np.array(order)[pairs], axis=1)
        found = getattr(moved.closure(N), name)()
        assert sorted(map(tuple, expected.tolist())) == list(map(tuple, found.tolist()))


def test_by_hand():
    closure = Links([(0, 2), (2, 4)], [(4, 5), (0, 5), (1, 3)]).closure()
    assert closure.component.tolist() == [0, 1, 0, 2, 0, 3]
    assert closure.n_components == 4
    assert closure.component_cannot.tolist() == [[0, 3], [1, 2]]
    assert not closure.component.flags.writeable
    with pytest.raises(IndexError, match="component 4"):
        closure.members(4)


def test_number_of_samples():
    assert Links().closure().n_components == 0
    assert Links().closure().must_pairs().shape == (0, 2)
    assert Links().closure(3).component.tolist() == [0, 1, 2]
    assert len(Links([(0, 1)], n_samples=9).closure().component) == 9
    with pytest.raises(IndexError, match=r"must-link 0: \(0, 5\): row 5 is out of range"):
        Links([(0, 5)]).closure(3)


def test_conflict_error_names_the_chain_and_the_way_out():
    links = Links([(0, 1), (1, 2), (7, 8)], [(2, 0)])
    message = r"cannot-link \(0, 2\) against must-links 0 - 1 - 2(.|\n)*links\.conflicts\(\)"
    with pytest.raises(ConflictError, match=message):
        links.closure()
    many = Links([(i, i + 1) for i in range(9)], [(0, i) for i in range(2, 9)])
    with pytest.raises(ValueError, match=r"7 conflicts(.|\n)*and 4 more"):
        many.closure()


def test_limit():
    closure = Links([(0, 1), (1, 2)], [(0, 3)]).closure()
    assert len(closure.must_pairs(limit=3)) == 3
    with pytest.raises(ValueError, match=r"3 must-link pairs, more than the limit of 2"):
        closure.must_pairs(limit=2)
    with pytest.raises(ValueError, match=r"3 cannot-link pairs, more than the limit of 2"):
        closure.cannot_pairs(limit=2)


def test_long_chain():
    row = np.arange(100_000)
    links = Links(np.column_stack((row[:-1], row[1:])), [(0, 100_000)])
    closure = links.closure()
    assert closure.n_components == 2
    assert closure.component_cannot.tolist() == [[0, 1]]
    with pytest.raises(ValueError, match="more than the limit"):
        closure.must_pairs()
    pairs = closure.cannot_pairs()
    assert np.array_equal(pairs, np.column_stack((row, np.full(100_000, 100_000))))


def test_large_component_expanded():
    n = 1000  # pairs of several blocks
    assert n * (n - 1) // 2 > 5 * BLOCK
    closure = Links.from_labels(np.zeros(n)).closure()
    pairs = closure.must_pairs()
    a, b = pairs.T
    assert len(pairs) == n * (n - 1) // 2
    # Strictly ascending ranks: every pair once, in lexicographic order.
    assert (a < b).all()
    assert (np.diff(a * n + b) > 0).all()
