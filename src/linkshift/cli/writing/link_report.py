"""What `linkshift links check` finds in a file of links, for people and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from linkshift._core.text import counted
from linkshift.cli.reading.links import LinkFile, named_conflict, with_ids
from linkshift.links import ImpliedLink

SHOWN = 10
LONGEST = 20  # links on a chain of a redundant link in JSON: long ones would fill the disk
CHAIN_WORK = 300_000_000  # steps of all searches for the chains of conflicts in JSON
Pair = tuple[Hashable, ...]
T = TypeVar("T")


class Diagnosis:
    """All that can be said of a file of links, in the names that the user gave to rows."""

    def __init__(self, file: LinkFile, ids: Sequence[Hashable] | None, n_rows: int | None) -> None:
        self.file, self.ids, self.n_rows, self.links = file, ids, n_rows, file.links
        self.conflicts, self.redundant = self.links.conflicts(), self.links.redundant()
        self.summary = self.links.summary()
        must, cannot = file.places["must"], file.places["cannot"]
        self.conflict_places = [
            cannot[i] if i < len(cannot) else "a group" for i in self.conflicts.positions
        ]
        self.redundant_places = [must[i] for i in self.redundant.must]
        self.redundant_places += [cannot[i] for i in self.redundant.cannot]

    def names(self, ends: Iterable[Any]) -> Pair:
        """Give rows in the user's names."""
        return with_ids(ends, self.ids)

    def removal(self) -> list[tuple[str, str, Pair]]:
        """Give the links to remove: where they stand, kind, and pair in the user's names."""
        suggested, found = self.conflicts.suggested_removal, []
        for kind, pairs, all_pairs in (
            ("must", suggested.must, self.links.must_ids),
            ("cannot", suggested.cannot, self.links.cannot_ids),
        ):
            places = dict(zip(all_pairs, self.file.places[kind], strict=True))
            found += [(places[pair], kind, self.names(pair)) for pair in pairs]
        return found

    def implied(self, index: int, longest: int | None = None) -> ImpliedLink:
        """Give a redundant link in the user's names."""
        link = self.redundant.explain(index, longest)
        cannot = None if link.cannot is None else self.names(link.cannot)
        chains = None if link.chains is None else tuple(map(self.names, link.chains))
        return ImpliedLink(link.kind, self.names(link.pair), cannot, chains)


def as_text(found: Diagnosis) -> str:
    """Tell what was found; long lists are cut."""
    summary, repeats, places = found.summary, found.file.repeats, found.redundant_places

    def group(index: int) -> str:
        (first,) = found.names(summary.first[index : index + 1])
        text = (
            f"{summary.sizes[index]:,} rows from {first!r}: "
            f"{counted(int(summary.must[index]), 'must-link')}, "
            f"{counted(int(summary.leaving[index]), 'cannot-link')} to others"
        )
        within = int(summary.within[index])
        return text + (f", {counted(within, 'cannot-link')} within" if within else "")

    lines = _conflict_lines(found)
    lines += _section(
        f"{counted(len(places), 'redundant link')}, implied by others that are at least as certain",
        range(len(places)),
        lambda i: f"{places[i]}: {found.implied(i)}",
    )
    lines += _section(
        f"{counted(len(repeats), 'link')} given again, and counted once",
        repeats,
        lambda again: f"{again.place} repeats {again.first}: {_link(again.kind, again.pair)}",
    )
    n_groups = len(summary.sizes)
    lines += _section(f"{counted(n_groups, 'group')} of must-linked rows", range(n_groups), group)
    return "\n".join(lines + _count_lines(found))


def _section(head: str, items: Sequence[T], line: Callable[[T], str]) -> list[str]:
    """Give a head and a line for each of the first items; nothing where there are none."""
    more = [f"  and {len(items) - SHOWN:,} more"] if len(items) > SHOWN else []
    return [f"{head}:", *(f"  {line(item)}" for item in items[:SHOWN]), *more] if items else []


def _link(kind: str, ends: Pair) -> str:
    return f"{kind}-link ({', '.join(map(repr, ends))})"


