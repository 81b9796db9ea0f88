"""Seconds until the page is up and the first pair is there, and the memory of it all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

from benchmarks.auto.sets import embed, table
from benchmarks.harness import Options, Row, Times
from benchmarks.web.pages import command

COLUMNS = 64
#: By rows: seconds until the page is up and until the first pair, and GB.
MOST = {2_000: (3.0, None, None), 20_000: (3.0, None, None), 100_000: (None, 15.0, 2.0)}


def run(options: Options) -> Iterator[Row]:
    """Start the command on made topics of 64 columns; the first start of each is not counted."""
    for n in options.pick([300], [2_000, 20_000], [*MOST]):
        X, _ = table(*embed(n, options.seed, COLUMNS))
        up, asks, memory = [], [], []
        for i in range(1 + options.rounds(1, 2, 3)):
            with tempfile.TemporaryDirectory() as folder, command(folder, X) as page:
                page.get("/")
                first, ready = page.seconds, page.wait()
                page.get("/api/map")
                page.get("/api/labels")
                if i:
                    up.append(first)
                    asks.append(ready)
                    memory.append(page.memory())
        limits = MOST.get(n, (None, None, None))
        yield Row(
            {
                "table": "the page opens",
                "rows": n,
                "columns": COLUMNS,
                "up, s": round(max(up), 2),
                "up needed": limits[0],
                "first pair, s": round(max(asks), 2),
                "first pair needed": limits[1],
                "memory, GB": round(max(memory), 2),
                "memory needed": limits[2],
            },
            {"up": Times(up, []), "first pair": Times(asks, [])},
        )
