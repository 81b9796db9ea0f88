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

Memory is O(n d^2) for the packed metrics, half of the full ones. Each thread takes O(n d), and
some arrays of 64 n numbers, for many points of 4 million; a start costs O(d), an end to be merged
O(d^2). Time is O(n) for each step of each start, with a small constant, besides the points near it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from scipy.special import logsumexp

from linkshift.profiles import Profile
from linkshift.shift import _anisotropic_loops as _loops
from linkshift.shift.density import one_blas_thread, threads
from linkshift.shift.engine import Progress, first_of_equal_rows
from linkshift.shift.neighbours import block_order

__all__ = [
    "AnisotropicAscent",
    "AnisotropicDensity",
    "AnisotropicModes",
    "build",
    "climb",
    "evaluate",
    "label_ends",
    "local_bandwidth",
    "merge",
]

Array = NDArray[Any]

# Starts per unit of work, and pairs at most: fixed, so that threads never change anything.
_STARTS, _PAIRS = 64, 1 << 22
_ROWS = 256  # metrics prepared at a time
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
class _Forms:
    """Points and their quadratic forms in *working coordinates*.

    x' = scale (x - centre) K, with K K' the mean of the metrics, each divided by its mean
    eigenvalue: on the average a form is then the identity, whatever the units of the columns, and
    a bound by the largest eigenvalue is a good one.

    Attributes
    ----------
    centre, scale, frame : ndarray of shape (d,), float, ndarray of shape (d, d)
        The working coordinates; ``frame`` is K.
    points : ndarray of shape (n, d)
    table : ndarray of shape (n, d (d + 1) / 2 + d + 1)
        N_j packed by rows of the lower triangle, N_j x_j and x_j' N_j x_j; N_j of unit size.
    norm : ndarray of shape (n,)
        Frobenius norm of N_j.
    size : ndarray of shape (n,)
        z_j = (size_j)^2 (x' - x'_j)' N_j (x' - x'_j).
    log_size : ndarray of shape (n,)
        Logarithm of its square.
    log_det : ndarray of shape (n,)
        Logarithm of the determinant of the metric in input coordinates.
    speed : ndarray of shape (n,)
        Bound on the change of sqrt(z_j) in a step of length one.
    """

    centre: Array
    scale: float
    frame: Array
    points: Array
    table: Array
    norm: Array
    size: Array
    log_size: Array
    log_det: Array
    speed: Array

    def to_working(self, X: Array) -> Array:
        """Input coordinates to working coordinates."""
        return _to_working(X, self.centre, self.scale, self.frame)

    def to_input(self, differences: Array) -> Array:
        """Differences of positions, from working coordinates to those of the input."""
        back = differences.copy()
        _loops.out_of_frame(back, self.frame)
        return np.asarray(back / self.scale)

    @property
    def rounding(self) -> float:
        """Bound on the relative error of a sum as long as a row of the table."""
        return 2.0 * float(np.finfo(np.float64).eps) * self.table.shape[1]

    def rough(self, positions: Array) -> Array:
        """Return all (x - x_j)' N_j (x - x_j), by one matrix product.

        It loses the digits that the norms of the positions have more than the distance.
        """
        return np.asarray(_features(positions) @ self.table.T)

    def error(self, positions: Array) -> Array:
        """Bound on the error of :meth:`rough`."""
        span = np.linalg.norm(positions, axis=1)[:, None] + np.linalg.norm(self.points, axis=1)
        return np.asarray(span**2 * (self.rounding * self.norm))


