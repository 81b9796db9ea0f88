"""A first look at all rows of a table: which columns count, their moments, and what is missing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkshift._core.arrays import Array, Progress
from linkshift._core.messages import Advice, Refusal, warn
from linkshift._core.progress import tell
from linkshift._core.text import counted, listed, near, short
from linkshift.scale.chunks import rows_of_a_chunk
from linkshift.scale.tables import ArrayTable, Chunk, Table, Taken
from linkshift.tables.columns import LARGEST
from linkshift.tables.ids import says_ids
from linkshift.tables.lists import part_names
from linkshift.tables.scaling import Moments

__all__ = ["Survey", "survey_table"]


@dataclass(frozen=True, eq=False)
class Survey:
    """What a table holds.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    taken : tuple of Taken
        Columns that are clustered.
    left_out : dict
        The others, and why.
    places : ndarray of int
        Which of the numbers that these columns hold are clustered: those that vary.
    moments : Moments
        Of these numbers.
    rows_of_ids : dict
        Rows of the ids that were looked for, by their text.
    """

    n_rows: int
    taken: tuple[Taken, ...]
    left_out: dict[str, str]
    places: Array
    moments: Moments
    rows_of_ids: dict[str, int] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, those of lists one by one."""
        every = column_names(self.taken)
        return tuple(every[place] for place in self.places.tolist())

    def numbers(self, rows: Array) -> Array:
        """Give what is clustered of the numbers that were read."""
        return rows if len(self.places) == rows.shape[1] else rows[:, self.places]

    def about(self) -> dict[str, Any]:
        """Say it in plain values; every number keeps all its digits."""
        return {
            "n_rows": self.n_rows,
            "taken": [list(column) for column in self.taken],
            "left_out": self.left_out,
            "places": self.places.tolist(),
            "moments": [values.tolist() for values in self.moments],
            "rows_of_ids": self.rows_of_ids,
        }

    @classmethod
    def from_about(cls, about: Mapping[str, Any]) -> Survey:
        """Take it from plain values."""
        return cls(
            about["n_rows"],
            tuple(Taken(*column) for column in about["taken"]),
            about["left_out"],
            np.array(about["places"], dtype=np.int64),
            Moments(*(np.array(values, dtype=np.float64) for values in about["moments"])),
            about["rows_of_ids"],
        )


def column_names(taken: Sequence[Taken]) -> tuple[str, ...]:
    """Give the names of columns, those of lists one by one."""
    parts = ((name,) if width is None else part_names(name, width) for name, width in taken)
    return tuple(name for part in parts for name in part)


def survey_table(
    table: Table,
    columns: Sequence[str] | None,
    id_column: str | None,
    linked_ids: Collection[str] = (),
    progress: Progress | None = None,
) -> Survey:
    """Read a table once.

    Without ``columns``, numbers are taken: those of the lists, where there are some; else all
    columns of numbers but those that are constant and those that name rows, by their name and by
    whole numbers that differ within every chunk.

    Parameters
    ----------
    table : Table
        From `open_table`.
    columns : sequence of str, default=None
        Columns to take.
    id_column : str, default=None
        Column of ids, which must all be there.
    linked_ids : collection of str, default=()
        Ids whose rows are wanted.
    progress : callable, default=None
        Called with the rows that are done, and all of them.
    """
    if id_column is not None:
        _check_id_column(table, id_column)
    taken, left_out = _candidates(table, columns, id_column)
    table.check_files([*(column.name for column in taken), *([id_column] if id_column else [])])
    sums = _Sums(column_names(taken))
    ids = _Ids(table.name, id_column, set(linked_ids))
    is_number = columns is None and not isinstance(table, ArrayTable)
    may_be_ids = [c.name for c in taken if c.width is None] if is_number else []
    n_rows = table.n_rows
    for chunk in table.chunks(taken, rows_of_a_chunk(len(sums.names)), id_column):
        _refuse_gaps(table, chunk, sums.names)
        sums.add(chunk.rows)
        ids.add(chunk)
        where = {name: sums.names.index(name) for name in may_be_ids}
        may_be_ids = [c for c, j in where.items() if says_ids(c, chunk.rows[:, j])]
        if n_rows is not None:
            tell(progress, sums.n, n_rows)
    if not sums.n:
        raise Refusal(f"{table.name} has no rows.", "Give a table with data.", parameter="dataset")
    ids.check()
    same = sums.constant if columns is None else set()
    if columns is None:
        left_out |= _say_nothing(taken, same, may_be_ids)
        sums.warn_of_counters([name for name in sums.names if name not in left_out])
    kept = tuple(column for column in taken if column.name not in left_out)
    if not kept:
        _refuse_none(table, left_out)
    names = column_names(kept)
    places = np.array([j for j, name in enumerate(names) if name not in same], dtype=np.int64)
    read = [sums.names.index(names[place]) for place in places.tolist()]
    moments = Moments(*(values[read] for values in sums.moments()))
    return Survey(sums.n, kept, left_out, places, moments, ids.rows)


