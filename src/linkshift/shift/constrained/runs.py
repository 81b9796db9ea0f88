"""Shifts of the same points under different links, each going on from an earlier one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from linkshift._core.arrays import Array, Progress
from linkshift.links import ClosedLinks, Closure
from linkshift.modes import merge_close
from linkshift.shift.constrained.ascent import (
    ConstrainedAscent,
    History,
    LinkKernel,
    constrained_ascend,
    link_weights,
)
from linkshift.shift.constrained.bending import (
    centre_families,
    centres_apart,
    changed_pairs,
    closed_pairs,
)

__all__ = ["ConstrainedShift", "Run", "extent_of", "given_schedule", "part_of"]


class Run(NamedTuple):
    """A shift that another one can go on from."""

    history: History
    bending: tuple[Array, Array]  # cannot-linked pairs of rows, and their confidence


@dataclass(frozen=True, eq=False)
class ConstrainedShift:
    """Points, and how links act on them."""

    points: Array
    kernel: LinkKernel
    scale: float  # the lambda of eq. 4.4
    blurring: bool  # whether samples move along with their centres
    until_settled: bool  # whether to stop as soon as nothing can change any more
    max_pairs: int  # most cannot-linked pairs of rows that bend the shift
    merge_above: float  # closeness of centres that share a label
    merge_weight: float | None  # and the weight between them, in the authors' code
    n_threads: int
    weight: Array | None = None  # of each point

    @property
    def options(self) -> dict[str, Any]:
        """How links act, for the shift and for what looks at it."""
        extent = extent_of(self.points, self.weight)
        return {"scale": self.scale, "floor": 1e-3 * extent, "blurring": self.blurring}

    def run(
        self,
        closed: ClosedLinks,
        bandwidths: Array,
        before: Run | None,
        *,
        keep: bool,
        progress: Progress | None = None,
        complain: bool = False,
    ) -> tuple[Run, ConstrainedAscent]:
        """Shift under links, from where an earlier run can be gone on with."""
        cannot, confidence = self._bending_links(closed, complain=complain)
        past = None
        if before is not None:
            changed = changed_pairs(before.bending, (cannot, confidence))
            kept = self._first_effect(changed, before.history, bandwidths)
            past = before.history[: min(kept, len(bandwidths)) + 1]
        ascent = constrained_ascend(
            self.points,
            cannot,
            bandwidths,
            self.kernel,
            confidence=confidence,
            weight=self.weight,
            keep_history=keep,
            until_settled=self.until_settled,
            past=past,
            n_threads=self.n_threads,
            progress=progress,
            **self.options,
        )
        return Run(ascent.history, (cannot, confidence)), ascent

    def _first_effect(self, pairs: Array, history: History, bandwidths: Array) -> int:
        """First iteration of a run that one of these cannot-links could have changed.

        A link changes a step when a centre near its one end reaches a sample of a centre near its
        other end. Until then a run with the link and a run without it are the same, and the history
        of the one serves the other. Returns the number of states in the history when no iteration
        was changed.
        """
        floor = self.options["floor"]
        for iteration, (h, (centres, group)) in enumerate(zip(bandwidths, history, strict=False)):
            samples = centres[group] if self.blurring else self.points
            reach = self.kernel.limit * h**2
            for x, y in group[pairs].tolist():
                length = float(np.linalg.norm(centres[x] - centres[y]))
                limit = self.kernel.limit * max(floor, min(h, self.scale * length)) ** 2
                near = [((centres - centres[end]) ** 2).sum(axis=1) < limit for end in (x, y)]
                for one, other in (near, near[::-1]):
                    apart = cdist(centres[one], samples[other[group]], "sqeuclidean")
                    if (apart < reach).any():
                        return iteration
        return len(history)

    def _bending_links(self, closed: ClosedLinks, *, complain: bool) -> tuple[Array, Array]:
        """Cannot-linked pairs of rows that bend the shift, and their confidence."""
        links = closed.links
        certain = closed_pairs(closed.closure, self.points, self.max_pairs, complain=complain)
        doubtful = links.cannot_confidence < 1.0
        pairs = np.concatenate([certain, links.cannot[doubtful]])
        return pairs, np.concatenate([np.ones(len(certain)), links.cannot_confidence[doubtful]])

    def labels(
        self,
        states: History,
        bending: tuple[Array, Array],
        bandwidth: float,
        apart: Closure | None,
    ) -> Array:
        """Cluster of each row by the closeness of the final centres.

        ``states`` end with those before and after the last iteration, which ``bending`` links
        bent. Centres whose rows ``apart`` holds apart are not merged.
        """
        (centres, group), steps = states[-1], None
        limit = -np.log(self.merge_above)
        if self.merge_weight is not None:
            # As rows were when the last step's weights were made, at where the step led.
            start, group = states[-2:][0]
            centres = centres[_of_group(states[-1][1], group)]
            weight = link_weights(
                start,
                group[bending[0]],
                bending[1],
                bandwidth,
                self.kernel,
                scale=self.scale,
                floor=self.options["floor"],
                n_threads=self.n_threads,
            )
            steps = weight > self.merge_weight
            limit = min(limit, self.kernel.limit) if self.kernel.name != "flat" else 1.0
        pairs = families = None
        if apart is not None and len(apart.component_cannot):
            pairs = centres_apart(group, apart)
        if apart is not None and len(apart.groups):
            families = centre_families(group, apart)
        radius = bandwidth * np.sqrt(limit)
        merged = merge_close(centres, radius, pairs, families, steps)
        if steps is None:
            return merged[group]
        return _split_alone(merged, group, steps)


def extent_of(points: Array, weight: Array | None) -> float:
    """Range of the widest column, over points that have weight; one where there is none."""
    counted = points if weight is None else points[weight > 0]
    return float(np.ptp(counted, axis=0).max()) or 1.0


def _of_group(values: Array, group: Array) -> Array:
    """Value of each group, whose rows all have the same."""
    found = np.empty(int(group.max()) + 1, dtype=values.dtype)
    found[group] = values
    return found


def _split_alone(merged: Array, group: Array, steps: Array) -> Array:
    """Labels of rows, each its own where not even rows of one centre may meet."""
    alone = (np.bincount(merged)[merged] == 1) & ~np.diagonal(steps)
    labels = merged[group]
    lost = np.flatnonzero(alone[group])
    labels[lost] = merged.max() + 1 + np.arange(len(lost))
    return np.unique(labels, return_inverse=True)[1]


def given_schedule(bandwidth: ArrayLike, max_iter: int) -> Array:
    """Bandwidth of each iteration, from one that stays or from one for each."""
    bandwidths = np.asarray(bandwidth, dtype=np.float64)
    if bandwidths.ndim == 0:
        return np.full(max_iter, float(bandwidths))
    valid = np.isfinite(bandwidths) & (bandwidths > 0)
    if bandwidths.ndim != 1 or not len(bandwidths) or not valid.all():
        raise ValueError("bandwidth must be a positive number or a 1-D array of such.")
    return bandwidths


def part_of(progress: Progress | None, part: int, parts: int) -> Progress | None:
    """Progress of one of several shifts as progress of all."""
    if progress is None:
        return None
    return lambda made, total: progress(part * total + made, parts * total)
