"""Means over sets, ranks with their critical difference, and where we lose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from benchmarks.compare.cases import SETS, Case
from benchmarks.compare.methods import METHODS
from benchmarks.compare.running import Scored
from benchmarks.harness import Array, Cell, Row

LOSS = 0.05  # of mean ARI on a set, that is named


class Grid(NamedTuple):
    """Mean over draws of one figure, for sets and methods; nan where a method was not tried."""

    sets: list[str]
    methods: list[str]
    values: Array  # (sets, methods)

    def whole(self) -> Grid:
        """Leave out the methods that were not tried on every set."""
        tried: Array = np.asarray(~np.isnan(self.values).any(axis=0))
        methods = [name for name, yes in zip(self.methods, tried, strict=True) if yes]
        return Grid(self.sets, methods, self.values[:, tried])


def grid(found: Sequence[Scored], case: str, figure: str = "ari") -> Grid:
    """Gather a case; sets and methods in their own order."""
    mine = [one for one in found if one.task.case.text == case]
    mine.sort(key=lambda one: SETS.index(one.task.name))
    sets = list(dict.fromkeys(one.task.name for one in mine))
    seen = {one.method for one in mine}
    methods = [name for name in METHODS if name in seen]
    cells: dict[tuple[str, str], list[float]] = {}
    for one in mine:
        cells.setdefault((one.task.name, one.method), []).append(getattr(one.score, figure))
    values = [[np.mean(cells.get((s, m), [np.nan])) for m in methods] for s in sets]
    return Grid(sets, methods, np.array(values, dtype=float).reshape(len(sets), len(methods)))


def case_texts(found: Sequence[Scored]) -> list[str]:
    """All cases that sets are compared on, fewest links first, right ones before wrong ones."""
    order = {one.task.case: one.task.case.text for one in found if not one.task.case.rows}
    return list(dict.fromkeys(order[case] for case in sorted(order, key=_rank)))


def _rank(case: Case) -> tuple[str, float, float]:
    return case.published, case.wrong, case.n_links if case.n_links >= 0 else np.inf


class Ranks(NamedTuple):
    """Mean ranks over sets (1 is best), and what two of them must differ by to count."""

    methods: list[str]
    mean: Array
    critical: float  # of Nemenyi's test at 0.05
    p_value: float  # of Friedman's test: that all are alike


def ranks(of: Grid) -> Ranks | None:
    """Rank the methods that were tried on every set; None for fewer than three of them.

    J. Demsar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006.
    """
    methods, values = of.whole().methods, of.whole().values
    n_sets, k = values.shape
    if k < 3 or n_sets < 2:
        return None
    order = np.array([rankdata(-row.round(6)) for row in values])
    q = studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2)
    critical = float(q * np.sqrt(k * (k + 1) / (6 * n_sets)))
    p_value = float(friedmanchisquare(*values.T).pvalue)
    return Ranks(methods, order.mean(axis=0), critical, p_value)


class Loss(NamedTuple):
    """A set on which a rival that is told no more than we are is well ahead."""

    name: str
    rival: str
    ours: float
    theirs: float


def losses(of: Grid, ours: str = "auto", *, told: bool = False) -> list[Loss]:
    """For each set, the best rival, if it is ahead by more than 0.05; largest gaps first."""
    mine = of.values[:, of.methods.index(ours)]
    found = []
    for row, name in enumerate(of.sets):
        theirs = {
            method: of.values[row, column]
            for column, method in enumerate(of.methods)
            if not METHODS[method].ours and METHODS[method].told <= told
        }
        if not theirs:
            return []
        best = max(theirs, key=lambda method: np.nan_to_num(theirs[method], nan=-1.0))
        if theirs[best] - mine[row] > LOSS:
            found.append(Loss(name, best, float(mine[row]), float(theirs[best])))
    return sorted(found, key=lambda one: one.ours - one.theirs)


def summary(found: Sequence[Scored]) -> Iterator[Row]:
    """All tables but the scores themselves."""
    for case in case_texts(found):
        for figure in ("ari", "nmi"):
            of = grid(found, case, figure)
            cells: dict[str, Cell] = {
                method: float(np.nanmean(of.values[:, column]))
                for column, method in enumerate(of.methods)
            }
            yield Row(
                {"table": f"mean {figure.upper()}", "case": case, "sets": len(of.sets), **cells}
            )
    for case in case_texts(found):
        of = grid(found, case)
        if (rank := ranks(of)) is not None:
            means = dict(zip(rank.methods, map(float, rank.mean), strict=True))
            about = {"critical difference": rank.critical, "p of all alike": rank.p_value}
            yield Row({"table": "mean rank", "case": case, **about, **means})
    for case in case_texts(found):
        of = grid(found, case)
        for one in losses(of) if "auto" in of.methods and len(of.methods) > 1 else ():
            cells = {"set": one.name, "rival": one.rival, "auto": one.ours, "theirs": one.theirs}
            yield Row({"table": "where auto loses, not told k", "case": case, **cells})
