"""Ids: columns that name rows, and links by row of tables that say otherwise."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def shuffled(here, frame):
    """Ids that neither count nor grow; the table in the order of the groups."""
    ids = np.random.default_rng(1).permutation(9000)[: len(frame)]
    table = frame.assign(customer_id=ids)
    table.to_csv("t.csv", index=False)
    return table


def test_a_column_of_ids_is_left_out(run, refused, shuffled, data):
    result = run("cluster", "t.csv")
    assert result.stdout == run("cluster", data).stdout
    assert "'customer_id' names rows, and is left out" in result.stderr
    assert "--id-column customer_id takes it" in result.stderr
    assert "Left out: name (text), customer_id (ids)" in result.stderr
    told = run("cluster", "t.csv", "--columns", "customer_id,x").stderr
    assert "2 columns used: customer_id, x" in told
    shuffled[["customer_id"]].to_csv("t.csv", index=False)
    assert "customer_id (ids)" in refused("cluster", "t.csv")


def test_links_by_number_of_an_id_column(run, shuffled, links):
    ids = shuffled["customer_id"].tolist()
    file = links(f"{ids[20]},{ids[40]},must")
    out = run("cluster", "t.csv", "--id-column", "customer_id", "--links", file).stdout
    labels = [line.split(",") for line in out.splitlines()[1:]]
    assert labels[20] == [str(ids[20]), labels[40][1]]


def test_numbers_that_grow_get_a_warning(run, here, frame):
    frame.assign(when=np.cumsum(np.arange(60)) * 3).to_csv("t.csv", index=False)
    err = run("cluster", "t.csv").stderr
    assert "column 'when' only grows from row to row, as ids do, yet it is used" in err


def test_the_column_of_the_ids_is_named(refused, data, links):
    file = links("s00,s01,must")
    assert "--id-column name." in refused("cluster", data, "--links", file)
    assert "--id-column name." in refused("links", "check", file, "--data", data)
    assert "--id-column NAME." in refused("cluster", data, "--links", links("ann,bob,must"))


def test_links_by_row_of_a_table_with_another_index(run, here, frame, links):
    frame[["x", "y"]].sample(frac=1, random_state=0).to_parquet("t.parquet")
    file = links("0,1,must")
    assert "sorted as when you answered" in run("cluster", "t.parquet", "--links", file).stderr
    assert "sorted" not in run("cluster", "t.parquet").stderr
    frame.sample(frac=1, random_state=0).to_parquet("u.parquet")
    by_id = ("--id-column", "name", "--links", links("s00,s01,must", name="ids.csv"))
    assert "sorted" not in run("cluster", "u.parquet", *by_id).stderr
    pd.DataFrame(frame[["x", "y"]]).to_parquet("v.parquet")
    assert "sorted" not in run("cluster", "v.parquet", "--links", file).stderr
