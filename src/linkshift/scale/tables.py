"""Tables that need not fit into memory, read in chunks of a fixed number of rows.

However a file parts its rows into batches, row groups or files, chunks are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.messages import Refusal
from linkshift._core.text import listed

__all__ = ["ArrayTable", "ArrowTable", "Chunk", "Table", "Taken"]

_BATCH = 1 << 20  # numbers that are read at a time
REMEDY = "Write it again, as Parquet for example: DataFrame.to_parquet(path)."


class Taken(NamedTuple):
    """A column that is read: numbers, or lists of ``width`` numbers each."""

    name: str
    width: int | None = None


class Chunk(NamedTuple):
    """Rows that follow each other: ``first`` is the number of the first; ids are Arrow's."""

    first: int
    rows: Array
    ids: Any = None


@dataclass(frozen=True, eq=False)
class ArrayTable:
    """A matrix in memory or in an npy file; columns are called by their numbers."""

    name: str
    path: Path | None
    array: Array

    @property
    def kinds(self) -> dict[str, str]:
        """What each column holds."""
        return dict.fromkeys(map(str, range(self.array.shape[1])), "number")

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.array.shape[0])

    def width(self, name: str) -> None:
        """Give nothing: no column holds lists."""

    def dtype(self, names: Sequence[str]) -> str:
        """Give what columns are read as; float32 stays, and float16 becomes it."""
        del names
        return "float32" if self.array.dtype in (np.float16, np.float32) else "float64"

    def check_files(self, names: Sequence[str]) -> None:
        """Do nothing: a matrix is in one file."""

    def files(self) -> list[list[Any]] | None:
        """Give name, size and time of the file; None of what is in memory."""
        if self.path is None:
            return None
        found = self.path.stat()
        return [[str(self.path.resolve()), found.st_size, found.st_mtime_ns]]

    def chunks(
        self, taken: Sequence[Taken], size: int, id_column: str | None = None, start: int = 0
    ) -> Iterator[Chunk]:
        """Give the rows from ``start`` on, ``size`` at a time."""
        del id_column  # there is none
        columns = [int(column.name) for column in taken]
        every = columns == list(range(self.array.shape[1]))
        dtype = self.dtype(())
        for first in range(start, self.n_rows, size):
            # Opened for each chunk: what was read of a mapped file counts as memory until then.
            array = self.array if self.path is None else np.load(self.path, mmap_mode="r")
            part = array[first : first + size]
            with np.errstate(over="ignore"):  # of long doubles: infinite values are refused later
                yield Chunk(first, np.array(part if every else part[:, columns], dtype, order="C"))


