"""Fit one of the estimators to 100,000 rows, and tell how much memory that took.

A process of its own, so that its peak is that of one fit: ``python memory_walk.py NAME COLUMNS``.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import MiniBatchKMeans

import linkshift
from linkshift import Links, baselines
from linkshift._core.messages import Refusal

ROWS, GROUPS, PAIRS = 100_000, 10, 200


def _scml(kind):
    sizes = {"embedding_dimension": 5} if kind == "local" else {}
    return linkshift.SCML(kind, n_bases=20, max_iter=50, random_state=0, **sizes)


# Each with the links that it takes: none, must-links or all.
MAKE = {
    "MeanShift": (linkshift.MeanShift, "none"),
    "MeanShift gaussian": (lambda: linkshift.MeanShift(kernel="gaussian"), "none"),
    "MeanShift blurring": (lambda: linkshift.MeanShift(blurring=True), "none"),
    "MeanShift exact": (lambda: linkshift.MeanShift(kernel="gaussian", landmarks=None), "none"),
    "MeanShift neighbours": (
        lambda: linkshift.MeanShift(n_neighbors=50, kernel="truncated_gaussian"),
        "none",
    ),
    "Path": (linkshift.PathMeanShift, "all"),
    "CMS": (linkshift.ConstrainedMeanShift, "all"),
    "CMS exact": (lambda: linkshift.ConstrainedMeanShift(landmarks=None), "all"),
    "Kernel": (lambda: linkshift.KernelMeanShift(random_state=0), "must"),
    "Kernel learn": (
        lambda: linkshift.KernelMeanShift(use_links="learn", random_state=0),
        "all",
    ),
    "Kernel exact": (lambda: linkshift.KernelMeanShift(n_landmarks=None), "none"),
    "Metric global": (lambda: linkshift.MetricMeanShift(_scml("global"), random_state=0), "all"),
    "Metric local": (lambda: linkshift.MetricMeanShift(_scml("local"), random_state=0), "all"),
    "Metric kernel": (
        lambda: linkshift.MetricMeanShift(_scml("global"), kernel="gaussian"),
        "all",
    ),
    "Groups": (lambda: linkshift.GroupFeatureClustering(GROUPS, random_state=0), "all"),
    "Refined": (
        lambda: linkshift.RefinedClustering(MiniBatchKMeans(20, n_init=1, random_state=0)),
        "all",
    ),
    "Consensus": (linkshift.ConsensusClustering, "all"),
    "Graph": (linkshift.GraphMeanShift, "none"),
    "Graph smooth": (lambda: linkshift.GraphMeanShift(coordinates="smooth"), "none"),
    "KMeans": (lambda: linkshift.KMeans(GROUPS, random_state=0), "none"),
    "PCKMeans": (lambda: baselines.PCKMeans(GROUPS, random_state=0), "all"),
    "MPCKMeans": (lambda: baselines.MPCKMeans(GROUPS, random_state=0), "all"),
    "COPKMeans": (lambda: baselines.COPKMeans(GROUPS, random_state=0), "all"),
    "Seeded": (lambda: baselines.SeededKMeans(GROUPS, random_state=0), "all"),
    "CDBSCAN": (lambda: baselines.CDBSCAN(1.5), "all"),
    "CDBSCAN wide": (lambda: baselines.CDBSCAN(50.0), "all"),
    "Spectral": (lambda: baselines.ConstrainedSpectral(GROUPS, random_state=0), "all"),
    "SCML": (lambda: _scml("global"), "all"),
    "SCML local": (lambda: _scml("local"), "all"),
}
REFUSED = ("Kernel exact", "Metric kernel", "Spectral", "CDBSCAN wide")


def _data(d):
    rng = np.random.default_rng(0)
    truth = rng.integers(GROUPS, size=ROWS)
    X = rng.uniform(-6, 6, size=(GROUPS, d))[truth] + rng.normal(size=(ROWS, d))
    pairs = rng.choice(ROWS, size=(PAIRS, 2), replace=False)
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    return X, Links(must=pairs[same], cannot=pairs[~same])


def peak(process="self"):
    """Largest resident memory of a process so far, in GB."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1e6


def main(name, columns):
    """Print the peak before the fit, then "fitted" or "refused" and the peak after it."""
    make, kind = MAKE[name]
    X, links = _data(int(columns))
    given = {"none": {}, "must": {"links": Links(must=links.must)}, "all": {"links": links}}[kind]
    warnings.simplefilter("ignore")
    print(peak(), flush=True)
    outcome = "fitted"
    try:
        make().fit(X, **given)
    except Refusal:
        outcome = "refused"
    print(outcome, peak(), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
