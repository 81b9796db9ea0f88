"""What `linkshift cluster` leaves behind: files, a page, JSON, and a summary for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkshift._core.text import counted, listed
from linkshift.cli import _tables, _write
from linkshift.cli._console import Console, shown_sizes
from linkshift.cli._problem import Problem
from linkshift.cli._scale import Scaling
from linkshift.methods import METHODS

if TYPE_CHECKING:
    from linkshift.cli._clustering import Request, Result

_NO_MATTER = ("progress", "n_jobs")  # to the result
_SHOWN_CLUSTERS = 12
_PATH_ROWS = 5_000  # a bandwidth path of so many rows takes seconds; of more, minutes


def write_files(request: Request, problem: Problem, result: Result, console: Console) -> None:
    """Write what was asked for."""
    if request.output is not None:
        _tables.write_labels(request.output, result.found.labels, problem.ids)
    if request.save is not None:
        from linkshift.cli._models import write_model

        write_model(request.save, result.found.model, _about(request, problem, result))
    views = None if problem.views is None else tuple(problem.views)
    importances = getattr(result.found.model, "view_importances_", None)
    if request.plot is not None:
        shown, modes = _drawn(request, problem, result)
        _write.write_picture(
            request.plot,
            shown,
            result.found.labels,
            links=problem.links,
            modes=modes,
            title=request.source.data.name,
            view_names=views,
            view_importances=importances,
        )
    if request.report is not None:
        _write.write_text(request.report, _page(request, problem, result, console))


def _drawn(
    request: Request, problem: Problem, result: Result
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Rows and modes for a picture: two columns as they are, more as the method saw them.

    In their own units, one column or view would often be all there is to see.
    """
    X, centres = problem.X, result.centres
    if X.shape[1] <= 2:
        return X, centres
    by_itself = METHODS[result.found.method].scales and request.scale == "none"
    scaling = Scaling.of(X, "minmax") if by_itself else result.scaling
    return scaling.apply(X), None if centres is None else scaling.apply(centres)


def _about(request: Request, problem: Problem, result: Result) -> dict[str, Any]:
    from linkshift.cli._models import plain_ids

    views = problem.views
    return {
        "data": request.source.data.name,
        "method": result.found.method,
        "why": result.found.why,
        "columns": list(problem.names),
        "views": None if views is None else {name: list(c) for name, c in views.items()},
        "id_column": request.source.id_column,
        "ids": None if problem.ids is None else plain_ids(problem.ids),
        **result.scaling.about(),
        "seed": request.seed,
    }


def _page(request: Request, problem: Problem, result: Result, console: Console) -> str:
    from linkshift.pictures.page import Report, render

    shown, modes = _drawn(request, problem, result)
    path, level = None, None
    if problem.views is None and len(shown) <= _PATH_ROWS:
        path, level = _path(request, problem, result, console)
    elif problem.views is None:
        console.say(
            f"The report leaves out the bandwidth path of more than {_PATH_ROWS:,} rows; "
            "linkshift bandwidths makes it."
        )
    inner = getattr(result.found.model, "estimator_", result.found.model)
    params = {
        name: getattr(value, "name", value)
        for name, value in inner.get_params(deep=False).items()
        if name not in _NO_MATTER and (value is None or isinstance(value, bool | int | float | str))
    }
    views = None if problem.views is None else tuple(problem.views)
    return render(
        Report(
            X=shown,
            labels=result.found.labels,
            title=request.source.data.name,
            links=problem.links,
            ids=problem.ids,
            names=problem.names,
            method=result.found.method,
            why=result.found.why,
            done=result.found.done,
            parameters={"scale": request.scale, **params},
            path=path,
            level=level,
            modes=modes,
            view_importances=getattr(result.found.model, "view_importances_", None),
            view_names=views,
            seconds=round(result.found.seconds, 2),
            seed=request.seed,
            versions=_write.versions(),
            command=command(request),
            n_conflicts=result.n_conflicts,
        )
    )


def _path(
    request: Request, problem: Problem, result: Result, console: Console
) -> tuple[Any, int | None]:
    """Sweep over bandwidths, and find the level of the bandwidth that was used, if it is there."""
    from linkshift.bandwidth.path import bandwidth_path

    inner = getattr(result.found.model, "estimator_", result.found.model)
    plain = result.found.method == "mean-shift" and result.found.bandwidth is not None
    kernel: Any = inner.kernel if plain else "gaussian"
    with console.warnings(), console.progress("Bandwidth path") as progress:
        path = bandwidth_path(
            result.scaling.apply(problem.X),
            problem.links,
            kernel=kernel,
            n_jobs=request.threads,
            progress=progress,
        )
    if not plain or np.ndim(result.found.bandwidth):
        return path, None
    logs = np.log(path.bandwidths)
    apart = np.abs(logs - np.log(float(result.found.bandwidth)))
    level = int(np.argmin(apart))
    is_there = apart[level] <= np.diff(logs).max(initial=0.0)
    return path, level if is_there else None


