"""A cache that cannot be used costs time, never an error."""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from numba.core import caching

import linkshift

PACKAGE = Path(linkshift.__file__).parent

PROBE = """
from linkshift._core.jit import jit


@jit
def twice(x):
    return x + x
"""


@pytest.fixture
def probe(tmp_path, monkeypatch):
    """A function that compiles a fresh module which uses the decorator, and runs it."""
    (tmp_path / "linkshift_probe.py").write_text(PROBE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))

    def compile_and_run():
        sys.modules.pop("linkshift_probe", None)
        module = importlib.import_module("linkshift_probe")
        assert module.twice(21.0) == 42.0
        return module.twice.stats

    yield compile_and_run
    sys.modules.pop("linkshift_probe", None)


def test_compiled_code_is_cached(probe, tmp_path):
    assert sum(probe().cache_misses.values()) == 1
    assert list((tmp_path / "cache").rglob("*.nbc"))
    assert sum(probe().cache_hits.values()) == 1


@pytest.mark.parametrize("error", [RuntimeError("no locator"), OSError("no disk")])
def test_no_locator(probe, tmp_path, monkeypatch, error):
    def fail(*args, **kwargs):
        raise error

    implementation = getattr(caching, "CacheImpl", None) or caching._CacheImpl  # by version
    monkeypatch.setattr(implementation, "__init__", fail)
    probe()
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("error", [OSError(28, "No space left"), PermissionError("read only")])
@pytest.mark.parametrize("place", ["save", "load", "_save_index", "_load_data"])
def test_a_disk_that_fails_later(probe, monkeypatch, error, place):
    if place == "_load_data":
        probe()  # so that there is something to load

    def fail(*args, **kwargs):
        failed.append(place)
        raise error

    failed = []
    monkeypatch.setattr(caching.IndexDataCacheFile, place, fail)
    probe()
    assert failed


@pytest.mark.parametrize("damage", [b"", b"not a pickle"], ids=["empty", "garbage"])
@pytest.mark.parametrize("which", ["*.nbi", "*.nbc"])
def test_a_damaged_cache_costs_only_time(probe, tmp_path, damage, which):
    probe()
    damaged = list((tmp_path / "cache").rglob(which))
    assert damaged
    for file in damaged:
        file.write_bytes(damage)
    probe()


# In an environment of its own

COMPILE = """
import numpy as np
from linkshift.shift import _loops

lanes = np.zeros((1, _loops.LANES))
out = np.empty((4, _loops.LANES))
_loops._squared_distances(lanes, np.full((4, 1), 3.0), 0, out)
assert (out == 9.0).all()
print("fine", _loops.__file__)
"""


def run(folder, **environment):
    env = {**os.environ, "PYTHONWARNINGS": "error::RuntimeWarning", **environment}
    result = subprocess.run(
        [sys.executable, "-c", COMPILE],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("fine")
    assert str(folder) in result.stdout  # else the test would test another package


@pytest.fixture
def copied_package(tmp_path):
    """A copy of the package, with no caches, that is imported before the installed one."""
    shutil.copytree(PACKAGE, tmp_path / "linkshift", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@pytest.mark.parametrize("where", ["below a file", "below /dev/null"])
def test_a_cache_directory_that_cannot_be(copied_package, where):
    (copied_package / "file").touch()
    below_file = str(copied_package / "file" / "cache")
    run(copied_package, NUMBA_CACHE_DIR="/dev/null/x" if where == "below /dev/null" else below_file)


def test_no_place_for_a_cache_at_all(copied_package):
    # Root may write anywhere, so that the package's own directory and the user's are made
    # unusable by putting files where the directories would be.
    (copied_package / "linkshift" / "shift" / "__pycache__").touch()
    (copied_package / "home").touch()
    home = str(copied_package / "home")
    run(copied_package, NUMBA_CACHE_DIR="", HOME=home, XDG_CACHE_HOME=home, IPYTHONDIR=home)
    assert not list(copied_package.rglob("*.nbi"))
