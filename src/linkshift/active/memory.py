"""What follows from answers, of the same rows: the last looks and states are kept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.labels import first_come
from linkshift._core.threads import n_threads
from linkshift.active.known import Known, Told
from linkshift.active.log import as_links
from linkshift.active.looked import VOTERS, Looked
from linkshift.active.state import State, state_of
from linkshift.links import ClosedLinks, Closure
from linkshift.refinement import hold, nearest_rows

__all__ = ["MOST_ROWS", "Memory", "between_rows"]

MOST_ROWS = 2_500  # that are looked at; others go with their neighbours among these
_KEPT = 4  # states


class Memory:
    """Looks at rows, and states after answers, for a session to ask for."""

    def __init__(self, X: Array, random_state: int, n_jobs: int | None) -> None:
        self.X, self._seed, self._n_jobs = X, random_state, n_jobs
        self._states: dict[tuple[Any, ...], tuple[Looked, State]] = {}
        self._sights: dict[tuple[int, ...], Looked] = {}

    def sight(self, told: list[Told], also: Sequence[int] = ()) -> Looked:
        """Look at the rows; of many, at those that are named in addition."""
        named: tuple[int, ...] = ()
        if len(self.X) > MOST_ROWS:
            there = {row for one in told for row in (one.a, one.b)} | set(also)
            named = tuple(sorted(there - self.drawn))
        if named not in self._sights:
            if len(self._sights) > 1:
                self._sights.pop(next(iter(self._sights)))
            rows = sorted(self.drawn | set(named))
            self._sights[named] = Looked(self.X, np.array(rows), n_threads(self._n_jobs))
        return self._sights[named]

    @cached_property
    def drawn(self) -> set[int]:
        """Rows that are looked at whatever is named."""
        n = len(self.X)
        order = np.random.default_rng(self._seed).permutation(n)
        return {int(row) for row in order[:MOST_ROWS]}

    def state(self, told: list[Told], also: Sequence[int] = ()) -> tuple[Looked, State]:
        """Give what follows from answers, and the look that it is of."""
        sight = self.sight(told, also)
        key = (*told, sight)
        if key not in self._states:
            if len(self._states) >= _KEPT:
                self._states.pop(next(iter(self._states)))
            self._states[key] = sight, state_of(sight.look, sight.faces, sight.placed(told))
        return self._states[key]

    def labels(self, told: list[Told]) -> Array:
        """Give clusters of all rows; certain answers hold that do not contradict others."""
        sight, state = self.state(told)
        labels = sight.all_labels(state.labels)
        certain = between_rows(told, state).taken
        if any((labels[one.a] == labels[one.b]) != one.same for one in certain):
            # Rows that are equal are one place, and rows that are not looked at go by a vote.
            closure: Closure = ClosedLinks(as_links(certain, None), len(self.X)).closure
            labels = hold(labels, closure, nearest_rows(self.X, VOTERS))
        return first_come(labels, np.int64)


def between_rows(told: list[Told], state: State) -> Known:
    """Close the certain answers row by row: the state does it by places, where equal rows are one.

    What contradicts others there comes last: between rows it may hold all the same.
    """
    aside = {one.against.name for one in state.known.contradictions}
    certain = [one for one in told if one.confidence == 1.0]
    return Known.of(certain, [float(one.name not in aside) for one in certain])
