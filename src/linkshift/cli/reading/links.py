"""Links from files and label columns, checked against the data they are for."""

from __future__ import annotations

import shlex
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from linkshift._core.text import counted, short
from linkshift.cli.reading.delimited import separated_by
from linkshift.cli.reading.sparse import SparseTable
from linkshift.cli.reading.tables import Table, check_readable
from linkshift.cli.talking import InputError
from linkshift.links import Conflict, Links, PairError, RowRangeError, _files
from linkshift.links._parse import KINDS, UnknownIdError

T = TypeVar("T")

SEPARATED = {".csv": ",", ".tsv": "\t", ".tab": "\t"}


@dataclass(frozen=True)
class Repeat:
    """A link that a file gives again."""

    kind: str
    pair: tuple[Hashable, Hashable]
    place: str
    first: str


@dataclass(frozen=True, eq=False)
class LinkFile:
    """Links, and where in their file they stand."""

    path: Path
    links: Links
    places: dict[str, list[str]]  # by kind, in the order of the links
    repeats: list[Repeat]
    remarks: tuple[str, ...] = ()  # on how the file was read


# The links, the same before ids became rows, pairs as the file has them, and of CSV all it says.
_Read = tuple[Links, Links, dict[str, Any], _files.CsvContent | None]


def read_link_file(
    path: Path, *, n_rows: int | None = None, ids: Sequence[Hashable] | None = None
) -> LinkFile:
    """Read links, and check them against the data where its size or ids are known.

    Ids are found by their text. Without ids, links keyed by id are given as they are. A pair that
    is given again counts once, and is among the ``repeats``.
    """
    if path.suffix.lower() not in (*SEPARATED, ".json"):
        raise InputError(
            f"links are read from .csv, .tsv or .json files, and {path} is none of them. Write a "
            ".csv file with the columns a,b,kind."
        )
    check_readable(path)
    is_csv = path.suffix.lower() in SEPARATED
    try:
        links, given, pairs, content = (
            _from_csv(path, n_rows, ids) if is_csv else _from_json(path, ids)
        )
        if n_rows is not None and not links.keyed_by_id:
            links = links.check(n_rows)
    except (ValueError, TypeError) as error:
        text = error.problem if isinstance(error, PairError) else str(error)
        where = "" if str(path) in text else f"{path}: "
        raise InputError(f"{where}{text}.{_remedy(error, ids)}") from error
    places: dict[str, list[str]] = {}
    repeats: list[Repeat] = []
    for kind in KINDS:
        found = [f"{kind} {i}" for i in range(len(pairs[kind]))]
        if content is not None:
            found = [f"line {line}" for line in content.lines[kind]]
        repeats += [
            Repeat(kind, tuple(pairs[kind][i]), found[i], found[first])
            for i, first in _repeated(pairs[kind]).items()
        ]
        places[kind] = _of_links(given, kind, pairs[kind], found)
    remarks = []
    if is_csv and (separator := _files.find_separator(path)) != SEPARATED[path.suffix.lower()]:
        remarks.append(separated_by(path, separator))
    if content is not None and content.n_replaced:
        times = counted(content.n_replaced, "answer")
        remarks.append(f"{path}: {times} replaced by what was said when asked again.")
    if content is not None and content.n_unknown:
        pairs_unknown = counted(content.n_unknown, "pair")
        remarks.append(f"{path}: {pairs_unknown} answered 'unknown', and taken for no links.")
    return LinkFile(path, links, places, repeats, tuple(remarks))


def _repeated(pairs: Sequence[Sequence[Hashable]]) -> dict[int, int]:
    """Positions of pairs that were there before, and where."""
    seen: dict[frozenset[Hashable], int] = {}
    found = ((i, seen.setdefault(frozenset(pair), i)) for i, pair in enumerate(pairs))
    return {i: first for i, first in found if i != first}


def _of_links(
    links: Links, kind: str, pairs: Sequence[Sequence[Hashable]], items: Sequence[T]
) -> list[T]:
    """For each link that is left, the item of the first pair in the file that gives it."""
    left = getattr(links, f"{kind}_ids")
    if len(left) == len(pairs):  # none was given again
        return list(items)
    first: dict[frozenset[Hashable], T] = {}
    for pair, item in zip(pairs, items, strict=True):
        first.setdefault(frozenset(pair), item)
    return [first[frozenset(pair)] for pair in left]


