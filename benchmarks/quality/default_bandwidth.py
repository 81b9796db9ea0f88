"""Our default bandwidth against scikit-learn's rule: clusters found, and how good they are."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.cluster import estimate_bandwidth
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from benchmarks.harness import Array, Cell, Options, Row, blobs, interleave
from linkshift import MeanShift, datasets
from linkshift.profiles import Profile, ProfileName

TITLE = (
    "bandwidth=None against sklearn.cluster.estimate_bandwidth (quantile 0.3; 'carried over': "
    "divided by sqrt(d + 2) for the Gaussian)"
)
MOST_ROWS = 3000
KERNELS: tuple[ProfileName, ...] = ("flat", "gaussian")


def run(options: Options) -> Iterator[Row]:
    most = options.pick(200, 1000, MOST_ROWS)
    rows: list[Row] = []
    for name, case in cases(options, most):
        if case is None:
            yield Row({"set": name, "kernel": "absent"})
            continue
        for kernel in KERNELS:
            rows.append(compare(name, *case, kernel))
            yield rows[-1]
    for kernel in KERNELS:
        yield mean_row(rows, kernel)


def cases(options: Options, most: int) -> Iterator[tuple[str, tuple[Array, Array] | None]]:
    """Blobs, and the public sets that are there; None for those that are not."""
    for d in (2, 5, 10):
        yield f"blobs, d={d}", blobs(most, d, n_centers=10, seed=options.seed)
    if options.size == "tiny":
        return
    for name, there in datasets.available().items():
        if name.startswith(("sipu_", "uci_")):
            yield name, public_set(name, most, options.seed) if there else None


def public_set(name: str, most: int, seed: int) -> tuple[Array, Array]:
    """At most ``most`` rows; measured quantities (uci) scaled to unit variance."""
    data = datasets.load(name)
    X, y = data.X.astype(np.float64), data.y
    if X.shape[0] > most:
        rows = np.random.default_rng(seed).choice(X.shape[0], most, replace=False)
        X, y = X[rows], y[rows]
    return (StandardScaler().fit_transform(X) if name.startswith("uci_") else X), y


def compare(name: str, X: Array, y: Array, kernel: ProfileName) -> Row:
    peer = float(estimate_bandwidth(X, quantile=0.3))
    rules: dict[str, float | None] = {"ours": None, "scikit-learn": peer}
    if kernel == "gaussian":
        rules["carried over"] = peer * Profile("flat").spread(X.shape[1])
    cells: dict[str, Cell] = {
        "set": name,
        "kernel": kernel,
        "n": X.shape[0],
        "d": X.shape[1],
        "classes": len(np.unique(y)),
    }
    sides = {rule: partial(fit, X, h, kernel) for rule, h in rules.items()}
    times, fitted = interleave(sides, 1)
    for rule, model in fitted.items():
        labels = model.labels_
        cells[f"h {rule}"] = float(model.bandwidth_)
        cells[f"clusters {rule}"] = model.n_clusters_
        cells[f"largest {rule}"] = float(np.bincount(labels).max() / labels.size)
        cells[f"ARI {rule}"] = adjusted_rand_score(y, labels)
    return Row(cells, times)


def fit(X: Array, bandwidth: float | None, kernel: ProfileName) -> MeanShift:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of slow convergence: the bandwidth is the question
        return MeanShift(bandwidth=bandwidth, kernel=kernel, landmarks=None).fit(X)


def mean_row(rows: list[Row], kernel: str) -> Row:
    """Mean share of the largest cluster and mean ARI over the sets."""
    cells: dict[str, Cell] = {"set": "mean", "kernel": kernel}
    mine = [row.cells for row in rows if row.cells["kernel"] == kernel]
    for column in dict.fromkeys(name for row in mine for name in row):
        if column.startswith(("largest", "ARI")):
            cells[column] = float(np.mean([float(row[column] or 0.0) for row in mine]))
    return Row(cells)
