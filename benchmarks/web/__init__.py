"""The labelling page against what was promised of it.

``python -m benchmarks.run web [--full]``. ``LINKSHIFT_WEB_PARTS`` picks parts: "keys", from a key
to the next pair on the screen; "opening", until the page is up, and its memory; "map", frames of
the map by number of rows; "drive", an oracle that answers over HTTP. The browser has no graphics
card.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.harness import Options, Row, run_parts
from benchmarks.web import drive, keys, map_frames, opening

TITLE = "the labelling page"
PARTS = {"keys": keys.run, "opening": opening.run, "map": map_frames.run, "drive": drive.run}


def run(options: Options) -> Iterator[Row]:
    yield from run_parts("LINKSHIFT_WEB_PARTS", PARTS, list(PARTS), options)