class _Sums:
    """Moments of columns, added up chunk by chunk, and whether they only grow.

    Two parts of n and n' rows have the squares :math:`S + S' + (m' - m)^2 n n' / (n + n')` about
    their common mean.
    """

    def __init__(self, names: Sequence[str]) -> None:
        d = len(names)
        self.names, self.n = list(names), 0
        self.mean, self.squares = np.zeros(d), np.zeros(d)
        self.low, self.high = np.full(d, np.inf), np.full(d, -np.inf)
        self.last: Array | None = None
        self.growing = list(range(d))  # columns of whole numbers that have grown so far

    def add(self, rows: Array) -> None:
        k = len(rows)
        mean = rows.mean(axis=0, dtype=np.float64)
        apart = mean - self.mean
        self.squares += k * rows.var(axis=0, dtype=np.float64)
        self.squares += apart**2 * (self.n * k / (self.n + k))
        self.mean += apart * (k / (self.n + k))
        self.low = np.minimum(self.low, rows.min(axis=0))
        self.high = np.maximum(self.high, rows.max(axis=0))
        self.growing = [j for j in self.growing if self._grows(rows[:, j], j)]
        self.last, self.n = rows[-1].copy(), self.n + k

    def _grows(self, values: Array, j: int) -> bool:
        if self.last is not None and values[0] <= self.last[j]:
            return False
        some = values[:1000]  # which tells in nearly all cases
        return bool((np.diff(some) > 0).all()) and bool(
            (np.diff(values) > 0).all() and (values == np.round(values)).all()
        )

    @property
    def constant(self) -> set[str]:
        """Columns that say nothing, unless they are all there is."""
        same = (self.low == self.high).tolist()
        if self.n < 2 or all(same):
            return set()
        return {name for name, is_same in zip(self.names, same, strict=True) if is_same}

    def moments(self) -> Moments:
        return Moments(self.mean, np.sqrt(self.squares / self.n), self.low, self.high)

    def warn_of_counters(self, names: Collection[str]) -> None:
        if len(names) < 2 or self.n < 3:
            return
        for name in (self.names[j] for j in self.growing):
            if name in names:
                warn(
                    Advice(
                        f"Column {name!r} only grows from row to row, as ids do, yet it is used as "
                        "a feature.",
                        f"If it names rows, say id_column={name!r}.",
                        command=f"If it names rows, say --id-column {name}.",
                        parameter="columns",
                    )
                )


class _Ids:
    """Ids that are all there, and the rows of some."""

    def __init__(self, where: str, column: str | None, wanted: set[str]) -> None:
        self.where, self.column, self.wanted = where, column, wanted
        self.rows: dict[str, int] = {}

    def add(self, chunk: Chunk) -> None:
        if self.column is None:
            return
        import pyarrow as pa
        import pyarrow.compute as pc

        empty = pc.is_null(chunk.ids, nan_is_null=True)
        if pa.types.is_string(chunk.ids.type) or pa.types.is_large_string(chunk.ids.type):
            empty = pc.or_(empty, pc.equal(pc.fill_null(chunk.ids, ""), ""))
        missing = np.flatnonzero(empty.to_numpy())
        if missing.size:
            raise Refusal(
                f"{self.where}: no id in column {self.column!r} in row {chunk.first + missing[0]}.",
                "Fill it in, or name another column.",
                parameter="id_column",
            )
        if not self.wanted:
            return
        for place, name in enumerate(map(str, chunk.ids.to_pylist())):
            if name not in self.wanted:
                continue
            row = self.rows.setdefault(name, chunk.first + place)
            if row != chunk.first + place:
                raise Refusal(
                    f"{self.where}: rows {row} and {chunk.first + place} have the same id in "
                    f"column {self.column!r}, {short(name)}, and links name it.",
                    "Ids must differ; choose another column.",
                    parameter="id_column",
                )

    def check(self) -> None:
        unknown = sorted(self.wanted - self.rows.keys())
        if unknown:
            raise Refusal(
                f"{self.where}: links name {listed(map(short, unknown), 4)}, and column "
                f"{self.column!r} has no such id.",
                "Correct the links, or choose another column of ids.",
                parameter="links",
            )


def _check_id_column(table: Table, name: str) -> None:
    if isinstance(table, ArrayTable):
        raise Refusal(
            f"{table.name} is a matrix, and has no column of ids.",
            "Leave id_column out: rows are called by their numbers.",
            command="Leave --id-column out: rows are called by their numbers.",
            parameter="id_column",
        )
    _check_column(table, name, "id_column")
    if "list" in (kind := table.kinds[name]) or kind in ("nested", "empty"):
        raise Refusal(
            f"{table.name}: column {name!r} holds {kind}s, and no ids.".replace("listss", "lists"),
            "Choose another column.",
            parameter="id_column",
        )


