"""Streams that are closed, full, limited or of another encoding; pipes and devices as targets."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from linkshift._core.files import is_device, replacing
from linkshift._core.messages import Refusal

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a POSIX shell says what streams are")

FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
COMMAND = f"{shlex.quote(sys.executable)} -m linkshift.cli"


def shell(text, here, **environment):
    """Call the command (`linkshift` in the text) from a shell."""
    done = subprocess.run(
        ["sh", "-c", text.replace("linkshift", COMMAND)],
        cwd=here,
        capture_output=True,
        check=False,
        timeout=120,
        env={**os.environ, **environment},
    )
    assert b"Traceback" not in done.stderr
    return done


@pytest.fixture
def table(here):
    """Twelve rows with an id that no byte holds, and a link."""
    rows = [f"\N{GRINNING FACE}{i},{i % 3},{i % 2}" for i in range(12)]
    (here / "t.csv").write_text("\n".join(["id,x,y", *rows, ""]), encoding="utf-8")
    (here / "l.csv").write_text("a,b,kind\n0,1,must\n", encoding="utf-8")
    return here


@pytest.mark.parametrize(
    "text",
    [
        "linkshift links check l.csv >&-",
        "linkshift cluster t.csv >&-",
        "linkshift cluster t.csv >&- <&-",
    ],
)
def test_a_closed_stdout_is_told(table, text):
    done = shell(text, table)
    assert done.returncode == 2
    assert done.stderr.startswith(b"Error: stdout is closed, and the result goes there.")


def test_a_dash_is_stdout_for_tables_only(run, refused, data):
    for command in (
        ("cluster", data),
        ("bandwidths", data, "--levels", "2"),
        ("datasets", "moons"),
    ):
        plain, dash = run(*command), run(*command, "-o", "-")
        assert dash.stdout == plain.stdout
        assert "Written" not in dash.stderr
    labels = run("cluster", data, "-o", "-").stdout.splitlines()  # and nothing that is said
    assert labels[0] == "row,label"
    assert all(line.replace(",", "").isdigit() for line in labels[1:])
    for option in ("--report", "--plot", "--save"):
        assert f"{option} does not write to stdout. Name a file: ." in refused(
            "cluster", data, option, "-"
        )


@FULL
@pytest.mark.parametrize("text", ["links check l.csv", "--help", "--version"])
def test_a_full_stdout_is_told(table, text):
    done = shell(f"linkshift {text} >/dev/full", table)
    assert done.returncode == 2
    assert done.stderr.startswith(b"Error: stdout cannot be written: No space left on device.")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_limit_on_files_is_told(table, unbuffered):
    """Unbuffered, Python drops what a write has left over: half a result would be none's fault."""
    text = "ulimit -f 1; linkshift datasets moons -q >out.csv"
    done = shell(text, table, PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 2
    assert done.stderr.startswith(b"Error: stdout cannot be written: File too large.")


@pytest.mark.parametrize(
    "redirected", ["2>&-", pytest.param("2>/dev/full", marks=FULL), "<&- 2>&- >out"]
)
def test_results_need_no_stderr(table, redirected):
    done = shell(f"linkshift datasets moons -o blobs.csv {redirected}", table)
    assert done.returncode == 0
    assert (table / "blobs.csv").stat().st_size > 100


@FULL
def test_mistakes_need_no_stderr(table):
    assert shell("linkshift links check none.csv 2>/dev/full", table).returncode == 2
    assert shell("linkshift links --none 2>/dev/full", table).returncode == 2


def test_data_are_utf_8_in_any_locale(table, run):
    command = "linkshift cluster t.csv --id-column id -q --method mean-shift --bandwidth 1"
    plain = run(*command.split()[1:]).stdout_bytes
    assert "\N{GRINNING FACE}3,".encode() in plain
    assert shell(command, table, PYTHONIOENCODING="ascii").stdout == plain
    assert shell(f"{command} -o out.csv", table, PYTHONIOENCODING="ascii").returncode == 0
    assert (table / "out.csv").read_bytes() == plain


def test_a_reader_that_has_had_enough(table):
    assert shell("linkshift datasets moons --rows 20000 -q | head -1", table).stderr == b""


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("-o", "pipe.csv"),
        ("-o", "/dev/stdout"),
        ("-o", "/dev/fd/1"),
        ("-o", "/dev/null"),
        ("--save", "pipe.npz"),
        ("--plot", "pipe.png"),
        ("--report", "pipe.html"),
    ],
)
def test_pipes_and_devices_are_no_targets(table, refused, option, name):
    if not name.startswith("/"):
        os.mkfifo(name)
    message = refused("cluster", "t.csv", option, name)
    assert f"{name} is no ordinary file, and cannot be replaced by one" in message
    assert is_device(name)


def test_pipes_and_devices_are_not_replaced(here):
    os.mkfifo("pipe")
    with pytest.raises(Refusal, match="no ordinary file"), replacing("pipe"):
        pass
    assert is_device("pipe")
    assert is_device("/dev/stdout")
    assert not is_device(here)
    assert not is_device("none")
    assert not is_device("none\0")
