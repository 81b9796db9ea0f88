"""Embeddings in a column: missing, written as text, cut short."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import linkshift
from linkshift._core.messages import Advice, Refusal
from linkshift.tables.lists import lists_in_text

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(2, 6)), elements=FLOATS))
def test_lists_read_back(block):
    cells = [str(row) for row in block.tolist()]
    np.testing.assert_array_equal(np.array(lists_in_text(cells)), block)
    with np.printoptions(floatmode="unique", linewidth=20):
        np.testing.assert_array_equal(np.array(lists_in_text([*map(str, block)])), block)


@pytest.mark.parametrize(
    "cells", [["[1, 2]", "[1]"], ["[1]", "[2]"], ["[]"], ["[a, b]"], ["[[1, 2]]"], ["1"], [None]]
)
def test_other_text_stays_text(cells):
    assert lists_in_text(cells) is None


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    block = np.repeat([0.0, 5.0], 20)[:, None] + rng.normal(size=(40, 3))
    names = [f"doc{i}" for i in range(40)]
    return pd.DataFrame({"embedding": list(block)}, index=names)


def test_missing_lists_are_named(table):
    table.loc[["doc3", "doc17"], "embedding"] = None
    match = r"2 of 40 rows without a list in 'embedding': rows doc3, doc17.*notna.*embed"
    with pytest.raises(Refusal, match=match):
        linkshift.cluster(table)
    with pytest.raises(Refusal, match=r"rows 3, 17\."):
        linkshift.cluster(table.reset_index(drop=True))
    whole = table[table["embedding"].notna()]
    assert linkshift.cluster(whole, n_clusters=2).n_clusters == 2


def test_lists_as_text_are_read_and_told(table, tmp_path):
    expected = linkshift.cluster(table, n_clusters=2).labels
    lists = table.assign(embedding=[cell.tolist() for cell in table["embedding"]])
    lists.to_csv(tmp_path / "t.csv", index_label="doc")
    text = pd.read_csv(tmp_path / "t.csv", index_col="doc")
    with pytest.warns(Advice, match=r"'embedding' holds lists of numbers written as text"):
        found = linkshift.cluster(text, n_clusters=2)
    np.testing.assert_array_equal(found.labels, expected)
    with pytest.warns(Advice, match="written as text"):
        np.testing.assert_array_equal(found.predict(text), expected)
    cut = pd.DataFrame({"embedding": ["[0.1 0.2 ... 0.3]", "[0.1 0.2 ... 0.3]"]})
    with pytest.raises(Refusal, match=r"cut short by '...'.*array.tolist"):
        linkshift.cluster(cut)
