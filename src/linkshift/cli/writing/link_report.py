"""What `linkshift links check` finds in a file of links, for people and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from linkshift._core.text import counted
from linkshift.cli.reading.links import LinkFile, named_conflict, with_ids
from linkshift.links import Conflicts, ImpliedLink, Links, Redundant, Summary

SHOWN = 10
LONGEST = 20  # links on a chain of a redundant link in JSON: long ones would fill the disk
CHAIN_WORK = 300_000_000  # steps of all searches for the chains of conflicts in JSON
Pair = tuple[Hashable, ...]


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """All that can be said of a file of links, in the names that the user gave to rows."""

    file: LinkFile
    ids: Sequence[Hashable] | None
    n_rows: int | None

    @property
    def links(self) -> Links:
        """The links of the file, each once."""
        return self.file.links

    @cached_property
    def conflicts(self) -> Conflicts:
        """Contradictions."""
        return self.links.conflicts()

    @cached_property
    def redundant(self) -> Redundant:
        """Links that others imply."""
        return self.links.redundant()

    @cached_property
    def summary(self) -> Summary:
        """Groups, counts and confidences."""
        return self.links.summary()

    @cached_property
    def _places(self) -> dict[tuple[str, Pair], str]:
        pairs = {"must": self.links.must_ids, "cannot": self.links.cannot_ids}
        return {
            (kind, pair): place
            for kind, places in self.file.places.items()
            for pair, place in zip(pairs[kind], places, strict=True)
        }

    def names(self, ends: Iterable[Any]) -> Pair:
        """Give rows in the user's names."""
        return with_ids(ends, self.ids)

    def place(self, kind: str, pair: Pair) -> str:
        """Say where in the file a link stands."""
        return self._places[kind, pair]

    def conflict_place(self, index: int) -> str:
        """Say where the cannot-link of a conflict stands."""
        return self.file.places["cannot"][self.conflicts.positions[index]]

    def redundant_places(self) -> list[str]:
        """Say where the redundant links stand, in their order."""
        found = self.redundant
        return [self.file.places["must"][i] for i in found.must] + [
            self.file.places["cannot"][i] for i in found.cannot
        ]

    def implied(self, index: int, longest: int | None = None) -> ImpliedLink:
        """Give a redundant link in the user's names."""
        link = self.redundant.explain(index, longest)
        return ImpliedLink(
            link.kind,
            self.names(link.pair),
            None if link.cannot is None else self.names(link.cannot),
            None if link.chains is None else tuple(self.names(chain) for chain in link.chains),
        )

    def unlinked(self) -> list[Hashable]:
        """Give the rows of the data that no link names."""
        free = np.ones(self.n_rows or 0, dtype=bool)
        free[self.links.must] = False
        free[self.links.cannot] = False
        return list(self.names(np.flatnonzero(free).tolist()))


# --- for people ---------------------------------------------------------------------------------


def as_text(found: Diagnosis) -> str:
    """Tell what was found; long lists are cut."""
    return "\n".join(
        [
            *_conflict_lines(found),
            *_redundant_lines(found),
            *_repeat_lines(found),
            *_group_lines(found),
            *_count_lines(found),
        ]
    )


def _cut(count: int, line: Callable[[int], str]) -> list[str]:
    lines = [f"  {line(i)}" for i in range(min(count, SHOWN))]
    return lines + ([f"  and {count - SHOWN:,} more"] if count > SHOWN else [])


def _pair(ends: Pair) -> str:
    return "({})".format(", ".join(repr(end) for end in ends))


def _conflict_lines(found: Diagnosis) -> list[str]:
    conflicts = found.conflicts
    among = f"{counted(found.summary.n_must, 'must-link')} and " + counted(
        found.summary.n_cannot, "cannot-link"
    )
    if not conflicts:
        return [f"No conflicts among {among}."]

    first = conflicts[:SHOWN]

    def conflict_line(index: int) -> str:
        return f"{found.conflict_place(index)}: {named_conflict(first[index], found.ids)}"

    removal = conflicts.suggested_removal
    gone = [("must", pair) for pair in removal.must] + [("cannot", p) for p in removal.cannot]

    def gone_line(index: int) -> str:
        kind, pair = gone[index]
        return f"{found.place(kind, pair)}: {kind}-link {_pair(found.names(pair))}"

    what = "Smallest removal" if removal.exact else "Removal (perhaps not the smallest)"
    return [
        f"{counted(len(conflicts), 'conflict')} among {among}:",
        *_cut(len(conflicts), conflict_line),
        f"{what} that leaves no conflict, {counted(len(removal), 'link')}:",
        *_cut(len(gone), gone_line),
    ]


def _redundant_lines(found: Diagnosis) -> list[str]:
    count = len(found.redundant)
    if not count:
        return []
    places = found.redundant_places()
    return [
        f"{counted(count, 'redundant link')}, implied by others that are at least as certain:",
        *_cut(count, lambda i: f"{places[i]}: {found.implied(i)}"),
    ]


