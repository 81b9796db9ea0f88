"""Climbing in company: paths that meet go on as one. For many points in many columns.

Most of a climb in a kernel's space is spent on paths that have long met. Ends within a small
radius of each other will count as one mode anyway; here paths within that radius go on as one, and
the way up is made in float32. What is left, few paths close to their modes, is finished exactly.

A path can end elsewhere than by itself only if it passes a ridge of the density within the radius,
in company that is on the other side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkshift.profiles import Profile
from linkshift.shift.density import build_density
from linkshift.shift.engine import Ascent, Progress, ascend

__all__ = ["climb_together", "group_close"]

Array = NDArray[Any]

_STEPS = 5  # between two looks at who has met: a look costs about half a step
_COARSE_TOL = 1e-3
_BLOCK = 512


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

    Parameters
    ----------
    points, bandwidth, profile, dimension
        The density, as for :func:`linkshift.shift.density.build_density`; points in float64.
    starts : ndarray of shape (m, d)
        Where to begin.
    radius : float
        Paths within this distance go on as one.
    max_iter, tol, n_threads, progress
        As for :func:`linkshift.shift.engine.ascend`.

    Returns
    -------
    Ascent
    """
    coarse = build_density(points.astype(np.float32), bandwidth, profile, dimension=dimension)
    m = starts.shape[0]
    where = starts.astype(np.float32)
    leader = np.arange(m)  # the start that each start goes with
    active = np.arange(m)
    n_iter = 0
    while active.size and n_iter < max_iter:
        steps = min(_STEPS, max_iter - n_iter)
        part = ascend(
            coarse,
            where[active],
            max_iter=steps,
            tol=max(tol, _COARSE_TOL),
            n_threads=n_threads,
        )
        n_iter += part.n_iter
        where[active] = part.ends
        active = active[~part.converged]
        first = active[group_close(where[active], radius)]
        leader[active] = first
        active = active[first == active]
        if progress is not None:
            progress(m - active.size, m)
    own = np.flatnonzero(leader == np.arange(m))
    leader[own] = own[group_close(where[own], radius)]
    own = np.flatnonzero(leader == np.arange(m))
    exact = build_density(points, bandwidth, profile, dimension=dimension)
    last = ascend(
        exact,
        where[own].astype(np.float64),
        max_iter=max(max_iter - n_iter, 1),
        tol=tol,
        n_threads=n_threads,
    )
    while not np.array_equal(leader, leader[leader]):
        leader = leader[leader]
    place = np.searchsorted(own, leader)
    if progress is not None:
        progress(m, m)
    return Ascent(last.ends[place], last.total[place], last.converged[place], n_iter + last.n_iter)


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
    n = positions.shape[0]
    leader = np.arange(n)
    if n < 2:
        return leader
    centred = positions - positions.mean(axis=0)
    norms = np.einsum("ij,ij->i", centred, centred)
    free = np.ones(n, dtype=bool)
    for begin in range(0, n, _BLOCK):
        rows = np.arange(begin, min(begin + _BLOCK, n))
        rows = rows[free[rows]]
        squared = norms[rows, None] + norms[None, begin:]
        squared -= 2.0 * (centred[rows] @ centred[begin:].T)
        near = squared <= radius**2
        for i, close in zip(rows.tolist(), near, strict=True):
            if free[i]:
                taken = begin + np.flatnonzero(close & free[begin:])
                leader[taken] = i
                leader[i] = i
                free[taken] = False
                free[i] = False
    return leader
