"""Text with separators: CSV and TSV, their separator, encoding and decimal sign found out."""

from __future__ import annotations

import io
import re
import shlex
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from linkshift._core.messages import Advice, warn
from linkshift._core.text import SEPARATORS, csv_lines, find_encoding, is_number, listed, short
from linkshift.cli.reading.contents import Content
from linkshift.cli.talking import InputError

_OWN = {".csv": ",", ".tsv": "\t"}
_LOOKED_AT = 50  # records that a separator is found by
# Whole numbers with points between thousands; 0.125 is none.
_GROUPS = r"[+-]?[1-9]\d{0,2}(\.\d{3})+"
_EUROPEAN = rf"({_GROUPS}|[+-]?\d+)(,\d+)?([eE][+-]?\d+)?"


@dataclass(frozen=True, eq=False)
class Delimited:
    """Text, and how to read it."""

    content: Content
    encoding: str
    separator: str

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Give the first line and the cells of each record; blank lines are none, as for pandas."""
        blanks = " \r\n" if self.separator == "\t" else " \t\r\n"
        latest = ""

        def lines(file: Iterable[str]) -> Iterator[str]:
            nonlocal latest
            for text in file:
                latest = text
                yield text

        where = str(self.content.path)
        with io.TextIOWrapper(self.content.open(), encoding=self.encoding, newline="") as file:
            form: Any = {"delimiter": self.separator, "skipinitialspace": True}
            try:
                for line, last, cells in csv_lines(lines(file), where, **form):
                    if last > line or latest.strip(blanks):
                        yield line, cells
            except ValueError as error:
                raise InputError(f"{error} Close it or delete it.") from error

    def lines(self, header: bool) -> list[int]:
        """Give the line in which each row begins; nothing where the text cannot be counted."""
        # Lines are counted by another reader than the one that made the table: it may refuse it.
        try:
            return [line for line, _ in self.records()][int(header) :]
        except InputError:
            return []


def read_delimited(
    pd: Any, content: Content, *, header: bool | None, id_column: str | None
) -> tuple[Any, Delimited, list[str]]:
    """Read CSV or TSV: a frame, the text it is from, and remarks on what was found out."""
    text, remarks = _found_out(content)
    path = content.path
    line, first = next(text.records(), (0, []))
    if not any(cell.strip() for cell in first):
        what = f"{path}, line {line}: no names" if line else f"{path} is empty"
        raise InputError(f"{what}. Give a table whose first line names its columns.")
    if header is None and all(map(is_number, first)):
        raise InputError(
            f"{path}, line {line}: the first line is all numbers ({listed(first, 4)}). "
            "If that is data, add --no-header; if those are the columns' names, add --header."
        )
    # Named here and not by pandas, which calls a second x x.1.
    names = [cell.strip() or f"Unnamed: {i}" for i, cell in enumerate(first)]
    if header is False:
        names = [str(i) for i in range(len(first))]
    refuse_twice(names, f"{path}, line {line}")
    # Ids stay as they are written: 007 is not 7, and NA may be Namibia. Text alone would still
    # be searched for NA, so it travels in a tuple.
    converters = {id_column: lambda cell: (cell.strip(),)} if id_column in names else None
    try:
        with warnings.catch_warnings(), content.open() as file:
            # pandas only warns when rows are longer than the header, and drops the rest.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            form = {"sep": text.separator, "encoding": text.encoding, "skipinitialspace": True}
            form |= {"names": names, "header": None if header is False else 0, "index_col": False}
            exact = exact_numbers(pd.__version__)
            frame = pd.read_csv(file, converters=converters, low_memory=False, **exact, **form)
    except (pd.errors.ParserWarning, ValueError, OverflowError, MemoryError) as error:
        raise _not_a_table(text, len(first), error) from error
    if converters is not None:
        frame[id_column] = pd.Series([cell for (cell,) in frame[id_column]], dtype=object)
    if text.separator != ",":

        def as_written(columns: list[str]) -> Any:
            with content.open() as file:
                return pd.read_csv(file, usecols=columns, dtype=str, low_memory=False, **form)

        remarks += _commas_and_points(frame, text, as_written, id_column)
    return frame, text, remarks


def exact_numbers(version: str) -> dict[str, Any]:
    """Have pandas read numbers as written, to the last bit; from 3.1 on it warns of being asked."""
    asked = tuple(map(int, version.split(".")[:2])) < (3, 1)
    return {"float_precision": "round_trip"} if asked else {}


def refuse_twice(names: Iterable[str], where: str) -> None:
    """Refuse two columns of one name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{where}: two columns are called {short(name)}. Rename one of them.")
        seen.add(name)


def read_encoding(content: Content) -> tuple[str, list[str]]:
    """Give the encoding of text, and a remark where it is not UTF-8."""
    try:
        with content.open() as file:
            encoding, line = find_encoding(file, str(content.path))
    except ValueError as error:
        raise InputError(f"{error}.") from error
    if not line:
        return encoding, []
    return encoding, [
        f"{content.path}, line {line}: not UTF-8, and read as Latin-1 (Windows-1252). If letters "
        "look wrong, save it as UTF-8."
    ]


def _found_out(content: Content) -> tuple[Delimited, list[str]]:
    encoding, remarks = read_encoding(content)
    own = _OWN[content.suffix]
    separator = _separator(content, encoding, own)
    if separator != own:
        remarks.append(separated_by(content.path, separator))
    return Delimited(content, encoding, separator), remarks


