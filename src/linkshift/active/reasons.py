"""Finding out why a row is in its cluster: see `linkshift.active.why` for what is told of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from linkshift._core.arrays import Array, Progress
from linkshift._core.messages import Refusal
from linkshift._core.threads import one_blas_thread
from linkshift.active.belief import beliefs
from linkshift.active.known import Known, Told
from linkshift.active.memory import between_rows
from linkshift.active.state import heart
from linkshift.active.why import Acts, Case, Role, Sure, Why
from linkshift.explain.counterfactuals import where_it_goes

if TYPE_CHECKING:
    from linkshift.active.session import Session

__all__ = ["why_is"]

_LEAST = 0.005  # probability of a cluster that is worth a word: half a percent
_NEAR = 4  # answers of the row that it goes with


def why_is(session: Session, row: int, most: int, progress: Progress | None) -> Why:
    """Explain a row, and work out where it would be without each of some answers."""
    whole = isinstance(most, (int, np.integer)) and not isinstance(most, bool)
    if not whole or most < 0:
        raise Refusal(
            f"max_what_ifs is {most!r}.",
            "Give a whole number of answers to leave out, one at a time.",
            parameter="max_what_ifs",
        )
    found = _Reasons(session, row)
    roles = list(found.roles())
    cases = []
    for done, (role, told) in enumerate(roles[:most]):
        if progress is not None:
            progress(done, min(len(roles), most))
        cases.append(found.case(role, told))
    return Why(
        row=row,
        cluster=found.k,
        size=int((found.labels == found.k).sum()),
        same=tuple(one for one in found.chains if one != row),
        nearest=found.nearest,
        belief=found.belief,
        voters=found.voters,
        outvoted=found.outvoted,
        other=found.other,
        roles=tuple(role for role, _ in roles),
        n_answers=len(found.told),
        cases=tuple(cases),
        sure=found.sure(),
        path=found.path(),
        ids=None if session.ids is None else tuple(session.ids),
    )


class _Reasons:
    """What is known of a row: its piece, what it goes with, what is next."""

    def __init__(self, session: Session, row: int) -> None:
        self._session, self._row = session, row
        self.told: list[Told] = session._told
        self._sight, self._state = session._memory.state(self.told)
        self.labels: Array = session.labels_
        self.k = int(self.labels[row])
        self._aside = {one.against.name for one in session.contradictions()}
        self._rows: Known = between_rows(self.told, self._state)
        taken = {one.name for one in self._state.known.taken}
        taken |= {one.name for one in self._rows.taken}
        self._kept = [one for one in self.told if one.name in taken - self._aside]
        self.chains = self._same_as(row)
        self._stand_in()
        self._go_with()
        self._look_around()

    # Where it stands -----------------------------------------------------------------------------

    def _same_as(self, row: int) -> dict[int, tuple[int, ...]]:
        """Rows that answers say are the same, each with the shortest chain of rows there."""
        edges: dict[int, list[int]] = {}
        for one in self._kept:
            if one.same:
                edges.setdefault(one.a, []).append(one.b)
                edges.setdefault(one.b, []).append(one.a)
        chains: dict[int, tuple[int, ...]] = {row: (row,)}
        queue = [row]
        for at in queue:
            for there in edges.get(at, ()):
                if there not in chains:
                    chains[there] = (*chains[at], there)
                    queue.append(there)
        return chains

    def _stand_in(self) -> None:
        """Find the place that the row is known by: its own, or the nearest that speaks for it."""
        sight = self._sight
        self.voters: tuple[int, int] | None = None
        if self._row in sight.place:
            self._place = sight.place[self._row]
            return
        at = int(np.searchsorted(sight._others, self._row))
        near = sight._near[at]
        mine = np.array([self.labels[sight.row(int(one))] == self.k for one in near])
        self.voters = int(mine.sum()), len(near)
        self._place = int(near[mine.argmax()])

    def _go_with(self) -> None:
        """Find the row that answers name which this one goes with."""
        state = self._state
        self._item = int(state.item[self._place])
        self.nearest: int | None = None
        self.belief: float | None = None
        shown = state.shown.cluster[self._item]
        self.outvoted = bool(
            len(self.chains) == 1 and state.labels[self._place] != shown and self.voters is None
        )
        named = np.flatnonzero(state.named >= 0)
        of_mine = [
            i
            for i in named.tolist()
            if self._label_of(int(state.named[i])) == self.k
            and self._named_row(int(state.named[i])) != self._row
        ]
        if len(self.chains) > 1 or not of_mine:
            return
        near = self._beliefs([int(state.named[i]) for i in of_mine])
        best = int(np.argmax(near))
        self.nearest = self._named_row(int(state.named[of_mine[best]]))
        self.belief = float(near[best])

    def _label_of(self, place: int) -> int:
        return int(self.labels[self._sight.row(place)])

    def _named_row(self, place: int) -> int:
        """Give the row of a place that answers name."""
        for one in self.told:
            for row in (one.a, one.b):
                if self._sight.place.get(row) == place:
                    return row
        return self._sight.row(place)

    def _beliefs(self, places: list[int]) -> Array:
        """How probable it is that the row is the same as each of some."""
        others = np.array(places, dtype=np.int64)
        with one_blas_thread():
            features = self._sight.faces.of_pairs(np.full(len(others), self._place), others)
            found: Array = beliefs(self._state.weights, features.T[:, :, None])[:, 0]
        found[others == self._place] = 1.0
        return found

    # What is next to it --------------------------------------------------------------------------

    def _look_around(self) -> None:
        """Find the next cluster: the one with the core that the row is most probably the same as.

        Clusters that answers hold it apart from are none.
        """
        state = self._state
        self.other: tuple[int, float, int] | None = None
        items, _ = state.cores
        places = [int(state.named[i] if state.named[i] >= 0 else state.row[i]) for i in items]
        rows = [self._named_row(place) for place in places]
        foes = {int(self.labels[row]) for row in rows if self._says(self._row, row) is False}
        some = [
            i
            for i, row in enumerate(rows)
            if self.labels[row] != self.k and int(self.labels[row]) not in foes
        ]
        if not some:
            return
        near = self._beliefs([places[i] for i in some])
        best = int(np.argmax(near))
        if near[best] >= _LEAST:
            row = rows[some[best]]
            self.other = int(self.labels[row]), float(near[best]), row

    def _says(self, a: int, b: int) -> bool | None:
        """Give what answers say of two rows."""
        said = self._rows.says(a, b)
        place = self._sight.place
        if said is None and a in place and b in place:
            said = self._state.known.says(place[a], place[b])
        return said

    def sure(self) -> tuple[Sure, ...]:
        """Give pairs whose answers would settle it: with what it goes with, and with the next."""
        found = []
        mine = self.nearest if self.nearest is not None else self._heart()
        there = None if self.other is None else self.other[2]
        for other in (None if len(self.chains) > 1 else mine, there):
            if other is not None and other != self._row and self._says(self._row, other) is None:
                place = self._sight.place[other]
                found.append(Sure(self._row, other, float(self._beliefs([place])[0])))
        return tuple(found)

    # The way to the heart ------------------------------------------------------------------------

    def path(self) -> tuple[int, ...]:
        """Give rows from this one to the heart of its cluster, each once."""
        sight, state = self._sight, self._state
        piece = sight.row(int(state.look.row[state.look.piece[self._place]]))
        rows = [self._row]
        if len(self.chains) > 1:  # by answers
            ends = [one for one in self.chains if one in self._cores()]
            rows += self.chains[ends[0] if ends else list(self.chains)[1]]
        elif self.labels[piece] == self.k:
            rows.append(piece)
        rows += [] if self.nearest is None else [self.nearest]
        rows.append(self._heart())
        return tuple(dict.fromkeys(one for one in rows if self.labels[one] == self.k))

    def _cores(self) -> set[int]:
        """Rows that answers name in the items of the row's cluster."""
        named = self._state.named
        return {self._named_row(int(one)) for one in named[named >= 0]} - {self._row}

    def _heart(self) -> int:
        """Give the row at the heart of the cluster; of a cluster without an item its first."""
        state = self._state
        mine = np.array([self._label_of(int(one)) == self.k for one in state.row])
        if not mine.any():
            return int(np.flatnonzero(self.labels == self.k)[0])
        return self._sight.row(int(state.row[heart(state.belief, state.size, mine)]))

    # Answers -------------------------------------------------------------------------------------

    def roles(self) -> Iterator[tuple[Role, Told]]:
        """Give answers that act, the nearest first."""
        found: list[tuple[tuple[int, int], Role, Told]] = []
        beside = {} if self.nearest is None else self._same_as(self.nearest)
        for place, one in enumerate(self.told):
            ends = [end for end in (one.a, one.b) if end in self.chains]
            chain: tuple[int, ...] = ()
            acts: Acts
            if ends:
                chain = min((self.chains[end] for end in ends), key=len)
                acts = "own" if len(chain) == 1 else "component"
            elif near := [end for end in (one.a, one.b) if end in beside]:
                chain = min((beside[end] for end in near), key=len)
                acts = "near" if one.same else "apart"
                if not one.same and not self._parts_from_next(one):
                    continue
            else:
                continue
            if one.name in self._aside:
                acts = "aside"
            holds = bool((self.labels[one.a] == self.labels[one.b]) == one.same)
            shown = chain if acts == "component" else ()
            word = "same" if one.same else "different"
            role = Role(one.a, one.b, word, one.confidence, one.given, holds, acts, shown)
            found.append(((len(chain) + (0 if ends else len(self.told)), place), role, one))
        found.sort(key=lambda entry: entry[0])
        n_near = 0
        for _, role, one in found:
            n_near += role.acts in ("near", "apart")
            if n_near <= _NEAR or role.acts not in ("near", "apart"):
                yield role, one

    def _parts_from_next(self, one: Told) -> bool:
        """Whether an answer holds what the row goes with apart from the next cluster."""
        ends = {int(self.labels[one.a]), int(self.labels[one.b])}
        return self.other is not None and ends == {self.k, self.other[0]}

    def case(self, role: Role, told: Told) -> Case:
        """Work out where the row would be without an answer."""
        without = [one for one in self.told if one != told]
        memory = self._session._memory
        left = {row for one in without for row in (one.a, one.b)}
        if len(self.labels) > len(memory.drawn) and not {told.a, told.b} <= left | memory.drawn:
            return Case(role, "unknown")
        then = memory.labels(without)
        outcome, clusters = where_it_goes(self._row, self.labels, then)
        here = then == then[self._row]
        size = int(here.sum())
        if outcome == "stays":
            mine = self.labels == self.k
            if 2 * int((here & mine).sum()) <= int(mine.sum()):
                return Case(role, "parts", clusters, size)
        return Case(role, outcome, clusters, size)
