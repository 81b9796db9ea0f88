"""Rivals of the papers, word for word, row by row."""

from __future__ import annotations

import numpy as np

# COP-KMeans ---------------------------------------------------------------------------------------


def cop_assignment(X, centres, component, apart, order):
    """Bodies in turn, each to the nearest centre whose cluster has none it is held apart from.

    Those without cannot-links first; then the body with the fewest clusters left, of equals the
    earlier in ``order``. None when a body has no cluster left.
    """
    bodies = [np.flatnonzero(component == c) for c in range(max(component) + 1)]
    foes = [
        {b for a, b in apart if a == c} | {a for a, b in apart if b == c}
        for c in range(len(bodies))
    ]
    label = {}

    def allowed(c):
        return [h for h in range(len(centres)) if all(label.get(f) != h for f in foes[c])]

    def nearest(c):
        total = {h: ((X[bodies[c]] - centres[h]) ** 2).sum() for h in allowed(c)}
        return min(total, key=total.get)

    for c in range(len(bodies)):
        if not foes[c]:
            label[c] = nearest(c)
    waiting = [c for c in order if foes[c]]
    while waiting:
        c = min(waiting, key=lambda c: (len(allowed(c)), waiting.index(c)))
        if not allowed(c):
            return None
        label[c] = nearest(c)
        waiting.remove(c)
    return np.array([label[c] for c in component])


# Seeded and constrained k-means -------------------------------------------------------------------


def seeded_kmeans(X, seeds, k, constrained):
    """Figures 1 and 2 of Basu et al. (2002), with a seed for every cluster."""
    centres = [X[seeds == h].mean(axis=0) for h in range(k)]
    labels = None
    while True:
        new = []
        for i, x in enumerate(X):
            if constrained and seeds[i] >= 0:
                new.append(seeds[i])
            else:
                new.append(int(np.argmin([((x - c) ** 2).sum() for c in centres])))
        centres = [X[np.array(new) == h].mean(axis=0) for h in range(k)]
        if new == labels:
            return np.array(new), np.array(centres)
        labels = new


# C-DBSCAN -----------------------------------------------------------------------------------------


def cdbscan(X, links, eps, least, leaf_size):
    """Steps 1 to 3b of Ruiz et al. (2007) with sets of rows; noise is -1.

    Step 3b goes over pairs of neighbours in dense places, the nearest first, until nothing joins.
    """
    n = len(X)
    distance = np.array([[np.sqrt(((x - z) ** 2).sum()) for z in X] for x in X])
    closure = links.closure(n)
    cannot = {frozenset(pair) for pair in closure.cannot_pairs().tolist()}
    dense = [(distance[i] <= eps).sum() >= least for i in range(n)]

    def parts(rows):
        return any(frozenset((i, j)) in cannot for i in rows for j in rows)

    home = {}  # row to its cluster, a list of rows
    for leaf in kd_leaves(X, list(range(n)), leaf_size):
        for i in leaf:
            near = [j for j in leaf if distance[i, j] <= eps]
            if i in home or len(near) < least:
                continue
            free = [j for j in near if j not in home]
            for group in [[j] for j in free] if parts(free) else [free]:
                home.update(dict.fromkeys(group, group))
    for i in range(n):
        home.setdefault(i, [i])

    core = []
    for c in range(closure.n_components):
        rows = closure.members(c).tolist()
        if len(rows) == 1:
            continue
        united = sorted({j for i in rows for j in home[i]})
        if parts(united):
            for i in united:
                home[i] = [j for j in home[i] if j not in rows]
            united = rows
        else:
            core.append(rows[0])
        for i in united:
            home[i] = united

    def is_core(i):
        return any(j in core for j in home[i])

    pairs = sorted(
        (distance[i, j], i, j) for i in range(n) for j in range(i) if distance[i, j] <= eps
    )
    pairs = sorted((d, j, i) for d, i, j in pairs)

    def both(i, j):
        return dense[i] and dense[j]

    stages = [
        lambda i, j: both(i, j) and is_core(i) != is_core(j),
        lambda i, j: both(i, j) and not is_core(i) and not is_core(j),
        lambda i, j: dense[i] != dense[j] and alone(j if dense[i] else i),
    ]

    def alone(i):
        return len(home[i]) == 1 and not is_core(i)

    for stage in stages:
        changed = True
        while changed:
            changed = False
            for _, i, j in pairs:
                united = sorted({*home[i], *home[j]})
                apart = not set(home[i]) & set(home[j])
                if apart and stage(i, j) and not parts(united):
                    for r in united:
                        home[r] = united
                    changed = True
    return [-1 if alone(i) and not dense[i] else min(home[i]) for i in range(n)]


def kd_leaves(X, rows, most):
    """Halve along the widest column until leaves are small; the lower half comes first."""
    if len(rows) <= most:
        return [sorted(rows)]
    widest = max(range(X.shape[1]), key=lambda f: max(X[rows, f]) - min(X[rows, f]))
    order = sorted(rows, key=lambda i: X[i, widest])
    half = len(rows) // 2
    return kd_leaves(X, order[:half], most) + kd_leaves(X, order[half:], most)


# Ensembles ----------------------------------------------------------------------------------------


def co_association(labelings):
    """Share of the partitions in which two rows are together."""
    rows = np.asarray(labelings).T
    return np.array([[np.mean(one == other) for other in rows] for one in rows])


def longest_lived(apart):
    """Average linkage by hand: the count of clusters over the widest range of heights."""
    clusters = [[i] for i in range(len(apart))]
    height, lasts = 0.0, {}
    while len(clusters) > 1:
        pairs = [(a, b) for a in range(len(clusters)) for b in range(a)]

        def mean(pair):
            return np.mean(apart[np.ix_(clusters[pair[0]], clusters[pair[1]])])

        a, b = min(pairs, key=mean)
        now = max(mean((a, b)), height)
        lasts[len(clusters)] = now - height
        height = now
        clusters[b] = clusters[b] + clusters.pop(a)
    lasts[1] = 1.0 - height
    return min(k for k, last in lasts.items() if last >= max(lasts.values()) - 1e-9)


# Constrained spectral clustering ------------------------------------------------------------------


def feasible_vectors(L, Q, beta):
    """Eigenvectors of L v = lambda (Q - beta I) v with lambda > 0, of length one, and their costs.

    By the general solver, as the original has it; without the trivial one, whose lambda is zero.
    """
    from scipy.linalg import eig

    values, vectors = eig(L, Q - beta * np.eye(len(L)))
    found = []
    for value, v in zip(values, vectors.T, strict=True):
        if abs(value.imag) < 1e-9 and value.real > 1e-6 and np.isfinite(value):
            v = np.real(v) / np.linalg.norm(np.real(v))
            found.append((float(v @ L @ v), v))
    return sorted(found, key=lambda pair: pair[0])
