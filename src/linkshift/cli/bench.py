"""`linkshift bench`: the options. The work is in `_benching`, imported when it starts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkshift.cli import _options as opt
from linkshift.cli._console import exit_codes


def bench(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATA]",
            help="Table to time on: .csv, .tsv, .parquet, .npz or .npy. Default: made data.",
        ),
    ] = None,
    links: opt.LinksFile = None,
    columns: opt.Columns = None,
    id_column: opt.IdColumn = None,
    header: opt.Header = None,
    scale: opt.Scale = "none",
    rows: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=10,
            help="So many rows: drawn at random from DATA, or made. Default: all of DATA; a few "
            "sizes of made data.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer rows, and nothing that takes long.")
    ] = False,
    threads: opt.Threads = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Time the methods on this machine.

    With those of scikit-learn beside them. Each time is the better of two runs, without
    compilation; a long run is not repeated. What would take too long is left out, and said to be.
    The table goes to stdout.
    """
    with exit_codes():
        from linkshift.cli._benching import Request, run

        run(
            Request(
                data, links, columns, id_column, header, scale, rows, quick, threads, json, quiet
            )
        )
