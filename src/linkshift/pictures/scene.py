"""What a picture of points shows, as plain data: places on a plane, clusters, links, paths, modes.

Nothing here draws. `plot` puts a scene on matplotlib's axes, `page` into a page of HTML; what both
must agree on (projection, colours, which links look alike, how faint they are) is decided here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkshift._core.labels import is_noise
from linkshift._core.text import counted
from linkshift.metrics import LinkReport, link_satisfaction
from linkshift.pictures.colours import NOISE_GREY, PALETTE

if TYPE_CHECKING:
    from linkshift.explain.explanation import Explanation
    from linkshift.links import Links

Places = NDArray[np.float64]  # (any, 2)

# More crosses than this would only pile up: the thickness of violated links has to do.
_MOST_CROSSES = 200


@dataclass(frozen=True)
class Plane:
    """Where d-dimensional points fall on the picture."""

    mean: NDArray[np.float64]
    axes: NDArray[np.float64]
    axis_labels: tuple[str, str]

    @classmethod
    def of(cls, X: NDArray[np.float64]) -> Plane:
        """Take one or two columns as they are, more by their first two principal components."""
        n, d = X.shape
        if d <= 2:
            return cls(np.zeros(d), np.eye(d), ("", ""))
        mean = X.mean(axis=0)
        spread = X - mean
        # The smaller of the two Gram matrices has the same leading eigenvalues.
        values, vectors = np.linalg.eigh(spread.T @ spread if d <= n else spread @ spread.T)
        top = vectors[:, ::-1][:, :2]
        axes = top if d <= n else spread.T @ top
        axes = axes / np.maximum(np.linalg.norm(axes, axis=0), np.finfo(float).tiny)
        axes = np.hstack([axes, np.zeros((d, 2 - axes.shape[1]))])
        # An eigenvector's sign is arbitrary: the largest entry positive, the same on any machine.
        largest = axes[np.abs(axes).argmax(axis=0), [0, 1]]
        axes = axes * np.where(largest < 0, -1.0, 1.0)
        total = max(float(values.clip(0).sum()), np.finfo(float).tiny)
        share = np.append(values[::-1].clip(0)[:2] / total, 0.0)
        first, second = (
            f"principal component {i + 1} ({share[i]:.0%} of variance)" for i in (0, 1)
        )
        return cls(mean, axes, (first, second))

    @property
    def is_line(self) -> bool:
        """Whether there is one column, so that heights have no meaning."""
        return len(self.mean) == 1

    def project(self, X: NDArray[np.float64], height: float | None = None) -> Places:
        """Place rows; those of a single column at a height, or spread out vertically."""
        if not self.is_line:
            return (X - self.mean) @ self.axes
        up = spread(len(X)) if height is None else np.full(len(X), height)
        return np.column_stack([X[:, 0], up])


def spread(n: int) -> NDArray[np.float64]:
    """Heights in [0, 1) that neighbours in the row order do not share; no chance involved."""
    golden = (5**0.5 - 1) / 2
    return np.asarray((np.arange(n) * golden + 0.5) % 1.0, dtype=np.float64)


def mixed(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows in an order in which no cluster lies on top of another."""
    return rows[np.argsort(spread(len(rows)), kind="stable")]


def is_to_scale(width: float, height: float) -> bool:
    """Whether both axes have one scale.

    Distances are what clustering is about, so they are to scale, unless features in unlike units
    would make the picture a thread.
    """
    return 0.05 * width <= height <= 20 * width


@dataclass(frozen=True, eq=False)
class Clusters:
    """The different labels in their order, noise (-1) among them."""

    titles: list[str]  # "cluster 3", "noise", or the name of a cluster that has one
    position: NDArray[np.int64]  # which of them each row has
    sizes: NDArray[np.int64]
    is_noise: NDArray[np.bool_]
    by_size: NDArray[np.int64]  # positions without noise, the largest cluster first

    @classmethod
    def of(cls, labels: NDArray[np.generic]) -> Clusters:
        """Count what there is."""
        found, position, sizes = np.unique(labels, return_inverse=True, return_counts=True)
        noisy = is_noise(found)
        names = zip(found.tolist(), noisy, strict=True)
        titles = ["noise" if noise else cluster_name(label) for label, noise in names]
        order = np.argsort(-sizes, kind="stable")
        return cls(titles, position, sizes, noisy, order[~noisy[order]])

    @property
    def n_clusters(self) -> int:
        """How many there are without noise."""
        return len(self.by_size)

    @property
    def n_noise(self) -> int:
        """How many rows are noise."""
        return int(self.sizes[self.is_noise].sum())

    @cached_property
    def hues(self) -> list[int | None]:
        """Number of each one's colour in the palette, None for noise."""
        order = (np.cumsum(~self.is_noise) - 1) % len(PALETTE)
        return [None if noise else int(i) for i, noise in zip(order, self.is_noise, strict=True)]

    @cached_property
    def colours(self) -> list[str]:
        """Colour of each one."""
        return [NOISE_GREY if hue is None else PALETTE[hue] for hue in self.hues]


