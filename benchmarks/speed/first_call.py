"""What a user waits for at first: the import, the command's help, the first fit."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from benchmarks.harness import Options, Row, Times

TITLE = "seconds of a fresh process, start of Python included"

FIT = (
    "import numpy as np; from linkshift import MeanShift; "
    "X = np.random.default_rng(0).standard_normal((500, 2)); "
    "MeanShift(bandwidth=1.0, kernel={kernel!r}).fit(X)"
)


def run(options: Options) -> Iterator[Row]:
    repeats = options.rounds(1)
    for code in ("pass", "import numpy", "import linkshift", "from linkshift import MeanShift"):
        yield row_of(code, [timed(code) for _ in range(repeats)])
    yield help_row(repeats)
    for kernel in ("flat", "gaussian"):
        yield from first_fits(kernel, options.rounds(1, 1))  # compiling is slow


def first_fits(kernel: str, repeats: int) -> list[Row]:
    """First fit with an empty and with a filled cache of compiled code."""
    code = FIT.format(kernel=kernel)
    cold, warm = [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(timed(code, cache=folder))
            warm.append(timed(code, cache=folder))
    return [
        row_of(f"first {kernel} fit, compiling", cold),
        row_of(f"first {kernel} fit, compiled before", warm),
    ]


def help_row(repeats: int) -> Row:
    """Time ``linkshift --help``, where the command is there and works."""
    name = "linkshift --help"
    code = "import sys; from linkshift.cli import main; sys.argv = ['linkshift', '--help']; main()"
    if importlib.util.find_spec("linkshift.cli") is None:
        return Row({"what": name, "seconds": None, "note": "no command yet"})
    try:
        return row_of(name, [timed(code) for _ in range(repeats)])
    except subprocess.CalledProcessError as error:
        last = error.stderr.decode().strip().splitlines()[-1:]
        return Row({"what": name, "seconds": None, "note": f"fails: {' '.join(last)}"})


def timed(code: str, cache: str | None = None) -> tuple[float, float]:
    """Wall-clock and processor seconds of ``python -c code``."""
    environment = os.environ | ({} if cache is None else {"NUMBA_CACHE_DIR": cache})
    wall, cpu = time.perf_counter(), child_seconds()
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=environment)
    return time.perf_counter() - wall, child_seconds() - cpu


def child_seconds() -> float:
    """Processor time of the child processes that have ended."""
    used = os.times()
    return used.children_user + used.children_system


def row_of(what: str, measured: list[tuple[float, float]]) -> Row:
    times = Times([wall for wall, _ in measured], [cpu for _, cpu in measured])
    return Row({"what": what, "seconds": times.best, "CPU seconds": min(times.cpu)}, {what: times})
