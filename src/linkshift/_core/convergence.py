"""Warnings of what was still moving when the steps were over."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning

from linkshift._core.arrays import Array
from linkshift._core.messages import Advice, warn
from linkshift._core.text import counted

__all__ = ["NotConverged", "warn_if_moving"]


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
