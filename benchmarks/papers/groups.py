"""Clustering with group-dependent features as in Lin et al. (2010): table 1 and figure 5, in form.

``python -m benchmarks.run groups [--quick | --full] [--repeats N]``; ``LINKSHIFT_GROUPS_PARTS`` in
the environment picks parts, such as ``links``; they are the keys of `PARTS`.

The paper's features are not to be had: its categories of Caltech-101 are here with recomputed ones,
and two other sets of several views stand beside them. All methods are told the number of clusters.
Columns are standardised, since views mix units.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import AffinityPropagation, KMeans, SpectralClustering
from sklearn.metrics import normalized_mutual_info_score
from threadpoolctl import threadpool_limits

from benchmarks import harness
from benchmarks.harness import Cell, Options, Row, run_parts
from linkshift import GroupFeatureClustering, Links, datasets
from linkshift.groups.consensus import spectral_labels
from linkshift.groups.views import kernel_bank
from linkshift.metrics import clustering_accuracy

TITLE = "group-dependent features: against single views, ensembles and the mean kernel; links"

Array = NDArray[Any]
DATA = {
    "MSRC-v1": "mv_msrc_v1",
    "mfeat": "mv_mfeat_digits",
    "Caltech101-20": "mv_caltech101_20_recomputed",
}
SYNTHETIC = {"3 x 3": (3, 3, 0), "3 x 2, 3 noise views": (3, 2, 3)}
_DIMENSIONS = 50  # most that classical scaling keeps


class Draw(NamedTuple):
    """Views of the same samples, and their classes."""

    views: dict[str, Array]
    y: Array


class Score(NamedTuple):
    """How one clustering did."""

    accuracy: float
    nmi: float
    cpu: float


@cache
def _load(name: str) -> datasets.Dataset:
    return datasets.load(name)


def real(name: str, seed: int) -> Draw:
    """Thirty samples of each class (all of MSRC-v1 has), columns of unit variance."""
    data = _load(DATA[name])
    assert data.views is not None
    y = np.unique(data.y, return_inverse=True)[1]
    rng = np.random.default_rng(seed)
    rows = np.concatenate(
        [rng.permutation(np.flatnonzero(y == c))[:30] for c in range(int(y.max()) + 1)]
    )
    return Draw({key: _standard(view[rows]) for key, view in data.views.items()}, y[rows])


def _standard(view: Array) -> Array:
    X = view.astype(np.float64)
    spread = X.std(axis=0)
    result: Array = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return result


def synthetic(name: str, seed: int, size: int = 30) -> Draw:
    """Clusters that are dense in one view each and spread out in all others."""
    n_views, a_view, noise = SYNTHETIC[name]
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_views * a_view), size)
    views = {}
    for view in range(n_views + noise):
        X = 2.0 * rng.normal(size=(len(y), 5))
        for c in range(view * a_view, (view + 1) * a_view) if view < n_views else ():
            X[y == c] = 3.0 * rng.normal(size=5) + 0.5 * rng.normal(size=(size, 5))
        views[f"view {view}"] = X
    return Draw(views, y)


# Methods ----------------------------------------------------------------------------------------


def ours(draw: Draw, seed: int, links: Links | None = None, **parameters: Any) -> Array:
    model = GroupFeatureClustering(_count(draw), random_state=seed, n_jobs=1, **parameters)
    return model.fit(draw.views, links=links).labels_


def _count(draw: Draw) -> int:
    return int(draw.y.max()) + 1


def _kernels(draw: Draw) -> Array:
    values = kernel_bank(draw.views).values
    assert values is not None
    return values.astype(np.float64)


def spectral(kernel: Array, n_clusters: int, seed: int) -> Array:
    model = SpectralClustering(n_clusters, affinity="precomputed", random_state=seed)
    labels: Array = model.fit_predict(kernel)
    return labels


def k_means(kernel: Array, n_clusters: int, seed: int) -> Array:
    """In coordinates that classical scaling recovers from the distances."""
    squared = -np.log(np.maximum(kernel, 1e-12))
    np.fill_diagonal(squared, 0.0)
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(-0.25 * (centred + centred.T))
    kept = np.flatnonzero(values > 1e-9 * values[-1])[-_DIMENSIONS:]
    points = vectors[:, kept] * np.sqrt(values[kept])
    labels: Array = KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(points)
    return labels


def affinity_propagation(kernel: Array, n_clusters: int, seed: int) -> Array:
    """Search for the preference that gives as many clusters as asked for, by halving."""
    similarity = np.log(np.maximum(kernel, 1e-12))
    low, high = 50.0 * float(similarity.min()), float(np.median(similarity))
    best: Array = np.zeros(len(kernel), dtype=np.int64)
    for _ in range(12):
        middle = (low + high) / 2.0
        labels = AffinityPropagation(
            affinity="precomputed", preference=middle, random_state=seed, damping=0.9
        ).fit_predict(similarity)
        found = len(np.unique(labels))
        if abs(found - n_clusters) < abs(len(np.unique(best)) - n_clusters):
            best = labels
        if found == n_clusters:
            break
        low, high = (middle, high) if found < n_clusters else (low, middle)
    return best


SINGLE: dict[str, Callable[[Array, int, int], Array]] = {
    "k-means": k_means,
    "affinity propagation": affinity_propagation,
    "spectral": spectral,
}


def score(draw: Draw, method: Callable[..., Array], *arguments: Any) -> tuple[Score, Array]:
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rivals that do not settle
        begin = time.process_time()
        labels = method(*arguments)
        cpu = time.process_time() - begin
    accuracy = clustering_accuracy(draw.y, labels)
    return Score(accuracy, float(normalized_mutual_info_score(draw.y, labels)), cpu), labels


def row(part: str, data: str, kernels: str, method: str, scores: Sequence[Score]) -> Row:
    accuracy = np.array([s.accuracy for s in scores])
    cells: dict[str, Cell] = {
        "part": part,
        "data": data,
        "views": kernels,
        "method": method,
        "ACC %": round(100.0 * float(accuracy.mean()), 1),
        "sd": round(100.0 * float(accuracy.std(ddof=1)), 1) if len(scores) > 1 else None,
        "NMI": round(float(np.mean([s.nmi for s in scores])), 3),
        "CPU s": round(float(np.mean([s.cpu for s in scores])), 1),
    }
    return Row(cells)


# Parts ------------------------------------------------------------------------------------------


def table_1(options: Options) -> Iterator[Row]:
    present = datasets.available()
    names = [name for name in options.pick([], ["MSRC-v1"], list(DATA)) if present[DATA[name]]]
    for name in names:
        yield from _compare("table 1", name, [real(name, seed) for seed in _seeds(options)])


def one_view_each(options: Options) -> Iterator[Row]:
    size = options.pick(12, 30, 30)
    for name in list(SYNTHETIC)[: options.pick(1, 2, 2)]:
        draws = [synthetic(name, seed, size) for seed in _seeds(options)]
        yield from _compare("one view each", name, draws)


def _compare(part: str, name: str, draws: Sequence[Draw]) -> Iterator[Row]:
    banks = [_kernels(draw) for draw in draws]
    n_clusters = _count(draws[0])
    for method, run_one in SINGLE.items():
        found: list[list[Array]] = [[] for _ in draws]
        for m, view in enumerate(draws[0].views):
            scores = []
            for seed, (draw, bank) in enumerate(zip(draws, banks, strict=True)):
                one, labels = score(draw, run_one, bank[m], n_clusters, seed)
                scores.append(one)
                found[seed].append(labels)
            yield row(part, name, view, method, scores)
        joined = [
            score(draw, _ensemble, of_draw, n_clusters, seed)[0]
            for seed, (draw, of_draw) in enumerate(zip(draws, found, strict=True))
        ]
        yield row(part, name, "all", f"ensemble of {method}", joined)
    means = [
        score(draw, spectral, bank.mean(axis=0), n_clusters, seed)[0]
        for seed, (draw, bank) in enumerate(zip(draws, banks, strict=True))
    ]
    yield row(part, name, "all", "spectral, mean kernel", means)
    fitted = [score(draw, ours, draw, seed)[0] for seed, draw in enumerate(draws)]
    yield row(part, name, "all", "ours", fitted)


def _ensemble(partitions: Sequence[Array], n_clusters: int, seed: int) -> Array:
    """Spectral clustering of how often samples are together, over the views."""
    return spectral_labels(np.stack(partitions), n_clusters, random_state=seed)


def figure_5(options: Options) -> Iterator[Row]:
    """Must-links and cannot-links, k of each a class."""
    names = options.pick([], ["MSRC-v1"], list(DATA))
    for name in [name for name in names if datasets.available()[DATA[name]]]:
        for k in options.pick((0,), (0, 3), (0, 1, 2, 3, 6, 10)):
            scores = []
            for seed in _seeds(options):
                draw = real(name, seed)
                scores.append(score(draw, ours, draw, seed, class_links(draw.y, k, seed))[0])
            yield row("figure 5", name, f"{k}M{k}C", "ours", scores)


def class_links(y: Array, k: int, seed: int) -> Links | None:
    """Links for a class as in the paper's figure; none at all for k = 0."""
    return harness.class_links(y, k, np.random.default_rng(seed)) if k else None


def _seeds(options: Options) -> list[int]:
    return [options.seed + i for i in range(options.pick(1, min(options.repeats, 2), 10))]


PARTS: dict[str, Callable[[Options], Iterator[Row]]] = {
    "views": one_view_each,
    "table": table_1,
    "links": figure_5,
}


def run(options: Options) -> Iterator[Row]:
    default = options.pick(["views"], *[list(PARTS)] * 2)
    yield from run_parts("LINKSHIFT_GROUPS_PARTS", PARTS, default, options)
