"""What `linkshift bandwidths` does, in its order: read, scale, sweep, write, tell."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from linkshift._core.text import counted, listed
from linkshift.cli import _read, _tables, _write
from linkshift.cli._console import Console, InputError
from linkshift.cli._problem import Problem, Source, count_conflicts, read_problem
from linkshift.cli._scale import Scaling

if TYPE_CHECKING:
    from linkshift.bandwidth.path import BandwidthPath


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    source: Source
    scale: str
    kernel: str
    levels: int
    threads: int | None
    output: Path | None
    plot: Path | None
    json: bool
    quiet: bool


def run(request: Request) -> None:
    """Sweep as requested."""
    console = Console(request.quiet)
    _write.check_targets(
        {
            "--output": (request.output, _tables.TABLE_SUFFIXES),
            "--plot": (request.plot, _write.PICTURE_SUFFIXES),
        },
        request.source.files,
    )
    problem = read_problem(request.source, console)
    if len(problem.X) < 2:
        raise InputError(
            f"{request.source.data} has one row; it takes two to have clusters. Add rows."
        )
    conflicts = count_conflicts(request.source, problem, console)
    path, seconds = _sweep(request, problem, console)
    by = "links" if problem.links else "stability"
    best = path.best(by)  # type: ignore[arg-type]
    columns = _columns(path)
    if request.output is not None:
        _tables.write_table(request.output, columns)
    if request.plot is not None:
        _draw(request.plot, path, request.source.data.name)
    _tell(request, problem, path, best, console)
    written = [str(target) for target in (request.output, request.plot) if target is not None]
    where = f" Written: {listed(written)}." if written else ""
    console.say(f"Time: {seconds:.2f} s.{where}")
    # Last: a reader that closes the pipe early, such as head, costs no file and no summary.
    if request.json:
        _write.print_json(
            {
                "data": str(request.source.data),
                "n_samples": len(problem.X),
                "columns": list(problem.names),
                "scale": request.scale,
                "kernel": request.kernel,
                "links": _links_report(problem, conflicts),
                "levels": _rows(columns),
                "best": {"level": best, "by": by, **_rows(columns)[best]},
                "seconds": round(seconds, 6),
                "versions": _write.versions(),
            }
        )
    elif request.output is None:
        _write.print_text(_tables.table_text(columns))


def _sweep(request: Request, problem: Problem, console: Console) -> tuple[BandwidthPath, float]:
    from linkshift.bandwidth.path import bandwidth_path

    note = _read.spread_note(problem.X, problem.names) if request.scale == "none" else ""
    if note:
        console.say(f"Scale: none.{note}")
    X = Scaling.of(problem.X, request.scale).apply(problem.X)
    kernel: Any = request.kernel
    start = time.perf_counter()  # importing is no part of the time
    with console.warnings(), console.progress("Bandwidths") as progress:
        try:
            path = bandwidth_path(
                X,
                problem.links,
                n_bandwidths=request.levels,
                kernel=kernel,
                n_jobs=request.threads,
                progress=progress,
            )
        except ValueError as error:
            # The library's refusals are written for people; pass them on as they are.
            raise InputError(f"{request.source.data}: {error}") from error
    return path, time.perf_counter() - start


def _columns(path: BandwidthPath) -> dict[str, NDArray[Any]]:
    return {
        "bandwidth": path.bandwidths,
        "n_clusters": path.n_clusters,
        "stability": path.stability,
        "violated_must": path.violated_must,
        "violated_cannot": path.violated_cannot,
        "link_support": path.link_support,
    }


def _rows(columns: dict[str, NDArray[Any]]) -> list[dict[str, Any]]:
    cells = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in cells]


def _links_report(problem: Problem, n_conflicts: int) -> dict[str, int] | None:
    if problem.links is None:
        return None
    must, cannot = len(problem.links.must), len(problem.links.cannot)
    return {"n_must": must, "n_cannot": cannot, "n_conflicts": n_conflicts}


def _draw(target: Path, path: BandwidthPath, title: str) -> None:
    from linkshift import plot

    _write.write_figure(target, plot.bandwidth_path(path, title=title).figure)


# --- the hint -----------------------------------------------------------------------------------


def _tell(
    request: Request, problem: Problem, path: BandwidthPath, best: int, console: Console
) -> None:
    """Say which bandwidth to take, and how; it is a hint."""
    h, n_clusters = f"{path.bandwidths[best]:.4g}", counted(int(path.n_clusters[best]), "cluster")
    if problem.links:
        broken = int(path.violated_must[best] + path.violated_cannot[best])
        console.say(
            f"The links support bandwidth {h} best: {n_clusters}, {broken:,} of "
            f"{counted(len(problem.links), 'link')} broken. A hint, and no proof: the links speak "
            "of few rows. To take it:"
        )
    else:
        console.say(
            f"The clustering at bandwidth {h} is the most stable: {n_clusters}. A hint, and no "
            "proof: links would tell more. To take it:"
        )
    console.say(f"  {_command(request, h)}")
    if problem.links:
        console.say("Search and clustering in one go:")
        console.say(f"  {_command(request, 'links')}")


def _command(request: Request, bandwidth: str) -> str:
    """Give the command that clusters the same data with a bandwidth."""
    words = request.source.command(
        ("method", "mean-shift"),
        *request.source.options(),
        ("scale", None if request.scale == "none" else request.scale),
        ("bandwidth", bandwidth),
        ("kernel", request.kernel),
    )
    return shlex.join(words)
