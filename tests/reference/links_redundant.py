"""Redundant links by the letter: take one away, and see whether the rest still says it."""

from __future__ import annotations

from typing import NamedTuple

from tests.reference.links_closure import Pair, distance


class Link(NamedTuple):
    kind: str
    pair: Pair
    confidence: float


def implied(link: Link, others: list[Link]) -> bool:
    """Whether links that are at least as sure say the same."""
    sure = [other for other in others if other.confidence >= link.confidence]
    must = [other.pair for other in sure if other.kind == "must"]

    def same(a: int, b: int) -> bool:
        return a == b or distance(must, a, b) is not None

    a, b = link.pair
    if link.kind == "must":
        return same(a, b)
    if same(a, b):
        return False  # a conflict, not a repetition
    return any(
        (same(a, c) and same(b, d)) or (same(a, d) and same(b, c))
        for kind, (c, d), _ in sure
        if kind == "cannot"
    )


def redundant(links: list[Link]) -> list[Link]:
    """Take away what the rest implies: the least sure first, among equals the last.

    Links come as must-links, then cannot-links, each kind in its order.
    """
    kept = list(links)
    backwards = sorted(reversed(links), key=lambda link: link.confidence)
    for link in backwards:
        others = [other for other in kept if other is not link]
        if implied(link, others):
            kept = others
    return [link for link in links if not any(link is other for other in kept)]
