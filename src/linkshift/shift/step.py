"""Where mean shift points from any position, and how dense it is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from linkshift._core.arrays import Array
from linkshift._core.threads import one_blas_thread, threads
from linkshift.shift import _loops
from linkshift.shift._loops import LANES
from linkshift.shift.terms import Products, Terms, exponential_terms, pack, starved_below

if TYPE_CHECKING:
    from linkshift.shift.density import Density

__all__ = ["log_density", "mean_step"]


_TASK = 4 * LANES  # starts per unit of work: fixed, so that threads never change a sum
_GEMM_STARTS, _GEMM_POINTS = 64, 2048  # few starts are soon all that is left: no large blocks
_MANY_TASKS = 32
_CAREFUL_PAIRS = 1 << 20


def _sums(
    density: Density,
    terms: Terms,
    starts: Array,
    pool: threads,
    told: Callable[[int], None] | None = None,
) -> tuple[Array, Array]:
    """Sum of weighted points and of weights for each start (working coordinates)."""
    if density.products is not None and terms.kind == _loops.EXPONENTIAL:
        return _sums_by_products(density.products, density.points, terms, starts, pool, told)
    m, d = starts.shape
    sums, total = np.empty((m, d)), np.empty(m)
    eps = np.finfo(density.dtype).eps
    slack = density.dtype.type(1.0 + 8.0 * (d + 2) * eps)

    def task(first: int) -> None:
        last = min(first + _TASK, m)
        _loops.weighted_sums(terms, density.blocks, starts, slack, first, last, sums, total)

    pool.map(task, range(0, m, _TASK), told=_counting(told, _TASK, m))
    return sums, total


def _counting(told: Callable[[int], None] | None, each: int, m: int) -> Any:
    """Tell how many starts are done, where there are so many that a step may take a while."""
    if told is None or m < _MANY_TASKS * each:
        return None
    return lambda done: told(min(done * each, m))


def _sums_by_products(
    products: Products,
    points: Array,
    terms: Terms,
    starts: Array,
    pool: threads,
    told: Callable[[int], None] | None,
) -> tuple[Array, Array]:
    """As ``_sums``, by matrix products: for many columns."""
    m, d = starts.shape
    sums, total = np.empty((m, d)), np.empty(m)
    of_points = products.norms, terms.offset, terms.slope, terms.limit

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
            _loops.weights_from_products(weight, norms, *(values[here] for values in of_points))
            block_sums += weight @ points[here]
            block_total += weight.sum(axis=1, dtype=np.float64)
        sums[first : first + used] = block_sums[:used]
        total[first : first + used] = block_total[:used]

    with one_blas_thread():
        pool.map(task, range(0, m, _GEMM_STARTS), told=_counting(told, _GEMM_STARTS, m))
    return sums, total


def mean_step(
    density: Density, starts: Array, pool: threads, told: Callable[[int], None] | None = None
) -> tuple[Array, Array]:
    """One mean-shift step m(x) from each start, in working coordinates.

    ``told`` hears of how many starts it is known, where there are many.

    Returns where each start moves to, and the sum of its weights relative to the largest factor. A
    start that no point reaches stays where it is, with a sum of zero.
    """
    sums, total = _sums(density, density.terms, starts, pool, told)
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
        squared = cdist(starts[part].astype(np.float64), points, "sqeuclidean")
        yield part, squared / density.bandwidth**2


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
    starved = starved_below(factor, points.dtype)

    def sums(terms: Terms) -> Array:
        return _sums(density, terms, X, pool)[1]

    if profile.name == "flat":
        total = sums(pack(_loops.LINEAR, points, factor, -factor / h**2, limit))
    elif profile.name == "epanechnikov":
        root = np.sqrt(0.5 * factor)
        total = sums(pack(_loops.SQUARE, points, root, -root / h**2, limit))
    else:
        terms = exponential_terms(points, log_factor - top, h**2, limit)
        total = 2.0 * sums(terms)
        if np.isfinite(profile.squared_reach):
            edge = 2.0 * np.exp(-0.5 * profile.squared_reach)
            inside = sums(pack(_loops.FLAT, points, factor, np.zeros_like(h), limit))
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
