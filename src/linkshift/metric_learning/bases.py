r"""Bases: directions that tell classes, or links, apart somewhere in the data.

Around each centre of several k-means partitions, coarse to fine, the nearest J rows of each class
are taken, for J = 20 and 50, and Fisher's discriminant directions of these rows are bases:
the vectors b that make

.. math:: \frac{b^T S_b b}{b^T (S_w + \rho I) b}

largest, with the scatter between (:math:`S_b`) and within (:math:`S_w`) classes and a small ridge
:math:`\rho`. At most classes - 1 of them say anything. For links, the scatter of the differences
of cannot-linked rows takes the place of :math:`S_b`, and that of must-linked rows the place of
:math:`S_w`; the nearest J links are those whose midpoints are nearest to the centre.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from linkshift._core.arrays import Array
from linkshift.metric_learning.triplets import Triplets

NEIGHBOURS = (20, 50)  # J; with 10 as well the error on Vehicle is 21.0 %, not 19.5
_RIDGE = 1e-2  # of the mean variance within classes
_MOST_LINK_DIRECTIONS = 5


def label_bases(X: Array, y: Array, n_bases: int, random: np.random.RandomState) -> Array:
    """Local discriminant directions of classes, of unit length; fewer where there are no more."""
    members = [np.flatnonzero(y == c) for c in np.unique(y)]
    n_directions = min(len(members) - 1, X.shape[1])

    def around(centre: Array, count: int) -> Array:
        chosen = [rows[_nearest(X[rows], centre, count)] for rows in members]
        return _discriminants(X, chosen, n_directions)

    largest = max(rows.size for rows in members)
    return _collect(X, around, n_directions, largest, n_bases, random)


def link_bases(X: Array, triplets: Triplets, n_bases: int, random: np.random.RandomState) -> Array:
    """Local discriminant directions of links, which weigh as much as they are sure.

    k-means sees the anchors.
    """
    must, must_middle = _pairs(X, triplets.anchor, triplets.target, triplets.target_start)
    cannot, cannot_middle = _pairs(X, triplets.anchor, triplets.impostor, triplets.impostor_start)
    n_directions = min(X.shape[1], _MOST_LINK_DIRECTIONS)

    def around(centre: Array, count: int) -> Array:
        near = _nearest(must_middle, centre, count)
        far = _nearest(cannot_middle, centre, count)
        inside = must[near] * np.sqrt(triplets.target_weight[near])[:, None]
        between = cannot[far] * np.sqrt(triplets.impostor_weight[far])[:, None]
        within = inside.T @ inside / triplets.target_weight[near].sum()
        return _directions(between, within, n_directions)

    largest = max(len(triplets.target), len(triplets.impostor))
    return _collect(X[triplets.anchor], around, n_directions, largest, n_bases, random)


def _pairs(X: Array, anchor: Array, other: Array, start: Array) -> tuple[Array, Array]:
    """How the rows of linked pairs differ, and where the pairs are."""
    one, two = X[np.repeat(anchor, np.diff(start))], X[other]
    return one - two, 0.5 * (one + two)


def _collect(
    X: Array,
    around: Callable[[Array, int], Array],
    n_directions: int,
    largest: int,
    n_bases: int,
    random: np.random.RandomState,
) -> Array:
    """Bases around centres until there are enough, each once."""
    # From a J on that takes all there is, a larger one would find the same again.
    counts = [NEIGHBOURS[0], *(J for less, J in pairwise(NEIGHBOURS) if less < largest)]
    found = [np.empty((0, X.shape[1]))]
    for centres in _centres(X, -(-n_bases // (n_directions * len(counts))), random):
        found += [around(centre, count) for centre in centres for count in counts]
    bases = np.concatenate(found)
    if not bases.shape[0]:
        raise ValueError(
            "No direction tells the classes or links apart: near rows of different classes (or "
            "cannot-linked rows) are all alike. Describe the rows better."
        )
    # One sign for each direction, so that equal ones can be seen to be.
    largest_entry = np.argmax(np.abs(bases), axis=1)
    bases *= np.sign(bases[np.arange(len(bases)), largest_entry])[:, None]
    _, first = np.unique(bases.round(9), axis=0, return_index=True)
    return bases[np.sort(first)][:n_bases]


def _centres(X: Array, count: int, random: np.random.RandomState) -> Iterator[Array]:
    """Centres at several scales, ``count`` in all: one, and then twice as many each time."""
    yield X.mean(axis=0)[None]
    left, scale = min(count, X.shape[0]) - 1, 2
    while left > 0:
        # What would be left over for the next scale, if less than it needs, goes to this one.
        k = left if left < 3 * scale else scale
        with warnings.catch_warnings():
            # Fewer distinct rows than centres: some centres coincide, and their bases go.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = KMeans(k, n_init=1, max_iter=20, random_state=random).fit(X)
        yield model.cluster_centers_
        left -= k
        scale *= 2


def _nearest(X: Array, centre: Array, count: int) -> Array:
    if X.shape[0] <= count:
        return np.arange(X.shape[0])
    difference = X - centre
    squared = np.einsum("ij,ij->i", difference, difference)
    return np.argsort(squared, kind="stable")[:count]


def _discriminants(X: Array, groups: list[Array], n_directions: int) -> Array:
    """Fisher's directions for groups of rows, of unit length, the best first."""
    d = X.shape[1]
    within = np.zeros((d, d))
    means, sizes = np.empty((len(groups), d)), np.empty(len(groups))
    for g, rows in enumerate(groups):
        local = X[rows]
        means[g], sizes[g] = local.mean(axis=0), len(rows)
        local = local - means[g]
        within += local.T @ local
    total = sizes.sum()
    within /= total
    means -= sizes @ means / total
    means *= np.sqrt(sizes / total)[:, None]
    return _directions(means, within, n_directions)


def _directions(spread: Array, within: Array, n_directions: int) -> Array:
    """Largest generalised eigenvectors of ``spread.T @ spread`` by ``within`` with a ridge."""
    d = within.shape[0]
    level = np.trace(within) / d
    ridge = _RIDGE * level if level > 0 else 1.0
    factor = cho_factor(within + ridge * np.eye(d), lower=True)
    solved = cho_solve(factor, spread.T)
    # The eigenvectors lie in the span of `solved`: a problem as small as the number of rows.
    values, vectors = eigh(spread @ solved)
    order = np.argsort(-values, kind="stable")[:n_directions]
    bases = (solved @ vectors[:, order]).T
    good = values[order] > 1e-10 * max(values[order[0]], np.finfo(np.float64).tiny)
    largest = np.abs(bases).max(axis=1)
    good &= (largest > 0) & np.isfinite(largest)
    bases = bases[good] / largest[good][:, None]  # first this: squares of tiny scales overflow
    return bases / np.linalg.norm(bases, axis=1)[:, None]
