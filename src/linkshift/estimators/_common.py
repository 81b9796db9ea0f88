"""What several estimators say and ask for."""

from __future__ import annotations

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from linkshift._core.arrays import Array
from linkshift._core.messages import Advice, warn
from linkshift._core.text import counted
from linkshift.bandwidth import neighbour_bandwidth
from linkshift.shift.engine import Ascent

__all__ = [
    "NotConverged",
    "kept_path",
    "lift_coincident",
    "neighbours_at_hand",
    "spread_bandwidth",
    "warn_if_moving",
]

_COINCIDENT = 1e-6  # bandwidths below this share of the extent are rounding


class NotConverged(Advice, ConvergenceWarning):
    """Points that were still moving when the steps were over."""


def warn_if_moving(converged: Array, max_iter: int, noun: str = "points") -> None:
    """Warn of points that had not arrived when the steps were over."""
    moving = int((~converged).sum())
    if moving:
        warn(
            NotConverged(
                f"{moving} of {converged.shape[0]} {noun} were still moving after "
                f"{counted(max_iter, 'step')}.",
                "Increase max_iter or tol.",
                command="Take a larger --max-iter.",
                parameter="max_iter",
                value=max_iter,
            )
        )


def kept_path(ascent: Ascent, start: int) -> Array:
    """Positions of one start, of an ascent that kept its paths."""
    assert ascent.paths is not None
    return ascent.paths[start]


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
