"""Mean shift that leaves out rows near a path or its end, beside exact mean shift.

``python -m benchmarks.run skipping [--full]``: what the two classic speed-ups save, and which rows
get another cluster by them. "share that differs" is of rows, under the best matching of clusters.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.harness import Options, Row, blobs, interleave
from linkshift import MeanShift
from linkshift.bandwidth import default_bandwidth
from linkshift.metrics import clustering_accuracy
from linkshift.profiles import Profile, ProfileName

TITLE = "MeanShift on blobs: rows near another's path (r / c) or its end (r) do not climb"
SETTINGS: dict[str, dict[str, Any]] = {
    "exact": {},
    "end: r = 1": {"end_radius": 1.0},
    "path: r / c = 0.25": {"path_radius": 0.25},
    "path: r / c = 0.1": {"path_radius": 0.1},
    "both: r = 1, c = 4": {"end_radius": 1.0, "path_radius": 0.25},
    "path_merge = 0.1": {"path_merge": 0.1},
}


def run(options: Options) -> Iterator[Row]:
    n = options.pick(300, 5000, 20_000)
    kernels: tuple[ProfileName, ...] = ("gaussian", "flat")
    for kernel in kernels:
        for d in options.pick((2,), (2, 5), (2, 3, 5)):
            yield from measure(n, d, kernel, options)


def measure(n: int, d: int, kernel: ProfileName, options: Options) -> list[Row]:
    X, y = blobs(n, d, n_centers=20, seed=options.seed, dtype=np.float64)
    h = default_bandwidth(X, Profile(kernel))
    common: dict[str, Any] = {"bandwidth": h, "kernel": kernel, "assignment": "basin", "n_jobs": 1}
    MeanShift(**common).fit(X[:200])  # compile outside the clock
    times, fitted = interleave(
        {
            name: partial(MeanShift(**common, **more, landmarks=None).fit, X)
            for name, more in SETTINGS.items()
        },
        options.repeats,
        budget=options.budget(30.0),
    )
    exact = fitted["exact"]
    return [
        Row(
            {
                "kernel": kernel,
                "n": n,
                "d": d,
                "setting": name,
                "CPU seconds": min(times[name].cpu),
                "times less CPU": min(times["exact"].cpu) / min(times[name].cpu),
                "clusters": fitted[name].n_clusters_,
                "ARI to exact": adjusted_rand_score(exact.labels_, fitted[name].labels_),
                "share that differs": 1.0
                - clustering_accuracy(exact.labels_, fitted[name].labels_),
                "ARI to truth": adjusted_rand_score(y, fitted[name].labels_),
            },
            {"fit": times[name]},
        )
        for name in SETTINGS
    ]
