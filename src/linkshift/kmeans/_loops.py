# mypy: disable-error-code="no-untyped-def"
"""The hot loops of k-means. They trust their input.

``columns`` are the centres, one column each: the innermost loop runs over centres, so that it is
vectorised without sums being reordered.
"""

from __future__ import annotations

import numpy as np

from linkshift._core.jit import jit, jit_inline


@jit_inline
def _nearest(x, columns, cost):
    """Index of the nearest centre, the first of equally near ones; ``cost`` is filled."""
    d, k = columns.shape
    for h in range(k):
        cost[h] = 0.0
    for f in range(d):
        value = float(x[f])
        for h in range(k):
            apart = value - columns[f, h]
            cost[h] += apart * apart
    best = 0
    for h in range(1, k):
        if cost[h] < cost[best]:
            best = h
    return best


@jit
def assign(points, columns, labels, apart):
    """Give rows the nearest centre and their squared distance to it; how many have changed."""
    cost = np.empty(columns.shape[1])
    changed = 0
    for i in range(points.shape[0]):
        best = _nearest(points[i], columns, cost)
        changed += labels[i] != best
        labels[i] = best
        apart[i] = cost[best]
    return changed


@jit
def add_up(points, weight, labels, sums, sizes):
    """Sum and count the rows of each cluster, by their weights."""
    sums[:] = 0.0
    sizes[:] = 0.0
    for i in range(points.shape[0]):
        sizes[labels[i]] += weight[i]
        for f in range(points.shape[1]):
            sums[labels[i], f] += weight[i] * points[i, f]


@jit
def residuals(points, weight, rows, nearest, found):
    """Sum of squared distances, by weights, that each candidate row would leave as a centre more.

    ``nearest`` has the squared distance of each row to the centres that there are.
    """
    for c in range(rows.shape[0]):
        total = 0.0
        for i in range(points.shape[0]):
            apart = 0.0
            for f in range(points.shape[1]):
                difference = float(points[i, f]) - float(points[rows[c], f])
                apart += difference * difference
            total += weight[i] * min(apart, nearest[i])
        found[c] = total
