"""Densities of mean shift with a metric per point, and bandwidths for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkshift._core.arrays import Array
from linkshift._core.threads import one_blas_thread, threads
from linkshift.profiles import Profile
from linkshift.shift._checks import check_profile, checked_bandwidth, checked_dimension
from linkshift.shift.anisotropic import _loops
from linkshift.shift.anisotropic.climb import climb, units_of_work, weighted_means
from linkshift.shift.anisotropic.forms import Forms, Kernels, make_forms
from linkshift.shift.anisotropic.merging import label, merge
from linkshift.shift.anisotropic.metrics import Span, composed_metrics

__all__ = ["AnisotropicDensity", "build_composed", "composed_bandwidth"]

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
class AnisotropicDensity:
    """Points with a metric and a bandwidth each, laid out for the hot loops.

    See :func:`build_composed`. It is a :class:`linkshift.shift.landscape.Landscape`.
    """

    profile: Profile
    dtype: np.dtype[Any]  # of the points, and of the ends of climbs; all work is done in float64
    forms: Forms  # the points and their metrics in working coordinates
    kernels: Kernels
    span: Span | None  # columns of the shift, where directions span fewer than the points have
    given: dict[str, Any] = field(repr=False)  # arguments of ``build_composed``, not copied

    @property
    def n_points(self) -> int:
        """Number of points."""
        return self.forms.points.shape[0]

    def inputs(self) -> dict[str, Any]:
        """Return what :func:`build_composed` was given."""
        return dict(self.given)

    def to_starts(self, X: Array) -> Array:
        """Rows in the columns in which the shift is made: as they are, but for a smaller span."""
        return X if self.span is None else self.span.into(X)

    def to_columns(self, positions: Array, rows: Array) -> Array:
        r"""Positions in all columns of the points, for those in which the shift is made.

        Where these are all columns, the positions themselves. Else no metric tells where a
        position is outside of the span: there it gets the mean of the rows,

        .. math:: \frac{\sum_j v_j x_j}{\sum_j v_j}, \qquad
                  v_j = a_j g(z_j) \frac{\operatorname{tr} M_j}{r h_j^2}

        which is eq. 4.8 with metrics that are multiples of the identity; a position that no point
        reaches gets the mean of all points. It is meant for modes: each position looks at each
        point.
        """
        if self.span is None:
            return positions
        with one_blas_thread():
            away = np.asarray(rows, dtype=np.float64) - self.span.origin
            means = weighted_means(self, positions, away)
            return self.span.out_of(positions, means).astype(self.dtype)

    climb = climb
    merge = merge
    label = label


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

    as SCML learns them: O(n (K + d)) numbers, and a distance takes K + d steps. Where matrices of
    d (d + 1) / 2 numbers are smaller, these are used.

    Where the directions span r < d columns, the shift is made in these: in coordinates of an
    orthonormal basis of the span, with r in place of d. No distance but for the ridge depends on
    the rest of a position, so the rest is left out, and the ridge acts inside of the span only.
    :meth:`AnisotropicDensity.to_starts` gives the coordinates of rows, in which starts and ends of
    climbs, end points and modes are; :meth:`AnisotropicDensity.to_columns` leads back.

    Parameters
    ----------
    points : ndarray of shape (n, d), float32 or float64
        Finite coordinates.
    bases : ndarray of shape (K, d)
        Directions :math:`b_k`, of any length; they may repeat.
    weights : ndarray of shape (n, K)
        Not negative, and not all zero in a row.
    bandwidth : float or ndarray of shape (n,)
        One for all points, or one for each. Positive.
    profile : Profile
    dimension : float, optional
        The d of h^(d+2); r when not given. With another one, :math:`a_j` is
        :math:`(\sqrt{\det M_j} \, h_j^{-r})` to the power of dimension / r: the volume of a kernel
        counts as in so many dimensions, and the unit of a metric, which its bandwidth shares,
        does not matter.
    ridge : float
        Relative to the mean eigenvalue: the squared length of a typical difference changes by
        that fraction. Zero needs metrics whose rank is r.

    Raises
    ------
    Refusal
        For anything else than is said above, with the row; also for a metric that is not positive
        definite in the span after the ridge.

    References
    ----------
    G. S. Cheema (2016), eq. 4.7. Y. Shi, A. Bellet, F. Sha (2014), "Sparse compositional metric
    learning", for metrics of this kind.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.profiles import Profile
    >>> from linkshift.shift.anisotropic import build_composed
    >>> X = np.array([[0.0, 0.0, 5.0], [0.0, 3.0, 7.0], [9.0, 0.0, 1.0]])
    >>> bases = np.array([[1.0, 0.0, 0.0], [0.0, 0.2, 0.0]])  # the third column does not count
    >>> density = build_composed(X, bases, np.ones((3, 2)), 1.5, Profile("flat"))
    >>> ends = density.climb(density.to_starts(X)).ends
    >>> ends.shape
    (3, 2)
    >>> density.to_columns(ends, X).round(6) + 0.0
    array([[0. , 1.5, 6. ],
           [0. , 1.5, 6. ],
           [9. , 0. , 1. ]])
    """
    given = dict(locals())  # the arguments
    metrics, span = composed_metrics(points, bases, weights, ridge)
    check_profile(profile)
    h = checked_bandwidth(bandwidth, points.shape[0])
    inside = points if span is None else span.into(points)
    d = inside.shape[1]
    exponent = checked_dimension(dimension, d)
    with one_blas_thread():  # with more, the last bits would depend on their number
        forms = make_forms(inside, metrics, np.log(h))
    kernels = Kernels(
        kind=_KIND[profile.name],
        reach=float(np.sqrt(profile.squared_reach)) * _EDGE,
        floor=float(np.exp(-0.5 * profile.squared_reach)),
        n_bases=forms.n_bases,
        lifted=forms.lifted,
        table=forms.table,
        size=forms.size,
        log_size=forms.log_size,
        log_factor=exponent * (0.5 / d * forms.log_det - np.log(h)),
        speed=forms.speed,
    )
    return AnisotropicDensity(profile, points.dtype, forms, kernels, span, given)


