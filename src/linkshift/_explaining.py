"""How estimators explain a row: the ``explain`` that they share, and what it works out.

An estimator that inherits :class:`Explains` and keeps ``labels_``, ``links_`` and its training rows
has an ``explain``; it tells what else it knows of a row by overriding ``_evidence``.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from linkshift._core.arrays import Array
from linkshift._link_shares import Bending, group_pairs, weight_taken
from linkshift.explanation import (
    LEAST_SHARE,
    Acts,
    Counterfactual,
    Explanation,
    Kind,
    LinkRole,
    Outcome,
    Pair,
    Space,
)
from linkshift.links import ClosedLinks, Links
from linkshift.shift.neighbours import nearest_neighbours

__all__ = ["CHANCE", "Evidence", "Explains", "Refit", "where_it_goes"]


#: What an estimator notes of fits that it cannot repeat.
CHANCE = (
    "The fit draws at random and random_state is not a number: without a link, rows may also go "
    "elsewhere by chance."
)


# What an estimator tells -------------------------------------------------------------------


class Refit(NamedTuple):
    """Labels of another fit, and what else is different about it."""

    labels: Array
    note: str = ""


@dataclass(frozen=True)
class Evidence:
    """What an estimator knows of a row.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        Training rows in the space in which rows move.
    refit : callable or None
        ``refit(links)`` fits again and gives a :class:`Refit`; None where links had no part.
    space : {"input", "kernel", "metric"}
        What that space is.
    path : ndarray of shape (steps + 1, d), optional
        Where the row went, in that space.
    mode : ndarray of shape (d,), optional
        Its mode; the end of the path when not given.
    shown : callable, optional
        Takes positions to the units of X.
    bending : Bending, optional
        The shift that links bent.
    before_links : ndarray of shape (n,), optional
        Clusters before links settled them.
    others : str
        How links act that are not listed with the row; empty where they do not. They then have
        counterfactuals, too, those nearest to the row first.
    notes : tuple of str
        What else there is to know.
    """

    points: Array
    refit: Callable[[Links], Refit] | None = None
    space: Space = "input"
    path: Array | None = None
    mode: Array | None = None
    shown: Callable[[Array], Array] | None = None
    bending: Bending | None = None
    before_links: Array | None = None
    others: str = ""
    notes: tuple[str, ...] = ()


class Explains:
    """Give a fitted estimator an ``explain``.

    It needs ``labels_``, ``links_`` (where it takes links) and training rows, in ``_fit_X`` unless
    it overrides ``_evidence``.
    """

    def explain(
        self,
        row: int,
        *,
        max_counterfactuals: int = 5,
        ids: Iterable[Hashable] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Explanation:
        """Explain why a training row is in its cluster.

        Tells the row's path to its mode, the links that act on it, and for the strongest of them
        where the row would be without the link: the model is fitted again, on the side.

        Parameters
        ----------
        row : int
            A row of the data that the model was fitted on, from 0.
        max_counterfactuals : int, default=5
            Most links to leave out, one at a time. Each costs about a fit; 0 asks for none.
        ids : sequence, default=None
            Names of all rows, for the text.
        progress : callable, default=None
            Called with (counterfactuals made, counterfactuals).

        Returns
        -------
        Explanation
            ``print`` it for the text; ``to_dict()`` gives it for JSON.

        Examples
        --------
        >>> import numpy as np
        >>> from linkshift import ConstrainedMeanShift, Links
        >>> X = np.array([[0.0], [0.1], [0.2], [0.8], [0.9], [1.0]])
        >>> model = ConstrainedMeanShift().fit(X, links=Links(cannot=[(0, 5)]))
        >>> explanation = model.explain(1)
        >>> explanation.label, explanation.links[0].pair
        (0, (0, 5))
        >>> explanation.what_if(explanation.counterfactuals[0])
        'without cannot-link (0, 5) clusters 0 and 1 become one'
        """
        check_is_fitted(self, "labels_")
        labels, n = self._explained_labels, len(self._explained_labels)
        row = _check_row(row, n)
        limit = _check_limit(max_counterfactuals)
        names = None if ids is None else _check_ids(ids, n)
        links = self._explained_links()
        evidence = self._evidence(row)
        closed = ClosedLinks(links, n)
        roles = _roles(row, closed, labels, evidence.bending)
        wanted = _to_leave_out(row, links, roles, evidence)[:limit]
        cases = _counterfactuals(row, labels, links, wanted, evidence.refit, progress)
        path_rows, mode_row, mode = _along(evidence)
        shown = evidence.shown or np.asarray
        return Explanation(
            row=row,
            label=int(labels[row]),
            size=int((labels == labels[row]).sum()),
            space=evidence.space,
            path=None if evidence.path is None else shown(evidence.path),
            path_rows=path_rows,
            mode=None if mode is None else shown(mode[None])[0],
            mode_row=mode_row,
            links=tuple(roles),
            n_links=len(links),
            counterfactuals=tuple(cases),
            notes=_notes(row, labels, links, roles, evidence),
            ids=names,
        )

    @property
    def _explained_labels(self) -> Array:
        labels: Array = self.labels_  # type: ignore[attr-defined]
        return labels

    def _explained_links(self) -> Links:
        links = getattr(self, "links_", None)
        if links is None and hasattr(self, "link_report_"):
            raise ValueError(
                "This model does not know its links: it was fitted by an earlier version. Fit it "
                "again."
            )
        return Links() if links is None else links

    def _evidence(self, row: int) -> Evidence:  # noqa: ARG002 (for those that override it)
        """Tell what the estimator knows of a row; without more, a fresh fit says what if."""
        points: Array = self._fit_X  # type: ignore[attr-defined]
        return Evidence(points, self._fresh_fit(points), others="after the clustering")

    def _fresh_fit(self, X: Array) -> Callable[[Links], Refit]:
        """Give a function that fits a clone on the training rows under other links."""

        def refit(links: Links) -> Refit:
            other: Any = clone(self)
            if "progress" in other.get_params(deep=False):
                other.set_params(progress=None)
            return Refit(other.fit(X, links=links).labels_)

        return refit


# How it is worked out ----------------------------------------------------------------------


def _check_row(row: object, n: int) -> int:
    if not isinstance(row, Integral) or isinstance(row, bool | np.bool_):
        raise TypeError(f"row must be a whole number, got {row!r} ({type(row).__name__}).")
    row = int(row)
    if not 0 <= row < n:
        raise IndexError(f"row {row} is out of range: the model was fitted on rows 0 to {n - 1}.")
    return row


def _check_limit(limit: object) -> int:
    if not isinstance(limit, Integral) or isinstance(limit, bool | np.bool_):
        raise TypeError(f"max_counterfactuals must be a whole number, got {limit!r}.")
    limit = int(limit)
    if limit < 0:
        raise ValueError(f"max_counterfactuals must not be negative, got {limit}; 0 asks for none.")
    return limit


def _check_ids(ids: Iterable[Hashable], n: int) -> tuple[Hashable, ...]:
    if isinstance(ids, str | bytes):
        raise TypeError("ids must be a sequence with a name for each row, got text.")
    names = tuple(ids)
    if len(names) != n:
        raise ValueError(f"ids must name all {n} rows of the model, got {len(names)} names.")
    return names


def _pairs(links: Links) -> list[tuple[Kind, Pair, float]]:
    """All links, cannot-links first."""
    found: list[tuple[Kind, Pair, float]] = []
    for a, b, sure in zip(*links.cannot.T.tolist(), links.cannot_confidence.tolist(), strict=True):
        found.append(("cannot", (a, b), sure))
    for a, b, sure in zip(*links.must.T.tolist(), links.must_confidence.tolist(), strict=True):
        found.append(("must", (a, b), sure))
    return found


def _roles(row: int, closed: ClosedLinks, labels: Array, bending: Bending | None) -> list[LinkRole]:
    """Links that act on the row, the strongest first."""
    chains = closed.chains(row)
    taken = _Taken(row, closed, bending)
    strongest: dict[tuple[Any, ...], tuple[int, LinkRole]] = {}
    for i, (kind, pair, sure) in enumerate(_pairs(closed.links)):
        cannot = kind == "cannot"
        share, step = taken.most(i) if cannot and bending is not None else (None, None)
        takes = share is not None and share >= LEAST_SHARE
        ends = [end for end in pair if end in chains.length]
        nearest = chains.to(min(ends, key=lambda end: chains.length[end])) if ends else ()
        if nearest:
            acts: Acts = "own" if len(nearest) == 1 else "component"
        elif takes:
            acts = "density"
        elif cannot and taken.holds_mode(i):
            acts = "mode"
        else:
            continue
        role = LinkRole(
            kind,
            pair,
            sure,
            kept(labels, kind, pair),
            acts,
            chain=nearest if acts == "component" else (),
            share=share,
            step=step if takes else None,
        )
        # Of links that say the same, the strongest speaks for all.
        place = ("cannot", *taken.place(i)) if cannot else ("must", i)
        if place not in strongest or _strength(role) < _strength(strongest[place][1]):
            strongest[place] = i, role
    roles = [
        replace(
            role,
            through=taken.through(i) if role.step is not None else (),
            alike=taken.alike(i) if role.kind == "cannot" else (),
        )
        for i, role in strongest.values()
    ]
    return sorted(roles, key=_strength)


def _strength(role: LinkRole) -> tuple[Any, ...]:
    """Sort the row's own links first; then by share; then by how far the link is."""
    share, far = role.share or 0.0, role.acts == "mode"
    return role.acts != "own", -share, far, len(role.chain), role.kind, role.pair


