"""What `linkshift cluster` does, in its order: read, link, scale, cluster, write, tell."""

from __future__ import annotations

import json
import platform
import sys
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkshift import __version__
from linkshift.cli import _link_files, _read, _write
from linkshift.cli._console import Console, InputError, counted, listed
from linkshift.cli._methods import Method, Options, Outcome, check_neighbours, check_options
from linkshift.cli._scale import Scaling
from linkshift.links import Links

if TYPE_CHECKING:
    from linkshift.metrics import LinkReport


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    data: Path
    links: Path | None
    columns: str | None
    id_column: str | None
    label_column: str | None
    header: bool | None
    scale: str
    method: Method
    options: Options
    output: Path | None
    json: bool
    plot: Path | None
    quiet: bool


@dataclass(frozen=True, eq=False)
class Problem:
    """What there is to cluster."""

    X: NDArray[Any]
    names: tuple[str, ...]
    ids: list[Any] | None
    links: Links | None
    n_conflicts: int


@dataclass(frozen=True, eq=False)
class Result:
    """What came out."""

    outcome: Outcome
    sizes: list[int]
    n_noise: int
    link_report: LinkReport | None
    seconds: float


def run(request: Request) -> None:
    """Cluster as requested."""
    console = Console(request.quiet)
    check_options(request.method, request.options)
    _check_targets(request)
    problem = _read_problem(request, console)
    result = _cluster(request, problem, console)
    _write_files(request, problem, result)
    _summarise(request, result, console)
    # Last: a reader that closes the pipe early, such as head, costs no file and no summary.
    _print_data(request, problem, result)


def _check_targets(request: Request) -> None:
    inputs = [path for path in (request.data, request.links) if path is not None]
    if request.output is not None:
        _write.check_target(request.output, "--output", _write.LABEL_SUFFIXES, inputs)
        if request.output.suffix.lower() == ".parquet":
            _write.require_parquet()
    if request.plot is not None:
        _write.check_target(request.plot, "--plot", _write.PICTURE_SUFFIXES, inputs)
        _write.require_matplotlib()


# --- in -----------------------------------------------------------------------------------------


def _read_problem(request: Request, console: Console) -> Problem:
    id_column, label_column = request.id_column, request.label_column
    if id_column is not None and id_column == label_column:
        raise InputError(f"--id-column and --label-column both name {id_column!r}.")
    table = _read.read_table(request.data, header=request.header, id_column=id_column)
    ids = None if id_column is None else _read.sample_ids(table, id_column)
    reserved = [name for name in (id_column, label_column) if name is not None]
    label_links = None
    if label_column is not None:
        labels = _read.partial_labels(table, label_column)
        label_links = _label_links(labels, label_column, console)
    # Read before the features: a wrong link is found before a long list of columns is told.
    file_links = _file_links(request, table.n_rows, ids)
    features = _read.features(table, console, columns=request.columns, reserved=reserved)
    check_neighbours(request.options, table.n_rows)
    links, n_conflicts = _all_links(request, file_links, label_links, ids, console)
    return Problem(features.X, features.names, ids, links, n_conflicts)


def _file_links(request: Request, n_rows: int, ids: list[Any] | None) -> Links | None:
    if request.links is None:
        return None
    links = _link_files.read_links(request.links, n_rows=n_rows, ids=ids)
    _link_files.require_rows(links, request.links)
    return links


def _label_links(labels: list[Any], column: str, console: Console) -> Links:
    links = _link_files.links_of_labels(labels, column)
    if not links:
        console.warn(
            f"--label-column {column} says nothing: it takes two known labels to make a link."
        )
    known = [label for label in labels if label is not None]
    if len(known) >= 20 and len(set(known)) > len(known) / 2:
        console.warn(
            f"--label-column {column} has {len(set(known)):,} different labels in "
            f"{len(known):,} rows. Is it rather the --id-column?"
        )
    return links


def _all_links(
    request: Request,
    file_links: Links | None,
    label_links: Links | None,
    ids: list[Any] | None,
    console: Console,
) -> tuple[Links | None, int]:
    """Join links from file and labels, say how many, warn of contradictions."""
    given = [links for links in (file_links, label_links) if links is not None]
    if not given:
        return None, 0
    links = given[0] if len(given) == 1 else given[0] + given[1]
    sources = [str(request.links)] if file_links is not None else []
    sources += [f"the labels in {request.label_column!r}"] if label_links is not None else []
    console.say(
        f"Links: {len(links.must):,} must, {len(links.cannot):,} cannot, "
        f"from {' and '.join(sources)}."
    )
    remedy = f"See all, and what to remove, with: linkshift links check {request.links}"
    if label_links is not None and not (file_links is not None and file_links.conflicts()):
        remedy = f"Check the links against the labels in {request.label_column!r}."
    if not request.method.copes:  # it will refuse contradictions itself
        return links, 0
    return links, _link_files.warn_of_conflicts(console, links, ids, remedy)


# --- the work -----------------------------------------------------------------------------------


