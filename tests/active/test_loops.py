"""Joining by the average belief beside its twin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import active as twin

from linkshift.active._loops import join

seeds = st.integers(0, 2**32 - 1)


def problem(seed, m, n_groups, share_apart, tied):
    """Beliefs of items in groups without gaps; quarters and sizes of one where they tie."""
    rng = np.random.default_rng(seed)
    group = np.concatenate([np.arange(min(n_groups, m)), rng.integers(0, n_groups, m)])[:m]
    belief = rng.integers(0, 5, (m, m)) / 4 if tied else rng.uniform(size=(m, m))
    belief = np.triu(belief, 1) + np.triu(belief, 1).T + np.eye(m)
    size = np.ones(m) if tied else rng.integers(1, 9, m).astype(float)
    g = int(group.max()) + 1
    apart = np.triu(rng.uniform(size=(g, g)) < share_apart, 1)
    return belief, size, group, apart | apart.T


@settings(max_examples=100, deadline=None)
@given(
    seeds,
    st.integers(1, 12),
    st.integers(1, 12),
    st.sampled_from([0.0, 0.2, 0.6]),
    st.sampled_from([-1.0, 0.3, 0.5]),
    st.booleans(),
)
def test_join_is_the_literal_average_linkage(seed, m, n_groups, share_apart, least, tied):
    belief, size, group, apart = problem(seed, m, n_groups, share_apart, tied)
    label, first, second, value = join(belief, size, group, apart, least)
    expected, steps = twin.joined(belief, size, group, apart, least)
    assert list(zip(first, second, strict=True)) == [step[:2] for step in steps]
    np.testing.assert_allclose(value, [step[2] for step in steps], rtol=1e-12)
    np.testing.assert_array_equal(label, expected)


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(2, 25), st.sampled_from([0.1, 0.5, 1.0]))
def test_groups_that_are_apart_never_join(seed, m, share_apart):
    belief, size, group, apart = problem(seed, m, m, share_apart, tied=False)
    before = apart.copy()
    label, *_ = join(belief, size, group, apart, -1.0)
    assert not (apart & (label[:, None] == label[None])).any()
    np.testing.assert_array_equal(apart, before)  # what it was given stays


def test_the_end_is_where_the_average_falls_below_least():
    belief = np.array([[1.0, 0.9, 0.2], [0.9, 1.0, 0.6], [0.2, 0.6, 1.0]])
    apart = np.zeros((3, 3), bool)
    each = np.arange(3)
    # 0 and 1 join at 0.9; with both the third one's average is 0.4.
    for least, expected in ((0.95, [0, 1, 2]), (0.5, [0, 0, 2]), (0.4, [0, 0, 0])):
        label, *_ = join(belief, np.ones(3), each, apart, least)
        assert label.tolist() == expected
    label, *_ = join(belief, np.array([1.0, 3.0, 1.0]), each, apart, 0.45)
    assert label.tolist() == [0, 0, 0]  # (0.2 + 3 * 0.6) / 4 = 0.5: sizes count


@pytest.mark.parametrize("least", [-1.0, 0.5])
def test_one_item_joins_nothing(least):
    label, first, second, value = join(
        np.ones((1, 1)), np.ones(1), np.zeros(1, np.int64), np.zeros((1, 1), bool), least
    )
    assert label.tolist() == [0]
    assert len(first) == len(second) == len(value) == 0
