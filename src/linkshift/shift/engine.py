"""The engine: starts climb a kernel density until they stand still.

What is exact. Starts that have come to rest are dropped; starts that stand on the very same
spot (to the last bit) move on as one; blocks of points out of the kernel's reach are skipped,
for a Gaussian where its weight is below machine epsilon. None of this changes where a start
ends, for any number of threads; nor do the other starts of the batch (to the last bit, except for
float32 by matrix products, in many columns, where the last bits may differ).

What is approximate, and only on request: ``merge_radius``, which lets starts that come close move
on as one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from linkshift._core.arrays import Array, Progress, first_of_equal_rows
from linkshift._core.disjoint import roots
from linkshift._core.threads import threads
from linkshift.shift.landscape import Ascent
from linkshift.shift.neighbours import block_order
from linkshift.shift.step import mean_step

if TYPE_CHECKING:
    from linkshift.shift.density import Density

__all__ = ["ascend"]

_FIRST_GUESS, _MOST_GUESSED = 4, 50  # steps that are left


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
    """Move each start to its mean until it moves by at most ``tol`` typical bandwidths.

    Starts are in the input's coordinates. A ``merge_radius`` of zero merges only starts on the same
    spot, which is exact; a positive one also merges starts in the same cell of a grid of that many
    bandwidths. ``progress`` is called with (starts at rest, starts) after each step; where there
    are many, also within a step, with a guess of what the step is worth.
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
    bar = _Bar(progress, m)
    with threads(n_threads) as pool:
        while active.size and n_iter < max_iter:
            n_iter += 1
            moved, total[active] = mean_step(
                density, position[active], pool, bar.within(active.size)
            )
            step = np.linalg.norm((moved - position[active]).astype(np.float64), axis=1)
            position[active] = moved
            arrived = step <= step_tol
            converged[active[arrived]] = True
            active = _merge(active[~arrived], position, leader, cell)
            if history is not None:
                history.append(position[roots(leader)].copy())
            bar.after(active.size, step, step_tol)
    back = np.empty(m, dtype=np.intp)
    back[order] = roots(leader)
    ends = density.to_input(position[back])
    paths = None if history is None else _paths(density, history, order)
    return Ascent(ends, total[back], converged[back], n_iter, paths)


class _Bar:
    """Progress of an ascent that never goes back, in shares of what is left.

    Many starts come to rest in the same few steps, at the end. A step is therefore worth its part
    of the steps that are left, by how fast steps have become shorter.
    """

    def __init__(self, progress: Progress | None, m: int) -> None:
        self.progress, self.m = progress, m
        self.shown, self.share, self.length = 0, 1 / _FIRST_GUESS, 0.0

    def within(self, n_active: int) -> Callable[[int], None] | None:
        """Give what tells of a step that begins, from the number of starts that have made it."""
        if self.progress is None:
            return None
        progress, before = self.progress, self.shown

        def told(done: int) -> None:
            self.shown = before + int(self.share * (self.m - before) * done / n_active)
            progress(self.shown, self.m)

        return told

    def after(self, n_active: int, step: Array, step_tol: float) -> None:
        """Tell of a step that is made."""
        if self.progress is None:
            return
        length, before = float(np.median(step)), self.length
        if before > length > step_tol > 0:
            left = np.log(length / step_tol) / np.log(before / length)
            self.share = 1 / float(np.clip(left, 2, _MOST_GUESSED))
        self.length = length
        self.shown = max(self.shown, self.m - n_active)
        self.progress(self.shown, self.m)


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
