"""Smoothed assignments straight from the energy: slow and literal."""

import numpy as np


def neighbours(i, j, h, w):
    return [
        (k, l)
        for k in range(i - 1, i + 2)
        for l in range(j - 1, j + 2)
        if (k, l) != (i, j) and 0 <= k < h and 0 <= l < w
    ]


def energy(labels, costs, weight):
    """What labels cost, and each pair of neighbours that differ, once."""
    h, w = labels.shape
    total = 0.0
    for i in range(h):
        for j in range(w):
            total += costs[i, j, labels[i, j]]
            pairs = neighbours(i, j, h, w)
            total += weight * sum(labels[p] != labels[i, j] for p in pairs) / 2.0
    return total


def smooth(labels, costs, weight, max_iter=100):
    """Sweeps in which each pixel takes the label of least energy, all others being as they are."""
    labels = np.array(labels)
    h, w = labels.shape
    for _ in range(max_iter):
        before = labels.copy()
        for i in range(h):
            for j in range(w):
                prices = []
                for label in range(costs.shape[2]):
                    differ = sum(labels[p] != label for p in neighbours(i, j, h, w))
                    prices.append(costs[i, j, label] + weight * differ)
                if min(prices) < prices[labels[i, j]]:
                    labels[i, j] = prices.index(min(prices))
        if (labels == before).all():
            break
    return labels
