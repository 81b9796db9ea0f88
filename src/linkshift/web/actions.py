"""Answers that merge clusters, split one, take a row out: what would be written, before it is.

Each action is a function of what stands: labels, exemplars, the answers in force. It changes
nothing. Answers that say the opposite of what is wanted are given anew for the same pair, which
takes their place; beyond these there is an answer or two between hearts, and further ones only
where `Standing.tried` shows that rows would not follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.messages import Refusal
from linkshift._core.text import counted
from linkshift.active.known import Known, Told
from linkshift.web.heart import exemplars_of

__all__ = ["Plan", "Standing", "join", "merge", "name", "out", "planned", "split", "split_by"]

Word = Literal["same", "different"]
Link = tuple[int, int, Word]

MOST_LINKS = 10  # of an action
_MOST_OVERRULED = 8
_MAY_MISS = 0.05  # share of the rows that may go elsewhere: what is at a border


@dataclass(frozen=True)
class Plan:
    """Answers that an action would write.

    Attributes
    ----------
    links : tuple of (a, b, word)
        Rows by number, "same" or "different".
    text : str
        What will be written, in a sentence.
    note : str or None
        What else there is to know: answers that this takes the place of, or that stand against it.
    """

    links: tuple[Link, ...]
    text: str
    note: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON has it."""
        links = [{"a": a, "b": b, "word": word} for a, b, word in self.links]
        return {"links": links, "text": self.text, "note": self.note}


@dataclass(frozen=True)
class Standing:
    """What stands, for an action to go by.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Rows.
    labels : ndarray of shape (n,)
        Numbers of clusters; there may be gaps.
    exemplars : dict of int to list of int
        Rows that stand for each cluster, its heart first.
    links : sequence of (a, b, word)
        Certain answers and links in force, the last word for each pair.
    among : ndarray
        Rows to choose from, where there is a choice.
    tried : callable or None
        Gives the labels with some more answers, ``tried(links)``; None where that takes long.
    called : callable
        What people call a row.
    """

    X: Array
    labels: Array
    exemplars: dict[int, list[int]]
    links: Sequence[Link]
    among: Array
    tried: Callable[[Sequence[Link]], Array | None] | None = None
    called: Callable[[int], str] = str

    @cached_property
    def known(self) -> Known:
        """What the links say of pairs of rows."""
        return _known(self.links)

    def rows(self, cluster: int) -> Array:
        """Rows of a cluster."""
        found = np.flatnonzero(self.labels == cluster)
        if not len(found):
            raise Refusal(
                f"There is no cluster {cluster}.", "It has changed by now: look at the list."
            )
        return found

    def spread(self, rows: Array) -> list[int]:
        """Rows that stand for some, the heart first."""
        one, may = np.zeros(len(rows), dtype=np.int64), np.flatnonzero(np.isin(rows, self.among))
        return [int(rows[i]) for i in exemplars_of(self.X[rows], one, may)[0]]

    def between(self, some: Array, others: Array, word: Word) -> list[tuple[int, int]]:
        """Pairs of both, of which an answer says this."""
        left, right = set(some.tolist()), set(others.tolist())
        return [
            (a, b)
            for a, b, said in self.links
            if said == word and ((a in left and b in right) or (b in left and a in right))
        ]


def planned(standing: Standing, do: str, about: dict[str, Any]) -> Plan:
    """Plan an action by its name: merge, out, join, split or name, with what it is about."""
    match do, about:
        case "merge", {"clusters": [_, _, *_] as clusters}:
            return merge(standing, clusters)
        case "out", {"row": row}:
            return out(standing, row)
        case "join", {"row": row, "cluster": cluster}:
            return join(standing, row, cluster)
        case "split", {"exemplars": [one, other]}:
            return split_by(standing, one, other)
        case "split", {"rows": [_, *_] as rows}:
            return split(standing, rows)
        case "name", {"cluster": cluster}:
            return name(standing, cluster)
    raise Refusal(
        f"{do!r} of {', '.join(sorted(about)) or 'nothing'} is no action.",
        "Merge two clusters or more, take out a row, have it join a cluster, split by rows or by "
        "two exemplars, or name a cluster.",
    )


