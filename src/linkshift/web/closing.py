"""What follows from answers, kept up with each one: which pairs need not be asked, and how many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from linkshift.active.known import Known, Told

__all__ = ["Closing"]


@dataclass
class Closing(Known):
    """Groups of rows by certain answers, with the number of pairs that they tell of.

    >>> closing = Closing()
    >>> for a, b, same in ((0, 1, True), (1, 2, True), (2, 5, False)):
    ...     closing.take(Told(a, b, same, 1.0, ""))
    >>> closing.n_pairs, closing.n_implied, closing.says(0, 5)
    (6, 3, False)
    """

    sizes: dict[int, int] = field(default_factory=dict)  # of roots, where it is not one
    n_pairs: int = 0  # that answers tell of
    said: set[tuple[int, int]] = field(default_factory=set)

    @classmethod
    def over(cls, told: Iterable[Told]) -> Closing:
        """Close answers, the first ones first."""
        new = cls()
        for one in told:
            new.take(one)
        return new

    @property
    def n_implied(self) -> int:
        """Pairs that nobody was asked about, and that are known all the same."""
        return self.n_pairs - len(self.said)

    def take(self, told: Told) -> None:
        """Take one more answer; one that contradicts those before is set aside."""
        said = self.says(told.a, told.b)
        if said is None:
            self._count(told)
        if said is None or said == told.same:
            self.said.add((min(told.a, told.b), max(told.a, told.b)))
        self._take(told)

    def _count(self, told: Told) -> None:
        """Count what an answer adds that tells of two groups for the first time."""
        one, other = self.root(told.a), self.root(told.b)
        m, n = self.sizes.get(one, 1), self.sizes.get(other, 1)
        self.n_pairs += m * n
        if not told.same:
            return
        foes, others = self.foes.get(one, set()), self.foes.get(other, set())
        self.n_pairs += n * sum(self.sizes.get(foe, 1) for foe in foes - others)
        self.n_pairs += m * sum(self.sizes.get(foe, 1) for foe in others - foes)
        self.sizes[min(one, other)] = m + n