@dataclass(frozen=True, eq=False)
class ArrowTable:
    """Named columns of a `pyarrow.dataset.Dataset`."""

    name: str
    dataset: Any

    @property
    def kinds(self) -> dict[str, str]:
        """What each column holds, by its type."""
        return {field.name: kind_of_type(field.type) for field in self.dataset.schema}

    @property
    def n_rows(self) -> int | None:
        """Number of rows, where files say it."""
        if any(n is None for _, n in self._pieces()):
            return None
        return sum(n for _, n in self._pieces() if n is not None)

    def width(self, name: str) -> int | None:
        """How many numbers a list of a column holds, by the first that is there."""
        kind = self.dataset.schema.field(name).type
        if hasattr(kind, "list_size"):
            return int(kind.list_size)
        for batch in self._batches([name], 1024):
            lists = batch.column(0).drop_null()
            if len(lists):
                return len(lists[0])
        return 0

    def dtype(self, names: Sequence[str]) -> str:
        """Give what columns are read as; float32 stays, and float16 becomes it."""
        types = (self.dataset.schema.field(name).type for name in names)
        small = {str(getattr(kind, "value_type", kind)) for kind in types}
        return "float32" if small <= {"halffloat", "float"} else "float64"

    def check_files(self, names: Sequence[str]) -> None:
        """Refuse files that lack a column, or have another type in it."""
        if self.files() is None:
            return
        wanted, is_text = self.dataset.schema, str(self.dataset.format.default_extname) == "csv"
        for fragment in self.dataset.get_fragments():
            with reading(fragment.path):
                found = fragment.physical_schema
            for name in names:
                at = found.get_field_index(name)
                if at < 0:
                    raise Refusal(
                        f"{fragment.path} has no column {name!r}, which {self.dataset.files[0]} "
                        f"has. Its columns: {listed(found.names, 20)}.",
                        "Give files with the same columns, or name columns that all of them have.",
                        parameter="dataset",
                    )
                kinds = found.field(at).type, wanted.field(name).type
                if not _agree(*kinds, guessed=is_text):
                    raise Refusal(
                        f"{fragment.path}: column {name!r} is {kinds[0]}, and in "
                        f"{self.dataset.files[0]} it is {kinds[1]}.",
                        "Write the files again with one type.",
                        parameter="dataset",
                    )

    def files(self) -> list[list[Any]] | None:
        """Give name, size and time of each file; None of what is in memory, or filtered."""
        names = getattr(self.dataset, "files", None)
        if not names or self._fragments() is None:
            return None
        found = self.dataset.filesystem.get_file_info(names)
        return [[info.path, info.size, info.mtime_ns] for info in found]

    def chunks(
        self, taken: Sequence[Taken], size: int, id_column: str | None = None, start: int = 0
    ) -> Iterator[Chunk]:
        """Give the rows from ``start`` on, ``size`` at a time, with their ids where asked for."""
        names = [column.name for column in taken]
        d = sum(column.width or 1 for column in taken)
        dtype = self.dtype(names)
        wanted = names if id_column is None or id_column in names else [*names, id_column]
        rows, ids, filled, first = np.empty((size, d), dtype), [], 0, start
        batches = self._batches(wanted, max(1, min(size, _BATCH // d)), start)
        for batch in batches:
            done = 0
            while done < batch.num_rows:
                part = batch.slice(done, size - filled)
                into = rows[filled : filled + part.num_rows]
                _fill(into, part, taken, self.name, first + filled)
                if id_column is not None:
                    ids.append(part.column(wanted.index(id_column)))
                filled, done = filled + part.num_rows, done + part.num_rows
                if filled == size:
                    yield Chunk(first, rows, _joined(ids))
                    rows, ids, filled, first = np.empty((size, d), dtype), [], 0, first + size
        if filled:
            yield Chunk(first, rows[:filled], _joined(ids))

    def _fragments(self) -> list[Any] | None:
        """Give the files or batches of a dataset; None of one that is filtered."""
        try:
            return list(self.dataset.get_fragments())
        except ValueError:  # Arrow refuses: what is filtered would be back
            return None

    def _pieces(self) -> Iterator[tuple[Any, int | None]]:
        """Give what can be read by itself, in order, with its number of rows where it is known."""
        from pyarrow.dataset import ParquetFileFragment

        fragments = self._fragments()
        if fragments is None:
            yield self.dataset, None
            return
        for fragment in fragments:
            if not isinstance(fragment, ParquetFileFragment):
                yield fragment, None
                continue
            with reading(fragment.path):
                groups = fragment.split_by_row_group()
            for group in groups:
                yield group, group.row_groups[0].num_rows

    def _batches(self, names: Sequence[str], size: int, start: int = 0) -> Iterator[Any]:
        """Give batches of some columns; those before row ``start`` are passed over."""
        from pyarrow.dataset import ParquetFragmentScanOptions

        # Little is read ahead: a row group may be as large as all memory.
        options: dict[str, Any] = {"columns": list(names), "batch_size": size}
        options |= {"batch_readahead": 1, "fragment_readahead": 1}
        streamed = ParquetFragmentScanOptions(use_buffered_stream=True, pre_buffer=False)
        for piece, n_rows in self._pieces():
            if n_rows is not None and n_rows <= start:
                start -= n_rows
                continue
            given = options
            if piece is not self.dataset:
                given = options | {"schema": self.dataset.schema}
            if n_rows is not None:
                given = given | {"fragment_scan_options": streamed}
            with reading(getattr(piece, "path", None) or self.name):
                for batch in piece.scanner(**given).to_batches():
                    passed = min(start, batch.num_rows)
                    start -= passed
                    if passed < batch.num_rows:
                        yield batch.slice(passed)


Table = ArrayTable | ArrowTable


def _fill(into: Array, batch: Any, taken: Sequence[Taken], where: str, first: int) -> None:
    """Write the numbers of a batch, NaN where a cell is empty; lists must have one length."""
    place = 0
    for column in taken:
        cells = batch.column(batch.schema.get_field_index(column.name))
        if column.width is None:
            into[:, place] = _numbers(cells)
            place += 1
            continue
        if cells.null_count:
            row = first + int(np.argmax(cells.is_null().to_numpy(zero_copy_only=False)))
            raise Refusal(
                f"{where}: no list in column {column.name!r} in row {row}.",
                "Delete such rows, or fill them in (embed what is missing).",
                parameter="dataset",
            )
        if not hasattr(cells.type, "list_size"):
            lengths = cells.value_lengths().to_numpy(zero_copy_only=False)
            if (lengths != column.width).any():
                at = int(np.argmax(lengths != column.width))
                raise Refusal(
                    f"{where}: column {column.name!r} holds lists of {column.width} numbers, and "
                    f"of {lengths[at]} in row {first + at}.",
                    "Correct these rows, or leave them out; or name other columns.",
                    parameter="dataset",
                )
        block = _numbers(cells.flatten()).reshape(-1, column.width)
        into[:, place : place + column.width] = block
        place += column.width


def _numbers(cells: Any) -> Array:
    import pyarrow as pa

    if not (pa.types.is_floating(cells.type) or pa.types.is_integer(cells.type)):
        cells = cells.cast(pa.float64())  # decimals, true and false
    values: Array = cells.to_numpy(zero_copy_only=False)
    return values


def kind_of_type(type_: Any) -> str:
    """Say what cells of an Arrow type hold, in the words of `linkshift.tables.columns`."""
    from pyarrow import types

    if types.is_boolean(type_):
        return "true/false"
    if types.is_floating(type_) or types.is_integer(type_) or types.is_decimal(type_):
        return "number"
    if types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_):
        inner = kind_of_type(type_.value_type)
        return "list" if inner == "number" else "lists of other things than numbers"
    if types.is_temporal(type_):
        return "date"
    if types.is_null(type_):
        return "empty"
    if types.is_nested(type_):
        return "nested"
    return "text"


def _agree(found: Any, wanted: Any, *, guessed: bool) -> bool:
    """Whether a file has the type that is wanted; that of text is guessed from the first rows."""
    if not guessed:
        return bool(found == wanted)
    kinds = kind_of_type(found), kind_of_type(wanted)
    return kinds[0] in ("empty", kinds[1]) or kinds[1] == "text"


def _joined(ids: list[Any]) -> Any:
    import pyarrow as pa

    return pa.chunked_array(ids) if ids else None


@contextmanager
def reading(what: object) -> Iterator[None]:
    """Tell in words what goes wrong with a file."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise Refusal(
            f"{what} cannot be read: {one_line(error)}.",
            "It may be cut short or damaged, or a cell may not be what its column holds. " + REMEDY,
            parameter="dataset",
        ) from error


def one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text[:300].rstrip(".")
