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
from linkshift.spaces.belief import Belief, link_belief

__all__ = ["Answers", "settled_answers"]

_FEW = 20  # links below this number say nothing of how reliable they are
_CONFIRMED = 50  # must-links that others imply, without a contradiction: answers are reliable
_RELIABLE = 0.02  # so many set aside for contradictions are slips; more, and no link is certain
_UNCERTAIN = 0.9  # largest confidence then: links are weighed, and nothing is inferred from them
_LEAST = 0.05  # and the smallest
_NEVER = 1e-6
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
    """

    links: Links
    set_aside: Links
    doubted: Links | None = None
    error_rate: float = 0.0

    def tell(self, *, weighs: bool) -> None:
        """Warn of links set aside, and of doubts where the method goes by confidences."""
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
    if conflicts == "refuse" or not n_pairs:
        return Answers(links, none)
    known = none
    if partial_labels is not None:
        known = Links.from_labels(known_classes(partial_labels, n))
    joined = links + known
    torn = bool(joined.conflicts())
    if not torn and (n_pairs < _FEW or _confirmed(joined, n) >= _CONFIRMED):
        return Answers(links, none)
    belief = _belief(tables, links, torn=torn)
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
    if belief.error_rate <= _RELIABLE and len(aside) <= 1 + _RELIABLE * n_pairs:
        rate = 0.0
    doubted = _doubted(links, belief) if rate else None
    if doubted is not None:
        doubted = doubted.remove(aside.must, aside.cannot)
    return Answers(links.remove(aside.must, aside.cannot), aside, doubted, rate)


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
    return found if len(links.must) + len(links.cannot) >= _FEW else found._replace(error_rate=0.0)


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
