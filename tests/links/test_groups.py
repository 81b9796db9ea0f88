"""Groups of rows that are apart: they say what their pairs would, without the pairs."""

import copy
import pickle
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkshift import Links
from linkshift._core.messages import Refusal
from linkshift.links import ClosedLinks, ConflictError

N = 9
COLUMN = st.lists(st.sampled_from([-1, 0, 1, 2]), min_size=N, max_size=N)
PAIR = st.tuples(st.integers(0, N - 1), st.integers(0, N - 1)).filter(lambda p: p[0] < p[1])
PAIRS = st.lists(PAIR, unique=True, max_size=6)


def expanded(column):
    """Every pair of rows with the same entry."""
    rows = range(len(column))
    return {(a, b) for a, b in combinations(rows, 2) if column[a] == column[b] != -1}


def grouped(column, must=(), cannot=()):
    return Links(list(must) or None, list(cannot) or None) + Links.apart_within(column)


def as_set(pairs):
    return {tuple(pair) for pair in np.asarray(pairs).tolist()}


@given(COLUMN)
def test_expanded(column):
    links = Links.apart_within(column)
    assert as_set(links.expanded().cannot) == expanded(column)
    assert links.separates == bool(expanded(column))
    shared = links.expanded(shared=True)
    sizes = [column.count(value) for value in set(column) - {-1}]
    assert shared.cannot_confidence.sum() == pytest.approx(sum(s - 1 for s in sizes if s > 1))


@settings(deadline=None)
@given(COLUMN, PAIRS, PAIRS)
def test_closure_and_conflicts_are_those_of_the_pairs(column, must, cannot):
    links, pairs = grouped(column, must, cannot), Links(must, cannot, n_samples=N)
    pairs = pairs.add(cannot=sorted(expanded(column)))
    assert bool(links.conflicts()) == bool(pairs.conflicts())
    assert ClosedLinks(links, N).contradictory == ClosedLinks(pairs, N).contradictory
    if pairs.conflicts():
        with pytest.raises(ConflictError):
            links.closure()
        assert as_set([c.cannot for c in links.conflicts()]) == as_set(
            [c.cannot for c in pairs.conflicts()]
        )
        return
    assert as_set(links.closure().cannot_pairs()) == as_set(pairs.closure().cannot_pairs())
    every = list(combinations(range(N), 2))
    apart = [
        pair
        for pair, is_apart in zip(every, links.closure().are_apart(every), strict=True)
        if is_apart
    ]
    assert set(apart) == as_set(pairs.closure().cannot_pairs())


@settings(deadline=None)
@given(COLUMN, PAIRS, PAIRS)
def test_links_go_and_groups_stay(column, must, cannot):
    links = grouped(column, must, cannot)
    for left in (links.settle().links, links.conflicts().resolve()):
        assert not left.conflicts()
        assert [g.tolist() for g in left.apart] == [g.tolist() for g in links.apart]
    aside = links.settle().set_aside
    assert not aside.apart
    assert as_set(aside.must) | as_set(links.settle().links.must) == as_set(links.must)
    for pair in aside.must.tolist():  # each of them would bring a contradiction back
        assert links.settle().links.add(must=[pair]).conflicts()


@settings(deadline=None)
@given(COLUMN, PAIRS, st.permutations(range(N)), st.integers(0, N), st.booleans())
def test_take_is_that_of_the_pairs(column, must, order, n, closed):
    links, rows = grouped(column, must), np.array(order[:n], dtype=int)
    pairs = Links(must, sorted(expanded(column)), n_samples=N)
    if closed and pairs.conflicts():
        return
    found, wanted = links.take(rows, closed=closed), pairs.take(rows, closed=closed)
    if closed:
        assert as_set(found.closure().cannot_pairs()) == as_set(wanted.closure().cannot_pairs())
    else:
        assert as_set(found.expanded().cannot) == as_set(wanted.cannot)


@settings(deadline=None)
@given(COLUMN, COLUMN, PAIRS)
def test_a_value_like_any_other(one, other, must):
    links = grouped(one, must) + Links.apart_within(other)
    assert links == Links.apart_within(other) + grouped(one, must)
    assert hash(links) == hash(copy.copy(links))
    assert pickle.loads(pickle.dumps(links)) == links
    assert Links.read_json(links.to_json()) == links
    assert as_set(links.expanded().cannot) == expanded(one) | expanded(other)
    assert links + links == links


