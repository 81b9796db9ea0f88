"""Numbers that clusters keep from refit to refit, also when they come back after an undo."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkshift._core.arrays import Array
from linkshift.methods.numbering import numbers_like

__all__ = ["Stable"]

_REMEMBERED = 50  # clusters that are gone


class Stable:
    """Gives each cluster the number of the one before that it shares most rows with.

    One without any takes the number of a cluster that is gone, if they share more than half of the
    rows of both: what was merged and is taken apart again is what it was.
    """

    def __init__(self, before: Array | None = None) -> None:
        self.labels: NDArray[np.int32] | None = None if before is None else before.astype(np.int32)
        self._gone: dict[int, Array] = {}

    def follow(self, labels: Array) -> NDArray[np.int32]:
        """Give clusters, numbered from 0 without gaps, the numbers of the last call."""
        if self.labels is None:
            self.labels = labels.astype(np.int32)
            return self.labels
        before, n = self.labels, int(labels.max()) + 1
        numbers = numbers_like(labels, before.astype(np.int64), n)
        there = np.unique(before)
        new = np.flatnonzero(~np.isin(numbers, there))
        given = set(numbers.tolist()) - set(numbers[new].tolist())
        for number in set(there.tolist()) - given:
            self._gone.pop(number, None)
            self._gone[number] = np.flatnonzero(before == number)
        for k in new.tolist():
            rows = labels == k
            numbers[k] = -1
            for number, was in self._gone.items():
                shared = int(rows[was].sum())
                if 2 * shared > len(was) + int(rows.sum()) - shared:
                    numbers[k] = number  # one at most has more than half
                    break
            if numbers[k] >= 0:
                del self._gone[int(numbers[k])]
        following = max(int(there[-1]), int(numbers.max())) + 1
        for k in np.flatnonzero(numbers < 0).tolist():
            numbers[k], following = following, following + 1
            self._gone.pop(int(numbers[k]), None)
        for number in list(self._gone)[:-_REMEMBERED]:
            del self._gone[number]
        self.labels = numbers[labels].astype(np.int32)
        return self.labels
