"""Nearest rows, one by one: all distances, sorted, the first of equally near rows first."""

import numpy as np


def nearest(rows, k, X=None):
    """Distances and indices of the k nearest rows of each row of X, or of each row."""
    distances, indices = [], []
    for i, x in enumerate(rows if X is None else X):
        square = np.zeros(len(rows))
        for column in range(rows.shape[1]):
            square += (x[column] - rows[:, column]) ** 2
        if X is None:
            square[i] = np.inf
        order = np.argsort(square, kind="stable")[:k]
        distances.append(np.sqrt(square[order]))
        indices.append(order)
    return np.array(distances), np.array(indices)
