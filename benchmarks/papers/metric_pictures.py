"""Pictures after figures 5.1 and 5.3 of Cheema's thesis (2016).

``python -m benchmarks.papers.metric_pictures [--out docs/images] [--splits 2]``. Needs matplotlib
and the data sets of the thesis (``linkshift.datasets``).
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np

from benchmarks.papers import metric_ms
from benchmarks.papers.kernel_pictures import save
from linkshift import MetricMeanShift
from linkshift.bandwidth import pair_mean
from linkshift.spaces.kernel import Kernel

mpl.use("Agg")
import matplotlib.pyplot as plt

KS = (5, 10, 15, 20, 25, 30, 40, 50)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    parser.add_argument("--splits", type=int, default=2)
    parsed = parser.parse_args(arguments)
    parsed.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")  # points can be slow to arrive
    kernel_matrices(parsed.out / "metric_kernel_matrices.png")
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


def kernel_matrices(path: Path) -> None:
    """Figure 5.3: the kernel matrix of Vowel before and after a metric is learned."""
    part = metric_ms.split("Vowel", 0)
    order = np.argsort(part.y, kind="stable")
    model = MetricMeanShift(kernel="gaussian", sigma=1.0, random_state=0)
    model.fit(part.X, partial_labels=part.known)
    learned = model._measured(model._embed(part.X))  # the coordinates that were shifted
    figure, axes = plt.subplots(1, 2, figsize=(8, 4.2))
    for axis, rows, words in (
        (axes[0], part.X, "kernel matrix of the rows"),
        (axes[1], learned, "after a metric was learned"),
    ):
        gram = Kernel("gaussian", sigma=0.5 * pair_mean(rows))(rows[order])
        axis.imshow(gram, cmap="gray", interpolation="nearest", vmin=0, vmax=1)
        axis.set_title(words, fontsize=10)
        axis.set_xticks([])
        axis.set_yticks([])
    save(figure, path)


if __name__ == "__main__":
    sys.exit(main())
