"""`linkshift cluster`: what comes out, and that every option has its effect."""

import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import linkshift
from linkshift import ConsensusClustering, Links, MeanShift, refine
from linkshift._core.jit import _NoCache, jit
from linkshift.cli.writing import results
from linkshift.consensus import _loops
from linkshift.methods import METHODS


def table(text):
    return pd.read_csv(io.StringIO(text), dtype={"name": str})


def partition(labels):
    return {frozenset(np.flatnonzero(labels == c).tolist()) for c in np.unique(labels)}


THREE = {frozenset(range(20)), frozenset(range(20, 40)), frozenset(range(40, 60))}
TWO = {frozenset(range(40)), frozenset(range(40, 60))}


def test_labels_go_to_stdout_by_row(run, data, groups):
    out = table(run("cluster", data).stdout)
    assert list(out.columns) == ["row", "label"]
    assert out["row"].tolist() == list(range(60))
    assert np.array_equal(out["label"], ConsensusClustering().fit(groups).labels_)
    assert partition(out["label"].to_numpy()) == THREE


def test_ids_are_written_as_they_are(run, data):
    out = table(run("cluster", data, "--id-column", "name").stdout)
    assert list(out.columns) == ["name", "label"]
    assert out["name"].tolist() == [f"s{i:02d}" for i in range(60)]


def test_stderr_tells_columns_scale_method_and_sizes(run, data):
    err = run("cluster", data).stderr
    assert "60 rows, 2 columns used: x, y. Left out: name (text)." in err
    assert "Scale: none" in err
    assert "Consensus of " in err
    assert "Mean shift with the flat kernel, bandwidth" in (
        run("cluster", data, "--method", "mean-shift").stderr
    )
    assert "3 clusters, sizes 20, 20, 20." in err
    assert "refine" not in err


def test_quiet_says_nothing(run, data):
    assert run("cluster", data, "--quiet").stderr == ""


def test_the_graph_of_neighbours(run, data, links, groups):
    given = ("cluster", data, "--space", "graph", "--n-neighbors", 10)
    result = run(*given, "--save", "m.npz")
    labels = table(result.stdout)["label"].to_numpy()
    assert partition(labels) == THREE
    expected = linkshift.cluster(groups, space="graph", n_neighbors=10)
    assert np.array_equal(labels, expected.labels)
    assert expected.done in " ".join(result.stderr.split())
    again = table(run("predict", "m.npz", data).stdout)["label"].to_numpy()
    assert np.array_equal(again, labels)
    assert "in the graph's space" in run("explain", "m.npz", 3).stdout
    refined = run(*given, "--links", links("0,1,must", "0,20,cannot")).stderr
    assert "then refine with 2 links" in " ".join(refined.split())


def test_columns(run, data):
    result = run("cluster", data, "--columns", "y", "--bandwidth", 1)
    assert "1 column used: y. Left out: name (text), x (number)." in result.stderr
    assert partition(table(result.stdout)["label"].to_numpy()) == TWO


@pytest.mark.parametrize(
    ("options", "model"),
    [
        (["--bandwidth", "0.7"], MeanShift(bandwidth=0.7)),
        (["--kernel", "gaussian"], MeanShift(kernel="gaussian")),
        (["--n-neighbors", "5"], MeanShift(n_neighbors=5)),
        (["--threads", "1", "--bandwidth", "0.2"], MeanShift(n_jobs=1, bandwidth=0.2)),
    ],
)
def test_options_reach_the_estimator(run, data, groups, options, model):
    out = json.loads(run("cluster", data, "--json", *options).stdout)
    model.fit(groups)
    assert out["labels"] == model.labels_.tolist()
    assert np.allclose(out["bandwidth"], model.bandwidth_)


