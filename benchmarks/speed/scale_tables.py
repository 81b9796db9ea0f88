"""A table in a file, clustered in parts: time and the most memory of a fresh process."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.harness import Array, Options, Row, Times

TITLE = "linkshift.scale.cluster of a Parquet file, 16 columns of float32, 50 Gaussians"
D, N_CENTERS = 16, 50
_GROUP = 1 << 18  # rows of a row group


def run(options: Options) -> Iterator[Row]:
    for n in options.pick((5_000,), (300_000,), (1_000_000, 10_000_000)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.parquet"
            truth = write(path, n, options.seed)
            command = [sys.executable, "-m", "benchmarks.speed.scale_tables", str(path)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            cells = json.loads(done.stdout)
            cells["ARI to truth"] = agreement(path.with_name("labels.parquet"), truth)
            cells["MB of numbers"] = round(n * D * 4 / 1e6)
        times = Times([cells["seconds"]], [cells["CPU s"]])
        yield Row({"n": n, "d": D, **cells}, {"parts": times})


def write(path: Path, n: int, seed: int) -> Array:
    """Write rows group by group: which Gaussian each is of."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    centres = rng.uniform(-6.0, 6.0, size=(N_CENTERS, D)).astype(np.float32)
    truth = rng.integers(N_CENTERS, size=n).astype(np.uint8)
    schema = pa.schema([(f"x{j}", pa.float32()) for j in range(D)])
    with pq.ParquetWriter(path, schema) as writer:
        for first in range(0, n, _GROUP):
            which = truth[first : first + _GROUP]
            rows = centres[which] + rng.standard_normal((len(which), D), dtype=np.float32)
            writer.write_table(pa.table(dict(zip(schema.names, rows.T, strict=True))))
    return truth


def agreement(path: Path, truth: Array) -> float:
    """Give the adjusted Rand index of labels in a file to what was drawn, on some rows."""
    import pyarrow.parquet as pq
    from sklearn.metrics import adjusted_rand_score

    labels = pq.read_table(path, columns=["label"])["label"].to_numpy()
    some = slice(None, None, max(1, len(truth) // 1_000_000))
    return round(float(adjusted_rand_score(truth[some], labels[some])), 4)


def measure(path: Path) -> dict[str, float]:
    from linkshift import scale

    wall, cpu = time.perf_counter(), time.process_time()
    found = scale.cluster(path, output=path.with_name("labels.parquet"))
    return {
        "clusters": int(np.count_nonzero(found.sizes)),
        "seconds": round(time.perf_counter() - wall, 1),
        "CPU s": round(time.process_time() - cpu, 1),
        "peak MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3),
    }


if __name__ == "__main__":
    json.dump(measure(Path(sys.argv[1])), sys.stdout)
