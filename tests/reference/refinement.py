"""Refinement, word for word: votes of clusters, iterated conditional modes, brute-force merging."""

from __future__ import annotations

import numpy as np


def merge_by_votes(labels, links):
    """Merge the pair of clusters with the clearest vote, count anew, until no vote is for it."""
    labels = np.array(labels)
    while True:
        clusters = sorted(set(labels[labels >= 0].tolist()))
        best, pair = 0.0, None
        for position, a in enumerate(clusters):
            for b in clusters[position + 1 :]:
                vote = net_vote(labels, links, a, b)
                if vote > best + 1e-9:
                    best, pair = vote, (a, b)
        if pair is None:
            return labels
        labels[labels == pair[1]] = pair[0]


def net_vote(labels, links, a, b):
    """Confidence of the must-links between two clusters less what speaks against a merger.

    That is the confidence of the cannot-links; with none at all, the root of the must-links
    inside either cluster multiplied.
    """
    total = 0.0
    if not len(links.cannot):
        total -= np.sqrt(must_inside(labels, links, a) * must_inside(labels, links, b))
    for pairs, confidence, sign in (
        (links.must, links.must_confidence, 1.0),
        (links.cannot, links.cannot_confidence, -1.0),
    ):
        for (i, j), sure in zip(pairs, confidence, strict=True):
            if {labels[i], labels[j]} == {a, b}:
                total += sign * sure
    return total


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


def energy(labels, rows, label, links, neighbours, penalty=2.0, floor=0.1):
    """E(c) of the module for the unit ``rows``, all other rows as they are."""
    k = neighbours.shape[1]
    cost = 0.0
    for i in rows:
        if k:
            count = np.sum(labels[neighbours[i][neighbours[i] >= 0]] == label)  # -1: no neighbour
            cost -= np.log(max(count, floor) / k)
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
