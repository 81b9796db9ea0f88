"""Which pairs of rows bend the constrained shift, and which centres they keep apart."""

from __future__ import annotations

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.messages import Advice, warn
from linkshift.links import Closure

__all__ = ["centres_apart", "changed_pairs", "closed_pairs"]


def closed_pairs(closure: Closure, max_pairs: int, *, complain: bool = True) -> Array:
    """Pairs of rows that the closure holds apart, or an even share of them, with a warning."""
    n_pairs = closure.sizes[closure.component_cannot].prod(axis=1)
    if n_pairs.sum() <= max_pairs:
        return closure.cannot_pairs()
    share = max(1, max_pairs // len(n_pairs))
    used = int(np.minimum(n_pairs, share).sum())
    if complain and used < n_pairs.sum():
        warn(
            Advice(
                f"The closure of the links has {n_pairs.sum()} cannot-linked pairs; {used} of "
                "them, evenly spread, bend the shift (labels honour all).",
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
    return np.concatenate(pairs)


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
