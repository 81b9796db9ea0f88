"""One dense Gaussian step: our jit loop, a C loop, and NumPy's matrix products."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from benchmarks.harness import Array, Cell, Options, Row, interleave
from benchmarks.speed.c_step import c_means, compiled
from linkshift._core.threads import threads
from linkshift.profiles import Profile
from linkshift.shift.density import Density, build_density
from linkshift.shift.step import mean_step

TITLE = (
    "one dense Gaussian step, float32, ns per (start, point) pair: "
    "1 thread (processor time), 2 threads (wall clock); ratios of 1 thread; error in bandwidths"
)

Method = Callable[[Density, Array, threads], Array]

_PEERS = ("C", "NumPy")
_CHUNK = 256
_CHECKED = 200  # starts compared with float64


def run(options: Options) -> Iterator[Row]:
    n = options.pick(512, 6000, 20_000)
    for d in options.pick((2,), *[(2, 3, 5, 10, 30, 100)] * 2):
        yield measure(n, d, options)


def measure(n: int, d: int, options: Options) -> Row:
    density, starts = dense_case(n, d, np.float32, options.seed)
    methods: dict[str, Method] = {"ours": lambda *case: mean_step(*case)[0], "NumPy": numpy_means}
    if compiled() is not None:
        methods["C"] = c_means
    mean_step(density, starts, threads(1))  # compile outside the clock
    with threads(1) as one, threads(2) as two:
        sides = {
            f"{name} {count}": partial(method, density, starts, pool)
            for count, pool in ((1, one), (2, two))
            for name, method in methods.items()
        }
        times, means = interleave(sides, options.repeats)
    # One thread by its processor time, which other processes do not lengthen; two by the clock.
    ns = {f"{name} 1": min(times[f"{name} 1"].cpu) / n**2 * 1e9 for name in methods}
    ns |= {f"{name} 2": times[f"{name} 2"].best / n**2 * 1e9 for name in methods}
    cells: dict[str, Cell] = {"n": n, "d": d}
    for count in (1, 2):
        for name in ("ours", *_PEERS):
            cells[f"{name} {count}"] = ns.get(f"{name} {count}", "no compiler")
    for name in _PEERS:
        there = f"{name} 1" in ns
        cells[f"ours/{name}"] = ns["ours 1"] / ns[f"{name} 1"] if there else None
    exact = exact_means(density, starts[:_CHECKED])
    for name in methods:
        wrong = float(np.abs(means[f"{name} 1"][:_CHECKED] - exact).max())
        cells[f"error {name}"] = wrong / density.typical_bandwidth
    return Row(cells, times)


def dense_case(n: int, d: int, dtype: type[np.floating], seed: int) -> tuple[Density, Array]:
    """Make normal points, all of them starts, and a bandwidth at which every pair counts."""
    X = np.random.default_rng(seed).standard_normal((n, d)).astype(dtype)
    density = build_density(X, 3.0 * float(np.sqrt(d)), Profile("gaussian"))
    starts = density.points[:n].copy()
    diagonal = float((np.ptp(starts, axis=0).astype(np.float64) ** 2).sum())
    assert diagonal < density.terms.limit[:n].min(), "a block could be skipped"
    return density, starts


def numpy_means(density: Density, starts: Array, pool: threads) -> Array:
    """As ``mean_step``, in plain NumPy: product, exponential, product, a chunk of starts a time."""
    points = density.points[: density.n_points]
    squares = np.einsum("ij,ij->i", points, points)
    scale = starts.dtype.type(-0.5 / density.bandwidth[0] ** 2)
    means = np.empty_like(starts)

    def task(first: int) -> None:
        part = starts[first : first + _CHUNK]
        weight = part @ points.T
        weight *= -2
        weight += squares
        weight += np.einsum("ij,ij->i", part, part)[:, None]
        weight *= scale
        np.exp(weight, out=weight)
        means[first : first + _CHUNK] = (weight @ points) / weight.sum(axis=1)[:, None]

    with threadpool_limits(limits=1, user_api="blas"):  # the chunks are the threads' work
        pool.map(task, range(0, starts.shape[0], _CHUNK))
    return means


def exact_means(density: Density, starts: Array) -> Array:
    """As ``mean_step``, in float64 by direct differences."""
    points = density.points[: density.n_points].astype(np.float64)
    u = cdist(starts.astype(np.float64), points, "sqeuclidean") / density.bandwidth**2
    weight = np.exp(-0.5 * u)
    return (weight @ points) / weight.sum(axis=1, keepdims=True)
