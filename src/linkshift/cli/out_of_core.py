"""`linkshift cluster` of tables larger than memory: which these are, and how it is done."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import typer

from linkshift._core.memory import VARIABLE, memory_bound
from linkshift.cli import options as opt
from linkshift.cli.talking import Console, InputError, kept_links, passed_on, require, shown_sizes
from linkshift.cli.writing.targets import check_targets

# A table is read, made a matrix of doubles, scaled and looked at: each is one or two more of it.
SHARE = 1 / 8
_METHODS = {False: ("auto", "mean-shift"), True: ("auto", "cms")}  # by whether there are links
_OPTIONS = {  # that are honoured, or looked at here
    *("data", "links", "columns", "id_column", "scale", "method", "bandwidth", "kernel"),
    *("max_iter", "seed", "threads", "output", "quiet", "out_of_core", "resume"),
}
_TEXT_NUMBER = 8  # characters, about
_NUMBERS = ("INT32", "INT64", "FLOAT", "DOUBLE", "FIXED_LEN_BYTE_ARRAY")  # half floats are the last


def why_in_parts(data: Path, asked: bool | None) -> str:
    """Say why a table is worked on in parts; nothing where it is not."""
    if asked is not None:
        return "--out-of-core" if asked else ""
    if _is_folder(data):
        return f"{data} is a folder"
    taken, most = numbers_in(data) * 4 / 1e9, memory_bound()
    if taken <= SHARE * most:
        return ""
    return (
        f"{data} holds {taken:.1f} GB of numbers in single precision, more than an eighth of "
        f"{most:g} GB ({VARIABLE})"
    )


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a name too long, say, which is told where it is read
        return False


def numbers_in(path: Path) -> float:
    """How many numbers a file holds, about, as it says itself or by its size."""
    suffix = path.suffix.lower()
    try:
        if not path.is_file():  # a pipe would be waited for
            return 0.0
        if suffix == ".npy":
            import numpy as np

            return float(np.load(path, mmap_mode="r", allow_pickle=False).size)
        if suffix == ".parquet":
            return _numbers_in_parquet(path)
        if suffix in (".csv", ".tsv", ".tab"):
            return path.stat().st_size / _TEXT_NUMBER
        if suffix in (".arrow", ".feather"):
            return path.stat().st_size / 4
    except Exception:  # whatever is wrong with it is told where it is read
        pass
    return 0.0


def _numbers_in_parquet(path: Path) -> float:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    columns = (group.column(j) for group in groups for j in range(group.num_columns))
    return float(sum(c.num_values for c in columns if c.physical_type in _NUMBERS))


def cluster_in_parts(
    ctx: typer.Context, why: str, bandwidth: float | str | None, console: Console
) -> None:
    """Cluster a table in parts, from options to what is told at the end."""
    given = ctx.params
    for name in ("data", "links", "output"):  # before typer 0.29 they are as they were typed
        given[name] = None if given[name] is None else Path(given[name])
    data, output = given["data"], given["output"]
    _refuse_options(ctx, why, bandwidth)
    if output is None:
        raise InputError(
            f"{why}: it is worked on in parts, and labels go to a file. Name it: -o labels.parquet"
        )
    check_targets([data, given["links"]], (".parquet",), output=output)
    require(str(data), "cli", "pyarrow")
    from linkshift import scale
    from linkshift.cli.reading.columns import listed_columns

    links = None if given["links"] is None else _links(given["links"], given["id_column"])
    settings: dict[str, Any] = {name: given[name] for name in ("kernel", "max_iter")}
    settings = {name: value for name, value in settings.items() if value is not None}
    console.say(f"Out of core: {why}; the table is read in parts, three times.")
    begin = time.perf_counter()
    try:
        with console.warnings(), console.progress("Clustering") as progress, passed_on():
            found = scale.cluster(
                data,
                links,
                output=output,
                columns=None if given["columns"] is None else listed_columns(given["columns"]),
                id_column=given["id_column"],
                scale=given["scale"],
                bandwidth=bandwidth,  # type: ignore[arg-type]  # a number, or None
                seed=given["seed"],
                n_jobs=given["threads"],
                resume=given["resume"],
                progress=progress,
                say=console.say,
                **settings,
            )
    except KeyboardInterrupt:
        console.say("The same command with --resume goes on with what is finished.")
        raise
    except OSError as error:
        raise InputError(
            f"{error.filename or output}: {error.strerror or error}. Put that right, and go on "
            "with --resume."
        ) from error
    console.say(f"{shown_sizes(found.sizes[found.sizes > 0].tolist(), 'cluster')}.")
    if found.link_report is not None:
        console.say(kept_links(found.link_report))
    console.finish(time.perf_counter() - begin, output)


def _refuse_options(ctx: typer.Context, why: str, bandwidth: float | str | None) -> None:
    """Refuse by name what tables in parts have no use for."""
    read = "leave --out-of-core out" if ctx.params["out_of_core"] else "read it whole: --in-memory"
    remedy = f"Leave it out, or, on a machine with the memory, {read}."
    if _is_folder(ctx.params["data"]):
        remedy = "Leave it out."
    method = ctx.params["method"]
    linked = ctx.params["links"] is not None
    if method not in _METHODS[linked]:
        if method in _METHODS[not linked]:
            remedy = f"Leave {'it or --links out' if linked else 'it out, or give --links FILE'}."
        raise InputError(
            f"--method {method} does not work on parts {'with' if linked else 'without'} links "
            f"({why}). {remedy}"
        )
    if isinstance(bandwidth, str):
        raise InputError(f"--bandwidth {bandwidth} does not work on parts ({why}). {remedy}")
    for option in ctx.command.params:
        if option.name not in _OPTIONS and opt.asked_for(ctx, str(option.name)) is not None:
            named = max((*option.opts, *option.secondary_opts), key=len)
            if option.name == "header":
                named = "--header/--no-header"
            raise InputError(f"{named} does not work on parts ({why}). {remedy}")


def _links(path: Path, id_column: str | None) -> Any:
    """Links as the file has them; with a column of ids, by their text."""
    from linkshift.cli.reading.links import read_link_file, require_rows
    from linkshift.links import Links

    links = read_link_file(path).links
    if id_column is None:
        require_rows(links, path)
        return links
    must, cannot = (
        [(str(a), str(b)) for a, b in pairs] for pairs in (links.must_ids, links.cannot_ids)
    )
    sure: dict[str, Any] = {"must_confidence": links.must_confidence}
    return Links(must, cannot, cannot_confidence=links.cannot_confidence, **sure)
