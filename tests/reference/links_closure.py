"""Links by the letter: slow twins that follow the definitions and nothing else."""

from __future__ import annotations

from collections import deque
from itertools import combinations

Pair = tuple[int, int]


def must_closure(must: list[Pair], n: int) -> set[Pair]:
    """Apply a ~ b, b ~ c => a ~ c until nothing new appears."""
    related = {(a, b) for a, b in must} | {(b, a) for a, b in must}
    while True:
        new = {(a, d) for a, b in related for c, d in related if b == c and a != d} - related
        if not new:
            return {(a, b) for a, b in related if a < b}
        related |= new


def cannot_closure(must: list[Pair], cannot: list[Pair], n: int) -> set[Pair]:
    """Apply a ~ a', b ~ b', a | b => a' | b' to every pair of samples."""
    together = must_closure(must, n)

    def same(a: int, b: int) -> bool:
        return a == b or (min(a, b), max(a, b)) in together

    return {
        (p, q)
        for p, q in combinations(range(n), 2)
        if any((same(p, a) and same(q, b)) or (same(p, b) and same(q, a)) for a, b in cannot)
    }


def distance(must: list[Pair], start: int, end: int) -> int | None:
    """Fewest must-links from one sample to another; None when there is no chain."""
    steps = {start: 0}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for a, b in must:
            for here, there in ((a, b), (b, a)):
                if here == node and there not in steps:
                    steps[there] = steps[node] + 1
                    queue.append(there)
    return steps.get(end)


def contradicting(must: list[Pair], cannot: list[Pair]) -> list[Pair]:
    """Cannot-links whose ends are connected by must-links."""
    return [(a, b) for a, b in cannot if distance(must, a, b) is not None]


def cheapest_removal(
    must: list[Pair],
    cannot: list[Pair],
    must_confidence: list[float],
    cannot_confidence: list[float],
) -> float:
    """Try every set of links to remove."""
    links = [("must", p, w) for p, w in zip(must, must_confidence, strict=True)]
    links += [("cannot", p, w) for p, w in zip(cannot, cannot_confidence, strict=True)]
    best = float("inf")
    for keep in range(2 ** len(links)):
        kept = [link for i, link in enumerate(links) if keep >> i & 1]
        lost = sum(link[2] for i, link in enumerate(links) if not keep >> i & 1)
        if lost < best and not contradicting(
            [p for kind, p, _ in kept if kind == "must"],
            [p for kind, p, _ in kept if kind == "cannot"],
        ):
            best = lost
    return best
