"""Climbing in company: paths that meet go on as one. For many points in many columns.

Most of a climb in a kernel's space is spent on paths that have long met. Ends within a small
radius of each other will count as one mode anyway; here paths within that radius go on as one, and
the way up is made in float32. What is left, few paths close to their modes, is finished exactly.

A path can end elsewhere than by itself only if it passes a ridge of the density within the radius,
in company that is on the other side.

With about as many columns as points, positions are not needed on the way: a position y is a mean of
points, and its inner products with all points are the same mean of rows of their Gram matrix. That
takes one matrix product for a step instead of two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkshift._core.arrays import Array, Progress
from linkshift._core.disjoint import roots
from linkshift._core.threads import one_blas_thread, threads
from linkshift.profiles import Profile
from linkshift.shift import _loops
from linkshift.shift.density import Density, build_density
from linkshift.shift.engine import ascend
from linkshift.shift.landscape import Ascent

__all__ = ["climb_spots", "climb_together", "group_close"]


_LARGE = 2e7  # starts x points x columns: from here on paths that meet go on as one
_STEPS = 5  # between two looks at who has met: a look costs about half a step
_COARSE_TOL = 1e-3
_BLOCK = 512
_ROWS = 256  # starts to a matrix product


def climb_together(
    points: Array,
    bandwidth: Array,
    profile: Profile,
    starts: Array,
    *,
    dimension: float,
    radius: float,
    max_iter: int = 300,
    tol: float = 1e-5,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> Ascent:
    """Ascent from each start, as :func:`linkshift.shift.engine.ascend` but for paths that meet.

    Paths within the distance ``radius`` go on as one. Points are float64.
    """
    coarse = build_density(points.astype(np.float32), bandwidth, profile, dimension=dimension)
    m = starts.shape[0]
    # Inner products, where they are precise enough, and fewer than twice the columns.
    n_points, d = coarse.points.shape
    kind = _Products if coarse.products is not None and 2 * d > n_points else _Positions
    company: _Positions | _Products = kind(coarse, starts, max(tol, _COARSE_TOL), n_threads)
    leader = np.arange(m)  # the start that each start goes with
    active = np.arange(m)
    n_iter = 0
    while active.size and n_iter < max_iter:
        converged, steps = company.move(active, min(_STEPS, max_iter - n_iter))
        n_iter += steps
        active = active[~converged]
        first = active[company.group(active, radius)]
        leader[active] = first
        active = active[first == active]
        if progress is not None:
            progress(m - active.size, m)
    own = np.flatnonzero(leader == np.arange(m))
    leader[own] = own[company.group(own, radius)]
    own = np.flatnonzero(leader == np.arange(m))
    exact = build_density(points, bandwidth, profile, dimension=dimension)
    where = company.positions(own)
    if kind is _Products and n_iter < max_iter:
        company = _Products(exact, where, tol, n_threads)
        n_iter += company.move(np.arange(own.size), max_iter - n_iter)[1]
        where = company.positions(np.arange(own.size))
    last = ascend(exact, where, max_iter=max(max_iter - n_iter, 1), tol=tol, n_threads=n_threads)
    place = np.searchsorted(own, roots(leader))
    if progress is not None:
        progress(m, m)
    return Ascent(last.ends[place], last.total[place], last.converged[place], n_iter + last.n_iter)


def climb_spots(
    density: Density,
    points: Array,
    bandwidth: Array,
    together: Array | None,
    *,
    radius: float,
    **options: Any,
) -> tuple[Ascent, Array]:
    """Climb from every point of a density; points on one spot climb as one.

    ``points`` and ``bandwidth`` are what the density was built from; ``together`` is the spot of
    each point, None where all are on spots of their own. Paths that come within ``radius`` go on as
    one, where there are many points in many columns. Options as for :func:`climb_together`.

    Returns the ascent of one point of each spot, and which of them stands for each point.
    """
    spots = np.arange(points.shape[0]) if together is None else together
    _, first, start = np.unique(spots, return_index=True, return_inverse=True)
    if first.shape[0] * points.size <= _LARGE:
        return ascend(density, points[first], **options), start
    ascent = climb_together(
        points,
        bandwidth,
        density.profile,
        points[first],
        dimension=density.dimension,
        radius=radius,
        **options,
    )
    return ascent, start


class _Positions:
    """Starts as coordinates."""

    def __init__(self, density: Density, starts: Array, tol: float, n_threads: int) -> None:
        self.density = density
        self.where = starts.astype(np.float32)
        self.options: dict[str, Any] = {"tol": tol, "n_threads": n_threads}

    def move(self, active: Array, steps: int) -> tuple[Array, int]:
        """Make steps; tell which starts have come to rest, and how many steps were made."""
        part = ascend(self.density, self.where[active], max_iter=steps, **self.options)
        self.where[active] = part.ends
        return part.converged, part.n_iter

    def group(self, rows: Array, radius: float) -> Array:
        return group_close(self.where[rows], radius)

    def positions(self, rows: Array) -> Array:
        return self.where[rows].astype(np.float64)


class _Products:
    """Starts as their inner products with all points, about the mean."""

    def __init__(self, density: Density, starts: Array, tol: float, n_threads: int) -> None:
        assert density.products is not None
        self.density, self.n_threads = density, n_threads
        self.tol = tol * density.typical_bandwidth
        about = density.products
        self.gram = about.points @ about.points.T
        centred = density.to_working(starts) - about.mean
        self.products = centred @ about.points.T
        self.norms = np.einsum("ij,ij->i", centred, centred)
        # Those of the points in the mean; there are none before the first step.
        self.shares = np.zeros_like(self.products)

    def move(self, active: Array, steps: int) -> tuple[Array, int]:
        made = np.zeros(active.size, dtype=np.intp)
        converged = np.zeros(active.size, dtype=bool)

        def task(begin: int) -> None:
            part = np.arange(begin, min(begin + _ROWS, active.size))
            for _ in range(steps):
                made[part] += 1
                converged[part] = self._step(active[part])
                part = part[~converged[part]]
                if not part.size:
                    break

        with one_blas_thread(), threads(self.n_threads) as pool:
            pool.map(task, range(0, active.size, _ROWS))
        return converged, int(made.max(initial=0))

    def _step(self, rows: Array) -> Array:
        terms, about = self.density.terms, self.density.products
        assert about is not None
        before, norms = self.products[rows], self.norms[rows]
        share = before.copy()
        _loops.weights_from_products(
            share, norms, about.norms, terms.offset, terms.slope, terms.limit
        )
        total = share.sum(axis=1, dtype=np.float64)
        starved = total < terms.starved
        if starved.any():  # in logarithms, where no weight underflows
            far = norms[starved, None] + about.norms - 2.0 * before[starved]
            bits = np.where(terms.limit >= 0, terms.offset + terms.slope * far, -np.inf)
            share[starved] = np.exp2(bits - bits.max(axis=1, keepdims=True))
            total[starved] = share[starved].sum(axis=1)
        share /= total.astype(share.dtype)[:, None]
        after = share @ self.gram
        moved = np.einsum("ij,ij->i", share, after)
        squared = moved + norms - 2.0 * np.einsum("ij,ij->i", share, before)
        self.products[rows], self.norms[rows], self.shares[rows] = after, moved, share
        at_rest: Array = squared <= self.tol**2
        return at_rest

    def group(self, rows: Array, radius: float) -> Array:
        shares, products, norms = self.shares[rows], self.products[rows], self.norms[rows]
        return _group(
            norms,
            lambda some, begin: shares[some] @ products[begin:].T,
            radius / self.density.scale,
        )

    def positions(self, rows: Array) -> Array:
        return self.density.to_input(self.shares[rows] @ self.density.points).astype(np.float64)


def group_close(positions: Array, radius: float) -> Array:
    """For each position, the first one that takes it in: those within ``radius`` that are free.

    Squared distances come from inner products, about the mean.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.shift.coalesce import group_close
    >>> group_close(np.array([[0.0], [5.0], [0.5], [1.2]]), 1.0)
    array([0, 1, 0, 3])
    """
    if positions.shape[0] < 2:
        return np.arange(positions.shape[0])
    centred = positions - positions.mean(axis=0)
    norms = np.einsum("ij,ij->i", centred, centred)
    return _group(norms, lambda some, begin: centred[some] @ centred[begin:].T, radius)


def _group(norms: Array, products: Callable[[Array, int], Array], radius: float) -> Array:
    """Take in what is close, by norms and ``products(rows, begin)``: rows by all from begin."""
    n = norms.shape[0]
    leader = np.arange(n)
    free = np.ones(n, dtype=bool)
    for begin in range(0, n, _BLOCK):
        rows = np.arange(begin, min(begin + _BLOCK, n))
        rows = rows[free[rows]]
        squared = norms[rows, None] + norms[None, begin:] - 2.0 * products(rows, begin)
        near = squared <= radius**2
        for i, close in zip(rows.tolist(), near, strict=True):
            if free[i]:
                taken = begin + np.flatnonzero(close & free[begin:])
                leader[taken] = i
                leader[i] = i
                free[taken] = False
                free[i] = False
    return leader
