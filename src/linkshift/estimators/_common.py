"""What several estimators say and ask for."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning

from linkshift._core.arrays import Array
from linkshift._core.messages import Advice, warn
from linkshift._core.text import counted
from linkshift.shift.engine import Ascent

__all__ = [
    "NotConverged",
    "kept_path",
    "neighbours_at_hand",
    "warn_if_moving",
]


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
