"""The door: pairs as people write them, checked once and turned into arrays."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkshift._core.messages import Advice, warn
from linkshift._core.text import counted, short
from linkshift.links._groups import NO_GROUPS, Groups

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
Kind = Literal["must", "cannot"]
Duplicates = Literal["count", "raise", "drop"]
DUPLICATES = ("count", "raise", "drop")
Keyed = Literal["auto", "row", "id"]

KINDS: tuple[Kind, Kind] = ("must", "cannot")
LARGEST_ROW = np.iinfo(np.int64).max


class PairError(ValueError):
    """A pair that cannot be a link.

    Attributes
    ----------
    kind : {"must", "cannot"}
        Which list the pair stands in.
    position : int
        Its position in that list, counted from 0.
    problem : str
        What is wrong, without what to do about it in Python.
    python : str
        The rest of the message: what to do, in the words of Python.
    """

    def __init__(self, problem: str, kind: str = "", position: int = -1, python: str = "") -> None:
        super().__init__(problem + python)
        self.problem = problem
        self.python = python
        self.kind = kind
        self.position = position


class RowRangeError(PairError, IndexError):
    """A pair that names a row the data do not have."""


class UnknownIdError(PairError):
    """A pair that names an id the data do not have."""


class Parsed(NamedTuple):
    """Pairs and groups as codes: row numbers, or positions in `names` when keyed by id."""

    must: IntArray
    cannot: IntArray
    must_confidence: FloatArray
    cannot_confidence: FloatArray
    names: tuple[Hashable, ...] | None
    apart: Groups = NO_GROUPS
    in_order: bool = False  # groups of a column are among them, by the places of its rows


def parse(
    must: Any,
    cannot: Any,
    must_confidence: ArrayLike | None,
    cannot_confidence: ArrayLike | None,
    *,
    keyed: Keyed = "auto",
    duplicates: Duplicates = "count",
) -> Parsed:
    """Check both kinds of pairs and their confidences."""
    if duplicates not in DUPLICATES:
        raise ValueError(f"duplicates must be 'count', 'raise' or 'drop', got {duplicates!r}")
    raw: dict[Kind, Any] = {"must": _entries(must, "must"), "cannot": _entries(cannot, "cannot")}
    if keyed == "auto":
        keyed = "id" if any(_has_names(entries) for entries in raw.values()) else "row"
    codes: dict[Hashable, int] = {}
    pairs: dict[Kind, IntArray] = {}
    for kind, entries in raw.items():
        pairs[kind] = _row_pairs(entries, kind) if keyed == "row" else _coded(entries, kind, codes)
    names = tuple(codes) if keyed == "id" else None
    confidence: dict[Kind, FloatArray] = {
        "must": _confidence(must_confidence, pairs["must"], "must", names),
        "cannot": _confidence(cannot_confidence, pairs["cannot"], "cannot", names),
    }
    for kind in raw:
        pairs[kind] = _ordered(pairs[kind], kind, names)
        if duplicates == "raise":
            _refuse_duplicates(pairs[kind], kind, names)
    given = Parsed(pairs["must"], pairs["cannot"], confidence["must"], confidence["cannot"], names)
    if duplicates == "raise":
        return given
    return _by_votes(given, counts=duplicates == "count")


def as_items(values: Any) -> list[Any]:
    """Give the elements of a sequence as plain Python objects where NumPy has them."""
    if isinstance(values, (str, bytes)):
        raise TypeError("expected a sequence of items, got one string")
    if hasattr(values, "__array__"):
        array = np.asarray(values)
        # A datetime's `tolist` may turn it into a number; its scalars are hashable as they are.
        return list(array) if array.dtype.kind in "mM" else list(array.tolist())
    return list(values)


def index_names(table: Any) -> tuple[Hashable, ...] | None:
    """Names of rows in the index of a pandas object; None where it only counts them, or is none."""
    index = getattr(table, "index", None)
    if not hasattr(table, "iloc") or index is None:
        return None
    names = as_items(index)
    return None if names == list(range(len(names))) else tuple(names)


def row_of_id(ids: Iterable[Hashable]) -> dict[Hashable, int]:
    """Map each sample id to its row; ids must be unique."""
    table: dict[Hashable, int] = {}
    for row, name in enumerate(as_items(ids)):
        try:
            first = table.setdefault(name, row)
        except TypeError as error:
            raise TypeError(f"ids must be hashable; the id of row {row} is {name!r}") from error
        if first != row:
            raise ValueError(
                f"ids must be unique, but {name!r} is the id of row {first} and of row {row}"
            )
    return table


def label(
    kind: str, position: int, pairs: IntArray, names: Sequence[Hashable] | None = None
) -> str:
    """Name a pair in a message: ``must-link 3: (5, 120)``."""
    a, b = pairs[position]
    left, right = (int(a), int(b)) if names is None else (names[a], names[b])
    return f"{kind}-link {position}: ({short(left)}, {short(right)})"


def check_range(parsed: Parsed, n_samples: int) -> None:
    """Raise when a pair names a row beyond the data."""
    for kind, pairs in zip(KINDS, parsed[:2], strict=True):
        outside = np.flatnonzero((pairs >= n_samples).any(axis=1))
        if outside.size:
            position = int(outside[0])
            worst = int(pairs[position].max())
            more = f" ({outside.size - 1} more such pairs)" if outside.size > 1 else ""
            raise RowRangeError(
                f"{label(kind, position, pairs)}: row {worst} is out of range for {n_samples} "
                f"samples{more}",
                kind,
                position,
                "; rows count from 0. For a subset of the data use links.take(indices)",
            )
    if (needed := 1 + int(parsed.apart.member.max(initial=-1))) > n_samples:
        raise PairError(
            f"a group of rows that are apart names row {needed - 1}, which is out of range for "
            f"{n_samples} samples"
        )


def check_count(n_samples: Any, name: str = "n_samples") -> int:
    """Check a number of samples."""
    if isinstance(n_samples, (bool, np.bool_)) or not isinstance(n_samples, numbers.Integral):
        raise TypeError(f"{name} must be a whole number, got {n_samples!r}")
    if n_samples < 0:
        raise ValueError(f"{name} must not be negative, got {n_samples}")
    return int(n_samples)


def without_duplicates(pairs: IntArray, confidence: FloatArray) -> tuple[IntArray, FloatArray]:
    """Keep each pair once, at its first position, with its highest confidence."""
    if not len(pairs):
        return pairs, confidence
    _, first, group = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    highest = np.zeros(len(first))
    np.maximum.at(highest, group.ravel(), confidence)
    order = np.argsort(first)
    return pairs[first[order]], highest[order]


def _by_votes(given: Parsed, *, counts: bool) -> Parsed:
    """Keep each pair once, with its highest confidence; of both kinds, what most say.

    A pair that is given three times and more, in both kinds, is of the kind with the larger sum of
    confidences, and believed by its share of them. As much said for as against, and one answer of
    each kind, stay a contradiction: nobody has won.
    """
    must, must_sure = without_duplicates(given.must, given.must_confidence)
    cannot, cannot_sure = without_duplicates(given.cannot, given.cannot_confidence)
    once = Parsed(must, cannot, must_sure, cannot_sure, given.names)
    repeated = len(must) < len(given.must) or len(cannot) < len(given.cannot)
    if not counts or not repeated:
        return once
    votes = [_sums(once.must, given.must, given.must_confidence)]
    votes.append(_sums(once.cannot, given.cannot, given.cannot_confidence))
    place = {pair: i for i, pair in enumerate(map(tuple, cannot.tolist()))}
    keep = np.ones(len(must), dtype=bool), np.ones(len(cannot), dtype=bool)
    sure = must_sure.copy(), cannot_sure.copy()
    told: list[tuple[int, str]] = []
    for i, pair in enumerate(map(tuple, must.tolist())):
        j = place.get(pair)
        if j is None or votes[0][1][i] + votes[1][1][j] < 3:
            continue
        total = votes[0][0][i], votes[1][0][j]
        if np.isclose(*total, rtol=1e-9, atol=0):
            continue
        wins = int(total[1] > total[0])
        at = (i, j)
        keep[1 - wins][at[1 - wins]] = False
        sure[wins][at[wins]] *= total[wins] / sum(total)
        told.append((at[wins], KINDS[wins]))
    if told:
        _tell_votes(once, told, [float(sure[KINDS.index(kind)][at]) for at, kind in told])
    return Parsed(must[keep[0]], cannot[keep[1]], sure[0][keep[0]], sure[1][keep[1]], given.names)


def _sums(once: IntArray, pairs: IntArray, confidence: FloatArray) -> tuple[FloatArray, IntArray]:
    """Sum of the confidences of each pair, and how often it was given."""
    place = {pair: i for i, pair in enumerate(map(tuple, once.tolist()))}
    which = np.array([place[pair] for pair in map(tuple, pairs.tolist())], dtype=np.int64)
    total = np.zeros(len(once))
    np.add.at(total, which, confidence)
    return total, np.bincount(which, minlength=len(once)).astype(np.int64)


def _tell_votes(once: Parsed, told: list[tuple[int, str]], sure: list[float]) -> None:
    at, kind = told[0]
    a, b = getattr(once, kind)[at].tolist()
    ends = (a, b) if once.names is None else (once.names[a], once.names[b])
    warn(
        Advice(
            f"{counted(len(told), 'pair')} {'was' if len(told) == 1 else 'were'} answered several "
            "times, not always alike: what most answers say counts, by its share of them. First: "
            f"{kind}-link ({short(ends[0])}, {short(ends[1])}), confidence {sure[0]:.2g}.",
            "duplicates='raise' refuses pairs that are given again.",
            command="",
            parameter="duplicates",
        )
    )


def _entries(pairs: Any, kind: Kind) -> NDArray[Any] | list[tuple[Any, Any]]:
    """Give a numeric (m, 2) array, or a list of 2-tuples when anything else is inside."""
    if pairs is None:
        return np.empty((0, 2), dtype=np.int64)
    if isinstance(pairs, (str, bytes, dict)):
        raise TypeError(f"{kind}-links must be a list of pairs, got {type(pairs).__name__}")
    if hasattr(pairs, "__array__"):
        pairs = np.asarray(pairs)
        if pairs.size == 0:
            return np.empty((0, 2), dtype=np.int64)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise ValueError(_shape_message(kind, f"an array of shape {pairs.shape}"))
        if pairs.dtype.kind in "biuf":
            return pairs
    try:
        listed = list(pairs)
    except TypeError as error:
        raise TypeError(f"{kind}-links must be a list of pairs, got {short(pairs)}") from error
    rows = [_two(pair, kind, position) for position, pair in enumerate(listed)]
    if bool in _types(rows):
        position = next(i for i, row in enumerate(rows) if bool in map(type, row))
        raise _bad(rows, kind, position, "True and False are not rows; write 0 or 1")
    return rows


def _two(pair: Any, kind: Kind, position: int) -> tuple[Any, Any]:
    if isinstance(pair, np.ndarray):
        pair = list(pair)
    # A string of two letters would pass as a pair of ids, and a set has no order to report.
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        found = f"{short(pair)} at position {position}"
        raise PairError(_shape_message(kind, found), kind, position)
    return _plain(pair[0]), _plain(pair[1])


def _plain(item: Any) -> Any:
    """Give a NumPy scalar as a Python object; a date would turn into a bare number."""
    dated = isinstance(item, (np.datetime64, np.timedelta64))
    return item.item() if isinstance(item, np.generic) and not dated else item


def _shape_message(kind: str, found: str) -> str:
    return (
        f"{kind}-links must be pairs, an array of shape (m, 2), but there is {found}; "
        f"write one pair as {kind}=[(0, 1)]"
    )


def _types(rows: list[tuple[Any, Any]]) -> set[type]:
    return {kind for row in rows for kind in (type(row[0]), type(row[1]))}


def _numbers(rows: list[tuple[Any, Any]], kind: Kind) -> NDArray[Any]:
    """Make an array of Python numbers without rounding whole ones."""
    whole = all(issubclass(found, numbers.Integral) for found in _types(rows))
    try:
        return np.array(rows, dtype=np.int64 if whole else np.float64).reshape(-1, 2)
    except OverflowError as error:
        position = next(i for i, row in enumerate(rows) if max(map(abs, row)) > LARGEST_ROW)
        raise _bad(rows, kind, position, "a row number does not fit in 64 bits") from error


def _bad(rows: Any, kind: Kind, position: int, why: str) -> PairError:
    left, right = rows[position]
    pair = f"({short(left)}, {short(right)})"
    return PairError(f"{kind}-link {position}: {pair}: {why}", kind, position)


_NEGATIVE = "row numbers must not be negative; count rows from the start, from 0"


def _has_names(entries: Any) -> bool:
    if not isinstance(entries, list):
        return False
    return not all(issubclass(found, numbers.Real) for found in _types(entries))


def _row_pairs(entries: Any, kind: Kind) -> IntArray:
    """Check row numbers: whole, not negative, within 64 bits."""
    if _has_names(entries):
        position = next(i for i, row in enumerate(entries) if _has_names([row]))
        raise _bad(entries, kind, position, "these links are keyed by row; give row numbers")
    if isinstance(entries, list):
        entries = _numbers(entries, kind)
    pairs = np.asarray(entries)
    if pairs.dtype.kind == "b":
        raise ValueError(f"{kind}-links are True and False; give row numbers or sample ids")
    tests: list[tuple[NDArray[np.bool_], str]] = []
    if pairs.dtype.kind == "f":
        tests.append((np.isnan(pairs), "NaN is not a row; leave the pair out"))
        tests.append((~np.isfinite(pairs), "infinity is not a row; leave the pair out"))
        with np.errstate(invalid="ignore"):
            tests.append((pairs != np.floor(pairs), "row numbers must be whole numbers"))
        # Beyond 2**53 a float no longer tells neighbouring rows apart.
        tests.append((pairs > 2**53, "the row number is too large to be exact as a float"))
    if pairs.dtype.kind == "u":
        tests.append((pairs > LARGEST_ROW, "a row number does not fit in 64 bits"))
    tests.append((pairs < 0, _NEGATIVE))
    for wrong, why in tests:
        found = np.flatnonzero(wrong.any(axis=1))
        if found.size:
            raise _bad(pairs.tolist(), kind, int(found[0]), why)
    return pairs.astype(np.int64)


def _coded(entries: Any, kind: Kind, codes: dict[Any, int]) -> IntArray:
    """Code the ids in order of first appearance."""
    rows = entries if isinstance(entries, list) else entries.tolist()
    coded = np.empty((len(rows), 2), dtype=np.int64)
    for position, row in enumerate(rows):
        for side, name in enumerate(row):
            if isinstance(name, bool):
                raise _bad(rows, kind, position, "True and False are not sample ids")
            if name is None or name != name:
                raise _bad(rows, kind, position, "an id is missing; leave the pair out")
            try:
                coded[position, side] = codes.setdefault(name, len(codes))
            except TypeError as error:
                raise _bad(
                    rows, kind, position, "an id must be hashable: text or a number, not a list"
                ) from error
    return coded


def _ordered(pairs: IntArray, kind: Kind, names: Sequence[Hashable] | None) -> IntArray:
    """Store each pair with the smaller end first; refuse a link of a sample with itself."""
    loops = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if loops.size:
        position = int(loops[0])
        raise PairError(
            f"{label(kind, position, pairs, names)}: a sample cannot be linked with itself; "
            "remove the pair",
            kind,
            position,
        )
    return np.sort(pairs, axis=1)


def _refuse_duplicates(pairs: IntArray, kind: Kind, names: Sequence[Hashable] | None) -> None:
    if len(pairs) < 2:
        return
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))  # stable: equal pairs keep their order
    same = (pairs[order[1:]] == pairs[order[:-1]]).all(axis=1)
    if same.any():
        seconds = order[1:][same]
        where = int(np.argmin(seconds))
        first, second = int(order[:-1][same][where]), int(seconds[where])
        raise PairError(
            f"{label(kind, second, pairs, names)} is the same pair as {kind}-link {first}; "
            "remove one",
            kind,
            second,
            ", or leave duplicates='raise' out to count each pair once",
        )


def _confidence(
    values: Any, pairs: IntArray, kind: Kind, names: Sequence[Hashable] | None
) -> FloatArray:
    if values is None:
        return np.ones(len(pairs))
    try:
        array = np.asarray(values)
    except ValueError:  # lists of several lengths
        array = np.empty(1, dtype=object)
    if array.dtype.kind not in "iuf" and array.size:
        raise TypeError(f"{kind}_confidence must be numbers in (0, 1], got {short(values)}")
    array = array.astype(np.float64)
    if array.ndim == 0:
        if not 0 < array <= 1:
            raise ValueError(
                f"{kind}_confidence must lie in (0, 1], got {float(array):g}"
                f"{_as_share(float(array))}"
            )
        return np.full(len(pairs), float(array))
    if array.shape != (len(pairs),):
        raise ValueError(
            f"{kind}_confidence has shape {array.shape}, but there are {len(pairs)} {kind}-links; "
            "give one number for all or one for each pair"
        )
    wrong = np.flatnonzero(~((array > 0) & (array <= 1)))
    if wrong.size:
        position = int(wrong[0])
        raise PairError(
            f"{label(kind, position, pairs, names)}: its confidence must lie in (0, 1], "
            f"got {array[position]:g}"
            f"{_as_share(array[position]) or '; remove a link that nobody believes'}",
            kind,
            position,
        )
    return array


def _as_share(confidence: float) -> str:
    """Offer 0.95 to whoever wrote 95."""
    if not 1 < confidence <= 100:
        return ""
    return f"; in percent? Divide by 100: {confidence / 100:g}"
