"""Kernel mean shift as in Tuzel et al. (2009): its figures as tables, and its speed.

``python -m benchmarks.run kernel_ms [--quick | --full] [--repeats N]``: as many draws as
repeats (the tiny size: one). ``LINKSHIFT_KERNEL_PARTS=lines,speed`` in the environment picks parts;
they are the keys of `PARTS`.

The paper prints numbers of clusters and accuracies (``kernel_text.toml``), but neither coordinates
nor which rows were linked. Which rows are linked decides a good deal: the layouts of links are
therefore part of the table, also those that do worse. All methods have one set of defaults for the
multiplier and the exponent of the bandwidths; "literal" is the paper's text, the rank as dimension
and the k-th distance itself as bandwidth.
"""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import euclidean_distances
from threadpoolctl import threadpool_limits

from benchmarks.harness import Cell, Options, Row, class_links, interleave, left_out, run_parts
from benchmarks.papers import kernel_photos, tables
from benchmarks.papers.kernel_draws import (
    Draw,
    circles,
    faces,
    histograms,
    lines,
    loaded,
    table_rows,
)
from linkshift import KernelMeanShift, Links, datasets
from linkshift.bandwidth import pair_mean
from linkshift.metrics import clustering_accuracy
from linkshift.spaces.kernel import Kernel

TITLE = "kernel mean shift: the paper's figures as tables, link layouts, speed"

Array = NDArray[Any]
CURVE_DATA = ("uci_wine", "uci_iris", "uci_wdbc", "uci_digits8x8")
PLAIN = "kernel mean shift, no links"
PROJECTED = "projected"
RAW = "projected, refine=None"
LITERAL = "literal"
LEARNED = "learned"
LEARNED_RAW = "learned, refine=None"
_MULTIPLIERS = (0.2, 0.23, 0.26, 0.29, 0.32, 0.35, 0.38, 0.42, 0.46, 0.5, 0.6, 0.8, 1.0)
_AIRPLANES = 2  # of the photographs' classes, in the order of their names


class Score(NamedTuple):
    """How one fit did."""

    ari: float
    accuracy: float
    clusters: int
    cpu: float


# Methods and scores -----------------------------------------------------------------------------


def methods(names: Sequence[str], **parameters: Any) -> dict[str, Callable[[Draw], Array]]:
    """Labels for a draw, by name of the method."""

    def fit(draw: Draw, links: Links | None, **more: Any) -> Array:
        return KernelMeanShift(n_jobs=1, **parameters, **more).fit(draw.X, links=links).labels_

    def must(draw: Draw) -> Links:
        return Links(must=draw.links.must)

    every: dict[str, Callable[[Draw], Array]] = {
        PLAIN: lambda draw: fit(draw, None),
        PROJECTED: lambda draw: fit(draw, must(draw)),
        RAW: lambda draw: fit(draw, must(draw), refine=None),
        LITERAL: lambda draw: fit(
            draw, must(draw), refine=None, dimension="rank", bandwidth_scale=1.0
        ),
        LEARNED: lambda draw: fit(draw, draw.links, use_links="learn"),
        LEARNED_RAW: lambda draw: fit(draw, draw.links, use_links="learn", refine=None),
    }
    return {name: every[name] for name in names}


def score(method: Callable[[Draw], Array], draw: Draw) -> Score:
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on links that take many dimensions, and slow points
        begin = time.process_time()
        labels = method(draw)
        cpu = time.process_time() - begin
    counted = draw.y >= 0
    return Score(
        float(adjusted_rand_score(draw.y[counted], labels[counted])),
        float(clustering_accuracy(draw.y[counted], labels[counted])),
        len(np.unique(labels)),
        cpu,
    )


def row(part: str, data: str, setting: str, name: str, scores: Sequence[Score]) -> Row:
    ari = np.array([s.ari for s in scores])
    cells: dict[str, Cell] = {
        "part": part,
        "data": data,
        "setting": setting,
        "method": name,
        "ARI": round(float(ari.mean()), 3),
        "sd": round(float(ari.std(ddof=1)), 3) if len(ari) > 1 else None,
        "least": round(float(ari.min()), 3),
        "perfect": f"{int((ari == 1).sum())}/{len(ari)}",
        "paper ACC %": _printed(data, setting, name, "result/ACC %"),
        "ACC %": round(100 * float(np.mean([s.accuracy for s in scores])), 1),
        "paper clusters": _printed(data, setting, name, "found/clusters"),
        "clusters": round(float(np.mean([s.clusters for s in scores])), 1),
        "CPU s": round(float(np.mean([s.cpu for s in scores])), 2),
    }
    return Row(cells)


