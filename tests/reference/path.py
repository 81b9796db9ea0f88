"""The bandwidth path written out: climb, merge, follow, count. Slow, literal, float64.

    c_1(x) = mu_1(x),  c_{t+1}(x) = mu_{t+1}(c_t(x))

with mu_t(x) the mode that x climbs to at bandwidth h_t, every row by itself at every level.
"""

from itertools import combinations

import numpy as np
from sklearn.metrics import adjusted_rand_score
from tests.reference import mean_shift as twin


def sweep(X, bandwidths, kernel, reach=1.0):
    """Mode of each row at each level: shape (levels, n, d)."""
    where = np.array(X, dtype=np.float64)
    levels = []
    for h in bandwidths:
        ends, _ = twin.ascend(X, h, where, kernel, reach=reach)
        density = twin.pair_weights(X, h, ends, kernel, reach=reach).sum(axis=1)
        radius = h if kernel == "flat" else 0.5 * h * min(1.0, reach or 1.0)
        modes = twin.merge_ends(ends, density, radius)
        # The densest mode that covers an end takes it.
        near = [[np.linalg.norm(end - mode) <= radius for mode in modes] for end in ends]
        where = np.array([modes[row.index(True)] for row in near])
        levels.append(where)
    return np.array(levels)


def labels(where):
    """Rows on the same spot have the same number."""
    return np.array([np.unique(level, axis=0, return_inverse=True)[1].ravel() for level in where])


def violated(labels, must, cannot):
    """Counts of violated must-links and cannot-links at each level."""
    return (
        [sum(level[a] != level[b] for a, b in must) for level in labels],
        [sum(level[a] == level[b] for a, b in cannot) for level in labels],
    )


def stability(labels, bandwidths):
    """ARI with every level, times the width of that level on the axis log2 h."""
    n_levels, n = labels.shape
    x = np.log2(bandwidths)
    result = np.zeros(n_levels)
    trivial = [len(set(level)) in (1, n) for level in labels.tolist()]
    for t in range(n_levels):
        for u in range(n_levels):
            left, right = x[max(u - 1, 0)], x[min(u + 1, n_levels - 1)]
            if not trivial[t] and not trivial[u]:
                result[t] += adjusted_rand_score(labels[t], labels[u]) * (right - left) / 2.0
    return result


def joined_pairs(labels):
    """Pairs of rows that a clustering joins."""
    return {(a, b) for a, b in combinations(range(len(labels)), 2) if labels[a] == labels[b]}