def composed_bandwidth(
    points: Array, bases: Array, weights: Array, k: int, *, ridge: float = 1e-3, n_threads: int = 1
) -> Array:
    r"""Distance of each point to its k-th neighbour, by its own composed metric.

    .. math:: h_i = \Big(\text{k-th smallest } \sum_k w_{ik} (b_k^\top (x_i - x_j))^2
              + r_i \|x_i - x_j\|^2, \; j \ne i \Big)^{1/2}

    Cheema (2016), eq. 4.6, with the metric of :func:`build_composed`: where the directions span
    fewer columns, the ridge acts in these only. A point with k others on the same spot gets zero,
    which :func:`build_composed` does not take: what to do with such points is for the caller to
    say. k is from 1 to n - 1.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.shift.anisotropic import composed_bandwidth
    >>> X = np.array([[0.0, 8.0], [1.0, 0.0], [3.0, 4.0]])
    >>> composed_bandwidth(X, np.array([[1.0, 0.0]]), np.array([[1.0], [1.0], [4.0]]), 1, ridge=0.0)
    array([1., 1., 4.])
    """
    metrics, span = composed_metrics(points, bases, weights, ridge)
    points = points if span is None else span.into(points)
    n = points.shape[0]
    if not 1 <= k < n:
        raise ValueError(f"k must be from 1 to {n - 1} for {n} points, got {k}.")
    # Matrix products tell the candidates, which are then measured directly.
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
            exact, own, form = np.empty(near.size), forms.lifted[i], forms.table[i : i + 1]
            _loops.squared_distances(own, forms.lifted, form, near, forms.n_bases, exact)
            squared[i] = np.partition(exact, k - 1)[k - 1]

    with one_blas_thread(), threads(n_threads) as pool:
        pool.map(task, units_of_work(np.arange(n), n))
    return np.asarray(np.sqrt(squared) * forms.size)