def _printed(data: str, setting: str, name: str, column: str) -> float | None:
    """Look up what the paper prints; nothing for what it does not have."""
    method = {PLAIN: "mean shift", PROJECTED: "constrained mean shift"}.get(name)
    if method is None or data not in ("lines", "circles", "PIE", "Caltech-4"):
        return None
    if data == "Caltech-4" and not setting.startswith(("0 ", "10 ")):
        return None  # printed for ten links a class only
    value = float(tables.load("kernel_text").value(column, data=data, method=method))
    return None if np.isnan(value) else value


def compare(
    part: str,
    data: str,
    setting: str,
    draws: Sequence[Draw],
    chosen: dict[str, Callable[[Draw], Array]],
) -> Iterator[Row]:
    for name, method in chosen.items():
        yield row(part, data, setting, name, [score(method, draw) for draw in draws])


# Parts ------------------------------------------------------------------------------------------


def figure_3(options: Options) -> Iterator[Row]:
    chosen = methods([PLAIN, PROJECTED, RAW, LITERAL], sigma=5.0)
    for gap in options.pick((2.0,), (1.5, 2.0), (1.5, 1.75, 2.0)):
        draws = [lines(seed, gap) for seed in _seeds(options)]
        yield from compare("figure 3", "lines", f"{gap} apart", draws, chosen)


def figure_4(options: Options) -> Iterator[Row]:
    for layout in ("even angles", "every eighth point", "random"):
        draws = [circles(seed, layout) for seed in _seeds(options)]
        for sigma in options.pick((30.0,), (20.0, 30.0), (5.0, 20.0, 30.0)):
            for k in options.pick((20,), (20,), (10, 15, 20)):
                names = [PLAIN, PROJECTED, RAW, LITERAL] if layout == "even angles" else [PROJECTED]
                chosen = methods(names, sigma=sigma, n_neighbors=k)
                setting = f"{layout}, sigma {sigma:g}, k {k}"
                yield from compare("figure 4", "circles", setting, draws, chosen)


def figure_6(options: Options) -> Iterator[Row]:
    """Take three mean pair distances as the width; the paper's is one."""
    lights = {0: "room dark", 1: "room lit"}
    for light, words in lights.items():
        draws = [faces(seed, light, 0, "random") for seed in _seeds(options)]
        yield from _faces(f"{words}, no links", draws, [PLAIN])
        for n_links in options.pick((4,), (2, 4), (2, 4)):
            for layout in ("far lights", "chain", "near lights", "random"):
                draws = [faces(seed, light, n_links, layout) for seed in _seeds(options)]
                setting = f"{words}, {n_links} links a subject, {layout}"
                yield from _faces(setting, draws, [PROJECTED, RAW, LITERAL])
        for layout in options.pick((), ("far lights",), ("far lights", "random")):
            draws = [faces(seed, light, 2, layout) for seed in _seeds(options)]
            setting = f"{words}, 2 links a subject, {layout}, the paper's sigma"
            yield from _faces(setting, draws, [PROJECTED, RAW, LITERAL], 1.0)


def _faces(
    setting: str, draws: Sequence[Draw], names: Sequence[str], width: float = 3.0
) -> Iterator[Row]:
    def wide(name: str) -> Callable[[Draw], Array]:
        return lambda draw: methods([name], sigma=width * pair_mean(draw.X))[name](draw)

    yield from compare("figure 6", "PIE", setting, draws, {name: wide(name) for name in names})


def figures_8_and_9(options: Options) -> Iterator[Row]:
    """Four classes of Caltech-101 in place of Caltech-4, and chi2 of texture histograms."""
    for n_links in options.pick((0, 2), (0, 1, 3, 5, 10), (0, 1, 2, 3, 5, 7, 10)):
        draws = [histograms(seed, n_links) for seed in _seeds(options)]
        names = [PROJECTED, RAW, LEARNED, LEARNED_RAW] if n_links else [PLAIN]
        setting = f"{n_links} links a class"
        chosen = methods(names, kernel="chi2")
        yield from compare("figures 8, 9", "Caltech-101, 4 classes", setting, draws, chosen)


def photographs(options: Options) -> Iterator[Row]:
    """Figures 8 and 9 on photographs, links drawn anew for each repeat.

    The paper has k as a share of the rows, and prints 20 of 240: 33 of 400. Others are shown too.
    """
    if kernel_photos.archive() is None:
        yield _no_photographs()
        return
    for width in kernel_photos.WIDTHS[: options.pick(1, 2, 2)]:
        X, y, _ = kernel_photos.histograms(width)
        for n_links in options.pick((0, 2), (0, 3, 10), (0, 1, 3, 5, 7, 10)):
            draws = [_linked_photographs(X, y, n_links, seed) for seed in _seeds(options)]
            names = [PROJECTED, RAW, LITERAL] if n_links else [PLAIN, LITERAL]
            some = draws if n_links else draws[:1]  # without links all draws are the same
            for k in (20, 33, 50) if n_links in (0, 10) else (33,):
                setting = f"{n_links} links a class, k {k}, {width} pixels"
                chosen = methods(names, kernel="chi2", n_neighbors=k)
                yield from compare("figures 8, 9", "Caltech-4", setting, some, chosen)


