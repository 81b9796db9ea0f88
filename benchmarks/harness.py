"""What every suite shares: options, rows, and a clock that is fair on a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_blobs

Array = NDArray[Any]
Cell = str | int | float | bool | None
Size = Literal["tiny", "quick", "full"]
T = TypeVar("T")


@dataclass(frozen=True)
class Options:
    """How large and how often. ``tiny`` only shows that a suite runs."""

    size: Size = "quick"
    repeats: int = 3
    seed: int = 0

    def pick(self, tiny: T, quick: T, full: T) -> T:
        """Choose by size."""
        return {"tiny": tiny, "quick": quick, "full": full}[self.size]


class Times(NamedTuple):
    """Raw seconds, one entry a round."""

    wall: list[float]
    cpu: list[float]  # of all threads of this process: tells waiting from working

    @property
    def best(self) -> float:
        """Least wall-clock seconds: what the code takes when nobody is in its way."""
        return min(self.wall)


@dataclass(frozen=True)
class Row:
    """One line of a suite's table, and the timings behind it."""

    cells: dict[str, Cell]
    raw: dict[str, Times] = field(default_factory=dict)


def interleave(
    sides: Mapping[str, Callable[[], Any]], repeats: int, budget: float = 60.0
) -> tuple[dict[str, Times], dict[str, Any]]:
    """Time all sides in turn, round by round, so that a busy minute hurts all of them.

    Ends after ``repeats`` rounds, or after the round in which ``budget`` seconds are used up:
    every side has the same number of rounds. Returns the times and each side's last result.
    """
    times = {name: Times([], []) for name in sides}
    results: dict[str, Any] = {}
    begin = time.perf_counter()
    for _ in range(repeats):
        for name, side in sides.items():
            wall, cpu = time.perf_counter(), time.process_time()
            results[name] = side()
            times[name].wall.append(time.perf_counter() - wall)
            times[name].cpu.append(time.process_time() - cpu)
        if time.perf_counter() - begin > budget:
            break
    return times, results


def blobs(
    n: int, d: int, *, n_centers: int = 10, seed: int = 0, dtype: type[np.floating] = np.float64
) -> tuple[Array, Array]:
    """Round clusters of unit spread in a box of side 20: rows and their classes."""
    X, y = make_blobs(n, d, centers=n_centers, cluster_std=1.0, random_state=seed)
    return X.astype(dtype), y
