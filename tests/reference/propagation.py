"""Constraint propagation (E2CP) as its paper writes it: entry by entry, two propagations in turn.

Z. Lu, H. H. S. Ip, "Constrained spectral clustering via exhaustive and efficient constraint
propagation", ECCV 2010.
"""

from __future__ import annotations

import math


def affinity(X, n_neighbors=10, scale=7):
    """Self-tuned weights of the nearest neighbours, 0 elsewhere; X has no duplicates."""
    n = len(X)
    distance = [[math.dist(a, b) for b in X] for a in X]
    near = [sorted((j for j in range(n) if j != i), key=distance[i].__getitem__) for i in range(n)]
    near = [order[:n_neighbors] for order in near]
    own = [distance[i][near[i][min(scale, n_neighbors) - 1]] for i in range(n)]
    ordered = sorted(own)
    median = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    own = [max(s, 0.1 * median) for s in own]
    W = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in near[i]:
            weight = max(math.exp(-(distance[i][j] ** 2) / (own[i] * own[j])), 1e-4)
            W[i][j] = W[j][i] = weight
    return W


def propagated(W, must, cannot, alpha=0.8, sweeps=200):
    """Similarities after the links have spread, first along columns and then along rows."""
    n = len(W)
    degree = [sum(row) for row in W]
    S = [[W[i][j] / math.sqrt(degree[i] * degree[j]) for j in range(n)] for i in range(n)]
    Z = [[0.0] * n for _ in range(n)]
    for pairs, value in ((must, 1.0), (cannot, -1.0)):
        for i, j in pairs:
            Z[i][j] = Z[j][i] = value
    vertical = _spread(S, Z, alpha, sweeps)
    F = _transposed(_spread(S, _transposed(vertical), alpha, sweeps))
    largest = max(abs(f) for row in F for f in row)
    changed = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            f, w = F[i][j] / largest, W[i][j]
            changed[i][j] = 1 - (1 - f) * (1 - w) if f >= 0 else (1 + f) * w
    return changed


def _spread(S, Z, alpha, sweeps):
    """Repeat F <- alpha S F + (1 - alpha) Z."""
    n = len(S)
    F = [row[:] for row in Z]
    for _ in range(sweeps):
        F = [
            [
                alpha * sum(S[i][k] * F[k][j] for k in range(n) if S[i][k]) + (1 - alpha) * Z[i][j]
                for j in range(n)
            ]
            for i in range(n)
        ]
    return F


def _transposed(M):
    return [list(column) for column in zip(*M, strict=True)]
