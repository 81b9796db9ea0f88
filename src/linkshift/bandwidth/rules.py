"""Rules for bandwidths."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist, pdist
from sklearn.utils import check_array

from linkshift._core.arrays import Array
from linkshift._core.messages import Advice, warn
from linkshift._core.text import counted
from linkshift.profiles import Profile, ProfileName, get_profile
from linkshift.shift.neighbours import block_order, nearest_neighbours

_FLOATS = [np.float64, np.float32]
_MOST_QUERIES = 2000
_COINCIDENT = 1e-6  # bandwidths below this share of the extent are rounding
_CHUNK_PAIRS = 1 << 22


def default_bandwidth(
    X: ArrayLike, profile: ProfileName | Profile, *, sample_weight: Array | None = None
) -> float:
    r"""Bandwidth from the data: the median distance to a moderately far neighbour.

    .. math:: r = \operatorname{median}_i \, \|x_i - x_{i,(k)}\|, \qquad
              k = 32 \left(1 + \frac{2}{d}\right)
                  \left(\frac{n}{1000}\right)^{\frac{d + 18}{4 d + 24}}

    For kernels with a sharp end the bandwidth is r. For a Gaussian it is the one that smooths as
    much, :math:`r / \sqrt{d + 2}`, but not less than :math:`r / \sqrt{2 \log k}`: below that a
    point outweighs its k neighbours together and every point becomes its own cluster, which is
    what happens in many dimensions.

    The exponent of n lies half-way between 1/2 and 6 / (d + 6), at which r shrinks with n as is
    best for estimating the gradient of a density; the constants are fitted to some thirty data
    sets. ``sklearn.cluster.estimate_bandwidth`` takes a fixed share of n (30 % by default) and so
    merges whatever has more than about three clusters;
    `benchmarks/quality/default_bandwidth.py` compares both.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Data. Above 2,000 rows, the median is taken over 2,000 of them, evenly spread over the
        data; neighbours are sought among all rows.
    profile : str or Profile
        The kernel that the bandwidth is for.
    sample_weight : ndarray of shape (n,), optional
        Counts of the rows.

    Returns
    -------
    float
        Always positive; 1.0 when all points coincide (any bandwidth gives one cluster then).

    Examples
    --------
    >>> from linkshift.bandwidth import default_bandwidth
    >>> default_bandwidth([[float(x)] for x in range(16)], "flat")
    3.0
    """
    profile = get_profile(profile)
    data, weight = _positive(check_array(X, dtype=_FLOATS), sample_weight)
    n_effective = float(data.shape[0] if weight is None else weight.sum())
    if weight is not None and n_effective < 0.1 * data.shape[0]:
        raise ValueError(
            "The default bandwidth takes sample weights as counts of rows, but "
            f"{data.shape[0]} rows have a total weight of {n_effective:.3g}. Give bandwidth=... or "
            "scale the weights so that they add up to about the number of rows."
        )
    d = data.shape[1]
    power = (d + 18.0) / (4.0 * d + 24.0)
    k = np.round(32.0 * (1.0 + 2.0 / d) * (n_effective / 1000.0) ** power)
    k = min(max(1.0, k), n_effective - 1.0)
    if k < 1.0:
        return 1.0
    queries = _spread_rows(data)
    distance = _kth_distance(data, k, queries, weight)
    r = _weighted_median(distance, None if weight is None else weight[queries])
    if r == 0.0:  # more than half of the points have k twins: fall back on those that have not
        positive = distance[distance > 0]
        r = float(positive.min()) if positive.size else _farthest(data)
    if r == 0.0:
        return 1.0
    return r * _carried_over(profile, d, k)


def _carried_over(profile: Profile, d: int, k: float) -> float:
    """Factor from the radius of k neighbours to the bandwidth of a kernel."""
    if profile.name == "gaussian":
        self_dominance = 1.0 / np.sqrt(2.0 * np.log(max(k, 2.0)))
        return max(Profile("flat").spread(d), min(float(self_dominance), 1.0))
    assert profile.reach is not None
    return max(1.0, 1.0 / profile.reach)


def neighbour_bandwidth(
    X: ArrayLike, n_neighbors: int, *, sample_weight: Array | None = None
) -> Array:
    r"""One bandwidth for each point: the distance to its k-th neighbour.

    .. math:: h_i = \|x_i - x_{i,(k)}\|_2

    The rule of Tuzel et al. (2009) and of Cheema's thesis (2016, eq. 4.3). The point itself is
    not counted. Where k neighbours coincide with the point, the distance is zero; such points
    get the smallest positive bandwidth of the others (1.0 when all points coincide). A hair is
    added (1e-9 of it, 1e-6 in float32): the k-th neighbour stands on the very edge of a truncated
    kernel, and rounding must not decide whether it counts.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Data.
    n_neighbors : int
        k, at most n - 1.
    sample_weight : ndarray of shape (n,), optional
        Counts of the rows; a row of weight 2 has a twin as its first neighbour.

    Returns
    -------
    ndarray of shape (n,), float64

    Examples
    --------
    >>> from linkshift.bandwidth import neighbour_bandwidth
    >>> neighbour_bandwidth([[0.0], [1.0], [3.0]], 1)
    array([1., 1., 2.])
    """
    data: Array = check_array(X, dtype=_FLOATS)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    available = (data.shape[0] if weight is None else float(weight.sum())) - 1
    if not 1 <= n_neighbors <= available:
        raise ValueError(
            f"n_neighbors={n_neighbors} needs as many other points, and n_samples = "
            f"{available + 1:g} leaves {available:g}; take fewer neighbours."
        )
    h = _kth_distance(data, float(n_neighbors), np.arange(data.shape[0]), weight)
    h *= 1.0 + (1e-6 if data.dtype == np.float32 else 1e-9)
    positive = h[(h > 0) & (True if weight is None else weight > 0)]
    h[h == 0] = positive.min() if positive.size else 1.0
    return h


def pair_quantile(X: ArrayLike, quantile: float) -> float:
    """Quantile of the distances between pairs of points.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Data; above 2,000 rows, 2,000 of them, evenly spread over the data.
    quantile : float in [0, 1]
        Which quantile.

    Examples
    --------
    >>> from linkshift.bandwidth import pair_quantile
    >>> pair_quantile([[0.0], [1.0], [3.0]], 0.5)
    2.0
    """
    if not 0.0 <= quantile <= 1.0:
        raise ValueError(f"quantile must be between 0 and 1, got {quantile!r}.")
    return float(np.quantile(pair_distances(X), quantile))


def pair_distances(X: ArrayLike) -> Array:
    """Distances between all pairs of points; above 2,000 rows, of 2,000 evenly spread ones.

    Examples
    --------
    >>> from linkshift.bandwidth import pair_distances
    >>> pair_distances([[0.0], [1.0], [3.0]])
    array([1., 3., 2.])
    """
    data: Array = check_array(X, dtype=_FLOATS)
    if data.shape[0] < 2:
        raise ValueError("A pair needs two points; data has one row.")
    return pdist(data[_spread_rows(data)])


def pair_mean(X: ArrayLike) -> float:
    """Mean of :func:`pair_distances`; 1.0 when all points coincide.

    Examples
    --------
    >>> from linkshift.bandwidth import pair_mean
    >>> pair_mean([[0.0], [1.0], [3.0]])
    2.0
    """
    return float(pair_distances(X).mean()) or 1.0


def pair_range(X: ArrayLike) -> tuple[float, float]:
    """Smallest nonzero and largest distance between two points; (1, 1) when all coincide.

    The smallest is at least 1e-12 of the largest: below that, rounding decides.

    Examples
    --------
    >>> from linkshift.bandwidth import pair_range
    >>> pair_range([[0.0], [0.0], [1.0], [3.0]])
    (1.0, 3.0)
    """
    data: Array = check_array(X, dtype=_FLOATS)
    distinct = np.unique(data, axis=0).astype(np.float64)
    if distinct.shape[0] < 2:
        return 1.0, 1.0
    nearest, _ = nearest_neighbours(distinct, 1)
    rows = max(1, _CHUNK_PAIRS // distinct.shape[0])
    largest = max(
        float(cdist(distinct[first : first + rows], distinct[first:], "sqeuclidean").max())
        for first in range(0, distinct.shape[0], rows)
    )
    high = float(np.sqrt(largest))
    return max(float(nearest.min()), 1e-12 * high), high


def grow(
    low: float, high: float, n_steps: int, schedule: Literal["linear", "geometric"] = "linear"
) -> Array:
    """Bandwidths that grow from ``low`` to ``high`` in ``n_steps`` steps.

    Examples
    --------
    >>> from linkshift.bandwidth import grow
    >>> grow(1.0, 4.0, 3, "geometric")
    array([1., 2., 4.])
    """
    steps = np.geomspace if schedule == "geometric" else np.linspace
    return steps(low, high, n_steps)


def _positive(X: Array, sample_weight: Array | None) -> tuple[Array, Array | None]:
    """Leave out rows of weight zero; no weights when all are one."""
    if sample_weight is None:
        return X, None
    weight = np.asarray(sample_weight, dtype=np.float64)
    kept = weight > 0
    return X[kept], None if (weight[kept] == 1).all() else weight[kept]


def _spread_rows(X: Array) -> Array:
    """At most 2,000 rows, evenly spread over the data; no randomness, whatever the row order."""
    if X.shape[0] <= _MOST_QUERIES:
        return np.arange(X.shape[0])
    picks = np.linspace(0, X.shape[0] - 1, _MOST_QUERIES).astype(np.intp)
    return block_order(X)[picks]


def _kth_distance(X: Array, k: float, queries: Array, weight: Array | None) -> Array:
    """Distance at which the other rows' counts add up to k, for the rows ``queries``."""
    if weight is None:
        # One more than k: the row itself comes first, or a twin of it, at distance zero.
        return nearest_neighbours(X, int(k) + 1, X[queries])[0][:, -1]
    out = np.empty(queries.shape[0])
    rows = max(1, _CHUNK_PAIRS // X.shape[0])
    for first in range(0, queries.shape[0], rows):
        part = queries[first : first + rows]
        distance = cdist(X[part], X)
        # The row itself stands first; of its own count, one is the row, the rest are twins.
        distance[np.arange(part.size), part] = -1.0
        order = np.argsort(distance, axis=1, kind="stable")
        count = np.cumsum(weight[order], axis=1) - 1.0
        reached = np.argmax(count >= k - 1e-9, axis=1)
        reached[count[:, -1] < k - 1e-9] = X.shape[0] - 1
        chosen = np.take_along_axis(distance, np.take_along_axis(order, reached[:, None], 1), 1)
        out[first : first + part.size] = np.maximum(chosen[:, 0], 0.0)
    return out


def _weighted_median(values: Array, weight: Array | None) -> float:
    """Median of values, each as often as its weight says."""
    if weight is None:
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    count = np.cumsum(weight[order])
    half = count[-1] / 2.0
    last = values.shape[0] - 1
    lower = min(int(np.searchsorted(count, half, side="left")), last)
    upper = min(int(np.searchsorted(count, half, side="right")), last)
    return float((values[order[lower]] + values[order[upper]]) / 2.0)


def _farthest(X: Array) -> float:
    """Return a distance that is positive whenever two points differ."""
    return float(np.linalg.norm((X - X[0]).astype(np.float64), axis=1).max())


def checked_bandwidth(bandwidth: ArrayLike, n: int) -> float | Array:
    """Check a bandwidth that was given: one positive number, or one for each of n rows."""
    if np.ndim(bandwidth) == 0:
        number = float(bandwidth)  # type: ignore[arg-type]
        if not np.isfinite(number):
            raise ValueError(f"bandwidth must be finite, got {number}.")
        return number
    array: Array = check_array(bandwidth, ensure_2d=False, dtype=np.float64)
    if array.shape != (n,):
        raise ValueError(
            f"bandwidth must be a number or have one entry for each of the {n} rows; its shape is "
            f"{array.shape}."
        )
    if (array <= 0).any():
        row = int(np.argmax(array <= 0))
        raise ValueError(f"bandwidth must be positive; row {row} has {array[row]:g}.")
    return array


def neighbours_at_hand(n_neighbors: int, n_points: int) -> int:
    """Return k for bandwidths: ``n_neighbors``, or all other points, with a warning."""
    k = min(n_neighbors, n_points - 1)
    if k < n_neighbors:
        warn(
            Advice(
                f"{counted(n_neighbors, 'neighbour')} asked for, and there are only {k} other "
                "points: bandwidths reach to the farthest.",
                "Take a smaller n_neighbors.",
                command="Take a smaller --n-neighbors.",
                parameter="n_neighbors",
                value=n_neighbors,
            )
        )
    return k


def spread_bandwidth(points: Array, k: int) -> Array:
    """Distance of each point to its k-th neighbour, lifted where neighbours coincide with it."""
    radius = float(np.linalg.norm(points - points.mean(axis=0), axis=1).max())
    return lift_coincident(neighbour_bandwidth(points, k), radius)


def lift_coincident(bandwidth: Array, extent: float) -> Array:
    """Where k neighbours coincide but for rounding, take the least bandwidth of the others."""
    real = bandwidth > _COINCIDENT * extent
    least = bandwidth[real].min() if real.any() else 1.0
    return np.where(real, bandwidth, least)
