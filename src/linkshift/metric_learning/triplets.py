r"""Triplets (i, j, k): row i should be nearer to its target j than to its impostor k.

For each row i, the anchor, all its targets are paired with all its impostors, so that triplets
are kept as two lists of neighbours for each anchor. A triplet weighs as much as its two pairs
multiplied.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import NearestNeighbors

from linkshift._core.arrays import Array
from linkshift._core.messages import Refusal
from linkshift.links import ClosedLinks, ImpliedConfidence, Links

_LEAST_MASS = 1e-100  # of the surest anchor: means over weights below it overflow


@dataclass(frozen=True, eq=False)
class Triplets:
    """Anchors with their targets and impostors.

    Those of anchor number m are ``target[target_start[m] : target_start[m + 1]]``, and likewise
    for impostors.
    """

    anchor: Array  # rows that have both targets and impostors
    target: Array  # rows that should be near
    target_weight: Array  # how sure that is
    target_start: Array
    impostor: Array  # rows that should be farther than the targets
    impostor_weight: Array
    impostor_start: Array

    @property
    def mass(self) -> Array:
        """Weight of all triplets of each anchor."""
        near = np.add.reduceat(self.target_weight, self.target_start[:-1])
        far = np.add.reduceat(self.impostor_weight, self.impostor_start[:-1])
        return near * far

    def __len__(self) -> int:
        """Give the number of triplets."""
        return int((np.diff(self.target_start) * np.diff(self.impostor_start)).sum())

    def table(self) -> tuple[Array, Array]:
        """All triplets, one a row of (i, j, k), and their weights."""
        rows, weights = [], []
        for m, i in enumerate(self.anchor):
            near = slice(self.target_start[m], self.target_start[m + 1])
            far = slice(self.impostor_start[m], self.impostor_start[m + 1])
            j, k = np.meshgrid(self.target[near], self.impostor[far], indexing="ij")
            rows.append(np.column_stack((np.full(j.size, i), j.ravel(), k.ravel())))
            weights.append(np.outer(self.target_weight[near], self.impostor_weight[far]).ravel())
        return np.concatenate(rows), np.concatenate(weights)


def label_triplets(X: Array, y: Array, *, n_targets: int = 3, n_impostors: int = 10) -> Triplets:
    """Nearest rows of the same class against nearest rows of other classes, for each row.

    A row that is alone in its class has no target and is no anchor.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.metric_learning.triplets import label_triplets
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> label_triplets(X, np.array([0, 0, 1])).table()[0].tolist()
    [[0, 1, 2], [1, 0, 2]]
    """
    classes = np.unique(y)
    if classes.size < 2:
        raise ValueError(
            "y holds one class only: triplets need rows of at least 2 classes. Give rows of "
            "another class as well."
        )
    parts = []
    for c in classes:
        inside, outside = np.flatnonzero(y == c), np.flatnonzero(y != c)
        if inside.size > 1:
            near = _nearest(X, inside, inside, n_targets)
            far = _nearest(X, inside, outside, n_impostors)
            parts.append(_part(inside, near, far))
    if not parts:
        raise ValueError(
            "Every class has one row only, so that no row has another to be near to, and there "
            "is no triplet. Give at least one class two rows or more."
        )
    return _sorted(parts)


def link_triplets(
    X: Array, links: Links | ClosedLinks, *, n_targets: int = 3, n_impostors: int = 10
) -> Triplets:
    """Nearest must-linked rows against nearest cannot-linked rows, for each row that has both.

    What the links imply counts as well: rows that a chain of must-links connects are all linked,
    and so are their cannot-links. A given link is as sure as its confidence, an implied one as
    the least sure link of the groups that it comes from. Contradictions raise.
    """
    closed = ClosedLinks.coerce(links, X.shape[0]).expanded()
    closure = closed.whole
    confidence = None if closed.all_certain else closed.confidence
    parts = []
    for c in np.unique(closure.component_cannot):
        inside = closure.members(c)
        if inside.size > 1:
            left, right = closure.component_cannot.T
            rivals = np.concatenate((right[left == c], left[right == c]))
            outside = np.sort(np.concatenate([closure.members(r) for r in rivals]))
            near = _nearest(X, inside, inside, n_targets)
            far = _nearest(X, inside, outside, n_impostors)
            parts.append(_part(inside, near, far, confidence))
    if not parts:
        raise ValueError(_why_no_triplet(closed.links))
    triplets = _sorted(parts)
    if triplets.mass.max() < _LEAST_MASS:
        raise Refusal(
            "The rows that have both a must-link and a cannot-link have them with confidences next "
            "to zero: there is nothing to learn from.",
            "Give confidences from 0.5 up where an answer says something.",
        )
    return triplets


def _why_no_triplet(links: Links) -> str:
    if not len(links.must) or not len(links.cannot):
        kind = "cannot" if len(links.must) else "must"
        return (
            f"There are no {kind}-links: a triplet takes a must-link and a cannot-link of one row. "
            f"Give some {kind}-links, or labels as y."
        )
    return (
        "No row has both a must-link and a cannot-link, given or implied, and so there is no "
        "triplet to learn from. Add cannot-links to rows that are must-linked, or give labels as y."
    )


def _nearest(X: Array, rows: Array, others: Array, count: int) -> Array:
    """Find the nearest of ``others`` to each of ``rows``, itself left out."""
    same = rows is others
    search = NearestNeighbors(n_neighbors=min(count, others.size - same)).fit(X[others])
    # Without a query, scikit-learn leaves the row itself out, whichever of equal rows it is.
    found = search.kneighbors(None if same else X[rows], return_distance=False)
    return others[found]


_Part = tuple[Array, Array, Array, Array, Array]


def _part(
    rows: Array, near: Array, far: Array, confidence: ImpliedConfidence | None = None
) -> _Part:
    def weights(found: Array) -> Array:
        if confidence is None:
            return np.ones(found.shape)
        pairs = np.column_stack((np.repeat(rows, found.shape[1]), found.ravel()))
        return confidence.of(pairs).reshape(found.shape)

    return rows, near, weights(near), far, weights(far)


def _row(entry: tuple[Array, ...]) -> int:
    return int(entry[0])


def _sorted(parts: Iterable[_Part]) -> Triplets:
    """Join anchors in the order of rows."""
    entries = sorted((entry for part in parts for entry in zip(*part, strict=True)), key=_row)
    anchor, near, near_weight, far, far_weight = zip(*entries, strict=True)

    def joined(found: Sequence[Array], weight: Sequence[Array]) -> tuple[Array, Array, Array]:
        start = np.concatenate(([0], np.cumsum([len(rows) for rows in found])))
        return (
            np.concatenate(found).astype(np.int64),
            np.concatenate(weight),
            start.astype(np.int64),
        )

    rows = np.array(anchor, dtype=np.int64)
    return Triplets(rows, *joined(near, near_weight), *joined(far, far_weight))
