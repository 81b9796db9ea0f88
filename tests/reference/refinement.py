"""Refinement, word for word: votes of clusters, iterated conditional modes, brute-force merging."""

from __future__ import annotations

import numpy as np


def merge_by_votes(labels, links):
    """Merge the two clusters that are most clearly one, count anew, until links say so of none."""
    labels = np.array(labels)
    while True:
        clusters = sorted(set(labels[labels >= 0].tolist()))
        best, pair = 0.0, None
        for position, a in enumerate(clusters):
            for b in clusters[position + 1 :]:
                score = evidence(labels, links, a, b)
                if score > best:
                    best, pair = score, (a, b)
        if pair is None:
            return labels
        labels[labels == pair[1]] = pair[0]


def evidence(labels, links, a, b):
    """Log-likelihood ratio of one class and two, given the links between two clusters.

    Must-links are Poisson: of one class, 2 sqrt(l_a l_b) are expected between two parts, where l
    is what lies inside less its standard deviation; of two classes, a share of these. A cannot-link
    takes a must-link back, and two classes are e to one beforehand.
    """
    must, cannot = sum_between(labels, links, a, b)
    inside = [must_inside(labels, links, c) for c in (a, b)]
    one = 2.0 * np.sqrt(np.prod([max(m - np.sqrt(m), 0.0) for m in inside]))
    two = 0.15 * one
    return (must - cannot) * np.log(1.0 / 0.15) - (one - two) - 1.0


def sum_between(labels, links, a, b):
    """Confidence of the must-links and of the cannot-links between two clusters."""
    return tuple(
        sum(
            sure
            for (i, j), sure in zip(pairs, confidence, strict=True)
            if {labels[i], labels[j]} == {a, b}
        )
        for pairs, confidence in (
            (links.must, links.must_confidence),
            (links.cannot, links.cannot_confidence),
        )
    )


def broken(labels, links):
    """Confidence of the links that do not hold; noise is in no cluster."""
    return sum(
        sure
        for (i, j), sure in zip(links.must, links.must_confidence, strict=True)
        if labels[i] != labels[j] or labels[i] < 0
    ) + sum(
        sure
        for (i, j), sure in zip(links.cannot, links.cannot_confidence, strict=True)
        if labels[i] == labels[j] >= 0
    )


def must_inside(labels, links, cluster):
    """Confidence of the must-links between rows of one cluster."""
    return sum(
        sure
        for (i, j), sure in zip(links.must, links.must_confidence, strict=True)
        if labels[i] == labels[j] == cluster
    )


def units_of(n, links):
    """Rows that move together: components of certain must-links, or single rows on conflict."""
    unit = np.arange(n)
    if contradictory(n, links):
        return unit
    for (i, j), sure in zip(links.must, links.must_confidence, strict=True):
        if sure == 1.0:
            unit[unit == unit[j]] = unit[i]
    return unit


def contradictory(n, links):
    """Whether a certain cannot-link lies within a chain of certain must-links."""
    component = np.arange(n)
    for i, j in links.must[links.must_confidence == 1.0]:
        component[component == component[j]] = component[i]
    certain = links.cannot[links.cannot_confidence == 1.0]
    return any(component[i] == component[j] for i, j in certain)


def heard(near, sizes, home, labels, by_places=False):
    """Of each row's neighbours those it listens to: as many as its cluster has other rows.

    A row by itself listens to the nearest one, if that is in a cluster of five rows or more.
    Neighbours that take places are listened to as far as there are places.
    """
    if by_places:
        most = np.inf if home < 0 else max(sizes[home] - 1.0, 0.0)
        lone = [1.0 if row and is_large(labels[row[0][0]], sizes) else 0.0 for row in near]
        return [
            first_places(row, one if most == 0 else most)
            for row, one in zip(near, lone, strict=True)
        ]
    if home >= 0 and sizes[home] == 1:
        return [row[:1] if row and is_large(labels[row[0][0]], sizes) else [] for row in near]
    most = None if home < 0 else sizes[home] - 1
    return [row[:most] for row in near]


def is_large(label, sizes):
    return label >= 0 and sizes[label] >= 5


def first_places(row, most):
    """Of (neighbour, places), the nearest first, those that have the first places."""
    found = []
    for j, places in row:
        taken = min(places, most)
        most -= taken
        if taken > 0:
            found.append((j, taken))
    return found


def nearest_places(X, weight, n_neighbors):
    """(neighbour, places) of each row: itself with the copies it has besides, then the nearest.

    No more rows are looked at than there are places; none eight times as far as the second place.
    """
    total = sum(weight)
    k = max(min(n_neighbors, np.ceil(np.sqrt(total)), total - 1.0), 0.0)
    most = min(int(np.ceil(k)), sum(w > 0 for w in weight) - 1)
    found = []
    for i, x in enumerate(X):
        far = sorted((np.linalg.norm(x - X[j]), j) for j in range(len(X)) if weight[j] and j != i)
        queue = [(i, max(weight[i] - 1.0, 0.0))] + [(j, weight[j]) for _, j in far[:most]]
        row = first_places(queue, k)
        second = first_places(row, min(2.0, sum(taken for _, taken in row)))
        scale = np.linalg.norm(x - X[second[-1][0]]) if second else 0.0
        near = [np.linalg.norm(x - X[j]) <= 8.0 * scale or scale == 0 for j, _ in row]
        found.append([pair for pair, local in zip(row, near, strict=True) if local])
    return found


