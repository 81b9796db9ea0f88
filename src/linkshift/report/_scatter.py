"""The scatter of a report: rows on a plane in the colours of their clusters, links, modes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkshift._drawing import PALETTE, Plane, point_area, spread
from linkshift.report._chart import Axis, Ticks, frame, line_key, linear
from linkshift.report._parts import Clusters, LinkTable, counted, plain, text

if TYPE_CHECKING:
    from linkshift.report._page import Report

# A page with more takes long to open and shows no more.
MOST_POINTS = 20_000
MOST_LINKS = 5_000
MOST_MODES = 500
# The palette begins anew after so many.
MOST_KEYS = len(PALETTE)

_WIDE = 4000  # units of the picture: a quarter of a pixel on a wide screen, in four digits
_CROSS = 22
_BLOCKS = 6


@dataclass(frozen=True, eq=False)
class _LinkGroup:
    """Links that look alike, by their number in the table."""

    kind: str
    kept: bool
    at: NDArray[np.int64]

    @property
    def name(self) -> str:
        return counted(len(self.at), f"{self.kind}-link") + ("" if self.kept else " violated")

    @property
    def is_crossed(self) -> bool:
        """Whether each has a cross; where crosses would pile up, thickness has to do."""
        return not self.kept and len(self.at) <= 200


def scatter(report: Report, clusters: Clusters, table: LinkTable) -> tuple[str, dict[str, Any]]:
    """Draw the rows on a plane, with their links; give the HTML and what hovering needs."""
    rows, shown = _selection(clusters, table)
    groups = [
        _LinkGroup(kind, kept, shown[(table.kind[shown] == kind) & (table.kept[shown] == kept)])
        for kept in (True, False)  # violated ones last, to lie on top
        for kind in ("must", "cannot")
    ]
    groups = [group for group in groups if len(group.at)]
    linked = np.isin(rows, table.pairs[shown])
    blocks = [*np.array_split(_mixed(rows[~linked]), _BLOCKS), _mixed(rows[linked])]
    pieces = [_by_cluster(block, clusters) for block in blocks]
    paper = _Paper.of(report.X)
    inside = _drawing(report, clusters, table, paper, pieces, groups)
    html = _scatter_frame(report, clusters, paper, inside, len(rows))
    html += _legend(report, clusters, groups)
    html += _left_out(report, clusters, table, len(rows), len(shown))

    order = np.concatenate([member for piece in pieces for _, member in piece])
    where = np.zeros(len(report.X), dtype=np.int64)
    where[order] = np.arange(len(order))
    data: dict[str, Any] = {
        "rows": order.tolist(),
        "clusters": [plain(name) for name in clusters.titles],
        "links": [
            {"kind": g.kind, "kept": g.kept, "pairs": where[table.pairs[g.at]].ravel().tolist()}
            for g in groups
        ],
        "cross": _CROSS,
    }
    if report.ids is not None:
        data["ids"] = [plain(report.ids[i]) for i in order.tolist()]
    return f"<figure>{html}</figure>", data


def _scatter_frame(
    report: Report, clusters: Clusters, paper: _Paper, inside: str, n_drawn: int
) -> str:
    dot = point_area(n_drawn) ** 0.5 * 1.8  # the page's picture is wider than a figure
    box = frame(
        inside,
        paper.ticks(),
        view=f"{_WIDE} {paper.tall}",
        label=f"{counted(n_drawn, 'row')} in {counted(clusters.n_clusters, 'cluster')}, on a plane",
        attrs=f'id="scatter" style="aspect-ratio:{_WIDE}/{paper.tall};--dot:{dot:.1f}px;'
        f'--small-dot:{max(0.55 * dot, 1.8):.1f}px"',
    )
    across, upright = (text(name) for name in paper.names(report.column_names))
    name = f'<div class="name upright">{upright}</div>' if upright else ""
    return f'{box}{name}</div><p class="across">{across}</p>'


def _drawing(
    report: Report,
    clusters: Clusters,
    table: LinkTable,
    paper: _Paper,
    pieces: list[list[tuple[int, NDArray[np.int64]]]],
    groups: list[_LinkGroup],
) -> str:
    """Draw, from the bottom: rows, lines, linked rows with a rim, crosses, modes."""
    flat = paper.place(report.X)
    dots = ["".join(_dots(c, flat[rows], clusters) for c, rows in piece) for piece in pieces]
    n_links = sum(len(group.at) for group in groups)
    fade = float(np.clip((60 / max(n_links, 1)) ** 0.5, 0.2, 1.0))
    lines, crosses, rims = "", "", ""
    for number, group in enumerate(groups):
        ends = flat[table.pairs[group.at]]
        lines += _lines(number, group, ends, fade)
        if group.is_crossed:
            crosses += _crosses(number, group, ends)
    if groups and fade == 1.0:
        ends = flat[np.unique(np.concatenate([table.pairs[group.at] for group in groups]))]
        rims = f'<path class="ends" d="{_points(ends)}"/>'
    stars = ""
    if report.modes is not None and len(report.modes) <= MOST_MODES:
        stars = _stars(paper.place(report.modes, height=0.5))
    return "".join([*dots[:-1], lines, rims, dots[-1], crosses, stars, '<path class="halo" d=""/>'])


def _selection(clusters: Clusters, table: LinkTable) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and links to draw: all, or a random part that holds what matters."""
    rng = np.random.default_rng(0)
    links = np.arange(len(table))
    if len(links) > MOST_LINKS:
        # Violated ones first: they are what one looks for.
        links = np.lexsort((rng.random(len(links)), table.kept))[:MOST_LINKS]
        links.sort()
    n = len(clusters.position)
    if n <= MOST_POINTS:
        return np.arange(n), links
    first = np.unique(clusters.position, return_index=True)[1]
    needed = np.zeros(n, dtype=bool)
    needed[table.pairs[links]] = True
    needed[first[clusters.by_size[:MOST_KEYS]]] = True
    others = np.flatnonzero(~needed)
    chosen = rng.choice(others, MOST_POINTS - int(needed.sum()), replace=False)
    needed[chosen] = True
    return np.flatnonzero(needed), links


