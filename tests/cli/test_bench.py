"""`linkshift bench`: what is timed, left out and told; no clock is trusted."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from linkshift.cli.commands import bench
from linkshift.cli.reading.problem import Source
from linkshift.cli.talking import Console
from linkshift.links import Links

METHODS = list(bench._methods(np.eye(12), Links(), 1))
HEAD = ["rows", "method", "seconds", "clusters", "agreement", "note"]


@pytest.fixture
def small(monkeypatch):
    """Sizes that take a moment."""
    monkeypatch.setattr(bench, "_PILOT", 20)
    monkeypatch.setattr(bench, "_SIZES", (40, 60))
    monkeypatch.setattr(bench, "_QUICK_SIZES", (30,))


def results(text):
    return {(row["rows"], row["method"]): row for row in json.loads(text)["results"]}


def test_made_data_of_a_few_sizes(run, small):
    result = run("bench", "--threads", 1, "--json")
    found = results(result.stdout)
    assert list(found) == [(n, method) for n in (40, 60) for method in METHODS]
    for row in found.values():
        assert row["seconds"] > 0, row
        assert row["clusters"] >= 1
    for n in (40, 60):
        # Drop-in: the same labels at the same bandwidth.
        assert found[n, "MeanShift, flat"]["agreement"] == 1.0
        assert "times as fast" in found[n, "MeanShift, flat"]["note"]
        assert found[n, "MeanShift, Gaussian"]["agreement"] is None
    report = json.loads(result.stdout)
    assert report["threads"] == 1
    assert report["cores"] >= 1
    assert set(report["versions"]) >= {"linkshift", "python", "numpy", "scikit-learn", "numba"}
    assert "Made data (shapes), 60 links." in result.stderr


def test_table_is_aligned(run, small):
    result = run("bench", "--quick", "--threads", 1)
    lines = result.stdout.splitlines()
    assert lines[0].split() == HEAD
    assert len(lines) == 1 + len(METHODS)
    at = lines[0].index("method")
    assert [line[at:].split("  ")[0] for line in lines[1:]] == METHODS
    assert all(line.split()[0] == "30" for line in lines[1:])
    end = lines[0].index("seconds") + len("seconds")
    assert all(line[end - 1].isdigit() for line in lines[1:])
    assert "agreement: adjusted Rand index" in result.stderr


def test_slow_methods_are_left_out_of_large_data(run, small, monkeypatch):
    monkeypatch.setitem(bench._MOST, "KernelMeanShift", 50)
    found = results(run("bench", "--threads", 1, "--json").stdout)
    assert found[40, "KernelMeanShift"]["seconds"] > 0
    assert found[60, "KernelMeanShift"]["seconds"] is None
    assert found[60, "KernelMeanShift"]["note"] == "left out: for up to 50 rows here"
    assert set(bench._MOST) < set(METHODS)


def test_own_data(run, data, links, small):
    file = links("0,1,must", "0,25,cannot", "1,45,cannot", "25,45,cannot")
    result = run("bench", data, "--links", file, "--threads", 1, "--json", "--scale", "standard")
    found = results(result.stdout)
    assert list(found) == [(60, method) for method in METHODS]
    assert found[60, "ConstrainedMeanShift"]["clusters"] == 3
    assert found[60, "MeanShift, flat"]["agreement"] == 1.0
    assert "60 rows, 2 columns used" in result.stderr
    report = json.loads(result.stdout)
    assert (report["data"], report["links"], report["scale"]) == (data, file, "standard")


def test_own_data_without_links(run, data, small):
    found = results(run("bench", data, "--rows", 30, "--threads", 1, "--json").stdout)
    assert found[30, "ConstrainedMeanShift"]["note"] == "left out: needs cannot-links"
    assert found[30, "ConstrainedMeanShift"]["seconds"] is None
    assert found[30, "KernelMeanShift"]["seconds"] > 0


def test_links_that_a_method_refuses(run, data, links, small):
    file = links("0,1,must", "0,1,cannot")
    found = results(run("bench", data, "--links", file, "--threads", 1, "--json").stdout)
    assert found[60, "ConstrainedMeanShift"]["note"].startswith("refused: ")
    assert found[60, "MeanShift, flat"]["seconds"] > 0


def test_sizes_of_own_data(run, small, monkeypatch, groups):
    sizes = []
    monkeypatch.setattr(bench, "_time_all", lambda X, *rest: sizes.append(len(X)) or [])
    np.save("big.npy", np.tile(groups, (40, 1)))
    for args in ((), ("--quick",), ("--rows", 999), ("--quick", "--rows", 50)):
        run("bench", "big.npy", *args, "--json")
    assert sizes == [20, 2400, 20, 2000, 20, 999, 20, 50]  # with a pilot each


def test_rows_cut_from_data_keep_their_links(data, links):
    source = Source(Path(data), Path(links("0,1,must", "2,59,cannot")))
    cut, n = bench._own_data(source, "none", Console(quiet=True))
    assert n == 60
    whole, all_links = cut(60)
    assert all_links.must.tolist() == [[0, 1]]
    assert all_links.cannot.tolist() == [[2, 59]]
    part, some_links = cut(20)
    assert part.shape == (20, 2)
    for a, b in some_links.must:
        assert {tuple(part[a]), tuple(part[b])} == {tuple(whole[0]), tuple(whole[1])}


# --- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args", [("--links", "l.csv"), ("--columns", "x"), ("--no-header",), ("--scale", "minmax")]
)
def test_options_of_a_table_without_one(refused, args):
    assert "is about a table; give DATA too" in refused("bench", *args)


def test_mistakes_in_data(refused, data, frame, links):
    assert "--rows is 61, but data.csv has 60 rows" in refused("bench", data, "--rows", 61)
    assert "60" in refused("bench", data, "--links", links("0,60,must"))
    assert "--rows" in refused("bench", data, "--rows", 9)
    frame.head(9).to_csv("few.csv", index=False)
    assert "few.csv has 9 rows; it takes 10" in refused("bench", "few.csv")


def test_installed_command(here):
    command = Path(sys.executable).with_name("linkshift")
    done = subprocess.run(
        [command, "bench", "--rows", "30", "--threads", "1"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].split() == HEAD
