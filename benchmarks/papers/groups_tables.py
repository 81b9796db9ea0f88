"""Tables 1 and 2 and figure 5 of Lin et al. (2010), each cell beside the printed one.

Protocol of section 5.1: as many clusters as classes; sizes of clusters from 0.8 of the smallest to
1.2 of the largest class; k-means in coordinates that scaling recovers from the distances; affinity
propagation of minus the distances, its preference sought by halving; spectral clustering of the
kernel matrix; a cluster ensemble (CE) of a method's results with each kernel. NMI is over the
geometric mean of the entropies (Strehl and Ghosh). The width of the kernels is not in the paper: it
is one over the median of the squared distances. "literal" is the paper's algorithm, one start.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import normalized_mutual_info_score
from threadpoolctl import threadpool_limits

from benchmarks.harness import Cell, Options, Row, class_links, left_out
from benchmarks.papers import groups_faces, groups_photos, tables
from benchmarks.papers.groups_rivals import (
    affinity_propagation,
    k_means,
    scaled,
    shared_ensemble,
    spectral,
)
from linkshift import GroupFeatureClustering, Links, datasets
from linkshift.groups.views import kernel_bank
from linkshift.metrics import clustering_accuracy

Array = NDArray[Any]
_FACE_STARTS = 2  # of ours on faces: 61 clusters take their time
LITERAL: dict[str, Any] = {"n_init": 1, "init": "random", "n_candidates": "all", "stop": "rise"}
TOO_LONG = "takes minutes: not of the tiny size"
OURS = {"ours": "group-dependent", "literal": "group-dependent"}  # rows of the printed tables


class Problem(NamedTuple):
    """Distances of the same samples by several descriptors, and their classes."""

    distances: dict[str, Array]
    y: Array

    @property
    def n_clusters(self) -> int:
        """As many as classes."""
        return int(self.y.max()) + 1

    @property
    def sizes(self) -> tuple[int, int]:
        """Bounds as in the paper: 0.8 of the smallest class, 1.2 of the largest."""
        counts = np.bincount(self.y)
        return int(np.floor(0.8 * counts.min())), int(np.ceil(1.2 * counts.max()))


def clusters(
    problem: Problem, kernels: Sequence[str], seed: int, links: Links | None = None, **more: Any
) -> Array:
    """Labels of group-dependent features with some of the kernels."""
    options = {"size_bounds": problem.sizes, "n_jobs": 1, **more}
    model = GroupFeatureClustering(
        problem.n_clusters, metric="precomputed", random_state=seed, **options
    )
    return model.fit({name: problem.distances[name] for name in kernels}, links=links).labels_


def scores(y: Array, labels: Array) -> tuple[float, float]:
    """Accuracy in per cent, and normalised mutual information."""
    nmi = normalized_mutual_info_score(y, labels, average_method="geometric")
    return 100.0 * float(clustering_accuracy(y, labels)), float(nmi)


def _timed(run: Callable[[], Array]) -> tuple[Array, float]:
    with threadpool_limits(1):
        begin = time.process_time()
        labels = run()
        return labels, time.process_time() - begin


def _seeds(options: Options) -> list[int]:
    return [options.seed + i for i in range(options.repeats)]


def _cells(found: Sequence[tuple[float, float]]) -> dict[str, Cell]:
    accuracy = np.array([one[0] for one in found])
    return {
        "ACC %": round(float(accuracy.mean()), 1),
        "sd": round(float(accuracy.std(ddof=1)), 1) if len(found) > 1 else None,
        "NMI": round(float(np.mean([one[1] for one in found])), 3),
    }


# Table 1 ----------------------------------------------------------------------------------------


@cache
def photographs() -> Problem:
    names = groups_photos.DISTANCES
    return Problem(
        {name: groups_photos.distances(name) for name in names}, groups_photos.photographs()[1]
    )


def rivals(problem: Problem) -> dict[str, dict[str, Callable[[int], Array]]]:
    """For each rival, what it does with each kernel and a seed."""
    k = problem.n_clusters
    found: dict[str, dict[str, Callable[[int], Array]]] = {
        "k-means": {},
        "affinity propagation": {},
        "spectral": {},
    }
    for name, apart in problem.distances.items():
        kernel = kernel_bank([apart], metric="precomputed").values
        assert kernel is not None
        found["k-means"][name] = partial(k_means, scaled(apart), k)
        found["affinity propagation"][name] = partial(affinity_propagation, -apart, k)
        found["spectral"][name] = partial(spectral, kernel[0].astype(np.float64), k)
    return found


def table_1_rivals(options: Options) -> Iterator[Row]:
    """Cluster every kernel by every rival, and join the five results of each."""
    if missing := _no_photographs(options):
        yield missing
        return
    problem = photographs()
    for method, of_method in rivals(problem).items():
        results: dict[str, list[Array]] = {}
        for kernel, run in of_method.items():
            yield _row_1(problem, kernel, method, run, options, results)
        ensemble = partial(_ensemble, problem, results, options.seed)
        yield _row_1(problem, "all", f"CE {method}", ensemble, options, {})


def table_1(options: Options) -> Iterator[Row]:
    """Ours, with its defaults."""
    if missing := _no_photographs(options):
        yield missing
        return
    yield from _own_rows_1(photographs(), "ours", {}, options)


def table_1_literal(options: Options) -> Iterator[Row]:
    """Run the paper's algorithm on the same photographs."""
    if missing := _no_photographs(options):
        yield missing
        return
    yield from _own_rows_1(photographs(), "literal", LITERAL, options)


