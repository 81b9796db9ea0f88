"""Nearest rows of many rows: cells beside the tree and the inner products that serve fewer rows.

``python -m benchmarks.speed.neighbours`` prints CPU seconds of both, and the share of the true
neighbours that cells find, for 20 neighbours of made rows and of those that are hard for cells.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from linkshift.shift import neighbours
from linkshift.shift.neighbours import nearest_neighbours

K = 20
Array = np.ndarray[Any, Any]


def mixture(n: int, d: int, n_groups: int = 20) -> Array:
    """Rows about some centres in a cube."""
    rng = np.random.default_rng(0)
    centres = rng.uniform(-4, 4, size=(n_groups, d))
    found: Array = centres[rng.integers(n_groups, size=n)] + rng.normal(size=(n, d))
    return found


def far_rows(n: int, d: int) -> Array:
    """One dense blob, and a few rows that are far away."""
    rows = mixture(n, d, 1)
    rows[:30] *= 1e6
    return rows


DATA: dict[str, Callable[[], Array]] = {
    "mixture 50,000 x 10": lambda: mixture(50_000, 10),
    "mixture 100,000 x 10": lambda: mixture(100_000, 10),
    "mixture 50,000 x 64": lambda: mixture(50_000, 64),
    "duplicates 50,000 x 10": lambda: np.tile(mixture(10_000, 10), (5, 1)),
    "one blob and far rows 50,000 x 10": lambda: far_rows(50_000, 10),
    "whole numbers 50,000 x 10": lambda: (
        np.random.default_rng(0).integers(0, 5, size=(50_000, 10)).astype(float)
    ),
    "seven constant columns 50,000 x 10": lambda: mixture(50_000, 10) * (np.arange(10) < 3) + 7.0,
}


def timed(rows: Array, many: int) -> tuple[float, Array]:
    """CPU seconds, and the distances found, where rows beyond ``many`` are put into cells."""
    before, neighbours.MANY = neighbours.MANY, many
    start = time.process_time()
    try:
        distances = nearest_neighbours(rows, K)[0]
    finally:
        neighbours.MANY = before
    return time.process_time() - start, distances


def main() -> None:
    """Print the table."""
    for d in (4, 16):
        timed(mixture(1000, d), 500)  # compiled once
    for name, make in DATA.items():
        rows = make()
        cells, found = timed(rows, neighbours.MANY)
        others, true = timed(rows, len(rows))
        recall = float((found <= true[:, -1:] * (1 + 1e-9)).mean())
        print(f"{name:36} cells {cells:6.2f} s, before {others:6.2f} s, recall {recall:.5f}")


if __name__ == "__main__":
    main()
