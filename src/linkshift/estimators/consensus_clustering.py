"""The partition that most ways of looking at the neighbourhoods agree on, under links."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from linkshift._core.arrays import Array, Progress, first_of_equal_rows
from linkshift._core.labels import dense
from linkshift._core.memory import check_memory
from linkshift._core.messages import Advice, warn
from linkshift._core.progress import stages, tell
from linkshift._core.threads import n_threads
from linkshift.consensus import Candidates, candidates, consensus, groups_within
from linkshift.consensus.choosing import WORK
from linkshift.estimators._base import METRICS, Fitted, LinkedClusterer, MetricName
from linkshift.explain import Evidence, Explains, Refit
from linkshift.links import ClosedLinks, Links
from linkshift.links._parse import Parsed
from linkshift.refinement import (
    check_count,
    closed_for,
    hold,
    merge_by_votes,
    nearest_rows,
    neighbours_vote,
    settle,
    to_count,
)
from linkshift.spaces.graph import FEW, NeighbourGraph, neighbour_graph

__all__ = ["ConsensusClustering"]

_PAIR_BYTES = 40.0  # of memory for each two rows, while trees are made
_ALL_NEIGHBOURS = 12  # rows up to which neighbours tell nothing
_CLEAR_GAP = 3.0  # between distances within clusters and between them
MANY_ROWS = 10_000  # above which it is told how much hangs on which rows were looked at
_VOTERS = 10  # rows that say where a row goes that was not among those looked at


class ConsensusClustering(Explains, LinkedClusterer):
    r"""The partition that many ways of looking at the neighbourhoods of rows agree on.

    In many columns one bandwidth finds little, while the graph of nearest neighbours still shows
    what belongs together. Candidates of all granularities come from three ways to look at it:
    compact clusters (Ward's trees of smoothed rows and of diffusion coordinates), hills of the
    density, and communities of the graph. The best candidate has the largest

    .. math:: 27 \, a + 8 \, Q - 0.6 \log_2 k \quad\text{or}\quad 27 \, a + 22 \, Q + 1.2 \log_2 k

    (up to seven columns, or from eight on), with a the median over the other families of the best
    adjusted Rand index that any of their candidates has with it, Q its modularity and k its number
    of clusters. With links, candidates
    also come from the graph that links have bent, and what N links say of a candidate is added,
    :math:`6 \sqrt{N}` times their adjusted Rand index with it. Then links merge clusters, rows
    settle by neighbours and links, and certain links hold. One candidate is for clusters of one to
    a few rows, as records of people: a tree of average distances, cut where must-links and
    cannot-links are as probable. Rows do not settle there.

    Parameters
    ----------
    n_clusters, max_clusters : int, default=None
        How many clusters there are, or how many at most; give one of them, or leave it open. Of two
        clusters, two cannot-links make a must-link.
    n_neighbors : int, default=10
        Neighbours that a row has an edge to.
    max_rows : int, default=2500
        Rows that candidates are made of, those with links first; others go as their nearest
        neighbours among these. Time and memory grow with its square.
    metric : {"euclidean", "cosine"}, default="euclidean"
        Distance between rows; "cosine" goes by their directions.
    enforce : bool, default=True
        Make every link of confidence one hold. Otherwise links are weighed against neighbours.
    random_state : int, RandomState or None, default=0
        For which rows are looked at where there are more than ``max_rows``.
    n_jobs : int, default=None
        Number of threads. ``None`` takes all cores. Labels do not depend on it.
    progress : callable, default=None
        Called with (done, total).

    Attributes
    ----------
    labels_, n_clusters_ : ndarray of shape (n_samples,), int
        Cluster of each row, and how many there are.
    agreement_ : float
        How well other families find the candidate that was chosen, from 0 to 1. Low values say
        that there is little structure, or structure of many kinds.
    n_candidates_ : int
        Partitions that were compared.
    fidelity_ : float
        Above 10,000 distinct rows: the adjusted Rand index between these clusters and those that as
        many other rows would have made, all else equal; low values say that much hangs on which
        rows were looked at.
    links_, link_report_ : Links, LinkReport
        The links, those of partial labels included, and which of them hold.

    Notes
    -----
    Equal rows are one row of the graph, and go together unless links part them. Data of fewer than
    five distinct rows have a cluster for each. At least two clusters are found elsewhere. New rows
    go by a vote of the nearest training rows.

    See Also
    --------
    linkshift.refine : links after any other clustering.

    References
    ----------
    Constants were fitted on half of the data sets of ``python -m benchmarks.run auto``; the other
    half is what docs/which_method.md reports. The parts are from: Zelnik-Manor and Perona,
    "Self-tuning spectral clustering" (2004); Coifman and Lafon, "Diffusion maps" (2006); Blondel
    et al., "Fast unfolding of communities in large networks" (2008); Chazal et al.,
    "Persistence-based clustering in Riemannian manifolds" (2013); Lu and Ip, "Constrained spectral
    clustering via exhaustive and efficient constraint propagation" (2010).

    Examples
    --------
    >>> from linkshift import ConsensusClustering, Links
    >>> from linkshift.datasets import make_moons
    >>> X, y = make_moons(200, random_state=0)
    >>> model = ConsensusClustering().fit(X, links=Links.sample(y, 10, random_state=0))
    >>> model.n_clusters_, model.link_report_.share
    (2, 1.0)
    """

    _takes_groups: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "max_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "n_neighbors": [Interval(Integral, 2, None, closed="left")],
        "max_rows": [Interval(Integral, 10, None, closed="left")],
        "metric": METRICS,
        "enforce": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "progress": [callable, None],
    }
    _counts_links = True
    _takes_cosine = True

    def __init__(
        self,
        *,
        n_clusters: int | None = None,
        max_clusters: int | None = None,
        n_neighbors: int = 10,
        max_rows: int = 2500,
        metric: MetricName = "euclidean",
        enforce: bool = True,
        random_state: Any = 0,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.max_clusters = max_clusters
        self.n_neighbors = n_neighbors
        self.max_rows = max_rows
        self.metric = metric
        self.enforce = enforce
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def _check_combinations(self) -> None:
        check_count(self.n_clusters, self.max_clusters)

    def _fit(self, data: Array, closed: ClosedLinks) -> Fitted:  # type: ignore[override]
        fitted = self._fit_with(data, closed, self._unlinked, measure=True)
        if "fidelity_" in fitted.attributes:
            self._tell_so(len(data), fitted.attributes["fidelity_"])
        return fitted

    def _tell_so(self, n: int, fidelity: float) -> None:
        """Say that some rows made the clusters of all, and how much hangs on which."""
        remedy = "looks at more rows, and takes time and memory with their square."
        warn(
            Advice(
                f"The clusters of {n:,} rows were made of {self.max_rows:,}, and the others went "
                "with their neighbours among these: the adjusted Rand index to what as many other "
                f"rows make is {fidelity:.2f}.",
                f"ConsensusClustering(max_rows={2 * self.max_rows}) {remedy}",
                command=f"In Python, ConsensusClustering(max_rows={2 * self.max_rows}) {remedy}",
                parameter="max_rows",
            )
        )

    def _fit_with(
        self, data: Array, closed: ClosedLinks, unlinked: _Looks, *, measure: bool = False
    ) -> Fitted:
        closed = closed_for(closed, self.n_clusters, self.max_clusters)
        if self.enforce:
            _ = closed.closure  # raises on contradictions
        found: dict[str, Any] = {"agreement_": 1.0, "n_candidates_": 1}
        rows, of_row, joined = _distinct(data, closed)
        few = None if len(rows) < len(data) else _far_apart(data)
        if 1 in (self.n_clusters, self.max_clusters):
            few = np.zeros(len(rows), dtype=np.int64)
        elif few is None and len(rows) < FEW:
            few = np.arange(len(rows))
        if few is not None:
            labels = self._under_links(few, joined, None)
        else:
            labels, found = self._by_consensus(data[rows], joined, unlinked, measure=measure)
        tell(self.progress, 1, 1)
        labels = to_count(
            data[rows], labels, joined, exactly=self.n_clusters, at_most=self.max_clusters
        )
        return Fitted(dense(labels[of_row]), None, found)

    def _unlinked(self, X: Array, progress: Progress | None) -> _Unlinked:
        """Work out what links have no part in."""
        graph = neighbour_graph(X, self.n_neighbors)
        threads = n_threads(self.n_jobs)
        made = candidates(X, graph, also=self.n_clusters, n_threads=threads, progress=progress)
        return _Unlinked(graph, made)

    def _by_consensus(
        self, X: Array, closed: ClosedLinks, unlinked: _Looks, *, measure: bool
    ) -> tuple[Array, dict[str, Any]]:
        """Labels of distinct rows, and what there is to tell of how they were found."""
        looked, others = self._looked_at(len(X), closed)
        check_memory(
            _PAIR_BYTES * len(looked) ** 2,
            f"The consensus of {len(looked):,} rows",
            "Lower max_rows: other rows go by a vote of their neighbours.",
            parameter="max_rows",
        )
        if not measure or len(X) <= MANY_ROWS or others is None:
            return self._of_rows(X, looked, closed, unlinked, self.progress)
        first, second = stages(self.progress, 1.0, 1.0)
        labels, found = self._of_rows(X, looked, closed, unlinked, first)
        again, _ = self._of_rows(X, others, closed, unlinked, second)
        return labels, found | {"fidelity_": float(adjusted_rand_score(labels, again))}

    def _of_rows(
        self,
        X: Array,
        looked: Array,
        closed: ClosedLinks,
        unlinked: _Looks,
        progress: Progress | None,
    ) -> tuple[Array, dict[str, Any]]:
        """Labels of all rows, by candidates that are made of some."""
        whole = len(looked) == len(X)
        some, links = (X, closed) if whole else (X[looked], closed.take(looked))
        some = some.astype(np.float64)
        choice = WORK.choice + WORK.links * bool(len(links))
        making, choosing, _ = stages(progress, WORK.candidates, choice, WORK.labels)
        graph, made = unlinked(some, making)
        chosen = consensus(
            some,
            graph,
            links.links,
            unlinked=made,
            n_clusters=self.n_clusters,
            max_clusters=self.max_clusters,
            n_threads=n_threads(self.n_jobs),
            progress=choosing,
        )
        if chosen.reach is not None:
            labels = chosen.labels if whole else groups_within(X, chosen.reach)
            labels = self._under_links(labels, closed, None)
            return labels, {"agreement_": chosen.agreement, "n_candidates_": chosen.n_candidates}
        labels = self._under_links(chosen.labels, links, graph)
        if not whole:
            settled, labels = labels, neighbours_vote(X, some, labels, _VOTERS)
            labels[looked] = settled
            linked = np.concatenate(
                [closed.links.must.ravel(), closed.links.cannot.ravel(), closed.groups.member]
            )
            if self.enforce and not np.isin(linked, looked).all():
                labels = hold(labels, closed.closure, nearest_rows(X, _VOTERS))
        return labels, {"agreement_": chosen.agreement, "n_candidates_": chosen.n_candidates}

    def _looked_at(self, n: int, closed: ClosedLinks) -> tuple[Array, Array | None]:
        """Rows that candidates are made of: linked ones first, then some at random.

        And those that would do as well: the same linked ones, and as many others. None where there
        are not as many.
        """
        if n <= self.max_rows:
            return np.arange(n), None
        linked = np.unique(np.concatenate([closed.links.must, closed.links.cannot]))
        order = check_random_state(self.random_state).permutation(n)
        first = np.isin(order, linked)
        named, drawn = order[first][: self.max_rows], order[~first]
        k = self.max_rows - len(named)
        looked = np.sort(np.concatenate([named, drawn[:k]]))
        if not 0 < 2 * k <= len(drawn):
            return looked, None
        return looked, np.sort(np.concatenate([named, drawn[k : 2 * k]]))

    def _under_links(
        self, labels: Array, closed: ClosedLinks, graph: NeighbourGraph | None
    ) -> Array:
        """Let links merge clusters, rows settle, and certain links hold."""
        if len(closed):
            labels = merge_by_votes(labels, closed.links)
            neighbours = np.empty((len(labels), 0), dtype=np.intp)
            if graph is not None:
                labels = settle(labels, closed, graph.weights)
                neighbours = graph.neighbours
            if self.enforce:
                labels = hold(labels, closed.closure, neighbours)
        return labels

    def _predict(self, data: Array) -> Array:
        return neighbours_vote(data, self._fit_X, self.labels_, _VOTERS)

    def _evidence(self, row: int) -> Evidence:  # noqa: ARG002 (all rows have the same)
        """Tell nothing of paths: nothing moves. Without a link, what links act on is done again."""
        last: list[tuple[Array, _Unlinked]] = []

        def unlinked(X: Array, progress: Progress | None) -> _Unlinked:
            if not (last and np.array_equal(last[0][0], X)):  # links may say which rows are taken
                last[:] = [(X, self._unlinked(X, progress))]
            return last[0][1]

        def refit(links: Links) -> Refit:
            closed = ClosedLinks(links, len(self._fit_X))
            return Refit(self._fit_with(self._fit_X, closed, unlinked).labels)

        return Evidence(
            self._fit_X,
            refit=refit,
            others="by the choice among partitions, and where their rows are",
        )


class _Unlinked(NamedTuple):
    """What is the same for any links."""

    graph: NeighbourGraph
    candidates: Candidates


_Looks = Callable[[Array, Progress | None], _Unlinked]


def _far_apart(X: Array) -> Array | None:
    """Clusters of so few rows that all are neighbours, where they are far apart; else None."""
    if not 3 <= len(X) <= _ALL_NEIGHBOURS:
        return None
    tree = linkage(X.astype(np.float64), "average")
    if not tree[0, 2] > 0 or not np.isfinite(tree[-1, 2]):
        return None
    gaps = tree[1:, 2] / tree[:-1, 2]
    if gaps.max() < _CLEAR_GAP:
        return None
    labels = fcluster(tree, tree[int(gaps.argmax()), 2], "distance")
    _, first, cluster = np.unique(labels, return_index=True, return_inverse=True)
    found: Array = np.argsort(np.argsort(first))[cluster]
    return found


def _distinct(data: Array, closed: ClosedLinks) -> tuple[Array, Array, ClosedLinks]:
    """Distinct rows, which of them each row is, and the links between them.

    Where links part equal rows, all rows are taken for distinct.
    """
    rows, of_row = np.unique(first_of_equal_rows(data), return_inverse=True)
    if len(rows) < len(data):
        joined = ClosedLinks(_between(closed.links, of_row), len(rows))
        parted = (of_row[closed.links.cannot[:, 0]] == of_row[closed.links.cannot[:, 1]]).any()
        parted |= closed.groups.broken(of_row).any()
        if not parted and joined.contradictory == closed.contradictory:
            return rows, of_row, joined
    return np.arange(len(data)), np.arange(len(data)), closed


def _between(links: Links, of_row: Array) -> Links:
    """Links between distinct rows, each pair once, with its largest confidence."""
    found = []
    for pairs, confidence in (
        (links.must, links.must_confidence),
        (links.cannot, links.cannot_confidence),
    ):
        ends = np.sort(of_row[pairs], axis=1)
        apart = ends[:, 0] != ends[:, 1]
        order = np.argsort(-confidence[apart], kind="stable")
        once, first = np.unique(ends[apart][order], axis=0, return_index=True)
        found.append((once, confidence[apart][order][first]))
    (must, sure), (cannot, sure_not) = found
    parsed = Parsed(must, cannot, sure, sure_not, None, links._pairs.apart.mapped(of_row))
    return Links._make(parsed, None)
