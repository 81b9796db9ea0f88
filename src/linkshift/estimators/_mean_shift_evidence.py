"""What explains a row of plain mean shift: its path to its mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkshift._core.arrays import Array
from linkshift.explain import Evidence, kept_path
from linkshift.modes import basin_labels
from linkshift.shift.blurring import blur
from linkshift.shift.engine import ascend

if TYPE_CHECKING:
    from linkshift.estimators.mean_shift import MeanShift

__all__ = ["evidence_of"]


def evidence_of(model: MeanShift, row: int) -> Evidence:
    """Tell what explains a row: its path to its mode."""
    modes, path, label, notes = model._state.modes, _path(model, row), int(model.labels_[row]), []
    if not model._started_everywhere():
        notes.append("The fit started elsewhere; the path is what the row would do by itself.")
    if model._state.cells is not None:
        notes.append("Rows were pooled in cells: the path is that of the row's cell.")
    if model._state.landmarks is not None:
        notes.append("Landmarks stood for rows: the path is over their density.")
    end = int(basin_labels(path[-1:], modes)[0])
    mode, told = modes.centers[end], model._state.told
    cluster = end if told is None else int(told[end])
    if label == -1:
        notes.append("It is farther from its mode than the kernel's radius.")
    elif cluster not in (label, -1):
        why = "that of a path near it" if model.end_radius + model.path_radius else "nearer"
        notes.append(f"Its path ends at the mode of cluster {cluster}; that of {label} is {why}.")
        mode = model.cluster_centers_[label]
    if told is not None:
        notes.append("Clusters were merged or split until there were as many as asked for.")
    return Evidence(model._fit_X, path=path, mode=mode, notes=tuple(notes))


def _path(model: MeanShift, row: int) -> Array:
    """Positions of a row as it climbs, or moves with all others."""
    options = model._options() | {"keep_paths": True}
    density, cells = model._state.density, model._state.cells
    points, at = model._fit_X, row
    if cells is not None:
        points, at = cells.points, int(cells.member[row])
    if not model.blurring:
        return kept_path(ascend(density, points[[at]], **options), 0)
    weight = density.inputs()["sample_weight"]
    bandwidth = model._state.bandwidth
    moved = blur(points, bandwidth, density.profile, sample_weight=weight, **options)
    path = kept_path(moved, at)
    moves = np.flatnonzero((path[1:] != path[:-1]).any(axis=1))
    return path[: int(moves[-1]) + 2 if moves.size else 1]
