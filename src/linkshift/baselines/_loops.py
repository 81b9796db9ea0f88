# mypy: disable-error-code="no-untyped-def"
"""Jit loops of k-means under links. They trust their input.

``graph`` is a LinkGraph, ``tallies`` are Tallies: they go from hand to hand whole.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkshift._core.jit import jit, jit_inline


class Tallies(NamedTuple):
    """What the loops know of the rows of component c that have label h."""

    n_rows: NDArray[np.int64]  # [c, h]
    first: NDArray[Any]  # their sum, [c, h, feature]
    second: NDArray[Any]  # sum of their squares


@jit
def pck_sweep(X, weight, order, labels, centres, graph, count):
    """Assign rows in turn to the cluster that costs least, in place; return how many changed.

    ``count[c, h]`` is how many rows of component c have label h.
    """
    k = centres.shape[0]
    cost = np.empty(k)
    changed = 0
    for i in order:
        c, old = graph.component[i], labels[i]
        if old >= 0:
            count[c, old] -= 1
        pck_costs(X[i], weight[i], c, centres, graph, count, 1.0, cost)
        best = cheapest(cost, old)
        count[c, best] += 1
        if best != old:
            labels[i] = best
            changed += 1
    return changed


@jit
def pck_costs(x, weight, c, centres, graph, count, share, cost):
    """Fill ``cost``: half the squared distance, times the weight of the row, and prices of links.

    Of the prices of violated links, ``share``.
    """
    k, d = centres.shape
    for h in range(k):
        total = 0.0
        for f in range(d):
            total += (x[f] - centres[h, f]) ** 2
        cost[h] = weight * (0.5 * total)
    for e in range(graph.edges.start[c], graph.edges.start[c + 1]):
        o, w = graph.edges.other[e], share * graph.edges.weight[e]
        # A must-link saves where it holds, a cannot-link costs where it does not.
        here = 0
        for h in range(k):
            here += count[o, h]
        for h in range(k):
            cost[h] += w * (here - count[o, h]) if w > 0 else -w * count[o, h]


@jit
def pck_objective(X, weight, labels, centres, graph, count):
    """Sum of half squared distances and of the penalties; each link is met at both its ends."""
    cost = np.empty(centres.shape[0])
    total = 0.0
    for i in range(X.shape[0]):
        pck_costs(X[i], weight[i], graph.component[i], centres, graph, count, 0.5, cost)
        total += cost[labels[i]]
    return total


@jit
def cheapest(cost, old):
    """Return the least cost's index; of equals, the old one, then the first."""
    best = old if old >= 0 else 0
    for h in range(cost.shape[0]):
        if cost[h] < cost[best]:
            best = h
    return best


@jit
def tally(X, labels, component, tallies):
    """Count and sum rows and their squares, by component and label, in place."""
    tallies.n_rows[:] = 0
    tallies.first[:] = 0.0
    tallies.second[:] = 0.0
    for i in range(X.shape[0]):
        if labels[i] >= 0:
            book(X[i], component[i], labels[i], 1, tallies)


@jit
def book(x, c, h, times, tallies):
    """Add (1) or take away (-1) a row in the tallies."""
    tallies.n_rows[c, h] += times
    for f in range(x.shape[0]):
        tallies.first[c, h, f] += times * x[f]
        tallies.second[c, h, f] += times * x[f] * x[f]


@jit_inline
def squares_apart(x, f, o, h, tallies):
    """Squared differences, summed, of a row and those of component o with label h, in feature f."""
    apart = tallies.n_rows[o, h] * x[f] * x[f] - 2.0 * x[f] * tallies.first[o, h, f]
    return max(apart + tallies.second[o, h, f], 0.0)


@jit
def mpck_sweep(X, weight, order, labels, centres, metric, farthest, graph, tallies):
    """Assign rows in turn as `pck_sweep` does, under one diagonal metric for each cluster."""
    k = centres.shape[0]
    cost, own = np.empty(k), np.empty(k)
    log_det = np.log(metric).sum(axis=1)
    changed = 0
    for i in order:
        c, old = graph.component[i], labels[i]
        if old >= 0:
            book(X[i], c, old, -1, tallies)
        mpck_costs(
            X[i], weight[i], c, centres, metric, log_det, farthest, graph, tallies, cost, own
        )
        best = cheapest(cost, old)
        book(X[i], c, best, 1, tallies)
        if best != old:
            labels[i] = best
            changed += 1
    return changed