def merge(standing: Standing, clusters: Sequence[int]) -> Plan:
    """Make one cluster of several: hearts are the same, one after the other."""
    clusters = list(dict.fromkeys(clusters))
    if len(clusters) < 2:
        raise Refusal("One cluster is no two.", "Name two clusters or more.")
    rows = [standing.rows(k) for k in clusters]
    draft = _Draft(standing)
    for one, other in combinations(rows, 2):
        draft.overrule(standing.between(one, other, "different"), "same")
    hearts = [standing.exemplars[k][0] for k in clusters]
    for a, b in pairwise(hearts):
        draft.say(a, b, "same")
    draft.gather([(np.concatenate(rows), hearts[0])])
    names = _listed([f"cluster {k}" for k in clusters])
    return draft.plan(f"so that {names} become one")


def out(standing: Standing, row: int) -> Plan:
    """Take a row out of its cluster."""
    k = _cluster_of(standing, row)
    rows = standing.rows(k)
    others = rows[rows != row]
    if not len(others):
        raise Refusal(
            f"Row {standing.called(row)} is alone in cluster {k}.", "There is nothing to leave."
        )
    draft = _Draft(standing)
    draft.overrule(standing.between(np.array([row]), others, "same"), "different")
    draft.say(row, _other_heart(standing, k, row, others), "different")
    return draft.plan(f"so that row {standing.called(row)} is not in cluster {k}")


def join(standing: Standing, row: int, cluster: int) -> Plan:
    """Have a row join another cluster."""
    rows, now = standing.rows(cluster), _cluster_of(standing, row)
    if now == cluster:
        raise Refusal(f"Row {standing.called(row)} is in cluster {cluster}.", "Nothing is to do.")
    draft = _Draft(standing)
    draft.overrule(standing.between(np.array([row]), rows, "different"), "same")
    leaving = standing.rows(now)
    draft.overrule(standing.between(np.array([row]), leaving[leaving != row], "same"), "different")
    draft.say(row, standing.exemplars[cluster][0], "same")
    return draft.plan(f"so that row {standing.called(row)} is in cluster {cluster}")


def split_by(standing: Standing, one: int, other: int) -> Plan:
    """Split a cluster by two of its rows: the others go with either."""
    k = _cluster_of(standing, one)
    if one == other or _cluster_of(standing, other) != k:
        raise Refusal(
            f"Rows {standing.called(one)} and {standing.called(other)} are not two of one cluster.",
            "Choose two rows of the cluster that is to be split.",
        )
    draft = _Draft(standing)
    draft.overrule(standing.between(np.array([one]), np.array([other]), "same"), "different")
    draft.say(one, other, "different")
    return draft.plan(f"so that cluster {k} falls in two, each row with the nearer one")


def split(standing: Standing, rows: Iterable[int]) -> Plan:
    """Split a cluster: rows that were chosen, and the rest of it.

    Of rows of several clusters, those of the cluster with most of them count.
    """
    chosen = np.unique(np.fromiter(rows, dtype=np.int64))
    for row in chosen[[0, -1]].tolist():
        _cluster_of(standing, row)
    clusters, count = np.unique(standing.labels[chosen], return_counts=True)
    k = int(clusters[count.argmax()])
    inside, whole = chosen[standing.labels[chosen] == k], standing.rows(k)
    rest = np.setdiff1d(whole, inside)
    if not len(rest):
        raise Refusal(f"These are all rows of cluster {k}.", "Choose a part of it.")
    draft = _Draft(standing)
    draft.overrule(standing.between(inside, rest, "same"), "different")
    heart, other = standing.spread(inside)[0], standing.spread(rest)[0]
    draft.say(heart, other, "different")
    draft.gather([(inside, heart), (rest, other)])
    left = len(chosen) - len(inside)
    draft.notes += [f"{counted(left, 'chosen row')} of other clusters left out."] if left else []
    return draft.plan(f"so that {counted(len(inside), 'row')} of cluster {k} part from the others")


def name(standing: Standing, cluster: int) -> Plan:
    """Hold a cluster together by the rows that stand for it, so that its name sticks."""
    standing.rows(cluster)
    draft = _Draft(standing)
    some = standing.exemplars[cluster]
    for a, b in combinations(some, 2):
        draft.overrule(standing.between(np.array([a]), np.array([b]), "different"), "same")
    for a, b in pairwise(some):
        draft.say(a, b, "same")
    return draft.plan(f"so that what stands for cluster {cluster} stays together")


