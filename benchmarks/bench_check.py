"""Run a few quick suites and compare them with the committed baseline: ``make bench-check``.

On made data only. A ratio that looks slower is measured again, and the best counts: another program
makes a measurement longer now and then, and hardly shorter. ``--write`` makes the baseline anew: so
many runs of what has ratios, of which the median counts; the least and the greatest stand in it
beside each figure. Commit it together with what changed the figures, and say so in the commit.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import columns, compare_runs
from benchmarks.compare_runs import Finding, Record
from benchmarks.environment import DATA
from benchmarks.run import RESULTS, positive

BASELINE = Path(__file__).parent / "baseline.json"
SUITES = ("yardsticks", "auto", "records")
VARIABLES = {
    "LINKSHIFT_AUTO_PARTS": "seen,unseen",
    "LINKSHIFT_AUTO_SETS": "chainlink,moons,embed,zigzag,rings,a3,unequal",  # the made ones
    "LINKSHIFT_AUTO_METHODS": "auto,cms",
}
RUNS = 5
TRIES = 3  # that a ratio has to be no slower in
_KEPT = ("schema", "started", "options", "environment", "variables")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench_check",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--write", action="store_true", help="make the baseline anew")
    parser.add_argument(
        "--runs", type=positive, metavar="N", help=f"with --write (default: {RUNS})"
    )
    parser.add_argument("--baseline", type=Path, default=BASELINE)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the result files")
    compare_runs.add_tolerances(parser)
    parsed = parser.parse_args(arguments)
    if parsed.write:
        if parsed.tolerance is not None or parsed.score_tolerance is not None:
            parser.error("--write compares nothing: leave the tolerance out")
        return write(parsed.baseline, parsed.runs or RUNS, parsed.out)
    if parsed.runs is not None:
        parser.error("--runs is for --write: a check measures as often as it has to")
    try:
        return compare(parsed)
    except compare_runs.NotComparable as reason:
        print(reason, file=sys.stderr)
        return 2


def compare(parsed: argparse.Namespace) -> int:
    """Measure, and again what looks slower; say what is left."""
    old = compare_runs.read(parsed.baseline)
    new = measured(SUITES, parsed.out)
    tolerance = compare_runs.tolerance_of(parsed, old, new)
    for _ in range(TRIES - 1):
        slower = slower_suites(compare_runs.compare(old, new, tolerance))
        if not slower:
            break
        print(f"\nMeasured again: {', '.join(slower)}", flush=True)
        new = best_of(new, measured(slower, parsed.out))
    findings = compare_runs.compare(old, new, tolerance)
    print("\n" + compare_runs.report(old, new, findings, tolerance))
    if compare_runs.bad(findings):
        print(
            "Where that is meant, make the baseline anew with `python -m benchmarks.bench_check "
            "--write` on a quiet machine, and commit it together with the reason."
        )
    return int(compare_runs.bad(findings))


def measured(suites: Sequence[str], folder: Path) -> Record:
    """Run suites as a person would, without data sets; give what was written."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith("LINKSHIFT_")}
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as empty:
        before = set(folder.glob("*.json"))
        command = [sys.executable, "-m", "benchmarks.run", *suites, "--quick", "--out", str(folder)]
        home = Path(__file__).parents[1]
        subprocess.run(command, cwd=home, env={**variables, **VARIABLES, DATA: empty}, check=False)
        written = set(folder.glob("*.json")) - before
    if len(written) != 1:
        raise compare_runs.NotComparable(
            f"The run wrote {len(written)} result files to {folder}, not one. What it said is "
            "above; where two checks run at once, give each a folder by --out."
        )
    return compare_runs.read(written.pop())


def slower_suites(findings: Sequence[Finding]) -> list[str]:
    found = {finding.suite for finding in findings if finding.kind == "slower"}
    return [name for name in SUITES if name in found]


def best_of(first: Record, second: Record) -> Record:
    """Put the best of both into each ratio; the rest is as it was in the first."""
    joined = copy.deepcopy(first)
    again = {suite["name"]: compare_runs.named(suite["rows"]) for suite in second["suites"]}
    for suite in joined["suites"]:
        for row, cells in compare_runs.named(suite["rows"]).items():  # the very same cells
            other = again.get(suite["name"], {}).get(row, {})
            for name, measure in columns.measures(cells).items():
                if measure.kind == "ratio" and name in other:
                    pick = max if measure.more_is_good else min
                    cells[name] = pick(cells[name], other[name])
    return joined


