"""Broken, hostile and odd files: a message with file, place and remedy, exit code 2, no traceback.

Nothing is overwritten, and no temporary file is left.
"""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import chdir
from datetime import date
from decimal import Decimal
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer.testing
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cli.broken_files import (
    DATA,
    FRAME,
    GOOD,
    GOOD_CSV,
    GOOD_LINKS,
    GOOD_NPY,
    GOOD_PARQUET,
    LINKS,
    OPTIONS,
    json_links,
    npy,
    npz,
    parquet,
)
from typer.main import get_command
from typer.testing import CliRunner

from linkshift.cli.app import app

OLD = b"these bytes were here before\n"


@pytest.fixture(autouse=True, scope="module")
def commands_built_once():
    """Typer builds all commands at each call, which takes longer than most refusals."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", cache(get_command), raising=False)
        yield


@pytest.fixture
def unchanged(here):
    """A target to write to, which is as it was in the end; and nothing is left beside it."""
    target = here / "out.csv"
    target.write_bytes(OLD)

    def check(*names):
        assert target.read_bytes() == OLD
        assert sorted(item.name for item in here.iterdir()) == sorted(["out.csv", *names])

    return check


@pytest.mark.parametrize("case", DATA)
def test_data(refused, here, unchanged, case):
    name, content, *told = DATA[case]
    (here / name).write_bytes(content)
    message = refused("cluster", name, *OPTIONS.get(case, "").split(), "-o", "out.csv")
    assert name in message
    for text in told:
        assert text in message
    assert len(message) < 1500
    unchanged(name)


@pytest.mark.parametrize("case", DATA)
def test_data_of_links(run, here, unchanged, case):
    """`links check --data` asks less of the table: where it will do, the links are to blame."""
    name, content, *_ = DATA[case]
    (here / name).write_bytes(content)
    (here / "l.csv").write_bytes(b"a,b,kind\n0,0,must\n")
    message = run("links", "check", "l.csv", "--data", name, code=2).stderr
    assert message.startswith("Error: ")
    assert name in message or "l.csv, line 2" in message
    unchanged(name, "l.csv")


@pytest.mark.parametrize("case", LINKS)
def test_links(refused, here, unchanged, case):
    name, content, *told = LINKS[case]
    (here / name).write_bytes(content)
    (here / "t.npy").write_bytes(GOOD_NPY)
    for command in (
        ("links", "check", name),
        ("links", "check", name, "--data", "t.npy", "--json"),
        ("cluster", "t.npy", "--links", name, "-o", "out.csv"),
    ):
        message = refused(*command)
        assert name in message
        for text in told:
            assert text in message
        assert len(message) < 1500
    unchanged(name, "t.npy")


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.npy", "t.npz", "l.csv", "l.json"])
def test_no_file_at_all(refused, here, unchanged, name):
    target = here / "t.npy"
    target.write_bytes(GOOD_NPY)
    (here / "way").mkdir()
    suffix = Path(name).suffix
    (here / "way" / f"loop{suffix}").symlink_to(f"loop{suffix}")
    (here / "way" / f"gone{suffix}").symlink_to("nowhere")
    (here / "way" / f"folder{suffix}").mkdir()
    os.mkfifo(here / "way" / f"pipe{suffix}")
    for stem, told in (
        ("loop", "cannot be read: Too many levels"),
        ("gone", "a link to a file that does not exist"),
        ("folder", "is a folder" + (": it is worked on" if name[0] == "t" else "; give a file")),
        ("pipe", "is no ordinary file"),
        ("none", "does not exist"),
        ("pipe.csv/x", "does not exist"),
        ("n" * 300, "cannot be read: File name too long"),
    ):
        path = f"way/{stem}{suffix}"
        command = ("cluster", path) if name[0] == "t" else ("cluster", "t.npy", "--links", path)
        message = refused(*command)
        assert told in message
        assert path in message
        if name[0] == "l":
            assert told in refused("links", "check", path)
    unchanged("t.npy", "way")


# --- a billion rows -----------------------------------------------------------------------------


def test_a_billion_rows_without_data(run, links):
    """Legal, as nobody has said how many rows there are; and no memory goes by the index."""
    far = 10**9
    file = links(f"0,{far},must", f"{far},5,must", "5,7,must", f"0,{2**63 - 1},cannot")
    assert "No conflicts among 3 must-links" in run("links", "check", file).stdout
    out = json.loads(run("links", "check", file, "--json").stdout)
    assert out["groups"][0]["rows"] == 4
    file = links(f"0,{far},must", f"{far},5,must", "0,5,cannot", "0,9,cannot", "5,9,cannot")
    out = run("links", "check", file, "--n-samples", 10**12, code=1).stdout
    assert f"against must-links 0 - {far} - 5" in out
    assert "1 redundant link" in out
    assert "4 rows of 1,000,000,000,000" in out


@pytest.mark.parametrize("row", [12, 10**9, 2**63 - 1])
def test_a_billion_rows_with_data(refused, here, unchanged, links, row):
    (here / "t.csv").write_bytes(GOOD_CSV)
    file = links("0,1,must", "0,1,must", "", f"3,{row},cannot")
    said = f"links.csv, line 5: cannot-link 0: (3, {row}): row {row} is out of range for 12 samples"
    message = refused("links", "check", file, "--data", "t.csv")
    assert said in message
    assert "Rows count from 0; correct the pair" in message
    file = links("0,1,must", "", f"3,{row},cannot")
    said = said.replace("line 5", "line 4")
    assert said in refused("cluster", "t.csv", "--links", file, "-o", "out.csv")
    unchanged("t.csv", "links.csv")


def test_a_billion_rows_in_json(refused, run, here):
    (here / "t.csv").write_bytes(GOOD_CSV)
    (here / "l.json").write_bytes(json_links(must=[[0, 1e9]]))
    assert "No conflicts" in run("links", "check", "l.json").stdout
    message = refused("links", "check", "l.json", "--data", "t.csv")
    assert "l.json: must-link 0: (0, 1000000000): row 1000000000 is out of range" in message
    (here / "l.json").write_bytes(json_links(n_samples=10**12))
    assert "for 1000000000000 samples" in refused("cluster", "t.csv", "--links", "l.json")


# --- ids ----------------------------------------------------------------------------------------


def test_unicode_ids(run, refused, here, unchanged):
    names = ["Zoë", "Ärger", "北京", "नमस्ते", "👩‍👩‍👧", "a b", "ǅ", "ﬁ", "x\u200by", "ß", "Σ", "ς"]
    rows = [f"{name},{i % 3},{i % 2}" for i, name in enumerate(names)]
    (here / "t.csv").write_text("\r\n".join(["\ufeffid,x,y", *rows]), encoding="utf-8", newline="")
    pairs = [f"{a},{b},must" for a, b in pairwise(names)]
    text = "\r\n".join(["\ufeffa,b,kind", *pairs, "ς,Zoë,cannot"])
    (here / "l.csv").write_text(text, encoding="utf-8", newline="")
    out = run("links", "check", "l.csv", "--data", "t.csv", "--id-column", "id", code=1).stdout
    assert "line 13: cannot-link ('Zoë', 'ς') against must-links 'Zoë' - 'Ärger' - '北京'" in out
    known = json.loads(
        run(
            "links", "check", "l.csv", "--data", "t.csv", "--id-column", "id", "--json", code=1
        ).stdout
    )
    assert known["conflicts"][0]["chain"] == names
    (here / "l.csv").write_text("a,b,kind\nZoe\u0308,ß,must\n", encoding="utf-8")
    message = refused("cluster", "t.csv", "--links", "l.csv", "--id-column", "id", "-o", "out.csv")
    assert "l.csv, line 2" in message
    assert r"row 0 has it in another Unicode form ('Zoe\u0308' and 'Zo\xeb')" in message
    assert "write both the same way" in message
    unchanged("t.csv", "l.csv")


def test_ids_where_rows_were_expected(refused, here):
    (here / "t.csv").write_bytes(GOOD_CSV)
    (here / "l.csv").write_bytes(b"a,b,kind\n0,1,must\n\n0,s3,must\n")
    for command in (("links", "check", "l.csv", "--data"), ("cluster", "--links", "l.csv")):
        message = refused(*command, "t.csv")
        assert "l.csv, line 4: the file links samples by id, such as 's3'" in message
        assert "--id-column name" in message


# --- odd, and right -----------------------------------------------------------------------------

EXPECTED = FRAME[:12]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", EXPECTED.to_csv(index=False).encode("utf-8-sig")),
        ("t.csv", EXPECTED.to_csv(index=False, lineterminator="\r\n").encode()),
        ("t.csv", EXPECTED.to_csv(index=False, lineterminator="\r").encode()),
        ("t.csv", b"\n\n" + EXPECTED.to_csv(index=False).encode().rstrip()),
        ("t.csv", EXPECTED.to_csv(index=False, quoting=1).encode()),
        (
            "t.csv",
            EXPECTED.rename(columns={"x": " x ", "y": "\u00a0y"}).to_csv(index=False).encode(),
        ),
        ("t.npy", npy(np.asfortranarray(EXPECTED.to_numpy()))),
        ("t.npy", npy(EXPECTED.to_numpy().astype(np.float16))),
        ("t.npy", npy(EXPECTED.to_numpy().astype(np.longdouble))),
        ("t.npy", npy(EXPECTED.to_numpy().astype(">f8"))),
        ("t.npy", npy(EXPECTED.to_numpy().astype(np.uint8))),
        ("t.npy", npy(EXPECTED.to_numpy(), version=(3, 0))),
        ("t.npz", npz(X=EXPECTED.to_numpy(), other=np.zeros(3, dtype="f8,i4"))),
        ("t.parquet", parquet(EXPECTED.map(lambda v: Decimal(str(v))))),
        ("t.parquet", parquet(EXPECTED.assign(day=date(2024, 1, 1), words=[["a"]] * 12))),
        ("t.parquet", parquet(EXPECTED.assign(c=pd.Categorical(["a"] * 12)))),
        ("t.parquet", parquet(EXPECTED.set_index("x"))),
        ("t.parquet", parquet(EXPECTED.set_axis(list("abcdefghijkl")))),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_odd_but_right(run, here, name, content):
    np.save(here / "plain.npy", EXPECTED.to_numpy())
    (here / name).write_bytes(content)
    expected = json.loads(run("cluster", "plain.npy", "--json", "-q").stdout)["labels"]
    assert json.loads(run("cluster", name, "--json", "-q").stdout)["labels"] == expected


@pytest.mark.parametrize(
    "content",
    [
        GOOD_LINKS,
        b"\xef\xbb\xbf" + GOOD_LINKS,
        GOOD_LINKS.replace(b"\n", b"\r\n"),
        GOOD_LINKS.replace(b"\n", b"\r"),
        GOOD_LINKS.replace(b"\n", b"\n\n").rstrip(),
        GOOD_LINKS.replace(b"must", b' "MUST" ').replace(b' "', b'"').replace(b'" ', b'"'),
    ],
)
def test_odd_but_right_links(run, here, content):
    (here / "l.csv").write_bytes(content)
    out = json.loads(run("links", "check", "l.csv", "--json").stdout)
    assert (out["n_must"], out["n_cannot"]) == (2, 1)
    assert out["confidence"]["must"] == {"min": 0.5, "median": 0.75, "max": 1.0}


# --- mutations ----------------------------------------------------------------------------------

AWKWARD = [b'"', b",", b"\r", b"\n", b"\0", b"-", b"e999", b"nan", b"\xef\xbb\xbf", b"9" * 40]


@st.composite
def mutated(draw, content):
    """Flip bits, cut, insert, repeat or swap pieces of a file."""
    data = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        how = draw(st.sampled_from(["flip", "cut", "insert", "delete", "repeat", "awkward"]))
        if how == "flip" and data:
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif how == "cut":
            del data[at:]
        elif how == "insert":
            data[at:at] = draw(st.binary(min_size=1, max_size=8))
        elif how == "delete":
            del data[at : at + draw(st.integers(1, 20))]
        elif how == "repeat":
            data[at:at] = data[at : at + draw(st.integers(1, 60))]
        else:
            data[at:at] = draw(st.sampled_from(AWKWARD))
    return bytes(data)


def well_behaved(*args):
    """Success, conflicts, or exit code 2 with a message; anything else is a bug."""
    result = CliRunner().invoke(app, list(args))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code == 2:
        assert "Error: " in result.stderr
        assert "Traceback" not in result.stderr
        assert result.stdout == ""
    else:
        assert result.exit_code in ((0, 1) if args[0] == "links" else (0,)), result.output
    return result.exit_code


def try_out(name, content):
    """Use a file in all ways; give the exit codes."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path(name).write_bytes(content)
        Path("out.csv").write_bytes(OLD)
        if name.startswith("l"):
            Path("t.npy").write_bytes(GOOD_NPY)
            codes = [
                well_behaved("links", "check", name),
                well_behaved("links", "check", name, "--data", "t.npy", "--json"),
            ]
        else:
            Path("l.csv").write_bytes(GOOD_LINKS)
            codes = [
                well_behaved("links", "check", "l.csv", "--data", name),
                well_behaved("cluster", name, "-q", "-o", "out.csv", "--max-iter", "5"),
            ]
            assert (Path("out.csv").read_bytes() == OLD) == (codes[1] == 2)
        assert not [item for item in Path().iterdir() if ".tmp" in item.name]
    return codes


