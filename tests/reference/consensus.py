"""Consensus, word for word: communities, hills, agreement, links spread over a graph."""

from __future__ import annotations

import numpy as np

# Communities --------------------------------------------------------------------------------------


def modularity(W, labels, resolution=1.0):
    """Share of the weight inside communities less the share that chance would put there."""
    total, degree = W.sum(), W.sum(axis=1)
    value = 0.0
    for i in range(len(W)):
        for j in range(len(W)):
            if labels[i] == labels[j]:
                value += (W[i, j] - resolution * degree[i] * degree[j] / total) / total
    return value


def louvain(W, resolution):
    """Move rows in their order, each to the community that gains most; then take these for rows.

    Of equal gains the row's own community comes first, then those of its neighbours in their
    order. Communities have the numbers of the rows that founded them while rows move, and numbers
    by first appearance afterwards. A matrix keeps the neighbours of each row in their order.
    """
    rows = [{j: W[i, j] for j in range(len(W)) if W[i, j] > 0} for i in range(len(W))]
    found = list(range(len(W)))
    total = W.sum()
    while True:
        community = moved(rows, resolution, total)
        number = {c: k for k, c in enumerate(dict.fromkeys(community))}
        community = [number[c] for c in community]
        found = [community[f] for f in found]
        if len(number) == len(rows):
            return found
        merged = [{} for _ in number]
        for c in range(len(number)):
            for i in (i for i in range(len(rows)) if community[i] == c):
                for j, w in rows[i].items():
                    merged[c][community[j]] = merged[c].get(community[j], 0.0) + w
        rows = merged


def moved(rows, resolution, total, rounds=50):
    """One level of Louvain's method."""
    degree = [sum(row.values()) for row in rows]
    community = list(range(len(rows)))
    for _ in range(rounds):
        before = list(community)
        for i, row in enumerate(rows):
            own = community[i]
            others = [j for j in row if j != i]
            tried = dict.fromkeys([own, *(community[j] for j in others)])
            gain = {}
            for c in tried:
                towards = sum(row[j] for j in others if community[j] == c)
                volume = sum(degree[j] for j in range(len(rows)) if community[j] == c and j != i)
                gain[c] = towards - resolution * degree[i] * volume / total
            for c in tried:
                if gain[c] > gain[community[i]] + 1e-12:
                    community[i] = c
        if community == before:
            break
    return community


# Hills --------------------------------------------------------------------------------------------


def hills(height, edges, threshold):
    """Basins of a height over a graph, joined where a summit is hardly above the pass.

    ``edges`` has the neighbours of each row. Of equal heights the first row's is the higher. A row
    belongs to the summit that the steepest way up leads to. Flood the graph from above: whenever
    regions meet, a lower summit's prominence is its height above the water; summits of less than
    the threshold join the highest region of those that meet.
    """
    n = len(height)

    def up(i):
        return height[i], -i

    summit = [climb(i, up, edges) for i in range(n)]
    region = {s: {s} for s in set(summit)}  # by the highest summit
    joined = {s: s for s in region}
    for i in sorted(range(n), key=up, reverse=True):
        around = [i, *(j for j in edges[i] if up(j) > up(i))]
        meet = {next(r for r, of in region.items() if summit[x] in of) for x in around}
        high, *lower = sorted(meet, key=up, reverse=True)
        for low in lower:
            region[high] |= region.pop(low)
            if height[low] - height[i] < threshold:
                joined[low] = high

    def follow(s):
        return s if joined[s] == s else follow(joined[s])

    return [follow(s) for s in summit]


def climb(i, up, edges):
    """Go to the highest neighbour until none is higher."""
    while True:
        best = max([i, *edges[i]], key=up)
        if best == i:
            return i
        i = best


# Links --------------------------------------------------------------------------------------------


def spread(W, links, alpha=0.8):
    """F = (1 - a)^2 (I - a S)^-1 Z (I - a S)^-1, all of it, by inverses."""
    n = len(W)
    root = np.diag(1 / np.sqrt(W.sum(axis=1)))
    inverse = np.linalg.inv(np.eye(n) - alpha * root @ W @ root)
    Z = np.zeros((n, n))
    for (i, j), sure in zip(links.must, links.must_confidence, strict=True):
        Z[i, j] = Z[j, i] = sure
    for (i, j), sure in zip(links.cannot, links.cannot_confidence, strict=True):
        Z[i, j] = Z[j, i] = -sure
    return (1 - alpha) ** 2 * inverse @ Z @ inverse


def bent(W, links):
    """Edges grow or fade by what links say of them; linked rows have an edge, or hardly any."""
    F = spread(W, links)
    certainty = np.quantile([abs(F[i, j]) for i, j in np.argwhere(W > 0)], 0.99)
    out = np.zeros_like(W)
    for i, j in np.argwhere(W > 0):
        f = min(max(F[i, j] / certainty, -1.0), 1.0) if certainty > 0 else 0.0
        new = 1 - (1 - f) * (1 - W[i, j]) if f >= 0 else (1 + f) * W[i, j]
        out[i, j] = max(new, 1e-4)
    for (i, j), sure in zip(links.cannot, links.cannot_confidence, strict=True):
        out[i, j] = out[j, i] = out[i, j] * (1 - sure * (1 - 1e-4))
    for (i, j), sure in zip(links.must, links.must_confidence, strict=True):
        out[i, j] = out[j, i] = max(out[i, j], sure)
    return out


def adjusted_rand_of_links(labels, links, n_far=0.0, doubt=2.0):
    """Adjusted Rand index from the table of pairs: linked together or not, labelled so or not.

    The index of Hubert and Arabie is (both - expected) / (mean - expected), with ``both`` the
    pairs that are together in either, ``expected`` what the margins make of them by chance.
    """
    table = np.full((2, 2), doubt)
    for pairs, confidence, together in (
        (links.must, links.must_confidence, 0),
        (links.cannot, links.cannot_confidence, 1),
    ):
        for (i, j), sure in zip(pairs, confidence, strict=True):
            table[together, int(labels[i] != labels[j])] += sure
    any_two = max(n_far - 4 * links.cannot_confidence.sum(), 0)
    same = np.mean([[a == b for b in labels] for a in labels])
    table[1] += any_two * np.array([same, 1 - same])
    linked, labelled = table[0].sum(), table[:, 0].sum()
    expected = linked * labelled / table.sum()
    return (table[0, 0] - expected) / ((linked + labelled) / 2 - expected)
