"""What if: where a row would be without a link."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np

from linkshift._core.arrays import Array, Progress
from linkshift.explain.evidence import Evidence, Refit
from linkshift.explain.explanation import Counterfactual, Kind, LinkRole, Outcome, Pair
from linkshift.explain.roles import listed_links
from linkshift.links import Links

__all__ = ["counterfactuals", "to_leave_out", "where_it_goes"]


def to_leave_out(
    row: int, links: Links, roles: Sequence[LinkRole], evidence: Evidence
) -> list[tuple[Kind, tuple[Pair, ...]]]:
    """Links to ask about: those that act, and where all do, then the others by their nearness.

    A link goes with those that say the same, which would stand in for it.
    """
    if evidence.refit is None:
        return []
    first = [(role.kind, (role.pair, *role.alike)) for role in roles]
    if not evidence.others:
        return first
    asked = {(kind, pair) for kind, pairs in first for pair in pairs}
    rest = [(kind, pair) for kind, pair, _ in listed_links(links) if (kind, pair) not in asked]
    if not rest:
        return first
    with np.errstate(over="ignore"):  # what is that far is last, however far
        away = np.linalg.norm(evidence.points - evidence.points[row], axis=1)
    nearness = away[np.array([pair for _, pair in rest])].min(axis=1)
    order = np.argsort(nearness, kind="stable").tolist()
    return first + [(rest[i][0], (rest[i][1],)) for i in order]


def counterfactuals(
    row: int,
    labels: Array,
    links: Links,
    wanted: Sequence[tuple[Kind, tuple[Pair, ...]]],
    refit: Callable[[Links], Refit] | None,
    progress: Progress | None,
) -> list[Counterfactual]:
    """Fit again without each of some links and what says the same."""
    cases = []
    if progress is not None and wanted:
        progress(0, len(wanted))
    for done, (kind, (pair, *others)) in enumerate(wanted, start=1):
        alike = tuple(others)
        assert refit is not None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a fit that nobody asked to keep
                then, note = refit(links.remove(**{kind: [pair, *alike]}))
        except ValueError as error:
            cases.append(Counterfactual(kind, pair, "unfit", (), note=str(error), alike=alike))
        else:
            outcome, clusters = where_it_goes(row, labels, then)
            size = int((then == then[row]).sum()) if then[row] != -1 else None
            n_clusters = int(np.unique(then[then != -1]).size)
            cases.append(
                Counterfactual(kind, pair, outcome, clusters, size, n_clusters, note, alike)
            )
        if progress is not None:
            progress(done, len(wanted))
    return cases


def where_it_goes(row: int, now: Array, then: Array) -> tuple[Outcome, tuple[int, ...]]:
    """Tell in terms of the clusters now where a row is then, the row itself not counted.

    An old cluster lives on in the new one that has most of its rows. Of the old clusters that
    live on in the row's new one, the row joins the one with most rows there; others count as
    merged with it when more than half of their rows are there.

    Returns
    -------
    outcome : str
        "noise", "alone" (in a cluster of its own), "new" (in a cluster that is no old one),
        "stays", "joins", or "merged" (several old clusters have become one, and it is there).
    clusters : tuple of int
        The old clusters in question: the one it stays in or joins; those that merge; for "new"
        the one that most of its company comes from, if any.
    """
    old, new = int(now[row]), int(then[row])
    if new == -1:
        return ("stays" if old == -1 else "noise"), (-1,) if old == -1 else ()
    others = np.arange(len(now)) != row
    company = others & (then == new)
    if not company.any():
        was_alone = old != -1 and not (others & (now == old)).any()
        return ("stays", (old,)) if was_alone else ("alone", ())
    known = others & (now != -1)
    names, cluster, size = np.unique(now[known], return_inverse=True, return_counts=True)
    here = np.bincount(cluster[then[known] == new], minlength=len(names))
    heir = (here > 0) & (here == _largest_parts(cluster, then[known], len(names)))
    if not heir.any():
        return "new", (int(names[np.argmax(here)]),) if here.any() else ()
    rank = np.where(heir, here + 0.5 * (names == old), -1.0)  # of equals, its own
    main = int(np.argmax(rank))
    merged = heir & (2 * here > size)
    merged[main] = True
    clusters = tuple(int(name) for name in names[merged])
    if len(clusters) > 1:
        return "merged", clusters
    return ("stays" if clusters[0] == old else "joins"), clusters


def _largest_parts(cluster: Array, then: Array, n_clusters: int) -> Array:
    """Rows of the largest part of each old cluster that stays together; noise is no part."""
    placed = then != -1
    names, part = np.unique(then[placed], return_inverse=True)
    key, count = np.unique(cluster[placed] * len(names) + part, return_counts=True)
    largest = np.zeros(n_clusters, dtype=np.int64)
    np.maximum.at(largest, key // max(len(names), 1), count)
    return largest
