"""`linkshift datasets`: the list, tables and links; mistakes leave with exit code 2."""

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from linkshift import Links, datasets
from linkshift.cli.reading.delimited import exact_numbers


@pytest.fixture
def folder(here, monkeypatch):
    """LINKSHIFT_DATA with iris (numbers as classes), vehicle (names) and two views of msrc."""
    there = here / "there"
    there.mkdir()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 4)).astype(np.float32)
    y = np.repeat([3, 5, 9], 4)
    np.savez(there / "uci_iris.npz", X=X, y=y)
    np.savez(there / "uci_vehicle.npz", X=X, y=y, class_names=["bus", "saab", "van"])
    np.savez(there / "mv_msrc_v1.npz", X_view1=X, X_view2=X[:, :2], y=y, view_names=["a", "file"])
    monkeypatch.setenv("LINKSHIFT_DATA", str(there))
    return there


def read(text):
    return pd.read_csv(io.StringIO(text), **exact_numbers(pd.__version__))


# --- the list -----------------------------------------------------------------------------------


def test_list_has_every_set(run, folder):
    result = run("datasets")
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["name", "rows", "columns", "classes", "kind", "about"]
    kind = {line.split()[0]: line.split()[4] for line in lines[1:]}
    assert list(kind) == [*datasets.MADE, *datasets.REGISTRY]
    assert {name: kind[name] for name in datasets.MADE} == {
        "moons": "made", "shapes": "made", "lines": "made", "circles": "made", "digits": "bundled",
    }  # fmt: skip
    here = ["uci_iris", "uci_vehicle", "mv_msrc_v1"]
    assert sorted(name for name in kind if kind[name] == "file") == sorted(here)
    assert kind["uci_wine"] == "missing"
    missing = len(datasets.REGISTRY) - len(here)
    assert f"{missing} sets missing: to use one, set LINKSHIFT_DATA" in result.stderr
    at = lines[0].index("about")
    assert all(line[at - 1] == " " and line[at] != " " for line in lines)


def test_list_as_json(run, folder):
    known = {
        entry["name"]: entry for entry in json.loads(run("datasets", "--json").stdout)["datasets"]
    }
    assert known["moons"] == {
        "name": "moons", "rows": 500, "columns": 2, "classes": 2, "kind": "made",
        "about": datasets.MADE["moons"].about,
    }  # fmt: skip
    digits = known["mv_mfeat_digits"]
    assert (digits["rows"], digits["columns"], digits["classes"]) == (2000, 649, 10)
    assert digits["kind"] == "missing"
    assert "van Breukelen" in digits["about"]


@pytest.mark.parametrize(
    "args",
    [("-o", "m.csv"), ("--rows", 9), ("--seed", 0), ("--links-output", "l.csv"), ("--n-links", 3)],
)
def test_list_takes_no_options_of_one_set(refused, args):
    message = refused("datasets", *args)
    assert "is about one data set, and none is named" in message
    assert "linkshift datasets moons -o moons.csv" in message


