"""What a clustering leaves behind: a picture, a page, JSON, and what a model file tells of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import linkshift
from linkshift.cli.reading.problem import Problem, Source
from linkshift.cli.talking import Console
from linkshift.cli.writing.figures import write_picture
from linkshift.cli.writing.targets import versions
from linkshift.links._groups import MOST_EXPANDED
from linkshift.methods import Clustering
from linkshift.methods.saved import plain_ids
from linkshift.tables.scaling import Scaling

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
    def clusters(self) -> list[int]:
        """Numbers of the clusters, in the order of their sizes in `sizes`: ascending."""
        labels = self.found.labels
        return [int(c) for c in np.unique(labels[labels >= 0])]

    @property
    def view_names(self) -> tuple[str, ...] | None:
        """Names of the views, where there are views."""
        return None if self.problem.views is None else tuple(self.problem.views)


def notes(result: Result) -> dict[str, Any]:
    """Say for a model file what only the command knows: files, ids, the seed."""
    problem, source = result.problem, result.source
    return {
        "data": source.data.name,
        "id_column": source.id_column,
        "ids": None if problem.ids is None else plain_ids(problem.ids),
        "seed": result.asked["random_state"],
    }


def draw(target: Path, result: Result) -> None:
    """Draw the clusters."""
    found = result.found
    shown = found.shown() | {"links": result.problem.links, "title": result.source.data.name}
    names, importances = result.view_names, found.view_importances
    write_picture(target, **shown, view_names=names, view_importances=importances)


def page(result: Result, words: list[str], console: Console, target: Path) -> str:
    """Give a page with all there is to see."""
    from linkshift import report

    problem, found = result.problem, result.found
    path, level = None, None
    if problem.weights is not None:
        console.say("The report leaves out the bandwidth path, which knows no weights.")
    elif problem.views is None and len(problem.X) <= _PATH_ROWS:
        path, level = _path(result, console)
    elif problem.views is None:
        console.say(
            f"The report leaves out the bandwidth path of more than {_PATH_ROWS:,} rows; "
            "linkshift bandwidths makes it."
        )
    told = found.told()
    told["parameters"] |= {"scale": result.scale}
    told |= {"ids": problem.ids, "links": problem.links}
    page = report.Report(
        **told,
        title=result.source.data.name,
        path=path,
        level=level,
        seed=result.asked["random_state"],
        versions=versions(),
        command=words,
        n_conflicts=result.n_conflicts,
        show=problem.shown,
        folder=target.parent,
        folders=(result.source.data.parent, Path()),
    )
    return report.render(page)


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
            found.model._fit_X,
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
        "clusters": result.clusters,
        "sizes": result.sizes,
        **{name: getattr(found, name) for name in _SAID},
        "columns": list(problem.names),
        "weights": result.source.weights,
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
        assert found.view_importances is not None
        report["views"] = {**views, "importances": found.view_importances.tolist()}
    return report if problem.ids is None else {**report, "ids": plain_ids(problem.ids)}
