"""`linkshift explain`: why a row is in its cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkshift.cli import _options as opt
from linkshift.cli._console import exit_codes
from linkshift.cli.predict import Model


def explain(
    model: Model,
    row: Annotated[
        str,
        typer.Argument(metavar="ROW", help="Number of a row, from 0; its id where rows have ids."),
    ],
    counterfactuals: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Leave out up to so many links, one at a time, and say where the row would go.",
        ),
    ] = 5,
    threads: opt.Threads = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="PNG", help="Draw its way and its links: .png, .svg or .pdf."),
    ] = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Say why a row is in its cluster: its way, its mode, its links, and what if.

    The row is one of those that the model was made from. The answer goes to stdout.
    """
    with exit_codes():
        from linkshift.cli._explaining import Request, run

        run(Request(model, row, counterfactuals, threads, plot, json, quiet))
