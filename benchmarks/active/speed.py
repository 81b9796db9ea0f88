"""Seconds before the first question and of a question, by number of rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.active.methods import METHODS, OURS
from benchmarks.active.oracle import Oracle
from benchmarks.auto.sets import embed, table
from benchmarks.harness import Options, Row, Times

QUESTIONS = 50
COLUMNS = 32
#: Seconds: of a question at the 95th percentile and, where they are named, before the first one.
MOST = {2_000: (0.1, 3.0), 20_000: (0.3, 20.0), 100_000: (1.0, None)}


def run(options: Options) -> Iterator[Row]:
    """Ask fifty questions of made topics, `COLUMNS` columns wide, on all cores."""
    strategy = METHODS[OURS]
    if strategy.absent:
        yield Row({"table": "left out", "what": f"{OURS}, speed", "why": strategy.install})
        return
    sizes = options.pick([200], [2_000], [*MOST])
    for n in sizes:
        X, y = table(*embed(n, options.seed, COLUMNS))
        oracle = Oracle(y, seed=options.seed)
        strategy.run(X, oracle, (0, options.pick(5, QUESTIONS, QUESTIONS)), options.seed)
        late = float(np.quantile(oracle.seconds, 0.95))
        allowed, start = MOST.get(n, (None, None))
        yield Row(
            {
                "table": "seconds of a question",
                "rows": n,
                "columns": COLUMNS,
                "questions": len(oracle.seconds),
                "start s": round(oracle.start, 3),
                "start needed": start,
                "median ms": round(1e3 * float(np.median(oracle.seconds)), 1),
                "95 % ms": round(1e3 * late, 1),
                "95 % needed": None if allowed is None else 1e3 * allowed,
                "worst ms": round(1e3 * max(oracle.seconds), 1),
            },
            {"questions": Times(list(oracle.seconds), [])},
        )
