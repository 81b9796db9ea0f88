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
    """What an estimator knows of a row."""

    points: Array  # (n, d): training rows in the space in which rows move
    refit: Callable[[Links], Refit] | None = None  # fits again; None where links had no part
    space: Space = "input"
    path: Array | None = None  # where the row went, in that space
    mode: Array | None = None  # the end of the path when not given
    shown: Callable[[Array], Array] | None = None  # takes positions to the units of X
    bending: Bending | None = None  # the shift that links bent
    before_links: Array | None = None  # clusters before links settled them
    # How links act that are not listed with the row; empty where they do not. They then have
    # counterfactuals, too, those nearest to the row first.
    others: str = ""
    notes: tuple[str, ...] = ()  # what else there is to know


def kept_path(ascent: Ascent, start: int) -> Array:
    """Positions of one start, of an ascent that kept its paths."""
    assert ascent.paths is not None
    return ascent.paths[start]
