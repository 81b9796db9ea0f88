"""Clusters vote: must-links and cannot-links between two of them say whether they merge."""

from __future__ import annotations

import heapq
from collections import Counter

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.disjoint import roots
from linkshift._core.labels import dense
from linkshift.links import Links

__all__ = ["merge_by_votes"]

# Of the must-links expected between two parts of one class, those that two classes show, because
# clusters are not pure. Fitted by ARI on near and on random pairs.
_IMPURITY = 0.15
_WEIGHT = float(np.log(1.0 / _IMPURITY))  # of a link: a cannot-link takes a must-link back
_PRIOR = 1.0  # two clusters are two until something is said


def merge_by_votes(labels: Array, links: Links) -> Array:
    r"""Merge clusters while links say that two of them are one, the clearest case first.

    Must-links between two clusters are compared with those to be expected if the clusters were
    parts of one, :math:`e_{ab} = 2 \sqrt{l_a l_b}`: links fall anywhere in it, and :math:`m_{aa}`
    of them fell within the one part, :math:`m_{bb}` within the other. Few say little:
    :math:`l_a = \max(m_{aa} - \sqrt{m_{aa}}, 0)` is the count less its standard deviation. Clusters
    of different classes have some, too, a share :math:`\rho` of these. The logarithm of the two
    (Poisson) likelihoods' ratio, less what cannot-links say,

    .. math:: s_{ab} = (m_{ab} - c_{ab}) \log \tfrac{1}{\rho} - (1 - \rho)\, e_{ab} - \pi,

    must be positive. m and c are sums of confidences, :math:`\rho = 0.15, \pi = 1`. No merger
    breaks more cannot-links than it mends must-links. Rows of a group that are apart count as
    cannot-links, pair by pair. Noise has no vote. Returns labels from 0 without gaps.
    """
    labels = dense(labels)
    into = np.arange(int(labels.max(initial=-1)) + 1)
    if not into.size:
        return labels
    inside, between = _sums(labels, links, len(into))
    members = _members(labels, links, len(into))

    def score(a: int, b: int) -> float:
        must, cannot = between[a][b]
        if members is not None and must > cannot:
            few, many = sorted((members[a], members[b]), key=len)
            cannot += sum(count * many[group] for group, count in few.items() if group in many)
        least = [max(inside[c] - float(np.sqrt(inside[c])), 0.0) for c in (a, b)]
        expected = 2.0 * float(np.sqrt(least[0] * least[1]))
        return _WEIGHT * (must - cannot) - (1.0 - _IMPURITY) * expected - _PRIOR

    heap = [(-score(a, b), a, b) for a in between for b in between[a] if a < b]
    heap = [entry for entry in heap if entry[0] < 0]
    heapq.heapify(heap)
    while heap:
        known, a, b = heapq.heappop(heap)
        if into[a] != a or into[b] != b:
            continue  # one of them is gone
        now = score(a, b)
        if now != -known:  # links inside have grown, or those between
            if 0 < now < -known:
                heapq.heappush(heap, (-now, a, b))
            continue  # a score that grew is on the heap again already
        if len(between[a]) < len(between[b]):
            a, b = b, a
        into[b] = a
        if members is not None:
            members[a].update(members[b])
        inside[a] += inside[b] + between[a].pop(b)[0]
        for other, (must, cannot) in between.pop(b).items():
            if other == a:
                continue
            between[other].pop(b)
            more = between[a].get(other, (0.0, 0.0))
            between[a][other] = between[other][a] = must + more[0], cannot + more[1]
            if score(a, other) > 0:
                heapq.heappush(heap, (-score(a, other), min(a, other), max(a, other)))
    first = np.arange(len(into))  # merged clusters stand where their first one stood
    np.minimum.at(first, roots(into), np.arange(len(into)))
    return dense(np.where(labels >= 0, first[roots(into)][labels], -1))


def _members(labels: Array, links: Links, n_clusters: int) -> list[Counter[int]] | None:
    """Rows that each cluster has of each group whose rows are apart; None without groups."""
    groups = links._pairs.apart
    if not len(groups):
        return None
    found: list[Counter[int]] = [Counter() for _ in range(n_clusters)]
    where = labels[groups.member]
    for cluster, group in zip(where.tolist(), groups.group.tolist(), strict=True):
        if cluster >= 0:
            found[cluster][group] += 1
    return found


def _sums(
    labels: Array, links: Links, n_clusters: int
) -> tuple[Array, dict[int, dict[int, tuple[float, float]]]]:
    """Confidence of must-links in each cluster; of must- and cannot-links between any two."""
    inside = np.zeros(n_clusters)
    between: dict[int, dict[int, tuple[float, float]]] = {}
    for pairs, confidence, must in (
        (links.must, links.must_confidence, True),
        (links.cannot, links.cannot_confidence, False),
    ):
        ends = labels[pairs]
        known = (ends >= 0).all(axis=1)
        inner = known & (ends[:, 0] == ends[:, 1])
        if must:
            np.add.at(inside, ends[inner, 0], confidence[inner])
        across = known & ~inner
        for (a, b), sure in zip(ends[across].tolist(), confidence[across].tolist(), strict=True):
            old = between.get(a, {}).get(b, (0.0, 0.0))
            new = (old[0] + sure, old[1]) if must else (old[0], old[1] + sure)
            between.setdefault(a, {})[b] = between.setdefault(b, {})[a] = new
    return inside, between
