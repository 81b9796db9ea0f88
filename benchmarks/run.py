"""Run suites, keep one result file, print the tables: ``python -m benchmarks.run --help``."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import importlib
import json
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import environment, report
from benchmarks.harness import Options, Row

# Each module has a TITLE and run(options) -> Iterator[Row].
SUITES = {
    "first_call": "benchmarks.speed.first_call",
    "flat": "benchmarks.speed.flat",
    "step": "benchmarks.speed.step",
    "gemm": "benchmarks.speed.gemm",
    "gaussian": "benchmarks.speed.gaussian",
    "binned": "benchmarks.speed.binned",
    "skipping": "benchmarks.speed.skipping",
    "yardsticks": "benchmarks.speed.yardsticks",
    "scale": "benchmarks.speed.scale",
    "scale_tables": "benchmarks.speed.scale_tables",
    "scale_dask": "benchmarks.speed.scale_dask",
    "default_bandwidth": "benchmarks.quality.default_bandwidth",
    "records": "benchmarks.quality.records",
    "auto": "benchmarks.auto",
    "compare": "benchmarks.compare",
    "active": "benchmarks.active",
    "cms": "benchmarks.papers.cms",
    "embed": "benchmarks.papers.embedding",
    "kernel_ms": "benchmarks.papers.kernel_ms",
    "metric_ms": "benchmarks.papers.metric_ms",
    "groups": "benchmarks.papers.groups",
    "peers": "benchmarks.papers.peers",
    "scml": "benchmarks.speed.scml",
    "filters": "benchmarks.speed.filters",
    "images": "benchmarks.images",
    "scribbles": "benchmarks.scribbles",
    "web": "benchmarks.web",
}
DEFAULT = ("first_call", "flat", "step", "gaussian", "binned")  # two to three minutes
RESULTS = Path(__file__).parent / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    parsed = _parser().parse_args(arguments)
    names = parsed.names or (list(SUITES) if parsed.size == "full" else list(DEFAULT))
    asked = {} if parsed.repeats is None else {"repeats": parsed.repeats, "asked": True}
    options = Options(size=parsed.size, seed=parsed.seed, **asked)
    started = datetime.datetime.now(datetime.UTC)
    record: dict[str, Any] = {
        "schema": 1,
        "started": started.isoformat(timespec="seconds"),
        "options": dataclasses.asdict(options),
        "environment": environment.describe(),
        "variables": environment.variables(),
        "suites": [],
    }
    print(report.heading(record), flush=True)
    for name in names:
        suite = run_suite(name, options)
        record["suites"].append(suite)
        print("\n" + report.suite_text(suite), flush=True)
    path = _write(record, parsed.out, started)
    print(f"\nwritten to {path}")
    return int(any(suite["error"] for suite in record["suites"]))


def run_suite(name: str, options: Options) -> dict[str, Any]:
    """One suite as a record; an error (or Ctrl-C) is kept in it: what was measured is not lost."""
    suite: dict[str, Any] = {"name": name, "title": "", "error": None, "rows": []}
    suite["load_before"] = environment.load()
    begin = time.perf_counter()
    try:
        module = importlib.import_module(SUITES[name])
        suite["title"] = module.TITLE
        for row in module.run(options):
            suite["rows"].append(_row_record(row))
            print(f"{name}: {report.line_text(row.cells)}", file=sys.stderr, flush=True)
    except (Exception, KeyboardInterrupt):
        suite["error"] = traceback.format_exc()
    suite["seconds"] = round(time.perf_counter() - begin, 2)
    suite["load_after"] = environment.load()
    return suite


def _row_record(row: Row) -> dict[str, Any]:
    return {
        "cells": row.cells,
        "raw": {name: times._asdict() for name, times in row.raw.items()},
    }


def _write(record: dict[str, Any], folder: Path, started: datetime.datetime) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{started:%Y-%m-%dT%H%M%S.%f}.json"
    with path.open("x") as file:  # a result is never overwritten
        json.dump(record, file, indent=1)
    path.chmod(0o444)
    return path


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="name",
        choices=[*SUITES, []],  # the empty list: Python 3.11 checks the default too
        help=f"suites, of: {', '.join(SUITES)} (default: {', '.join(DEFAULT)}; all with --full)",
    )
    sizes = parser.add_mutually_exclusive_group()
    for size, words in (
        ("tiny", "a few seconds: shows that it runs"),
        ("quick", "minutes (the default)"),
        ("full", "the sizes quoted in the documentation: half an hour and more"),
    ):
        sizes.add_argument(
            f"--{size}", dest="size", action="store_const", const=size, default="quick", help=words
        )
    parser.add_argument(
        "--repeats",
        type=positive,
        metavar="N",
        help=(
            "draws, of which the mean counts, or rounds of timing, of which the least does: N of "
            "them are made (default: 3, and fewer where a size says so or a round takes long)"
        ),
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the result files")
    return parser


def positive(text: str) -> int:
    """Read a number of rounds from the command line."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is too few: give 1 or more")
    return value


if __name__ == "__main__":
    sys.exit(main())
