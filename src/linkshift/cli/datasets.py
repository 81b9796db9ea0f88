"""`linkshift datasets`: the options. The work is in `_datasets`, imported when it starts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkshift.cli import _options as opt
from linkshift.cli._console import exit_codes


def datasets(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Data set to write. Default: list all there are."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="Where it goes: .csv, .tsv, .parquet or .npz. Default: stdout.",
        ),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="So many rows: made anew, or drawn at random from a file. Default: the set's own.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, max=2**32 - 1, help="Of what is drawn at random. Default: 0."
        ),
    ] = None,
    links_output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also draw links from the classes, and write them here: .csv or .json.",
        ),
    ] = None,
    n_links: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Number of links, one for each two classes or more."),
    ] = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """List data sets to try things on, or write one of them.

    Some are made, others are read from files NAME.npz in the folder that the environment variable
    LINKSHIFT_DATA names. A table has the columns x0, x1, ... and class; the class is text, so that
    it is not clustered by mistake.
    """
    with exit_codes():
        from linkshift.cli._datasets import Request, run

        run(Request(name, output, rows, seed, links_output, n_links, json, quiet))