def _conflict_lines(found: Diagnosis) -> list[str]:
    conflicts, summary = found.conflicts, found.summary
    kinds = {"must-link": summary.n_must, "cannot-link": summary.n_cannot}
    told = [counted(n, kind) for kind, n in kinds.items() if n]
    told += [f"{counted(summary.n_apart, 'group')} of rows apart"] if summary.n_apart else []
    among = " and ".join([", ".join(told[:-1]), *told[-1:]] if len(told) > 1 else told)
    if not conflicts:
        return [f"No conflicts among {among or '0 links'}."]
    first = conflicts[:SHOWN]
    gone, is_least = found.removal(), conflicts.suggested_removal.exact
    what = "Smallest removal" if is_least else "Removal (perhaps not the smallest)"
    return [
        *_section(
            f"{counted(len(conflicts), 'conflict')} among {among}",
            range(len(conflicts)),
            lambda i: f"{found.conflict_places[i]}: {named_conflict(first[i], found.ids)}",
        ),
        *_section(
            f"{what} that leaves no conflict, {counted(len(gone), 'link')}",
            gone,
            lambda link: f"{link[0]}: {_link(*link[1:])}",
        ),
    ]


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


def as_dict(found: Diagnosis, *, with_rows: bool) -> dict[str, Any]:
    """Give everything; rows without links too where the data are there to name them."""
    summary, conflicts = found.summary, found.conflicts
    groups = (summary.sizes, summary.must, summary.leaving, summary.within)
    sizes = zip(*(counts.tolist() for counts in groups), strict=True)
    keys = ("rows", "must", "cannot_out", "cannot_within")
    spreads = {"must": summary.must_confidence, "cannot": summary.cannot_confidence}
    out: dict[str, Any] = {
        "file": str(found.file.path),
        "keyed_by": "id" if found.ids is not None or found.links.keyed_by_id else "row",
        "n_must": summary.n_must,
        "n_cannot": summary.n_cannot,
        "n_apart": summary.n_apart,
        "conflicts": _conflicts(found),
        "removal": _removal(found) if conflicts else None,
        "redundant": [
            {"place": place, **vars(found.implied(i, LONGEST))}
            for i, place in enumerate(found.redundant_places)
        ],
        "repeats": [vars(repeat) for repeat in found.file.repeats],
        "groups": [
            {"first": first, **dict(zip(keys, size, strict=True))}
            for first, size in zip(found.names(summary.first), sizes, strict=True)
        ],
        "cannot_between": summary.n_between,
        "cannot_within": summary.n_within,
        "confidence": {
            kind: spread and dict(zip(("min", "median", "max"), spread, strict=True))
            for kind, spread in spreads.items()
        },
        "rows_named": summary.n_named,
        "rows": found.n_rows,
    }
    if with_rows:
        free = np.ones(found.n_rows or 0, dtype=bool)
        free[found.links.must] = free[found.links.cannot] = False
        free[found.links._pairs.apart.member] = False
        out["rows_without_links"] = list(found.names(np.flatnonzero(free).tolist()))
    return out


def _conflicts(found: Diagnosis) -> list[dict[str, Any]]:
    """All conflicts; where there are very many on very many rows, chains for the first ones."""
    conflicts = found.conflicts
    chained = conflicts[: max(100, CHAIN_WORK // max(found.summary.n_named, 1))]
    chains: list[Pair | None] = [found.names(conflict.chain) for conflict in chained]
    chains += [None] * (len(conflicts) - len(chains))
    return [
        {"place": place, "cannot": found.names(pair), "chain": chain}
        for place, pair, chain in zip(found.conflict_places, conflicts.pairs, chains, strict=True)
    ]


def _removal(found: Diagnosis) -> dict[str, Any]:
    removal, gone = found.conflicts.suggested_removal, found.removal()
    links = {kind: [pair for _, k, pair in gone if k == kind] for kind in ("must", "cannot")}
    places = [place for place, _, _ in gone]
    return {**links, "places": places, "confidence": removal.confidence, "exact": removal.exact}
