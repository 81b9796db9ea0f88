"""What two rivals share: groups of rows that answers say are together, and a row put into one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.active.oracle import Oracle
from benchmarks.active.rivals_random import links_of
from benchmarks.harness import Array
from linkshift import Links


class Spent(Exception):
    """All questions that are allowed have been asked."""


class Asking:
    """Ask, keep all answers, and make labels of them where these are wanted."""

    def __init__(
        self,
        oracle: Oracle,
        checkpoints: Sequence[int],
        labels: Callable[[Links], Array],
    ) -> None:
        self._oracle, self._checkpoints, self._labels = oracle, checkpoints, labels
        self._pairs: list[tuple[int, int]] = []
        self._answers: list[bool | None] = []
        self.found: dict[int, Array] = {}
        self._keep()

    @property
    def count(self) -> int:
        """How many questions have been asked."""
        return len(self._answers)

    @property
    def links(self) -> Links:
        """All answers so far."""
        pairs = np.array(self._pairs, dtype=np.int64).reshape(-1, 2)
        return links_of(pairs, self._answers, len(self._oracle.y))

    def __call__(self, a: int, b: int) -> bool | None:
        """Ask about a pair of rows."""
        if len(self._answers) == max(self._checkpoints):
            raise Spent
        self._answers.append(self._oracle(a, b))
        self._pairs.append((a, b))
        self._keep()
        return self._answers[-1]

    def finish(self) -> dict[int, Array]:
        """Give labels by number of questions; who has ended early keeps the last ones."""
        left = [count for count in self._checkpoints if count not in self.found]
        return self.found | (dict.fromkeys(left, self._labels(self.links)) if left else {})

    def _keep(self) -> None:
        if len(self._answers) in self._checkpoints:
            self.found[len(self._answers)] = self._labels(self.links)


class Neighbourhoods:
    """Groups of rows; rows of two groups are apart."""

    def __init__(self, first: int, n_samples: int) -> None:
        self.groups = [[first]]
        self.free = np.ones(n_samples, dtype=bool)  # rows that may still be asked about
        self.free[first] = False

    def centres(self, X: Array) -> Array:
        """Mean of each group."""
        return np.array([X[rows].mean(axis=0) for rows in self.groups])

    def settle(
        self, row: int, order: Sequence[int], ask: Asking, *, may_found: bool = True
    ) -> None:
        """Ask about a row and one of each group in turn until one is its own.

        If none is, the row founds a group; where that may not be, as all groups are known, it is
        of the last one, which need not be asked. A row that nobody knows is left alone.
        """
        self.free[row] = False
        unknown = False
        for place, group in enumerate(order):
            if not may_found and not unknown and place == len(order) - 1:
                self.groups[group].append(row)
                return
            answer = ask(row, self.groups[group][0])
            if answer:
                self.groups[group].append(row)
                return
            unknown |= answer is None
        if may_found and not unknown:
            self.groups.append([row])
