"""Options that several commands have: one name, one help text for each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkshift.cli._console import one_of
from linkshift.cli._methods import KERNELS

SCALES = ("none", "standard", "minmax")

# --- what is read -------------------------------------------------------------------------------

Data = Annotated[
    Path,
    typer.Argument(metavar="DATA", help="Table to cluster: .csv, .tsv, .parquet, .npz or .npy."),
]
LinksFile = Annotated[
    Path | None,
    typer.Option(
        "--links",
        metavar="FILE",
        help="Pairs that belong together or apart: .csv with the columns "
        "a,b,kind[,confidence] (kind: must or cannot; rows count from 0), or .json.",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(metavar="A,B,C", help="Columns to cluster. Default: all that are numeric."),
]
IdColumn = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Column that names the rows, for links and output."),
]
LabelsColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Column of known labels (empty or -1: unknown), used as links."
    ),
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line holds names."),
]

# --- how it is worked on ------------------------------------------------------------------------

Scale = Annotated[
    str,
    typer.Option(
        metavar="|".join(SCALES),
        callback=one_of(SCALES),
        help="standard: mean 0, spread 1; minmax: from 0 to 1.",
    ),
]
Kernel = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        callback=one_of(KERNELS),
        help=f"{', '.join(KERNELS)}. Default: flat.",
    ),
]
Threads = Annotated[int | None, typer.Option(metavar="N", min=1, help="Default: all cores.")]

# --- what is written ----------------------------------------------------------------------------

LabelsOutput = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT",
        help="Where the labels go: .csv, .tsv, .parquet, .npy or .npz. Default: stdout.",
    ),
]

# --- what is said -------------------------------------------------------------------------------

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only warnings and errors on stderr.")]