def _no_photographs() -> Row:
    why = f"no {kernel_photos.ARCHIVE} in the folder that LINKSHIFT_DATA names"
    return left_out("Caltech-4", why)


def _linked_photographs(X: Array, y: Array, n_links: int, seed: int) -> Draw:
    return Draw(X, y, class_links(y, n_links, np.random.default_rng(seed)))


def axes(options: Options) -> Iterator[Row]:
    """Shift in the leading principal axes of the projected space alone.

    Not in the paper. The numbers of axes are tried on this very set: none is a default.
    """
    if kernel_photos.archive() is None:
        yield _no_photographs()
        return
    chosen = {f"first {r} axes, refine=None": _leading(r) for r in (3, 5, 10, 20)}
    for width in kernel_photos.WIDTHS[: options.pick(1, 2, 2)]:
        X, y, _ = kernel_photos.histograms(width)
        for n_links in options.pick((0, 2), (0, 10), (0, 3, 7, 10)):
            seeds = _seeds(options) if n_links else _seeds(options)[:1]
            draws = [_projected(_linked_photographs(X, y, n_links, seed)) for seed in seeds]
            setting = f"{n_links} links a class, k 33, {width} pixels"
            yield from compare("figures 8, 9", "Caltech-4", setting, draws, chosen)


