"""K-means by Lloyd's algorithm, the best of several starts; by straight lines or by directions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from linkshift._core.arrays import Array, Progress
from linkshift._core.messages import Refusal
from linkshift._core.threads import n_threads
from linkshift.kmeans._loops import add_up, assign
from linkshift.kmeans.starts import StartName, first_centres, is_certain

_LARGEST = 1e150  # number in the data
SAMPLE = 20_000  # rows that starts and elbows are taken from


class KMeansFit(NamedTuple):
    """What k-means finds.

    ``inertia`` is the sum of squared distances of rows to their centres.
    """

    labels: Array
    centres: Array  # float64
    inertia: float
    n_iter: int
    converged: bool


def fit_kmeans(
    points: Array,
    k: int,
    *,
    weight: Array | None = None,
    init: StartName | Array = "k-means++",
    n_init: int = 4,
    spherical: bool = False,
    max_iter: int = 300,
    tol: float = 1e-4,
    n_jobs: int | None = None,
    random: np.random.RandomState,
    progress: Progress | None = None,
) -> KMeansFit:
    r"""Find ``k`` centres with the least :math:`\sum_j w_j \min_i \|x_j - c_i\|^2`.

    Weights w of rows are one unless given, and above zero for k of them.
    Rows go to their nearest centres, the first of equally near ones, and centres to the means of
    their rows, in turn. ``spherical`` takes rows of length one, and divides means by their lengths:
    then :math:`\|x - c\|^2 = 2 - 2 \cos(x, c)`. A centre without a row takes the row that is
    farthest from its own, unless all rows are on their centres.

    Of more than 20,000 rows as many are drawn for the starts, and k-means goes on from the best
    centres with all rows. Starts are spread over threads, each on one. ``init`` may be the centres
    themselves. It ends when no row changes its cluster, or when the squared moves of the centres
    sum up to at most ``tol`` times the mean variance of the columns.
    """
    points = np.ascontiguousarray(points)
    every = np.ones(points.shape[0]) if weight is None else weight
    if not isinstance(init, str):
        found = _lloyd(points, every, np.array(init, dtype=np.float64), spherical, max_iter, tol)
        if progress is not None:
            progress(1, 1)
        return found
    some, share = points, every
    if k <= SAMPLE < np.count_nonzero(every):
        rows = np.flatnonzero(every)
        rows = rows[np.sort(random.choice(rows.size, SAMPLE, replace=False))]
        some, share = points[rows], every[rows]
    runs = 1 if k == 1 or is_certain(init, int(np.count_nonzero(share))) else n_init
    seeds = random.randint(np.iinfo(np.int32).max, size=runs)

    def fit(seed: int) -> KMeansFit:
        chosen = first_centres(some, share, k, init, np.random.RandomState(seed))
        return _lloyd(some, share, chosen.astype(np.float64), spherical, max_iter, tol)

    with ThreadPoolExecutor(n_threads(n_jobs)) as pool:
        best: KMeansFit | None = None
        for done, run in enumerate(pool.map(fit, seeds), start=1):
            best = run if best is None or run.inertia < best.inertia else best
            if progress is not None:
                progress(done, runs)
    assert best is not None
    if some is points:
        return best
    return _lloyd(points, every, best.centres, spherical, max_iter, tol)


def nearest_centres(points: Array, centres: Array) -> tuple[Array, Array]:
    """Index of the nearest centre of each row, and the squared distance to it."""
    n = points.shape[0]
    labels, apart = np.full(n, -1, dtype=np.int64), np.empty(n)
    assign(np.ascontiguousarray(points), np.ascontiguousarray(centres.T), labels, apart)
    return labels, apart


def check_enough(n: int, weight: Array | None, n_clusters: int) -> None:
    """Refuse more clusters than rows that can found one."""
    found = n if weight is None else int(np.count_nonzero(weight))
    if found < n_clusters:
        with_weight = "" if found == n else " with a weight above zero"
        raise ValueError(f"n_samples={found}{with_weight} should be >= n_clusters={n_clusters}.")


def check_squares(points: Array) -> None:
    """Refuse numbers whose squares are infinite."""
    if (largest := float(np.abs(points).max(initial=0.0))) > _LARGEST:
        raise Refusal(
            f"Squares of numbers up to {largest:.3g}, which k-means goes by, are infinite.",
            f"Divide the columns by their spread, or leave out rows beyond {_LARGEST:g}.",
            parameter="X",
        )


def drawn(points: Array, random: np.random.RandomState) -> Array:
    """All rows, or 20,000 of them in their order."""
    if points.shape[0] <= SAMPLE:
        return points
    return points[np.sort(random.choice(points.shape[0], SAMPLE, replace=False))]


def _lloyd(
    points: Array, weight: Array, centres: Array, spherical: bool, max_iter: int, tol: float
) -> KMeansFit:
    n, k = points.shape[0], centres.shape[0]
    labels, apart = np.full(n, -1, dtype=np.int64), np.empty(n)
    sums, sizes = np.empty(centres.shape), np.empty(k)
    still = tol * _variance(points, weight)
    n_iter, settled = 0, False
    while n_iter < max_iter and not settled:
        n_iter += 1
        changed = assign(points, np.ascontiguousarray(centres.T), labels, apart)
        if changed == 0:
            settled = True
            break
        add_up(points, weight, labels, sums, sizes)
        _fill_empty(points, weight, labels, apart, sums, sizes)
        moved = _means(sums, sizes, centres, spherical)
        settled = float(((moved - centres) ** 2).sum()) <= still
        centres = moved
    labels, apart = nearest_centres(points, centres)
    return KMeansFit(labels, centres, float((weight * apart).sum()), n_iter, settled)


def _variance(points: Array, weight: Array) -> float:
    """Mean variance of the columns, by weights."""
    if (weight == 1.0).all():
        return float(points.var(axis=0, dtype=np.float64).mean())
    middle = np.average(points, axis=0, weights=weight)
    return float(np.average((points - middle) ** 2, axis=0, weights=weight).mean())


def _fill_empty(
    points: Array, weight: Array, labels: Array, apart: Array, sums: Array, sizes: Array
) -> None:
    """Give each empty cluster the row with weight that is farthest from its centre, in place.

    One such row: of a weight above one, the rest stays for this step.
    """
    idle = np.flatnonzero(weight == 0)
    for empty in np.flatnonzero(sizes == 0):
        apart[idle] = 0.0
        row = int(np.argmax(apart))
        if apart[row] == 0.0:
            return  # fewer places than clusters
        left, part = int(labels[row]), min(float(weight[row]), 1.0)
        labels[row] = empty
        sums[left] -= part * points[row]
        sizes[left] -= part
        if part == weight[row] and not weight[labels == left].any():
            sizes[left] = 0.0  # what is left is rounding
        sums[empty], sizes[empty] = part * points[row], part
        away = points.astype(np.float64) - points[row]
        np.minimum(apart, np.einsum("ij,ij->i", away, away), out=apart)


def _means(sums: Array, sizes: Array, before: Array, spherical: bool) -> Array:
    """Means of clusters, for directions of length one; what has none stays where it is."""
    known = sizes > 0
    found = sums / np.where(known, sizes, 1.0)[:, None]
    if spherical:
        length = np.linalg.norm(found, axis=1)
        known &= length > 0
        found /= np.where(known, length, 1.0)[:, None]
    return np.where(known[:, None], found, before)
