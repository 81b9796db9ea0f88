"""Every method on every set, for six numbers of links, right and a tenth of them wrong.

``python -m benchmarks.run compare [--full] [--repeats N]``, N draws of links, as many processes as
there are cores. What is done is kept in a journal, ``compare.jsonl`` beside the result files: a run
that was stopped, or is asked for more draws, goes on from there. Scores that other sources than
the present ones of ``src`` made are not taken from it unless ``LINKSHIFT_COMPARE_REUSE=any``.
``LINKSHIFT_COMPARE_SETS`` and ``LINKSHIFT_COMPARE_METHODS`` pick, by names with commas between.
``python -m benchmarks.compare.page RESULT`` makes the page of the docs from a result file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from benchmarks import report
from benchmarks.compare.cases import GROWING, SETS, TINY, cases
from benchmarks.compare.journal import Journal, source
from benchmarks.compare.methods import METHODS
from benchmarks.compare.running import Task, scores
from benchmarks.compare.tables import summary
from benchmarks.harness import Options, Row, named

TITLE = (
    "all methods on the same rows and links; columns standardised; ARI, its mean over sets; a "
    "method that refuses its input has 0"
)


def run(options: Options) -> Iterator[Row]:
    sets = named("LINKSHIFT_COMPARE_SETS", [*SETS], options.pick(TINY, SETS, SETS))
    wanted = named("LINKSHIFT_COMPARE_METHODS", [*METHODS], [*METHODS])
    for name in wanted:
        if absent := METHODS[name].absent:
            why = f"no module {' or '.join(absent)}; pip install linkshift[rivals]"
            yield Row({"table": "left out", "what": name, "why": why})
    methods = [name for name in wanted if not METHODS[name].absent]
    tasks = [
        Task(name, case, draw, options.seed, options.pick(60, 300, None))
        for name in (*sets, GROWING)
        for draw in range(options.rounds(1, 1))
        for case in cases(name, options)
        if draw == 0 or (case.n_links and not case.published)  # else draws do not differ
    ]
    journal = Journal.beside_results(source(), kept=options.size == "full")
    found = []
    for one in scores(tasks, methods, journal):
        print(f"compare: {report.line_text(one.progress())}", file=sys.stderr, flush=True)
        found.append(one)
        yield Row({"table": "scores", **one.cells()})
    yield from summary(found)
