"""Descriptors as their papers say them, one feature and one pixel at a time."""

import numpy as np


def self_similarity(image, y, x, radius=20, noise=1.5):
    """Shechtman and Irani's descriptor of one pixel: 4 rings x 20 sectors."""

    def patch(v, u):
        return image[v - 2 : v + 3, u - 2 : u + 3].astype(float)

    apart = {
        (dy, dx): float(((patch(y, x) - patch(y + dy, x + dx)) ** 2).sum())
        for dy in range(-radius, radius + 1)
        for dx in range(-radius, radius + 1)
        if 0 < dy**2 + dx**2 <= radius**2
    }
    near = max(s for (dy, dx), s in apart.items() if max(abs(dy), abs(dx)) == 1)
    found = np.zeros((4, 20))
    for (dy, dx), s in apart.items():
        ring = int(np.ceil(np.log1p(np.hypot(dy, dx)) / np.log1p(radius) * 4)) - 1
        sector = int(np.arctan2(dy, dx) / (2 * np.pi) % 1.0 * 20) % 20
        found[ring, sector] = max(found[ring, sector], np.exp(-s / max(noise, near)))
    found = found.ravel()
    return (found - found.min()) / ((found.max() - found.min()) or 1.0)


def match_distance(one, other, position_weight):
    """Zhang et al.'s distance of two images, and its mean with that of the other way."""

    def relative(positions):
        corner = positions.min(axis=0)
        return (positions - corner) / (np.linalg.norm(positions.max(axis=0) - corner) or 1.0)

    def one_way(a, b):
        nearest = []
        for i in range(len(a.values)):
            costs = [
                ((a.values[i] - b.values[j]) ** 2).sum()
                + position_weight
                * np.linalg.norm(relative(a.positions)[i] - relative(b.positions)[j])
                for j in range(len(b.values))
            ]
            nearest.append(min(costs))
        return np.mean(nearest)

    return 0.5 * (one_way(one, other) + one_way(other, one))


def pyramid_match(words, places, other_words, other_places, n_words, n_levels):
    """Lazebnik's kernel of two images, whose places are from 0 to 1, from its definition."""
    total = 0.0
    matches = []
    for level in range(n_levels):
        side = 2**level

        def count(some, where, word, cell, side=side):
            cells = np.minimum((where * side).astype(int), side - 1)
            return np.mean((some == word) & (cells == cell).all(axis=1))

        matches.append(
            sum(
                min(count(words, places, w, (u, v)), count(other_words, other_places, w, (u, v)))
                for w in range(n_words)
                for u in range(side)
                for v in range(side)
            )
        )
    last = n_levels - 1
    total = matches[0] / 2**last
    for level in range(1, n_levels):
        total += matches[level] / 2 ** (last - level + 1)
    return total
