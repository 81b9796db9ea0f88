"""What is climbed: the verbs that every density has, and the values that they share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from linkshift._core.arrays import Array
from linkshift.modes import Modes

__all__ = ["Ascent", "Landscape"]


@dataclass(frozen=True)
class Ascent:
    """Where m starts ended."""

    ends: Array  # (m, d): last positions, in the coordinates of the starts
    # What the ends are ranked by: sum of the weights at the last step, or density, relative to the
    # largest; zero where no point reached the start.
    total: Array
    converged: Array  # whether the last step was shorter than the tolerance
    n_iter: int  # steps made by the start that made most
    paths: list[Array] | None = None  # all positions of each start, (steps + 1, d), on request
    # At the last step, minus infinity where no point reached the start; None if it is not needed.
    log_density: Array | None = None


@runtime_checkable
class Landscape(Protocol):
    """Points with kernels, laid out once: starts climb, ends are merged into modes, and labelled.

    Served by :class:`linkshift.shift.density.Density`, where all kernels are round, and by
    :class:`linkshift.shift.anisotropic.AnisotropicDensity`, where each point has its own metric.
    """

    @property
    def n_points(self) -> int:
        """Number of points with a weight."""

    def inputs(self) -> dict[str, Any]:
        """Return what the builder was given: ``build(**inputs)`` is climbed to the same bits."""

    def to_starts(self, X: Array) -> Array:
        """Rows in the coordinates in which is climbed."""

    def to_columns(self, positions: Array, rows: Array) -> Array:
        """Positions in the columns of ``rows``, one of which belongs to each point.

        Where climbing does not know a column, the mean of the rows, weighted as mean shift weighs
        the points at the position.
        """

    def climb(self, starts: Array, *args: Any, **options: Any) -> Ascent:
        """Move each start until a step is at most ``tol`` bandwidths long.

        Options: ``max_iter``, ``tol``, ``n_threads``, ``keep_paths`` and ``progress``, which is
        called with (work done, work).
        """

    def merge(self, ascent: Ascent, share: float, *, n_threads: int = 1) -> Modes:
        """Merge ends within ``share`` bandwidths into modes, the densest first."""

    def label(self, ends: Array, modes: Modes, *, n_threads: int = 1) -> Array:
        """Label of each end: the densest mode that covers it, else the nearest.

        On the ends that made the modes this is the mode that took them in.
        """
