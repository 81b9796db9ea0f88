"""COPKMeans: k-means in which every link holds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.messages import Refusal
from linkshift._core.text import counted, listed
from linkshift.baselines._estimator import (
    LinkedKMeans,
    Run,
    apart_components,
    means,
    refuse_uncertain,
)
from linkshift.baselines._initial import component_means
from linkshift.baselines._loops import cop_assign
from linkshift.links import ClosedLinks, Links, SignedEdges

_ORDERS = 20  # in which a run tries to find its first assignment


class _Bodies(NamedTuple):
    """Rows that must-links hold together, and which of these bodies are apart."""

    component: Array  # of each row
    sizes: Array
    means: Array
    apart: SignedEdges
    links: Links


class _DeadEnd(NamedTuple):
    """A body for which no cluster is left, and the labels that others had by then."""

    body: int
    labels: Array


class COPKMeans(LinkedKMeans):
    r"""K-means in which every link holds (COP-KMeans).

    Makes :math:`J = \frac{1}{2} \sum_i s_i \|x_i - \mu_{l_i}\|^2` small under :math:`l_i = l_j` for
    every must-link and :math:`l_i \ne l_j` for every cannot-link. Rows that must-links join are
    one body, which goes as a whole to the nearest centre whose cluster has no body that it is held
    apart from; then centres move to the means. Sample weights s are one unless given.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init, n_init, max_iter, random_state
        As for :class:`PCKMeans`.

    Attributes
    ----------
    labels_, cluster_centers_, n_clusters_, objectives_, n_iter_, link_report_
        As for :class:`PCKMeans`.

    See Also
    --------
    PCKMeans : weighs links against distances, and takes uncertain ones.

    Notes
    -----
    No link is ever violated. Whether links can hold at all with so many clusters is a problem of
    graph colouring, which nobody solves fast; the paper assigns rows in their order and fails at
    the first that has no cluster left. Here the body with the fewest clusters left comes first,
    and chance decides between equals: with two clusters that never fails where the links can hold.
    A run tries up to 20 orders, about centres drawn anew, for its first assignment. When all fail,
    an error names the row and the links of a dead end. A later assignment that fails, or that
    raises J, ends its run with the one before: J never rises.

    References
    ----------
    Wagstaff, Cardie, Rogers, Schroedl: Constrained K-means Clustering with Background Knowledge,
    ICML 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift import Links
    >>> from linkshift.baselines import COPKMeans
    >>> X = np.array([[0.0], [0.1], [0.4], [0.6], [0.9], [1.0]])
    >>> links = Links(must=[(2, 5)], cannot=[(0, 1)])
    >>> labels = COPKMeans(2, random_state=0).fit_predict(X, links=links)
    >>> bool(labels[2] == labels[5]), bool(labels[0] != labels[1])
    (True, True)
    """

    def _prepared(self, X: Array, weight: Array, closed: ClosedLinks) -> _Bodies:
        refuse_uncertain(closed, "COPKMeans")
        closure = closed.closure
        sizes, centres = component_means(X, weight, closure.component)
        return _Bodies(closure.component, sizes, centres, apart_components(closed), closed.links)

    def _run(
        self,
        X: Array,
        weight: Array,
        prepared: _Bodies,
        centres: Array,
        random: np.random.RandomState,
    ) -> Run:
        found: Array | _DeadEnd = self._first(prepared, centres, random)
        labels, objectives = np.empty(0, dtype=np.int64), [np.inf]
        while isinstance(found, np.ndarray) and len(objectives) <= self.max_iter:
            rows = found[prepared.component]
            moved = means(X, weight, rows, centres)
            objective = 0.5 * float((weight[:, None] * (X - moved[rows]) ** 2).sum())
            if objective > objectives[-1] or np.array_equal(rows, labels):
                break
            labels, centres = rows, moved
            objectives.append(objective)
            found = _assign(prepared, centres, random)
        metric = np.ones_like(centres)
        return Run(labels, centres, metric, np.array(objectives[1:]), len(objectives) - 1)

    def _first(self, bodies: _Bodies, centres: Array, random: np.random.RandomState) -> Array:
        """Find an assignment that holds all links: in several orders, about other centres."""
        found = _assign(bodies, centres, random)
        for _ in range(_ORDERS - 1):
            if isinstance(found, np.ndarray):
                return found
            drawn = random.choice(len(bodies.means), len(centres))
            found = _assign(bodies, bodies.means[drawn], random)
        if isinstance(found, _DeadEnd):
            raise _dead_end(bodies, found, self.n_clusters)
        return found


def _assign(bodies: _Bodies, centres: Array, random: np.random.RandomState) -> Array | _DeadEnd:
    """Give each body the nearest centre that links allow, the most constrained ones first."""
    n, k = len(bodies.sizes), len(centres)
    cost = np.empty((n, k))
    for h in range(k):
        cost[:, h] = ((bodies.means - centres[h]) ** 2).sum(axis=1)
    labels = cost.argmin(axis=1).astype(np.int64)
    tied = np.flatnonzero(np.diff(bodies.apart.start))  # others go where they like
    labels[tied] = -1
    blocked = cop_assign(cost, random.permutation(tied), labels, bodies.apart)
    return labels if blocked < 0 else _DeadEnd(int(blocked), labels)


def _dead_end(bodies: _Bodies, end: _DeadEnd, n_clusters: int) -> Refusal:
    """Say which row has no cluster left, and which links take each away."""
    rows = np.flatnonzero(bodies.component == end.body)
    pairs, body = bodies.links.cannot, bodies.component[bodies.links.cannot]
    ours = (body == end.body).any(axis=1)
    other = np.where(body[:, 0] == end.body, body[:, 1], body[:, 0])
    ours &= end.labels[other] >= 0
    first = np.unique(end.labels[other[ours]], return_index=True)[1]  # one link for each cluster
    named = listed(map(tuple, pairs[ours][first].tolist()))
    together = f" (must-linked with {listed(rows[1:].tolist())})" if len(rows) > 1 else ""
    return Refusal(
        f"No assignment to {counted(n_clusters, 'cluster')} was found in which all links hold: "
        f"row {rows[0]}{together} has none left, since its cannot-links "
        f"{named} lead to rows in every cluster.",
        "Raise n_clusters, drop one of these links, or use PCKMeans, which may violate some.",
        parameter="links",
    )
