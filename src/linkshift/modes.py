"""End points to modes, modes to labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import KDTree

from linkshift._core.arrays import Array
from linkshift._core.disjoint import DisjointSets, roots
from linkshift._core.memory import check_memory
from linkshift._core.messages import Refusal
from linkshift.profiles import Profile

__all__ = ["Modes", "basin_labels", "merge_close", "merge_ends", "merging_share", "nearest_labels"]

_PAIRS = 1 << 20  # distances at a time
_FARTHEST = 1e150  # radii
_ULPS = 8.0 * np.finfo(np.float64).eps  # of a rounded square, generously
_ENTRIES = 1 << 16  # of differences at a time, which stay in the cache
_AT_A_TIME = 1 << 12  # pairs of centres; looked up together
_CLOSE_PAIRS = 1 << 21  # of centres that may be taken at once, where none of them have met
_PAIR = 64.0  # bytes of one that is taken, put in order
_SAMPLE = 512  # centres that tell how many pairs there are
_NARROWER, _MOST_RADII, _FEWER, _MUCH = 2.0**-0.25, 200, 4.0, 31.0


@dataclass(frozen=True)
class Modes:
    """Modes, the densest first."""

    centers: Array
    # End points within this distance belong to the mode; within this many local bandwidths where
    # each point has its own metric.
    radius: Array


def merging_share(profile: Profile) -> float:
    """Bandwidths within which end points are one mode.

    Examples
    --------
    >>> from linkshift.modes import merging_share
    >>> from linkshift.profiles import Profile
    >>> merging_share(Profile("flat")), merging_share(Profile("gaussian"))
    (1.0, 0.5)
    """
    # scikit-learn's flat kernel merges modes within a bandwidth. Smooth kernels find their
    # modes sharply, and two modes of a Gaussian density are at least about two bandwidths
    # apart: half a bandwidth only gathers starts that stopped short of the same mode.
    return 1.0 if profile.name == "flat" else 0.5 * min(1.0, profile.squared_reach**0.5)


def merge_ends(ends: Array, density: Array, radius: float | Array) -> Modes:
    """Merge end points into modes, greedily from the densest.

    The densest end point that no mode covers yet becomes a mode and covers every end point
    within ``radius`` of it. This is scikit-learn's rule; ties in density go to the larger
    coordinates, so that the order of the rows does not matter. ``density`` is anything that ranks
    end points; ``radius`` says how far each of them covers, if it becomes a mode.
    """
    order = np.lexsort((*ends.T[::-1], density))[::-1]
    # Most starts of a basin stop on the same spot: keep the densest of each.
    _, first = np.unique(ends[order], axis=0, return_index=True)
    order = order[np.sort(first)]
    ends = ends[order]
    radius = np.broadcast_to(np.asarray(radius, dtype=np.float64), density.shape)[order]
    scaled, unit = _unit_radius(ends, radius)
    tree = KDTree(scaled)
    free = np.ones(ends.shape[0], dtype=bool)
    chosen = []
    for i in range(ends.shape[0]):
        if free[i]:
            chosen.append(i)
            free[tree.query_ball_point(scaled[i], radius[i] / unit)] = False
    return Modes(ends[chosen], radius[chosen])


def _unit_radius(positions: Array, radius: Array) -> tuple[Array, float]:
    """Positions in units near the radius: squares of distances then neither vanish nor explode.

    The unit is a power of two, so that nothing is rounded.
    """
    unit = float(2.0 ** np.round(np.log2(np.max(radius))))
    largest = float(np.abs(positions).max(initial=0.0))
    if not largest <= _FARTHEST * unit:
        raise Refusal(
            f"Numbers up to {largest:.3g} are too large for a radius of about {unit:.1g}: squares "
            "of such distances are infinite.",
            "Leave out rows so far away, divide the columns, or take a larger bandwidth.",
            command="Leave out rows so far away, or take --scale standard or a larger --bandwidth.",
            parameter="X",
        )
    return positions.astype(np.float64) / unit, unit


def basin_labels(ends: Array, modes: Modes) -> Array:
    """Label of each end point: the densest mode that covers it, else the nearest.

    On the end points that made the modes this is the mode that took them in.
    """
    labels = np.full(ends.shape[0], -1, dtype=np.int64)
    scaled, unit = _unit_radius(ends, modes.radius)
    tree = KDTree(scaled)
    for i in range(modes.centers.shape[0] - 1, -1, -1):  # the densest has the last word
        center = modes.centers[i].astype(np.float64) / unit
        labels[tree.query_ball_point(center, modes.radius[i] / unit)] = i
    left = np.flatnonzero(labels < 0)
    if left.size:  # seldom any, and modes may be thousands
        labels[left] = nearest_labels(ends[left], modes)[0]
    return labels


def nearest_labels(X: Array, modes: Modes) -> tuple[Array, Array]:
    """Label of the nearest mode, the first of equally near ones, and the distance to it.

    Inner products say which modes can be the nearest; where rounding leaves several, as with a mode
    far from all others, their distances are compared themselves.
    """
    middle = np.median(modes.centers, axis=0).astype(np.float64)
    points, centers = X - middle, modes.centers - middle
    unit = float(np.abs(centers).max()) or 1.0
    scaled = centers / unit
    squares, slack = np.einsum("ij,ij->i", scaled, scaled), _ULPS * (X.shape[1] + 4)
    labels = np.empty(X.shape[0], dtype=np.int64)
    step = max(1, _PAIRS // len(centers))
    for first in range(0, X.shape[0], step):
        some = points[first : first + step] / unit
        found = some @ (-2.0 * scaled.T)
        found += squares
        nearest = found.argmin(axis=1)
        rounding = slack * (np.einsum("ij,ij->i", some, some) + squares.max())
        least = np.take_along_axis(found, nearest[:, None], axis=1) + rounding[:, None]
        several = np.flatnonzero(np.count_nonzero(found <= least, axis=1) > 1)
        labels[first : first + step] = nearest
        part = max(1, step // X.shape[1])
        for at in range(0, several.size, part):
            which = several[at : at + part]
            apart = np.hypot.reduce(_between(X[first + which, None], modes.centers), axis=2)
            labels[first + which] = apart.argmin(axis=1)
    return labels, np.hypot.reduce(_between(X, modes.centers[labels]), axis=1)


def _between(a: Array, b: Array) -> Array:
    """Differences, in float64: about some middle, they would be rounded."""
    return np.subtract(a, b, dtype=np.float64)


def merge_close(
    centres: Array,
    radius: float,
    apart: Array | None = None,
    families: Sequence[set[int]] | None = None,
    steps: Array | None = None,
) -> Array:
    """Group centres that a chain of steps up to ``radius`` connects, the shortest first.

    ``apart`` are pairs of centres that must stay in different groups; ``families`` of each centre
    are sets of which no two centres with a common member may meet; ``steps[i, j]`` says whether a
    step may lead from i to j. Groups count from 0.
    """
    n = centres.shape[0]
    sets = DisjointSets(n)
    foes: list[set[int]] = [set() for _ in range(n)]
    for a, b in [] if apart is None else apart.tolist():
        if a != b:
            foes[a].add(b)
            foes[b].add(a)
    kin = [set(family) for family in families or [set()] * n]
    for i, j in _close_pairs(centres, radius, steps, sets):
        a, b = sets.find(i), sets.find(j)
        if a == b or b in foes[a] or not kin[a].isdisjoint(kin[b]):
            continue
        if len(foes[a]) < len(foes[b]):
            a, b = b, a
        sets.parent[b] = a
        for foe in foes[b]:
            foes[foe].discard(b)
            foes[foe].add(a)
        foes[a] |= foes[b]
        foes[b] = set()
        kin[a] |= kin[b]
    return np.unique(roots(np.array(sets.parent)), return_inverse=True)[1]


def _close_pairs(
    centres: Array, radius: float, steps: Array | None, sets: DisjointSets
) -> Iterator[tuple[int, int]]:
    """Pairs of centres within the radius, or of their groups, the closest first.

    ``sets`` are groups that meet meanwhile. Of two groups that have been asked about, or have met,
    no other pair need be: where there are very many pairs, they are looked for within one radius
    after the other, and those inside a group are passed over.
    """
    n = centres.shape[0]
    tree = KDTree(centres)
    at_a_time = max(_AT_A_TIME, n // 8)  # to look up groups takes time for every centre
    for r in _radii(tree, radius):
        pairs = _pairs_of_groups(tree, r, sets)
        if steps is not None:
            pairs = pairs[steps[pairs[:, 0], pairs[:, 1]]]
        length = np.empty(len(pairs))
        step = max(1, _ENTRIES // centres.shape[1])
        for first in range(0, len(pairs), step):  # all differences at once may be gigabytes
            a, b = pairs[first : first + step].T
            length[first : first + step] = np.linalg.norm(centres[a] - centres[b], axis=1)
        pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0], length))]
        del length
        for first in range(0, len(pairs), at_a_time):
            # Most pairs are of groups that have long met, or that an earlier pair has asked about.
            root = roots(np.array(sets.parent))
            ends = root[pairs[first : first + at_a_time]]
            ends = ends[ends[:, 0] != ends[:, 1]]
            low, high = np.sort(ends, axis=1).T
            _, fresh = np.unique(low * n + high, return_index=True)
            yield from ends[np.sort(fresh)].tolist()


def _radii(tree: KDTree, radius: float) -> list[float]:
    """Radii up to the last, from one within which there are few pairs, as a sample tells.

    Each is much larger than the one before, or has several times as many within: pairs are gone
    through again for each, and few would meet in between.
    """
    sample = tree.data[np.linspace(0, tree.n - 1, min(tree.n, _SAMPLE)).astype(np.intp)]
    found, smaller, most = [radius], radius, np.inf
    for _ in range(_MOST_RADII):
        near = tree.query_ball_point(sample, smaller, return_length=True)
        pairs = 0.5 * tree.n * float(np.mean(near - 1))
        much = smaller <= found[-1] / _MUCH or pairs <= max(most / _FEWER, _CLOSE_PAIRS)
        if smaller < radius and much:
            found.append(smaller)
        if pairs <= _CLOSE_PAIRS:
            break
        if found[-1] == smaller:
            most = pairs
        smaller *= _NARROWER
    return found[::-1]


def _pairs_of_groups(tree: KDTree, radius: float, sets: DisjointSets) -> Array:
    """Pairs within the radius, the smaller first; where some have met, those that have not."""
    root = roots(np.array(sets.parent))
    if (root == np.arange(tree.n)).all():
        found: Array = tree.query_pairs(radius, output_type="ndarray")
        return found
    kept, n_pairs, first, step = [np.empty((0, 2), dtype=np.intp)], 0, 0, _SAMPLE
    while first < tree.n:
        some = KDTree(tree.data[first : first + step])
        near = some.sparse_distance_matrix(tree, radius, output_type="ndarray")
        a, b = near["i"] + first, near["j"]
        kept.append(np.stack([a, b], axis=1)[(a < b) & (root[a] != root[b])])
        n_pairs += len(kept[-1])
        check_memory(
            _PAIR * n_pairs,
            f"{n_pairs:,} close pairs of {tree.n:,} centres that links hold apart",
            "Take fewer rows, or landmarks.",
        )
        first += step
        step = int(np.clip(_CLOSE_PAIRS * step // max(1, len(near)), 1, 2 * step))
    return np.concatenate(kept)
