"""Tables of scores: means over sets, set by set, sets ahead of rivals, estimates, seconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.active.methods import METHODS, OURS, RIVALS
from benchmarks.active.oracle import Case
from benchmarks.active.running import Scored
from benchmarks.active.sets import HALVES, half
from benchmarks.harness import Cell, Row

#: Mean ARI that the session is to have on the seen sets, by number of questions.
NEEDED = {10: 0.66, 20: 0.69, 50: 0.72, 100: 0.76, 200: 0.80}
#: How far it is to be above each rival on the unseen sets at 20, 50 and 100 questions.
AHEAD, AHEAD_AT = 0.10, (20, 50, 100)
PURPOSES = ("learn", "audit", "confirm")
BY_SET_AT = (10, 20, 50, 100, 200)


class Scores:
    """Mean ARI over the draws, by case, method, number of questions and set."""

    def __init__(self, found: Sequence[Scored]) -> None:
        self.found = found
        self.cases = list(dict.fromkeys(one.task.case.text for one in found))
        present = {one.method for one in found}
        self.methods = [name for name in METHODS if name in present]
        seen = {one.task.name for one in found}
        self.sets = [name for names in HALVES.values() for name in names if name in seen]
        drawn: dict[tuple[str, str, int, str], list[float]] = {}
        for one in found:
            for count, ari in one.aris.items():
                key = one.task.case.text, one.method, count, one.task.name
                drawn.setdefault(key, []).append(ari)
        self.draws = {key: len(values) for key, values in drawn.items()}
        self.means = {key: float(np.mean(values)) for key, values in drawn.items()}
        self.counts = sorted({count for _, _, count, _ in drawn})

    def by_set(self, case: str, method: str, count: int, which: str) -> dict[str, float]:
        """Means of the sets of a half on which the method was run."""
        every = {name: self.means.get((case, method, count, name)) for name in self.sets}
        return {n: ari for n, ari in every.items() if ari is not None and half(n) == which}


def summary(found: Sequence[Scored]) -> Iterator[Row]:
    """All tables but the scores themselves."""
    of = Scores(found)
    for case in of.cases:
        for which in HALVES:
            yield from _means(of, case, which)
    for case in of.cases:
        yield from _by_set(of, case)
    for case in of.cases:
        for which in HALVES:
            yield from _ahead(of, case, which)
    yield from _targets(of)
    yield from _estimates(of)
    yield from _purposes(of)
    yield from _seconds(of)


def _means(of: Scores, case: str, which: str) -> Iterator[Row]:
    for method in of.methods:
        sets = {count: of.by_set(case, method, count, which) for count in of.counts}
        if not any(sets.values()):
            continue
        cells: dict[str, Cell] = {"half": which, "case": case, "method": method}
        cells["told k"] = "yes" if METHODS[method].told else ""
        cells["sets"] = max(map(len, sets.values()))
        keys = [key for key in of.draws if key[:2] == (case, method) and half(key[3]) == which]
        cells["draws"] = min(of.draws[key] for key in keys)
        for count, means in sets.items():
            cells[str(count)] = float(np.mean(list(means.values())))
            cells[f"± {count}"] = standard_error(list(means.values()))
        yield Row({"table": "mean ARI", **cells})


def _by_set(of: Scores, case: str) -> Iterator[Row]:
    for count in of.counts:
        if count not in BY_SET_AT:
            continue
        for name in of.sets:
            values = {m: of.means.get((case, m, count, name)) for m in of.methods}
            cells: dict[str, Cell] = {m: ari for m, ari in values.items() if ari is not None}
            if cells:
                about: dict[str, Cell] = {"case": case, "questions": count}
                about |= {"half": half(name), "set": name}
                yield Row({"table": "ARI by set", **about, **cells})


def _ahead(of: Scores, case: str, which: str) -> Iterator[Row]:
    """On how many sets the session is ahead of each other strategy, and by how much in the mean.

    The error of a margin is that of pairs of figures, set by set.
    """
    for rival in of.methods:
        if rival == OURS:
            continue
        for count in of.counts:
            ours = of.by_set(case, OURS, count, which)
            theirs = of.by_set(case, rival, count, which)
            gaps = {name: ours[name] - theirs[name] for name in ours if name in theirs}
            if not gaps or not count:
                continue
            worst = min(gaps, key=lambda name: gaps[name])
            cells: dict[str, Cell] = {
                "half": which,
                "case": case,
                "questions": count,
                "rival": rival,
                "sets": len(gaps),
                "ahead on": sum(gap > 0 for gap in gaps.values()),
                "by": float(np.mean(list(gaps.values()))),
                "± by": standard_error(list(gaps.values())),
                "least": gaps[worst],
                "there": worst,
            }
            yield Row({"table": f"{OURS} above its rivals", **cells})


def _targets(of: Scores) -> Iterator[Row]:
    """Hold what was measured against what must hold."""
    right = Case().text

    def mean(case: str, method: str, count: int, which: str) -> float | None:
        values = list(of.by_set(case, method, count, which).values())
        return float(np.mean(values)) if values else None

    for count, needed in NEEDED.items():
        if (got := mean(right, OURS, count, "seen")) is not None:
            what = f"mean ARI, seen, {count} questions"
            yield _target(what, needed, got, good=got >= needed)
    for rival in RIVALS:
        for count in (50, 200):
            ours, theirs = (of.by_set(right, m, count, "seen") for m in (OURS, rival))
            if gaps := [ours[name] - theirs[name] for name in ours if name in theirs]:
                ahead, least = sum(gap > 0 for gap in gaps), 13 / 15 * len(gaps)
                what = f"sets ahead of {rival}, seen, {count} questions"
                yield _target(what, round(least, 1), ahead, good=ahead >= least)
        for count in AHEAD_AT:
            ours, theirs = (of.by_set(right, m, count, "unseen") for m in (OURS, rival))
            if gaps := [ours[name] - theirs[name] for name in ours if name in theirs]:
                got = float(np.mean(gaps))
                what = f"above {rival}, unseen, {count} questions"
                yield _target(what, AHEAD, got, good=got >= AHEAD)
    wrong = mean(Case(wrong=0.05).text, OURS, 100, "seen")
    whole = mean(right, OURS, 100, "seen")
    if wrong is not None and whole is not None:
        what = "lost by 5 % wrong, seen, 100 questions"
        yield _target(what, 0.04, whole - wrong, good=whole - wrong <= 0.04)


def _target(what: str, needed: float, got: float, *, good: bool) -> Row:
    return Row({"table": "what must hold", "what": what, "needed": needed, "got": got, "ok": good})


def _estimates(of: Scores) -> Iterator[Row]:
    """How often what was said of the ARI beforehand covers it."""
    said: dict[tuple[str, str, str, int], list[tuple[float, ...]]] = {}
    for one in of.found:
        for asked, bound in one.score.estimates.items():
            where = half(one.task.name), one.task.case.text, one.method, int(asked)
            said.setdefault(where, []).append((one.aris[int(asked)], *bound))
    for (which, case, method, count), lines in sorted(said.items()):
        truth, value, low, high = np.array(lines).T
        cells: dict[str, Cell] = {
            "half": which,
            "case": case,
            "method": method,
            "questions": count,
            "runs": len(lines),
            "covers": float(np.mean((low <= truth) & (truth <= high))),
            "too high": float(np.mean(low > truth)),
            "too low": float(np.mean(high < truth)),
            "width": float(np.mean(high - low)),
            "error": float(np.mean(np.abs(value - truth))),
            "bias": float(np.mean(value - truth)),
        }
        yield Row({"table": "estimate of the ARI, 90 %", **cells})


def _purposes(of: Scores) -> Iterator[Row]:
    """How many questions were asked to learn, to audit and to confirm, in the mean over runs."""
    told: dict[tuple[str, str, str], list[dict[str, int]]] = {}
    for one in of.found:
        if one.score.purposes:
            where = half(one.task.name), one.task.case.text, one.method
            told.setdefault(where, []).append(one.score.purposes)
    for (which, case, method), runs in sorted(told.items()):
        cells: dict[str, Cell] = {"half": which, "case": case, "method": method, "runs": len(runs)}
        for purpose in PURPOSES:
            cells[purpose] = float(np.mean([one.get(purpose, 0) for one in runs]))
        yield Row({"table": "questions by purpose", **cells})


def _seconds(of: Scores) -> Iterator[Row]:
    """Wall-clock milliseconds of a question, where they were measured, and CPU of a whole run."""
    for method in of.methods:
        mine = [one.score for one in of.found if one.method == method]
        cells: dict[str, Cell] = {"method": method, "runs": len(mine)}
        cells["rows shown a question"] = float(
            np.mean([one.shown / max(one.asked, 1) for one in mine])
        )
        cells["mean CPU s of a run"] = float(np.mean([one.cpu for one in mine]))
        if walls := [one.wall for one in mine if one.wall]:
            median, late, worst = np.array(walls).T * 1e3
            cells["start s, worst"] = max(one.start for one in mine)
            cells["median ms"] = float(np.median(median))
            cells["95 % ms, worst set"] = float(late.max())
            cells["worst ms"] = float(worst.max())
        yield Row({"table": "seconds", **cells})


def standard_error(values: Sequence[float]) -> float | None:
    """Of the mean over sets; None for fewer than two."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
