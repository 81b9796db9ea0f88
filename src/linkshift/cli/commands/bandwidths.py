"""`linkshift bandwidths`: read, scale, sweep, write, tell."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from linkshift._core.text import counted
from linkshift.cli import options as opt
from linkshift.cli.talking import Console, InputError, passed_on
from linkshift.cli.writing import targets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from linkshift.bandwidth.path import Criterion
    from linkshift.cli.reading.problem import Problem
    from linkshift.links import Links
    from linkshift.profiles import ProfileName

COLUMNS = ("n_clusters", "stability", "violated_must", "violated_cannot", "link_support")
_PLOT = "Draw clusters over bandwidths: .png, .svg or .pdf."


def bandwidths(
    ctx: typer.Context,
    data: opt.Data,
    links: opt.LinksFile = None,
    columns: opt.Columns = None,
    id_column: opt.IdColumn = None,
    labels_column: opt.LabelsColumn = None,
    header: opt.Header = None,
    scale: opt.Scale = "auto",
    prepare: opt.Prepare = False,
    pca: opt.Pca = None,
    kernel: Annotated[
        str, opt.word(opt.KERNELS, f"{', '.join(opt.KERNELS)}.", "NAME")
    ] = "gaussian",
    levels: Annotated[int, opt.value("N", "Number of bandwidths.", min=2, max=1000)] = 20,
    threads: opt.Threads = None,
    output: opt.TableOutput = None,
    plot: Annotated[Path | None, opt.value("PNG", _PLOT)] = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Cluster over a range of bandwidths.

    For each bandwidth: the number of clusters, for how many doublings of the bandwidth the
    clustering stays (stability), and the links that it breaks and keeps. The table goes to stdout
    or to OUT; a bandwidth to take is told on stderr.
    """
    targets.check_targets([data, links], targets.TABLE_SUFFIXES, output=output, plot=plot)
    from linkshift import bandwidth_path
    from linkshift import plot as draw
    from linkshift.cli.reading.problem import Source, count_conflicts, read_problem
    from linkshift.cli.writing.figures import write_figure
    from linkshift.cli.writing.tables import table_text, write_table

    console = Console(quiet)
    asked = (prepare, pca, opt.asked_for(ctx, "scale"))
    source = Source(data, links, columns, id_column, labels_column, header, *asked)
    problem = read_problem(source, console)
    if len(problem.X) < 2:
        raise InputError(f"{data} has one row; it takes two to have clusters. Add rows.")
    n_conflicts = count_conflicts(source, problem, console)
    X, scale = _scaled(problem, scale, console)
    start = time.perf_counter()  # importing is no part of the time
    with console.warnings(), console.progress("Bandwidths") as progress, passed_on(f"{data}: "):
        path = bandwidth_path(
            X,
            problem.links,
            n_bandwidths=levels,
            kernel=cast("ProfileName", kernel),  # the option has checked it
            n_jobs=threads,
            progress=progress,
        )
    seconds = time.perf_counter() - start
    by: Criterion = "links" if problem.links else "stability"
    best = path.best(by)
    table = {"bandwidth": path.bandwidths, **{name: getattr(path, name) for name in COLUMNS}}
    if output is not None:
        write_table(output, table)
    if plot is not None:
        write_figure(plot, draw.bandwidth_path(path, title=data.name).figure)
    _tell(ctx, problem.links, path, best, console)
    console.finish(seconds, output, plot)
    # Last: a reader that closes the pipe early, such as head, costs no file and no summary.
    if json:
        cells = zip(*(column.tolist() for column in table.values()), strict=True)
        rows = [dict(zip(table, row, strict=True)) for row in cells]
        told = {"data": str(data), **_about(problem, n_conflicts, scale=scale, kernel=kernel)}
        told |= {"levels": rows, "best": {"level": best, "by": by, **rows[best]}}
        told |= {"seconds": round(seconds, 6), "versions": targets.versions()}
        targets.print_json(told)
    elif output is None:
        targets.print_text(table_text(table))


def _scaled(problem: Problem, scale: str, console: Console) -> tuple[NDArray[Any], str]:
    """Rows by their scale, and which it is: that of a recipe, which has scaled them already."""
    from linkshift.cli.reading.columns import scale_note
    from linkshift.tables.scaling import Scaling

    if problem.recipe is not None:
        return problem.X, problem.recipe.scale
    with console.warnings():
        scaling = Scaling.of(problem.X, scale, problem.names)
    console.say(scale_note(scaling, problem.X, problem.names))
    return scaling.apply(problem.X), scaling.kind


def _about(problem: Problem, n_conflicts: int, **options: str) -> dict[str, Any]:
    """Say in plain values what is clustered, and under which links."""
    linked = problem.links
    links = None
    if linked is not None:
        links = {"n_must": len(linked.must), "n_cannot": len(linked.cannot)}
        links["n_conflicts"] = n_conflicts
    about = {"n_samples": len(problem.X), "columns": list(problem.names)}
    return {**about, **options, "links": links}


def _tell(ctx: typer.Context, links: Links | None, path: Any, best: int, console: Console) -> None:
    """Say which bandwidth to take, and how; it is a hint."""
    h, n_clusters = f"{path.bandwidths[best]:.4g}", counted(int(path.n_clusters[best]), "cluster")
    words = opt.cluster_command(ctx, leave_out=("levels", "output", "plot"), always=("kernel",))
    words += ["--method", "mean-shift", "--bandwidth"]
    if links:
        broken = int(path.violated_must[best] + path.violated_cannot[best])
        console.say(
            f"The links support bandwidth {h} best: {n_clusters}, {broken:,} of "
            f"{counted(len(links), 'link')} broken. A hint, and no proof: the links speak "
            "of few rows. To take it:"
        )
    else:
        console.say(
            f"The clustering at bandwidth {h} is the most stable: {n_clusters}. A hint, and no "
            "proof: links would tell more. To take it:"
        )
    console.say(f"  {shlex.join([*words, h])}")
    if links:
        console.say("Search and clustering in one go:")
        console.say(f"  {shlex.join([*words, 'links'])}")
