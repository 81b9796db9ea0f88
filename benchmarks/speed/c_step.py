"""``step.c`` compiled on the fly, called from a pool of threads."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Array
from linkshift._core.threads import threads
from linkshift.shift.density import Density

# Without -fno-trapping-math gcc keeps selects as branches and does not vectorise.
FLAGS = (
    "-O3",
    "-march=native",
    "-ffp-contract=fast",
    "-fno-trapping-math",
    "-fno-math-errno",
    "-std=gnu11",
    "-shared",
    "-fPIC",
)
_TASK = 256  # starts per unit of work, as in linkshift


@cache
def compiler() -> str | None:
    """Find the system's C compiler: $CC, cc, gcc or clang."""
    for name in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        if name and (path := shutil.which(name)):
            return path
    return None


@cache
def compiled() -> Callable[..., None] | None:
    """Return the C loop; None where there is no compiler that takes it."""
    command = compiler()
    if command is None:
        return None
    source = Path(__file__).with_name("step.c")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "step.so"
        done = subprocess.run(
            [command, *FLAGS, "-o", str(library), str(source)], capture_output=True
        )
        if done.returncode != 0:
            return None
        function: Any = ctypes.CDLL(str(library)).step  # stays loaded when the file is gone
    long, pointer = ctypes.c_long, ctypes.c_void_p
    function.argtypes = [long, long, *[pointer] * 5, long, long, pointer, pointer]
    function.restype = None
    return function


def c_means(density: Density, starts: Array, pool: threads) -> Array:
    """As ``mean_step`` of a float32 density, by the C loop."""
    m, d = starts.shape
    function = compiled()
    assert function is not None
    assert density.dtype == np.float32
    terms = density.terms
    sums, total = np.empty((m, d)), np.empty(m)

    def task(first: int) -> None:
        function(
            d,
            density.points.shape[0],  # padded to whole blocks by points without weight
            starts.ctypes.data,
            density.points.ctypes.data,
            terms.offset.ctypes.data,
            terms.slope.ctypes.data,
            terms.limit.ctypes.data,
            first,
            min(first + _TASK, m),
            sums.ctypes.data,
            total.ctypes.data,
        )

    pool.map(task, range(0, m, _TASK))
    return (sums / total[:, None]).astype(np.float32)
