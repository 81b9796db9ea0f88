"""A session by the letter: joining, trees, what answers say, the model, walks, the estimate."""

from __future__ import annotations

from itertools import combinations
from math import comb, exp, log, log1p

import numpy as np
from scipy.optimize import minimize
from scipy.stats import t

# Joining ------------------------------------------------------------------------------------------


def joined(belief, size, group, apart, least):
    """Join the two groups of the largest average over all pairs of their items, until below least.

    A list of groups, each a set of the first ones' numbers; of equal averages those whose first
    numbers come first.
    """
    clusters = [{g} for g in range(int(max(group)) + 1)]
    steps = []

    def average(one, other):
        pairs = [
            (i, j)
            for i in range(len(group))
            for j in range(len(group))
            if group[i] in one and group[j] in other
        ]
        weight = sum(size[i] * size[j] for i, j in pairs)
        return sum(size[i] * size[j] * belief[i][j] for i, j in pairs) / weight

    while True:
        clusters.sort(key=min)
        allowed = [
            (one, other)
            for one, other in combinations(clusters, 2)
            if not any(apart[g][h] for g in one for h in other)
        ]
        if not allowed:
            break
        values = [average(one, other) for one, other in allowed]
        best = int(np.argmax(values))
        if values[best] < least:
            break
        one, other = allowed[best]
        steps.append((min(one), min(other), values[best]))
        clusters = [c for c in clusters if c not in (one, other)] + [one | other]
    label = [next(min(c) for c in clusters if g in c) for g in range(int(max(group)) + 1)]
    return label, steps


# Trees --------------------------------------------------------------------------------------------


def clusters_when_met(tree, a, b):
    """Cut the tree merger by merger until one cluster has both rows; count the clusters."""
    clusters = {i: {i} for i in range(len(tree) + 1)}
    count = len(clusters)
    if a == b:
        return count
    for merger, (left, right, *_) in enumerate(tree):
        both = clusters.pop(int(left)) | clusters.pop(int(right))
        clusters[len(tree) + 1 + merger] = both
        if {a, b} <= both:
            return len(clusters)
    raise AssertionError("a tree has all rows")


# What answers say ---------------------------------------------------------------------------------


def closure(told, n):
    """Apply both rules until nothing new appears: pairs that are the same, and different ones.

    a = b and b = c give a = c; a = b and b | c give a | c.
    """
    same = {(i, i) for i in range(n)}
    different = set()
    for a, b, alike, *_ in told:
        (same if alike else different).update({(a, b), (b, a)})
    while True:
        new_same = {(a, d) for a, b in same for c, d in same if b == c}
        new_different = {(a, d) for a, b in same for c, d in different if b == c}
        new_different |= {(b, a) for a, b in new_different}
        if new_same <= same and new_different <= different:
            return same, different
        same |= new_same
        different |= new_different


def taken_by_trust(told, trust, n):
    """Take answers in turn, the most trusted first, but for those that the closure contradicts."""
    taken, aside = [], []
    for i in sorted(range(len(told)), key=lambda i: trust[i], reverse=True):
        same, different = closure(taken, n)
        pair = told[i][:2]
        (aside if pair in (different if told[i][2] else same) else taken).append(told[i])
    return taken, aside


# The model ----------------------------------------------------------------------------------------


def most_probable_weights(features, same, weight, mean, precision):
    """Minimise minus the log of the posterior, by a general method."""

    def cost(at):
        value = (at - mean) @ precision @ (at - mean) / 2
        for x, y, w in zip(features, same, weight, strict=True):
            score = x @ at
            value += w * (log1p(exp(-score)) if y else log1p(exp(score)))
        return value

    found = minimize(cost, mean, method="BFGS", options={"gtol": 1e-7, "maxiter": 2000})
    return found.x, cost


# Walks --------------------------------------------------------------------------------------------


