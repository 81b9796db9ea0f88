"""What is asked next: of all candidates those with the most at stake, and audits when they are due.

All follows from the state, the answers so far, the share of audits and the seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from linkshift._core.threads import one_blas_thread
from linkshift.active.among import Clicks, Joint, joint
from linkshift.active.estimate import draw
from linkshift.active.log import Answer
from linkshift.active.looked import Looked
from linkshift.active.questions import Candidate, candidates
from linkshift.active.state import State

__all__ = ["Picking"]

_FIRST_AUDIT = 10  # answers before the first audit
_DRAWS = 6  # until a pair is found of which answers do not tell


@dataclass(frozen=True, eq=False)
class Picking:
    """Questions that may come next, by the rows of the table."""

    sight: Looked
    state: State
    answers: tuple[Answer, ...]
    audit: float  # share of the questions
    seed: int

    @cached_property
    def never(self) -> frozenset[tuple[int, int]]:
        """Places of pairs that are not to be asked again."""
        last = {answer.pair: answer for answer in self.answers}
        return frozenset(
            self.sight.places(*pair)
            for pair, answer in last.items()
            # What is not certain may give way to the model, and would be asked for ever.
            if (answer.word == "unknown" or answer.confidence < 1.0)
            and self.sight.place.keys() >= set(pair)
        )

    @cached_property
    def candidates(self) -> list[Candidate]:
        """All pairs that could be asked about, the most at stake first."""
        with one_blas_thread():
            found = candidates(self.state, self.sight.tree, self.never)
        return [self._by_row(one) for one in found]

    def _by_row(self, one: Candidate) -> Candidate:
        """Name rows in the place of places; to confirm, those that were answered about."""
        a, b = self.sight.row(one.a), self.sight.row(one.b)
        if one.purpose == "confirm":
            there = (min(one.a, one.b), max(one.a, one.b))
            a, b = self._answered.get(there, (a, b))
        return one._replace(a=a, b=b)

    @cached_property
    def _answered(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Rows of the last answer that is known, by their places."""
        last = {answer.pair: answer for answer in self.answers}
        return {
            self.sight.places(*answer.pair): answer.pair
            for answer in last.values()
            if answer.word != "unknown" and self.sight.place.keys() >= set(answer.pair)
        }

    def batch(self, n: int) -> list[Candidate]:
        """Pick the most at stake, each about another part; audits when they are due."""
        found: list[Candidate] = []
        about: set[int] = set()
        for one in self.candidates:
            if len(found) < n and not (found and one.about & about):
                found.append(one)
                about |= one.about
        audits = [i for i, one in enumerate(self.answers) if one.purpose == "audit"]
        last = audits[-1] if audits else -1
        for place in range(len(found)):
            if self._due(len(self.answers) + place, last):
                drawn = self._audit(place)
                before = [{one.a, one.b} for one in found[:place]]
                if drawn is not None and {drawn.a, drawn.b} not in before:
                    found[place], last = drawn, len(self.answers) + place
        pairs = [{one.a, one.b} for one in found]  # what is drawn may be a later one, too
        return [one for i, one in enumerate(found) if pairs[i] not in pairs[:i]]

    def among(self, n: int) -> tuple[Joint, str] | None:
        """Pick a row and up to n others, and say what for; None for no more.

        Audits and questions that confirm an answer come with one other row.
        """
        others = self.candidates
        with one_blas_thread():
            best = joint(self.state, self.sight.tree, self.never, n)
        if best is not None:
            others = [one for one in others if one.purpose == "confirm"]
        if best is None and not others:
            return None
        clicks = Clicks.of(list(self.answers))
        drawn = self._audit(0) if self._due(clicks.number, clicks.audit) else None
        if drawn is None and others and (best is None or others[0].at_stake > best.at_stake):
            drawn = others[0]
        if drawn is not None:
            return Joint(drawn.at_stake, drawn.a, (drawn.b,), drawn.why), drawn.purpose
        assert best is not None  # or there is one of the others
        shown = tuple(self.sight.row(one) for one in best.among)
        return best._replace(row=self.sight.row(best.row), among=shown), "learn"

    def _due(self, place: int, last: int) -> bool:
        """Whether the question of this number is an audit: one in five, from the eleventh on.

        After the ``last`` one; where there was no pair to draw, the next question makes up for it.
        """
        later, before = place - _FIRST_AUDIT, max(last - _FIRST_AUDIT, -1)
        return int(self.audit * (later + 1)) > int(self.audit * (before + 1))

    def _audit(self, place: int) -> Candidate | None:
        """Draw a pair: from one cluster and from two by turns."""
        rng = np.random.default_rng([self.seed, len(self.answers) + place])
        done = sum(answer.purpose == "audit" for answer in self.answers)
        last = {answer.pair for answer in self.answers}
        why = "Drawn at random, to measure how good the clusters are."
        for attempt in range(_DRAWS):  # by turns; where all pairs of one kind are known, the other
            with one_blas_thread():
                drawn = draw(self.state, (done + place + (2 * attempt >= _DRAWS)) % 2 == 0, rng)
            if drawn is None:
                continue
            rows = self.sight.row(drawn[0]), self.sight.row(drawn[1])
            if self.state.known.says(*drawn) is None and tuple(sorted(rows)) not in last:
                return Candidate(0.0, *rows, why, frozenset(), "audit", 0.0)
        return None
