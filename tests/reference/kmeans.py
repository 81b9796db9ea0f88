"""K-means straight from its definition: slow, literal, float64, and nothing clever."""

import itertools

import numpy as np


def squared(a, b):
    return sum((float(x) - float(y)) ** 2 for x, y in zip(a, b, strict=True))


def nearest(x, centres):
    """Index of the nearest centre, the first of equals."""
    costs = [squared(x, c) for c in centres]
    return costs.index(min(costs))


def lloyd(X, centres, spherical=False, max_iter=300):
    """Labels and centres when no label changes; an empty cluster takes the farthest row."""
    centres = [np.array(c, dtype=float) for c in centres]
    labels = [-1] * len(X)
    for _ in range(max_iter):
        after = [nearest(x, centres) for x in X]
        if after == labels:
            break
        labels = after
        apart = [squared(x, centres[label]) for x, label in zip(X, labels, strict=True)]
        for c in range(len(centres)):
            if c not in after and max(apart) > 0:
                row = apart.index(max(apart))
                labels[row] = c
                apart = [min(a, squared(x, X[row])) for a, x in zip(apart, X, strict=True)]
        for c in range(len(centres)):
            rows = [x for x, label in zip(X, labels, strict=True) if label == c]
            if not rows:
                continue
            mean = np.mean(rows, axis=0)
            length = np.sqrt(squared(mean, np.zeros_like(mean)))
            if spherical and length > 0:
                mean = mean / length
            if not spherical or length > 0:
                centres[c] = mean
    return [nearest(x, centres) for x in X], np.array(centres)


def ssd(X, labels, centres):
    return sum(squared(x, centres[label]) for x, label in zip(X, labels, strict=True))


def greedy_rows(X, k):
    """One by one the row that leaves the least residual."""
    chosen = []
    for _ in range(k):
        residual = {}
        for row in range(len(X)):
            if row not in chosen:
                centres = [X[i] for i in [*chosen, row]]
                residual[row] = sum(min(squared(x, c) for c in centres) for x in X)
        chosen.append(min(residual, key=lambda row: (residual[row], row)))
    return chosen


def least_ssd(X, k):
    """Least sum of squared distances over all partitions into at most k clusters."""
    best = np.inf
    for labels in itertools.product(range(k), repeat=len(X)):
        total = 0.0
        for c in set(labels):
            rows = [x for x, label in zip(X, labels, strict=True) if label == c]
            total += sum(squared(x, np.mean(rows, axis=0)) for x in rows)
        best = min(best, total)
    return best
