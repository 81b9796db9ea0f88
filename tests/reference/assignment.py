"""Assignment, word for word: every labelling tried, and eq. 16 of Lin et al. 2010 with p and q."""

from __future__ import annotations

from itertools import product
from math import inf, log

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp


def price(confidence, link_weight=1.0):
    """Price of a violated link."""
    if confidence == 1.0:
        return inf
    return link_weight * log((1 + confidence) / (1 - confidence))


def cost_of(labels, costs, size_bounds=None, links=None, link_weight=1.0):
    """Cost of labels; infinity if they are not allowed."""
    costs = np.asarray(costs, dtype=float)
    n, n_clusters = costs.shape
    if size_bounds is not None:
        for c in range(n_clusters):
            if not size_bounds[0] <= sum(label == c for label in labels) <= size_bounds[1]:
                return inf
    total = sum(costs[i, labels[i]] for i in range(n))
    if links is not None:
        for (i, j), sure in zip(links.must, links.must_confidence, strict=True):
            if labels[i] != labels[j]:
                total += price(sure, link_weight)
        for (i, j), sure in zip(links.cannot, links.cannot_confidence, strict=True):
            if labels[i] == labels[j]:
                total += price(sure, link_weight)
    return total


def cheapest(costs, size_bounds=None, links=None, link_weight=1.0):
    """Try all C ** n labellings; infinity when none is allowed."""
    n, n_clusters = np.shape(costs)
    return min(
        cost_of(labels, costs, size_bounds, links, link_weight)
        for labels in product(range(n_clusters), repeat=n)
    )


def cheapest_by_p_and_q(costs, size_bounds, must, cannot):
    """Eq. 3 to 7 and 10 to 16: z = vec(Y), then p and q for each cannot-link."""
    costs = np.asarray(costs, dtype=float)
    n, n_clusters = costs.shape
    n_y = n * n_clusters
    width = n_y + 2 * n_clusters * len(cannot)
    rows, low, high = [], [], []

    def add(entries, least, most):
        row = np.zeros(width)
        for column, value in entries:
            row[column] += value
        rows.append(row)
        low.append(least)
        high.append(most)

    for i in range(n):  # eq. 4
        add([(i * n_clusters + c, 1) for c in range(n_clusters)], 1, 1)
    for c in range(n_clusters):  # eq. 5
        add([(i * n_clusters + c, 1) for i in range(n)], *size_bounds)
    for i, j in must:  # eq. 6
        for c in range(n_clusters):
            add([(i * n_clusters + c, 1), (j * n_clusters + c, -1)], 0, 0)
    for k, (i, j) in enumerate(cannot):  # eq. 16
        p = [n_y + 2 * n_clusters * k + c for c in range(n_clusters)]
        q = [n_y + 2 * n_clusters * k + n_clusters + c for c in range(n_clusters)]
        for c in range(n_clusters):
            y_i, y_j = i * n_clusters + c, j * n_clusters + c
            add([(y_i, 1), (y_j, -1), (p[c], -1), (q[c], 1)], 0, 0)
            add([(p[c], 1), (q[c], 1)], -inf, 1)
        add([(column, 1) for column in p + q], 2, 2)

    result = milp(
        np.concatenate((costs.ravel(), np.zeros(width - n_y))),
        integrality=np.ones(width),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(np.array(rows), low, high),
    )
    return inf if result.status == 2 else float(result.fun)


def cheapest_by_pairs(costs, size_bounds, must, cannot):
    """Eq. 3 to 7 with ``y_ic + y_jc <= 1`` for each cannot-link, on samples: all rows, one call."""
    costs = np.asarray(costs, dtype=float)
    n, n_clusters = costs.shape
    y = np.eye(n * n_clusters).reshape(n, n_clusters, -1)  # y[i, c] @ x is y_ic
    rows = [(y[i].sum(axis=0), 1, 1) for i in range(n)]
    rows += [(y[:, c].sum(axis=0), *size_bounds) for c in range(n_clusters)]
    rows += [(y[i, c] - y[j, c], 0, 0) for i, j in must for c in range(n_clusters)]
    rows += [(y[i, c] + y[j, c], 0, 1) for i, j in cannot for c in range(n_clusters)]
    matrix, low, high = (np.array(part) for part in zip(*rows, strict=True))
    result = milp(
        costs.ravel(),
        integrality=np.ones(costs.size),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, low, high),
    )
    return inf if result.status == 2 else float(result.fun)


def linear_value(objective, matrix, low, high, allowed, used=None):
    """Value of the linear programme with every column at once, and ``x[used] = 1`` if given."""
    dense = matrix.toarray()
    above, below = np.isfinite(low), np.isfinite(high)
    bounds = [(0, 1 if may else 0) for may in allowed]
    if used is not None:
        bounds[used] = (1, 1)
    result = linprog(
        objective,
        A_ub=np.concatenate((dense[below], -dense[above])),
        b_ub=np.concatenate((high[below], -low[above])),
        bounds=bounds,
    )
    return inf if result.status == 2 else float(result.fun)
