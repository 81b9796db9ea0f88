# mypy: allow-untyped-defs
"""Jit loops of the consensus: modularity, hills of a density, agreement. They trust their input."""

import numpy as np

from linkshift._core.jit import jit

__all__ = ["climb_hills", "louvain", "pair_agreement"]

_GAIN = 1e-12  # moves that gain less are rounding


@jit
def louvain(start, column, weight, resolution):
    """Communities of a weighted symmetric graph (CSR): no single move improves the last level.

    Rows go to the neighbouring community with the largest gain in modularity, in their order,
    until none moves; communities then are the rows of the next, smaller graph.
    """
    n = start.shape[0] - 1
    total = weight.sum()
    found = np.arange(n)
    while True:
        community, moved = _move(start, column, weight, resolution, total)
        size = _number(community)
        for i in range(n):
            found[i] = community[found[i]]
        if not moved or size == community.shape[0]:
            return found
        start, column, weight = _contract(start, column, weight, community, size)


@jit
def _move(start, column, weight, resolution, total):
    """One level: move rows while a move gains; whether any did."""
    m = start.shape[0] - 1
    degree = np.zeros(m)
    for i in range(m):
        for e in range(start[i], start[i + 1]):
            degree[i] += weight[e]
    community = np.arange(m)
    volume = degree.copy()
    towards = np.zeros(m)
    seen = np.full(m, -1)
    touched = np.empty(m + 1, np.int64)
    moved = False
    for _ in range(50):
        n_moved = 0
        for i in range(m):
            own = community[i]
            volume[own] -= degree[i]
            seen[own] = i
            towards[own] = 0.0
            touched[0] = own
            n_touched = 1
            for e in range(start[i], start[i + 1]):
                if column[e] == i:
                    continue
                c = community[column[e]]
                if seen[c] != i:
                    seen[c] = i
                    towards[c] = 0.0
                    touched[n_touched] = c
                    n_touched += 1
                towards[c] += weight[e]
            share = resolution * degree[i] / total
            best = own
            best_gain = towards[own] - share * volume[own]
            for t in range(n_touched):
                c = touched[t]
                gain = towards[c] - share * volume[c]
                if gain > best_gain + _GAIN:
                    best = c
                    best_gain = gain
            community[i] = best
            volume[best] += degree[i]
            n_moved += best != own
        for i in range(m):
            seen[i] = -1
        if n_moved == 0:
            break
        moved = True
    return community, moved


@jit
def _number(labels):
    """Give labels numbers by first appearance, in place; return how many there are."""
    new = np.full(labels.shape[0], -1)
    size = 0
    for i in range(labels.shape[0]):
        if new[labels[i]] < 0:
            new[labels[i]] = size
            size += 1
        labels[i] = new[labels[i]]
    return size


@jit
def _contract(start, column, weight, community, size):
    """Graph of communities; edges inside one are its loop."""
    m = community.shape[0]
    first = np.zeros(size + 1, np.int64)
    for i in range(m):
        first[community[i] + 1] += 1
    for c in range(size):
        first[c + 1] += first[c]
    place = first.copy()
    member = np.empty(m, np.int64)
    for i in range(m):
        member[place[community[i]]] = i
        place[community[i]] += 1
    new_start = np.zeros(size + 1, start.dtype)
    new_column = np.empty(column.shape[0], column.dtype)
    new_weight = np.empty(column.shape[0])
    where = np.full(size, -1, np.int64)
    end = 0
    for c in range(size):
        begin = end
        for s in range(first[c], first[c + 1]):
            i = member[s]
            for e in range(start[i], start[i + 1]):
                other = community[column[e]]
                if where[other] < begin:
                    where[other] = end
                    new_column[end] = other
                    new_weight[end] = 0.0
                    end += 1
                new_weight[where[other]] += weight[e]
        new_start[c + 1] = end
    return new_start, new_column[:end].copy(), new_weight[:end].copy()


@jit
def climb_hills(order, rank, height, start, column):
    """Hills of a height over a graph: each row's summit, and where summits meet.

    Rows come from the highest down. A row goes to the summit of its highest neighbour; where it
    joins hills, each lower summit is noted with the highest and with its prominence, its height
    above this pass.
    """
    n = order.shape[0]
    summit = np.empty(n, np.int64)
    parent = np.arange(n)
    lower = np.empty(n, np.int64)
    higher = np.empty(n, np.int64)
    prominence = np.empty(n)
    n_passes = 0
    for r in range(n):
        i = order[r]
        best = i
        for e in range(start[i], start[i + 1]):
            if rank[column[e]] < rank[best]:
                best = column[e]
        summit[i] = i if best == i else summit[best]
        highest = _root(parent, summit[i])
        for e in range(start[i], start[i + 1]):
            if rank[column[e]] < r:
                other = _root(parent, summit[column[e]])
                if rank[other] < rank[highest]:
                    highest = other
        for e in range(start[i], start[i + 1]):
            if rank[column[e]] < r:
                other = _root(parent, summit[column[e]])
                if other != highest:
                    parent[other] = highest
                    lower[n_passes] = other
                    higher[n_passes] = highest
                    prominence[n_passes] = height[other] - height[i]
                    n_passes += 1
    return summit, lower[:n_passes], higher[:n_passes], prominence[:n_passes]


@jit
def _root(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@jit
def pair_agreement(labels, sizes):
    """Compute the adjusted Rand index of every two partitions (rows of ``labels``).

    Rows are taken cluster by cluster of the one partition, and those of the other counted, so that
    no table of clusters is needed: partitions may have as many clusters as there are rows.
    """
    c, n = labels.shape
    count = np.zeros(sizes.max(), np.int64)
    inside = np.zeros(c)
    for a in range(c):
        for i in range(n):
            inside[a] += count[labels[a, i]]
            count[labels[a, i]] += 1
        count[:] = 0
    pairs = n * (n - 1.0) / 2.0
    out = np.ones((c, c))
    for a in range(c):
        order = np.argsort(labels[a], kind="mergesort")
        for b in range(a):
            both = 0
            first = 0
            while first < n:
                last = first
                while last < n and labels[a, order[last]] == labels[a, order[first]]:
                    other = labels[b, order[last]]
                    both += count[other]
                    count[other] += 1
                    last += 1
                for k in range(first, last):
                    count[labels[b, order[k]]] = 0
                first = last
            chance = inside[a] * inside[b] / pairs
            most_pairs = (inside[a] + inside[b]) / 2.0
            value = 1.0
            if most_pairs - chance > 1e-12 * pairs:
                value = (both - chance) / (most_pairs - chance)
            out[a, b] = value
            out[b, a] = value
    return out
