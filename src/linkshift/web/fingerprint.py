"""Which rows a table has: what is new, gone or changed since, and where rows are now.

A row is known by its id, or by its numbers where it has none: rows that moved take what was said of
them along. Hashes are of numbers as they are read, before any scaling, the same on every machine.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkshift._core.messages import Refusal
from linkshift._core.text import counted, short
from linkshift.web.events import plain_id
from linkshift.web.record import Given, Name, Record, Said

__all__ = ["Difference", "Fingerprint", "Placed", "Places", "difference", "matched", "placed"]

Id = str | int
_BLOCK = 1 << 14  # rows at a time
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
_NAN = np.uint64(0x7FF8000000000000)


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """Rows of a table, by id and by a hash of their numbers; columns by a hash of each.

    ``columns`` are of all rows in their order; 0 where every row has the same number.
    """

    ids: tuple[Id, ...] | None
    rows: NDArray[np.uint64]
    columns: NDArray[np.uint64]

    @classmethod
    def of(cls, X: Any, ids: Iterable[Any] | None = None) -> Fingerprint:
        """Take the fingerprint of a table of numbers; NaN is one of them."""
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2:
            raise Refusal(
                f"X has {counted(X.ndim, 'dimension')}.",
                "Give a table, rows by columns.",
                parameter="X",
            )
        return cls(_checked_ids(ids, len(X)), *_hashes(X))

    @property
    def n_rows(self) -> int:
        """Count the rows."""
        return len(self.rows)

    @property
    def n_columns(self) -> int:
        """Count the columns."""
        return len(self.columns)

    @cached_property
    def digest(self) -> str:
        """Give one text for the whole: the same data, the same text."""
        found = hashlib.blake2b(digest_size=16)
        # Not the bytes of `to_blobs`: of what is compressed they hang on the version of zlib.
        for blob in (self._id_text, *self.to_blobs()[1:]):
            found.update(len(blob).to_bytes(8, "big") + blob)
        return found.hexdigest()

    def to_blobs(self) -> tuple[bytes | None, bytes, bytes]:
        """Give ids, rows and columns in bytes that are the same on every machine."""
        return (
            None if self.ids is None else zlib.compress(self._id_text, 1),
            self.rows.astype("<u8").tobytes(),
            self.columns.astype("<u8").tobytes(),
        )

    @property
    def _id_text(self) -> bytes:
        return json.dumps(self.ids, separators=(",", ":")).encode("ascii")

    @classmethod
    def from_blobs(cls, ids: bytes | None, rows: bytes, columns: bytes) -> Fingerprint:
        """Read what `to_blobs` gave."""
        names = None if ids is None else tuple(json.loads(zlib.decompress(ids)))
        numbers = (np.frombuffer(blob, "<u8").astype(np.uint64) for blob in (rows, columns))
        return cls(names, *numbers)

    @cached_property
    def row_of(self) -> dict[Id, int]:
        """From id to row; empty where rows have none."""
        return {name: row for row, name in enumerate(self.ids or ())}


class Difference(NamedTuple):
    """What became of the rows of a table: ids, or row numbers where rows have none."""

    new: tuple[Id, ...] = ()
    gone: tuple[Id, ...] = ()  # as they were called before
    changed: tuple[Id, ...] = ()
    n_moved: int = 0  # rows that are in another place
    n_columns: tuple[int, int] = (0, 0)  # before and now

    def __str__(self) -> str:
        """Say it in a sentence; nothing where all is the same."""
        before, now = self.n_columns
        parts = [
            f"{counted(len(names), 'row')} {'is' if len(names) == 1 else 'are'} {what}"
            for names, what in ((self.new, "new"), (self.gone, "gone"))
            if names
        ]
        if before != now:
            parts.append(f"there are {counted(now, 'column')} in the place of {before:,}")
        elif self.changed:
            verb = "has" if len(self.changed) == 1 else "have"
            parts.append(f"{counted(len(self.changed), 'row')} {verb} other numbers")
        return f"Since the last time {', '.join(parts)}." if parts else ""


def difference(before: Fingerprint | None, now: Fingerprint) -> Difference:
    """Say which rows are new, gone or changed; nothing is where there were no data before."""
    if before is None:
        return Difference(n_columns=(now.n_columns, now.n_columns))
    place = matched(before, now)
    there = place >= 0
    old, new = np.flatnonzero(there), place[there]
    fresh = np.ones(now.n_rows, dtype=bool)
    fresh[new] = False
    other = before.rows[old] != now.rows[new]
    return Difference(
        _named(now, np.flatnonzero(fresh)),
        _named(before, np.flatnonzero(~there)),
        _named(now, new[other]),
        int((old != new).sum()),
        (before.n_columns, now.n_columns),
    )


def _named(found: Fingerprint, rows: NDArray[Any]) -> tuple[Id, ...]:
    numbers = rows.tolist()
    return tuple(numbers if found.ids is None else [found.ids[row] for row in numbers])


def matched(before: Fingerprint, now: Fingerprint) -> NDArray[np.int64]:
    """Say which row each earlier one is now: (n,), -1 for those that are gone.

    Rows are known by id, where both have ids and at least one in common, or else by their numbers,
    the k-th of equal rows being the k-th. Where no row moved, those that were edited are known by
    their place, if the others bear that out; so are all where columns were added or left out.
    """
    if before.ids is not None and now.ids is not None:
        found = np.array([now.row_of.get(name, -1) for name in before.ids], dtype=np.int64)
        if (found >= 0).any():
            return found
    found = _by_hash(before.rows, now.rows)
    if before.n_rows == now.n_rows and _in_place(before, now, found):
        gone = np.flatnonzero(found < 0)
        found[gone] = gone
    return found


def _in_place(before: Fingerprint, now: Fingerprint, found: NDArray[np.int64]) -> bool:
    """Whether no row has moved: no equal one did, and half of them or a whole column say so."""
    there = np.flatnonzero(found >= 0)
    if (found[there] != there).any():
        return False
    whole = np.intersect1d(before.columns, now.columns)
    return 2 * len(there) >= now.n_rows or bool((whole != 0).any())


def _by_hash(before: NDArray[np.uint64], now: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Match the k-th of equal rows to the k-th."""
    found = np.full(len(before), -1, dtype=np.int64)
    old, new = (np.argsort(rows, kind="stable") for rows in (before, now))
    values, first, count = np.unique(before[old], return_index=True, return_counts=True)
    values_now, first_now, count_now = np.unique(now[new], return_index=True, return_counts=True)
    _, i, j = np.intersect1d(values, values_now, assume_unique=True, return_indices=True)
    both = np.minimum(count[i], count_now[j])
    kth = np.arange(both.sum()) - np.repeat(np.cumsum(both) - both, both)
    found[old[np.repeat(first[i], both) + kth]] = new[np.repeat(first_now[j], both) + kth]
    return found


