"""Tables of scores: means over sets with their standard errors, clusters, falls, broken links."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from benchmarks.auto.methods import Score
from benchmarks.harness import Cell, Row

OURS = "auto"
COLUMNS = {"2 to 7": (2, 7), "8 to 30": (8, 30), "31 and more": (31, 10**9)}
NAMED = (  # set, links, and the least ARI that auto is to have there
    ("face_orl_32", 50, 0.40),
    ("chainlink", 10, 0.95),
    ("zigzag", 10, 0.90),
    ("a3", 0, 0.90),
)
FALL = 0.02  # what a set's mean may lose by more links


class Case(NamedTuple):
    """What is given beside the rows."""

    kind: str  # of links: "none", "random", "near", or the share of wrong ones
    n_links: int


class Key(NamedTuple):
    """What a score is of."""

    name: str
    case: Case
    draw: int
    method: str


Scores = Mapping[Key, Score]
Value = Callable[[Score], float]


def by_set(scores: Scores, case: Case, method: str, value: Value) -> dict[str, float]:
    """Mean over the draws, for each set that the method was tried on."""
    found: dict[str, list[float]] = {}
    for key, one in scores.items():
        if (key.case, key.method) == (case, method):
            found.setdefault(key.name, []).append(value(one))
    return {name: float(np.mean(values)) for name, values in found.items()}


def standard_error(values: Sequence[float]) -> float | None:
    """Of the mean over sets; None for fewer than two."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


def mean_cells(
    scores: Scores, case: Case, methods: Sequence[str], names: Sequence[str] | None = None
) -> dict[str, Cell]:
    """Mean ARI of each method over sets, and beside it the standard error."""
    cells: dict[str, Cell] = {}
    for method in methods:
        means = by_set(scores, case, method, _ari)
        values = [ari for name, ari in means.items() if names is None or name in names]
        if values:
            cells[method] = float(np.mean(values))
            cells[f"± {method}"] = standard_error(values)
    return cells


def summary(
    half: str, scores: Scores, cases: Sequence[Case], methods: Sequence[str], widths: dict[str, int]
) -> Iterator[Row]:
    """All tables of a half; ``widths`` has the columns of each set."""
    for case in cases:
        means = mean_cells(scores, case, methods)
        refused = refused_cells(scores, case, methods)
        yield row("ARI", half, case, sets=len(widths), **means, **refused)
    for case in cases:
        yield from _margins(half, scores, case, methods)
    nothing = Case("none", 0)
    for columns, (least, most) in COLUMNS.items():
        names = [name for name, width in widths.items() if least <= width <= most]
        if names and (cells := mean_cells(scores, nothing, methods, names)):
            cells = {"columns": columns, "sets": len(names), **cells}
            yield row("ARI by columns", half, nothing, **cells)
    for case in cases:
        cells = {}
        for method in methods:
            if ratios := by_set(scores, case, method, lambda one: one.log_ratio):
                cells[method] = round(float(np.median(list(ratios.values()))), 6)
        yield row("median log2(found / true)", half, case, sets=len(widths), **cells)
    yield from _named(half, scores, methods)
    if OURS in methods:
        yield from _falls(half, scores, cases)
        yield from _broken(half, scores, cases)


def set_row(half: str, name: str, scores: Scores, case: Case, methods: Sequence[str]) -> Row:
    """Mean ARI of one set over the draws."""
    return row("by set", half, case, set=name, **_set_cells(name, scores, case, methods))


def _set_cells(name: str, scores: Scores, case: Case, methods: Sequence[str]) -> dict[str, Cell]:
    means = {method: by_set(scores, case, method, _ari).get(name) for method in methods}
    return {method: ari for method, ari in means.items() if ari is not None}


def refused_cells(scores: Scores, case: Case, methods: Sequence[str]) -> dict[str, Cell]:
    """Share of the draws that each method refused, where there are such."""
    cells: dict[str, Cell] = {}
    for method in methods:
        shares = list(by_set(scores, case, method, lambda one: float(one.refused)).values())
        if any(shares):
            cells[f"{method} refused"] = float(np.mean(shares))
    return cells


def _margins(half: str, scores: Scores, case: Case, methods: Sequence[str]) -> Iterator[Row]:
    """How far auto is above each rival, set by set: the error of a difference is a pair's."""
    ours = by_set(scores, case, OURS, _ari)
    cells: dict[str, Cell] = {}
    for method in methods:
        theirs = by_set(scores, case, method, _ari) if method != OURS else {}
        gaps = [ours[name] - ari for name, ari in theirs.items() if name in ours]
        if gaps:
            cells[method] = float(np.mean(gaps))
            cells[f"± {method}"] = standard_error(gaps)
    if cells:
        yield row("auto above", half, case, sets=len(ours), **cells)


def _named(half: str, scores: Scores, methods: Sequence[str]) -> Iterator[Row]:
    for name, n_links, wanted in NAMED:
        case = Case("random" if n_links else "none", n_links)
        if cells := _set_cells(name, scores, case, methods):
            yield row("named sets", half, case, set=name, wanted=wanted, **cells)


def _falls(half: str, scores: Scores, cases: Sequence[Case]) -> Iterator[Row]:
    """For each number of links, the set whose mean loses most against the number before."""
    for kind in dict.fromkeys(case.kind for case in cases if case.n_links):
        steps = [case for case in cases if case.kind == kind or not case.n_links]
        for before, after in pairwise(steps):
            first, second = (by_set(scores, case, OURS, _ari) for case in (before, after))
            falls = {name: first[name] - second[name] for name in first if name in second}
            if falls:
                worst = max(falls, key=lambda name: falls[name])
                cells: dict[str, Cell] = {OURS: falls[worst], "worst set": worst}
                cells[f"sets above {FALL}"] = sum(fall > FALL for fall in falls.values())
                yield row("largest fall", half, after, before=before.n_links, **cells)


def _broken(half: str, scores: Scores, cases: Sequence[Case]) -> Iterator[Row]:
    for case in cases:
        mine = [s for key, s in scores.items() if (key.case, key.method) == (case, OURS)]
        if certain := sum(s.certain for s in mine):
            share = sum(s.broken for s in mine) / certain
            yield row("share of certain links broken", half, case, **{OURS: share})


def row(table: str, half: str, case: Case, **cells: Cell) -> Row:
    """One line of a table."""
    return Row({"table": table, "half": half, "kind": case.kind, "links": case.n_links, **cells})


def _ari(one: Score) -> float:
    return one.ari
