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

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from linkshift._core.arrays import Array, Progress, first_of_equal_rows
from linkshift._core.disjoint import roots
from linkshift._core.threads import threads
from linkshift.shift._loops import BLOCK
from linkshift.shift.landscape import Ascent
from linkshift.shift.neighbours import block_order
from linkshift.shift.step import mean_step

if TYPE_CHECKING:
    from linkshift.shift.density import Density

__all__ = ["ascend"]

_ONE_OF = 32  # starts is taken ahead, where progress is told


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
    bandwidths. ``progress`` is called with (work done, work), where each start is one, after each
    step; where there are many starts, also within a step. Some are climbed ahead for it.
    """
    order = block_order(starts)  # starts that begin together stay together: blocks are skipped
    climb = _Climb(density, max_iter, tol, merge_radius, keep_paths)
    position = density.to_working(starts[order])
    m = position.shape[0]
    with threads(n_threads) as pool:
        bar = None if progress is None else _Bar(progress, m, _ahead(climb, position, pool))
        total, converged, leader, n_iter, history = climb.run(position, pool, bar)
    back = np.empty(m, dtype=np.intp)
    back[order] = roots(leader)
    ends = density.to_input(position[back])
    paths = None if history is None else _paths(density, history, order)
    return Ascent(ends, total[back], converged[back], n_iter, paths)


@dataclass(frozen=True)
class _Climb:
    """A density, and how it is climbed."""

    density: Density
    max_iter: int
    tol: float
    merge_radius: float = 0.0
    keep_paths: bool = False

    def run(
        self, position: Array, pool: threads, bar: _Bar | _Count | None
    ) -> tuple[Array, Array, Array, int, list[Array] | None]:
        """Move positions, in place, to their ends; tell what is known of them, and of the way."""
        density, m = self.density, position.shape[0]
        total = np.zeros(m)
        converged = np.zeros(m, dtype=bool)
        leader = np.arange(m)  # the start that each start moves with
        active = leader.copy()
        step_tol = self.tol * density.typical_bandwidth
        cell = self.merge_radius * density.typical_bandwidth
        history = [position.copy()] if self.keep_paths else None
        n_iter = 0
        while active.size and n_iter < self.max_iter:
            n_iter += 1
            moved, total[active] = mean_step(
                density, position[active], pool, None if bar is None else bar.within
            )
            with np.errstate(over="ignore"):  # a step that long is no arrival
                step = np.linalg.norm((moved - position[active]).astype(np.float64), axis=1)
            position[active] = moved
            arrived = step <= step_tol
            converged[active[arrived]] = True
            active = _merge(active[~arrived], position, leader, cell)
            if history is not None:
                history.append(position[roots(leader)].copy())
            if bar is not None:
                bar.after(active.size)
        return total, converged, leader, n_iter, history


class _Count:
    """How many starts make each step."""

    within = None

    def __init__(self, m: int) -> None:
        self.active = [m]

    def after(self, n_active: int) -> None:
        self.active.append(n_active)


def _ahead(climb: _Climb, position: Array, pool: threads) -> list[int]:
    """How many of a few starts, taken ahead, make each step; in runs of neighbours, who merge."""
    m = position.shape[0]
    run = min(BLOCK, m // _ONE_OF)
    if run == 0:
        return [m]
    few = (np.arange(0, m - run + 1, _ONE_OF * run)[:, None] + np.arange(run)).ravel()
    count = _Count(few.size)
    replace(climb, keep_paths=False).run(position[few], pool, count)
    return count.active


class _Bar:
    """Progress of an ascent, as a share of the work: of the steps of all starts.

    How many steps there are to come nothing tells in advance: starts come to rest and merge many at
    a time. A few starts have made the ascent before; the others are taken to do as they did, from
    as many as there are.
    """

    def __init__(self, progress: Progress, m: int, ahead: list[int]) -> None:
        self.progress, self.m, self.ahead = progress, m, ahead
        self.shown, self.step, self.made = 0, 0, 0
        self._expect(m)

    def _expect(self, n_active: int) -> None:
        """Guess how many steps of starts are left, with ``n_active`` starts to make the next."""
        few = self.ahead[self.step :]
        self.left = n_active * (sum(few) / few[0] if few and few[0] else 1.0)
        self.n_active = n_active

    def within(self, done: int) -> None:
        """Tell of a step that so many starts have made."""
        self._tell(self.made + done)

    def after(self, n_active: int) -> None:
        """Tell of a step that is made, and how many starts are left."""
        self.step += 1
        self.made += self.n_active
        self._expect(n_active)
        self._tell(self.made)

    def _tell(self, made: int) -> None:
        share = made / (self.made + self.left) if self.left else 1.0
        self.shown = max(self.shown, int(share * self.m))
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
