"""What a session believes after some answers: a function of the look and the answers alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from linkshift._core.arrays import Array
from linkshift._core.labels import dense
from linkshift._core.threads import one_blas_thread
from linkshift.active._loops import join
from linkshift.active.belief import (
    PAIR,
    beliefs,
    left_out,
    posterior,
    prior,
    rate_of_slips,
)
from linkshift.active.known import Known, Told
from linkshift.active.look import Look

__all__ = ["Faces", "State", "state_of"]

_JOIN_GROUP = 0.5  # average belief from which two groups of answers are one cluster
_JOIN_PIECE = 0.4  # belief from which a piece goes with a row that was asked about
_JOIN_FREE = 0.4  # average belief from which pieces that go with none are one cluster
_SPREADS, _LISTEN = 5, 0.7  # steps in which rows hear their neighbours, and how much
_ONE_SIDED = 2.0  # how much given links of one kind count more than those of the other
_KEPT_FACES = 512
_NO_GROUP = -1


class Faces:
    """Features of rows that are no hearts of pieces, kept while they are of use."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._heart = {int(row): i for i, row in enumerate(look.row)}
        self._kept: dict[int, Array] = {}

    def beliefs(self, weights: Array, rows: Array) -> Array:
        """Beliefs of all pairs of some rows: (i, i); those of hearts come from one table."""
        place = self._places(rows)
        hearts = np.flatnonzero(place >= 0)
        known = place[hearts]
        out = np.empty((len(rows), len(rows)))
        of_hearts = beliefs(weights, self._look.features)
        out[hearts[:, None], hearts[None]] = of_hearts[known[:, None], known[None]]
        for i in np.flatnonzero(place < 0):
            out[i] = out[:, i] = beliefs(weights, self._of(int(rows[i]))[:, None, rows])[0]
        return out

    def of_pairs(self, a: Array, b: Array) -> Array:
        """Features of a[i] with b[i], for each i: (q, 24)."""
        one, other = self._places(a), self._places(b)
        out = np.empty((len(a), len(self._look.features)))
        for i in range(len(a)):
            if one[i] >= 0 and other[i] >= 0:
                out[i] = self._look.features[:, one[i], other[i]]
            elif one[i] < 0:
                out[i] = self._of(int(a[i]))[:, b[i]]
            else:
                out[i] = self._of(int(b[i]))[:, a[i]]
        return out

    def _places(self, rows: Array) -> Array:
        return np.array([self._heart.get(int(row), -1) for row in rows], dtype=np.int64)

    def _of(self, row: int) -> Array:
        """Features of a row with all rows: (24, n)."""
        if row not in self._kept:
            if len(self._kept) >= _KEPT_FACES:
                self._kept.pop(next(iter(self._kept)))
            everyone = np.arange(len(self._look.piece))
            self._kept[row] = self._look.of_pairs(np.array([row]), everyone)[:, 0]
        return self._kept[row]


@dataclass(frozen=True, eq=False)
class State:
    """Clusters after some answers, and the beliefs that they are made of.

    An *item* is a piece, or a part of one of whose rows answers do not say that they are the same.
    """

    look: Look
    known: Known
    bending: Known  # without audits and given links that hold anyway
    weights: Array  # of the model
    item: Array  # (n,): of each row
    piece: Array  # (i,): of each item
    row: Array  # (i,): that features of the item are of
    named: Array  # (i,): a row of the item that answers name; -1 for none
    group: Array  # (i,): of items that answers hold together; others are by themselves
    apart: Array  # (g, g): which groups answers hold apart
    size: Array  # (i,)
    belief: Array  # (i, i)
    cluster: Array  # (i,)
    n_named: int  # clusters with a named item; they come first
    alone: dict[Told, float]  # the score of "same" of each answer's pair, by the others
    rate: float  # of slips

    @cached_property
    def shown(self) -> State:
        """Give the same with the clusters that are shown.

        Before any answer, and with few columns, these are of the partition that the consensus
        likes best. After the first answer the joined pieces are better.
        """
        sight = self.look.sight
        if sight is None or not self.look.few_columns or self.bending.rows:
            return self
        return replace(self, cluster=dense(sight.best[self.row]))

    @cached_property
    def labels(self) -> Array:
        r"""Clusters of rows: those of their items, after rows have heard their neighbours.

        .. math:: F \leftarrow 0.7 \, D^{-1} W F + 0.3 \, Y

        five times, with Y the clusters of items; rows that answers name keep theirs.
        """
        found: Array = self.shown.cluster[self.item]
        if self.look.sight is None:
            return found
        hearing = self.look.sight.hearing
        k, rows = int(found.max()) + 1, np.arange(len(found))
        said = np.zeros((len(found), k))
        said[rows, found] = 1.0
        kept, now = np.array(self.bending.rows, dtype=np.int64), said
        for _ in range(_SPREADS):
            now = _LISTEN * (hearing @ now) + (1 - _LISTEN) * said
            now[kept] = said[kept]
        labels: Array = now.argmax(axis=1)
        return labels

    def breaks(self, told: Told) -> bool:
        """Whether the labels go against what was told."""
        return bool((self.labels[told.a] == self.labels[told.b]) != told.same)

    @cached_property
    def cores(self) -> tuple[Array, Array]:
        """Items that clusters are asked by, and whose they are: the named ones, or the heart."""
        items = np.flatnonzero(self.named >= 0)
        found, owner = [items], [self.cluster[items]]
        for k in range(self.n_named, int(self.cluster.max()) + 1):
            found.append(np.array([heart(self.belief, self.size, self.cluster == k)]))
            owner.append(np.array([k]))
        return np.concatenate(found), np.concatenate(owner)


