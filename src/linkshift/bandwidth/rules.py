"""Rules for bandwidths."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist, pdist
from sklearn.utils import check_array

from linkshift._core.arrays import Array, varying_columns
from linkshift._core.messages import Advice, warn
from linkshift._core.text import counted
from linkshift.modes import merge_close
from linkshift.profiles import Profile, ProfileName, get_profile
from linkshift.shift._checks import checked_weight
from linkshift.shift.neighbours import block_order, nearest_neighbours

_FLOATS = [np.float64, np.float32]
_MOST_QUERIES = 2000
_COINCIDENT = 1e-6  # bandwidths below this share of the extent are rounding
_CHUNK_PAIRS = 1 << 22
_ROUNDING = 1e-9  # of sums of distances
_LEAST_CLUSTER = 10  # rows that a gap may set apart: fewer are chance, or one thing measured often


def default_bandwidth(
    X: ArrayLike,
    profile: ProfileName | Profile,
    *,
    sample_weight: Array | None = None,
    stands_for: float = 1.0,
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
    sets. A constant column does not count in d.

    Clusters may be smaller than k rows. Where the distance r_j to the j-th neighbour more than
    doubles with j, there is a gap between clusters: it doubles along a line, and grows less in a
    plane. With the first j from 10 on at which :math:`r_{2j} > 2 (1 + 0.3 / \sqrt j) r_j` (in one
    column, thrice), k is the last number with :math:`r_k \leq \sqrt{r_j r_{2j}}`.

    Where more than half of the rows have k twins, r would be zero. Then it is that of the distinct
    rows, each counted once, but at most half the median distance from a row with k twins to the
    nearest other one (half that to the farthest row, where there is only one such place): places
    that many rows share are clusters. Rows that differ by rounding alone are twins.

    ``sklearn.cluster.estimate_bandwidth`` takes a fixed share of n (30 % by default) and so
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
    stands_for : float, default=1.0
        Rows that each row stands for, where X is drawn from so many more: the k-th neighbour of
        all is the (k / stands_for)-th of these.

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
    d = max(int(varying_columns(np.ptp(data, axis=0)).sum()), 1)
    k = _count_neighbours(n_effective * stands_for, d)
    if k < 1.0:
        return 1.0
    if stands_for != 1.0:
        k = min(max(1.0, float(np.round(k / stands_for))), n_effective - 1.0)
    radii = _median_radii(data, k, weight)
    eps = float(np.finfo(data.dtype).eps)
    grain = 4.0 * eps * data.shape[1] ** 0.5 * float(np.abs(data).max())
    if radii[-1] > grain:
        r, k = _before_a_gap(radii, k, d)
    else:
        r = _radius_among_twins(data, weight, k, d, grain)
    return r * _carried_over(profile, d, k * stands_for) if r > 0.0 else 1.0


def _count_neighbours(n: float, d: int) -> float:
    """Return k of the default bandwidth; below one when there is no other row."""
    power = (d + 18.0) / (4.0 * d + 24.0)
    k = float(np.round(32.0 * (1.0 + 2.0 / d) * (n / 1000.0) ** power))
    return min(max(1.0, k), n - 1.0)


def _median_radii(X: Array, k: float, weight: Array | None) -> Array:
    """Median distance to the first, second, ... k-th neighbour (the last may be a part of one)."""
    queries = _spread_rows(X)
    counts = np.append(np.arange(1.0, np.ceil(k)), k)
    distance = _neighbour_distances(X, counts, queries, weight)
    if weight is None:
        medians: Array = np.median(distance, axis=0)
        return medians
    return np.array([_weighted_median(column, weight[queries]) for column in distance.T])


def _before_a_gap(radii: Array, k: float, d: int) -> tuple[float, float]:
    """Give the radius of k neighbours, or of as many as there are before a gap; and how many."""
    growth = 3.0 if d == 1 else 2.0
    near = np.arange(_LEAST_CLUSTER, len(radii) // 2 + 1)
    by_chance = 1.0 + 0.3 / np.sqrt(near)  # on a line, 1 in 100 goes beyond
    wide = near[radii[2 * near - 1] > growth * by_chance * radii[near - 1]]
    wide = wide[radii[wide - 1] > 0.0]
    if not wide.size:
        return float(radii[-1]), k
    first = int(wide[0])
    low, high = float(radii[first - 1]), float(radii[2 * first - 1])
    inside = int(np.searchsorted(radii, np.sqrt(low) * np.sqrt(high), side="right"))
    return float(radii[inside - 1]), float(inside)


def _radius_among_twins(X: Array, weight: Array | None, k: float, d: int, grain: float) -> float:
    """Radius where most rows have k twins: see `default_bandwidth`; zero when all rows are."""
    spots, count = _spots(X, weight, grain)
    if spots.shape[0] < 2:
        return 0.0
    few = _count_neighbours(float(spots.shape[0]), d)
    r, _ = _before_a_gap(_median_radii(spots, few, None), few, d)
    shared = count > k
    if shared.sum() < 2:
        return min(r, _farthest(spots, int(np.argmax(count))) / 2.0)
    near = nearest_neighbours(spots[shared], 1)[0][:, 0]
    return min(r, _weighted_median(near, count[shared]) / 2.0)


def _spots(X: Array, weight: Array | None, grain: float) -> tuple[Array, Array]:
    """Places where rows are, in float64, and how many are there; rounding tells no two apart."""
    rows = X.astype(np.float64)
    grid = np.round(rows / grain) * grain if grain > 0.0 else rows
    _, first, spot = np.unique(grid, axis=0, return_index=True, return_inverse=True)
    if first.size <= _MOST_QUERIES:  # rounding may have put twins in cells side by side
        group = merge_close(rows[first] / (grain or 1.0), 4.0)
        spot = group[spot.ravel()]
        first = np.unique(spot, return_index=True)[1]
    return rows[first], np.bincount(spot.ravel(), weights=weight).astype(np.float64)


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
    get the smallest positive bandwidth of the others, but at most half the distance to the
    nearest other place of such points (1.0 when all points coincide). A hair is added (1e-9 of it,
    1e-6 in float32): the k-th neighbour stands on the very edge of a truncated kernel, and rounding
    must not decide whether it counts.

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
    every = np.arange(data.shape[0])
    h = _neighbour_distances(data, np.array([float(n_neighbors)]), every, weight)[:, 0]
    h *= 1.0 + (1e-6 if data.dtype == np.float32 else 1e-9)
    counted_rows = np.ones(h.shape, dtype=bool) if weight is None else weight > 0
    least = h[(h > 0) & counted_rows].min(initial=np.inf)
    twins = h == 0
    if twins.any():
        shared = data[twins & counted_rows]
        h[twins] = np.minimum(least, _elsewhere(data[twins], shared, 0.0) / 2.0)
    h[np.isinf(h)] = 1.0
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
    high = _diameter(distinct)
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


def _diameter(X: Array) -> float:
    """Return the largest distance between two rows.

    No two rows are farther apart than their distances from the middle add up to: rows that are far
    out come first, and those whose sum stays below the largest distance yet are not compared.
    """
    middle = X.mean(axis=0, keepdims=True)
    out = cdist(X, middle)[:, 0]
    order = np.argsort(-out, kind="stable")
    X, out = X[order], out[order]
    largest = 0.0
    first = 0
    while first < X.shape[0] and 2.0 * out[first] * (1.0 + _ROUNDING) >= largest:
        # Few rows at first: these are the farthest out, and what they find spares most of the work.
        rows = max(1, min(_CHUNK_PAIRS // X.shape[0], 8 * (first + 1)))
        reach = (largest - out[first]) * (1.0 - _ROUNDING)
        last = int(np.searchsorted(-out, -reach, side="right"))
        found = cdist(X[first : first + rows], X[first : max(last, first + rows)], "sqeuclidean")
        largest = max(largest, float(np.sqrt(found.max())))
        first += rows
    return largest


def _positive(X: Array, sample_weight: Array | None) -> tuple[Array, Array | None]:
    """Leave out rows of weight zero; no weights when all are one."""
    if sample_weight is None:
        return X, None
    weight = checked_weight(sample_weight, X.shape[0])
    kept = weight > 0
    return X[kept], None if (weight[kept] == 1).all() else weight[kept]


def _spread_rows(X: Array) -> Array:
    """At most 2,000 rows, evenly spread over the data; no randomness, whatever the row order."""
    if X.shape[0] <= _MOST_QUERIES:
        return np.arange(X.shape[0])
    picks = np.linspace(0, X.shape[0] - 1, _MOST_QUERIES).astype(np.intp)
    return block_order(X)[picks]


def _neighbour_distances(X: Array, counts: Array, queries: Array, weight: Array | None) -> Array:
    """Distances at which the other rows' counts add up to each of ``counts``, for some rows."""
    if weight is None:
        # The row itself comes first, or a twin of it, at distance zero.
        k = counts.astype(np.intp)
        return nearest_neighbours(X, int(k[-1]) + 1, X[queries])[0][:, k]
    out = np.empty((queries.shape[0], counts.shape[0]))
    rows = max(1, _CHUNK_PAIRS // X.shape[0])
    for first in range(0, queries.shape[0], rows):
        part = queries[first : first + rows]
        distance = cdist(X[part], X)
        # The row itself stands first; of its own count, one is the row, the rest are twins.
        distance[np.arange(part.size), part] = -1.0
        order = np.argsort(distance, axis=1, kind="stable")
        count = np.cumsum(weight[order], axis=1) - 1.0
        sorted_distance = np.maximum(np.take_along_axis(distance, order, 1), 0.0)
        for row, (reach, far) in enumerate(zip(count, sorted_distance, strict=True), start=first):
            at = np.searchsorted(reach, counts - 1e-9)
            out[row] = far[np.minimum(at, X.shape[0] - 1)]
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


def _farthest(X: Array, row: int) -> float:
    """Distance of the point that is farthest from one."""
    return float(np.linalg.norm(X - X[row], axis=1).max())


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
    return lift_coincident(neighbour_bandwidth(points, k), radius, points)


def lift_coincident(bandwidth: Array, extent: float, points: Array | None = None) -> Array:
    """Where k neighbours coincide but for rounding, take the least bandwidth of the others.

    With ``points``, at most half the distance to the nearest other place where this is so.
    """
    grain = _COINCIDENT * extent
    coincident = bandwidth <= grain
    if not coincident.any():
        return bandwidth
    least = np.full(bandwidth.shape, bandwidth[~coincident].min(initial=np.inf))
    if points is not None:
        shared = points[coincident]
        least[coincident] = np.minimum(least[coincident], _elsewhere(shared, shared, grain) / 2.0)
    return np.where(coincident, np.where(np.isfinite(least), least, 1.0), bandwidth)


def _elsewhere(rows: Array, points: Array, grain: float) -> Array:
    """Distance of each row to the nearest point that does not coincide with it; or infinity."""
    places, place = np.unique(rows, axis=0, return_inverse=True)
    others = np.unique(points, axis=0)
    near = np.empty(places.shape[0])
    step = max(1, _CHUNK_PAIRS // max(others.shape[0], 1))
    for first in range(0, places.shape[0], step):
        distance = cdist(places[first : first + step], others)
        distance[distance <= grain] = np.inf
        near[first : first + step] = distance.min(axis=1, initial=np.inf)
    return near[place.ravel()]
