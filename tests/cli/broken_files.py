"""Files that are broken, hostile or odd, and what is said of them."""

import io
import json
import zipfile
from datetime import date

import numpy as np
import pandas as pd

from linkshift import Links

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
    "truncated-csv": ("t.csv", b"x,y\n1,2\n3,", "line 3: ", "y: missing in row 1", "fill"),
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
    "damaged": ("t.csv", "é,y\r\n1,2\r\n3,4".encode() + b"\xf6\r\n", "line 3: the byte 0xf6"),
    "latin1-control": ("t.csv", b"x,y\n1,\xf6\x01\n", "line 2: the byte 0xf6", "UTF-8"),
    "cut-character": ("t.csv", "x,y\n1,2\n3,4é".encode()[:-1], "line 3: the byte 0xc3", "UTF-8"),
    "nul": ("t.csv", b"x,y\n1,2\n3,4\x005\n", "line 3: a NUL byte", "damaged"),
    "nul-far-away": ("t.csv", b"x,y\n" + b"1,2\n" * 400_000 + b"\0", "line 400002: a NUL byte"),
    "open-quote": ("t.csv", b'x,y\n1,2\n"3,4\n5,6\n', "line 3: a quote is not closed", "Close it"),
    "open-quote-in-header": ("t.csv", b'x,"y\n1,2\n3,4\n', "t.csv", "Close it"),
    "huge-field": ("t.csv", b"x" * 200_000 + b",y\n1,2\n", "line 1: field larger", "quote"),
    "same-names": ("t.csv", b"x,y,x\n1,2,3\n", "line 1: two columns are called 'x'", "Rename"),
    "same-names-spaces": ("t.csv", b"x, y,x \n1,2,3\n", "two columns are called 'x'", "Rename"),
    "same-names-parquet": ("t.parquet", parquet_twice(), "t.parquet", ""),
    "infinite-csv": ("t.csv", b"x,y\n1,2\n\n3,inf\n", "line 4: ", "y: infinite in row 1", "fill"),
    "missing-csv": ("t.csv", b"x,y\n1,2\n3,nan\n", "line 3: ", "--columns x"),
    "missing-npy": ("t.npy", npy(np.array([[1, 2], [3, np.nan]])), "t.npy: ", "row 1", "fill"),
    "too-large": ("t.csv", b"x,y\n1,2\n3,1e200\n", "line 3: ", "y: too large", "row 1", "fill"),
    "too-large-float32": (
        *("t.npy", npy(np.float32([[1, 2], [3, 1e30]])), "1: too large", "beyond 1e+18", "fill"),
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
        *("t.parquet", parquet(FRAME.assign(x=[[1], [1, 2]] * 25)), "holds lists of d", "numbers"),
    ),
    "lists-as-ids": (
        *("t.parquet", parquet(FRAME.assign(x=[[i] for i in range(50)])), "holds lists", "another"),
    ),
    "structs-as-ids": (
        *("t.parquet", parquet(FRAME.assign(x=[{"a": i} for i in range(50)])), "lists", "another"),
    ),
    "categories": (
        *("t.parquet", parquet(FRAME.assign(x=pd.Categorical(["a", "b"] * 25)))),
        *("column 'x' is not numeric: row 0 has 'a'", "leave it out"),
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
    "terabytes-npy": ("t.npy", header("(1000000, 1000000)"), "only 64 bytes", "damaged"),
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
    "long-double": ("t.npy", npy(np.array([[1e4000, 2]], dtype="g")), "infinite in row 0", "fill"),
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
    "ragged": ("l.csv", b"a,b,kind\r\n0,1,must\r\n\r\n0,2\r\n", "line 4: expected 3", "correct"),
    "spaces": ("l.csv", b"a b kind\n0 1 must\n", "separated by spaces", "a,b,kind"),
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
    "half-rows": ("l.csv", b"a,b,kind\n0.5,1.0,must\n", "line 2: '0.5'", "whole numbers"),
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
    "json-version": (
        "l.json",
        json_links(version=[2]),
        "has version [2]",
        "reads versions 1 and 2",
    ),
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
    "other-suffix": ("l.txt", GOOD_LINKS, "l.txt is none of them", "a,b,kind"),
}

GOOD = {
    "t.csv": GOOD_CSV,
    "t.tsv": GOOD_CSV.replace(b",", b"\t"),
    "t.npy": GOOD_NPY,
    "t.npz": GOOD_NPZ,
    "t.parquet": GOOD_PARQUET,
    "l.csv": GOOD_LINKS,
    "l.json": json_links(),
}
