"""What every suite shares: options, rows, and a clock that is fair on a busy machine."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_blobs

from linkshift import Links

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
    asked: bool = False  # for so many repeats: then that is how many are made

    def pick(self, tiny: T, quick: T, full: T) -> T:
        """Choose by size."""
        return {"tiny": tiny, "quick": quick, "full": full}[self.size]

    def rounds(self, tiny: int, quick: int | None = None, full: int | None = None) -> int:
        """Choose how often by size (``repeats`` where nothing is said), but what is asked for."""
        few = self.pick(tiny, quick, full)
        return self.repeats if self.asked or few is None else few

    def budget(self, seconds: float) -> float:
        """Seconds after which `interleave` may stop; no end where repeats are asked for."""
        return math.inf if self.asked else seconds


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


def left_out(what: str, why: str) -> Row:
    """Say what could not be run, in the place of its rows."""
    return Row({"part": "left out", "data": what, "why": why})


Parts = Mapping[str, Callable[[Options], Iterator[Row]]]


def run_parts(
    variable: str, parts: Parts, default: Sequence[str], options: Options
) -> Iterator[Row]:
    """Run the parts that an environment variable names, or those of ``default``."""
    for name in named(variable, list(parts), default):
        yield from parts[name](options)


def named(variable: str, known: Sequence[str], default: Sequence[str]) -> list[str]:
    """Give what an environment variable names, with commas between, or else the default."""
    wanted = os.environ.get(variable)
    names = wanted.split(",") if wanted else list(default)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"{variable} names {unknown[0]!r}; there are {', '.join(known)}")
    return names


def class_links(y: Array, n_links: int, rng: np.random.Generator) -> Links:
    """For each class, must-links within it and as many cannot-links out of it."""
    must, cannot = [], []
    for c in np.unique(y):
        own, others = np.flatnonzero(y == c), np.flatnonzero(y != c)
        must += [rng.choice(own, 2, replace=False) for _ in range(n_links)]
        cannot += [(rng.choice(own), rng.choice(others)) for _ in range(n_links)]
    pairs = (np.sort(np.array(given).reshape(-1, 2), axis=1) for given in (must, cannot))
    return Links(*pairs, duplicates="drop")


def interleave(
    sides: Mapping[str, Callable[[], Any]], repeats: int, budget: float = 60.0
) -> tuple[dict[str, Times], dict[str, Any]]:
    """Time all sides in turn, round by round, so that a busy minute hurts all of them.

    Ends after ``repeats`` rounds, or after the round in which ``budget`` seconds are used up
    (see `Options.budget`): every side has the same number of rounds. Returns the times and each
    side's last result.
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
