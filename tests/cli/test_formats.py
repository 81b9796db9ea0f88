"""Data as it comes: lists in cells, JSON, packed text, other separators and encodings, stdin."""

import gzip
import io
import json
import subprocess

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from typer.testing import CliRunner

from linkshift.cli.app import app
from linkshift.cli.reading.columns import features
from linkshift.cli.reading.contents import Content
from linkshift.cli.reading.delimited import read_delimited
from linkshift.cli.reading.tables import read_table
from linkshift.cli.talking import Console, InputError

WIDTH = 4
QUIET = Console(quiet=True)


def read(path, columns=None):
    return features(read_table(path, QUIET), QUIET, columns=columns, reserved=())


@pytest.fixture
def vectors(groups):
    """Four columns that the three groups differ in."""
    return np.hstack([groups, groups[:, ::-1]])


def arrow_table(vectors, kind):
    flat = pa.array(vectors.astype(np.float16 if kind == "float16" else np.float64).ravel())
    offsets = np.arange(0, vectors.size + 1, WIDTH)
    made = {
        "list": lambda: pa.ListArray.from_arrays(offsets.astype(np.int32), flat),
        "large": lambda: pa.LargeListArray.from_arrays(offsets, flat),
        "fixed": lambda: pa.FixedSizeListArray.from_arrays(flat, WIDTH),
        "float16": lambda: pa.FixedSizeListArray.from_arrays(flat, WIDTH),
    }
    ids = pa.array(np.arange(len(vectors)) * 7 + 1000)
    return pa.table({"id": ids, "embedding": made[kind]()})


@pytest.mark.parametrize("kind", ["list", "large", "fixed", "float16"])
@pytest.mark.parametrize("suffix", ["parquet", "arrow", "feather"])
def test_a_column_of_lists(tmp_path, vectors, kind, suffix):
    table, path = arrow_table(vectors, kind), tmp_path / f"t.{suffix}"
    if suffix == "parquet":
        pq.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    found = read(path)
    assert found.names == tuple(f"embedding_{i}" for i in range(WIDTH))
    wanted = vectors.astype(np.float16).astype(np.float32) if kind == "float16" else vectors
    assert found.X.dtype == wanted.dtype
    np.testing.assert_array_equal(found.X, wanted)
    np.testing.assert_array_equal(read(path, columns="embedding").X, wanted)
    np.testing.assert_array_equal(read(path, columns="embedding_2,id").X[:, 0], wanted[:, 2])


def test_the_stream_format_of_arrow(tmp_path, vectors):
    table, path = arrow_table(vectors, "fixed"), tmp_path / "t.arrow"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    np.testing.assert_array_equal(read(path).X, vectors)