class _Taken:
    """What each cannot-link takes from the density around a row's centre."""

    def __init__(self, row: int, closed: ClosedLinks, bending: Bending | None) -> None:
        links = closed.links
        self._row, self._links, self._closed, self._bending = row, links, closed, bending
        ends = np.sort(closed.component[links.cannot], axis=1).tolist()
        certain = (links.cannot_confidence == 1.0).tolist()
        # Uncertain links are not passed on: each has a place of its own.
        self._apart = [
            tuple(pair) if sure else (-1, i)
            for i, (pair, sure) in enumerate(zip(ends, certain, strict=True))
        ]
        self._same: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
        for i, place in enumerate(self._apart):
            self._same[place].append(i)
        if bending is not None:
            self._groups = group_pairs(bending, links, closed.component)
            end = bending.history[-1][1]
            at_mode = (end[bending.pairs] == end[row]).any(axis=1)
            at_mode &= bending.enforced & (bending.confidence == 1.0)
            self._at_mode = set(self._groups.pairs[at_mode].tolist())
            self._shares = weight_taken(
                bending,
                row,
                bending.pairs,
                bending.confidence,
                self._groups.pairs,
                range(bending.n_steps),
            )

    def most(self, link: int) -> tuple[float, int | None]:
        """Largest share of the weight that a link takes, and at which step."""
        shares = self._shares[:, self._groups.links[link]]
        if not len(shares):
            return 0.0, None
        step = int(np.argmax(shares))
        return float(shares[step]), step

    def holds_mode(self, link: int) -> bool:
        """Whether a link keeps rows that ended where the row did apart from others."""
        return self._bending is not None and int(self._groups.links[link]) in self._at_mode

    def place(self, link: int) -> tuple[int, ...]:
        """Components between which a link is; its own number, where it is not certain."""
        return self._apart[link]

    def alike(self, link: int) -> tuple[Pair, ...]:
        """Other certain links between the same components."""
        same = [i for i in self._same[self._apart[link]] if i != link]
        return tuple((a, b) for a, b in self._links.cannot[same].tolist())

    def through(self, link: int) -> tuple[int, ...]:
        """Chain of rows, by way of a link, of the closed pair behind which it takes most."""
        bending, step = self._bending, self.most(link)[1]
        assert bending is not None
        assert step is not None
        mine = np.flatnonzero(self._groups.pairs == self._groups.links[link])
        pairs, sure = bending.pairs[mine], bending.confidence[mine]
        shares = weight_taken(bending, self._row, pairs, sure, np.arange(len(mine)), [step])[0]
        a, b = self._links.cannot[link].tolist()
        left, right = self._closed.chains(a), self._closed.chains(b)
        best = pairs[shares >= shares.max() * (1.0 - 1e-9)].tolist()
        turned = [(x, y) if x in left.length else (y, x) for x, y in best]
        x, y = min(turned, key=lambda pair: (left.length[pair[0]] + right.length[pair[1]], pair))
        return (*reversed(left.to(x)), *right.to(y))


