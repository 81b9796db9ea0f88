r"""Mean shift where every point has its own metric: starts climb a sum of tilted kernels.

With a metric :math:`M_j` and a bandwidth :math:`h_j` for each point,

.. math::

    f(x) = \sum_j a_j \, k(z_j), \qquad
    x \leftarrow \Big[\sum_j B_j g(z_j)\Big]^{-1} \sum_j B_j g(z_j) \, x_j, \qquad
    z_j = \frac{(x - x_j)^\top M_j (x - x_j)}{h_j^2}

with :math:`a_j = \sqrt{\det M_j} \, h_j^{-d}` and :math:`B_j = a_j M_j / h_j^2`: equations 4.7 and
4.8 of Cheema's thesis (2016), "Anisotropic mean shift clustering using distance metric learning".

One metric everywhere. :math:`M_j` is made definite once, at the door (``ridge``), and that metric
serves for distances, determinants and solves alike.

What is exact. Every weight that is used comes from the direct difference x - x_j; matrix products
only tell which points are certainly out of reach, with a bound on their rounding. Each start is
climbed by itself: neither the other starts nor the number of threads change a bit of its end.
Factors are logarithms, so that no power of a bandwidth or a determinant under- or overflows.

The Gaussian, which reaches every point, takes its distances and sums from matrix products, where
the data spans so few bandwidths that z is right to about 1e-9; elsewhere it goes the direct way.
By products its ends are the same for any number of threads, and for other batches to rounding.

Positions are resolved to machine epsilon times the span of the data, distances and weights follow.

Metrics come as matrices (:func:`build`) or as weights of directions that all of them share
(:func:`build_composed`): the same density, with far less to do where columns are many.

Memory is O(n d^2) for packed metrics, half of the full ones, and O(n (K + d)) for those composed
of K directions. Each thread takes O(n d), and some arrays of 64 n numbers, for many points of 4
million; a start costs O(d), an end to be merged as much as a metric. Time is O(n) for each step of
each start, with a small constant, besides the points near it, O(d^2) or O(K + d) each, and for
composed metrics one sum of K outer products.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from linkshift._core.arrays import Array, Progress, first_of_equal_rows
from linkshift._core.labels import first_come
from linkshift._core.threads import one_blas_thread, threads
from linkshift.shift import _anisotropic_loops as _loops
from linkshift.shift._anisotropic_density import (
    AnisotropicDensity,
    blocks,
    build,
    build_composed,
    composed_bandwidth,
    local_bandwidth,
)
from linkshift.shift._anisotropic_forms import Forms
from linkshift.shift.neighbours import block_order

__all__ = [
    "AnisotropicAscent",
    "AnisotropicDensity",
    "AnisotropicModes",
    "build",
    "build_composed",
    "climb",
    "composed_bandwidth",
    "evaluate",
    "full_positions",
    "label_ends",
    "local_bandwidth",
    "merge",
]


# Starts per unit of work, and pairs at most: fixed, so that threads never change anything.
_STARTS, _PAIRS = 64, 1 << 22
# Once a share of one in eight points has come near, a matrix product is faster than a look at each.
_BUDGET = 8
# Largest bound on the error of z by products: worst cases, a hundred times what is seen.
_PRODUCT_ERROR = 1e-7
# A point on the edge of a kernel is in, whatever the rounding: such is the k-th neighbour, whose
# distance is the bandwidth.
_EDGE = 1.0 + 1e-9
_KIND = {
    "flat": _loops.FLAT,
    "epanechnikov": _loops.LINEAR,
    "gaussian": _loops.EXPONENTIAL,
    "truncated_gaussian": _loops.EXPONENTIAL,
}


@dataclass(frozen=True)
class AnisotropicAscent:
    """Where starts ended.

    Attributes
    ----------
    ends : ndarray of shape (m, d)
        Last position of each start.
    log_density : ndarray of shape (m,)
        Logarithm of f at the last step; minus infinity where no point reaches the start.
    converged : ndarray of bool of shape (m,)
        Whether the last step was short enough, or there was none to make.
    n_iter : int
        Steps made by the start that made most.
    """

    ends: Array
    log_density: Array
    converged: Array
    n_iter: int

    @property
    def total(self) -> Array:
        """Density relative to that of the densest end; nought only where no point reaches."""
        reached = np.isfinite(self.log_density)
        top = self.log_density[reached].max(initial=-np.inf)
        total = np.zeros(self.log_density.shape[0])
        relative = np.maximum(self.log_density[reached] - top, np.log(np.finfo(np.float64).tiny))
        total[reached] = np.exp(relative)
        return total


@dataclass(frozen=True)
class AnisotropicModes:
    """Modes, the densest first.

    Attributes
    ----------
    centers : ndarray of shape (n_modes, d)
        In the input's coordinates.
    radius : float
        End points within this many local bandwidths belong to a mode.
    precision : ndarray of shape (n_modes, d (d + 1) / 2) or (n_modes, K + 1)
        H at each mode, as :func:`evaluate` gives it. Nought for a mode that no point reaches.
    labels : ndarray of shape (m,)
        Mode of each of the end points that were merged.
    """

    centers: Array
    radius: float
    precision: Array
    labels: Array


def full_positions(density: AnisotropicDensity, positions: Array) -> Array:
    r"""Positions in all columns of the points, for those in which the shift is made.

    Where these are all columns, the positions themselves. Else no metric tells where a position is
    outside of the span: there it gets the mean of the points that reach it,

    .. math:: \frac{\sum_j v_j x_j}{\sum_j v_j}, \qquad
              v_j = a_j g(z_j) \frac{\operatorname{tr} M_j}{r h_j^2}

    which is eq. 4.8 with metrics that are multiples of the identity; a position that no point
    reaches gets the mean of all points. It is meant for modes: each position looks at each point.

    Parameters
    ----------
    density : AnisotropicDensity
    positions : ndarray of shape (m, r)
        As :meth:`AnisotropicDensity.to_span` and :func:`climb` give them.

    Returns
    -------
    ndarray of shape (m, d)
    """
    if density.span is None:
        return positions
    span, working = density.span, density.forms.to_working(positions)
    away = np.asarray(span.points, dtype=np.float64) - span.origin
    means = np.empty((positions.shape[0], away.shape[1]))
    with one_blas_thread():
        for part in _blocks(np.arange(positions.shape[0]), density.n_points):
            here, lifted = means[part], density.forms.lift(working[part])
            _loops.mean_block(
                *_kernel(density),
                lifted,
                *_points(density),
                density.forms.n_bases,
                _milestones(density, lifted),
                away,
                here,
            )
            means[part] = here
        return span.out_of(positions, means).astype(density.dtype)


def climb(
    density: AnisotropicDensity,
    starts: Array,
    *,
    max_iter: int = 300,
    tol: float = 1e-3,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> AnisotropicAscent:
    r"""Move each start by eq. 4.8 until its step is at most ``tol`` local bandwidths.

    The step :math:`\delta` is measured by the precision of the kernels about it,

    .. math:: \delta^\top H(x) \, \delta \le \text{tol}^2, \qquad
              H(x) = \frac{\sum_j w_j M_j / h_j^2}{\sum_j w_j}, \quad w_j = a_j g(z_j)

    A start that no point reaches stays where it is, converged, with log density minus infinity.

    Parameters
    ----------
    density : AnisotropicDensity
        What to climb.
    starts : ndarray of shape (m, d)
        Where to begin.
    max_iter : int
        Largest number of steps, at least 1.
    tol : float
        Step, in local bandwidths, at which a start has arrived.
    n_threads : int
        Number of threads; the result is the same for any.
    progress : callable, optional
        Called with (starts at rest, starts) after each block of starts, from any thread, one at a
        time.

    Returns
    -------
    AnisotropicAscent

    References
    ----------
    G. S. Cheema (2016), eq. 4.8.
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
        way=np.zeros(position.shape),
        log_density=np.empty(m),
        resting=np.zeros(m, dtype=bool),
        converged=np.zeros(m, dtype=bool),
        n_iter=np.zeros(m, dtype=np.int64),
    )
    by_products = _products_serve(density, forms.lift(position))
    advance = _step_by_products if by_products else _climb_directly
    report = _reporter(progress, m, starts.shape[0])

    def task(rows: Array) -> None:
        part = _State(*(values[rows] for values in state))
        advance(density, position[rows], part, max_iter, tol)
        for values, changed in zip(state, part, strict=True):
            values[rows] = changed
        report(int(part.resting.sum()))

    with one_blas_thread(), threads(n_threads) as pool:
        while not state.resting.all():
            # Those still under way close ranks: matrix products are worth it for many at a time.
            pool.map(task, _blocks(np.flatnonzero(~state.resting), density.n_points))
    place = np.empty(first.size, dtype=np.intp)
    place[own] = np.arange(m)
    place = place[first]
    ends = np.asarray(starts, dtype=np.float64) + forms.to_input(state.way)[place]
    return AnisotropicAscent(
        ends=ends.astype(density.dtype),
        log_density=state.log_density[place],
        converged=state.converged[place],
        n_iter=int(state.n_iter.max(initial=0)),
    )


