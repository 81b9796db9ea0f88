"""Disjoint sets inside jit loops, in an array of parents; the root is the least member."""

from linkshift._core.jit import jit_inline

__all__ = ["find_root", "number_roots", "unite"]


@jit_inline
def find_root(parent, i):  # type: ignore[no-untyped-def]
    """Find what stands for a set: its least member. Paths are halved on the way."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@jit_inline
def unite(parent, i, j):  # type: ignore[no-untyped-def]
    """Join two sets under the lesser root."""
    a, b = find_root(parent, i), find_root(parent, j)
    if a < b:
        parent[b] = a
    elif b < a:
        parent[a] = b


@jit_inline
def number_roots(parent):  # type: ignore[no-untyped-def]
    """Replace parents by numbers of sets, from 0 in the order of their least members.

    Returns how many there are. A parent is never after its child: one pass does it in place.
    """
    count = 0
    for i in range(parent.shape[0]):
        if parent[i] == i:
            parent[i] = count
            count += 1
        else:
            parent[i] = parent[parent[i]]
    return count
