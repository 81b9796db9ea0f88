"""Files of links as lines of a labelling page, and what of them its file does not hold."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from linkshift._core.text import counted, csv_lines, listed, near, short
from linkshift.cli.reading.answers import PURPOSES
from linkshift.cli.reading.links import SEPARATED
from linkshift.cli.reading.tables import check_readable
from linkshift.cli.talking import InputError, passed_on
from linkshift.links import Links, _files
from linkshift.links._parse import parse
from linkshift.web.events import Event, checked_who, plain_id
from linkshift.web.lines import Line, in_force

if TYPE_CHECKING:
    from linkshift.web.fingerprint import Fingerprint

__all__ = ["New", "check_store_path", "compared", "read_lines"]

SUFFIX = ".linkshift"
_WORDS = {"must": "same", "cannot": "different", _files.UNKNOWN: _files.UNKNOWN}
_MOST_CONFLICTS = 1_000  # whose chains are looked for
Id = str | int


def check_store_path(path: Path, *, new: bool = False) -> str:
    """Refuse what cannot be the file of a page; give what is to be said of one that is new."""
    if path.suffix.lower() in (*SEPARATED, ".json"):
        raise InputError(
            f"{path} looks like a file of links. Name the file of a labelling page: NAME{SUFFIX}."
        )
    if path.exists() or path.is_symlink() or not path.parent.is_dir():
        return ""  # opening it says what is wrong with it
    there = sorted(item.name for item in path.parent.iterdir() if item.suffix == SUFFIX)
    meant = near(path.name, there)
    also = f" Did you mean {meant!r}?" if meant is not None else ""
    if not new:
        some = f" In its folder: {listed(there)}." if there and not also else ""
        raise InputError(f"{path} does not exist.{also or some}")
    if path.suffix != SUFFIX:
        raise InputError(f"{path}: files of a labelling page are called NAME{SUFFIX}. Name one so.")
    return f"{path} did not exist, and is a new file.{also}"


def check_lines(path: Path) -> None:
    """Refuse what is no file of links."""
    if path.suffix.lower() not in (*SEPARATED, ".json"):
        raise InputError(
            f"links are read from .csv, .tsv or .json files, and {path} is none of them. Write a "
            ".csv file with the columns a,b,kind."
        )
    check_readable(path)


def read_lines(path: Path, now: Fingerprint | None, who: str) -> tuple[list[Line], list[str]]:
    """Read a file of links, or of answers of `linkshift ask`, in the names of some data.

    ``who`` has said what the file itself does not say who said. Also given: remarks.
    """
    check_lines(path)
    known = _names(now)
    if path.suffix.lower() == ".json":
        return _from_json(path, known, who), []
    lines, untimed = [], 0
    for record, more in _records(path):
        line, timed = _line(record, more, f"{path}, line {record.line}", known, who)
        lines.append(line)
        untimed += not timed
    lines = _by_votes(lines)
    remarks = []
    if untimed:
        remarks.append(
            f"{path}: {counted(untimed, 'time')} in the column at cannot be read, such as a time "
            "without its zone; those lines have the time of now."
        )
    return lines, remarks


def _records(path: Path) -> list[tuple[_files.Record, dict[str, str]]]:
    """Give the lines of a file with all their cells, also those that readers of links pass over."""
    try:
        records, separator = _files.read_records(path), _files.find_separator(path)
    except ValueError as error:
        raise InputError(f"{error}.") from error
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = [
            [cell.strip() for cell in cells]
            for *_, cells in csv_lines(file, str(path), delimiter=separator)
            if any(cell.strip() for cell in cells)
        ]
    header = [name.lower() for name in rows[0]]
    more = [dict(zip(header, cells, strict=True)) for cells in rows[1:]]
    return list(zip(records, more, strict=True))


def _line(
    record: _files.Record,
    more: dict[str, str],
    where: str,
    known: Callable[[Id, str], Id],
    who: str,
) -> tuple[Line, bool]:
    """Check one line; also given: whether its time, if it has one, could be read."""
    word, purpose = _WORDS[record.kind], more.get("purpose", "").lower()
    if purpose not in ("", *PURPOSES):
        raise InputError(
            f"{where}: purpose is {short(purpose)}, and questions are for one of "
            f"{', '.join(PURPOSES)}. Leave it empty in links of another origin, or give the "
            "column another name."
        )
    if word == _files.UNKNOWN:
        purpose = purpose or "learn"  # somebody was asked: it is no link
    if not 0 < record.confidence <= 1:
        raise InputError(f"{where}: confidence must be above 0 and up to 1. Correct the line.")
    with passed_on(f"{where}: "):
        said = checked_who(more.get("who", "")) or who
    a, b = known(record.a, where), known(record.b, where)
    if a == b:
        raise InputError(f"{where}: {short(a)} is paired with itself. Correct the line.")
    at = _time(more.get("at", ""))
    line = Line(a, b, word, record.confidence, purpose, said, at)
    return line, bool(at) or not more.get("at")


def _by_votes(lines: list[Line]) -> list[Line]:
    """Give each pair one link, as every reader of links does: by what most lines say."""
    given = [line for line in lines if not line.purpose]
    if len({line.pair for line in given}) == len(given):
        return lines
    split = [[line for line in given if line.word == word] for word in ("same", "different")]
    pairs = [[(line.a, line.b) for line in part] or None for part in split]
    sure = [[line.confidence for line in part] or None for part in split]
    # Ids that are whole numbers would be read as numbers of rows.
    found = Links._make(parse(*pairs, *sure, keyed="id", duplicates="count"), None)
    parts = found.must_ids, found.cannot_ids
    weights = found.must_confidence, found.cannot_confidence
    voted = {
        (frozenset(pair), word): confidence
        for word, ends, sures in zip(("same", "different"), parts, weights, strict=True)
        for pair, confidence in zip(ends, sures.tolist(), strict=True)
    }
    return [
        line if line.purpose else line._replace(confidence=voted.pop((line.pair, line.word)))
        for line in lines
        if line.purpose or (line.pair, line.word) in voted
    ]


def _from_json(path: Path, known: Callable[[Id, str], Id], who: str) -> list[Line]:
    with passed_on():
        links = Links.read_json(path)
    if len(links._pairs.apart):
        raise InputError(
            f"{path} holds groups of rows that are apart, and a labelling page keeps pairs. Write "
            f"them as such in Python: Links.read_json({str(path)!r}).expanded()."
        )
    lines = []
    for word, pairs, sure in (
        ("same", links.must_ids, links.must_confidence),
        ("different", links.cannot_ids, links.cannot_confidence),
    ):
        for pair, confidence in zip(pairs, sure.tolist(), strict=True):
            with passed_on(f"{path}: "):
                a, b = (known(plain_id(name), str(path)) for name in pair)
            lines.append(Line(a, b, word, confidence, "", who))
    return lines


def _names(now: Fingerprint | None) -> Callable[[Id, str], Id]:
    """Give what finds an id of the data by how it is written, or the number of a row."""
    ids = None if now is None or now.ids is None else {str(name): name for name in now.ids}

    def known(name: Id, where: str) -> Id:
        if now is None:
            return name  # the data will say what it stands for
        text = str(name)
        if ids is not None and (text := _files.id_text(text, ids)) in ids:
            return ids[text]
        if ids is None and _files.INTEGER.fullmatch(text):
            row = _files.row_number(text)
            if 0 <= row < now.n_rows:
                return row
        what = "ids" if ids is not None else "rows, numbered from 0,"
        raise InputError(
            f"{where}: {short(name)} is not among the {now.n_rows:,} {what} of the data that the "
            "page was opened with last. Are these the links of another table? If rows are new, "
            "open the page with them first: linkshift label DATA."
        )

    return known


def _time(text: str) -> str:
    """Give a time as a store writes it; nothing for what is none, or has no zone."""
    with suppress(ValueError):
        found = datetime.fromisoformat(text)
        if found.tzinfo is not None:
            utc = found.astimezone(UTC).isoformat(timespec="milliseconds")
            return utc.replace("+00:00", "Z")
    return ""


class New(NamedTuple):
    """What a file says that a store does not hold."""

    lines: list[Line]
    n_known: int
    n_contradicting: int  # new lines that say the opposite of others, by themselves or in a chain
    contradictions: list[str]

    def events(self, source: str) -> list[Event]:
        """Give what is to be written."""
        found = []
        for line in self.lines:
            body: dict[str, Any] = {"a": line.a, "b": line.b, "word": line.word}
            body["confidence"] = line.confidence
            body |= {"said": line.at} if line.at else {}
            if line.purpose:
                found.append(
                    Event("answer", body | {"purpose": line.purpose, "by": "question"}, line.who)
                )
            else:
                found.append(Event("link", body | {"source": source}, line.who))
        return found


def compared(lines: Iterable[Line], there: Sequence[Line]) -> New:
    """Say which lines are not there yet; an answer may be there several times, a link once."""
    answers: dict[tuple[Any, ...], Counter[str]] = defaultdict(Counter)
    links = {(one.pair, one.word, one.confidence) for one in there}
    for one in there:
        if one.purpose:
            answers[one.pair, one.word, one.confidence, one.purpose][one.who] += 1
    lines = list(lines)
    known = [False] * len(lines)
    # What nobody is named for may be anybody's: of what is left.
    for i in sorted(range(len(lines)), key=lambda i: not lines[i].who):
        line = lines[i]
        if line.purpose:
            people = answers[line.pair, line.word, line.confidence, line.purpose]
            said = [who for who, n in people.items() if n and line.who in ("", who)]
            known[i] = bool(said)
            if said:
                people[said[0]] -= 1
        else:
            known[i] = (line.pair, line.word, line.confidence) in links
            links.add((line.pair, line.word, line.confidence))
    new = [line for line, there_already in zip(lines, known, strict=True) if not there_already]
    return New(new, sum(known), *_contradictions(new, there))


def _contradictions(new: Sequence[Line], there: Sequence[Line]) -> tuple[int, list[str]]:
    """Count new lines that cannot be right together with others, and say with which."""
    before = {line.pair: line for line in in_force(there)}
    against: set[frozenset[Id]] = set()
    told = []
    for line in new:
        other = before.get(line.pair)
        if other is not None and {line.word, other.word} == {"same", "different"}:
            by = f" ({other.who})" if other.who else ""
            told.append(f"{line.a!r} and {line.b!r} {line.word}, and there {other.word}{by}")
            against.add(line.pair)
    now = {line.pair: line for line in in_force([*there, *new])}
    codes: dict[Id, int] = {}
    pairs: dict[str, list[tuple[int, int]]] = {"same": [], "different": [], "unknown": []}
    for line in now.values():
        a, b = (codes.setdefault(name, len(codes)) for name in (line.a, line.b))
        pairs[line.word].append((a, b))
    if pairs["same"] and pairs["different"]:
        names, is_new = list(codes), {line.pair for line in new}
        conflicts = Links(pairs["same"], pairs["different"]).conflicts()
        for i in range(min(len(conflicts), _MOST_CONFLICTS)):
            parts: tuple[Any, ...] = conflicts[i].cannot, conflicts[i].chain
            ends, chain = (tuple(names[code] for code in part) for part in parts)
            links = [ends, *pairwise(chain)]
            found = {frozenset(link) for link in links} & is_new
            if found:
                against |= found
                way = listed(map(repr, chain)).replace(", ", " - ")
                told.append(f"{ends[0]!r} and {ends[1]!r} different, and the same by {way}")
    return sum(line.pair in against for line in new), told