class _State(NamedTuple):
    """How far some starts have come: the way from the start, and what is known there."""

    way: Array
    log_density: Array
    resting: Array
    converged: Array
    n_iter: Array


def _climb_directly(
    density: AnisotropicDensity, starts: Array, state: _State, max_iter: int, tol: float
) -> None:
    """Make one step or more from each start, with the points that reach it."""
    forms = density.forms
    _loops.climb_block(
        *_kernel(density),
        starts,
        *_points(density),
        *forms.directions,
        _milestones(density, forms.lift(starts + state.way)),
        max_iter,
        tol,
        int(density.n_points // _BUDGET),
        *state,
    )


def _products_serve(density: AnisotropicDensity, lifted: Array) -> bool:
    """Whether matrix products give z well enough, and are of use: no point is out of reach."""
    if np.isfinite(density.profile.squared_reach):
        return False
    forms = density.forms
    with np.errstate(over="ignore", invalid="ignore"):
        span = sum(
            float(np.linalg.norm(x, axis=1).max(initial=0.0)) for x in (lifted, forms.lifted)
        )
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
    log_weight += density.log_factor
    log_weights = logsumexp(log_weight, axis=1)
    log_weight += forms.log_size
    top = log_weight.max(axis=1)
    log_weight -= top[:, None]
    sums = np.exp(log_weight, out=log_weight) @ forms.table
    total = np.ascontiguousarray(sums[:, : forms.width])
    pull = forms.lower(sums[:, forms.width : -1] - forms.times(total, lifted))
    return total[:m], pull[:m], top[:m], log_weights[:m]


def _step_by_products(
    density: AnisotropicDensity, starts: Array, state: _State, max_iter: int, tol: float
) -> None:
    """Make one step from each start, by matrix products."""
    total, pull, top, log_weights = _sums_by_products(density, starts + state.way)
    step, arrived = np.empty(pull.shape), np.empty(pull.shape[0], dtype=bool)
    directions = density.forms.directions
    _loops.steps_block(
        total,
        pull,
        top - log_weights,
        tol,
        directions.n_bases,
        directions.stack,
        directions.ridge_form,
        step,
        arrived,
    )
    state.way[:] += step
    state.log_density[:] = log_weights + np.log(2.0)
    state.n_iter[:] += 1
    state.converged[:] = arrived
    state.resting[:] = arrived | (state.n_iter >= max_iter)


def _kernel(density: AnisotropicDensity) -> tuple[int, float, float]:
    """Kind, reach and the height at which the shadow is cut off, as the loops take them."""
    profile = density.profile
    floor = float(np.exp(-0.5 * profile.squared_reach))
    return _KIND[profile.name], float(np.sqrt(profile.squared_reach)) * _EDGE, floor


def _points(density: AnisotropicDensity) -> tuple[Array, ...]:
    """Return the points' arrays as the loops take them."""
    forms = density.forms
    return (forms.lifted, forms.table, forms.size, forms.log_size, density.log_factor, forms.speed)


def _milestones(density: AnisotropicDensity, lifted: Array) -> Array:
    """How far each lifted position can travel before each point must be looked at."""
    forms, reach = density.forms, _kernel(density)[1]
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


def _blocks(rows: Array, n: int) -> list[Array]:
    """Rows in units of work, for n points."""
    return blocks(rows, _block_size(n))


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

    Returns
    -------
    precision : ndarray of shape (m, d (d + 1) / 2) or (m, K + 1)
        As the forms of the density are: packed by rows of the lower triangle, in working
        coordinates, or weights of the directions and of the ridge. Nought out of reach.
    log_density : ndarray of shape (m,)
        Minus infinity out of reach.
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
        _loops.evaluate_block(
            *_kernel(density),
            lifted[part],
            *_points(density),
            forms.n_bases,
            _milestones(density, lifted[part]),
            here,
            values,
        )
        precision[part], log_density[part] = here, values

    with one_blas_thread(), threads(n_threads) as pool:
        pool.map(task, _blocks(np.arange(m), density.n_points))
    return precision, log_density


def merge(
    density: AnisotropicDensity,
    ends: Array,
    total: Array,
    radius: float,
    *,
    n_threads: int = 1,
) -> AnisotropicModes:
    r"""Merge end points into modes, greedily from the densest.

    As :func:`linkshift.modes.merge_ends`: the densest end point that no mode covers yet becomes a
    mode, ties going to the larger coordinates. Mode a covers every end b with

    .. math:: (a - b)^\top H(a) (a - b) \le \text{radius}^2 \quad\text{or}\quad
              (a - b)^\top H(b) (a - b) \le \text{radius}^2

    An end that no point reaches has no H: only the H of the other counts.

    Parameters
    ----------
    density : AnisotropicDensity
    ends : ndarray of shape (m, d)
    total : ndarray of shape (m,)
        Their density or its logarithm: anything that ranks them.
    radius : float
        In local bandwidths.
    n_threads : int
        Number of threads; the result is the same for any.

    Returns
    -------
    AnisotropicModes
    """
    order = np.lexsort((*ends.T[::-1], total))[::-1]
    _, first, same = np.unique(ends[order], axis=0, return_index=True, return_inverse=True)
    # Distinct ends, the densest first, and which of them each row is.
    distinct = ends[order[np.sort(first)]]
    place = np.empty(order.size, dtype=np.intp)
    place[order] = first_come(same.reshape(-1), np.intp)

    forms = density.forms
    lifted = forms.lift(forms.to_working(distinct))
    precision, _ = evaluate(density, distinct, n_threads=n_threads)
    reached = np.asarray(precision.any(axis=1))
    labels = np.full(distinct.shape[0], -1, dtype=np.int64)
    chosen: list[int] = []
    for i in range(distinct.shape[0]):
        if labels[i] < 0:
            rows = np.flatnonzero(labels < 0)
            covered, _ = _covers(
                forms, lifted[i], precision[i], lifted, precision, reached, rows, radius
            )
            labels[rows[covered]] = len(chosen)
            labels[i] = len(chosen)
            chosen.append(i)
    return AnisotropicModes(distinct[chosen], radius, precision[chosen], labels[place])


def _covers(
    forms: Forms,
    mode: Array,
    form: Array,
    ends: Array,
    precision: Array,
    reached: Array,
    rows: Array,
    radius: float,
) -> tuple[Array, Array]:
    """Which lifted ends (of ``rows``) the mode covers, and their squared distances by its H."""
    by_mode, by_end = np.empty(rows.size), np.empty(rows.size)
    _loops.squared_distances(mode, ends, form[None], rows, forms.n_bases, by_mode)
    _loops.squared_distances(mode, ends, precision, rows, forms.n_bases, by_end)
    if not form.any():
        by_mode[:] = np.inf
    by_end[~reached[rows]] = np.inf
    return (by_mode <= radius**2) | (by_end <= radius**2), by_mode


def label_ends(
    density: AnisotropicDensity, ends: Array, modes: AnisotropicModes, *, n_threads: int = 1
) -> Array:
    """Label of each end point: the densest mode that covers it, else the nearest by the mode's H.

    On the end points that made the modes this is the mode that took them in.
    """
    forms = density.forms
    lifted, centers = (forms.lift(forms.to_working(x)) for x in (ends, modes.centers))
    precision, _ = evaluate(density, ends, n_threads=n_threads)
    reached = np.asarray(precision.any(axis=1))
    m = lifted.shape[0]
    labels = np.full(m, -1, dtype=np.int64)
    nearest, closest = np.zeros(m, dtype=np.int64), np.full(m, np.inf)
    every = np.arange(m)
    for i in range(centers.shape[0]):
        covered, squared = _covers(
            forms, centers[i], modes.precision[i], lifted, precision, reached, every, modes.radius
        )
        covered |= (ends == modes.centers[i]).all(axis=1)
        labels[covered & (labels < 0)] = i
        closer = squared < closest
        nearest[closer], closest[closer] = i, squared[closer]
    return np.where(labels < 0, nearest, labels)
