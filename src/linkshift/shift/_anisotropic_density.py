"""Densities of mean shift with a metric per point, and bandwidths for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkshift._core.arrays import Array
from linkshift._core.threads import one_blas_thread, threads
from linkshift.profiles import Profile
from linkshift.shift import _anisotropic_loops as _loops
from linkshift.shift._anisotropic_forms import (
    Forms,
    Metrics,
    Span,
    composed_metrics,
    dense_metrics,
    make_forms,
)

# Points that ask for their neighbours at a time, and pairs at most: fixed, whatever the threads.
_QUERIES, _PAIRS = 64, 1 << 22


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
    forms : Forms
        The points and their metrics in working coordinates.
    log_factor : ndarray of shape (n,)
        Logarithm of sqrt(det M_j) / h_j^d.
    span : Span or None
        Where the directions of :func:`build_composed` span fewer columns than the points have:
        the columns in which the shift is made.
    """

    profile: Profile
    dtype: np.dtype[Any]
    dimension: float
    forms: Forms
    log_factor: Array
    span: Span | None = None

    @property
    def n_points(self) -> int:
        """Number of points."""
        return self.forms.points.shape[0]

    @property
    def n_features(self) -> int:
        """Number of columns in which the shift is made."""
        return self.forms.points.shape[1]

    def to_span(self, X: Array) -> Array:
        """Rows in the columns in which the shift is made: as they are, but for a smaller span."""
        return X if self.span is None else self.span.into(X)


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
        The d of h^(d+2); the number of columns when not given. With another one, :math:`a_j` is
        :math:`(\sqrt{\det M_j} \, h_j^{-d})` to the power of dimension / d: the volume of a kernel
        counts as in so many dimensions, and the unit of a metric, which its bandwidth shares,
        does not matter.
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
    return _density(
        points, dense_metrics(points, metrics, ridge), None, bandwidth, profile, dimension
    )


def build_composed(
    points: Array,
    bases: Array,
    weights: Array,
    bandwidth: float | ArrayLike,
    profile: Profile,
    *,
    dimension: float | None = None,
    ridge: float = 1e-3,
) -> AnisotropicDensity:
    r"""Lay out points whose metrics are composed of the same directions.

    .. math:: M_j = \sum_k w_{jk} b_k b_k^\top + r_j I, \qquad
              r_j = \frac{\text{ridge}}{d} \sum_k w_{jk} \|b_k\|^2

    as SCML learns them. It is the density of :func:`build` for these metrics, without their
    matrices: O(n (K + d)) numbers, and a distance takes K + d steps instead of d (d + 1) / 2.
    Where that is more, the metrics are packed.

    Where the directions span r < d columns, the shift is made in these: in coordinates of an
    orthonormal basis of the span, with r in place of d. No distance but for the ridge depends on
    the rest of a position, so the rest is left out, and the ridge acts inside of the span only.
    :meth:`AnisotropicDensity.to_span` gives the coordinates of rows, in which starts and ends of
    climbs, end points and modes are; :func:`full_positions` leads back.

    Parameters
    ----------
    points : ndarray of shape (n, d), float32 or float64
        Finite coordinates.
    bases : ndarray of shape (K, d)
        Directions :math:`b_k`, of any length; they may repeat.
    weights : ndarray of shape (n, K)
        Not negative, and not all nought in a row.
    bandwidth : float or ndarray of shape (n,)
        One for all points, or one for each. Positive.
    profile : Profile
        Kernel profile.
    dimension : float, optional
        As for :func:`build`; r when not given.
    ridge : float
        As for :func:`build`. Nought needs metrics whose rank is r.

    Returns
    -------
    AnisotropicDensity

    Raises
    ------
    ValueError
        For shapes that do not match; for values that are not finite, weights that are negative or
        all nought, a metric that is not positive definite in the span after the ridge, bandwidths
        that are not positive: with the row.

    References
    ----------
    G. S. Cheema (2016), eq. 4.7. Y. Shi, A. Bellet, F. Sha (2014), "Sparse compositional metric
    learning", for metrics of this kind.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.profiles import Profile
    >>> from linkshift.shift.anisotropic import build_composed, climb, full_positions
    >>> X = np.array([[0.0, 0.0, 5.0], [0.0, 3.0, 7.0], [9.0, 0.0, 1.0]])
    >>> bases = np.array([[1.0, 0.0, 0.0], [0.0, 0.2, 0.0]])  # the third column does not count
    >>> density = build_composed(X, bases, np.ones((3, 2)), 1.5, Profile("flat"))
    >>> ends = climb(density, density.to_span(X)).ends
    >>> ends.shape
    (3, 2)
    >>> full_positions(density, ends).round(6) + 0.0
    array([[0. , 1.5, 6. ],
           [0. , 1.5, 6. ],
           [9. , 0. , 1. ]])
    """
    metrics, span = composed_metrics(points, bases, weights, ridge)
    return _density(points, metrics, span, bandwidth, profile, dimension)


