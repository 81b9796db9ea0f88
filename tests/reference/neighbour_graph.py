"""The graph of neighbours, word for word: weights, smoothed rows, random walks in full."""

from __future__ import annotations

import numpy as np


def neighbours_of(X, i, k):
    """The k rows nearest to row i, without itself; data has no ties."""
    far = [(float(np.linalg.norm(X[i] - X[j])), j) for j in range(len(X)) if j != i]
    return [j for _, j in sorted(far)[:k]]


def weights(X, n_neighbors=10):
    """w_ij of the module where either row is among the other's neighbours, else 0."""
    n = len(X)
    k = min(n_neighbors, n - 1)
    near = [neighbours_of(X, i, k) for i in range(n)]
    scale = [float(np.linalg.norm(X[i] - X[near[i][min(7, k) - 1]])) for i in range(n)]
    apart = [s for s in scale if s > 0]
    least = 0.1 * np.median(apart) if apart else 1.0
    scale = [max(s, least) for s in scale]
    out = np.zeros((n, n))
    for i in range(n):
        for j in near[i]:
            square = float(((X[i] - X[j]) ** 2).sum())
            out[i, j] = out[j, i] = max(np.exp(-square / (scale[i] * scale[j])), 1e-4)
    return out


def smoothed(X, k=15):
    """Mean of each row and its nearest neighbours."""
    n = len(X)
    return np.array([X[[i, *neighbours_of(X, i, min(k, n - 1))]].mean(axis=0) for i in range(n)])


def transition(W):
    """Chances of a step of the random walk from each row to each."""
    return W / W.sum(axis=1, keepdims=True)


def diffusion_distances(W, time):
    r"""Compare where walks are after some steps, a place counting by 1 / its share of the degree.

    .. math:: D_t(i, j)^2 = \sum_u \frac{(p_t(i, u) - p_t(j, u))^2}{d_u / D}
    """
    after = np.linalg.matrix_power(transition(W), time)
    share = W.sum(axis=1) / W.sum()
    n = len(W)
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            out[i, j] = np.sqrt((((after[i] - after[j]) ** 2) / share).sum())
    return out


def eigenvalues(W):
    """All of the random walk, the largest first."""
    root = np.diag(1 / np.sqrt(W.sum(axis=1)))
    return np.linalg.eigvalsh(root @ W @ root)[::-1]
