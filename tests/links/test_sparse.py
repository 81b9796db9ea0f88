"""Links as sparse matrices, in and out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from linkshift import Links

ENTRY = st.tuples(st.integers(0, 6), st.integers(0, 6), st.sampled_from([-1.0, -0.25, 0.5, 1.0]))
ENTRIES = st.lists(ENTRY.filter(lambda e: e[0] < e[1]), unique_by=lambda e: e[:2], max_size=12)


@given(ENTRIES, st.sampled_from(["coo", "csr", "csc", "lil", "dok"]), st.booleans())
def test_there_and_back(entries, form, both_halves):
    dense = np.zeros((7, 7))
    for a, b, value in entries:
        dense[a, b] = value
        if both_halves:
            dense[b, a] = value
    links = Links.from_sparse(sparse.coo_array(dense).asformat(form))
    assert links.n_samples == 7
    assert len(links.must) == (np.triu(dense + dense.T) > 0).sum()
    back = links.to_sparse()
    np.testing.assert_array_equal(back.toarray(), np.where(dense != 0, dense, dense.T))
    assert Links.coerce(back) == links


def test_old_matrices_are_taken_too():
    assert Links.coerce(sparse.csr_matrix([[0, -1], [-1, 0]])) == Links(cannot=[(0, 1)])


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (sparse.csr_array(np.eye(3)), "diagonal"),
        (sparse.coo_array(([1.0, 0.5], ([0, 1], [1, 0])), shape=(2, 2)), r"\(0, 1\) and \(1, 0\)"),
        (sparse.coo_array((2, 3)), r"shape \(2, 3\)"),
        (sparse.coo_array(([95.0], ([0], [1])), shape=(2, 2)), r"in percent\? .*0.95"),
        (sparse.coo_array(([np.nan], ([0], [1])), shape=(2, 2)), "not finite"),
    ],
)
def test_refused_matrices(matrix, message):
    with pytest.raises(ValueError, match=message):
        Links.from_sparse(matrix)


def test_what_is_no_matrix_and_what_fits_into_none():
    with pytest.raises(TypeError, match=r"scipy.sparse"):
        Links.from_sparse(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="one place"):
        Links([(0, 1)], [(0, 1)]).to_sparse()
    with pytest.raises(ValueError, match="out of range"):
        Links([(0, 5)]).to_sparse(3)


def test_groups_are_written_out():
    matrix = Links.apart_within([0, 0, 0, -1]).to_sparse()
    assert matrix.shape == (4, 4)
    assert matrix.nnz == 6
