"""Answers before they are used: contradictions settled, and doubt where many are wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from linkshift._core.arrays import Array
from linkshift._core.messages import Advice, Refusal, warn
from linkshift._core.text import counted
from linkshift.estimators._base import known_classes
from linkshift.links import ClosedLinks, Links
from linkshift.links._combine import weighted
from linkshift.links._parse import Kind
from linkshift.methods.table import CONFLICTS
from linkshift.spaces.belief import Belief, Contrast, link_belief
from linkshift.tables.columns import is_table
from linkshift.tables.reading import Reading, counts_rows

__all__ = ["Answers", "by_row", "settled_answers"]

_FEW = 20  # links below this number say nothing of how reliable they are
_CONFIRMED = 50  # must-links that others imply, without a contradiction: answers are reliable
_RELIABLE = 0.02  # so many set aside for contradictions are slips; more, and no link is certain
_SLIPS = 2  # wrong answers that data has to show: a single one may lie where classes meet
_UNCERTAIN = 0.9  # largest confidence then: links are weighed, and nothing is inferred from them
_LEAST = 0.05  # and the smallest
_NEVER = 1e-6
_CHANCE = 0.2  # a p-value above which links may be those of other rows
_OPPOSITE = 0.99  # and above which kinds may be swapped
_SHOWN = 3


@dataclass(frozen=True, eq=False)
class Answers:
    """Links to go on with, and those set aside.

    Attributes
    ----------
    links : Links
        What is left of the links that were given.
    set_aside : Links
        The others.
    doubted : Links or None
        The links that are left with confidences below one, where so many answers prove wrong that
        none can be taken for certain; else None.
    error_rate : float
        Share of wrong answers, as far as it shows.
    contrast : Contrast or None
        Whether links go with the data at all, where there are enough to tell.
    """

    links: Links
    set_aside: Links
    doubted: Links | None = None
    error_rate: float = 0.0
    contrast: Contrast | None = None

    def used(self, *, weighs: bool) -> Links:
        """Links for a method: with doubts where it goes by confidences."""
        return self.links if self.doubted is None or not weighs else self.doubted

    def tell(self, *, weighs: bool) -> None:
        """Warn of links set aside, of doubts where the method goes by confidences, of chance."""
        if self.contrast is not None and self.contrast.p_value > _CHANCE:
            warn(_at_chance(self.contrast))
        aside, told = self.set_aside, []
        if len(aside):
            named = [f"must-link ({a}, {b})" for a, b in aside.must.tolist()[:_SHOWN]]
            named += [f"cannot-link ({a}, {b})" for a, b in aside.cannot.tolist()[:_SHOWN]]
            more = ", ..." if len(aside) > _SHOWN else ""
            told.append(
                f"{counted(len(aside), 'link')} {'is' if len(aside) == 1 else 'are'} set aside so "
                f"that the rest has no contradiction: {', '.join(named[:_SHOWN])}{more}."
            )
        if weighs and self.doubted is not None:
            told.append(
                f"About {max(self.error_rate, 0.01):.0%} of the answers seem wrong, so that links "
                f"count with confidences of at most {_UNCERTAIN:g}."
            )
        if told:
            python = "Clustering.set_aside has all; " if len(aside) else ""
            command = "--json lists all; " if len(aside) else ""
            take = "takes links as they are."
            warn(
                Advice(
                    " ".join(told),
                    f"{python}conflicts='refuse' {take}",
                    command=f"{command}--conflicts refuse {take}",
                    parameter="conflicts",
                )
            )


def _at_chance(contrast: Contrast) -> Advice:
    """Say that links are not what the data shows, and what to look at."""
    if contrast.p_value > _OPPOSITE:
        return Advice(
            "Links and data say the opposite of each other: rows of cannot-links are more alike "
            f"than those of must-links (in {1 - contrast.auc:.0%} of comparisons).",
            "Are the kinds swapped, must for cannot?",
        )
    return Advice(
        "Links agree with the data no better than chance: rows of must-links are hardly more "
        f"alike than those of other pairs (in {contrast.auc:.0%} of comparisons; 50% is chance).",
        "Are the links of the rows of this table? Numbers count them from 0, in its order; ids "
        "have to mean the same rows in both. If so, its columns do not show what the links tell.",
    )


def by_row(links: Any, reading: Reading) -> Any:
    """Find the rows of links that are keyed by id, and doubt those by row of a table with ids."""
    if isinstance(links, ClosedLinks):
        return links
    found, index = Links.coerce(links), reading.index
    if not len(found):
        return None if found.keyed_by_id else found
    named = index is not None and not counts_rows(index)
    ids = index if named else reading.ids
    if not found.keyed_by_id:
        if ids is not None and found._rows_needed() > len(ids):
            which = "table.index" if named else "the column of ids"
            raise Refusal(
                f"The links name row {found._rows_needed() - 1:,}, and the table has "
                f"{counted(len(ids), 'row')}, counted from 0.",
                f"If the numbers are ids: Links(..., ids=...) with {which}.",
                parameter="links",
            )
        # Links that know the number of rows were made for them.
        if named and found.n_samples is None:
            warn(
                Advice(
                    "Links count rows from 0, and the index of the table says otherwise; is it "
                    "sorted as when you answered?",
                    "If the numbers are ids of the index: Links(..., ids=table.index); if they do "
                    "count rows: Links(..., n_samples=len(table)).",
                    parameter="links",
                )
            )
        # A column's groups know it, too; but a table that was sorted since has as many rows.
        elif named and (len(found.apart) or found._pairs.in_order) and _is_shuffled(index):
            warn(
                Advice(
                    "Groups of rows count them from 0, and the index of the table is in another "
                    "order; is it sorted as when they were made?",
                    "Links.apart_within(table[column]), and together_within, of this very table "
                    "find rows by the index; if the groups do count rows, cluster "
                    "table.reset_index(drop=True).",
                    parameter="links",
                )
            )
        return found
    if ids is None:
        first = (found._pairs.names or ("?",))[0]
        remedy = "Give Links(..., ids=table['id']), or links.resolve(table['id']):"
        if index is not None or not is_table(reading.X):
            remedy = "Give a pandas DataFrame that has them for its index, table.set_index('name')"
            remedy += ", or call links.resolve(ids) with"
        raise Refusal(
            f"The links are keyed by id, such as {first!r}, and the data have no ids.",
            f"{remedy} the ids in the order of rows. Groups of a column count rows where they are "
            "made by Links.apart_within(column.to_numpy()).",
            parameter="links",
        )
    return found.resolve(ids)


def _is_shuffled(index: Any) -> bool:
    """Whether an index counts rows in another order than theirs."""
    values = np.asarray(index)
    return values.dtype.kind in "iu" and counts_rows(np.sort(values))


def settled_answers(
    tables: Sequence[Any],
    links: Links,
    partial_labels: ArrayLike | None,
    n: int,
    conflicts: str,
) -> Answers:
    """Set links aside until the rest agrees, and doubt the rest where many answers are wrong.

    Of a contradiction goes what is least probable (`link_belief`) for its confidence. Known labels
    are believed: only links go.
    """
    if conflicts not in CONFLICTS:
        raise Refusal(
            f"conflicts must be 'resolve' or 'refuse', got {conflicts!r}.",
            parameter="conflicts",
            value=conflicts,
        )
    none = links.where(np.zeros(len(links.must), bool), np.zeros(len(links.cannot), bool))
    none = none._only_pairs()
    n_pairs = len(links.must) + len(links.cannot)  # groups are believed, as known labels are
    if not n_pairs:
        return Answers(links, none)
    if conflicts == "refuse":
        contrast = _belief(tables, links, torn=False).contrast if n_pairs >= _FEW else None
        return Answers(links, none, contrast=contrast)
    known = none
    if partial_labels is not None:
        known = Links.from_labels(known_classes(partial_labels, n))
    joined = links + known
    torn = bool(joined.conflicts())
    if not torn and n_pairs < _FEW:
        return Answers(links, none)
    belief = _belief(tables, links, torn=torn)
    if not torn and _confirmed(joined, n) >= _CONFIRMED:
        return Answers(links, none, contrast=belief.contrast)
    must = -np.log(np.maximum(1 - belief.must, _NEVER)) * links.must_confidence
    cannot = -np.log(np.maximum(1 - belief.cannot, _NEVER)) * links.cannot_confidence
    must, cannot = (np.maximum(cost, _NEVER) for cost in (must, cannot))
    # Labels agree with each other, so that links can go instead of them: weights see to it.
    heavy = 1.0 + must.sum() + cannot.sum()
    aside = joined.settle(
        _with_known(joined, links, known, "must", must, heavy),
        _with_known(joined, links, known, "cannot", cannot, heavy),
    ).set_aside
    rate = max(belief.error_rate, len(aside) / n_pairs)
    slips = belief.error_rate <= _RELIABLE or belief.error_rate * n_pairs < _SLIPS
    if slips and len(aside) <= 1 + _RELIABLE * n_pairs:
        rate = 0.0
    doubted = _doubted(links, belief) if rate else None
    if doubted is not None:
        doubted = doubted.remove(aside.must, aside.cannot)
    kept = links.remove(aside.must, aside.cannot)
    return Answers(kept, aside, doubted, rate, belief.contrast)


def _doubted(links: Links, belief: Belief) -> Links:
    """Give links the confidences that data has in them, and none certainty."""
    must, cannot = (
        np.minimum(given, np.clip(right, _LEAST, _UNCERTAIN))
        for given, right in (
            (links.must_confidence, belief.must),
            (links.cannot_confidence, belief.cannot),
        )
    )
    pairs = links._pairs._replace(must_confidence=must, cannot_confidence=cannot)
    return links._make(pairs, links.n_samples)


def _confirmed(links: Links, n: int) -> int:
    """Count the must-links that others imply: so often could wrong answers have shown."""
    components = int(ClosedLinks(links, n).must_component.max(initial=-1)) + 1
    return len(links.must) - (n - components)


def _belief(tables: Sequence[Any], links: Links, *, torn: bool) -> Belief:
    """Probabilities that links are right by the data; ones where it has nothing to say."""
    numbers = [check_array(X, dtype=np.float64, ensure_all_finite=False) for X in tables]
    if not all(len(X) == len(numbers[0]) and np.isfinite(X).all() for X in numbers):
        # The method will say what is wrong with them.
        return Belief(np.ones(len(links.must)), np.ones(len(links.cannot)), 0.0)
    found = link_belief(np.hstack(numbers), links, least_rate=_RELIABLE if torn else 0.0)
    if len(links.must) + len(links.cannot) < _FEW:
        found = found._replace(error_rate=0.0, contrast=None)
    return found


def _with_known(
    joined: Links, links: Links, known: Links, kind: Kind, weight: Array, heavy: float
) -> Array:
    """Weights of links followed by those of labels, which are heavy; of both, too."""
    pairs, confidence = weighted(joined._pairs, kind)
    out = np.full(len(confidence), heavy)
    n = 1 + int(pairs.max(initial=0))
    mine, theirs = (
        table[:, 0] * n + table[:, 1]
        for table in (weighted(x._pairs, kind)[0] for x in (links, known))
    )
    out[: len(weight)] = np.where(np.isin(mine, theirs), heavy, weight)
    return out