# --- one of them --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(datasets.MADE))
def test_made_set_reads_back_as_it_was(run, name):
    rows = () if name != "digits" else ("--rows", 100)
    table = read(run("datasets", name, "--seed", 3, *rows).stdout)
    made = datasets.make(name, *rows[1:], random_state=3)
    assert list(table) == [*(f"x{i}" for i in range(made.X.shape[1])), "class"]
    np.testing.assert_array_equal(table.drop(columns="class").to_numpy(), made.X)
    names = np.array([*made.target_names, ""])
    np.testing.assert_array_equal(table["class"].fillna(""), names[made.y])


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".npz"])
def test_files_are_read_by_the_other_commands(run, folder, suffix):
    out, data = f"v{suffix}", datasets.load("uci_vehicle")
    result = run("datasets", "uci_vehicle", "-o", out, "--links-output", "l.csv", "--n-links", 9)
    assert result.stdout == ""
    assert f"Written: {out}, l.csv." in result.stderr
    assert f"linkshift cluster {out} --links l.csv" in result.stderr
    done = run("cluster", out, "--method", "mean-shift", "--json", "--threads", 1)
    columns = [str(i) if suffix == ".npz" else f"x{i}" for i in range(4)]
    assert json.loads(done.stdout)["columns"] == columns
    if suffix == ".npz":
        with np.load(out) as arrays:
            np.testing.assert_array_equal(arrays["X"], data.X)
            assert arrays["X"].dtype == np.float32
            assert arrays["class"].tolist() == ["bus"] * 4 + ["saab"] * 4 + ["van"] * 4
    elif suffix == ".parquet":
        np.testing.assert_array_equal(pd.read_parquet(out)[columns].to_numpy(), data.X)
    else:
        text = Path(out).read_text()
        assert text.splitlines()[0].split("," if suffix == ".csv" else "\t") == [*columns, "class"]
        # Shortest text that is the same number in single precision.
        assert text.splitlines()[1].startswith(str(data.X[0, 0]))
    assert run("links", "check", "l.csv", "--data", out).exit_code == 0


def test_classes_that_are_numbers_become_text(run, folder):
    table = read(run("datasets", "uci_iris").stdout)
    assert table["class"].tolist() == ["c3"] * 4 + ["c5"] * 4 + ["c9"] * 4
    assert list(table)[:4] == ["x0", "x1", "x2", "x3"]


def test_no_class_is_empty_and_unknown_to_cluster(run):
    run("datasets", "circles", "--rows", 70, "-o", "c.csv")
    table = pd.read_csv("c.csv")
    assert len(table) == 70
    n_unknown = int(table["class"].isna().sum())
    assert n_unknown == 20
    result = run("bandwidths", "c.csv", "--labels-column", "class", "--levels", 3, "--json")
    found = json.loads(result.stdout)["links"]
    # All pairs of ten rows within each of five circles, and between each two of them.
    assert (found["n_must"], found["n_cannot"]) == (5 * 45, 10 * 100)


def test_rows_of_a_file_are_drawn_by_the_seed(run, folder):
    whole = [tuple(row) for row in read(run("datasets", "uci_iris").stdout).to_numpy()]
    draws = []
    for seed in (0, 0, 1):
        drawn = read(run("datasets", "uci_iris", "--rows", 5, "--seed", seed).stdout)
        rows = [whole.index(tuple(row)) for row in drawn.to_numpy()]
        assert rows == sorted(set(rows))
        assert len(rows) == 5
        draws.append(rows)
    assert draws[0] == draws[1] != draws[2]


def test_links_are_of_the_rows_written(run):
    run("datasets", "lines", "--rows", 50, "--seed", 2, "-o", "d.csv",
        "--links-output", "l.json", "--n-links", 30)  # fmt: skip
    classes = pd.read_csv("d.csv")["class"].to_numpy()
    links = Links.read_json("l.json")
    assert len(classes) == 50
    assert len(links) == 30
    assert all(classes[a] == classes[b] for a, b in links.must)
    assert all(classes[a] != classes[b] for a, b in links.cannot)
    again = Links.sample(datasets.make("lines", 50, random_state=2).y, 30, random_state=2)
    np.testing.assert_array_equal(links.must, again.must)
    np.testing.assert_array_equal(links.cannot, again.cannot)


def test_views(run, folder):
    result = run("datasets", "mv_msrc_v1", "-o", "v.npz")
    assert "12 rows, 6 columns in 2 views" in result.stderr
    assert "linkshift cluster v.npz --method groups --clusters 3" in result.stderr
    done = run("cluster", "v.npz", "--method", "groups", "--clusters", 3, "--json")
    assert json.loads(done.stdout)["views"]["names"] == ["a", "file"]


