"""What the page's worker works out, by the letter: frames, hearts, maps, names, numbers."""

from __future__ import annotations

import io
import json
from itertools import permutations
from math import dist

import numpy as np

# Frames -------------------------------------------------------------------------------------------


def frame(head, arrays):
    """Four bytes with the length of the head, the head, and .npy files."""
    files = []
    for array in arrays:
        file = io.BytesIO()
        np.save(file, array, allow_pickle=False)
        files.append(file.getvalue())
    text = json.dumps({**head, "arrays": [len(file) for file in files]}).encode()
    return len(text).to_bytes(4, "big") + text + b"".join(files)


# Hearts -------------------------------------------------------------------------------------------


def exemplars(X, members, most):
    """Add the row that leaves the least sum of distances to the nearest exemplar, until none does.

    Of equal sums the first row.
    """
    chosen = []

    def left(some):
        return sum(min(dist(X[m], X[e]) for e in some) for m in members)

    while len(chosen) < most:
        sums = [left([*chosen, row]) for row in members]
        if chosen and min(sums) >= left(chosen) * (1 - 1e-7):
            break
        best = next(i for i, one in enumerate(sums) if one <= min(sums) * (1 + 1e-7))
        chosen.append(members[best])
    return chosen


def edge(X, row, own, others):
    """How far out a row is, by its three nearest exemplars and those of the nearest cluster."""

    def to(some):
        nearest = sorted(dist(X[row], X[e]) for e in some)[:3]
        return sum(nearest) / len(nearest)

    return to(own) / (to(own) + min(to(some) for some in others))


# Maps ---------------------------------------------------------------------------------------------


def placed(X, row, first, drawn, near):
    """Weighted mean of the places of the nearest rows, by the square of their nearness."""
    away = sorted((dist(X[row], X[other]), i) for i, other in enumerate(first))[:near]
    if away[0][0] == 0:
        return list(drawn[away[0][1]])
    weight = [1 / d**2 for d, _ in away]
    return [
        sum(w * drawn[i][axis] for w, (_, i) in zip(weight, away, strict=True)) / sum(weight)
        for axis in (0, 1)
    ]


# Names --------------------------------------------------------------------------------------------


def best_total(names, labels):
    """Largest sum of shares of members at home, each name in a cluster of its own or in none."""
    clusters = sorted({*labels})
    places = [*clusters, *[None] * len(names)]
    best = 0.0
    for some in set(permutations(places, len(names))):
        shares = [
            sum(labels[row] == k for row in rows) / len(rows) if rows and k is not None else 0.0
            for (_, rows), k in zip(names, some, strict=True)
        ]
        best = max(best, sum(share for share in shares if share >= 0.5))
    return best


# Numbers ------------------------------------------------------------------------------------------


def most_kept(labels, before):
    """Largest number of rows that can keep their number, each number given once."""
    clusters, numbers = sorted({*labels}), sorted({*before})
    best = 0
    for some in set(permutations([*numbers, *[None] * len(clusters)], len(clusters))):
        of = dict(zip(clusters, some, strict=True))
        best = max(best, sum(of[k] == b for k, b in zip(labels, before, strict=True)))
    return best
