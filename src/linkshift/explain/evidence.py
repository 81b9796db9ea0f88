"""What an estimator knows of a row: where ``explain`` begins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from linkshift._core.arrays import Array
from linkshift.explain.explanation import Space
from linkshift.explain.link_shares import Bending
from linkshift.links import Links
from linkshift.shift.landscape import Ascent

__all__ = ["CHANCE", "Evidence", "Refit", "kept_path"]

#: What an estimator notes of fits that it cannot repeat.
CHANCE = (
    "The fit draws at random and random_state is not a number: without a link, rows may also go "
    "elsewhere by chance."
)


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


def kept_path(ascent: Ascent, start: int) -> Array:
    """Positions of one start, of an ascent that kept its paths."""
    assert ascent.paths is not None
    return ascent.paths[start]
