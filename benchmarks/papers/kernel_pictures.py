"""Pictures after figures 1, 3, 4, 6, 8 and 9 of Tuzel et al. (2009), as far as the data allow.

``python -m benchmarks.papers.kernel_pictures [--out docs/images]``. Needs matplotlib. The faces and
the histograms need their data sets (``linkshift.datasets``); without them their pictures are left
out.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray

from benchmarks.papers import kernel_draws, kernel_ms
from linkshift import KernelMeanShift, Links, datasets
from linkshift.bandwidth import pair_mean

mpl.use("Agg")
import matplotlib.pyplot as plt

Array = NDArray[Any]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    out = parser.parse_args(arguments).out
    out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")  # points without links can be slow to arrive
    here = datasets.available()
    quadratic(out / "kernel_quadratic.png")
    synthetic(out / "kernel_lines_and_circles.png")
    if here["face_pie_pose27"]:
        draw = kernel_draws.faces(0, 0, 4, "far lights")
        distances(out / "kernel_faces.png", draw, sigma=3 * pair_mean(draw.X))
    if here["mv_caltech101_20_recomputed"]:
        distances(out / "kernel_histograms.png", kernel_draws.histograms(0, 10), kernel="chi2")
        curve(out / "kernel_links_curve.png")
    return 0


def quadratic(path: Path) -> None:
    """Figure 1: points on a line, on the parabola (x, x^2), and on the null space of one link."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(mean, 0.35, 50) for mean in (-2.0, 0.0, 2.0)])
    pair = np.argmin(np.abs(x + 2.0)), np.argmin(np.abs(x - 2.0))
    raised = np.column_stack([x, x**2])
    across = raised[pair[1]] - raised[pair[0]]
    free = np.array([-across[1], across[0]]) / np.linalg.norm(across)
    model = KernelMeanShift(kernel="linear", n_neighbors=40).fit(raised, links=Links(must=[pair]))
    colours = plt.get_cmap("tab10")(model.labels_ % 10)
    figure, axes = plt.subplots(1, 3, figsize=(9.6, 3.2))
    flat = np.zeros_like(x)
    for axis, points, words in (
        (axes[0], np.column_stack([x, flat]), "one dimension and a linked pair"),
        (axes[1], raised, "mapped to (x, x^2); line: the null space"),
        (
            axes[2],
            np.column_stack([raised @ free, flat]),
            f"projected: {model.n_clusters_} clusters",
        ),
    ):
        axis.scatter(*points.T, s=10, c=colours)
        axis.scatter(*points[list(pair)].T, s=70, c="crimson", marker="x")
        axis.set_title(words, fontsize=10)
    begin = raised[pair[0]]
    axes[1].annotate("", raised[pair[1]], begin, arrowprops={"arrowstyle": "->"})
    axes[1].axline((0.0, 0.0), tuple(free), color="crimson", linewidth=1)
    axes[0].set_yticks([])
    axes[2].set_yticks([])
    save(figure, path)


def synthetic(path: Path) -> None:
    """Lines and circles: the data and the linked points, without links, with links."""
    figure, axes = plt.subplots(2, 3, figsize=(9.6, 6.4))
    for line, (draw, sigma) in zip(
        axes,
        ((kernel_draws.lines(0, 1.5), 5.0), (kernel_draws.circles(0, "even angles"), 30.0)),
        strict=True,
    ):
        model = KernelMeanShift(sigma=sigma)
        plain, linked = model.fit(draw.X).labels_, model.fit(draw.X, links=draw.links).labels_
        for axis, labels, words in zip(
            line,
            (None, plain, linked),
            ("data and linked points", "no links", "must-links"),
            strict=True,
        ):
            colours = "0.5" if labels is None else plt.get_cmap("tab20")(labels % 20)
            axis.scatter(*draw.X.T, s=8, c=colours)
            if labels is None:
                ends = np.unique(draw.links.must)
                axis.scatter(*draw.X[ends].T, s=60, c="crimson", marker="x")
            else:
                words += f": {labels.max() + 1} clusters"
            axis.set_title(words, fontsize=10)
            axis.set_aspect("equal")
            axis.axis("off")
    save(figure, path)


def distances(path: Path, draw: kernel_draws.Draw, **parameters: Any) -> None:
    """Distances between rows, class by class: points and modes, without and with links."""
    order = np.argsort(draw.y, kind="stable")
    figure, axes = plt.subplots(1, 4, figsize=(12, 3.4))
    for pair, links, words in (
        (axes[:2], None, "no links"),
        (axes[2:], Links(must=draw.links.must), f"{len(draw.links.must)} must-links"),
    ):
        model = KernelMeanShift(**parameters).fit(draw.X, links=links)
        for axis, points, what in zip(
            pair, (model.embedding_, model.shifted_), ("points", "modes"), strict=True
        ):
            axis.imshow(_distances(points[order]), cmap="gray", interpolation="nearest")
            axis.set_title(f"{what}, {words}", fontsize=10)
            axis.set_xticks([])
            axis.set_yticks([])
    save(figure, path)


def _distances(points: Array) -> Array:
    return np.linalg.norm(points[:, None] - points, axis=2)


def curve(path: Path, repeats: int = 10) -> None:
    """Clustering error against the number of links, as in figure 9."""
    counts = (0, 1, 2, 3, 5, 7, 10)
    chosen = kernel_ms.methods([kernel_ms.PROJECTED, kernel_ms.LEARNED], kernel="chi2")
    figure, axis = plt.subplots(figsize=(5, 3.6))
    for name, method in chosen.items():
        errors = [
            np.mean(
                [
                    1.0 - kernel_ms.score(method, kernel_draws.histograms(seed, n)).accuracy
                    for seed in range(repeats)
                ]
            )
            for n in counts
        ]
        axis.plot(counts, errors, marker="o", label=name)
    axis.set_xlabel("links a class (learned: of each kind)")
    axis.set_ylabel("clustering error")
    axis.set_ylim(0)
    axis.legend(frameon=False)
    save(figure, path)


def save(figure: Any, path: Path) -> None:
    """Write a picture and name it."""
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
    print(path)


if __name__ == "__main__":
    sys.exit(main())
