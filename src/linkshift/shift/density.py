r"""A kernel density over weighted points: where it is, and where its mean shift points.

.. math::

    f(x) = \sum_j w_j h_j^{-d} \, k\!\left(\frac{\|x - x_j\|^2}{h_j^2}\right), \qquad
    m(x) = \frac{\sum_j w_j h_j^{-(d+2)} g(u_j) \, x_j}{\sum_j w_j h_j^{-(d+2)} g(u_j)}, \qquad
    u_j = \frac{\|x - x_j\|^2}{h_j^2}

The factors :math:`w_j h_j^{-(d+2)}` are kept as logarithms relative to the largest, so that no
power of a bandwidth under- or overflows. Memory is O(n d) for the points and O(block) besides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from linkshift._core.arrays import Array
from linkshift._core.threads import one_blas_thread, threads
from linkshift.profiles import Profile
from linkshift.shift import _loops
from linkshift.shift._loops import BLOCK, LANES
from linkshift.shift.neighbours import block_order, boxes

__all__ = ["Density", "build_density", "log_density", "mean_step"]


# From here up two matrix products beat the jit loop (measured: benchmarks/speed/gemm.py).
GEMM_FROM_DIMENSION = 64
# float32 resolves positions to 1e-4 bandwidths while the data spans at most this many of them.
_SINGLE_SPAN = 1e3
# Weights that span more bits than this would underflow in float32.
_SINGLE_BITS = 64.0
_TASK = 4 * LANES  # starts per unit of work: fixed, so that threads never change a sum
_GEMM_STARTS, _GEMM_POINTS = 64, 2048  # few starts are soon all that is left: no large blocks
_CAREFUL_PAIRS = 1 << 20
_LOG2E = float(np.log2(np.e))
_EXPONENTIAL_PROFILES = ("gaussian", "truncated_gaussian")


class _Terms(NamedTuple):
    """A sum over the points, as the hot loops take it (see ``_loops``)."""

    kind: int
    offset: Array
    slope: Array
    limit: Array
    block_reach: Array
    block_inner: Array
    whole_sums: Array
    whole_total: Array
    starved: float  # a total below this has lost too much to underflow: do it in logarithms


class _Products(NamedTuple):
    """Points about their mean and their squared norms, for distances by matrix products."""

    mean: Array
    points: Array
    norms: Array


@dataclass(frozen=True)
class Density:
    """Weighted points with bandwidths and a profile, laid out for the hot loops.

    Rows are in block order and in *working coordinates*: ``(x - centre) / scale`` with a power
    of two for scale, so that scaling is exact and numbers stay near one for any unit.

    Attributes
    ----------
    profile : Profile
    dtype : numpy dtype
        Working precision.
    centre, scale : ndarray of shape (d,), float
        The working coordinates.
    rows : ndarray of shape (n,)
        Which row of the input each point is (rows of weight nought are left out).
    points : ndarray of shape (padded n, d)
    bandwidth, log_weight : ndarray of shape (n,)
        float64, in working units, in the order of ``rows``.
    typical_bandwidth : float
        Geometric mean of the bandwidths (by weight), in working units: what tolerances refer to.
    dimension : float
        The d of h^(d+2).
    """

    profile: Profile
    dtype: np.dtype[Any]
    centre: Array
    scale: float
    rows: Array
    points: Array
    bandwidth: Array
    log_weight: Array
    typical_bandwidth: float
    dimension: float
    box_low: Array
    box_high: Array
    terms: _Terms
    products: _Products | None

    @property
    def n_points(self) -> int:
        """Number of points with a weight."""
        return self.rows.shape[0]

    def to_working(self, X: Array) -> Array:
        """Input coordinates to working coordinates and precision."""
        shifted = (np.asarray(X, dtype=self.centre.dtype) - self.centre) / self.scale
        return np.ascontiguousarray(shifted, dtype=self.dtype)

    def to_input(self, positions: Array) -> Array:
        """Working coordinates back to the input's coordinates and precision."""
        return (positions.astype(self.centre.dtype) * self.scale + self.centre).astype(
            self.centre.dtype
        )


