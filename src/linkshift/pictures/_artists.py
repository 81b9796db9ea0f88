"""How scenes and charts get on matplotlib's axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.gridspec import GridSpec
from matplotlib.lines import Line2D
from matplotlib.patheffects import Normal, Stroke
from matplotlib.ticker import FuncFormatter, MaxNLocator, StrMethodFormatter
from numpy.typing import NDArray

from linkshift._core.text import counted
from linkshift.pictures import colours
from linkshift.pictures.charts import HeatMap, PathChart
from linkshift.pictures.colours import FRAME, INK, LINKS, NUMBERS, PALETTE, WORDS
from linkshift.pictures.scene import LinkGroup, Places, Scene, faded, is_to_scale, mixed

if TYPE_CHECKING:
    from linkshift.kmeans import Elbow

# More entries than this make a legend taller than the picture.
_LEGEND_ROWS = 10
# The least cell of a heat map that holds a number, in typographic points.
_NUMBER_CELL = (22.0, 11.0)
_DASHES: dict[str, Any] = {"must": "solid", "cannot": (0.0, (3.0, 1.6))}


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Give `ax`, or the axes of a new figure of a size in inches."""
    if ax is None:
        _, ax = plt.subplots(figsize=size, dpi=120, layout="constrained")
    return ax


def _frame(ax: Axes, title: str | None, x_label: str = "", y_label: str = "") -> None:
    """Give all pictures the same frame, ticks and title."""
    ax.grid(False)
    for spine in ax.spines.values():
        spine.set(linewidth=0.6, color=FRAME)
    ax.tick_params(width=0.6, length=3, color=FRAME, labelcolor=NUMBERS, labelsize=8)
    ax.set_xlabel(x_label, fontsize=9, color=WORDS)
    ax.set_ylabel(y_label, fontsize=9, color=WORDS)
    if title is not None:
        ax.set_title(title, loc="left", fontsize=11, color=INK, fontweight="bold")


def draw_scene(
    scene: Scene, ax: Axes | None, title: str | None, *, legend: bool, size: float | None
) -> Axes:
    """Draw a scene, from the bottom: points, links, paths, modes."""
    ax = _axes(ax, _figure_size(scene.points, with_legend=legend))
    area = scene.area if size is None else size
    _draw_points(ax, scene, area)
    for group in scene.groups:
        _draw_links(ax, scene, group)
    if len(linked := scene.points[scene.linked_rows]):
        ring: dict[str, Any] = {"linewidths": 0.9, "zorder": 5, "label": "linked points"}
        _dots(ax, linked, area + 16, "none", INK, **ring)
    if scene.paths is not None:
        _draw_paths(ax, scene)
    if scene.trail is not None:
        rim = [Stroke(linewidth=3.8, foreground="white"), Normal()]
        ax.plot(*scene.trail.T, path_effects=rim, zorder=6, **_trail_style(scene))
        ring = {"linewidths": 1.8, "zorder": 7, "label": "the row"}
        _dots(ax, scene.trail[:1], np.clip(3 * area, 50, 130), "white", INK, **ring)
    if scene.modes is not None:
        side = np.clip(5 * area, 90, 190)
        _dots(ax, scene.modes, side, INK, marker="*", linewidths=1.1, zorder=7, label="modes")
    _frame(ax, title, *scene.plane.axis_labels)
    ax.set_axisbelow(True)
    if scene.plane.is_line:
        ax.set_yticks([])
        ax.set_ylim(-0.5, 1.5)
    elif is_to_scale(*scene.extent):
        ax.set_aspect("equal", adjustable="datalim")
    if legend:
        _draw_legend(ax, scene)
    return ax


def _figure_size(flat: Places, *, with_legend: bool) -> tuple[float, float]:
    """Inches for which points drawn to scale fill the frame, within reason."""
    width, height = np.ptp(flat, axis=0)
    tall = 5.2 * float(np.clip(height / width if width > 0 else 1.0, 0.5, 1.0))
    return 5.2 + (1.6 if with_legend else 0.4), tall + 0.5


def _dots(
    ax: Axes, at: Places, area: Any, colour: Any, rim: str | None = "white", **style: Any
) -> None:
    ax.scatter(at[:, 0], at[:, 1], s=area, c=colour, edgecolors=rim, **style)


