# mypy: disable-error-code="no-untyped-def"
"""Jit loops of DBSCAN under links. They trust their input."""

from __future__ import annotations

import numpy as np

from linkshift._core.disjoint_loops import find_root, unite
from linkshift._core.jit import jit


@jit
def local_clusters(X, weight, leaf, start, radius2, least, component, apart, local):
    """Fill ``local`` with clusters of rows and their neighbours in a leaf; -1 for rows without.

    ``leaf`` has the rows leaf by leaf, ``start`` where each leaf begins. Where a cannot-link parts
    two of the neighbours, each is a cluster by itself. Neighbours count by their weights; a row
    without weight begins none.
    """
    met = np.full(apart.start.shape[0] - 1, -1, dtype=np.int64)  # for whom a component was met last
    near = np.empty(X.shape[0], dtype=np.int64)
    count = 0
    for b in range(start.shape[0] - 1):
        for i in leaf[start[b] : start[b + 1]]:
            if local[i] >= 0 or weight[i] == 0:
                continue
            found, free = 0.0, 0
            for j in leaf[start[b] : start[b + 1]]:
                apart2 = 0.0
                for f in range(X.shape[1]):
                    apart2 += (X[i, f] - X[j, f]) ** 2
                if apart2 <= radius2:
                    found += weight[j]
                    if local[j] < 0:
                        near[free] = j
                        free += 1
            if found < least:
                continue
            for a in range(free):
                met[component[near[a]]] = i
            parted = False
            for a in range(free):
                c = component[near[a]]
                for e in range(apart.start[c], apart.start[c + 1]):
                    parted = parted or met[apart.other[e]] == i
            for a in range(free):
                local[near[a]] = count
                if parted:
                    count += 1
            if not parted:
                count += 1


@jit
def join_clusters(pairs, dense, labels, core, home, apart):
    """Join clusters that are neighbours, the nearest first, where no cannot-link forbids it.

    ``core`` says which are core local clusters, ``home`` in which cluster a component is. First
    others join these, again and again; then others join each other; then rows that are alone join
    the nearest dense row. In place.
    """
    n = core.shape[0]
    parent = np.arange(n)
    first, last, following = _cannot_lists(n, home, apart)
    sizes = np.zeros(n, dtype=np.int64)
    for i in range(labels.shape[0]):
        sizes[labels[i]] += 1
    for stage in range(3):
        changed = True
        while changed:
            changed = False
            for e in range(pairs.shape[0]):
                i, j = pairs[e, 0], pairs[e, 1]
                a, b = find_root(parent, labels[i]), find_root(parent, labels[j])
                if a == b or not _may_join(stage, i, j, a, b, dense, core, sizes):
                    continue
                if _parted(a, b, first, following, apart.other, home, parent):
                    continue
                unite(parent, a, b)
                root, gone = min(a, b), max(a, b)
                core[root] = core[a] or core[b]
                sizes[root] += sizes[gone]
                if first[root] < 0:
                    first[root], last[root] = first[gone], last[gone]
                elif first[gone] >= 0:
                    following[last[root]] = first[gone]
                    last[root] = last[gone]
                changed = stage == 0
    for i in range(labels.shape[0]):
        labels[i] = find_root(parent, labels[i])


@jit
def _may_join(stage, i, j, a, b, dense, core, sizes):
    """Whether the clusters a and b of rows i and j are of kinds that join at a stage."""
    if stage == 2:
        alone = b if dense[i] else a
        return dense[i] != dense[j] and not core[alone] and sizes[alone] == 1
    if not (dense[i] and dense[j]):
        return False
    return core[a] != core[b] if stage == 0 else not (core[a] or core[b])


@jit
def _cannot_lists(n, home, apart):
    """Chain the cannot-links of each cluster: the first, the last, and what follows each."""
    first, last = np.full(n, -1), np.full(n, -1)
    following = np.full(apart.other.shape[0], -1)
    for c in range(apart.start.shape[0] - 1):
        h = home[c]
        for e in range(apart.start[c], apart.start[c + 1]):
            if first[h] < 0:
                first[h] = e
            else:
                following[last[h]] = e
            last[h] = e
    return first, last, following


@jit
def _parted(a, b, first, following, other, home, parent):
    """Whether a cannot-link leads from cluster a to cluster b; both chains are walked abreast."""
    e, f = first[a], first[b]
    while e >= 0 and f >= 0:
        if find_root(parent, home[other[e]]) == b or find_root(parent, home[other[f]]) == a:
            return True
        e, f = following[e], following[f]
    return False
