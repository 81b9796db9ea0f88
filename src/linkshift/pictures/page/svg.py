"""The pictures of a report as inline SVG: rows on a plane, and the chart of a bandwidth path.

A dot is a stroke of no length with a round cap, whose width no scaling changes: one path holds
thousands of dots in a few bytes each, and they stay round on any screen. Words stand outside of
the SVG, so that they keep their size too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkshift._core.markup import Html, joined, plain, tag, word
from linkshift._core.text import counted
from linkshift.pictures.charts import Axis, Curve, PathChart, Ticks
from linkshift.pictures.colours import PALETTE
from linkshift.pictures.scene import Clusters, LinkGroup, Scene, is_to_scale, mixed, of_clusters

if TYPE_CHECKING:
    from linkshift.pictures.page.page import Report

# A page with more takes long to open and shows no more.
MOST_POINTS = 20_000
MOST_LINKS = 5_000
MOST_MODES = 500
# The palette begins anew after so many.
MOST_KEYS = len(PALETTE)

_WIDE = 4000  # units of the picture: a quarter of a pixel on a wide screen, in four digits
_CROSS = 22
_BLOCKS = 6


def css(hue: int | None) -> str:
    """Give the page's name of a colour of the palette, None for that of noise."""
    return "var(--noise)" if hue is None else f"var(--c{hue})"


def cluster_key(clusters: Clusters, c: int) -> Html:
    """Name a cluster behind a dot of its colour."""
    dot = tag.i(class_="key", style=f"background:{css(clusters.hues[c])}")
    return joined(dot, word(clusters.titles[c]))


def _line_key(kind: str, *, crossed: bool = False) -> Html:
    """Show what the line of a kind of links looks like."""
    lines = [tag.path(class_=kind, d="M0 7h26")]
    if crossed:
        lines.append(tag.path(class_=f"{kind} cross", d="M9 3l8 8m0 -8l-8 8"))
    return tag.svg(*lines, class_="line", viewBox="0 0 26 14", aria_hidden="true")


def _frame(
    inside: list[Html], ticks: tuple[Ticks, Ticks], view: str, label: str, *words: Html, **more: str
) -> Html:
    """Put a picture into a frame, with its ticks and words around it."""
    look = {"preserveAspectRatio": "none", "role": "img", "aria-label": plain(label)}
    spans = [(name, "below", f"left:{100 * at:.2f}%") for at, name in ticks[0]]
    spans += [(name, "beside", f"top:{100 * (1 - at):.2f}%") for at, name in ticks[1]]
    names = [tag.span(name, class_=f"tick {side}", style=at) for name, side, at in spans]
    svg = tag.svg(*inside, viewBox=f"0 0 {view}", **look)
    return tag.div(svg, *names, *words, class_="frame", **more)


@dataclass(frozen=True, eq=False)
class Paper:
    """A scene, and where its places fall on the picture, in the units of the picture."""

    scene: Scene
    power: int  # of two: the unit of the scene
    x: Axis
    y: Axis
    tall: int

    @classmethod
    def of(cls, report: Report) -> Paper:
        """Choose what of a report is drawn, and the frame around all rows."""
        # Squares of very large or small numbers would be lost; a power of two loses nothing.
        largest = float(np.abs(report.X).max())
        extreme = largest > 0 and not 1e-100 < largest < 1e100
        power = math.frexp(largest)[1] - 1 if extreme else 0
        many = report.modes is None or len(report.modes) > MOST_MODES
        scene = of_clusters(
            np.ldexp(report.X, -power),  # NumPy 1 warns when it divides by the least number
            report.labels,
            report.links,
            None if many else np.ldexp(report.modes, -power),
            most_points=MOST_POINTS,
            most_links=MOST_LINKS,
        )
        x, y = (Axis.around(scene.points[:, i]) for i in (0, 1))
        x, y, tall = _to_scale(x, y, is_line=scene.plane.is_line)
        return cls(scene, power, x, y, round(_WIDE * tall))

    def place(self, places: NDArray[np.float64]) -> NDArray[np.int64]:
        """Round places of the scene to units of the picture."""
        across, up = self.x.place(places[:, 0]), self.y.place(places[:, 1])
        flat = np.column_stack([across * _WIDE, (1 - up) * self.tall])
        return np.rint(flat).astype(np.int64)

    def ticks(self) -> tuple[Ticks, Ticks]:
        """Give the ticks of both axes; heights on a line have no meaning."""
        unit = 2.0**self.power
        x, y = (Axis(a.low * unit, a.high * unit) for a in (self.x, self.y))
        return x.ticks(most=8), [] if self.scene.plane.is_line else y.ticks()


