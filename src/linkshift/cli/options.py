"""Options that several commands have: one name, one help text for each."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from linkshift.cli.talking import one_of

# As in linkshift.profiles, which would take too long to import for --help; a test compares them.
KERNELS = ("flat", "epanechnikov", "gaussian", "truncated_gaussian")
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

Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model from linkshift cluster --save: .npz.")
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

Seed = Annotated[
    int,
    typer.Option(metavar="N", min=0, max=2**32 - 1, help="Of what is drawn at random. Default: 0."),
]

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

TableOutput = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT",
        help="Where the table goes: .csv, .tsv, .parquet or .npz. Default: stdout.",
    ),
]

# --- what is said -------------------------------------------------------------------------------

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only warnings and errors on stderr.")]


# --- said again ---------------------------------------------------------------------------------

_NO_MATTER = ("threads", "json", "quiet")  # to what comes out


def cluster_command(
    ctx: typer.Context, *, leave_out: Collection[str] = (), always: Collection[str] = ()
) -> list[str]:
    """Give the words of a `linkshift cluster` with the options of the command at hand.

    Options that were left at their defaults are not among them, but for those in ``always``.
    """
    words = ["linkshift", "cluster"]
    for option in ctx.command.params:
        name, value = str(option.name), ctx.params[str(option.name)]
        if name == "data":  # ./-a.csv as well has become -a.csv, which looks like an option
            words.append(f"./{value}" if str(value).startswith("-") else str(value))
        elif name in (*leave_out, *_NO_MATTER) or value is None:
            continue
        elif isinstance(value, bool):
            words.append((option.opts if value else option.secondary_opts)[0])
        elif value != option.default or name in always:
            values = value if isinstance(value, list | tuple) else [value]
            words += [word for item in values for word in (option.opts[0], str(item))]
    return words
