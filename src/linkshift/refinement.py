r"""Settle links after any clustering.

Two moves. First, clusters vote: while two clusters have more must-links than cannot-links between
them (`merge_by_votes`, also for what it does without any cannot-links), the pair with the largest
surplus is merged. Then points settle: each takes, in turn, of the
labels that a neighbour or a link names the one that costs least,

.. math:: E(c) = -\sum_{i \in u} \log \frac{\max(n_i(c), \epsilon)}{k}
          \; + \; \beta \, (\text{confidence of the links that } c \text{ would violate}),

where :math:`n_i(c)` counts the k nearest neighbours of i with label c, and u is the point with all
that is must-linked to it (iterated conditional modes; Besag 1986). Links of confidence one that do
not contradict each other make such units, so that must-links always hold. Links with a lower
confidence, and all links as soon as certain ones contradict each other, stay pairs: one wrong
answer then costs one pair, and is not passed on along the chains.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.utils import check_array, check_consistent_length

from linkshift._core.arrays import Array, offsets
from linkshift._core.disjoint import roots
from linkshift._core.jit import jit
from linkshift._core.labels import dense, majority
from linkshift.links import Closure, Links
from linkshift.shift.neighbours import nearest_neighbours

__all__ = [
    "absorb_dust",
    "certain_links",
    "hold",
    "is_local",
    "merge_by_votes",
    "nearest_rows",
    "neighbours_vote",
    "refine",
    "settle",
]


_DRAW = 1e-9  # confidences that should cancel may leave this much
_LOCAL = 8.0  # in one dense region even the 20th neighbour is rarely farther, in second nearests
_MOST_VOTES = 1 << 22  # of new rows for clusters, counted at a time: 32 MB
_FLOOR = 0.1  # neighbours granted to a label that has none: keeps its cost finite


def refine(
    X: ArrayLike,
    labels: ArrayLike,
    links: Links,
    *,
    n_neighbors: int = 20,
    penalty: float = 2.0,
    max_sweeps: int = 20,
) -> Array:
    """Improve a clustering with must-links and cannot-links.

    Works after any method. Certain must-links hold afterwards, but between rows of noise that have
    no neighbours in clusters; cannot-links, and links that
    contradict each other, are weighed against the neighbours and may stay broken.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The data that was clustered.
    labels : array-like of shape (n_samples,)
        Its labels; -1 is noise. Noise stays noise unless a must-link concerns it.
    links : Links
        What is known of pairs.
    n_neighbors : int, default=20
        Neighbours that have a say in a point's label; at most about the square root of the
        number of rows, and none that is eight times as far as the second nearest.
    penalty : float, default=2.0
        Cost of a violated link of confidence one, in units of -log(share of neighbours).
    max_sweeps : int, default=20
        Largest number of rounds over all points; usually three to six are made.

    Returns
    -------
    ndarray of shape (n_samples,)
        New labels, from 0 without gaps; -1 is noise.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift import Links, refine
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [9.0], [10.0]])
    >>> refine(X, [0, 0, 1, 1, 2, 2], Links(must=[(1, 2)], cannot=[(0, 5)]), n_neighbors=2)
    array([0, 0, 0, 0, 1, 1])
    """
    data = check_array(X, dtype=[np.float64, np.float32])
    current = np.asarray(labels)
    check_consistent_length(data, current)
    links = Links.coerce(links).check(data.shape[0])
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors must be at least 1, got {n_neighbors}.")
    if not penalty >= 0:
        raise ValueError(f"penalty must be a number and not negative, got {penalty}.")
    if current.ndim != 1 or current.dtype.kind not in "iu":
        raise ValueError(
            f"labels must be a 1-D array of whole numbers, -1 for noise; got shape {current.shape} "
            f"of {current.dtype}."
        )
    if not len(links) or (current < 0).all():
        return dense(current)
    merged = merge_by_votes(current, links)
    neighbours = nearest_rows(data, n_neighbors)
    return settle(merged, links, neighbours, penalty=penalty, max_sweeps=max_sweeps)


def nearest_rows(X: Array, n_neighbors: int) -> Array:
    """Rows of the nearest neighbours of each row, itself not counted; -1 where one is too far.

    Never more than about the square root of n, and none more than eight times as far as the second
    nearest: in a handful of rows, or in a small cluster by itself, twenty neighbours would be
    mostly strangers, and the largest cluster would win every vote.
    """
    k = min(n_neighbors, int(np.ceil(np.sqrt(X.shape[0]))), X.shape[0] - 1)
    if k == 0:
        return np.empty((X.shape[0], 0), dtype=np.intp)
    distance, rows = nearest_neighbours(X, k)
    return np.where(is_local(distance), rows, -1)


def is_local(distance: Array) -> Array:
    """Which neighbours, nearest first, are at most eight times as far as the second nearest.

    All, where the second nearest is at distance nought: twins tell nothing of the scale.
    """
    scale = distance[:, min(1, distance.shape[1] - 1)][:, None]
    return (distance <= _LOCAL * scale) | (scale == 0)


def neighbours_vote(X: Array, trained: Array, labels: Array, n_neighbors: int) -> NDArray[np.int64]:
    r"""Label new rows by a vote of the nearest rows that have labels.

    Each of the ``n_neighbors`` nearest rows (at most about the square root of their number) votes
    with :math:`\exp(-(r / r_k)^2)`, r being its distance and r_k that of the farthest of them;
    rows much farther than the second nearest have no vote (`is_local`). A row that coincides with
    one that has a label gets that label.

    Parameters
    ----------
    X : ndarray of shape (m, d)
        New rows.
    trained : ndarray of shape (n, d)
        Rows with labels.
    labels : ndarray of shape (n,)
        Their labels; -1 is noise, and votes like a cluster.
    n_neighbors : int
        Rows that have a vote.

    Returns
    -------
    ndarray of shape (m,)
    """
    k = min(n_neighbors, int(np.ceil(np.sqrt(trained.shape[0]))))
    distance, rows = nearest_neighbours(trained, k, X)
    farthest = np.maximum(distance[:, -1:], np.finfo(np.float64).tiny)
    vote = np.exp(-((distance / farthest) ** 2)) * is_local(distance)
    known, code = np.unique(labels, return_inverse=True)
    found = np.empty(X.shape[0], dtype=labels.dtype)
    block = max(_MOST_VOTES // len(known), 1)
    for first in range(0, X.shape[0], block):
        part = slice(first, first + block)
        votes = np.zeros((len(rows[part]), len(known)))
        for column in range(k):
            np.add.at(votes, (np.arange(len(votes)), code[rows[part, column]]), vote[part, column])
        found[part] = known[votes.argmax(axis=1)]
    twin = distance[:, 0] == 0
    found[twin] = labels[rows[twin, 0]]
    return found.astype(np.int64)


def certain_links(links: Links) -> Links:
    """Keep the links of confidence one."""
    return Links(
        must=links.must[links.must_confidence == 1.0],
        cannot=links.cannot[links.cannot_confidence == 1.0],
    )


def merge_by_votes(labels: Array, links: Links) -> Array:
    r"""Merge clusters while links between two of them vote for it, the clearest vote first.

    A vote is the confidence of the must-links between two clusters less that of the
    cannot-links. Where there are no cannot-links at all, nothing speaks against a merger, and a
    few must-links across borders would join everything; then must-links inside stand for what is
    not said, and :math:`\sqrt{m_{aa} m_{bb}}` is taken away, the must-links that two parts of one
    cluster would have between them if links fell anywhere in it. Noise has no vote. Returns
    labels from 0 without gaps.
    """
    labels = dense(labels)
    votes = _votes(labels, links)
    into = np.arange(int(labels.max(initial=-1)) + 1)
    inside = _must_inside(labels, links) if not len(links.cannot) else np.zeros(len(into))

    def net(a: int, b: int) -> float:
        return votes[a][b] - float(np.sqrt(inside[a] * inside[b]))

    heap = [(-net(a, b), a, b) for a in votes for b in votes[a] if a < b and net(a, b) > _DRAW]
    heapq.heapify(heap)
    while heap:
        known, a, b = heapq.heappop(heap)
        if into[a] != a or into[b] != b:
            continue  # one of them is gone
        if net(a, b) != -known:  # the vote has changed since
            if _DRAW < net(a, b) < -known:
                heapq.heappush(heap, (-net(a, b), a, b))
            continue  # a vote that grew is on the heap again already
        into[b] = a
        inside[a] += inside[b] + (votes[a][b] if not len(links.cannot) else 0.0)
        votes[a].pop(b)
        for other, vote in votes.pop(b).items():
            if other == a:
                continue
            votes[other].pop(b)
            votes[a][other] = votes[other][a] = vote + votes[a].get(other, 0.0)
            if net(a, other) > _DRAW:
                heapq.heappush(heap, (-net(a, other), min(a, other), max(a, other)))
    if not into.size:
        return labels
    return dense(np.where(labels >= 0, roots(into)[labels], -1))


def _must_inside(labels: Array, links: Links) -> Array:
    """Confidence of the must-links inside each cluster."""
    ends = labels[links.must]
    inner = (ends[:, 0] == ends[:, 1]) & (ends[:, 0] >= 0)
    count = np.bincount(
        ends[inner, 0],
        weights=links.must_confidence[inner],
        minlength=int(labels.max(initial=-1)) + 1,
    )
    return count.astype(np.float64)  # of no links at all, NumPy counts in whole numbers


def _votes(labels: Array, links: Links) -> dict[int, dict[int, float]]:
    """Net votes between clusters, both ways round."""
    votes: dict[int, dict[int, float]] = {}
    for pairs, confidence, sign in (
        (links.must, links.must_confidence, 1.0),
        (links.cannot, links.cannot_confidence, -1.0),
    ):
        ends = labels[pairs]
        between = (ends[:, 0] != ends[:, 1]) & (ends >= 0).all(axis=1)
        for (a, b), vote in zip(
            ends[between].tolist(), (sign * confidence[between]).tolist(), strict=True
        ):
            for one, other in ((a, b), (b, a)):
                row = votes.setdefault(one, {})
                row[other] = row.get(other, 0.0) + vote
    return votes


class _Units(NamedTuple):
    """Points that move together, and the links between them."""

    unit: Array  # unit of each point
    member: Array  # points, unit by unit
    start: Array  # where each unit begins in ``member``
    edge: Array  # the other unit of each link, unit by unit
    weight: Array  # confidence: positive for must, negative for cannot
    edge_start: Array


def settle(
    labels: Array,
    links: Links,
    neighbours: Array,
    *,
    penalty: float = 2.0,
    max_sweeps: int = 20,
) -> Array:
    """Let points take the label that their neighbours and links agree on best.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        From 0 without gaps; -1 is noise.
    links : Links
        What is known of pairs.
    neighbours : ndarray of shape (n, k)
        Rows of the nearest neighbours of each point; -1 for none.
    penalty, max_sweeps
        As in :func:`refine`.

    Returns
    -------
    ndarray of shape (n,)
    """
    n_labels = int(labels.max(initial=-1)) + 1
    if n_labels == 0:
        return labels
    units = _units(labels, links)
    out = labels.astype(np.int64).copy()
    _sweep(
        out,
        np.ascontiguousarray(neighbours),
        units.unit,
        units.member,
        units.start,
        units.edge,
        units.weight,
        units.edge_start,
        n_labels,
        float(penalty),
        _FLOOR,
        max_sweeps,
    )
    return dense(out)


def _units(labels: Array, links: Links) -> _Units:
    """Group points that certain must-links hold together; links between groups become edges."""
    n = labels.shape[0]
    must, cannot = links.must, links.cannot
    certain = links.must_confidence == 1.0
    if certain_links(links).conflicts():
        certain = np.zeros_like(certain)  # somebody erred: let no answer bind absolutely
    ends = must[certain]
    graph = coo_array((np.ones(len(ends), dtype=np.int8), (ends[:, 0], ends[:, 1])), shape=(n, n))
    n_units, unit = connected_components(graph, directed=False)
    soft = unit[must[~certain]]
    pairs = np.vstack([soft, unit[cannot]])
    weight = np.concatenate([links.must_confidence[~certain], -links.cannot_confidence])
    apart = pairs[:, 0] != pairs[:, 1]
    pairs, weight = pairs[apart], weight[apart]
    one, other = np.vstack([pairs, pairs[:, ::-1]]).T
    weight = np.concatenate([weight, weight])
    order = np.argsort(one, kind="stable")
    return _Units(
        unit=unit.astype(np.int64),
        member=np.argsort(unit, kind="stable"),
        start=offsets(unit, n_units),
        edge=other[order].astype(np.int64),
        weight=weight[order],
        edge_start=offsets(one, n_units),
    )


@jit
def _sweep(  # type: ignore[no-untyped-def]
    labels,
    neighbours,
    unit,
    member,
    start,
    edge,
    weight,
    edge_start,
    n_labels,
    penalty,
    floor,
    max_sweeps,
):
    """Run iterated conditional modes over units, in place.

    ``saved[c]`` is what label c saves against a label that nothing speaks for; only labels that
    something speaks for, or against, are touched, so a unit costs its neighbours and links.
    """
    k = neighbours.shape[1]
    n_units = start.shape[0] - 1
    saved = np.zeros(n_labels)
    count = np.zeros(n_labels, np.int64)
    seen = np.zeros(n_labels, np.bool_)
    touched = np.empty(n_labels, np.int64)
    unit_label = np.full(n_units, -1, np.int64)
    for i in range(labels.shape[0]):
        if unit_label[unit[i]] < 0:
            unit_label[unit[i]] = labels[i]
    for _ in range(max_sweeps):
        changed = 0
        for u in range(n_units):
            if unit_label[u] < 0:
                wanted = start[u + 1] - start[u] > 1
                for e in range(edge_start[u], edge_start[u + 1]):
                    wanted = wanted or weight[e] > 0
                if not wanted:
                    continue  # noise that no must-link concerns stays noise
            n_touched = 0
            for m in range(start[u], start[u + 1]):
                i = member[m]
                for q in range(k):
                    c = labels[neighbours[i, q]] if neighbours[i, q] >= 0 else -1
                    if c >= 0:
                        count[c] += 1
                        if not seen[c]:
                            seen[c] = True
                            touched[n_touched] = c
                            n_touched += 1
                for q in range(k):
                    c = labels[neighbours[i, q]] if neighbours[i, q] >= 0 else -1
                    if c >= 0 and count[c] > 0:
                        saved[c] += np.log(count[c] / floor)
                        count[c] = 0
            for e in range(edge_start[u], edge_start[u + 1]):
                c = unit_label[edge[e]]
                if c >= 0:
                    saved[c] += penalty * weight[e]
                    if not seen[c]:
                        seen[c] = True
                        touched[n_touched] = c
                        n_touched += 1
            best = unit_label[u]
            best_saved = saved[best] if best >= 0 else -np.inf
            for t in range(n_touched):
                c = touched[t]
                if saved[c] > best_saved + 1e-12:
                    best = c
                    best_saved = saved[c]
            for t in range(n_touched):
                saved[touched[t]] = 0.0
                seen[touched[t]] = False
            unit_label[u] = best
            for m in range(start[u], start[u + 1]):
                if labels[member[m]] != best:
                    labels[member[m]] = best
                    changed += 1
        if changed == 0:
            break


def absorb_dust(labels: Array, neighbours: Array, min_size: int) -> Array:
    """Give the rows of clusters smaller than ``min_size`` to their neighbours' clusters.

    A row takes the label that most of its neighbours outside dust have. Rows whose neighbours
    are all dust wait for the next round; what no round reaches stays as it is.
    """
    labels = dense(labels)
    sizes = np.bincount(labels[labels >= 0])
    if not sizes.size:
        return labels
    dust = (labels >= 0) & (sizes[labels] < min_size)
    if dust.all():
        return labels
    while dust.any():
        rows = np.flatnonzero(dust)
        near = neighbours[rows]
        around = np.where((near < 0) | dust[near], -1, labels[near])
        vote = np.array([majority(row[row >= 0]) for row in around])
        if (vote < 0).all():
            break
        labels[rows[vote >= 0]] = vote[vote >= 0]
        dust[rows[vote >= 0]] = False
    return dense(labels)


def hold(labels: Array, closure: Closure, neighbours: Array) -> Array:
    """Make every link hold: must-linked rows share a label, cannot-linked rows do not.

    Components of must-links take the label of most of their rows. Of two cannot-linked
    components with the same label, the one with more such quarrels (then the smaller) moves: to
    the label that its rows and their neighbours favour among those free for it, or to a new one.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        -1 is noise.
    closure : Closure
        Components of must-links, and which of them are cannot-linked.
    neighbours : ndarray of shape (n, k)
        Rows of the nearest neighbours of each point.

    Returns
    -------
    ndarray of shape (n,)
        Labels from 0 without gaps, with no link violated.
    """
    labels = dense(labels).copy()
    foes: dict[int, list[int]] = {}
    for a, b in closure.component_cannot.tolist():
        foes.setdefault(a, []).append(b)
        foes.setdefault(b, []).append(a)
    linked = sorted(set(np.flatnonzero(closure.sizes > 1).tolist()) | set(foes))
    rows = {c: closure.members(c) for c in linked}
    label = {c: majority(labels[rows[c]][labels[rows[c]] >= 0]) for c in linked}
    n_labels = int(labels.max(initial=-1)) + 1
    quarrels = {
        c: sum(label[c] >= 0 and label[f] == label[c] for f in foes.get(c, ())) for c in linked
    }
    fixed: dict[int, int] = {}
    for c in sorted(linked, key=lambda c: (quarrels[c], -len(rows[c]), c)):
        taken = {fixed[f] for f in foes.get(c, ()) if fixed.get(f, -1) >= 0}
        homeless = label[c] < 0 and len(rows[c]) > 1  # must-linked noise shares a new home
        if label[c] in taken or homeless:
            near = neighbours[rows[c]]
            around = np.concatenate([labels[rows[c]], labels[near[near >= 0]]])
            votes = np.bincount(around[around >= 0], minlength=n_labels)
            free = [g for g in np.argsort(-votes, kind="stable").tolist() if g not in taken]
            label[c] = free[0] if free and votes[free[0]] > 0 else n_labels
            n_labels = max(n_labels, label[c] + 1)
        fixed[c] = label[c]
    for c in linked:
        labels[rows[c]] = label[c]
    return dense(labels)