def walked(weights, on, steps):
    """Log of the share of walks from a that are at b, over what chance puts there.

    A walk goes on with probability ``on``, at most ``steps`` times; (a, b) for all rows.
    """
    degree = weights.sum(axis=1)
    step = weights / degree[:, None]
    share = sum((1 - on) * on**k * np.linalg.matrix_power(step, k) for k in range(steps))
    share = share + on**steps * (1 - on) * np.linalg.matrix_power(step, steps)
    return np.log(share / (degree / degree.sum()) + 1e-6)


# The estimate -------------------------------------------------------------------------------------


def logistic(score):
    return 1 / (1 + exp(-score))


def figures(belief_of_rows, labels, audits, after, low=0.0005, high=0.995):
    """Precision, recall and adjusted Rand index: medians and 90 % intervals over two shifts.

    ``belief_of_rows[i][j]`` of every two rows; ``audits`` of (belief, in one cluster, same, how
    many answers there were before); ``after`` so many answers.
    """
    pairs = [
        (min(max(belief_of_rows[i][j], low), high), labels[i] == labels[j])
        for i, j in combinations(range(len(labels)), 2)
    ]
    shifts = np.linspace(-12, 12, 121)

    def usual(together, answers):
        return 0.2 + 0.5 * log(1 + answers / 10) if together else -1.1

    def chance(p, shift, together, answers):
        return logistic(log(p / (1 - p)) + usual(together, answers) + shift)

    def same_pairs(shift, together):
        return sum(chance(p, shift, together, after) for p, both in pairs if both == together)

    def how_likely(shift, together):
        value = t.pdf(shift / 1.5, df=3)
        for p, both, same, before in audits:
            if both == together:
                right = chance(p, shift, together, before)
                value *= (right if same else 1 - right) ** (0.5 ** ((after - before) / 100))
        return value

    inside = sum(both for _, both in pairs)
    rights = [(same_pairs(s, True), how_likely(s, True)) for s in shifts]
    misses = [(same_pairs(s, False), how_likely(s, False)) for s in shifts]
    found = {"precision": [], "recall": [], "ari": []}
    for right, w in rights:
        for missed, v in misses:
            truth = right + missed
            expected = truth * inside / comb(len(labels), 2)
            found["precision"].append((right / inside, w * v))
            found["recall"].append((right / truth, w * v))
            found["ari"].append(((right - expected) / ((truth + inside) / 2 - expected), w * v))
    return {
        name: [at_share(values, q) for q in (0.5, 0.05, 0.95)] for name, values in found.items()
    }


def at_share(values, share):
    """The value below which a share of the weight is."""
    values = sorted(values)
    total, sum_so_far = sum(w for _, w in values), 0.0
    for value, w in values:
        sum_so_far += w
        if sum_so_far >= share * total:
            return value
    return values[-1][0]


# Slips --------------------------------------------------------------------------------------------


def sides_of(told, all_told):
    """Rows that answers name on either side of one answer, by a walk without it.

    None where another answer stands in for it: of "same" where the walk gets to the other side, of
    "different" where another one is between the same two groups.
    """

    def reached(start):
        rows, todo = {start}, [start]
        while todo:
            at = todo.pop()
            for other in all_told:
                if other.same and other != told and at in (other.a, other.b):
                    there = other.b if at == other.a else other.a
                    if there not in rows:
                        rows.add(there)
                        todo.append(there)
        return rows

    one, other = reached(told.a), reached(told.b)
    if told.same:
        return None if told.b in one else (one, other)
    between = [
        each
        for each in all_told
        if not each.same and ({each.a, each.b} & one and {each.a, each.b} & other)
    ]
    return (one, other) if len(between) == 1 else None


def share_of_slips(scores, times, against, slips=1.0, right=40.0):
    """Mean of the posterior of the share of slips, over a grid finer than any use of it."""
    grid = np.linspace(0.0001, 0.3999, 4000)
    weight = []
    for share in grid:
        value = share**slips * (1 - share) ** right
        for score, said, not_said in zip(scores, times, against, strict=True):
            chance = logistic(0.8 * score)
            fine = (1 - share) ** said * share**not_said
            slip = share**said * (1 - share) ** not_said
            value *= chance * fine + (1 - chance) * slip
        weight.append(value)
    return float(np.average(grid, weights=weight))
