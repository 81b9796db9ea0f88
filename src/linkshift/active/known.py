"""What answers say of pairs of rows, carried along chains, and contradictions among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Contradiction", "Known", "Told"]


class Told(NamedTuple):
    """An answer, or a link that was given: of two rows, by position."""

    a: int
    b: int
    same: bool
    confidence: float
    name: str  # what messages call it
    given: bool = False  # a link, not an answer of the session
    audit: bool = False  # of a pair that was drawn at random
    times: int = 1  # that it was said
    against: int = 0  # and the opposite


@dataclass(frozen=True)
class Contradiction:
    """An answer that others contradict, and the chain of answers that does."""

    against: Told
    chain: tuple[Told, ...]

    def __str__(self) -> str:
        """Say which answer does not count, and what stands against it."""
        others = "; ".join(told.name for told in self.chain)
        return (
            f"Answers contradict each other. Set aside as the least probable: {self.against.name}. "
            f"Against it: {others}."
        )


@dataclass
class Known:
    """Groups of rows that certain answers hold together, and groups that they hold apart."""

    parent: dict[int, int] = field(default_factory=dict)
    foes: dict[int, set[int]] = field(default_factory=dict)  # of roots
    taken: list[Told] = field(default_factory=list)
    contradictions: list[Contradiction] = field(default_factory=list)

    @classmethod
    def of(cls, told: Sequence[Told], trust: Sequence[float]) -> Known:
        """Take answers by trust, the most trusted first; what contradicts those taken is set aside.

        Of equal trust, earlier ones come first.
        """
        known = cls()
        for i in sorted(range(len(told)), key=lambda i: (-trust[i], i)):
            known._take(told[i])
        return known

    def root(self, row: int) -> int:
        """Give the row that stands for all that are with this one."""
        at = self.parent.setdefault(row, row)
        while self.parent[at] != at:
            self.parent[at] = self.parent[self.parent[at]]
            at = self.parent[at]
        return at

    def says(self, a: int, b: int) -> bool | None:
        """Say whether two rows are the same (True) or different (False), if answers tell."""
        if a == b:
            return True
        if a not in self.parent or b not in self.parent:
            return None
        one, other = self.root(a), self.root(b)
        if one == other:
            return True
        return False if other in self.foes.get(one, ()) else None

    @property
    def rows(self) -> list[int]:
        """Rows that are named, in order."""
        return sorted(self.parent)

    def _take(self, told: Told) -> None:
        said = self.says(told.a, told.b)
        if said is not None and said != told.same:
            self.contradictions.append(Contradiction(told, self._chain(told)))
            return
        self.taken.append(told)
        one, other = self.root(told.a), self.root(told.b)
        if not told.same:
            self.foes.setdefault(one, set()).add(other)
            self.foes.setdefault(other, set()).add(one)
        elif one != other:
            one, other = min(one, other), max(one, other)
            self.parent[other] = one
            for foe in self.foes.pop(other, set()):
                self.foes[foe].discard(other)
                self.foes[foe].add(one)
                self.foes.setdefault(one, set()).add(foe)

    def _chain(self, told: Told) -> tuple[Told, ...]:
        """Find the shortest chain of answers taken so far that says the opposite.

        A walk over (row, whether an answer "different" has been passed): at most one may be.
        """
        edges: dict[int, list[tuple[int, Told]]] = {}
        for one in self.taken:
            edges.setdefault(one.a, []).append((one.b, one))
            edges.setdefault(one.b, []).append((one.a, one))
        goal, before = (told.b, told.same), {(told.a, False): None}
        queue: list[tuple[int, bool]] = [(told.a, False)]
        came: dict[tuple[int, bool], tuple[tuple[int, bool], Told]] = {}
        for at in queue:
            if at == goal:
                break
            for row, one in edges.get(at[0], ()):
                if at[1] and not one.same:
                    continue
                there = (row, at[1] or not one.same)
                if there not in before:
                    before[there] = None
                    came[there] = (at, one)
                    queue.append(there)
        chain: list[Told] = []
        at = goal
        while at in came:
            at, one = came[at]
            chain.append(one)
        return tuple(reversed(chain))
