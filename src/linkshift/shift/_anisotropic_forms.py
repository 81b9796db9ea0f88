r"""The quadratic forms of mean shift with a metric per point: how they are checked and laid out.

There are two layouts, which the loops tell apart by ``n_bases``. *Packed*, each form is the lower
triangle of its matrix: d (d + 1) / 2 numbers. *Composed*, where all metrics are sums of the same K
directions,

.. math:: M_j = \sum_k w_{jk} b_k b_k^\top + r_j I, \qquad
          (x - x_j)^\top M_j (x - x_j) = \sum_k w_{jk} (b_k^\top x - b_k^\top x_j)^2
          + r_j \|x - x_j\|^2

each form is K weights and that of the ridge, and a position is *lifted* to its K coordinates along
the directions and the d that the ridge is measured in: K + d numbers for a distance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import solve_triangular

from linkshift._core.arrays import Array
from linkshift.shift import _anisotropic_loops as _loops

_ROWS, _NUMBERS = 256, 1 << 22  # metrics prepared at a time, and numbers in them at most
_EPS = float(np.finfo(np.float64).eps)


class Directions(NamedTuple):
    """Directions that composed forms share, see ``_anisotropic_loops``; none if packed."""

    n_bases: int
    bases: Array
    bases_t: Array
    stack: Array
    ridge_form: Array


@dataclass(frozen=True)
class Forms:
    """Points and their quadratic forms in *working coordinates*.

    x' = scale (x - centre) F, with F F' the mean of the metrics, each divided by its mean
    eigenvalue: on the average a form is then the identity, whatever the units of the columns, and
    a bound by the largest eigenvalue is a good one.

    Attributes
    ----------
    centre, scale, frame : ndarray of shape (d,), float, ndarray of shape (d, d)
        The working coordinates; ``frame`` is F.
    points : ndarray of shape (n, d)
    lifted : ndarray of shape (n, q)
        The lifted points: themselves where forms are packed.
    table : ndarray of shape (n, width + q + 1)
        N_j as the loops take it, of unit size; N_j x_j, lifted; and x_j' N_j x_j.
    width : int
        Numbers in a form: d (d + 1) / 2, or K + 1.
    bases : ndarray of shape (K + d, d)
        Directions of the lifted coordinates, the last d those of the ridge; none if packed.
    norm : ndarray of shape (n,)
        Bound on the value of N_j for a lifted position of length one.
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
    lifted: Array
    table: Array
    width: int
    bases: Array
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

    def lift(self, positions: Array) -> Array:
        """Lift positions in working coordinates."""
        return _lift(positions, self.bases)

    def lower(self, vectors: Array) -> Array:
        """Turn lifted sums of N_j x_j into those in working coordinates."""
        return np.asarray(vectors @ self.bases) if self.n_bases else vectors

    @property
    def n_bases(self) -> int:
        """K, nought for packed forms."""
        return self.bases.shape[0] - self.points.shape[1] if self.bases.size else 0

    @cached_property
    def directions(self) -> Directions:
        """The directions as the loops take them."""
        d, n_bases = self.points.shape[1], self.n_bases
        stack = np.zeros((-(-n_bases // _loops.STACK) * _loops.STACK, d))
        stack[:n_bases] = self.bases[:n_bases]
        ridge = self.bases[n_bases:]
        rows, columns = np.tril_indices(d)
        return Directions(
            n_bases=n_bases,
            bases=self.bases,
            bases_t=np.ascontiguousarray(self.bases.T),
            stack=stack,
            ridge_form=(ridge.T @ ridge)[rows, columns],
        )

    @property
    def rounding(self) -> float:
        """Bound on the relative error of a sum as long as a row of the table."""
        return 2.0 * _EPS * self.table.shape[1]

    def features(self, lifted: Array) -> Array:
        """Terms of x that a row of the table is multiplied by to give a squared distance."""
        n_bases = self.n_bases
        if n_bases:
            squares = lifted**2
            ridge = squares[:, n_bases:].sum(axis=1, keepdims=True)
            terms = [squares[:, :n_bases], ridge]
        else:
            rows, columns = np.tril_indices(lifted.shape[1])
            doubled = np.where(rows == columns, 1.0, 2.0)
            terms = [lifted[:, rows] * lifted[:, columns] * doubled]
        return np.concatenate([*terms, -2.0 * lifted, np.ones((lifted.shape[0], 1))], axis=1)

    def rough(self, lifted: Array) -> Array:
        """Return all (x - x_j)' N_j (x - x_j), by one matrix product.

        It loses the digits that the norms of the positions have more than the distance.
        """
        return np.asarray(self.features(lifted) @ self.table.T)

    def error(self, lifted: Array) -> Array:
        """Bound on the error of :meth:`rough`."""
        span = np.linalg.norm(lifted, axis=1)[:, None] + np.linalg.norm(self.lifted, axis=1)
        return np.asarray(span**2 * (self.rounding * self.norm))

    def times(self, total: Array, lifted: Array) -> Array:
        """Return N x, lifted, for one form and one position in each row."""
        n_bases = self.n_bases
        if n_bases:
            ridge = total[:, n_bases:] * lifted[:, n_bases:]
            return np.concatenate([total[:, :n_bases] * lifted[:, :n_bases], ridge], axis=1)
        out = np.empty(lifted.shape)
        for i in range(lifted.shape[0]):
            _loops.product(total[i], lifted[i], out[i])
        return out


class Metrics(Protocol):
    """Metrics that have been found in order."""

    @property
    def log_mean(self) -> Array:
        """Logarithm of the mean eigenvalue of each, ridge included."""

    def units(self) -> Iterator[tuple[slice, Array]]:
        """Metrics with their ridge, of mean eigenvalue one, some rows at a time."""

    def mean(self) -> Array:
        """Mean of the unit metrics."""


@dataclass(frozen=True)
class DenseMetrics:
    """Metrics given as matrices; see :func:`dense_metrics`."""

    metrics: Array
    ridge: float
    mean_eigenvalue: Array

    @property
    def log_mean(self) -> Array:
        """Logarithm of the mean eigenvalue of each, ridge included."""
        return np.asarray(np.log(self.mean_eigenvalue))

    def units(self) -> Iterator[tuple[slice, Array]]:
        """Metrics with their ridge, of mean eigenvalue one, some rows at a time."""
        d = self.metrics.shape[1]
        for begin in range(0, self.metrics.shape[0], _ROWS):
            part = slice(begin, begin + _ROWS)
            unit = self.metrics[part] / self.mean_eigenvalue[part, None, None]
            with np.errstate(invalid="ignore"):
                apart = np.abs(unit - unit.swapaxes(1, 2)).max(axis=(1, 2))
            wrong = ~(apart <= 1e-5)  # a metric in float32 need not be symmetric to the last bit
            if wrong.any():
                raise ValueError(
                    f"The metric of row {begin + int(np.argmax(wrong))} is not symmetric and "
                    "finite."
                )
            unit = 0.5 * (unit + unit.swapaxes(1, 2))
            unit[:, np.arange(d), np.arange(d)] += self.ridge / (1.0 + self.ridge)
            yield part, unit

    def mean(self) -> Array:
        """Mean of the unit metrics."""
        n, d, _ = self.metrics.shape
        total = np.zeros((d, d))
        for _, unit in self.units():
            total += unit.sum(axis=0)
        return total / n


def dense_metrics(points: Array, metrics: Array, ridge: float) -> DenseMetrics:
    """Check what can be seen at a glance; the rest is seen where the matrices are used."""
    n, d = points.shape
    if metrics.shape != (n, d, d):
        raise ValueError(
            f"metrics must have shape {(n, d, d)}, one for each point; got {metrics.shape}."
        )
    check_ridge(ridge)
    mean = np.trace(metrics, axis1=1, axis2=2, dtype=np.float64) / d
    if not np.isfinite(mean).all():
        raise ValueError(f"The metric of row {int(np.argmin(np.isfinite(mean)))} is not finite.")
    _check_not_nought(mean > 0)
    return DenseMetrics(metrics, ridge, mean * (1.0 + ridge))


def check_ridge(ridge: float) -> None:
    """Raise for a ridge that is none."""
    if not (np.isfinite(ridge) and ridge >= 0):
        raise ValueError(f"ridge must be a number from 0 up, got {ridge!r}.")


def _check_not_nought(positive: Array) -> None:
    if not positive.all():
        raise ValueError(
            f"The metric of row {int(np.argmin(positive))} is nought or not positive "
            "semi-definite: there is no distance to measure by it. Leave the point out, or give it "
            "the mean of the metrics."
        )


@dataclass(frozen=True)
class ComposedMetrics:
    """Metrics composed of directions; see :func:`composed_metrics`.

    Attributes
    ----------
    bases : ndarray of shape (K, d)
        In the coordinates of the shift, of length one (or nought).
    weights : ndarray of shape (n, K)
        Of the unit metrics.
    ridge : float
        Weight of the identity in all unit metrics.
    log_mean : ndarray of shape (n,)
        Logarithm of the mean eigenvalue of each, ridge included.
    """

    bases: Array
    weights: Array
    ridge: float
    log_mean: Array

    def units(self) -> Iterator[tuple[slice, Array]]:
        """Metrics with their ridge, of mean eigenvalue one, some rows at a time."""
        rows = max(1, min(_ROWS, _NUMBERS // self.bases.size))
        for begin in range(0, self.weights.shape[0], rows):
            part = slice(begin, begin + rows)
            yield part, self._compose(self.weights[part])

    def mean(self) -> Array:
        """Mean of the unit metrics."""
        return np.asarray(self._compose(self.weights.mean(axis=0, keepdims=True))[0])

    def _compose(self, weights: Array) -> Array:
        d = self.bases.shape[1]
        # As a root times itself the sum is symmetric, and never indefinite.
        roots = np.sqrt(weights)[:, :, None] * self.bases
        unit = roots.swapaxes(1, 2) @ roots
        unit[:, np.arange(d), np.arange(d)] += self.ridge
        return np.asarray(unit)


@dataclass(frozen=True)
class Span:
    """The columns in which the shift is made, where they are fewer than those of the points.

    Attributes
    ----------
    axes : ndarray of shape (d, r)
        Orthonormal columns that span the directions.
    origin : ndarray of shape (d,)
        Mean of the points: nought in the coordinates of the span.
    points : ndarray of shape (n, d)
        The points in full.
    """

    axes: Array
    origin: Array
    points: Array

    def into(self, X: Array) -> Array:
        """Coordinates in the span; row by row, so that equal rows stay equal in any batch."""
        away = np.asarray(X, dtype=np.float64) - self.origin
        out = np.empty((away.shape[0], self.axes.shape[1]))
        _loops.lift_rows(away, self.axes, out)
        return out

    def out_of(self, positions: Array, away: Array) -> Array:
        """Full coordinates: in the span those of the positions, outside of it those of ``away``."""
        outside = away - (away @ self.axes) @ self.axes.T
        return np.asarray(self.origin + positions @ self.axes.T + outside)


def composed_metrics(
    points: Array, bases: Array, weights: Array, ridge: float
) -> tuple[ComposedMetrics, Span | None]:
    """Check directions and weights, and find the span if it is smaller than the space."""
    n, d = points.shape
    bases, weights = np.asarray(bases, np.float64), np.asarray(weights, np.float64)
    if bases.ndim != 2 or bases.shape[0] < 1 or bases.shape[1] != d:
        raise ValueError(
            f"bases must have shape (K, {d}), one row for each direction; got {bases.shape}."
        )
    if weights.shape != (n, bases.shape[0]):
        raise ValueError(
            f"weights must have shape {(n, bases.shape[0])}, one for each point and direction; "
            f"got {weights.shape}."
        )
    check_ridge(ridge)
    for name, values in (("points", points), ("bases", bases), ("weights", weights)):
        finite = np.isfinite(values).all(axis=1)
        if not finite.all():
            raise ValueError(f"Row {int(np.argmin(finite))} of {name} is not finite.")
    if weights.min(initial=0.0) < 0:
        row = int(np.argmax((weights < 0).any(axis=1)))
        raise ValueError(f"Weights must not be negative; row {row} has {weights[row].min()}.")

    # Length goes from the directions into the weights, with exponents apart from mantissas: no
    # unit of either over- or underflows.
    largest = np.abs(bases).max(axis=1)
    exponent = np.frexp(largest)[1]
    bases = np.ldexp(bases, -exponent[:, None])
    length = np.linalg.norm(bases, axis=1)
    bases = bases / np.where(length > 0, length, 1.0)[:, None]
    mantissa, power = np.frexp(weights)
    mantissa = mantissa * length**2
    power = power + 2 * exponent
    used = mantissa > 0
    _check_not_nought(used.any(axis=1))
    top = np.where(used, power, np.iinfo(power.dtype).min).max(axis=1)
    weights = np.ldexp(mantissa, np.where(used, power - top[:, None], 0))

    _, singular, axes = np.linalg.svd(bases, full_matrices=False)
    rank = int((singular > 4.0 * _EPS * max(bases.shape) * singular[0]).sum())
    span = None
    if rank < d:
        axes = np.ascontiguousarray(axes[:rank].T)
        span = Span(axes, points.mean(axis=0, dtype=np.float64), points)
        bases = bases @ axes
    mean = weights.sum(axis=1) / rank * (1.0 + ridge)
    log_mean = np.log(mean) + np.log(2.0) * top
    unit = weights / mean[:, None]
    return ComposedMetrics(bases, unit, ridge / (1.0 + ridge), log_mean), span


def packing_pays(metrics: ComposedMetrics) -> bool:
    """Whether packed matrices are cheaper than directions: they have fewer numbers.

    Measured on 1000 digits, truncated Gaussian, bandwidths to modes, seconds packed and composed:
    K = 100 has 0.43 and 0.51 at d = 12, 0.71 and 0.71 at 16, 1.32 and 1.14 at 24, 3.4 and 2.0 at
    32; K = 166 has 0.75 and 0.92 at 18, 1.62 and 1.46 at 24; K = 40 has 0.29 and 0.30 at 8, 0.42
    and 0.34 at 12.
    """
    n_bases, d = metrics.bases.shape
    return n_bases + d > d * (d + 1) // 2


def make_forms(points: Array, metrics: Metrics, log_h: Array, scale: float | None = None) -> Forms:
    """Forms in the layout that is cheaper; the scale is that of the kernels, if not given."""
    if isinstance(metrics, ComposedMetrics) and not packing_pays(metrics):
        return _composed_forms(points, metrics, log_h, scale)
    return _packed_forms(points, metrics, log_h, scale)


def _sizes(metrics: Metrics, log_h: Array, scale: float | None) -> tuple[float, Array]:
    """Scale of the coordinates, and log size in them."""
    log_size = metrics.log_mean - 2.0 * log_h
    if scale is None:  # a power of two, so that scaling is exact
        scale = float(2.0 ** np.round(0.5 * log_size.mean() / np.log(2.0)))
    return scale, log_size - 2.0 * np.log(scale)


def _frame(metrics: Metrics) -> Array:
    """Lower factor of the mean metric."""
    try:
        return np.linalg.cholesky(metrics.mean())
    except np.linalg.LinAlgError:
        for part, unit in metrics.units():  # some metric is to blame: name it
            _cholesky(unit, part.start)
        raise


def _packed_forms(points: Array, metrics: Metrics, log_h: Array, scale: float | None) -> Forms:
    """Metrics about the mean metric, packed."""
    n, d = points.shape
    scale, log_size = _sizes(metrics, log_h, scale)
    frame = _frame(metrics)
    centre = points.mean(axis=0, dtype=np.float64)
    working = _to_working(points, centre, scale, frame)
    width = d * (d + 1) // 2
    table = np.empty((n, width + d + 1))
    norm, log_det, largest = np.empty(n), np.empty(n), np.empty(n)
    rows, columns = np.tril_indices(d)
    for part, form, log_det[part] in _framed(metrics, frame):
        norm[part] = np.linalg.norm(form, axis=(1, 2))
        largest[part] = _largest_eigenvalue(form)
        table[part, :width] = form[:, rows, columns]
        # Data far beyond its kernels may overflow here: NaN is then looked at directly.
        with np.errstate(over="ignore", invalid="ignore"):
            pulled = np.einsum("jkl,jl->jk", form, working[part])
            table[part, width:-1] = pulled
            table[part, -1] = np.einsum("jk,jk->j", pulled, working[part])
    size = np.exp(0.5 * log_size)
    return Forms(
        centre=centre,
        scale=scale,
        frame=frame,
        points=working,
        lifted=working,
        table=table,
        width=width,
        bases=np.empty((0, d)),
        norm=norm,
        size=size,
        log_size=log_size,
        log_det=log_det + d * metrics.log_mean,
        speed=size * np.sqrt(largest),
    )


def _composed_forms(
    points: Array, metrics: ComposedMetrics, log_h: Array, scale: float | None
) -> Forms:
    """Metrics about the mean metric, as weights of the directions.

    The matrices are made once, some at a time, for the determinant and the speed. With a scale
    given, the forms are for distances only: they need neither.
    """
    n, d = points.shape
    n_bases = metrics.bases.shape[0]
    climbing = scale is None
    scale, log_size = _sizes(metrics, log_h, scale)
    frame = _frame(metrics) if climbing else np.eye(d)
    centre = points.mean(axis=0, dtype=np.float64)
    working = _to_working(points, centre, scale, frame)
    directions = np.concatenate([metrics.bases, np.eye(d)])
    bases = np.ascontiguousarray(solve_triangular(frame, directions.T, lower=True).T)
    lifted = _lift(working, bases)

    width = n_bases + 1
    table = np.empty((n, width + n_bases + d + 1))
    table[:, :n_bases], table[:, n_bases] = metrics.weights, metrics.ridge
    with np.errstate(over="ignore", invalid="ignore"):  # as for the packed ones
        pulled = table[:, width:-1]
        np.multiply(metrics.weights, lifted[:, :n_bases], out=pulled[:, :n_bases])
        np.multiply(metrics.ridge, lifted[:, n_bases:], out=pulled[:, n_bases:])
        table[:, -1] = np.einsum("jk,jk->j", pulled, lifted)
    log_det, largest = np.zeros(n), np.ones(n)
    if climbing:
        for part, form, log_det[part] in _framed(metrics, frame):
            largest[part] = _largest_eigenvalue(form)
    size = np.exp(0.5 * log_size)
    return Forms(
        centre=centre,
        scale=scale,
        frame=frame,
        points=working,
        lifted=lifted,
        table=table,
        width=width,
        bases=bases,
        norm=table[:, :width].max(axis=1),
        size=size,
        log_size=log_size,
        log_det=log_det + d * metrics.log_mean,
        speed=size * np.sqrt(largest),
    )


def _to_working(X: Array, centre: Array, scale: float, frame: Array) -> Array:
    """Input coordinates to working coordinates."""
    shifted = (np.asarray(X, dtype=np.float64) - centre) * scale
    out = np.empty(shifted.shape)
    _loops.into_frame(shifted, frame, out)
    return out


def _lift(positions: Array, bases: Array) -> Array:
    """Lift positions in working coordinates; packed forms take them as they are."""
    if not bases.size:
        return positions
    out = np.empty((positions.shape[0], bases.shape[0]))
    _loops.lift_rows(positions, np.ascontiguousarray(bases.T), out)
    return out


def _framed(metrics: Metrics, frame: Array) -> Iterator[tuple[slice, Array, Array]]:
    """Yield unit metrics in working coordinates, and log determinants in input coordinates."""
    inverse = solve_triangular(frame, np.eye(frame.shape[0]), lower=True)
    for part, unit in metrics.units():
        lower = _cholesky(unit, part.start)
        log_det = 2.0 * np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
        root = inverse @ lower
        yield part, root @ root.swapaxes(1, 2), log_det


def _cholesky(unit: Array, begin: int) -> Array:
    """Lower factors of metrics of unit size."""
    least = unit.shape[1] * _EPS
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
