"""How `linkshift.plot` draws charts: an elbow, a bandwidth path, a heat map of shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkshift._drawing import CANNOT, FRAME, INK, MUST, PALETTE, frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from linkshift.bandwidth.path import BandwidthPath, Criterion
    from linkshift.estimators.group_feature_clustering import GroupFeatureClustering

# The least cell of a heat map that holds a number, in typographic points.
_NUMBER_CELL = (22.0, 11.0)


def check_shares(values: ArrayLike) -> NDArray[np.float64]:
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


def check_group_model(model: Any) -> GroupFeatureClustering:
    from sklearn.utils.validation import check_is_fitted

    from linkshift.estimators.group_feature_clustering import GroupFeatureClustering

    if not isinstance(model, GroupFeatureClustering):
        raise TypeError(
            f"{type(model).__name__} has no views; pass a fitted GroupFeatureClustering or a matrix"
        )
    check_is_fitted(model, "view_importances_")
    return model


def check_count(values: Sequence[Any], n: int, name: str, of: str) -> list[Any]:
    found = [] if isinstance(values, str) else list(values)
    if len(found) != n:
        raise ValueError(f"{name} must hold {n}, one for each {of}, got {values!r}")
    return found


# --- elbow --------------------------------------------------------------------------------------


def draw_elbow(
    ax: Axes, numbers: NDArray[np.int64], inertia: NDArray[np.float64], suggested: int
) -> None:
    ends = [0, -1]
    ax.plot(numbers[ends], inertia[ends], color=FRAME, linewidth=1.0, linestyle="--", label="chord")
    ax.plot(
        numbers, inertia, color=PALETTE[0], linewidth=1.6, marker="o", markersize=4, label="inertia"
    )
    height = float(inertia[np.flatnonzero(numbers == suggested)[0]])
    ax.plot(
        [suggested],
        [height],
        marker="o",
        markersize=11,
        markerfacecolor="none",
        markeredgecolor=PALETTE[1],
        markeredgewidth=1.8,
        linestyle="",
        label="elbow",
    )
    ax.annotate(
        f"k = {suggested}",
        (suggested, height),
        xytext=(9, 9),
        textcoords="offset points",
        fontsize=10,
        color=INK,
    )


def finish_elbow(ax: Axes, title: str | None) -> None:
    from matplotlib.ticker import MaxNLocator

    frame(ax, title)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel("number of clusters", fontsize=9, color="#444444")
    ax.set_ylabel("sum of squared distances", fontsize=9, color="#444444")


# --- bandwidth path -----------------------------------------------------------------------------


def draw_bandwidth_path(ax: Axes, path: BandwidthPath, by: Criterion, title: str | None) -> None:
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    best = path.best(by)
    h = path.bandwidths
    dots: dict[str, Any] = {"marker": "o", "markersize": 3.5, "linewidth": 1.4}
    panels = _split(ax, (2.0, 1.0, 1.0) if by == "links" else (2.0, 1.0))
    ax.plot(h, path.n_clusters, color=PALETTE[0], label="clusters", **dots)
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    ax.yaxis.set_minor_formatter("")
    panels[1].plot(h, path.stability, color=PALETTE[3], label="stability", **dots)
    if by == "links":
        for name, count, of, colour, style in (
            ("must-links", path.violated_must, len(path.links.must), MUST, "-"),
            ("cannot-links", path.violated_cannot, len(path.links.cannot), CANNOT, "--"),
        ):
            panels[2].plot(h, count, color=colour, ls=style, label=f"{name} (of {of})", **dots)
        panels[2].legend(fontsize=8, frameon=False, labelcolor="#444444")
        panels[2].yaxis.set_major_locator(MaxNLocator(4, integer=True))
    for panel, name in zip(panels, ("clusters", "stability", "violated links"), strict=False):
        frame(panel, None)
        panel.set_xscale("log")
        panel.set_xlim(*_log_margins(h))
        panel.axvline(h[best], color=FRAME, linewidth=1.2, linestyle=":", zorder=0, label="_best")
        panel.tick_params(which="both", color=FRAME, labelcolor="#666666", labelsize=8)
        panel.tick_params(which="both", labelbottom=panel is panels[-1])
        panel.set_ylabel(name, fontsize=9, color="#444444")
        if panel is not ax:
            panel.set_ylim(bottom=-0.06 * panel.get_ylim()[1])  # dots at nought are whole
    _write_best(ax, path, best)
    frame(ax, title)
    panels[-1].set_xlabel("bandwidth", fontsize=9, color="#444444")
    panels[-1].xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    panels[-1].xaxis.set_minor_formatter(_some_minor(h))


def _split(ax: Axes, heights: tuple[float, ...]) -> list[Axes]:
    """Divide the place of the axes into panels, the axes on top."""
    from matplotlib.gridspec import GridSpec

    figure: Any = ax.figure  # or a part of one
    place = ax.get_subplotspec()
    if place is None:  # axes put by hand
        box = ax.get_position()
        place = GridSpec(1, 1, figure=figure, left=box.x0, right=box.x1, bottom=box.y0, top=box.y1)[
            0
        ]
    parts = place.subgridspec(len(heights), 1, height_ratios=heights, hspace=0.08)
    ax.set_subplotspec(parts[0])
    return [ax, *(figure.add_subplot(parts[i], sharex=ax) for i in range(1, len(heights)))]


def _write_best(ax: Axes, path: BandwidthPath, best: int) -> None:
    """Say what the dotted line marks, on the side of it that has more room."""
    h, count = path.bandwidths, int(path.n_clusters[best])
    low, high = _log_margins(h)
    is_right = h[best] > np.sqrt(low * high)
    ax.annotate(
        f"{count:,} cluster{'s' if count != 1 else ''} at {h[best]:.3g}",
        (h[best], 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(-6 if is_right else 6, -12),
        textcoords="offset points",
        ha="right" if is_right else "left",
        fontsize=9,
        color=INK,
    )


def _log_margins(h: NDArray[np.float64]) -> tuple[float, float]:
    """Limits of a logarithmic axis around all bandwidths, also around a single one."""
    margin = max(float(h[-1] / h[0]) ** 0.04, 1.05)
    return float(h[0] / margin), float(h[-1] * margin)


def _some_minor(h: NDArray[np.float64]) -> Any:
    """Name the ticks 2 and 5 as well where the axis spans less than two decades."""
    from matplotlib.ticker import FuncFormatter

    def name(value: float, _: int | None = None) -> str:
        digit = round(value / 10.0 ** np.floor(np.log10(value) + 1e-9))
        wanted = (2, 5) if h[-1] > 5 * h[0] else (2, 3, 4, 5, 6, 7, 8, 9)
        return f"{value:g}" if h[-1] < 100 * h[0] and digit in wanted else ""

    return FuncFormatter(name)


# --- heat map -----------------------------------------------------------------------------------


def heat_map_size(
    shape: tuple[int, int], rows: list[str], columns: list[str]
) -> tuple[float, float]:
    """Inches for which cells hold numbers, or when there are many, rows hold their names."""
    n, m = shape
    tall = float(np.clip(0.28 * n, 0.5, max(8.0, min(0.14 * n, 14.0))))
    wide = float(np.clip(0.66 * m, 1.6, max(8.0, min(0.16 * m, 14.0))))
    longest = (max(map(len, names)) for names in (rows, columns))
    beside, below = (0.5 + 0.06 * min(length, 60) for length in longest)
    return wide + beside + 1.0, tall + below + 0.4


def draw_heat_map(
    ax: Axes, shares: NDArray[np.float64], rows: list[str], columns: list[str], title: str | None
) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    n, m = shares.shape
    frame(ax, title)
    ax.tick_params(length=0, labelcolor="#444444")
    ax.set(xlim=(0, m), ylim=(n, 0))
    cell = _label_cells(ax, rows, columns)
    has_numbers = bool((cell >= _NUMBER_CELL).all())
    colours = LinearSegmentedColormap.from_list("shares", ["#FFFFFF", PALETTE[0], "#12294D"])
    mesh = ax.pcolormesh(
        shares,
        cmap=colours,
        vmin=0.0,
        vmax=shares.max(),
        edgecolors="white" if has_numbers else "none",
        linewidths=1.0 if has_numbers else 0.0,
        label="importances",
    )
    if has_numbers:
        _write_numbers(ax, shares, mesh.to_rgba(shares))
    else:
        _draw_bar(ax, mesh, tall=cell[1] * n)
        _label_cells(ax, rows, columns)  # the bar has taken some of the room


def _draw_bar(ax: Axes, mesh: Any, *, tall: float) -> None:
    shrink = min(1.0, 240.0 / tall)
    bar = ax.figure.colorbar(
        mesh, ax=ax, shrink=shrink, anchor=(0.0, 1.0), aspect=20, pad=0.02, label="importance"
    )
    bar.outline.set(linewidth=0.6, color=FRAME)
    bar.ax.tick_params(width=0.6, length=3, color=FRAME, labelcolor="#666666", labelsize=8)
    bar.ax.yaxis.label.set(fontsize=9, color="#444444")


def _label_cells(ax: Axes, rows: list[str], columns: list[str]) -> NDArray[np.float64]:
    """Name rows and columns; give the width and height of a cell in typographic points."""
    shape = np.array([len(columns), len(rows)])
    ax.set_xticks(np.arange(shape[0]) + 0.5, columns)
    ax.set_yticks(np.arange(shape[1]) + 0.5, rows)
    # How much room the names leave to the cells is known only after the layout.
    for upright in (False, True):
        if upright:
            ax.tick_params(axis="x", labelrotation=90)
        ax.figure.canvas.figure.draw_without_rendering()
        cell = np.asarray(ax.get_window_extent().size) / shape
        wide = max(label.get_window_extent().width for label in ax.get_xticklabels())
        if wide <= 0.95 * cell[0]:
            break
    tall = max(label.get_window_extent().height for label in ax.get_yticklabels())
    for axis, names, step in (
        (ax.xaxis, columns, int(np.ceil(wide / cell[0]))),
        (ax.yaxis, rows, int(np.ceil(tall / cell[1]))),
    ):
        axis.set_ticks(np.arange(0, len(names), step) + 0.5, names[::step])
    return cell * 72.0 / ax.figure.dpi


def _write_numbers(ax: Axes, shares: NDArray[np.float64], colours: NDArray[np.float64]) -> None:
    # Relative luminance as in WCAG 2: black or white, the better one has a contrast of 4.5 or more.
    linear = np.where(
        colours <= 0.04045, colours / 12.92, ((np.asarray(colours) + 0.055) / 1.055) ** 2.4
    )
    light = linear[..., :3] @ (0.2126, 0.7152, 0.0722) > 0.179
    for c, v in np.ndindex(*shares.shape):
        ax.text(
            v + 0.5,
            c + 0.5,
            f"{shares[c, v]:.2f}",
            ha="center",
            va="center",
            fontsize=8,
            color="black" if light[c, v] else "white",
            fontweight="bold" if shares[c, v] == shares[c].max() else "normal",
        )
