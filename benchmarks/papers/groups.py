"""Clustering with group-dependent features as in Lin et al. (2010): table 1 and figure 5, in form.

``python -m benchmarks.run groups [--quick | --full] [--repeats N]``; ``LINKSHIFT_GROUPS_PARTS`` in
the environment picks parts, such as ``links``; they are the keys of `PARTS`.

`groups_tables` has the paper's own tables, with its descriptors. Here are its categories of
Caltech-101 with other features, and two other sets of several views. All methods are told the
number of clusters. Columns are standardised, since views mix units.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from threadpoolctl import threadpool_limits

from benchmarks import harness
from benchmarks.harness import Cell, Options, Row, interleave, left_out, run_parts
from benchmarks.papers import groups_tables
from benchmarks.papers.groups_rivals import (
    affinity_propagation,
    k_means,
    scaled,
    shared_ensemble,
    spectral,
)
from linkshift import GroupFeatureClustering, Links, datasets
from linkshift.baselines import evidence_accumulation
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
_LINK_STARTS = 8  # half as many as by default: with links there is less to search


class Draw(NamedTuple):
    """Views of the same samples, and their classes."""

    views: dict[str, Array]
    y: Array
    own: Array | None = None  # the view in which each class holds together, where there is one


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
    """Clusters that are dense in one view each, and there amidst all others."""
    n_views, a_view, noise = SYNTHETIC[name]
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_views * a_view), size)
    views = {}
    for view in range(n_views + noise):
        X = 2.0 * rng.normal(size=(len(y), 5))
        for c in range(view * a_view, (view + 1) * a_view) if view < n_views else ():
            X[y == c] = 1.25 * rng.normal(size=5) + 0.3 * rng.normal(size=(size, 5))
        views[f"view {view}"] = X
    return Draw(views, y, np.repeat(np.arange(n_views), a_view))


# Methods ----------------------------------------------------------------------------------------


def fitted(
    draw: Draw, seed: int, links: Links | None = None, **parameters: Any
) -> GroupFeatureClustering:
    options = {"n_jobs": 1, **parameters}
    return GroupFeatureClustering(_count(draw), random_state=seed, **options).fit(
        draw.views, links=links
    )


def ours(draw: Draw, seed: int, links: Links | None = None, **parameters: Any) -> Array:
    return fitted(draw, seed, links, **parameters).labels_


def right_view(draw: Draw, model: GroupFeatureClustering) -> float:
    """Share of the clusters whose most important view is that of their commonest class."""
    assert draw.own is not None
    classes = [np.bincount(draw.y[model.labels_ == c]).argmax() for c in range(model.n_clusters_)]
    return float(np.mean(model.view_importances_.argmax(axis=1) == draw.own[classes]))


def _count(draw: Draw) -> int:
    return int(draw.y.max()) + 1


def _kernels(draw: Draw) -> Array:
    values = kernel_bank(draw.views).values
    assert values is not None
    return values.astype(np.float64)


def _scaled_k_means(kernel: Array, n_clusters: int, seed: int) -> Array:
    """In coordinates that classical scaling recovers from the distances."""
    squared = -np.log(np.maximum(kernel, 1e-12))
    np.fill_diagonal(squared, 0.0)
    return k_means(scaled(np.sqrt(np.maximum(squared, 0.0)), _DIMENSIONS), n_clusters, seed)


def _propagated(kernel: Array, n_clusters: int, seed: int) -> Array:
    return affinity_propagation(np.log(np.maximum(kernel, 1e-12)), n_clusters, seed)


SINGLE: dict[str, Callable[[Array, int, int], Array]] = {
    "k-means": _scaled_k_means,
    "affinity propagation": _propagated,
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


def row(
    part: str, data: str, kernels: str, method: str, scores: Sequence[Score], **more: Cell
) -> Row:
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
        **more,
    }
    return Row(cells)


# Parts ------------------------------------------------------------------------------------------


def table_1(options: Options) -> Iterator[Row]:
    present = datasets.available()
    names = [name for name in options.pick([], ["MSRC-v1"], list(DATA)) if present[DATA[name]]]
    for name in names:
        yield from _compare("table 1", name, [real(name, seed) for seed in _seeds(options)])


def side_by_side(options: Options) -> Iterator[Row]:
    """Cluster all columns at once by k-means: a rival that the paper leaves out."""
    present = datasets.available()
    for name in [name for name in options.pick([], list(DATA), list(DATA)) if present[DATA[name]]]:
        draws = [real(name, seed) for seed in _seeds(options)]
        scores = [score(draw, _all_columns, draw, seed)[0] for seed, draw in enumerate(draws)]
        yield row("side by side", name, "all", "k-means, all columns", scores)


def _all_columns(draw: Draw, seed: int) -> Array:
    X = np.hstack([view / np.sqrt(view.shape[1]) for view in draw.views.values()])
    labels: Array = KMeans(_count(draw), n_init=10, random_state=seed).fit_predict(X)
    return labels


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
            score(draw, shared_ensemble, of_draw, n_clusters, seed)[0]
            for seed, (draw, of_draw) in enumerate(zip(draws, found, strict=True))
        ]
        yield row(part, name, "all", f"ensemble of {method}", joined)
        gathered = [
            score(draw, evidence_accumulation, of_draw, n_clusters)[0]
            for draw, of_draw in zip(draws, found, strict=True)
        ]
        yield row(part, name, "all", f"evidence accumulation of {method}", gathered)
    means = [
        score(draw, spectral, bank.mean(axis=0), n_clusters, seed)[0]
        for seed, (draw, bank) in enumerate(zip(draws, banks, strict=True))
    ]
    yield row(part, name, "all", "spectral, mean kernel", means)
    models: list[GroupFeatureClustering] = []

    def keep(draw: Draw, seed: int) -> Array:
        models.append(fitted(draw, seed))
        return models[-1].labels_

    own = [score(draw, keep, draw, seed)[0] for seed, draw in enumerate(draws)]
    more: dict[str, Cell] = {}
    if draws[0].own is not None:
        right = [right_view(draw, model) for draw, model in zip(draws, models, strict=True)]
        more["right view %"] = round(100.0 * float(np.mean(right)), 1)
    yield row(part, name, "all", "ours", own, **more)


def starts(options: Options) -> Iterator[Row]:
    """Vary what to begin with, how often, and whom to believe."""
    variants: dict[str, dict[str, Any]] = {
        "as it is": {},
        "random": {"init": "random"},
        "spectral": {"init": "spectral"},
        "8 partitions": {"n_init": 8},
        "one random partition": {"init": "random", "n_init": 1},
        "least loss, no consensus": {"consensus": False},
    }
    names = [name for name in ("MSRC-v1", "mfeat") if datasets.available()[DATA[name]]]
    draws = {name: [real(name, seed) for seed in _seeds(options)] for name in names}
    draws |= {name: [synthetic(name, seed) for seed in _seeds(options)] for name in SYNTHETIC}
    for name, of_name in draws.items():
        for variant, parameters in variants.items():
            scores = [
                score(draw, partial(ours, **parameters), draw, seed)[0]
                for seed, draw in enumerate(of_name)
            ]
            yield row("starts", name, "all", variant, scores)


def candidates(options: Options) -> Iterator[Row]:
    """Try more pairs of samples a round, from one random start: whether that helps."""
    if options.size == "tiny" or not datasets.available()[DATA["MSRC-v1"]]:
        return
    draws = [real("MSRC-v1", seed) for seed in _seeds(options)]
    for count in (3, 10, 100):
        method = partial(ours, n_init=1, init="random", n_candidates=count)
        scores = [score(draw, method, draw, seed)[0] for seed, draw in enumerate(draws)]
        yield row("candidates", "MSRC-v1", "all", f"{count} candidates, one start", scores)


def literal(options: Options) -> Iterator[Row]:
    """Run the paper's algorithm, under both of its losses, beside ours.

    Classes are of one size here, so that the paper's bounds of sizes are our default.
    """
    if options.size == "tiny" or not datasets.available()[DATA["MSRC-v1"]]:
        yield left_out("MSRC-v1", f"takes minutes, and needs {DATA['MSRC-v1']}.npz")
        return
    forms: dict[str, dict[str, Any]] = {
        "literal": groups_tables.LITERAL,
        "literal, ExpLoss": groups_tables.LITERAL | {"loss": "exp"},
        "ours, one random start": {"n_init": 1, "init": "random"},
        "ours, one random start, ExpLoss": {"n_init": 1, "init": "random", "loss": "exp"},
        "ours": {},
    }
    draws = [real("MSRC-v1", seed) for seed in _seeds(options)]
    for name, parameters in forms.items():
        method = partial(ours, **parameters)
        scores = [score(draw, method, draw, seed)[0] for seed, draw in enumerate(draws)]
        yield row("literal", "MSRC-v1", "all", name, scores)


def speed(options: Options) -> Iterator[Row]:
    """Seconds of a default fit on all cores."""
    sizes = {
        "600 samples, 20 clusters, 6 views": (600, 20, 6),
        "2000 samples, 10 clusters, 6 views": (2000, 10, 6),
    }
    for name, (n, n_clusters, n_views) in list(sizes.items())[: options.pick(0, 1, 2)]:
        rng = np.random.default_rng(options.seed)
        y = np.arange(n) % n_clusters
        centres = rng.normal(size=(n_views, n_clusters, 10))
        views = {f"view {m}": centres[m, y] + rng.normal(size=(n, 10)) for m in range(n_views)}
        draw = Draw(views, y)
        fitted(draw, 0, n_init=1, max_iter=1)  # compiles
        for n_init in (1, 8, 16):
            sides = {"ours": partial(fitted, draw, 0, n_init=n_init, n_jobs=None)}
            times, models = interleave(sides, options.repeats, budget=options.budget(20.0))
            cells: dict[str, Cell] = {
                "part": "speed",
                "data": name,
                "method": f"{counted(n_init)}, {models['ours'].n_iter_} iterations",
                "wall s": round(times["ours"].best, 1),
                "CPU s": round(min(times["ours"].cpu), 1),
            }
            yield Row(cells, times)


def counted(n_init: int) -> str:
    return "1 partition" if n_init == 1 else f"{n_init} partitions"


def figure_5(options: Options) -> Iterator[Row]:
    """Must-links and cannot-links, k of each a class."""
    names = options.pick([], ["MSRC-v1"], list(DATA))
    for name in [name for name in names if datasets.available()[DATA[name]]]:
        for k in options.pick((0,), (0, 3), (0, 1, 2, 3, 6, 10)):
            scores, free = [], []
            for seed in _seeds(options):
                draw = real(name, seed)
                links = class_links(draw.y, k, seed)
                method = partial(ours, n_init=_LINK_STARTS)
                one, labels = score(draw, method, draw, seed, links)
                scores.append(one)
                free.append(_free_accuracy(draw.y, labels, links))
            unlinked = round(100.0 * float(np.mean(free)), 1)
            yield row(
                "figure 5", name, f"{k}M{k}C", "ours", scores, **{"ACC % without links": unlinked}
            )


def _free_accuracy(y: Array, labels: Array, links: Links | None) -> float:
    """Accuracy among the samples that no link touches."""
    linked: Array = np.concatenate([links.must, links.cannot]) if links else np.empty(0)
    free = np.setdiff1d(np.arange(len(y)), linked)
    return float(clustering_accuracy(y[free], labels[free]))


def class_links(y: Array, k: int, seed: int) -> Links | None:
    """Links for a class as in the paper's figure; none at all for k = 0."""
    return harness.class_links(y, k, np.random.default_rng(seed)) if k else None


def _seeds(options: Options) -> list[int]:
    return [options.seed + i for i in range(options.repeats)]


PARTS: dict[str, Callable[[Options], Iterator[Row]]] = {
    "views": one_view_each,
    "table": table_1,
    "columns": side_by_side,
    "links": figure_5,
    "starts": starts,
    "candidates": candidates,
    "literal": literal,
    "speed": speed,
    "photos_rivals": groups_tables.table_1_rivals,
    "photos": groups_tables.table_1,
    "photos_literal": groups_tables.table_1_literal,
    "faces": groups_tables.table_2,
    "faces_literal": groups_tables.table_2_literal,
    "face_links": groups_tables.figure_5,
}


def run(options: Options) -> Iterator[Row]:
    default = options.pick(["views"], *[list(PARTS)] * 2)
    yield from run_parts("LINKSHIFT_GROUPS_PARTS", PARTS, default, options)
