"""The command as people call it, in a process of its own."""

import json
import subprocess
import sys

import pytest

import linkshift


def call(*args, cwd=None, start=("-m", "linkshift.cli")):
    return subprocess.run(
        [sys.executable, *start, *args], cwd=cwd, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "args", [["--help"], ["-h"], ["cluster", "--help"], ["links", "-h"], ["ask", "-h"]]
)
def test_help(args):
    done = call(*args)
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: linkshift")
    assert done.stderr == ""


def test_version():
    assert call("--version").stdout == f"linkshift {linkshift.__version__}\n"


def test_help_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from linkshift.cli import main\n"
        "sys.argv = ['linkshift', 'cluster', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'pandas', 'sklearn', 'scipy', 'numba', 'rich.progress'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    assert call(start=("-c", code)).stderr == "[]\n"


def test_a_command_is_loaded_when_it_is_called():
    code = (
        "import sys\n"
        "from linkshift.cli import main\n"
        "sys.argv = ['linkshift', 'predict', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print([m for m in sys.modules if m.startswith('linkshift.cli.commands.')],"
        " file=sys.stderr)\n"
    )
    assert call(start=("-c", code)).stderr == "['linkshift.cli.commands.predict']\n"


def test_a_wrong_command_is_guessed():
    done = call("clustr")
    assert done.returncode == 2
    assert "Did you mean 'cluster'" in done.stderr


def test_what_looks_like_a_command_says_where_it_is():
    done = call("report", "model.npz")
    assert done.returncode == 2
    assert "linkshift cluster DATA --report report.html" in done.stderr


def test_without_the_extra():
    code = (
        "import sys; sys.modules['typer'] = None\n"
        "from linkshift.cli import main\nsys.argv = ['linkshift', '--help']\nmain()"
    )
    done = call(start=("-c", code))
    assert (done.returncode, done.stdout) == (2, "")
    assert "needs typer" in done.stderr
    assert 'pip install "linkshift[cli]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_stdout_is_pure_data(here, data):
    done = call("cluster", data, cwd=here)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "row,label"
    assert [int(line.split(",")[0]) for line in lines[1:]] == list(range(60))
    assert "3 clusters" in done.stderr


def test_json_is_pure_data(here, data):
    done = call("cluster", data, "--json", cwd=here)
    assert json.loads(done.stdout)["n_clusters"] == 3


def test_mistakes_leave_with_2(here):
    done = call("cluster", "no.csv", cwd=here)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Error: no.csv does not exist.\n"


def test_conflicts_leave_with_1(here, links):
    done = call("links", "check", links("0,1,must", "0,1,cannot"), cwd=here)
    assert done.returncode == 1
    assert done.stderr == ""


def test_links_are_checked_without_scikit_learn(here, links):
    code = (
        "import sys\n"
        "from linkshift.cli import main\n"
        f"sys.argv = ['linkshift', 'links', 'check', {links('0,1,must')!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(sorted({'sklearn', 'pandas', 'numba'} & set(sys.modules)), file=sys.stderr)\n"
    )
    done = call(start=("-c", code), cwd=here)
    assert done.stdout.startswith("No conflicts")
    assert done.stderr == "[]\n"


def test_a_bug_leaves_with_1_and_its_trace(here, data):
    code = (
        "import sys\n"
        "from linkshift.cli import main\n"
        "from linkshift.tables import scaling\n"
        "scaling.Scaling = None\n"
        f"sys.argv = ['linkshift', 'cluster', {data!r}]\nmain()"
    )
    done = call(start=("-c", code), cwd=here)
    assert done.returncode == 1
    assert "AttributeError" in done.stderr