def _draw_points(ax: Axes, scene: Scene, area: float) -> None:
    clusters, flat = scene.clusters, scene.points
    if clusters is None:
        _dots(ax, flat, area, colours.NO_CLUSTER, "face", linewidths=0, zorder=1)
        return
    alpha = 0.9 if scene.paths is None and scene.trail is None else 0.3
    # Above this, a vector file would hold every point: heavy to open, no clearer.
    style: dict[str, Any] = {"alpha": alpha, "rasterized": len(flat) > 10_000}
    noisy = clusters.is_noise[clusters.position]
    if noisy.any():
        width = float(np.clip(area / 30, 0.5, 1.0))
        cross = style | {"marker": "x", "linewidths": width, "zorder": 1, "label": "noise"}
        _dots(ax, flat[noisy], 0.6 * area, colours.NOISE_GREY, None, **cross)
    # In a mixed order: drawn one after the other, the last cluster would cover the others.
    rows = mixed(scene.rows)
    rows = rows[~noisy[rows]]
    style |= {"linewidths": 0.4 if area > 12 else 0.0, "zorder": 2, "label": "points"}
    _dots(ax, flat[rows], area, _row_colours(scene)[rows], **style)


def _row_colours(scene: Scene) -> NDArray[np.float64]:
    assert scene.clusters is not None
    table = np.array([colours.rgb(hexed) for hexed in scene.clusters.colours])
    return table[scene.clusters.position]


def _draw_links(ax: Axes, scene: Scene, group: LinkGroup) -> None:
    fade, segments = scene.fade, scene.points[group.pairs]
    width = group.width(fade)
    look: dict[str, Any] = {"linestyles": [_DASHES[group.kind]], "linewidths": width}
    look |= {"alpha": group.alpha(fade), "zorder": 3 if group.kept else 4}
    look |= {"capstyle": "round" if group.kind == "must" else "butt", "label": group.name}
    lines = LineCollection(list(segments), colors=LINKS[group.kind], **look)
    if fade == 1.0:
        # A white rim keeps a line readable across a cluster of its own colour.
        rim = Stroke(linewidth=width + 1.6, foreground="white", alpha=0.8)
        lines.set_path_effects([rim, Normal()])
    ax.add_collection(lines, autolim=False)
    if scene.is_crossed(group):
        side = 70 * max(fade, 0.4)
        style: dict[str, Any] = {"marker": "X", "linewidths": 0.9, "zorder": 6}
        _dots(ax, segments.mean(axis=1), side, LINKS[group.kind], label="violated", **style)


def _draw_paths(ax: Axes, scene: Scene) -> None:
    paths: Any = scene.paths
    own: Any = PALETTE[0]
    if scene.clusters is not None:
        own = _row_colours(scene) if len(paths) == len(scene.points) else INK
    fade = faded(len(paths), 150)
    look = {"linewidths": 0.5 + 0.5 * fade, "alpha": 0.35 + 0.45 * fade, "zorder": 3}
    ax.add_collection(LineCollection(paths, colors=own, **look), autolim=False)
    if paths:
        ends = np.array([path[-1] for path in paths])
        _dots(ax, ends, 38, INK, linewidths=0.9, zorder=4, label="ends")


def _trail_style(scene: Scene) -> dict[str, Any]:
    name, dashes = ("its path", "-") if scene.trail_is_own else ("rows on its path", ":")
    return {"color": INK, "linewidth": 2.0, "linestyle": dashes, "label": name}


def _draw_legend(ax: Axes, scene: Scene) -> None:
    def key(name: str, colour: str = INK, marker: str = "o", side: float = 6.5) -> Line2D:
        style: dict[str, Any] = {"color": colour, "marker": marker, "markersize": side}
        return Line2D([], [], linestyle="none", label=name, **style)

    rows = []
    if scene.trail is not None:
        row = key("the row", side=6)
        row.set(markerfacecolor="white", markeredgewidth=1.6)
        rows.append(row)
        if scene.modes is not None:
            rows += [Line2D([], [], **_trail_style(scene)), key("its mode", INK, "*", 9)]
    elif (found := scene.clusters) is not None:
        rows = [
            key(f"{found.titles[c]} ({found.sizes[c]:,})", found.colours[c])
            for c in np.flatnonzero(~found.is_noise)
        ]
        if len(rows) > _LEGEND_ROWS:
            rows = [key(counted(len(rows), "cluster"), PALETTE[0])]
        if found.n_noise:
            rows.append(key(f"noise ({found.n_noise:,})", colours.NOISE_GREY, "x", 5))
        if scene.modes is not None and len(scene.modes):
            rows.append(key(counted(len(scene.modes), "mode"), INK, "*", 9))
    for group in scene.groups:
        width = 1.5 if group.kept else 2.8
        line = Line2D([], [], color=LINKS[group.kind], ls=_DASHES[group.kind], lw=width)
        mark = "X" if scene.is_crossed(group) else ""
        line.set(marker=mark, markersize=7, markeredgecolor="white")
        line.set_label(group.name)
        rows.append(line)
    look: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0}
    look |= {"frameon": False, "fontsize": 8.5, "handlelength": 2.0, "labelcolor": WORDS}
    ax.legend(handles=rows, **look)


