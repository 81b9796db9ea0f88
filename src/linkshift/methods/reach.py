"""Rows that are far from all that a model was fitted on: their labels are guesses."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from linkshift._core.arrays import Array, first_of_equal_rows
from linkshift._core.messages import Advice, warn
from linkshift._core.text import counted, listed
from linkshift.shift.neighbours import nearest_neighbours

__all__ = ["reach_of", "warn_of_far"]

_FACTOR = 3.0  # times the reach is far: of held-out rows of 60 data sets none is
_ENOUGH = 20  # different rows from which distances between them say what is far
_SAMPLE = 1000  # rows whose neighbours are looked for, and which are asked first


def reach_of(model: Any) -> float:
    """Largest distance of a row of the fit from its nearest neighbour, of rows that differ.

    Of many rows, it is that of 1,000 of them, at even steps. Infinite where there are fewer than 20
    different rows.
    """
    rows = np.asarray(model._fit_X)
    rows = rows[first_of_equal_rows(rows) == np.arange(len(rows))]
    if len(rows) < _ENOUGH:
        return np.inf
    # Each is its own nearest: the second is its neighbour.
    return float(nearest_neighbours(rows, 2, _some(rows))[0][:, 1].max())


def warn_of_far(model: Any, X: Any, reach: float) -> None:
    """Tell how many new rows are farther from the fit than three times its reach."""
    if not np.isfinite(reach) or reach == 0:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # predict has said what there is to say of columns
        rows = model._rows(model._read(X, reset=False))
    distance = _distances(rows, np.asarray(model._fit_X), _FACTOR * reach)
    far = np.flatnonzero(distance > _FACTOR * reach)
    if not far.size:
        return
    times = float(distance.max() / reach)
    farthest = f"up to {times:,.0f}" if times < 1e6 else "over a million"
    which = f"row {far[0]}" if far.size == 1 else f"rows {listed(far.tolist(), 5)}"
    warn(
        Advice(
            f"{far.size:,} of {counted(len(rows), 'row')} {'is' if far.size == 1 else 'are'} far "
            f"outside what was clustered ({which}): {farthest} times as far from the nearest row "
            "there as any row there is from its neighbour.",
            "Their clusters are guesses. Are columns and units the same? If so, cluster again with "
            "such rows.",
            parameter="X",
        )
    )


def _distances(rows: Array, fit_X: Array, near: float) -> Array:
    """Distance of each row from the nearest of the fit; up to ``near``, from any that is near."""
    distance = nearest_neighbours(_some(fit_X), 1, rows)[0][:, 0]
    beyond = np.flatnonzero(~(distance <= near))
    if len(fit_X) > _SAMPLE and beyond.size:
        distance[beyond] = nearest_neighbours(fit_X, 1, rows[beyond])[0][:, 0]
    return distance


def _some(rows: Array) -> Array:
    """Rows at even steps, first and last among them: the same for any number of threads."""
    if len(rows) <= _SAMPLE:
        return rows
    return rows[np.linspace(0, len(rows) - 1, _SAMPLE).astype(np.int64)]