def test_files_and_counts(tmp_path):
    links = grouped([0, 0, 1, 1, 1, -1, -1, -1, -1], must=[(0, 2)])
    assert "2 groups of 5 rows apart" in repr(links)
    assert len(links) == 3
    assert (links.summary().n_apart, links.summary().n_named) == (2, 5)
    with pytest.raises(
        ValueError, match=r"to_json, which keeps them, or links.expanded\(\).to_csv"
    ):
        links.to_csv(tmp_path / "links.csv")
    text = links.to_json()
    assert '"version": 2' in text
    assert '"version": 1' in links.expanded().to_json()
    for old, new, message in [
        ("[[0, 1]", "[[0, -1]", "row numbers"),
        ("[[0, 1]", "[0", "list of lists"),
        ("[[0, 1]", "[[0, 70]", "row 70, which is out of range"),
        ('"apart": [[0', '"apart": [[null', "row numbers"),
    ]:
        with pytest.raises(ValueError, match=message):
            Links.read_json(text.replace(old, new))


def test_groups_by_row_do_not_mix_with_ids():
    with pytest.raises(ValueError, match="resolve"):
        Links([("a", "b")]) + Links.apart_within([0, 0])
    with pytest.raises(ValueError, match="row 1, which is out of range for 1 samples"):
        Links.apart_within([0, 0]).check(1)


def test_missing_entries_are_no_group():
    column = ["a", None, "b", float("nan"), "", "a", "c", None]
    assert [g.tolist() for g in Links.apart_within(column).apart] == [[0, 5]]
    assert Links.together_within(column).must.tolist() == [[0, 5]]


def test_ten_thousand_rows_of_one_group_stay_one_group():
    n = 10_000
    links = Links.apart_within(np.zeros(n)) + Links([(0, n), (1, n + 1)], n_samples=None).take(
        np.arange(n)
    )
    closure = links.closure()
    assert len(closure.component_cannot) == 0
    assert closure.are_apart([(0, 1), (5, n - 1)]).all()
    joined = links.add(must=[(i, i + 1) for i in range(300)])
    assert len(joined.conflicts()) == 300
    assert len(joined.settle().links.must) == 0
    with pytest.raises(ValueError, match=r"49,995,000 pairs, more than 1,000"):
        links.expanded(1000)
    assert len(links.to_json()) < 10 * n


@settings(max_examples=30, deadline=None)
@given(COLUMN)
def test_together_within_is_a_chain(column):
    links = Links.together_within(column)
    assert as_set(links.closure(N).must_pairs()) == expanded(column)
    assert len(links.must) < N


NAMES = list("ihgfedcba")


@given(COLUMN, COLUMN, st.permutations(range(N)))
def test_groups_of_a_series_go_by_its_index(column, other, order):
    """Of a table in any order, the groups are those of the same rows."""
    series = pd.Series(column, index=NAMES)
    for make in (Links.apart_within, Links.together_within):
        links = make(series)
        assert links.keyed_by_id == bool(make(column))
        assert links.n_samples is None
        table = [NAMES[i] for i in order]
        expected = make(column)[list(order)] if make == Links.apart_within else None
        if links and expected is not None:
            assert links.resolve(table) == expected
        if links:
            assert links.resolve(NAMES) == make(column)
            assert Links.read_json(links.to_json()) == links
    both = Links.apart_within(series) + Links.apart_within(pd.Series(other, index=NAMES))
    if both:
        assert both.resolve(NAMES) == Links.apart_within(column) + Links.apart_within(other)


def test_groups_of_a_series_beside_pairs_of_ids():
    links = Links([("a", "c")]) + Links.apart_within(pd.Series([1, 1, 1], index=["c", "a", "b"]))
    assert [conflict.cannot for conflict in links.conflicts()] == [("a", "c")]
    assert links.resolve(["x", "a", "b", "c"]).apart[0].tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="names 'c', which is not among the 2 sample ids"):
        Links.apart_within(pd.Series([1, 1, 1], index=["c", "a", "b"])).resolve(["a", "b"])
    left = links.resolve(["b", "a"], missing="drop")
    assert (len(left.must), left.apart[0].tolist()) == (0, [0, 1])
    with pytest.raises(ValueError, match="apart needs row numbers"):
        _ = links.apart


def test_a_series_that_counts_rows_or_names_them_twice():
    assert Links.apart_within(pd.Series([1, 1, 2])).n_samples == 3
    assert not Links.together_within(pd.Series([1, 1, 2], index=[0, 1, 2])).keyed_by_id
    with pytest.raises(Refusal, match=r"'a' is the id of row 0 and of row 1.*to_numpy"):
        Links.apart_within(pd.Series([1, 1], index=["a", "a"]))


@pytest.mark.parametrize("text", ['[["a", null]]', '[["a", true]]', '[["a", ["b"]]]', '"a"'])
def test_groups_by_id_in_json_are_checked(text):
    links = Links.apart_within(pd.Series([1, 1], index=["a", "b"])).to_json()
    assert '"apart": [["a", "b"]]' in links
    with pytest.raises(ValueError, match="'apart' must"):
        Links.read_json(links.replace('[["a", "b"]]', text))
