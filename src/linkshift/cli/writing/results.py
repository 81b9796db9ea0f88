"""What a clustering leaves behind: a picture, a page, JSON, and what a model file tells of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import linkshift
from linkshift.cli.reading.models import plain_ids
from linkshift.cli.reading.problem import Problem, Source
from linkshift.cli.talking import Console
from linkshift.cli.writing.figures import write_picture
from linkshift.cli.writing.targets import versions
from linkshift.links._groups import MOST_EXPANDED
from linkshift.methods import Clustering
from linkshift.tables.scaling import Scaling

_NO_MATTER = ("progress", "n_jobs")  # to the result
_SAID = ("method", "why", "done")
_PATH_ROWS = 5_000  # a bandwidth path of so many rows takes seconds; of more, minutes


@dataclass(frozen=True, eq=False)
class Result:
    """What came out, and of what."""

    source: Source
    problem: Problem
    scaling: Scaling
    found: Clustering
    n_conflicts: int
    asked: dict[str, Any]  # of linkshift.cluster
    sizes: list[int]
    n_noise: int

    @property
    def scale(self) -> str:
        """How columns were scaled, by a recipe or without one."""
        recipe = self.problem.recipe
        return self.scaling.kind if recipe is None else recipe.scale

    @property
    def view_names(self) -> tuple[str, ...] | None:
        """Names of the views, where there are views."""
        return None if self.problem.views is None else tuple(self.problem.views)

    @property
    def view_importances(self) -> NDArray[Any] | None:
        """Their importances, with a row for each cluster."""
        return getattr(self.found.model, "view_importances_", None)

    @property
    def rows(self) -> NDArray[Any]:
        """Rows as the method saw them: scaled, and of length one with --metric cosine."""
        if self.by_cosine:
            unit: NDArray[Any] = self.found.model._fit_X
            return unit
        return self.scaling.apply(self.problem.X)

    @property
    def by_cosine(self) -> bool:
        """Whether directions are all that counted."""
        return self.asked.get("metric") == "cosine"


def about(result: Result) -> dict[str, Any]:
    """Say for a model file what the model was made from, and how."""
    problem, source = result.problem, result.source
    views = problem.views
    return {
        "data": source.data.name,
        "method": result.found.method,
        "why": result.found.why,
        "columns": list(problem.names),
        "views": None if views is None else {name: list(c) for name, c in views.items()},
        "id_column": source.id_column,
        "ids": None if problem.ids is None else plain_ids(problem.ids),
        **result.scaling.about(),
        **({} if problem.recipe is None else {"preparation": problem.recipe.to_plain()}),
        "seed": result.asked["random_state"],
    }


def _shown(result: Result) -> dict[str, Any]:
    """Say what pictures and pages show: rows, clusters, links, modes, views.

    Two columns are as they are, more as the method saw them: in their own units, one column or
    view would often be all there is to see. By cosine they are always as it saw them. Modes are
    there where the clusters still are theirs.
    """
    X, scaling, found = result.problem.X, result.scaling, result.found
    modes = getattr(found.model, "cluster_centers_", None)
    if result.by_cosine:
        X = result.rows  # modes are among these
    else:
        modes = None if modes is None else scaling.undo(modes)
    if X.shape[1] > 2 and not result.by_cosine:
        X, modes = scaling.apply(X), None if modes is None else scaling.apply(modes)
    shown = {"X": X, "labels": found.labels, "links": result.problem.links, "modes": modes}
    views = {"view_names": result.view_names, "view_importances": result.view_importances}
    return {**shown, **views, "title": result.source.data.name}


def draw(target: Path, result: Result) -> None:
    """Draw the clusters."""
    write_picture(target, **_shown(result))


def page(result: Result, words: list[str], console: Console) -> str:
    """Give a page with all there is to see."""
    from linkshift import report

    problem, found = result.problem, result.found
    path, level = None, None
    if problem.views is None and len(problem.X) <= _PATH_ROWS:
        path, level = _path(result, console)
    elif problem.views is None:
        console.say(
            f"The report leaves out the bandwidth path of more than {_PATH_ROWS:,} rows; "
            "linkshift bandwidths makes it."
        )
    inner = getattr(found.model, "estimator_", found.model)
    params = {
        name: getattr(value, "name", value)
        for name, value in inner.get_params(deep=False).items()
        if name not in _NO_MATTER and (value is None or isinstance(value, bool | int | float | str))
    }
    told = report.Report(
        **_shown(result),
        ids=problem.ids,
        names=problem.names,
        **{name: getattr(found, name) for name in _SAID},
        parameters={"scale": result.scale, **params},
        path=path,
        level=level,
        seconds=round(found.seconds, 2),
        seed=result.asked["random_state"],
        versions=versions(),
        command=words,
        n_conflicts=result.n_conflicts,
        held_out=found.link_report.held_out,
    )
    return report.render(told)


def _path(result: Result, console: Console) -> tuple[Any, int | None]:
    """Sweep over bandwidths, and find the level of the bandwidth that was used, if it is there."""
    found = result.found
    links = result.problem.links
    if links is not None and links._pairs.apart.n_pairs > MOST_EXPANDED:
        links = links._only_pairs()
        console.say("Its bandwidth path goes by pairs alone, not by groups of rows apart.")
    swept = found.method == "mean-shift" and found.bandwidth is not None
    kernel: Any = getattr(found.model, "estimator_", found.model).kernel if swept else "gaussian"
    with console.warnings(), console.progress("Bandwidth path") as progress:
        path = linkshift.bandwidth_path(
            result.rows,
            links,
            kernel=kernel,
            n_jobs=result.asked["n_jobs"],
            progress=progress,
        )
    if not swept or np.ndim(found.bandwidth):
        return path, None
    logs = np.log(path.bandwidths)
    apart = np.abs(logs - np.log(float(found.bandwidth)))
    level = int(np.argmin(apart))
    return path, level if apart[level] <= np.diff(logs).max(initial=0.0) else None


def as_dict(result: Result) -> dict[str, Any]:
    """Give all that is told as JSON."""
    problem, found = result.problem, result.found
    h = found.bandwidth
    report = {
        "n_samples": len(problem.X),
        "n_clusters": len(result.sizes),
        "n_noise": result.n_noise,
        "sizes": result.sizes,
        **{name: getattr(found, name) for name in _SAID},
        "columns": list(problem.names),
        "scale": result.scale,
        "prepared": None if problem.recipe is None else problem.recipe.said_,
        "bandwidth": h.tolist() if hasattr(h, "tolist") else h,
        "seed": result.asked["random_state"],
        "seconds": round(found.seconds, 6),
        "versions": versions(),
        "links": None,
        "views": None,
        "labels": found.labels.tolist(),
    }
    if problem.links is not None:
        kept: Any = found.link_report
        counts = ("n_must", "n_cannot", "n_apart", "must_kept", "cannot_kept", "apart_kept")
        told = {name: getattr(kept, name) for name in counts}
        told["violated_must"] = kept.violated_must.tolist()
        told["violated_cannot"] = kept.violated_cannot.tolist()
        told["held_out"] = None if kept.held_out is None else kept.held_out._asdict()
        told["set_aside"] = {
            "must": found.set_aside.must.tolist(),
            "cannot": found.set_aside.cannot.tolist(),
        }
        report["links"] = {**told, "n_conflicts": result.n_conflicts}
    if problem.views is not None:
        views: dict[str, Any] = {"names": list(problem.views)}
        views["columns"] = [list(columns) for columns in problem.views.values()]
        report["views"] = {**views, "importances": found.model.view_importances_.tolist()}
    return report if problem.ids is None else {**report, "ids": plain_ids(problem.ids)}
