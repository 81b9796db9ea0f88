"""Pictures after figures 2, 3, 4 and 6 of Schier et al. (2022).

``python -m benchmarks.papers.cms_pictures [--out docs/images] [--results benchmarks/results]``.
Needs matplotlib. Figures 4 and 6 are drawn from the newest results of the parts ``figure4``
and ``figure6_small`` (``LINKSHIFT_CMS_PARTS=figure4 python -m benchmarks.run cms --full --repeats
3``), which take long; without results they are left out.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from benchmarks.papers.cms_methods import AUTHORS, EMBEDDINGS, Array
from benchmarks.papers.kernel_pictures import save
from benchmarks.run import RESULTS
from linkshift import ConstrainedMeanShift, Links, datasets, plot
from linkshift.shift.constrained import LinkKernel, link_weights

mpl.use("Agg")
import matplotlib.pyplot as plt

Cells = dict[str, Any]
KERNEL, SCALE, FLOOR = LinkKernel(), 0.5, 1e-3
STYLES = {
    AUTHORS: {"color": plot.PALETTE[0], "label": "CMS, the paper's algorithm"},
    "ours, refined": {"color": plot.PALETTE[0], "linestyle": "--", "label": "CMS, ours"},
    "PCKMeans": {"color": plot.PALETTE[1]},
    "MPCKMeans": {"color": plot.PALETTE[2]},
    "C-DBSCAN": {"color": plot.PALETTE[3]},
    "Constrained Spectral": {"color": plot.PALETTE[4]},
    "mean shift": {"color": "0.5", "linestyle": ":"},
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parsed = parser.parse_args(arguments)
    parsed.out.mkdir(parents=True, exist_ok=True)
    densities(parsed.out / "cms_densities.png")
    rows = newest(parsed.results, "figure 4", lambda cells: f"{cells['data']} {cells['method']}")
    if rows:
        links_curves(parsed.out / "cms_links_curves.png", rows)
    rows = newest(parsed.results, "figure 6, 600 rows", kernel_of)
    if rows:
        scales(parsed.out / "cms_kernels.png", rows)
    return 0


def newest(folder: Path, part: str, key: Callable[[Cells], str]) -> list[Cells]:
    """Rows of a part, for each value of a key from the newest result that has it."""
    found: dict[str, list[Cells]] = {}
    for path in sorted(folder.glob("*.json")):
        fresh: dict[str, list[Cells]] = {}
        for suite in json.loads(path.read_text())["suites"]:
            for row in suite["rows"] if suite["name"] == "cms" else []:
                if row["cells"]["part"] == part:
                    fresh.setdefault(key(row["cells"]), []).append(row["cells"])
        found |= fresh
    return [cells for rows in found.values() for cells in rows]


def kernel_of(cells: Cells) -> str:
    """Kernel that a row of figure 6 is about."""
    return str(cells["setting"]).partition(",")[0]


# The density that a centre climbs ---------------------------------------------------------------


def densities(path: Path) -> None:
    """Draw what a centre sees: two clumps, as in figure 2, and moons as h grows, as in figure 3."""
    figure, axes = plt.subplots(2, 3, figsize=(10.8, 6.6))
    rng = np.random.default_rng(3)
    clumps = np.concatenate([rng.normal(at, 0.13, (12, 2)) for at in ((0.3, 0.35), (0.7, 0.65))])
    # Of each clump, the rows in the order of their distance to its middle.
    for part in (slice(0, 12), slice(12, 24)):
        far = np.linalg.norm(clumps[part] - clumps[part].mean(axis=0), axis=1)
        clumps[part] = clumps[part][far.argsort()]
    link = np.array([[0, 12]])
    seen: list[tuple[str, int | None]] = [
        ("mean shift", None),
        ("a centre near one end of the link", 2),
        ("a centre near the other end", 14),
    ]
    for axis, (title, row) in zip(axes[0], seen, strict=True):
        _density(axis, clumps, (clumps, np.arange(24)), link, 0.3, row)
        axis.set_title(title, fontsize=10)
    X, y = datasets.make_moons(200, random_state=4)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    middles = [int(np.flatnonzero(y == c)[np.abs(X[y == c, 0] - m).argmin()]) for c, m in
               ((0, 0.33), (1, 0.66))]  # fmt: skip
    links = Links(cannot=[middles])
    model = ConstrainedMeanShift(
        growth="full", refine=None, enforce=False, keep_history=True, scale_features=False
    ).fit(X, links=links)
    row = int(np.flatnonzero(y == 0)[X[y == 0, 0].argmax()])
    for axis, step in zip(axes[1], (6, 16, 60), strict=True):
        centres, group = np.unique(model.history_[step], axis=0, return_inverse=True)
        h = float(model.bandwidth_[step])
        _density(axis, X, (centres, group), links.cannot, h, row)
        axis.set_title(f"iteration {step}, h = {h:.2f}", fontsize=10)
    save(figure, path)


def _density(
    axis: Axes, X: Array, state: tuple[Array, Array], links: Array, h: float, row: int | None
) -> None:
    """Density for the centre of a row, or without links; centres are as large as their weight."""
    centres, group = state
    weight = np.ones(len(X))
    if row is not None:
        all_weights = link_weights(
            centres, group[links], np.ones(len(links)), h, KERNEL, scale=SCALE, floor=FLOOR
        )
        weight = all_weights[group[row]][group]
    side = np.linspace(-0.15, 1.15, 160)
    grid = np.stack(np.meshgrid(side, side), axis=-1)
    # Smooth, where the kernel is cut off: edges of 200 circles would hide the shape.
    u = ((grid[:, :, None] - X) ** 2).sum(axis=-1) / h**2
    axis.contourf(side, side, np.exp(-u) @ weight, levels=14, cmap="viridis")
    at = centres[group]
    axis.scatter(X[:, 0], X[:, 1], s=2, c="white", linewidths=0)
    axis.scatter(at[:, 0], at[:, 1], s=3 + 30 * weight, c="0.75", edgecolors="0.2", linewidths=0.4)
    for x, y in at[links]:
        axis.plot(*np.stack([x, y]).T, "--", color="crimson", linewidth=1.5)
    if row is not None:
        axis.scatter(
            at[row, 0], at[row, 1], s=70, marker="D", c="white", edgecolors="black", zorder=3
        )
    axis.set_aspect("equal")
    axis.set_xticks([])
    axis.set_yticks([])


# Curves -----------------------------------------------------------------------------------------


def links_curves(path: Path, rows: Sequence[Cells]) -> None:
    """ARI and NMI of the paper's methods over numbers of links."""
    figure, axes = plt.subplots(2, 3, figsize=(11.5, 6.4), sharex=True)
    for column, name in zip(axes.T, EMBEDDINGS, strict=True):
        for axis, metric in zip(column, ("ARI", "NMI"), strict=True):
            for method, style in STYLES.items():
                chosen = [r for r in rows if r["data"] == name and r["method"] == method]
                counts = [int(str(r["setting"]).split()[0].replace(",", "")) for r in chosen]
                axis.plot(counts, [r[metric] for r in chosen], **{"label": method, **style})
            axis.set_ylim(-0.02, 1.0)
            axis.grid(alpha=0.3)
        column[0].set_title(name)
        column[1].set_xlabel("links")
    for axis, metric in zip(axes[:, 0], ("ARI", "NMI"), strict=True):
        axis.set_ylabel(f"{metric}, mean of {rows[0]['repeats']} draws")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=4, frameon=False)
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    figure.savefig(path, dpi=110)
    plt.close(figure)
    print(path)


def scales(path: Path, rows: Sequence[Cells]) -> None:
    """ARI over lambda: three kernels, with and without blurring, labels of the authors' code."""
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.9), sharey=True)
    kernels = {"truncated_gaussian": "cut at 0.2", "flat": "flat", "gaussian": "Gaussian"}
    for axis, mode in zip(axes, ("nonblurring", "blurring"), strict=True):
        for colour, (kernel, words) in zip(plot.PALETTE, kernels.items(), strict=False):
            chosen = [
                r
                for r in rows
                if r["method"] == AUTHORS and str(r["setting"]).startswith(f"{kernel}, {mode}, ")
            ]
            if chosen:
                lambdas = [float(str(r["setting"]).split()[-1]) for r in chosen]
                words += f", {chosen[0]['repeats']} draws"
                axis.plot(lambdas, [r["ARI"] for r in chosen], "o-", color=colour, label=words)
        axis.set_title(mode)
        axis.set_xlabel("lambda")
        axis.grid(alpha=0.3)
        axis.legend(frameon=False, fontsize=9)
    axes[0].set_ylabel("ARI, GTSRB, 600 rows and links")
    save(figure, path)


if __name__ == "__main__":
    sys.exit(main())
