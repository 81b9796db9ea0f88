"""Links from files and label columns, checked against the data they are for."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

from linkshift.cli._console import Console, InputError, counted
from linkshift.cli._read import check_readable
from linkshift.links import Conflict, Conflicts, Links, PairError, RowRangeError

# The library's messages end with advice for Python users; the command line has its own.
_PYTHON_ADVICE = (
    "; rows count from 0. For a subset",
    "; for a subset of the data",
    "; correct the pair, or keep",
    ", or pass duplicates=",
)


def read_links(
    path: Path, *, n_rows: int | None = None, ids: Sequence[Hashable] | None = None
) -> Links:
    """Read links, and check them against the data where its size or ids are known.

    Ids are found by their text. Without ids, links keyed by id are given as they are.
    """
    if path.suffix.lower() not in (".csv", ".json"):
        raise InputError(f"links are read from .csv or .json files, and {path} is neither.")
    check_readable(path)
    try:
        links = _read(path, n_rows, ids)
        if n_rows is not None and not links.keyed_by_id:
            links = links.check(n_rows)
    except RowRangeError as error:
        raise InputError(f"{_plain(error)}. Rows count from 0; correct the pair.") from error
    except PairError as error:
        raise InputError(f"{_plain(error)}.{_id_advice(error, ids)}") from error
    except (ValueError, TypeError) as error:
        raise InputError(f"{_plain(error)}.") from error
    return links


def _read(path: Path, n_rows: int | None, ids: Sequence[Hashable] | None) -> Links:
    if path.suffix.lower() == ".csv":
        if ids is not None:
            return Links.read_csv(path, ids=ids)
        links = Links.read_csv(path)
        # Read again with the number of rows: the error then names the line.
        return links if links.keyed_by_id else Links.read_csv(path, n_samples=n_rows)
    links = Links.read_json(path)
    return links if ids is None or not links.keyed_by_id else _by_text(links, ids)


def _by_text(links: Links, ids: Sequence[Hashable]) -> Links:
    """Resolve ids by their text, as CSV files do: 7 in JSON is 7 in a table read as text."""

    def texts(pairs: Sequence[Sequence[Hashable]]) -> list[tuple[str, ...]]:
        return [tuple(str(end) for end in pair) for pair in pairs]

    return Links(
        texts(links.must_ids),
        texts(links.cannot_ids),
        must_confidence=links.must_confidence,
        cannot_confidence=links.cannot_confidence,
        ids=[str(name) for name in ids],
    )


def _plain(error: Exception) -> str:
    text = str(error)
    for advice in _PYTHON_ADVICE:
        text = text.partition(advice)[0]
    return text.rstrip(".")


def _id_advice(error: PairError, ids: Sequence[Hashable] | None) -> str:
    if ids is not None and "is not among the" in str(error):
        return " Correct the pair, or choose another --id-column (none, if the links count rows)."
    return ""


def require_rows(links: Links, path: Path) -> None:
    """Refuse links that still wait for ids."""
    if links.keyed_by_id:
        first = (*links.must_ids, *links.cannot_ids)[0][0]
        raise InputError(
            f"{path} links samples by id, such as {first!r}. "
            "Say which column of the data holds the ids: --id-column NAME."
        )


def links_of_labels(labels: list[Any], column: str) -> Links:
    """Say with links what a label column says."""
    try:
        return Links.from_labels(labels)
    except ValueError as error:
        raise InputError(f"--label-column {column}: {error}.") from error


# --- conflicts ----------------------------------------------------------------------------------


def named_conflict(conflict: Conflict, ids: Sequence[Hashable] | None) -> Conflict:
    """Give a conflict in the user's ids."""
    if ids is None:
        return conflict
    return Conflict(
        tuple(_name(end, ids) for end in conflict.cannot),
        tuple(_name(end, ids) for end in conflict.chain),
    )


def _name(end: Any, ids: Sequence[Hashable]) -> Hashable:
    return ids[end]


def warn_of_conflicts(
    console: Console, links: Links, ids: Sequence[Hashable] | None, remedy: str
) -> int:
    """Warn when links contradict each other, with the first case; give the number of cases."""
    conflicts = links.conflicts()
    if conflicts:
        console.warn(
            f"the links contradict each other in {counted(len(conflicts), 'place')}, "
            f"first: {named_conflict(conflicts[0], ids)}. "
            f"Going on: links are weighed, not obeyed, and some will be broken. {remedy}"
        )
    return len(conflicts)


def report(conflicts: Conflicts, links: Links, ids: Sequence[Hashable] | None) -> str:
    """Tell all conflicts with their chains, and the smallest removal."""

    def pair(ends: Sequence[Any]) -> str:
        return "({})".format(", ".join(repr(end if ids is None else ids[end]) for end in ends))

    counts = f"{counted(len(links.must_ids), 'must-link')} and " + counted(
        len(links.cannot_ids), "cannot-link"
    )
    if not conflicts:
        return f"No conflicts among {counts}."
    lines = [f"{counted(len(conflicts), 'conflict')} among {counts}:"]
    for conflict in conflicts:
        chain = " - ".join(repr(end if ids is None else _name(end, ids)) for end in conflict.chain)
        lines.append(f"  cannot-link {pair(conflict.cannot)} against must-links {chain}")
    removal = conflicts.suggested_removal
    what = "Smallest removal" if removal.exact else "Removal (perhaps not the smallest)"
    lines.append(f"{what} that leaves no conflict, {counted(len(removal), 'link')}:")
    lines += [f"  must-link {pair(ends)}" for ends in removal.must]
    lines += [f"  cannot-link {pair(ends)}" for ends in removal.cannot]
    return "\n".join(lines)
