"""Sparse compositional metric learning as printed: one triplet at a time, every matrix in full."""

import numpy as np


def label_triplets(X, y, n_targets, n_impostors):
    """Rows (i, j, k): all nearest rows of the class of i with all nearest rows of the others."""
    triplets = []
    for i in range(len(X)):
        order = np.argsort(np.linalg.norm(X - X[i], axis=1), kind="stable")
        same = [j for j in order if y[j] == y[i] and j != i][:n_targets]
        other = [k for k in order if y[k] != y[i]][:n_impostors]
        triplets += [(i, j, k) for j in same for k in other]
    return triplets


def link_triplets(X, links, n_targets, n_impostors):
    """The same for rows that must-links connect, and that cannot-links keep apart."""
    closure = links.closure(len(X))
    must = {(a, b) for pair in closure.must_pairs().tolist() for a, b in (pair, pair[::-1])}
    cannot = {(a, b) for pair in closure.cannot_pairs().tolist() for a, b in (pair, pair[::-1])}
    triplets = []
    for i in range(len(X)):
        order = np.argsort(np.linalg.norm(X - X[i], axis=1), kind="stable").tolist()
        same = [j for j in order if (i, j) in must][:n_targets]
        other = [k for k in order if (i, k) in cannot][:n_impostors]
        triplets += [(i, j, k) for j in same for k in other]
    return triplets


def metric(weights, bases):
    """Eq. 2.10."""
    return sum(w * np.outer(b, b) for w, b in zip(weights, bases, strict=True))


def distance(x, y, M):
    return float((x - y) @ M @ (x - y))


def loss(X, triplets, metrics, weights=None):
    """Mean of eq. 2.11, d(x_i, .) being measured by the metric of row i."""
    weights = np.ones(len(triplets)) if weights is None else weights
    total = 0.0
    for (i, j, k), u in zip(triplets, weights, strict=True):
        margin = 1 + distance(X[i], X[j], metrics[i]) - distance(X[i], X[k], metrics[i])
        total += u * max(margin, 0.0)
    return total / np.sum(weights)


def kernel_pca(X, new, sigma, dimension):
    """Coordinates of new rows by kernel PCA, so scaled that rows of X have mean square 1."""

    def gaussian(A, B):
        return np.exp(-((A[:, None] - B) ** 2).sum(axis=2) / (2 * sigma**2))

    n = len(X)
    K = gaussian(X, X)
    H = np.eye(n) - np.ones((n, n)) / n
    values, vectors = np.linalg.eigh(H @ K @ H)
    values, vectors = values[::-1][:dimension], vectors[:, ::-1][:, :dimension]
    k = gaussian(new, X) - K.mean(axis=0)
    Z = k @ H @ vectors / np.sqrt(values)
    return Z / np.sqrt(values.sum() / n)


def exact_weights(X, bases, triplets, penalty):
    """Solve eq. 2.12 as the linear programme that it is; weights and objective."""
    from scipy.optimize import linprog

    P = X @ bases.T
    i, j, k = np.array(triplets).T
    D = (P[i] - P[j]) ** 2 - (P[i] - P[k]) ** 2
    T, K = D.shape
    cost = np.concatenate((np.full(K, penalty), np.full(T, 1 / T)))
    result = linprog(cost, A_ub=np.hstack((D, -np.eye(T))), b_ub=-np.ones(T), method="highs")
    return result.x[:K], result.fun


def discriminants(X, y, ridge):
    """Fisher's directions by the plain generalised eigenproblem, unit length, best first."""
    from scipy.linalg import eigh

    mean, d = X.mean(axis=0), X.shape[1]
    between, within = np.zeros((d, d)), np.zeros((d, d))
    for c in np.unique(y):
        rows = X[y == c]
        offset = rows.mean(axis=0) - mean
        between += len(rows) * np.outer(offset, offset)
        within += (rows - rows.mean(axis=0)).T @ (rows - rows.mean(axis=0))
    within += ridge * np.trace(within) / d * np.eye(d)
    _, vectors = eigh(between, within)
    vectors = vectors[:, ::-1][:, : len(np.unique(y)) - 1].T
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
