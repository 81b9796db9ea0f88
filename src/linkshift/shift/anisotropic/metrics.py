"""Metrics composed of the same directions: checked, of unit size, in the columns that they span."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.messages import Refusal
from linkshift._core.threads import one_blas_thread
from linkshift.shift._checks import check_finite, check_not_negative, check_points, numbers
from linkshift.shift.anisotropic import _loops

_ROWS, _NUMBERS = 256, 1 << 22  # metrics prepared at a time, and numbers in them at most
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class ComposedMetrics:
    """Metrics composed of directions; see :func:`composed_metrics`."""

    bases: Array  # (K, d), in the coordinates of the shift, of length one (or zero)
    weights: Array  # (n, K), of the unit metrics
    ridge: float  # weight of the identity in all unit metrics
    log_mean: Array  # logarithm of the mean eigenvalue of each, ridge included

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
    """The columns in which the shift is made, where they are fewer than those of the points."""

    axes: Array  # (d, r), orthonormal columns that span the directions
    origin: Array  # mean of the points: zero in the coordinates of the span

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
    bases, weights = _checked(points, bases, weights, ridge)
    d = points.shape[1]
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
    if not used.any(axis=1).all():
        raise Refusal(
            f"The metric of row {int(np.argmin(used.any(axis=1)))} is zero: there is no distance "
            "to measure by it.",
            "Leave the point out, or give it the mean of the metrics.",
            parameter="weights",
        )
    top = np.where(used, power, np.iinfo(power.dtype).min).max(axis=1)
    weights = np.ldexp(mantissa, np.where(used, power - top[:, None], 0))

    with one_blas_thread():  # with more, the last bits would depend on their number
        _, singular, axes = np.linalg.svd(bases, full_matrices=False)
        rank = int((singular > 4.0 * _EPS * max(bases.shape) * singular[0]).sum())
        span = None
        if rank < d:
            axes = np.ascontiguousarray(axes[:rank].T)
            span = Span(axes, points.mean(axis=0, dtype=np.float64))
            bases = bases @ axes
    mean = weights.sum(axis=1) / rank * (1.0 + ridge)
    log_mean = np.log(mean) + np.log(2.0) * top
    unit = weights / mean[:, None]
    return ComposedMetrics(bases, unit, ridge / (1.0 + ridge), log_mean), span


def _checked(points: Array, bases: Array, weights: Array, ridge: float) -> tuple[Array, Array]:
    """Directions and weights as float64, if they are in order."""
    check_points(points, "points")
    n, d = points.shape
    bases, weights = numbers(bases, "bases"), numbers(weights, "weights")
    if bases.ndim != 2 or bases.shape[0] < 1 or bases.shape[1] != d:
        raise Refusal(
            f"bases must have shape (K, {d}), one row for each direction; got {bases.shape}.",
            parameter="bases",
        )
    if weights.shape != (n, bases.shape[0]):
        raise Refusal(
            f"weights must have shape {(n, bases.shape[0])}, one for each point and direction; "
            f"got {weights.shape}.",
            parameter="weights",
        )
    check_not_negative(ridge, "ridge")
    check_finite(bases, "bases")
    check_finite(weights, "weights")
    if weights.min() < 0:
        row = int(np.argmax((weights < 0).any(axis=1)))
        raise Refusal(
            f"Weights must not be negative; row {row} has {weights[row].min()}.",
            parameter="weights",
        )
    return bases, weights