def _projected(draw: Draw) -> Draw:
    """Points in the space that links have projected; the links are spent."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelMeanShift("chi2", n_jobs=1, refine=None, bandwidth_scale=1.0, max_iter=1)
        return Draw(
            model.fit(draw.X, links=Links(must=draw.links.must)).embedding_, draw.y, Links()
        )


def _leading(n_axes: int) -> Callable[[Draw], Array]:
    def fit(draw: Draw) -> Array:
        Z = PCA(n_axes, svd_solver="full").fit_transform(draw.X)
        return KernelMeanShift("linear", n_neighbors=33, n_jobs=1).fit(Z).labels_

    return fit


def words(options: Options) -> Iterator[Row]:
    """Judge the words of photographs by themselves, and by the best of all multipliers.

    All of it knows the classes: it says what the words are good for, not what anyone would get.
    """
    if kernel_photos.archive() is None:
        yield _no_photographs()
        return
    for width in kernel_photos.WIDTHS[: options.pick(1, 2, 2)]:
        shares, y, counts = kernel_photos.histograms(width)
        for name, X in (("shares", shares), ("counts", shares * counts[:, None])):
            for n_links in (0, 10):
                draw = _linked_photographs(X, y, n_links, options.seed)
                cells: dict[str, Cell] = {
                    "part": "words",
                    "data": f"{width} pixels",
                    "setting": f"{name}, {n_links} links a class",
                    "points": f"{counts.min()} to {counts.max()}, median {np.median(counts):.0f}",
                }
                yield Row(cells | _judge(draw))


def _judge(draw: Draw) -> dict[str, Cell]:
    links, y = Links(must=draw.links.must), draw.y
    best, at, clusters = 0.0, 0.0, 0
    for c in _MULTIPLIERS:
        model = KernelMeanShift("chi2", n_jobs=1, refine=None, bandwidth_scale=c)
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            labels = model.fit(draw.X, links=links).labels_
        accuracy = float(clustering_accuracy(y, labels))
        if accuracy > best:
            best, at, clusters = accuracy, c, model.n_clusters_
        if model.n_clusters_ == 1:
            break
    Z = model.embedding_
    squared = euclidean_distances(Z, squared=True)
    own = y[:, None] == y
    between, within = squared[~own].mean(), squared[own & ~np.eye(len(y), dtype=bool)].mean()
    np.fill_diagonal(squared, np.inf)
    nearest = np.argsort(squared, axis=1)
    votes = (y[nearest[:, :5], None] == np.unique(y)).sum(axis=1)
    means = KMeans(4, n_init=10, random_state=0).fit_predict(Z)
    return {
        "1-NN %": _percent(np.mean(y[nearest[:, 0]] == y)),
        "5-NN %": _percent(np.mean(votes.argmax(axis=1) == y)),
        "airplanes 1-NN %": _percent(np.mean(y[nearest[y == _AIRPLANES, 0]] == _AIRPLANES)),
        "k-means told 4, ACC %": _percent(clustering_accuracy(y, means)),
        "between / within": round(float(between / within), 3),
        "best ACC %": _percent(best),
        "at c": at,
        "clusters": clusters,
        "one cluster from c": c,
    }


def _percent(share: float) -> float:
    return round(100 * float(share), 1)


def links_curve(options: Options) -> Iterator[Row]:
    for name in CURVE_DATA[: options.pick(1, 4, 4)]:
        for n_links in options.pick((0, 3), (0, 3, 10), (0, 1, 3, 5, 10)):
            draws = [table_rows(name, seed, n_links) for seed in _seeds(options)]
            chosen = methods([PROJECTED, RAW, LEARNED, LEARNED_RAW] if n_links else [PLAIN])
            yield from compare("links", name, f"{n_links} links a class", draws, chosen)


def speed(options: Options) -> Iterator[Row]:
    """Against the alpha vectors of the paper's figure 2, in one run; then larger sizes."""
    n = options.pick(120, 996, 996)
    yield _against_alpha(options, f"lines, n = {n}", *_many_lines(n), {"sigma": 5.0}, n // 12)
    if options.size == "full":
        X = loaded("usps_9298").X[:1000].astype(np.float64)
        parameters = {"sigma": pair_mean(X)}
        yield _against_alpha(options, "USPS, n = 1,000", X, Links(), parameters, 80)
    for n in options.pick((), (1998,), (1998, 3996)):
        yield _timed("lines", *_many_lines(n), {"sigma": 5.0, "n_neighbors": n // 12})
    if options.size != "tiny":
        data = loaded("usps_9298")
        rows_2000 = np.random.default_rng(options.seed).choice(len(data.y), 2000, replace=False)
        for k in (20, 100):
            yield _timed(f"USPS, k {k}", data.X[rows_2000], None, {"n_neighbors": k})
    for n in options.pick((), (20_004,), (20_004, 100_002)):
        parameters = {"sigma": 5.0, "n_neighbors": 300, "n_landmarks": 500, "random_state": 0}
        yield _timed("lines, 500 landmarks", *_many_lines(n), parameters)


def _against_alpha(
    options: Options, name: str, X: Array, links: Links, parameters: dict[str, Any], k: int
) -> Row:
    from tests.reference import kernel_mean_shift as literal

    model = KernelMeanShift(**parameters, n_neighbors=k, refine=None, n_jobs=1).fit(X, links=links)

    def alpha() -> Array:
        labels, _, _ = literal.kernel_mean_shift(
            Kernel("gaussian", **parameters)(X),
            links.must,
            k,
            dimension=model.dimension_,
            scale=model.bandwidth_scale_,
        )
        return labels

    def ours() -> Array:
        return model.fit(X, links=links).labels_

    with threadpool_limits(1):
        times, labels = interleave({"literal": alpha, "ours": ours}, options.repeats)
    return Row(
        {
            "part": "speed",
            "data": name,
            "setting": f"rank {model.rank_}, {model.n_iter_} steps",
            "method": "exact, one thread",
            "literal CPU s": round(min(times["literal"].cpu), 2),
            "CPU s": round(min(times["ours"].cpu), 3),
            "ratio": round(min(times["literal"].cpu) / min(times["ours"].cpu), 1),
            "same labels": float(adjusted_rand_score(*labels.values())) == 1.0,
        },
        raw=times,
    )


def _many_lines(n: int) -> tuple[Array, Links]:
    X, y = datasets.make_lines(n // 6, random_state=0)
    rows = [np.flatnonzero(y == 2 * o) for o in range(3)]
    return X, Links(must=[(r[3], r[-4]) for r in rows])


def _timed(name: str, X: Array, links: Links | None, parameters: dict[str, Any]) -> Row:
    """One fit on all cores; memory is the largest of the process so far."""
    model = KernelMeanShift(**parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        times, _ = interleave({"ours": lambda: model.fit(X, links=links)}, 1)
    return Row(
        {
            "part": "speed",
            "data": f"{name}, n = {len(X):,}",
            "setting": f"rank {model.rank_}, {model.n_iter_} steps",
            "method": "all threads",
            "clusters": model.n_clusters_,
            "CPU s": round(times["ours"].cpu[0], 2),
            "wall s": round(times["ours"].wall[0], 2),
            "peak MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        },
        raw=times,
    )


def _seeds(options: Options) -> list[int]:
    return [options.seed + i for i in range(options.rounds(1))]


PARTS: dict[str, Callable[[Options], Iterator[Row]]] = {
    "lines": figure_3,
    "circles": figure_4,
    "faces": figure_6,
    "histograms": figures_8_and_9,
    "photographs": photographs,
    "axes": axes,
    "words": words,
    "links": links_curve,
    "speed": speed,
}


def run(options: Options) -> Iterator[Row]:
    default = options.pick(["lines", "speed"], *[list(PARTS)] * 2)
    yield from run_parts("LINKSHIFT_KERNEL_PARTS", PARTS, default, options)