def test_too_few_steps_get_a_warning_that_can_be_followed(run, data):
    few = run("cluster", data, "--kernel", "gaussian", "--max-iter", 1, "--quiet")
    assert "Warning: " in few.stderr
    assert "after 1 step. Take a larger --max-iter" in few.stderr
    assert run("cluster", data, "--kernel", "gaussian", "--max-iter", 900, "-q").stderr == ""


def test_threads_are_passed_on(run, data, monkeypatch):
    seen = []

    def spy(X, links, **options):
        seen.append(options)
        return cluster(X, links, **options)

    cluster = linkshift.cluster
    monkeypatch.setattr(linkshift, "cluster", spy, raising=False)
    run("cluster", data, "--threads", 3, "--seed", 7)
    assert seen[0]["n_jobs"] == 3
    assert seen[0]["random_state"] == 7


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_scale(run, here, groups, scale):
    wide = groups * (1, 1000)
    np.save("data.npy", wide)
    if scale == "standard":
        X = (wide - wide.mean(axis=0)) / wide.std(axis=0)
    else:
        X = (wide - wide.min(axis=0)) / np.ptp(wide, axis=0)
    result = run("cluster", "data.npy", "--scale", scale, "--json", "--method", "mean-shift")
    model = MeanShift().fit(X)
    out = json.loads(result.stdout)
    assert out["labels"] == model.labels_.tolist()
    assert out["bandwidth"] == pytest.approx(model.bandwidth_)
    assert out["scale"] == scale
    assert f"Scale: {scale}" in result.stderr


def test_a_constant_column_survives_scaling(run, here, groups):
    np.save("data.npy", np.column_stack([groups, np.full(60, 7.0)]))
    out = json.loads(run("cluster", "data.npy", "--scale", "standard", "--json").stdout)
    assert out["n_clusters"] == 3


def test_unlike_spreads_are_scaled(run, here, groups):
    np.save("data.npy", groups * (1, 1000))
    alone, scaled = run("cluster", "data.npy"), run("cluster", "data.npy", "--scale", "standard")
    assert "Scale: standard, each column has mean 0 and spread 1: '1' varies" in alone.stderr
    assert alone.stdout == scaled.stdout
    assert ": '1' varies" not in scaled.stderr
    told = run("cluster", "data.npy", "--scale", "none").stderr
    assert "--scale standard lets both count" in told


def test_like_spreads_are_left_alone(run, here, groups):
    np.save("data.npy", groups * (1, 5))
    alone, none = run("cluster", "data.npy"), run("cluster", "data.npy", "--scale", "none")
    assert "Scale: none, columns are taken as they are: no column varies 10 times" in alone.stderr
    assert alone.stdout == none.stdout


def test_a_bandwidth_is_in_units_of_the_columns(run, here, groups):
    np.save("data.npy", groups * (1, 1000))
    told = run("cluster", "data.npy", "--bandwidth", 900).stderr
    assert "Scale: none" in told
    assert "--scale standard lets both count" in told


@pytest.mark.parametrize(("bandwidth", "advice"), [(50, "smaller"), (0.001, "larger")])
def test_a_useless_bandwidth_gets_advice(run, data, bandwidth, advice):
    assert f"take a {advice} --bandwidth" in run("cluster", data, "--bandwidth", bandwidth).stderr


def test_advice_names_an_option_that_the_method_takes(run, here):
    np.save("data.npy", np.random.default_rng(0).normal(size=(40, 2)))
    err = run("cluster", "data.npy", "--method", "kernel", "--n-neighbors", 39).stderr
    assert "take a smaller --n-neighbors" in err
    assert "--bandwidth" not in err


# --- links --------------------------------------------------------------------------------------


def test_links_by_row_are_settled(run, data, groups, links):
    file = links("0,20,must", "0,45,cannot")
    result = run("cluster", data, "--links", file, "--method", "mean-shift")
    labels = table(result.stdout)["label"].to_numpy()
    known = Links(must=[(0, 20)], cannot=[(0, 45)])
    assert np.array_equal(labels, refine(groups, MeanShift().fit(groups).labels_, known))
    assert partition(labels) == TWO
    assert "then refine with 2 links (3 clusters before, 2 after)" in result.stderr
    assert "Links kept: 1 of 1 must, 1 of 1 cannot." in result.stderr


