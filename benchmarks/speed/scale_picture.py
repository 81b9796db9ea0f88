"""Draw what `LINKSHIFT_SCALE=growth python -m benchmarks.run scale --full` has found.

``python -m benchmarks.speed.scale_picture RESULTS.json docs/images/scale_growth.png``
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["draw", "exponent"]

_OTHERS = ("MiniBatchKMeans", "scikit-learn", "fast_hdbscan")


def by_method(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[tuple[int, float, float]]]:
    """Rows, CPU seconds and megabytes of each method, where it was not refused."""
    found: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
    for row in rows:
        if not row["refused"]:
            found[row["method"]].append((row["n"], row["CPU s"], row["MB"]))
    return dict(found)


def exponent(points: list[tuple[int, float, float]], least: int = 10_000) -> float | None:
    """Slope of time against rows, both in logarithms, from so many rows on."""
    n, cpu = np.array([(n, cpu) for n, cpu, _ in points if n >= least]).reshape(-1, 2).T
    return None if len(n) < 2 else float(np.polyfit(np.log(n), np.log(cpu), 1)[0])


def draw(rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """CPU seconds and megabytes against rows, all in logarithms; those of others dashed."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(13, 5.5), layout="constrained")
    for i, (method, points) in enumerate(by_method(rows).items()):
        n, cpu, megabytes = zip(*points, strict=True)
        others = method.startswith(_OTHERS)
        style = {"linestyle": "--" if others else "-", "marker": "os^vDP*X"[i % 8]}
        axes[0].plot(n, np.maximum(cpu, 1e-2), label=method, color=f"C{i % 10}", **style)
        axes[1].plot(n, np.maximum(megabytes, 1.0), color=f"C{i % 10}", **style)
    for axis, label in zip(axes, ("CPU s", "MB beside the data"), strict=True):
        axis.set(xscale="log", yscale="log", xlabel="rows (ten columns)", ylabel=label)
        axis.grid(alpha=0.3, which="both")
    figure.legend(loc="outside right center", frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    suites = json.loads(source.read_text(encoding="utf-8"))["suites"]
    found = [row["cells"] for suite in suites for row in suite["rows"]]
    draw(found, target)
    for name, points in by_method(found).items():
        slope = exponent(points)
        shown = "" if slope is None else f"{slope:.2f}"
        n, cpu, megabytes = points[-1]
        print(f"| {name} | {n:,} | {cpu:.1f} | {megabytes:,.0f} | {shown} |")
