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
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from linkshift._core.arrays import Array
from linkshift._core.messages import Refusal
from linkshift.shift.anisotropic import _loops
from linkshift.shift.anisotropic._packed import STACK, product
from linkshift.shift.anisotropic.metrics import ComposedMetrics

_EPS = float(np.finfo(np.float64).eps)


class Kernels(NamedTuple):
    """The points' kernels as the loops take them; for the arrays see :class:`Forms`."""

    kind: int  # of profile
    reach: float  # in bandwidths
    floor: float  # height at which the shadow is cut off
    n_bases: int
    lifted: Array
    table: Array
    size: Array
    log_size: Array
    log_factor: Array  # logarithm of sqrt(det M_j) / h_j^d
    speed: Array


class Directions(NamedTuple):
    """Directions that composed forms share, as the loops take them; none if packed."""

    n_bases: int
    bases: Array  # all K + d
    bases_t: Array
    stack: Array  # the first K, with rows of zeros to a multiple of ``STACK``
    ridge_form: Array  # packed sum of the outer products of the last d


@dataclass(frozen=True)
class Forms:
    """Points and their quadratic forms in *working coordinates*.

    x' = scale (x - centre) F, with F F' the mean of the metrics, each divided by its mean
    eigenvalue: on the average a form is then the identity, whatever the units of the columns, and
    a bound by the largest eigenvalue is a good one.
    """

    centre: Array
    scale: float
    frame: Array  # F
    points: Array  # (n, d)
    lifted: Array  # (n, q): the lifted points; themselves where forms are packed
    table: Array  # (n, width + q + 1): N_j of unit size; N_j x_j, lifted; and x_j' N_j x_j
    width: int  # numbers in a form: d (d + 1) / 2, or K + 1
    bases: Array  # (K + d, d): of lifted coordinates, the last d for the ridge; none if packed
    norm: Array  # bound on the value of N_j for a lifted position of length one
    size: Array  # z_j = (size_j)^2 (x' - x'_j)' N_j (x' - x'_j)
    log_size: Array  # logarithm of its square
    log_det: Array  # logarithm of the determinant of the metric in input coordinates
    speed: Array  # bound on the change of sqrt(z_j) in a step of length one

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
        """K, zero for packed forms."""
        return self.bases.shape[0] - self.points.shape[1] if self.bases.size else 0

    @cached_property
    def directions(self) -> Directions:
        """The directions as the loops take them."""
        d, n_bases = self.points.shape[1], self.n_bases
        stack = np.zeros((-(-n_bases // STACK) * STACK, d))
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
            product(total[i], lifted[i], out[i])
        return out


def packing_pays(metrics: ComposedMetrics) -> bool:
    """Whether packed matrices are cheaper than directions: they have fewer numbers.

    Measured on 1000 digits, truncated Gaussian, bandwidths to modes, seconds packed and composed:
    K = 100 has 0.43 and 0.51 at d = 12, 0.71 and 0.71 at 16, 1.32 and 1.14 at 24, 3.4 and 2.0 at
    32; K = 166 has 0.75 and 0.92 at 18, 1.62 and 1.46 at 24; K = 40 has 0.29 and 0.30 at 8, 0.42
    and 0.34 at 12.
    """
    n_bases, d = metrics.bases.shape
    return n_bases + d > d * (d + 1) // 2


def make_forms(
    points: Array, metrics: ComposedMetrics, log_h: Array, scale: float | None = None
) -> Forms:
    """Forms about the mean metric, in the layout that is cheaper.

    The scale is that of the kernels, if not given. Else the forms are for distances only, and
    composed ones need nothing that their matrices would tell: frame, determinant and speed.
    """
    n, d = points.shape
    packed = packing_pays(metrics)
    matrices = packed or scale is None
    scale, log_size = _sizes(metrics, log_h, scale)
    frame = _frame(metrics) if matrices else np.eye(d)
    centre = points.mean(axis=0, dtype=np.float64)
    working = _to_working(points, centre, scale, frame)
    bases = np.empty((0, d))
    if not packed:
        directions = np.concatenate([metrics.bases, np.eye(d)])
        bases = np.ascontiguousarray(solve_triangular(frame, directions.T, lower=True).T)
    lifted = _lift(working, bases)
    width = d * (d + 1) // 2 if packed else metrics.bases.shape[0] + 1
    table = np.empty((n, width + lifted.shape[1] + 1))
    norm, log_det, largest = np.empty(n), np.zeros(n), np.ones(n)
    if matrices:
        for part, form, log_det[part] in _framed(metrics, frame):
            largest[part] = _largest_eigenvalue(form)
            if packed:
                norm[part] = np.linalg.norm(form, axis=(1, 2))
                _fill_packed(form, working[part], table[part])
    if not packed:
        _fill_composed(metrics, lifted, table)
        norm = table[:, :width].max(axis=1)
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
        norm=norm,
        size=size,
        log_size=log_size,
        log_det=log_det + d * metrics.log_mean,
        speed=size * np.sqrt(largest),
    )


def _fill_packed(form: Array, points: Array, table: Array) -> None:
    """Put the lower triangles, N_j x_j and x_j' N_j x_j into rows of the table."""
    rows, columns = np.tril_indices(points.shape[1])
    table[:, : rows.size] = form[:, rows, columns]
    # Data far beyond its kernels may overflow here: NaN is then looked at directly.
    with np.errstate(over="ignore", invalid="ignore"):
        pulled = np.einsum("jkl,jl->jk", form, points)
        table[:, rows.size : -1] = pulled
        table[:, -1] = np.einsum("jk,jk->j", pulled, points)


def _fill_composed(metrics: ComposedMetrics, lifted: Array, table: Array) -> None:
    """Put the weights, N_j x_j and x_j' N_j x_j into the table."""
    n_bases = metrics.bases.shape[0]
    table[:, :n_bases], table[:, n_bases] = metrics.weights, metrics.ridge
    with np.errstate(over="ignore", invalid="ignore"):  # as for the packed ones
        pulled = table[:, n_bases + 1 : -1]
        np.multiply(metrics.weights, lifted[:, :n_bases], out=pulled[:, :n_bases])
        np.multiply(metrics.ridge, lifted[:, n_bases:], out=pulled[:, n_bases:])
        table[:, -1] = np.einsum("jk,jk->j", pulled, lifted)


def _sizes(metrics: ComposedMetrics, log_h: Array, scale: float | None) -> tuple[float, Array]:
    """Scale of the coordinates, and log size in them."""
    log_size = metrics.log_mean - 2.0 * log_h
    if scale is None:  # a power of two, so that scaling is exact
        scale = float(2.0 ** np.round(0.5 * log_size.mean() / np.log(2.0)))
    return scale, log_size - 2.0 * np.log(scale)


def _frame(metrics: ComposedMetrics) -> Array:
    """Lower factor of the mean metric."""
    try:
        return np.linalg.cholesky(metrics.mean())
    except np.linalg.LinAlgError:
        for part, unit in metrics.units():  # some metric is to blame: name it
            _cholesky(unit, part.start)
        raise


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


def _framed(metrics: ComposedMetrics, frame: Array) -> Iterator[tuple[slice, Array, Array]]:
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
        raise Refusal(
            f"The metric of row {begin + int(np.argmax(singular))} is not positive definite with "
            "its ridge; metrics must be positive semi-definite, and those that are not of full "
            "rank need a larger ridge.",
            parameter="ridge",
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
