"""Which links act on a row, and how."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np

from linkshift._core.arrays import Array
from linkshift.explain.explanation import LEAST_SHARE, Acts, Kind, LinkRole, Pair
from linkshift.explain.link_shares import Bending, group_pairs, weight_taken
from linkshift.links import ClosedLinks, Links

__all__ = ["kept", "link_roles", "listed_links"]


def listed_links(links: Links) -> list[tuple[Kind, Pair, float]]:
    """All links, cannot-links first."""
    found: list[tuple[Kind, Pair, float]] = []
    for a, b, sure in zip(*links.cannot.T.tolist(), links.cannot_confidence.tolist(), strict=True):
        found.append(("cannot", (a, b), sure))
    for a, b, sure in zip(*links.must.T.tolist(), links.must_confidence.tolist(), strict=True):
        found.append(("must", (a, b), sure))
    return found


def link_roles(
    row: int, closed: ClosedLinks, labels: Array, bending: Bending | None
) -> list[LinkRole]:
    """Links that act on the row, the strongest first."""
    chains = closed.chains(row)
    taken = _Taken(row, closed, bending)
    strongest: dict[tuple[Any, ...], tuple[int, LinkRole]] = {}
    for i, (kind, pair, sure) in enumerate(listed_links(closed.links)):
        cannot = kind == "cannot"
        share, step = taken.most(i) if cannot and bending is not None else (None, None)
        takes = share is not None and share >= LEAST_SHARE
        ends = [end for end in pair if end in chains.length]
        nearest = chains.to(min(ends, key=lambda end: chains.length[end])) if ends else ()
        if nearest:
            acts: Acts = "own" if len(nearest) == 1 else "component"
        elif takes:
            acts = "density"
        elif cannot and taken.holds_mode(i):
            acts = "mode"
        else:
            continue
        role = LinkRole(
            kind,
            pair,
            sure,
            kept(labels, kind, pair),
            acts,
            chain=nearest if acts == "component" else (),
            share=share,
            step=step if takes else None,
        )
        # Of links that say the same, the strongest speaks for all.
        place = ("cannot", *taken.place(i)) if cannot else ("must", i)
        if place not in strongest or _strength(role) < _strength(strongest[place][1]):
            strongest[place] = i, role
    roles = [
        replace(
            role,
            through=taken.through(i) if role.step is not None else (),
            alike=taken.alike(i) if role.kind == "cannot" else (),
        )
        for i, role in strongest.values()
    ]
    return sorted(roles, key=_strength)


def _strength(role: LinkRole) -> tuple[Any, ...]:
    """Sort the row's own links first; then by share; then by how far the link is."""
    share, far = role.share or 0.0, role.acts == "mode"
    return role.acts != "own", -share, far, len(role.chain), role.kind, role.pair


class _Taken:
    """What each cannot-link takes from the density around a row's centre."""

    def __init__(self, row: int, closed: ClosedLinks, bending: Bending | None) -> None:
        links = closed.links
        self._row, self._links, self._closed, self._bending = row, links, closed, bending
        ends = np.sort(closed.component[links.cannot], axis=1).tolist()
        certain = (links.cannot_confidence == 1.0).tolist()
        # Uncertain links are not passed on: each has a place of its own.
        self._apart = [
            tuple(pair) if sure else (-1, i)
            for i, (pair, sure) in enumerate(zip(ends, certain, strict=True))
        ]
        self._same: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
        for i, place in enumerate(self._apart):
            self._same[place].append(i)
        if bending is not None:
            self._of_pairs, self._of_links = group_pairs(bending, links, closed.component)
            end = bending.history[-1][1]
            at_mode = (end[bending.pairs] == end[row]).any(axis=1)
            at_mode &= bending.enforced & (bending.confidence == 1.0)
            self._at_mode = set(self._of_pairs[at_mode].tolist())
            pairs, steps = (bending.pairs, bending.confidence), range(bending.n_steps)
            self._shares = weight_taken(bending, row, *pairs, self._of_pairs, steps)

    def most(self, link: int) -> tuple[float, int | None]:
        """Largest share of the weight that a link takes, and at which step."""
        shares = self._shares[:, self._of_links[link]]
        if not len(shares):
            return 0.0, None
        step = int(np.argmax(shares))
        return float(shares[step]), step

    def holds_mode(self, link: int) -> bool:
        """Whether a link keeps rows that ended where the row did apart from others."""
        return self._bending is not None and int(self._of_links[link]) in self._at_mode

    def place(self, link: int) -> tuple[int, ...]:
        """Components between which a link is; its own number, where it is not certain."""
        return self._apart[link]

    def alike(self, link: int) -> tuple[Pair, ...]:
        """Other certain links between the same components."""
        same = [i for i in self._same[self._apart[link]] if i != link]
        return tuple((a, b) for a, b in self._links.cannot[same].tolist())

    def through(self, link: int) -> tuple[int, ...]:
        """Chain of rows, by way of a link, of the closed pair behind which it takes most."""
        bending, step = self._bending, self.most(link)[1]
        assert bending is not None
        assert step is not None
        mine = np.flatnonzero(self._of_pairs == self._of_links[link])
        pairs, sure = bending.pairs[mine], bending.confidence[mine]
        shares = weight_taken(bending, self._row, pairs, sure, np.arange(len(mine)), [step])[0]
        a, b = self._links.cannot[link].tolist()
        left, right = self._closed.chains(a), self._closed.chains(b)
        best = pairs[shares >= shares.max() * (1.0 - 1e-9)].tolist()
        turned = [(x, y) if x in left.length else (y, x) for x, y in best]
        x, y = min(turned, key=lambda pair: (left.length[pair[0]] + right.length[pair[1]], pair))
        return (*reversed(left.to(x)), *right.to(y))


def kept(labels: Array, kind: Kind, pair: Pair) -> bool:
    """Whether a link holds, by the rule of :func:`linkshift.metrics.link_satisfaction`."""
    a, b = labels[list(pair)]
    together = bool(a == b and a != -1)
    return together if kind == "must" else not together
