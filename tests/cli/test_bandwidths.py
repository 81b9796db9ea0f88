"""`linkshift bandwidths`: the table, the hint, the picture; mistakes leave with exit code 2."""

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from linkshift import Links, bandwidth_path

COLUMNS = [
    "bandwidth", "n_clusters", "stability", "violated_must", "violated_cannot", "link_support",
]  # fmt: skip
FAST = ("--levels", 6, "--threads", 1)


def table(text):
    return pd.read_csv(io.StringIO(text))


def columns(path):
    return {
        "bandwidth": path.bandwidths,
        "n_clusters": path.n_clusters,
        "stability": path.stability,
        "violated_must": path.violated_must,
        "violated_cannot": path.violated_cannot,
        "link_support": path.link_support,
    }


def same(found, expected):
    assert list(found) == COLUMNS
    for name, column in expected.items():
        np.testing.assert_allclose(np.asarray(found[name]), column, rtol=1e-12)


def test_table_is_that_of_the_library(run, data, groups, links):
    file = links("0,1,must", "0,25,cannot", "1,45,cannot")
    result = run("bandwidths", data, "--links", file, *FAST)
    path = bandwidth_path(
        groups, Links(must=[(0, 1)], cannot=[(0, 25), (1, 45)]), n_bandwidths=6, n_jobs=1
    )
    same(table(result.stdout), columns(path))
    assert "x, y. Left out: name (text)" in result.stderr
    assert "Links: 1 must, 2 cannot" in result.stderr
    best = path.best("links")
    assert path.n_clusters[best] == 3
    h = f"{path.bandwidths[best]:.4g}"
    assert f"The links support bandwidth {h} best: 3 clusters, 0 of 3 links broken." in (
        result.stderr
    )
    assert "A hint" in result.stderr
    command = f"linkshift cluster {data} --links {file} --kernel gaussian --method mean-shift "
    for bandwidth in (h, "links"):
        assert f"{command}--bandwidth {bandwidth}\n" in result.stderr


@pytest.mark.parametrize("bandwidth", ["number", "links"])
def test_the_hint_works(run, data, links, bandwidth):
    file = links("0,1,must", "0,25,cannot", "1,45,cannot")
    told = run("bandwidths", data, "--links", file, "--scale", "minmax", *FAST).stderr
    lines = [line.split() for line in told.splitlines() if line.startswith("  linkshift cluster")]
    words = lines[0 if bandwidth == "number" else 1][1:]
    assert ("links" in words) == (bandwidth == "links")
    assert "--scale" in words
    labels = table(run(*words, "-q", "--threads", 1).stdout)["label"]
    assert labels.groupby(np.repeat([0, 1, 2], 20)).nunique().tolist() == [1, 1, 1]
    assert labels.nunique() == 3


def test_without_links_the_most_stable(run, data, groups):
    result = run("bandwidths", data, *FAST, "--kernel", "flat", "--scale", "standard")
    scaled = (groups - groups.mean(axis=0)) / groups.std(axis=0)
    path = bandwidth_path(scaled, kernel="flat", n_bandwidths=6, n_jobs=1)
    same(table(result.stdout), columns(path))
    h = f"{path.bandwidths[path.best('stability')]:.4g}"
    assert f"The clustering at bandwidth {h} is the most stable: 3 clusters." in result.stderr
    assert f"--scale standard --kernel flat --method mean-shift --bandwidth {h}" in result.stderr
    assert "in one go" not in result.stderr


def test_labels_and_ids(run, data, frame, links):
    frame["known"] = ["a", "a"] + [""] * 18 + ["b"] + [""] * 39
    frame.to_csv(data, index=False)
    file = links("s00,s45,cannot")
    options = ("--labels-column", "known", "--id-column", "name", "--links", file)
    result = run("bandwidths", data, *options, *FAST, "--json")
    found = json.loads(result.stdout)
    assert found["links"] == {"n_must": 1, "n_cannot": 3, "n_conflicts": 0}
    assert "--id-column name --labels-column known" in result.stderr


