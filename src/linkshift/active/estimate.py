r"""How good the clusters are, from pairs that were drawn at random to find out.

The model gives each pair a probability p of being the same; what is not known is how far its word
is to be trusted on these data. Audit questions tell: each is a pair drawn at random, half of them
from one cluster (by the number of pairs) and half from two (the more probable they are one, the
more often).
Before an answer is learned from, it says whether the probability was right:

.. math:: P(\text{same}) = \operatorname{logit}^{-1}(\operatorname{logit}(p) + \delta_s)

with one shift :math:`\delta_1` for pairs of one cluster and another, :math:`\delta_2`, for pairs of
two. Both are normal over data sets, with a mean and a spread that were fitted on many
(``python -m benchmarks.active.trust``), and answers to audits sharpen them. Precision, recall and
the adjusted Rand index follow from the sums of the shifted probabilities over all pairs, for every
value of the shifts; their 5th and 95th percentiles are the interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from linkshift._core.arrays import Array
from linkshift.active.state import State

__all__ = ["Audit", "Estimate", "Figure", "chances", "draw", "estimated"]

_GRID = np.linspace(-7.0, 7.0, 141)
_FAINTEST, _SUREST = 0.002, 0.98  # pieces are not pure, and no pair of rows is surer
# Mean and standard deviation of the shifts over data sets: python -m benchmarks.active.trust
_ONE_CLUSTER, _TWO_CLUSTERS = (0.0, 1.5), (0.0, 1.5)
_BINS = 80
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
        return (
            f"estimated ARI {self.ari}, precision of pairs {self.precision}, recall {self.recall}; "
            f"90 % intervals, from {self.n_audits} pairs drawn at random"
        )


class Audit(NamedTuple):
    """A pair that was drawn at random: what was believed, and what is so."""

    belief: float
    together: bool  # in one cluster, then
    same: bool


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


def audit(state: State, a: int, b: int, same: bool) -> Audit:
    """Keep what was believed of two rows before the answer."""
    one, other = state.item[a], state.item[b]
    belief = 1.0 if one == other else float(_with_answers(state)[one, other])
    return Audit(
        float(np.clip(belief, _FAINTEST, _SUREST)),
        bool(state.cluster[one] == state.cluster[other]),
        same,
    )


def estimated(state: State, audits: list[Audit]) -> Estimate:
    """Work out the figures, over a grid of both shifts."""
    belief, pairs, both = chances(state)
    right, weight_right = _shifted(belief[both], pairs[both], _ONE_CLUSTER, audits, True)
    missed, weight_missed = _shifted(belief[~both], pairs[~both], _TWO_CLUSTERS, audits, False)
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
    belief: Array, pairs: Array, trust: tuple[float, float], audits: list[Audit], together: bool
) -> tuple[Array, Array]:
    """Pairs that are the same, for each shift, and how probable the shift is."""
    mean, spread = trust
    fits = -(((_GRID - mean) / spread) ** 2) / 2
    for one in audits:
        if one.together == together:
            score = logit(one.belief) + _GRID
            fits = fits - np.logaddexp(0.0, -score if one.same else score)
    weight = np.exp(fits - fits.max())
    edges = np.linspace(logit(_FAINTEST), logit(_SUREST), _BINS)
    place = np.rint((logit(belief) - edges[0]) / (edges[1] - edges[0])).astype(np.int64)
    count = np.bincount(place, pairs, minlength=_BINS)
    return expit(edges[None] + _GRID[:, None]) @ count, weight / weight.sum()


def _figure(values: Array, weight: Array) -> Figure:
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weight[order])
    low, middle, high = (
        float(values[order[min(int(np.searchsorted(total, q * total[-1])), len(order) - 1)]])
        for q in (_LOW, 0.5, _HIGH)
    )
    return Figure(middle, low, high)
