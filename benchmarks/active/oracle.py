"""Who answers: by the classes, now and then wrongly or not at all.

A wrong answer is a slip: who is asked about the same pair again may slip again or not, whatever
was said before. What nobody knows remains unknown.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
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

    A pair that is asked again, to confirm an answer, has an error of its own: the answer hangs on
    the pair and on how often it was asked before, and on nothing else that was asked.

    It also keeps what is measured on the way: every pair that was asked about, how often, seconds
    that questions took, and what a strategy says of itself and of its questions.
    """

    def __init__(self, y: Array, case: Case | None = None, seed: int = 0) -> None:
        self.y = y
        self.case = Case() if case is None else case
        self.seed = seed
        self.asked: list[tuple[int, int]] = []
        self.shown = 0  # rows, over all questions
        self.times: Counter[tuple[int, int]] = Counter()  # that a pair was asked
        self.purposes: Counter[str] = Counter()  # of questions, as far as a strategy tells them
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
        before = self.times[first, second]
        self.times[first, second] += 1
        self.asked.append((first, second))
        self.shown += 2
        # A pair has its own draws, so that asking in another order changes no answer.
        unknown, wrong = np.random.default_rng((self.seed, first, second)).random(2)
        if unknown < self.case.unknown:
            return None
        if before:  # a slip does not repeat
            wrong = np.random.default_rng((self.seed, first, second, before)).random()
        return bool((self.y[first] == self.y[second]) != (wrong < self.case.wrong))

    def which(self, row: int, among: Sequence[int]) -> list[int] | None:
        """Mark the rows that belong with a row; that is a question more, however many they are.

        Beside one other row it is a question about a pair. A slip is one of the whole question: as
        likely as not none is marked where one should be; otherwise one that should not be, alone.
        """
        if len(among) == 1:
            answer = self(row, among[0])
            return None if answer is None else [among[0]] if answer else []
        if row in among or len(set(among)) < len(among):
            raise ValueError(f"Row {row} was asked about among {list(among)}: one stands twice.")
        self.asked.append((row, among[0]))
        self.shown += 1 + len(among)
        rng = np.random.default_rng((self.seed, row, *sorted(among)))
        unknown, wrong, none = rng.random(3)
        if unknown < self.case.unknown:
            return None
        like = [one for one in among if self.y[one] == self.y[row]]
        if wrong >= self.case.wrong:
            return like
        others = [one for one in among if one not in like]
        if not others or (like and none < 0.5):
            return []
        return [int(rng.choice(others))]


class Stopwatch:
    """Wall-clock seconds of a block: ``with Stopwatch() as clock: ...``, then ``clock.seconds``."""

    seconds = 0.0

    def __enter__(self) -> Stopwatch:
        self._begin = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._begin