class _Draft:
    """Answers of an action, as they are put together."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self._links: list[Link] = []
        self.notes: list[str] = []

    def overrule(self, pairs: Sequence[tuple[int, int]], word: Word) -> None:
        """Give answers anew that say the opposite; these take their place."""
        some = pairs[: _MOST_OVERRULED - len(self._links)]
        self._links += [(a, b, word) for a, b in some]
        if some:
            names = [self._pair(*pair) for pair in some]
            said = "different" if word == "same" else "same"
            was, it = ("was", "it") if len(some) == 1 else ("were", "them")
            self.notes.append(
                f"{_listed(names)} {was} {said} before; this takes the place of {it}."
            )
        if len(pairs) > len(some):
            n = len(pairs) - len(some)
            stand = "stands" if n == 1 else "stand"
            self.notes.append(f"{counted(n, 'further answer')} {stand} against it, and may win.")

    def say(self, a: int, b: int, word: Word) -> None:
        """Add an answer, unless it is known already; say so where others contradict it."""
        known = self._known()
        said = known.says(a, b)
        if said == (word == "same"):
            return
        if said is not None:
            told = Told(a, b, word == "same", 1.0, "")
            chain = [self._said(one) for one in known._chain(told)]
            self.notes.append(
                f"Answers say the opposite of {self._pair(a, b)}: {'; '.join(chain)}. "
                "The least probable gives way."
            )
        self._links.append((a, b, word))

    def gather(self, wanted: Sequence[tuple[Array, int]]) -> None:
        """Add answers until the rows of each part follow its heart, as far as that can be tried."""
        tried = self._standing.tried
        if tried is None:
            return
        while len(self._links) < MOST_LINKS:
            labels = tried(self._links)
            if labels is None:
                return
            astray = [rows[labels[rows] != labels[heart]] for rows, heart in wanted]
            shares = [len(some) / len(rows) for some, (rows, _) in zip(astray, wanted, strict=True)]
            worst = int(np.argmax(shares))
            if shares[worst] <= _MAY_MISS:
                return
            # The largest part of what went elsewhere, by where it went.
            there, count = np.unique(labels[astray[worst]], return_counts=True)
            part = astray[worst][labels[astray[worst]] == there[count.argmax()]]
            before = len(self._links)
            self.say(wanted[worst][1], self._standing.spread(part)[0], "same")
            if len(self._links) == before:
                return  # that was said, and does not help
        self.notes.append("Some rows may not follow: look at what comes of it.")

    def plan(self, purpose: str) -> Plan:
        """Give what was put together."""
        parts = []
        for word in ("same", "different"):
            pairs = [self._pair(a, b) for a, b, said in self._links if said == word]
            if pairs:
                parts.append(f"{_listed(pairs)} {'is' if len(pairs) == 1 else 'are'} {word}")
        n = len(self._links)
        text = f"Nothing to write, {purpose}: answers say it already."
        if n:
            text = f"Writes {counted(n, 'answer')}, {purpose}: {'; '.join(parts)}."
        return Plan(tuple(self._links), text, " ".join(self.notes) or None)

    def _known(self) -> Known:
        """Close the links in force and those of the draft, which take the place of the former."""
        new = {frozenset(one[:2]) for one in self._links}
        old = [one for one in self._standing.links if frozenset(one[:2]) not in new]
        return _known([*self._links, *old])

    def _pair(self, a: int, b: int) -> str:
        return f"({self._standing.called(a)}, {self._standing.called(b)})"

    def _said(self, told: Told) -> str:
        return f"{self._pair(told.a, told.b)} {'same' if told.same else 'different'}"


def _known(links: Sequence[Link]) -> Known:
    """Close links; those that come first win."""
    told = [Told(a, b, word == "same", 1.0, "") for a, b, word in links]
    return Known.of(told, [1.0] * len(told))


def _cluster_of(standing: Standing, row: int) -> int:
    whole = isinstance(row, (int, np.integer)) and not isinstance(row, bool)
    if not whole or not 0 <= row < len(standing.labels):
        raise Refusal(
            f"There is no row {row!r}.", f"Rows have numbers below {len(standing.labels)}."
        )
    return int(standing.labels[row])


def _other_heart(standing: Standing, cluster: int, row: int, others: Array) -> int:
    """Give the heart of a cluster without a row, and without what is the same as that row."""
    heart = standing.exemplars[cluster][0]
    if heart == row:
        return standing.spread(others)[0]
    return heart


def _listed(words: list[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
