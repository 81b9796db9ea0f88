r"""The bandwidth path: one sweep from many clusters to one, and the bandwidth that serves best.

The levels of a path are nested: clusters merge as the bandwidth grows, and never split.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from linkshift._core.arrays import Array, Progress
from linkshift._core.convergence import NotConverged
from linkshift._core.markup import notebook, row, tag
from linkshift._core.messages import warn
from linkshift._core.threads import n_threads
from linkshift.links import Links
from linkshift.metrics import link_satisfaction
from linkshift.modes import basin_labels, merge_ends, merging_share
from linkshift.profiles import Profile, ProfileName, get_profile
from linkshift.shift.density import build_density
from linkshift.shift.engine import ascend
from linkshift.shift.neighbours import nearest_neighbours

__all__ = ["BandwidthPath", "Criterion", "bandwidth_path"]

Criterion = Literal["links", "stability"]

_LEVELS = 20
_TRIAL = 2.0**0.25
_TRIAL_STARTS = 100
_ROUGH = 1e-2
_MOST_QUERIES = 2000
_ROUNDING = 1e-12  # distances below this share of the data's extent are rounding


_SHOWN = 12  # levels, in a notebook


@dataclass(frozen=True, eq=False)
class BandwidthPath:
    r"""Nested clusterings over growing bandwidths.

    Memory is O(n) for the rows and O(d) for each mode of each level: labels are put together when
    asked for.

    Attributes
    ----------
    bandwidths : ndarray of shape (n_levels,)
        Growing.
    n_clusters : ndarray of shape (n_levels,)
        Clusters at each level; never grows.
    centers : tuple of ndarray of shape (n_clusters[level], d)
        Modes at each level, the densest first.
    members : ndarray of shape (n,)
        Cluster of each row at the first level.
    parents : tuple of ndarray of shape (n_clusters[level],)
        Cluster at the next level of each cluster; one array for each level but the last.
    links : Links
        The links asked for; none when there are none.
    violated_must, violated_cannot : ndarray of shape (n_levels,)
        Links that each level does not keep. The first never grows, the second never falls.
    link_support : ndarray of shape (n_levels,)
        Kept share of the confidence of the must-links and that of the cannot-links, averaged
        over the kinds that there are; 1.0 without links.
    """

    bandwidths: NDArray[np.float64]
    n_clusters: NDArray[np.int64]
    centers: tuple[Array, ...]
    members: NDArray[np.int64]
    parents: tuple[NDArray[np.int64], ...]
    links: Links
    violated_must: NDArray[np.int64]
    violated_cannot: NDArray[np.int64]
    link_support: NDArray[np.float64]

    def under(self, links: Links) -> BandwidthPath:
        """Give the same path, checked against other links.

        Parameters
        ----------
        links : Links

        Returns
        -------
        BandwidthPath
        """
        given = Links.coerce(links).check(len(self.members)).expanded()
        return replace(self, links=given, **_check_links(given, self.members, list(self.parents)))

    def labels(self, level: int) -> NDArray[np.int64]:
        """Cluster of each row at a level, by its number; -1 is the last level.

        Parameters
        ----------
        level : int

        Returns
        -------
        ndarray of shape (n,)
        """
        n_levels = len(self.bandwidths)
        if not -n_levels <= level < n_levels:
            raise IndexError(f"level {level} is not on the path: it has {n_levels} levels.")
        label = np.arange(self.n_clusters[0])
        for parent in self.parents[: range(n_levels)[level]]:
            label = parent[label]
        return label[self.members]

    @cached_property
    def stability(self) -> NDArray[np.float64]:
        r"""For how many doublings of the bandwidth each level's clustering stays.

        .. math:: s_t = \sum_u w_u \, \mathrm{ARI}(P_t, P_u), \qquad
                  w_u = \frac{\log_2 h_{u + 1} - \log_2 h_{u - 1}}{2}

        with the ends' own halves, :math:`h_0 = h_1` and :math:`h_{L + 1} = h_L`: the adjusted
        Rand index with the clustering at every other bandwidth, integrated over
        :math:`\log_2 h`. A clustering that holds over a fourfold bandwidth and has nothing in
        common with the others has a stability of 2; more levels change it little. One cluster
        of all rows, and one for each row, hold for ever to either side: they count zero and
        have zero.

        Levels are nested, so with :math:`S_t` the number of pairs of rows that level t joins, of
        N pairs, and t below u,

        .. math:: \mathrm{ARI} = \frac{S_t - S_t S_u / N}{(S_t + S_u) / 2 - S_t S_u / N}.

        L. Hubert and P. Arabie, "Comparing partitions", Journal of Classification 2, 1985, eq. 5.
        """
        n = len(self.members)
        joined = np.empty(len(self.bandwidths))
        size: Array = np.bincount(self.members, minlength=self.n_clusters[0]).astype(np.float64)
        for level, clusters in enumerate(self.n_clusters):
            if level:
                size = np.bincount(self.parents[level - 1], weights=size, minlength=clusters)
            joined[level] = (size * (size - 1.0)).sum() / 2.0
        pairs = n * (n - 1) / 2.0
        trivial = (joined == 0) | (joined == pairs)
        low, high = np.minimum.outer(joined, joined), np.maximum.outer(joined, joined)
        chance = low * high / max(pairs, 1.0)
        spread = (low + high) / 2.0 - chance
        similar = np.divide(low - chance, spread, out=np.zeros_like(spread), where=spread > 0)
        similar[low == high] = 1.0
        similar[trivial] = similar[:, trivial] = 0.0
        octaves = np.log2(self.bandwidths)
        width = np.diff(octaves, prepend=octaves[0], append=octaves[-1])
        return similar @ ((width[:-1] + width[1:]) / 2.0)

    def _repr_html_(self) -> str:
        """List in a notebook the levels at which clusters change, the best one in bold."""
        best = self.best("links" if self.links else "stability")
        changes = np.flatnonzero(np.diff(self.n_clusters, prepend=-1))
        shown = np.union1d(changes[:: -(-len(changes) // _SHOWN)], [best])
        columns = [">level", ">bandwidth", ">clusters", ">stability"]
        rows = []
        for level in shown.tolist():
            cells = [f"{level}", f"{self.bandwidths[level]:.4g}", f"{self.n_clusters[level]:,}"]
            cells.append(f"{self.stability[level]:.3f}")
            if self.links:
                cells.append(f"{self.violated_must[level] + self.violated_cannot[level]:,}")
            rows.append(row(*(tag.td(tag.b(cell) if level == best else cell) for cell in cells)))
        title = f"Bandwidth path of {len(self.members):,} rows over {len(self.bandwidths)} levels"
        return notebook(title, columns + [">violated links"] * bool(self.links), rows)

    def best(self, by: Criterion = "links") -> int:
        """Choose a level.

        By "links": the largest ``link_support``; of levels that the links support equally, the
        most stable. By "stability": the largest ``stability``. Of levels that are still equal,
        mostly a run with the same clusters, the middle one (the upper of two): the farthest from
        bandwidths at which clusters change, for whoever fits anew there.

        Both kinds of links count half, however many there are: must-links alone would ask for
        one cluster, cannot-links alone for one each. With one kind only, many levels may keep
        all links, and stability decides among these.

        Parameters
        ----------
        by : {"links", "stability"}, default="links"

        Returns
        -------
        int
            The level: an index of ``bandwidths``, ``n_clusters`` and so on.
        """
        if by not in get_args(Criterion):
            raise ValueError(f"by must be 'links' or 'stability', got {by!r}.")
        levels = np.arange(len(self.bandwidths))
        if by == "links":
            if not len(self.links.must) + len(self.links.cannot):
                raise ValueError(
                    "The path has no links to choose by: call bandwidth_path(X, links), or "
                    "best(by='stability')."
                )
            levels = _largest(self.link_support, levels)
        levels = _largest(self.stability, levels)
        return int(levels[len(levels) // 2])


def _largest(values: Array, levels: Array) -> Array:
    """Levels with the largest value, but for rounding."""
    chosen = values[levels]
    return levels[chosen >= chosen.max() - 1e-9]


def bandwidth_path(
    X: ArrayLike,
    links: Links | None = None,
    *,
    bandwidths: ArrayLike | None = None,
    n_bandwidths: int | None = None,
    kernel: ProfileName | Profile = "gaussian",
    max_iter: int = 1000,
    tol: float = 1e-3,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> BandwidthPath:
    r"""Cluster by mean shift over a range of bandwidths, in one sweep from small to large.

    At the first bandwidth every row climbs to its mode. At each further one, only the modes of
    the level before climb, on the density of all rows with the larger bandwidth; a row goes with
    its mode:

    .. math:: c_{t + 1}(x) = \mu_{t + 1}(c_t(x)), \qquad c_1(x) = \mu_1(x),

    with :math:`\mu_t(x)` the mode that x climbs to at bandwidth :math:`h_t`. So levels after the
    first are cheap, and they are nested: two rows in one cluster stay together from there on.
    A :class:`linkshift.MeanShift` fitted at one of the bandwidths lets every row climb anew. Its
    clusters are similar and not the same, mostly at the borders; with the flat kernel it also
    labels rows by their nearest mode, while here they have the mode that they climb to.
    A mode of one density that stays on at the next is where Minnotte and Scott's mode tree has a
    vertical line.

    Without ``bandwidths``, they grow by equal factors from many clusters to one. The lowest is the
    median distance of a row to the nearest row elsewhere (half of it unless the kernel is flat:
    two points by themselves have one mode in a Gaussian density from there on), and half of that
    where most rows have twins or there are only two places: these are to be told apart. The
    highest is the first that leads to a single cluster, in a trial sweep from a hundred modes of
    the lowest by factors of :math:`2^{1/4}`; should the path itself end with more, the trial goes
    on from these, and the path is made again. Once the bandwidth reaches the diameter of the data
    (times :math:`\sqrt 3` for the Epanechnikov weight, over the reach of a Gaussian that is cut
    off below 1) the density has one mode, so this ends.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Data. Equal rows count as one with their number as weight, so that neither they nor the
        order of rows matter.
    links : Links, default=None
        Must-links and cannot-links, by row, to check the levels against. They do not change the
        clusters.
    bandwidths : array-like of shape (n_levels,), default=None
        Positive and growing; None takes the range above.
    n_bandwidths : int, default=None
        Number of levels in that range, two or more; None takes 20.
    kernel : str or Profile, default="gaussian"
        Kernel profile: "flat", "epanechnikov", "gaussian" or "truncated_gaussian", see
        :mod:`linkshift.profiles`. Paths of the flat kernel agree less with fits of each level
        anew, which label rows by the nearest mode.
    max_iter : int, default=1000
        Largest number of steps at each level.
    tol : float, default=1e-3
        A start has arrived when it moves by at most this many bandwidths.
    n_jobs : int, default=None
        Number of threads. ``None`` takes all cores. The path does not depend on it.
    progress : callable, default=None
        Called with (levels done, levels) after each level; not during the trial sweep.

    Returns
    -------
    BandwidthPath

    References
    ----------
    M. C. Minnotte and D. W. Scott, "The mode tree: a tool for visualization of nonparametric
    density features", Journal of Computational and Graphical Statistics 2, 1993: modes over
    bandwidths.

    Examples
    --------
    >>> from linkshift import Links
    >>> from linkshift.bandwidth.path import bandwidth_path
    >>> X = [[0.0], [1.0], [10.0], [11.0], [30.0]]
    >>> links = Links(must=[(0, 1)], cannot=[(1, 2)])
    >>> path = bandwidth_path(X, links, bandwidths=[0.25, 2, 7, 20])
    >>> path.n_clusters
    array([5, 3, 2, 1])
    >>> path.violated_must, path.violated_cannot
    (array([1, 0, 0, 0]), array([0, 0, 1, 1]))
    >>> level = path.best(by="links")
    >>> float(path.bandwidths[level]), path.labels(level)
    (2.0, array([1, 1, 0, 0, 2]))
    """
    data: Array = check_array(X, dtype=[np.float64, np.float32])
    given = Links.coerce(links).check(data.shape[0]).expanded()
    profile = get_profile(kernel)
    # -0.0 and 0.0 are the same place.
    rows, member, count = np.unique(data + 0.0, axis=0, return_inverse=True, return_counts=True)
    member = member.reshape(-1)
    climb = _Climb(
        rows, count, profile, {"max_iter": max_iter, "tol": tol, "n_threads": n_threads(n_jobs)}
    )
    if bandwidths is None:
        h, levels = _sweep_to_one(climb, _check_levels(n_bandwidths), progress)
    elif n_bandwidths is not None:
        raise ValueError("bandwidths and n_bandwidths both say how many levels; give one of them.")
    else:
        h = _check_bandwidths(bandwidths)
        levels = _sweep(climb, h, climb(h[0], rows), progress)
    moving = sum(level.moving for level in levels)
    if moving:
        warn(
            NotConverged(
                f"{moving} starts were still moving after {max_iter} steps at their level.",
                "Increase max_iter or tol.",
                command="Take a larger --max-iter.",
                parameter="max_iter",
                value=max_iter,
            )
        )
    first, parents = levels[0].labels[member], [level.labels for level in levels[1:]]
    return BandwidthPath(
        bandwidths=h,
        n_clusters=np.array([len(level.centers) for level in levels]),
        centers=tuple(level.centers for level in levels),
        members=first,
        parents=tuple(parents),
        links=given,
        **_check_links(given, first, parents),
    )


class _Level(NamedTuple):
    """Modes, the mode of each start, and how many starts did not arrive."""

    centers: Array
    labels: NDArray[np.int64]
    moving: int  # starts that had not arrived


class _Climb(NamedTuple):
    """Different rows, sorted, and how often each occurs: what all levels climb on."""

    rows: Array
    weight: Array
    profile: Profile
    options: dict[str, Any]

    def __call__(self, h: float, starts: Array) -> _Level:
        """Let starts climb and merge.

        A start always has a row within reach: it is one, or a mean of rows, and the nearest of
        these is no farther from it than they were from where it came from.
        """
        density = build_density(self.rows, float(h), self.profile, sample_weight=self.weight)
        ascent = ascend(density, starts, **self.options)
        modes = merge_ends(ascent.ends, ascent.total, merging_share(self.profile) * float(h))
        labels = basin_labels(ascent.ends, modes).astype(np.int64)
        return _Level(modes.centers, labels, int((~ascent.converged).sum()))


def _sweep(climb: _Climb, h: Array, first: _Level, progress: Progress | None) -> list[_Level]:
    """All levels, each from the modes of the last."""
    levels = [first]
    for done, bandwidth in enumerate(h, start=1):
        if done > 1:
            levels.append(climb(bandwidth, levels[-1].centers))
        if progress is not None:
            progress(done, len(h))
    return levels


def _sweep_to_one(
    climb: _Climb, n_levels: int, progress: Progress | None
) -> tuple[NDArray[np.float64], list[_Level]]:
    """Bandwidths that end with one cluster, and their levels; the first level is climbed once."""
    low, bound = _ends(climb.rows, climb.weight, climb.profile)
    first = climb(low, climb.rows)
    high, starts = low, _spread_modes(first.centers)
    while True:
        high = max(_first_with_one(climb, high, starts, bound), _TRIAL * low)
        h = np.geomspace(low, high, n_levels)
        levels = _sweep(climb, h, first, progress)
        starts = levels[-1].centers
        if len(starts) == 1 or high >= bound:
            return h, levels


def _first_with_one(climb: _Climb, h: float, starts: Array, bound: float) -> float:
    """Bandwidth, in trial steps from ``h``, at which all starts have become one.

    Roughly: a start that stops short of its mode moves on at the next bandwidth.
    """
    rough = climb._replace(options={**climb.options, "tol": max(climb.options["tol"], _ROUGH)})
    while len(starts) > 1 and h < bound:
        h = min(h * _TRIAL, bound)
        starts = rough(h, starts).centers
    return h


def _spread_modes(centers: Array) -> Array:
    """Pick modes, from the middle to the farthest: trials need not move all."""
    if len(centers) <= _TRIAL_STARTS:
        return centers
    far = np.linalg.norm(centers - centers.mean(axis=0), axis=1)
    picks = np.linspace(0, len(centers) - 1, _TRIAL_STARTS).astype(np.intp)
    return centers[np.argsort(far, kind="stable")[picks]]


def _check_links(
    links: Links, first: NDArray[np.int64], parents: list[NDArray[np.int64]]
) -> dict[str, Any]:
    """Violated links and support of each level."""
    n_levels = len(parents) + 1
    violated = np.zeros((2, n_levels), dtype=np.int64)
    support = np.ones(n_levels)
    all_must, all_cannot = (np.ones(len(pairs), dtype=bool) for pairs in (links.must, links.cannot))
    kinds = (links.where(all_must, ~all_cannot), links.where(~all_must, all_cannot))
    asked = [kind for kind in kinds if len(kind)]
    if asked:
        labels = first
        for level in range(n_levels):
            if level:
                labels = parents[level - 1][labels]
            reports = [link_satisfaction(labels, kind) for kind in asked]
            violated[0, level] = sum(len(report.violated_must) for report in reports)
            violated[1, level] = sum(len(report.violated_cannot) for report in reports)
            support[level] = np.mean([report.weighted_share for report in reports])
    return {"violated_must": violated[0], "violated_cannot": violated[1], "link_support": support}


def _check_levels(n_bandwidths: int | None) -> int:
    if n_bandwidths is None:
        return _LEVELS
    if not isinstance(n_bandwidths, Integral) or isinstance(n_bandwidths, bool):
        raise TypeError(f"n_bandwidths must be a whole number, got {n_bandwidths!r}.")
    if n_bandwidths < 2:
        raise ValueError(
            f"n_bandwidths must be at least 2, got {n_bandwidths}; for a single level give "
            "bandwidths=[...]."
        )
    return int(n_bandwidths)


def _check_bandwidths(bandwidths: ArrayLike) -> NDArray[np.float64]:
    h: Array = check_array(bandwidths, ensure_2d=False, dtype=np.float64, copy=True)
    if h.ndim != 1:
        raise ValueError(f"bandwidths must be a list of numbers, its shape is {h.shape}.")
    if (h <= 0).any():
        raise ValueError(f"bandwidths must be positive, got {h[h <= 0][0]:g}.")
    if (np.diff(h) <= 0).any():
        level = int(np.argmax(np.diff(h) <= 0))
        raise ValueError(
            f"bandwidths must grow, but {h[level]:g} comes before {h[level + 1]:g}; "
            "give np.unique(bandwidths)."
        )
    return h


def _ends(rows: Array, count: Array, profile: Profile) -> tuple[float, float]:
    """Give a bandwidth with many clusters, and one at which there is one for sure."""
    if len(rows) < 2:
        return 1.0, 2.0
    low_corner, high_corner = (
        end.astype(np.float64) for end in (rows.min(axis=0), rows.max(axis=0))
    )
    unit = float((high_corner - low_corner).max())  # squares of tiny or huge numbers would vanish
    points = (rows - low_corner) / unit
    side = (high_corner - low_corner) / unit
    radius = float(np.linalg.norm(points - side / 2.0, axis=1).max())
    # A hair more: with the flat kernel the farthest pair may stand on the very edge.
    bound = min(float(np.linalg.norm(side)), 2.0 * radius) * (1.0 + 1e-5)
    if profile.name == "epanechnikov":
        bound *= 3.0**0.5
    bound /= min(1.0, profile.squared_reach**0.5)
    every = -(-len(points) // _MOST_QUERIES)
    near = nearest_neighbours(points, 2, points[::every])[0][:, 1]
    low = _weighted_median(near, count[::every])
    if profile.name != "flat":
        low /= 2.0
    if len(rows) == 2 or count[count > 1].sum() > count.sum() / 2.0:
        low /= 2.0  # places that rows share are clusters, and neighbours of each other
    low = min(max(low, _ROUNDING * bound), bound / 2.0)
    return unit * low, unit * bound


def _weighted_median(values: Array, weight: Array) -> float:
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weight[order])
    return float(values[order][np.searchsorted(total, total[-1] / 2.0)])
