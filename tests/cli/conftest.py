"""Three clear groups in a table, a runner for the command, and links for them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from linkshift.cli.app import app

PER_GROUP = 20


@pytest.fixture
def groups():
    """Rows 0-19 near (0, 0), 20-39 near (5, 0), 40-59 near (0, 5)."""
    rng = np.random.default_rng(0)
    centres = np.repeat([(0.0, 0.0), (5.0, 0.0), (0.0, 5.0)], PER_GROUP, axis=0)
    return centres + rng.normal(scale=0.3, size=centres.shape)


@pytest.fixture
def frame(groups):
    table = pd.DataFrame(groups, columns=["x", "y"])
    table.insert(0, "name", [f"s{i:02d}" for i in range(len(table))])
    return table


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in, so that messages hold short names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def data(here, frame):
    """data.csv: name (text), x, y."""
    frame.to_csv("data.csv", index=False)
    return "data.csv"


@pytest.fixture
def run(here):
    """Call the command; refuse a traceback."""

    def call(*args, code=0):
        result = CliRunner().invoke(app, [str(arg) for arg in args])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    return call


@pytest.fixture
def refused(run):
    """Call with a mistake: exit code 2, nothing on stdout. Gives the message in one line."""

    def call(*args):
        result = run(*args, code=2)
        assert result.stdout == ""
        assert "Error: " in result.stderr
        assert "Traceback" not in result.stderr
        return " ".join(result.stderr.split())

    return call


@pytest.fixture
def links(here):
    """Write a file of links from lines."""

    def write(*lines, name="links.csv", header="a,b,kind"):
        (here / name).write_text("\n".join((header, *lines)) + "\n")
        return name

    return write
