"""The labelling page against what was promised of it.

``python -m benchmarks.run web [--full]``. ``LINKSHIFT_WEB_PARTS`` picks parts: "map", frames of the
map by number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.harness import Options, Row, run_parts
from benchmarks.web import map_frames

TITLE = "the labelling page"
PARTS = {"map": map_frames.run}


def run(options: Options) -> Iterator[Row]:
    yield from run_parts("LINKSHIFT_WEB_PARTS", PARTS, list(PARTS), options)