def _to_leave_out(
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
    rest = [(kind, pair) for kind, pair, _ in _pairs(links) if (kind, pair) not in asked]
    if not rest:
        return first
    away = np.linalg.norm(evidence.points - evidence.points[row], axis=1)
    nearness = away[np.array([pair for _, pair in rest])].min(axis=1)
    order = np.argsort(nearness, kind="stable").tolist()
    return first + [(rest[i][0], (rest[i][1],)) for i in order]


def _counterfactuals(
    row: int,
    labels: Array,
    links: Links,
    wanted: Sequence[tuple[Kind, tuple[Pair, ...]]],
    refit: Callable[[Links], Refit] | None,
    progress: Callable[[int, int], None] | None,
) -> list[Counterfactual]:
    """Fit again without each of some links and what says the same."""
    cases = []
    for done, (kind, (pair, *others)) in enumerate(wanted, start=1):
        alike = tuple(others)
        assert refit is not None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a fit that nobody asked to keep
                then, note = refit(without(links, kind, [pair, *alike]))
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


def _along(evidence: Evidence) -> tuple[tuple[int, ...], int | None, Array | None]:
    """Rows nearest to a path, and the mode with the row nearest to it."""
    path = evidence.path
    if path is None:
        return (), None, None
    mode = path[-1] if evidence.mode is None else evidence.mode
    nearest = nearest_neighbours(evidence.points, 1, np.vstack([path, mode]))[1][:, 0].tolist()
    rows = tuple(row for row, _ in groupby(nearest[:-1]))
    return rows, nearest[-1], mode


def _notes(
    row: int, labels: Array, links: Links, roles: Sequence[LinkRole], evidence: Evidence
) -> tuple[str, ...]:
    notes = list(evidence.notes)
    before = evidence.before_links
    if before is not None and labels[row] != -1:
        company = (before == before[row]) & (np.arange(len(labels)) != row) & (labels != -1)
        if company.any():
            names, count = np.unique(labels[company], return_counts=True)
            if count[names == labels[row]].sum() < count.max():
                notes.append(
                    "Before links and neighbours settled it, it was with rows that are now mostly "
                    f"in cluster {names[np.argmax(count)]}."
                )
    n_others = len(links) - len(roles) - sum(len(role.alike) for role in roles)
    if evidence.others and n_others:
        which = "The other " if roles else "The "
        counted = "link acts" if n_others == 1 else f"{n_others:,} links act"
        notes.append(f"{which}{counted} {evidence.others}.")
    return tuple(notes)


def kept(labels: Array, kind: Kind, pair: Pair) -> bool:
    """Whether a link holds, by the rule of :func:`linkshift.metrics.link_satisfaction`."""
    a, b = labels[list(pair)]
    together = bool(a == b and a != -1)
    return together if kind == "must" else not together


def without(links: Links, kind: Kind, pairs: Sequence[Pair]) -> Links:
    """All links but some."""
    return links.remove(must=pairs) if kind == "must" else links.remove(cannot=pairs)


def where_it_goes(row: int, now: Array, then: Array) -> tuple[Outcome, tuple[int, ...]]:
    """Tell in terms of the clusters now where a row is then, the row itself not counted.

    An old cluster lives on in the new one that has most of its rows. Of the old clusters that
    live on in the row's new one, the row joins the one with most rows there; others count as
    merged with it when more than half of their rows are there.

    Parameters
    ----------
    row : int
        The row.
    now, then : ndarray of shape (n,)
        Labels; -1 is noise.

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
