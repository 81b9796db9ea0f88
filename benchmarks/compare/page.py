"""The page of the comparison from result files: ``python -m benchmarks.compare.page FILE ...``.

Writes ``docs/compare.md`` and the pictures it shows. Files of several runs, of other methods or
sets, make one page. Sentences that explain why a rival is ahead
are those of ``causes.toml``; a set that needs one and has none ends in an error, so that no loss
goes without its cause, told k or not.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.compare import pictures
from benchmarks.compare.cases import NUMBERS, ONE_A_ROW, PUBLISHED, SETS, SIZES, TIMED, WRONG, Case
from benchmarks.compare.methods import METHODS
from benchmarks.compare.running import Score, Scored, Task
from benchmarks.compare.tables import Loss, grid, losses, ranks
from benchmarks.harness import Cell

ROOT = Path(__file__).resolve().parents[2]
CAUSES = Path(__file__).with_name("causes.toml")
CLEAN = tuple(Case(m) for m in (0, *NUMBERS, ONE_A_ROW))
NOISY = tuple(Case(m, WRONG) for m in (*NUMBERS, ONE_A_ROW))
MISSING = "The cause is not known."
JUDGED = ("50", "200", "1,000")  # numbers of links that losses are looked for at
# Mean ARI over the 25 sets of Baumann and Hochbaum (2024), tables W5, W6 and W8; all told k.
PCCC_PUBLISHED = {
    "PCCC": (0.408, 0.758, 0.919, 0.952),
    "PCCC-R": (0.413, 0.771, 0.923, 0.953),
    "COP-k-means": (0.241, 0.338, 0.615, 0.651),
    "CSC": (-0.003, 0.204, 0.385, 0.395),
    "DILS": (0.142, 0.545, 0.762, 0.841),
    "LCC": (0.329, 0.465, 0.593, 0.611),
    "k-means": (0.300, 0.300, 0.300, 0.300),
}
# Its PCCC on single sets that are here, at 5 % and 10 %.
PCCC_SINGLE = {
    "pccc_circles": (-0.001, 0.858),
    "pccc_heart": (0.643, 0.913),
    "pccc_monk_2": (0.725, 0.972),
    "pccc_moons": (0.693, 0.987),
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare.page", description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    parsed = parser.parse_args(arguments)
    records = [json.loads(path.read_text()) for path in parsed.files]
    found = [one for record in records for one in read(record)]
    images = parsed.docs / "images"
    images.mkdir(parents=True, exist_ok=True)
    pictures.curves(found, CLEAN, images / "compare_curves.png")
    pictures.ranks_of(found, [Case(int(m.replace(",", ""))) for m in JUDGED], images)
    pictures.times(found, TIMED, images / "compare_times.png")
    path = parsed.docs / "compare.md"
    written = text(records[0], found)
    path.write_text(written)
    print(f"written to {path}")
    return int(MISSING in written)


def read(record: dict[str, Any]) -> list[Scored]:
    """Take the scores of a result file."""
    every = (*CLEAN, *NOISY, *PUBLISHED, *TIMED)
    cases = {case.text: case for case in every}
    names = {field.name for field in fields(Score)}
    suite = next(one for one in record["suites"] if one["name"] == "compare")
    found = []
    for row in suite["rows"]:
        cells = row["cells"]
        if cells["table"] == "scores":
            task = Task(cells["set"], cases[cells["case"]], cells["draw"], 0, None)
            score = Score(**{name: cells[name] for name in names})
            found.append(Scored(task, cells["method"], score))
    return found


def text(record: dict[str, Any], found: list[Scored]) -> str:
    """Write the page."""
    draws = 1 + max(one.task.draw for one in found)
    template = Path(__file__).with_name("page.md").read_text()
    lost = {case: losses(grid(found, case)) for case in JUDGED}
    causes = tomllib.loads(CAUSES.read_text())
    parts = {
        "@draws@": str(draws),
        "@sets@": str(len(SETS)),
        "@lead@": _lead(found),
        "@partly@": _partly(found),
        "@made@": report.heading(record).replace("\n", "; "),
        "@ari@": _means(found, CLEAN, "ari"),
        "@nmi@": _means(found, CLEAN, "nmi"),
        "@wrong@": _means(found, NOISY, "ari"),
        "@ranks@": _ranks(found),
        "@sets table@": _by_set(found),
        "@losses@": _losses(lost, "auto", causes),
        "@told losses@": _told(found, causes["told"]),
        "@published@": _published(found),
        "@single@": _single(found),
        "@times@": _times(found),
        "@refused@": _refused(found),
    }
    for mark, part in parts.items():
        template = template.replace(mark, part)
    return template


def _lead(found: list[Scored]) -> str:
    """Who is first among those that are not told k and ran on every set, and who is next."""
    parts = []
    for case in CLEAN:
        of = grid(found, case.text).whole()
        means = dict(zip(of.methods, of.values.mean(axis=0), strict=True))
        rivals = {name: mean for name, mean in means.items() if not METHODS[name].told}
        first, second = sorted(rivals, key=lambda name: -rivals[name])[:2]
        parts.append(f"{case.text}: {first} {rivals[first]:.3f}, {second} {rivals[second]:.3f}")
    return "; ".join(parts)


def _partly(found: list[Scored]) -> str:
    """Which methods were not asked about which sets at all."""
    tried = {(one.method, one.task.name) for one in found}
    left_out: dict[str, list[str]] = {}
    for method in dict.fromkeys(one.method for one in found):
        missing = [name for name in SETS if (method, name) not in tried]
        if missing:
            left_out.setdefault(", ".join(missing), []).append(method)
    parts = [f"{' and '.join(methods)}: {sets}" for sets, methods in left_out.items()]
    return "; ".join(parts) or "none here"


def _name(method: str) -> str:
    name = f"**{method}**" if METHODS[method].ours else method
    return f"{name} †" if METHODS[method].slow else name


def _table(rows: list[dict[str, Cell]]) -> str:
    return report.table_text(rows, markdown=True)


def _figure(value: float, error: float | None = None) -> str:
    if np.isnan(value):
        return ""
    return f"{value:.3f}" if error is None else f"{value:.3f} ± {error:.3f}"


def _means(found: list[Scored], cases: Sequence[Case], figure: str) -> str:
    """Methods down, numbers of links across; the error is of the mean over sets."""
    grids = {case.text: grid(found, case.text, figure) for case in cases}
    rows: list[dict[str, Cell]] = []
    for told in (False, True):
        for method in METHODS:
            if METHODS[method].told != told:
                continue
            row: dict[str, Cell] = {"method": _name(method), "told k": "yes" if told else ""}
            for case, of in grids.items():
                known = method in of.methods
                column = of.values[:, of.methods.index(method)] if known else np.empty(0)
                column = column[~np.isnan(column)]
                short = column.size < len(of.sets)  # tried on some sets only
                if column.size:
                    error = column.std(ddof=1) / np.sqrt(column.size) if column.size > 1 else None
                    row[case] = _figure(column.mean(), error) + ("*" if short else "")
                else:
                    row[case] = ""
            if any(row[case] for case in grids):
                rows.append(row)
    return _table(rows)


def _ranks(found: list[Scored]) -> str:
    rows: list[dict[str, Cell]] = []
    of = {case.text: ranks(grid(found, case.text)) for case in CLEAN}
    for method in METHODS:
        row: dict[str, Cell] = {"method": _name(method)}
        for case, one in of.items():
            known = one is not None and method in one.methods
            row[case] = f"{one.mean[one.methods.index(method)]:.1f}" if known and one else ""
        if any(row[case] for case in of):
            rows.append(row)
    last: dict[str, Cell] = {"method": "critical difference"}
    rows.append(
        {**last, **{case: f"{one.critical:.1f}" if one else "" for case, one in of.items()}}
    )
    return _table(rows)


def _by_set(found: list[Scored]) -> str:
    """For each set: auto, the best other that is not told k, the best that is."""
    rows: list[dict[str, Cell]] = []
    for name in SETS:
        row: dict[str, Cell] = {"set": name}
        for case in ("0", *JUDGED):
            of = grid(found, case)
            if name not in of.sets:
                continue
            values = dict(zip(of.methods, of.values[of.sets.index(name)], strict=True))
            row[f"{case}: auto"] = _figure(values["auto"])
            for told, title in ((False, "rival"), (True, "told k")):
                rivals = {
                    method: value
                    for method, value in values.items()
                    if METHODS[method].told == told
                    and not METHODS[method].ours
                    and not np.isnan(value)
                }
                if rivals:
                    best = max(rivals, key=lambda method: rivals[method])
                    row[f"{case}: {title}"] = f"{rivals[best]:.3f} {best}"
        rows.append(row)
    return _table(rows)


def _losses(lost: dict[str, list[Loss]], ours: str, causes: dict[str, Any]) -> str:
    """Name the sets on which a rival is well ahead, each with its cause."""
    names = list(dict.fromkeys(one.name for every in lost.values() for one in every))
    missing = [name for name in names if name not in causes]
    if missing:
        print(f"causes.toml has no cause for {', '.join(missing)} ({ours})", file=sys.stderr)
    if not names:
        return "None."
    lines = []
    for name in names:
        figures = "; ".join(
            f"{case} links: {one.rival} {one.theirs:.3f}, {ours} {one.ours:.3f}"
            for case, every in lost.items()
            for one in every
            if one.name == name
        )
        lines.append(f"- **{name}** ({figures}). {causes.get(name, MISSING)}")
    return "\n".join(lines)


def _told(found: list[Scored], causes: dict[str, Any]) -> str:
    """Losses of auto told k against all rivals."""
    ours = "auto told k"
    grids = {case: grid(found, case) for case in JUDGED}
    lost = {case: losses(of, ours, told=True) for case, of in grids.items() if ours in of.methods}
    return _losses(lost, ours, causes)


def _published(found: list[Scored]) -> str:
    """Mean ARI over the eight sets with published links, and what the paper prints for its 25."""
    rows: list[dict[str, Cell]] = []
    grids = [grid(found, case.text) for case in PUBLISHED]
    for method in METHODS:
        row: dict[str, Cell] = {"method": _name(method), "told k": _yes(METHODS[method].told)}
        for case, of in zip(PUBLISHED, grids, strict=True):
            known = method in of.methods
            value = np.nanmean(of.values[:, of.methods.index(method)]) if known else np.nan
            row[f"{int(case.published)} %"] = _figure(float(value))
        rows.append(row)
    for name, values in PCCC_PUBLISHED.items():
        row = {"method": f"{name}, as printed", "told k": "yes"}
        for case, value in zip(PUBLISHED, values, strict=True):
            row[f"{int(case.published)} %"] = _figure(value)
        rows.append(row)
    return _table([row for row in rows if row["5 %"] or row["20 %"]])


def _single(found: list[Scored]) -> str:
    """Ours beside what the paper prints for single sets."""
    rows: list[dict[str, Cell]] = []
    for name, printed in PCCC_SINGLE.items():
        row: dict[str, Cell] = {"set": name}
        for case, value in zip(PUBLISHED, printed, strict=False):
            of, share = grid(found, case.text), f"{int(case.published)} %"
            values = dict(zip(of.methods, of.values[of.sets.index(name)], strict=True))
            for method in ("auto", "auto told k"):
                row[f"{share}: {method}"] = _figure(values.get(method, np.nan))
            row[f"{share}: PCCC, as printed"] = _figure(value)
        rows.append(row)
    return _table(rows)


def _yes(value: bool) -> str:
    return "yes" if value else ""


def _times(found: list[Scored]) -> str:
    rows: list[dict[str, Cell]] = []
    for method in METHODS:
        row: dict[str, Cell] = {"method": _name(method)}
        for n, case in zip(SIZES, TIMED, strict=True):
            mine = [
                one.score.seconds
                for one in found
                if one.task.case == case and one.method == method and not one.score.refused
            ]
            row[f"{n:,} rows"] = f"{min(mine):.2f}" if mine else ""
        rows.append(row)
    return _table([row for row in rows if len(set(row.values())) > 2])


def _refused(found: list[Scored]) -> str:
    """How often each method refused, and one reason."""
    rows: list[dict[str, Cell]] = []
    for method in METHODS:
        mine = [one.score for one in found if one.method == method]
        refused = [one.refused for one in mine if one.refused]
        if refused:
            share = f"{len(refused):,} of {len(mine):,}"
            rows.append({"method": _name(method), "refused": share, "such as": _line(refused[0])})
    return _table(rows) if rows else "None."


def _line(text: str) -> str:
    """One line, as a cell of a table must be."""
    return " ".join(text.replace("|", "/").split())


if __name__ == "__main__":
    sys.exit(main())
