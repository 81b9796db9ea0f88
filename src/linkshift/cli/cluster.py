"""`linkshift cluster`: the options. The work is in `_clustering`, imported when it starts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkshift.cli import _options as opt
from linkshift.cli._console import exit_codes, one_of
from linkshift.cli._methods import AUTO, NAMES, bandwidth_option
from linkshift.methods import METHODS, SPACES

_METHOD_HELP = "; ".join(
    [
        "auto: picks one from what is given, and says which and why",
        *(f"{method.name}: {method.help}" for method in METHODS.values()),
    ]
)


def cluster(
    data: opt.Data,
    links: opt.LinksFile = None,
    columns: opt.Columns = None,
    id_column: opt.IdColumn = None,
    labels_column: opt.LabelsColumn = None,
    header: opt.Header = None,
    scale: opt.Scale = "none",
    method: Annotated[
        str,
        typer.Option(metavar="NAME", callback=one_of(NAMES), help=f"{_METHOD_HELP}."),
    ] = AUTO,
    bandwidth: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|links",
            help="How far the kernel sees: larger gives fewer clusters. links: the one that the "
            "links support best. Default: from the data.",
        ),
    ] = None,
    kernel: opt.Kernel = None,
    n_neighbors: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            min=1,
            help="A bandwidth for each row: the distance to its K-th neighbour.",
        ),
    ] = None,
    space: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(SPACES),
            callback=one_of(SPACES),
            help="Where --method mean-shift moves rows: among the columns, or in a Gaussian "
            "kernel's space, which suits many columns and up to some thousand rows. "
            "Default: input.",
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
    seed: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, max=2**32 - 1, help="Of what is drawn at random. Default: 0."
        ),
    ] = 0,
    threads: opt.Threads = None,
    output: opt.LabelsOutput = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="PNG",
            help="Draw the clusters, for groups with the importances of views: .png, .svg or .pdf.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="HTML", help="Write a page with all there is to see; it needs no network."
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="NPZ", help="Keep the model, for linkshift predict and linkshift explain."
        ),
    ] = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Cluster the rows of a table.

    Labels go to stdout or to OUT; what was done is told on stderr.
    """
    with exit_codes():
        from linkshift.cli._clustering import Request, run
        from linkshift.cli._problem import Source

        run(
            Request(
                source=Source(data, links, columns, id_column, labels_column, header),
                scale=scale,
                method=method,
                options={
                    "bandwidth": bandwidth_option(bandwidth),
                    "kernel": kernel,
                    "n_neighbors": n_neighbors,
                    "space": space,
                    "n_clusters": clusters,
                    "max_iter": max_iter,
                },
                views=tuple(view) if view else None,
                seed=seed,
                threads=threads,
                output=output,
                plot=plot,
                report=report,
                save=save,
                json=json,
                quiet=quiet,
            )
        )