class Places:
    """Where rows that entries name are in the present data.

    Parameters
    ----------
    now : Fingerprint
        The present data.
    history : mapping of int to Fingerprint
        All data there were (`Store.history`, or `Store.prints` that reads one when it is asked
        for), by their number in an entry.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.web.fingerprint import Fingerprint, Places
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> places = Places(Fingerprint.of(X[[2, 0]]), {1: Fingerprint.of(X)})
    >>> [places.row(number, data=1) for number in range(3)]
    [1, None, 0]
    """

    def __init__(self, now: Fingerprint, history: Mapping[int, Fingerprint]) -> None:
        self.now, self._history = now, history
        self._places: dict[int, NDArray[np.int64]] = {}

    def key(self, row: int) -> Id:
        """Give what an entry calls a row: its id, or its number where it has none."""
        return row if self.now.ids is None else self.now.ids[row]

    def row(self, name: Id, data: int) -> int | None:
        """Give the row of a name in data of a number; None where it is not there now.

        Names of before there were any data (number 0), as links that were imported, are
        found by how they are written, as in every file of links.
        """
        before = self._history.get(data) if data else None
        if before is None:
            return self._by_text(name)
        row = before.row_of.get(name) if before.ids is not None else name
        if not isinstance(row, int) or not 0 <= row < before.n_rows:
            # An id that was never there when the answer came may have come since.
            known = before.ids is not None and self.now.ids is not None
            return self._by_text(name) if known else None
        if before is self.now:
            return row
        if data not in self._places:
            self._places[data] = matched(before, self.now)
        found = int(self._places[data][row])
        return found if found >= 0 else None

    def _by_text(self, name: Id) -> int | None:
        if self.now.ids is not None:
            return self.now.row_of.get(name, self._rows_by_text.get(str(name)))
        text = str(name)
        whole = text.isascii() and text.isdigit() and len(text) < 19
        return int(text) if whole and int(text) < self.now.n_rows else None

    @cached_property
    def _rows_by_text(self) -> dict[str, int]:
        """From how ids are written to rows, but for those that are written alike (7 and "7")."""
        found: dict[str, int] = {}
        twice = set()
        for row, name in enumerate(self.now.ids or ()):
            if found.setdefault(str(name), row) != row:
                twice.add(str(name))
        return {text: row for text, row in found.items() if text not in twice}