def _separator(content: Content, encoding: str, own: str) -> str:
    """Find what makes as many cells of every line, and more than one; in doubt, its own."""
    found = {}
    for separator in (own, *SEPARATORS):
        try:
            records = Delimited(content, encoding, separator).records()
            found[separator] = [len(cells) for _, cells in islice(records, _LOOKED_AT)]
        except InputError:
            found[separator] = []
    parts = {mark: counts for mark, counts in found.items() if counts and counts[0] > 1}
    even = [mark for mark, counts in parts.items() if len(set(counts)) == 1]
    if not parts and found[own]:  # else it cannot be read as lines of cells at all
        _refuse_spaces(Delimited(content, encoding, own))
    return next(iter([*even, *parts, own]))


def separated_by(path: Any, separator: str) -> str:
    """Say that cells have another separator than the name of the file says."""
    return f"{path}: its cells are separated by {SEPARATORS[separator]}."


def _refuse_spaces(text: Delimited) -> None:
    """Refuse columns with nothing but spaces between: of text, nobody knows where they end."""
    cells = [" ".join(cells).split() for _, cells in islice(text.records(), _LOOKED_AT)]
    widths = {len(words) for words in cells}
    if len(widths) == 1 and max(widths) > 1 and any(map(is_number, cells[-1])):
        path = shlex.quote(str(text.content.path))
        raise InputError(
            f"{text.content.path}: its cells are separated by spaces, and text may hold spaces "
            "itself. Put commas in their place, for example with: "
            f"sed -E 's/^[[:space:]]+|[[:space:]]+$//g; s/[[:space:]]+/,/g' {path} > commas.csv"
        )


def _commas_and_points(
    frame: Any, text: Delimited, as_written: Callable[[list[str]], Any], id_column: str | None
) -> list[str]:
    """Read 1,5 as 1.5 and 1.234 as 1234 where a table is written so, and say it.

    Points are decimals in all columns where one number shows it. Else they are thousands where a
    comma or a number with two points shows it, or, between semicolons, numbers below a thousand
    without points.
    """
    import pandas as pd

    floats = [name for name in frame if pd.api.types.is_float_dtype(frame[name])]
    if any(_has_decimals(frame[name].dropna().to_numpy()) for name in floats):
        return []
    others = [c for c in frame if not pd.api.types.is_numeric_dtype(frame[c].dtype)]
    written = as_written(floats) if floats else frame[[]]
    commas, points, sure, doubtful = {}, {}, False, []
    for name in [*floats, *others]:
        column = (written if name in floats else frame)[name].astype("string").str.strip()
        cells = column.dropna()
        if name == id_column or not len(cells):
            continue
        pointed = cells[cells.str.contains(".", regex=False)]
        odd = pointed[~pointed.str.fullmatch(_GROUPS)]
        if name in floats and (frame[name][odd.index] % 1 != 0).any():
            return []
        if not cells.str.fullmatch(_EUROPEAN).all():
            continue
        if name in others and cells.str.contains(",", regex=False).any():
            commas[name] = column
        elif len(pointed):
            points[name] = column
            sure |= name in others
            whole = cells.drop(pointed.index).astype(float)
            doubtful += [] if len(whole) and whole.abs().max() < 1000 else [name]
    sure |= bool(commas)
    if not sure:
        doubtful = doubtful if text.separator == ";" else list(points)
        points = {name: column for name, column in points.items() if name not in doubtful}
    for name, column in (commas | points).items():
        plain = column.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
        frame[name] = pd.to_numeric(plain, errors="coerce").astype(float)
    where, said = str(text.content.path), []
    if commas:
        said.append(f"{where}: 1,5 is read as 1.5 in {listed(commas)}.")
    if points:
        said.append(
            f"{where}: points are taken for thousands, 1.234 is read as 1234, in {listed(points)}."
            + ("" if sure else " If they are decimals, write 1,234.")
        )
    if doubtful and not sure and text.separator == ";":
        warn(
            Advice(
                f"{where}: points may be decimals or thousands in {listed(doubtful)}; 1.234 is "
                "read as a little more than 1.",
                "If it is 1234, write it so, without a point.",
            )
        )
    return said


def _has_decimals(values: Any) -> bool:
    """Whether numbers cannot have been thousands: another number of digits, or too large."""
    broken = values[values % 1 != 0]
    return bool((abs(broken) >= 1000).any() or (broken != broken.round(3)).any())


def _not_a_table(text: Delimited, width: int, error: Exception) -> InputError:
    """Find the line that is to blame."""
    path, line = text.content.path, 1
    for line, cells in text.records():
        if len(cells) > width:
            return InputError(
                f"{path}, line {line}: {len(cells)} cells, more cells than its first line, which "
                f"has {width}. Name every column there, or correct the line."
            )
    if "EOF inside string" in str(error):
        return InputError(f"{path}, line {line}: a quote is not closed. Close it or delete it.")
    return InputError(f"{path} cannot be read as a table: {one_line(error)}. Write it again.")


def one_line(error: Exception) -> str:
    """Give what another library says in one short line."""
    return (" ".join(re.split(r"\s+", str(error).strip())) or type(error).__name__)[:200].rstrip(
        "."
    )