def _own_rows_1(
    problem: Problem, method: str, parameters: Mapping[str, Any], options: Options
) -> Iterator[Row]:
    for kernel in ("all", *problem.distances):
        kernels = list(problem.distances) if kernel == "all" else [kernel]
        run = partial(_by_seed, problem, kernels, dict(parameters))
        yield _row_1(problem, kernel, method, run, options, {})


def _by_seed(
    problem: Problem, kernels: Sequence[str], parameters: dict[str, Any], seed: int
) -> Array:
    return clusters(problem, kernels, seed, **parameters)


def _ensemble(problem: Problem, results: dict[str, list[Array]], first: int, seed: int) -> Array:
    partitions = [of_kernel[seed - first] for of_kernel in results.values()]
    return shared_ensemble(partitions, problem.n_clusters, seed)


def _row_1(
    problem: Problem,
    kernel: str,
    method: str,
    run: Callable[[int], Array],
    options: Options,
    results: dict[str, list[Array]],
) -> Row:
    """Run a cell of the table for all seeds; keep the labels in ``results``."""
    seeds = _seeds(options)
    # Chance has no part in affinity propagation: one run stands for all.
    seeds = seeds[:1] if method == "affinity propagation" else seeds
    timed = [_timed(partial(run, seed)) for seed in seeds]
    timed *= options.repeats // len(timed)
    results[kernel] = [labels for labels, _ in timed]
    printed = tables.load("groups_1")
    keys = {"kernel": kernel, "method": OURS.get(method, method)}
    cells: dict[str, Cell] = {
        "part": "table 1",
        "views": kernel,
        "method": method,
        **_cells([scores(problem.y, labels) for labels in results[kernel]]),
        "paper ACC %": printed.value("Caltech-101/ACC %", **keys),
        "paper NMI": printed.value("Caltech-101/NMI", **keys),
        "CPU s": round(float(np.mean([cpu for _, cpu in timed])), 1),
    }
    return Row(cells)


def _no_photographs(options: Options) -> Row | None:
    """Say that table 1 is left out, and why; nothing where it can be made."""
    if options.size == "tiny":
        return left_out("table 1", TOO_LONG)
    if groups_photos.archive() is None:
        why = f"no {groups_photos.ARCHIVE} in the folder that LINKSHIFT_DATA names"
        return left_out("table 1", why)
    return None


# Table 2 and figure 5 ---------------------------------------------------------------------------


def have_faces() -> bool:
    """Whether both sets of faces are here."""
    present = datasets.available()
    return all(present[name] for name in groups_faces.NEEDED)


