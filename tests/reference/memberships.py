"""How rows stand in their clusters, row by row."""

from __future__ import annotations

import math

import numpy as np


def probabilities(X, labels, k=10):
    """Share of a row's own cluster among its nearest rows, by inverse square distance."""
    found = []
    for i, row in enumerate(X):
        size = sum(1 for label in labels if label == labels[i])
        if labels[i] < 0:
            found.append(0.0)
            continue
        near = _near(X, i, min(k, len(X) - 1))
        if size == 1:
            found.append(1.0)
            continue
        farthest = math.dist(X[near[-1]], row)
        own = total = 0.0
        for j in near[: size - 1]:
            square = (math.dist(X[j], row) / farthest) ** 2 if farthest > 0 else 1.0
            weight = 1.0 / max(square, 1e-6)
            total += weight
            own += weight if labels[j] == labels[i] else 0.0
        found.append(own / total)
    return np.array(found)


def outlier_scores(X, k=10):
    """Local outlier probabilities, as in the paper, with lambda = 3."""
    k = min(k, len(X) - 1)
    near = [_near(X, i, k) for i in range(len(X))]
    spread = [
        math.sqrt(sum(math.dist(X[i], X[j]) ** 2 for j in near[i]) / k) for i in range(len(X))
    ]
    excess = [spread[i] / (sum(spread[j] for j in near[i]) / k) - 1 for i in range(len(X))]
    typical = 3 * math.sqrt(sum(q * q for q in excess) / len(excess))
    if typical == 0:
        return np.zeros(len(X))
    return np.array([max(0.0, math.erf(q / (typical * math.sqrt(2)))) for q in excess])


def _near(X, i, k):
    others = sorted((math.dist(X[i], X[j]), j) for j in range(len(X)) if j != i)
    return [j for _, j in others[:k]]
