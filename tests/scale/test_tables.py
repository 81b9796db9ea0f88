"""Tables larger than memory: the labels of the array in memory, however a file parts its rows."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from linkshift import Links, scale
from linkshift._core.messages import Refusal
from linkshift.scale import fit, merge, predict, running, summarise, survey, tables
from linkshift.scale.opening import open_table
from linkshift.scale.survey import Survey, survey_table
from linkshift.scale.tree import add_leaf, root
from linkshift.tables.scaling import Scaling

CHUNK, M = 300, 40
SMALL = {"rows_per_chunk": CHUNK, "landmarks": M}


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(c, 1.0, size=(700, 4)) for c in (0.0, 9.0)])
    return rng.permutation(rows).astype(np.float32)


def named(X):
    return pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])})


def in_memory(X, **fitting):
    """Label rows by the four functions, chunk by chunk."""
    chunks = [X[first : first + CHUNK] for first in range(0, len(X), CHUNK)]
    model = fit(merge([summarise(chunk, M) for chunk in chunks], M), **fitting)
    return np.concatenate([predict(model, chunk) for chunk in chunks])


@pytest.fixture(scope="module")
def expected(X):
    return in_memory(X)


def labels_of(dataset, folder, **options):
    found = scale.cluster(dataset, output=folder / "labels.parquet", **SMALL | options)
    table = pq.read_table(found.output)
    assert np.array_equal(np.bincount(table["label"]), found.sizes)
    return table["label"].to_numpy()


# --- the same labels ----------------------------------------------------------------------------


def test_two_groups(expected):
    assert (np.sort(np.bincount(expected))[-2:] > 690).all()


@pytest.mark.parametrize("size", [1400, 300, 77])
def test_any_row_group(X, expected, tmp_path, size):
    pq.write_table(named(X), tmp_path / "x.parquet", row_group_size=size)
    assert np.array_equal(labels_of(tmp_path / "x.parquet", tmp_path), expected)


@pytest.mark.parametrize("entries", [4, 4 * 299, 4 * 301, 1 << 20])
def test_any_batch(X, expected, tmp_path, monkeypatch, entries):
    monkeypatch.setattr(tables, "_BATCH", entries)
    pq.write_table(named(X), tmp_path / "x.parquet", row_group_size=500)
    assert np.array_equal(labels_of(tmp_path / "x.parquet", tmp_path), expected)


def test_a_folder_in_the_order_of_names(X, expected, tmp_path):
    (tmp_path / "data").mkdir()
    for i, (a, b) in enumerate([(0, 10), (10, 800), (800, 1400)]):
        pq.write_table(named(X[a:b]), tmp_path / "data" / f"part_{i}.parquet")
    assert np.array_equal(labels_of(tmp_path / "data", tmp_path), expected)


def test_feather_csv_npy_dataset_and_array(X, expected, tmp_path):
    pa.feather.write_feather(named(X), tmp_path / "x.feather", chunksize=123)
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "columns_first.npy", np.asfortranarray(X))
    given = [tmp_path / "x.feather", tmp_path / "x.npy", tmp_path / "columns_first.npy", X]
    given += [ds.dataset(named(X)), str(tmp_path / "x.npy")]
    for dataset in given:
        assert np.array_equal(labels_of(dataset, tmp_path), expected)
    pa.csv.write_csv(named(X.astype(np.float64)), tmp_path / "x.csv")
    doubles = in_memory(X.astype(np.float64))
    assert np.array_equal(labels_of(tmp_path / "x.csv", tmp_path), doubles)


def test_a_filtered_dataset_is_filtered(X, tmp_path):
    pq.write_table(named(X), tmp_path / "x.parquet", row_group_size=500)
    some = ds.dataset(tmp_path / "x.parquet").filter(ds.field("x0") > 0)
    kept = X[X[:, 0] > 0]
    assert np.array_equal(labels_of(some, tmp_path), in_memory(kept))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("kind", ["list", "large_list", "fixed"])
def test_lists(X, tmp_path, dtype, kind):
    rows = X.astype(dtype)
    flat = pa.array(rows.ravel())
    offsets = np.arange(0, 4 * len(X) + 1, 4)
    lists = {
        "list": lambda: pa.ListArray.from_arrays(offsets.astype(np.int32), flat),
        "large_list": lambda: pa.LargeListArray.from_arrays(offsets, flat),
        "fixed": lambda: pa.FixedSizeListArray.from_arrays(flat, 4),
    }[kind]()
    table = pa.table({"e": lists, "beside": np.arange(len(X)) % 7})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=450)
    wanted = rows.astype(np.float32) if dtype == np.float16 else rows
    found = scale.cluster(tmp_path / "x.parquet", output=tmp_path / "l.parquet", **SMALL)
    assert found.columns == ("e_0", "e_1", "e_2", "e_3")
    assert found.left_out == {"beside": "beside the lists"}
    assert found.model.landmarks.density.inputs()["X"].dtype == wanted.dtype
    labels = pq.read_table(found.output)["label"].to_numpy()
    assert np.array_equal(labels, in_memory(wanted))


def test_float16(X, tmp_path):
    half = X.astype(np.float16)
    np.save(tmp_path / "x.npy", half)
    assert np.array_equal(labels_of(tmp_path / "x.npy", tmp_path), in_memory(half.astype("f4")))
    pq.write_table(named(half), tmp_path / "x.parquet")
    assert np.array_equal(labels_of(tmp_path / "x.parquet", tmp_path), in_memory(half.astype("f4")))


def test_threads_and_fitting(X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    wanted = in_memory(X, bandwidth=2.0, kernel="flat")
    for n_jobs in (1, 3):
        options = {"bandwidth": 2.0, "kernel": "flat", "n_jobs": n_jobs}
        assert np.array_equal(labels_of(tmp_path / "x.npy", tmp_path, **options), wanted)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 14), st.integers(0, 5))
def test_the_tree_is_that_of_merge(n, seed):
    rng = np.random.default_rng(seed)
    leaves = [summarise(rng.normal(size=(30, 4)), 8) for _ in range(n)]
    nodes = []
    for leaf in leaves:
        nodes = add_leaf(nodes, leaf, 6)
    assert len(nodes) == n.bit_count()
    for found, wanted in zip(root(nodes, 6), merge(leaves, 6), strict=True):
        assert np.array_equal(found, wanted)


# --- columns, scale, ids ------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(
    arrays.arrays(
        np.float64, st.tuples(st.integers(1, 30), st.just(3)), elements=st.floats(-1e6, 1e6)
    ),
    st.integers(1, 31),
)
def test_moments_are_those_of_all_rows(rows, size):
    sums = survey._Sums("abc")
    for first in range(0, len(rows), size):
        sums.add(rows[first : first + size])
    moments = sums.moments()
    unit = 1e-9 * max(np.abs(rows).max(), 1.0)
    np.testing.assert_allclose(moments.mean, rows.mean(axis=0), atol=unit)
    np.testing.assert_allclose(moments.std, rows.std(axis=0), atol=1e-6 * max(unit * 1e9, 1.0))
    assert np.array_equal(moments.low, rows.min(axis=0))
    assert np.array_equal(moments.high, rows.max(axis=0))


def test_a_survey_is_kept_to_the_last_digit(X):
    found = survey_table(open_table(X), None, None)
    again = Survey.from_about(json.loads(json.dumps(found.about())))
    assert again.about() == found.about()
    assert again.names == ("0", "1", "2", "3")


@pytest.mark.parametrize("kind", ["auto", "standard", "minmax", "none"])
def test_scale(X, tmp_path, kind):
    rows = X * np.array([1, 100, 1, 1], dtype=np.float32)
    np.save(tmp_path / "x.npy", rows)
    found = scale.cluster(tmp_path / "x.npy", output=tmp_path / "l.parquet", scale=kind, **SMALL)
    wanted = Scaling.of(rows, kind, "0123")
    assert (found.scaling.kind, found.scaling.why) == (wanted.kind, wanted.why)
    np.testing.assert_allclose(found.scaling.shift, wanted.shift, rtol=1e-6)
    np.testing.assert_allclose(found.scaling.spread, wanted.spread, rtol=1e-6)
    labels = pq.read_table(found.output)["label"].to_numpy()
    assert np.array_equal(labels, in_memory(found.scaling.apply(rows)))


def test_columns_that_count(X, tmp_path):
    n = len(X)
    rng = np.random.default_rng(1)
    table = named(X).append_column("one", pa.array(np.ones(n)))
    table = table.append_column("customer_id", pa.array(rng.permutation(n)))
    table = table.append_column("text", pa.array(["a"] * n))
    table = table.append_column("yes", pa.array(rng.random(n) < 0.5))
    pq.write_table(table, tmp_path / "x.parquet")
    found = scale.cluster(tmp_path / "x.parquet", output=tmp_path / "l.parquet", **SMALL)
    assert found.columns == ("x0", "x1", "x2", "x3")
    why = {"one": "constant", "customer_id": "ids", "text": "text", "yes": "true/false"}
    assert found.left_out == why
    some = {"columns": ["x1", "yes"]} | SMALL
    found = scale.cluster(tmp_path / "x.parquet", output=tmp_path / "l.parquet", **some)
    assert found.columns == ("x1", "yes")


def test_parts_of_lists_that_do_not_vary(X, expected, tmp_path):
    wide = np.insert(X, 2, 5.0, axis=1)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(wide.ravel()), 5)
    pq.write_table(pa.table({"e": lists}), tmp_path / "x.parquet")
    found = scale.cluster(tmp_path / "x.parquet", output=tmp_path / "l.parquet", **SMALL)
    assert found.columns == ("e_0", "e_1", "e_3", "e_4")
    assert np.array_equal(pq.read_table(found.output)["label"], expected)


def test_a_column_that_counts_rows_is_told(X, tmp_path):
    table = named(X).append_column("n", pa.array(np.arange(len(X))))
    with pytest.warns(UserWarning, match="'n' only grows from row to row"):
        scale.cluster(ds.dataset(table), output=tmp_path / "l.parquet", **SMALL)


def test_ids_are_written_as_they_are(X, expected, tmp_path):
    names = [f"{i:05d}" for i in range(len(X))]
    table = named(X).append_column("name", pa.array(names))
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=77)
    options = SMALL | {"id_column": "name", "output": tmp_path / "l.parquet"}
    found = pq.read_table(scale.cluster(tmp_path / "x.parquet", **options).output)
    assert found.column_names == ["name", "label"]
    assert found["name"].to_pylist() == names
    assert np.array_equal(found["label"], expected)
    pa.csv.write_csv(table, tmp_path / "x.csv")
    found = pq.read_table(scale.cluster(tmp_path / "x.csv", **options).output)
    assert found["name"].to_pylist() == names
    found = scale.cluster(tmp_path / "x.parquet", output=tmp_path / "l.parquet", **SMALL)
    rows = pq.read_table(found.output)
    assert rows["row"].to_pylist() == list(range(len(X)))


@pytest.mark.parametrize("by_id", [False, True])
def test_links_reach_fit_with_their_rows_whole(X, tmp_path, monkeypatch, by_id):
    pairs = {"must": [(3, 1399)], "cannot": [(301, 300)]}
    links = Links(**pairs)
    table = named(X).append_column("name", pa.array([f"s{i}" for i in range(len(X))]))
    if by_id:
        links = Links(**{k: [(f"s{a}", f"s{b}") for a, b in v] for k, v in pairs.items()})
    seen = []

    def spy(summary, links, **fitting):
        seen.append((summary, links))
        return fit(summary, links, **fitting)

    monkeypatch.setattr(running, "fit", spy)
    output = {"output": tmp_path / "l.parquet", "id_column": "name"}
    scale.cluster(ds.dataset(table), links, **output, **SMALL)
    ((summary, given_),) = seen
    assert given_ == Links(**pairs)
    assert summary.kept.tolist() == [3, 300, 301, 1399]
    assert np.array_equal(summary.points[:4], X[[3, 300, 301, 1399]])


# --- refusals -----------------------------------------------------------------------------------


def refused(dataset, folder, **options):
    with pytest.raises(Refusal) as caught:
        scale.cluster(dataset, **{"output": folder / "l.parquet"} | SMALL | options)
    assert not list(folder.glob("*l.parquet*"))
    assert not list(folder.glob(".*"))
    return str(caught.value)


def test_gaps_are_told_with_their_row(X, tmp_path):
    for value, how in ((np.nan, "missing"), (np.inf, "infinite"), (1e30, "beyond 1e\\+18")):
        rows = X.copy()
        rows[[1000, 1200], 2] = value
        text = refused(ds.dataset(named(rows)), tmp_path)
        assert f"'x2' is {how} in row 1000 and 1 more".replace("\\", "") in text
    whole = pa.array([1, None, 3] * 10)
    assert "'n' is missing in row 1" in refused(ds.dataset(pa.table({"n": whole})), tmp_path)


def test_columns_that_cannot_be_taken(X, tmp_path):
    table = named(X).append_column("text", pa.array(["a"] * len(X)))
    dataset = ds.dataset(table)
    assert "'text' is not numeric" in refused(dataset, tmp_path, columns=["text"])
    assert "no column 'x9'" in refused(dataset, tmp_path, columns=["x9"])
    assert "'x0' twice" in refused(dataset, tmp_path, columns=["x0", "x0"])
    assert "holds ids" in refused(dataset, tmp_path, columns=["x0"], id_column="x0")
    assert "no numeric columns" in refused(ds.dataset(table.select(["text"])), tmp_path)
    assert "no column 'x9'" in refused(dataset, tmp_path, id_column="x9")
    assert "has no column of ids" in refused(X, tmp_path, id_column="0")


def test_lists_of_other_lengths(tmp_path):
    table = pa.table({"e": [[1.0, 2.0]] * 5 + [[1.0]]})
    assert "of 1 in row 5" in refused(ds.dataset(table), tmp_path)
    table = pa.table({"e": [[1.0, 2.0]] * 5 + [None]})
    assert "no list in column 'e' in row 5" in refused(ds.dataset(table), tmp_path)
    table = pa.table({"e": [[1.0, 2.0]] * 5 + [[1.0, None]]})
    assert "'e_1' is missing in row 5" in refused(ds.dataset(table), tmp_path)
    table = pa.table({"e": [[1.0]], "f": [[1.0]]})
    assert "several columns of lists: e, f" in refused(ds.dataset(table), tmp_path)
    empty = pa.table({"e": pa.array([[], []], pa.list_(pa.float32()))})
    assert "empty lists" in refused(ds.dataset(empty), tmp_path)


def test_what_is_no_table(X, tmp_path):
    assert "does not exist" in refused(tmp_path / "x.parquet", tmp_path)
    assert "has no rows" in refused(ds.dataset(named(X[:0])), tmp_path)
    assert "dataset is 7" in refused(7, tmp_path)
    (tmp_path / "x.xls").touch()
    assert "cannot be read in parts" in refused(tmp_path / "x.xls", tmp_path)
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and no more")
    assert "x.parquet cannot be read" in refused(tmp_path / "x.parquet", tmp_path)
    np.save(tmp_path / "x.npy", X[:, 0])
    assert "has shape (1400,)" in refused(tmp_path / "x.npy", tmp_path)


def test_text_that_cannot_be_read_in_parts(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a;b\n1;2\n")
    assert "seems to have semicolons" in refused(path, tmp_path)
    path.write_text("1,2\n3,4\n")
    assert "the first line is all numbers" in refused(path, tmp_path)
    path.write_text("a,b\n1,2\n" + "3,4\n" * 400_000 + "5,x\n")
    assert "invalid value 'x'" in refused(path, tmp_path)


def test_whole_numbers_of_text_may_have_points_later(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n" + "1,2\n" * 400_000 + "9.5,8.25\n")
    found = survey_table(open_table(path), None, None)
    assert found.n_rows == 400_001
    assert found.moments.high.tolist() == [9.5, 8.25]


def test_a_folder_of_different_files(X, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    pq.write_table(named(X), data / "a.parquet")
    pq.write_table(named(X[:, :3]), data / "b.parquet")
    text = refused(data, tmp_path)
    assert "b.parquet has no column 'x3'" in text
    pq.write_table(named(X.astype(np.float64)), data / "b.parquet")
    assert "column 'x0' is double" in refused(data, tmp_path)
    pa.csv.write_csv(named(X), data / "c.csv")
    assert "several kinds: .csv, .parquet" in refused(data, tmp_path)


def test_targets(X, tmp_path):
    assert "another suffix" in refused(X, tmp_path, output=tmp_path / "l.csv")
    assert "no folder" in refused(X, tmp_path, output=tmp_path / "no" / "l.parquet")
    (tmp_path / "data").mkdir()
    pq.write_table(named(X), tmp_path / "data" / "a.parquet")
    inside = tmp_path / "data" / "l.parquet"
    assert "among the data" in refused(tmp_path / "data", tmp_path, output=inside)


def test_settings_are_checked_before_the_work(X, tmp_path):
    assert "scale='both'" in refused(X, tmp_path, scale="both")
    assert "Bandwidths must be positive" in refused(X, tmp_path, bandwidth=-1.0)
    for wrong in ({"landmarks": 0}, {"max_iter": 0}, {"kernel": "round"}):
        with pytest.raises(ValueError):
            scale.cluster(X, **{"output": tmp_path / "l.parquet"} | SMALL | wrong)


def test_chunks_too_large_for_memory(X, tmp_path, monkeypatch):
    monkeypatch.setenv("LINKSHIFT_MEMORY_GB", "1e-4")
    text = refused(X, tmp_path, rows_per_chunk=10**9)
    assert "A chunk of 1,400 rows and 4 columns takes" in text
    assert "fewer rows_per_chunk" in text
    assert len(labels_of(X, tmp_path, rows_per_chunk=100, landmarks=10)) == 1400


def test_ids_that_links_need(X, tmp_path):
    links = Links(must=[("a", "b")])
    assert "id_column" in refused(X, tmp_path, links=links)
    names = ["a", "a", *(f"s{i}" for i in range(len(X) - 2))]
    dataset = ds.dataset(named(X).append_column("name", pa.array(names)))
    assert "the same id" in refused(dataset, tmp_path, links=links, id_column="name")
    names[:2] = "a", "c"
    dataset = ds.dataset(named(X).append_column("name", pa.array(names)))
    assert "'b'" in refused(dataset, tmp_path, links=links, id_column="name")
    names[7] = None
    dataset = ds.dataset(named(X).append_column("name", pa.array(names)))
    assert "no id in column 'name' in row 7" in refused(dataset, tmp_path, id_column="name")


# --- memory -------------------------------------------------------------------------------------

MEASURED = """
import resource, sys
from linkshift import scale
from linkshift.scale.running import memory_of
rows, m, d = 20_000, 500, 64
few = scale.cluster(sys.argv[1], output=sys.argv[3], rows_per_chunk=rows, landmarks=m)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
many = scale.cluster(sys.argv[2], output=sys.argv[3], rows_per_chunk=rows, landmarks=m)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(many.n_rows, before / 1e3, after / 1e3, memory_of(rows, d, 4, m) / 1e6)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_rows(tmp_path):
    """256 MB of numbers in row groups of 64 MB, within the formula and what one chunk takes."""
    rng = np.random.default_rng(0)
    for name, n in (("few", 20_000), ("many", 1_000_000)):
        schema = pa.schema([(f"x{j}", pa.float32()) for j in range(64)])
        with pq.ParquetWriter(tmp_path / f"{name}.parquet", schema) as writer:
            for first in range(0, n, 250_000):
                rows = rng.standard_normal((min(250_000, n - first), 64), dtype=np.float32)
                writer.write_table(pa.table(dict(zip(schema.names, rows.T, strict=True))))
    paths = [str(tmp_path / name) for name in ("few.parquet", "many.parquet", "l.parquet")]
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *paths], check=True, capture_output=True, text=True
    )
    n_rows, before, after, bound = map(float, done.stdout.split())
    assert n_rows == 1_000_000
    assert bound < 256
    assert after - before < bound, done.stdout
