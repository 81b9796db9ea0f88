"""Cluster a data set without links and with links; print a table, draw a picture.

Run by ``make demo``. Two moons and three blobs of unequal size: no bandwidth suits all of them, so
plain mean shift cuts the long shapes and the wide one, or merges the near ones. A few answers of
the kind "same" or "different" put it right.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from linkshift import ConsensusClustering, ConstrainedMeanShift, Links, MeanShift, plot
from linkshift.datasets import make_shapes
from linkshift.metrics import link_satisfaction, n_clusters


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--links", type=int, default=60, help="number of links (default 60)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, default=Path("demo.png"))
    options = parser.parse_args()

    X, y = make_shapes(random_state=options.seed)
    links = Links.sample(y, options.links, random_state=options.seed)
    print(f"{len(X)} points in {n_clusters(y)} groups; {links!r}\n")
    print("Compiling (only the first time on a machine) ...", end=" ", flush=True)
    begin = time.perf_counter()
    MeanShift().fit(X[:50])
    ConsensusClustering().fit(X[::20], links=links.take(range(0, len(X), 20)))
    ConstrainedMeanShift().fit(X[::40], links=links.take(range(0, len(X), 40)) + _one_link(y[::40]))
    print(f"{time.perf_counter() - begin:.1f} s\n")

    methods = {
        "k-means, told k = 5": lambda: KMeans(5, random_state=options.seed).fit_predict(X),
        "mean shift": lambda: MeanShift().fit_predict(X),
        "consensus": lambda: ConsensusClustering().fit_predict(X),
        "constrained mean shift": lambda: ConstrainedMeanShift().fit_predict(X, links=links),
        "consensus, with links": lambda: ConsensusClustering().fit_predict(X, links=links),
    }
    print(f"{'method':<24}{'links':>6}{'clusters':>10}{'links kept':>12}{'ARI':>8}{'seconds':>9}")
    found = {}
    for name, run in methods.items():
        begin = time.perf_counter()
        labels = found[name] = run()
        seconds = time.perf_counter() - begin
        kept = link_satisfaction(labels, links).share
        used = len(links) if "constrained" in name or "links" in name else 0
        score = adjusted_rand_score(y, labels)
        print(
            f"{name:<24}{used:>6}{n_clusters(labels):>10}{kept:>11.0%} {score:>8.3f}{seconds:>9.2f}"
        )

    draw(X, found["mean shift"], found["constrained mean shift"], links, options.output)
    print(f"\nPicture: {options.output}")


def _one_link(y: NDArray[np.int64]) -> Links:
    """Return a cannot-link between two classes, so that the warm-up has one."""
    return Links(cannot=[(0, int(np.argmax(y != y[0])))], n_samples=len(y))


def draw(
    X: NDArray[np.float64],
    without: NDArray[np.int64],
    with_links: NDArray[np.int64],
    links: Links,
    path: Path,
) -> None:
    """Both clusterings side by side, the links in the second."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(12, 3.4), layout="constrained")
    plot.clusters(X, without, ax=axes[0], title="Mean shift, no links", legend=False)
    title = f"Constrained mean shift, {len(links)} links"
    plot.clusters(X, with_links, links=links, ax=axes[1], title=title, legend=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()