def _no_faces(options: Options) -> Row | None:
    """Say that faces are left out, and why; nothing where they are here."""
    if options.size == "tiny":
        return left_out("faces", TOO_LONG)
    if not have_faces():
        files = " or ".join(f"{name}.npz" for name in groups_faces.NEEDED)
        return left_out("faces", f"no {files} in the folder that LINKSHIFT_DATA names")
    return None


def table_2(options: Options) -> Iterator[Row]:
    """Each kernel alone, an ensemble of these, and all kernels; on all faces and on each group."""
    yield from _table_2(options, "ours", {"n_init": _FACE_STARTS})


def table_2_literal(options: Options) -> Iterator[Row]:
    """Run the paper's algorithm on the same faces."""
    yield from _table_2(options, "literal", LITERAL)


def _table_2(options: Options, method: str, parameters: Mapping[str, Any]) -> Iterator[Row]:
    if missing := _no_faces(options):
        yield missing
        return
    draws = [groups_faces.faces(seed, per_group=options.pick(2, 4, 17)) for seed in _seeds(options)]
    problems = [Problem(groups_faces.distances(drawn), drawn.y) for drawn in draws]
    kernels = list(problems[0].distances)
    alone: list[list[Array]] = [[] for _ in draws]
    for kernel in [*kernels, "CE", "all"]:
        found, cpu = [], 0.0
        for seed, problem, of_draw in zip(_seeds(options), problems, alone, strict=True):
            some = kernels if kernel == "all" else [kernel]
            run = partial(_by_seed, problem, some, dict(parameters), seed)
            if kernel == "CE":
                run = partial(shared_ensemble, of_draw, problem.n_clusters, seed)
            labels, seconds = _timed(run)
            cpu += seconds / len(draws)
            found.append(labels)
            if kernel in kernels:
                of_draw.append(labels)
        by = "CE" if kernel == "CE" else method
        yield from _rows_2("all" if kernel == "CE" else kernel, by, draws, found, cpu)


def _rows_2(
    kernel: str, method: str, draws: Sequence[groups_faces.Faces], found: list[Array], cpu: float
) -> Iterator[Row]:
    """Give a row of the table, group by group."""
    printed = tables.load("groups_2")
    for name in ("all", *groups_faces.GROUPS):
        of_group = []
        for drawn, labels in zip(draws, found, strict=True):
            rows: Array = np.ones(len(drawn.y), dtype=bool)
            if name != "all":
                rows = drawn.group == groups_faces.GROUPS.index(name)
            of_group.append(scores(drawn.y[rows], labels[rows]))
        keys = {"kernel": kernel, "method": OURS.get(method, method)}
        cells: dict[str, Cell] = {
            "part": "table 2",
            "data": name,
            "views": kernel,
            "method": method,
            **_cells(of_group),
            "paper ACC %": printed.value(f"{name}/ACC %", **keys),
            "paper NMI": printed.value(f"{name}/NMI", **keys),
            "CPU s": round(cpu, 1),
        }
        yield Row(cells)


def figure_5(options: Options) -> Iterator[Row]:
    """Must-links and cannot-links, k of each a subject, with each kernel and with all."""
    if missing := _no_faces(options):
        yield missing
        return
    draws = [groups_faces.faces(seed, per_group=options.pick(2, 4, 17)) for seed in _seeds(options)]
    problems = [Problem(groups_faces.distances(drawn), drawn.y) for drawn in draws]
    kernels = list(problems[0].distances)
    for some in (kernels, *([name] for name in kernels)):
        for k in (0, 1, 2, 3):
            found = []
            for seed, problem in zip(_seeds(options), problems, strict=True):
                rng = np.random.default_rng(seed)
                links = class_links(problem.y, k, rng) if k else None
                labels = clusters(problem, some, seed, links, n_init=_FACE_STARTS)
                found.append(scores(problem.y, labels))
            cells: dict[str, Cell] = {
                "part": "figure 5",
                "data": f"{k}M{k}C",
                "views": "all" if len(some) > 1 else some[0],
                "method": "ours",
                **_cells(found),
            }
            yield Row(cells)
