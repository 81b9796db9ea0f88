"""How many clusters there are when two rows meet, beside a walk through the tree."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage
from tests.reference import active as twin

from linkshift.active.trees import meeting


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 34),
    st.sampled_from(["ward", "single", "average"]),
    st.booleans(),
)
def test_meeting_is_the_walk_through_the_tree(seed, n, method, tied):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n + 1))  # a square could look like a table of distances
    tree = linkage(np.round(X) if tied else X, method)
    rows = np.arange(n)
    found = meeting(tree).clusters(rows[:, None], rows[None])
    expected = [[twin.clusters_when_met(tree, a, b) for b in rows] for a in rows]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 9, 16, 17, 33])
def test_a_chain_in_which_each_row_joins_all_before_it(n):
    # Around the powers of two, where the runs of gaps begin another level.
    tree = linkage(2.0 ** np.arange(n)[:, None], "single")
    rows = np.arange(n)
    found = meeting(tree).clusters(rows[:, None], rows[None])
    larger = np.maximum(rows[:, None], rows[None])
    np.testing.assert_array_equal(found, np.where(rows[:, None] == rows[None], n, n - larger))


def test_rows_broadcast():
    tree = linkage(np.random.default_rng(0).normal(size=(12, 2)), "ward")
    met = meeting(tree)
    a, b = np.array([3, 7]), np.array([0, 3, 11])
    table = met.clusters(a[:, None], b[None])
    assert table.shape == (2, 3)
    assert table[0, 1] == 12  # row 3 and itself
    np.testing.assert_array_equal(table.T, met.clusters(b[:, None], a[None]))
    np.testing.assert_array_equal(table[:, 2], met.clusters(a, np.array([11, 11])))
