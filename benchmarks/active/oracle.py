"""Who answers: by the classes, now and then wrongly or not at all, the same pair alike."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from benchmarks.harness import Array


class Case(NamedTuple):
    """How good answers are."""

    wrong: float = 0.0  # share of the answers that are wrong
    unknown: float = 0.0  # share of the pairs that nobody knows

    @property
    def text(self) -> str:
        """What tables call it."""
        parts = []
        if self.wrong:
            parts.append(f"{self.wrong:.0%} wrong")
        if self.unknown:
            parts.append(f"{self.unknown:.0%} unknown")
        return ", ".join(parts) or "right"


class Bound(NamedTuple):
    """What was said of the ARI before it was known."""

    value: float
    low: float
    high: float


class Oracle:
    """Call it with two rows: True if they belong together, False if not, None if unknown.

    It also keeps what is measured on the way: every pair that was asked about, seconds that
    questions took, and what a strategy says of itself.
    """

    def __init__(self, y: Array, case: Case | None = None, seed: int = 0) -> None:
        self.y = y
        self.case = Case() if case is None else case
        self.seed = seed
        self.asked: list[tuple[int, int]] = []
        self.start = 0.0  # seconds before the first question
        self.seconds: list[float] = []  # of the further ones, as far as a strategy measures them
        self.estimates: dict[int, Bound] = {}  # of the ARI, by number of questions

    @property
    def n_classes(self) -> int:
        """For strategies that are told."""
        return int(self.y.max()) + 1

    def __call__(self, a: int, b: int) -> bool | None:
        """Answer; that is a question more."""
        first, second = int(min(a, b)), int(max(a, b))
        if first == second:
            raise ValueError(f"Row {first} was asked about with itself.")
        self.asked.append((first, second))
        # A pair has its own draws, so that asking in another order changes no answer.
        unknown, wrong = np.random.default_rng((self.seed, first, second)).random(2)
        if unknown < self.case.unknown:
            return None
        return bool((self.y[first] == self.y[second]) != (wrong < self.case.wrong))


class Stopwatch:
    """Wall-clock seconds of a block: ``with Stopwatch() as clock: ...``, then ``clock.seconds``."""

    seconds = 0.0

    def __enter__(self) -> Stopwatch:
        self._begin = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._begin
