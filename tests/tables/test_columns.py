"""Tables read by column: the same from pandas, polars, Arrow and NumPy."""

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from linkshift._core.messages import Refusal
from linkshift.tables.columns import columns_of, index_of, is_table
from linkshift.tables.ids import says_ids, seems_ids
from linkshift.tables.lists import list_matrix

ROWS = {
    "number": [1.5, None, 3.0],
    "whole": [1, 2, 3],
    "flag": [True, False, True],
    "day": [datetime(1970, 1, 2), None, datetime(1970, 1, 11, 12)],
    "word": ["a", None, " b "],
    "vector": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
}
WANTED = {
    "number": ("number", [1.5, np.nan, 3.0]),
    "whole": ("number", [1, 2, 3]),
    "flag": ("true/false", [1, 0, 1]),
    "day": ("date", [1, np.nan, 10.5]),
    "word": ("text", ["a", None, "b"]),
    "vector": ("numbers in lists", ROWS["vector"]),
}


def polars_frame(pl):
    table = pl.DataFrame(ROWS)
    array = pl.Series("array", ROWS["vector"], dtype=pl.Array(pl.Float32, 2))
    return table.with_columns(array, pl.col("vector").cast(pl.List(pl.Float32)).alias("small"))


@pytest.mark.parametrize("library", ["pandas", "pyarrow", "polars"])
def test_libraries_agree(library):
    table = pd.DataFrame(ROWS)
    if library == "pyarrow":
        table = pa.Table.from_pandas(table)
    elif library == "polars":
        table = polars_frame(pytest.importorskip("polars"))
    assert is_table(table)
    found = {column.name: column for column in columns_of(table)}
    for name, (kind, values) in WANTED.items():
        assert found[name].kind == kind, name
        if kind == "text":
            assert found[name].values.tolist() == values
        else:
            np.testing.assert_array_equal(found[name].values, values)
            assert found[name].values.dtype == np.float64
    for name in ("array", "small") if library == "polars" else ():
        assert found[name].values.dtype == np.float32
        np.testing.assert_array_equal(found[name].values, ROWS["vector"])
    assert (index_of(table) is None) == (library != "pandas")


def test_polars_lists_that_are_no_columns():
    pl = pytest.importorskip("polars")
    table = pl.DataFrame(
        {
            "ragged": [[1.0], [1.0, 2.0]],
            "gap": [[1.0, 2.0], None],
            "words": [["a"], ["b"]],
            "record": [{"a": 1}, {"a": 2}],
        }
    )
    kinds = {column.name: column.kind for column in columns_of(table)}
    assert kinds["ragged"] == "lists of different lengths, such as 1 and 2"
    assert kinds["gap"] == "numbers in lists"
    assert "lists" in kinds["words"]
    assert "lists" in kinds["record"]
    with pytest.raises(Refusal, match="collect"):
        columns_of(table.lazy())


def test_odd_columns_of_pandas():
    table = pd.DataFrame(
        {
            "price": [Decimal("1.5"), None],
            "nullable": pd.array([1, None], dtype="Int64"),
            "small": np.array([1, 2], dtype=np.float16),
            "category": pd.Categorical(["x", None]),
            "mixed": ["x", 1.0],
            "empty": [None, None],
            "day": [date(1970, 1, 3), None],
            3: [1.0, 2.0],
        }
    )
    found = {column.name: column for column in columns_of(table)}
    np.testing.assert_array_equal(found["price"].values, [1.5, np.nan])
    np.testing.assert_array_equal(found["nullable"].values, [1, np.nan])
    assert found["small"].values.dtype == np.float32
    assert found["category"].values.tolist() == ["x", None]
    assert found["mixed"].values.tolist() == ["x", "1"]
    assert found["empty"].values.tolist() == [None, None]
    np.testing.assert_array_equal(found["day"].values, [2, np.nan])
    assert "3" in found
    with pytest.raises(Refusal, match="Two columns are called '3'"):
        columns_of(table.assign(**{"3": 1}))


def test_arrays():
    kinds = [c.kind for c in columns_of(np.array([[1, "a"], [None, "b"]], dtype=object))]
    assert kinds == ["number", "text"]
    assert columns_of([[True], [False]])[0].kind == "true/false"
    days = columns_of(np.array([["1970-01-02"], ["NaT"]], dtype="M8[D]"))[0]
    np.testing.assert_array_equal(days.values, [1, np.nan])
    with pytest.raises(Refusal, match="rows and columns"):
        columns_of([1, 2])
    with pytest.raises(Refusal, match="complex"):
        columns_of(np.ones((2, 2)) * 1j)


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ([[1, 2], "a"], "lists among other things"),
        ([[], []], "empty lists"),
        ([["a"], ["b"]], "lists of other things than numbers"),
        ([[[1, 2]], [[3, 4]]], "lists of other things than numbers"),
        ([[[1], [2, 3]], [[3], [4]]], "lists of other things than numbers"),
        ([{"a": 1}], "nested lists"),
    ],
)
def test_lists_that_are_no_columns(cells, told):
    assert list_matrix(cells) == told


def test_gaps_within_lists():
    np.testing.assert_array_equal(list_matrix([[1, None], [2, 3]]), [[1, np.nan], [2, 3]])


@pytest.mark.parametrize("name", ["id", "ID", "customer_id", "user id", "customerId", "row.key"])
def test_names_of_ids(name):
    numbers = np.array([7.0, 1009.0, 3.0])
    assert says_ids(name, numbers)
    assert not says_ids(name, numbers + 0.5)
    assert not says_ids(name, np.array([7.0, 7.0, 3.0]))


@pytest.mark.parametrize("name", ["width", "humid", "valid", "monkey", "grid", "idea"])
def test_names_that_are_none(name):
    assert not says_ids(name, np.array([7.0, 1009.0, 3.0]))


def test_numbers_that_grow():
    numbers = np.cumsum(np.arange(1.0, 31.0))
    assert seems_ids(numbers).startswith("grows")
    assert seems_ids(numbers[:10]) == ""
    assert seems_ids(numbers[::-1]) == ""
    assert seems_ids(np.arange(9.0)) == "counts the rows"
    mixed = np.random.default_rng(0).permutation(2000)[:200].astype(float)
    assert "all differ" in seems_ids(mixed)
    assert seems_ids(mixed[:30]) == ""  # so few of so many differ by chance
    assert seems_ids(np.append(mixed, mixed[:1])) == ""
    assert seems_ids(mixed + 0.5) == ""
