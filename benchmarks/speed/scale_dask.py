"""What Dask adds to the four functions of linkshift.scale: CPU seconds beside those of a loop."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Array, Options, Row, Times
from linkshift._core.threads import one_blas_thread
from linkshift.scale import fit, merge, predict, summarise
from linkshift.scale.chunks import rows_of_a_chunk

TITLE = "linkshift.scale: a loop and Dask, float32 mixture from a file, fit and labels: CPU seconds"
COLUMNS, CLUSTERS, BLOCK = 16, 30, 100_000  # blocks of Dask do not end where chunks do
WORKERS = 2


def run(options: Options) -> Iterator[Row]:
    import dask
    from distributed import Client, LocalCluster

    n, m = options.pick((3_000, 100), (600_000, 1_000), (1_000_000, 8_000))
    repeats = options.pick(1, options.repeats, options.repeats)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        bandwidth = write(path, n, options.seed)
        loop: Sides = {"loop": (lambda: by_loop(path, m, bandwidth), time.process_time)}
        with dask.config.set(scheduler="synchronous"):
            here = {"Dask, this thread": (lambda: by_dask(path, m, bandwidth), time.process_time)}
            yield from rows_of(n, m, measured(loop | here, repeats))
        cluster = LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, dashboard_address=None, local_directory=folder
        )
        with cluster, Client(cluster) as client:

            def everywhere() -> float:
                """Seconds of the workers, and of this process, which has scheduler and client."""
                used = client.run(time.process_time)
                return time.process_time() + float(sum(used.values()))

            client.run(warm, path, bandwidth)
            name = f"Dask, {WORKERS} processes"
            there = {name: (lambda: by_dask(path, m, bandwidth), everywhere)}
            yield from rows_of(n, m, measured(loop | there, repeats))


Sides = dict[str, tuple[Callable[[], Array], Callable[[], float]]]


def measured(sides: Sides, repeats: int) -> tuple[dict[str, Times], dict[str, Array]]:
    """Time all sides in turn, each by its own clock of CPU seconds."""
    times = {name: Times([], []) for name in sides}
    labels: dict[str, Array] = {}
    for _ in range(repeats):
        for name, (side, clock) in sides.items():
            wall, cpu = time.perf_counter(), clock()
            labels[name] = side()
            times[name].cpu.append(clock() - cpu)
            times[name].wall.append(time.perf_counter() - wall)
    return times, labels


def rows_of(n: int, m: int, found: tuple[dict[str, Times], dict[str, Array]]) -> Iterator[Row]:
    times, labels = found
    for name, taken in times.items():
        yield Row(
            {
                "n": n,
                "d": COLUMNS,
                "landmarks": m,
                "side": name,
                "CPU seconds": min(taken.cpu),
                "seconds": taken.best,
                "CPU to loop": min(taken.cpu) / min(times["loop"].cpu),
                "clusters": int(labels[name].max()) + 1,
                "same labels": bool(np.array_equal(labels[name], labels["loop"])),
            },
            {name: taken},
        )


def write(path: Path, n: int, seed: int) -> float:
    """Write the rows; return a bandwidth, the same for all sides."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=4.0, size=(CLUSTERS, COLUMNS))
    rows = centres[rng.integers(CLUSTERS, size=n)] + rng.normal(size=(n, COLUMNS))
    np.save(path, rows.astype(np.float32))
    by_dask(path, 50, 2.0, n=2_000)  # compiled, before anything is measured
    return 2.0


def warm(path: Path, bandwidth: float) -> None:
    rows = part(path, 0, 2_000)
    predict(fit(summarise(rows, 50), bandwidth=bandwidth), rows)


def part(path: Path, first: int, last: int) -> Array:
    return np.array(np.load(path, mmap_mode="r")[first:last])


def by_loop(path: Path, m: int, bandwidth: float) -> Array:
    n, size = len(np.load(path, mmap_mode="r")), rows_of_a_chunk(COLUMNS, m)
    ends = [(first, first + size) for first in range(0, n, size)]
    with one_blas_thread():  # as tasks of Dask have it: a second one waits, and is paid for
        summaries = [summarise(part(path, *one), m, n_jobs=1) for one in ends]
        model = fit(merge(summaries, m, n_jobs=1), bandwidth=bandwidth, n_jobs=1)
        return np.concatenate([predict(model, part(path, *one), n_jobs=1) for one in ends])


def by_dask(path: Path, m: int, bandwidth: float, n: int | None = None) -> Array:
    import dask.array
    from dask import delayed

    from linkshift.scale.dask import MeanShift

    n = len(np.load(path, mmap_mode="r")) if n is None else min(n, len(np.load(path)))
    read: Any = delayed(part)
    blocks = [
        dask.array.from_delayed(
            read(path, first, min(first + BLOCK, n)),
            shape=(min(first + BLOCK, n) - first, COLUMNS),
            dtype=np.float32,
        )
        for first in range(0, n, BLOCK)
    ]
    found = MeanShift(landmarks=m, bandwidth=bandwidth, n_jobs=1).fit(
        dask.array.concatenate(blocks)
    )
    labels: Array = found.labels_.compute()
    return labels
