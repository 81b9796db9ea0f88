"""Which pairs of rows bend the constrained shift, and which centres they keep apart."""

from __future__ import annotations

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.messages import Advice, warn
from linkshift.links import Closure
from linkshift.shift.neighbours import nearest_neighbours

__all__ = ["centre_families", "centres_apart", "changed_pairs", "closed_pairs"]


def closed_pairs(
    closure: Closure, points: Array, max_pairs: int, *, complain: bool = True
) -> Array:
    """Pairs of rows that the closure holds apart, or an even share of them, with a warning.

    Of groups, these are pairs of rows that are near each other.
    """
    n_pairs = closure.sizes[closure.component_cannot].prod(axis=1)
    total = int(n_pairs.sum()) + _grouped_pairs(closure)
    if total <= max_pairs:
        return closure.cannot_pairs()
    near = np.empty((0, 2), dtype=np.int64)
    if len(closure.groups):  # their share is that of their rows among these and the pairs
        rows = len(closure.groups.member)
        part = rows / (rows + int(n_pairs.sum()))
        near = _near_pairs(closure, points, max(1, int(max_pairs * part)))
    share = max(1, (max_pairs - len(near)) // max(len(n_pairs), 1))
    used = int(np.minimum(n_pairs, share).sum()) + len(near)
    if complain and used < total:
        how = "evenly spread" if not len(near) else "of groups the nearest"
        warn(
            Advice(
                f"The closure of the links has {total} cannot-linked pairs; {used} of "
                f"them, {how}, bend the shift (labels honour all).",
                "Raise max_pairs to use more.",
                command="",
                parameter="max_pairs",
                value=max_pairs,
            )
        )
    pairs = [
        _spread_pairs(closure.members(a), closure.members(b), share)
        for a, b in closure.component_cannot.tolist()
    ]
    if not len(near):
        return np.concatenate(pairs)
    return np.unique(np.concatenate([near, *(np.sort(part, axis=1) for part in pairs)]), axis=0)


def _grouped_pairs(closure: Closure) -> int:
    """Pairs of rows that groups of components hold apart."""
    sizes = closure.sizes
    return sum(
        (int(sizes[part].sum()) ** 2 - int((sizes[part] ** 2).sum())) // 2
        for part in closure.groups
    )


def _near_pairs(closure: Closure, points: Array, most: int) -> Array:
    """At most so many pairs of rows that groups hold apart: each row with the nearest of its group.

    A component is represented by its first row. Only rows that are near can meet.
    """
    groups, found = closure.groups, [np.empty((0, 2), dtype=np.int64)]
    k = max(1, most // len(groups.member))
    for part in groups:
        rows = np.array([closure.members(c)[0] for c in part.tolist()])
        near = nearest_neighbours(points[rows], min(k, len(rows) - 1))[1]
        pairs = np.column_stack((np.repeat(rows, near.shape[1]), rows[near.ravel()]))
        found.append(np.sort(pairs, axis=1))
    pairs = np.unique(np.concatenate(found), axis=0)
    if len(pairs) > most:
        pairs = pairs[np.linspace(0, len(pairs) - 1, most).astype(np.int64)]
    return pairs


def _spread_pairs(one: Array, other: Array, share: int) -> Array:
    """At most ``share`` pairs between two components, evenly spread over both."""
    n = min(share, len(one) * len(other))
    pick = np.linspace(0, len(one) * len(other) - 1, n).astype(np.int64)
    # Stepping through both at once, not through one for each of the other.
    a, b = np.divmod(pick, len(other))
    return np.stack([one[a], other[(b + a) % len(other)]], axis=1)


def changed_pairs(before: tuple[Array, Array], after: tuple[Array, Array]) -> Array:
    """Pairs that are in one of two sets of cannot-links only, or changed their confidence."""
    sets = []
    for pairs, confidence in (before, after):
        ordered = np.sort(pairs, axis=1).tolist()
        sets.append({(a, b, c) for (a, b), c in zip(ordered, confidence.tolist(), strict=True)})
    changed = sorted({pair[:2] for pair in sets[0] ^ sets[1]})
    return np.array(changed, dtype=np.int64).reshape(-1, 2)


def centre_families(group: Array, closure: Closure) -> list[set[int]]:
    """For each centre the groups, whose members are apart, that its rows are of."""
    families: list[set[int]] = [set() for _ in range(int(group.max()) + 1)]
    groups = closure.groups
    for c, family in zip(groups.member.tolist(), groups.group.tolist(), strict=True):
        for centre in np.unique(group[closure.members(c)]).tolist():
            families[centre].add(family)
    return families


def centres_apart(group: Array, closure: Closure) -> Array:
    """Pairs of centres with a closed cannot-link between their rows."""
    # The distinct centres of each component, component by component.
    n_centres = int(group.max()) + 1
    component, centre = np.divmod(np.unique(closure.component * n_centres + group), n_centres)
    start = np.searchsorted(component, np.arange(closure.n_components + 1))
    count = np.diff(start)
    one, other = closure.component_cannot.T
    # Every centre of the one with every centre of the other: pair q of a link is (q // c, q % c).
    n_pairs = count[one] * count[other]
    link = np.repeat(np.arange(len(n_pairs)), n_pairs)
    q = np.arange(n_pairs.sum()) - np.repeat(np.cumsum(n_pairs) - n_pairs, n_pairs)
    a, b = np.divmod(q, count[other][link])
    left, right = centre[start[one[link]] + a], centre[start[other[link]] + b]
    key = np.unique(np.minimum(left, right) * n_centres + np.maximum(left, right))
    return np.stack(np.divmod(key, n_centres), axis=1)
