"""Operations on checked pairs: resolve ids, join two sets, take one from another, compare."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal
from unicodedata import normalize

import numpy as np

from linkshift._core.text import short
from linkshift.links._groups import Groups
from linkshift.links._parse import (
    KINDS,
    FloatArray,
    IntArray,
    Kind,
    PairError,
    Parsed,
    UnknownIdError,
    label,
    without_duplicates,
)

Missing = Literal["raise", "drop"]


def named(codes: IntArray, names: tuple[Hashable, ...] | None) -> list[tuple[Hashable, ...]]:
    """Give rows of codes as tuples of row numbers, or of ids."""
    if names is None:
        return [tuple(row) for row in codes.tolist()]
    return [tuple(names[code] for code in row) for row in codes.tolist()]


def frozen(parsed: Parsed) -> Parsed:
    """Give a read-only copy in which every id is used by some pair or group."""
    must, cannot, names, apart = parsed.must, parsed.cannot, parsed.names, parsed.apart
    if names is not None:
        ends = np.concatenate((must.ravel(), cannot.ravel(), apart.member))
        used, place = np.unique(ends, return_inverse=True)
        n_must, n_pairs = must.size, must.size + cannot.size
        must, cannot = place[:n_must].reshape(-1, 2), place[n_must:n_pairs].reshape(-1, 2)
        apart = Groups.coded(place[n_pairs:], apart)
        names = tuple(names[code] for code in used.tolist()) or None
    # Copies: nobody outside may hold a writable view of a frozen value.
    confidences = np.array(parsed.must_confidence), np.array(parsed.cannot_confidence)
    arrays = (np.array(must), np.array(cannot), *confidences)
    for array in arrays:
        array.setflags(write=False)
    return Parsed(*arrays, names, apart, parsed.in_order)


def resolved(parsed: Parsed, table: dict[Hashable, int], missing: Missing) -> Parsed:
    """Turn ids into rows; a pair with an unknown id raises or is left out."""
    names = parsed.names or ()
    rows = np.array([table.get(name, -1) for name in names], dtype=np.int64)
    out: dict[str, Any] = {}
    for kind in KINDS:
        pairs, confidence = weighted(parsed, kind)
        found = np.sort(rows[pairs], axis=1) if len(pairs) else pairs
        known = (found >= 0).all(axis=1)
        if missing == "raise" and not known.all():
            raise _unknown_id(parsed, kind, int(np.argmin(known)), table)
        out[kind], out[f"{kind}_confidence"] = found[known], confidence[known]
    apart = parsed.apart
    if parsed.names is not None and len(apart):
        lost = apart.member[rows[apart.member] < 0]
        if missing == "raise" and len(lost):
            raise _unknown_member(names[int(lost[0])], len(np.unique(lost)), table)
        apart = apart.mapped(rows)
    return parsed._replace(**out, names=None, apart=apart)


def _unknown_member(name: Hashable, n_lost: int, table: dict[Hashable, int]) -> PairError:
    more = f" (nor {n_lost - 1:,} more)" if n_lost > 1 else ""
    return UnknownIdError(
        f"a group of rows that are apart names {short(name)}, which is not among the {len(table)} "
        f"sample ids{more}{_other_form(name, table)}",
        python="; make the groups of a column of this table, or leave such rows out with "
        "links.resolve(ids, missing='drop')",
    )


def _unknown_id(parsed: Parsed, kind: Kind, position: int, table: dict[Hashable, int]) -> PairError:
    pairs, names = getattr(parsed, kind), parsed.names or ()
    unknown = next(names[code] for code in pairs[position] if names[code] not in table)
    return UnknownIdError(
        f"{label(kind, position, pairs, names)}: {short(unknown)} is not among the {len(table)} "
        f"sample ids{_other_form(unknown, table)}",
        kind,
        position,
        "; correct the pair, or keep the links by id and leave such pairs out with "
        "links.resolve(ids, missing='drop')",
    )


def _other_form(unknown: Hashable, table: dict[Hashable, int]) -> str:
    """Say so when an id is there in another form: an accent may be a character of its own."""
    if not isinstance(unknown, str):
        return ""
    wanted = normalize("NFC", unknown)
    for name, row in table.items():
        if isinstance(name, str) and normalize("NFC", name) == wanted:
            return (
                f", but row {row} has it in another Unicode form ({unknown!a} and "
                f"{name!a}): write both the same way"
            )
    return ""


def union(first: Parsed, second: Parsed) -> Parsed:
    """Join two sets of pairs; a pair in both keeps the higher confidence."""
    codes: dict[Hashable, int] = {}
    recoded = [_recoded(parsed, codes) for parsed in (first, second)]
    out: dict[str, Any] = {}
    for kind in KINDS:
        pairs, confidence = zip(*(weighted(parsed, kind) for parsed in recoded), strict=True)
        out[kind], out[f"{kind}_confidence"] = without_duplicates(
            np.concatenate(pairs), np.concatenate(confidence)
        )
    apart, in_order = recoded[0].apart + recoded[1].apart, first.in_order or second.in_order
    return Parsed(**out, names=tuple(codes) or None, apart=apart, in_order=in_order)


def _recoded(parsed: Parsed, codes: dict[Hashable, int]) -> Parsed:
    """Code the ids by a table that is shared and grows."""
    if parsed.names is None:
        return parsed
    new = np.array([codes.setdefault(name, len(codes)) for name in parsed.names], dtype=np.int64)
    return parsed._replace(
        must=np.sort(new[parsed.must], axis=1),
        cannot=np.sort(new[parsed.cannot], axis=1),
        apart=parsed.apart.mapped(new),
    )


def difference(parsed: Parsed, unwanted: Parsed) -> Parsed:
    """Take pairs out; one that is not there raises."""
    out: dict[str, Any] = {}
    for kind in KINDS:
        pairs, confidence = weighted(parsed, kind)
        where = {frozenset(p): i for i, p in enumerate(named(pairs, parsed.names))}
        keep = np.ones(len(pairs), dtype=bool)
        for position, pair in enumerate(named(getattr(unwanted, kind), unwanted.names)):
            index = where.get(frozenset(pair))
            if index is None:
                raise PairError(
                    f"cannot remove {kind}-link {pair!r}: it is not among the {len(pairs)} "
                    f"{kind}-links",
                    kind,
                    position,
                )
            keep[index] = False
        out[kind], out[f"{kind}_confidence"] = pairs[keep], confidence[keep]
    return parsed._replace(**out)


def without(parsed: Parsed, must: IntArray, cannot: IntArray) -> Parsed:
    """Leave out the pairs at some positions."""
    return parsed._replace(
        must=np.delete(parsed.must, must, axis=0),
        cannot=np.delete(parsed.cannot, cannot, axis=0),
        must_confidence=np.delete(parsed.must_confidence, must),
        cannot_confidence=np.delete(parsed.cannot_confidence, cannot),
    )


def identity(parsed: Parsed) -> Hashable:
    """Give what two equal sets of pairs have in common, whatever their order."""
    parts: list[Hashable] = [parsed.apart.member.tobytes(), parsed.apart.start.tobytes()]
    if (names := parsed.names) is not None:
        groups = (frozenset(names[code] for code in group.tolist()) for group in parsed.apart)
        parts = [frozenset(groups)]
    for kind in KINDS:
        pairs, confidence = weighted(parsed, kind)
        if parsed.names is None:
            order = np.lexsort((pairs[:, 1], pairs[:, 0]))
            parts.append((pairs[order].tobytes(), confidence[order].tobytes()))
        else:
            ends = map(frozenset, named(pairs, parsed.names))
            parts.append(frozenset(zip(ends, confidence.tolist(), strict=True)))
    return tuple(parts)


def weighted(parsed: Parsed, kind: Kind) -> tuple[IntArray, FloatArray]:
    """Pairs of one kind with their confidences."""
    if kind == "must":
        return parsed.must, parsed.must_confidence
    return parsed.cannot, parsed.cannot_confidence
