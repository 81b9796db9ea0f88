"""What `linkshift cluster` does, in its order: read, link, scale, cluster, write, tell."""

from __future__ import annotations

import json
import platform
import sys
import time
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkshift import __version__
from linkshift.cli import _link_files, _read, _views, _write
from linkshift.cli._console import Console, InputError, counted, listed
from linkshift.cli._methods import Method, Options, Outcome, check_options, check_rows
from linkshift.cli._scale import Scaling
from linkshift.links import Links

if TYPE_CHECKING:
    from linkshift.metrics import LinkReport


_SHOWN_CLUSTERS = 12


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
    views: _views.Views | None

    def part(self, X: NDArray[Any], columns: tuple[str, ...]) -> NDArray[Any]:
        """Give some columns, by name, of data that has them all."""
        position = {name: i for i, name in enumerate(self.names)}
        return X[:, [position[column] for column in columns]]


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
    _summarise(request, problem, result, console)
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
    if table.views and not request.method.takes_views:
        raise InputError(
            f"{request.data} holds several matrices ({listed(table.views)}). --method "
            f"{request.method.name} takes one: call it X. Several are views for --method groups."
        )
    ids = None if id_column is None else _read.sample_ids(table, id_column)
    reserved = [name for name in (id_column, label_column) if name is not None]
    label_links = None
    if label_column is not None:
        labels = _read.partial_labels(table, label_column)
        label_links = _label_links(labels, label_column, console)
    # Read before the features: a wrong link is found before a long list of columns is told.
    file_links = _file_links(request, table.n_rows, ids)
    features = _read.features(table, console, columns=request.columns, reserved=reserved)
    views = None
    if request.method.takes_views:
        views = _views.find_views(request.options.view, table, features.names)
        told = (f"{name} ({counted(len(c), 'column')})" for name, c in views.items())
        console.say(f"Views: {listed(told)}.")
    check_rows(request.options, table.n_rows)
    links, n_conflicts = _all_links(request, file_links, label_links, ids, console)
    return Problem(features.X, features.names, ids, links, n_conflicts, views)


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
    console.say(_told_scale(request, problem))
    X = scaling.apply(problem.X) if request.scale != "none" else problem.X
    data: Any = X
    if problem.views is not None:
        data = {name: problem.part(X, columns) for name, columns in problem.views.items()}
    _load_library()  # importing is no part of the method's time
    start = time.perf_counter()
    with console.warnings(), console.progress("Clustering") as progress:
        try:
            outcome = request.method.run(data, problem.links, request.options, progress)
        except ValueError as error:
            # The library's refusals are written for people; pass them on as they are.
            raise InputError(str(error)) from error
    seconds = time.perf_counter() - start
    console.say(outcome.done)
    centres = None if outcome.centres is None else scaling.undo(outcome.centres)
    outcome = replace(outcome, centres=centres)
    clustered = outcome.labels[outcome.labels >= 0]
    sizes = np.unique(clustered, return_counts=True)[1].tolist()
    report = None if problem.links is None else link_satisfaction(outcome.labels, problem.links)
    return Result(outcome, sizes, len(outcome.labels) - len(clustered), report, seconds)


def _told_scale(request: Request, problem: Problem) -> str:
    """Say how columns are scaled, and when they are not but should be."""
    told = {
        "none": "none, columns are taken as they are",
        "standard": "standard, each column has mean 0 and spread 1",
        "minmax": "minmax, each column goes from 0 to 1",
    }[request.scale]
    if request.scale != "none":
        unit = "; the bandwidth is in that unit" if "bandwidth" in request.method.uses else ""
        return f"Scale: {told}{unit}."
    # Units of different views do not matter to each other.
    parts = [problem.names] if problem.views is None else problem.views.values()
    notes = (_read.spread_note(problem.part(problem.X, columns), columns) for columns in parts)
    return f"Scale: {told}.{next(filter(None, notes), '')}"