def energy(labels, rows, label, links, near, penalty=4.0, by_share=False, say=None):
    """E(c) of the module for the unit ``rows``, all other rows as they are.

    ``near`` has for each row (neighbour, weight) of those that it listens to; ``say`` is what the
    term of each row is multiplied by.
    """
    cost = 0.0
    for i in rows:
        there = sum(weight for j, weight in near[i] if labels[j] == label)
        total = sum(weight for _, weight in near[i])
        if by_share and total > 0:
            cost -= np.log(there / total + 0.005)
        elif near[i] and not by_share:
            cost -= (1.0 if say is None else say[i]) * np.log(max(there, 0.1) / len(near[i]))
    inside = set(rows)
    for pairs, confidence, must in (
        (links.must, links.must_confidence, True),
        (links.cannot, links.cannot_confidence, False),
    ):
        for (i, j), sure in zip(pairs.tolist(), confidence, strict=True):
            if (i in inside) == (j in inside):
                continue
            there = labels[j if i in inside else i]
            if there < 0:
                # Noise is in no cluster: no label honours a must-link to it, none violates a
                # cannot-link. The same cost for every label.
                continue
            cost += penalty * sure * ((there != label) if must else (there == label))
    return cost


def held_by(pairs_must, pairs_cannot, labels):
    """Whether every must-link and every cannot-link holds."""
    return all(labels[i] == labels[j] for i, j in pairs_must) and all(
        labels[i] != labels[j] for i, j in pairs_cannot
    )


def merge_close(centres, radius, apart=()):
    """Single linkage below a radius that never joins groups which hold a pair of ``apart``."""
    n = len(centres)
    group = np.arange(n)
    steps = sorted(
        (float(np.linalg.norm(centres[i] - centres[j])), i, j)
        for i in range(n)
        for j in range(i + 1, n)
    )
    for length, i, j in steps:
        a, b = group[i], group[j]
        if length > radius or a == b:
            continue
        if any(x != y and {group[x], group[y]} == {a, b} for x, y in apart):
            continue
        group[group == b] = a
    return group


def merge_to_count(X, weight, labels, cannot, most):
    """Ward's mergers, counted anew each time; clusters with a cannot-link between them stay two."""
    labels = np.array(labels)

    def squares(rows):
        mean = np.average(X[rows], axis=0, weights=weight[rows])
        return float((weight[rows, None] * (X[rows] - mean) ** 2).sum())

    while len(clusters := sorted(set(labels[labels >= 0].tolist()))) > most:
        apart = {frozenset((labels[i], labels[j])) for i, j in cannot}
        costs = {}
        for a in clusters:
            for b in clusters:
                if a < b and frozenset((a, b)) not in apart:
                    one, other = (np.flatnonzero(labels == c) for c in (a, b))
                    both = np.concatenate([one, other])
                    costs[a, b] = squares(both) - squares(one) - squares(other)
        if not costs:
            break
        a, b = min(costs, key=costs.get)
        labels[labels == b] = a
    return labels


def two_sided(n, links):
    """Which pairs of rows share a side of two: by paths with an even number of cannot-links."""
    same, apart = np.eye(n, dtype=bool), np.zeros((n, n), dtype=bool)
    for pairs, known in ((links.must, same), (links.cannot, apart)):
        for i, j in pairs:
            known[i, j] = known[j, i] = True
    while True:
        more_same = same | (same @ same) | (apart @ apart)
        more_apart = apart | (same @ apart) | (apart @ same)
        if (more_same == same).all() and (more_apart == apart).all():
            return same
        same, apart = more_same, more_apart


def settle_groups(labels, groups, near, penalty=4.0, max_sweeps=20):
    """Iterated conditional modes of single rows under groups whose members are apart.

    ``near`` has the neighbours of each row, the nearest first. A row chooses among the labels of
    the neighbours it listens to and its own, and stays where others are not better.
    """
    labels = np.array(labels)
    for _ in range(max_sweeps):
        before = labels.copy()
        sizes = np.bincount(labels[labels >= 0], minlength=labels.max(initial=0) + 1)
        for i in range(len(labels)):
            own = labels[i]
            if own < 0:
                continue
            pairs = [(j, 1.0) for j in near[i]]
            (listened,) = heard([pairs], sizes, own, labels)
            around = [labels[j] for j, _ in listened if labels[j] >= 0]

            def gain(c, i=i, around=around):
                there = around.count(c)
                others = sum(labels[j] == c for g in groups if i in g for j in g if j != i)
                return (np.log(there / 0.1) if there else 0.0) - penalty * others

            best, most = own, gain(own)
            for c in dict.fromkeys(around):
                if gain(c) > most + 1e-12:
                    best, most = c, gain(c)
            labels[i] = best
        if (labels == before).all():
            break
    return labels
