"""Sums over all points, as the hot loops take them: the weight of each point by its distance."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkshift._core.arrays import Array
from linkshift.profiles import Profile
from linkshift.shift import _loops
from linkshift.shift._loops import BLOCK

# From here up two matrix products beat the jit loop (measured: benchmarks/speed/gemm.py).
GEMM_FROM_DIMENSION = 64
_LOG2E = float(np.log2(np.e))
_EXPONENTIAL_PROFILES = ("gaussian", "truncated_gaussian")


class Blocks(NamedTuple):
    """Points in blocks of neighbours (the last padded), and the box around each block."""

    points: Array
    low: Array
    high: Array


class Terms(NamedTuple):
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


class Products(NamedTuple):
    """Points about their mean and their squared norms, for distances by matrix products."""

    mean: Array
    points: Array
    norms: Array


def make_products(profile: Profile, points: Array, n: int) -> Products | None:
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
    return Products(mean, centred, norms)


def weight_terms(
    profile: Profile, points: Array, h: Array, log_factor: Array, factor: Array
) -> Terms:
    """Terms of the mean: factor_j g(u_j)."""
    squared = h**2
    limit = profile.squared_reach * squared
    factor = factor / 2.0 ** np.ceil(np.log2(factor.max()))
    starved = starved_below(factor, points.dtype)
    if profile.name == "flat":
        return pack(_loops.FLAT, points, factor, np.zeros_like(h), limit, starved)
    if profile.name == "epanechnikov":
        return pack(_loops.LINEAR, points, factor, -factor / squared, limit, starved)
    return exponential_terms(points, log_factor - log_factor.max(), squared, limit)


def starved_below(factor: Array, dtype: np.dtype[Any]) -> float:
    """Total below which factors may have been lost to underflow; zero when none can be."""
    tiny = float(np.finfo(dtype).tiny)
    return tiny if factor.min() < tiny else 0.0


def exponential_terms(points: Array, log_factor: Array, squared: Array, limit: Array) -> Terms:
    """Terms exp(log_factor_j - u_j / 2), zero beyond the reach and where precision ends.

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
    return pack(_loops.EXPONENTIAL, points, offset, slope, limit, starved=starved)


def pack(
    kind: int, points: Array, offset: Array, slope: Array, limit: Array, starved: float = 0.0
) -> Terms:
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
    return Terms(
        kind, offset, slope, reach, block_reach, block_inner, whole_sums, whole_total, starved
    )
