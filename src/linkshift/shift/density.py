r"""A kernel density over weighted points, and what can be done with it.

.. math::

    f(x) = \sum_j w_j h_j^{-d} \, k\!\left(\frac{\|x - x_j\|^2}{h_j^2}\right), \qquad
    m(x) = \frac{\sum_j w_j h_j^{-(d+2)} g(u_j) \, x_j}{\sum_j w_j h_j^{-(d+2)} g(u_j)}, \qquad
    u_j = \frac{\|x - x_j\|^2}{h_j^2}

The factors :math:`w_j h_j^{-(d+2)}` are kept as logarithms relative to the largest, so that no
power of a bandwidth under- or overflows. Memory is O(n d) for the points and O(block) besides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from scipy.special import softmax

from linkshift._core.arrays import Array
from linkshift._core.messages import Refusal
from linkshift.modes import Modes, basin_labels, merge_ends
from linkshift.profiles import Profile
from linkshift.shift._checks import (
    check_points,
    check_profile,
    checked_bandwidth,
    checked_dimension,
    checked_weight,
)
from linkshift.shift._loops import BLOCK
from linkshift.shift.engine import ascend
from linkshift.shift.landscape import Ascent
from linkshift.shift.neighbours import block_order, boxes
from linkshift.shift.terms import Blocks, Products, Terms, make_products, weight_terms

__all__ = ["Density", "build_density"]


# float32 resolves positions to 1e-4 bandwidths while the data spans at most this many of them.
_SINGLE_SPAN = 1e3
# Weights that span more bits than this would underflow in float32.
_SINGLE_BITS = 64.0
_LOG2E = float(np.log2(np.e))
_POSITIONS = 64  # at a time, when they are taken to other columns


@dataclass(frozen=True)
class Density:
    """Weighted points with bandwidths and a profile, laid out for the hot loops.

    Rows are in block order and in *working coordinates*: ``(x - centre) / scale`` with a power
    of two for scale, so that scaling is exact and numbers stay near one for any unit.

    It is a :class:`linkshift.shift.landscape.Landscape`: see there for its verbs.
    """

    profile: Profile
    dtype: np.dtype[Any]  # working precision
    centre: Array  # of the working coordinates
    scale: float
    rows: Array  # which row of the input each point is; rows of weight zero are left out
    blocks: Blocks
    bandwidth: Array  # of each point, as the weights in the order of ``rows``; in working units
    log_weight: Array
    typical_bandwidth: float  # geometric mean by weight: what tolerances refer to
    dimension: float  # the d of h^(d+2)
    terms: Terms
    products: Products | None
    given: dict[str, Any] = field(repr=False)  # arguments of ``build_density``, not copied

    @property
    def n_points(self) -> int:
        """Number of points with a weight."""
        return self.rows.shape[0]

    @property
    def points(self) -> Array:
        """Points in working coordinates, padded to whole blocks."""
        return self.blocks.points

    def to_working(self, X: Array) -> Array:
        """Input coordinates to working coordinates and precision."""
        shifted = (np.asarray(X, dtype=self.centre.dtype) - self.centre) / self.scale
        return np.ascontiguousarray(shifted, dtype=self.dtype)

    def to_input(self, positions: Array) -> Array:
        """Working coordinates back to the input's coordinates and precision."""
        dtype = self.centre.dtype
        return (positions.astype(dtype) * self.scale + self.centre).astype(dtype)

    def inputs(self) -> dict[str, Any]:
        """Return what :func:`build_density` was given."""
        return dict(self.given)

    def to_starts(self, X: Array) -> Array:
        """Rows in the coordinates in which is climbed: as they are."""
        return X

    def to_columns(self, positions: Array, rows: Array) -> Array:
        """Mean of the rows, weighted as mean shift weighs the points at each position."""
        X, h = self.given["X"], np.asarray(self.given["bandwidth"], dtype=np.float64)
        log_factor = -(self.dimension + 2.0) * np.log(h)
        if self.given["sample_weight"] is not None:
            with np.errstate(divide="ignore"):
                log_factor = log_factor + np.log(self.given["sample_weight"])
        means = np.empty((positions.shape[0], rows.shape[1]))
        for first in range(0, positions.shape[0], _POSITIONS):
            part = slice(first, first + _POSITIONS)
            far = cdist(positions[part], X, "sqeuclidean")
            log_weight = log_factor + self.profile.log_weight(far / h**2)
            log_weight[np.isneginf(log_weight).all(axis=1)] = 0.0  # out of reach: all rows
            means[part] = softmax(log_weight, axis=1) @ rows
        return means

    climb = ascend

    def merge(self, ascent: Ascent, share: float, *, n_threads: int = 1) -> Modes:  # noqa: ARG002
        """Merge ends within ``share`` median bandwidths of each other."""
        radius = share * float(np.median(self.given["bandwidth"]))
        return merge_ends(ascent.ends, ascent.total, radius)

    def label(self, ends: Array, modes: Modes, *, n_threads: int = 1) -> Array:  # noqa: ARG002
        """Label of each end; see :func:`linkshift.modes.basin_labels`."""
        return basin_labels(ends, modes)


def build_density(
    X: Array,
    bandwidth: float | ArrayLike,
    profile: Profile,
    *,
    sample_weight: Array | None = None,
    dimension: float | None = None,
) -> Density:
    """Lay out points for shifting; a :class:`Refusal` names the row that is to blame.

    X is finite, float32 or float64; bandwidths, one for all points or one for each, are positive. A
    ``sample_weight`` of 2 is the row twice. ``dimension`` is the d of h^(d+2), the number of
    columns when not given; it matters only when bandwidths differ.
    """
    given = dict(locals())  # the arguments
    check_points(X, "X")
    check_profile(profile)
    n, d = X.shape
    h, weight = checked_bandwidth(bandwidth, n), checked_weight(sample_weight, n)
    kept = np.flatnonzero(weight > 0)
    X_kept, h, weight = X[kept], h[kept], weight[kept]
    exponent = checked_dimension(dimension, d)

    typical = float(h[0])
    if (h != typical).any():
        typical = float(np.exp(np.average(np.log(h), weights=weight)))
    scale = float(2.0 ** np.round(np.log2(typical)))
    _check_units(X_kept, scale)
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
        blocks=Blocks(points, *boxes(ordered)),
        bandwidth=h,
        log_weight=log_weight,
        typical_bandwidth=typical / scale,
        dimension=exponent,
        terms=weight_terms(profile, points, h, log_factor, factor[order]),
        products=make_products(profile, points, ordered.shape[0]),
        given=given,
    )


def _check_units(X: Array, scale: float) -> None:
    """Refuse positions that are no numbers any more in units of the bandwidth."""
    largest, limits = float(np.abs(X).max(initial=0.0)), np.finfo(X.dtype)
    if scale >= limits.tiny and largest <= scale * float(limits.max) / 4.0:
        return
    raise Refusal(
        f"A bandwidth of about {scale:.1g} is too small for numbers up to {largest:.3g}: no "
        f"{X.dtype.name} holds how many bandwidths that is.",
        "Take a larger bandwidth, or divide the columns by their spread.",
        command="Take a larger --bandwidth, or --scale standard.",
        parameter="bandwidth",
    )