def draw_elbow(curve: Elbow, ax: Axes | None, title: str | None) -> Axes:
    """Draw sums of squares, their chord, and a ring around the suggested number."""
    ax = _axes(ax, (5.2, 3.4))
    numbers, inertia, best = curve.n_clusters, curve.inertia, curve.suggested
    dots: dict[str, Any] = {"linewidth": 1.6, "marker": "o", "markersize": 4}
    ax.plot(numbers, inertia, color=PALETTE[0], label="inertia", **dots)
    if curve.held_out is None:
        ends = [0, -1]
        chord: dict[str, Any] = {"linewidth": 1.0, "linestyle": "--", "label": "chord"}
        ax.plot(numbers[ends], inertia[ends], color=FRAME, **chord)
        rule, marked = "elbow", inertia
    else:
        ax.plot(numbers, curve.held_out, color=PALETTE[2], label="held out", **dots)
        rule, marked = "largest jump", curve.held_out
    at = best, float(marked[np.flatnonzero(numbers == best)[0]])
    ring: dict[str, Any] = {"color": PALETTE[1], "marker": "o", "fillstyle": "none"}
    ax.plot(*at, markersize=11, markeredgewidth=1.8, linestyle="", label=rule, **ring)
    if curve.held_out is not None:
        ax.legend(frameon=False, fontsize=8.5, labelcolor=WORDS)
    words: dict[str, Any] = {"textcoords": "offset points", "fontsize": 10, "color": INK}
    ax.annotate(f"k = {best}", at, xytext=(9, 9), **words)
    _frame(ax, title, "number of clusters", "sum of squared distances")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylim(bottom=0.0)
    return ax


def draw_path_chart(chart: PathChart, ax: Axes | None, title: str | None) -> Axes:
    """Draw a panel below the other, and mark the chosen level in all."""
    ax = _axes(ax, (5.6, 2.2 + len(chart.panels)))
    assert chart.level is not None
    h, mark = chart.bandwidths, chart.bandwidths[chart.level]
    panels = _split(ax, (2.0, 1.0, 1.0)[: len(chart.panels)])
    for panel, (name, curves) in zip(panels, chart.panels.items(), strict=True):
        for curve in curves:
            style: dict[str, Any] = {"marker": "o", "markersize": 3.5, "linewidth": 1.4}
            style["color"] = LINKS[curve.kind] if curve.hue is None else PALETTE[curve.hue]
            dashes = "--" if curve.kind == "cannot" else "-"
            panel.plot(h, curve.values, label=curve.name, linestyle=dashes, **style)
        _frame(panel, title if panel is ax else None, y_label=name)
        panel.set_xscale("log")
        panel.set_xlim(chart.across.low, chart.across.high)
        panel.axvline(mark, color=FRAME, linewidth=1.2, linestyle=":", zorder=0, label="_best")
        panel.tick_params(which="both", color=FRAME, labelcolor=NUMBERS, labelsize=8)
        panel.tick_params(which="both", labelbottom=panel is panels[-1])
        if panel is not ax:
            panel.set_ylim(bottom=-0.06 * panel.get_ylim()[1])  # dots at zero are whole
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    ax.yaxis.set_minor_formatter("")
    if "violated links" in chart.panels:
        panels[2].legend(fontsize=8, frameon=False, labelcolor=WORDS)
        panels[2].yaxis.set_major_locator(MaxNLocator(4, integer=True))
    side, away = ("right", -6) if chart.is_right else ("left", 6)
    words: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
    words |= {"xytext": (away, -12), "ha": side, "fontsize": 9, "color": INK}
    ax.annotate(chart.level_name, (mark, 1.0), **words)
    panels[-1].set_xlabel("bandwidth", fontsize=9, color=WORDS)
    panels[-1].xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    panels[-1].xaxis.set_minor_formatter(_some_minor(h))
    return ax


def _split(ax: Axes, heights: tuple[float, ...]) -> list[Axes]:
    """Divide the place of the axes into panels, the axes on top."""
    figure: Any = ax.figure  # or a part of one
    place = ax.get_subplotspec()
    if place is None:  # axes put by hand
        box = ax.get_position()
        sides = {"left": box.x0, "right": box.x1, "bottom": box.y0, "top": box.y1}
        place = GridSpec(1, 1, figure=figure, **sides)[0]
    parts = place.subgridspec(len(heights), 1, height_ratios=heights, hspace=0.08)
    ax.set_subplotspec(parts[0])
    return [ax, *(figure.add_subplot(parts[i], sharex=ax) for i in range(1, len(heights)))]


