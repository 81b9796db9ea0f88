"""Options that several commands have: one name, one help text for each; and ways to write one."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any

import typer

from linkshift.cli.talking import InputError, hint
from linkshift.methods.table import SCALES

# As in linkshift.profiles, which would take too long to import for --help; a test compares them.
KERNELS = ("flat", "epanechnikov", "gaussian", "truncated_gaussian")

_HELP = {
    "links": "Pairs that belong together or apart: .csv or .tsv with the columns "
    "a,b,kind[,confidence] (kind: must or cannot, same or different, 1 or 0; rows count from 0), "
    "or .json.",
    "apart": "Rows with the same entry in this column are all apart: faces of one photo, records "
    "of one source. May be given again for other columns.",
    "together": "Rows with the same entry in this column belong together. May be given again.",
    "columns": "Columns to cluster. Default: all that are numeric.",
    "labels": "Column of known labels (empty or -1: unknown), used as links.",
    "weights": "Column of weights, which is no feature then: a row of weight 2 counts as the row "
    "twice, one of weight 0 follows the others. For kmeans, mean-shift and cms.",
    "header": "Whether the first line holds names.",
    "prepare": "Make numbers of all columns as a person would: a column for each value of text, "
    "gaps filled and marked, logarithms for heavy tails, columns scaled, principal components from "
    "50 columns on. Each thing that is done is told, and kept with the model.",
    "scale": "standard: mean 0, spread 1; minmax: from 0 to 1; auto: standard where units differ.",
    "pca": "Go by N principal components of the columns, after scaling.",
    "labels_output": "Where the labels go: .csv, .tsv, .parquet, .npy, .npz. Default: stdout (-).",
    "table_output": "Where the table goes: .csv, .tsv, .parquet or .npz. Default: stdout (-).",
}


def argument(metavar: str, help: str) -> Any:
    """Make what stands on the command line without a name."""
    return typer.Argument(metavar=metavar, help=help)


def value(metavar: str, help: str, *names: str, **limits: Any) -> Any:
    """Make an option that takes a value."""
    return typer.Option(*names, metavar=metavar, help=help, **limits)


def word(choices: Collection[str], help: str, metavar: str | None = None) -> Any:
    """Make an option that takes one of some words, and knows what was meant."""

    def check(given: str | None) -> str | None:
        if given is None or given in choices:
            return given
        allowed = ", ".join(choices)
        raise typer.BadParameter(f"{given!r} is not one of {allowed}.{hint(given, choices)}")

    return value(metavar or "|".join(choices), help, callback=check)


def output(help: str, **limits: Any) -> Any:
    """Make the option that says where a result goes."""
    return value("OUT", help, "--output", "-o", **limits)


def _unless_stdout(path: Path | None) -> Path | None:
    """Take - for what no file means: the result goes to stdout."""
    return None if str(path) == "-" else path


# What is read
DATA = ".csv, .tsv, .json, .jsonl (also .gz), .parquet, .arrow, .npz, .npy; - is stdin"
Data = Annotated[Path, argument("DATA", f"Table to cluster: {DATA}.")]
LinksFile = Annotated[Path | None, value("FILE", _HELP["links"], "--links")]
ApartWithin = Annotated[list[str] | None, value("COLUMN", _HELP["apart"])]
TogetherWithin = Annotated[list[str] | None, value("COLUMN", _HELP["together"])]
Columns = Annotated[str | None, value("A,B,C", _HELP["columns"])]
IdColumn = Annotated[str | None, value("NAME", "Column that names the rows, for links and output.")]
LabelsColumn = Annotated[str | None, value("NAME", _HELP["labels"])]
Weights = Annotated[str | None, value("COLUMN", _HELP["weights"])]
Header = Annotated[bool | None, typer.Option("--header/--no-header", help=_HELP["header"])]
Model = Annotated[Path, argument("MODEL", "Model from linkshift cluster --save: .npz.")]

# How it is worked on
Scale = Annotated[str, word(SCALES, _HELP["scale"])]
Prepare = Annotated[bool, typer.Option("--prepare", help=_HELP["prepare"])]
Pca = Annotated[int | None, value("N", _HELP["pca"], min=1)]
Threads = Annotated[int | None, value("N", "Default: all cores.", min=1)]
_seed = "Of what is drawn at random. Default: 0."
seed = value("N", _seed, min=0, max=2**32 - 1)
random_state = value("N", _seed, "--random-state", "--seed", min=0, max=2**32 - 1)

# What is written and said
LabelsOutput = Annotated[Path | None, output(_HELP["labels_output"], callback=_unless_stdout)]
TableOutput = Annotated[Path | None, output(_HELP["table_output"], callback=_unless_stdout)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only warnings and errors on stderr.")]

_NO_MATTER = ("threads", "json", "quiet")  # to what comes out


def asked_for(ctx: typer.Context, name: str) -> Any:
    """Give the value of an option that was given; None where it is left at its default."""
    source = ctx.get_parameter_source(name)
    return None if source is None or source.name == "DEFAULT" else ctx.params[name]


def refuse(why: str, **given: Any) -> None:
    """Refuse options that would be ignored; the first that is given is named."""
    for name, setting in given.items():
        if setting is not None:
            option = "header/--no-header" if name == "header" else name.replace("_", "-")
            raise InputError(f"--{option} {why}")


def cluster_command(
    ctx: typer.Context, *, leave_out: Collection[str] = (), always: Collection[str] = ()
) -> list[str]:
    """Give the words of a `linkshift cluster` with the options of the command at hand.

    Options that were left at their defaults are not among them, but for those in ``always``.
    """
    words = ["linkshift", "cluster"]
    for option in ctx.command.params:
        name, given = str(option.name), ctx.params[str(option.name)]
        if name == "data":  # ./-a.csv as well has become -a.csv, which looks like an option
            is_option = str(given).startswith("-") and str(given) != "-"
            words.append(f"./{given}" if is_option else str(given))
        elif name in (*leave_out, *_NO_MATTER) or given is None:
            continue
        elif isinstance(given, bool):
            words += (option.opts if given else option.secondary_opts)[:1]
        elif given != option.default or name in always:
            values = given if isinstance(given, list | tuple) else [given]
            words += [text for item in values for text in (option.opts[0], str(item))]
    return words
