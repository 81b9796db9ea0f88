"""Mean shift that leaves starts out: those near a path or its end go where it went.

Two classic speed-ups, both approximate: rows within a radius r of where a path has ended belong to
its mode, and so do rows within r / c of any place on the path. Such rows do not climb themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import KDTree

from linkshift._core.arrays import Array, Progress
from linkshift.shift.density import Density
from linkshift.shift.engine import ascend
from linkshift.shift.landscape import Ascent
from linkshift.shift.neighbours import block_order

__all__ = ["ascend_skipping", "spread_order"]

_FIRST = 64  # starts that climb at first, then twice as many: a few at a time would cost more
_MOST = 4096  # whose paths are in memory


def ascend_skipping(
    density: Density,
    starts: Array,
    *,
    end_radius: float = 0.0,
    path_radius: float = 0.0,
    keep_paths: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Ascent:
    """Climb as :func:`linkshift.shift.engine.ascend` does, from as few starts as will do.

    The first 64 starts (an eighth, of fewer than 512) climb to their ends, in the order of
    `spread_order`. A start that is left and within ``path_radius`` typical bandwidths of a position
    on their paths, the first included, gets the end of the nearest one; else, within ``end_radius``
    of an end, the nearest end. Then twice as many of those that are left climb, and so on. Without
    radii all climb, at once.

    A start that did not climb has a path of two positions: its own, and the end that it got.
    """
    if end_radius == path_radius == 0.0:
        return ascend(density, starts, keep_paths=keep_paths, progress=progress, **options)
    m = starts.shape[0]
    leader = np.full(m, -1, dtype=np.intp)
    ends, total = starts.copy(), np.zeros(m)
    converged, n_iter = np.zeros(m, dtype=bool), 0
    paths: list[Array] = [np.empty(0)] * m
    unit = density.scale  # squares of very small distances would vanish
    where, radius = starts.astype(np.float64) / unit, density.typical_bandwidth
    left, size = spread_order(starts), min(_FIRST, max(m // 8, 1))
    while left.size:
        batch, left, size = left[:size], left[size:], min(2 * size, _MOST)
        found = ascend(density, starts[batch], keep_paths=True, **options)
        assert found.paths is not None
        leader[batch] = batch
        ends[batch], total[batch], converged[batch] = found.ends, found.total, found.converged
        n_iter = max(n_iter, found.n_iter)
        for row, path in zip(batch, found.paths, strict=True):
            paths[row] = path
        went = batch[total[batch] > 0]  # others saw no point and stayed where they were
        owner = np.repeat(went, [len(paths[row]) for row in went])
        on_paths = np.concatenate([paths[row] for row in went] or [starts[:0]])
        for places, of, reach in ((on_paths, owner, path_radius), (ends[went], went, end_radius)):
            near, which = _nearest_within(places / unit, where[left], reach * radius)
            leader[left[near]] = of[which]
            left = left[~near]
        if progress is not None:
            progress(m - left.size, m)
    skipped = np.flatnonzero(leader != np.arange(m))
    for values in (ends, total, converged):
        values[skipped] = values[leader[skipped]]
    for row in skipped if keep_paths else ():
        paths[row] = np.stack([starts[row], ends[row]])
    return Ascent(ends, total, converged, n_iter, paths if keep_paths else None)


def spread_order(starts: Array) -> Array:
    """Order starts so that the first few are spread over all of them.

    By the leaves of a tree over the starts, taken in the order of their reversed binary digits: 0,
    a half, a quarter, three quarters, ...
    """
    m = starts.shape[0]
    bits = max(m - 1, 1).bit_length()
    rank = np.arange(1 << bits)
    mirrored = np.zeros_like(rank)
    for bit in range(bits):
        mirrored |= ((rank >> bit) & 1) << (bits - 1 - bit)
    order: Array = block_order(starts)[mirrored[mirrored < m]]
    return order


def _nearest_within(places: Array, rows: Array, radius: float) -> tuple[Array, Array]:
    """Tell which rows are within a radius of a place, and the nearest place of each of these."""
    if radius == 0.0 or not len(places) or not len(rows):
        return np.zeros(len(rows), dtype=bool), np.empty(0, dtype=np.intp)
    limit = np.nextafter(radius, np.inf)  # a bound that is itself left out
    apart, which = KDTree(places.astype(np.float64)).query(rows, distance_upper_bound=limit)
    near = np.isfinite(apart)
    return near, which[near]
