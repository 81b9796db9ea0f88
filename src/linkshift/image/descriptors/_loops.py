# mypy: disable-error-code="no-untyped-def"
"""Jit loops of descriptors. They trust their input."""

from __future__ import annotations

import numpy as np

from linkshift._core.jit import jit

_HALF = 2  # of a patch: 5 x 5 pixels


@jit
def self_similarities(image, grid, offsets, bins, noise, values):
    """Find the highest similarity in each bin around each pixel of the grid.

    ``image`` (h, w) float32, ``grid`` (m, 2) rows and columns that keep the largest offset and
    half a patch from the frame, ``offsets`` (k, 2), ``bins`` (k,) bin of each offset; ``values``
    (m, bins) is filled.
    """
    squares = np.empty(offsets.shape[0])
    for i in range(grid.shape[0]):
        y, x = grid[i, 0], grid[i, 1]
        spread = noise
        for k in range(offsets.shape[0]):
            dy, dx = offsets[k, 0], offsets[k, 1]
            total = 0.0
            for u in range(-_HALF, _HALF + 1):
                for v in range(-_HALF, _HALF + 1):
                    apart = image[y + u, x + v] - image[y + dy + u, x + dx + v]
                    total += apart * apart
            squares[k] = total
            if abs(dy) <= 1 and abs(dx) <= 1:
                spread = max(spread, total)
        values[i] = 0.0
        for k in range(offsets.shape[0]):
            values[i, bins[k]] = max(values[i, bins[k]], np.exp(-squares[k] / spread))