def test_links_by_id(run, data, links):
    file = links("s00,s20,must", "s00,s45,cannot")
    out = table(run("cluster", data, "--links", file, "--id-column", "name").stdout)
    assert partition(out["label"].to_numpy()) == TWO


def test_links_by_id_follow_the_rows(run, here, frame, links):
    """Shuffled rows, same links: the ids find them."""
    frame.sample(frac=1, random_state=1).to_csv("data.csv", index=False)
    file = links("s00,s20,must")
    out = table(run("cluster", "data.csv", "--links", file, "--id-column", "name").stdout)
    labels = out.set_index("name").sort_index()["label"].to_numpy()
    assert partition(labels) == TWO


def test_ids_in_json_are_found_by_their_text(run, here, frame):
    frame["name"] = range(100, 160)
    frame.to_csv("data.csv", index=False)
    frame.to_parquet("data.parquet")
    Links(must=[(100, 120)], ids=None, must_confidence=0.9).to_json("rows.json")
    text = (here / "rows.json").read_text().replace('"row"', '"id"')
    (here / "links.json").write_text(text)
    for file in ("data.csv", "data.parquet"):
        out = table(run("cluster", file, "--links", "links.json", "--id-column", "name").stdout)
        assert partition(out["label"].to_numpy()) == TWO


def test_links_in_json_by_row(run, data):
    Links(must=[(0, 20)]).to_json("links.json")
    out = table(run("cluster", data, "--links", "links.json").stdout)
    assert partition(out["label"].to_numpy()) == TWO


def test_label_column_becomes_links(run, here, frame):
    frame["known"] = ""
    frame.loc[[0, 20], "known"] = "a"
    frame.loc[45, "known"] = "b"
    frame.loc[5, "known"] = "-1"
    frame.to_csv("data.csv", index=False)
    out = json.loads(run("cluster", "data.csv", "--labels-column", "known", "--json").stdout)
    assert out["columns"] == ["x", "y"]
    assert out["links"]["n_must"] == 1
    assert out["links"]["n_cannot"] == 2  # all pairs of labelled rows
    assert partition(np.array(out["labels"])) == TWO


def test_numeric_labels_are_no_feature(run, here, frame):
    frame["known"] = -1
    frame.loc[[0, 20], "known"] = 4
    frame.to_csv("data.csv", index=False)
    out = json.loads(run("cluster", "data.csv", "--labels-column", "known", "--json").stdout)
    assert out["columns"] == ["x", "y"]
    assert out["links"]["n_must"] == 1


def test_links_and_labels_add_up(run, here, frame, links):
    frame["known"] = [1.0, *[np.nan] * 19, 1.0, *[np.nan] * 39]
    frame.to_csv("data.csv", index=False)
    args = ("--links", links("0,45,cannot"), "--labels-column", "known", "--json")
    result = run("cluster", "data.csv", *args)
    out = json.loads(result.stdout)
    assert (out["links"]["n_must"], out["links"]["n_cannot"]) == (1, 1)
    assert "from links.csv and the labels in 'known'" in result.stderr


def test_labels_that_say_nothing_get_a_warning(run, here, frame):
    frame["known"] = -1
    frame.to_csv("data.csv", index=False)
    err = run("cluster", "data.csv", "--labels-column", "known").stderr
    assert "Warning: --labels-column known says nothing" in err


def test_ids_given_as_labels_get_a_warning(run, data):
    assert "Is it rather the --id-column?" in run("cluster", data, "--labels-column", "name").stderr


