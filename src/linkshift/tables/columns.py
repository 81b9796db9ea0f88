"""Tables of pandas, polars, Arrow and NumPy, read column by column into plain arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.messages import Advice, Refusal, warn
from linkshift._core.text import short
from linkshift.tables.lists import FEW, is_list, list_matrix, lists_in_text

__all__ = [
    "LARGEST",
    "Column",
    "as_sparse",
    "columns_of",
    "index_of",
    "is_table",
    "kind_of",
    "refuse_uneven",
    "word",
]

LISTS = "numbers in lists"
LARGEST = {"float32": 1e18, "float64": 1e150}  # squares and sums of squares of more are infinite
_DAY = 86_400.0  # seconds


class Column(NamedTuple):
    """A column as plain values.

    ``kind`` is "number", "true/false", "date" (days since 1970), "text" or "numbers in lists" (a
    matrix); anything else says in words what cannot be used. Missing numbers are NaN, missing text
    is None.
    """

    name: str
    kind: str
    values: Array


def is_table(table: Any) -> bool:
    """Whether a value has named columns: a DataFrame of pandas or polars, or an Arrow table."""
    return _library(table) in ("pandas", "polars", "pyarrow") and hasattr(table, "columns")


def refuse_uneven(name: str, kind: str) -> None:
    """Refuse lists of which few have another length: left out, nobody would miss them."""
    if kind.startswith(FEW):
        raise Refusal(
            f"Column {name!r} holds {kind}.",
            "Correct these rows, or leave them out; or leave out the column, "
            f"table.drop(columns={name!r}).",
            command="Correct these rows or delete them; or name other columns with --columns.",
        )


def index_of(table: Any) -> Any:
    """Give the index of a pandas object; None for all else."""
    return table.index if _library(table) == "pandas" and hasattr(table, "iloc") else None


def as_sparse(table: Any) -> Any:
    """Give a DataFrame whose columns are all sparse as a matrix; all else as it is."""
    if _library(table) != "pandas" or not hasattr(table, "columns") or not len(table.columns):
        return table
    import pandas as pd

    if not all(isinstance(kind, pd.SparseDtype) and not kind.fill_value for kind in table.dtypes):
        return table
    return table.sparse.to_coo().tocsr()


def columns_of(table: Any) -> list[Column]:
    """Read a table column by column.

    Parameters
    ----------
    table : DataFrame, Series of lists, Arrow table or array-like of shape (n, d)
        Columns of an array are called by their numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from linkshift.tables.columns import columns_of
    >>> frame = pd.DataFrame({"size": [1.5, None], "colour": ["red", None], "e": [[1, 2], [3, 4]]})
    >>> [(column.name, column.kind) for column in columns_of(frame)]
    [('size', 'number'), ('colour', 'text'), ('e', 'numbers in lists')]
    """
    library = _library(table)
    if library == "pyarrow" and hasattr(table, "to_pandas"):
        table, library = table.to_pandas(), "pandas"
    if library == "polars" and hasattr(table, "collect"):
        raise Refusal("A LazyFrame has no rows yet.", "Call collect() first.")
    if library in ("pandas", "polars"):
        if not hasattr(table, "columns"):  # a Series
            table = table.to_frame(getattr(table, "name", None) or "values")
        read = _of_pandas if library == "pandas" else _of_polars
        names = [str(name) for name in table.columns]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise Refusal(f"Two columns are called {twice!r}.", "Rename one of them.")
        if library == "pandas":
            return [read(name, table.iloc[:, i]) for i, name in enumerate(names)]
        return [read(name, column) for name, column in zip(names, table.get_columns(), strict=True)]
    array = np.asarray(table)
    if array.ndim != 2:
        raise Refusal(
            f"A table has rows and columns; this has shape {array.shape}.",
            "A single column is array.reshape(-1, 1).",
        )
    return [_of_array(str(i), array[:, i]) for i in range(array.shape[1])]


def word(cell: Any) -> str:
    """Give a cell as text: 1.0 is 1, as a column without gaps would say it."""
    if isinstance(cell, float | np.floating) and cell == np.floor(cell) and np.isfinite(cell):
        cell = int(cell)
    return cell.decode("utf-8", errors="replace") if isinstance(cell, bytes) else str(cell).strip()


def kind_of(column: Any) -> str:
    """Say what a pandas column holds.

    Beside the kinds of `Column`, "decimal", "empty" and "list", which may be of anything.
    """
    import pandas as pd

    types = pd.api.types
    if types.is_bool_dtype(column.dtype):
        return "true/false"
    if types.is_numeric_dtype(column.dtype) and not types.is_complex_dtype(column.dtype):
        return "number" if column.notna().any() or not len(column) else "empty"
    if types.is_datetime64_any_dtype(column.dtype):
        return "date"
    if column.dtype == object or "list" in str(column.dtype):
        if any(is_list(cell) or isinstance(cell, dict | set) for cell in column):
            return "list"
        inferred = types.infer_dtype(column, skipna=True)
        named = {"date": "date", "time": "date", "decimal": "decimal", "empty": "empty"}
        return named.get(inferred, "text")
    return "text"


def _library(table: Any) -> str:
    return type(table).__module__.partition(".")[0]


def _of_pandas(name: str, column: Any) -> Column:
    kind = kind_of(column)
    if kind in ("number", "true/false", "decimal"):
        plain = getattr(column.dtype, "subtype", column.dtype)  # of a sparse column
        dtype = np.dtype(getattr(plain, "numpy_dtype", plain))
        wanted = np.float32 if dtype in (np.float16, np.float32) else np.float64
        values = column.to_numpy(dtype=wanted, na_value=np.nan)
        return Column(name, "number" if kind == "decimal" else kind, values)
    if kind == "date":
        import pandas as pd

        dates = pd.to_datetime(column, errors="coerce", utc=True)
        days = (dates - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)
        return Column(name, kind, days.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind == "list":
        return _lists(name, list_matrix(list(column)))
    return _texts(name, column.astype(object).where(column.notna(), None).tolist())


def _of_polars(name: str, column: Any) -> Column:
    kind = column.dtype
    if kind.is_numeric() or str(kind) == "Boolean":
        small = str(kind) in ("Float16", "Float32")
        values = column.cast(kind if small else _polars().Float64).to_numpy()
        dtype = np.float32 if small else np.float64
        named = "true/false" if str(kind) == "Boolean" else "number"
        return Column(name, named, np.asarray(values, dtype=dtype))
    if str(kind) == "Date" or str(kind).startswith("Datetime"):
        seconds = column.cast(_polars().Datetime("us")).dt.epoch("s").cast(_polars().Float64)
        return Column(name, "date", seconds.to_numpy() / _DAY)
    if kind.is_nested():
        return _lists(name, _polars_lists(column))
    return _texts(name, column.to_list())


def _polars() -> Any:
    import polars

    return polars


def _polars_lists(column: Any) -> Array | str:
    """Read lists of one length without making an object of each."""
    if str(column.dtype).startswith("Array") and not column.null_count():
        block = column.to_numpy()
        if block.ndim == 2 and block.dtype.kind in "biuf":
            small = block.dtype in (np.float16, np.float32)
            return np.ascontiguousarray(block, dtype=np.float32 if small else np.float64)
    if not hasattr(column.dtype, "inner"):
        return "nested lists"
    found = list_matrix(column.to_list())
    small = str(column.dtype.inner) in ("Float16", "Float32")
    return found.astype(np.float32) if small and not isinstance(found, str) else found


def _of_array(name: str, values: Array) -> Column:
    if values.dtype.kind == "b":
        return Column(name, "true/false", values.astype(np.float64))
    if values.dtype.kind in "iuf":
        small = values.dtype in (np.float16, np.float32)
        return Column(name, "number", values.astype(np.float32 if small else np.float64))
    if values.dtype.kind == "M":
        days = values.astype("M8[s]").astype(np.float64) / _DAY
        days[np.isnat(values)] = np.nan
        return Column(name, "date", days)
    if values.dtype.kind not in "OUST":
        raise Refusal(f"Column {name} holds {values.dtype}.", "Make its values numbers or text.")
    cells = values.tolist()
    if any(map(is_list, cells)):
        return _lists(name, list_matrix(cells))
    if all(cell is None or type(cell) in (int, float) for cell in cells):
        numbers = [np.nan if cell is None else float(cell) for cell in cells]
        return Column(name, "number", np.array(numbers))
    return _texts(name, cells)


def _lists(name: str, found: Array | str) -> Column:
    return (
        Column(name, found, np.empty(0)) if isinstance(found, str) else Column(name, LISTS, found)
    )


def _texts(name: str, cells: list[Any]) -> Column:
    """Text, None where a cell is empty."""
    out = np.empty(len(cells), dtype=object)
    for row, cell in enumerate(cells):
        missing = cell is None or cell != cell or (isinstance(cell, str) and not cell.strip())
        out[row] = None if missing else word(cell)
    lists = lists_in_text(out)
    if lists is None:
        return Column(name, "text", out)
    found = lists if isinstance(lists, str) else list_matrix(lists)
    if not isinstance(found, str):
        warn(
            Advice(
                f"Column {name!r} holds lists of numbers written as text; they are read as numbers "
                f"({short(next(cell for cell in out if cell is not None))}).",
                "Parquet keeps lists as they are: table.to_parquet(path).",
            )
        )
    return _lists(name, found)
