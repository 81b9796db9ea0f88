"""Regions and their merging straight from the definitions: pixel by pixel, set by set."""

import numpy as np


def flood(h, w, joined):
    """Connected regions where joined(p, q) says that neighbouring pixels belong together."""
    labels = np.full((h, w), -1)
    count = 0
    for start in np.ndindex(h, w):
        if labels[start] >= 0:
            continue
        labels[start] = count
        front = [start]
        while front:
            i, j = front.pop()
            for q in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
                inside = 0 <= q[0] < h and 0 <= q[1] < w
                if inside and labels[q] < 0 and joined((i, j), q):
                    labels[q] = count
                    front.append(q)
        count += 1
    return labels


def mode_regions(values, positions, h_s, h_r):
    values, positions = values.astype(np.float64), positions.astype(np.float64)

    def close(p, q):
        colour = ((values[p] - values[q]) ** 2).sum()
        place = ((positions[p] - positions[q]) ** 2).sum()
        return colour <= h_r**2 and place <= h_s**2

    return flood(*values.shape[:2], close)


def connected_regions(labels):
    return flood(*labels.shape, lambda p, q: labels[p] == labels[q])


def neighbours(labels):
    """Each region's neighbours, as a mapping to lengths of borders: counts of pixels' sides."""
    found = {r: {} for r in np.unique(labels).tolist()}
    h, w = labels.shape
    for i, j in np.ndindex(h, w):
        for k, l in ((i + 1, j), (i, j + 1)):
            if k < h and l < w and labels[i, j] != labels[k, l]:
                a, b = int(labels[i, j]), int(labels[k, l])
                found[a][b] = found[a].get(b, 0) + 1
                found[b][a] = found[b].get(a, 0) + 1
    return found


def merge_round(labels, features, limit, min_size):
    """Every region that may joins its nearest neighbour; the new labels."""
    names = np.unique(labels).tolist()
    means = {r: features[labels == r].mean(axis=0) for r in names}
    sizes = {r: int((labels == r).sum()) for r in names}
    sets = {r: {r} for r in names}
    for r, near in neighbours(labels).items():
        if not near:
            continue
        distance = {
            q: float(np.sqrt(((means[r] - means[q]) ** 2).sum()))
            * float(np.sqrt(np.sqrt(np.sqrt(min(sizes[r], sizes[q])) / length)))
            for q, length in near.items()
        }
        best = min(near, key=lambda q: (distance[q], q))
        if distance[best] <= limit or sizes[r] < min_size:
            both = sets[r] | sets[best]
            for member in both:
                sets[member] = both
    roots = sorted({min(members) for members in sets.values()})
    return np.vectorize(lambda r: roots.index(min(sets[r])))(labels)


def merge(labels, features, limits, min_size=0):
    """Rounds at each limit in turn, until nothing merges."""
    for limit in limits:
        while True:
            merged = merge_round(labels, features, limit, min_size)
            if merged.max() == labels.max():
                break
            labels = merged
    return labels