def _load_library() -> None:
    import linkshift.estimators
    import linkshift.refinement  # noqa: F401


# --- out ----------------------------------------------------------------------------------------


def _write_files(request: Request, problem: Problem, result: Result) -> None:
    labels = result.outcome.labels
    if request.output is not None:
        _write.write_labels(request.output, labels, problem.ids)
    if request.plot is not None:
        X = problem.X
        if problem.views is not None and request.scale != "none":
            # As the method saw them: in their own units, one view would be all there is to see.
            X = Scaling.of(X, request.scale).apply(X)
        _write.write_picture(
            request.plot,
            X,
            labels,
            links=problem.links,
            modes=result.outcome.centres,
            title=request.data.name,
            view_names=None if problem.views is None else tuple(problem.views),
            view_importances=result.outcome.view_importances,
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
        "views": _views_report(problem, result.outcome),
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


def _views_report(problem: Problem, outcome: Outcome) -> dict[str, Any] | None:
    """Give importances with a row for each cluster, in the order of sizes."""
    if problem.views is None or outcome.view_importances is None:
        return None
    return {
        "names": list(problem.views),
        "columns": [list(columns) for columns in problem.views.values()],
        "importances": outcome.view_importances.tolist(),
    }


def _versions() -> dict[str, str]:
    names = ("numpy", "scipy", "scikit-learn", "numba")
    found = {name: version(name) for name in names}
    return {"linkshift": __version__, "python": platform.python_version(), **found}


def _summarise(request: Request, problem: Problem, result: Result, console: Console) -> None:
    sizes = sorted(result.sizes, reverse=True)
    noise = f"; noise {result.n_noise:,}" if result.n_noise else ""
    shown = ", ".join(f"{size:,}" for size in sizes[:6])
    shown += f" and {len(sizes) - 6:,} more" if len(sizes) > 6 else ""
    told = f"{counted(len(sizes), 'cluster')}, {'size' if len(sizes) == 1 else 'sizes'} {shown}"
    console.say(f"{told}{noise}.{_advice(request, sizes)}")
    if problem.views is not None and result.outcome.view_importances is not None:
        _tell_views(tuple(problem.views), result.outcome.view_importances, result.sizes, console)
    if result.link_report is not None:
        links = result.link_report
        console.say(
            f"Links kept: {links.must_kept:,} of {links.n_must:,} must, "
            f"{links.cannot_kept:,} of {links.n_cannot:,} cannot."
        )
    written = [str(path) for path in (request.output, request.plot) if path is not None]
    where = f" Written: {listed(written)}." if written else ""
    console.say(f"Time: {result.seconds:.2f} s.{where}")


def _tell_views(
    names: tuple[str, ...], importances: NDArray[Any], sizes: list[int], console: Console
) -> None:
    """Print the view that matters most to each cluster."""
    top = importances.argmax(axis=1)
    rows = [
        (str(c), f"{sizes[c]:,}", names[v], f"{importances[c, v]:.2f}") for c, v in enumerate(top)
    ]
    console.table(("cluster", "size", "top view", "importance"), rows[:_SHOWN_CLUSTERS])
    if len(rows) > _SHOWN_CLUSTERS:
        console.say(f"{counted(len(rows) - _SHOWN_CLUSTERS, 'more cluster')}: see --json.")


def _advice(request: Request, sizes: list[int]) -> str:
    """Say what to turn when the result is of no use."""
    uses, by_neighbours = request.method.uses, request.options.n_neighbors is not None
    knob = "--bandwidth" if "bandwidth" in uses and not by_neighbours else "--n-neighbors"
    if not uses & {"bandwidth", "n_neighbors"}:
        return ""
    if len(sizes) == 1 and sizes[0] > 1:
        return f" For more clusters, take a smaller {knob}."
    if len(sizes) > 2 and len(sizes) > sum(sizes) / 2:
        return f" For fewer clusters, take a larger {knob}."
    return ""
