"""Links from labels: all that partial labels say, or a random sample of pairs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkshift.links._closure import PAIR_LIMIT
from linkshift.links._parse import IntArray, check_count

RandomState = int | np.random.Generator | np.random.RandomState | None


def class_codes(y: Any) -> IntArray:
    """Give each class a number 0, 1, ...; -1 where the label is unknown (-1, None, NaN, "")."""
    array = np.asarray(y) if hasattr(y, "__array__") else _as_labels(y)
    if array.ndim != 1:
        raise ValueError(f"y must be one label for each sample, got shape {array.shape}")
    if array.dtype.kind in "iufb":
        known = ~np.isnan(array) if array.dtype.kind == "f" else np.ones(len(array), dtype=bool)
        if array.dtype.kind in "if":
            known &= array != -1
        codes = np.full(len(array), -1, dtype=np.int64)
        codes[known] = np.unique(array[known], return_inverse=True)[1]
        return codes
    seen: dict[Any, int] = {}
    labels = (-1 if _unknown(v) else seen.setdefault(v, len(seen)) for v in array.tolist())
    return np.fromiter(labels, dtype=np.int64, count=len(array))


def _as_labels(y: Any) -> NDArray[Any]:
    if not isinstance(y, Iterable):
        raise TypeError(f"y must be one label for each sample, got {y!r}")
    items = list(y)
    # Only plain numbers may become a numeric array: among strings NumPy would write
    # a missing label as the text "nan".
    if all(isinstance(item, (int, float, np.number)) for item in items):
        return np.asarray(items)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def _unknown(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, (int, float)):
        return value == -1 or value != value
    return isinstance(value, str) and not value.strip()


def links_of_labels(y: Any, *, complete: bool = False) -> tuple[IntArray, IntArray, int]:
    """Chain the samples of each class; separate classes by one pair of representatives.

    Or, when complete, link every two samples that have labels. Gives must- and cannot-links by row,
    and the number of rows.
    """
    codes = class_codes(y)
    if complete:
        rows = np.flatnonzero(codes >= 0)
        count = _n_pairs(len(rows))
        if count > PAIR_LIMIT:
            raise ValueError(
                f"{len(rows):,} samples have labels, which makes {count:,} pairs; leave "
                "complete=True out, or give fewer labels"
            )
        left, right = np.triu_indices(len(rows), k=1)
        every = np.column_stack((rows[left], rows[right]))
        same = codes[every[:, 0]] == codes[every[:, 1]]
        return every[same], every[~same], len(codes)
    n_classes = int(codes.max(initial=-1)) + 1
    if _n_pairs(n_classes) > PAIR_LIMIT:
        raise ValueError(
            f"y has {n_classes:,} classes, which would need {_n_pairs(n_classes):,} cannot-links; "
            "y should hold class labels, with -1 where the class is unknown"
        )
    order = np.argsort(codes, kind="stable")
    order = order[codes[order] >= 0]
    label = codes[order]
    same = label[1:] == label[:-1]
    must = np.column_stack((order[:-1][same], order[1:][same]))
    first = order[np.searchsorted(label, np.arange(n_classes))]
    left, right = np.triu_indices(n_classes, k=1)
    return must, np.column_stack((first[left], first[right])), len(codes)


def _n_pairs(n: int) -> int:
    return n * (n - 1) // 2


def sample_of_labels(
    y: Any, n_links: int, random_state: RandomState, error_rate: float
) -> tuple[IntArray, IntArray, int]:
    """Draw pairs as in Schier et al. (2022), section 5.2."""
    codes = class_codes(y)
    n_links = check_count(n_links, "n_links")
    if not 0 <= error_rate <= 1:
        raise ValueError(f"error_rate must lie in [0, 1], got {error_rate}")
    rows = np.flatnonzero(codes >= 0)
    label = codes[rows]
    n_classes = int(codes.max(initial=-1)) + 1
    class_pairs, total = _n_pairs(n_classes), _n_pairs(len(rows))
    if n_links < class_pairs:
        raise ValueError(
            f"n_links={n_links} is too few: {n_classes} classes have {class_pairs} pairs of "
            f"classes, and each gets a cannot-link; ask for at least {class_pairs}"
        )
    if n_links > total:
        raise ValueError(
            f"n_links={n_links} is too many: {len(rows)} labelled samples have {total} pairs"
        )
    rng = _generator(random_state)
    fixed = _rank(_one_per_class_pair(label, n_classes, rng))
    drawn = _distinct(total - class_pairs, n_links - class_pairs, rng)
    taken = np.sort(fixed)
    # The v-th rank that is not taken: step over every taken rank at or before it.
    drawn = drawn + np.searchsorted(taken - np.arange(len(taken)), drawn, side="right")
    pairs = _unrank(np.concatenate((fixed, drawn)))
    together = label[pairs[:, 0]] == label[pairs[:, 1]]
    wrong = rng.choice(n_links, size=round(error_rate * n_links), replace=False)
    together[wrong] = ~together[wrong]
    pairs = rows[pairs]
    return pairs[together], pairs[~together], len(codes)


def _generator(random_state: RandomState) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    return np.random.default_rng(random_state)


def _one_per_class_pair(label: IntArray, n_classes: int, rng: np.random.Generator) -> IntArray:
    """Draw one pair uniformly between each two classes, smaller position first."""
    order = np.argsort(label, kind="stable")
    starts = np.searchsorted(label[order], np.arange(n_classes + 1))
    sizes = np.diff(starts)
    left, right = np.triu_indices(n_classes, k=1)
    a = order[starts[left] + rng.integers(sizes[left])]
    b = order[starts[right] + rng.integers(sizes[right])]
    return np.column_stack((np.minimum(a, b), np.maximum(a, b)))


def _distinct(n: int, k: int, rng: np.random.Generator) -> IntArray:
    """Draw `k` distinct numbers below `n`, in random order, in memory of the order of `k`."""
    if k > n // 2:
        # Few are left out: draw those instead.
        left_out = _distinct(n, n - k, rng)
        keep = np.ones(n, dtype=bool)
        keep[left_out] = False
        return rng.permutation(np.flatnonzero(keep))
    found = np.empty(0, dtype=np.int64)
    while len(found) < k:
        more = rng.integers(n, size=k - len(found) + 16)
        found = np.sort(np.concatenate((found, more)))
        found = found[np.concatenate(([True], found[1:] != found[:-1]))]
    # Which numbers came out is symmetric in all numbers, so a random part of them is uniform.
    return rng.permutation(found)[:k]


def _rank(pairs: IntArray) -> IntArray:
    """Give each pair a < b its rank: (0, 1), (0, 2), (1, 2), (0, 3), ... -> b(b - 1)/2 + a."""
    a, b = pairs.T
    return np.asarray(b * (b - 1) // 2 + a)


def _unrank(rank: IntArray) -> IntArray:
    b = np.floor((1 + np.sqrt(1 + 8 * rank.astype(np.float64))) / 2).astype(np.int64)
    # The square root is rounded, so b may be one off.
    b -= (b * (b - 1) // 2) > rank
    b += (b * (b + 1) // 2) <= rank
    return np.column_stack((rank - b * (b - 1) // 2, b))