def command(request: Request) -> list[str]:
    """Give the words of a command that does the same."""
    options = request.options
    return request.source.command(
        *request.source.options(),
        ("scale", None if request.scale == "none" else request.scale),
        ("method", request.method),
        ("bandwidth", options["bandwidth"]),
        ("kernel", options["kernel"]),
        ("n-neighbors", options["n_neighbors"]),
        ("space", options["space"]),
        ("clusters", options["n_clusters"]),
        *(("view", view) for view in request.views or ()),
        ("max-iter", options["max_iter"]),
        ("seed", request.seed),
        ("output", request.output),
        ("plot", request.plot),
        ("report", request.report),
        ("save", request.save),
    )


def print_data(request: Request, problem: Problem, result: Result) -> None:
    """Print labels or JSON on stdout."""
    if request.json:
        _write.print_json(_report(request, problem, result))
    elif request.output is None:
        _write.print_text(_tables.labels_text(result.found.labels, problem.ids))


def _report(request: Request, problem: Problem, result: Result) -> dict[str, Any]:
    from linkshift.cli._models import plain_ids

    h = result.found.bandwidth
    report = {
        "n_samples": len(problem.X),
        "n_clusters": len(result.sizes),
        "n_noise": result.n_noise,
        "sizes": result.sizes,
        "method": result.found.method,
        "why": result.found.why,
        "done": result.found.done,
        "columns": list(problem.names),
        "scale": request.scale,
        "bandwidth": h.tolist() if isinstance(h, np.ndarray) else h,
        "seed": request.seed,
        "seconds": round(result.found.seconds, 6),
        "versions": _write.versions(),
        "links": _links_report(problem, result),
        "views": _views_report(problem, result),
        "labels": result.found.labels.tolist(),
    }
    if problem.ids is not None:
        report["ids"] = plain_ids(problem.ids)
    return report


def _links_report(problem: Problem, result: Result) -> dict[str, Any] | None:
    if problem.links is None:
        return None
    report = result.found.link_report
    return {
        "n_must": report.n_must,
        "n_cannot": report.n_cannot,
        "must_kept": report.must_kept,
        "cannot_kept": report.cannot_kept,
        "violated_must": report.violated_must.tolist(),
        "violated_cannot": report.violated_cannot.tolist(),
        "n_conflicts": result.n_conflicts,
    }


def _views_report(problem: Problem, result: Result) -> dict[str, Any] | None:
    """Give importances with a row for each cluster, in the order of sizes."""
    if problem.views is None:
        return None
    return {
        "names": list(problem.views),
        "columns": [list(columns) for columns in problem.views.values()],
        "importances": result.found.model.view_importances_.tolist(),
    }


def summarise(request: Request, problem: Problem, result: Result, console: Console) -> None:
    """Tell on stderr what came out."""
    noise = f"; noise {result.n_noise:,}" if result.n_noise else ""
    told = shown_sizes(result.sizes, "cluster")
    console.say(f"{told}{noise}.{_advice(request, result)}")
    if problem.views is not None:
        _tell_views(
            tuple(problem.views), result.found.model.view_importances_, result.sizes, console
        )
    if problem.links is not None:
        links = result.found.link_report
        console.say(
            f"Links kept: {links.must_kept:,} of {links.n_must:,} must, "
            f"{links.cannot_kept:,} of {links.n_cannot:,} cannot.{_link_advice(result)}"
        )
    targets = (request.output, request.plot, request.report, request.save)
    written = [str(path) for path in targets if path is not None]
    where = f" Written: {listed(written)}." if written else ""
    console.say(f"Time: {result.found.seconds:.2f} s.{where}")


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


def _link_advice(result: Result) -> str:
    """Say which method keeps links that this one has weighed and broken."""
    report = result.found.link_report
    broken = report.cannot_kept < report.n_cannot
    if broken and METHODS[result.found.method].conflicts == "weighed" and not result.n_conflicts:
        return " It weighs links against neighbours; --method cms keeps all that are certain."
    return ""


def _advice(request: Request, result: Result) -> str:
    """Say what to turn when the result is of no use."""
    taken, by_neighbours = METHODS[result.found.method].uses, "n_neighbors" in request.params
    knob = "--bandwidth" if "bandwidth" in taken and not by_neighbours else "--n-neighbors"
    sizes = result.sizes
    if not taken & {"bandwidth", "n_neighbors"}:
        return ""
    if len(sizes) == 1 and sizes[0] > 1:
        return f" For more clusters, take a smaller {knob}."
    if len(sizes) > 2 and len(sizes) > sum(sizes) / 2:
        return f" For fewer clusters, take a larger {knob}."
    return ""
