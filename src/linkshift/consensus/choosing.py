"""Which candidate: what other families find too, what the graph bears out, what links say."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.metrics import euclidean_distances

from linkshift._core.arrays import Array, Progress
from linkshift._core.labels import together_by_chance
from linkshift._core.progress import stages, tell
from linkshift.consensus._loops import pair_agreement
from linkshift.consensus.candidates import Candidates, candidates, counts, linked_candidates
from linkshift.consensus.propagation import bent_by_links
from linkshift.consensus.small import small_groups
from linkshift.links import Groups, Links
from linkshift.spaces.graph import NeighbourGraph

__all__ = ["WORK", "Consensus", "agreement", "consensus", "evidence", "modularity", "quality"]

# Weights were fitted on the half of the benchmark's sets that is called seen
# (python -m benchmarks.run auto).
_AGREEMENT = 27.0
_LINKS = 6.0
_MANY_COLUMNS = 8  # from which on graphs tell more, and classes are more
_FEW_COLUMNS_WEIGHTS = 8.0, -0.6  # of modularity, and of the binary logarithm of the count
_MANY_COLUMNS_WEIGHTS = 22.0, 1.2
_BLIND = 0.5  # share of a difference in quality that small groups are spared: no graph shows them
_ROWS_EACH = 6  # of small groups, on average, at most
_NEAR = 40  # neighbours that people are asked about, and whose links say little of far ones
_LINKS_AT_A_TIME = 512
_ENOUGH = 4  # must-links that a cannot-link is enough for
_DOUBT = 2.0  # links that are counted before any is given, of each kind and answer


class _Work(NamedTuple):
    """How long each stage takes, roughly, of 10,000 rows in 50 columns."""

    candidates: float = 9.0
    links: float = 7.0
    choice: float = 3.0
    labels: float = 1.0  # of the rows that were not looked at


WORK = _Work()


def agreement(found: Candidates, judges: Array | None = None) -> Array:
    """How well other families find each candidate: the median over them of their best match.

    A match is the adjusted Rand index. Structure that is there is found by compact clusters, hills
    and communities alike; what one way of looking makes up is found by it alone. Families that
    links have made would agree with one another on what few links say: where ``judges`` are named,
    only those families are asked.
    """
    pairs = pair_agreement(found.labels, found.sizes)
    judges = np.unique(found.family) if judges is None else judges
    best = np.stack([pairs[:, found.family == f].max(axis=1) for f in judges])
    best[found.family[None] == judges[:, None]] = np.nan
    median: Array = np.nanmedian(best, axis=0)
    return median


def modularity(labels: Array, weights: sparse.csr_matrix) -> float:
    """Weight of edges inside clusters less what chance would put there, as a share of all."""
    return _modularity(labels, weights.tocoo(), np.asarray(weights.sum(axis=1)).ravel())


def _modularity(labels: Array, edges: sparse.coo_matrix, degree: Array) -> float:
    total = edges.data.sum()
    volume = np.bincount(labels, weights=degree) / total
    inside = edges.data[labels[edges.row] == labels[edges.col]].sum() / total
    return float(inside - (volume**2).sum())


def quality(found: Candidates, weights: sparse.csr_matrix, agreed: Array, n_columns: int) -> Array:
    r"""Score of each candidate without links.

    .. math:: 27 \, a + 8 \, Q - 0.6 \log_2 k \quad\text{or}\quad 27 \, a + 22 \, Q + 1.2 \log_2 k

    with a the agreement, Q the modularity and k the number of clusters, for up to seven columns,
    or from eight on.
    """
    edges, degree = weights.tocoo(), np.asarray(weights.sum(axis=1)).ravel()
    q = np.array([_modularity(labels, edges, degree) for labels in found.labels])
    many = n_columns >= _MANY_COLUMNS
    of_graph, of_count = _MANY_COLUMNS_WEIGHTS if many else _FEW_COLUMNS_WEIGHTS
    return np.asarray(_AGREEMENT * agreed + of_graph * q + of_count * np.log2(found.sizes))


def evidence(found: Candidates, links: Links, n_far: float = 0.0) -> Array:
    r"""Say what links tell of each candidate: their adjusted Rand index with its clusters.

    .. math:: 6 \sqrt{N} \,
        \frac{2 (m_s c_d - m_d c_s)}{(m_s + m_d)(m_d + c_d) + (m_s + c_s)(c_s + c_d)}

    with m must-links and c cannot-links whose rows share a cluster (s) or do not (d): what the
    index of the candidate with the true classes would be if links were all pairs of rows. Links
    count by their confidence, which sum up to N, and two more are added to each of the four
    counts, so that few links say little. A group of m rows that are apart counts as m - 1
    cannot-links, which its pairs share.

    Must-links alone would speak for one large cluster. Where f of them are between rows that are no
    neighbours (`far_links`), f - 4 c pairs of any two rows are taken for cannot-links, of which a
    candidate holds together as many as its clusters make of chance. Neighbours are together by
    more than chance in any candidate, and ask for no such comparison.
    """
    must = links.must, links.must_confidence
    cannot = links.cannot, links.cannot_confidence
    m_s, m_d = (_DOUBT + _counts(found.labels, *must, together) for together in (True, False))
    c_s, c_d = (_DOUBT + _counts(found.labels, *cannot, together) for together in (True, False))
    groups = links._pairs.apart
    grouped, broken = float((groups.sizes - 1).sum()), _broken(found.labels, groups)
    c_s, c_d = c_s + broken, c_d + (grouped - broken)
    n_must = links.must_confidence.sum()
    any_two = max(n_far - _ENOUGH * (links.cannot_confidence.sum() + grouped), 0.0)
    if any_two:
        by_chance = np.array([together_by_chance(one) for one in found.labels])
        c_s, c_d = c_s + any_two * by_chance, c_d + any_two * (1 - by_chance)
    index = 2 * (m_s * c_d - m_d * c_s) / ((m_s + m_d) * (m_d + c_d) + (m_s + c_s) * (c_s + c_d))
    weight = np.sqrt(n_must + links.cannot_confidence.sum() + grouped)
    return np.asarray(_LINKS * weight * index)


def far_links(X: Array, links: Links) -> float:
    """Add up must-links between rows neither of which is among the nearest of the other.

    The nearest are an eighth of all rows, 40 at most.
    """
    near, far = min(_NEAR, len(X) // 8), np.ones(len(links.must), dtype=bool)
    for start in range(0, len(far), _LINKS_AT_A_TIME):
        some = slice(start, start + _LINKS_AT_A_TIME)
        for ends in (links.must[some], links.must[some, ::-1]):
            distance = euclidean_distances(X[ends[:, 0]], X)
            apart = distance[np.arange(len(ends)), ends[:, 1]]
            far[some] &= (distance < apart[:, None]).sum(axis=1) > near
    return float(links.must_confidence[far].sum())


def _counts(labels: Array, pairs: Array, confidence: Array, together: bool) -> Array:
    same = labels[:, pairs[:, 0]] == labels[:, pairs[:, 1]]
    count: Array = (same == together) @ confidence
    return count


def _broken(labels: Array, groups: Groups) -> Array:
    """Weight of the pairs of groups that share a cluster, by candidate; a pair of m has 2 / m."""
    found = np.zeros(len(labels))
    if not len(groups):
        return found
    share, width = 2.0 / groups.sizes, int(labels.max(initial=0)) + 1
    for i, candidate in enumerate(labels):
        key, count = np.unique(groups.group * width + candidate[groups.member], return_counts=True)
        found[i] = (share[key // width] * (count * (count - 1) / 2)).sum()
    return found


class Consensus(NamedTuple):
    """The candidate that was chosen."""

    labels: Array
    agreement: float  # with other families
    n_candidates: int
    reach: float | None = None  # of small groups: their largest average distance


def consensus(
    X: Array,
    graph: NeighbourGraph,
    links: Links,
    *,
    unlinked: Candidates | None = None,
    n_clusters: int | None = None,
    max_clusters: int | None = None,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> Consensus:
    """Choose a partition by quality and, where there are links, by their evidence.

    Small groups have a quality halfway between their own and that of the best other candidate;
    where they are more than other families go to, of the best that no link has a part in. Clusters
    of a graph that links have bent are too few there, and yet keep to those very links. A number
    of clusters, or the largest, is what the caller knows; both above one. Candidates that no link
    has a part in may be at hand from an earlier call.
    """
    how: dict[str, Any] = {"also": n_clusters, "n_threads": n_threads}
    made = 0.0 if unlinked is None else WORK.candidates
    first, second, last = stages(
        progress, WORK.candidates - made, WORK.links * bool(len(links)), WORK.choice
    )
    found = candidates(X, graph, progress=first, **how) if unlinked is None else unlinked
    judges, n_unlinked = np.unique(found.family), len(found.labels)
    if len(links):
        bending, making = stages(second, 1, 1)
        bent = bent_by_links(graph.weights, links)
        tell(bending, 1, 1)
        found += linked_candidates(bent, progress=making, **how)
    small = small_groups(X, links, n_clusters)
    tell(last, 1, 2)
    others_go_to = counts(len(X))[-1]
    # With fewer clusters they are not small, and families that look at graphs know better.
    least = others_go_to if n_clusters else min(others_go_to, len(X) // _ROWS_EACH)
    if small is not None and small.labels.max() >= least:
        found += Candidates(small.labels[None], np.zeros(1, dtype=np.int64))
    else:
        small = None
    agreed = agreement(found, judges)
    worth = quality(found, graph.weights, agreed, X.shape[1])
    score = worth.copy()
    if len(links):
        # With cannot-links enough, evidence has no use for far ones: they are not looked for.
        alone = links.must_confidence.sum() > _ENOUGH * links.cannot_confidence.sum()
        score += evidence(found, links, far_links(X, links) if alone else 0.0)
    most = n_clusters or max_clusters or found.sizes.max()
    score[(found.sizes > most) | (found.sizes < (n_clusters or 2))] = -np.inf
    if small is not None:
        rivals = n_unlinked if found.sizes[-1] > others_go_to else len(score) - 1
        rival = int(score[:rivals].argmax())
        ahead = score[-1] + _BLIND * (worth[rival] - worth[-1]) > score[rival]
        score[-1] = np.inf if ahead else -np.inf
    best = int(score.argmax())
    tell(last, 2, 2)
    reach = small.reach if small is not None and best == len(score) - 1 else None
    return Consensus(found.labels[best], float(agreed[best]), len(found.labels), reach)
