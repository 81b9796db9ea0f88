"""Plain mean shift of very many rows: landmarks climb, their modes go on over all rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score

from linkshift._core.arrays import Array, Progress
from linkshift._core.convergence import warn_if_moving
from linkshift._core.messages import Advice, warn
from linkshift._core.progress import stages, tell
from linkshift.bandwidth import default_bandwidth
from linkshift.modes import Modes, basin_labels, merge_ends, merging_share, nearest_labels
from linkshift.profiles import Profile
from linkshift.shift.density import Density, build_density
from linkshift.shift.engine import ascend
from linkshift.shift.skipping import ascend_skipping
from linkshift.summaries import (
    Landmarks,
    even_rows,
    landmark_density,
    place_landmarks,
    summarise,
)

__all__ = ["ByLandmarks", "climb_by_landmarks", "count_landmarks", "few_rows_bandwidth", "tell_so"]

N_LANDMARKS = 8_000  # of "auto"
FEW_COLUMNS = 5
MOST_ROWS, MOST_ROWS_OF_FEW_COLUMNS = 20_000, 50_000  # that "auto" climbs exactly
_SEED = 0  # of the line along which rows are drawn: the only chance there is
_BANDWIDTH_ROWS = 20_000
_SAMPLE, _LEAST_SAMPLE = 256, 64  # rows that climb exactly, to tell how faithful landmarks are
_SAMPLE_ENTRIES = 4e9  # of their differences to all rows, in one step
_STRIDE = 5  # steps between two looks at who has arrived at a mode


class ByLandmarks(NamedTuple):
    """What comes of landmarks."""

    landmarks: Landmarks
    modes: Modes
    labels: Array  # of rows, by mode
    fidelity: float
    n_iter: int


def count_landmarks(landmarks: str | int | None, n: int, d: int) -> int | None:
    """How many landmarks stand for n rows of d columns; None where rows climb themselves."""
    if landmarks == "auto":
        most = MOST_ROWS if d > FEW_COLUMNS else MOST_ROWS_OF_FEW_COLUMNS
        return N_LANDMARKS if n > most else None
    return None if landmarks is None or int(landmarks) >= n else int(landmarks)


def tell_so(n: int, m: int, fidelity: float) -> None:
    """Say that landmarks stood for rows, and how faithful that is."""
    remedy = "MeanShift(landmarks=None) is exact, and slow; more landmarks are more faithful."
    warn(
        Advice(
            f"{n:,} rows were clustered by {m:,} landmarks: the adjusted Rand index to rows that "
            f"climbed exactly is {fidelity:.2f}, on a sample.",
            remedy,
            command=f"In Python, {remedy}",
            parameter="landmarks",
            value="auto",
        )
    )


def few_rows_bandwidth(X: Array, profile: Profile, *, sample_weight: Array | None) -> float:
    """Find the default bandwidth, with neighbours sought among 20,000 rows that stand for all."""
    some = even_rows(X, _BANDWIDTH_ROWS, _SEED, sample_weight)
    total = float(X.shape[0] if sample_weight is None else sample_weight.sum())
    if some.size == X.shape[0] or total <= some.size:
        return default_bandwidth(X, profile, sample_weight=sample_weight)
    return default_bandwidth(X[some], profile, stands_for=total / some.size)


def climb_by_landmarks(
    X: Array,
    bandwidth: float,
    profile: Profile,
    m: int,
    *,
    weight: Array | None,
    nearest: bool,
    skipping: dict[str, Any],
    progress: Progress | None,
    **options: Any,
) -> ByLandmarks:
    """Mean shift of X by m landmarks; rows go to the nearest mode, or as the landmarks around do.

    The modes that landmarks find go on over all rows until they stand on modes of these, and those
    that meet are one. ``skipping`` and ``options`` are those of `ascend_skipping`.
    """
    summing, climbing, going_on, labelling, checking = stages(progress, 0.2, 0.3, 0.2, 0.2, 0.1)
    threads = options["n_threads"]
    summary = summarise(X, m, _SEED, sample_weight=weight, n_jobs=threads)
    tell(summing, 1, 1)
    density = landmark_density(summary, bandwidth, profile)
    ascent = ascend_skipping(density, summary.points, progress=climbing, **skipping, **options)
    warn_if_moving(ascent.converged, options["max_iter"], "landmarks")
    radius = merging_share(profile) * bandwidth
    found = merge_ends(ascent.ends, ascent.total, radius)
    labels = basin_labels(ascent.ends, found)

    every = build_density(X, bandwidth, profile, sample_weight=weight)
    onwards = ascend(every, found.centers, progress=going_on, **options)
    modes = merge_ends(onwards.ends, onwards.total, radius)
    landmarks = place_landmarks(density, basin_labels(onwards.ends, modes)[labels])
    by_row = nearest_labels(X, modes)[0] if nearest else landmarks.label(X, n_threads=threads)
    tell(labelling, 1, 1)
    fidelity = _fidelity(every, X, by_row, modes, weight, nearest, options)
    tell(checking, 1, 1)
    return ByLandmarks(landmarks, modes, by_row, fidelity, ascent.n_iter)


def _fidelity(
    density: Density,
    X: Array,
    labels: Array,
    modes: Modes,
    weight: Array | None,
    nearest: bool,
    options: dict[str, Any],
) -> float:
    """Compare labels of a sample with those of rows that climb exactly: adjusted Rand index.

    A row that comes within half the merging radius of a mode ends there: these are modes of the
    density of all rows.
    """
    size = int(np.clip(_SAMPLE_ENTRIES / X.size, _LEAST_SAMPLE, _SAMPLE))
    some = even_rows(X, size, _SEED, weight)
    ends, total = X[some].copy(), np.zeros(some.size)
    left = np.arange(some.size)
    for _ in range(0, options["max_iter"], _STRIDE):
        ascent = ascend(density, ends[left], **options | {"max_iter": _STRIDE})
        ends[left], total[left] = ascent.ends, ascent.total
        mode, apart = nearest_labels(ends[left], modes)
        trapped = apart <= 0.5 * modes.radius[mode]
        ends[left[trapped]] = modes.centers[mode[trapped]]
        left = left[~(trapped | ascent.converged)]
        if not left.size:
            break
    exact = merge_ends(ends, total, float(modes.radius[0]))
    truth = nearest_labels(X[some], exact)[0] if nearest else basin_labels(ends, exact)
    return float(adjusted_rand_score(truth, labels[some]))
