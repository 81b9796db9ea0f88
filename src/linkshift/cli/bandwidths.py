"""`linkshift bandwidths`: the options. The work is in `_bandwidths`, imported when it starts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkshift.cli import _options as opt
from linkshift.cli._console import exit_codes, one_of
from linkshift.cli._methods import KERNELS


def bandwidths(
    data: opt.Data,
    links: opt.LinksFile = None,
    columns: opt.Columns = None,
    id_column: opt.IdColumn = None,
    labels_column: opt.LabelsColumn = None,
    header: opt.Header = None,
    scale: opt.Scale = "none",
    kernel: Annotated[
        str,
        typer.Option(metavar="NAME", callback=one_of(KERNELS), help=f"{', '.join(KERNELS)}."),
    ] = "gaussian",
    levels: Annotated[
        int,
        typer.Option(metavar="N", min=2, max=1000, help="Number of bandwidths."),
    ] = 20,
    threads: opt.Threads = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="Where the table goes: .csv, .tsv, .parquet or .npz. Default: stdout.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="PNG", help="Draw clusters over bandwidths: .png, .svg or .pdf."),
    ] = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Cluster over a range of bandwidths.

    For each bandwidth: the number of clusters, for how many doublings of the bandwidth the
    clustering stays (stability), and the links that it breaks and keeps. The table goes to stdout
    or to OUT; a bandwidth to take is told on stderr.
    """
    with exit_codes():
        from linkshift.cli._bandwidths import Request, run
        from linkshift.cli._problem import Source

        run(
            Request(
                source=Source(data, links, columns, id_column, labels_column, header),
                scale=scale,
                kernel=kernel,
                levels=levels,
                threads=threads,
                output=output,
                plot=plot,
                json=json,
                quiet=quiet,
            )
        )
