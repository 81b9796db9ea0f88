"""`linkshift cluster --weights`: a column that says how often rows count."""

import json

import numpy as np
import pandas as pd
import pytest

METHODS = {
    "mean-shift": ("--bandwidth", 1),
    "kmeans": ("--clusters", 3),
    "cms": (),
}


@pytest.fixture
def weighted(here, frame):
    """weighted.csv: name, x, y and the column n of weights from 1 to 3."""
    frame["x"] *= 100  # units differ, and columns are scaled
    frame["n"] = np.arange(len(frame)) % 3 + 1
    frame.to_csv("weighted.csv", index=False)
    return frame


def answer(run, *args):
    return json.loads(run("cluster", *args, "--json", "-q").stdout)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", ["auto", "minmax"])
def test_a_weight_is_the_row_so_often(run, weighted, links, method, scale):
    options = ("--method", method, "--scale", scale, *METHODS[method])
    if method == "cms":
        options += ("--links", links("s00,s20,cannot", "s20,s45,cannot"), "--id-column", "name")
        again = weighted["n"].to_numpy() + 0
        again[[0, 20, 45]] = 1  # ids cannot stand twice, and links name them
        weighted["n"] = again
        weighted.to_csv("weighted.csv", index=False)
    rows = weighted.loc[np.repeat(weighted.index, weighted["n"])].drop(columns="n")
    names = rows["name"].to_numpy(dtype=object)
    rows["name"] = [
        name if i == 0 or names[i - 1] != name else f"{name} again {i}"
        for i, name in enumerate(names)
    ]
    rows.to_csv("copies.csv", index=False)
    found = answer(run, "weighted.csv", "--weights", "n", *options)
    copies = answer(run, "copies.csv", *options)
    assert found["columns"] == ["x", "y"]
    assert (found["weights"], copies["weights"]) == ("n", None)
    assert np.repeat(found["labels"], weighted["n"]).tolist() == copies["labels"]
    if found["bandwidth"] is not None:
        assert found["bandwidth"] == pytest.approx(copies["bandwidth"])


def test_weights_count(run, weighted):
    """Where they are left out, the column is a feature."""
    without = answer(run, "weighted.csv", "--method", "mean-shift")
    assert without["columns"] == ["x", "y", "n"]
    weighted["n"] = np.where(weighted.index < 20, 1.0, 0.0)
    weighted.to_csv("weighted.csv", index=False)
    args = ("--weights", "n", "--method", "mean-shift", "--scale", "none", "--bandwidth", 1000)
    assert answer(run, "weighted.csv", *args)["n_clusters"] == 1


def test_what_is_written(run, weighted, here):
    args = ("--weights", "n", "--method", "mean-shift", "--bandwidth", 1)
    told = run("cluster", "weighted.csv", *args, "--report", "r.html", "--save", "m.npz").stderr
    assert "leaves out the bandwidth path, which knows no weights" in told
    assert "--weights n" in (here / "r.html").read_text()
    found = answer(run, "weighted.csv", *args)["labels"]
    new = pd.read_csv("weighted.csv").drop(columns="n")
    new.to_csv("new.csv", index=False)
    run("predict", "m.npz", "new.csv", "-o", "labels.csv")
    assert pd.read_csv("labels.csv")["label"].tolist() == found


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "The method consensus that auto chose does not take weights of rows."),
        (("--method", "consensus"), "Use --method kmeans or mean-shift or cms, or leave --weights"),
        (("--method", "kernel"), "The method kernel does not take weights"),
        (("--method", "mean-shift", "--space", "kernel"), "Leave --space out, or --weights."),
        (("--method", "mean-shift", "--space", "graph"), "Leave --space out, or --weights."),
        (("--method", "mean-shift", "--bandwidth", "links"), "Give --bandwidth a number"),
        (("--method", "mean-shift", "--prepare"), "--prepare goes by rows that all count the same"),
        (("--method", "mean-shift", "--pca", 1), "--pca goes by rows that all count the same"),
        (("--method", "mean-shift", "--columns", "x,n"), "'n' holds ids, labels or weights"),
        (("--method", "mean-shift", "--id-column", "n"), "--id-column and --weights both name 'n'"),
        (("--method", "cms", "--labels-column", "n"), "--labels-column and --weights both name"),
        (("--out-of-core", "-o", "l.parquet"), "--weights does not work on parts"),
    ],
)
def test_what_weights_do_not_go_with(refused, weighted, options, words):
    assert words in refused("cluster", "weighted.csv", "--weights", "n", *options)


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("-1", "row 7 has -1. Weights are numbers from 0 on"),
        ("", "row 7 has no weight. Weights are numbers"),
        ("inf", "row 7 has inf"),
        ("many", "row 7 has 'many'"),
    ],
)
def test_cells_that_are_no_weights(refused, here, weighted, cell, words):
    weighted["n"] = weighted["n"].astype(object)
    weighted.loc[7, "n"] = cell
    weighted.to_csv("weighted.csv", index=False)
    told = refused("cluster", "weighted.csv", "--weights", "n", "--method", "mean-shift")
    assert "--weights n" in told
    assert words in told


def test_other_columns(refused, weighted):
    given = ("cluster", "weighted.csv", "--method", "mean-shift", "--weights")
    assert "--weights: weighted.csv has no column 'm'" in refused(*given, "m")
    assert "row 0 has 's00'" in refused(*given, "name")
    weighted["n"] = 0
    weighted.to_csv("weighted.csv", index=False)
    assert "every weight is zero" in refused(*given, "n")
