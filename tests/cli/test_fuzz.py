"""Broken, hostile and odd files: a message with file, place and remedy, exit code 2, no traceback.

Nothing is overwritten, and no temporary file is left.
"""

import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile
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
from typer.main import get_command
from typer.testing import CliRunner

from linkshift import Links
from linkshift.cli._app import app

OLD = b"these bytes were here before\n"
GOOD_CSV = b"name,x,y\n" + b"".join(b"s%d,%d.5,%d\n" % (i, i % 3, i % 2) for i in range(12))
GOOD_LINKS = b"a,b,kind,confidence\n0,1,must,0.5\n1,2,must,\n0,3,cannot,1\n"


def npy(array, **options):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, **options)
    return file.getvalue()


def header(shape, descr="<f8", order="False"):
    """A npy file that says what it likes of itself, and holds eight numbers."""
    text = f"{{'descr': {descr!r}, 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(64)


def npz(**members):
    """A zip of npy files: arrays, or the bytes that stand for them."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            data = member if isinstance(member, bytes) else npy(member)
            archive.writestr(f"{name}.npy", data)
    return file.getvalue()


def parquet(frame):
    file = io.BytesIO()
    frame.to_parquet(file)
    return file.getvalue()


def parquet_twice():
    """A file with two columns of the same name."""
    import pyarrow as pa
    import pyarrow.parquet

    file = io.BytesIO()
    column = pa.array([1.0, 2.0])
    pa.parquet.write_table(pa.Table.from_arrays([column, column], names=["x", "x"]), file)
    return file.getvalue()


def json_links(**changes):
    data = json.loads(Links([(0, 1)], [(1, 2)]).to_json()) | changes
    return json.dumps({key: value for key, value in data.items() if value != "left out"}).encode()


NOISE = np.random.default_rng(7).bytes(5000)
FRAME = pd.DataFrame({"x": np.arange(50.0), "y": np.arange(50.0) % 7})
GOOD_PARQUET = parquet(FRAME)
GOOD_NPY = npy(FRAME.to_numpy())
GOOD_NPZ = npz(X=FRAME.to_numpy(), name=np.array([f"s{i}" for i in range(50)]))
# Signed sizes at the end of a zip, patched to say that a small member is a huge one.
LYING_NPZ = npz(X=header("(2, 10000000000000)")).replace(
    len(header("(2, 10000000000000)")).to_bytes(4, "little"), (2**31).to_bytes(4, "little")
)

# name: (file, bytes, what the message says)
DATA = {
    "random-csv": ("t.csv", NOISE, "line 1: ", "Save it as UTF-8"),
    "random-tsv": ("t.tsv", NOISE, "line 1: ", "Save it as UTF-8"),
    "random-parquet": ("t.parquet", NOISE, "cannot be read as Parquet", "write it again"),
    "random-npy": ("t.npy", NOISE, "cannot be read", "numpy.save"),
    "random-npz": ("t.npz", NOISE, "cannot be read", "numpy.save"),
    "empty-csv": ("t.csv", b"", "t.csv is empty", "names its columns"),
    "empty-parquet": ("t.parquet", b"", "cannot be read as Parquet", "write it again"),
    "empty-npy": ("t.npy", b"", "cannot be read", "write it again"),
    "empty-npz": ("t.npz", b"", "cannot be read", "write it again"),
    "blank-lines": ("t.csv", b"\n  \r\n\n", "t.csv is empty", "names its columns"),
    "only-a-mark": ("t.csv", b"\xef\xbb\xbf", "t.csv is empty", "names its columns"),
    "only-separators": ("t.csv", b"\n,,\n1,2,3\n", "line 2: no names", "names its columns"),
    "only-header": ("t.csv", b"x,y\n", "has no rows", "Give a table with data"),
    "only-header-parquet": ("t.parquet", parquet(FRAME[:0]), "has no rows", "Give a table"),
    "no-columns-parquet": ("t.parquet", parquet(FRAME[[]]), "has no columns", "Give a table"),
    "truncated-parquet": ("t.parquet", GOOD_PARQUET[:-40], "cannot be read as Parquet", "again"),
    "half-parquet": ("t.parquet", GOOD_PARQUET[: len(GOOD_PARQUET) // 2], "Parquet", "again"),
    "truncated-npy": ("t.npy", GOOD_NPY[:-40], "(50, 2)", "cut short"),
    "truncated-npy-header": ("t.npy", GOOD_NPY[:40], "cannot be read", "cut short"),
    "truncated-npz": ("t.npz", GOOD_NPZ[:-40], "cannot be read", "cut short"),
    "truncated-csv": ("t.csv", b"x,y\n1,2\n3,", "line 3: ", "y: missing in row 1", "Fill"),
    "ragged-long": ("t.csv", b"x,y\n1,2\n3,4,5\n", "line 3: 3 cells", "correct the line"),
    "ragged-long-all": ("t.csv", b"x,y\n\n1,2,3\n4,5,6\n", "line 3: 3 cells", "Name every"),
    "ragged-short": ("t.csv", b"x,y\r\n1,2\r\n\r\n3\r\n", "line 4: ", "y: missing in row 1"),
    "no-such-column": ("t.csv", GOOD_CSV, "t.csv has no column 'z'", "Its columns"),
    "text-column": (
        *("t.csv", b"x,y\r1,2\r\r3,oops\r"),
        *("t.csv, line 4: column 'y' is not numeric: row 1 has 'oops'", "Correct it"),
    ),
    "utf16": ("t.csv", "x,y\n1,2\n".encode("utf-16"), "line 1: this is UTF-16", "Save it as UTF-8"),
    "utf16-no-mark": ("t.csv", "x,y\n1,2\n".encode("utf-16-le"), "line 1: a NUL", "UTF-8"),
    "utf32": ("t.csv", "x,y\n1,2\n".encode("utf-32"), "this is UTF-32", "Save it as UTF-8"),
    "latin1": ("t.csv", "x,y\r\n1,2\r\n3,größe\r\n".encode("latin-1"), "line 3: the byte 0xf6"),
    "cut-character": ("t.csv", "x,y\n1,2\n3,4é".encode()[:-1], "line 3: the byte 0xc3", "UTF-8"),
    "nul": ("t.csv", b"x,y\n1,2\n3,4\x005\n", "line 3: a NUL byte", "damaged"),
    "nul-far-away": ("t.csv", b"x,y\n" + b"1,2\n" * 400_000 + b"\0", "line 400002: a NUL byte"),
    "open-quote": ("t.csv", b'x,y\n1,2\n"3,4\n5,6\n', "line 3: a quote is not closed", "Close it"),
    "open-quote-in-header": ("t.csv", b'x,"y\n1,2\n3,4\n', "t.csv", "Close it"),
    "huge-field": ("t.csv", b"x" * 200_000 + b",y\n1,2\n", "line 1: field larger", "quote"),
    "same-names": ("t.csv", b"x,y,x\n1,2,3\n", "line 1: two columns are called 'x'", "Rename"),
    "same-names-spaces": ("t.csv", b"x, y,x \n1,2,3\n", "two columns are called 'x'", "Rename"),
    "same-names-parquet": ("t.parquet", parquet_twice(), "t.parquet", ""),
    "infinite-csv": ("t.csv", b"x,y\n1,2\n\n3,inf\n", "line 4: ", "y: infinite in row 1", "Fill"),
    "missing-csv": ("t.csv", b"x,y\n1,2\n3,nan\n", "line 3: ", "--columns x"),
    "missing-npy": ("t.npy", npy(np.array([[1, 2], [3, np.nan]])), "t.npy: ", "row 1", "Fill"),
    "too-large": ("t.csv", b"x,y\n1,2\n3,1e200\n", "line 3: ", "y: too large", "row 1", "Fill"),
    "too-large-float32": (
        *("t.npy", npy(np.float32([[1, 2], [3, 1e30]])), "1: too large", "beyond 1e+18", "Fill"),
    ),
    "long-line": (
        "t.csv",
        b"x,y\n1," + b"2" * 3_000_000 + b"\n",
        "t.csv: column 'y' is not",
        "222...",
    ),
    "text-only": ("t.csv", b"x,y\na,b\n", "no numeric columns", "x (text), y (text)"),
    "ids-twice": (
        *("t.csv", b"x,y\n1,7\n\n2,7\n", "line 4: --id-column y: rows 0 and 1", "choose another"),
    ),
    "ids-missing": (
        *("t.csv", b"x,y\n1,7\n2,\n", "t.csv, line 3: --id-column y: no id in row 1", "Fill"),
    ),
    "dates": ("t.parquet", parquet(FRAME.assign(x=date(2024, 1, 1))), "holds dates", "numbers"),
    "lists": (
        *("t.parquet", parquet(FRAME.assign(x=[[1, 2]] * 50)), "holds lists", "into numbers"),
    ),
    "lists-as-ids": (
        *("t.parquet", parquet(FRAME.assign(x=[[i] for i in range(50)])), "holds lists", "another"),
    ),
    "structs-as-ids": (
        *("t.parquet", parquet(FRAME.assign(x=[{"a": i} for i in range(50)])), "lists", "another"),
    ),
    "categories": (
        *("t.parquet", parquet(FRAME.assign(x=pd.Categorical(["a", "b"] * 25)))),
        *("column 'x' is not numeric: row 0 has 'a'", "leave the column out"),
    ),
    "pickle-npy": ("t.npy", npy(np.array([[{}]]), allow_pickle=True), "Python objects", "astype"),
    "pickle-npz": (
        *("t.npz", npz(X=FRAME.to_numpy(), name=npy(np.array([{}]), allow_pickle=True))),
        *("t.npz, array name holds Python objects", "array.astype(str)"),
    ),
    "complex": ("t.npy", npy(np.ones((5, 2)) * 1j), "complex128'), not numbers", "imaginary"),
    "0-d": ("t.npy", npy(np.array(3.0)), "has shape ()", "reshape(-1, 1)"),
    "1-d": ("t.npy", npy(np.arange(3.0)), "has shape (3,)", "reshape(-1, 1)"),
    "3-d": ("t.npy", npy(np.zeros((2, 2, 2))), "has shape (2, 2, 2)", "rows and columns"),
    "structured": ("t.npy", npy(np.zeros(3, dtype="f8,i4")), "not numbers", "fields as columns"),
    "times": (
        "t.npy",
        npy(np.zeros((3, 2), dtype="M8[s]")),
        "M8[s]'), not numbers",
        "astype(float)",
    ),
    "text-npy": ("t.npy", npy(np.array([["a", "b"]])), "not numbers", "astype(float)"),
    "no-rows-npy": ("t.npy", npy(np.empty((0, 2))), "has no rows", "Give a table"),
    "no-columns-npy": ("t.npy", npy(np.empty((3, 0))), "has no columns", "Give a table"),
    "terabytes-npy": ("t.npy", header("(1000000, 1000000)"), "8,000,000,000,000 bytes", "damaged"),
    "terabytes-npz": ("t.npz", npz(X=header("(1000000, 1000000)")), "array X", "damaged"),
    "lying-npz": ("t.npz", LYING_NPZ, "t.npz", "rite it again"),
    "beyond-counting": ("t.npy", header("(" + "9" * 30 + ", 2)"), "t.npy", "again"),
    "rows-of-nothing": ("t.npy", header("(1000000000000, 0)"), "has no columns", "Give a table"),
    "negative-shape": ("t.npy", header("(-3, 2)"), "t.npy", "again"),
    "odd-header": ("t.npy", header("'many'"), "cannot be read", "again"),
    "deep-header": ("t.npy", header("(" * 3000 + ")" * 3000), "cannot be read", "again"),
    "odd-type": ("t.npy", header("(4, 2)", "<q9"), "cannot be read", "again"),
    "too-new": ("t.npy", b"\x93NUMPY\x09\x00" + bytes(100), "cannot be read", "again"),
    "no-arrays": ("t.npz", npz(), "must hold an array called X", "It holds nothing"),
    "long-double": ("t.npy", npy(np.array([[1e4000, 2]], dtype="g")), "infinite in row 0", "Fill"),
}
OPTIONS = {
    "no-such-column": "--columns z",
    "text-column": "--columns x,y",
    "long-line": "--columns x,y",
    "ids-twice": "--id-column y",
    "ids-missing": "--id-column y",
    "dates": "--columns x",
    "lists": "--columns x",
    "lists-as-ids": "--id-column x",
    "structs-as-ids": "--id-column x",
    "categories": "--columns x",
}
# Without a system type that goes further than a double there is nothing to overflow.
if np.finfo("g").max == np.finfo("d").max:
    del DATA["long-double"]

LINKS = {
    "random": ("l.csv", NOISE, "line 1: ", "Save it as UTF-8"),
    "random-json": ("l.json", NOISE, "line 1: ", "Save it as UTF-8"),
    "empty": ("l.csv", b"", "l.csv is empty", "a,b,kind"),
    "empty-json": ("l.json", b"", "l.json is not JSON: line 1", "to_json"),
    "blank": ("l.csv", b"\r\n\r\n", "l.csv is empty", "a,b,kind"),
    "wrong-columns": ("l.csv", b"p,q,kind\n0,1,must\n", "line 1: expected the header", "a,b,kind"),
    "no-header": ("l.csv", b"0,1,must\n", "line 1: expected the header a,b,kind", "first line"),
    "same-columns": ("l.csv", b"a,a,b,kind\n0,0,1,must\n", "line 1", "a,b,kind"),
    "more-columns": ("l.csv", b"a,b,kind,when\n", "line 1: unknown column 'when'", "expected"),
    "ragged": ("l.csv", b"a,b,kind\r\n0,1,must\r\n\r\n0,2\r\n", "line 4: expected 3", "correct"),
    "semicolons": ("l.csv", b"a;b;kind\n0;1;must\n", "line 1", "a,b,kind"),
    "kind": ("l.csv", b"a,b,kind\n0,1,perhaps\n", "line 2: kind must be 'must'", "correct it"),
    "no-end": ("l.csv", b"a,b,kind\n0,,must\n", "line 2: column 'b' is empty", "a row or an id"),
    "itself": ("l.csv", b"a,b,kind\r0,1,must\r5,5,must\r", "line 3", "remove the pair"),
    "negative": ("l.csv", b"a,b,kind\n0,-1,must\n", "line 2", "count rows from the start"),
    "huge": ("l.csv", b"a,b,kind\n0,1" + b"0" * 30 + b",must\n", "line 2", "64 bits"),
    "digits": (
        "l.csv",
        b"a,b,kind\n0," + b"7" * 9000 + b",must\n",
        "line 2: '777",
        "whole numbers",
    ),
    "float": ("l.csv", b"a,b,kind\n0,1,must\n0,1e9,must\n", "line 3: '1e9' is no row", "whole"),
    "pandas-float": ("l.csv", b"a,b,kind\n0.0,1.0,must\n", "line 2: '0.0'", "whole numbers"),
    "nan": ("l.csv", b"a,b,kind\n0,nan,must\n", "line 2: 'nan' is no row number", "whole"),
    "sure": ("l.csv", b"a,b,kind,confidence\n0,1,must,nan\n", "line 2", "in (0, 1]"),
    "unsure": ("l.csv", b"a,b,kind,confidence\n0,1,must,0\n", "line 2", "nobody believes"),
    "high": ("l.csv", b"a,b,kind,confidence\n0,1,must,high\n", "line 2: confidence", "(0, 1]"),
    "open-quote": ("l.csv", b'a,b,kind\n0,1,"must\n2,3,must\n', "line 2 (to line 3", "closed?"),
    "huge-field": ("l.csv", b'a,b,kind\n0,1,"' + b"y\n" * 90_000, "line 2: field", "closed?"),
    "long-kind": ("l.csv", b"a,b,kind\n0,1," + b"y" * 90_000, "line 2: kind must be", "..."),
    "utf16": ("l.csv", "a,b,kind\n".encode("utf-16"), "this is UTF-16", "Save it as UTF-8"),
    "latin1": ("l.csv", b"a,b,kind\n0,1,must\n0,\xe9,must\n", "line 3: the byte 0xe9", "UTF-8"),
    "nul": ("l.csv", b"a,b,kind\n0,1\0,must\n", "line 2: a NUL byte", "damaged"),
    "json-list": ("l.json", b"[]", "does not hold links", "to_json"),
    "json-number": ("l.json", b"7", "does not hold links", "to_json"),
    "json-cut": ("l.json", json_links()[:-20], "l.json is not JSON: line 1, column", "to_json"),
    "json-deep": ("l.json", b"[" * 100_000, "l.json does not hold links", "to_json"),
    "json-digits": ("l.json", b"7" * 9000, "l.json does not hold links", "to_json"),
    "json-version": ("l.json", json_links(version=[2]), "has version [2]", "reads version 1"),
    "json-keyed": ("l.json", json_links(keyed_by=None), "l.json: keyed_by", "'row' or 'id'"),
    "json-missing": ("l.json", json_links(cannot="left out"), "l.json: 'cannot' is mis", "to_json"),
    "json-nan": ("l.json", json_links(must=[[0, float("nan")]]), "l.json: must-link 0", "leave"),
    "json-inf": ("l.json", json_links(must=[[0, float("inf")]]), "l.json: must-link 0", "leave"),
    "json-half": ("l.json", json_links(must=[[0, 0.5]]), "l.json: must-link 0", "whole numbers"),
    "json-far": ("l.json", json_links(must=[[0, 1e30]]), "l.json: must-link 0", "too large"),
    "json-huge": ("l.json", json_links(must=[[0.5, 10**400]]), "l.json: must-link 0", "64 bits"),
    "json-dict": ("l.json", json_links(must={"a": 1}), "l.json: must-links", "list of pairs"),
    "json-text": ("l.json", json_links(must="ab"), "l.json: must-links", "list of pairs"),
    "json-three": ("l.json", json_links(must=[[0, 1, 2]]), "l.json: must-links must be", "(m, 2)"),
    "json-flat": ("l.json", json_links(must=[0, 1]), "l.json: must-links must be", "write one"),
    "json-names": ("l.json", json_links(must=[[0, 2], [0, "x"]]), "must-link 1", "row numbers"),
    "json-null": ("l.json", json_links(must=[[0, None]]), "l.json: must-link 0", "row numbers"),
    "json-true": ("l.json", json_links(must=[[0, True]]), "l.json: must-link 0", "write 0 or 1"),
    "json-list-id": ("l.json", json_links(must=[["a", []]], keyed_by="id"), "must-link 0", "hash"),
    "json-sure": ("l.json", json_links(must_confidence=[2]), "l.json: must-link 0", "(0, 1]"),
    "json-sure-text": ("l.json", json_links(must_confidence=["x"]), "l.json: must_conf", "(0, 1]"),
    "json-sure-ragged": ("l.json", json_links(must_confidence=[[1], 2]), "l.json", "(0, 1]"),
    "json-sure-many": ("l.json", json_links(must_confidence=[1, 1]), "l.json", "one for each"),
    "json-samples": ("l.json", json_links(n_samples=-3), "l.json: n_samples", "negative"),
    "json-samples-text": ("l.json", json_links(n_samples="x"), "l.json: n_samples", "whole number"),
    "json-samples-few": ("l.json", json_links(n_samples=2), "l.json: cannot-link 0", "correct"),
    "other-suffix": ("l.txt", GOOD_LINKS, "l.txt is neither", "a,b,kind"),
}


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
        ("folder", "is a folder; give a file"),
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
    assert "Rows count from 0; correct the pair." in message
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
        assert "--id-column NAME" in message


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

GOOD = {
    "t.csv": GOOD_CSV,
    "t.tsv": GOOD_CSV.replace(b",", b"\t"),
    "t.npy": GOOD_NPY,
    "t.npz": GOOD_NPZ,
    "t.parquet": GOOD_PARQUET,
    "l.csv": GOOD_LINKS,
    "l.json": json_links(),
}


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


def check_mutations(name, examples):
    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(mutated(GOOD[name]))
    def check(content):
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            Path(name).write_bytes(content)
            Path("out.csv").write_bytes(OLD)
            if name.startswith("l"):
                Path("t.npy").write_bytes(GOOD_NPY)
                well_behaved("links", "check", name)
                well_behaved("links", "check", name, "--data", "t.npy", "--json")
            else:
                Path("l.csv").write_bytes(GOOD_LINKS)
                well_behaved("links", "check", "l.csv", "--data", name)
                wrote = well_behaved("cluster", name, "-q", "-o", "out.csv", "--max-iter", "5")
                assert (Path("out.csv").read_bytes() == OLD) == (wrote == 2)
            assert not [item for item in Path().iterdir() if ".tmp" in item.name]

    check()


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
    ("name", "content", "told"),
    [
        ("t.parquet", GOOD_PARQUET[:-40], "t.parquet cannot be read as Parquet"),
        ("t.csv", b"\xef\xbb\xbfx,y\r\n1,2\r\n3,oops\r\n", "t.csv, line 3: column 'y'"),
        ("l.csv", b"\xef\xbb\xbfa,b,kind\r\n0,1000000000,must\r\n", "l.csv, line 2: must-link 0"),
        ("l.csv", "a,b,kind\r\ns0,Zoe\u0308,must\r\n".encode(), "l.csv, line 2: must-link 0"),
    ],
)
def test_installed(here, unchanged, name, content, told):
    (here / "t.csv").write_bytes(GOOD_CSV)
    (here / name).write_bytes(content)
    data = name if name.startswith("t") else "t.csv"
    args = [COMMAND, "cluster", data, "-o", "out.csv"]
    args += ["--columns", "x,y"] if name == "t.csv" else []
    if name == "l.csv":
        args += ["--links", name] + (["--id-column", "name"] if b"s0" in content else [])
    done = subprocess.run(args, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
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