@jit
def mpck_costs(x, weight, c, centres, metric, log_det, farthest, graph, tallies, cost, own):
    """Fill ``cost`` with what each label costs a row; ``own`` is room to work in."""
    k, d = centres.shape
    for h in range(k):
        cost[h] = -log_det[h]
        for f in range(d):
            cost[h] += metric[h, f] * (x[f] - centres[h, f]) ** 2
        cost[h] *= weight
    for e in range(graph.edges.start[c], graph.edges.start[c + 1]):
        o, w = graph.edges.other[e], graph.edges.weight[e]
        whole = 0.0
        for h in range(k):  # squared distances to the rows of o with label h, in h's metric
            own[h] = 0.0
            if tallies.n_rows[o, h] > 0:
                for f in range(d):
                    own[h] += metric[h, f] * squares_apart(x, f, o, h, tallies)
            whole += own[h]
        if w < 0:
            for h in range(k):
                cost[h] -= w * (tallies.n_rows[o, h] * farthest[h] - own[h])
            continue
        for h in range(k):
            cost[h] += 0.5 * w * (whole - own[h])
        for g in range(k):  # the same rows, in the metric of the label that is tried
            if tallies.n_rows[o, g] == 0:
                continue
            for f in range(d):
                apart = squares_apart(x, f, o, g, tallies)
                for h in range(k):
                    if h != g:
                        cost[h] += 0.5 * w * metric[h, f] * apart


@jit
def mpck_objective(X, weight, labels, centres, metric, farthest, graph, tallies):
    """Bilenko's objective; each link is met at both its ends."""
    k, d = centres.shape
    log_det = np.log(metric).sum(axis=1)
    total = 0.0
    for i in range(X.shape[0]):
        x, c, h = X[i], graph.component[i], labels[i]
        total -= weight[i] * log_det[h]
        for f in range(d):
            total += weight[i] * metric[h, f] * (x[f] - centres[h, f]) ** 2
        for e in range(graph.edges.start[c], graph.edges.start[c + 1]):
            o, w = graph.edges.other[e], 0.5 * graph.edges.weight[e]
            for g in range(k):
                if tallies.n_rows[o, g] == 0 or (w > 0) == (g == h):
                    continue
                apart = 0.0  # in the metric of one end of a must-link and in that of the other
                for f in range(d):
                    both = metric[h, f] + metric[g, f]
                    apart += 0.5 * both * squares_apart(x, f, o, g, tallies)
                total += w * apart if w > 0 else -w * (tallies.n_rows[o, g] * farthest[h] - apart)
    return total


@jit
def mpck_scatter(X, weight, labels, centres, span, graph, tallies):
    """Each cluster's scatter by feature: rows about their centre, and what links add.

    ``span[h]`` is the squared difference, by feature, of the two rows farthest apart for h.
    """
    k, d = centres.shape
    scatter = np.zeros((k, d))
    for i in range(X.shape[0]):
        h, c = labels[i], graph.component[i]
        for f in range(d):
            apart = X[i, f] - centres[h, f]
            scatter[h, f] += weight[i] * apart * apart
        for e in range(graph.edges.start[c], graph.edges.start[c + 1]):
            o, w = graph.edges.other[e], 0.5 * graph.edges.weight[e]
            for g in range(k):
                if tallies.n_rows[o, g] == 0 or (w > 0) == (g == h):
                    continue
                for f in range(d):
                    apart = squares_apart(X[i], f, o, g, tallies)
                    if w > 0:
                        scatter[h, f] += w * apart
                    else:
                        scatter[h, f] -= w * (tallies.n_rows[o, g] * span[h, f] - apart)
    return scatter


@jit
def farthest_pair(X, radius):
    """Return the two rows farthest apart; ``radius`` bounds them, largest first.

    Two rows are at most the sum of their distances to any point apart, so that the search ends
    as soon as that sum falls short of what was found.
    """
    n, d = X.shape
    best, one, other = -1.0, 0, 0
    for i in range(n):
        if best >= 0 and (radius[i] + radius[0]) ** 2 <= best:
            break
        for j in range(i):
            if (radius[i] + radius[j]) ** 2 <= best:
                break
            apart = 0.0
            for f in range(d):
                apart += (X[i, f] - X[j, f]) ** 2
            if apart > best:
                best, one, other = apart, i, j
    return one, other


@jit
def cop_assign(cost, order, labels, apart):
    """Assign the bodies in ``order``, those with the fewest clusters left first, in place.

    Of equals the earlier in ``order``. Returns the body for which no cluster was left, or -1.
    """
    k = cost.shape[1]
    near = np.zeros((labels.shape[0], k), dtype=np.bool_)  # whether one apart is in the cluster
    taken = np.zeros(labels.shape[0], dtype=np.int64)
    waiting = order.copy()
    for done in range(waiting.shape[0]):
        pick = done
        for i in range(done + 1, waiting.shape[0]):
            if taken[waiting[i]] > taken[waiting[pick]]:
                pick = i
        body = waiting[pick]
        for i in range(pick, done, -1):  # the others keep their order
            waiting[i] = waiting[i - 1]
        if taken[body] == k:
            return body
        best = -1
        for h in range(k):
            if not near[body, h] and (best < 0 or cost[body, h] < cost[body, best]):
                best = h
        labels[body] = best
        for e in range(apart.start[body], apart.start[body + 1]):
            other = apart.other[e]
            if not near[other, best]:
                near[other, best] = True
                taken[other] += 1
    return -1
