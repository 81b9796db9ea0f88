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
