"""Links that were given: what they count for, also where somebody picked one kind of them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from linkshift import Links, Session
from linkshift.active.state import _counts
from linkshift.datasets import make


def sheets(y, rng):
    """Rows of different classes that are on one sheet, until a class is used up: all are apart."""
    pools = [rng.permutation(np.flatnonzero(y == k)) for k in np.unique(y)]
    some = list(zip(*pools, strict=False))
    return Links(cannot=[(a, b) for sheet in some for i, a in enumerate(sheet) for b in sheet[:i]])


def films(y, rng):
    """Of half of each class, five rows after each other: all of a film are the same."""
    must = []
    for k in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == k))
        half = pairwise(rows[: len(rows) // 2])
        must += [pair for i, pair in enumerate(half) if i % 5 < 4]
    return Links(must=must)


@pytest.fixture(scope="module")
def digits():
    return make("digits", 500, random_state=0)


@pytest.fixture(scope="module")
def alone(digits):
    return adjusted_rand_score(digits.y, Session(digits.X).labels_)


@pytest.mark.parametrize("links_of", [sheets, films])
def test_links_of_one_kind_do_not_make_the_clusters_worse(digits, alone, links_of):
    """By themselves they would say that all rows are apart, or the same."""
    links = links_of(digits.y, np.random.default_rng(0))
    labels = Session(digits.X, links).labels_
    assert adjusted_rand_score(digits.y, labels) > alone - 0.05
    assert all(labels[a] == labels[b] for a, b in links.must)
    assert all(labels[a] != labels[b] for a, b in links.cannot)


counted = st.lists(
    st.tuples(st.booleans(), st.booleans(), st.sampled_from([1.0, 0.8, 0.3])), max_size=40
)


@settings(max_examples=100, deadline=None)
@given(counted)
def test_neither_kind_counts_much_more_than_the_other(told):
    same, was_given = (np.array([one[i] for one in told], dtype=bool) for i in (0, 1))
    sure = np.array([one[2] for one in told])
    counts = _counts(same.astype(float), sure, was_given)
    np.testing.assert_array_equal(counts[~was_given], sure[~was_given])
    assert (counts <= sure).all()
    assert (counts > 0).all()
    for kind in (same, ~same):
        this, other = sure[was_given & kind].sum(), sure[was_given & ~kind].sum()
        expected = min(this, other + 2)
        assert counts[was_given & kind].sum() == pytest.approx(expected)