def _to_scale(x: Axis, y: Axis, *, is_line: bool) -> tuple[Axis, Axis, float]:
    """Widen one axis so that distances are to scale, unless that would make a thread."""
    width, height = x.high - x.low, y.high - y.low
    if is_line:
        return x, Axis(-0.5, 1.5), 0.3
    if not is_to_scale(width, height):
        return x, y, 0.6
    tall = min(max(height / width, 0.5), 0.75)
    more_x = max(height / tall - width, 0.0) / 2
    more_y = max(width * tall - height, 0.0) / 2
    return Axis(x.low - more_x, x.high + more_x), Axis(y.low - more_y, y.high + more_y), tall


def scatter(report: Report, paper: Paper, clusters: Clusters) -> tuple[Html, dict[str, Any]]:
    """Draw the rows on a plane, with their links; give the HTML and what hovering needs."""
    scene = paper.scene
    linked = np.isin(scene.rows, scene.pairs)
    blocks = [*np.array_split(mixed(scene.rows[~linked]), _BLOCKS), mixed(scene.rows[linked])]
    pieces = [_by_cluster(block, clusters) for block in blocks]
    rows, dot = len(scene.rows), scene.area**0.5 * 1.8  # the picture is wider than a figure
    style = f"aspect-ratio:{_WIDE}/{paper.tall};--dot:{dot:.1f}px;"
    style += f"--small-dot:{max(0.55 * dot, 1.8):.1f}px"
    label = f"{counted(rows, 'row')} in {counted(clusters.n_clusters, 'cluster')}, on a plane"
    across, upright = scene.plane.axis_labels
    if len(report.column_names) <= 2:
        across, upright = [*report.column_names, ""][:2]
    words = [tag.div(plain(upright), class_="name upright")] if upright else []
    inside, view = _layers(paper, clusters, pieces), f"{_WIDE} {paper.tall}"
    box = _frame(inside, paper.ticks(), view, label, *words, id="scatter", style=style)
    below = tag.p(plain(across), class_="across")
    notes = *_legend(scene, clusters), *_left_out(report, scene, clusters)

    order = np.concatenate([members for piece in pieces for _, members in piece])
    where = np.zeros(len(report.X), dtype=np.int64)
    where[order] = np.arange(len(order))
    data: dict[str, Any] = {
        "rows": order.tolist(),
        "clusters": [plain(title) for title in clusters.titles],
        "links": [
            {"kind": g.kind, "kept": g.kept, "pairs": where[g.pairs].ravel().tolist()}
            for g in scene.groups
        ],
        "cross": _CROSS,
    }
    if report.ids is not None:
        data["ids"] = [plain(report.ids[i]) for i in order.tolist()]
    if report.texts is not None:
        data["words"] = [plain(report.texts[i]) for i in order.tolist()]
    return tag.figure(box, below, *notes), data


def _by_cluster(rows: NDArray[np.int64], clusters: Clusters) -> list[tuple[int, NDArray[np.int64]]]:
    """Rows parted by cluster, noise first."""
    position = clusters.position[rows]
    found = sorted(np.unique(position).tolist(), key=lambda c: (not clusters.is_noise[c], c))
    return [(c, rows[position == c]) for c in found]