def cluster_name(name: object) -> str:
    """Give names as they are, numbers as ``cluster 3``."""
    return name if isinstance(name, str) else f"cluster {name}"


@dataclass(frozen=True, eq=False)
class LinkTable:
    """All links, must before cannot: pairs of rows, kinds, confidences, and which are kept."""

    pairs: NDArray[np.int64]
    kind: NDArray[np.str_]
    confidence: NDArray[np.float64]
    kept: NDArray[np.bool_]
    report: LinkReport

    @classmethod
    def of(cls, labels: NDArray[np.generic], links: Links) -> LinkTable:
        """Check links against labels."""
        report = link_satisfaction(labels, links)
        kinds = {"must": (links.must, report.violated_must)}
        kinds["cannot"] = (links.cannot, report.violated_cannot)
        number = (len(labels), 1)  # of a pair, so that one can be looked up
        kept = [~np.isin(pairs @ number, broken @ number) for pairs, broken in kinds.values()]
        return cls(
            np.concatenate([links.must, links.cannot]),
            np.repeat(list(kinds), [len(pairs) for pairs, _ in kinds.values()]),
            np.concatenate([links.must_confidence, links.cannot_confidence]),
            np.concatenate(kept),
            report,
        )

    def __len__(self) -> int:
        return len(self.pairs)


@dataclass(frozen=True, eq=False)
class LinkGroup:
    """Links that look alike."""

    kind: str
    kept: bool
    pairs: NDArray[np.int64]

    @property
    def name(self) -> str:
        """How many they are, and what."""
        return counted(len(self.pairs), f"{self.kind}-link") + ("" if self.kept else " violated")

    def width(self, fade: float) -> float:
        """Thickness of the lines, in typographic points."""
        return (1.3 if self.kept else 2.6) * max(fade, 0.4)

    def alpha(self, fade: float) -> float:
        """How opaque the lines are."""
        return 0.95 * fade if self.kept else max(fade, 0.5)


def _link_groups(
    pairs: NDArray[np.int64], kinds: NDArray[np.str_], kept: NDArray[np.bool_]
) -> list[LinkGroup]:
    """Part links by what they look like; violated ones last, to lie on top."""
    return [
        LinkGroup(kind, is_kept, found)
        for is_kept in (True, False)
        for kind in ("must", "cannot")
        if len(found := pairs[(kinds == kind) & (kept == is_kept)])
    ]


def faded(n: int, full: int) -> float:
    """How strongly n lines are drawn: up to `full` wholly, more of them ever fainter."""
    return float(np.clip((full / max(n, 1)) ** 0.5, 0.2, 1.0))


@dataclass(frozen=True, eq=False, kw_only=True)
class Scene:
    """Points on a plane and all that is drawn with them; None for what the picture has not."""

    plane: Plane
    points: Places  # of all rows
    rows: NDArray[np.int64]  # those to draw
    clusters: Clusters | None
    table: LinkTable | None = None  # all links that there are
    groups: list[LinkGroup] = field(default_factory=list)  # the links to draw
    modes: Places | None = None
    paths: list[Places] | None = None
    trail: Places | None = None  # the path of an explained row, from where it is
    trail_is_own: bool = True  # or, of a row that moved in another space, through rows beside it

    @property
    def pairs(self) -> NDArray[np.int64]:
        """All pairs to draw."""
        return np.concatenate([np.zeros((0, 2), np.int64), *(g.pairs for g in self.groups)])

    @property
    def fade(self) -> float:
        """Hundreds of links would hide the points: fainter and thinner the more there are."""
        return faded(len(self.pairs), 60)

    @property
    def linked_rows(self) -> NDArray[np.int64]:
        """Rows that have a rim since a link ends there: none where links are many."""
        return np.unique(self.pairs if self.fade == 1.0 else self.pairs[:0])

    def is_crossed(self, group: LinkGroup) -> bool:
        """Whether each link of a group has a cross at its middle: violated ones, if not many."""
        n_violated = sum(len(other.pairs) for other in self.groups if not other.kept)
        return not group.kept and n_violated <= _MOST_CROSSES

    @property
    def area(self) -> float:
        """Area of a point, for which all cover about the same share of any picture."""
        return float(np.clip(9000.0 / len(self.rows), 3.0, 42.0))

    @property
    def extent(self) -> tuple[float, float]:
        """Width and height of all that is drawn."""
        trail = [] if self.trail is None else [self.trail]
        width, height = np.ptp(np.vstack([self.points, *(self.paths or []), *trail]), axis=0)
        return float(width), float(height)