def check_mutations(name, examples):
    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(mutated(GOOD[name]))
    def check(content):
        try_out(name, content)

    check()


@pytest.mark.parametrize("name", GOOD)
def test_what_is_mutated_was_good(name):
    assert try_out(name, GOOD[name]) == [0, 0]


@pytest.mark.parametrize("name", GOOD)
def test_some_mutations(name):
    check_mutations(name, 15)


@pytest.mark.slow
@pytest.mark.parametrize("name", GOOD)
def test_many_mutations(name):
    check_mutations(name, 150)


# --- the installed command ----------------------------------------------------------------------

COMMAND = Path(sys.executable).parent / "linkshift"


@pytest.mark.parametrize(
    ("name", "content", "told", "installed"),
    [
        ("t.parquet", GOOD_PARQUET[:-40], "t.parquet cannot be read as Parquet", True),
        ("t.csv", b"\xef\xbb\xbfx,y\r\n1,2\r\n3,oops\r\n", "t.csv, line 3: column 'y'", False),
        (
            "l.csv",
            b"\xef\xbb\xbfa,b,kind\r\n0,1000000000,must\r\n",
            "l.csv, line 2: must-link 0",
            False,
        ),
        ("l.csv", "a,b,kind\r\ns0,Zoe\u0308,must\r\n".encode(), "l.csv, line 2: must-link 0", True),
    ],
)
def test_installed(here, unchanged, run, name, content, told, installed):
    (here / "t.csv").write_bytes(GOOD_CSV)
    (here / name).write_bytes(content)
    data = name if name.startswith("t") else "t.csv"
    args = ["cluster", data, "-o", "out.csv"]
    args += ["--columns", "x,y"] if name == "t.csv" else []
    if name == "l.csv":
        args += ["--links", name] + (["--id-column", "name"] if b"s0" in content else [])
    if installed:
        done = subprocess.run([COMMAND, *args], capture_output=True, text=True, check=False)
        assert done.returncode == 2
    else:
        done = run(*args, code=2)
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    unchanged(*{"t.csv", name})


def test_installed_check(here):
    (here / "l.csv").write_bytes(b"a,b,kind\n0,1000000000,must\n0,1000000000,cannot\n")
    done = subprocess.run(
        [COMMAND, "links", "check", "l.csv"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert "line 3: cannot-link (0, 1000000000) against must-links 0 - 1000000000" in done.stdout
