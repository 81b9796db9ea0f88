"""Names that follow clusters from refit to refit.

A name has members: rows of its cluster when it was given. Each name goes to the cluster that has
most of them, all names at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from linkshift._core.arrays import Array

__all__ = ["MOST_MEMBERS", "Found", "Name", "homes", "members_of"]

MOST_MEMBERS = 500
_BY_MEMBERS, _BY_PLACE = 1e-6, 1e-10


class Name(NamedTuple):
    """A name, and rows that were in its cluster when it was given."""

    name: str
    rows: tuple[int, ...]


@dataclass(frozen=True)
class Found:
    """Where names are now.

    Attributes
    ----------
    of : dict of int to str
        The name of each cluster that has one.
    also : dict of int to list of str
        Further names of a cluster, where named ones have become one.
    homeless : list of str
        Names whose rows are in no cluster any more, or in one that is somebody else's by half.
    place : dict of int to int
        Which of the names that were given is that of a cluster, by its position.
    """

    of: dict[int, str] = field(default_factory=dict)
    also: dict[int, list[str]] = field(default_factory=dict)
    homeless: list[str] = field(default_factory=list)
    place: dict[int, int] = field(default_factory=dict)


def members_of(labels: Array, cluster: int, first: Sequence[int] = ()) -> list[int]:
    """Choose the members of a name: at most 500 rows of a cluster, evenly, ``first`` among them."""
    rows = np.flatnonzero(labels == cluster)
    mine = [row for row in dict.fromkeys(first) if labels[row] == cluster][:MOST_MEMBERS]
    others = np.setdiff1d(rows, mine)
    room = min(MOST_MEMBERS - len(mine), len(others))
    chosen = others[np.arange(room) * len(others) // max(room, 1)]
    return sorted([*mine, *chosen.tolist()])


def homes(names: Sequence[Name], labels: Array) -> Found:
    """Find the cluster of each name: at least half of its members are there, or it has none.

    Each cluster has one name, and each name one cluster, such that the sum of the shares of members
    at home is largest (the Hungarian method). A name that is left over, though half of its members
    are in one cluster, is that cluster's, too: among ``also``.

    Parameters
    ----------
    names : sequence of Name
        Rows that are not there any more are left out of them.
    labels : ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> names = [Name("cats", (0, 1, 2)), Name("dogs", (3, 4))]
    >>> homes(names, np.array([7, 7, 2, 2, 2])).of
    {7: 'cats', 2: 'dogs'}
    >>> merged = homes(names, np.array([7, 7, 2, 7, 7]))
    >>> merged.of, merged.also
    ({7: 'dogs'}, {7: ['cats']})
    """
    clusters = np.unique(labels)
    if not names or not len(clusters):
        return Found(homeless=[one.name for one in names])
    found = Found()
    share = np.zeros((len(names), len(clusters)))
    count = np.zeros_like(share)
    for i, one in enumerate(names):
        rows = np.array(one.rows, dtype=np.int64)
        rows = rows[(rows >= 0) & (rows < len(labels))]
        if len(rows):
            at = np.searchsorted(clusters, labels[rows])
            count[i] = np.bincount(at, minlength=len(clusters))
            share[i] = count[i] / len(rows)
    fits = share >= 0.5
    # Of equal shares the one with more members is ahead, then the one that was given first.
    order = _BY_MEMBERS * count - _BY_PLACE * np.arange(len(names))[:, None]
    worth = np.where(fits, share + order, 0.0)
    taken = _assigned(worth, fits)
    for i, one in enumerate(names):
        if taken[i] >= 0:
            found.of[int(clusters[taken[i]])] = one.name
            found.place[int(clusters[taken[i]])] = i
        elif fits[i].any():
            found.also.setdefault(int(clusters[share[i].argmax()]), []).append(one.name)
        else:
            found.homeless.append(one.name)
    return found


def _assigned(worth: Array, fits: Array) -> Array:
    """Give the cluster of each name, such that the sum of what they are worth is largest; or -1."""
    taken = np.full(len(worth), -1)
    if fits.sum(axis=1).max() < 2:  # each has one to go to at most: the best one there has it
        best = worth.argmax(axis=0)
        there = np.flatnonzero(fits[best, np.arange(worth.shape[1])])
        taken[best[there]] = there
        return taken
    from scipy.optimize import linear_sum_assignment  # takes a second to load, and is rarely needed

    for i, j in zip(*linear_sum_assignment(worth, maximize=True), strict=True):
        if fits[i, j]:
            taken[i] = j
    return taken
