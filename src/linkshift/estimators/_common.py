"""What several estimators say and ask for."""

from __future__ import annotations

from typing import Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from linkshift._core.arrays import Array
from linkshift._core.messages import Advice, warn
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

    @classmethod
    def of(cls, moving: int, n: int, max_iter: int, noun: str = "starts") -> Self:
        """Say how many of n have not arrived."""
        return cls(
            f"{moving} of {n} {noun} were still moving after {max_iter} steps.",
            "Increase max_iter or tol.",
            command="Take a larger --max-iter.",
            parameter="max_iter",
            value=max_iter,
        )


def warn_if_moving(converged: Array, max_iter: int) -> None:
    """Warn of points that had not arrived when the steps were over."""
    moving = int((~converged).sum())
    if moving:
        warn(NotConverged.of(moving, converged.shape[0], max_iter, "points"))


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
                f"{n_neighbors} neighbours need as many other points, and there are {k}: "
                "bandwidths reach to the farthest.",
                "Set n_neighbors to a lower number.",
                command="Take a lower --n-neighbors.",
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
