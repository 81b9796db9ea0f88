"""The default bandwidth's radius, literally: lists, loops and sorted distances."""

import math
from statistics import median


def distance(a, b):
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)))


def varying(rows):
    """Columns with a range that is something beside the others', at least one."""
    ranges = [max(column) - min(column) for column in zip(*rows, strict=True)]
    positive = [r for r in ranges if r > 0]
    least = 1e-8 * median(positive) if positive else 0.0
    return max(sum(r > 0 and r >= least for r in ranges), 1)


def neighbours(n, d):
    k = round(32 * (1 + 2 / d) * (n / 1000) ** ((d + 18) / (4 * d + 24)))
    return min(max(k, 1), n - 1)


def radius(rows, j):
    """Median distance of a row to its j-th neighbour."""
    return median(
        sorted(distance(a, b) for i, b in enumerate(rows) if i != at)[j - 1]
        for at, a in enumerate(rows)
    )


def before_gap(rows, k, d):
    """Number of neighbours, at most k, that no gap comes before; and their radius."""
    radii = {j: radius(rows, j) for j in range(1, k + 1)}
    for j in range(10, k // 2 + 1):
        if radii[2 * j] > (3 if d == 1 else 2) * (1 + 0.3 / math.sqrt(j)) * radii[j] > 0:
            middle = math.sqrt(radii[j] * radii[2 * j])
            k = max(i for i in radii if radii[i] <= middle)
            break
    return k, radii[k]


def default_radius(rows):
    """Number of neighbours, and their radius; zero where all rows are one."""
    rows, d = [tuple(row) for row in rows], varying(rows)
    k = neighbours(len(rows), d)
    if k < 1:
        return 1, 0.0
    if radius(rows, k) > 0:
        return before_gap(rows, k, d)
    places = sorted(set(rows))
    if len(places) < 2:
        return k, 0.0
    _, r = before_gap(places, neighbours(len(places), d), d)
    count = {place: rows.count(place) for place in places}
    shared = [place for place in places if count[place] > k]
    if len(shared) < 2:
        most = max(places, key=lambda place: count[place])
        return k, min(r, max(distance(most, place) for place in places) / 2)
    apart = {a: min(distance(a, b) for b in shared if a != b) for a in shared}
    every = [apart[place] for place in shared for _ in range(count[place])]
    return k, min(r, median(every) / 2)
