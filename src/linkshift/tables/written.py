"""Numbers and dates as people write them: 37%, 1,234.5, 1.234,5 €, 2024-05-31, 31.05.2024."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.text import is_number, short

__all__ = [
    "COMMA",
    "ISO",
    "PLAIN",
    "date_form_of",
    "days_in",
    "form_of",
    "is_form",
    "numbers_in",
    "shown_form",
    "units_in",
    "with_commas",
]

PLAIN, _POINT, COMMA, _PERCENT = "1.5", "1,234.5", "1.234,5", " %"
# How the numbers of a column are written, with a unit behind: in percent, some cells end with the
# sign, and of any other unit, all have it.
_BASES = (PLAIN, _POINT, COMMA)
_SIGNS = "€$£¥₹"
_WITH_UNIT = re.compile(
    rf"(?P<sign>[+-]?)\s*(?P<before>[{_SIGNS}])?\s*(?P<number>\d[\d.,\s]*?)\s*"
    rf"(?P<after>([^\W\d_]|[{_SIGNS}°/²³]){{1,8}})?"
)
_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")
_WITH_COMMA = re.compile(r"[+-]?(\d{1,3}([.\s]\d{3})+|\d+)(,\d+)?")
_DATE = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?(\s?(Z|[+-]\d\d(:?\d\d)?))?)?"
)
# How dates are written: as ISO has it, or day or month first.
ISO = "2024-05-31"
_DATE_FORMS = (ISO, "31.05.2024", "05.31.2024", "31/05/2024", "05/31/2024")
_DAY_OR_MONTH = re.compile(r"(\d{1,2})([./])(\d{1,2})\2(\d{4})((?:[ T]\d\d:\d\d(?::\d\d)?)?)")
_GROUPS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400.0  # seconds


def form_of(cells: Sequence[str]) -> tuple[str, int]:
    """Find how most numbers among some text are written, and how many are.

    Of 1,234 alone nobody can tell; it is taken for thousands.

    Examples
    --------
    >>> from linkshift.tables.written import form_of
    >>> form_of(["1.234,56", "7,5", "12"]), form_of(["37%", "4.5 %"])
    (('1.234,5', 3), ('1.5 %', 2))
    >>> form_of(["43,50 €", "7 €"]), form_of(["5 kg", "500 g"])
    (('1.234,5 €', 2), ('1.5', 0))
    """
    unit = _unit_of(cells)
    bare = [_bare(cell, unit) for cell in cells]
    counts = {form: sum(_read(cell, form) is not None for cell in bare) for form in _BASES}
    form = max(counts, key=counts.__getitem__)  # of equals the first
    if unit:
        return f"{form} {unit}", counts[form]
    marked = any(cell.endswith("%") and _read(_bare(cell), form) is not None for cell in cells)
    return form + (_PERCENT if marked else ""), counts[form]


def numbers_in(cells: Iterable[Any], form: str) -> Array:
    """Read text in one of the `FORMS`; NaN where it is no number, or missing. 37% is 0.37."""
    form, _, unit = form.partition(" ")
    unit, out = unit.replace("%", ""), []
    for cell in cells:
        number = None if cell is None else _read(_bare(cell, unit), form)
        share = number is not None and cell.endswith("%")
        out.append(np.nan if number is None else number / 100 if share else number)
    return np.array(out, dtype=np.float64)


def shown_form(cells: Iterable[Any], form: str) -> list[str]:
    """Say by the first cells that are not plain how they are read."""
    told = []
    for marked in (False, True):
        for cell in cells:
            if cell is None or cell.endswith("%") != marked:
                continue
            number = float(numbers_in([cell], form)[0])
            if number == number and not (is_number(cell) and float(cell) == number):
                told.append(f"{short(cell)} read as {number:.10g}")
                break
    if form == PLAIN and (pointed := _grouped(cells)):
        told.append(
            f"{short(pointed)} read as {float(pointed):.10g} (if its point is for thousands, write "
            f"{pointed.replace('.', '')})"
        )
    return told


def with_commas(cells: Sequence[str], form: str) -> str:
    """Give the form of numbers in a table of decimal commas: there, 1.234 is 1234."""
    return COMMA + form.removeprefix(PLAIN) if form.startswith(PLAIN) and _grouped(cells) else form


def is_form(form: str, kind: str) -> bool:
    """Whether text is a form of numbers or dates."""
    base, _, unit = form.partition(" ")
    if kind == "date":
        return form in _DATE_FORMS
    return base in _BASES and (
        form == base or unit == "%" or bool(_WITH_UNIT.fullmatch(f"1{unit}"))
    )


def units_in(cells: Iterable[str]) -> list[str]:
    """Units of the numbers among some text, each once, by the alphabet."""
    parts = (_WITH_UNIT.fullmatch(cell) for cell in cells)
    return sorted({unit for part in parts if part and (unit := part["before"] or part["after"])})


def date_form_of(cells: Sequence[str]) -> tuple[str, str]:
    """Find how dates are written, and say why where nobody can tell; ISO where there are none.

    Examples
    --------
    >>> from linkshift.tables.written import date_form_of
    >>> date_form_of(["01.02.2024", "31.01.2024"])[0], date_form_of(["1/2/2024", "1/13/2024"])[0]
    ('31.05.2024', '05/31/2024')
    """
    parts = [part for cell in cells if (part := _DAY_OR_MONTH.fullmatch(cell))]
    if 2 * len(parts) <= len(cells):
        return ISO, ""
    signs = {part[2] for part in parts}
    first, second = (max(int(part[i]) for part in parts) for i in (1, 3))
    sign = min(signs)
    if len(signs) == 1 and second <= 12 < first:
        return f"31{sign}05{sign}2024", ""
    if len(signs) == 1 and first <= 12 < second:
        return f"05{sign}31{sign}2024", ""
    why = "are written in several ways" if first > 12 else "may have the day or the month first"
    return ISO, f"left out, its dates {why} ({short(parts[0][0])}); write them as {ISO}"


def days_in(cells: Iterable[Any], form: str = ISO) -> Array:
    """Read dates, with or without a time, as days since 1970; NaN where there is none.

    Examples
    --------
    >>> from linkshift.tables.written import days_in
    >>> days_in(["1970-01-02", "1970-01-01T12:00", "soon", None])
    array([1. , 0.5, nan, nan])
    """
    iso = (None if cell is None else _as_iso(cell, form) for cell in cells)
    return np.array([np.nan if cell is None else _days(cell) for cell in iso], dtype=np.float64)


def _as_iso(cell: str, form: str) -> str:
    """Write a date in the way of ISO; what is none stays."""
    if form == ISO or not (part := _DAY_OR_MONTH.fullmatch(cell)) or part[2] != form[2]:
        return cell if form == ISO else ""
    day, month = (part[1], part[3]) if form.startswith("31") else (part[3], part[1])
    return f"{part[4]}-{int(month):02}-{int(day):02}{part[5]}"


def _unit_of(cells: Sequence[str]) -> str:
    """Give the unit that all numbers have; nothing where they have none, or several."""
    units = units_in(cells)
    if len(units) != 1:
        return ""
    bare = any(_read(_bare(cell), form) is not None for cell in cells for form in _BASES)
    return "" if bare else units[0]


def _grouped(cells: Iterable[Any]) -> str:
    """Give the first number with points that may all be for thousands; nothing if one is not."""
    pointed = [cell for cell in cells if cell is not None and is_number(cell) and "." in cell]
    return pointed[0] if pointed and all(map(_GROUPS.fullmatch, pointed)) else ""


def _bare(cell: str, unit: str = "") -> str:
    """Give the number in a cell without its unit; nothing where it has another."""
    if not unit:
        return cell.removesuffix("%").rstrip()
    part = _WITH_UNIT.fullmatch(cell)
    if part is None or {part["before"], part["after"]} - {None} != {unit}:
        return ""
    return part["sign"] + part["number"]


def _read(text: str, form: str) -> float | None:
    if form == COMMA:
        if not _WITH_COMMA.fullmatch(text):
            return None
        return float(re.sub(r"[.\s]", "", text).replace(",", "."))
    if form == _POINT and _GROUPED.fullmatch(text):
        return float(text.replace(",", ""))
    return float(text) if is_number(text) else None


def _days(text: str) -> float:
    if not _DATE.fullmatch(text):
        return np.nan
    try:
        found = datetime.fromisoformat(text.replace(" +", "+").replace(" Z", "Z"))
    except ValueError:  # the 31st of February
        return np.nan
    found = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    return (found - _EPOCH).total_seconds() / _DAY
