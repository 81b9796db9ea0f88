"""What a question buys: ARI after 0 to 200 answers, for the session and for its rivals.

``python -m benchmarks.run active [--full] [--repeats N]``, N draws of rows, answers and luck.
``LINKSHIFT_ACTIVE_PARTS`` picks parts: "curves", "speed", the seconds of a question by rows, and
"reach", what pieces and features allow whatever is asked;
the other variables are those of `benchmarks.active.curves`. COBRAS needs ``pip install --no-deps
cobras_ts``; it is left out where that is absent. ``python -m benchmarks.report FILE --markdown``
prints the tables of a result file for the docs.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.active import curves, reach, speed
from benchmarks.environment import find_data
from benchmarks.harness import Options, Row, run_parts

TITLE = (
    "ARI by number of questions; up to 2,000 rows, columns scaled as linkshift.cluster does; "
    "its mean over sets and, after ±, the standard error of that mean"
)
PARTS = {"curves": curves.run, "speed": speed.run, "reach": reach.run}


def run(options: Options) -> Iterator[Row]:
    find_data()
    yield from run_parts("LINKSHIFT_ACTIVE_PARTS", PARTS, list(PARTS), options)
