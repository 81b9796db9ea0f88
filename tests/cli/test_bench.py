"""`linkshift bench`: what is timed, left out and told; no clock is trusted."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from linkshift.cli import _benching
from linkshift.cli._benching import Growth

METHODS = list(_benching._METHODS)
HEAD = ["rows", "method", "seconds", "clusters", "agreement", "note"]


@pytest.fixture
def small(monkeypatch):
    """Sizes that take a moment."""
    monkeypatch.setattr(_benching, "_PILOT", 20)
    monkeypatch.setattr(_benching, "_SIZES", (40, 60))
    monkeypatch.setattr(_benching, "_QUICK_SIZES", (30,))


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


def test_what_would_take_too_long_is_left_out(run, small, monkeypatch):
    monkeypatch.setattr(_benching, "_MADE_LIMIT", 0.0)
    found = results(run("bench", "--threads", 1, "--rows", 50, "--json").stdout)
    assert [n for n, _ in found] == [50] * len(METHODS)
    for row in found.values():
        assert row["seconds"] is None
        assert row["note"].startswith("left out: would take about ")


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


def test_large_data_comes_by_quarters(run, data, small, monkeypatch, groups):
    sizes = []
    monkeypatch.setattr(_benching, "_time_all", lambda cut, given, *rest: sizes.append(given) or [])
    np.save("big.npy", np.tile(groups, (20, 1)))
    for args in ((), ("--quick",), ("--rows", 1000), ("--rows", 999)):
        run("bench", "big.npy", *args, "--json")
    assert sizes == [(300, 1200), (1200,), (250, 1000), (999,)]


def test_rows_cut_from_data_keep_their_links(data, links):
    request = _benching.Request(
        Path(data), Path(links("0,1,must", "2,59,cannot")), None, None, None, "none", None,
        quick=False, threads=1, json=True, quiet=True,
    )  # fmt: skip
    cut, sizes = _benching._data(request, _benching.Console(quiet=True))
    assert sizes == (60,)
    whole = cut(60)
    assert whole.links.must.tolist() == [[0, 1]]
    assert whole.links.cannot.tolist() == [[2, 59]]
    part = cut(20)
    assert part.X.shape == (20, 2)
    for a, b in part.links.must:
        assert {tuple(part.X[a]), tuple(part.X[b])} == {tuple(whole.X[0]), tuple(whole.X[1])}


@pytest.mark.parametrize(
    ("points", "n", "expected"),
    [
        ([], 1000, 0.0),
        ([(100, 1.0)], 400, 8.0),
        ([(100, 1.0), (200, 2.0)], 400, 4.0),
        ([(100, 1.0), (200, 4.0)], 400, 16.0),
        ([(100, 1.0), (200, 1.0)], 400, 2.0),  # no less than n
        ([(100, 1.0), (200, 16.0)], 400, 64.0),  # no more than its square
        ([(100, 0.0), (200, 0.0)], 400, 0.0),
    ],
)
def test_growth(points, n, expected):
    assert Growth(list(points)).predict(n) == pytest.approx(expected)


def test_growth_of_what_is_linear():
    assert Growth([(100, 1.0)], most=1.0).predict(400) == 4.0
    assert Growth([(100, 1.0), (200, 8.0)], most=1.0).predict(400) == 16.0


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
