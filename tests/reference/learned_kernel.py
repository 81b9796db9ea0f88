"""Kernel learning, word for word: Bregman projections of the full n x n kernel matrix.

Anand, Mittal, Tuzel, Meer (TPAMI 2014); the step with slack is that of Jain, Kulis, Davis, Dhillon
(JMLR 2012). Dense, slow and plain.
"""

from __future__ import annotations

import numpy as np


def squared_distance(K, a, b):
    return K[a, a] + K[b, b] - 2.0 * K[a, b]


def learned_gram(K, must, cannot, *, targets, prices, n_sweeps):
    """Kernel matrix after ``n_sweeps`` rounds over the links, and the bound of each link."""
    K = K.astype(float).copy()
    constraints = [(a, b, 1.0) for a, b in must] + [(a, b, -1.0) for a, b in cannot]
    bounds = [targets[0] if delta > 0 else targets[1] for _, _, delta in constraints]
    multipliers = [0.0] * len(constraints)
    for _ in range(n_sweeps):
        for j, (a, b, delta) in enumerate(constraints):
            p, xi, gamma = squared_distance(K, a, b), bounds[j], prices[j]
            alpha = min(multipliers[j], delta * gamma / (gamma + 1.0) * (1.0 / p - 1.0 / xi))
            multipliers[j] -= alpha
            beta = delta * alpha / (1.0 - delta * alpha * p)
            bounds[j] = gamma * xi / (gamma + delta * alpha * xi)
            e = np.zeros(K.shape[0])
            e[a], e[b] = 1.0, -1.0
            K += beta * np.outer(K @ e, e @ K)
    return K, np.array(bounds)


def log_det_divergence(A, B):
    """tr(A B^-1) - log det(A B^-1) - r, for positive definite matrices."""
    ratio = A @ np.linalg.inv(B)
    return np.trace(ratio) - np.linalg.slogdet(ratio)[1] - A.shape[0]
