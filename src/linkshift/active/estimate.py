r"""How good the clusters are, from pairs that were drawn at random to find out.

The model gives each pair a probability p of being the same; what is not known is how far its word
is to be trusted on these data. Audit questions tell: each is a pair drawn at random, half of them
from one cluster (by the number of pairs) and half from two (the more probable they are one, the
more often).
Before an answer is learned from, it says whether the probability was right:

.. math:: P(\text{same}) = \operatorname{logit}^{-1}(\operatorname{logit}(p) + \mu(q) + \delta)

with one shift :math:`\delta` for pairs of one cluster and another for pairs of two, and
:math:`\mu(q)` the usual shift after q answers: :math:`0.2 + 0.5 \log(1 + q / 10)` for one cluster
and -1.1 for two (the model says less than it might of pairs in one cluster, the more so the more it
was told, and too much of pairs in two). Shifts differ between data sets like 1.5 times Student's t
with three degrees of freedom, and answers to audits sharpen them; an answer counts half after 50
further ones. All these were fitted on the sets that ``benchmarks.active.sets`` calls seen.
Precision, recall and the adjusted Rand index follow from the sums of the shifted probabilities over
all pairs, for every value of the shifts; their 5th and 95th percentiles, rounded outwards to
hundredths, are the interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from linkshift._core.arrays import Array
from linkshift._core.text import counted
from linkshift.active.state import State

__all__ = ["Audit", "Estimate", "Figure", "chances", "draw", "estimated"]

_GRID = np.linspace(-12.0, 12.0, 241)
_FAINTEST, _SUREST = 0.0005, 0.995  # pieces are not pure, and no pair of rows is surer
_BINS = 120
_SPREAD, _FREEDOM = 1.5, 3.0  # of shifts over data sets
_HALF_LIFE = 50.0  # answers
_LOW, _HIGH = 0.05, 0.95


class Figure(NamedTuple):
    """A figure with its 90 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Give the figure and the interval."""
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class Estimate:
    """What the present clusters are estimated to be worth.

    Attributes
    ----------
    precision : Figure
        Of pairs of rows in one cluster, the share that belong together.
    recall : Figure
        Of pairs of rows that belong together, the share that are in one cluster.
    ari : Figure
        Adjusted Rand index with the truth.
    n_audits : int
        Answers to pairs that were drawn at random; without any, the figures are those that are
        usual at such probabilities.
    """

    precision: Figure
    recall: Figure
    ari: Figure
    n_audits: int

    def __str__(self) -> str:
        """Say all of it in one line."""
        drawn = counted(self.n_audits, "pair")
        by = (
            f"from {drawn} drawn at random"
            if self.n_audits
            else "as is usual on other data: no pair drawn at random has been answered yet"
        )
        return (
            f"estimated ARI {self.ari}, precision of pairs {self.precision}, recall {self.recall}; "
            f"90 % intervals, {by}"
        )


class Audit(NamedTuple):
    """A pair that was drawn at random: what was believed, and what is so."""

    belief: float
    together: bool  # in one cluster, then
    same: bool
    after: int  # so many answers


def chances(state: State) -> tuple[Array, Array, Array]:
    """Give the probabilities of all pairs of items: how many pairs of rows, and if in one cluster.

    Items with themselves stand for the pairs of rows in them.
    """
    belief = np.clip(_with_answers(state), _FAINTEST, _SUREST)
    pairs = np.outer(state.size, state.size)
    np.fill_diagonal(pairs, state.size * (state.size - 1))
    together = state.cluster[:, None] == state.cluster[None]
    some = np.tril_indices(len(belief))
    half = np.where(some[0] == some[1], 0.5, 1.0)
    return belief[some], pairs[some] * half, together[some]


def _with_answers(state: State) -> Array:
    """Beliefs, but for what answers say."""
    same = state.group[:, None] == state.group[None]
    apart = state.apart[np.ix_(state.group, state.group)]
    return np.where(same, 1.0, np.where(apart, 0.0, state.belief))


def draw(state: State, together: bool, rng: np.random.Generator) -> tuple[int, int] | None:
    """Draw a pair of rows from one cluster or from two; none where there is no such pair."""
    belief, pairs, both = chances(state)
    weight = np.where(both == together, pairs, 0.0)
    if not together:
        weight = weight * belief
    if not weight.sum() > 0:
        return None
    at = int(rng.choice(len(weight), p=weight / weight.sum()))
    a, b = (int(some[at]) for some in np.tril_indices(len(state.size)))
    if a == b:
        one, other = rng.choice(np.flatnonzero(state.item == a), 2, replace=False)
    else:
        one, other = (rng.choice(np.flatnonzero(state.item == item)) for item in (a, b))
    return int(one), int(other)


def audit(state: State, a: int, b: int, same: bool, after: int) -> Audit:
    """Keep what was believed of two rows before the answer."""
    one, other = state.item[a], state.item[b]
    belief = 1.0 if one == other else float(_with_answers(state)[one, other])
    return Audit(
        float(np.clip(belief, _FAINTEST, _SUREST)),
        bool(state.cluster[one] == state.cluster[other]),
        same,
        after,
    )


def _usual(together: bool, after: int) -> float:
    """Give the shift that is usual after so many answers."""
    return 0.2 + 0.5 * float(np.log1p(after / 10)) if together else -1.1


def estimated(state: State, audits: list[Audit], after: int) -> Estimate:
    """Work out the figures, over a grid of both shifts."""
    belief, pairs, both = chances(state)
    right, weight_right = _shifted(belief[both], pairs[both], audits, True, after)
    missed, weight_missed = _shifted(belief[~both], pairs[~both], audits, False, after)
    inside, across = pairs[both].sum(), pairs[~both].sum()
    tp, fn = right[:, None], missed[None]
    fp, tn = inside - tp, across - fn
    weight = (weight_right[:, None] * weight_missed[None]).ravel()
    tiny = np.finfo(float).tiny
    index = (
        2 * (tp * tn - fn * fp) / np.maximum((tp + fn) * (fn + tn) + (tp + fp) * (fp + tn), tiny)
    )
    precision = np.broadcast_to(tp / max(inside, tiny), index.shape)
    recall = tp / np.maximum(tp + fn, tiny)
    return Estimate(
        _figure(precision.ravel(), weight),
        _figure(recall.ravel(), weight),
        _figure(index.ravel(), weight),
        len(audits),
    )


def _shifted(
    belief: Array, pairs: Array, audits: list[Audit], together: bool, after: int
) -> tuple[Array, Array]:
    """Pairs that are the same, for each shift, and how probable the shift is."""
    fits = -(_FREEDOM + 1) / 2 * np.log1p((_GRID / _SPREAD) ** 2 / _FREEDOM)
    for one in audits:
        if one.together == together:
            score = logit(one.belief) + _usual(together, one.after) + _GRID
            fresh = 0.5 ** ((after - one.after) / _HALF_LIFE)
            fits = fits - fresh * np.logaddexp(0.0, -score if one.same else score)
    weight = np.exp(fits - fits.max())
    edges = np.linspace(logit(_FAINTEST), logit(_SUREST), _BINS)
    place = np.rint((logit(belief) - edges[0]) / (edges[1] - edges[0])).astype(np.int64)
    count = np.bincount(place, pairs, minlength=_BINS)
    at = edges[None] + _usual(together, after) + _GRID[:, None]
    return expit(at) @ count, weight / weight.sum()


def _figure(values: Array, weight: Array) -> Figure:
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weight[order])
    low, middle, high = (
        float(values[order[min(int(np.searchsorted(total, q * total[-1])), len(order) - 1)]])
        for q in (_LOW, 0.5, _HIGH)
    )
    return Figure(middle, float(np.floor(100 * low) / 100), float(np.ceil(100 * high) / 100))
