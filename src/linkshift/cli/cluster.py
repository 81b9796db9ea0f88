"""`linkshift cluster`: the options. The work is in `_clustering`, imported when it starts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkshift.cli._console import exit_codes, one_of
from linkshift.cli._methods import KERNELS, METHODS, Options

SCALES = ("none", "standard", "minmax")

_METHOD_HELP = "; ".join(f"{method.name}: {method.help}" for method in METHODS.values())


def cluster(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="Table to cluster: .csv, .tsv, .parquet, .npz or .npy."
        ),
    ],
    links: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Pairs that belong together or apart: .csv with the columns "
            "a,b,kind[,confidence] (kind: must or cannot; rows count from 0), or .json.",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(metavar="A,B,C", help="Columns to cluster. Default: all that are numeric."),
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Column that names the rows, for links and output."),
    ] = None,
    label_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Column of known labels (empty or -1: unknown), used as links."
        ),
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first line holds names."),
    ] = None,
    scale: Annotated[
        str,
        typer.Option(
            metavar="|".join(SCALES),
            callback=one_of(SCALES),
            help="standard: mean 0, spread 1; minmax: from 0 to 1.",
        ),
    ] = "none",
    method: Annotated[
        str,
        typer.Option(metavar="NAME", callback=one_of(METHODS), help=f"{_METHOD_HELP}."),
    ] = "mean-shift",
    bandwidth: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="How far the kernel sees: larger gives fewer clusters. Default: from the data.",
        ),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            callback=one_of(KERNELS),
            help=f"{', '.join(KERNELS)}. Default: flat.",
        ),
    ] = None,
    n_neighbors: Annotated[
        int | None,
        typer.Option(
            metavar="K", help="A bandwidth for each row: the distance to its K-th neighbour."
        ),
    ] = None,
    clusters: Annotated[
        int | None,
        typer.Option(metavar="K", min=1, help="Number of clusters, for --method groups."),
    ] = None,
    view: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=COLUMNS",
            help="A view for --method groups; one option for each. COLUMNS are names, ranges "
            "first:last and patterns such as 'fou_*', with commas between; * alone is all that "
            "no other view has. Each column is in one view. Default: the matrices of an npz file "
            "that holds several.",
        ),
    ] = None,
    max_iter: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Largest number of steps. Default: 300; 80 for cms, 500 for kernel and skms, "
            "20 for groups.",
        ),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Default: all cores.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="Where the labels go: .csv, .tsv, .parquet, .npy or .npz. Default: stdout.",
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object on stdout: labels and report.")
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="PNG",
            help="Draw the clusters, for groups with the importances of views: .png, .svg or .pdf.",
        ),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Only warnings and errors on stderr.")
    ] = False,
) -> None:
    """Cluster the rows of a table.

    Labels go to stdout or to OUT; what was done is told on stderr.
    """
    with exit_codes():
        from linkshift.cli._clustering import Request, run

        run(
            Request(
                data=data,
                links=links,
                columns=columns,
                id_column=id_column,
                label_column=label_column,
                header=header,
                scale=scale,
                method=METHODS[method],
                options=Options(
                    bandwidth=bandwidth,
                    kernel=kernel,
                    n_neighbors=n_neighbors,
                    max_iter=max_iter,
                    threads=threads,
                    clusters=clusters,
                    view=tuple(view) if view else None,
                ),
                output=output,
                json=json,
                plot=plot,
                quiet=quiet,
            )
        )
