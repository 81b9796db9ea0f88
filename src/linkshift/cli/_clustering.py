"""What `linkshift cluster` does, in its order: read, link, scale, cluster, write, tell."""

from __future__ import annotations

import os
import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import linkshift
from linkshift._core.text import counted
from linkshift.cli import _cluster_output, _read, _tables, _write
from linkshift.cli._console import Console, InputError
from linkshift.cli._link_files import named_conflict
from linkshift.cli._methods import (
    AUTO,
    METHODS,
    Options,
    check_links,
    check_options,
    check_rows,
)
from linkshift.cli._problem import Problem, Source, count_conflicts, read_problem
from linkshift.cli._scale import Scaling

if TYPE_CHECKING:
    from linkshift.metrics import LinkReport


_ONE_SPACE = ("MeanShift", "ConstrainedMeanShift")  # whose bandwidths are in units of columns


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    source: Source
    scale: str
    method: str
    options: Options
    seed: int
    threads: int | None
    output: Path | None
    plot: Path | None
    report: Path | None
    save: Path | None
    json: bool
    quiet: bool


@dataclass(frozen=True, eq=False)
class Result:
    """What came out."""

    method: str
    why: str
    done: str
    model: Any
    scaling: Scaling
    sizes: list[int]
    n_noise: int
    link_report: LinkReport | None
    n_conflicts: int
    seconds: float

    @property
    def labels(self) -> NDArray[Any]:
        """Cluster of each row, -1 for noise."""
        labels: NDArray[Any] = self.model.labels_
        return labels

    @property
    def centres(self) -> NDArray[Any] | None:
        """Modes in the units of the data, where the clusters still are those of the modes."""
        centres = getattr(self.model, "cluster_centers_", None)
        return None if centres is None else self.scaling.undo(centres)

    @property
    def bandwidth(self) -> Any:
        """The bandwidth, where there is one."""
        inner = getattr(self.model, "estimator_", self.model)
        return getattr(inner, "bandwidth_", None) if type(inner).__name__ in _ONE_SPACE else None


def run(request: Request) -> None:
    """Cluster as requested."""
    console = Console(request.quiet)
    check_options(request.method, request.options)
    _check_targets(request)
    problem = read_problem(
        request.source, console, views=request.options.view, takes_views=_takes_views(request)
    )
    check_rows(request.options, len(problem.X))
    result = _cluster(request, problem, console)
    _cluster_output.write_files(request, problem, result, console)
    _cluster_output.summarise(request, problem, result, console)
    # Last: a reader that closes the pipe early, such as head, costs no file and no summary.
    _cluster_output.print_data(request, problem, result)


def _takes_views(request: Request) -> bool | None:
    """Whether there are views; None where the data decides."""
    if request.method != AUTO:
        return METHODS[request.method].takes_views
    asked = request.options.view is not None or request.options.clusters is not None
    return True if asked else None


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
    from linkshift.clustering import told
    from linkshift.metrics import link_satisfaction

    method, why, params = _choose(request, problem)
    if request.method == AUTO:
        console.say(f"Method: {method}, {why}.")
    check_links(method, request.options, problem.links)
    n_conflicts = 0
    if METHODS[method].copes:  # others refuse contradictions themselves
        n_conflicts = count_conflicts(request.source, problem, console)
    scaling = Scaling.of(problem.X, request.scale)
    console.say(_told_scale(request, problem, method))
    model, seconds = _fit(request, method, params, problem, scaling.apply(problem.X), console)
    done = told(model)
    console.say(done)
    labels, links = model.labels_, problem.links
    sizes = np.unique(labels[labels >= 0], return_counts=True)[1].tolist()
    return Result(
        method=method,
        why=why,
        done=done,
        model=model,
        scaling=scaling,
        sizes=sizes,
        n_noise=int((labels < 0).sum()),
        link_report=None if links is None else link_satisfaction(labels, links),
        n_conflicts=n_conflicts,
        seconds=seconds,
    )


