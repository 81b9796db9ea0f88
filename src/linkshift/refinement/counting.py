r"""Clusters brought to a number that is known.

Too many are merged, the pair first whose merger raises the sum of squares within clusters least
(Ward 1963),

.. math:: \Delta_{ab} = \frac{n_a n_b}{n_a + n_b} \|\bar x_a - \bar x_b\|^2,

among pairs that no certain cannot-link keeps apart. Where links keep all pairs apart, the smallest
cluster is dissolved: what must-links hold together in it goes, as one, to the nearest cluster that
is free for it. Of too few, the cluster with the largest sum of squares is split by 2-means.
"""

from __future__ import annotations

import heapq

import numpy as np

from linkshift._core.arrays import Array, first_of_equal_rows
from linkshift._core.labels import count_clusters, dense, majority
from linkshift._core.messages import Advice, Refusal, warn
from linkshift._core.text import counted
from linkshift.links import ClosedLinks, Closure, Links, two_sided
from linkshift.refinement._loops import cheapest
from linkshift.refinement.holding import agreeing
from linkshift.refinement.places import cut
from linkshift.shift.neighbours import nearest_neighbours

__all__ = ["check_count", "closed_for", "to_count"]

_NEAREST = 5  # rows of a cluster that say how far it is
_ROUNDS = 50  # of 2-means


def check_count(n_clusters: int | None, max_clusters: int | None) -> None:
    """Refuse two answers to one question."""
    if n_clusters is not None and max_clusters is not None:
        raise Refusal(
            "n_clusters says how many clusters there are, max_clusters at most how many.",
            "Give one of them.",
            parameter="max_clusters",
            value=max_clusters,
        )


def closed_for(
    closed: ClosedLinks, n_clusters: int | None, max_clusters: int | None
) -> ClosedLinks:
    """Close links for a number of clusters: of two, two cannot-links make a must-link."""
    most = max_clusters if n_clusters is None else n_clusters
    parameter = "n_clusters" if max_clusters is None else "max_clusters"
    if most == 1 and len(closed.certain.cannot):
        raise Refusal(
            "One cluster is too few: there are cannot-links.",
            "Give a larger number, or leave the cannot-links out.",
            parameter=parameter,
            value=1,
        )
    if most is not None and not closed.contradictory:
        needed = int(closed.closure.groups.sizes.max(initial=0))
        if needed > most:
            raise Refusal(
                f"{counted(most, 'cluster')} {'is' if most == 1 else 'are'} too few: {needed:,} "
                "rows of one group are all apart from each other.",
                f"Give a number of {needed:,} or more, or leave the groups out.",
                parameter=parameter,
                value=most,
            )
    return two_sided(closed) if most == 2 else closed


def to_count(
    X: Array,
    labels: Array,
    closed: ClosedLinks,
    *,
    exactly: int | None = None,
    at_most: int | None = None,
    weight: Array | None = None,
) -> Array:
    """Bring clusters to a number, and break no certain link that holds.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The data.
    labels : ndarray of shape (n,)
        -1 is noise, which stays noise and is not counted.
    closed : ClosedLinks
        The links.
    exactly, at_most : int, default=None
        The number, or its bound; one of them, or neither: then labels come back as they are.
    weight : ndarray of shape (n,), default=None
        Weight of each row in sums of squares, means, sizes and votes.

    Returns
    -------
    ndarray of shape (n,)
        Labels from 0 without gaps. Where links leave no way that was found to fewer clusters, a
        warning says how many there are.
    """
    most = at_most if exactly is None else exactly
    if most is None:
        return dense(labels)
    # Of groups that have no more members than clusters are asked for, the pairs are not too many.
    points, closure = X.astype(np.float64), agreeing(closed).expanded()
    labels = _with_units(dense(labels), weight, closure)
    if weight is None:
        weight = np.ones(len(labels))
    else:  # rows without weight follow, but a cluster of such rows needs a mean
        weight = np.maximum(weight, np.finfo(np.float64).eps * weight.max(initial=1.0))
    labels = _fewer(points, weight, labels, closure, most)
    found = count_clusters(labels)
    if found > most:
        warn(
            Advice(
                f"{counted(found, 'cluster')} remain, not {most}: cannot-links keep every two of "
                "them apart, and no other way was found.",
                "Give a larger number of clusters, or remove some of the cannot-links.",
                parameter="n_clusters" if at_most is None else "max_clusters",
                value=most,
            )
        )
    if exactly is not None and found < exactly:
        labels = _more(points, weight, labels, closure, exactly)
    return labels


def _with_units(labels: Array, weight: Array | None, closure: Closure) -> Array:
    """Give what must-links hold together the label of most of its rows."""
    for u in np.flatnonzero(closure.sizes > 1).tolist():
        rows = closure.members(u)
        known = rows[labels[rows] >= 0]
        labels[rows] = majority(labels[known], None if weight is None else weight[known])
    return dense(labels)


