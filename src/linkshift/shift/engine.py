"""The engine: starts climb a kernel density until they stand still.

Arrays in, arrays out; nothing here knows of estimators or links.

What is exact. Starts that have come to rest are dropped; starts that stand on the very same
spot (to the last bit) move on as one; blocks of points out of the kernel's reach are skipped,
for a Gaussian where its weight is below machine epsilon. None of this changes where a start
ends, for any number of threads; nor do the other starts of the batch (to the last bit, except for
float32 by matrix products, in many columns, where the last bits may differ).

What is approximate, and only on request: ``merge_radius``, which lets starts that come close move
on as one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkshift._core.arrays import Array, Progress, first_of_equal_rows
from linkshift._core.disjoint import roots
from linkshift._core.threads import threads
from linkshift.profiles import Profile
from linkshift.shift.density import Density, build_density, mean_step
from linkshift.shift.neighbours import block_order

__all__ = ["Ascent", "ascend", "blur"]


@dataclass(frozen=True)
class Ascent:
    """Where starts ended.

    Attributes
    ----------
    ends : ndarray of shape (m, d)
        Last position of each start, in the input's coordinates.
    total : ndarray of shape (m,)
        Sum of the weights at the last step, relative to the largest factor; nought where no
        point reached the start.
    converged : ndarray of bool of shape (m,)
        Whether the last step was shorter than the tolerance.
    n_iter : int
        Steps made by the start that made most.
    paths : list of ndarray of shape (steps + 1, d), or None
        All positions of each start, on request.
    """

    ends: Array
    total: Array
    converged: Array
    n_iter: int
    paths: list[Array] | None = None


def ascend(
    density: Density,
    starts: Array,
    *,
    max_iter: int = 300,
    tol: float = 1e-3,
    merge_radius: float = 0.0,
    keep_paths: bool = False,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> Ascent:
    """Move each start to its mean until it moves by at most ``tol`` bandwidths.

    Parameters
    ----------
    density : Density
        What to climb.
    starts : ndarray of shape (m, d)
        Where to begin, in the input's coordinates.
    max_iter : int
        Largest number of steps.
    tol : float
        Step, in typical bandwidths, at which a start has arrived.
    merge_radius : float
        Nought merges only starts on the same spot, which is exact. A positive number also merges
        starts in the same cell of a grid of that many bandwidths: approximate.
    keep_paths : bool
        Whether to keep all positions.
    n_threads : int
        Number of threads; the result is the same for any.
    progress : callable, optional
        Called with (starts at rest, starts) after each step.

    Returns
    -------
    Ascent
    """
    order = block_order(starts)  # starts that begin together stay together: blocks are skipped
    position = density.to_working(starts[order])
    m = position.shape[0]
    total = np.zeros(m)
    converged = np.zeros(m, dtype=bool)
    leader = np.arange(m)  # the start that each start moves with
    active = leader.copy()
    step_tol = tol * density.typical_bandwidth
    cell = merge_radius * density.typical_bandwidth
    history = [position.copy()] if keep_paths else None
    n_iter = 0
    with threads(n_threads) as pool:
        while active.size and n_iter < max_iter:
            n_iter += 1
            moved, total[active] = mean_step(density, position[active], pool)
            step = np.linalg.norm((moved - position[active]).astype(np.float64), axis=1)
            position[active] = moved
            arrived = step <= step_tol
            converged[active[arrived]] = True
            active = _merge(active[~arrived], position, leader, cell)
            if history is not None:
                history.append(position[roots(leader)].copy())
            if progress is not None:
                progress(m - active.size, m)
    last = roots(leader)
    back = np.empty(m, dtype=np.intp)
    back[order] = last
    ends = density.to_input(position[back])
    paths = None if history is None else _paths(density, history, order)
    return Ascent(ends, total[back], converged[back], n_iter, paths)


def _merge(active: Array, position: Array, leader: Array, cell: float) -> Array:
    """Let active starts on the same spot (or in the same cell) move with the first of them."""
    if active.size < 2:
        return active
    spots = position[active]
    keys = np.floor(spots / cell) if cell > 0 else spots
    first = first_of_equal_rows(keys)
    leader[active] = active[first]
    return active[first == np.arange(active.size)]


def _paths(density: Density, history: list[Array], order: Array) -> list[Array]:
    """Positions over time for each start in input order, without the idle tail."""
    stack = np.stack(history, axis=1)
    paths: list[Array] = [np.empty(0)] * stack.shape[0]
    for row, path in zip(order, stack, strict=True):
        moves = np.flatnonzero((path[1:] != path[:-1]).any(axis=1))
        last = int(moves[-1]) + 1 if moves.size else 0
        paths[row] = density.to_input(path[: last + 1])
    return paths


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
    ``tol`` bandwidths. Parameters and result as in :func:`ascend`.
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
            step = np.maximum.reduceat(step[np.argsort(group, kind="stable")], _starts(group))
            member = group[member]
            if history is not None:
                history.append(points[member])
            if progress is not None:
                progress(int((step[member] <= step_tol).sum()), n)
    paths = None if history is None else list(np.stack(history, axis=1))
    return Ascent(points[member], total[member], (step <= step_tol)[member], n_iter, paths)


def _starts(group: Array) -> Array:
    """Where each group begins once rows are sorted by group."""
    return np.concatenate([[0], np.cumsum(np.bincount(group))[:-1]])
