"""Pictures after figures 5.1, 5.2 and 5.3 of Cheema's thesis (2016).

``python -m benchmarks.papers.metric_pictures [--only 5.2,5.3] [--out docs/images] [--splits 2]``.
Needs matplotlib and the data sets of the thesis (``linkshift.datasets``). Figures 5.2 and 5.3 are
of Vowel under a global metric, with the thesis's sigma.
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

from benchmarks.papers import metric_ms
from benchmarks.papers.kernel_pictures import save
from linkshift import SCML, MetricMeanShift
from linkshift.metric_learning.triplets import label_triplets

mpl.use("Agg")
import matplotlib.pyplot as plt

Array = NDArray[Any]
KS = (5, 10, 15, 20, 25, 30, 40, 50)
FIGURES = ("5.1", "5.2", "5.3")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(FIGURES), help="figures, with commas between")
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    parser.add_argument("--splits", type=int, default=2)
    parsed = parser.parse_args(arguments)
    wanted = parsed.only.split(",")
    if not set(wanted) <= set(FIGURES):
        parser.error(f"--only takes some of {', '.join(FIGURES)}; got {parsed.only}")
    parsed.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")  # points can be slow to arrive
    if "5.2" in wanted:
        constraints(parsed.out / "metric_constraints.png")
    if "5.3" in wanted:
        kernel_matrices(parsed.out / "metric_kernel_matrices.png")
    if "5.1" in wanted:
        clusters_against_k(parsed.out / "metric_clusters_against_k.png", parsed.splits)
    return 0


def clusters_against_k(path: Path, n_splits: int) -> None:
    """Figure 5.1, with the error beside it."""
    figure, axes = plt.subplots(2, 2, figsize=(9, 6.4), sharex=True)
    for (top, bottom), name in zip(axes.T, ("Vehicle", "USPS"), strict=True):
        for kind in metric_ms.KINDS:
            scores = [
                [
                    metric_ms.read("joint", kind, metric_ms.split(name, seed), seed, n_neighbors=k)
                    for seed in range(n_splits)
                ]
                for k in KS
            ]
            clusters = [np.mean([s.n_clusters for s in of_k]) for of_k in scores]
            errors = [100 * np.mean([s.error for s in of_k]) for of_k in scores]
            top.plot(KS, clusters, marker="o", label=kind)
            bottom.plot(KS, errors, marker="o", label=kind)
        top.set_title(name)
        top.set_yscale("log")
        top.set_ylabel("clusters")
        bottom.set_ylabel("error %")
        bottom.set_ylim(0)
        bottom.set_xlabel("k")
        top.legend(frameon=False)
    save(figure, path)


def constraints(path: Path) -> None:
    """Figure 5.2: pairs of rows and targets, and of rows and impostors, under the metrics."""
    part = metric_ms.split("Vowel", 0)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True)
    for axis, points, words in (
        (axes[0], part.X, "input space"),
        (axes[1], kernel_coordinates(part.X), "kernel space"),
    ):
        metric = learned(points, part)
        near, far = target_distances(metric, points[part.labelled], part.y[part.labelled])
        hidden = target_distances(metric, points[~part.labelled], part.y[~part.labelled])
        bins = np.linspace(0, np.percentile(far, 99), 60)
        axis.hist(near.ravel(), bins, density=True, alpha=0.6, label="row and target")
        axis.hist(far.ravel(), bins, density=True, alpha=0.6, label="row and impostor")
        axis.set_title(
            f"{words}: {held(near, far):.0%} of the triplets hold,\n"
            f"{held(near, far, 1):.0%} by the margin; of hidden rows {held(*hidden):.0%}",
            fontsize=10,
        )
        axis.set_xlabel("squared distance under the metric; the margin is 1")
        axis.set_yticks([])
    axes[0].legend(frameon=False)
    save(figure, path)


def kernel_coordinates(X: Array) -> Array:
    """Rows in the space of the thesis's Gaussian for Vowel, as `MetricMeanShift` has them."""
    _, coordinates = MetricMeanShift(kernel="gaussian", sigma=1.0)._embed(X)
    return coordinates


def learned(points: Array, part: metric_ms.Split) -> SCML:
    """Learn a global metric from the labelled rows."""
    return SCML(random_state=0).fit(points[part.labelled], part.y[part.labelled])


def target_distances(metric: SCML, points: Array, y: Array) -> tuple[Array, Array]:
    """Squared distances of each row to its 3 targets, and to its 10 impostors."""
    triplets, measured = label_triplets(points, y), metric.transform(points)
    anchors = measured[triplets.anchor][:, None]
    return tuple(
        ((anchors - measured[others.reshape(len(anchors), -1)]) ** 2).sum(axis=2)
        for others in (triplets.target, triplets.impostor)
    )


def held(near: Array, far: Array, margin: float = 0.0) -> float:
    """Share of the triplets that hold by a margin."""
    return float(np.mean(near[:, :, None] + margin <= far[:, None]))


def kernel_matrices(path: Path) -> None:
    """Figure 5.3: the kernel matrix of Vowel, and that of the same rows under the metric."""
    part = metric_ms.split("Vowel", 0)
    order = np.argsort(part.y, kind="stable")
    points = kernel_coordinates(part.X)
    measured = learned(points, part).transform(points)
    figure, axes = plt.subplots(1, 2, figsize=(8.6, 4.2))
    for axis, rows, words in (
        (axes[0], points[order], "kernel matrix of the rows"),
        (axes[1], measured[order], "kernel matrix after a metric was learned"),
    ):
        gram = rows @ rows.T
        low, high = np.percentile(gram, (1, 99))  # the diagonal would leave all else grey
        shown = axis.imshow(gram, cmap="gray", interpolation="nearest", vmin=low, vmax=high)
        figure.colorbar(shown, ax=axis, shrink=0.8)
        axis.set_title(words, fontsize=10)
        axis.set_xticks([])
        axis.set_yticks([])
    save(figure, path)


if __name__ == "__main__":
    sys.exit(main())
