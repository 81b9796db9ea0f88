"""Rows called by their ids."""

import numpy as np
import pandas as pd
import pytest

import linkshift
from linkshift._core.messages import Advice, Refusal

N = 40
X = np.repeat([0.0, 5.0], N // 2)[:, None] + np.random.default_rng(0).normal(size=(N, 2))


def test_rows_are_explained_by_their_index(tmp_path):
    names = [f"r{i}" for i in range(N)]
    found = linkshift.cluster(pd.DataFrame(X, columns=["x", "y"], index=names), method="mean-shift")
    found.save(tmp_path / "m.npz")
    for one in (found, linkshift.load(tmp_path / "m.npz")):
        told = one.explain("r7", max_counterfactuals=0)
        assert (told.row, told.label) == (7, found.labels["r7"])
        assert str(told).startswith("Row r7 is in cluster")
        assert one.explain(7, max_counterfactuals=0).row == 7  # no id is a number
        with pytest.raises(Refusal, match=r"No row has the id 'r77'\. Rows are.*such as"):
            one.explain("r77")  # r7 is another row
        with pytest.raises(Refusal, match=r"No row has the id 'R7'\. Did you mean 'r7'\?"):
            one.explain("R7")
    with pytest.raises(IndexError, match="out of range"):
        found.explain(N)


def test_ids_that_are_numbers_are_no_row_numbers():
    index = np.arange(N) * 3 + 1
    found = linkshift.cluster(pd.DataFrame(X, index=index), method="mean-shift")
    assert found.explain(4, max_counterfactuals=0).row == 1
    assert found.explain(np.int64(4), max_counterfactuals=0).row == 1
    with pytest.raises(Refusal, match=r"No row has the id 5\..*such as 1\."):
        found.explain(5)


def test_ids_in_a_column_name_rows(tmp_path):
    table = pd.DataFrame(X, columns=["x", "y"]).assign(customer_id=np.arange(N)[::-1] * 7 + 100)
    with pytest.warns(Advice, match="names rows and is left out"):
        found = linkshift.cluster(table, method="mean-shift")
    name = int(table["customer_id"][3])
    assert found.explain(name, max_counterfactuals=0).row == 3
    assert found.labels.index.equals(table.index)
    assert found.told()["ids"][3] == name
    found.save(tmp_path / "m.npz")
    again = linkshift.load(tmp_path / "m.npz")
    assert again.explain(name, max_counterfactuals=0).row == 3
    assert again.labels[name] == found.labels[3]
    with pytest.raises(Refusal, match="No row has the id 3"):
        found.explain(3)


def test_rows_without_ids():
    found = linkshift.cluster(X, method="mean-shift")
    with pytest.raises(Refusal, match=r"rows have no ids here.*from 0 to 39.*its index"):
        found.explain("r7")
    with pytest.raises(TypeError, match="whole number"):
        found.explain(1.5)
    names = [f"r{i}" for i in range(N)]
    assert found.explain("r7", ids=names, max_counterfactuals=0).row == 7
    twice = linkshift.cluster(pd.DataFrame(X, index=["a"] * N), method="mean-shift")
    assert twice.explain(7, max_counterfactuals=0).row == 7