def _layers(
    paper: Paper, clusters: Clusters, pieces: list[list[tuple[int, NDArray[np.int64]]]]
) -> list[Html]:
    """Draw, from the bottom: rows, lines, linked rows with a rim, crosses, modes."""
    scene, flat = paper.scene, paper.place(paper.scene.points)
    dots = [[_dots(c, flat[rows], clusters) for c, rows in piece] for piece in pieces]
    lines, top = [], []
    for number, group in enumerate(scene.groups):
        ends = flat[group.pairs]
        width = group.width(scene.fade) * 4 / 3  # from typographic points to pixels
        look = {"stroke_width": f"{width:.2f}", "opacity": f"{group.alpha(scene.fade):.2f}"}
        d = "".join(f"M{a} {b}L{c} {e}" for (a, b), (c, e) in ends.tolist())
        lines.append(tag.path(class_=group.kind, data_l=number, **look, d=d))
        if scene.is_crossed(group):
            top += _crosses(number, group, ends)
    if len(linked := scene.linked_rows):
        lines.append(tag.path(class_="ends", d=_points(flat[linked])))
    if scene.modes is not None and len(scene.modes):
        top.append(tag.path(class_="star", d=_stars(paper.place(scene.modes))))
    below = [path for piece in dots[:-1] for path in piece]
    return [*below, *lines, *dots[-1], *top, tag.path(class_="halo", d="")]


def _points(flat: NDArray[np.int64]) -> str:
    return "".join(f"M{x} {y}h0" for x, y in flat.tolist())


def _dots(c: int, flat: NDArray[np.int64], clusters: Clusters) -> Html:
    noisy = clusters.is_noise[c]
    look = "dots noise" if noisy else "dots"
    style = None if noisy else f"stroke:{css(clusters.hues[c])}"
    return tag.path(class_=look, data_c=c, style=style, d=_points(flat))


def _crosses(number: int, group: LinkGroup, ends: NDArray[np.int64]) -> list[Html]:
    r = _CROSS
    corner = np.rint(ends.mean(axis=1)).astype(np.int64) - r
    d = "".join(f"M{x} {y}l{2 * r} {2 * r}m0 {-2 * r}l{-2 * r} {2 * r}" for x, y in corner.tolist())
    looks = ("under", f"{group.kind} cross")
    return [tag.path(class_=look, data_l=number, data_shape="cross", d=d) for look in looks]


def _stars(flat: NDArray[np.int64]) -> str:
    turn = np.pi * np.arange(10) / 5
    radius = np.where(np.arange(10) % 2, 22, 55)
    steps = np.rint(np.column_stack([np.sin(turn), -np.cos(turn)]) * radius[:, None])
    shape = [f"{x:.0f} {y:.0f}" for x, y in np.diff(steps, axis=0).tolist()]
    return "".join(f"M{x} {y - 55}l{' '.join(shape)}z" for x, y in flat.tolist())


def _legend(scene: Scene, clusters: Clusters) -> list[Html]:
    keys = []
    for c in [*clusters.by_size[:MOST_KEYS].tolist(), *np.flatnonzero(clusters.is_noise)]:
        size = tag.small(f"{clusters.sizes[c]:,}")
        look = {"type": "button", "data_only": c, "aria_pressed": "false"}
        keys.append(tag.button(cluster_key(clusters, c), size, **look))
    if (rest := clusters.n_clusters - MOST_KEYS) > 0:
        keys.append(tag.span(f"and {counted(rest, 'more cluster')}", class_="chip"))
    for number, group in enumerate(scene.groups):
        line = _line_key(group.kind, crossed=scene.is_crossed(group))
        look = {"type": "button", "data_hide": number, "aria_pressed": "true"}
        keys.append(tag.button(line, group.name, **look))
    if scene.modes is not None and len(scene.modes):
        star = f"★\N{NO-BREAK SPACE}{counted(len(scene.modes), 'mode')}"
        keys.append(tag.span(star, class_="chip"))
    hint = "Point at a row to see which it is. Press a cluster to see it alone"
    hint += ", links to hide them." if scene.groups else "."
    listed = tag.ul(*map(tag.li, keys), class_="legend")
    return [listed, tag.p(hint, class_="note hint", hidden="")]