def _choose(request: Request, problem: Problem) -> tuple[str, str, dict[str, Any]]:
    """Give the method, why, and all its parameters."""
    asked = request.options.params()
    if request.method != AUTO:
        return request.method, "as asked for", asked
    from linkshift.clustering import choose
    from linkshift.links import Links

    choice = choose(
        Links() if problem.links is None else problem.links,
        *problem.X.shape,
        labelled=problem.labels is not None and problem.file_links is None,
        n_views=1 if problem.views is None else len(problem.views),
        given=asked,
    )
    # In the words of the command: the library speaks of its parameters.
    check_options(choice.method, request.options)
    return choice.method, choice.why, {**choice.params, **asked}


def _fit(
    request: Request,
    method: str,
    params: dict[str, Any],
    problem: Problem,
    X: NDArray[Any],
    console: Console,
) -> tuple[Any, float]:
    from linkshift.clustering import build, fit
    from linkshift.links import ConflictError, Links

    if _never_ran():
        console.say("Compiling first, which takes half a minute and only happens once ...")
    with console.warnings(), console.progress("Clustering") as progress:
        model = build(
            method,
            Links() if problem.links is None else problem.links,
            n_rows=len(X),
            random_state=request.seed,
            n_jobs=request.threads,
            progress=progress,
            **params,
        )
        start = time.perf_counter()  # importing is no part of the method's time
        try:
            fit(model, problem.tables(X), problem.file_links, problem.labels)
        except ConflictError as error:
            raise InputError(_contradiction(request, method, problem)) from error
        except ValueError as error:
            raise InputError(_refusal(request, method, model, error)) from error
    return model, time.perf_counter() - start


def _never_ran() -> bool:
    """Whether numba has compiled nothing yet for this installation, as far as can be seen."""
    package = Path(linkshift.__file__).parent
    elsewhere = "NUMBA_CACHE_DIR" in os.environ
    return not elsewhere and next(package.rglob("*.nbi"), None) is None


def _contradiction(request: Request, method: str, problem: Problem) -> str:
    """Tell the first contradiction in the user's own names, and what to do."""
    from linkshift.refinement import certain_links

    assert problem.links is not None
    # Some methods refuse certain links only.
    conflicts = certain_links(problem.links).conflicts() or problem.links.conflicts()
    first = named_conflict(conflicts[0], problem.ids)
    softer = ", give them confidences below 1" if method in ("cms", "groups") else ""
    file = request.source.links
    which = "labels" if file is None else "links"
    check = "" if file is None else f" (linkshift links check {shlex.quote(str(file))} shows all)"
    return (
        f"the {which} contradict each other in {counted(len(conflicts), 'place')}, first: {first}. "
        f"Correct them{check}{softer}, or use --method mean-shift, which copes with contradictions."
    )


def _refusal(request: Request, method: str, model: Any, error: ValueError) -> str:
    """Pass on the library's refusal, which is for people; but one remedy names parameters."""
    if method != "groups" or error.__cause__ is None:
        return str(error)
    # Clusters of such sizes cannot keep the links.
    low, high = model.size_bounds_
    return (
        f"{error.__cause__}. With --clusters {request.options.clusters}, clusters have {low} to "
        f"{high} rows; take another number, or remove links."
    )


def _told_scale(request: Request, problem: Problem, method: str) -> str:
    """Say how columns are scaled, and when they are not but should be."""
    told = {
        "none": "none, columns are taken as they are",
        "standard": "standard, each column has mean 0 and spread 1",
        "minmax": "minmax, each column goes from 0 to 1",
    }[request.scale]
    if method == "cms":
        # It does so by itself, whatever the units were before.
        return "Scale: each column goes from 0 to 1, which constrained mean shift does by itself."
    if request.scale != "none":
        unit = "; the bandwidth is in that unit" if "bandwidth" in METHODS[method].uses else ""
        return f"Scale: {told}{unit}."
    # Units of different views do not matter to each other.
    parts = [problem.names] if problem.views is None else problem.views.values()
    notes = (_read.spread_note(problem.part(problem.X, columns), columns) for columns in parts)
    return f"Scale: {told}.{next(filter(None, notes), '')}"