def build_density(
    X: Array,
    bandwidth: float | ArrayLike,
    profile: Profile,
    *,
    sample_weight: Array | None = None,
    dimension: float | None = None,
) -> Density:
    """Lay out points for shifting.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64
        Finite coordinates.
    bandwidth : float or ndarray of shape (n,)
        One for all points, or one for each. Positive.
    profile : Profile
        Kernel profile.
    sample_weight : ndarray of shape (n,), optional
        Non-negative. A weight of 2 is the row twice.
    dimension : float, optional
        The d of h^(d+2). The number of columns when not given; it matters only when bandwidths
        differ.

    Returns
    -------
    Density
    """
    n, d = X.shape
    h = np.broadcast_to(np.asarray(bandwidth, dtype=np.float64), (n,))
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    kept = np.flatnonzero(weight > 0)
    if kept.size == 0:
        raise ValueError("Every sample weight is zero: there is no density to climb.")
    X_kept, h, weight = X[kept], h[kept], weight[kept]
    exponent = float(d if dimension is None else dimension)

    typical = float(h[0])
    if (h != typical).any():
        typical = float(np.exp(np.average(np.log(h), weights=weight)))
    scale = float(2.0 ** np.round(np.log2(typical)))
    log_weight = np.log(weight)
    factors = log_weight - (exponent + 2.0) * np.log(h / typical)
    span = float(np.ptp(X_kept, axis=0).max(initial=0.0)) / float(h.min())
    bits = float(factors.max() - factors.min()) * _LOG2E
    single = X.dtype == np.float32 and span <= _SINGLE_SPAN and bits <= _SINGLE_BITS
    # float64 stays where it is: moving it would only add rounding. The centre is a multiple of
    # the scale, so that whole numbers and the like stay exact.
    centre = np.zeros(d, dtype=X.dtype)
    if single:
        centre = (np.round(X_kept.mean(axis=0, dtype=np.float64) / scale) * scale).astype(X.dtype)

    dtype = np.dtype(np.float32 if single else np.float64)
    order = block_order(X_kept)
    ordered = ((X_kept[order] - centre) / X.dtype.type(scale)).astype(dtype)
    n_padded = -(-ordered.shape[0] // BLOCK) * BLOCK
    points = np.zeros((n_padded, d), dtype=dtype)
    points[: ordered.shape[0]] = ordered
    box_low, box_high = boxes(ordered)
    h_input, h, log_weight = h, h[order] / scale, log_weight[order]
    log_factor = log_weight - (exponent + 2.0) * np.log(h)
    # Without a detour through logarithms: with one bandwidth, whole weights stay exact.
    factor = weight * np.exp((exponent + 2.0) * np.log(typical / h_input))
    return Density(
        profile=profile,
        dtype=dtype,
        centre=centre,
        scale=scale,
        rows=kept[order],
        points=points,
        bandwidth=h,
        log_weight=log_weight,
        typical_bandwidth=typical / scale,
        dimension=exponent,
        box_low=box_low,
        box_high=box_high,
        terms=_weight_terms(profile, points, h, log_factor, factor[order]),
        products=_products(profile, points, ordered.shape[0]),
    )


def _products(profile: Profile, points: Array, n: int) -> _Products | None:
    """Prepare for matrix products, where they are faster and precise enough.

    |s - x|^2 = |s|^2 + |x|^2 - 2 s.x loses the digits that the norms have more than the
    distance. Coordinates are therefore taken about the mean, and the direct loop serves where
    the norms are still so large that a squared distance would be off by 1e-4 bandwidths.
    """
    if points.shape[1] < GEMM_FROM_DIMENSION or profile.name not in _EXPONENTIAL_PROFILES:
        return None
    mean = points[:n].mean(axis=0, dtype=np.float64).astype(points.dtype)
    centred = points - mean
    norms = np.einsum("ij,ij->i", centred, centred)
    if float(norms[:n].max()) * float(np.finfo(points.dtype).eps) > 1e-4:
        return None
    return _Products(mean, centred, norms)


def _weight_terms(
    profile: Profile, points: Array, h: Array, log_factor: Array, factor: Array
) -> _Terms:
    """Terms of the mean: factor_j g(u_j)."""
    squared = h**2
    limit = profile.squared_reach * squared
    factor = factor / 2.0 ** np.ceil(np.log2(factor.max()))
    starved = _starved(factor, points.dtype)
    if profile.name == "flat":
        return _pack(_loops.FLAT, points, factor, np.zeros_like(h), limit, starved)
    if profile.name == "epanechnikov":
        return _pack(_loops.LINEAR, points, factor, -factor / squared, limit, starved)
    return _exponential_terms(points, log_factor - log_factor.max(), squared, limit)


def _starved(factor: Array, dtype: np.dtype[Any]) -> float:
    """Total below which factors may have been lost to underflow; nought when none can be."""
    tiny = float(np.finfo(dtype).tiny)
    return tiny if factor.min() < tiny else 0.0


def _exponential_terms(points: Array, log_factor: Array, squared: Array, limit: Array) -> _Terms:
    """Terms exp(log_factor_j - u_j / 2), nought beyond the reach and where precision ends.

    A pair is left out once its weight is below machine epsilon times the least factor. A start
    on a data point has at least that factor as its total, and the total never falls on the way
    up, so what is left out stays below n epsilon of the total.
    """
    info = np.finfo(points.dtype)
    offset = log_factor * _LOG2E
    slope = -0.5 * _LOG2E / squared
    epsilon_bits = -np.log2(float(info.eps))
    cut = max(float(offset.min()) - epsilon_bits, float(info.minexp) + 1.0)
    limit = np.minimum(limit, np.maximum((offset - cut) / -slope, 0.0))
    starved = float(np.exp2(cut + epsilon_bits - 6.0))
    return _pack(_loops.EXPONENTIAL, points, offset, slope, limit, starved=starved)


def _pack(
    kind: int, points: Array, offset: Array, slope: Array, limit: Array, starved: float = 0.0
) -> _Terms:
    """Pad the points' terms to whole blocks, and sum up each block."""
    n = offset.shape[0]

    def padded(values: Array, fill: float) -> Array:
        out = np.full(points.shape[0], fill, dtype=points.dtype)
        out[:n] = values
        return out

    offset, slope = padded(offset, 0.0), padded(slope, 0.0)
    reach, inner = padded(limit, -1.0), padded(limit, np.inf)
    n_blocks = points.shape[0] // BLOCK
    block_inner = inner.reshape(n_blocks, BLOCK).min(axis=1)
    whole_sums = np.zeros((n_blocks, points.shape[1]), dtype=points.dtype)
    whole_total = np.zeros(n_blocks, dtype=points.dtype)
    if kind == _loops.FLAT:
        _loops.block_sums(points, offset, whole_sums, whole_total)
    else:
        block_inner = np.full(n_blocks, -1.0, dtype=points.dtype)
    block_reach = reach.reshape(n_blocks, BLOCK).max(axis=1)
    return _Terms(
        kind, offset, slope, reach, block_reach, block_inner, whole_sums, whole_total, starved
    )


def _sums(density: Density, terms: _Terms, starts: Array, pool: threads) -> tuple[Array, Array]:
    """Sum of weighted points and of weights for each start (working coordinates)."""
    m, d = starts.shape
    sums, total = np.empty((m, d)), np.empty(m)
    if density.products is not None and terms.kind == _loops.EXPONENTIAL:
        _sums_by_products(density.products, density.points, terms, starts, pool, sums, total)
        return sums, total
    eps = np.finfo(density.dtype).eps
    slack = density.dtype.type(1.0 + 8.0 * (d + 2) * eps)

    def task(first: int) -> None:
        _loops.weighted_sums(
            terms.kind,
            starts,
            density.points,
            terms.offset,
            terms.slope,
            terms.limit,
            density.box_low,
            density.box_high,
            terms.block_reach,
            terms.block_inner,
            terms.whole_sums,
            terms.whole_total,
            slack,
            first,
            min(first + _TASK, m),
            sums,
            total,
        )

    pool.map(task, range(0, m, _TASK))
    return sums, total


def _sums_by_products(
    products: _Products,
    points: Array,
    terms: _Terms,
    starts: Array,
    pool: threads,
    sums: Array,
    total: Array,
) -> None:
    """As ``_sums``, by matrix products: for many columns."""
    m, d = starts.shape

    def task(first: int) -> None:
        part = starts[first : first + _GEMM_STARTS]
        used = part.shape[0]
        # Always the same shape: the last, short one would otherwise be summed in another order.
        block = np.zeros((_GEMM_STARTS, d), dtype=points.dtype)
        block[:used] = part - products.mean
        norms = np.einsum("ij,ij->i", block, block)
        block_sums, block_total = np.zeros((_GEMM_STARTS, d)), np.zeros(_GEMM_STARTS)
        for begin in range(0, points.shape[0], _GEMM_POINTS):
            here = slice(begin, begin + _GEMM_POINTS)
            weight = block @ products.points[here].T
            _loops.weights_from_products(
                weight,
                norms,
                products.norms[here],
                terms.offset[here],
                terms.slope[here],
                terms.limit[here],
            )
            block_sums += weight @ points[here]
            block_total += weight.sum(axis=1, dtype=np.float64)
        sums[first : first + used] = block_sums[:used]
        total[first : first + used] = block_total[:used]

    with one_blas_thread():
        pool.map(task, range(0, m, _GEMM_STARTS))


def mean_step(density: Density, starts: Array, pool: threads) -> tuple[Array, Array]:
    """One mean-shift step m(x) from each start, in working coordinates.

    Returns
    -------
    means : ndarray of shape (m, d)
        Where each start moves to. A start that no point reaches stays where it is.
    total : ndarray of shape (m,)
        Sum of the weights, relative to the largest factor; nought where no point reaches.
    """
    sums, total = _sums(density, density.terms, starts, pool)
    reached = total > 0
    means = starts.copy()
    np.divide(sums, total[:, None], out=sums, where=reached[:, None])
    means[reached] = sums[reached]
    starved = np.flatnonzero(total < density.terms.starved)
    if starved.size:
        means[starved], total[starved] = _careful_step(density, starts[starved])
    return means, total


def _careful_step(density: Density, starts: Array) -> tuple[Array, Array]:
    """``mean_step`` in logarithms: no weight underflows. Slow; for the few that need it."""
    points = density.points[: density.n_points].astype(np.float64)
    log_factor = density.log_weight - (density.dimension + 2.0) * np.log(density.bandwidth)
    log_factor -= log_factor.max()
    means, total = np.empty(starts.shape), np.empty(starts.shape[0])
    for part, u in _scaled_distances(density, points, starts):
        log_weight = log_factor + density.profile.log_weight(u)
        peak = log_weight.max(axis=1, keepdims=True)
        reached = np.isfinite(peak[:, 0])
        weight = np.exp(log_weight - np.where(np.isfinite(peak), peak, 0.0))
        here = weight.sum(axis=1)
        means[part] = starts[part]
        means[part][reached] = (weight[reached] @ points) / here[reached, None]
        # The caller needs to know only that something reaches the start.
        tiny = np.finfo(np.float64).tiny
        total[part] = np.where(reached, np.maximum(here * np.exp(peak[:, 0]), tiny), 0.0)
    return means.astype(density.dtype), total


def _scaled_distances(
    density: Density, points: Array, starts: Array
) -> Iterator[tuple[slice, Array]]:
    """u_ij for a few starts at a time, in float64."""
    rows = max(1, _CAREFUL_PAIRS // points.shape[0])
    for first in range(0, starts.shape[0], rows):
        part = slice(first, first + rows)
        yield (
            part,
            cdist(starts[part].astype(np.float64), points, "sqeuclidean") / density.bandwidth**2,
        )


def log_density(density: Density, X: Array, pool: threads) -> Array:
    r"""Logarithm of the density at each row of X (working coordinates), normalised.

    .. math:: \log \frac{1}{\sum_j w_j} \sum_j w_j \frac{k(u_j)}{h_j^d \int k(\|x\|^2) dx}

    minus infinity where no point reaches.
    """
    d = X.shape[1]
    profile, h, points = density.profile, density.bandwidth, density.points
    log_factor = density.log_weight - d * np.log(h)
    top = log_factor.max()
    factor = np.exp(log_factor - top)
    limit = profile.squared_reach * h**2
    starved = _starved(factor, points.dtype)

    def sums(terms: _Terms) -> Array:
        return _sums(density, terms, X, pool)[1]

    if profile.name == "flat":
        total = sums(_pack(_loops.LINEAR, points, factor, -factor / h**2, limit))
    elif profile.name == "epanechnikov":
        root = np.sqrt(0.5 * factor)
        total = sums(_pack(_loops.SQUARE, points, root, -root / h**2, limit))
    else:
        terms = _exponential_terms(points, log_factor - top, h**2, limit)
        total = 2.0 * sums(terms)
        if np.isfinite(profile.squared_reach):
            edge = 2.0 * np.exp(-0.5 * profile.squared_reach)
            inside = sums(_pack(_loops.FLAT, points, factor, np.zeros_like(h), limit))
            total = np.maximum(total - edge * inside, 0.0)
        else:
            starved = terms.starved
    with np.errstate(divide="ignore"):
        logs = np.log(total)
        thin = np.flatnonzero(total < starved)
        real = points[: density.n_points].astype(np.float64)
        for part, u in _scaled_distances(density, real, X[thin]):
            gaussian = profile.name == "gaussian"  # its shadow would underflow far out
            log_shadow = np.log(2.0) - 0.5 * u if gaussian else np.log(profile.shadow(u))
            logs[thin[part]] = logsumexp(log_factor - top + log_shadow, axis=1)
    total_weight = logsumexp(density.log_weight)
    return logs + top - total_weight - profile.log_mass(d) - d * np.log(density.scale)
