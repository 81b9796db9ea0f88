"""Points pooled in cells: seconds and memory for many rows, likeness to exact for fewer."""

from __future__ import annotations

import tracemalloc
import warnings
from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.harness import Array, Options, Row, blobs, interleave
from linkshift import MeanShift
from linkshift.bandwidth import default_bandwidth
from linkshift.profiles import Profile, ProfileName

TITLE = "MeanShift(bin_size=...) on float32 blobs: seconds, peak MB besides X, ARI to exact"
KERNELS: tuple[ProfileName, ...] = ("flat", "gaussian")


def run(options: Options) -> Iterator[Row]:
    n = options.pick(2000, 200_000, 1_000_000)
    n_exact = options.pick(500, 10_000, 50_000)
    for d in options.pick((2,), (2, 3), (2, 3)):
        for kernel in KERNELS:
            yield from measure(n, n_exact, d, kernel, options)


def measure(n: int, n_exact: int, d: int, kernel: ProfileName, options: Options) -> Iterator[Row]:
    X, _ = blobs(n, d, n_centers=20, seed=options.seed, dtype=np.float32)
    # The same bandwidth for both sizes, from the smaller: a cell then means the same in both.
    few = X[:n_exact]
    h = default_bandwidth(few, Profile(kernel))
    exact_times, exact = interleave(
        {"exact": partial(fit, few, h, kernel, None)}, options.repeats, budget=options.budget(5.0)
    )
    for bin_size in options.pick((1.0,), (0.5, 1.0), (0.25, 0.5, 1.0)):
        times, fitted = interleave(
            {
                "many": partial(fit, X, h, kernel, bin_size),
                "few": partial(fit, few, h, kernel, bin_size),
            },
            options.repeats,
            budget=options.budget(15.0),
        )
        labels, reference = fitted["few"].labels_, exact["exact"].labels_
        yield (
            Row(
                {
                    "d": d,
                    "kernel": kernel,
                    "bin_size": bin_size,
                    "n": n,
                    "seconds": times["many"].best,
                    "CPU seconds": min(times["many"].cpu),
                    "clusters": fitted["many"].n_clusters_,
                    "peak MB": peak_megabytes(X, h, kernel, bin_size),
                    "n exact": n_exact,
                    "CPU binned": min(times["few"].cpu),
                    "CPU exact": min(exact_times["exact"].cpu),
                    "steps exact": exact["exact"].n_iter_,
                    "clusters exact": exact["exact"].n_clusters_,
                    "ARI to exact": adjusted_rand_score(reference, labels),
                },
                times | exact_times,
            )
        )


def fit(X: Array, h: float, kernel: ProfileName, bin_size: float | None) -> MeanShift:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of cells too small to pool, of starts still moving
        return MeanShift(bandwidth=h, kernel=kernel, bin_size=bin_size, landmarks=None).fit(X)


def peak_megabytes(X: Array, h: float, kernel: ProfileName, bin_size: float) -> float:
    """Most memory that Python and NumPy held at once, in a run of its own off the clock."""
    tracemalloc.start()
    fit(X, h, kernel, bin_size)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6
