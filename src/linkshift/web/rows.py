"""Which row of the data at hand a key of the log names; keys outlive tables that change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

from linkshift.web.fingerprint import Fingerprint, matched

__all__ = ["Rows"]


class Rows:
    """Rows by number, and what the log calls them: ids, or numbers where they have none.

    Parameters
    ----------
    now : Fingerprint
        Of the data at hand.
    seq : int
        Their number in the log.
    history : callable
        Gives the fingerprints of earlier data by their numbers, when one is asked for.
    """

    def __init__(
        self, now: Fingerprint, seq: int, history: Callable[[], Mapping[int, Fingerprint]]
    ) -> None:
        self.now, self.seq, self._history = now, seq, history
        self._moved: dict[int, tuple[Fingerprint, NDArray[Any]] | None] = {}

    def __len__(self) -> int:
        return self.now.n_rows

    def key(self, row: int) -> str | int:
        """Give what the log calls a row."""
        return row if self.now.ids is None else self.now.ids[row]

    def row(self, key: Any, data: int = 0) -> int | None:
        """Find the row of a key that was written about some data; None where it is gone."""
        if data not in (0, self.seq) and (moved := self._since(data)) is not None:
            before, place = moved
            row = _place(before, key)
            return None if row is None or place[row] < 0 else int(place[row])
        return _place(self.now, key)

    def _since(self, data: int) -> tuple[Fingerprint, NDArray[Any]] | None:
        if data not in self._moved:
            before = self._history().get(data)
            self._moved[data] = None if before is None else (before, matched(before, self.now))
        return self._moved[data]


def _place(found: Fingerprint, key: Any) -> int | None:
    if found.ids is not None:
        return found.row_of.get(key)
    whole = isinstance(key, int) and not isinstance(key, bool)
    return key if whole and 0 <= key < found.n_rows else None