def _means(X: Array, weight: Array, group: Array) -> tuple[Array, Array]:
    """Weight and mean of each group."""
    size = np.bincount(group, weights=weight)
    mean = np.zeros((len(size), X.shape[1]))
    np.add.at(mean, group, weight[:, None] * X)
    return size, mean / size[:, None]


# Fewer -------------------------------------------------------------------------------------------


def _fewer(X: Array, weight: Array, labels: Array, closure: Closure, most: int) -> Array:
    """Merge, and dissolve what cannot be merged."""
    while count_clusters(labels) > most:
        merged = _merge(X, weight, labels, _foes(labels, closure), most)
        if count_clusters(merged) > most:
            merged = _dissolve(X, weight, merged, closure)
        if count_clusters(merged) == count_clusters(labels):
            break
        labels = merged
    return labels


def _foes(labels: Array, closure: Closure) -> list[set[int]]:
    """Clusters that certain cannot-links keep from each."""
    foes: list[set[int]] = [set() for _ in range(count_clusters(labels))]
    row = np.unique(closure.component, return_index=True)[1]
    ends = labels[row[closure.component_cannot]]
    for a, b in ends[(ends >= 0).all(axis=1) & (ends[:, 0] != ends[:, 1])].tolist():
        foes[a].add(b)
        foes[b].add(a)
    return foes


def _merge(X: Array, weight: Array, labels: Array, foes: list[set[int]], most: int) -> Array:
    """Merge the cheapest pair of clusters that may be merged, until there are few enough.

    Every cluster knows its cheapest partner. Mergers make the others' no cheaper (Ward's criterion
    is reducible), so what stands first in the heap is the cheapest of all as soon as it is fresh.
    """
    inside = labels >= 0
    n = count_clusters(labels)
    size, mean = _means(X[inside], weight[inside], labels[inside])
    alive, into, version = np.ones(n, dtype=bool), np.arange(n), np.zeros(n, dtype=np.int64)

    def entry(a: int) -> tuple[float, int, int, int, int]:
        free = alive.copy()
        free[[a, *foes[a]]] = False
        cost, b = cheapest(mean, size, free, a)
        return cost, a, b, int(version[a]), int(version[b])

    heap = [entry(a) for a in range(n)]
    heapq.heapify(heap)
    left = n
    while heap and left > most:
        cost, a, b, seen_a, seen_b = heapq.heappop(heap)
        if not alive[a] or version[a] != seen_a or cost == np.inf:
            continue
        if not alive[b] or version[b] != seen_b:
            heapq.heappush(heap, entry(a))
            continue
        a, b = min(a, b), max(a, b)
        mean[a] = (size[a] * mean[a] + size[b] * mean[b]) / (size[a] + size[b])
        size[a] += size[b]
        alive[b] = False
        version[a] += 1
        into[into == b] = a
        for foe in foes[b]:
            foes[foe].discard(b)
            foes[foe].add(a)
        foes[a] |= foes[b]
        left -= 1
        heapq.heappush(heap, entry(a))
    return dense(np.where(inside, into[labels], -1))


def _dissolve(X: Array, weight: Array, labels: Array, closure: Closure) -> Array:
    """Give the rows of one cluster to others, of the smallest that links allow to go."""
    size = np.bincount(labels[labels >= 0], weight[labels >= 0])
    foes: dict[int, list[int]] = {}
    for a, b in closure.component_cannot.tolist():
        foes.setdefault(a, []).append(b)
        foes.setdefault(b, []).append(a)
    row = np.unique(closure.component, return_index=True)[1]
    now = labels[row]  # of each unit
    for z in np.argsort(size, kind="stable").tolist():
        rows = np.flatnonzero(labels == z)
        far, unit = _distances(X, weight, labels, rows, z), closure.component[rows]
        way = {
            u: np.average(far[unit == u], axis=0, weights=weight[rows][unit == u])
            for u in np.unique(unit).tolist()
        }
        home = now.copy()
        home[list(way)] = -1
        if _settled(way, z, home, foes):
            return dense(np.where(labels >= 0, home[closure.component], -1))
    return labels


def _settled(way: dict[int, Array], z: int, home: Array, foes: dict[int, list[int]]) -> bool:
    """Find a cluster for every unit of z, the nearest that is free; whether there is one.

    Whoever has the fewest ways to go, goes first.
    """
    taken = {u: {int(home[f]) for f in foes.get(u, ())} | {z} for u in way}
    waiting = set(way)
    while waiting:
        u = max(waiting, key=lambda u: (len(taken[u]), -u))
        order = [c for c in np.argsort(way[u], kind="stable").tolist() if c != z]
        free = [c for c in order if c not in taken[u]]
        if free:
            home[u] = free[0]
        elif not _swap(u, home, foes, order):
            return False
        waiting.discard(u)
        for v in waiting & set(foes.get(u, ())) if free else waiting:
            taken[v] = {int(home[f]) for f in foes.get(v, ())} | {z}
    return True


