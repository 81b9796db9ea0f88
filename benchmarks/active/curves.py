"""Every strategy on every set, for right answers, wrong ones and unknown ones.

As many processes as joblib counts cores (``LOKY_MAX_CPU_COUNT=1`` for times that can be told). What
is done is kept in a journal, ``active.jsonl`` beside the result files: a run that was stopped, or
is asked for more draws, goes on from there. Scores that other sources than the present ones made
are not taken from it unless ``LINKSHIFT_ACTIVE_REUSE`` is ``any``, or ``rivals`` for those of all
but the sessions. Rivals keep theirs when only what sessions are made of changes. In the
environment, by names with commas between: ``LINKSHIFT_ACTIVE_SETS`` (sets, or "seen" and "unseen"),
``LINKSHIFT_ACTIVE_METHODS``, ``LINKSHIFT_ACTIVE_CASES`` (the keys of `CASES`), and
``LINKSHIFT_ACTIVE_RUN``, those of the methods that are run: the tables have of others what the
journal has, and these need not be installed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from benchmarks import report
from benchmarks.active.methods import METHODS, SESSIONS
from benchmarks.active.oracle import Case
from benchmarks.active.running import CHECKPOINTS, Task, scores
from benchmarks.active.running import TINY as FEW
from benchmarks.active.sets import HALVES, QUICK, SEEN, TINY, UNSEEN, is_here
from benchmarks.active.tables import summary
from benchmarks.compare.journal import FILE, Journal
from benchmarks.harness import Options, Row, named

CASES = {
    "right": Case(),
    "wrong5": Case(wrong=0.05),
    "wrong10": Case(wrong=0.1),
    "unknown20": Case(unknown=0.2),
}


def run(options: Options) -> Iterator[Row]:
    sets = []
    for name in _sets(options):
        if is_here(name):
            sets.append(name)
        else:
            why = f"no file {name}.npz in the folder that LINKSHIFT_DATA names"
            yield Row({"table": "left out", "what": name, "why": why})
    methods = named("LINKSHIFT_ACTIVE_METHODS", [*METHODS], [*METHODS])
    fresh = set(named("LINKSHIFT_ACTIVE_RUN", methods, methods))
    for name in [name for name in methods if name in fresh]:
        if absent := METHODS[name].absent:
            why = f"no module {' or '.join(absent)}; {METHODS[name].install}"
            yield Row({"table": "left out", "what": name, "why": why})
            fresh.remove(name)
    default = options.pick(["right"], ["right"], [*CASES])
    tasks = [
        Task(
            name,
            CASES[case],
            draw,
            options.seed,
            options.pick(80, 400, None),
            options.pick(FEW, CHECKPOINTS, CHECKPOINTS),
        )
        for case in named("LINKSHIFT_ACTIVE_CASES", [*CASES], default)
        for draw in range(options.pick(1, 1, options.repeats))
        for name in sets
    ]
    journal = Journal.beside_results(
        {name: METHODS[name].source for name in methods},
        kept=options.size == "full",
        file=FILE.with_name("active.jsonl"),
        variable="LINKSHIFT_ACTIVE_REUSE",
        own=SESSIONS,
    )
    found = []
    for one in scores(tasks, methods, journal, fresh):
        print(f"active: {report.line_text(one.cells())}", file=sys.stderr, flush=True)
        found.append(one)
        yield Row({"table": "scores", **one.cells()})
    yield from summary(found)


def _sets(options: Options) -> list[str]:
    """Tell the sets that are asked for; halves may be named too."""
    if not os.environ.get("LINKSHIFT_ACTIVE_SETS"):
        return list(options.pick(TINY, QUICK, (*SEEN, *UNSEEN)))
    wanted = named("LINKSHIFT_ACTIVE_SETS", [*HALVES, *SEEN, *UNSEEN], ())
    return list(dict.fromkeys(each for name in wanted for each in HALVES.get(name, (name,))))