def _density(
    points: Array,
    metrics: Metrics,
    span: Span | None,
    bandwidth: float | ArrayLike,
    profile: Profile,
    dimension: float | None,
) -> AnisotropicDensity:
    """Density for metrics that have been found in order."""
    h = np.broadcast_to(np.asarray(bandwidth, dtype=np.float64), points.shape[:1])
    if not (np.isfinite(h) & (h > 0)).all():
        row = int(np.flatnonzero(~(np.isfinite(h) & (h > 0)))[0])
        raise ValueError(f"Bandwidths must be positive; that of row {row} is {h[row]}.")
    inside = points if span is None else span.into(points)
    d = inside.shape[1]
    exponent = float(d if dimension is None else dimension)
    with one_blas_thread():  # with more, the last bits would depend on their number
        forms = make_forms(inside, metrics, np.log(h))
    return AnisotropicDensity(
        profile=profile,
        dtype=points.dtype if points.dtype == np.float32 else np.dtype(np.float64),
        dimension=exponent,
        forms=forms,
        log_factor=exponent * (0.5 / d * forms.log_det - np.log(h)),
        span=span,
    )


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
    return _kth_distances(points, dense_metrics(points, metrics, ridge), k, n_threads)


def composed_bandwidth(
    points: Array,
    bases: Array,
    weights: Array,
    k: int,
    *,
    ridge: float = 1e-3,
    n_threads: int = 1,
) -> Array:
    r"""Distance of each point to its k-th neighbour, by its own composed metric.

    .. math:: h_i = \Big(\text{k-th smallest } \sum_k w_{ik} (b_k^\top (x_i - x_j))^2
              + r_i \|x_i - x_j\|^2, \; j \ne i \Big)^{1/2}

    Cheema (2016), eq. 4.6, as :func:`local_bandwidth` computes it, with the metric of
    :func:`build_composed`: where the directions span fewer columns, the ridge acts in these only.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    bases : ndarray of shape (K, d)
    weights : ndarray of shape (n, K)
        As for :func:`build_composed`.
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
    >>> from linkshift.shift.anisotropic import composed_bandwidth
    >>> X = np.array([[0.0, 8.0], [1.0, 0.0], [3.0, 4.0]])
    >>> composed_bandwidth(X, np.array([[1.0, 0.0]]), np.array([[1.0], [1.0], [4.0]]), 1, ridge=0.0)
    array([1., 1., 4.])
    """
    metrics, span = composed_metrics(points, bases, weights, ridge)
    inside = points if span is None else span.into(points)
    return _kth_distances(inside, metrics, k, n_threads)


def _kth_distances(points: Array, metrics: Metrics, k: int, n_threads: int) -> Array:
    """Eq. 4.6: matrix products tell the candidates, which are then measured directly."""
    n = points.shape[0]
    if not 1 <= k < n:
        raise ValueError(f"k must be from 1 to {n - 1} for {n} points, got {k}.")
    spread = float(np.ptp(points, axis=0).max())
    scale = float(2.0 ** -np.round(np.log2(spread))) if spread > 0 else 1.0
    with one_blas_thread():
        forms = make_forms(points, metrics, np.zeros(n), scale)
    # Here the form belongs to the one who asks: rows of the table are the queries.
    features = forms.features(forms.lifted)
    away = np.linalg.norm(forms.lifted, axis=1)
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
            _loops.squared_distances(
                forms.lifted[i], forms.lifted, form, near, forms.n_bases, exact
            )
            squared[i] = np.partition(exact, k - 1)[k - 1]

    with one_blas_thread(), threads(n_threads) as pool:
        pool.map(task, blocks(np.arange(n), max(1, min(_QUERIES, _PAIRS // n))))
    return np.asarray(np.sqrt(squared) * forms.size)


def blocks(rows: Array, size: int) -> list[Array]:
    """Rows in units of work."""
    return [rows[begin : begin + size] for begin in range(0, rows.size, size)]
