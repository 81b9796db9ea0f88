"""One column prepared: what to do is learned once, and done again on new rows.

A step is plain data, as a model file keeps it: a dict of text, numbers and lists.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.messages import Refusal
from linkshift._core.text import counted, listed, short
from linkshift.tables.columns import LISTS, Column, refuse_uneven, word
from linkshift.tables.ids import says_ids, seems_ids
from linkshift.tables.lists import part_names
from linkshift.tables.written import (
    COMMA,
    ISO,
    PLAIN,
    date_form_of,
    days_in,
    form_of,
    numbers_in,
    shown_form,
    units_in,
    with_commas,
)

__all__ = ["FIELDS", "do_step", "has_commas", "learn_step", "names_of"]

Step = dict[str, Any]

_LARGEST = 1e150  # beyond, squares are infinite
_SKEWED, _TAILED = 2.0, 10.0  # skewness of an exponential; excess kurtosis
_DISTINCT = 10  # values that a tail takes
_ENOUGH = 20  # rows to doubt a column by
_OTHER = "(other)"
_FEW_UNITS = 4  # of one quantity: mg, g, kg, t
# What a gap counts: at one, as words do, rows with the same gap become a cluster of their own.
_MARK = 0.5
# Fields of steps by their kinds, for those that come from a file.
_NUMBER: dict[str, type] = {
    "fill": float,
    "missing": bool,
    "log": float,
    "shift": float,
    "spread": float,
}
FIELDS: dict[str, dict[str, type]] = {
    "number": _NUMBER | {"form": str},
    "true/false": _NUMBER,
    "date": _NUMBER | {"form": str},
    "text": {"fill": str, "missing": bool, "levels": list, "other": bool},
    LISTS: {"fill": list, "missing": bool, "spread": float},
}


def learn_step(
    column: Column,
    *,
    max_levels: int,
    log: bool,
    scale: str,
    takes_ids: bool,
    commas: bool = False,
) -> tuple[Step | None, list[str]]:
    """Find what to do with a column, and say it; None leaves it out.

    ``commas`` says that other columns of the table have decimal commas.
    """
    told: list[str] = []
    form = ISO if column.kind == "date" else PLAIN
    if column.kind == "text":
        column, form, told = _numbers_among_text(column, commas=commas)
        if column.kind == "text":
            return _learn_text(column, max_levels)
        if column.kind not in FIELDS:
            return None, told
    if column.kind == "date":
        written = "" if form == ISO else f", written as {form}"
        told.append(f"dates{written}, taken as days since 1970")
    refuse_uneven(column.name, column.kind)
    if column.kind not in FIELDS:
        return None, [f"left out, it holds {column.kind}"]
    values, more = _without_infinite(column.values)
    told += more
    there = ~np.isnan(values)
    if not there.any():
        return None, [*told, "left out, it is empty"]
    if column.kind == LISTS:
        return _learn_lists(column.name, values, scale, told)
    known = values[there]
    if there.all() and (known == known[0]).all():
        return None, [*told, f"left out, it is {known[0]:g} everywhere"]
    is_id = column.kind == "number" and there.all() and says_ids(column.name, known)
    if is_id and not takes_ids:
        return None, [*told, "left out, it names rows: whole numbers that all differ"]
    asked = column.kind != "number" or takes_ids or not there.all() or len(known) < _ENOUGH
    if not asked and (seems := seems_ids(known)):
        told.append(f"it only {seems}; leave it out if it names rows")
    if column.kind == "true/false":
        fill, how = float(2 * known.sum() > len(known)), "the more frequent"
    else:
        fill, how = float(np.median(known)), "the median"
    if not there.all():
        told.append(_filled(there, how, f"{fill:g}"))
    step: Step = {"kind": column.kind, "fill": fill, "missing": not there.all(), "log": 0.0}
    step |= {"form": form} if "form" in FIELDS[column.kind] else {}
    if column.kind == "number" and log and (unit := _log_unit(known)):
        step["log"] = unit
        told.append(f"logarithm of 1 + |x| / {unit:.4g} with the sign of x, for its heavy tail")
    shift, spread = 0.0, 1.0
    if column.kind != "true/false":
        full = _logged(np.where(there, values, fill), step["log"])
        shift, spread = _scaling(full, scale)
    return {"name": column.name, **step, "shift": shift, "spread": spread}, told


def names_of(step: Step) -> list[str]:
    """Names of the columns that a step makes."""
    name = step["name"]
    if step["kind"] == "text":
        names = [f"{name}={level}" for level in step["levels"]]
        names += [f"{name}={_OTHER}"] if step["other"] else []
    elif step["kind"] == LISTS:
        names = list(part_names(name, len(step["fill"])))
    else:
        names = [name]
    return [*names, f"{name} is missing"] if step["missing"] else names


def do_step(step: Step, column: Column) -> tuple[Array, str]:
    """Make columns of a column, and say what is odd about its cells, if anything is."""
    if step["kind"] == "text":
        return _do_text(step, column)
    values, told = _as_kind(step, column)
    values, more = _without_infinite(values)
    there: Array = ~np.isnan(values)
    parts = []
    if step["kind"] == LISTS:
        there = np.all(there, axis=1)
        full = np.where(there[:, None], values, np.array(step["fill"], dtype=values.dtype))
        parts.append(full if step["spread"] == 1.0 else full / step["spread"])
    else:
        full = _logged(np.where(there, values, step["fill"]), step["log"])
        parts.append((full - step["shift"])[:, None] / step["spread"])
    if step["missing"]:
        parts.append(_MARK * ~there[:, None])
    dtype = parts[0].dtype
    made = np.hstack([part.astype(dtype, copy=False) for part in parts])
    return made, "; ".join(told + more)


def _learn_text(column: Column, max_levels: int) -> tuple[Step | None, list[str]]:
    counts = Counter(cell for cell in column.values if cell is not None)
    n, there = sum(counts.values()), np.array([cell is not None for cell in column.values])
    if not counts:
        return None, ["left out, it is empty"]
    if len(counts) == 1 and there.all():
        return None, [f"left out, it is {short(next(iter(counts)))} everywhere"]
    if len(counts) > max_levels and len(counts) > n / 2:
        why = f"left out, it has {counted(len(counts), 'different text')} in {n:,} rows"
        return None, [*_several_units(counts), why]
    # The most frequent first, and of equals by the alphabet: the order of rows does not matter.
    levels = sorted(counts, key=lambda level: (-counts[level], level))
    told, other = _several_units(counts), len(levels) > max_levels
    if other:
        rest = n - sum(counts[level] for level in levels[:max_levels])
        told.append(
            f"a column for each of the {max_levels} most frequent of {len(levels):,} values, and "
            f"one for the others ({counted(rest, 'row')})"
        )
    else:
        told.append(f"a column for each of its {counted(len(levels), 'value')}")
    if not there.all():
        told.append(_filled(there, "the most frequent", short(levels[0])))
    step = {"name": column.name, "kind": "text", "fill": levels[0], "missing": not there.all()}
    return {**step, "levels": levels[:max_levels], "other": other}, told


def _learn_lists(name: str, values: Array, scale: str, told: list[str]) -> tuple[Step, list[str]]:
    there: Array = np.all(~np.isnan(values), axis=1)
    if not there.any():
        raise Refusal(f"Every list in {name!r} has a gap.", "Fill them, or leave the column out.")
    known = values[there].astype(np.float64)
    fill = np.median(known, axis=0)
    if not there.all():
        told.append(_filled(there, "the medians", "of the others"))
    # One unit for all: the columns of an embedding are in the same.
    spread = 1.0
    if scale == "standard":
        spread = float(np.sqrt(known.var(axis=0).mean()))
    elif scale == "minmax":
        spread = float(np.ptp(known))
    step = {"name": name, "kind": LISTS, "fill": fill.tolist(), "missing": not there.all()}
    return {**step, "spread": spread if spread > 0 else 1.0}, told


def has_commas(column: Column) -> bool:
    """Whether numbers of a column of text have decimal commas."""
    cells = [cell for cell in column.values if cell is not None] if column.kind == "text" else []
    form, count = form_of(cells) if cells else (PLAIN, 0)
    return form.startswith(COMMA) and 2 * count > len(cells)


def _numbers_among_text(column: Column, *, commas: bool) -> tuple[Column, str, list[str]]:
    """Take a column for numbers, or for dates, where more than half of its text is."""
    cells = [cell for cell in column.values if cell is not None]
    if not cells:
        return column, PLAIN, []
    form, n_numbers = form_of(cells)
    form = with_commas(cells, form) if commas else form
    kind, values, told = "number", numbers_in(column.values, form), shown_form(cells, form)
    if n_numbers * 2 <= len(cells):
        form, why = date_form_of(cells)
        if why:
            return column._replace(kind="dates"), PLAIN, [why]
        kind, values, told = "date", days_in(column.values, form), []
    pairs = zip(column.values, np.isnan(values), strict=True)
    wrong = [cell for cell, lost in pairs if lost and cell is not None and cell.lower() != "nan"]
    if len(wrong) * 2 >= len(cells):
        return column, PLAIN, []
    return Column(column.name, kind, values), form, told + _lost(wrong, kind)


def _several_units(cells: Iterable[str]) -> list[str]:
    """Say why numbers with several units are not read."""
    found = [units_in([cell]) for cell in cells]
    units = sorted({unit for one in found for unit in one})
    if not 2 <= len(units) <= _FEW_UNITS or sum(map(bool, found)) * 2 <= len(found):
        return []
    return [f"numbers with several units ({listed(units)}), no numbers unless they have one"]


def _lost(wrong: list[Any], kind: str) -> list[str]:
    if not wrong:
        return []
    what = "date" if kind == "date" else "number"
    return [f"{counted(len(wrong), 'cell')} no {what} ({short(wrong[0])}), taken as missing"]


def _truths(cells: Array) -> Array:
    return np.array([_TRUTH.get(str(cell).lower(), np.nan) for cell in cells])


def _without_infinite(values: Array) -> tuple[Array, list[str]]:
    """Take numbers that are infinite, or too large to be squared, for missing."""
    with np.errstate(invalid="ignore"):
        beyond = np.abs(values) > (_LARGEST if values.dtype == np.float64 else 1e18)
    if not beyond.any():
        return values, []
    told = f"{counted(int(beyond.sum()), 'value')} infinite or too large, taken as missing"
    return np.where(beyond, np.nan, values).astype(values.dtype), [told]


def _filled(there: Array, how: str, value: str) -> str:
    missing = int(len(there) - there.sum())
    return f"{missing:,} missing, filled with {how} ({value}), and a column that says where"


def _log_unit(known: Array) -> float:
    """Typical size of heavy-tailed numbers; 0 where they are not, or a logarithm does not help."""
    if len(np.unique(known)) < _DISTINCT:
        return 0.0
    unit = float(np.median(np.abs(known[known != 0])))
    before, after = _shape(known), _shape(_logged(known, unit))
    heavy = abs(before[0]) > _SKEWED if known.min() >= 0 else before[1] > _TAILED
    return unit if heavy and abs(after[0]) < abs(before[0]) / 2 + 0.1 else 0.0


def _shape(values: Array) -> tuple[float, float]:
    """Skewness and excess kurtosis."""
    centred = values - values.mean(dtype=np.float64)
    largest = np.abs(centred).max()
    if largest == 0:
        return 0.0, 0.0
    centred = centred / largest
    variance = (centred**2).mean()
    return float((centred**3).mean() / variance**1.5), float((centred**4).mean() / variance**2 - 3)


def _logged(values: Array, unit: float) -> Array:
    return np.sign(values) * np.log1p(np.abs(values) / unit) if unit else values


def _scaling(values: Array, scale: str) -> tuple[float, float]:
    """Shift and spread of numbers; a constant column becomes zero, whatever it is divided by."""
    if scale == "none":
        return 0.0, 1.0
    if scale == "minmax":
        shift, spread = float(values.min()), float(np.ptp(values))
    else:
        shift, spread = float(values.mean(dtype=np.float64)), float(values.std(dtype=np.float64))
    return shift, spread if spread > 0 else 1.0


def _do_text(step: Step, column: Column) -> tuple[Array, str]:
    cells = column.values
    if column.kind != "text":
        cells = np.array([None if cell != cell else word(cell) for cell in cells.tolist()], object)
    there = np.array([cell is not None for cell in cells], dtype=bool)
    place = {level: i for i, level in enumerate(step["levels"])}
    width = len(place) + step["other"]
    at = [place.get(step["fill"] if cell is None else cell, len(place)) for cell in cells]
    out = np.zeros((len(cells), width + step["missing"]))
    for row, column_ in enumerate(at):
        if column_ < width:
            out[row, column_] = 1.0
    if step["missing"]:
        out[:, -1] = _MARK * ~there
    unseen = [cell for cell, where in zip(cells, at, strict=True) if where == width]
    if not unseen:
        return out, ""
    return out, f"{counted(len(unseen), 'cell')} with new values, such as {short(unseen[0])}"


def _as_kind(step: Step, column: Column) -> tuple[Array, list[str]]:
    """Read a column as what it was when the step was learned, and say what is lost."""
    name, kind = step["name"], step["kind"]
    if kind == LISTS:
        if column.kind != LISTS or column.values.shape[1] != len(step["fill"]):
            found = f"{column.values.shape[1]}" if column.kind == LISTS else column.kind
            raise Refusal(
                f"Column {name!r} held lists of {len(step['fill'])} numbers, now {found}.",
                "Give the column as it was.",
            )
        return column.values, []
    if column.kind == "text":
        cells = column.values
        if kind == "number":
            values = numbers_in(cells, step["form"])
        else:
            values = days_in(cells, step["form"]) if kind == "date" else _truths(cells)
        pairs = zip(cells, np.isnan(values), strict=True)
        wrong = [cell for cell, lost in pairs if lost and cell is not None]
        return values, _lost(wrong, kind)
    if column.values.ndim != 1 or column.kind not in FIELDS:
        raise Refusal(
            f"Column {name!r} held {kind}s, and now holds {column.kind}.",
            "Give the column as it was.",
        )
    if kind == "number" and (form := step["form"]) != PLAIN:  # 1.234 may be a thousand, and 37 0.37
        return column.values, [f"plain numbers, which were written as {form} before"]
    return column.values, []


_TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0, "yes": 1.0, "no": 0.0}
