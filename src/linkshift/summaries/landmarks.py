r"""Mean shift on a summary: kernels widened by the landmarks' spreads, and labels of rows.

The rows of a landmark j, spread :math:`s_j` about it in each column, are seen by a kernel of
bandwidth h as one point by a kernel that is wider. For a Gaussian their sum is that of a Gaussian
with the variances added; other profiles are given the same variance:

.. math:: h_j^2 = h^2 + s_j / \sigma^2, \qquad
          f(x) = \sum_j w_j h_j^{-d}\, k\!\left(\|x - p_j\|^2 / h_j^2\right),

where :math:`\sigma` is the standard deviation of the profile's weight g in each column at h = 1
(:meth:`linkshift.profiles.Profile.spread`): 1 for the Gaussian, :math:`1 / \sqrt{d + 2}` for the
flat kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from linkshift._core.arrays import Array, first_of_equal_rows, offsets
from linkshift._core.threads import one_blas_thread, threads
from linkshift.profiles import Profile
from linkshift.shift.density import Density, build_density
from linkshift.shift.step import mean_step
from linkshift.summaries.partition import coarse_centres, nearest
from linkshift.summaries.sampling import along_a_line
from linkshift.summaries.summary import Summary

__all__ = ["Landmarks", "landmark_density", "place_landmarks", "widened_bandwidth"]

_NEARBY = 1024  # landmarks that a row looks at, at least
_STEPS, _MANY_COLUMNS = 3, 32  # that a row makes among them; one, from so many columns on
_ENTRIES = 1 << 24  # of rows at a time
_KEPT = 1 << 22  # numbers of landmarks around all cells, up to which their densities are kept


def widened_bandwidth(spread: Array, bandwidth: float, profile: Profile, d: int) -> Array:
    """Bandwidth of each landmark, from that of rows: the h_j of the module.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.profiles import Profile
    >>> from linkshift.summaries import widened_bandwidth
    >>> widened_bandwidth(np.array([0.0, 9.0]), 4.0, Profile("gaussian"), d=2)
    array([4., 5.])
    """
    widened: Array = np.hypot(bandwidth, np.sqrt(spread) / profile.spread(d))
    return widened


def landmark_density(summary: Summary, bandwidth: float, profile: Profile) -> Density:
    """Lay out the density of a summary, to be climbed."""
    d = summary.points.shape[1]
    h = widened_bandwidth(summary.spread, bandwidth, profile, d)
    return build_density(summary.points, h, profile, sample_weight=summary.weights)


@dataclass(frozen=True)
class Landmarks:
    """The density of landmarks, and the mode that each has climbed to.

    Rows are labelled among the landmarks around them: those of the coarse cells that are nearest
    to their own, until they are 1,024.
    """

    density: Density
    labels: Array
    coarse: Array  # centres of coarse cells

    @cached_property
    def _given(self) -> tuple[Array, Array, Array]:
        given = self.density.inputs()
        return given["X"], given["bandwidth"], given["sample_weight"]

    @cached_property
    def _frame(self) -> tuple[Array, float]:
        """Return the middle of the coarse centres, and how far they reach."""
        middle = self.coarse.mean(axis=0)
        return middle, float(np.abs(self.coarse - middle).max()) or 1.0

    @cached_property
    def _nearby(self) -> list[Array]:
        """Landmarks that rows of each coarse cell look at."""
        points = self._given[0].astype(np.float64)
        cell = nearest(points, self.coarse, *self._frame)
        order, ends = np.argsort(cell, kind="stable"), offsets(cell, self.coarse.shape[0])
        count = np.diff(ends)
        found = []
        for centre in self.coarse:
            near = np.argsort(np.linalg.norm(self.coarse - centre, axis=1), kind="stable")
            last = int(np.searchsorted(np.cumsum(count[near]), min(_NEARBY, len(points))))
            taken = [order[ends[c] : ends[c + 1]] for c in near[: last + 1]]
            found.append(np.sort(np.concatenate(taken)))
        return found

    @cached_property
    def _around(self) -> dict[int, Density]:
        """Densities around coarse cells, as far as they are kept."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave at home what is found on the way."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _density_around(self, c: int) -> Density:
        """Density of the landmarks that rows of a coarse cell look at.

        It is kept, as rows may come in many small parts: to lay it out takes as long as a step of a
        thousand rows.
        """
        found = self._around.get(c)
        if found is None:
            (points, bandwidth, weight), near = self._given, self._nearby[c]
            found = build_density(
                points[near], bandwidth[near], self.density.profile, sample_weight=weight[near]
            )
            if sum(map(len, self._nearby)) * points.shape[1] <= _KEPT:
                self._around[c] = found
        return found

    def label(self, X: Array, *, n_threads: int = 1) -> Array:
        """Mode of each row: it makes three steps, and goes with the nearest landmark.

        One step in 32 columns and more, where it costs as much as all else together. A row that is
        a landmark goes with that one.
        """
        labels = np.empty(X.shape[0], dtype=np.int64)
        with threads(n_threads) as pool, one_blas_thread():
            for part in _parts(X):
                labels[part] = self._label(X[part], pool)
        return labels

    def _label(self, rows: Array, pool: threads) -> Array:
        points = self._given[0]
        cell = nearest(rows.astype(np.float64), self.coarse, *self._frame)
        order, ends = np.argsort(cell, kind="stable"), offsets(cell, self.coarse.shape[0])
        labels = np.empty(rows.shape[0], dtype=np.int64)
        for c in np.flatnonzero(np.diff(ends)).tolist():
            own, near = order[ends[c] : ends[c + 1]], self._nearby[c]
            around = self._density_around(c)
            position = around.to_working(rows[own])
            for _ in range(_STEPS if rows.shape[1] < _MANY_COLUMNS else 1):
                position, _ = mean_step(around, position, pool)
            where = around.to_input(position)
            middle = self.coarse[c].astype(points.dtype)
            unit = float(np.abs(points[near] - middle).max()) or 1.0
            labels[own] = self.labels[near[nearest(where, points[near], middle, unit)]]
        m = points.shape[0]
        first = first_of_equal_rows(np.concatenate([points, rows.astype(points.dtype)]))[m:]
        known = first < m
        labels[known] = self.labels[first[known]]
        return labels


def _parts(X: Array) -> Iterator[slice]:
    step = max(1, _ENTRIES // X.shape[1])
    return (slice(first, first + step) for first in range(0, X.shape[0], step))


def place_landmarks(density: Density, labels: Array) -> Landmarks:
    """Make landmarks, whose modes are known, ready to label rows."""
    given = density.inputs()
    points, weight = given["X"], given["sample_weight"]
    if points.shape[0] <= _NEARBY:
        return Landmarks(density, labels, points.astype(np.float64).mean(axis=0, keepdims=True))
    order = along_a_line(points, 0)
    coarse, _, _ = coarse_centres(points[order], weight[order], points.shape[0])
    return Landmarks(density, labels, coarse)