def heart(belief: Array, size: Array, among: Array) -> int:
    """Give the item that is believed to be with most of the others, the first of equals."""
    items = np.flatnonzero(among)
    return int(items[(belief[np.ix_(items, items)] @ size[items]).argmax()])


def state_of(look: Look, faces: Faces, told: list[Told]) -> State:
    """Work out what follows from answers.

    Audits, and links that were given, are about rows as they come, which are poor examples of
    anything: clusters are made without them first, and only those that these clusters go against
    are taken in, until there is none.
    """
    with one_blas_thread():
        learned = _learned(faces, told)
        trust, kept = learned.trust, learned.kept
        told, trust = [told[i] for i in kept], [trust[i] for i in kept]
        known = Known.of(told, trust)
        taken: set[Told] = set()  # of these, those that bend
        while True:
            some = [i for i, one in enumerate(told) if not _as_it_comes(one) or one in taken]
            bending = Known.of([told[i] for i in some], [trust[i] for i in some])
            state = _clustered(look, faces, known, bending, learned)
            others = {one for one in known.taken if _as_it_comes(one)} - taken
            against = {one for one in others if state.breaks(one)}
            if not against:
                return state
            taken |= against


def _as_it_comes(one: Told) -> bool:
    return one.audit or one.given


class Learned(NamedTuple):
    """What answers say of the model, and the model of the answers."""

    weights: Array
    alone: dict[Told, float]
    rate: float
    trust: list[float]  # in each answer
    kept: list[int]  # answers that do not give way to the model


def _learned(faces: Faces, told: list[Told]) -> Learned:
    """Fit the model, and say how far each answer is to be trusted."""
    before = prior()
    if not told:
        return Learned(before.mean, {}, rate_of_slips(*np.zeros((3, 0))), [], [])
    a, b, said, sure, _, given, _, times, against = (np.array(c) for c in zip(*told, strict=True))
    features, same, sure = faces.of_pairs(a, b), said.astype(float), sure.astype(float)
    counts = _counts(same, sure, given.astype(bool))
    weights = posterior(features, same, counts, before)
    alone = left_out(features, same, counts, weights, before)
    sign, certain = np.where(said, 1.0, -1.0), sure == 1.0
    some = certain & ~given
    rate = rate_of_slips((sign * alone)[some], times[some], against[some])
    right = expit(PAIR * sign * alone + (times - against) * logit(1 - rate))
    # Certain links before certain answers, these before others, the probable before the improbable.
    trust = (1 + given) * certain + sure + 0.5 * np.round(right, 9)
    # An answer that is not certain gives way to the model.
    chance = expit(sign * (features @ weights))
    kept = certain | (sure * chance >= (1 - sure) * (1 - chance))
    scores = dict(zip(told, alone.tolist(), strict=True))
    return Learned(weights, scores, rate, trust.tolist(), np.flatnonzero(kept).tolist())


def _counts(same: Array, sure: Array, given: Array) -> Array:
    """How much each answer counts for the model.

    What was given was not drawn by the model: two faces in one photograph are never the same, and
    two of one film always are, however near. So given links of one kind count together at most as
    much as those of the other kind, and a little more.
    """
    must, cannot = given & (same == 1), given & (same == 0)
    n_must, n_cannot = sure[must].sum(), sure[cannot].sum()
    counts = sure.copy()
    counts[must] *= min(1.0, (n_cannot + _ONE_SIDED) / max(n_must, _ONE_SIDED))
    counts[cannot] *= min(1.0, (n_must + _ONE_SIDED) / max(n_cannot, _ONE_SIDED))
    return counts


