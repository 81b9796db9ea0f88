"""The rows that a session looks at, and the way from all rows there and back."""

from __future__ import annotations

import numpy as np

from linkshift._core.arrays import Array, first_of_equal_rows
from linkshift._core.threads import one_blas_thread
from linkshift.active.belief import beliefs, prior
from linkshift.active.known import Told
from linkshift.active.look import Look, look_at
from linkshift.active.questions import Branches, branches
from linkshift.active.state import Faces
from linkshift.shift.neighbours import nearest_neighbours

__all__ = ["VOTERS", "Looked"]

VOTERS = 10


class Looked:
    """The rows that are looked at, each place once, and the way from all rows there."""

    def __init__(self, X: Array, rows: Array, threads: int) -> None:
        first = first_of_equal_rows(X[rows])
        kept, of = np.unique(first, return_inverse=True)
        self._rows = rows[kept]
        self.place = dict(zip(rows.tolist(), of.tolist(), strict=True))
        self._looked, self._of = rows, of
        with one_blas_thread():
            self.look: Look = look_at(X[self._rows], n_threads=threads)
            self.faces = Faces(self.look)
            self.tree: Branches = branches(self.look, beliefs(prior().mean, self.look.features))
        self._n = len(X)
        if len(rows) < len(X):
            others = np.setdiff1d(np.arange(len(X)), rows)
            distance, near = nearest_neighbours(
                X[self._rows], min(VOTERS, len(self._rows)), X[others]
            )
            reach = np.maximum(distance[:, -1:], np.finfo(float).tiny)
            self._others, self._near = others, near
            self._vote = np.exp(-((distance / reach) ** 2))

    def row(self, place: int) -> int:
        """Give the first row in a place."""
        return int(self._rows[place])

    def places(self, a: int, b: int) -> tuple[int, int]:
        """Places of two rows, the smaller first."""
        one, other = self.place[a], self.place[b]
        return (one, other) if one < other else (other, one)

    def is_equal(self, told: Told) -> bool:
        """Whether both rows are in one place."""
        return self.place[told.a] == self.place[told.b]

    def placed(self, told: list[Told]) -> list[Told]:
        """Give what was told of rows in different places, as of these."""
        return [
            one._replace(a=self.place[one.a], b=self.place[one.b])
            for one in told
            if not self.is_equal(one)
        ]

    def all_labels(self, labels: Array) -> Array:
        """Give labels of all rows: others go by a vote of the nearest that were looked at."""
        found = np.empty(self._n, dtype=np.int64)
        found[self._looked] = labels[self._of]
        if len(self._looked) < self._n:
            said = labels[self._near]
            votes = np.zeros(said.shape)
            for i in range(said.shape[1]):
                votes += self._vote[:, i : i + 1] * (said[:, i : i + 1] == said)
            found[self._others] = said[np.arange(len(said)), votes.argmax(axis=1)]
        return found
