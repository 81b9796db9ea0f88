"""Pictures of group-dependent features: which views count for which cluster, and the way there.

``python -m benchmarks.papers.groups_pictures [--out docs/images]``. Needs matplotlib. Digits,
photographs and faces need their data sets (``linkshift.datasets``); without them their pictures are
left out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from benchmarks.papers import groups, groups_faces, groups_tables
from benchmarks.papers.kernel_pictures import save
from linkshift import datasets, plot
from linkshift.estimators.group_feature_clustering import starts_spectral
from linkshift.metrics import clustering_accuracy

mpl.use("Agg")
import matplotlib.pyplot as plt


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    out = parser.parse_args(arguments).out
    out.mkdir(parents=True, exist_ok=True)
    here = datasets.available()
    importances(out / "groups_view_importances.png", digits=here[groups.DATA["mfeat"]])
    if here[groups.DATA["MSRC-v1"]]:
        history(out / "groups_history.png")
    if groups_tables.have_faces():
        faces(out / "groups_faces.png")
    return 0


def faces(path: Path, count: int = 9) -> None:
    """Faces of the four groups, and without their light: the paper's figures 3 and 4."""
    drawn = groups_faces.faces(0)
    figure = plt.figure(figsize=(count + 0.6, 6.4))
    rows = [(name, False) for name in groups_faces.GROUPS]
    rows.insert(1, ("de-lighted", True))
    for k, (name, without_light) in enumerate(rows):
        group = max(k - 1, 0)
        subject = drawn.y[drawn.group == group][0]
        of_subject = np.flatnonzero(drawn.y == subject)
        for j, i in enumerate(of_subject[np.linspace(0, len(of_subject) - 1, count).astype(int)]):
            axis = figure.add_subplot(len(rows), count, k * count + j + 1)
            image = drawn.images[i]
            if without_light:
                axis.imshow(groups_faces.delighted(image), cmap="gray", vmin=0.4, vmax=1.8)
            else:
                axis.imshow(image, cmap="gray", vmin=0.0, vmax=max(0.5, float(image.max())))
            if group == 1 and j == 0:
                _draw_regions(axis)
            axis.set(xticks=[], yticks=[])
            if j == 0:
                axis.set_ylabel(name)
    save(figure, path)


def _draw_regions(axis: Any) -> None:
    """Draw the sectors and rings in which patterns are counted."""
    middle, radius = (groups_faces.SIDE - 1) / 2, groups_faces.SIDE / 2
    for ring in range(1, 5):
        axis.add_patch(plt.Circle((middle, middle), radius * ring / 4, fill=False, lw=0.5))
    for angle in 2.0 * np.pi * np.arange(24) / 24:
        end = middle + radius * np.array([np.cos(angle), np.sin(angle)])
        axis.plot([middle, end[0]], [middle, end[1]], color="black", lw=0.4)
    axis.set(xlim=(-0.5, groups_faces.SIDE - 0.5), ylim=(groups_faces.SIDE - 0.5, -0.5))


def importances(path: Path, *, digits: bool) -> None:
    """Made data, where each cluster has a view of its own, and handwritten digits."""
    draws = {"three clusters in each of three views": groups.synthetic("3 x 3", 0)}
    if digits:
        draws["handwritten digits"] = groups.real("mfeat", 0)
    figure, axes = plt.subplots(1, len(draws), figsize=(6.2 * len(draws), 5.0), squeeze=False)
    for axis, (title, draw) in zip(axes[0], draws.items(), strict=True):
        model = groups.fitted(draw, 0, n_jobs=None)
        # Clusters in the order of their commonest classes.
        classes = [
            np.bincount(draw.y[model.labels_ == c]).argmax() for c in range(model.n_clusters_)
        ]
        order = np.argsort(classes, kind="stable")
        plot.view_importances(
            model.view_importances_[order],
            view_names=model.view_names_,
            cluster_names=[f"mostly {classes[c]}" for c in order],
            ax=axis,
            title=f"{title}, ACC {clustering_accuracy(draw.y, model.labels_):.2f}",
        )
    save(figure, path)


def history(path: Path) -> None:
    """Show loss and accuracy from every start: both go up and down."""
    draw = groups.real("MSRC-v1", 0)
    model = groups.fitted(draw, 0, n_jobs=None)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.8), sharex=True)
    for i, way in enumerate(model.history_):
        spectral = starts_spectral(model.init, i)
        style = {"color": plot.PALETTE[1] if spectral else plot.PALETTE[0], "alpha": 0.7}
        label = "from a spectral partition" if spectral else "from a random partition"
        left.plot(1 + np.arange(way.n_iter), way.loss / len(draw.y), **style, label=label)
        accuracy = [clustering_accuracy(draw.y, labels) for labels in way.partitions]
        right.plot(np.arange(way.n_iter + 1), accuracy, **style)
    final = clustering_accuracy(draw.y, model.labels_)
    right.axhline(final, color=plot.INK, linestyle="--", label="consensus")
    handles, labels = left.get_legend_handles_labels()
    by_label = dict(zip(labels, handles, strict=True))
    left.legend(by_label.values(), by_label.keys(), frameon=False)
    right.legend(frameon=False, loc="lower right")
    left.set_ylabel("loss per sample, held out")
    right.set_ylabel("accuracy")
    for axis in (left, right):
        axis.set_xlabel("iteration")
        axis.set_xticks(range(0, 21, 5))
    figure.suptitle("MSRC-v1: sixteen starts")
    save(figure, path)


if __name__ == "__main__":
    sys.exit(main())
