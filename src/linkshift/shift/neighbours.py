"""Points in blocks of near neighbours, so that whole blocks can be skipped or taken."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkshift.shift._loops import BLOCK

__all__ = ["block_order", "boxes"]


def block_order(X: NDArray[np.floating], block: int = BLOCK) -> NDArray[np.intp]:
    """Order rows so that each run of ``block`` rows lies close together.

    A k-d tree's leaves from left to right: the rows are halved at the median of their widest
    coordinate until a run is one block. Halves are whole numbers of blocks, so only the last
    block can be short. O(n log n) time, O(n) memory.
    """
    order = np.arange(X.shape[0], dtype=np.intp)
    pending = [(0, X.shape[0])]
    while pending:
        first, last = pending.pop()
        n_blocks = -(-(last - first) // block)
        if n_blocks < 2:
            continue
        rows = order[first:last]
        part = X[rows]
        widest = int(np.argmax(part.max(axis=0) - part.min(axis=0)))
        half = block * (n_blocks // 2)
        order[first:last] = rows[np.argpartition(part[:, widest], half, kind="introselect")]
        pending += [(first, first + half), (first + half, last)]
    return order


def boxes(
    X: NDArray[np.floating], block: int = BLOCK
) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Lower and upper corner of the box around each run of ``block`` rows."""
    runs = np.arange(0, X.shape[0], block)
    return np.minimum.reduceat(X, runs, axis=0), np.maximum.reduceat(X, runs, axis=0)