class Placed(NamedTuple):
    """What stands, in row numbers of the present data; and in words, what is not used."""

    answers: tuple[Said, ...]
    links: tuple[Given, ...]
    names: tuple[Name, ...]
    notes: tuple[str, ...]
    unplaced: tuple[Said | Given | Name, ...]  # as it stands in the file


def placed(record: Record, places: Places) -> Placed:
    """Give what stands in row numbers of the present data.

    Answers and links that name a row which is not there are left out, and names none of whose rows
    is there: they stay in the file, and are used again when the rows are back.
    """
    parts: list[list[Any]] = [[], []]
    left: list[list[Any]] = [[], [], []]
    both: tuple[Sequence[Said | Given], ...] = record.answers, record.links
    for i, part in enumerate(both):
        for one in part:
            a, b = places.row(one.a, one.data), places.row(one.b, one.data)
            if a is None or b is None or a == b:
                left[i].append(one)
            else:
                parts[i].append(one._replace(a=a, b=b))
    names = []
    for name in record.names:
        found = [places.row(row, name.data) for row in name.rows]
        rows = tuple(row for row in found if row is not None)
        if rows:
            names.append(name._replace(rows=rows))
        else:
            left[2].append(name)
    answers, links = map(tuple, parts)
    unplaced = tuple(one for part in left for one in part)
    return Placed(answers, links, tuple(names), _notes(*map(len, left)), unplaced)


def _notes(n_answers: int, n_links: int, n_names: int) -> tuple[str, ...]:
    """Say how many of each kind are not used."""
    found = []
    for n, noun in ((n_answers, "answer"), (n_links, "link")):
        if n:
            found.append(
                f"{counted(n, noun)} name{'s' if n == 1 else ''} rows that are not in the data "
                f"now: {'it stays' if n == 1 else 'they stay'} in the file, and "
                f"{'is' if n == 1 else 'are'} not used."
            )
    if n_names:
        verb = "is" if n_names == 1 else "are"
        found.append(f"{counted(n_names, 'name')} {verb} of rows that are not in the data now.")
    return tuple(found)


def _checked_ids(ids: Iterable[Any] | None, n: int) -> tuple[Id, ...] | None:
    if ids is None:
        return None
    found = tuple(
        name if type(name) is str or type(name) is int else plain_id(name) for name in ids
    )
    if len(found) != n:
        raise Refusal(
            f"There are {len(found)} ids and {n} rows.", "Give an id for each row.", parameter="ids"
        )
    if len(set(found)) != n:
        seen: set[Id] = set()
        twice = next(name for name in found if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise Refusal(
            f"The id {short(twice)} stands twice.",
            "Give each row an id of its own.",
            parameter="ids",
        )
    return found


def _hashes(X: NDArray[np.float64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Hash each row, and each column with all its rows in order."""
    n, d = X.shape
    rows, sums = np.empty(n, dtype=np.uint64), np.empty(d, dtype=np.uint64)
    columns = np.zeros(d, dtype=np.uint64)
    constant = np.ones(d, dtype=bool)
    first = _bits(X[:1])
    salt = _mixed(np.arange(1, d + 1, dtype=np.uint64) * _GOLDEN)
    for start in range(0, n, _BLOCK):
        bits = _bits(X[start : start + _BLOCK])
        constant &= (bits == first).all(axis=1)
        place = np.arange(start + 1, start + bits.shape[1] + 1, dtype=np.uint64) * _GOLDEN
        found = np.full(bits.shape[1], d, dtype=np.uint64)
        for j in range(d):
            found = _mixed(found ^ (bits[j] + salt[j]))
            sums[j] = _mixed(bits[j] ^ place).sum(dtype=np.uint64)
        rows[start : start + _BLOCK] = found
        columns += sums
    columns = np.maximum(_mixed(columns), np.uint64(1))
    columns[constant] = 0
    return rows, columns


def _bits(block: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Give numbers as bits, column by column; one zero and one NaN."""
    copied = np.ascontiguousarray(block.T) + 0.0  # -0 + 0 is 0
    bits = copied.view(np.uint64)
    bits[np.isnan(copied)] = _NAN
    return bits


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread bits over all places (the finaliser of splitmix64, Steele et al. 2014)."""
    bits = (bits ^ (bits >> _SHIFTS[0])) * _FACTORS[0]
    bits = (bits ^ (bits >> _SHIFTS[1])) * _FACTORS[1]
    return bits ^ (bits >> _SHIFTS[2])
