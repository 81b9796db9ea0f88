"""Numbers and dates as people write them: 37%, 1,234.5, 1.234,5, 2024-05-31."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.text import is_number, short

__all__ = ["FORMS", "PLAIN", "days_in", "form_of", "numbers_in", "shown_form"]

PLAIN, _POINT, _COMMA, _PERCENT = "1.5", "1,234.5", "1.234,5", " %"
# How the numbers of a column are written. In percent, some cells end with the sign.
FORMS = tuple(form + sign for sign in ("", _PERCENT) for form in (PLAIN, _POINT, _COMMA))
_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")
_WITH_COMMA = re.compile(r"[+-]?(\d{1,3}([.\s]\d{3})+|\d+)(,\d+)?")
_DATE = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?(\s?(Z|[+-]\d\d(:?\d\d)?))?)?"
)
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
    """
    bare = [_bare(cell) for cell in cells]
    counts = {
        form: sum(_read(cell, form) is not None for cell in bare)
        for form in (PLAIN, _POINT, _COMMA)
    }
    form = max(counts, key=counts.__getitem__)  # of equals the first
    marked = any(cell.endswith("%") and _read(_bare(cell), form) is not None for cell in cells)
    return form + (_PERCENT if marked else ""), counts[form]


def numbers_in(cells: Iterable[Any], form: str) -> Array:
    """Read text in one of the `FORMS`; NaN where it is no number, or missing. 37% is 0.37."""
    form, out = form.removesuffix(_PERCENT), []
    for cell in cells:
        number = None if cell is None else _read(_bare(cell), form)
        share = number is not None and cell.endswith("%")
        out.append(np.nan if number is None else number / 100 if share else number)
    return np.array(out, dtype=np.float64)


def shown_form(cells: Iterable[Any], form: str) -> list[str]:
    """Say by the first cells that are not plain how they are read."""
    told = []
    for marked in (False, True):
        for cell in cells:
            if cell is None or is_number(cell) or cell.endswith("%") != marked:
                continue
            if (number := float(numbers_in([cell], form)[0])) == number:
                told.append(f"{short(cell)} read as {number:.10g}")
                break
    return told


def days_in(cells: Iterable[Any]) -> Array:
    """Read ISO dates, with or without a time, as days since 1970; NaN where there is none.

    Examples
    --------
    >>> from linkshift.tables.written import days_in
    >>> days_in(["1970-01-02", "1970-01-01T12:00", "soon", None])
    array([1. , 0.5, nan, nan])
    """
    return np.array([np.nan if cell is None else _days(cell) for cell in cells], dtype=np.float64)


def _bare(cell: str) -> str:
    return cell.removesuffix("%").rstrip()


def _read(text: str, form: str) -> float | None:
    if form == _COMMA:
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
