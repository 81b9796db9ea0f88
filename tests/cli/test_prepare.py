"""`--prepare` and `--pca`: what is done is told, kept with the model, and done again."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from linkshift import model_files, prepare

N = 60


@pytest.fixture
def mixed(here):
    """Three groups that numbers, text and truth values tell of, with gaps."""
    rng = np.random.default_rng(0)
    group = np.arange(N) // 20
    frame = pd.DataFrame(
        {
            "name": [f"s{i:02d}" for i in range(N)],
            "customer_id": rng.permutation(5000)[:N],
            "age": 20 + 20 * group + rng.normal(size=N),
            "income": np.exp(3 * group + rng.normal(size=N)),
            "city": np.array(["Rome", "Oslo", "Bonn"])[group],
            "member": group == 1,
        }
    )
    frame.loc[[3, 30], "age"] = np.nan
    frame.loc[7, "city"] = None
    frame.to_csv("t.csv", index=False)
    return frame


def labels_of(result):
    return pd.read_csv(io.StringIO(result.stdout))["label"].tolist()


def test_a_table_with_text_and_gaps(run, refused, mixed):
    assert "Let linkshift cluster --prepare fill them" in refused("cluster", "t.csv")
    result = run("cluster", "t.csv", "--prepare", "--clusters", 3, "--id-column", "name")
    assert [len(set(labels_of(result)[i : i + 20])) for i in (0, 20, 40)] == [1, 1, 1]
    for line in prepare(mixed.drop(columns="name")).said:
        assert f"Prepared: {line}" in result.stderr
    assert "age: 2 missing" in result.stderr
    assert "customer_id: left out" in result.stderr
    assert "Scale: standard, as prepared." in result.stderr


def test_the_recipe_goes_with_the_model(run, refused, here, mixed):
    options = ("--prepare", "--save", "m.npz", "--pca", 3)
    labels = labels_of(run("cluster", "t.csv", *options, "--report", "r.html"))
    assert labels_of(run("predict", "m.npz", "t.csv")) == labels
    assert "linkshift cluster t.csv --prepare --pca 3" in (here / "r.html").read_text()
    mixed.drop(columns=["name", "customer_id"])[30:].to_json(
        "new.jsonl", orient="records", lines=True
    )
    assert labels_of(run("predict", "m.npz", "new.jsonl")) == labels[30:]
    # One row, in which the column of numbers is empty, and so read as text or nothing.
    mixed[3:4].to_csv("one.csv", index=False)
    assert labels_of(run("predict", "m.npz", "one.csv")) == labels[3:4]
    mixed.assign(city="Lima").to_csv("other.csv", index=False)
    assert (
        "city: 60 cells with new values, such as 'Lima'"
        in run("predict", "m.npz", "other.csv").stderr
    )
    mixed.drop(columns="city").to_csv("less.csv", index=False)
    assert "less.csv lacks 1 column of m.npz: city" in refused("predict", "m.npz", "less.csv")
    mixed.assign(age="old").to_csv("text.csv", index=False)
    assert "age: 60 cells no number ('old')" in run("predict", "m.npz", "text.csv").stderr
    message = refused("predict", "m.npz", "t.csv", "--id-column", "age")
    assert "takes 'age' as values to go by" in message
    assert "cluster" in run("explain", "m.npz", "0").stdout


def test_a_recipe_that_was_changed(refused, run, here, mixed):
    run("cluster", "t.csv", "--prepare", "--save", "m.npz")
    model, about = model_files.load("m.npz"), model_files.about("m.npz")
    about["preparation"]["steps"][0]["spread"] = 0.0
    model_files.save(model, "bad.npz", about=about)
    assert "bad.npz: This is no recipe" in refused("predict", "bad.npz", "t.csv")


def test_json_and_bandwidths(run, mixed):
    told = json.loads(run("cluster", "t.csv", "--prepare", "--json").stdout)
    assert told["scale"] == "standard"
    assert "age: 2 missing" in " ".join(told["prepared"])
    assert "city=Rome" in told["columns"]
    err = run("bandwidths", "t.csv", "--prepare", "--levels", 4).stderr
    assert "linkshift cluster t.csv --prepare --kernel" in err
    told = json.loads(run("bandwidths", "t.csv", "--prepare", "--levels", 4, "--json").stdout)
    assert told["scale"] == "standard"


def test_components_alone(run, refused, here, groups):
    wide = np.hstack([groups, groups + 0.1, 100 * groups])
    np.save("t.npy", wide)
    result = run("cluster", "t.npy", "--pca", 2, "--scale", "none", "--save", "m.npz")
    assert (
        "6 columns became 2 principal components, which hold 100% of the variance" in result.stderr
    )
    assert labels_of(run("predict", "m.npz", "t.npy")) == labels_of(result)
    recipe = model_files.about("m.npz")["preparation"]
    assert recipe["parameters"] == {"log": False, "max_levels": 20, "pca": 2, "scale": "none"}
    run("cluster", "t.npy", "--pca", 2, "--scale", "standard", "--save", "m.npz")
    assert model_files.about("m.npz")["preparation"]["parameters"]["scale"] == "standard"
    assert model_files.about("m.npz")["scale"] == "none"
    assert "Take --pca 6 or fewer" in refused("cluster", "t.npy", "--pca", 7)
    wide[3, 0] = np.nan
    np.save("t.npy", wide)
    assert "missing in row 3" in refused("cluster", "t.npy", "--pca", 2)
    assert "Prepared: 0: 1 missing" in run("cluster", "t.npy", "--prepare").stderr


def test_prepared_lists(run, here, groups):
    frame = pd.DataFrame({"id": np.arange(60) * 2, "e": list(np.hstack([groups] * 30))})
    frame.to_parquet("t.parquet")
    result = run("cluster", "t.parquet", "--prepare", "--save", "m.npz")
    assert "60 columns became 2 principal components" in result.stderr
    assert len(set(labels_of(result))) == 3
    assert labels_of(run("predict", "m.npz", "t.parquet")) == labels_of(result)
    told = run("cluster", "t.parquet", "--prepare", "--columns", "id,e").stderr
    assert "2 columns of numbers scaled" in told  # an id that was asked for


def test_what_cannot_be_prepared(refused, here, mixed, groups):
    np.savez("t.npz", one=groups, two=groups)
    assert "--prepare makes new columns" in refused("cluster", "t.npz", "--prepare")
    assert "--pca makes new columns" in refused("cluster", "t.npz", "--pca", 2)
    mixed[["name"]].to_csv("u.csv", index=False)
    assert "--prepare" in refused("cluster", "u.csv")
    assert "u.csv: Nothing is left to cluster" in refused("cluster", "u.csv", "--prepare")
    assert "no column 'q'" in refused("cluster", "t.csv", "--prepare", "--columns", "q")
    assert "twice" in refused("cluster", "t.csv", "--prepare", "--columns", "age,age")
    named = ("--columns", "name,age", "--id-column", "name")
    assert "holds ids, labels or weights" in refused("cluster", "t.csv", "--prepare", *named)
    np.savez("v.npz", X=groups, other=np.arange(60))
    assert "another array" in refused("cluster", "v.npz", "--prepare", "--columns", "other")
