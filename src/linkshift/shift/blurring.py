"""Blurring mean shift: the points move as well, until they have met."""

from __future__ import annotations

import numpy as np

from linkshift._core.arrays import Array, Progress, first_of_equal_rows, offsets
from linkshift._core.threads import threads
from linkshift.profiles import Profile
from linkshift.shift.density import build_density
from linkshift.shift.landscape import Ascent
from linkshift.shift.step import mean_step

__all__ = ["blur"]


def blur(
    X: Array,
    bandwidth: float | Array,
    profile: Profile,
    *,
    sample_weight: Array | None = None,
    max_iter: int = 300,
    tol: float = 1e-3,
    keep_paths: bool = False,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> Ascent:
    """Blurring mean shift: in each step the points themselves move to their means.

    Fukunaga and Hostetler (1975). Points that have met (same spot to the last bit, same
    bandwidth) go on as one with the sum of their weights. Ends when no point moves by more than
    ``tol`` bandwidths. Parameters and result as in :func:`linkshift.shift.engine.ascend`.
    """
    n = X.shape[0]
    h = np.broadcast_to(np.asarray(bandwidth, dtype=np.float64), (n,))
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    member: Array = np.arange(n)  # which of the remaining points each row has become
    points: Array = X.copy()
    point_h: Array = h.copy()
    point_weight: Array = weight.copy()
    history = [X.copy()] if keep_paths else None
    total: Array = np.zeros(n)
    step: Array = np.full(n, np.inf)
    density = build_density(X, h, profile, sample_weight=weight)
    step_tol = tol * density.typical_bandwidth * density.scale
    n_iter = 0
    with threads(n_threads) as pool:
        while n_iter < max_iter and (step > step_tol).any():
            n_iter += 1
            density = build_density(points, point_h, profile, sample_weight=point_weight)
            moved, total = mean_step(density, density.to_working(points), pool)
            before, points = points, density.to_input(moved)
            step = np.linalg.norm((points - before).astype(np.float64), axis=1)
            first = first_of_equal_rows(np.column_stack([points, point_h]))
            kept, group = np.unique(first, return_inverse=True)
            point_weight = np.bincount(group, weights=point_weight)
            points, point_h, total = points[kept], point_h[kept], total[kept]
            begin = offsets(group, len(kept))[:-1]
            step = np.maximum.reduceat(step[np.argsort(group, kind="stable")], begin)
            member = group[member]
            if history is not None:
                history.append(points[member])
            if progress is not None:
                progress(int((step[member] <= step_tol).sum()), n)
    paths = None if history is None else list(np.stack(history, axis=1))
    return Ascent(points[member], total[member], (step <= step_tol)[member], n_iter, paths)