def _cluster(request: Request, problem: Problem, console: Console) -> Result:
    from linkshift.metrics import link_satisfaction

    scaling = Scaling.of(problem.X, request.scale)
    note = _read.spread_note(problem.X, problem.names) if request.scale == "none" else ""
    told = {
        "none": "none, columns are taken as they are",
        "standard": "standard, each column has mean 0 and spread 1; the bandwidth is in that unit",
        "minmax": "minmax, each column goes from 0 to 1; the bandwidth is in that unit",
    }
    console.say(f"Scale: {told[request.scale]}.{note}")
    X = scaling.apply(problem.X) if request.scale != "none" else problem.X
    _load_library()  # importing is no part of the method's time
    start = time.perf_counter()
    with console.warnings(), console.progress("Clustering") as progress:
        try:
            outcome = request.method.run(X, problem.links, request.options, progress)
        except ValueError as error:
            # The library's refusals are written for people; pass them on as they are.
            raise InputError(str(error)) from error
    seconds = time.perf_counter() - start
    console.say(outcome.done)
    centres = None if outcome.centres is None else scaling.undo(outcome.centres)
    outcome = Outcome(outcome.labels, centres, outcome.bandwidth, outcome.done)
    clustered = outcome.labels[outcome.labels >= 0]
    sizes = np.unique(clustered, return_counts=True)[1].tolist()
    report = None if problem.links is None else link_satisfaction(outcome.labels, problem.links)
    return Result(outcome, sizes, len(outcome.labels) - len(clustered), report, seconds)


def _load_library() -> None:
    import linkshift.estimators
    import linkshift.refinement  # noqa: F401


# --- out ----------------------------------------------------------------------------------------


def _write_files(request: Request, problem: Problem, result: Result) -> None:
    labels = result.outcome.labels
    if request.output is not None:
        _write.write_labels(request.output, labels, problem.ids)
    if request.plot is not None:
        _write.write_picture(
            request.plot,
            problem.X,
            labels,
            links=problem.links,
            modes=result.outcome.centres,
            title=request.data.name,
        )


def _print_data(request: Request, problem: Problem, result: Result) -> None:
    if request.json:
        json.dump(_report(request, problem, result), sys.stdout, allow_nan=False)
        sys.stdout.write("\n")
    elif request.output is None:
        sys.stdout.write(_write.labels_text(result.outcome.labels, problem.ids))
    sys.stdout.flush()


def _report(request: Request, problem: Problem, result: Result) -> dict[str, Any]:
    bandwidth = result.outcome.bandwidth
    report = {
        "n_samples": len(problem.X),
        "n_clusters": len(result.sizes),
        "n_noise": result.n_noise,
        "sizes": result.sizes,
        "method": request.method.name,
        "done": result.outcome.done,
        "columns": list(problem.names),
        "scale": request.scale,
        "bandwidth": bandwidth.tolist() if isinstance(bandwidth, np.ndarray) else bandwidth,
        "seconds": round(result.seconds, 6),
        "versions": _versions(),
        "links": _links_report(problem, result.link_report),
        "labels": result.outcome.labels.tolist(),
    }
    if problem.ids is not None:
        report["ids"] = [
            name if isinstance(name, (str, int, float)) else str(name) for name in problem.ids
        ]
    return report


def _links_report(problem: Problem, report: LinkReport | None) -> dict[str, Any] | None:
    if report is None:
        return None
    return {
        "n_must": report.n_must,
        "n_cannot": report.n_cannot,
        "must_kept": report.must_kept,
        "cannot_kept": report.cannot_kept,
        "violated_must": report.violated_must.tolist(),
        "violated_cannot": report.violated_cannot.tolist(),
        "n_conflicts": problem.n_conflicts,
    }


def _versions() -> dict[str, str]:
    names = ("numpy", "scipy", "scikit-learn", "numba")
    found = {name: version(name) for name in names}
    return {"linkshift": __version__, "python": platform.python_version(), **found}


def _summarise(request: Request, result: Result, console: Console) -> None:
    sizes = sorted(result.sizes, reverse=True)
    noise = f"; noise {result.n_noise:,}" if result.n_noise else ""
    shown = ", ".join(f"{size:,}" for size in sizes[:6])
    shown += f" and {len(sizes) - 6:,} more" if len(sizes) > 6 else ""
    told = f"{counted(len(sizes), 'cluster')}, {'size' if len(sizes) == 1 else 'sizes'} {shown}"
    console.say(f"{told}{noise}.{_advice(request, sizes)}")
    if result.link_report is not None:
        links = result.link_report
        console.say(
            f"Links kept: {links.must_kept:,} of {links.n_must:,} must, "
            f"{links.cannot_kept:,} of {links.n_cannot:,} cannot."
        )
    written = [str(path) for path in (request.output, request.plot) if path is not None]
    where = f" Written: {listed(written)}." if written else ""
    console.say(f"Time: {result.seconds:.2f} s.{where}")


def _advice(request: Request, sizes: list[int]) -> str:
    """Say what to turn when the result is of no use."""
    knob = "--n-neighbors" if request.options.n_neighbors is not None else "--bandwidth"
    if len(sizes) == 1 and sizes[0] > 1:
        return f" For more clusters, take a smaller {knob}."
    if len(sizes) > 2 and len(sizes) > sum(sizes) / 2:
        return f" For fewer clusters, take a larger {knob}."
    return ""
