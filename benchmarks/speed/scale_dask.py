"""What Dask adds to a table larger than memory: CPU seconds of all processes, and the labels."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.harness import Array, Options, Row, Times
from linkshift import scale
from linkshift._core.threads import one_blas_thread

TITLE = "linkshift.scale: out of core and Dask, float32 Parquet, fit and labels: CPU seconds"
COLUMNS, CLUSTERS, FILE = 16, 30, 100_000  # rows of a file: partitions do not end where chunks do
BANDWIDTH = 2.0
WORKERS = 1, 2, 4
ALONE = "out of core"


def run(options: Options) -> Iterator[Row]:
    n, m = options.pick((3_000, 100), (600_000, 1_000), (1_000_000, 8_000))
    repeats = options.rounds(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "rows", n, options.seed)
        write(folder / "few", 2_000, options.seed)
        out_of_core(folder / "few", 50)  # compiled, before anything is measured
        times, labels = measured(lambda: out_of_core(folder / "rows", m), here, repeats)
        alone, expected = min(times.cpu), labels
        yield row_of(n, m, ALONE, times, alone, labels, expected)
        for n_workers in WORKERS:
            times, labels = on_workers(folder, m, n_workers, repeats)
            side = f"Dask, {n_workers} worker{'s' * (n_workers > 1)}"
            yield row_of(n, m, side, times, alone, labels, expected)


def here() -> float:
    return time.process_time()


def on_workers(folder: Path, m: int, n_workers: int, repeats: int) -> tuple[Times, Array]:
    """Start processes, which is not measured, and let them work."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        dashboard_address=None,
        local_directory=str(folder / f"workers{n_workers}"),
    )
    with cluster, Client(cluster) as client:

        def everywhere() -> float:
            """Seconds of the workers, and of this process, which has scheduler and client."""
            return time.process_time() + float(sum(client.run(time.process_time).values()))

        client.run(out_of_core, folder / "few", 50)  # imports and compiled code
        by_dask(folder / "few", 50)
        return measured(lambda: by_dask(folder / "rows", m), everywhere, repeats)


def measured(
    side: Callable[[], Array], clock: Callable[[], float], repeats: int
) -> tuple[Times, Array]:
    times, labels = Times([], []), np.empty(0)
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), clock()
        labels = side()
        times.cpu.append(clock() - cpu)
        times.wall.append(time.perf_counter() - wall)
    return times, labels


def row_of(
    n: int, m: int, side: str, times: Times, alone: float, labels: Array, expected: Array
) -> Row:
    return Row(
        {
            "n": n,
            "d": COLUMNS,
            "landmarks": m,
            "side": side,
            "CPU seconds": min(times.cpu),
            "seconds": times.best,
            f"CPU to {ALONE}": min(times.cpu) / alone,
            "clusters": int(labels.max()) + 1,
            "other labels": int((labels != expected).sum()),
        },
        {side: times},
    )


def write(folder: Path, n: int, seed: int) -> None:
    """Write rows of a mixture into files of 100,000."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=4.0, size=(CLUSTERS, COLUMNS))
    for i, first in enumerate(range(0, n, FILE)):
        size = min(FILE, n - first)
        rows = centres[rng.integers(CLUSTERS, size=size)] + rng.normal(size=(size, COLUMNS))
        columns = {f"c{j:02}": rows[:, j].astype(np.float32) for j in range(COLUMNS)}
        pq.write_table(pa.table(columns), folder / f"{i:05}.parquet")


def out_of_core(folder: Path, m: int) -> Array:
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as name, one_blas_thread():  # as tasks of Dask have it
        found = scale.cluster(
            folder,
            output=Path(name) / "labels.parquet",
            scale="none",
            landmarks=m,
            bandwidth=BANDWIDTH,
            n_jobs=1,
        )
        labels: Array = pq.read_table(found.output)["label"].to_numpy()
    return labels


def by_dask(folder: Path, m: int) -> Array:
    import dask.dataframe

    from linkshift.scale.dask import MeanShift

    found = MeanShift(landmarks=m, bandwidth=BANDWIDTH, n_jobs=1)
    labels: Array = found.fit(dask.dataframe.read_parquet(folder)).labels_.compute().to_numpy()
    return labels