def test_json_has_levels_and_the_best(run, data, links):
    found = json.loads(
        run("bandwidths", data, "--links", links("0,1,must", "0,25,cannot"), *FAST, "--json").stdout
    )
    assert [list(level) for level in found["levels"]] == [COLUMNS] * 6
    best = found["best"]
    assert best["by"] == "links"
    assert {name: best[name] for name in COLUMNS} == found["levels"][best["level"]]
    assert best["link_support"] == max(level["link_support"] for level in found["levels"])
    assert found["columns"] == ["x", "y"]
    assert found["versions"]["linkshift"]
    assert found["links"]["n_conflicts"] == 0


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".npz"])
def test_files(run, data, suffix):
    expected = table(run("bandwidths", data, *FAST).stdout)
    result = run("bandwidths", data, *FAST, "-o", f"o{suffix}")
    assert result.stdout == ""
    assert f"Written: o{suffix}." in result.stderr
    read = {
        ".csv": pd.read_csv,
        ".tsv": lambda path: pd.read_csv(path, sep="\t"),
        ".parquet": pd.read_parquet,
        ".npz": np.load,
    }[suffix]
    same(read(f"o{suffix}"), {name: expected[name] for name in COLUMNS})


def test_picture(run, data, here):
    pytest.importorskip("matplotlib")
    result = run("bandwidths", data, *FAST, "--plot", "p.png", "-q")
    assert (here / "p.png").read_bytes().startswith(b"\x89PNG")
    assert result.stderr == ""
    assert list(table(result.stdout)) == COLUMNS


def test_conflicts_are_warned_of(run, data, links):
    file = links("0,1,must", "0,1,cannot")
    result = run("bandwidths", data, "--links", file, *FAST, "-q")
    assert "contradict each other in 1 place" in result.stderr
    assert f"linkshift links check {file}" in result.stderr


def test_unscaled_columns_are_pointed_out(run, data, frame):
    frame["x"] *= 1000
    frame.to_csv(data, index=False)
    assert "'x' varies" in run("bandwidths", data, *FAST).stderr
    assert "'x' varies" not in run("bandwidths", data, *FAST, "--scale", "minmax").stderr


def test_rows_that_are_all_the_same(run, here):
    np.save("same.npy", np.ones((5, 2)))
    result = run("bandwidths", "same.npy", *FAST)
    assert set(table(result.stdout)["n_clusters"]) == {1}
    assert "1 cluster." in result.stderr


# --- mistakes -----------------------------------------------------------------------------------


def test_too_few_rows(refused, here, frame):
    frame.head(1).to_csv("one.csv", index=False)
    assert "one.csv has one row; it takes two" in refused("bandwidths", "one.csv")


def test_links_out_of_range(refused, data, links):
    message = refused("bandwidths", data, "--links", links("0,60,must"))
    assert "60" in message
    assert "links.csv" in message


def test_output_over_data(refused, data, here):
    before = (here / data).read_text()
    message = refused("bandwidths", data, "-o", data)
    assert f"would overwrite {data}; choose another name" in message
    assert (here / data).read_text() == before


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("-o", "o.npy"), "unknown suffix '.npy'. Use one of .csv, .tsv, .parquet, .npz"),
        (("-o", "o.xlsx"), "unknown suffix '.xlsx'"),
        (("--plot", "p.gif"), "unknown suffix '.gif'"),
        (("--plot", "no/p.png"), "the folder no does not exist"),
        (("--kernel", "gausian"), "Did you mean 'gaussian'?"),
        (("--levels", 1), "--levels"),
        (("--columns", "x,q"), "no column 'q'"),
    ],
)
def test_mistakes(refused, data, args, said):
    assert said in refused("bandwidths", data, *args)


def test_views_are_refused(refused, here):
    np.savez("v.npz", a=np.ones((5, 2)), b=np.ones((5, 3)))
    assert "v.npz holds several matrices (a, b)" in refused("bandwidths", "v.npz")


def test_installed_command(here, data, refused):
    command = Path(sys.executable).with_name("linkshift")
    done = subprocess.run(
        [command, "bandwidths", data, "--levels", "3", "--threads", "1"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = table(done.stdout)
    assert list(found) == COLUMNS
    assert found["n_clusters"].iloc[-1] == 1
    assert refused("bandwidths", "dat.csv") == (
        "Error: dat.csv does not exist. Did you mean 'data.csv'?"
    )


@pytest.mark.parametrize("command", ["bandwidths", "datasets", "bench"])
def test_help_imports_nothing_heavy(command):
    code = (
        "import sys\n"
        "from linkshift.cli import main\n"
        f"sys.argv = ['linkshift', {command!r}, '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'pandas', 'sklearn', 'scipy', 'numba', 'joblib', 'rich.progress'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.startswith(f"Usage: linkshift {command} [OPTIONS]")
    assert done.stderr == "[]\n"
