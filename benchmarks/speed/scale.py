"""Many rows: time, memory and faithfulness against n, of every estimator and beside others.

Parts, named by LINKSHIFT_SCALE with commas between:
- "mixture" (the default): landmarks of fifty Gaussians, beside mini-batch k-means told fifty.
- "growth": every estimator and those of others, in ten columns, up to a million rows, each until
  a fit takes more than a minute of CPU.
- "links": constrained mean shift of 60,000 real rows with 2,000 links, exact and by landmarks.
- "blobs": 100,000 rows in three columns, beside MeanShift++.
- "plan": what each of the four functions of `linkshift.scale` costs, for a million rows.
Every line is a process of its own, so that the most memory it ever held says what the fit took.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from benchmarks.harness import Array, Options, Row, Times, run_parts
from benchmarks.speed.scale_methods import GROWTH, LINKED, METHODS, PLAIN
from linkshift import Links
from linkshift.datasets import load
from linkshift.scale import fit, merge, predict, summarise
from linkshift.scale.chunks import rows_of_a_chunk

TITLE = "Very many rows: CPU seconds, MB besides X, ARI"
N_CENTERS = 50
LIMIT = 60.0  # CPU seconds of a fit, after which larger tables are not tried
_CHUNK = 100_000  # rows made at a time: making them must not hold more than the fit
_WARM = 2_000
_LINKS = 200


def run(options: Options) -> Iterator[Row]:
    parts = {"mixture": mixture, "growth": growth, "links": links, "blobs": blobs, "plan": plan}
    yield from run_parts("LINKSHIFT_SCALE", parts, ("mixture",), options)


def mixture(options: Options) -> Iterator[Row]:
    """Fifty round Gaussians in a box of side 12, by default parameters and by mini-batches."""
    sizes = options.pick((3_000,), (10_000, 100_000), (10_000, 100_000, 1_000_000))
    for d in options.pick((10,), (10, 64), (10, 64)):
        for n in sizes:
            for method in PLAIN:
                yield in_a_process("gaussians", method, n, d, options.seed)


def growth(options: Options) -> Iterator[Row]:
    """Take the same Gaussians in ten columns: who gets how far within a minute of CPU."""
    sizes = options.pick(
        (1_000,), (2_000, 10_000), (2_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
    )
    for method in GROWTH:
        for n in sizes:
            row = in_a_process("gaussians", method, n, 10, options.seed)
            yield row
            if row.cells["refused"] or row.raw[method].cpu[0] > LIMIT:
                break


def links(options: Options) -> Iterator[Row]:
    """Rows of cms_dkm-mnist, 2,000 links: exact beside landmarks, on the same draws."""
    n = options.pick(1_500, 10_000, 60_000)
    for draw in range(options.repeats):
        for method in LINKED:
            yield in_a_process("mnist", method, n, 10, options.seed + draw)


def blobs(options: Options) -> Iterator[Row]:
    """Ten blobs of scikit-learn in three columns; the nearest centre is the best that there is."""
    n = options.pick(3_000, 100_000, 100_000)
    for draw in range(options.repeats):
        for method in METHODS["blobs"]:
            yield in_a_process("blobs", method, n, 3, options.seed + draw)


def plan(options: Options) -> Iterator[Row]:
    """Cost of each function by itself, of whose sum a run on any number of machines is made."""
    m = options.pick(100, 2_000, 8_000)
    for d in options.pick((4,), (16, 64), (4, 16, 64, 256)):
        n = options.pick(1_000, 100_000, rows_of_a_chunk(d))
        X, _ = gaussians(2 * n, d, options.seed)
        warm = summarise(X[:_WARM], 50)
        predict(fit(merge([warm, warm], 50), bandwidth=2.0), X[:_WARM])
        clock = [time.process_time()]
        leaves = [summarise(X[:n], m), summarise(X[n:], m)]
        clock.append(time.process_time())
        merged = merge(leaves, m)
        clock.append(time.process_time())
        model = fit(merged)
        clock.append(time.process_time())
        predict(model, X)
        clock.append(time.process_time())
        sums, merging, fitting, labels = np.diff(clock)
        million = 1e6 / (2 * n)
        yield Row(
            {
                "d": d,
                "rows of a chunk": n,
                "landmarks": m,
                "summarise, CPU s a million rows": sums * million,
                "predict, CPU s a million rows": labels * million,
                "merge of two, CPU s": merging,
                "fit, CPU s": fitting,
                "MB of a summary": sum(part.nbytes for part in merged) / 1e6,
            }
        )


def in_a_process(data: str, method: str, n: int, d: int, seed: int) -> Row:
    """Measure one fit in a fresh process."""
    numbers = map(str, (n, d, seed))
    command = [sys.executable, "-m", "benchmarks.speed.scale", data, method, *numbers]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    cells: dict[str, Any] = json.loads(done.stdout)
    times = Times([cells.pop("seconds")], [cells["CPU s"]])
    return Row({"method": method, "n": n, "d": d, "draw": seed, **cells}, {method: times})


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


def made(data: str, n: int, d: int, seed: int) -> tuple[Array, Array, Links | None]:
    """Rows, what they are of, and links between them."""
    if data == "blobs":
        X, y = make_blobs(n, d, centers=10, random_state=seed)
        return X, y, None
    if data == "mnist":
        X, y = (getattr(load("cms_dkm-mnist"), part) for part in "Xy")
        rows = np.random.default_rng(0).permutation(len(X))[:n]
        X, y = X[rows], y[rows]
        return X, y, Links.sample(y, min(2_000, n // 4), random_state=seed)
    X, y = gaussians(n, d, seed)
    rng = np.random.default_rng(seed)
    some = rng.choice(np.flatnonzero(y < 10), 60, replace=False)  # so that rows have several links
    first, second = np.triu_indices(60, 1)
    drawn = rng.choice(len(first), _LINKS, replace=False)
    pairs = np.stack([some[first[drawn]], some[second[drawn]]], axis=1)
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return X, y, Links(pairs[same], pairs[~same])


def measure(data: str, method: str, n: int, d: int, seed: int) -> dict[str, Any]:
    """Fit once, after a small fit that loads and compiles."""
    fitted = METHODS[data][method]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted(*made(data, min(n, _WARM), d, seed))
        X, y, linked = made(data, n, d, seed)
        before = _most_megabytes()
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            labels, fidelity = fitted(X, y, linked)
        except (ValueError, MemoryError) as error:
            return {"refused": str(error)[:60], "CPU s": 0.0, "seconds": 0.0}
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {
        "CPU s": cpu,
        "MB": _most_megabytes() - before,
        "clusters": int(np.unique(labels).size),
        "ARI to truth": float(adjusted_rand_score(y, labels)),
        "fidelity": fidelity,
        "refused": "",
        "seconds": wall,
    }


def _most_megabytes() -> float:
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e6 if sys.platform == "darwin" else 1e3)


if __name__ == "__main__":
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    data, name, *numbers = sys.argv[1:]
    print(json.dumps(measure(data, name, *map(int, numbers))))
