"""First centres of k-means under links."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import kmeans_plusplus

from linkshift._core.arrays import Array


def neighbourhood_centres(
    X: Array, component: Array, n_clusters: int, random: np.random.RandomState
) -> Array:
    r"""Centres from what is must-linked, the large and far ones first.

    The means of the must-linked components are visited by weighted farthest-first traversal
    (Bilenko et al. 2004, section 3.1): the largest first, then, again and again, the one with
    the greatest

    .. math:: |N| \cdot \min_{c \text{ chosen}} \|\bar{x}_N - c\|.

    When there are fewer components of two rows or more than clusters, k-means++ adds the rest.
    """
    sizes = np.bincount(component)
    sums = np.zeros((len(sizes), X.shape[1]))
    np.add.at(sums, component, X)
    large = sizes > 1
    means = sums[large] / sizes[large, None]
    centres = means[_farthest_first(means, sizes[large], n_clusters)]
    return centres if len(centres) == n_clusters else _top_up(X, centres, n_clusters, random)


def _farthest_first(means: Array, sizes: Array, most: int) -> list[int]:
    """Order of the weighted farthest-first traversal, ``most`` entries at most."""
    if not len(means):
        return []
    chosen = [int(sizes.argmax())]
    nearest = np.linalg.norm(means - means[chosen[0]], axis=1)
    while len(chosen) < min(most, len(means)):
        value = sizes * nearest
        value[chosen] = -1.0
        chosen.append(int(value.argmax()))
        nearest = np.minimum(nearest, np.linalg.norm(means - means[chosen[-1]], axis=1))
    return chosen


def _top_up(X: Array, centres: Array, n_clusters: int, random: np.random.RandomState) -> Array:
    """Add rows, each drawn by its squared distance to the centres so far (k-means++)."""
    if not len(centres):
        return kmeans_plusplus(X, n_clusters, random_state=random)[0]
    nearest = ((X[:, None] - centres) ** 2).sum(axis=2).min(axis=1)
    while len(centres) < n_clusters:
        total = nearest.sum()
        share = nearest / total if total > 0 else None
        row = X[random.choice(len(X), p=share)]
        centres = np.vstack([centres, row])
        nearest = np.minimum(nearest, ((X - row) ** 2).sum(axis=1))
    return centres