def _left_out(report: Report, scene: Scene, clusters: Clusters) -> list[Html]:
    """Say what the picture does not show."""
    notes = []
    n, n_drawn, n_links = len(scene.points), len(scene.rows), len(scene.pairs)
    given = 0 if scene.table is None else len(scene.table)
    if n_drawn < n:
        also = ", with all that have a drawn link" if n_links else ""
        notes.append(f"{n_drawn:,} of {n:,} rows are drawn, chosen at random (seed 0){also}.")
    if n_links < given:
        notes.append(f"{n_links:,} of {given:,} links are drawn, the violated ones first.")
    if report.modes is not None and len(report.modes) > MOST_MODES:
        notes.append(f"The {len(report.modes):,} modes are too many to draw.")
    if clusters.n_clusters > MOST_KEYS:
        notes.append(f"Colours repeat after {MOST_KEYS} clusters.")
    if report.X.shape[1] > 2:
        notes.append(
            f"The {report.X.shape[1]:,} columns are projected on two: clusters that overlap here "
            "may be apart."
        )
    elif report.X.shape[1] == 1:
        notes.append("Heights have no meaning: they only part the rows.")
    return [tag.p(" ".join(notes), class_="note")] if notes else []


def path_chart(chart: PathChart) -> Html:
    """Draw clusters, stability and violated links over the bandwidth, one below the other."""
    below: list[Ticks] = [[] for _ in chart.panels]
    below[-1] = chart.across.ticks(most=9)
    panels = map(_panel, [chart] * len(below), chart.panels, below)
    return tag.figure(*panels, tag.p("bandwidth", class_="across"))


def _panel(chart: PathChart, title: str, below: Ticks) -> Html:
    across, curves = 1000 * chart.across.place(chart.bandwidths), chart.panels[title]
    y = _upright(title, curves)
    beside = y.ticks(most=4, whole=title != "stability")
    inside = [tag.path(class_="grid", d=f"M0 {1000 * (1 - at):.0f}h1000") for at, _ in beside]
    words = []
    if chart.level is not None:
        at = float(across[chart.level])
        inside.append(tag.path(class_="best", d=f"M{at:.1f} 0v1000"))
        if title == "clusters":
            side = f"right:{100 - at / 10:.1f}%" if chart.is_right else f"left:{at / 10:.1f}%"
            words = [tag.span(chart.level_name, class_="best-name", style=side)]
    for curve in curves:
        up = 1000 * (1 - y.place(curve.values))
        spots = [f"{u:.1f} {v:.1f}" for u, v in zip(across, up, strict=True)]
        lines = {"curve": "M" + "L".join(spots), "knots": "".join(f"M{spot}h0" for spot in spots)}
        style = None if curve.hue is None else f"stroke:{css(curve.hue)}"
        for look, d in lines.items():
            inside.append(tag.path(class_=f"{curve.kind} {look}", style=style, d=d))
    if title == "violated links":
        keys = (tag.span(_line_key(curve.kind), curve.name) for curve in curves)
        words = [tag.div(*keys, class_="keys")]
    words.append(tag.div(title, class_="name upright"))
    label, height = f"{title} over the bandwidth", 11 if title == "clusters" else 7
    return _frame(inside, (below, beside), "1000 1000", label, *words, style=f"height:{height}rem")


def _upright(title: str, curves: list[Curve]) -> Axis:
    """Give each panel that has words in it room for them above its curves."""
    top = max(float(curve.values.max()) for curve in curves) or 1.0
    if title == "clusters":
        return Axis(0.8, 1.25 * top * (1.25 * top) ** 0.2, log=True)
    return Axis(-0.08 * top, (1.12 if title == "stability" else 1.5) * top)
