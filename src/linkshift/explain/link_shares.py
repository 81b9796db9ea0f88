r"""How much weight each cannot-link takes from the density around a row, and by which chain.

In constrained mean shift a cannot-link takes weight from the density that a centre climbs. With
the pairs P of rows that must-links carry it to, it leaves to the centre t of a row

.. math::

    w_j = \prod_{(x, y) \in P} \bigl(1 - c\, k_{h_c}(t_x - t)\, k_{h_c}(t_y - t_j)\bigr)
                                \bigl(1 - c\, k_{h_c}(t_y - t)\, k_{h_c}(t_x - t_j)\bigr)

of each sample (eq. 4.2 and 4.3 of Schier et al. 2022, this link alone), and its share is

.. math:: 1 - \frac{\sum_j k_h(s_j - t)\, w_j}{\sum_j k_h(s_j - t)},

samples counted by their weights.
For a single pair, of whose ends only x is near, that is
:math:`\sum_j k_h(s_j - t)\, k_{h_c}(t_x - t)\, k_{h_c}(t_y - t_j) / \sum_j k_h(s_j - t)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from linkshift._core.arrays import LEAST_SQUARE, Array
from linkshift.links import Links
from linkshift.shift.constrained import History, LinkKernel

_CELLS = 1 << 22  # pairs times centres at a time


@dataclass(frozen=True)
class Bending:
    """Pairs of rows that bent a constrained shift, and the shift itself."""

    pairs: Array  # (m, 2): cannot-linked rows, those of certain links closed under must-links
    confidence: Array
    history: History
    bandwidths: Array  # of each iteration
    points: Array  # the samples
    kernel: LinkKernel
    scale: float  # the lambda of eq. 4.4
    floor: float  # its epsilon
    blurring: bool  # whether samples moved along
    weight: Array | None  # of the samples
    enforced: bool  # whether centres with a certain link between their rows stayed apart at the end

    @property
    def n_steps(self) -> int:
        """Iterations that were made."""
        return len(self.history) - 1


def weight_taken(
    bending: Bending, row: int, pairs: Array, confidence: Array, group: Array, steps: Sequence[int]
) -> Array:
    """Share of the weight around a row's centre that each group of pairs takes, at each step.

    Pairs are cannot-linked rows, of one confidence within a group; groups count from 0 without
    gaps. Returns shares from 0 to 1, of shape (n_steps, n_groups).
    """
    n_groups = int(group.max(initial=-1)) + 1
    sure = np.zeros(n_groups)
    sure[group] = confidence
    shares = [_taken_at(bending, row, pairs, sure, group, step) for step in steps]
    return np.array(shares).reshape(len(steps), n_groups)


def _taken_at(
    bending: Bending, row: int, pairs: Array, sure: Array, group: Array, step: int
) -> Array:
    """Shares at one step. Centres stand for all rows that move with them."""
    kernel, h = bending.kernel, float(bending.bandwidths[step])
    centres, member = bending.history[step]
    here = centres[member[row]]
    samples = centres[member] if bending.blurring else bending.points
    weight = kernel(((samples - here) ** 2).sum(axis=1) / max(h**2, LEAST_SQUARE))
    if bending.weight is not None:
        weight = weight * bending.weight
    mass = np.bincount(member, weights=weight, minlength=len(centres))
    seen = np.flatnonzero(mass)
    shares = np.zeros(len(sure))
    if not len(seen) or not len(pairs):
        return shares
    # Pairs of a group between the same two centres act alike: once, to the power of their number.
    n = len(centres)
    low, high = np.sort(member[pairs], axis=1).T
    key, count = np.unique((group * n + low) * n + high, return_counts=True)
    key, high = np.divmod(key, n)
    of, low = np.divmod(key, n)
    length = np.linalg.norm(centres[low] - centres[high], axis=1)
    width = np.maximum(bending.floor, np.minimum(h, bending.scale * length))[:, None]
    ends = np.stack([low, high], axis=1)
    near = kernel(((centres[ends] - here) ** 2).sum(axis=2) / width**2)
    acting = np.flatnonzero(near.any(axis=1))
    groups = np.unique(of[acting])
    left = np.ones((len(groups), len(seen)))
    rows = max(1, _CELLS // len(seen))
    for first in range(0, len(acting), rows):
        part = acting[first : first + rows]
        to_low, to_high = (
            kernel(cdist(centres[end[part]], centres[seen], "sqeuclidean") / width[part] ** 2)
            for end in (low, high)
        )
        c = sure[of[part]][:, None]
        factor = 1.0 - c * near[part, :1] * to_high
        factor *= 1.0 - c * near[part, 1:] * to_low
        factor **= count[part][:, None]
        place = np.searchsorted(groups, of[part])  # ascending, since keys are
        begin = np.flatnonzero(np.diff(place, prepend=-1))
        left[place[begin]] *= np.multiply.reduceat(factor, begin, axis=0)
    shares[groups] = 1.0 - left @ mass[seen] / mass[seen].sum()
    return np.clip(shares, 0.0, 1.0)  # sums round


def group_pairs(bending: Bending, links: Links, component: Array) -> tuple[Array, Array]:
    """Group of each bending pair, and of each of the user's cannot-links: those behind it.

    Links between the same two must-linked components share a group.
    """
    n = int(component.max()) + 1

    def key(pairs: Array, sure: Array) -> Array:
        low, high = np.sort(component[pairs].reshape(-1, 2), axis=1).T
        closed = low * n + high
        rows = np.sort(pairs, axis=1)
        single = -1 - (rows[:, 0] * len(component) + rows[:, 1])  # uncertain links stay single
        return np.where(sure == 1.0, closed, single)

    both = np.concatenate(
        [key(bending.pairs, bending.confidence), key(links.cannot, links.cannot_confidence)]
    )
    group = np.unique(both, return_inverse=True)[1]
    return group[: len(bending.pairs)], group[len(bending.pairs) :]
