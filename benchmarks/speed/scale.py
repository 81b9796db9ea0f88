"""Many rows: time, memory and faithfulness of landmarks against n, beside mini-batch k-means.

Parts: "mixture" (the default), named by LINKSHIFT_SCALE with commas between. Every line is a
process of its own, so that the most memory it ever held says what the fit took.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import adjusted_rand_score

from benchmarks.harness import Array, Options, Row, Times, run_parts
from linkshift import MeanShift

TITLE = "Landmarks of a mixture of Gaussians, float32: CPU seconds, MB besides X, ARI"
N_CENTERS = 50
_CHUNK = 100_000  # rows made at a time: making them must not hold more than the fit
_WARM = 2_000


def run(options: Options) -> Iterator[Row]:
    yield from run_parts("LINKSHIFT_SCALE", {"mixture": mixture}, ("mixture",), options)


def mixture(options: Options) -> Iterator[Row]:
    """Fifty round Gaussians in a box of side 12, by default parameters and by mini-batches."""
    sizes = options.pick((3_000,), (10_000, 100_000), (10_000, 100_000, 1_000_000))
    for d in options.pick((10,), (10, 64), (10, 64)):
        for n in sizes:
            for method in METHODS:
                yield in_a_process(method, n, d, options.seed)


def in_a_process(method: str, n: int, d: int, seed: int) -> Row:
    """Measure one fit in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.speed.scale", method, str(n), str(d), str(seed)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    cells: dict[str, Any] = json.loads(done.stdout)
    times = Times([cells.pop("seconds")], [cells["CPU s"]])
    return Row({"method": method, "n": n, "d": d, **cells}, {method: times})


def gaussians(n: int, d: int, seed: int) -> tuple[Array, Array]:
    """Rows of fifty Gaussians of unit spread, and which each is of."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-6.0, 6.0, size=(N_CENTERS, d)).astype(np.float32)
    y = rng.integers(N_CENTERS, size=n)
    X = np.empty((n, d), dtype=np.float32)
    for first in range(0, n, _CHUNK):
        part = y[first : first + _CHUNK]
        X[first : first + _CHUNK] = centres[part]
        X[first : first + _CHUNK] += rng.standard_normal((part.size, d), dtype=np.float32)
    return X, y


def by_landmarks(X: Array) -> tuple[Array, float | None]:
    model = MeanShift(kernel="gaussian", landmarks=min(8_000, len(X) // 2)).fit(X)
    return model.labels_, getattr(model, "fidelity_", None)


def by_batches(X: Array) -> tuple[Array, None]:
    return MiniBatchKMeans(N_CENTERS, n_init=3, random_state=0).fit(X).labels_, None


METHODS: dict[str, Callable[[Array], tuple[Array, float | None]]] = {
    "landmarks": by_landmarks,
    "MiniBatchKMeans, told 50": by_batches,
}


def measure(method: str, n: int, d: int, seed: int) -> dict[str, Any]:
    """Fit once, after a small fit that loads and compiles."""
    fit = METHODS[method]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(gaussians(_WARM, d, seed)[0])
        X, y = gaussians(n, d, seed)
        before = _most_megabytes()
        wall, cpu = time.perf_counter(), time.process_time()
        labels, fidelity = fit(X)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {
        "CPU s": cpu,
        "MB": _most_megabytes() - before,
        "clusters": int(np.unique(labels).size),
        "ARI to truth": float(adjusted_rand_score(y, labels)),
        "fidelity": fidelity,
        "seconds": wall,
    }


def _most_megabytes() -> float:
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e6 if sys.platform == "darwin" else 1e3)


if __name__ == "__main__":
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    name, *numbers = sys.argv[1:]
    print(json.dumps(measure(name, *map(int, numbers))))
