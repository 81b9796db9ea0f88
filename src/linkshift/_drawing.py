"""How `linkshift.plot` draws points: projection, colours, links, paths, legend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkshift._core.labels import is_noise
from linkshift.metrics import link_satisfaction

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from linkshift.explain.explanation import Explanation, LinkRole
    from linkshift.links import Links

#: Cluster colours. The first nine stay apart under red-green colour blindness; the others were
#: picked one by one, each as far as possible in OKLab from those before it. Then they repeat.
# fmt: off
PALETTE = (
    "#3B6FB6", "#E2711D", "#2A9D8F", "#B5387F", "#E8C547", "#6CC5EA",
    "#3A2A7D", "#F29CB4", "#7A4A1E", "#CB6CFF", "#6824C1", "#822155",
    "#967158", "#7A57F2", "#8EBA7A", "#53E488", "#7D8ED0", "#D9A02C",
    "#044B97", "#CD4805", "#376C79", "#924958", "#09E0DB", "#BA37BA",
    "#5F3B74", "#B397F9", "#8A9B52", "#ED5CD1", "#67772E", "#825D99",
)
# fmt: on

INK = "#2B2B2B"
FRAME = "#B8B8B8"
NOISE_GREY = "#9A9A9A"
MUST = "#1B7F3B"
CANNOT = "#D0202E"

# More entries than this make a legend taller than the picture.
_LEGEND_ROWS = 10


# --- from d columns to two ----------------------------------------------------------------------


@dataclass(frozen=True)
class Plane:
    """Where d-dimensional points fall on the picture."""

    mean: NDArray[np.float64]
    axes: NDArray[np.float64]
    axis_labels: tuple[str, str]

    @classmethod
    def of(cls, X: NDArray[np.float64]) -> Plane:
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
        return len(self.mean) == 1

    def project(self, X: NDArray[np.float64], height: float | None = None) -> NDArray[np.float64]:
        if not self.is_line:
            return (X - self.mean) @ self.axes
        up = spread(len(X)) if height is None else np.full(len(X), height)
        return np.column_stack([X[:, 0], up])


def spread(n: int) -> NDArray[np.float64]:
    """Heights in [0, 1) that neighbours in the row order do not share; no chance involved."""
    golden = (5**0.5 - 1) / 2
    return np.asarray((np.arange(n) * golden + 0.5) % 1.0, dtype=np.float64)


# --- validation ---------------------------------------------------------------------------------


def check_points(X: ArrayLike) -> NDArray[np.float64]:
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or 0 in points.shape:
        raise ValueError(
            f"X must be a table with at least one row and column, got shape {points.shape}"
        )
    return points


def check_labels(labels: ArrayLike, X: ArrayLike) -> NDArray[np.generic]:
    groups, n = np.asarray(labels), len(np.asarray(X))
    if groups.shape != (n,):
        raise ValueError(
            f"labels must have shape ({n},), one for each row of X, got {groups.shape}"
        )
    return groups


def same_width(values: ArrayLike, X: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != X.shape[1]:
        raise ValueError(
            f"{name} must have shape (any, {X.shape[1]}) as X has {X.shape[1]} columns, "
            f"got {table.shape}"
        )
    return table


# --- drawing ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _LinkGroup:
    """Links that look alike."""

    pairs: NDArray[np.int64]
    kind: str
    kept: bool

    @property
    def colour(self) -> str:
        return MUST if self.kind == "must" else CANNOT

    @property
    def style(self) -> Any:
        return "solid" if self.kind == "must" else (0.0, (3.0, 1.6))

    @property
    def name(self) -> str:
        noun = f"{self.kind}-link" + ("s" if len(self.pairs) > 1 else "")
        return f"{len(self.pairs)} {noun}" + ("" if self.kept else " violated")


def link_groups(labels: NDArray[np.generic], links: Links) -> list[_LinkGroup]:
    report = link_satisfaction(labels, links)
    groups = []
    for kind, pairs, violated in (
        ("must", links.must, report.violated_must),
        ("cannot", links.cannot, report.violated_cannot),
    ):
        broken = {tuple(pair) for pair in violated.tolist()}
        is_broken = np.array([tuple(pair) in broken for pair in pairs.tolist()], dtype=bool)
        groups += [
            _LinkGroup(pairs[~is_broken], kind, True),
            _LinkGroup(pairs[is_broken], kind, False),
        ]
    # Violated ones last, to lie on top.
    return sorted((g for g in groups if len(g.pairs)), key=lambda g: not g.kept)


def new_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Give `ax`, or the axes of a new figure of a size in inches."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            'linkshift.plot needs matplotlib: pip install "linkshift[plot]"'
        ) from error
    if ax is None:
        _, ax = plt.subplots(figsize=size, dpi=120, layout="constrained")
    return ax


def figure_size(flat: NDArray[np.float64], *, with_legend: bool) -> tuple[float, float]:
    """Inches for which points drawn to scale fill the frame, within reason."""
    width, height = np.ptp(flat, axis=0)
    frame = 5.2
    tall = frame * float(np.clip(height / width if width > 0 else 1.0, 0.5, 1.0))
    return frame + (1.6 if with_legend else 0.4), tall + 0.5


def point_area(n: int) -> float:
    """Area for which n points cover about the same share of the picture, within reason."""
    return float(np.clip(9000.0 / n, 3.0, 42.0))


def colours_of(labels: NDArray[np.generic]) -> NDArray[np.float64]:
    """RGB of each label; noise is grey."""
    from matplotlib.colors import to_rgb

    names, position = np.unique(labels, return_inverse=True)
    noisy = is_noise(names)
    order = np.cumsum(~noisy) - 1
    table = [
        to_rgb(NOISE_GREY if noise else PALETTE[i % len(PALETTE)])
        for noise, i in zip(noisy, order, strict=True)
    ]
    return np.array(table).reshape(-1, 3)[position]


def scatter(
    ax: Axes,
    flat: NDArray[np.float64],
    labels: NDArray[np.generic],
    *,
    area: float,
    alpha: float = 0.9,
) -> None:
    colours = colours_of(labels)
    noisy = is_noise(labels)
    # Above this, a vector file would hold every point: heavy to open, no clearer.
    rasterized = len(flat) > 10_000
    if noisy.any():
        ax.scatter(
            flat[noisy][:, 0],
            flat[noisy][:, 1],
            s=0.6 * area,
            c=NOISE_GREY,
            marker="x",
            linewidths=float(np.clip(area / 30, 0.5, 1.0)),
            alpha=alpha,
            zorder=1,
            rasterized=rasterized,
            label="noise",
        )
    # In a mixed order: drawn one after the other, the last cluster would cover the others.
    mixed = np.argsort(spread(len(flat)), kind="stable")
    mixed = mixed[~noisy[mixed]]
    ax.scatter(
        flat[mixed][:, 0],
        flat[mixed][:, 1],
        s=area,
        c=colours[mixed],
        alpha=alpha,
        linewidths=0.4 if area > 12 else 0.0,
        edgecolors="white",
        zorder=2,
        rasterized=rasterized,
        label="points",
    )


def draw_links(
    ax: Axes, flat: NDArray[np.float64], group: _LinkGroup, *, n_links: int, area: float
) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.patheffects import Normal, Stroke

    # Hundreds of links would hide the points: fainter and thinner the more there are.
    fade = float(np.clip((60 / n_links) ** 0.5, 0.2, 1.0))
    width = (1.3 if group.kept else 2.6) * max(fade, 0.4)
    segments = flat[group.pairs]
    lines = LineCollection(
        list(segments),
        colors=group.colour,
        linewidths=width,
        linestyles=[group.style],
        alpha=0.95 * fade if group.kept else max(fade, 0.4),
        zorder=3 if group.kept else 4,
        label=group.name,
        capstyle="round" if group.kind == "must" else "butt",
    )
    if fade == 1.0:
        # A white rim keeps a line readable across a cluster of its own colour.
        lines.set_path_effects(
            [Stroke(linewidth=width + 1.6, foreground="white", alpha=0.8), Normal()]
        )
        ends = flat[np.unique(group.pairs)]
        ax.scatter(
            ends[:, 0],
            ends[:, 1],
            s=area + 16,
            facecolors="none",
            edgecolors=INK,
            linewidths=0.9,
            zorder=5,
            label="linked points",
        )
    ax.add_collection(lines, autolim=False)
    # Where crosses would only pile up, the thickness has to do.
    if not group.kept and n_links <= 200:
        ax.scatter(
            segments[:, :, 0].mean(axis=1),
            segments[:, :, 1].mean(axis=1),
            s=70 * max(fade, 0.4),
            c=group.colour,
            marker="X",
            edgecolors="white",
            linewidths=0.9,
            zorder=6,
            label="violated",
        )


def draw_modes(ax: Axes, flat: NDArray[np.float64], *, area: float) -> None:
    ax.scatter(
        flat[:, 0],
        flat[:, 1],
        s=np.clip(5 * area, 90, 190),
        c=INK,
        marker="*",
        edgecolors="white",
        linewidths=1.1,
        zorder=7,
        label="modes",
    )


def draw_paths(ax: Axes, ways: list[NDArray[np.float64]], colours: Any) -> None:
    from matplotlib.collections import LineCollection

    fade = float(np.clip((150 / max(len(ways), 1)) ** 0.5, 0.2, 1.0))
    lines = LineCollection(
        ways, colors=colours, linewidths=0.5 + 0.5 * fade, alpha=0.35 + 0.45 * fade, zorder=3
    )
    ax.add_collection(lines, autolim=False)
    if ways:
        ends = np.array([way[-1] for way in ways])
        ax.scatter(
            ends[:, 0],
            ends[:, 1],
            s=38,
            c=INK,
            edgecolors="white",
            linewidths=0.9,
            zorder=4,
            label="ends",
        )


def finish(ax: Axes, plane: Plane, flat: NDArray[np.float64], title: str | None) -> None:
    frame(ax, title)
    ax.set_axisbelow(True)
    first, second = plane.axis_labels
    ax.set_xlabel(first, fontsize=9, color="#444444")
    ax.set_ylabel(second, fontsize=9, color="#444444")
    width, height = np.ptp(flat, axis=0)
    if plane.is_line:
        ax.set_yticks([])
        ax.set_ylim(-0.5, 1.5)
    elif 0.05 * width <= height <= 20 * width:
        # Distances are what clustering is about, so they are to scale, unless features in unlike
        # units would make the picture a thread.
        ax.set_aspect("equal", adjustable="datalim")


def frame(ax: Axes, title: str | None) -> None:
    """Give all pictures the same frame, ticks and title."""
    ax.grid(False)
    for spine in ax.spines.values():
        spine.set(linewidth=0.6, color=FRAME)
    ax.tick_params(width=0.6, length=3, color=FRAME, labelcolor="#666666", labelsize=8)
    if title is not None:
        ax.set_title(title, loc="left", fontsize=11, color=INK, fontweight="bold")


def cluster_name(name: object) -> str:
    """Give names as they are, numbers as ``cluster 3``."""
    return name if isinstance(name, str) else f"cluster {name}"


def draw_legend(
    ax: Axes, labels: NDArray[np.generic], drawn: list[_LinkGroup], n_modes: int
) -> None:
    from matplotlib.lines import Line2D

    def dot(colour: str, name: str, marker: str = "o", side: float = 6.5) -> Line2D:
        return Line2D(
            [], [], color=colour, marker=marker, markersize=side, linestyle="none", label=name
        )

    names, counts = np.unique(labels, return_counts=True)
    found = [
        (name, count)
        for name, count in zip(names.tolist(), counts.tolist(), strict=True)
        if name != -1
    ]
    if len(found) <= _LEGEND_ROWS:
        rows = [
            dot(
                PALETTE[i % len(PALETTE)],
                f"{cluster_name(name)} ({count})",
            )
            for i, (name, count) in enumerate(found)
        ]
    else:
        rows = [dot(PALETTE[0], f"{len(found)} clusters")]
    if n_noise := int(is_noise(labels).sum()):
        rows.append(dot(NOISE_GREY, f"noise ({n_noise})", marker="x", side=5))
    if n_modes:
        rows.append(dot(INK, f"{n_modes} mode" + ("s" if n_modes > 1 else ""), "*", 9))
    _put_legend(ax, [*rows, *map(_link_row, drawn)])


def _link_row(group: _LinkGroup) -> Line2D:
    from matplotlib.lines import Line2D

    return Line2D(
        [],
        [],
        color=group.colour,
        linestyle=group.style,
        linewidth=1.5 if group.kept else 2.8,
        marker="" if group.kept else "X",
        markersize=7,
        markeredgecolor="white",
        label=group.name,
    )


def _put_legend(ax: Axes, rows: list[Line2D]) -> None:
    ax.legend(
        handles=rows,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        borderaxespad=0.0,
        frameon=False,
        fontsize=8.5,
        handlelength=2.0,
        labelcolor="#444444",
    )


# --- explanation --------------------------------------------------------------------------------


def explained_way(
    explained: Explanation, points: NDArray[np.float64]
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Give path and mode among the points: themselves, or the rows that stand for them."""
    row, last = explained.row, explained.mentioned()[-1]
    if last >= len(points):
        raise ValueError(
            f"X has {len(points)} rows, and the explanation names row {last}; give the rows that "
            "the model was fitted on"
        )
    if explained.path is None:
        return None, None
    assert explained.mode is not None
    if explained.space == "input":
        return (
            same_width(explained.path, points, "the explanation's path"),
            same_width(explained.mode[None], points, "the explanation's mode"),
        )
    assert explained.mode_row is not None
    rows = [row, *explained.path_rows, explained.mode_row]
    return points[rows], points[[explained.mode_row]]