def _repeat_lines(found: Diagnosis) -> list[str]:
    repeats = found.file.repeats
    if not repeats:
        return []

    def line(index: int) -> str:
        repeat = repeats[index]
        return f"{repeat.place} repeats {repeat.first}: {repeat.kind}-link {_pair(repeat.pair)}"

    return [
        f"{counted(len(repeats), 'link')} given again; `linkshift cluster` wants each once:",
        *_cut(len(repeats), line),
    ]


def _group_lines(found: Diagnosis) -> list[str]:
    groups = found.summary
    count = len(groups.sizes)
    if not count:
        return []

    def line(index: int) -> str:
        (first,) = found.names(groups.first[index : index + 1])
        text = (
            f"{groups.sizes[index]:,} rows from {first!r}: "
            f"{counted(int(groups.must[index]), 'must-link')}, "
            f"{counted(int(groups.leaving[index]), 'cannot-link')} to others"
        )
        within = int(groups.within[index])
        return text + (f", {counted(within, 'cannot-link')} within" if within else "")

    return [f"{counted(count, 'group')} of must-linked rows:", *_cut(count, line)]


def _count_lines(found: Diagnosis) -> list[str]:
    summary = found.summary
    lines = []
    if summary.n_cannot:
        lines.append(
            f"Cannot-links: {summary.n_between:,} between groups or single rows, "
            f"{summary.n_within:,} within a group."
        )
    kinds = [("must-links", summary.must_confidence), ("cannot-links", summary.cannot_confidence)]
    parts = [f"{kind} {_spread(spread)}" for kind, spread in kinds if spread is not None]
    if parts:
        lines.append(f"Confidence: {'; '.join(parts)}.")
    rows = counted(summary.n_named, "row")
    if found.n_rows is None:
        return [*lines, f"The links name {rows}."]
    free = counted(found.n_rows - summary.n_named, "row")
    return [*lines, f"The links name {rows} of {found.n_rows:,}; {free} without any link."]


def _spread(spread: tuple[float, float, float]) -> str:
    low, middle, high = spread
    return f"all {low:g}" if low == high else f"{low:g} to {high:g}, median {middle:g}"


# --- for programs -------------------------------------------------------------------------------


def as_dict(found: Diagnosis, *, with_rows: bool) -> dict[str, Any]:
    """Give everything; rows without links too where the data are there to name them."""
    summary, conflicts = found.summary, found.conflicts
    out: dict[str, Any] = {
        "file": str(found.file.path),
        "keyed_by": "id" if found.ids is not None or found.links.keyed_by_id else "row",
        "n_must": summary.n_must,
        "n_cannot": summary.n_cannot,
        "conflicts": _conflicts(found),
        "removal": _removal(found) if conflicts else None,
        "redundant": [
            {"place": place, **vars(found.implied(i, LONGEST))}
            for i, place in enumerate(found.redundant_places())
        ],
        "repeats": [vars(repeat) for repeat in found.file.repeats],
        "groups": [
            {"first": first, "rows": size, "must": must, "cannot_out": out_, "cannot_within": in_}
            for first, size, must, out_, in_ in zip(
                found.names(summary.first),
                summary.sizes.tolist(),
                summary.must.tolist(),
                summary.leaving.tolist(),
                summary.within.tolist(),
                strict=True,
            )
        ],
        "cannot_between": summary.n_between,
        "cannot_within": summary.n_within,
        "confidence": {
            "must": _levels(summary.must_confidence),
            "cannot": _levels(summary.cannot_confidence),
        },
        "rows_named": summary.n_named,
        "rows": found.n_rows,
    }
    if with_rows:
        out["rows_without_links"] = found.unlinked()
    return out


def _conflicts(found: Diagnosis) -> list[dict[str, Any]]:
    """All conflicts; where there are very many on very many rows, chains for the first ones."""
    conflicts = found.conflicts
    chained = conflicts[: max(100, CHAIN_WORK // max(found.summary.n_named, 1))]
    chains = [found.names(conflict.chain) for conflict in chained]
    pairs = found.links.cannot_ids
    return [
        {
            "place": found.conflict_place(i),
            "cannot": found.names(pairs[position]),
            "chain": chains[i] if i < len(chains) else None,
        }
        for i, position in enumerate(conflicts.positions.tolist())
    ]


def _removal(found: Diagnosis) -> dict[str, Any]:
    removal = found.conflicts.suggested_removal
    return {
        "must": [found.names(pair) for pair in removal.must],
        "cannot": [found.names(pair) for pair in removal.cannot],
        "places": [found.place("must", pair) for pair in removal.must]
        + [found.place("cannot", pair) for pair in removal.cannot],
        "confidence": removal.confidence,
        "exact": removal.exact,
    }


def _levels(spread: tuple[float, float, float] | None) -> dict[str, float] | None:
    return None if spread is None else dict(zip(("min", "median", "max"), spread, strict=True))
