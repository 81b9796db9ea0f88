"""Parts of plain mean shift: pooled rows, local bandwidths, modes when a number is told."""

from __future__ import annotations

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.messages import Advice, warn
from linkshift.modes import Modes, nearest_labels
from linkshift.profiles import Profile
from linkshift.shift.binning import Cells, cell_seeds, pool_points
from linkshift.shift.density import Density
from linkshift.shift.neighbours import nearest_neighbours

__all__ = [
    "centers_of",
    "clusters_of_modes",
    "labels_by_modes",
    "local_bandwidth",
    "pooled",
    "seeds_of_cells",
    "without_far",
    "work_of",
]


def work_of(looks: bool) -> tuple[float, float, float]:
    """How long it takes to look for a bandwidth, to climb, and to label, beside each other."""
    return 0.12 * looks, 1.0, 0.03


def pooled(X: Array, bin_size: float, bandwidth: float, weight: Array | None) -> Cells:
    """Pool rows in cells; a warning says where that is of no use."""
    cells = pool_points(X, bin_size * bandwidth, weight)
    if cells.points.shape[0] > 0.8 * X.shape[0]:
        warn(
            Advice(
                f"bin_size={bin_size} leaves {cells.points.shape[0]} cells for "
                f"{X.shape[0]} rows: it costs accuracy and saves nothing.",
                "Use a larger bin_size, or None for exact results.",
                parameter="bin_size",
                value=bin_size,
            )
        )
    return cells


def seeds_of_cells(
    points: Array, bandwidth: float, min_bin_freq: int, weight: Array | None
) -> Array:
    """Centres of occupied cells; a warning says where they are as many as rows."""
    seeds, saves = cell_seeds(points, bandwidth, min_bin_freq, weight)
    if not saves:
        warn(
            Advice(
                f"bin_seeding saves nothing: every row has a cell of its own at "
                f"bandwidth={bandwidth:g}. Starting from the rows instead.",
                parameter="bin_seeding",
                value=True,
            )
        )
    return seeds


def without_far(
    X: Array, labels: Array, density: Density, centers: Array, bandwidth: float | Array
) -> Array:
    """Labels, but -1 for rows beyond the kernel's radius of their mode."""
    radius = local_bandwidth(density, bandwidth, centers)
    if density.profile.name == "gaussian":
        radius = radius / Profile("flat").spread(X.shape[1])
    else:
        radius = radius * density.profile.squared_reach**0.5
    unit = density.scale  # squares of very small distances would vanish
    distance = np.linalg.norm((X - centers[labels]) / unit, axis=1)
    allowed = np.broadcast_to(radius, centers.shape[:1])[labels]
    return np.where(distance <= allowed / unit, labels, -1)


def local_bandwidth(density: Density, bandwidth: float | Array, positions: Array) -> float | Array:
    """Bandwidth of the data point nearest to each position."""
    if np.ndim(bandwidth) == 0:
        return float(bandwidth)
    points = density.to_input(density.points[: density.n_points])
    nearest = nearest_neighbours(points, 1, positions)[1][:, 0]
    return density.bandwidth[nearest] * density.scale


# A number of clusters that was told: modes share a cluster, or one mode has several --------------


def clusters_of_modes(modes: Modes, by_mode: Array, labels: Array) -> Array:
    """Cluster of each mode; -1 for modes whose rows went to several.

    Modes that no row went to go with the nearest of the others.

    Parameters
    ----------
    modes : Modes
        All modes.
    by_mode, labels : ndarray of shape (n,)
        Mode and cluster of each row; -1 for noise.
    """
    n = modes.centers.shape[0]
    low, high = np.full(n, len(labels)), np.full(n, -1)
    inside = by_mode >= 0
    np.minimum.at(low, by_mode[inside], labels[inside])
    np.maximum.at(high, by_mode[inside], labels[inside])
    found = np.where(low == high, high, -1)
    used, idle = np.flatnonzero(high >= 0), np.flatnonzero(high < 0)
    if used.size and idle.size:
        others = Modes(modes.centers[used], modes.radius[used])
        found[idle] = found[used[nearest_labels(modes.centers[idle], others)[0]]]
    return found


def labels_by_modes(X: Array, by_mode: Array, told: Array, rows: Array, labels: Array) -> Array:
    """Clusters of rows from their modes; with a mode of several, that of the nearest known row."""
    found = np.where(by_mode >= 0, told[by_mode], -1)
    open_ = np.flatnonzero((by_mode >= 0) & (found < 0))
    if open_.size:
        known = np.flatnonzero((labels >= 0) & ~np.isin(labels, told))
        found[open_] = labels[known[nearest_neighbours(rows[known], 1, X[open_])[1][:, 0]]]
    return found


def centers_of(modes: Modes, told: Array, rows: Array, labels: Array) -> Array:
    """Centre of each cluster: its densest mode; the mean of its rows, where a mode has several."""
    centers = np.empty((int(labels.max(initial=-1)) + 1, rows.shape[1]), modes.centers.dtype)
    for c in range(len(centers)):
        own = np.flatnonzero(told == c)
        centers[c] = modes.centers[own[0]] if own.size else rows[labels == c].mean(axis=0)
    return centers
