"""CDBSCAN: DBSCAN that cuts where cannot-links say so, and joins what must-links join."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.spatial import cKDTree
from sklearn.utils._param_validation import Interval

from linkshift._core.arrays import Array
from linkshift._core.labels import NOISE, first_come
from linkshift._core.memory import check_memory
from linkshift.baselines._density_loops import join_clusters, local_clusters
from linkshift.baselines._estimator import apart_components, refuse_uncertain
from linkshift.estimators._base import Fitted, WeightedClusterer
from linkshift.links import ClosedLinks, SignedEdges

_FEW, _SAMPLE = 10_000, 256  # rows whose neighbours are counted at once; and of more, to guess by
_PAIR = 64  # bytes of two rows that are neighbours, while they are sorted


@dataclass(frozen=True)
class DensityState:
    """Rows in dense places, by which new rows are labelled."""

    core: Array  # indices
    points: Array
    labels: Array
    eps: float


class CDBSCAN(WeightedClusterer):
    r"""DBSCAN under links (C-DBSCAN).

    1. A k-d tree divides the rows into leaves.
    2. In each leaf, a row with ``min_samples`` rows within ``eps`` (itself counted) makes a *local
       cluster* of those that have none yet; of each row by itself, if a cannot-link parts any.
    3. Local clusters with must-linked rows are joined: *core local clusters*.
    4. Each other local cluster joins the core local cluster that is nearest (least distance of two
       rows), if it is within ``eps`` and no cannot-link forbids it; again, until none can.

    Local clusters that no core local cluster reaches then join each other in the same way, so that
    without links this is DBSCAN.

    Parameters
    ----------
    eps : float, default=0.5
        Rows within this distance are neighbours.
    min_samples : int, default=5
        Neighbours, itself counted, of a row in a dense place.
    leaf_size : int or None, default=None
        Most rows of a leaf; None: all rows are one leaf. Leaves, which the paper has for speed,
        cut local clusters at places that mean nothing.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, -1 for noise.
    core_sample_indices_ : ndarray
        Rows in dense places.
    n_clusters_ : int
        Number of clusters.
    link_report_ : LinkReport
        Which links hold: all.

    See Also
    --------
    linkshift.ConstrainedMeanShift : needs no ``eps``.

    Notes
    -----
    No link is violated: a must-link whose joining would bring cannot-linked rows together takes its
    rows out of their local clusters, into one that is no core (the paper does not say what happens
    then). Links of a
    confidence below one are refused. Must-linked rows are never noise. As in DBSCAN, clusters
    join through rows in dense places only, and a row beside one belongs to the nearest. The order
    of rows matters to local clusters.

    With ``sample_weight`` the rows within ``eps`` count by their weights; one of weight zero is in
    no dense place.

    New rows have the label of the nearest row in a dense place, if it is within ``eps``, else -1.

    References
    ----------
    Ruiz, Spiliopoulou, Menasalvas: C-DBSCAN: Density-Based Clustering with Constraints, RSFDGrC
    2007; Density-based semi-supervised clustering, Data Mining and Knowledge Discovery 21, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift import Links
    >>> from linkshift.baselines import CDBSCAN
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [2.0], [2.1], [9.0]])
    >>> CDBSCAN(0.15, min_samples=2).fit_predict(X)
    array([ 0,  0,  0,  0,  1,  1, -1])
    >>> links = Links(must=[(3, 4)], cannot=[(0, 3)])
    >>> CDBSCAN(0.15, min_samples=2).fit_predict(X, links=links)
    array([ 0,  0,  1,  1,  1,  1, -1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "eps": [Interval(Real, 0, None, closed="neither")],
        "min_samples": [Interval(Integral, 1, None, closed="left")],
        "leaf_size": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self, eps: float = 0.5, *, min_samples: int = 5, leaf_size: int | None = None
    ) -> None:
        self.eps = eps
        self.min_samples = min_samples
        self.leaf_size = leaf_size

    def _fit(  # type: ignore[override]
        self, data: Array, closed: ClosedLinks, *, sample_weight: Array | None
    ) -> Fitted:
        refuse_uncertain(closed, "CDBSCAN")
        points = np.ascontiguousarray(data, dtype=np.float64)
        n, component = len(points), closed.closure.component
        apart = apart_components(closed)
        pairs = _neighbours(points, self.eps)
        weight = np.ones(n) if sample_weight is None else sample_weight
        around = np.bincount(pairs.ravel(), weight[pairs[:, ::-1].ravel()], minlength=n) + weight
        dense = (around >= self.min_samples) & (weight > 0)
        local = np.full(n, -1, dtype=np.int64)
        leaf, start = _leaves(points, self.leaf_size or n)
        least = float(self.min_samples)
        local_clusters(points, weight, leaf, start, self.eps**2, least, component, apart, local)
        joined, core = _joined_by_links(local, component, closed.closure.sizes, apart)
        home = np.zeros(closed.closure.n_components, dtype=np.int64)
        home[component] = joined  # each component is in one cluster now
        join_clusters(pairs, dense, joined, core, home, apart)
        labels = _numbered(joined, core, dense)
        rows = np.flatnonzero(dense)
        state = DensityState(rows, points[rows], labels[rows], self.eps)
        return Fitted(labels, state, {"core_sample_indices_": rows})

    def _predict(self, data: Array) -> Array:
        state = self._state
        labels = np.full(len(data), NOISE)
        if len(state.points):
            distance, row = cKDTree(state.points).query(data, distance_upper_bound=np.inf)
            near = distance <= state.eps
            labels[near] = state.labels[row[near]]
        return labels


def _check_pairs(count: int, how: str, eps: float, n: int, share: float = 1.0) -> None:
    """Refuse more pairs than there is memory for; of a guess, only a share counts."""
    check_memory(
        share * _PAIR * count,
        f"{how}{count:,} pairs of neighbours within eps={eps:g} of {n:,} rows",
        "Give a smaller eps or fewer rows.",
        parameter="eps",
    )


def _neighbours(X: Array, eps: float) -> Array:
    """Pairs of rows within eps, the nearest first."""
    tree, n = cKDTree(X), len(X)
    if n > _FEW:  # in many columns, to count all takes minutes
        some = X[np.linspace(0, n - 1, _SAMPLE).astype(np.intp)]
        about = int(cKDTree(some).count_neighbors(tree, eps)) * (n // _SAMPLE) // 2
        _check_pairs(about, "Some ", eps, n, share=0.5)
    count = (int(tree.count_neighbors(tree, eps)) - n) // 2
    _check_pairs(count, "", eps, n)
    pairs = np.sort(tree.query_pairs(eps, output_type="ndarray"), axis=1).astype(np.int64)
    distance = np.linalg.norm(X[pairs[:, 0]] - X[pairs[:, 1]], axis=1)
    # Of equals those of the first rows: the tree gives pairs in an order of its own.
    order = np.lexsort((pairs[:, 1], pairs[:, 0], distance))
    return np.ascontiguousarray(pairs[order])


def _leaves(X: Array, most: int) -> tuple[Array, Array]:
    """Rows leaf by leaf, and where leaves begin: halves of halves along the widest column."""
    leaves, waiting = [], [np.arange(len(X))]
    while waiting:
        rows = waiting.pop()
        if len(rows) <= most:
            leaves.append(np.sort(rows))
            continue
        widest = int(np.ptp(X[rows], axis=0).argmax())
        order = rows[np.argsort(X[rows, widest], kind="stable")]
        half = len(rows) // 2
        waiting += [order[half:], order[:half]]
    sizes = np.array([len(rows) for rows in leaves])
    return np.concatenate(leaves), np.concatenate([[0], np.cumsum(sizes)])


class _Cluster(NamedTuple):
    """A cluster on the way: its rows, and the components that cannot-links speak of."""

    rows: list[int]
    inside: set[int]


def _joined_by_links(
    local: Array, component: Array, sizes: Array, apart: SignedEdges
) -> tuple[Array, Array]:
    """Join local clusters of must-linked rows; labels, and which are core local clusters.

    Rows without a local cluster are clusters by themselves.
    """
    n = len(local)
    label = first_come(np.where(local < 0, n + np.arange(n), local), np.int64)
    foes = np.split(apart.other, apart.start[1:-1])
    tied = np.diff(apart.start) > 0
    clusters = [_Cluster([], set()) for _ in range(int(label.max()) + 1)]
    for row, (c, home) in enumerate(zip(component.tolist(), label.tolist(), strict=True)):
        clusters[home].rows.append(row)
        if tied[c]:
            clusters[home].inside.add(c)
    core = []
    members = np.split(np.argsort(component, kind="stable"), np.cumsum(sizes)[:-1])
    for c in np.flatnonzero(sizes > 1).tolist():
        homes = np.unique(label[members[c]]).tolist()
        inside = set().union(*(clusters[home].inside for home in homes))
        if any(not inside.isdisjoint(foes[other].tolist()) for other in inside):
            for home in homes:  # the link comes first: its rows leave
                clusters[home].inside.discard(c)
                clusters[home].rows[:] = [r for r in clusters[home].rows if component[r] != c]
            clusters.append(_Cluster(members[c].tolist(), {c} if tied[c] else set()))
            label[members[c]] = len(clusters) - 1
            continue
        large = max(homes, key=lambda home: len(clusters[home].rows))
        for home in homes:
            if home != large:
                label[clusters[home].rows] = large
                clusters[large].rows.extend(clusters[home].rows)
                clusters[home].rows.clear()
        clusters[large].inside.update(inside)
        core.append(int(members[c][0]))
    is_core = np.zeros(len(clusters), dtype=bool)
    is_core[label[core]] = True
    return label, is_core


def _numbered(joined: Array, core: Array, dense: Array) -> Array:
    """Clusters without gaps; rows alone that no dense row has reached are noise."""
    alone = (np.bincount(joined)[joined] == 1) & ~core[joined] & ~dense
    labels = np.full(len(joined), NOISE, dtype=np.int64)
    labels[~alone] = first_come(joined[~alone], np.int64)
    return labels
