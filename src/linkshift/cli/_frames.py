"""Tables with named columns: CSV, TSV and Parquet, read with pandas."""

from __future__ import annotations

import csv
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkshift.cli._console import InputError, listed

_SEPARATOR = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True, eq=False)
class FrameTable:
    """A pandas DataFrame, asked only what `linkshift.cli._read` needs to know."""

    path: Path
    frame: Any

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.frame.columns)

    @property
    def views(self) -> dict[str, tuple[str, ...]]:
        """Views that the file itself has: none."""
        return {}

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.frame)

    def kind(self, name: str) -> str:
        """Give ``number``, ``true/false``, ``date`` or ``text``."""
        from pandas.api import types

        dtype = self.frame[name].dtype
        if types.is_bool_dtype(dtype):
            return "true/false"
        if types.is_numeric_dtype(dtype) and not types.is_complex_dtype(dtype):
            return "number"
        if types.is_datetime64_any_dtype(dtype):
            return "date"
        return "text"

    def matrix(self, names: tuple[str, ...]) -> NDArray[Any]:
        """Give columns as floats, NaN where a cell is empty; float32 when all of them are."""
        dtypes = {np.dtype(getattr(t, "numpy_dtype", t)) for t in self.frame[list(names)].dtypes}
        wanted = np.float32 if dtypes == {np.dtype(np.float32)} else np.float64
        return np.ascontiguousarray(self.frame[list(names)].to_numpy(dtype=wanted, na_value=np.nan))

    def values(self, name: str) -> list[Any]:
        """Give the cells of a column, None where empty."""
        column = self.frame[name]
        cells = column.astype(object).where(column.notna(), None)
        return [cell.item() if isinstance(cell, np.generic) else cell for cell in cells]

    def not_a_number(self, name: str) -> tuple[int, object, float]:
        """Give the first cell of a text column that is no number: row, cell, share of such."""
        import pandas as pd

        column = self.frame[name]
        filled = column.notna().to_numpy()
        wrong = pd.to_numeric(column.astype(str), errors="coerce").isna().to_numpy() & filled
        row = int(np.argmax(wrong))
        return row, column.iloc[row], float(wrong.sum() / max(filled.sum(), 1))


def read_frame(path: Path, *, header: bool | None, id_column: str | None) -> FrameTable:
    """Read a CSV, TSV or Parquet file."""
    try:
        import pandas as pd
    except ImportError:
        raise InputError(
            f'{path.suffix} files need pandas. Install it with: pip install "linkshift[cli]"'
        ) from None
    if path.suffix.lower() == ".parquet":
        frame = _read_parquet(pd, path)
    else:
        frame = _read_text(pd, path, header=header, id_column=id_column)
    frame.columns = [str(name) for name in frame.columns]
    return FrameTable(path, frame)


def _read_parquet(pd: Any, path: Path) -> Any:
    try:
        return pd.read_parquet(path)
    except ImportError:
        raise InputError(
            'Parquet files need pyarrow. Install it with: pip install "linkshift[cli]"'
        ) from None
    except (ValueError, OSError) as error:
        raise InputError(f"{path} cannot be read as Parquet: {error}") from error


def _read_text(pd: Any, path: Path, *, header: bool | None, id_column: str | None) -> Any:
    separator = _SEPARATOR[path.suffix.lower()]
    first = _first_line(path, separator)
    _check_separator(path, first, separator)
    if header is None:
        _check_header(path, first)
    names = [str(i) for i in range(len(first))] if header is False else first
    # Ids stay as they are written: 007 is not 7, and NA may be Namibia. Text alone would still
    # be searched for NA, so it travels in a tuple.
    converters = {id_column: _wrapped} if id_column in names else None
    try:
        with warnings.catch_warnings():
            # pandas only warns when rows are longer than the header, and drops the rest.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                path,
                sep=separator,
                header=None if header is False else 0,
                names=names if header is False else None,
                index_col=False,
                converters=converters,
                encoding="utf-8-sig",
                low_memory=False,
                skipinitialspace=True,
            )
    except pd.errors.ParserWarning:
        raise InputError(
            f"the rows of {path} have more cells than its first line, which has {len(first)}. "
            "Name every column there."
        ) from None
    except (pd.errors.ParserError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as a table: {str(error).strip()}") from error
    if converters is not None:
        frame[id_column] = pd.Series([text for (text,) in frame[id_column]], dtype=object)
    return frame


def _wrapped(text: str) -> tuple[str]:
    return (text.strip(),)


def _first_line(path: Path, separator: str) -> list[str]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for cells in csv.reader(file, delimiter=separator, skipinitialspace=True):
                if any(cell.strip() for cell in cells):
                    return cells
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text. Save it as UTF-8.") from None
    except csv.Error as error:
        raise InputError(f"{path} cannot be read as a table: {error}") from error
    raise InputError(f"{path} is empty.")


def _check_separator(path: Path, first: list[str], separator: str) -> None:
    """One column that holds another separator: the whole line was taken for one cell."""
    if len(first) != 1:
        return
    for other, remedy in (
        ("\t", "Its cells are separated by tabs: rename it to end in .tsv."),
        (";", "Its cells are separated by semicolons: save it with commas, and points in numbers."),
        (",", "Its cells are separated by commas: rename it to end in .csv."),
    ):
        if other != separator and other in first[0]:
            raise InputError(f"{path} has one column, {first[0]!r}. {remedy}")


def _check_header(path: Path, first: list[str]) -> None:
    if all(_is_number(cell) for cell in first):
        raise InputError(
            f"the first line of {path} is all numbers ({listed(first, 4)}). "
            "If that is data, add --no-header; if those are the columns' names, add --header."
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
