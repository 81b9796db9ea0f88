"""First centres of k-means under links."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import kmeans_plusplus

from linkshift._core.arrays import Array
from linkshift.links import SignedEdges


def neighbourhood_centres(
    X: Array, weight: Array, component: Array, n_clusters: int, random: np.random.RandomState
) -> Array:
    r"""Centres from what is must-linked, the large and far ones first.

    The means of the must-linked components are visited by weighted farthest-first traversal
    (Bilenko et al. 2004, section 3.1): the largest first, then, again and again, the one with
    the greatest

    .. math:: |N| \cdot \min_{c \text{ chosen}} \|\bar{x}_N - c\|.

    |N| is the weight of its rows. When there are fewer components of two rows or more, with some
    weight, than clusters, k-means++ adds the rest.
    """
    sizes, means = component_means(X, weight, component)
    large = (np.bincount(component) > 1) & (sizes > 0)
    means = means[large]
    centres = means[_farthest_first(means, sizes[large], n_clusters)]
    return centres if len(centres) == n_clusters else top_up(X, weight, centres, n_clusters, random)


def component_means(X: Array, weight: Array, component: Array) -> tuple[Array, Array]:
    """Weight of each component's rows, and their mean; without weight, all rows count alike."""
    sizes = np.bincount(component, weight)
    weight = np.where(sizes[component] > 0, weight, 1.0)
    sums = np.zeros((len(sizes), X.shape[1]))
    np.add.at(sums, component, weight[:, None] * X)
    return sizes, sums / np.bincount(component, weight)[:, None]


def seed_components(
    means: Array, sizes: Array, n_rows: Array, apart: SignedEdges, n_clusters: int
) -> list[int]:
    """Components to begin clusters with: as `neighbourhood_centres`, those held apart first.

    ``sizes`` are weights. ``apart`` has a component's cannot-links. Components of one row count if
    they are held apart from something, none without weight. After the first, one that is held apart
    from all chosen ones comes before those of which nobody knows whether they begin another
    cluster; among the latter, single rows come last.
    """
    tied = np.diff(apart.start) > 0
    able = np.flatnonzero(((n_rows > 1) | tied) & (sizes > 0))
    if not len(able):
        return []
    weight = sizes[able].astype(np.float64)
    chosen = [int(weight.argmax())]
    nearest = np.full(len(able), np.inf)
    foes = np.zeros(len(able))  # chosen ones that each is held apart from
    while len(chosen) < min(n_clusters, len(able)):
        last = able[chosen[-1]]
        nearest = np.minimum(nearest, np.linalg.norm(means[able] - means[last], axis=1))
        foes += np.isin(able, apart.other[apart.start[last] : apart.start[last + 1]])
        rank = np.where(foes == len(chosen), 2.0, np.where(n_rows[able] > 1, 1.0, 0.0))
        rank[chosen] = -1.0
        best = np.flatnonzero(rank == rank.max())
        if rank[best[0]] == 0:  # rows of which nothing is known but that something is elsewhere
            break
        chosen.append(int(best[(weight * nearest)[best].argmax()]))
    return [int(c) for c in able[chosen]]


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


def top_up(
    X: Array, weight: Array, centres: Array, n_clusters: int, random: np.random.RandomState
) -> Array:
    """Add rows, each drawn by its weight times its squared distance to the centres (k-means++)."""
    if not len(centres):
        return kmeans_plusplus(X, n_clusters, sample_weight=weight, random_state=random)[0]
    nearest = ((X[:, None] - centres) ** 2).sum(axis=2).min(axis=1)
    counted = np.flatnonzero(weight)
    while len(centres) < n_clusters:
        far = weight[counted] * nearest[counted]
        total = far.sum()
        share = far / total if total > 0 else None
        row = X[counted[random.choice(len(counted), p=share)]]
        centres = np.vstack([centres, row])
        nearest = np.minimum(nearest, ((X - row) ** 2).sum(axis=1))
    return centres
