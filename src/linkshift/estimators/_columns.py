"""Columns brought to one scale, and those that are constant."""

from __future__ import annotations

import numpy as np

from linkshift._core.arrays import Array, varying_columns
from linkshift._core.messages import Advice, warn
from linkshift._core.text import listed

__all__ = ["min_and_span"]

_HUGE = float(np.finfo(np.float64).max)  # infinity, but for the way back


def min_and_span(X: Array, names: Array | None = None) -> tuple[Array, Array]:
    """Give the least value and the range of each column, to bring it to [0, 1].

    Ranges that are nothing beside the others (`varying_columns`) are told, by the names of their
    columns, and are given as huge: nothing is left of such a column. Constant columns have the
    range one.
    """
    low = X.min(axis=0).astype(np.float64)
    span = X.max(axis=0).astype(np.float64) - low
    flat = np.flatnonzero((span > 0) & ~varying_columns(span))
    if flat.size:
        warn(
            Advice(
                "Columns with less than 1e-8 of the median range count as constant: "
                f"{listed(flat if names is None else names[flat])}.",
                "Scale the columns first, if there is more to it than rounding.",
                parameter="scale_features",
                value=True,
            )
        )
        span[flat] = _HUGE
    span[span == 0] = 1.0
    return low, span
