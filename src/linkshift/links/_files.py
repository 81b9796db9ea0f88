"""Links in files: CSV for people and spreadsheets, JSON for exact copies."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linkshift._core.files import write_text
from linkshift._core.messages import Advice, warn
from linkshift._core.text import SEPARATORS, PathLike, check_text, csv_lines, is_number, near, short
from linkshift.links._combine import named, weighted
from linkshift.links._groups import Groups
from linkshift.links._parse import (
    KINDS,
    Duplicates,
    PairError,
    Parsed,
    as_items,
    check_count,
    check_range,
    parse,
)

FORMAT = "linkshift.Links"
# Python itself refuses to read very many digits; spreadsheets and pandas write 468 as 468.0.
INTEGER = re.compile(r"([+-]?[0-9]{1,400})(?:\.0*)?")
COLUMNS = ("a", "b", "kind", "confidence")
_NEEDED = {"a", "b", "kind"}
CONFIRM = "confirm"  # in a column `purpose`: the answer to a second question about a pair
UNKNOWN = "unknown"  # of a pair that somebody was asked about, and could not tell: no link
WORDS = {
    "must": ("must", "must-link", "same", "s", "1", "true"),
    "cannot": ("cannot", "cannot-link", "different", "d", "0", "-1", "false"),
    UNKNOWN: (UNKNOWN, "u"),
}
_KIND_OF = {word: kind for kind, words in WORDS.items() for word in words}


class Record(NamedTuple):
    """One line of a CSV file."""

    line: int
    a: str
    b: str
    kind: str
    confidence: float
    percent: str  # the confidence as it was written, where that is in percent
    confirms: bool  # said of a pair that was asked about again


def write_csv(pairs: Parsed, path: PathLike) -> None:
    """Write columns ``a,b,kind``, and ``confidence`` when some link is not certain."""
    if pairs.names is not None:
        _check_text_ids(pairs.names)
    if len(pairs.apart):
        raise ValueError(
            f"CSV holds pairs, and there are {len(pairs.apart)} groups of rows that are apart. Use "
            "links.to_json, which keeps them, or links.expanded().to_csv"
        )
    certain = bool((pairs.must_confidence == 1).all() and (pairs.cannot_confidence == 1).all())
    text = io.StringIO()
    # The writer does not see that a lone carriage return needs quotes.
    awkward = any("\r" in str(name) for name in pairs.names or ())
    writer = csv.writer(
        text, lineterminator="\n", quoting=csv.QUOTE_ALL if awkward else csv.QUOTE_MINIMAL
    )
    writer.writerow(COLUMNS[:3] if certain else COLUMNS)
    for kind in KINDS:
        codes, confidence = weighted(pairs, kind)
        for (a, b), sure in zip(named(codes, pairs.names), confidence.tolist(), strict=True):
            # repr gives the shortest text that reads back as the same number
            writer.writerow((a, b, kind) if certain else (a, b, kind, repr(sure)))
    write_text(path, text.getvalue())


def _check_text_ids(names: Iterable[Hashable]) -> None:
    names = list(names)
    for name in names:
        if not isinstance(name, str) or not name or name != name.strip() or "\0" in name:
            raise ValueError(
                f"the id {name!r} would not read back from CSV as it is: ids there are text "
                "without NUL and without spaces around it. Use links.to_json, or change the id"
            )
    if names and all(is_number(str(name)) for name in names):
        raise ValueError(
            f"every id looks like a row number ({names[0]!r}), and would read back from CSV as "
            "one, or not at all. Use links.to_json, or links.resolve(ids).to_csv"
        )


class CsvContent(NamedTuple):
    """What a CSV file says, in the words of `Links`, and where it says it."""

    arguments: dict[str, Any]
    ids: list[str] | None
    lines: dict[str, list[int]]
    n_unknown: int = 0  # pairs that were answered, and are no links
    n_replaced: int = 0  # answers in whose place another one came


def read_csv(path: PathLike, ids: Iterable[Hashable] | None) -> CsvContent:
    """Read what `write_csv` writes, and what people write by hand."""
    every = read_records(path)
    records = _last_words(every)
    _tell(records, path)
    texts = None
    convert: Callable[[str], Any] = str
    if ids is not None:
        # In the file every id is text; an id such as 1001 is found by how it is written.
        texts = [str(name) for name in as_items(ids)]
        convert = partial(id_text, known=set(texts))
    elif first_name(records) is None:
        convert = row_number
    else:
        _refuse_numbers(records, path)
    arguments: dict[str, Any] = {}
    lines: dict[str, list[int]] = {}
    for kind in KINDS:
        chosen = [record for record in records if record.kind == kind]
        arguments[kind] = [(convert(record.a), convert(record.b)) for record in chosen]
        arguments[f"{kind}_confidence"] = [record.confidence for record in chosen]
        lines[kind] = [record.line for record in chosen]
    return CsvContent(
        arguments, texts, lines, sum(r.kind == UNKNOWN for r in records), len(every) - len(records)
    )


def _whole(text: str) -> str:
    """Give 468 for 468.0; other text as it is."""
    found = INTEGER.fullmatch(text)
    return text if found is None else found[1]


def _last_words(records: list[Record]) -> list[Record]:
    """Leave out what was said of a pair before somebody was asked to confirm it."""
    last = {frozenset((r.a, r.b)): r.line for r in records if r.confirms}
    return [r for r in records if r.line >= last.get(frozenset((r.a, r.b)), 0)] if last else records


def row_number(text: str) -> int:
    """Give 468 for "468" and "468.0"."""
    return int(_whole(text))


def id_text(text: str, known: Collection[str]) -> str:
    """Give an id as the data write it: 468.0 is 468 there, unless 468.0 is an id itself."""
    return _whole(text) if text not in known and _whole(text) in known else text


def first_name(records: Iterable[Record]) -> tuple[int, str] | None:
    """Line and text of the first entry that is no whole number: then all entries are ids."""
    for record in records:
        for item in (record.a, record.b):
            if not INTEGER.fullmatch(item):
                return record.line, item
    return None


def read_records(path: PathLike) -> list[Record]:
    """Give the lines of a CSV file of links."""
    check_text(path)
    separator = find_separator(path)
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        return list(_records(file, path, separator))


def find_separator(path: PathLike) -> str:
    """Give what parts the names a, b and kind in the first line; in doubt, commas."""
    with Path(path).open(encoding="utf-8-sig", errors="replace") as file:
        first = next((line for line in file if line.strip()), "")
    for separator in SEPARATORS:
        cells = next((cells for *_, cells in csv_lines([first], "", delimiter=separator)), [])
        if _NEEDED.issubset(cell.strip().lower() for cell in cells):
            return separator
    return ","


def _tell(records: list[Record], path: PathLike) -> None:
    """Warn of a file without links, and say how percents are read."""
    if all(record.kind == UNKNOWN for record in records):
        told = f"{os.fspath(path)} has a header, and no links below it."
        if records:
            told = f"{os.fspath(path)} holds no links: every pair in it is of the kind {UNKNOWN!r}."
        warn(Advice(told, "Write a line for each pair, or leave the file out."))
    percents = [record for record in records if record.percent]
    if percents:
        first, others = percents[0], ", as are others in percent" if percents[1:] else ""
        warn(
            Advice(
                f"{os.fspath(path)}, line {first.line}: a confidence of {first.percent} is read as "
                f"{first.confidence:g}{others}.",
                "Shares from 0 to 1 are read without a word.",
            )
        )


def _refuse_numbers(records: list[Record], path: PathLike) -> None:
    """Refuse 1.0, 1e9 and nan among numbers: nobody can tell whether they are rows or ids."""
    if all(is_number(item) for record in records for item in (record.a, record.b)):
        line, item = first_name(records) or (0, "")
        raise ValueError(
            f"{os.fspath(path)}, line {line}: {short(item)} is no row number. Write rows as whole "
            "numbers, counted from 0; if the numbers are sample ids, give the ids of the data too"
        )


def at_line(error: PairError, path: PathLike, content: CsvContent) -> PairError:
    """Say in which line of the file the pair stands."""
    line = content.lines[error.kind][error.position]
    message = f"{os.fspath(path)}, line {line}: {error.problem}"
    return type(error)(message, error.kind, error.position, error.python)


def _records(file: Iterable[str], path: PathLike, separator: str) -> Iterator[Record]:
    header: list[str] | None = None
    for line, last, cells in csv_lines(file, os.fspath(path), delimiter=separator):
        if not any(cell.strip() for cell in cells):
            continue
        where = f"{os.fspath(path)}, line {line}"
        if last > line:
            where += f" (to line {last}, in quotes: is one of them not closed?)"
        if header is None:
            header = _header(cells, where)
            continue
        if len(cells) != len(header):
            raise ValueError(
                f"{where}: expected {len(header)} columns ({','.join(header)}), got {len(cells)}; "
                "correct the line"
            )
        row = dict(zip(header, (cell.strip() for cell in cells), strict=True))
        if separator != "," and (sure := row.get("confidence")):
            row["confidence"] = sure.replace(",", ".")  # which 0,8 alone can mean here
        yield _record(row, line, where)
    if header is None:
        raise ValueError(f"{os.fspath(path)} is empty; expected the header a,b,kind[,confidence]")


def _header(cells: list[str], where: str) -> list[str]:
    header = [cell.strip().lower() for cell in cells]
    ours = [name for name in header if name in COLUMNS]
    if not set(ours) >= _NEEDED or len(set(ours)) < len(ours):
        if len(cells) == 1 and set(header[0].split()) >= _NEEDED:
            raise ValueError(
                f"{where}: cells are separated by spaces; put commas in their place: "
                f"{','.join(cells[0].split())}"
            )
        raise ValueError(
            f"{where}: expected the header a,b,kind[,confidence], got {short(','.join(cells))}; "
            "name the columns in the first line"
        )
    # Notes, dates and names of annotators may stand beside; a slip of the pen may not.
    for name in header:
        meant = "confidence" not in header and near(name, ["confidence"])
        if meant and name not in COLUMNS:
            raise ValueError(
                f"{where}: unknown column {short(name)}; did you mean 'confidence'? Columns beside "
                "a,b,kind,confidence may have any other name"
            )
    return header


def _record(row: dict[str, str], line: int, where: str) -> Record:
    word = row["kind"].lower()
    kind = _KIND_OF.get(_whole(word))
    if kind is None:
        raise ValueError(
            f"{where}: kind must be 'must' (same, s, 1, true), 'cannot' (different, d, 0, false) "
            f"or 'unknown' (u), got {short(row['kind'])}; correct it"
        )
    for column in ("a", "b"):
        if not row[column]:
            raise ValueError(f"{where}: column {column!r} is empty; expected a row or an id")
    text = row.get("confidence", "")
    percent = text.endswith("%")
    try:
        confidence = float(text.removesuffix("%")) if text else 1.0
        if percent:
            confidence /= 100
            if not 0 < confidence <= 1:
                raise ValueError
    except ValueError:
        raise ValueError(
            f"{where}: confidence must be a number in (0, 1] or empty, got {short(text)}"
        ) from None
    confirms = row.get("purpose", "").lower() == CONFIRM
    return Record(line, row["a"], row["b"], kind, confidence, text if percent else "", confirms)


def to_json(pairs: Parsed, n_samples: int | None) -> str:
    """Write everything that links hold as JSON text."""
    for name in pairs.names or ():
        # bool is refused at construction; other types have no exact JSON form
        if not isinstance(name, (str, int, float)):
            raise TypeError(
                f"the id {name!r} has no exact form in JSON; use ids that are text or numbers"
            )
    return json.dumps(
        {
            "format": FORMAT,
            # Who reads version 1 only must not lose groups without a word.
            "version": 2 if len(pairs.apart) else 1,
            "keyed_by": "row" if pairs.names is None else "id",
            "n_samples": n_samples,
            "must": named(pairs.must, pairs.names),
            "cannot": named(pairs.cannot, pairs.names),
            "must_confidence": pairs.must_confidence.tolist(),
            "cannot_confidence": pairs.cannot_confidence.tolist(),
        }
        | ({"apart": [*map(list, _groups_named(pairs))]} if len(pairs.apart) else {}),
        allow_nan=False,
    )


def read_json(source: PathLike, duplicates: Duplicates = "count") -> tuple[Parsed, int | None]:
    """Read JSON text, or the file at a path: the pairs and the number of samples."""
    where, data = load_json(source)
    if data.get("keyed_by") not in ("row", "id"):
        raise ValueError(
            f"{where}: keyed_by must be 'row' or 'id', got {short(data.get('keyed_by'))}"
        )
    wanted = ("must", "cannot", "must_confidence", "cannot_confidence", "n_samples")
    absent = [name for name in wanted if name not in data]
    if absent:
        raise ValueError(f"{where}: {absent[0]!r} is missing; links.to_json() writes all of it")
    n_samples = data["n_samples"]
    try:
        pairs = parse(
            *(data[name] for name in wanted[:4]), keyed=data["keyed_by"], duplicates=duplicates
        )
        if data["version"] == 2:
            pairs = _with_groups(pairs, data)
        if n_samples is not None:
            n_samples = check_count(n_samples)
            if pairs.names is None:
                check_range(pairs, n_samples)
    except PairError as error:
        raise type(error)(f"{where}: {error}", error.kind, error.position) from error
    except (ValueError, TypeError) as error:
        raise ValueError(f"{where}: {error}") from error
    return pairs, n_samples


def _groups_named(pairs: Parsed) -> list[tuple[Hashable, ...]]:
    """Give groups of rows that are apart by row, or by id."""
    return [named(group[None], pairs.names)[0] for group in pairs.apart]


def _with_groups(pairs: Parsed, data: dict[str, Any]) -> Parsed:
    """Check the groups of rows that are apart, and add them to pairs that are keyed alike."""
    parts = data.get("apart")
    if not isinstance(parts, list) or not all(isinstance(part, list) for part in parts):
        raise ValueError("'apart' must be a list of lists of rows, as links.to_json() writes it")
    entries = [row for part in parts for row in part]
    group = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    if data["keyed_by"] == "row":
        if not all(type(row) is int and 0 <= row < 2**63 for row in entries):
            raise ValueError("'apart' must hold row numbers, counted from 0")
        return pairs._replace(apart=Groups.of(entries, group))
    if not all(type(name) in (str, int, float) and name == name for name in entries):
        raise ValueError("'apart' must hold ids, which are text or numbers")
    codes = {name: code for code, name in enumerate(pairs.names or ())}
    coded = [codes.setdefault(name, len(codes)) for name in entries]
    return pairs._replace(names=tuple(codes) or None, apart=Groups.of(coded, group))


def load_json(source: PathLike) -> tuple[str, dict[str, Any]]:
    """Give what JSON text, or the file at a path, says, and how to call it in a message."""
    if isinstance(source, str) and source.lstrip().startswith("{"):
        where, text = "the JSON text", source
    else:
        check_text(source)
        where, text = os.fspath(source), Path(source).read_text(encoding="utf-8-sig")
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{where} is not JSON: line {error.lineno}, column {error.colno}: {error.msg}; "
            "write it with links.to_json()"
        ) from error
    except (ValueError, RecursionError) as error:  # too many digits, or too deep
        raise ValueError(
            f"{where} does not hold links: {error}; write it with links.to_json()"
        ) from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError(
            f"{where} does not hold links: expected 'format': '{FORMAT}', as links.to_json() "
            "writes it"
        )
    if data.get("version") not in (1, 2):
        raise ValueError(
            f"{where} has version {short(data.get('version'))}; this linkshift reads versions 1 "
            "and 2"
        )
    return where, data
