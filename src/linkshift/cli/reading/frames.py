"""Tables with named columns: CSV, TSV and Parquet, read with pandas."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkshift._core.text import check_text, csv_lines, is_number, listed, short
from linkshift.cli.talking import InputError, require

_SEPARATOR = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True, eq=False)
class FrameTable:
    """A pandas DataFrame, asked only what the commands need to know."""

    path: Path
    frame: Any
    kinds: dict[str, str]
    header: bool = True  # for text: whether its first line holds names
    views: dict[str, tuple[str, ...]] = field(default_factory=dict)  # these files have none

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.frame.columns)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.frame)

    def kind(self, name: str) -> str:
        """Give ``number``, ``true/false``, ``date``, ``list``, ``text`` or ``empty``."""
        return self.kinds[name]

    def matrix(self, names: tuple[str, ...]) -> NDArray[Any]:
        """Give columns as floats, NaN where a cell is empty; float32 when all of them are."""
        dtypes = {np.dtype(getattr(t, "numpy_dtype", t)) for t in self.frame[list(names)].dtypes}
        wanted = np.float32 if dtypes == {np.dtype(np.float32)} else np.float64
        return np.ascontiguousarray(self.frame[list(names)].to_numpy(dtype=wanted, na_value=np.nan))

    def values(self, name: str) -> list[Any]:
        """Give the cells of a column, None where empty."""
        column = self.frame[name]
        return [_plain(cell) for cell in column.astype(object).where(column.notna(), None)]

    def not_a_number(self, name: str) -> tuple[int, object, float]:
        """Give the first cell of a text column that is no number: row, cell, share of such."""
        import pandas as pd

        column = self.frame[name]
        filled = column.notna().to_numpy()
        wrong = pd.to_numeric(column.astype(str), errors="coerce").isna().to_numpy() & filled
        row = int(np.argmax(wrong))
        return row, column.iloc[row], float(wrong.sum() / max(filled.sum(), 1))

    def place(self, row: int) -> str:
        """Give the file, and for text the line in which a row begins."""
        separator = _SEPARATOR.get(self.path.suffix.lower())
        if separator is None:
            return str(self.path)
        # Lines are counted by another reader than the one that made the table: it may refuse it.
        try:
            lines = [line for line, _ in _records(self.path, separator)][int(self.header) :]
        except InputError:
            lines = []
        return f"{self.path}, line {lines[row]}" if len(lines) == self.n_rows else str(self.path)


def _plain(cell: Any) -> Any:
    if isinstance(cell, bytes):
        return cell.decode("utf-8", errors="replace")
    return cell.item() if isinstance(cell, np.generic) else cell


def read_frame(path: Path, *, header: bool | None, id_column: str | None) -> FrameTable:
    """Read a CSV, TSV or Parquet file."""
    require(str(path), "cli", "pandas")
    import pandas as pd

    if path.suffix.lower() == ".parquet":
        require(str(path), "cli", "pyarrow")
        frame = _read_parquet(pd, path)
    else:
        frame = _read_text(pd, path, header=header, id_column=id_column)
    kinds = {name: _kind(pd, frame[name]) for name in frame.columns}
    for name in [name for name, kind in kinds.items() if kind == "decimal"]:
        frame[name], kinds[name] = frame[name].astype(float), "number"
    return FrameTable(path, frame, kinds, header is not False)


def _kind(pd: Any, column: Any) -> str:
    types = pd.api.types
    if types.is_bool_dtype(column.dtype):
        return "true/false"
    if types.is_numeric_dtype(column.dtype) and not types.is_complex_dtype(column.dtype):
        return "number" if column.notna().any() or not len(column) else "empty"
    if types.is_datetime64_any_dtype(column.dtype):
        return "date"
    if column.dtype == object:
        if any(isinstance(cell, (list, tuple, dict, set, np.ndarray)) for cell in column):
            return "list"
        inferred = types.infer_dtype(column, skipna=True)
        return {"date": "date", "time": "date", "decimal": "decimal"}.get(inferred, "text")
    return "text"


def _read_parquet(pd: Any, path: Path) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = pd.read_parquet(path)
    except Exception as error:  # damaged bytes break the reader in any place
        raise InputError(
            f"{path} cannot be read as Parquet: {_one_line(error)}. It may be cut short or be "
            "something else: write it again, with DataFrame.to_parquet for example."
        ) from error
    named = [name for name in frame.index.names if name is not None]
    if named and not set(named) & set(frame.columns):
        frame = frame.reset_index(named)  # an index with a name is a column of the file
    frame = frame.reset_index(drop=True)
    frame.columns = [str(name) for name in frame.columns]
    _refuse_twice(frame.columns, str(path))
    return frame


def _one_line(error: Exception) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:200].rstrip(".")


def _refuse_twice(names: Any, where: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{where}: two columns are called {short(name)}. Rename one of them.")
        seen.add(name)


def _read_text(pd: Any, path: Path, *, header: bool | None, id_column: str | None) -> Any:
    try:
        check_text(path)
    except ValueError as error:
        raise InputError(f"{error}.") from error
    separator = _SEPARATOR[path.suffix.lower()]
    line, first = next(_records(path, separator), (0, []))
    if not any(cell.strip() for cell in first):
        what = f"{path}, line {line}: no names" if line else f"{path} is empty"
        raise InputError(f"{what}. Give a table whose first line names its columns.")
    _check_separator(path, line, first, separator)
    if header is None and all(map(is_number, first)):
        raise InputError(
            f"{path}, line {line}: the first line is all numbers ({listed(first, 4)}). "
            "If that is data, add --no-header; if those are the columns' names, add --header."
        )
    # Named here and not by pandas, which calls a second x x.1.
    names = [cell.strip() or f"Unnamed: {i}" for i, cell in enumerate(first)]
    if header is False:
        names = [str(i) for i in range(len(first))]
    _refuse_twice(names, f"{path}, line {line}")
    # Ids stay as they are written: 007 is not 7, and NA may be Namibia. Text alone would still
    # be searched for NA, so it travels in a tuple.
    converters = {id_column: lambda text: (text.strip(),)} if id_column in names else None
    try:
        with warnings.catch_warnings():
            # pandas only warns when rows are longer than the header, and drops the rest.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            form = {"sep": separator, "encoding": "utf-8-sig", "skipinitialspace": True}
            form |= {"names": names, "header": None if header is False else 0, "index_col": False}
            frame = pd.read_csv(path, converters=converters, low_memory=False, **form)
    except (pd.errors.ParserWarning, ValueError, OverflowError, MemoryError) as error:
        raise _not_a_table(path, separator, len(first), error) from error
    if converters is not None:
        frame[id_column] = pd.Series([text for (text,) in frame[id_column]], dtype=object)
    return frame


def _not_a_table(path: Path, separator: str, width: int, error: Exception) -> InputError:
    """Find the line that is to blame."""
    line = 1
    for line, cells in _records(path, separator):
        if len(cells) > width:
            return InputError(
                f"{path}, line {line}: {len(cells)} cells, more cells than its first line, which "
                f"has {width}. Name every column there, or correct the line."
            )
    if "EOF inside string" in str(error):
        return InputError(f"{path}, line {line}: a quote is not closed. Close it or delete it.")
    return InputError(f"{path} cannot be read as a table: {_one_line(error)}. Write it again.")


def _records(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Give the first line and the cells of each record; blank lines are none, as for pandas."""
    blanks = " \r\n" if separator == "\t" else " \t\r\n"
    latest = ""

    def lines(file: Iterable[str]) -> Iterator[str]:
        nonlocal latest
        for text in file:
            latest = text
            yield text

    with path.open(encoding="utf-8-sig", newline="") as file:
        records = csv_lines(lines(file), str(path), delimiter=separator, skipinitialspace=True)
        try:
            for line, last, cells in records:
                if last > line or latest.strip(blanks):
                    yield line, cells
        except ValueError as error:
            raise InputError(f"{error} Close it or delete it.") from error


def _check_separator(path: Path, line: int, first: list[str], separator: str) -> None:
    """One column that holds another separator: the whole line was taken for one cell."""
    if len(first) != 1:
        return
    for other, remedy in (
        ("\t", "Its cells are separated by tabs: rename it to end in .tsv."),
        (";", "Its cells are separated by semicolons: save it with commas, and points in numbers."),
        (",", "Its cells are separated by commas: rename it to end in .csv."),
    ):
        if other != separator and other in first[0]:
            raise InputError(f"{path}, line {line}: one column, {short(first[0])}. {remedy}")