@dataclass(frozen=True)
class AnisotropicDensity:
    """Points with a metric and a bandwidth each, laid out for the hot loops; see :func:`build`.

    Attributes
    ----------
    profile : Profile
    dtype : numpy dtype
        That of the points, and of the ends of climbs. All work is done in float64.
    dimension : float
        The d of h^(d+2).
    forms : _Forms
        The points and their metrics in working coordinates.
    log_factor : ndarray of shape (n,)
        Logarithm of sqrt(det M_j) / h_j^d.
    """

    profile: Profile
    dtype: np.dtype[Any]
    dimension: float
    forms: _Forms
    log_factor: Array

    @property
    def n_points(self) -> int:
        """Number of points."""
        return self.forms.points.shape[0]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.forms.points.shape[1]


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
    precision : ndarray of shape (n_modes, d (d + 1) / 2)
        H at each mode, packed by rows of the lower triangle, in working coordinates. Nought for
        a mode that no point reaches.
    labels : ndarray of shape (m,)
        Mode of each of the end points that were merged.
    """

    centers: Array
    radius: float
    precision: Array
    labels: Array


def build(
    points: Array,
    metrics: Array,
    bandwidth: float | ArrayLike,
    profile: Profile,
    *,
    dimension: float | None = None,
    ridge: float = 1e-3,
) -> AnisotropicDensity:
    r"""Lay out points with their metrics for shifting.

    Parameters
    ----------
    points : ndarray of shape (n, d), float32 or float64
        Finite coordinates.
    metrics : ndarray of shape (n, d, d)
        Symmetric, positive semi-definite, not nought.
    bandwidth : float or ndarray of shape (n,)
        One for all points, or one for each. Positive.
    profile : Profile
        Kernel profile.
    dimension : float, optional
        The d of h^(d+2). The number of columns when not given.
    ridge : float
        :math:`M_j` becomes :math:`M_j + \text{ridge} \frac{\operatorname{tr} M_j}{d} I`, for all
        purposes. Relative to the mean eigenvalue: the squared length of a typical difference
        changes by that fraction. Nought needs metrics of full rank.

    Returns
    -------
    AnisotropicDensity

    Raises
    ------
    ValueError
        For a metric that is nought, not symmetric, or not positive definite after the ridge; for
        bandwidths that are not positive.

    References
    ----------
    G. S. Cheema (2016), eq. 4.7.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.profiles import Profile
    >>> from linkshift.shift.anisotropic import build, climb
    >>> X = np.array([[0.0, 0.0], [0.0, 3.0], [9.0, 0.0]])
    >>> across = np.diag([1.0, 0.04])  # five times as long in the second column
    >>> density = build(X, np.stack([across] * 3), 1.5, Profile("flat"))
    >>> climb(density, X).ends.round(6)
    array([[0. , 1.5],
           [0. , 1.5],
           [9. , 0. ]])
    """
    n, d = points.shape
    h = np.broadcast_to(np.asarray(bandwidth, dtype=np.float64), (n,))
    if not (np.isfinite(h) & (h > 0)).all():
        row = int(np.flatnonzero(~(np.isfinite(h) & (h > 0)))[0])
        raise ValueError(f"Bandwidths must be positive; that of row {row} is {h[row]}.")
    exponent = float(d if dimension is None else dimension)
    with one_blas_thread():  # with more, the last bits would depend on their number
        forms = _build_forms(points, metrics, ridge, np.log(h))
    return AnisotropicDensity(
        profile=profile,
        dtype=points.dtype if points.dtype == np.float32 else np.dtype(np.float64),
        dimension=exponent,
        forms=forms,
        log_factor=0.5 * forms.log_det - exponent * np.log(h),
    )


def _build_forms(
    points: Array, metrics: Array, ridge: float, log_h: Array, scale: float | None = None
) -> _Forms:
    """Metrics about the mean metric, packed; the scale is that of the kernels, if not given."""
    n, d = points.shape
    mean_eigenvalue = _check_metrics(points, metrics, ridge) * (1.0 + ridge)
    log_size = np.log(mean_eigenvalue) - 2.0 * log_h
    if scale is None:  # a power of two, so that scaling is exact
        scale = float(2.0 ** np.round(0.5 * log_size.mean() / np.log(2.0)))
    log_size = log_size - 2.0 * np.log(scale)
    mean = np.zeros((d, d))
    for _, unit in _unit_metrics(metrics, ridge, mean_eigenvalue):
        mean += unit.sum(axis=0)
    frame = np.linalg.cholesky(mean / n)
    centre = points.mean(axis=0, dtype=np.float64)
    working = _to_working(points, centre, scale, frame)

    width = d * (d + 1) // 2
    table = np.empty((n, width + d + 1))
    norm, log_det, largest = np.empty(n), np.empty(n), np.empty(n)
    inverse = solve_triangular(frame, np.eye(d), lower=True)
    rows, columns = np.tril_indices(d)
    for part, unit in _unit_metrics(metrics, ridge, mean_eigenvalue):
        lower = _cholesky(unit, part.start)
        log_det[part] = 2.0 * np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
        root = inverse @ lower
        form = root @ root.swapaxes(1, 2)
        norm[part] = np.linalg.norm(form, axis=(1, 2))
        largest[part] = _largest_eigenvalue(form)
        table[part, :width] = form[:, rows, columns]
        # Data far beyond its kernels may overflow here: NaN is then looked at directly.
        with np.errstate(over="ignore", invalid="ignore"):
            pulled = np.einsum("jkl,jl->jk", form, working[part])
            table[part, width:-1] = pulled
            table[part, -1] = np.einsum("jk,jk->j", pulled, working[part])
    size = np.exp(0.5 * log_size)
    return _Forms(
        centre=centre,
        scale=scale,
        frame=frame,
        points=working,
        table=table,
        norm=norm,
        size=size,
        log_size=log_size,
        log_det=log_det + d * np.log(mean_eigenvalue),
        speed=size * np.sqrt(largest),
    )


def _to_working(X: Array, centre: Array, scale: float, frame: Array) -> Array:
    """Input coordinates to working coordinates."""
    shifted = (np.asarray(X, dtype=np.float64) - centre) * scale
    out = np.empty(shifted.shape)
    _loops.into_frame(shifted, frame, out)
    return out


def _check_metrics(points: Array, metrics: Array, ridge: float) -> Array:
    """Mean eigenvalue of each metric, after all have been found in order."""
    n, d = points.shape
    if metrics.shape != (n, d, d):
        raise ValueError(
            f"metrics must have shape {(n, d, d)}, one for each point; got {metrics.shape}."
        )
    if not (np.isfinite(ridge) and ridge >= 0):
        raise ValueError(f"ridge must be a number from 0 up, got {ridge!r}.")
    mean = np.trace(metrics, axis1=1, axis2=2, dtype=np.float64) / d
    if not np.isfinite(mean).all():
        raise ValueError(f"The metric of row {int(np.argmin(np.isfinite(mean)))} is not finite.")
    if not (mean > 0).all():
        raise ValueError(
            f"The metric of row {int(np.argmin(mean > 0))} is nought or not positive "
            "semi-definite: there is no distance to measure by it. Leave the point out, or give it "
            "the mean of the metrics."
        )
    return mean


def _unit_metrics(
    metrics: Array, ridge: float, mean_eigenvalue: Array
) -> Iterator[tuple[slice, Array]]:
    """Metrics with their ridge, of mean eigenvalue one, some rows at a time."""
    d = metrics.shape[1]
    for begin in range(0, metrics.shape[0], _ROWS):
        part = slice(begin, begin + _ROWS)
        unit = metrics[part] / mean_eigenvalue[part, None, None]
        with np.errstate(invalid="ignore"):
            apart = np.abs(unit - unit.swapaxes(1, 2)).max(axis=(1, 2))
        wrong = ~(apart <= 1e-5)  # a metric in float32 need not be symmetric to the last bit
        if wrong.any():
            raise ValueError(
                f"The metric of row {begin + int(np.argmax(wrong))} is not symmetric and finite."
            )
        unit = 0.5 * (unit + unit.swapaxes(1, 2))
        unit[:, np.arange(d), np.arange(d)] += ridge / (1.0 + ridge)
        yield part, unit


def _cholesky(unit: Array, begin: int) -> Array:
    """Lower factors of metrics of unit size."""
    least = unit.shape[1] * float(np.finfo(np.float64).eps)
    try:
        lower = np.linalg.cholesky(unit)
        singular = np.diagonal(lower, axis1=1, axis2=2).min(axis=1) ** 2 <= least
    except np.linalg.LinAlgError:
        smallest = np.linalg.eigvalsh(unit)[:, 0]
        singular = smallest <= max(least, float(smallest.min()))
    if singular.any():
        raise ValueError(
            f"The metric of row {begin + int(np.argmax(singular))} is not positive definite with "
            "its ridge; metrics must be positive semi-definite, and those that are not of full "
            "rank need a larger ridge."
        )
    return lower


def _largest_eigenvalue(form: Array) -> Array:
    """Bound from above, within d^(1/16): the Frobenius norm of the eighth power."""
    exponent = np.zeros(form.shape[0])
    power = form
    for times in (1.0, 0.5, 0.25):
        norm = np.linalg.norm(power, axis=(1, 2))
        exponent += times * np.log(norm)
        power = power / norm[:, None, None]
        power = power @ power
    exponent += 0.125 * np.log(np.linalg.norm(power, axis=(1, 2)))
    return np.exp(exponent) * (1.0 + 1e-9)


def _features(positions: Array) -> Array:
    """Terms of x that a row of the table is multiplied by to give a squared distance."""
    m, d = positions.shape
    rows, columns = np.tril_indices(d)
    doubled = np.where(rows == columns, 1.0, 2.0)
    outer = positions[:, rows] * positions[:, columns] * doubled
    return np.concatenate([outer, -2.0 * positions, np.ones((m, 1))], axis=1)


def local_bandwidth(
    points: Array, metrics: Array, k: int, *, ridge: float = 1e-3, n_threads: int = 1
) -> Array:
    r"""Distance of each point to its k-th neighbour, by its own metric.

    .. math:: h_i = \big(\text{k-th smallest } (x_i - x_j)^\top M_i (x_i - x_j), \; j \ne i
              \big)^{1/2}

    Cheema (2016), eq. 4.6. The metric is the one of :func:`build`, ridge included. A point with k
    others on the same spot gets nought, which :func:`build` does not take: what to do with such
    points is for the caller to say.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    metrics : ndarray of shape (n, d, d)
    k : int
        From 1 to n - 1.
    ridge : float
        As for :func:`build`.
    n_threads : int
        Number of threads; the result is the same for any.

    Returns
    -------
    ndarray of shape (n,)
        float64.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.shift.anisotropic import local_bandwidth
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> local_bandwidth(X, np.array([[[1.0]], [[1.0]], [[4.0]]]), 1, ridge=0.0)
    array([1., 1., 4.])
    """
    n = points.shape[0]
    if not 1 <= k < n:
        raise ValueError(f"k must be from 1 to {n - 1} for {n} points, got {k}.")
    spread = float(np.ptp(points, axis=0).max())
    scale = float(2.0 ** -np.round(np.log2(spread))) if spread > 0 else 1.0
    with one_blas_thread():
        forms = _build_forms(points, metrics, ridge, np.zeros(n), scale)
    # Here the form belongs to the one who asks: rows of the table are the queries.
    features = _features(forms.points)
    away = np.linalg.norm(forms.points, axis=1)
    squared = np.empty(n)

    def task(rows: Array) -> None:
        rough = forms.table[rows] @ features.T
        rough[np.arange(rows.size), rows] = np.inf
        for i, row in zip(rows.tolist(), rough, strict=True):
            error = forms.rounding * forms.norm[i] * (away[i] + away) ** 2
            kth = np.partition(row + error, k - 1)[k - 1]
            near = np.flatnonzero(row - error <= kth)
            exact = np.empty(near.size)
            form = forms.table[i : i + 1]
            _loops.squared_distances(forms.points[i], forms.points, form, near, exact)
            squared[i] = np.partition(exact, k - 1)[k - 1]

    with one_blas_thread(), threads(n_threads) as pool:
        pool.map(task, _blocks(np.arange(n), n))
    return np.asarray(np.sqrt(squared) * forms.size)


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
    advance = _step_by_products if _products_serve(density, position) else _climb_directly
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
    _loops.climb_block(
        *_kernel(density),
        starts,
        *_points(density),
        _milestones(density, starts + state.way),
        max_iter,
        tol,
        int(density.n_points // _BUDGET),
        *state,
    )


def _products_serve(density: AnisotropicDensity, positions: Array) -> bool:
    """Whether matrix products give z well enough, and are of use: no point is out of reach."""
    if np.isfinite(density.profile.squared_reach):
        return False
    forms = density.forms
    with np.errstate(over="ignore", invalid="ignore"):
        span = sum(
            float(np.linalg.norm(x, axis=1).max(initial=0.0)) for x in (positions, forms.points)
        )
        error = forms.rounding * span**2 * float((forms.norm * forms.size**2).max())
    return bool(error <= _PRODUCT_ERROR)


def _sums_by_products(
    density: AnisotropicDensity, positions: Array
) -> tuple[Array, Array, Array, Array]:
    """Sum over all points, for a Gaussian.

    Returns the packed sums of pulls times forms, those of pulls times N_j (x_j - x), the logarithm
    of the unit of both and the logarithm of the sum of weights.
    """
    forms = density.forms
    d = positions.shape[1]
    # Always the same shape: a short one would be summed in another order.
    block = np.zeros((_block_size(density.n_points), d))
    block[: positions.shape[0]] = positions
    log_weight = np.maximum(forms.rough(block), 0.0)
    log_weight *= -0.5 * forms.size**2
    log_weight += density.log_factor
    log_weights = logsumexp(log_weight, axis=1)
    log_weight += forms.log_size
    top = log_weight.max(axis=1)
    log_weight -= top[:, None]
    sums = np.exp(log_weight, out=log_weight) @ forms.table
    total = np.ascontiguousarray(sums[:, : -d - 1])
    pull = np.zeros(block.shape)
    for i in range(positions.shape[0]):
        _loops.product(total[i], block[i], pull[i])
    pull = sums[:, -d - 1 : -1] - pull
    return tuple(x[: positions.shape[0]] for x in (total, pull, top, log_weights))  # type: ignore[return-value]


def _step_by_products(
    density: AnisotropicDensity, starts: Array, state: _State, max_iter: int, tol: float
) -> None:
    """Make one step from each start, by matrix products."""
    total, pull, top, log_weights = _sums_by_products(density, starts + state.way)
    step, arrived = np.empty(pull.shape), np.empty(pull.shape[0], dtype=bool)
    _loops.steps_block(total, pull, top - log_weights, tol, step, arrived)
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
    return (forms.points, forms.table, forms.size, forms.log_size, density.log_factor, forms.speed)


def _milestones(density: AnisotropicDensity, positions: Array) -> Array:
    """How far each position can travel before each point must be looked at."""
    forms, reach = density.forms, _kernel(density)[1]
    if not np.isfinite(reach):
        return np.zeros((positions.shape[0], density.n_points))
    # Numbers too large to square come out as NaN, and a NaN is looked at in every step.
    with np.errstate(over="ignore", invalid="ignore"):
        squared = forms.rough(positions)
        squared -= forms.error(positions)
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
    """Rows in units of work."""
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

    Returns
    -------
    precision : ndarray of shape (m, d (d + 1) / 2)
        Packed by rows of the lower triangle, in working coordinates; nought out of reach.
    log_density : ndarray of shape (m,)
        Minus infinity out of reach.
    """
    working = density.forms.to_working(positions)
    m, d = working.shape
    precision, log_density = np.zeros((m, d * (d + 1) // 2)), np.empty(m)

    by_products = _products_serve(density, working)

    def task(part: Array) -> None:
        if by_products:
            total, _, top, log_weights = _sums_by_products(density, working[part])
            precision[part] = total * np.exp(top - log_weights)[:, None]
            log_density[part] = log_weights + np.log(2.0)
            return
        here, values = precision[part], log_density[part]
        _loops.evaluate_block(
            *_kernel(density),
            working[part],
            *_points(density),
            _milestones(density, working[part]),
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
    ranked = np.argsort(first)
    distinct = ends[order[first[ranked]]]
    place = np.empty(order.size, dtype=np.intp)
    place[order] = np.argsort(ranked)[same.reshape(-1)]

    working = density.forms.to_working(distinct)
    precision, _ = evaluate(density, distinct, n_threads=n_threads)
    labels = np.full(distinct.shape[0], -1, dtype=np.int64)
    chosen: list[int] = []
    for i in range(distinct.shape[0]):
        if labels[i] < 0:
            rows = np.flatnonzero(labels < 0)
            covered, _ = _covers(working[i], precision[i], working, precision, rows, radius)
            labels[rows[covered]] = len(chosen)
            labels[i] = len(chosen)
            chosen.append(i)
    return AnisotropicModes(distinct[chosen], radius, precision[chosen], labels[place])


def _covers(
    mode: Array, form: Array, ends: Array, precision: Array, rows: Array, radius: float
) -> tuple[Array, Array]:
    """Which ends (of ``rows``) the mode covers, and their squared distances by its H."""
    by_mode, by_end = np.empty(rows.size), np.empty(rows.size)
    _loops.squared_distances(mode, ends, form[None], rows, by_mode)
    _loops.squared_distances(mode, ends, precision, rows, by_end)
    if not form[0] > 0:
        by_mode[:] = np.inf
    by_end[~(precision[rows, 0] > 0)] = np.inf  # a definite matrix begins with a positive number
    return (by_mode <= radius**2) | (by_end <= radius**2), by_mode


def label_ends(
    density: AnisotropicDensity, ends: Array, modes: AnisotropicModes, *, n_threads: int = 1
) -> Array:
    """Label of each end point: the densest mode that covers it, else the nearest by the mode's H.

    On the end points that made the modes this is the mode that took them in.
    """
    working, centers = density.forms.to_working(ends), density.forms.to_working(modes.centers)
    precision, _ = evaluate(density, ends, n_threads=n_threads)
    m = working.shape[0]
    labels = np.full(m, -1, dtype=np.int64)
    nearest, closest = np.zeros(m, dtype=np.int64), np.full(m, np.inf)
    every = np.arange(m)
    for i in range(centers.shape[0]):
        covered, squared = _covers(
            centers[i], modes.precision[i], working, precision, every, modes.radius
        )
        covered |= (ends == modes.centers[i]).all(axis=1)
        labels[covered & (labels < 0)] = i
        closer = squared < closest
        nearest[closer], closest[closer] = i, squared[closer]
    return np.where(labels < 0, nearest, labels)
