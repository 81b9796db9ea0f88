"""Every format gives the same numbers."""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from linkshift.cli.reading.columns import features, partial_labels, sample_ids
from linkshift.cli.reading.tables import read_table
from linkshift.cli.talking import Console, InputError

QUIET = Console(quiet=True)


def read(path, columns=None, reserved=(), **options):
    return features(read_table(path, QUIET, **options), QUIET, columns=columns, reserved=reserved)


def write(frame, path):
    X = frame[["x", "y"]].to_numpy()
    writers = {
        ".csv": lambda: frame.to_csv(path, index=False),
        ".tsv": lambda: frame.to_csv(path, index=False, sep="\t"),
        ".parquet": lambda: frame.to_parquet(path),
        ".npy": lambda: np.save(path, X),
        ".npz": lambda: np.savez(path, X=X, other=np.zeros((2, 2)), name=frame["name"].to_list()),
    }
    writers[path.suffix]()


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".npy", ".npz"])
def test_formats_agree(tmp_path, frame, suffix):
    path = tmp_path / f"data{suffix}"
    write(frame, path)
    found = read(path)
    assert np.array_equal(found.X, frame[["x", "y"]].to_numpy())
    assert found.X.dtype == np.float64
    assert len(found.names) == 2


def test_suffix_in_capitals(tmp_path, frame):
    frame.to_csv(tmp_path / "DATA.CSV", index=False)
    assert read(tmp_path / "DATA.CSV").names == ("x", "y")


def test_float32_stays(tmp_path, frame, groups):
    np.save(tmp_path / "a.npy", groups.astype(np.float32))
    assert read(tmp_path / "a.npy").X.dtype == np.float32
    small = frame.astype({"x": "float32", "y": "float32"})
    small.to_parquet(tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet").X.dtype == np.float32
    small.astype({"y": "int64"}).to_parquet(tmp_path / "b.parquet")
    assert read(tmp_path / "b.parquet").X.dtype == np.float64


def test_numbers_in_text_are_exact(tmp_path):
    rng = np.random.default_rng(0)
    wanted = rng.normal(size=2000) * 10.0 ** rng.integers(-30, 30, size=2000)
    (tmp_path / "t.csv").write_text("\n".join(["x", *map(repr, wanted.tolist())]))
    assert np.array_equal(read(tmp_path / "t.csv").X[:, 0], wanted)


def test_nullable_numbers(tmp_path):
    table = pd.DataFrame({"a": pd.array([1, 2, 4], dtype="Int64"), "b": [0.5, 1.5, 0.0]})
    table.to_parquet(tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet").X.tolist() == [[1, 0.5], [2, 1.5], [4, 0]]
    table.loc[1, "a"] = pd.NA
    table.to_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match="a: missing in row 1"):
        read(tmp_path / "b.parquet")


def test_kinds_of_columns(tmp_path):
    table = pd.DataFrame(
        {
            "number": [1, 2, 4],
            "flag": [True, False, True],
            "day": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03"]),
            "span": pd.to_timedelta([1, 2, 3], unit="s"),
            "word": ["a", "b", "c"],
        }
    )
    table.to_parquet(tmp_path / "a.parquet")
    read_back = read_table(tmp_path / "a.parquet", QUIET)
    assert [read_back.kind(name) for name in table.columns] == [
        "number",
        "true/false",
        "date",
        "text",
        "text",
    ]
    assert read(tmp_path / "a.parquet").names == ("number",)
    assert read(tmp_path / "a.parquet", columns="flag,number").X.tolist() == [
        [1, 1],
        [0, 2],
        [1, 4],
    ]
    with pytest.raises(InputError, match="holds dates"):
        read(tmp_path / "a.parquet", columns="day")


def test_columns_of_arrays_go_by_number(tmp_path, groups):
    np.save(tmp_path / "a.npy", groups)
    assert np.array_equal(read(tmp_path / "a.npy", columns="1").X, groups[:, [1]])


def test_the_only_matrix_of_an_npz_file(tmp_path, groups):
    np.savez(tmp_path / "a.npz", points=groups, y=np.arange(60))
    assert np.array_equal(read(tmp_path / "a.npz").X, groups)
    np.savez(tmp_path / "b.npz", one=groups, two=groups)
    found = read_table(tmp_path / "b.npz", QUIET)
    assert found.views == {"one": ("one_0", "one_1"), "two": ("two_0", "two_1")}
    assert np.array_equal(found.matrix(("two_1", "one_0")), groups[:, [1, 0]])
    assert found.values("two_0") == groups[:, 0].tolist()
    np.savez(tmp_path / "c.npz", one=groups, two=groups[:9])
    with pytest.raises(InputError, match=r"array called X.*one \(60, 2\), two \(9, 2\)"):
        read(tmp_path / "c.npz")
    np.savez(tmp_path / "d.npz", one=groups[:, 0])
    with pytest.raises(InputError, match=r"array called X.*one \(60,\)"):
        read(tmp_path / "d.npz")


def test_arrays_that_are_no_tables(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(3.0))
    with pytest.raises(InputError, match=r"reshape\(-1, 1\)"):
        read(tmp_path / "a.npy")
    np.save(tmp_path / "b.npy", np.array([["a", "b"]]))
    with pytest.raises(InputError, match="not numbers"):
        read(tmp_path / "b.npy")
    np.save(tmp_path / "c.npy", np.array([[{}]]), allow_pickle=True)
    with pytest.raises(InputError, match="holds Python objects"):
        read(tmp_path / "c.npy")


def test_ids_and_labels_beside_the_matrix(tmp_path, frame):
    write(frame, tmp_path / "a.npz")
    table = read_table(tmp_path / "a.npz", QUIET, id_column="name")
    assert sample_ids(table, "name") == frame["name"].tolist()


def test_ids_in_csv_stay_as_written(tmp_path):
    (tmp_path / "a.csv").write_text("id,x\n007,1\nNA,2\n 1e3 ,4\n")
    table = read_table(tmp_path / "a.csv", QUIET, id_column="id")
    assert sample_ids(table, "id") == ["007", "NA", "1e3"]


def test_ids_without_header(tmp_path):
    (tmp_path / "a.csv").write_text("007,1\n008,2\n")
    table = read_table(tmp_path / "a.csv", QUIET, header=False, id_column="0")
    assert sample_ids(table, "0") == ["007", "008"]
    assert table.names == ("0", "1")


def test_spaces_after_commas_and_a_byte_order_mark(tmp_path):
    (tmp_path / "a.csv").write_text("\ufeffx, y\n1, 2\n3, 5\n", encoding="utf-8")
    found = read(tmp_path / "a.csv")
    assert found.names == ("x", "y")
    assert found.X.tolist() == [[1, 2], [3, 5]]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["a", "", "-1", "b"], ["a", None, None, "b"]),
        (["1", "", "-1", "2"], [1.0, None, None, 2.0]),
        (["1", "-1", "0", "2"], [1, None, 0, 2]),
        (["yes", " ", " -1 ", "no"], ["yes", None, None, "no"]),
    ],
)
def test_partial_labels(tmp_path, cells, expected):
    lines = [f"{cell},1" for cell in cells]
    (tmp_path / "a.csv").write_text("\n".join(["known,x", *lines]) + "\n")
    assert partial_labels(read_table(tmp_path / "a.csv", QUIET), "known") == expected


