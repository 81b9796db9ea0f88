"""Numbers by first appearance against a dict, which keeps the order of its keys."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from linkshift._core.labels import first_come

GROUPS = hnp.arrays(
    st.sampled_from([np.int32, np.int64]),
    hnp.array_shapes(max_dims=3, min_side=0, max_side=6),
    elements=st.integers(0, 9),
)


@given(GROUPS, st.sampled_from([np.int32, np.int64]))
def test_numbers_are_those_of_a_dict(groups, dtype):
    number = {group: i for i, group in enumerate(dict.fromkeys(groups.ravel().tolist()))}
    found = first_come(groups, dtype)
    assert found.dtype == dtype
    assert found.shape == groups.shape
    assert found.ravel().tolist() == [number[group] for group in groups.ravel().tolist()]


@given(GROUPS)
def test_numbering_twice_changes_nothing_and_names_do_not_matter(groups):
    found = first_come(groups, np.int64)
    np.testing.assert_array_equal(first_come(found, np.int64), found)
    np.testing.assert_array_equal(first_come(9 - groups, np.int64), found)


@pytest.mark.parametrize("shape", [(0,), (0, 3)])
def test_nothing_has_no_numbers(shape):
    assert first_come(np.empty(shape, dtype=np.int64), np.int64).shape == shape
