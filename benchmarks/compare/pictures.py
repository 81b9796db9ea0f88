"""Pictures of the comparison: curves over links, ranks with their critical difference, times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compare.cases import ONE_A_ROW, Case
from benchmarks.compare.methods import METHODS
from benchmarks.compare.running import Scored
from benchmarks.compare.tables import Ranks, grid, ranks
from benchmarks.harness import Array


def curves(found: Sequence[Scored], cases: Sequence[Case], path: Path) -> None:
    """Mean ARI and NMI over sets against the number of links; told k dashed.

    A mean over some of the sets cannot stand beside one over all: it is left out.
    """
    plt = _pyplot()
    figure, axes = plt.subplots(1, 2, figsize=(12, 5.5), sharey=True, layout="constrained")
    for axis, value in zip(axes, ("ari", "nmi"), strict=True):
        grids = [grid(found, case.text, value).whole() for case in cases]
        for method, style in _styles().items():
            means = [
                float(of.values[:, of.methods.index(method)].mean())
                if method in of.methods
                else np.nan
                for of in grids
            ]
            if not np.isnan(means).all():
                axis.plot(range(len(cases)), means, label=method, **style)
        axis.set_xticks(range(len(cases)), [_tick(case) for case in cases])
        axis.set_xlabel("links")
        axis.set_ylabel(f"mean {value.upper()} over sets")
        axis.grid(alpha=0.3)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def ranks_of(found: Sequence[Scored], cases: Sequence[Case], folder: Path) -> None:
    """Draw a diagram of critical differences for each of the cases, one above the other."""
    plt = _pyplot()
    known = [(case, rank) for case in cases if (rank := ranks(grid(found, case.text))) is not None]
    if not known:
        return
    heights = [1.2 + 0.2 * len(rank.methods) for _, rank in known]
    figure, axes = plt.subplots(
        len(known), 1, figsize=(9, sum(heights)), height_ratios=heights, squeeze=False
    )
    for axis, (case, rank) in zip(axes[:, 0], known, strict=True):
        _ranks(axis, rank, f"{case.text} links")
    figure.tight_layout()
    figure.savefig(folder / "compare_ranks.png", dpi=110)
    plt.close(figure)


def _ranks(axis: Any, rank: Ranks, title: str) -> None:
    """Names at both sides of a line of ranks; a bar over those that do not differ enough."""
    order = np.argsort(rank.mean, kind="stable")
    k = len(order)
    half = (k + 1) // 2
    low, high = 1.0, float(k)
    bars = _alike(rank.mean[order], rank.critical)
    depth = 0.6 + 0.28 * len(bars)
    axis.hlines(0, low, high, color="black", lw=1)
    for tick in range(1, k + 1):
        axis.vlines(tick, 0, 0.15, color="black", lw=1)
        axis.text(tick, 0.25, str(tick), ha="center", va="bottom", fontsize=8)
    axis.hlines(1.5, low, low + rank.critical, color="firebrick", lw=2)
    axis.text(low, 1.6, f"critical difference {rank.critical:.1f}", fontsize=8, color="firebrick")
    for place, which in enumerate(order):
        left = place < half
        level = -depth - 0.55 * (place if left else k - 1 - place)
        edge = low - 0.2 if left else high + 0.2
        x = float(rank.mean[which])
        axis.plot([x, x, edge], [0, level, level], color="grey", lw=0.8)
        name = f"{rank.methods[which]}  {x:.1f}" if left else f"{x:.1f}  {rank.methods[which]}"
        weight = "bold" if METHODS[rank.methods[which]].ours else "normal"
        side = "right" if left else "left"
        axis.text(edge, level, f" {name} ", ha=side, va="center", fontsize=8, fontweight=weight)
    for level, (first, last) in enumerate(bars):
        ends = rank.mean[order][[first, last]]
        axis.hlines(-0.3 - 0.28 * level, ends[0] - 0.05, ends[1] + 0.05, color="black", lw=3)
    axis.set_title(title, fontsize=10)
    axis.set_xlim(low - 0.35 * k, high + 0.35 * k)
    axis.set_ylim(-depth - 0.55 * half, 2.4)
    axis.axis("off")


def _alike(mean: Array, critical: float) -> list[tuple[int, int]]:
    """Longest runs of sorted ranks within the critical difference, those of two and more."""
    ends = [int(np.flatnonzero(mean - mean[i] <= critical)[-1]) for i in range(len(mean))]
    runs = [(i, end) for i, end in enumerate(ends) if end > i]
    return [run for i, run in enumerate(runs) if i == 0 or run[1] > runs[i - 1][1]]


def times(found: Sequence[Scored], cases: Sequence[Case], path: Path) -> None:
    """Processor seconds against rows, both in logarithms."""
    plt = _pyplot()
    figure, axis = plt.subplots(figsize=(8.5, 5), layout="constrained")
    for method, style in _styles().items():
        points = []
        for case in cases:
            mine = [
                one.score.seconds
                for one in found
                if one.task.case == case and one.method == method and not one.score.refused
            ]
            if mine:
                points.append((case.rows, max(min(mine), 1e-3)))
        if points:
            axis.plot(*zip(*points, strict=True), label=method, **style)
    axis.set(xscale="log", yscale="log", xlabel="rows (32 columns, 200 links)", ylabel="CPU s")
    axis.grid(alpha=0.3, which="both")
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _styles() -> dict[str, dict[str, Any]]:
    """Ours thick; those told k dashed; a colour and a mark for each."""
    plt = _pyplot()
    colours = plt.get_cmap("tab20").colors
    marks = "os^vDPX*<>hp8d"
    return {
        method: {
            "color": colours[number % 20],
            "marker": marks[number % len(marks)],
            "ms": 4,
            "lw": 2.5 if method.startswith("auto") else 1.2,
            "ls": "--" if one.told else "-",
        }
        for number, (method, one) in enumerate(METHODS.items())
    }


def _tick(case: Case) -> str:
    return "one\na row" if case.n_links == ONE_A_ROW else f"{case.n_links:,}"


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot
