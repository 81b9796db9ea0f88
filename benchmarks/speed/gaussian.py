"""Whole Gaussian clusterings: exact, and with paths merged."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.harness import Options, Row, blobs, interleave
from linkshift import MeanShift
from linkshift.bandwidth import default_bandwidth
from linkshift.profiles import Profile

TITLE = "MeanShift(gaussian) on blobs, exact (path_merge=0) and approximate, seconds"
MERGES = (0.0, 0.05, 0.1)


def run(options: Options) -> Iterator[Row]:
    n = options.pick(300, 5000, 20_000)
    for d in options.pick((2,), (2, 5, 8), (2, 5, 8)):
        for dtype in (np.float32, np.float64):
            yield from measure(n, d, dtype, options)


def measure(n: int, d: int, dtype: type[np.floating], options: Options) -> list[Row]:
    X, y = blobs(n, d, n_centers=20, seed=options.seed, dtype=dtype)
    h = default_bandwidth(X, Profile("gaussian"))
    MeanShift(bandwidth=h, kernel="gaussian").fit(X[:200])  # compile outside the clock
    times, fitted = interleave(
        {
            str(merge): partial(
                MeanShift(bandwidth=h, kernel="gaussian", path_merge=merge, landmarks=None).fit, X
            )
            for merge in MERGES
        },
        options.repeats,
        budget=options.budget(30.0),
    )
    exact = fitted["0.0"]
    return [
        Row(
            {
                "n": n,
                "d": d,
                "dtype": np.dtype(dtype).name,
                "h": h,
                "path_merge": merge,
                "seconds": times[str(merge)].best,
                "CPU seconds": min(times[str(merge)].cpu),
                "times less CPU": min(times["0.0"].cpu) / min(times[str(merge)].cpu),
                "steps": fitted[str(merge)].n_iter_,
                "clusters": fitted[str(merge)].n_clusters_,
                "ARI to exact": adjusted_rand_score(exact.labels_, fitted[str(merge)].labels_),
                "ARI to truth": adjusted_rand_score(y, fitted[str(merge)].labels_),
            },
            {"fit": times[str(merge)]},
        )
        for merge in MERGES
    ]
