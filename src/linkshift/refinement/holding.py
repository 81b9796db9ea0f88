"""Every certain link holds: what refinement leaves open is moved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.labels import dense
from linkshift._core.messages import Advice, warn
from linkshift._core.text import counted
from linkshift.links import ClosedLinks, Closure
from linkshift.metrics import link_satisfaction
from linkshift.refinement.places import Neighbours, as_places, cut

__all__ = ["agreeing", "hold", "warn_of_broken"]


def agreeing(closed: ClosedLinks) -> Closure:
    """Closure of the certain links that have no part in a contradiction.

    Left out are the must-links of a component that holds a cannot-link, and that cannot-link:
    nobody knows which of them is wrong.
    """
    if not closed.contradictory:
        return closed.closure
    certain = closed.certain
    component = ClosedLinks(certain, closed.n_samples).must_component
    ends = component[certain.cannot]
    torn = np.unique(ends[ends[:, 0] == ends[:, 1], 0])
    torn = np.union1d(torn, component[closed.groups.split(component).member])
    clean = certain.where(~np.isin(component[certain.must[:, 0]], torn), ends[:, 0] != ends[:, 1])
    return ClosedLinks(clean, closed.n_samples).closure


def warn_of_broken(labels: Array, closed: ClosedLinks) -> None:
    """Tell how many certain links do not hold, as happens when they contradict each other."""
    report = link_satisfaction(labels, closed.certain)
    broken = len(report.violated_must) + len(report.violated_cannot)
    broken += report.n_apart - report.apart_kept
    if broken:
        warn(
            Advice(
                f"{counted(broken, 'link')} of confidence one "
                f"{'stays' if broken == 1 else 'stay'} broken: certain links contradict "
                "each other.",
                "See links.conflicts(), and keep links.conflicts().resolve().",
                command="See linkshift links check.",
                parameter="links",
            )
        )


def hold(labels: Array, closure: Closure, neighbours: Neighbours) -> Array:
    """Make every link hold: must-linked rows share a label, cannot-linked rows do not.

    Components of must-links take the label of most of their rows. Of two cannot-linked
    components with the same label, the one with more such quarrels (then the smaller) moves: to
    the label that its rows and their neighbours favour among those free for it, or to a new one. As
    in settling, a row asks as many neighbours as its cluster has other rows: the records of two
    people, once parted, do not go to a third.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        -1 is noise.
    closure : Closure
        Components of must-links, and which of them are cannot-linked.
    neighbours : ndarray of shape (n, k), or Places
        Rows of the nearest neighbours of each point; or neighbours that take places: then rows vote
        by their weights, and sizes are sums of weights.

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
    groups: dict[int, list[int]] = {}
    for c, g in zip(closure.groups.member.tolist(), closure.groups.group.tolist(), strict=True):
        groups.setdefault(c, []).append(g)
    linked = sorted(set(np.flatnonzero(closure.sizes > 1).tolist()) | set(foes) | set(groups))
    rows = {c: closure.members(c) for c in linked}
    places = as_places(neighbours)
    say = places.say(closure.component)
    label = {c: next(iter(_favoured(labels[rows[c]], say[rows[c]])), -1) for c in linked}
    n_labels = int(labels.max(initial=-1)) + 1
    sharing: dict[tuple[int, int], set[int]] = {}  # components of each group with each label
    for c, those in groups.items():
        for g in those:
            sharing.setdefault((g, label[c]), set()).add(c)
    weight = np.bincount(closure.component, places.weight)
    sizes = np.bincount(labels[labels >= 0], places.weight[labels >= 0], minlength=n_labels)

    def n_quarrels(c: int) -> int:
        """Count components that c may not be with and is; those of several groups once."""
        if label[c] < 0:
            return 0
        against = {f for f in foes.get(c, ()) if label[f] == label[c]}
        return len(against.union(*(sharing[g, label[c]] for g in groups.get(c, ()))) - {c})

    quarrels = {c: n_quarrels(c) for c in linked}
    fixed: dict[int, int] = {}
    in_group: set[tuple[int, int]] = set()  # labels that are fixed in each group
    for c in sorted(linked, key=lambda c: (quarrels[c], -weight[c], c)):
        taken = {fixed[f] for f in foes.get(c, ()) if fixed.get(f, -1) >= 0}
        mine = groups.get(c, ())

        def is_taken(label: int, taken: set[int] = taken, mine: Sequence[int] = mine) -> bool:
            return label in taken or any((g, label) in in_group for g in mine)

        homeless = label[c] < 0 and len(rows[c]) > 1  # must-linked noise shares a new home
        if is_taken(label[c]) or homeless:
            asked = np.inf if homeless else max(sizes[label[c]] - 1.0, 0.0)
            near, votes = places.rows[rows[c]], cut(places.taken[rows[c]], asked)
            heard, votes = votes > 0, say[rows[c]][:, None] * votes
            order = _favoured(
                np.concatenate([labels[rows[c]], labels[near[heard]]]),
                np.concatenate([say[rows[c]], votes[heard]]),
            )
            label[c] = next((g for g in order if not is_taken(g)), n_labels)
            n_labels = max(n_labels, label[c] + 1)
        fixed[c] = label[c]
        if label[c] >= 0:
            in_group.update((g, label[c]) for g in mine)
    for c in linked:
        labels[rows[c]] = label[c]
    return dense(labels)


def _favoured(labels: Array, votes: Array) -> list[int]:
    """Labels by their votes, most first, the smaller of equals; noise is none."""
    known, code = np.unique(labels[labels >= 0], return_inverse=True)
    order = np.argsort(-np.bincount(code, votes[labels >= 0]), kind="stable")
    found: list[int] = known[order].tolist()
    return found
