"""Trajectories under cannot-links: a step, and a schedule of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from linkshift._core.arrays import LEAST_SQUARE, Array, Progress, first_of_equal_rows
from linkshift._core.memory import check_memory
from linkshift._core.messages import Refusal
from linkshift._core.threads import threads
from linkshift.shift._loops import BLOCK, EXPONENTIAL, FLAT
from linkshift.shift.constrained import _loops as loops
from linkshift.shift.constrained.near import (
    LOG2E,
    Blocks,
    Links,
    Panels,
    Tiles,
    near_links,
)
from linkshift.shift.neighbours import block_order, boxes

# Centres and the centre of each row: before each iteration and after the last.
History = list[tuple[Array, Array]]
LinkKernelName = Literal["truncated_gaussian", "gaussian", "flat"]

_FAR = 1e150  # padding: squared, still finite, and beyond every reach
_LARGEST = 1e100  # position or bandwidth, to which that is far
_SHARES = 16


@dataclass(frozen=True)
class LinkKernel:
    """The kernel of constrained mean shift, in the paper's form.

    "truncated_gaussian" is exp(-u) where that exceeds ``truncation`` (the paper's c), "gaussian"
    exp(-u), "flat" 1 for u < 1.
    """

    name: LinkKernelName = "truncated_gaussian"
    truncation: float = 0.2

    @property
    def kind(self) -> int:
        """Which loop."""
        return FLAT if self.name == "flat" else EXPONENTIAL

    @property
    def limit(self) -> float:
        """Squared distance, in bandwidths, from which on the kernel is zero."""
        if self.name == "flat":
            return 1.0
        # A Gaussian below machine epsilon adds nothing that float64 could show.
        c = self.truncation if self.name == "truncated_gaussian" else np.finfo(np.float64).eps
        return float(-np.log(c))

    def __call__(self, u: Array) -> Array:
        """Kernel value at squared scaled distance u."""
        if self.name == "flat":
            return (u < 1.0).astype(np.float64)
        return np.where(u < self.limit, np.exp(-u), 0.0)


@dataclass(frozen=True)
class ConstrainedAscent:
    """Where trajectories ended."""

    centres: Array  # (n_centres, d): distinct end positions
    group: Array  # the centre of each row
    bandwidth: float  # of the last iteration
    n_iter: int
    before: tuple[Array, Array]  # centres and the centre of each row, before the last iteration
    history: History = field(default_factory=list)  # on request


class _Reach(NamedTuple):
    """A kernel of one bandwidth, over squared distance: its kind, its slope, and where it ends."""

    kind: int
    slope: float
    limit: float


class _Samples(NamedTuple):
    """Samples ordered by the centre that owns them; those of block w begin at ``start[w]``."""

    position: Array
    mass: Array
    owner: Array
    start: Array


def _blocks(positions: Array) -> Blocks:
    n, d = positions.shape
    padded = np.full((-(-n // BLOCK) * BLOCK, d), _FAR)
    padded[:n] = positions
    columns = np.ascontiguousarray(padded.reshape(-1, BLOCK, d).transpose(0, 2, 1))
    return Blocks(columns, *boxes(positions))


def constrained_ascend(
    X: Array,
    cannot: Array,
    bandwidths: Sequence[float] | Array,
    kernel: LinkKernel,
    *,
    scale: float = 0.5,
    floor: float = 1e-3,
    confidence: Array | None = None,
    weight: Array | None = None,
    blurring: bool = False,
    merge_tol: float = 1e-5,
    keep_history: bool = False,
    until_settled: bool = True,
    past: History | None = None,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> ConstrainedAscent:
    """Run constrained mean shift over a schedule: one bandwidth for each iteration.

    A centre that loses all weight stays where it is.

    Parameters
    ----------
    cannot : ndarray of shape (m, 2)
        Cannot-links, closed under must-links.
    scale, floor : float
        The lambda and the epsilon of eq. 4.4, the latter in the units of X.
    confidence : ndarray of shape (m,), optional
        Confidence c of each link: its factor becomes 1 - c k k.
    weight : ndarray of shape (n,), optional
        Weight of each row as a sample, one where not given. Links bend once, whatever the weights
        of their rows.
    blurring : bool
        Whether samples move along with their centres.
    merge_tol : float
        Distance, in bandwidths, at which trajectories have met.
    until_settled : bool
        Whether to stop when every two centres are held apart by a link of confidence one, or
        only one is left: no later bandwidth can change who moves with whom then, though centres
        would still drift.
    past : list of (centres, group), optional
        The first states of an earlier run on the same X, to go on from the last of them.
    progress : callable, optional
        Called with (iterations made, iterations) after each iteration.
    """
    n = X.shape[0]
    order = block_order(X)
    rank = np.empty(n, dtype=np.intp)
    rank[order] = np.arange(n)
    samples = np.ascontiguousarray(X[order], dtype=np.float64)
    links = rank[cannot].reshape(-1, 2)
    confidence = np.ones(len(links)) if confidence is None else np.asarray(confidence, np.float64)
    levels, level = np.unique(confidence, return_inverse=True)
    mass = np.ones(n) if weight is None else weight[order]

    centres, group = samples.copy(), np.arange(n)
    history = [(centres, group[rank])]
    if past:
        history = list(past)
        centres, group = history[-1][0], history[-1][1][order]
    largest = [np.abs(part).max(initial=0.0) for part in (samples, centres, bandwidths)]
    if not np.max(largest) <= _LARGEST:  # nor NaN
        raise Refusal(
            f"Constrained mean shift takes positions and bandwidths up to {_LARGEST:g}.",
            "Scale the columns: scale_features=True does, or divide them.",
            command="Divide the columns, or leave --bandwidth out.",
            parameter="X",
        )
    n_iter, before = len(history) - 1, history[-2:][0]
    if not keep_history:
        history = []
    with threads(n_threads) as pool:
        for h in bandwidths[n_iter:]:
            distinct = _distinct_links(group[links], level, levels, len(centres))
            if until_settled and _settled(distinct, len(centres)):
                break
            n_iter, before = n_iter + 1, (centres, group[rank])
            state = _State(centres, samples, group, mass)
            if blurring:
                counts = np.bincount(group, mass, minlength=len(centres))
                state = _State(centres, centres, np.arange(len(centres)), counts)
            moved = _step(state, distinct, kernel, float(h), scale, floor, pool)
            centres, group = _merge(moved, group, merge_tol * h)
            if keep_history:
                history.append((centres, group[rank]))
            if progress is not None:
                progress(n_iter, len(bandwidths))
    if progress is not None and n_iter < len(bandwidths):
        progress(len(bandwidths), len(bandwidths))
    last = float(bandwidths[max(n_iter - 1, 0)])
    return ConstrainedAscent(centres, group[rank], last, n_iter, before, history)


def constrained_follow(
    starts: Array,
    X: Array,
    history: History,
    bending: tuple[Array, Array],
    bandwidths: Sequence[float] | Array,
    kernel: LinkKernel,
    *,
    scale: float = 0.5,
    floor: float = 1e-3,
    weight: Array | None = None,
    blurring: bool = False,
    n_threads: int = 1,
) -> Array:
    """Where further centres end that climb along with a run.

    They see all samples, and are bent by the run's links, whose centres move as they did in it; for
    the run they are not there. A start that is a row of an exact run goes where that row went.

    Parameters
    ----------
    starts : ndarray of shape (m, d)
        Where they begin.
    X : ndarray of shape (n, d)
        Samples.
    history : list of (centres, group)
        Of a run, which kept it: before each iteration and after the last, groups of rows of X.
    bending : tuple of ndarray
        Cannot-linked rows of X that bent the run, and their confidence.
    bandwidths : sequence of float
        Those of the run.
    kernel, scale, floor, weight, blurring
        As in the run, see :func:`constrained_ascend`.
    """
    pairs, confidence = bending
    m = len(starts)
    levels, level = np.unique(confidence, return_inverse=True)
    mass = np.ones(len(X)) if weight is None else weight
    samples = np.ascontiguousarray(X, dtype=np.float64)
    ends = np.array(starts, dtype=np.float64)
    with threads(n_threads) as pool:
        for h, (centres, group) in zip(bandwidths, history[:-1], strict=False):
            n_centres = m + len(centres)
            links = _distinct_links(m + group[pairs], level, levels, n_centres)
            state = _State(np.concatenate([ends, centres]), samples, m + group, mass)
            if blurring:
                counts = np.bincount(group, mass, minlength=len(centres))
                state = _State(state.centres, centres, m + np.arange(len(centres)), counts)
            moved = _step(state, links, kernel, float(h), scale, floor, pool, n_moved=m)
            ends = moved[:m]
    return ends


@dataclass(frozen=True)
class _State:
    """What a step starts from."""

    centres: Array
    samples: Array
    owner: Array  # the centre of each sample's trajectory
    mass: Array


def _distinct_links(ends: Array, level: Array, levels: Array, n_centres: int) -> Links:
    """Distinct (centre, centre, confidence) triples and how often each occurs."""
    n_levels = max(len(levels), 1)
    low, high = ends.min(axis=1, initial=n_centres), ends.max(axis=1, initial=0)
    key = (low * n_centres + high) * n_levels + level
    key, multiplicity = np.unique(key, return_counts=True)
    pair, pair_level = np.divmod(key, n_levels)
    return Links(np.stack(np.divmod(pair, n_centres), axis=1), multiplicity, levels[pair_level])


def _settled(links: Links, n_centres: int) -> bool:
    """Whether every two centres are held apart for good."""
    apart = (links.confidence == 1.0) & (links.ends[:, 0] != links.ends[:, 1])
    return len(np.unique(links.ends[apart], axis=0)) == n_centres * (n_centres - 1) // 2


def _merge(positions: Array, group: Array, tolerance: float) -> tuple[Array, Array]:
    """Make one centre of positions that agree to the tolerance."""
    # Finer than the numbers themselves, a tolerance tells no more of them apart, and may overflow.
    coarse = np.abs(positions).max(initial=0.0) < 2.0**53 * tolerance
    first = first_of_equal_rows(np.round(positions / tolerance) if coarse else positions)
    kept, new = np.unique(first, return_inverse=True)
    positions = positions[kept]
    order = block_order(positions)  # centres draw together: blocks of neighbours grow tighter
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return np.ascontiguousarray(positions[order]), place[new[group]]


def _step(
    state: _State,
    links: Links,
    kernel: LinkKernel,
    h: float,
    scale: float,
    floor: float,
    pool: threads,
    n_moved: int | None = None,
) -> Array:
    """One iteration: eq. 3.1 for every centre, or for the first few, which own no samples."""
    centres = state.centres
    n_centres, d = centres.shape
    blocks = _blocks(centres)
    links, marks = near_links(centres, blocks, links, kernel, h, scale, floor, pool)
    panels = Panels(marks, blocks, pool)
    order = np.argsort(state.owner, kind="stable")
    owner, n_blocks = state.owner[order], len(blocks.low)
    samples = _Samples(
        position=np.ascontiguousarray(state.samples[order]),
        mass=state.mass[order],
        owner=owner,
        start=np.searchsorted(owner, BLOCK * np.arange(n_blocks + 1)),
    )
    square = max(h**2, LEAST_SQUARE)
    reach = _Reach(kernel.kind, -LOG2E / square, kernel.limit * square)
    # A fixed number of shares, each with its own sums: threads never change an addition.
    n_shares, stride = min(_SHARES, n_blocks), min(_SHARES, n_blocks)
    if n_moved is not None:  # a share for each block that has some of these
        n_shares, stride = -(-n_moved // BLOCK), n_blocks
    sums, total = np.zeros((n_shares, n_blocks, d, BLOCK)), np.zeros((n_shares, n_blocks, BLOCK))

    for tiles in panels.pairs():  # one pair of all blocks with all, but for very many centres

        def task(share: int, tiles: Tiles = tiles) -> None:
            loops.constrained_sums(
                reach, blocks, samples, links, tiles, share, stride, sums[share], total[share]
            )

        pool.map(task, range(n_shares))
    all_sums = sums.sum(axis=0).transpose(0, 2, 1).reshape(-1, d)[:n_centres]
    all_total = total.sum(axis=0).ravel()[:n_centres]
    moved = centres.copy()
    weighted = all_total > 0
    weighted[n_moved:] &= n_moved is None
    moved[weighted] = all_sums[weighted] / all_total[weighted, None]
    return moved


def link_weights(
    centres: Array,
    ends: Array,
    confidence: Array,
    h: float,
    kernel: LinkKernel,
    *,
    scale: float,
    floor: float,
    n_threads: int = 1,
) -> Array:
    """Return the weights of eq. 4.3 between every two centres; ``ends`` are centres of links."""
    n = len(centres)
    check_memory(
        8.0 * n**2,
        f"The weights between {n:,} centres",
        "Set merge_weight=None, or let the bandwidth grow: fewer centres are then left.",
        parameter="merge_weight",
    )
    levels, level = np.unique(confidence, return_inverse=True)
    links = _distinct_links(ends.reshape(-1, 2), level, levels, n)
    with threads(n_threads) as pool:
        blocks = _blocks(centres)
        links, marks = near_links(centres, blocks, links, kernel, h, scale, floor, pool)
        near = marks.filled(blocks, 0, len(blocks.low), pool)
    weight = np.ones((n, n))
    loops.multiply_weights(links, near, weight)
    return weight
