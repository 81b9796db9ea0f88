"""Contradictions among links, each with the chain that makes it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from linkshift._core.text import counted
from linkshift.links._combine import named
from linkshift.links._graph import Found, compact
from linkshift.links._parse import IntArray
from linkshift.links._removal import Pair, Removal, smallest_removal
from linkshift.links._settle import quarrels, settle

if TYPE_CHECKING:
    from linkshift.links._links import Links

SHOWN = 10
CHAIN_SHOWN = 12


class ConflictError(ValueError):
    """The links contradict each other."""


@dataclass(frozen=True)
class Conflict:
    """A cannot-link whose ends are joined by must-links.

    Attributes
    ----------
    cannot : (a, b)
        The cannot-link.
    chain : (a, ..., b)
        A shortest chain of must-links from one end to the other.
    """

    cannot: Pair
    chain: tuple[Hashable, ...]

    def __str__(self) -> str:
        a, b = self.cannot
        return f"cannot-link ({a!r}, {b!r}) against must-links {shown_chain(self.chain)}"


def shown_chain(chain: Sequence[Hashable]) -> str:
    """Give ``0 - 1 - 2``; a long chain is cut before its end."""
    ends = [repr(end) for end in chain]
    if len(ends) > CHAIN_SHOWN:
        left_out = len(ends) - CHAIN_SHOWN + 1
        ends = [*ends[: CHAIN_SHOWN - 2], f"[{left_out} more]", ends[-1]]
    return " - ".join(ends)


class Conflicts(Found[Conflict]):
    """Every contradiction among some links.

    A sequence of `Conflict`, one for each cannot-link whose ends are connected
    by must-links, in the order of the cannot-links. True when there is any.
    Chains and the suggested removal are worked out when first asked for.

    Examples
    --------
    >>> from linkshift.links import Links
    >>> links = Links(must=[(0, 1), (1, 2)], cannot=[(0, 2)], must_confidence=[1, 0.5])
    >>> conflicts = links.conflicts()
    >>> conflicts[0]
    Conflict(cannot=(0, 2), chain=(0, 1, 2))
    >>> conflicts.suggested_removal
    Removal(must=((1, 2),), cannot=(), confidence=0.5, exact=True)
    >>> print(conflicts)
    1 conflict among 2 must-links and 1 cannot-link:
      cannot-link (0, 2) against must-links 0 - 1 - 2
    Smallest removal that resolves all (1 link, total confidence 0.5):
      must-link (1, 2)
    Remove it with links.conflicts().resolve().
    >>> conflicts.resolve().must.tolist()
    [[0, 1]]
    """

    def __init__(self, links: Links) -> None:
        self.links = links
        # Beside the cannot-links, pairs of a group that must-links join; they come last.
        self._cannot = np.concatenate((links._pairs.cannot, quarrels(links._pairs)))
        self._graph, self._rows = compact(links._pairs.must, self._cannot)
        self._positions = self._graph.conflicting()
        self._index = {int(p): i for i, p in enumerate(self._positions)}
        self._found: dict[int, Conflict] = {}

    def __len__(self) -> int:
        return len(self._positions)

    @property
    def positions(self) -> IntArray:
        """Positions of the contradicted cannot-links among all, found without their chains.

        From the number of cannot-links on, they are pairs of groups of rows that are apart.
        """
        return self._positions

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The contradicted cannot-links, found without their chains."""
        return tuple(named(self._cannot[self._positions], self.links._pairs.names))

    def __iter__(self) -> Iterator[Conflict]:
        return iter(self[:])  # found together

    def __str__(self) -> str:
        must, cannot = self.links._pairs[:2]
        given = f"{counted(len(must), 'must-link')} and {counted(len(cannot), 'cannot-link')}"
        if groups := len(self.links._pairs.apart):
            given += f", {counted(groups, 'group')} of rows apart"
        if not self:
            return f"No conflicts among {given}."
        lines = [f"{counted(len(self), 'conflict')} among {given}:"]
        lines += [f"  {conflict}" for conflict in self[:SHOWN]]
        if len(self) > SHOWN:
            lines.append(f"  and {len(self) - SHOWN} more")
        return "\n".join(lines + self._removal_lines())

    @cached_property
    def suggested_removal(self) -> Removal:
        """A smallest set of links whose removal resolves every conflict.

        The sum of the removed confidences is smallest; with equal confidences
        that means fewest links. ``.exact`` says whether this is proven. Where
        several sets are equally small, one of them is given. Groups of rows that are apart stay.
        """
        pairs = self.links._pairs
        if len(pairs.apart):
            settled = settle(self.links)
            gone, exact = settled.set_aside, settled.exact
            confidence = gone.must_confidence.sum() + gone.cannot_confidence.sum()
            return Removal(gone.must_ids, gone.cannot_ids, float(confidence), exact)
        must, cannot, exact = smallest_removal(
            self._graph, pairs.must_confidence, pairs.cannot_confidence
        )
        confidence = pairs.must_confidence[must].sum() + pairs.cannot_confidence[cannot].sum()
        return Removal(
            tuple(named(pairs.must[must], pairs.names)),
            tuple(named(pairs.cannot[cannot], pairs.names)),
            float(confidence),
            exact,
        )

    def resolve(self) -> Links:
        """Give the links without the suggested removal: they have no conflicts."""
        removal = self.suggested_removal
        return self.links.remove(must=removal.must, cannot=removal.cannot)

    def _items(self, wanted: Sequence[int]) -> tuple[Conflict, ...]:
        missing = [index for index in wanted if index not in self._found]
        names = self.links._pairs.names
        if missing:
            for position, chain in self._graph.chains(self._positions[np.array(missing)]):
                ends = named(self._rows[np.array(chain)].reshape(1, -1), names)[0]
                self._found[self._index[position]] = Conflict((ends[0], ends[-1]), ends)
        return tuple(self._found[index] for index in wanted)

    def _removal_lines(self) -> list[str]:
        removal = self.suggested_removal
        what = "Smallest removal" if removal.exact else "Removal (perhaps not the smallest)"
        total = f"{counted(len(removal), 'link')}, total confidence {removal.confidence:g}"
        lines = [f"{what} that resolves all ({total}):"]
        named = [("must", pair) for pair in removal.must]
        named += [("cannot", pair) for pair in removal.cannot]
        lines += [f"  {kind}-link ({a!r}, {b!r})" for kind, (a, b) in named[:SHOWN]]
        if len(named) > SHOWN:
            lines.append(f"  and {len(named) - SHOWN} more")
        pronoun = "it" if len(removal) == 1 else "them"
        return [*lines, f"Remove {pronoun} with links.conflicts().resolve()."]


def conflict_error(conflicts: Conflicts, shown: int = 3) -> ConflictError:
    """Build the error for links that cannot be closed."""
    lines = [f"the links contradict each other ({counted(len(conflicts), 'conflict')}):"]
    lines += [f"  {conflict}" for conflict in conflicts[:shown]]
    if len(conflicts) > shown:
        lines.append(f"  and {len(conflicts) - shown} more")
    lines.append(
        "print(links.conflicts()) tells all and suggests what to remove; "
        "links.conflicts().resolve() removes it"
    )
    return ConflictError("\n".join(lines))