def test_lines_of_rows(tmp_path):
    """Blank lines are none, and a cell may hold a line break."""
    text = '\ufeff\r\nx,y\r\n1,"a\r\nb"\r\n\r\n  \r\n2,c\r\n""\r\n'
    (tmp_path / "a.csv").write_text(text, encoding="utf-8", newline="")
    table = read_table(tmp_path / "a.csv", QUIET)
    assert table.n_rows == 3
    assert [table.place(row) for row in range(3)] == [
        f"{tmp_path / 'a.csv'}, line {line}" for line in (3, 7, 8)
    ]
    (tmp_path / "b.tsv").write_text("1\t2\n\t\n3\t4\n")
    table = read_table(tmp_path / "b.tsv", QUIET, header=False)
    assert [table.place(row)[-6:] for row in range(3)] == ["line 1", "line 2", "line 3"]


UNEQUAL = "lists of different lengths, such as 1 and 0"


def test_kinds_of_odd_columns(tmp_path):
    table = pd.DataFrame(
        {
            "price": [Decimal("1.50"), None, Decimal("2")],
            "day": [date(2024, 1, 1)] * 3,
            "words": [["a"], [], None],
            "colour": pd.Categorical(["red", "red", "blue"]),
            "raw": [b"ab", b"c", b"\xff"],
        }
    )
    table.to_parquet(tmp_path / "a.parquet")
    found = read_table(tmp_path / "a.parquet", QUIET)
    assert [found.kind(name) for name in table] == ["number", "date", UNEQUAL, "text", "text"]
    assert found.matrix(("price",)).ravel().tolist()[::2] == [1.5, 2]
    assert found.values("colour") == ["red", "red", "blue"]
    assert found.values("raw") == ["ab", "c", "\ufffd"]


def test_an_index_with_a_name_is_a_column(tmp_path, frame):
    frame.set_index("name").to_parquet(tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet", QUIET, id_column="name")
    assert sample_ids(table, "name") == frame["name"].tolist()
    frame.set_axis(frame["name"].tolist()).drop(columns="name").to_parquet(tmp_path / "b.parquet")
    assert read_table(tmp_path / "b.parquet", QUIET).names == ("x", "y")


def test_ids_in_bytes(tmp_path, groups):
    np.savez(tmp_path / "a.npz", X=groups, name=np.array([f"s{i}" for i in range(60)], dtype="S"))
    assert sample_ids(read_table(tmp_path / "a.npz", QUIET), "name")[:2] == ["s0", "s1"]