def _distances(X: Array, weight: Array, labels: Array, rows: Array, z: int) -> Array:
    """Mean distance of some rows to the nearest few of every cluster but their own."""
    far = np.full((len(rows), count_clusters(labels)), np.inf)
    for c in range(far.shape[1]):
        if c != z:
            there = np.flatnonzero(labels == c)
            distance, near = nearest_neighbours(X[there], min(_NEAREST, len(there)), X[rows])
            taken = cut(weight[there[near]], float(_NEAREST))
            far[:, c] = np.average(distance, axis=1, weights=taken)
    return far


def _swap(u: int, home: Array, foes: dict[int, list[int]], clusters: list[int]) -> bool:
    """Make a cluster free for a unit by swapping two labels along a chain of cannot-links (Kempe).

    The chain starts at those who are in the way in cluster a, and goes on through a and b. It must
    not reach others of those that the unit is cannot-linked to.
    """
    for a in clusters:
        for b in clusters:
            chain = {f for f in foes[u] if home[f] == a}
            rest = list(chain)
            while rest and a != b:
                for f in foes[rest.pop()]:
                    if home[f] in (a, b) and f not in chain:
                        chain.add(f)
                        rest.append(f)
            if a == b or any(home[f] == b for f in foes[u] if f in chain):
                continue
            members = list(chain)
            home[members] = a + b - home[members]
            home[u] = a
            return True
    return False


# More --------------------------------------------------------------------------------------------


def _more(X: Array, weight: Array, labels: Array, closure: Closure, exactly: int) -> Array:
    """Split the widest cluster in two until there are enough."""
    together = _together(X, labels, closure)
    groups = len(np.unique(together[labels >= 0]))
    if exactly > groups:
        raise Refusal(
            f"{counted(exactly, 'cluster')} are asked for, but equal rows and rows that must-links "
            f"hold together make {counted(groups, 'group')}.",
            f"Give n_clusters of at most {groups}, or remove must-links.",
            command=f"Give --clusters of at most {groups}, or remove must-links.",
            parameter="n_clusters",
            value=exactly,
        )
    labels = labels.copy()
    width: dict[int, float] = {}
    while (found := count_clusters(labels)) < exactly:
        for c in set(range(found)) - set(width):
            rows = np.flatnonzero(labels == c)
            one = len(np.unique(together[rows])) == 1
            _, mean = _means(X[rows], weight[rows], np.zeros(len(rows), dtype=np.intp))
            squares = weight[rows] @ ((X[rows] - mean) ** 2).sum(axis=1)
            width[c] = -1.0 if one else float(squares)
        widest = max(width, key=lambda c: (width[c], -c))
        rows = np.flatnonzero(labels == widest)
        labels[rows[_halved(X[rows], weight[rows], together[rows])]] = found
        del width[widest]
    return labels


def _together(X: Array, labels: Array, closure: Closure) -> Array:
    """Rows that no split may part: of one cluster, equal or held by must-links."""
    n = len(labels)
    first = np.unique(closure.component, return_index=True)[1][closure.component]
    equal = first_of_equal_rows(X)
    must = np.stack([np.tile(np.arange(n), 2), np.concatenate([first, equal])], axis=1)
    must = must[labels[must[:, 0]] == labels[must[:, 1]]]
    must = must[must[:, 0] != must[:, 1]]
    return ClosedLinks(Links(must=must), n).component


def _halved(X: Array, weight: Array, group: Array) -> Array:
    """Which rows go to the second of two parts: 2-means of groups, from two that are far apart."""
    code = np.unique(group, return_inverse=True)[1]
    size, mean = _means(X, weight, code)

    def far(point: Array) -> Array:
        return np.asarray(((mean - point) ** 2).sum(axis=1))

    start = int(far(np.average(mean, axis=0, weights=size)).argmax())
    centres = mean[[start, int(far(mean[start]).argmax())]]
    side = np.zeros(len(size), dtype=bool)
    for _ in range(_ROUNDS):
        new = far(centres[1]) < far(centres[0])
        if new.all() or not new.any() or (new == side).all():
            break
        side = new
        centres = np.stack(
            [np.average(mean[side == one], axis=0, weights=size[side == one]) for one in (0, 1)]
        )
    if not side.any():  # all groups have one mean
        side[-1] = True
    return np.asarray(side[code])
