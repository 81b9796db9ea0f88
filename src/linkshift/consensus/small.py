"""Small groups, as the records of one person: a tree of average distances, cut where links say.

Graphs of ten neighbours do not show groups of two rows, and no number of clusters in the tens or
hundreds fits them. What tells them is how far apart two rows may be and still be the same, and
people who answer pairs that are near know that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.cluster.hierarchy import cophenet, fcluster, linkage
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import euclidean_distances

from linkshift._core.arrays import Array
from linkshift._core.labels import dense
from linkshift._core.threads import one_blas_thread
from linkshift.links import Links
from linkshift.shift.neighbours import nearest_neighbours

__all__ = ["SmallGroups", "groups_within", "small_groups", "tree_of"]

_NEAR = 20  # neighbours by which parts of large data are found that have nothing to do with others
_MOST_ROWS = 5000  # of such a part: its tree takes 100 MB
_SHORTER = 0.9  # where parts are larger, edges this much shorter hold them together
_PRIOR = 10.0  # inverse strength of the prior on the slope, which is finite where kinds are apart


class SmallGroups(NamedTuple):
    """A partition, and how far apart its groups may be."""

    labels: Array
    reach: float


def tree_of(points: Array, method: str) -> Array:
    """Tree of scipy over Euclidean distances: Ward's, or of average distances."""
    distance = euclidean_distances(points)
    np.fill_diagonal(distance, 0.0)
    tree: Array = linkage(squareform((distance + distance.T) / 2, checks=False), method)
    return tree


def small_groups(X: Array, links: Links, n_clusters: int | None = None) -> SmallGroups | None:
    r"""Cut the tree of average distances where must-links and cannot-links are even.

    With :math:`h_{ij}` the height at which two rows come together in the tree (their cophenetic
    distance), a logistic model :math:`P(\text{must}) = 1 / (1 + e^{-a + b h_{ij}})` is fitted to
    the links, by their confidences, and the tree is cut at :math:`h = a / b`, where both kinds are
    as probable. Or it is cut into the number of groups that is asked for.

    Returns
    -------
    SmallGroups or None
        None where there are links of one kind only, or must-links are not lower than cannot-links;
        or where several groups come together at once, so that there is no such number of them.
    """
    both = links.must_confidence.sum() > 0 and links.cannot_confidence.sum() > 0
    if not (both or n_clusters):
        return None
    with one_blas_thread():
        tree = tree_of(X, "average")
    reach = _balance(tree, links) if n_clusters is None else _height_for(tree, n_clusters)
    return SmallGroups(dense(fcluster(tree, reach, "distance")), reach) if reach > 0 else None


def _balance(tree: Array, links: Links) -> float:
    """Height at which must-links and cannot-links are as probable; 0 for none."""
    pairs = np.concatenate([links.must, links.cannot])
    a, b = np.sort(pairs, axis=1).T
    n = len(tree) + 1
    height = cophenet(tree)[n * a - a * (a + 1) // 2 + b - a - 1]
    unit = float(np.median(height)) or float(height.max())
    if not unit > 0:  # all links are between equal rows
        return 0.0
    model = LogisticRegression(C=_PRIOR).fit(
        height[:, None] / unit,
        np.arange(len(pairs)) < len(links.must),
        np.concatenate([links.must_confidence, links.cannot_confidence]),
    )
    slope = float(model.coef_[0, 0])
    return -float(model.intercept_[0]) / slope * unit if slope < 0 else 0.0


def _height_for(tree: Array, n_clusters: int) -> float:
    """Height at which there are so many clusters; 0 for none."""
    done = len(tree) + 1 - n_clusters  # mergers
    if not 0 < done < len(tree):
        return 0.0
    low, high = tree[done - 1 : done + 1, 2]
    return float(low + high) / 2 if low < high else 0.0


def groups_within(X: Array, reach: float) -> Array:
    """Group rows whose average distance is within reach, of any number of rows.

    Groups lie within parts that are joined by distances within reach, and each part has a tree of
    its own. A row is joined to its twenty nearest neighbours at most, and where parts have more
    than 5,000 rows all the same, by shorter distances: groups there may be smaller.
    """
    n, limit = len(X), reach
    distance, near = nearest_neighbours(X, min(_NEAR, n - 1))
    row = np.repeat(np.arange(n), near.shape[1]).reshape(near.shape)
    while True:
        kept = distance <= limit
        edges = sparse.csr_matrix((np.ones(kept.sum()), (row[kept], near[kept])), shape=(n, n))
        _, part = connected_components(edges, directed=False)
        sizes = np.bincount(part)
        if sizes.max() <= _MOST_ROWS:
            break
        limit *= _SHORTER
    order, ends = np.argsort(part, kind="stable"), np.cumsum(sizes)
    labels, used = np.empty(n, dtype=np.int64), 0
    with one_blas_thread():
        for last, size in zip(ends, sizes, strict=True):
            rows = order[last - size : last]
            found = np.zeros(1, dtype=np.int64)
            if size > 1:
                found = dense(fcluster(tree_of(X[rows], "average"), reach, "distance"))
            labels[rows] = used + found
            used += int(found.max()) + 1
    return dense(labels)
