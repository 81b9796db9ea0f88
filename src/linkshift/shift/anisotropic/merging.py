"""End points under metrics of their own: merged into modes, and labelled."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from linkshift._core.arrays import Array
from linkshift.modes import Modes
from linkshift.shift.anisotropic import _loops
from linkshift.shift.anisotropic.climb import evaluate
from linkshift.shift.anisotropic.forms import Forms
from linkshift.shift.landscape import Ascent

if TYPE_CHECKING:
    from linkshift.shift.anisotropic.density import AnisotropicDensity

__all__ = ["label", "merge"]


def merge(
    density: AnisotropicDensity, ascent: Ascent, share: float, *, n_threads: int = 1
) -> Modes:
    r"""Merge end points into modes, greedily from the densest.

    As :func:`linkshift.modes.merge_ends`: the densest end point that no mode covers yet becomes a
    mode, ties going to the larger coordinates. Mode a covers every end b with

    .. math:: (a - b)^\top H(a) (a - b) \le \text{share}^2 \quad\text{or}\quad
              (a - b)^\top H(b) (a - b) \le \text{share}^2

    with ``share`` in local bandwidths. An end that no point reaches has no H: only the H of the
    other counts.
    """
    assert ascent.log_density is not None
    order = np.lexsort((*ascent.ends.T[::-1], ascent.log_density))[::-1]
    _, first = np.unique(ascent.ends[order], axis=0, return_index=True)
    distinct = ascent.ends[order[np.sort(first)]]  # the densest first

    seen = _see(density, distinct, n_threads)
    free = np.ones(distinct.shape[0], dtype=bool)
    chosen: list[int] = []
    for i in range(distinct.shape[0]):
        if free[i]:
            rows = np.flatnonzero(free)
            mode = seen.lifted[i], seen.precision[i], share
            covered, _ = _covers(density.forms, *mode, seen, rows)
            free[rows[covered]] = False
            free[i] = False
            chosen.append(i)
    return Modes(distinct[chosen], np.full(len(chosen), share))


class _Seen(NamedTuple):
    """End points as they are measured: lifted, with the H of each, if any point reaches it."""

    lifted: Array
    precision: Array
    reached: Array


def _see(density: AnisotropicDensity, ends: Array, n_threads: int) -> _Seen:
    lifted = density.forms.lift(density.forms.to_working(ends))
    precision, _ = evaluate(density, ends, n_threads=n_threads)
    return _Seen(lifted, precision, np.asarray(precision.any(axis=1)))


def _covers(
    forms: Forms, mode: Array, form: Array, radius: float, ends: _Seen, rows: Array
) -> tuple[Array, Array]:
    """Which ends (of ``rows``) the lifted mode covers, and their squared distances by its H."""
    by_mode, by_end = np.empty(rows.size), np.empty(rows.size)
    _loops.squared_distances(mode, ends.lifted, form[None], rows, forms.n_bases, by_mode)
    _loops.squared_distances(mode, ends.lifted, ends.precision, rows, forms.n_bases, by_end)
    if not form.any():
        by_mode[:] = np.inf
    by_end[~ends.reached[rows]] = np.inf
    return (by_mode <= radius**2) | (by_end <= radius**2), by_mode


def label(density: AnisotropicDensity, ends: Array, modes: Modes, *, n_threads: int = 1) -> Array:
    """Label of each end point: the densest mode that covers it, else the nearest by the mode's H.

    On the end points that made the modes this is the mode that took them in.
    """
    forms = density.forms
    seen, mode_seen = (_see(density, where, n_threads) for where in (ends, modes.centers))
    about = list(zip(mode_seen.lifted, mode_seen.precision, modes.radius.tolist(), strict=True))
    labels = np.full(ends.shape[0], -1, dtype=np.int64)
    for i, mode in enumerate(about):
        free = np.flatnonzero(labels < 0)
        covered, _ = _covers(forms, *mode, seen, free)
        labels[free[covered | (ends[free] == modes.centers[i]).all(axis=1)]] = i
    free = np.flatnonzero(labels < 0)
    closest = np.full(free.size, np.inf)
    labels[free] = 0
    for i, mode in enumerate(about if free.size else []):
        _, squared = _covers(forms, *mode, seen, free)
        closer = squared < closest
        labels[free[closer]], closest[closer] = i, squared[closer]
    return labels