def _mixed(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows in an order in which no cluster lies on top of another."""
    return rows[np.argsort(spread(len(rows)), kind="stable")]


def _by_cluster(rows: NDArray[np.int64], clusters: Clusters) -> list[tuple[int, NDArray[np.int64]]]:
    """Rows parted by cluster, noise first."""
    position = clusters.position[rows]
    found = sorted(np.unique(position).tolist(), key=lambda c: (not clusters.is_noise[c], c))
    ordered = rows[np.argsort(position, kind="stable")]
    ends = np.cumsum(np.bincount(position, minlength=len(clusters.titles)))
    return [(c, ordered[(ends[c - 1] if c else 0) : ends[c]]) for c in found]


@dataclass(frozen=True, eq=False)
class _Paper:
    """Where rows fall on the picture, in its units."""

    plane: Plane
    unit: float
    x: Axis
    y: Axis
    tall: int

    @classmethod
    def of(cls, X: NDArray[np.float64]) -> _Paper:
        # Squares of very large or small numbers would be lost; a power of two loses nothing.
        largest = float(np.abs(X).max())
        extreme = largest > 0 and not 1e-100 < largest < 1e100
        unit = math.ldexp(1.0, math.frexp(largest)[1] - 1) if extreme else 1.0
        scaled = X / unit if extreme else X
        plane = Plane.of(scaled)
        flat = plane.project(scaled)
        x, y, tall = _to_scale(linear(flat[:, 0]), linear(flat[:, 1]), is_line=plane.is_line)
        return cls(plane, unit, x, y, round(_WIDE * tall))

    def place(self, X: NDArray[np.float64], height: float | None = None) -> NDArray[np.int64]:
        flat = self.plane.project(X / self.unit, height)
        across, up = self.x.place(flat[:, 0]), self.y.place(flat[:, 1])
        return np.rint(np.column_stack([across * _WIDE, (1 - up) * self.tall])).astype(np.int64)

    def ticks(self) -> tuple[Ticks, Ticks]:
        x, y = (Axis(a.low * self.unit, a.high * self.unit) for a in (self.x, self.y))
        return x.ticks(most=8), [] if self.plane.is_line else y.ticks()

    def names(self, columns: Sequence[str]) -> tuple[str, str]:
        if len(columns) > 2:
            return self.plane.axis_labels
        return columns[0], "" if self.plane.is_line else columns[1]


def _to_scale(x: Axis, y: Axis, *, is_line: bool) -> tuple[Axis, Axis, float]:
    """Widen one axis so that distances are to scale, unless that would make a thread."""
    width, height = x.high - x.low, y.high - y.low
    if is_line:
        return x, Axis(-0.5, 1.5), 0.3
    if not 0.05 * width <= height <= 20 * width:
        return x, y, 0.6
    tall = min(max(height / width, 0.5), 0.75)
    more_x = max(height / tall - width, 0.0) / 2
    more_y = max(width * tall - height, 0.0) / 2
    return Axis(x.low - more_x, x.high + more_x), Axis(y.low - more_y, y.high + more_y), tall


def _points(flat: NDArray[np.int64]) -> str:
    return "".join(f"M{x} {y}h0" for x, y in flat.tolist())


def _dots(c: int, flat: NDArray[np.int64], clusters: Clusters) -> str:
    noise, colour = (" noise", "") if clusters.is_noise[c] else ("", clusters.colour(c))
    style = f' style="stroke:{colour}"' if colour else ""
    return f'<path class="dots{noise}" data-c="{c}"{style} d="{_points(flat)}"/>'


def _lines(number: int, group: _LinkGroup, ends: NDArray[np.int64], fade: float) -> str:
    # As in linkshift.plot: the more links, the thinner and fainter.
    width = (1.3 if group.kept else 2.6) * max(fade, 0.4) * 4 / 3
    alpha = 0.95 * fade if group.kept else max(fade, 0.5)
    d = "".join(f"M{a} {b}L{c} {e}" for (a, b), (c, e) in ends.tolist())
    return (
        f'<path class="{group.kind}" data-l="{number}" stroke-width="{width:.2f}" '
        f'opacity="{alpha:.2f}" d="{d}"/>'
    )


def _crosses(number: int, group: _LinkGroup, ends: NDArray[np.int64]) -> str:
    r = _CROSS
    corner = np.rint(ends.mean(axis=1)).astype(np.int64) - r
    d = "".join(f"M{x} {y}l{2 * r} {2 * r}m0 {-2 * r}l{-2 * r} {2 * r}" for x, y in corner.tolist())
    return "".join(
        f'<path class="{look}" data-l="{number}" data-shape="cross" d="{d}"/>'
        for look in ("under", f"{group.kind} cross")
    )


def _stars(flat: NDArray[np.int64]) -> str:
    turn = np.pi * np.arange(10) / 5
    radius = np.where(np.arange(10) % 2, 22, 55)
    steps = np.rint(np.column_stack([np.sin(turn), -np.cos(turn)]) * radius[:, None])
    shape = [f"{x:.0f} {y:.0f}" for x, y in np.diff(steps, axis=0).tolist()]
    d = "".join(f"M{x} {y - 55}l{' '.join(shape)}z" for x, y in flat.tolist())
    return f'<path class="star" d="{d}"/>' if d else ""


def _legend(report: Report, clusters: Clusters, groups: list[_LinkGroup]) -> str:
    keys = [
        f'<button type="button" data-only="{c}" aria-pressed="false">{clusters.key(c)}'
        f"{clusters.name(c)}<small>{clusters.sizes[c]:,}</small></button>"
        for c in [*clusters.by_size[:MOST_KEYS].tolist(), *np.flatnonzero(clusters.is_noise)]
    ]
    if clusters.n_clusters > MOST_KEYS:
        rest = clusters.n_clusters - MOST_KEYS
        keys.append(f'<span class="chip">and {counted(rest, "more cluster")}</span>')
    for number, group in enumerate(groups):
        keys.append(
            f'<button type="button" data-hide="{number}" aria-pressed="true">'
            f"{line_key(group.kind, crossed=group.is_crossed)}{group.name}</button>"
        )
    if report.modes is not None and 0 < len(report.modes) <= MOST_MODES:
        keys.append(f'<span class="chip">★&nbsp;{counted(len(report.modes), "mode")}</span>')
    hint = "Point at a row to see which it is. Press a cluster to see it alone"
    hint += ", links to hide them." if groups else "."
    listed = "".join(f"<li>{key}</li>" for key in keys)
    return f'<ul class="legend">{listed}</ul><p class="note hint" hidden>{hint}</p>'


def _left_out(
    report: Report, clusters: Clusters, table: LinkTable, n_drawn: int, n_links: int
) -> str:
    """Say what the picture does not show."""
    notes = []
    n = len(clusters.position)
    if n_drawn < n:
        also = ", with all that have a drawn link" if n_links else ""
        notes.append(f"{n_drawn:,} of {n:,} rows are drawn, chosen at random (seed 0){also}.")
    if n_links < len(table):
        notes.append(f"{n_links:,} of {len(table):,} links are drawn, the violated ones first.")
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
    return f'<p class="note">{" ".join(notes)}</p>' if notes else ""
