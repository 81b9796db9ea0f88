"""The file of answers of `linkshift ask`: links in CSV, a line for each answer, as they come."""

from __future__ import annotations

import csv
import io
import os
import shlex
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from linkshift._core.files import is_device
from linkshift._core.text import csv_lines, short
from linkshift.cli.reading.links import SEPARATED, read_link_file, require_rows
from linkshift.cli.reading.tables import Table, check_readable
from linkshift.cli.talking import Console, InputError, hint
from linkshift.cli.writing.targets import write_text
from linkshift.links import Links, _files

PURPOSES = ("learn", "audit", "confirm")
COLUMNS = (*_files.COLUMNS, "purpose")  # readers of links pass over the last
_KINDS = {"same": "must", "different": "cannot", "unknown": _files.UNKNOWN}
_WORDS = {kind: word for word, kind in _KINDS.items()}


class Answer(NamedTuple):
    """What was said of a pair, in the ids of the table."""

    pair: tuple[Any, Any]
    word: str  # same, different or unknown
    confidence: float
    purpose: str  # of the question; empty where the line was written by hand
    line: int = 0  # of the file it was read from


class AnswersFile:
    """Answers, and the file that holds them: it is never behind.

    Lines keep their order, and columns that are not ours what they hold. A file that something
    else has written to in the meantime is left alone.
    """

    def __init__(
        self, path: Path, table: Table, ids: Sequence[Hashable] | None, console: Console
    ) -> None:
        self.path, self._target = path, path.resolve()  # what a link leads to, not the link
        self._n_rows = table.n_rows
        self._ids = None if ids is None else {str(name): name for name in ids}
        self.answers: list[Answer] = []
        self._header: list[str] = []
        self._cells: list[list[str]] = []  # a line for each answer, as the file has it
        self._separator = SEPARATED[path.suffix.lower()] if path.suffix else ","
        self._end, self._written = "\n", _stamp(self._target)
        if self._written is not None:
            _check_writable(path)
            if self._target.stat().st_size:
                self._read(table, ids, console)

    def _read(self, table: Table, ids: Sequence[Hashable] | None, console: Console) -> None:
        """Read the answers that are there, and check that they are about this table."""
        try:
            records = _files.read_records(self.path)
        except ValueError as error:
            raise InputError(f"{error}.") from error
        self._separator = _files.find_separator(self.path)
        with self.path.open(encoding="utf-8-sig", newline="") as file:
            self._end = "\r\n" if file.readline().endswith("\r\n") else "\n"
            file.seek(0)
            lines = [
                cells
                for *_, cells in csv_lines(file, str(self.path), delimiter=self._separator)
                if any(cell.strip() for cell in cells)
            ]
        self._header, self._cells = [cell.strip().lower() for cell in lines[0]], lines[1:]
        if self._ids is not None and records:
            names = [_files.id_text(name, self._ids) for r in records for name in (r.a, r.b)]
            if not any(name in self._ids for name in names):
                raise InputError(
                    f"{self.path} is about other rows: none of its ids, such as "
                    f"{short(records[0].a)}, is among the {self._n_rows:,} of the table. Are these "
                    "the answers for another one? Name another file, which may be a new one: "
                    "--links FILE; or choose another --id-column."
                )
        if any(record.kind != _files.UNKNOWN for record in records):
            # Its errors name the line, and its remedies what a person may have meant.
            with console.warnings():
                found = read_link_file(self.path, n_rows=self._n_rows, ids=ids)
            require_rows(found.links, self.path, table)
        column = self._header.index("purpose") if "purpose" in self._header else None
        for record, cells in zip(records, self._cells, strict=True):
            where = f"{self.path}, line {record.line}"
            pair = self._known(record.a, where), self._known(record.b, where)
            purpose = "" if column is None else cells[column].strip().lower()
            if purpose not in ("", *PURPOSES):
                raise InputError(
                    f"{where}: purpose is {short(purpose)}, and questions are for one of "
                    f"{', '.join(PURPOSES)}. Leave it empty in links of another origin, or give "
                    "the column another name."
                )
            word = _WORDS[record.kind]
            self.answers.append(Answer(pair, word, record.confidence, purpose, record.line))

    def _known(self, text: str, where: str) -> Any:
        """Give an id as the table has it; a row number where rows have no ids."""
        if self._ids is not None:
            name = _files.id_text(text, self._ids)
            if name in self._ids:
                return self._ids[name]
            raise InputError(
                f"{where}: {short(text)} is not among the {self._n_rows:,} ids of the table. Are "
                "these the answers for another one? Name another file: --links FILE."
            )
        if _files.INTEGER.fullmatch(text) and 0 <= (row := _files.row_number(text)) < self._n_rows:
            return row
        raise InputError(
            f"{where}: {short(text)} is no row of the table, which has {self._n_rows:,}. Are these "
            "the answers for another one? Name another file: --links FILE; or, if these are ids, "
            "their column: --id-column NAME."
        )

    def given(self, rows: dict[Any, int]) -> Links | None:
        """Links that were in the file without a question: those of another tool, or of a hand."""
        parts: dict[str, list[Any]] = {"must": [], "cannot": []}
        sure: dict[str, list[float]] = {"must": [], "cannot": []}
        for answer in self.answers:
            if not answer.purpose and answer.word != "unknown":
                kind = _KINDS[answer.word]
                parts[kind].append((rows[answer.pair[0]], rows[answer.pair[1]]))
                sure[kind].append(answer.confidence)
        if not any(parts.values()):
            return None
        return Links(
            parts["must"],
            parts["cannot"],
            must_confidence=sure["must"],
            cannot_confidence=sure["cannot"],
        )

    def add(self, answer: Answer) -> None:
        """Write an answer at the end of the file; it is on the disk when this returns."""
        self._check_unchanged()
        if not set(COLUMNS) <= set(self._header):
            missing = [name for name in COLUMNS if name not in self._header]
            self._header += missing
            self._cells = [[*cells, *[""] * len(missing)] for cells in self._cells]
            self._take(answer)
            self._rewrite()
        else:
            self._take(answer)
            self._append(self._cells[-1])

    def _take(self, answer: Answer) -> None:
        """Note an answer, with its line."""
        a, b = (str(name) for name in answer.pair)
        kind, sure = _KINDS[answer.word], f"{answer.confidence:.17g}"
        values = dict(zip(COLUMNS, (a, b, kind, sure, answer.purpose), strict=True))
        self.answers.append(answer)
        self._cells.append([values.get(name, "") for name in self._header])

    def remove(self, position: int) -> None:
        """Take an answer out of the file, which is replaced at once by one without it."""
        self._check_unchanged()
        del self.answers[position], self._cells[position]
        self._rewrite()

    def _check_unchanged(self) -> None:
        """Refuse to write where another program has: its lines would be lost, or ours repeated."""
        if _stamp(self._target) != self._written:
            raise InputError(
                f"{self.path} was changed by another program while you answered, and is left as it "
                "is. Your last answer is not in it; all before are, unless they were taken out "
                "there. Start again: answers in the file are not asked again."
            )

    def _rewrite(self) -> None:
        lines = (self._line(cells) for cells in (self._header, *self._cells))
        write_text(self._target, "".join(lines))
        self._written = _stamp(self._target)

    def _append(self, cells: list[str]) -> None:
        line = self._line(cells).encode()
        try:
            with self._target.open("r+b") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(size - 1, 0))
                # An editor may have left the last line without its end.
                line = line if file.read(1) in (b"\n", b"\r") else self._end.encode() + line
                try:
                    file.write(line)
                    file.flush()
                    os.fsync(file.fileno())
                except OSError:
                    file.truncate(size)  # no half line
                    raise
        except OSError as error:
            raise InputError(
                f"{self.path} cannot be written: {error.strerror or error}. All answers but the "
                "last are in it. Make room, and start again."
            ) from error
        self._written = _stamp(self._target)

    def _line(self, cells: list[str]) -> str:
        """Give cells as a line of CSV."""
        text = io.StringIO()
        # The writer does not see that a lone carriage return needs quotes.
        awkward = any("\r" in cell for cell in cells)
        settings: Any = {"delimiter": self._separator, "lineterminator": self._end}
        settings["quoting"] = csv.QUOTE_ALL if awkward else csv.QUOTE_MINIMAL
        csv.writer(text, **settings).writerow(cells)
        return text.getvalue()


