"""Clusters vote: must-links and cannot-links between two of them say whether they merge."""

from __future__ import annotations

import heapq

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.disjoint import roots
from linkshift._core.labels import dense
from linkshift.links import Links

__all__ = ["merge_by_votes"]

_DRAW = 1e-9  # confidences that should cancel may leave this much


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
