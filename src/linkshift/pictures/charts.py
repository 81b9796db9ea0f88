"""What charts show, as plain data: axes with their ticks, a bandwidth path, shares of views."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkshift._core.text import counted
from linkshift.pictures.scene import cluster_name

if TYPE_CHECKING:
    from linkshift.bandwidth.path import BandwidthPath

MINUS = "\N{MINUS SIGN}"

Ticks = list[tuple[float, str]]  # places from 0 to 1, and names


@dataclass(frozen=True)
class Axis:
    """A range of values, and where on the axis each lies, from 0 to 1."""

    low: float
    high: float
    log: bool = False

    @classmethod
    def around(cls, values: NDArray[np.float64], margin: float = 0.04) -> Axis:
        """Give a range a little wider than the values, also where there is but one."""
        low, high = float(values.min()), float(values.max())
        extra = (high - low) * margin if high - low > 1e-300 else max(abs(high), 1.0) * 0.5
        return cls(low - extra, high + extra)

    def place(self, values: Any) -> Any:
        """Place values from 0 (lowest) to 1 (highest)."""
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
        form = ",.0f" if whole else f".{digits}g"
        return [(float(self.place(v)), f"{v:{form}}".replace("-", MINUS)) for v in found]

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


class Curve(NamedTuple):
    """Values over the bandwidth: a "count", "stability", or violated "must" or "cannot" links."""

    kind: str
    name: str
    values: NDArray[np.float64]
    hue: int | None = None  # number of the colour in the palette, None for those of links


@dataclass(frozen=True, eq=False)
class PathChart:
    """Clusters, stability and violated links over the bandwidth, a panel for each."""

    across: Axis
    bandwidths: NDArray[np.float64]
    panels: dict[str, list[Curve]]
    level: int | None  # the one to mark
    level_name: str

    @classmethod
    def of(cls, path: BandwidthPath, level: int | None) -> PathChart:
        """Chart a path; the panel of links is left out without links."""
        h = path.bandwidths
        margin = max(float(h[-1] / h[0]) ** 0.04, 1.05)  # also around a single one
        count = path.n_clusters.astype(np.float64)
        panels = {"clusters": [Curve("count", "clusters", count, 0)]}
        panels["stability"] = [Curve("stability", "stability", path.stability, 3)]
        if path.links:
            panels["violated links"] = [
                Curve(kind, f"{kind}-links (of {len(pairs):,})", violated.astype(np.float64))
                for kind, pairs, violated in (
                    ("must", path.links.must, path.violated_must),
                    ("cannot", path.links.cannot, path.violated_cannot),
                )
                if len(pairs)
            ]
        name = ""
        if level is not None:
            name = f"{counted(int(path.n_clusters[level]), 'cluster')} at {h[level]:.4g}"
        across = Axis(float(h[0]) / margin, float(h[-1]) * margin, log=True)
        return cls(across, h, panels, level, name)

    @property
    def is_right(self) -> bool:
        """Whether the mark is in the right half: there is more room left of it."""
        return self.level is not None and bool(self.across.place(self.bandwidths[self.level]) > 0.5)


@dataclass(frozen=True, eq=False)
class HeatMap:
    """What each view (column) has to say on each cluster (row)."""

    shares: NDArray[np.float64]
    rows: list[str]
    columns: list[str]

    @classmethod
    def of(
        cls,
        importances: ArrayLike,
        view_names: Sequence[str] | None = None,
        cluster_names: Sequence[object] | None = None,
        sizes: Sequence[int] | None = None,
    ) -> HeatMap:
        """Check shares and names; views and clusters without names are numbered."""
        shares = _check_shares(importances)
        n, m = shares.shape
        columns = [f"view{v}" for v in range(m)] if view_names is None else view_names
        columns = check_count(columns, m, "view_names", "view")
        names = range(n) if cluster_names is None else cluster_names
        rows = [cluster_name(name) for name in check_count(names, n, "cluster_names", "cluster")]
        if sizes is not None:
            counts = check_count(sizes, n, "sizes", "cluster")
            rows = [f"{row} ({count})" for row, count in zip(rows, counts, strict=True)]
        return cls(shares, rows, [str(name) for name in columns])

    @property
    def leads(self) -> NDArray[np.bool_]:
        """Which views are first on their cluster."""
        return self.shares == self.shares.max(axis=1, keepdims=True)


def _check_shares(values: ArrayLike) -> NDArray[np.float64]:
    try:
        shares = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            "importances must be a fitted GroupFeatureClustering or a matrix of numbers with a "
            f"row for each cluster, got {type(values).__name__}"
        ) from error
    if shares.ndim != 2 or 0 in shares.shape:
        raise ValueError(
            "importances must have a row for each cluster and a column for each view, at least "
            f"one of both, got shape {shares.shape}"
        )
    wrong = ~((shares >= 0) & np.isclose(shares.sum(axis=1, keepdims=True), 1.0, atol=1e-6))
    if wrong.any():
        c = int(np.argmax(wrong.any(axis=1)))
        raise ValueError(
            f"importances are shares: not negative, with rows (clusters) that sum to one. Row {c} "
            f"sums to {shares[c].sum():g}, its least value is {shares[c].min():g}; divide rows by "
            "their sums, or transpose if views are the rows"
        )
    return shares


def check_count(values: Iterable[Any], n: int, name: str, of: str) -> list[Any]:
    """Give a list of n values; a single text is none."""
    found = [] if isinstance(values, str) else list(values)
    if len(found) != n:
        raise ValueError(f"{name} must hold {n}, one for each {of}, got {values!r}")
    return found
