"""Where a measurement is made: versions, processor, how busy it is, and the data sets."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path

from llvmlite import binding  # type: ignore[import-untyped]

DATA = "LINKSHIFT_DATA"
PACKAGES = ("linkshift", "numpy", "scipy", "scikit-learn", "numba", "joblib", "threadpoolctl")
RIVALS = ("igraph", "leidenalg", "umap-learn", "cobras_ts")  # named where they are installed


def find_data() -> None:
    """Name the folder of data sets beside the repository, unless another is named already."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not os.environ.get(DATA) and beside.is_dir():
        os.environ[DATA] = str(beside)


def describe() -> dict[str, object]:
    return {
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES}
        | {name: found for name in RIVALS if (found := _version(name)) is not None},
        "system": platform.platform(),
        "cpu": cpu_name(),
        "compiled for": binding.get_host_cpu_name(),  # by numba: names may hide it
        "cores": os.cpu_count(),
    }


def variables() -> dict[str, str]:
    """Give what the environment says to suites: parts, sets, methods; not where the data are."""
    given = sorted((name, value) for name, value in os.environ.items() if name != DATA)
    return {name: value for name, value in given if name.startswith("LINKSHIFT_")}


def load() -> list[float]:
    """Average number of running processes over the last 1, 5 and 15 minutes, where known."""
    return [round(value, 2) for value in os.getloadavg()] if hasattr(os, "getloadavg") else []


def cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