# --- the baseline -------------------------------------------------------------------------------


def write(path: Path, runs: int, folder: Path) -> int:
    first = measured(SUITES, folder)
    timed = [suite["name"] for suite in first["suites"] if has_ratios(suite)]
    records = [first, *(measured(timed, folder) for _ in range(runs - 1) if timed)]
    if failed := [s["name"] for r in records for s in r["suites"] if s["error"]]:
        print(f"No baseline: {', '.join(failed)} ended early. Mend that first.", file=sys.stderr)
        return 2
    path.write_text(text(baseline(records)))
    print(f"\nwritten to {path}")
    for line in spreads(json.loads(path.read_text())):
        print(line)
    return 0


def has_ratios(suite: Record) -> bool:
    """Tell whether it is worth while to measure it more than once: scores stay what they are."""
    found = [columns.measures(row["cells"]).values() for row in suite["rows"]]
    return any(measure.kind == "ratio" for measures in found for measure in measures)


def baseline(records: Sequence[Record]) -> Record:
    """Give the median of each figure over runs, without what is not compared.

    The first record has all suites, the others those with ratios.
    """
    found: Record = {name: records[0][name] for name in _KEPT}
    found["made by"] = f"python -m benchmarks.bench_check --write --runs {len(records)}"
    runs = [
        {suite["name"]: compare_runs.named(suite["rows"]) for suite in record["suites"]}
        for record in records
    ]
    found["suites"] = [
        {
            "name": name,
            "error": None,
            "rows": list(_rows([run[name] for run in runs if name in run])),
        }
        for name in runs[0]
    ]
    return found


def _rows(runs: Sequence[compare_runs.Rows]) -> Iterator[dict[str, Any]]:
    for row, cells in runs[0].items():
        everywhere = [run[row] for run in runs if row in run]
        if len(everywhere) < len(runs):
            raise compare_runs.NotComparable(
                f"The row {row} is not in every run: {command_again()}"
            )
        kept = {name: value for name, value in cells.items() if columns.names_row(name, value)}
        spread = {}
        for name, measure in columns.measures(cells).items():
            values = sorted(each[name] for each in everywhere)
            kept[name] = all(values) if measure.kind == "truth" else _short(median(values))
            if measure.kind == "ratio" or values[0] < values[-1]:
                spread[name] = [_short(values[0]), _short(values[-1])]
        if columns.measures(kept):
            yield {"cells": kept, "spread": spread} if spread else {"cells": kept}


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def text(record: Record) -> str:
    """JSON with a line for each row, so that a change of the baseline can be read."""
    marked = copy.deepcopy(record)
    lines = [json.dumps(row) for suite in record["suites"] for row in suite["rows"]]
    numbers = iter(range(len(lines)))
    for suite in marked["suites"]:
        suite["rows"] = [f"<{next(numbers)}>" for _ in suite["rows"]]
    whole = json.dumps(marked, indent=1) + "\n"
    for number, line in enumerate(lines):
        whole = whole.replace(f'"<{number}>"', line)
    return whole


def command_again() -> str:
    return "measure again with `python -m benchmarks.bench_check --write`."


def spreads(record: Record) -> Iterator[str]:
    """Say how far apart the runs were: for tolerances."""
    for suite in record["suites"]:
        ratios = [
            (high / low, row["cells"])
            for row in suite["rows"]
            for name, (low, high) in row.get("spread", {}).items()
            if columns.measures(row["cells"])[name].kind == "ratio"
        ]
        if ratios:
            worst = max(ratios, key=lambda pair: pair[0])
            mean = sum(ratio for ratio, _ in ratios) / len(ratios)
            yield (
                f"{suite['name']}: greatest / least of a ratio: {mean:.2f} on average, "
                f"{worst[0]:.2f} for {', '.join(str(v) for _, v in columns.key(worst[1]))}"
            )


if __name__ == "__main__":
    sys.exit(main())
