"""From how many columns two matrix products beat the jit loop (GEMM_FROM_DIMENSION)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.harness import Array, Options, Row, interleave
from benchmarks.speed.step import dense_case, exact_means
from linkshift._core.threads import threads
from linkshift.shift import terms
from linkshift.shift.density import Density
from linkshift.shift.step import mean_step

TITLE = (
    "loop against matrix products by number of columns, ns per pair: 1 thread (processor time), "
    "2 threads (wall clock); above 1 in loop/products, the products win"
)
_CHECKED = 200


def run(options: Options) -> Iterator[Row]:
    n = options.pick(512, 4096, 8192)
    for dtype in (np.float32, np.float64):
        for d in options.pick((4,), *[(8, 16, 24, 32, 48, 64, 96, 128, 256)] * 2):
            yield measure(n, d, dtype, options)


def measure(n: int, d: int, dtype: type[np.floating], options: Options) -> Row:
    density, starts = case_from(d, n, d, dtype, options)
    if density.products is None:
        raise RuntimeError(f"At {d} columns the products are not precise enough to be compared.")
    loop, _ = case_from(d + 1, n, d, dtype, options)
    with threads(1) as one, threads(2) as two:
        sides = {
            f"{name} {count}": partial(mean_step, case, starts, pool)
            for count, pool in ((1, one), (2, two))
            for name, case in (("loop", loop), ("products", density))
        }
        for name in ("loop 1", "products 1"):
            sides[name]()  # compile outside the clock
        times, means = interleave(sides, options.repeats, budget=options.budget(30.0))
    ns = {
        name: (min(time.cpu) if name.endswith("1") else time.best) / n**2 * 1e9
        for name, time in times.items()
    }
    exact = exact_means(density, starts[:_CHECKED])
    wrong = {
        f"error {name}": float(
            np.abs(means[f"{name} 1"][0][:_CHECKED] - exact).max() / density.typical_bandwidth
        )
        for name in ("loop", "products")
    }
    ratios = {f"loop/products {c}": ns[f"loop {c}"] / ns[f"products {c}"] for c in (1, 2)}
    return Row({"dtype": np.dtype(dtype).name, "n": n, "d": d, **ns, **ratios, **wrong}, times)


def case_from(
    limit: int, n: int, d: int, dtype: type[np.floating], options: Options
) -> tuple[Density, Array]:
    """Lay out a dense case with the products used from ``limit`` columns up."""
    usual = terms.GEMM_FROM_DIMENSION
    terms.GEMM_FROM_DIMENSION = limit
    try:
        return dense_case(n, d, dtype, options.seed)
    finally:
        terms.GEMM_FROM_DIMENSION = usual
