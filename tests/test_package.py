"""The door of the package: names, version, and how little an import costs."""

import ast
import importlib
import os
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import linkshift

ROOT = Path(__file__).parents[1]


def modules_after(code):
    code = f"import sys\n{code}\nprint(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    return {name.partition(".")[0] for name in result.stdout.split()}


def test_import_waits_for_nothing_heavy():
    loaded = modules_after("import linkshift")
    assert "linkshift" in loaded
    assert not loaded & {"sklearn", "numba", "matplotlib", "scipy", "pandas", "joblib", "torch"}


def test_matplotlib_is_only_for_plots():
    loaded = modules_after("from linkshift import MeanShift")
    assert {"sklearn", "numba"} <= loaded
    assert "matplotlib" not in loaded


def test_the_page_says_what_to_install():
    code = (
        "import sys, linkshift\n"
        "sys.modules['starlette'] = None\n"  # as if it were not installed
        "try: linkshift.Session([[0.0], [1.0], [9.0]]).serve(browser=False)\n"
        "except ImportError as error: assert 'linkshift[web]' in str(error), error\n"
        "else: raise SystemExit('served')"
    )
    assert "linkshift" in modules_after(code)


@pytest.mark.parametrize("name", linkshift.__all__)
def test_every_public_name_resolves(name):
    assert getattr(linkshift, name) is not None
    assert name in dir(linkshift)


def test_names_are_unique():
    assert len(linkshift.__all__) == len(set(linkshift.__all__))


def test_type_checkers_see_the_same_names():
    tree = ast.parse(Path(linkshift.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname: f"{part.module}.{alias.name}" for part in block.body for alias in part.names
    }
    assert set(seen) == set(linkshift.__all__)
    for name, where in seen.items():
        module, _, attribute = where.rpartition(".")
        found = getattr(importlib.import_module(module), attribute, None)
        assert (found or importlib.import_module(where)) is getattr(linkshift, name)


def test_classes_are_those_of_their_rooms():
    from linkshift.estimators.mean_shift import MeanShift
    from linkshift.links import Links

    assert linkshift.MeanShift is MeanShift
    assert linkshift.Links is Links


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        linkshift.no_such_name  # noqa: B018


def test_the_version_stands_in_one_place():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert ROOT / project["tool"]["hatch"]["version"]["path"] == Path(linkshift.__file__)
    # Where this fails after a change of the version: `pip install -e .` tells pip of it.
    assert metadata.version("linkshift") == linkshift.__version__


def test_types_ship_with_the_package():
    assert (Path(linkshift.__file__).parent / "py.typed").exists()


def test_star_import_gives_the_public_names():
    code = "from linkshift import *\nassert {'Links', 'MeanShift'} <= set(globals())"
    env = {**os.environ, "PYTHONWARNINGS": "error"}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, env=env)