def test_damaged_text_in_arrow(refused, here):
    table = pa.table({"x": [1.0, 2.0], "w": ["aaaa", "bbbb"]})
    with pa.OSFile("t.arrow", "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    damaged = (here / "t.arrow").read_bytes().replace(b"aaaabbbb", b"a\xffaabbbb")
    (here / "t.arrow").write_bytes(damaged)
    assert "cannot be read as Arrow" in refused("cluster", "t.arrow")


def test_lists_from_model_to_prediction(run, here, vectors):
    frame = pd.DataFrame({"id": np.arange(60) * 3, "year": 2000, "embedding": list(vectors)})
    frame.loc[5, "year"] = 1990
    frame.to_parquet("t.parquet")
    told = run("cluster", "t.parquet", "--save", "m.npz", "-o", "out.csv").stderr
    assert "'embedding' holds lists of 4 numbers" in told
    assert "year (beside the lists)" in told
    labels = pd.read_csv("out.csv")["label"].tolist()
    frame[["embedding"]].to_json("new.jsonl", orient="records", lines=True, double_precision=15)
    new = pd.read_csv(io.StringIO(run("predict", "m.npz", "new.jsonl").stdout))
    assert new["label"].tolist() == labels
    assert len(set(labels)) == 3


def test_lists_that_are_no_columns(refused, run, here, vectors):
    frame = pd.DataFrame({"a": list(vectors), "b": list(vectors[:, :2]), "c": [["x"]] * 60})
    frame.to_parquet("t.parquet")
    message = refused("cluster", "t.parquet")
    assert "several columns of lists: a, b" in message
    assert "--columns a" in message
    assert len(run("cluster", "t.parquet", "--columns", "b").stdout.splitlines()) == 61
    message = refused("cluster", "t.parquet", "--columns", "c")
    assert "'c' holds lists of other things than numbers" in message
    assert "'a' of t.parquet holds lists" in refused("cluster", "t.parquet", "--id-column", "a")
    lists = [row.tolist() for row in vectors]
    lists[7] = lists[7][:2]
    frame.assign(a=lists)[["a"]].to_parquet("u.parquet")
    assert "few have another length: 2, not 4, in row 7." in refused("cluster", "u.parquet")
    lists[7] = None
    frame.assign(a=lists)[["a"]].to_parquet("v.parquet")
    assert "no list in column 'a' in row 7, 1 of 60 rows" in refused("cluster", "v.parquet")
    frame.assign(a_0=1.0)[["a", "a_0"]].to_parquet("w.parquet")
    assert "two columns are called 'a_0'" in refused("cluster", "w.parquet")


@pytest.mark.parametrize("form", ["records", "columns", "list", "values", "lines"])
def test_json(tmp_path, groups, form):
    frame = pd.DataFrame(groups, columns=["x", "y"])
    path = tmp_path / ("t.jsonl" if form == "lines" else "t.json")
    if form == "list":
        path.write_text(json.dumps(frame.to_dict(orient="list")))
    elif form == "lines":
        frame.to_json(path, orient="records", lines=True, double_precision=15)
        path.write_text("\n" + path.read_text().replace("\n", "\r\n\r\n"))
    else:
        frame.to_json(path, orient=form, double_precision=15)
    np.testing.assert_allclose(read(path).X, groups, atol=1e-14)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("t.json", '[{"x": 1},\n {"x": }]', "t.json, line 2, column 8: no JSON"),
        ("t.jsonl", '{"x": 1}\n\n{"x": 2', "t.jsonl, line 3, column"),
        (
            "t.jsonl",
            '{"x": 1, "y": 2}\n\n{"x": 1}\n',
            "t.jsonl, line 3: the one column used has gaps",
        ),
        ("t.json", "[]", "a list of objects"),
        ("t.json", "3", "a list of objects"),
        ("t.json", "[1, [2]]", "a list of objects"),
        ("t.json", '{"x": [1, 2], "y": [1]}', "a list of objects"),
        ("t.json", "[" * 100_000, "t.json, line 1"),
        ("t.json", '[{"x": ' + "9" * 6000 + "}]", "t.json, line 1"),
        ("t.json", '{"format": "linkshift.Links"}', "holds links and no table"),
        ("t.json", "", "no JSON"),
        ("t.json.gz", "not packed", "cannot be unpacked"),
        ("t.npz.gz", "", "gunzip"),
    ],
)
def test_json_that_is_no_table(refused, here, name, text, told):
    (here / name).write_text(text)
    assert told in refused("cluster", name)