def _clustered(look: Look, faces: Faces, known: Known, bending: Known, learned: Learned) -> State:
    items = _items(look, bending)
    belief = faces.beliefs(learned.weights, items.row)
    belief = (belief + belief.T) / 2
    np.fill_diagonal(belief, 1.0)
    cluster, n_named = _clusters(belief, items)
    return State(
        look,
        known,
        bending,
        learned.weights,
        *items,
        belief,
        cluster,
        n_named,
        learned.alone,
        learned.rate,
    )


class Items(NamedTuple):
    """Pieces, and parts of those that answers take apart. See `State`."""

    item: Array
    piece: Array
    row: Array
    named: Array
    group: Array
    apart: Array
    size: Array


def _items(look: Look, known: Known) -> Items:
    """Let a piece be one item, or take apart what answers do not say to be the same.

    The heart of a piece stands for it. Where answers name other rows of it, each group of these is
    an item, and so is the heart; the rows of the piece go with the nearest of all named rows.
    """
    of_group: dict[int, int] = {}
    inside: dict[int, dict[int, list[int]]] = {}
    for one in known.rows:
        g = of_group.setdefault(known.root(one), len(of_group))
        inside.setdefault(int(look.piece[one]), {}).setdefault(g, []).append(one)
    m = len(look)
    whole = np.ones(m, dtype=bool)
    for p, groups in inside.items():
        at_heart = any(look.row[p] in rows for rows in groups.values())
        if not at_heart:
            groups[_NO_GROUP] = [int(look.row[p])]
        whole[p] = len(groups) == 1
    place = np.cumsum(whole) - 1
    item = place[look.piece]
    piece, row, size = np.flatnonzero(whole), look.row[whole], look.size[whole]
    named, group = np.full(len(piece), -1), np.full(len(piece), _NO_GROUP)
    parts: list[tuple[int, int, int, float, int]] = []
    for p, groups in inside.items():
        if whole[p]:
            named[place[p]], group[place[p]] = look.row[p], next(iter(groups))
            continue
        first, members = len(piece) + len(parts), np.flatnonzero(look.piece == p)
        rows = [one for some in groups.values() for one in some]
        part = np.repeat(first + np.arange(len(groups)), [len(some) for some in groups.values()])
        item[members] = part[_nearest(look, members, np.array(rows))]
        item[rows] = part
        for at, (g, some) in enumerate(groups.items(), first):
            name = -1 if g == _NO_GROUP else some[0]
            parts.append((p, some[0], name, float((item[members] == at).sum()), g))
    if parts:
        of_piece, at_row, name_of, count, its = (np.array(c) for c in zip(*parts, strict=True))
        piece, row = np.concatenate([piece, of_piece]), np.concatenate([row, at_row])
        named, size = np.concatenate([named, name_of]), np.concatenate([size, count])
        group = np.concatenate([group, its])
    n_groups = len(of_group)
    alone = group < 0
    group = np.where(alone, n_groups + np.cumsum(alone) - 1, group)
    apart = np.zeros((n_groups + int(alone.sum()),) * 2, dtype=bool)
    for root, foes in known.foes.items():
        for foe in foes:
            apart[of_group[root], of_group[foe]] = True
    return Items(item, piece, row, named, group, apart, size)


def _nearest(look: Look, members: Array, rows: Array) -> Array:
    """Which of the rows is nearest to each member, in diffusion coordinates after four steps."""
    if look.sight is None:
        return np.zeros(len(members), dtype=np.int64)
    points = look.sight.spaces[1]
    away = ((points[members][:, None] - points[rows][None]) ** 2).sum(axis=2)
    found: Array = away.argmin(axis=1)
    return found


def _clusters(belief: Array, items: Items) -> tuple[Array, int]:
    """Join groups of answers, give them the pieces that go with them, and join the others."""
    named = np.flatnonzero(items.named >= 0)
    cluster, n_named = np.full(len(items.row), -1), 0
    if len(named):
        groups, group = np.unique(items.group[named], return_inverse=True)
        label, *_ = join(
            belief[np.ix_(named, named)],
            np.ones(len(named)),
            group,
            items.apart[np.ix_(groups, groups)],
            _JOIN_GROUP,
        )
        of_named = dense(label)[group]
        n_named = int(of_named.max()) + 1
        near = belief[:, named]
        goes = near.max(axis=1) >= _JOIN_PIECE
        cluster[goes] = of_named[near.argmax(axis=1)[goes]]
        cluster[named] = of_named
    free = np.flatnonzero(cluster < 0)
    if len(free):
        apart = np.zeros((len(free),) * 2, dtype=bool)
        each = np.arange(len(free))
        label, *_ = join(belief[np.ix_(free, free)], items.size[free], each, apart, _JOIN_FREE)
        cluster[free] = n_named + dense(label)
    return cluster, n_named
