"""Constrained mean shift of very many rows: those that links name, and landmarks for the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import adjusted_rand_score

from linkshift._core.arrays import Array
from linkshift._core.messages import Advice, warn
from linkshift.links import ClosedLinks
from linkshift.shift.constrained import History
from linkshift.shift.constrained.ascent import constrained_follow
from linkshift.shift.constrained.runs import ConstrainedShift, Run
from linkshift.shift.neighbours import nearest_neighbours
from linkshift.summaries import even_rows, summarise

__all__ = ["Representatives", "fidelity", "represent", "tell_so"]

N_LANDMARKS = 2_000  # of "auto"
MOST_ROWS = 10_000  # that "auto" shifts one by one
_SEED = 0  # of the line along which rows are drawn: the only chance there is
_SAMPLE, _LEAST_SAMPLE = 128, 64  # rows that are shifted exactly, to tell how faithful it is
_SAMPLE_ENTRIES = 2e8  # of their differences to all rows, in one step


@dataclass(frozen=True)
class Representatives:
    """Points that are shifted in the place of rows: linked rows first, then landmarks.

    Where every row is shifted itself, ``rows`` is None, and all methods give what they are given.
    """

    points: Array
    weight: Array | None
    rows: Array | None = None  # which rows are points themselves, in ascending order
    of_row: Array | None = None  # the point that stands for each row

    def closed(self, closed: ClosedLinks) -> ClosedLinks:
        """Links between points."""
        if self.rows is None:
            return closed
        return ClosedLinks(closed.links.take(self.rows), len(self.points))

    def spread(self, values: Array) -> Array:
        """Give each row what its point has."""
        return values if self.of_row is None else values[self.of_row]

    def pairs(self, pairs: Array) -> Array:
        """Rows of pairs of points that are rows."""
        return pairs if self.rows is None else self.rows[pairs]

    def history(self, history: History) -> History:
        """Tell what points did as what rows did."""
        return [(centres, self.spread(group)) for centres, group in history]

    def has(self, closed: ClosedLinks) -> bool:
        """Whether just the rows that these links name are points themselves."""
        return self.rows is None or np.array_equal(self.rows, closed.linked_rows)


def represent(
    points: Array,
    closed: ClosedLinks,
    landmarks: str | int | None,
    *,
    weight: Array | None,
    n_jobs: int | None,
) -> Representatives:
    """Find out who is shifted: every row, or those with links and landmarks for the others.

    A row goes with the nearest point. Kernels are not widened by the spread of the landmarks'
    rows: the bandwidth grows beyond it.
    """
    n, rows = len(points), closed.linked_rows
    m = N_LANDMARKS if landmarks == "auto" else landmarks
    small = landmarks == "auto" and n <= MOST_ROWS
    if small or m is None or len(rows) + int(m) >= n:
        return Representatives(points, weight)
    others = np.ones(n, dtype=bool)
    others[rows] = False
    if weight is not None:
        others &= weight > 0
        if not others.any():
            return Representatives(points, weight)
    own = None if weight is None else weight[others]
    summary = summarise(points[others], int(m), _SEED, sample_weight=own, n_jobs=n_jobs)
    found = np.concatenate([points[rows], summary.points])
    of_rows = np.ones(len(rows)) if weight is None else weight[rows]
    nearest = nearest_neighbours(found, 1, points)[1][:, 0]
    nearest[rows] = np.arange(len(rows))  # of equal rows, each is itself
    return Representatives(found, np.concatenate([of_rows, summary.weights]), rows, nearest)


def fidelity(
    points: Array,
    weight: Array | None,
    by: Representatives,
    shift: ConstrainedShift,
    run: Run,
    bandwidths: Array,
    labels: Array,
) -> float:
    """Compare labels of a sample with those of rows that are shifted exactly: adjusted Rand index.

    The sample climbs the density of all rows, while the centres of linked rows, and of those that
    the links keep away, move as those of their points did. ``labels`` are of points, before links
    settle the rest.
    """
    assert by.of_row is not None
    size = int(np.clip(_SAMPLE_ENTRIES / points.size, _LEAST_SAMPLE, _SAMPLE))
    some = even_rows(points, size, _SEED, weight)
    ends = constrained_follow(
        points[some],
        points,
        by.history(run.history),
        (by.pairs(run.bending[0]), run.bending[1]),
        bandwidths,
        shift.kernel,
        weight=weight,
        n_threads=shift.n_threads,
        **shift.options,
    )
    centres, group = run.history[-1]
    of_centre = np.empty(len(centres), dtype=labels.dtype)
    of_centre[group] = labels
    exact = of_centre[nearest_neighbours(centres, 1, ends)[1][:, 0]]
    return float(adjusted_rand_score(exact, by.spread(labels)[some]))


def tell_so(n: int, by: Representatives, found: float) -> None:
    """Say that landmarks stood for rows, and how faithful that is."""
    assert by.rows is not None
    linked = len(by.rows)
    remedy = "landmarks=None is exact, and slow; more landmarks are more faithful."
    warn(
        Advice(
            f"{n:,} rows were shifted by {linked:,} that have links and {len(by.points) - linked:,}"
            f" landmarks: the adjusted Rand index to rows that were shifted exactly is {found:.2f},"
            " on a sample.",
            f"ConstrainedMeanShift({remedy.replace(' is', ') is', 1)}",
            command=f"In Python, {remedy}",
            parameter="landmarks",
            value="auto",
        )
    )