def of_clusters(
    X: ArrayLike,
    labels: ArrayLike,
    links: Links | None = None,
    modes: ArrayLike | None = None,
    *,
    most_points: int | None = None,
    most_links: int | None = None,
) -> Scene:
    """Clusters with their links and modes; of more points or links than the most, a random part."""
    points = check_points(X)
    scene = _of_points(points, labels)
    if modes is not None:
        places = scene.plane.project(same_width(modes, points, "modes"), height=0.5)
        scene = replace(scene, modes=places)
    rng = np.random.default_rng(0)
    if links is not None:
        table = LinkTable.of(np.asarray(labels), links)
        shown = np.arange(len(table))
        if most_links is not None and len(table) > most_links:
            # Violated ones first: they are what one looks for.
            shown = np.sort(np.lexsort((rng.random(len(table)), table.kept))[:most_links])
        groups = _link_groups(table.pairs[shown], table.kind[shown], table.kept[shown])
        scene = replace(scene, table=table, groups=groups)
    if most_points is None or len(points) <= most_points:
        return scene
    return replace(scene, rows=_some_rows(scene, most_points, rng))


def _some_rows(scene: Scene, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Choose rows at random, with those that have a drawn link and one of each large cluster."""
    clusters = scene.clusters
    assert clusters is not None
    needed = np.zeros(len(scene.points), dtype=bool)
    needed[scene.pairs] = True
    first = np.unique(clusters.position, return_index=True)[1]
    needed[first[clusters.by_size[: len(PALETTE)]]] = True
    chosen = rng.choice(np.flatnonzero(~needed), most - int(needed.sum()), replace=False)
    needed[chosen] = True
    return np.flatnonzero(needed)


def of_paths(X: ArrayLike, paths: Sequence[ArrayLike], labels: ArrayLike | None) -> Scene:
    """Points and the path of each start."""
    points = check_points(X)
    scene = _of_points(points, labels)
    steps = [same_width(path, points, f"paths[{i}]") for i, path in enumerate(paths)]
    heights = zip(steps, spread(len(steps)), strict=True)
    places = [scene.plane.project(path, height=at) for path, at in heights if len(path)]
    return replace(scene, paths=places)


def of_explanation(
    explained: Explanation, X: ArrayLike, labels: ArrayLike | None, max_links: int
) -> Scene:
    """Points, the path of one row to its mode, and the links that act on it."""
    points = check_points(X)
    scene = _of_points(points, labels)
    last = explained.mentioned()[-1]
    if last >= len(points):
        raise ValueError(
            f"X has {len(points)} rows, and the explanation names row {last}; give the rows that "
            "the model was fitted on"
        )
    path, mode, is_own = points[[explained.row]], None, explained.space == "input"
    if is_own and explained.path is not None and explained.mode is not None:
        path = same_width(explained.path, points, "the explanation's path")
        mode = same_width(explained.mode[None], points, "the explanation's mode")
    elif explained.path is not None and explained.mode_row is not None:
        path = points[[explained.row, *explained.path_rows, explained.mode_row]]
        mode = path[-1:]
    # On a line, points are spread out vertically: the path stays at the height of its row.
    height = float(scene.points[explained.row, 1])
    modes = None if mode is None else scene.plane.project(mode, height=height)
    trail = scene.plane.project(path, height=height)
    roles = explained.links[:max_links]
    pairs = np.array([role.pair for role in roles], dtype=np.int64).reshape(-1, 2)
    kinds = np.array([role.kind for role in roles], dtype=np.str_)
    groups = _link_groups(pairs, kinds, np.array([role.holds for role in roles], dtype=bool))
    return replace(scene, groups=groups, modes=modes, trail=trail, trail_is_own=is_own)


def _of_points(points: NDArray[np.float64], labels: ArrayLike | None) -> Scene:
    plane, rows = Plane.of(points), np.arange(len(points))
    clusters = None if labels is None else Clusters.of(check_labels(labels, points))
    return Scene(plane=plane, points=plane.project(points), rows=rows, clusters=clusters)


def check_points(X: ArrayLike) -> NDArray[np.float64]:
    """Give a table of numbers with at least one row and column."""
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or 0 in points.shape:
        raise ValueError(
            f"X must be a table with at least one row and column, got shape {points.shape}"
        )
    return points


def check_labels(labels: ArrayLike, X: NDArray[np.float64]) -> NDArray[np.generic]:
    """Give one label for each row."""
    groups = np.asarray(labels)
    if groups.shape != (len(X),):
        raise ValueError(
            f"labels must have shape ({len(X)},), one for each row of X, got {groups.shape}"
        )
    return groups


def same_width(values: ArrayLike, X: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """Give a table with as many columns as X."""
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != X.shape[1]:
        raise ValueError(
            f"{name} must have shape (any, {X.shape[1]}) as X has {X.shape[1]} columns, "
            f"got {table.shape}"
        )
    return table