def role_groups(roles: tuple[LinkRole, ...]) -> list[_LinkGroup]:
    """Links of an explanation that look alike, violated ones last."""
    found = []
    for kept in (True, False):
        for kind in ("must", "cannot"):
            pairs = [role.pair for role in roles if (role.kind, role.holds) == (kind, kept)]
            if pairs:
                found.append(_LinkGroup(np.array(pairs, dtype=np.int64), kind, kept))
    return found


def _way_style(space: str) -> dict[str, Any]:
    """Solid for a path that is seen, dotted for one through the rows that stand for it."""
    if space == "input":
        return {"color": INK, "linewidth": 2.0, "linestyle": "-", "label": "its path"}
    return {"color": INK, "linewidth": 2.0, "linestyle": ":", "label": "rows on its path"}


def draw_explained(ax: Axes, way: NDArray[np.float64], space: str, *, area: float) -> None:
    from matplotlib.patheffects import Normal, Stroke

    rim = [Stroke(linewidth=3.8, foreground="white"), Normal()]
    ax.plot(way[:, 0], way[:, 1], path_effects=rim, zorder=6, **_way_style(space))
    ax.scatter(
        way[:1, 0],
        way[:1, 1],
        s=np.clip(3 * area, 50, 130),
        c="white",
        edgecolors=INK,
        linewidths=1.8,
        zorder=7,
        label="the row",
    )


def draw_explained_legend(ax: Axes, drawn: list[_LinkGroup], explained: Explanation) -> None:
    from matplotlib.lines import Line2D

    ring: dict[str, Any] = {"markerfacecolor": "white", "markeredgewidth": 1.6}
    rows = [Line2D([], [], color=INK, marker="o", linestyle="none", label="the row", **ring)]
    if explained.path is not None:
        rows.append(Line2D([], [], **_way_style(explained.space)))
        rows.append(Line2D([], [], color=INK, marker="*", ms=9, linestyle="none", label="its mode"))
    _put_legend(ax, [*rows, *map(_link_row, drawn)])
