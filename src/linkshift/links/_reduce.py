"""Make the removal problem smaller without changing its answer."""

from __future__ import annotations

import numpy as np

from linkshift.links._graph import LinkGraph, compact
from linkshift.links._parse import FloatArray, IntArray

# A bundle: what it costs to cut between two nodes, and the must-links that are cut then.
Bundle = tuple[float, tuple[int, ...]]


# A graph of bundles, their weights, and the must-links that each of its must-links stands for.
Reduced = tuple[LinkGraph, FloatArray, list[tuple[int, ...]]]


def reduce_graph(graph: LinkGraph, weight: FloatArray) -> Reduced:
    """Drop dead ends, shorten chains, bundle parallel links.

    A node that no cannot-link names is of no interest by itself. With one must-link it is a dead
    end, which nobody needs to cut. With two it is a step on a chain: the cheaper of the two is the
    one to cut. Links that have become parallel are cut together or not at all. A chain through
    thousands of samples, as labels make it, shrinks to the samples in conflict.
    """
    around: list[dict[int, Bundle]] = [{} for _ in range(graph.n)]
    for e, (a, b) in enumerate(graph.must.tolist()):
        around[a][b] = around[b][a] = (float(weight[e]), (e,))
    free = np.ones(graph.n, dtype=bool)
    free[graph.cannot] = False
    waiting = [node for node in range(graph.n) if free[node] and len(around[node]) <= 2]
    while waiting:
        node = waiting.pop()
        neighbours = list(around[node].items())
        if len(neighbours) > 2:
            continue
        around[node] = {}
        for other, _ in neighbours:
            del around[other][node]
        if len(neighbours) == 2:
            (a, left), (b, right) = neighbours
            _join(around, a, b, left if left[0] <= right[0] else right)
        waiting += [other for other, _ in neighbours if free[other] and len(around[other]) <= 2]
    return _collected(around, graph.cannot)


def _join(around: list[dict[int, Bundle]], a: int, b: int, bundle: Bundle) -> None:
    beside = around[a].get(b)
    if beside is not None:
        bundle = (beside[0] + bundle[0], beside[1] + bundle[1])
    around[a][b] = around[b][a] = bundle


def _collected(around: list[dict[int, Bundle]], cannot: IntArray) -> Reduced:
    kept = [
        (a, b, bundle) for a, others in enumerate(around) for b, bundle in others.items() if a < b
    ]
    must = np.array([(a, b) for a, b, _ in kept], dtype=np.int64).reshape(-1, 2)
    graph, _ = compact(must, cannot)
    weight = np.array([bundle[0] for _, _, bundle in kept], dtype=np.float64)
    return graph, weight, [bundle[1] for _, _, bundle in kept]
