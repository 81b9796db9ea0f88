"""What `linkshift cluster` does, in its order: read, link, scale, cluster, write, tell."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import linkshift
from linkshift._core.text import counted
from linkshift.cli import _cluster_output, _read, _tables, _write
from linkshift.cli._console import Console, InputError, passed_on
from linkshift.cli._link_files import named_conflict
from linkshift.cli._methods import AUTO, check_neighbours
from linkshift.cli._problem import Problem, Source, count_conflicts, read_problem
from linkshift.cli._scale import Scaling
from linkshift.links import Links
from linkshift.methods import METHODS, Choice, Clustering, check_params


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    source: Source
    scale: str
    method: str
    options: dict[str, Any]  # parameters of linkshift.cluster, None where the method is to decide
    views: tuple[str, ...] | None
    seed: int
    threads: int | None
    output: Path | None
    plot: Path | None
    report: Path | None
    save: Path | None
    json: bool
    quiet: bool

    @property
    def params(self) -> dict[str, Any]:
        """Parameters that were given."""
        return {name: value for name, value in self.options.items() if value is not None}


@dataclass(frozen=True, eq=False)
class Result:
    """What came out."""

    found: Clustering
    scaling: Scaling
    sizes: list[int]
    n_noise: int
    n_conflicts: int

    @property
    def centres(self) -> NDArray[Any] | None:
        """Modes in the units of the data, where the clusters still are those of the modes."""
        centres = getattr(self.found.model, "cluster_centers_", None)
        return None if centres is None else self.scaling.undo(centres)


def run(request: Request) -> None:
    """Cluster as requested."""
    console = Console(request.quiet)
    views = {} if request.views is None else {"views": request.views}
    check_params(request.method, {**request.params, **views})
    _check_targets(request)
    problem = read_problem(
        request.source, console, views=request.views, takes_views=_takes_views(request)
    )
    check_neighbours(request.params.get("n_neighbors"), len(problem.X))
    result = _cluster(request, problem, console)
    _cluster_output.write_files(request, problem, result, console)
    _cluster_output.summarise(request, problem, result, console)
    # Last: a reader that closes the pipe early, such as head, costs no file and no summary.
    _cluster_output.print_data(request, problem, result)


def _takes_views(request: Request) -> bool | None:
    """Whether there are views; None where the data decides."""
    if request.method != AUTO:
        return METHODS[request.method].takes_views
    return True if request.views is not None or "n_clusters" in request.params else None


def _check_targets(request: Request) -> None:
    targets = {
        "--output": (request.output, _tables.LABEL_SUFFIXES),
        "--plot": (request.plot, _write.PICTURE_SUFFIXES),
        "--report": (request.report, _write.PAGE_SUFFIXES),
        "--save": (request.save, _write.MODEL_SUFFIXES),
    }
    _write.check_targets(targets, request.source.files)


# --- the work -----------------------------------------------------------------------------------


def _cluster(request: Request, problem: Problem, console: Console) -> Result:
    from linkshift.links import ConflictError

    scaling = Scaling.of(problem.X, request.scale)
    chosen, n_conflicts = request.method, 0

    def on_choice(choice: Choice) -> None:
        nonlocal chosen, n_conflicts
        chosen = choice.method
        if request.method == AUTO:
            console.say(f"Method: {choice.method}, {choice.why}.")
        if METHODS[chosen].conflicts == "weighed":  # others refuse contradictions themselves
            n_conflicts = count_conflicts(request.source, problem, console)
        console.say(_told_scale(request, problem, chosen))
        if _never_ran():
            console.say("Compiling first, which takes half a minute and only happens once ...")

    with console.warnings(), console.progress("Clustering") as progress, passed_on():
        try:
            found = linkshift.cluster(
                problem.tables(scaling.apply(problem.X)),
                problem.file_links,
                partial_labels=problem.labels,
                method=request.method,  # type: ignore[arg-type]
                random_state=request.seed,
                n_jobs=request.threads,
                progress=progress,
                on_choice=on_choice,
                **request.params,
            )
        except ConflictError as error:
            raise InputError(_contradiction(request, chosen, problem)) from error
    console.say(found.done)
    sizes = np.unique(found.labels[found.labels >= 0], return_counts=True)[1].tolist()
    return Result(found, scaling, sizes, int((found.labels < 0).sum()), n_conflicts)


def _never_ran() -> bool:
    """Whether numba has compiled nothing yet for this installation, as far as can be seen."""
    package = Path(linkshift.__file__).parent
    elsewhere = "NUMBA_CACHE_DIR" in os.environ
    return not elsewhere and next(package.rglob("*.nbi"), None) is None


def _certain(links: Links) -> Links:
    return links.where(links.must_confidence == 1.0, links.cannot_confidence == 1.0)


def _contradiction(request: Request, method: str, problem: Problem) -> str:
    """Tell the first contradiction in the user's own names, and what to do."""
    assert problem.links is not None
    # Some methods refuse certain links only.
    conflicts = _certain(problem.links).conflicts() or problem.links.conflicts()
    first = named_conflict(conflicts[0], problem.ids)
    softened = METHODS[method].conflicts == "softened"
    softer = ", give them confidences below 1" if softened else ""
    file = request.source.links
    which = "labels" if file is None else "links"
    check = "" if file is None else f" (linkshift links check {shlex.quote(str(file))} shows all)"
    return (
        f"the {which} contradict each other in {counted(len(conflicts), 'place')}, first: {first}. "
        f"Correct them{check}{softer}, or use --method mean-shift, which copes with contradictions."
    )


def _told_scale(request: Request, problem: Problem, method: str) -> str:
    """Say how columns are scaled, and when they are not but should be."""
    told = {
        "none": "none, columns are taken as they are",
        "standard": "standard, each column has mean 0 and spread 1",
        "minmax": "minmax, each column goes from 0 to 1",
    }[request.scale]
    if METHODS[method].scales:
        # It does so by itself, whatever the units were before.
        return "Scale: each column goes from 0 to 1, which constrained mean shift does by itself."
    if request.scale != "none":
        unit = "; the bandwidth is in that unit" if "bandwidth" in METHODS[method].uses else ""
        return f"Scale: {told}{unit}."
    # Units of different views do not matter to each other.
    parts = [problem.names] if problem.views is None else problem.views.values()
    notes = (_read.spread_note(problem.part(problem.X, columns), columns) for columns in parts)
    return f"Scale: {told}.{next(filter(None, notes), '')}"
