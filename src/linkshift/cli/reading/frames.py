"""Tables with named columns: text, JSON, Parquet and Arrow, read with pandas."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkshift._core.text import listed, short
from linkshift.cli.reading.contents import Content
from linkshift.cli.reading.delimited import one_line, read_delimited, read_encoding, refuse_twice
from linkshift.cli.talking import InputError, require
from linkshift.tables.columns import kind_of
from linkshift.tables.lists import list_matrix, lists_in_text, part_names


@dataclass(frozen=True, eq=False)
class FrameTable:
    """A pandas DataFrame, asked only what the commands need to know.

    A column of lists of numbers has become one column for each; ``lists`` names them.
    """

    path: Path
    frame: Any
    kinds: dict[str, str]
    lists: dict[str, tuple[str, ...]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()  # on how the file was read
    lines: Callable[[], list[int]] = list  # of text: where rows begin
    sorted_by_row: bool = True  # no index says otherwise
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
        """Give ``number``, ``true/false``, ``date``, ``text``, ``empty``, or which ``list``."""
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
        lines = self.lines()
        return f"{self.path}, line {lines[row]}" if len(lines) == self.n_rows else str(self.path)


def _plain(cell: Any) -> Any:
    if isinstance(cell, bytes):
        return cell.decode("utf-8", errors="replace")
    return cell.item() if isinstance(cell, np.generic) else cell


def read_frame(content: Content, *, header: bool | None, id_column: str | None) -> FrameTable:
    """Read text, JSON, Parquet or Arrow."""
    path = content.path
    require(str(path), "cli", "pandas")
    import pandas as pd

    remarks: list[str] = []
    lines: Callable[[], list[int]] = list
    in_order = True
    if content.suffix in (".parquet", ".arrow"):
        require(str(path), "cli", "pyarrow")
        frame, in_order = _read_arrow(pd, content)
    elif content.suffix in (".json", ".jsonl"):
        frame, lines, remarks = _read_json(pd, content)
    else:
        frame, text, remarks = read_delimited(pd, content, header=header, id_column=id_column)
        lines = partial(text.lines, header is not False)
    remarks += _lists_as_text(pd, frame, str(path), id_column)
    kinds = {name: kind_of(frame[name]) for name in frame.columns}
    for name in [name for name, kind in kinds.items() if kind == "decimal"]:
        frame[name], kinds[name] = frame[name].astype(float), "number"
    lists: dict[str, tuple[str, ...]] = {}
    if "list" in kinds.values():
        frame, kinds, lists = _spread(pd, frame, kinds)
        refuse_twice(frame.columns, str(path))
    return FrameTable(path, frame, kinds, lists, tuple(remarks), lines, in_order)


def _lists_as_text(pd: Any, frame: Any, where: str, id_column: str | None) -> list[str]:
    """Read columns of lists that were written as text, and say which."""
    read = []
    for name in frame.columns:
        if name == id_column or kind_of(frame[name]) != "text":
            continue
        lists = lists_in_text(frame[name].astype(object).where(frame[name].notna(), None))
        if isinstance(lists, str):
            raise InputError(
                f"{where}: column {name!r} holds {lists}: numbers are lost. Save the table again "
                "with lists (array.tolist()), or as Parquet."
            )
        if lists is not None:
            frame[name] = pd.Series(lists, index=frame.index, dtype=object)
            read.append(repr(name))
    return (
        [f"{where}: lists written as text are read as numbers in {listed(read)}."] if read else []
    )


def _spread(pd: Any, frame: Any, kinds: dict[str, str]) -> tuple[Any, Any, Any]:
    """Make columns of lists of numbers into a column for each place in the lists."""
    pieces: list[Any] = []
    found: dict[str, str] = {}
    lists: dict[str, tuple[str, ...]] = {}
    for name, kind in kinds.items():
        piece = frame[[name]]
        if kind == "list":
            matrix = list_matrix(frame[name])
            kind = matrix if isinstance(matrix, str) else "number"
            if not isinstance(matrix, str):
                lists[name] = part_names(name, matrix.shape[1])
                piece = pd.DataFrame(matrix, columns=lists[name])
        pieces.append(piece)
        found |= dict.fromkeys(piece.columns, kind)
    return pd.concat(pieces, axis=1), found, lists


def _read_arrow(pd: Any, content: Content) -> tuple[Any, bool]:
    """Read Parquet or Arrow, and whether rows are in the order of an index that is there."""
    name = "Parquet" if content.suffix == ".parquet" else "Arrow"
    try:
        with warnings.catch_warnings(), content.open() as file:
            warnings.simplefilter("ignore")
            frame = pd.read_parquet(file) if name == "Parquet" else _arrow_frame(file)
    except Exception as error:  # damaged bytes break the reader in any place
        raise InputError(
            f"{content.path} cannot be read as {name}: {one_line(error)}. It may be cut short or "
            "be something else: write it again, with DataFrame."
            f"to_{'parquet' if name == 'Parquet' else 'feather'} for example."
        ) from error
    named = [name for name in frame.index.names if name is not None]
    if named and not set(named) & set(frame.columns):
        frame = frame.reset_index(named)  # an index with a name is a column of the file
    in_order = frame.index.equals(pd.RangeIndex(len(frame)))
    frame = frame.reset_index(drop=True)
    frame.columns = [str(name) for name in frame.columns]
    refuse_twice(frame.columns, str(content.path))
    return frame, in_order


def _arrow_frame(file: Any) -> Any:
    """Read an Arrow file, or the stream format, which some call by the same name."""
    import pyarrow as pa

    is_file = file.read(6) == b"ARROW1"
    file.seek(0)
    table = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(file).read_all()
    table.validate(full=True)  # text that is none would only be found when it is looked at
    return table.to_pandas()


def _read_json(pd: Any, content: Content) -> tuple[Any, Callable[[], list[int]], list[str]]:
    """Read a list of records, columns by name, or one record in each line."""
    path, lines = content.path, []
    encoding, remarks = read_encoding(content)
    with content.open() as file:
        text = file.read().decode(encoding)
    if content.suffix == ".json":
        data = _parsed(text, str(path), 1)
    else:
        kept = [(i, line) for i, line in enumerate(text.split("\n"), 1) if line.strip()]
        data = [_parsed(line, str(path), i) for i, line in kept]
        lines = [i for i, _ in kept]
    if isinstance(data, dict) and str(data.get("format", "")).startswith("linkshift"):
        raise InputError(
            f"{path} holds links and no table. Give the table first, and --links FILE."
        )
    if not _holds_table(data):
        raise InputError(
            f"{path}: JSON of a table is a list of objects with the columns as keys "
            '([{"x": 1, "y": 2}, ...]), or an object of columns ({"x": [1, ...], ...}); it holds '
            f"{short(data)}. Write it with DataFrame.to_json(orient='records')."
        )
    try:
        frame = pd.DataFrame(data)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{path} holds no table: {one_line(error)}. Write it again.") from error
    frame = frame.reset_index(drop=True)
    frame.columns = [str(name) for name in frame.columns]
    refuse_twice(frame.columns, str(path))
    return frame, lambda: lines, remarks


def _parsed(text: str, where: str, line: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {line + error.lineno - 1}, column {error.colno}"
        raise InputError(f"{where}, {place}: no JSON: {error.msg}. Correct it there.") from error
    except (ValueError, RecursionError) as error:  # too many digits, or too deep
        raise InputError(f"{where}, line {line}: {one_line(error)}. Correct it there.") from error


def _holds_table(data: Any) -> bool:
    """Whether JSON is a list of rows, or columns by name."""
    if isinstance(data, list) and data:
        kinds = {type(row) for row in data}
        return kinds == {dict} or (kinds == {list} and len({len(row) for row in data}) == 1)
    if isinstance(data, dict) and data:
        # pandas writes {"x": {"0": 1, "1": 2}}, others {"x": [1, 2]}.
        kinds = {type(column) for column in data.values()}
        return kinds in ({dict}, {list}) and len({len(column) for column in data.values()}) == 1
    return False
