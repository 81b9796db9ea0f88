"""Axes and frames of the page's pictures, and the chart of a bandwidth path, as inline SVG.

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

from linkshift.report._parts import MINUS, counted, text

if TYPE_CHECKING:
    from linkshift.bandwidth.path import BandwidthPath

Ticks = list[tuple[float, str]]


@dataclass(frozen=True)
class Axis:
    """A range of values, and where on the axis each lies, from 0 to 1."""

    low: float
    high: float
    log: bool = False

    def place(self, values: Any) -> Any:
        low, high, at = (
            np.log(v) if self.log else np.asarray(v, dtype=np.float64)
            for v in (self.low, self.high, values)
        )
        return (at - low) / (high - low)

    def ticks(self, *, most: int = 6, whole: bool = False) -> Ticks:
        """Give round values within the range, with their places and names."""
        if not 1e-300 < self.high - self.low < math.inf:
            return []
        found, digits = self._decades(most) if self.log else [], 6
        if len(found) < 2:
            found = self._steps(most, whole)
            # Enough digits to tell one from the next.
            largest = max([1e-300, *map(abs, found)])
            before = math.ceil(math.log10(largest) - math.log10((self.high - self.low) / most))
            digits = min(max(6, before + 2), 17)
        return [
            (
                float(self.place(v)),
                (f"{v:,.0f}" if whole else f"{v:.{digits}g}").replace("-", MINUS),
            )
            for v in found
        ]

    def _decades(self, most: int) -> list[float]:
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for parts in (range(1, 10), (1, 2, 5), (1,)):
            found = [
                v for e in decades for m in parts if self.low <= (v := m * 10.0**e) <= self.high
            ]
            if len(found) <= most:
                return found
        return found[:: -(-len(found) // most)]

    def _steps(self, most: int, whole: bool) -> list[float]:
        rough = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(rough))
        step = min(m * power for m in (1, 2, 5, 10, 20) if m * power >= rough * (1 - 1e-9))
        step = max(step, 1.0) if whole else step
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [k * step for k in range(first, last + 1)]


def linear(values: NDArray[np.float64], margin: float = 0.04) -> Axis:
    """Give a range a little wider than the values, also where there is but one."""
    low, high = float(values.min()), float(values.max())
    extra = (high - low) * margin if high - low > 1e-300 else max(abs(high), 1.0) * 0.5
    return Axis(low - extra, high + extra)


def frame(inside: str, ticks: tuple[Ticks, Ticks], *, view: str, label: str, attrs: str) -> str:
    below = (
        f'<span class="tick below" style="left:{100 * at:.2f}%">{name}</span>'
        for at, name in ticks[0]
    )
    beside = (
        f'<span class="tick beside" style="top:{100 * (1 - at):.2f}%">{name}</span>'
        for at, name in ticks[1]
    )
    return (
        f'<div class="frame" {attrs}><svg viewBox="0 0 {view}" preserveAspectRatio="none" '
        f'role="img" aria-label="{text(label)}">{inside}</svg>{"".join(below)}{"".join(beside)}'
    )


def line_key(kind: str, *, crossed: bool = False) -> str:
    """Show what the line of a kind of links looks like."""
    mark = f'<path class="{kind} cross" d="M9 3l8 8m0 -8l-8 8"/>' if crossed else ""
    return (
        f'<svg class="line" viewBox="0 0 26 14" aria-hidden="true">'
        f'<path class="{kind}" d="M0 7h26"/>{mark}</svg>'
    )


# --- bandwidth path -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Panel:
    """One of the charts: curves (CSS class, colour or "" for that of the class, values)."""

    name: str
    y: Axis
    curves: list[tuple[str, str, NDArray[np.float64]]]
    words: str = ""
    rem: float = 7.0

    def html(self, across: NDArray[np.float64], below: Ticks, level: int | None) -> str:
        beside = self.y.ticks(most=4, whole=self.name != "stability")
        inside = "".join(
            f'<path class="grid" d="M0 {1000 * (1 - at):.0f}h1000"/>' for at, _ in beside
        )
        if level is not None:
            inside += f'<path class="best" d="M{across[level]:.1f} 0v1000"/>'
        for kind, colour, values in self.curves:
            up = 1000 * (1 - self.y.place(values))
            spots = [f"{u:.1f} {v:.1f}" for u, v in zip(across, up, strict=True)]
            style = f' style="stroke:{colour}"' if colour else ""
            inside += f'<path class="{kind} curve"{style} d="M{"L".join(spots)}"/>'
            dots = "".join(f"M{spot}h0" for spot in spots)
            inside += f'<path class="{kind} knots"{style} d="{dots}"/>'
        box = frame(
            inside,
            (below, beside),
            view="1000 1000",
            label=f"{self.name} over the bandwidth",
            attrs=f'style="height:{self.rem:g}rem"',
        )
        return f'{box}{self.words}<div class="name upright">{self.name}</div></div>'


def path_chart(path: BandwidthPath, level: int | None) -> str:
    """Draw clusters, stability and violated links over the bandwidth, one below the other."""
    h = path.bandwidths
    margin = max(float(h[-1] / h[0]) ** 0.04, 1.05)
    x = Axis(float(h[0]) / margin, float(h[-1]) * margin, log=True)
    across = 1000 * x.place(h)
    # Each panel that has words in it has room for them above its curves.
    most = float(path.n_clusters.max())
    panels = [
        _Panel(
            "clusters",
            Axis(0.8, 1.25 * most * (1.25 * most) ** 0.2, log=True),
            [("count", "var(--c0)", path.n_clusters.astype(np.float64))],
            "" if level is None else _chosen(path, level, float(across[level]) / 10),
            rem=11.0,
        ),
        _Panel(
            "stability",
            _from_nought(path.stability, 1.12),
            [("stability", "var(--c3)", path.stability)],
        ),
    ]
    if path.links:
        panels.append(_link_panel(path))
    below: list[Ticks] = [[] for _ in panels]
    below[-1] = x.ticks(most=9)
    drawn = "".join(
        panel.html(across, ticks, level) for panel, ticks in zip(panels, below, strict=True)
    )
    return f'<figure>{drawn}<p class="across">bandwidth</p></figure>'


def _link_panel(path: BandwidthPath) -> _Panel:
    kinds = [
        (kind, len(pairs), violated.astype(np.float64))
        for kind, pairs, violated in (
            ("must", path.links.must, path.violated_must),
            ("cannot", path.links.cannot, path.violated_cannot),
        )
        if len(pairs)
    ]
    keys = "".join(f"<span>{line_key(kind)}{kind}, of {n:,}</span>" for kind, n, _ in kinds)
    return _Panel(
        "violated links",
        _from_nought(np.concatenate([values for *_, values in kinds]), 1.5),
        [(kind, "", values) for kind, _, values in kinds],
        f'<div class="keys">{keys}</div>',
    )


def _from_nought(values: NDArray[np.float64], room: float) -> Axis:
    top = float(values.max()) if values.any() else 1.0
    return Axis(-0.08 * top, room * top)


def _chosen(path: BandwidthPath, level: int, across: float) -> str:
    """Say what the dotted line marks, on the side of it that has more room."""
    side = f"right:{100 - across:.1f}%" if across > 50 else f"left:{across:.1f}%"
    words = f"{counted(int(path.n_clusters[level]), 'cluster')} at {path.bandwidths[level]:.4g}"
    return f'<span class="best-name" style="{side}">{words}</span>'