def _remedy(error: Exception, ids: Sequence[Hashable] | None) -> str:
    if isinstance(error, RowRangeError):
        named = "" if ids is not None else ", or, if these are ids, name their column: --id-column"
        return f" Rows count from 0; correct the pair{named}."
    if isinstance(error, UnknownIdError) and ids is not None:
        return " Correct the pair, or choose another --id-column (none, if the links count rows)."
    return ""


def _from_csv(path: Path, n_rows: int | None, ids: Sequence[Hashable] | None) -> _Read:
    content = _files.read_csv(path, ids)
    try:
        given = links = Links(**content.arguments)
    except PairError as error:
        raise _files.at_line(error, path, content) from error
    try:
        if content.ids is not None:
            links = links.resolve(content.ids)
        elif n_rows is not None and not links.keyed_by_id:
            links = links.check(n_rows)._make(links._pairs, n_rows)
    except PairError as error:
        kept: dict[str, Any] = {
            kind: _of_links(given, kind, content.arguments[kind], content.lines[kind])
            for kind in KINDS
        }
        raise _files.at_line(error, path, content._replace(lines=kept)) from error
    return links, given, content.arguments, content


def _from_json(path: Path, ids: Sequence[Hashable] | None) -> _Read:
    given = links = Links.read_json(path)
    if ids is not None and links.keyed_by_id:
        # By their text, as in CSV files: 7 in JSON is 7 in a table read as text.
        by_kind = (links.must_ids, links.cannot_ids)
        must, cannot = ([tuple(map(str, pair)) for pair in pairs] for pairs in by_kind)
        confidences: Any = {"must_confidence": links.must_confidence}
        confidences["cannot_confidence"] = links.cannot_confidence
        links = Links(must, cannot, **confidences, ids=[str(name) for name in ids])
    data = _files.load_json(path)[1]
    return links, given, {kind: data[kind] or [] for kind in KINDS}, None


def require_rows(links: Links, path: Path, table: Table | None = None) -> None:
    """Refuse links that still wait for ids, and name the column of the table that has them."""
    if not links.keyed_by_id:
        return
    where, first = str(path), (*links.must_ids, *links.cannot_ids)[0][0]
    if path.suffix.lower() in SEPARATED:
        line, first = _files.first_name(_files.read_records(path)) or (1, first)
        where = f"{path}, line {line}"
    if isinstance(table, SparseTable):
        is_csv = path.suffix.lower() in SEPARATED
        read = f"read_{'csv' if is_csv else 'json'}({str(path)!r})"
        raise InputError(
            f"{where}: the file links samples by id, such as {short(first)}, and {table.path} is a "
            "sparse matrix, whose rows have numbers only. Number the rows of the links from 0, in "
            f"Python: Links.{read}.resolve(ids).to_csv('by_row.csv'), with the ids in the order of "
            "rows."
        )
    column = "NAME" if table is None else _column_of(str(first), table)
    raise InputError(
        f"{where}: the file links samples by id, such as {short(first)}. "
        f"Say which column of the data holds the ids: --id-column {column}."
    )


def _column_of(name: str, table: Table) -> str:
    """Give the column that holds an id; NAME where none does, or several do."""
    free = [c for c in table.names if table.kind(c) in ("text", "array", "number")]
    found = [c for c in free if name in {str(cell) for cell in table.values(c)}]
    return shlex.quote(found[0]) if len(found) == 1 else "NAME"


def with_ids(ends: Iterable[Any], ids: Sequence[Hashable] | None) -> tuple[Hashable, ...]:
    """Give rows in the user's ids."""
    return tuple(ends if ids is None else (ids[end] for end in ends))


def named_conflict(conflict: Conflict, ids: Sequence[Hashable] | None) -> Conflict:
    """Give a conflict in the user's ids."""
    return Conflict(with_ids(conflict.cannot, ids), with_ids(conflict.chain, ids))