@pytest.fixture
def counts():
    dense = np.random.default_rng(0).poisson(0.2, size=(60, 200)).astype(float)
    for i in range(3):
        dense[20 * i : 20 * i + 20, 20 * i : 20 * i + 20] += 3
    return dense


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_sparse_matrices(run, refused, here, counts, form):
    sparse.save_npz("t.npz", sparse.csr_array(counts).asformat(form))
    result = run("cluster", "t.npz", "--pca", 5, "--save", "m.npz", "--clusters", 3)
    assert "became 5 columns by a truncated singular value decomposition" in result.stderr
    labels = pd.read_csv(io.StringIO(result.stdout))["label"]
    assert labels.groupby(np.arange(60) // 20).nunique().tolist() == [1, 1, 1]
    assert run("predict", "m.npz", "t.npz").stdout == result.stdout
    assert "became 60 columns" in run("cluster", "t.npz").stderr
    np.save("dense.npy", counts)
    assert "m.npz was made from a sparse matrix" in refused("predict", "m.npz", "dense.npy")
    run("cluster", "dense.npy", "--save", "d.npz")
    assert "--scale would fill" in refused("cluster", "t.npz", "--scale", "standard")
    assert "used as a whole" in refused("cluster", "t.npz", "--columns", "0,1")
    assert "has no views" in refused("cluster", "t.npz", "--method", "groups", "--clusters", 3)


def test_sparse_matrices_that_are_none(refused, here):
    eye = sparse.csr_array(np.eye(9))
    sparse.save_npz("t.npz", eye.tocoo())
    sparse.save_npz("good.npz", eye)
    parts = dict(np.load("good.npz"))
    np.savez("dia.npz", **parts | {"format": b"dia"})
    assert "tocsr()" in refused("cluster", "dia.npz")
    np.savez("far.npz", **parts | {"indices": parts["indices"] + 5})
    assert "far.npz cannot be read" in refused("cluster", "far.npz")
    np.savez("text.npz", **parts | {"data": np.array(["a"] * 9)})
    assert "not numbers" in refused("cluster", "text.npz")
    np.savez("shape.npz", **parts | {"shape": np.array([9])})
    assert "shape.npz cannot be read" in refused("cluster", "shape.npz")
    np.savez("nan.npz", **parts | {"data": np.full(9, np.nan)})
    assert "not finite" in refused("cluster", "nan.npz")


def test_packed_text(run, refused, here, frame):
    frame.to_csv("t.csv.gz", index=False)
    frame.to_csv("t.csv", index=False)
    assert run("cluster", "t.csv.gz").stdout == run("cluster", "t.csv").stdout
    packed = (here / "t.csv.gz").read_bytes()
    (here / "cut.csv.gz").write_bytes(packed[: len(packed) // 2])
    assert "cut.csv.gz cannot be unpacked" in refused("cluster", "cut.csv.gz")


@pytest.mark.parametrize(
    ("name", "separator", "word"),
    [
        ("t.csv", ";", "semicolons"),
        ("t.csv", "\t", "tabs"),
        ("t.csv", "|", "bars"),
        ("t.tsv", ",", "commas"),
    ],
)
def test_other_separators(run, here, frame, name, separator, word):
    frame.to_csv("plain.csv", index=False)
    frame.to_csv(name, index=False, sep=separator)
    result = run("cluster", name)
    assert result.stdout == run("cluster", "plain.csv").stdout
    assert f"separated by {word}" in result.stderr


def test_what_was_found_out_is_always_said(run, here, frame):
    """Prepared or not, for new rows, and where links are checked."""
    frame["name"] = ["é" + name for name in frame.name]
    frame.to_csv("t.csv", index=False, sep=";", decimal=",", encoding="latin-1")
    (here / "l.csv").write_text("a,b,kind\n0,1,must\n")
    for args in (
        ("cluster", "t.csv", "--save", "m.npz", "-o", "o.csv"),
        ("predict", "m.npz", "t.csv"),
        ("cluster", "t.csv", "--prepare", "--save", "m.npz", "-o", "o.csv"),
        ("predict", "m.npz", "t.csv"),
        ("cluster", "t.csv", "--pca", "1", "-o", "o.csv"),
        ("links", "check", "l.csv", "--data", "t.csv"),
        ("bandwidths", "t.csv", "--levels", "2"),
    ):
        told = run(*args).stderr
        for words in ("read as Latin-1", "by semicolons", "1,5 is read as 1.5 in x, y"):
            assert told.count(words) == 1, (args, told)


@pytest.mark.parametrize("frame_text", ["x y\n1.5 2\n3 4\n", " x    y\n1.5   22\n 3    4\n"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_spaces_between_cells(run, refused, here, frame_text, suffix):
    """Nobody can tell where text ends: the message says how to put commas there."""
    (here / f"t{suffix}").write_text(frame_text)
    told = refused("cluster", f"t{suffix}")
    assert "cells are separated by spaces" in told
    program = told.partition("sed -E '")[2].partition("'")[0]
    done = subprocess.run(["sed", "-E", program, f"t{suffix}"], capture_output=True, text=True)
    assert done.stdout.splitlines()[0] == "x,y"
    assert done.stdout.splitlines()[1] in ("1.5,2", "1.5,22")


def test_one_column_of_text_has_no_separator(refused, here):
    (here / "t.csv").write_text("full name\nAnn Lee\nBob Roe\n")
    assert "no numeric columns" in refused("cluster", "t.csv")


@pytest.mark.parametrize(
    ("text", "expected", "said"),
    [
        ("n;k\na;894\nb;745\nc;5.885\nd;8.160\n", [[894], [745], [5885], [8160]], "thousands"),
        ("n;k\na;894\nb;1.745.100\nc;5.885\n", [[894], [1745100], [5885]], "thousands"),
        ("k;x\n5.885;-0,44\n8.163;0,5\n", [[5885, -0.44], [8163, 0.5]], "in k."),
        ("k;x\n5.885;1.000,5\n8.163;0,5\n", [[5885, 1000.5], [8163, 0.5]], "1.5 in x."),
        ("k\tx\n5.885\t-0,44\n894\t0,5\n", [[5885, -0.44], [894, 0.5]], "in k."),
        ("k;x\n5.885;0.44\n894;0.5\n", [[5.885, 0.44], [894, 0.5]], ""),
        ("k;x\n0.885;1\n1.123;2\n", [[0.885, 1], [1.123, 2]], ""),
        ("k;x\n5.885;1\n1894;2\n", [[5.885, 1], [1894, 2]], "Warning"),
        ("k;x\n5.885;1\n1.894;2\n", [[5.885, 1], [1.894, 2]], "Warning"),
        ("k\tx\n5.885\t1\n894\t2\n", [[5.885, 1], [894, 2]], ""),
        ("k;x\n5.0;1,5\n7.0;2,5\n", [[5, 1.5], [7, 2.5]], "1.5 in x."),
    ],
)
def test_points_between_thousands(here, capsys, text, expected, said):
    """Whether points are decimals or thousands goes by the whole table, and is told."""
    (here / "t.csv").write_text(text)
    console = Console()
    found = features(read_table(here / "t.csv", console), console, columns=None, reserved=())
    np.testing.assert_array_equal(found.X, expected)
    told = capsys.readouterr().err
    assert said in told
    assert said or (" thousands" not in told and "Warning" not in told)


@pytest.mark.parametrize("options", [(), ("--prepare",)])
def test_one_list_of_another_length(run, refused, here, vectors, options):
    """It must not drop the embeddings for a number that stands beside them."""
    lists = [row.tolist() for row in vectors]
    lists[7] = lists[7][:2]
    frame = pd.DataFrame({"emb": list(map(str, lists)), "year": np.arange(60.0) % 7})
    frame.to_csv("t.csv", index=False)
    told = refused("cluster", "t.csv", *options)
    assert "'emb' holds lists of which few have another length: 2, not 4, in row 7." in told
    assert "--columns" in told
    run("cluster", "t.csv", *options, "--columns", "year")


def test_decimal_commas(run, here, frame):
    frame.to_csv("plain.csv", index=False)
    frame.to_csv("t.csv", index=False, sep=";", decimal=",")
    result = run("cluster", "t.csv", "--id-column", "name")
    assert result.stdout == run("cluster", "plain.csv", "--id-column", "name").stdout
    assert "1,5 is read as 1.5 in x, y" in result.stderr
    # Where numbers have points, a comma is something else.
    (here / "u.csv").write_text("a;b;c\n1.5;1,234;1\n2.5;2,345;2\n3;3,456;4\n")
    assert read(here / "u.csv").names == ("a", "c")


def test_gaps_do_not_hide_decimal_commas(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1,5;1\n;2\n3;\n")
    table = read_table(tmp_path / "t.csv", QUIET)
    assert table.kind("a") == "number"
    np.testing.assert_array_equal(table.matrix(("a",)).ravel(), [1.5, np.nan, 3])


CELLS = st.text(st.sampled_from('ab1.,; "\t'), min_size=1, max_size=5).map(str.strip)


@settings(max_examples=100, deadline=None)
@given(
    st.integers(2, 4).flatmap(
        lambda d: st.lists(st.lists(CELLS, min_size=d, max_size=d), min_size=3, max_size=6)
    ),
    st.sampled_from(",;\t"),
)
def test_the_own_separator_wins(rows, separator):
    """What every line has as many of as the file's own separator is no separator."""
    rows = [[f"c{i}" for i in range(len(rows[0]))], *rows]
    text = pd.DataFrame(rows).to_csv(index=False, header=False, sep=separator, quoting=1)
    content = Content("t", ".tsv" if separator == "\t" else ".csv", text.encode())
    frame, found, _ = read_delimited(pd, content, header=None, id_column=None)
    assert found.separator == separator
    assert len(frame.columns) == len(rows[0])


def test_latin_1(run, here):
    text = "Größe,Ort\n" + "".join(f"{i % 3 * 5 + i / 100},Köln\n" for i in range(30))
    (here / "t.csv").write_bytes(text.encode("latin-1"))
    told = run("cluster", "t.csv").stderr
    assert "t.csv, line 1: not UTF-8, and read as Latin-1" in told
    assert "Größe" in told
    (here / "t.csv").write_bytes(text.replace("Köln", "“€”").encode("cp1252"))
    assert read_table(here / "t.csv", QUIET).values("Ort")[0] == "“€”"


def stdin(data, *args):
    result = CliRunner().invoke(app, ["cluster", "-", *args], input=data)
    assert result.exit_code == 0, result.output
    return result


def test_stdin(run, here, frame, groups):
    frame.to_csv("t.csv", index=False)
    expected = run("cluster", "t.csv").stdout
    text = (here / "t.csv").read_bytes()
    result = stdin(text)
    assert result.stdout == expected
    assert "stdin: 60 rows, 2 columns used: x, y" in result.stderr
    records = frame.to_json(orient="records", double_precision=15)
    lines = frame.to_json(orient="records", lines=True, double_precision=15)
    parquet, npy, npz = io.BytesIO(), io.BytesIO(), io.BytesIO()
    frame.to_parquet(parquet)
    np.save(npy, groups)
    np.savez(npz, X=groups)
    forms = [gzip.compress(text), records.encode(), lines.encode()]
    for data in [*forms, *(file.getvalue() for file in (parquet, npy, npz))]:
        assert stdin(data).stdout == expected
    run("cluster", "t.csv", "--save", "m.npz")
    predicted = CliRunner().invoke(app, ["predict", "m.npz", "-"], input=text)
    assert predicted.stdout == expected


def test_stdin_in_the_report(here, frame):
    stdin(frame.to_csv(index=False).encode(), "--report", "r.html")
    assert "linkshift cluster - " in (here / "r.html").read_text()


def test_nothing_on_stdin(here, monkeypatch):
    result = CliRunner().invoke(app, ["cluster", "-"], input=b"")
    assert result.exit_code == 2
    assert "stdin is empty" in result.stderr
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(InputError, match="nothing is piped"):
        read_table("-", QUIET)


def test_lists_written_as_text(run, refused, here):
    block = np.repeat([0.0, 5.0], 20)[:, None] + np.random.default_rng(0).normal(size=(40, 3))
    frame = pd.DataFrame(
        {"doc": [f"d{i}" for i in range(40)], "e": [str(r.tolist()) for r in block]}
    )
    frame.to_csv("text.csv", index=False)
    np.save("block.npy", block)
    result = run("cluster", "text.csv", "--clusters", 2)
    assert "text.csv: lists written as text are read as numbers in 'e'." in result.stderr
    assert result.stdout == run("cluster", "block.npy", "--clusters", 2).stdout
    frame.loc[[3, 17], "e"] = None
    frame.to_csv("gaps.csv", index=False)
    told = refused("cluster", "gaps.csv", "--id-column", "doc")
    assert "no list in column 'e' in rows 3, 17, 2 of 40 rows. Delete these rows" in told
    frame["e"] = "[0.1 0.2 ... 0.9]"
    frame.to_csv("cut.csv", index=False)
    assert "cut short by '...'" in refused("cluster", "cut.csv")


def test_rows_without_entries_and_far_rows(run, here):
    rng = np.random.default_rng(0)
    counts = rng.poisson(1.0, size=(60, 40)).astype(float)
    counts[[5, 8]] = 0
    sparse.save_npz("counts.npz", sparse.csr_matrix(counts))
    told = run("cluster", "counts.npz", "--save", "m.npz").stderr
    assert "2 of 60 rows without entries in the sparse matrix" in told
    assert "2 of 60 rows without entries" in run("predict", "m.npz", "counts.npz").stderr
    pd.DataFrame(rng.normal(size=(60, 2)), columns=["x", "y"]).to_csv("a.csv", index=False)
    pd.DataFrame({"x": [0.0, 1e4], "y": [0.1, 0.2]}).to_csv("b.csv", index=False)
    run("cluster", "a.csv", "--save", "m.npz")
    told = run("predict", "m.npz", "b.csv").stderr
    assert "Warning: 1 of 2 rows is far outside what was clustered (row 1)" in told
    assert "far" not in run("predict", "m.npz", "a.csv").stderr