def _check_column(table: Table, name: str, parameter: str) -> None:
    if name not in table.kinds:
        meant = near(name, table.kinds)
        hint = f" Did you mean {meant!r}?" if meant else ""
        raise Refusal(
            f"{table.name} has no column {name!r}.{hint}",
            f"Its columns: {listed(table.kinds, 20)}.",
            parameter=parameter,
        )


def _candidates(
    table: Table, columns: Sequence[str] | None, id_column: str | None
) -> tuple[tuple[Taken, ...], dict[str, str]]:
    """Columns that may be taken by what they hold, and why others are not."""
    kinds = {name: kind for name, kind in table.kinds.items() if name != id_column}
    if columns is not None:
        names = list(columns)
        for name in names:
            _check_named(table, name, names, id_column)
    else:
        lists = [name for name, kind in kinds.items() if kind == "list"]
        if len(lists) > 1:
            raise Refusal(
                f"{table.name} has several columns of lists: {listed(lists)}.",
                f"Say which to cluster: columns=[{lists[0]!r}].",
                command=f"Say which to cluster: --columns {lists[0]}.",
                parameter="columns",
            )
        # Numbers beside an embedding are in other units, and few against many.
        if lists:
            numbers = [name for name, kind in kinds.items() if kind == "number"]
            kinds |= dict.fromkeys(numbers, "beside the lists")
        names = lists or [name for name, kind in kinds.items() if kind == "number"]
    taken = tuple(
        Taken(name, table.width(name) if kinds[name] == "list" else None) for name in names
    )
    left_out = {name: kind for name, kind in kinds.items() if name not in names}
    for column in taken:
        if column.width == 0:
            raise Refusal(
                f"{table.name}: column {column.name!r} holds empty lists.",
                "Name other columns.",
                parameter="columns",
            )
    if not taken:
        _refuse_none(table, left_out)
    return taken, left_out


def _check_named(table: Table, name: str, names: list[str], id_column: str | None) -> None:
    _check_column(table, name, "columns")
    if names.count(name) > 1:
        raise Refusal(f"columns name {name!r} twice.", "Name it once.", parameter="columns")
    if name == id_column:
        raise Refusal(
            f"Column {name!r} holds ids.", "Take it out of the columns.", parameter="columns"
        )
    if (kind := table.kinds[name]) not in ("number", "true/false", "list"):
        held = {"text": "text", "empty": "nothing"}.get(
            kind, f"{kind}s" if kind == "date" else kind
        )
        raise Refusal(
            f"{table.name}: column {name!r} is not numeric: it holds {held}.",
            "Turn it into numbers, or leave it out of the columns.",
            parameter="columns",
        )


def _refuse_none(table: Table, left_out: Mapping[str, str]) -> None:
    shown = listed((f"{name} ({kind})" for name, kind in left_out.items()), 20)
    raise Refusal(
        f"{table.name} has no numeric columns to cluster.",
        f"Its columns: {shown or 'none'}. Turn them into numbers first.",
        parameter="dataset",
    )


def _refuse_gaps(table: Table, chunk: Chunk, names: Sequence[str]) -> None:
    """Refuse cells that hold no usable number, with the first row of each kind."""
    most = LARGEST[chunk.rows.dtype.name]
    usable = np.abs(chunk.rows) <= most  # NaN is not
    if usable.all():
        return
    parts = []
    for j in np.flatnonzero(~usable.all(axis=0))[:5].tolist():
        wrong = np.flatnonzero(~usable[:, j])
        value = chunk.rows[wrong[0], j]
        how = "missing" if np.isnan(value) else "infinite"
        how = f"beyond {most:g}" if np.isfinite(value) else how
        more = f" and {wrong.size - 1:,} more" if wrong.size > 1 else ""
        parts.append(f"{names[j]!r} is {how} in row {chunk.first + wrong[0]}{more}")
    last = counted(chunk.first + len(chunk.rows), "row")
    raise Refusal(
        f"{table.name}: {'; '.join(parts)} (of the first {last}).",
        "Delete these rows or fill them in, or name other columns: columns=[...].",
        command="Delete these rows or fill them in, or name other columns with --columns.",
        parameter="dataset",
    )


def _say_nothing(
    taken: Sequence[Taken], same: Collection[str], ids: Sequence[str]
) -> dict[str, str]:
    """Columns that are constant, and those that name rows."""
    constant = [column.name for column in taken if column.width is None and column.name in same]
    return dict.fromkeys(ids, "ids") | dict.fromkeys(constant, "constant")
