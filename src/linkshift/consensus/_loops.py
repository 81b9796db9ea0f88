# mypy: allow-untyped-defs
"""Jit loops of the consensus: modularity, hills of a density, agreement. They trust their input."""

import numpy as np

from linkshift._core.jit import jit
from linkshift._core.labels import first_come

__all__ = ["climb_hills", "louvain", "pair_agreement"]

_GAIN = 1e-12  # moves that gain less are rounding


def louvain(start, column, weight, resolution):
    """Communities of a weighted symmetric graph (CSR): no single move improves the last level.

    Rows go to the neighbouring community with the largest gain in modularity, in their order,
    until none moves; communities then are the rows of the next, smaller graph.
    """
    total = float(weight.sum())
    found = np.arange(start.shape[0] - 1)
    while True:
        m = start.shape[0] - 1
        community, touched = np.arange(m), np.empty(m + 1, np.int64)
        room = np.empty(m), np.empty(m), np.empty(m), np.full(m, -1)
        moved = _move(start, column, weight, resolution, total, community, *room, touched)
        community = first_come(community, np.int64)
        size = int(community.max()) + 1
        found = community[found]
        if not moved or size == m:
            return found
        order = np.argsort(community, kind="stable")
        new = np.zeros(size + 1, start.dtype), np.empty_like(column), np.empty(column.shape[0])
        end = _contract(start, column, weight, community, order, np.full(size, -1), *new)
        start, column, weight = new[0], new[1][:end].copy(), new[2][:end].copy()


@jit
def _move(
    start, column, weight, resolution, total, community, degree, volume, towards, seen, touched
):
    """One level: move rows while a move gains; whether any did."""
    m = start.shape[0] - 1
    for i in range(m):
        degree[i] = 0.0
        for e in range(start[i], start[i + 1]):
            degree[i] += weight[e]
        volume[i] = degree[i]
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
    return moved


@jit
def _contract(start, column, weight, community, order, where, new_start, new_column, new_weight):
    """Graph of communities, whose rows come in ``order``; edges inside one are its loop."""
    end = 0
    begin = 0
    for s in range(order.shape[0]):
        i = order[s]
        c = community[i]
        if s == 0 or c != community[order[s - 1]]:
            begin = end
        for e in range(start[i], start[i + 1]):
            other = community[column[e]]
            if where[other] < begin:
                where[other] = end
                new_column[end] = other
                new_weight[end] = 0.0
                end += 1
            new_weight[where[other]] += weight[e]
        new_start[c + 1] = end
    return end


def climb_hills(order, rank, height, start, column):
    """Hills of a height over a graph: each row's summit, and where summits meet.

    Rows come from the highest down. A row goes to the summit of its highest neighbour; where it
    joins hills, each lower summit is noted with the highest and with its prominence, its height
    above this pass.
    """
    n = order.shape[0]
    summit, lower, higher = (np.empty(n, np.int64) for _ in range(3))
    prominence = np.empty(n)
    passes = lower, higher, prominence
    n_passes = _climb(order, rank, height, start, column, np.arange(n), summit, *passes)
    return summit, *(one[:n_passes] for one in passes)


@jit
def _climb(order, rank, height, start, column, parent, summit, lower, higher, prominence):
    """Fill in the summits and the passes; how many of these there are."""
    n_passes = 0
    for r in range(order.shape[0]):
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
    return n_passes


@jit
def _root(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


def pair_agreement(labels, sizes):
    """Compute the adjusted Rand index of every two partitions (rows of ``labels``)."""
    inside = np.empty(len(labels))  # pairs of rows that share a cluster
    for a, one in enumerate(labels):
        count = np.bincount(one)
        inside[a] = (count * (count - 1.0) / 2.0).sum()
    out = np.ones((len(labels), len(labels)))
    order = np.argsort(labels, axis=1, kind="stable")
    _adjusted_rand(labels, order, inside, np.zeros(sizes.max(), np.int64), out)
    return out


@jit
def _adjusted_rand(labels, order, inside, count, out):
    """Fill in the index of every two partitions.

    Rows are taken cluster by cluster of the one, in their order, and those of the other counted, so
    that no table of clusters is needed: partitions may have as many clusters as there are rows.
    """
    c, n = labels.shape
    pairs = n * (n - 1.0) / 2.0
    for a in range(c):
        for b in range(a):
            both = 0
            first = 0
            while first < n:
                last = first
                while last < n and labels[a, order[a, last]] == labels[a, order[a, first]]:
                    other = labels[b, order[a, last]]
                    both += count[other]
                    count[other] += 1
                    last += 1
                for k in range(first, last):
                    count[labels[b, order[a, k]]] = 0
                first = last
            chance = inside[a] * inside[b] / pairs
            most_pairs = (inside[a] + inside[b]) / 2.0
            value = 1.0
            if most_pairs - chance > 1e-12 * pairs:
                value = (both - chance) / (most_pairs - chance)
            out[a, b] = value
            out[b, a] = value