@pytest.mark.parametrize("args", [(), ("-o", "v.csv"), ("-o", "v.parquet")])
def test_views_fit_no_table(refused, folder, here, args):
    message = refused("datasets", "mv_msrc_v1", *args)
    assert "mv_msrc_v1 has 2 views" in message
    assert "linkshift datasets mv_msrc_v1 -o mv_msrc_v1.npz" in message
    assert not list(here.glob("v.*"))


def test_json_of_one_set(run, folder):
    result = run("datasets", "circles", "--rows", 28, "--json", "--links-output", "l.csv",
                 "--n-links", 12, "-q")  # fmt: skip
    found = json.loads(result.stdout)
    assert (found["rows"], found["columns"], found["kind"]) == (28, 2, "made")
    assert found["class_sizes"] == {f"circle{i}": 4 for i in range(5)}
    assert found["links"]["n_must"] + found["links"]["n_cannot"] == 12
    assert found["links"]["output"] == "l.csv"
    assert result.stderr == ""
    assert json.loads(run("datasets", "mv_msrc_v1", "--json").stdout)["views"] == {
        "a": 4,
        "file": 2,
    }


# --- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("mons",), "no data set is called 'mons'. Did you mean 'moons'?"),
        (("UCI_Iris",), "Did you mean 'uci_iris'?"),
        (("moons", "--n-links", 5), "give --links-output links.csv"),
        (("moons", "--links-output", "l.csv"), "give --n-links"),
        (("moons", "-o", "m.xlsx"), "unknown suffix '.xlsx'. Use one of .csv, .tsv, .parquet"),
        (("moons", "--links-output", "l.txt", "--n-links", 5), "unknown suffix '.txt'"),
        (("moons", "-o", "no/m.csv"), "the folder no does not exist"),
        (("moons", "--rows", 1), "--rows is 1, but moons has 2 classes"),
        (("moons", "--rows", 0), "--rows"),
        (("uci_iris", "--rows", 13), "--rows is 13, but uci_iris has 12 rows; take fewer"),
        (("uci_iris", "--seed", 1), "--seed has nothing to draw"),
        (("digits", "--seed", 1), "--seed has nothing to draw"),
        (("digits", "--rows", 1800), "--rows is 1,800, but digits has 1,797 rows; take fewer"),
        (("uci_wine",), "uci_wine.npz does not exist. Set the environment variable LINKSHIFT_DATA"),
        (
            ("lines", "--links-output", "l.csv", "--n-links", 3),
            "too few: 6 classes have 15 pairs of classes",
        ),
        (("moons", "-o", "a.csv", "--links-output", "a.csv", "--n-links", 5), "name two files"),
    ],
)  # fmt: skip
def test_mistakes(refused, folder, here, args, said):
    assert said in refused("datasets", *args)
    assert [path.name for path in here.iterdir()] == ["there"]


@pytest.mark.parametrize("option", ["--output", "--links-output"])
def test_the_source_is_not_overwritten(refused, folder, option):
    if option == "--links-output":
        (folder / "uci_iris.json").symlink_to(folder / "uci_iris.npz")
        args = (option, folder / "uci_iris.json", "--n-links", 3)
    else:
        args = (option, folder / "uci_iris.npz")
    before = (folder / "uci_iris.npz").read_bytes()
    assert "would overwrite" in refused("datasets", "uci_iris", *args)
    assert (folder / "uci_iris.npz").read_bytes() == before


def test_damaged_file(refused, folder):
    whole = (folder / "uci_iris.npz").read_bytes()
    (folder / "uci_iris.npz").write_bytes(whole[: len(whole) // 2])
    assert "uci_iris.npz is not a whole npz file" in refused("datasets", "uci_iris")


def test_installed_command(here):
    command = Path(sys.executable).with_name("linkshift")

    links = ("--links-output", "l.csv", "--n-links", "20")
    done = subprocess.run(
        [command, "datasets", "moons", "-o", "m.csv", *links],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert len(pd.read_csv("m.csv")) == 500
    assert len(Links.read_csv("l.csv", n_samples=500)) == 20
