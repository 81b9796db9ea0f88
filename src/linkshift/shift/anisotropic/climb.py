"""Climbing a density whose points have metrics of their own, and what is found there."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import logsumexp

from linkshift._core.arrays import Array, Progress, first_of_equal_rows
from linkshift._core.threads import one_blas_thread, threads
from linkshift.shift.anisotropic import _loops
from linkshift.shift.landscape import Ascent
from linkshift.shift.neighbours import block_order

if TYPE_CHECKING:
    from linkshift.shift.anisotropic.density import AnisotropicDensity

__all__ = ["climb", "evaluate", "units_of_work", "weighted_means"]


# Starts per unit of work, and pairs at most: fixed, so that threads never change anything.
_STARTS, _PAIRS = 64, 1 << 22
# Once a share of one in eight points has come near, a matrix product is faster than a look at each.
_BUDGET = 8
# Largest bound on the error of z by products: worst cases, a hundred times what is seen.
_PRODUCT_ERROR = 1e-7


def climb(
    density: AnisotropicDensity,
    starts: Array,
    *,
    max_iter: int = 300,
    tol: float = 1e-3,
    n_threads: int = 1,
    keep_paths: bool = False,
    progress: Progress | None = None,
) -> Ascent:
    r"""Move each start by eq. 4.8 until its step is at most ``tol`` local bandwidths.

    The step :math:`\delta` is measured by the precision of the kernels about it,

    .. math:: \delta^\top H(x) \, \delta \le \text{tol}^2, \qquad
              H(x) = \frac{\sum_j w_j M_j / h_j^2}{\sum_j w_j}, \quad w_j = a_j g(z_j)

    A start that no point reaches stays where it is, converged, with log density minus infinity.
    ``progress`` is called with (starts at rest, starts) after each block of starts, from any
    thread, one at a time. G. S. Cheema (2016), eq. 4.8.
    """
    if max_iter < 1:
        raise ValueError(f"max_iter must be at least 1, got {max_iter}.")
    forms = density.forms
    working = forms.to_working(starts)
    first = first_of_equal_rows(working)
    own = np.flatnonzero(first == np.arange(first.size))
    own = own[block_order(working[own])]  # neighbours look at the same points: these stay in cache
    position = working[own]
    m = own.size
    state = _State(
        moved=np.zeros(position.shape),
        log_density=np.empty(m),
        converged=np.zeros(m, dtype=bool),
        n_iter=np.zeros(m, dtype=np.int64),
    )
    history = [state.moved.copy()] if keep_paths else None
    by_products = _products_serve(density, forms.lift(position))
    advance = _step_by_products if by_products else _climb_directly
    report = _reporter(progress, m, starts.shape[0])

    def task(rows: Array) -> None:
        part = _State(*(values[rows] for values in state))
        # Stopping after each step, to keep the path, does not change the steps.
        advance(density, position[rows], part, max_iter if history is None else len(history), tol)
        for values, changed in zip(state, part, strict=True):
            values[rows] = changed
        report(int(part.resting(max_iter).sum()))

    with one_blas_thread(), threads(n_threads) as pool:
        while (moving := np.flatnonzero(~state.resting(max_iter))).size:
            # Those still under way close ranks: matrix products are worth it for many at a time.
            pool.map(task, units_of_work(moving, density.n_points))
            if history is not None:
                history.append(state.moved.copy())
    place = np.empty(first.size, dtype=np.intp)
    place[own] = np.arange(m)
    place = place[first]
    begin = np.asarray(starts, dtype=np.float64)

    def positions(moved: Array, begin: Array) -> Array:
        return (begin + forms.to_input(moved)).astype(density.dtype)

    paths = None
    if history is not None:
        stack = np.stack(history, axis=1)
        paths = [
            positions(stack[at, : state.n_iter[at] + 1], row)
            for at, row in zip(place, begin, strict=True)
        ]
    return Ascent(
        ends=positions(state.moved[place], begin),
        total=_relative(state.log_density[place]),
        converged=state.converged[place],
        n_iter=int(state.n_iter.max(initial=0)),
        paths=paths,
        log_density=state.log_density[place],
    )


def _relative(log_density: Array) -> Array:
    """Density relative to that of the densest; zero only where no point reaches."""
    reached = np.isfinite(log_density)
    top = log_density[reached].max(initial=-np.inf)
    total = np.zeros(log_density.shape[0])
    least = np.log(np.finfo(np.float64).tiny)
    total[reached] = np.exp(np.maximum(log_density[reached] - top, least))
    return total


class _State(NamedTuple):
    """How far some starts have come: the difference from the start, and what is known there."""

    moved: Array
    log_density: Array
    converged: Array
    n_iter: Array

    def resting(self, max_iter: int) -> Array:
        """Whether each start has come to rest."""
        return np.asarray(self.converged | (self.n_iter >= max_iter))


def _climb_directly(
    density: AnisotropicDensity, starts: Array, state: _State, max_iter: int, tol: float
) -> None:
    """Make one step or more from each start, with the points that reach it."""
    wake = _milestones(density, density.forms.lift(starts + state.moved))
    budget = int(density.n_points // _BUDGET)
    directions = density.forms.directions
    _loops.climb_block(density.kernels, directions, starts, wake, max_iter, tol, budget, state)


def _products_serve(density: AnisotropicDensity, lifted: Array) -> bool:
    """Whether matrix products give z well enough, and are of use: no point is out of reach."""
    if np.isfinite(density.profile.squared_reach):
        return False
    forms = density.forms
    with np.errstate(over="ignore", invalid="ignore"):
        radii = (np.linalg.norm(x, axis=1).max(initial=0.0) for x in (lifted, forms.lifted))
        span = sum(map(float, radii))
        error = forms.rounding * span**2 * float((forms.norm * forms.size**2).max())
    return bool(error <= _PRODUCT_ERROR)


def _sums_by_products(
    density: AnisotropicDensity, positions: Array
) -> tuple[Array, Array, Array, Array]:
    """Sum over all points, for a Gaussian.

    Returns the sums of pulls times forms, those of pulls times N_j (x_j - x), the logarithm of the
    unit of both and the logarithm of the sum of weights.
    """
    forms = density.forms
    m, d = positions.shape
    # Always the same shape: a short one would be summed in another order.
    block = np.zeros((_block_size(density.n_points), d))
    block[:m] = positions
    lifted = forms.lift(block)
    log_weight = np.maximum(forms.rough(lifted), 0.0)
    log_weight *= -0.5 * forms.size**2
    log_weight += density.kernels.log_factor
    log_weights = logsumexp(log_weight, axis=1)
    log_weight += forms.log_size
    top = log_weight.max(axis=1)
    log_weight -= top[:, None]
    sums = np.exp(log_weight, out=log_weight) @ forms.table
    total = np.ascontiguousarray(sums[:, : forms.width])
    pull = forms.lower(sums[:, forms.width : -1] - forms.times(total, lifted))
    return total[:m], pull[:m], top[:m], log_weights[:m]


def _step_by_products(
    density: AnisotropicDensity,
    starts: Array,
    state: _State,
    max_iter: int,  # noqa: ARG001 - one step is within every limit
    tol: float,
) -> None:
    """Make one step from each start, by matrix products."""
    total, pull, top, log_weights = _sums_by_products(density, starts + state.moved)
    step, arrived = np.empty(pull.shape), np.empty(pull.shape[0], dtype=bool)
    directions = density.forms.directions
    _loops.steps_block(directions, total, pull, top - log_weights, tol, step, arrived)
    state.moved[:] += step
    state.log_density[:] = log_weights + np.log(2.0)
    state.n_iter[:] += 1
    state.converged[:] = arrived


def _milestones(density: AnisotropicDensity, lifted: Array) -> Array:
    """How far each lifted position can travel before each point must be looked at."""
    forms, reach = density.forms, density.kernels.reach
    if not np.isfinite(reach):
        return np.zeros((lifted.shape[0], density.n_points))
    # Numbers too large to square come out as NaN, and a NaN is looked at in every step.
    with np.errstate(over="ignore", invalid="ignore"):
        squared = forms.rough(lifted)
        squared -= forms.error(lifted)
        np.maximum(squared, 0.0, out=squared)
        np.sqrt(squared, out=squared)
        squared *= forms.size * (1.0 - 1e-9)
        squared -= reach
        squared /= forms.speed
    return squared


def _block_size(n: int) -> int:
    """Return the number of starts per unit of work, for n points."""
    return max(1, min(_STARTS, _PAIRS // n))


def units_of_work(rows: Array, n: int) -> list[Array]:
    """Rows in units of work, for n points."""
    size = _block_size(n)
    return [rows[begin : begin + size] for begin in range(0, rows.size, size)]


def _reporter(progress: Progress | None, m: int, n_starts: int) -> Callable[[int], None]:
    """Return a function that adds up the starts that have come to rest and reports them."""
    lock, done = Lock(), 0

    def report(rested: int) -> None:
        nonlocal done
        if progress is None:
            return
        with lock:
            done += rested
            # Starts on the same spot climb as one: all are at rest with the last of the others.
            progress(n_starts if done == m else done, n_starts)

    return report


def evaluate(
    density: AnisotropicDensity, positions: Array, *, n_threads: int = 1
) -> tuple[Array, Array]:
    """Local precision H and log density at each position.

    Precisions are as the forms of the density: packed, in working coordinates, or weights of the
    directions and of the ridge. Out of reach they are zero, the log density minus infinity.
    """
    forms = density.forms
    working = forms.to_working(positions)
    lifted = forms.lift(working)
    m = working.shape[0]
    precision, log_density = np.zeros((m, forms.width)), np.empty(m)
    by_products = _products_serve(density, lifted)

    def task(part: Array) -> None:
        if by_products:
            total, _, top, log_weights = _sums_by_products(density, working[part])
            precision[part] = total * np.exp(top - log_weights)[:, None]
            log_density[part] = log_weights + np.log(2.0)
            return
        here, values = precision[part], log_density[part]
        wake = _milestones(density, lifted[part])
        _loops.evaluate_block(density.kernels, lifted[part], wake, here, values)
        precision[part], log_density[part] = here, values

    with one_blas_thread(), threads(n_threads) as pool:
        pool.map(task, units_of_work(np.arange(m), density.n_points))
    return precision, log_density


def weighted_means(density: AnisotropicDensity, positions: Array, rows: Array) -> Array:
    """Mean of the rows, weighted by the pulls of their points at each position; zero out of reach.

    It is meant for modes: each position looks at each point.
    """
    working = density.forms.to_working(positions)
    means = np.empty((positions.shape[0], rows.shape[1]))
    for part in units_of_work(np.arange(positions.shape[0]), density.n_points):
        here, lifted = means[part], density.forms.lift(working[part])
        wake = _milestones(density, lifted)
        _loops.mean_block(density.kernels, lifted, wake, rows, here)
        means[part] = here
    return means
