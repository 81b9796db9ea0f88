r"""Summaries of rows: few weighted landmarks, each with the spread of the rows that it stands for.

A summary keeps the sums that count: total weight, weighted mean and total scatter,

.. math:: W = \sum_j w_j, \qquad \bar x = \frac{1}{W} \sum_j w_j p_j, \qquad
          S = \sum_j w_j \left( \|p_j - \bar x\|^2 + d\, s_j \right),

are those of the rows, whichever rows share a landmark, and after any number of merges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkshift._core.arrays import Array
from linkshift._core.messages import Refusal, check_count
from linkshift._core.threads import n_threads, threads
from linkshift.kmeans.fitting import check_squares
from linkshift.shift._checks import check_points, checked_weight
from linkshift.summaries._loops import add_up
from linkshift.summaries.partition import grid_cells, train_centres

__all__ = ["Summary", "merge", "summarise"]

_GRID_COLUMNS = 3
_MERGE_SEED = 0


class Summary(NamedTuple):
    """Landmarks in place of rows.

    Attributes
    ----------
    points : ndarray of shape (m, d)
        Landmarks: rows that were kept whole first, then weighted means of rows.
    weights : ndarray of shape (m,), float64
        Sum of the weights of the rows that each stands for, above zero.
    spread : ndarray of shape (m,), float64
        Mean squared distance of these rows to their landmark, divided by the number of columns;
        zero for a row that is kept whole.
    kept : ndarray of shape (k,), int64
        Which rows the first k landmarks are.
    """

    points: Array
    weights: Array
    spread: Array
    kept: Array


def summarise(
    chunk: ArrayLike,
    m: int,
    seed: int = 0,
    *,
    sample_weight: ArrayLike | None = None,
    keep: ArrayLike | None = None,
    first: int = 0,
    n_jobs: int | None = None,
) -> Summary:
    r"""Summarise rows by about m landmarks.

    Rows are parted into cells, and each cell becomes its mean :math:`p_j` with the weight
    :math:`w_j` of its rows and their spread

    .. math:: s_j = \frac{1}{d\, w_j} \sum_{i \in j} w_i \|x_i - p_j\|^2 .

    Cells are those of a grid in up to three columns, else of k-means in two levels: sqrt(m) coarse
    cells, and k-means inside each, with centres in proportion to its weight. 16 m rows, drawn
    evenly, train the centres; then all rows are assigned. Up to m rows are their own landmarks.

    Parameters
    ----------
    chunk : array-like of shape (n, d)
        Rows, float32 or float64; other numbers become float64.
    m : int
        Landmarks, beside the rows that are kept whole.
    seed : int, default=0
        Of the direction along which rows are drawn. Nothing else is left to chance, and neither
        the order of the rows nor the number of threads matters, but for rounding.
    sample_weight : array-like of shape (n,), default=None
        A weight of 2 is the row twice; rows of weight zero are left out.
    keep : array-like of int, default=None
        Rows of the chunk that stay whole, such as those with links, without spread.
    first : int, default=0
        Number of the chunk's first row in the whole table, for ``kept``.
    n_jobs : int, default=None
        Number of threads. ``None`` takes all cores. The result does not depend on it.

    Returns
    -------
    Summary

    Notes
    -----
    Time grows like n sqrt(m) d. Memory, beside the chunk: 16 m rows in float64, 16 MB of distances
    for each thread, and 24 bytes for each row.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.scale import summarise
    >>> X = np.random.default_rng(0).normal(size=(1000, 5))
    >>> summary = summarise(X, 50, seed=0)
    >>> summary.points.shape, float(summary.weights.sum())
    ((50, 5), 1000.0)
    """
    rows, weight, kept = _read(chunk, sample_weight, keep)
    pooled = weight > 0
    pooled[kept] = False
    if not (pooled.any() or kept.size):
        raise Refusal(
            "Every sample weight is zero: there is nothing to summarise.",
            "Give some rows a weight.",
            parameter="sample_weight",
        )
    whole = Summary(rows[kept], weight[kept], np.zeros(kept.size), kept + first)
    others = rows if pooled.all() else rows[pooled]
    nought = np.zeros(others.shape[0])
    return _joined(
        [whole, _pool(others, weight[pooled], nought, check_count("m", m), seed, n_jobs)]
    )


def merge(summaries: Sequence[Summary], m: int, *, n_jobs: int | None = None) -> Summary:
    """Merge summaries into one of about m landmarks, beside rows that are kept whole.

    Neighbours are merged, the first with the second, the third with the fourth, and so on, and
    what comes out again: a tree that depends on positions alone. Whoever merges parts of the list,
    of as many summaries as a power of two, and then the results, gets the same: any number of
    workers may share the work.

    Total weight, mean and scatter are those of all landmarks (see `Summary`), but for rounding.

    Parameters
    ----------
    summaries : sequence of Summary
        At least one, of rows with the same columns.
    m : int
        Landmarks, beside the rows that are kept whole.
    n_jobs : int, default=None
        Number of threads. ``None`` takes all cores. The result does not depend on it.

    Returns
    -------
    Summary

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.scale import merge, summarise
    >>> X = np.random.default_rng(0).normal(size=(1000, 5))
    >>> halves = [summarise(half, 50) for half in np.split(X, 2)]
    >>> merged = merge(halves, 50)
    >>> mean = merged.weights @ merged.points / merged.weights.sum()
    >>> merged.points.shape, bool(np.allclose(mean, X.mean(axis=0)))
    ((50, 5), True)
    """
    check_count("m", m)
    level = list(summaries)
    if not level:
        raise Refusal("There is no summary to merge.", "Give at least one.", parameter="summaries")
    widths = {summary.points.shape[1] for summary in level}
    if len(widths) > 1:
        raise Refusal(
            f"Summaries have {min(widths)} and {max(widths)} columns.",
            "Give summaries of rows with the same columns.",
            parameter="summaries",
        )
    while True:
        level = [_reduced(_joined(level[i : i + 2]), m, n_jobs) for i in range(0, len(level), 2)]
        if len(level) == 1:
            return level[0]


def _read(
    chunk: ArrayLike, sample_weight: ArrayLike | None, keep: ArrayLike | None
) -> tuple[Array, Array, Array]:
    """Rows, their weights and which are kept, checked."""
    rows = np.asarray(chunk)
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float64)
    check_points(rows, "chunk")
    check_squares(rows)
    n = rows.shape[0]
    weight = np.array(checked_weight(sample_weight, n))
    kept = np.unique(np.asarray([] if keep is None else keep, dtype=np.int64))
    if kept.size and not 0 <= kept[0] <= kept[-1] < n:
        raise Refusal(
            f"keep names row {kept[-1] if kept[-1] >= n else kept[0]} of {n} rows.",
            "Give rows of this chunk, which count from 0.",
            parameter="keep",
        )
    if (weight[kept] == 0).any():
        raise Refusal(
            f"Row {kept[np.argmin(weight[kept])]} is to be kept, and its weight is zero.",
            "Give it a weight, or leave it out of keep.",
            parameter="keep",
        )
    return rows, weight, kept


def _joined(parts: Sequence[Summary]) -> Summary:
    """Put landmarks of several summaries side by side, those that are rows first."""
    sizes = [len(part.kept) for part in parts]

    def both(name: str) -> Array:
        values = [getattr(part, name) for part in parts]
        front = [value[:k] for value, k in zip(values, sizes, strict=True)]
        return np.concatenate(front + [v[k:] for v, k in zip(values, sizes, strict=True)])

    kept = np.concatenate([part.kept for part in parts])
    return Summary(both("points"), both("weights"), both("spread"), kept)


def _reduced(summary: Summary, m: int, n_jobs: int | None) -> Summary:
    """Pool landmarks of a summary until they are m; rows that are kept whole stay."""
    k = len(summary.kept)
    if summary.points.shape[0] - k <= m:
        return summary
    points, weights, spread, kept = summary
    whole = Summary(points[:k], weights[:k], spread[:k], kept)
    others = _pool(points[k:], weights[k:], spread[k:], m, _MERGE_SEED, n_jobs)
    return _joined([whole, others])


def _pool(
    rows: Array, weight: Array, spread: Array, m: int, seed: int, n_jobs: int | None
) -> Summary:
    """Part rows, which may be landmarks with a spread, into m cells, and sum up each."""
    none = np.empty(0, dtype=np.int64)
    n, d = rows.shape
    if n <= m:
        return Summary(rows.copy(), weight, spread, none)
    rows = np.ascontiguousarray(rows)
    if d <= _GRID_COLUMNS:
        label, centres = grid_cells(rows, m)
    else:
        trained = train_centres(rows, weight, m, seed)
        centres = trained.fine
        with threads(n_threads(n_jobs)) as pool:
            label = trained.assign(rows, pool)
    k = centres.shape[0]
    total, squares, sums = np.zeros(k), np.zeros(k), np.zeros((k, d))
    add_up(rows, weight, d * spread, label, centres, total, sums, squares)
    used = total > 0
    total, squares, sums = total[used], squares[used], sums[used] / total[used, None]
    away = np.einsum("ij,ij->i", sums, sums)  # of the mean from the centre
    found = np.maximum(squares / total - away, 0.0) / d
    return Summary((centres[used] + sums).astype(rows.dtype), total, found, none)
