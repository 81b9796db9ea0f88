"""What remains of links when only some samples are kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkshift.links._closure import components, implied, spanning
from linkshift.links._parse import FloatArray, IntArray, without_duplicates

Weighted = tuple[IntArray, FloatArray]


def row_selection(indices: Any, n_samples: int | None, needed: int) -> IntArray:
    """Turn row numbers or a mask into unique row numbers.

    `needed` is the least number of samples that the links themselves show.
    """
    array = np.asarray(indices)
    if array.ndim != 1:
        raise ValueError(f"indices must be a list of rows or a mask, got shape {array.shape}")
    if array.dtype.kind == "b":
        if n_samples is not None and len(array) != n_samples:
            raise ValueError(f"the mask has {len(array)} entries for {n_samples} samples")
        if len(array) < needed:
            raise ValueError(
                f"the mask has {len(array)} entries, but the links name row {needed - 1}"
            )
        return np.flatnonzero(array)
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"indices must be whole numbers or a mask, got {array.dtype}")
    if array.min() < 0:
        raise ValueError(f"indices must not be negative, got {array.min()}")
    if n_samples is not None and array.max() >= n_samples:
        raise IndexError(f"row {array.max()} is out of range for {n_samples} samples")
    rows, counts = np.unique(array, return_counts=True)
    if counts.max() > 1:
        row = int(rows[np.argmax(counts)])
        raise ValueError(
            f"row {row} occurs {counts.max()} times in indices; a link would not know which copy "
            "it means. Take each row once (drop the repeats of a bootstrap sample)"
        )
    return array.astype(np.int64)


def renumber(pairs: IntArray, confidence: FloatArray, selection: IntArray) -> Weighted:
    """Keep the pairs with both ends selected; rows become positions in the selection."""
    if not len(selection):
        return np.empty((0, 2), dtype=np.int64), np.empty(0)
    order = np.argsort(selection)
    ascending = selection[order]
    place = np.minimum(np.searchsorted(ascending, pairs), len(selection) - 1)
    kept = (ascending[place] == pairs).all(axis=1)
    return np.sort(order[place[kept]], axis=1).reshape(-1, 2), confidence[kept]


def stand_ins(place: IntArray, must: Weighted) -> IntArray:
    """Give rows without a place that of a row which certain must-links join them to."""
    component = components(must[0][must[1] == 1.0], len(place))
    of_component = np.full(len(place), -1, dtype=np.int64)
    placed = np.flatnonzero(place >= 0)[::-1]  # the first of a component has the last word
    of_component[component[placed]] = place[placed]
    return np.where(place >= 0, place, of_component[component])


def renumber_closed(must: Weighted, cannot: Weighted, selection: IntArray) -> tuple[Weighted, ...]:
    """As `renumber`, and put links in place of chains that lost their middle."""
    rows, ends = np.unique(np.concatenate((must[0], cannot[0])), return_inverse=True)
    ends = ends.reshape(-1, 2)
    m = len(must[0])
    kept = np.isin(rows, selection)
    more = implied(ends[:m], must[1], ends[m:], cannot[1], kept)

    must_kept = renumber(*must, selection)
    cannot_kept = renumber(*cannot, selection)
    must_more = renumber(rows[more[0]], more[1], selection)
    cannot_more = renumber(rows[more[2]], more[3], selection)

    # Links that were there come first: one that stands in is added only where it tells more.
    all_must, sure = _joined(must_kept, must_more)
    wanted = spanning(all_must, sure, len(selection))
    wanted[: len(must_kept[0])] = True
    must_out = without_duplicates(all_must[wanted], sure[wanted])
    group = components(must_out[0], len(selection))
    all_cannot, sure = _joined(cannot_kept, cannot_more)
    wanted = _first_per_group_pair(all_cannot, sure, group)
    wanted[: len(cannot_kept[0])] = True
    return must_out, without_duplicates(all_cannot[wanted], sure[wanted])


def _joined(first: Weighted, second: Weighted) -> Weighted:
    return np.concatenate((first[0], second[0])), np.concatenate((first[1], second[1]))


def _first_per_group_pair(pairs: IntArray, confidence: FloatArray, group: IntArray) -> Any:
    """Mark the surest pair between each two groups."""
    order = np.argsort(-confidence, kind="stable")
    between = np.sort(group[pairs[order]], axis=1).reshape(-1, 2)
    wanted = np.zeros(len(pairs), dtype=bool)
    wanted[order[np.unique(between, axis=0, return_index=True)[1]]] = True
    return wanted