def answers_path(given: Path | None, data: Path) -> Path:
    """Give the file that answers go to; that of data.csv is data.answers.csv, beside it."""
    if given is None:
        name = data.name.removesuffix(".gz")
        return data.with_name(f"{Path(name).stem}.answers.csv")
    if given.suffix.lower() not in SEPARATED:
        also = ""
        if given.suffix.lower() == ".json":
            other = str(given.with_suffix(".csv"))
            also = (
                f" Links in JSON become such a file in Python: Links.read_json({str(given)!r})"
                f".to_csv({other!r})."
            )
        raise InputError(
            f"--links {given}: answers are written line by line, to a .csv or .tsv file, and this "
            f"is none. Name one.{also}"
        )
    return given


def check_answers_file(path: Path, data: Path, console: Console, *, given: bool) -> None:
    """Refuse, before any question is asked, a file that answers could not be written to."""
    option = "--links " if given else ""
    if path.exists() and data.exists() and path.samefile(data):
        raise InputError(
            f"{option}{path} is the table itself. Name the file of the answers, or leave --links "
            "out."
        )
    if path.exists() or path.is_symlink():
        if not is_device(path):
            check_readable(path)  # no folder, and no link that leads nowhere
            return
        raise InputError(f"{option}{path} is no ordinary file. Name one, to keep answers in.")
    folder = path.parent
    if not folder.is_dir():
        raise InputError(
            f"{option}{path}: the folder {folder} does not exist. "
            f"Create it first: mkdir -p {shlex.quote(str(folder))}"
        )
    if not os.access(folder, os.W_OK):
        raise InputError(
            f"{path} cannot be written: {folder} is not yours to write to. Name another file: "
            "--links FILE."
        )
    there = [item.name for item in folder.iterdir() if item.suffix.lower() in SEPARATED]
    if given and (meant := hint(path.name, [name for name in there if name != data.name])):
        # A new file is nothing wrong, but answers that were forgotten would be asked again.
        console.say(f"{path} does not exist, and is a new file.{meant}")


def check_ids(ids: Sequence[Hashable], column: str) -> None:
    """Refuse ids that would not read back from a file of answers as they are."""
    for name in map(str, ids):
        if name != name.strip() or "\0" in name:
            raise InputError(
                f"--id-column {column}: the id {short(name)} would not read back from a file of "
                "answers: spaces around it are lost there. Take them out, or choose another column."
            )


def _check_writable(path: Path) -> None:
    if not os.access(path, os.W_OK):
        raise InputError(
            f"{path} is not yours to write to. Make it so, or copy it and name the copy: "
            "--links FILE."
        )


def _stamp(path: Path) -> tuple[int, int] | None:
    """Size and time of a file; None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_size, found.st_mtime_ns
