"""Links drawn from the truth: between any rows, or between near ones as a person is shown them."""

from __future__ import annotations

from typing import Literal

import numpy as np
from sklearn.neighbors import NearestNeighbors

from benchmarks.harness import Array
from linkshift import Links

Kind = Literal["random", "near"]
KINDS: tuple[Kind, ...] = ("random", "near")
NEAREST, FARTHEST = 6, 40  # near pairs are a row and its 6th to 40th neighbour


def neighbours(X: Array) -> Array:
    """Find the forty nearest of each row (all others where they are fewer), near ones first."""
    count = min(FARTHEST, len(X) - 1)
    rows: Array = NearestNeighbors(n_neighbors=count).fit(X).kneighbors(return_distance=False)
    return rows


def draw_pairs(n: int, n_links: int, seed: int, near: Array | None = None) -> Array:
    """Draw different pairs of rows; with the neighbours given, near ones.

    No more than half of the pairs that there are to draw from.
    """
    rng = np.random.default_rng(seed + 17)
    among = n * (n - 1) // 2
    if near is not None:
        shown = near[:, NEAREST - 1 :]
        pairs = np.column_stack((np.repeat(np.arange(n), shown.shape[1]), shown.ravel()))
        among = min(among, len(np.unique(np.sort(pairs, axis=1), axis=0)))
    drawn: dict[tuple[int, int], None] = {}  # keeps the order
    while len(drawn) < min(n_links, among // 2):
        a = rng.integers(n)
        b = rng.integers(n) if near is None else near[a, rng.integers(NEAREST - 1, near.shape[1])]
        if a != b:
            drawn[int(min(a, b)), int(max(a, b))] = None
    return np.array(list(drawn), dtype=np.int64).reshape(-1, 2)


def answered(pairs: Array, y: Array, *, wrong: float = 0.0, seed: int = 0) -> Links:
    """Answer pairs as their classes do, at confidence one, but for a share that is wrong."""
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    flipped = np.random.default_rng(seed).permutation(len(pairs))[: round(wrong * len(pairs))]
    same[flipped] = ~same[flipped]
    return Links(must=pairs[same], cannot=pairs[~same], n_samples=len(y))