def _some_minor(h: NDArray[np.float64]) -> FuncFormatter:
    """Name the ticks 2 and 5 as well where the axis spans less than two decades."""

    def name(value: float, _: int | None = None) -> str:
        digit = round(value / 10.0 ** np.floor(np.log10(value) + 1e-9))
        wanted = (2, 5) if h[-1] > 5 * h[0] else (2, 3, 4, 5, 6, 7, 8, 9)
        return f"{value:g}" if h[-1] < 100 * h[0] and digit in wanted else ""

    return FuncFormatter(name)


def draw_heat_map(heat: HeatMap, ax: Axes | None, title: str | None) -> Axes:
    """Draw shares as colours, with their numbers where there is room, else with a bar."""
    n, m = heat.shares.shape
    ax = _axes(ax, _heat_map_size(heat))
    _frame(ax, title)
    ax.tick_params(length=0, labelcolor=WORDS)
    ax.set(xlim=(0, m), ylim=(n, 0))
    cell = _label_cells(ax, heat)
    has_numbers = bool((cell >= _NUMBER_CELL).all())
    cmap = LinearSegmentedColormap.from_list("shares", colours.SHARES)
    edges, width = ("white", 1.0) if has_numbers else ("none", 0.0)
    look: dict[str, Any] = {"edgecolors": edges, "linewidths": width, "label": "importances"}
    mesh = ax.pcolormesh(heat.shares, cmap=cmap, vmin=0.0, vmax=heat.shares.max(), **look)
    if has_numbers:
        black, leads = colours.takes_black(mesh.to_rgba(heat.shares)), heat.leads
        for c, v in np.ndindex(n, m):
            look = {"ha": "center", "va": "center", "fontsize": 8}
            look["color"] = "black" if black[c, v] else "white"
            look["fontweight"] = "bold" if leads[c, v] else "normal"
            ax.text(v + 0.5, c + 0.5, f"{heat.shares[c, v]:.2f}", **look)
    else:
        place: dict[str, Any] = {"shrink": min(1.0, 240.0 / (cell[1] * n)), "anchor": (0.0, 1.0)}
        bar = ax.figure.colorbar(mesh, ax=ax, aspect=20, pad=0.02, label="importance", **place)
        bar.outline.set(linewidth=0.6, color=FRAME)
        bar.ax.tick_params(width=0.6, length=3, color=FRAME, labelcolor=NUMBERS, labelsize=8)
        bar.ax.yaxis.label.set(fontsize=9, color=WORDS)
        _label_cells(ax, heat)  # the bar has taken some of the room
    return ax


def _heat_map_size(heat: HeatMap) -> tuple[float, float]:
    """Inches for which cells hold numbers, or when there are many, rows hold their names."""
    n, m = heat.shares.shape
    tall = float(np.clip(0.28 * n, 0.5, max(8.0, min(0.14 * n, 14.0))))
    wide = float(np.clip(0.66 * m, 1.6, max(8.0, min(0.16 * m, 14.0))))
    longest = (max(map(len, names)) for names in (heat.rows, heat.columns))
    beside, below = (0.5 + 0.06 * min(length, 60) for length in longest)
    return wide + beside + 1.0, tall + below + 0.4


def _label_cells(ax: Axes, heat: HeatMap) -> NDArray[np.float64]:
    """Name rows and columns; give the width and height of a cell in typographic points."""
    shape = np.array(heat.shares.shape[::-1])
    ax.set_xticks(np.arange(shape[0]) + 0.5, heat.columns)
    ax.set_yticks(np.arange(shape[1]) + 0.5, heat.rows)
    # How much room the names leave to the cells is known only after the layout.
    for turn in (0, 90):
        ax.tick_params(axis="x", labelrotation=turn)
        ax.figure.canvas.figure.draw_without_rendering()
        cell = np.asarray(ax.get_window_extent().size) / shape
        wide = max(label.get_window_extent().width for label in ax.get_xticklabels())
        if wide <= 0.95 * cell[0]:
            break
    tall = max(label.get_window_extent().height for label in ax.get_yticklabels())
    for axis, names, step in (
        (ax.xaxis, heat.columns, int(np.ceil(wide / cell[0]))),
        (ax.yaxis, heat.rows, int(np.ceil(tall / cell[1]))),
    ):
        axis.set_ticks(np.arange(0, len(names), step) + 0.5, names[::step])
    return cell * 72.0 / ax.figure.dpi