def test_contradictions_warn_and_go_on(run, data, links):
    file = links("s00,s20,must", "s20,s21,must", "s00,s21,cannot")
    options = ("--id-column", "name", "--json", "--quiet", "--conflicts", "refuse")
    result = run("cluster", data, "--links", file, "--method", "mean-shift", *options)
    assert "Warning: the links contradict each other in 1 place" in result.stderr
    assert "cannot-link ('s00', 's21') against must-links 's00' - 's20' - 's21'" in result.stderr
    assert "linkshift links check links.csv" in result.stderr
    out = json.loads(result.stdout)["links"]
    assert out["n_conflicts"] == 1
    assert len(out["violated_must"]) + len(out["violated_cannot"]) >= 1


# --- JSON, pictures -----------------------------------------------------------------------------


def test_json_is_one_object(run, data, links):
    result = run("cluster", data, "--json", "--id-column", "name", "--links", links("s00,s20,must"))
    out = json.loads(result.stdout)
    assert out["n_samples"] == 60
    assert out["n_clusters"] == len(out["sizes"]) == 2
    assert sorted(out["sizes"]) == [20, 40]
    assert out["method"] == "consensus"
    assert out["seconds"] > 0
    assert {"linkshift", "python", "numpy", "scikit-learn"} <= set(out["versions"])
    assert out["links"]["must_kept"] == 1
    assert out["ids"][:2] == ["s00", "s01"]
    assert len(out["labels"]) == 60


def test_json_without_links(run, data):
    out = json.loads(run("cluster", data, "--json").stdout)
    assert out["links"] is None
    assert "ids" not in out


def test_json_and_output_together(run, data):
    result = run("cluster", data, "--json", "-o", "out.csv")
    assert json.loads(result.stdout)["labels"] == pd.read_csv("out.csv")["label"].tolist()


def test_noise_is_counted_apart(run, data, monkeypatch):
    def noisy(*_, **__):
        return MeanShift(bandwidth=0.1, cluster_all=False)

    row = replace(METHODS["mean-shift"], make=noisy)
    monkeypatch.setitem(METHODS, "mean-shift", row)
    result = run("cluster", data, "--json", "--method", "mean-shift")
    out = json.loads(result.stdout)
    noise = out["labels"].count(-1)
    assert 0 < noise == out["n_noise"]
    assert sum(out["sizes"]) == 60 - noise
    assert f"noise {noise}" in result.stderr


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_plot(run, data, here, links, suffix):
    name = f"picture{suffix}"
    run("cluster", data, "--plot", name, "--scale", "standard")
    assert (here / name).stat().st_size > 1000
    run("cluster", data, "--plot", name, "--links", links("0,20,must"))
    assert sorted(path.name for path in here.iterdir()) == ["data.csv", "links.csv", name]


def test_modes_are_drawn_in_the_units_of_the_data(run, here, groups, monkeypatch):
    drawn = {}
    monkeypatch.setattr(
        results,
        "write_picture",
        lambda path, X, labels, **extras: drawn.update(extras),
    )
    np.save("data.npy", groups * (1, 1000) + 50)
    run("cluster", "data.npy", "--scale", "standard", "--plot", "p.png", "--method", "mean-shift")
    found = (drawn["modes"] - 50) / (1, 1000)
    found = found[np.lexsort(found.round().T)]
    assert np.allclose(found, [(0, 0), (5, 0), (0, 5)], atol=0.3)


def test_a_run_says_that_it_compiles(run, data, monkeypatch):
    run("cluster", data)
    assert "Compiling" not in run("cluster", data).stderr
    for quiet in ((), ("--quiet",)):
        fresh = jit(_loops._contract.py_func)
        fresh._cache = _NoCache()
        monkeypatch.setattr(_loops, "_contract", fresh)
        said = run("cluster", data, *quiet).stderr
        assert said.count("Compiling, as in every run") == (0 if quiet else 1)
        assert ("NUMBA_CACHE_DIR" in said) != bool(quiet)
