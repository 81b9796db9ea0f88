"""Constrained mean shift as in Schier et al. (2022), beside the paper's figures and the rivals.

``python -m benchmarks.run cms [--quick | --full] [--repeats N]``. The quick size makes only tables
1 and 2 and three numbers of links; ``--repeats`` is the number of draws of every part (the paper
has ten). ``LINKSHIFT_CMS_PARTS=table1,links`` in the environment picks parts; they are the keys of
`PARTS`; ``LINKSHIFT_CMS_METHODS`` picks methods of tables and curves, with
semicolons between.

Every repeat draws rows and links afresh (section 5.2 of the paper); all methods see the same
draws. Rivals that need the number of clusters are told it, on features scaled to [0, 1]. CPU
seconds are of one fit on one thread; sd is the sample standard deviation over repeats.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from benchmarks.harness import Cell, Options, Row, run_parts
from benchmarks.papers import tables
from benchmarks.papers.cms_methods import (
    AUTHORS,
    AUTHORS_LABELS,
    CLOSENESS,
    EMBEDDINGS,
    PAPER,
    PERCENTILE,
    SYNTHETIC,
    Draw,
    Fitted,
    Labels,
    Method,
    Score,
    cms,
    compare,
    embedding,
    fixed_mean_shift,
    kmeans,
    load,
    mean_shift,
    mpckmeans,
    ours,
    pckmeans,
    published,
    refined,
    rivals,
    row,
    score,
    synthetic,
    without_links,
)
from linkshift import ConstrainedMeanShift, Links, refine
from linkshift.shift.constrained import LinkKernel
from linkshift.shift.constrained.runs import ConstrainedShift

TITLE = "constrained mean shift: the paper's tables, the links curve, wrong answers"

LINK_COUNTS = (45, 100, 200, 500, 1000, 2000, 4000)
FIGURE_4 = tuple(np.linspace(45, 4000, 20).astype(int).tolist())  # the authors' twenty
RETENTIONS = tuple(round(0.1 * i, 1) for i in range(1, 11))
LAMBDAS = tuple(round(0.1 * i, 1) for i in range(1, 11))
ERROR_RATES = (0.0, 0.05, 0.1, 0.2)
QUANTILES = (0.002, 0.003, 0.005, 0.01, 0.03)
WIDTHS = (0.21, 0.22, 0.23, 0.24, 0.25)  # bandwidths, in features scaled to [0, 1]
NO_SCALE = 1e9  # h_c = min(h, lambda * length) is then always h


# Parts ------------------------------------------------------------------------------------------


def table_1(options: Options) -> Iterator[Row]:
    """100 iterations, as in the authors' code; the whole of s4 with 80, as the paper says."""
    for name in ("moons", *SYNTHETIC):
        yield from _synthetic(name, options, max_iter=100)


def table_1_whole(options: Options) -> Iterator[Row]:
    yield from _synthetic("s4, whole", options, max_iter=80)


def _synthetic(name: str, options: Options, max_iter: int) -> Iterator[Row]:
    methods = ours("synthetic", max_iter=max_iter) | rivals("synthetic")
    draws = [synthetic(name, seed) for seed in _seeds(options)]
    paper = published("cms_1", name.removesuffix(", whole"))
    yield from compare("table 1", name, f"{max_iter} iterations", draws, methods, paper)


def table_2(options: Options) -> Iterator[Row]:
    methods = ours("images") | rivals("images")
    for name in EMBEDDINGS:
        draws = [embedding(name, seed, 2000) for seed in _seeds(options)]
        yield from compare("table 2", name, "", draws, methods, published("cms_2", name))


def table_3(options: Options) -> Iterator[Row]:
    methods = ours("images") | rivals("images")
    for r in options.pick((0.1,), (0.1, 1.0), RETENTIONS):
        draws = [embedding("MNIST", seed, 1000, retention=r) for seed in _seeds(options)]
        paper = published("cms_3", f"r={r}", nmi=False)
        yield from compare("table 3", "MNIST", f"r={r}", draws, methods, paper)


def mean_shift_readings(options: Options) -> Iterator[Row]:
    """Which bandwidth gives the paper's row for mean shift on embeddings: not its percentile."""
    readings: dict[str, Method] = {
        "h at the 15th percentile": mean_shift,
        "the same, flat kernel": fixed_mean_shift(PERCENTILE, kernel="flat"),
        "the same, blurring": fixed_mean_shift(PERCENTILE, blurring=True),
        "half the 15th percentile": fixed_mean_shift(PERCENTILE, 0.5),
        "h at the 0.15th percentile": fixed_mean_shift(PERCENTILE / 100),
        **{f"h = {h}": without_links(h) for h in WIDTHS},
    }
    for name in EMBEDDINGS:
        draws = [embedding(name, seed, 2000) for seed in _seeds(options)]
        printed = published("cms_2", name)("mean shift")
        for reading, method in readings.items():
            scores = [score(method, draw) for draw in draws]
            yield row("mean shift", name, "", reading, scores, printed)


def table_4(options: Options) -> Iterator[Row]:
    """Ablation; a fixed bandwidth is the best of a grid of quantiles, as in the paper."""
    draws = [embedding("GTSRB", seed, 2000) for seed in _seeds(options)]
    table = tables.load("cms_4")
    for record in table.records():
        lam = 0.5 if record["scaling"] else NO_SCALE
        given = [draw if record["cannot_links"] else draw._replace(links=Links()) for draw in draws]
        paper = float(record["GTSRB/ARI"]), float(record["GTSRB/NMI"])
        tried: dict[float | None, dict[str, list[Score]]] = {}
        for q in (None,) if record["growing_bandwidth"] else QUANTILES:
            forms = _both_labels(constraint_scale=lam, quantile=q)
            tried[q] = {name: [score(form, d) for d in given] for name, form in forms.items()}
        for name in (AUTHORS, CLOSENESS):
            best = max(tried, key=lambda q: float(np.mean([s.ari for s in tried[q][name]])))
            setting = str(record["model"]) + ("" if best is None else f", h at quantile {best}")
            yield row("table 4", "GTSRB", setting, name, tried[best][name], paper)


def _both_labels(*, quantile: float | None = None, **parameters: Any) -> dict[str, Method]:
    """Give the paper's algorithm under both rules for labels, fitted once a draw."""
    kept: dict[int, tuple[Any, ...]] = {}

    def closeness(draw: Draw) -> Fitted:
        h = None if quantile is None else float(np.quantile(pdist(draw.X), quantile))
        growing = PAPER if quantile is None else PAPER | {"growth": "links"}
        model: Any = cms(**growing, **parameters, bandwidth=h, keep_history=True)(draw)
        states = [np.unique(at, axis=0, return_inverse=True) for at in model.history_[-2:]]
        kept[draw.seed] = model, states
        return Labels(model.labels_)

    def authors(draw: Draw) -> Fitted:
        closeness(draw)
        model, states = kept[draw.seed]
        shift = ConstrainedShift(
            draw.X, LinkKernel(model.kernel), scale=model.constraint_scale,
            blurring=model.blurring, until_settled=False, max_pairs=model.max_pairs,
            **AUTHORS_LABELS["images"], n_threads=1, weight=None,
        )  # fmt: skip
        pairs = draw.links.closure(len(draw.X)).cannot_pairs()
        bending = pairs, np.ones(len(pairs))
        return Labels(shift.labels(states, bending, float(model.bandwidth_[-1]), None))

    def again(draw: Draw) -> Fitted:
        return Labels(kept[draw.seed][0].labels_)

    return {AUTHORS: authors, CLOSENESS: again}


def figure_4(options: Options) -> Iterator[Row]:
    """Run all methods over the paper's twenty numbers of links."""
    linked = ours("images") | rivals("images")
    unlinked = {name: linked.pop(name) for name in ("mean shift", "k-means")}
    for name in EMBEDDINGS:
        draws = [embedding(name, seed, 45) for seed in _seeds(options)]  # links change no row
        free = {key: [score(method, d) for d in draws] for key, method in unlinked.items()}
        for n_links in options.pick((45,), FIGURE_4[::3], FIGURE_4):
            setting = f"{n_links:,} links"
            draws = [embedding(name, seed, n_links) for seed in _seeds(options)]
            yield from compare("figure 4", name, setting, draws, linked)
            for key, scores in free.items():
                yield row("figure 4", name, setting, key, scores)


def links_curve(options: Options) -> Iterator[Row]:
    methods = {
        "ours, raw": cms(refine=None),
        "ours, refined": cms(),
        "grown in full": cms(growth="full"),
        "k-means": kmeans,
        "k-means + refine": refined(kmeans),
        "PCKMeans": pckmeans,
        "MPCKMeans": mpckmeans,
        "PCKMeans + refine": refined(pckmeans),
    }
    for name in EMBEDDINGS:
        for n_links in options.pick((45,), (45, 200, 2000), LINK_COUNTS):
            draws = [embedding(name, seed, n_links) for seed in _seeds(options)]
            yield from compare("links", name, f"{n_links:,} links", draws, methods)


def scale_and_kernel(options: Options) -> Iterator[Row]:
    """Figure 6, but for the Gaussian that is not cut off, where a fit takes minutes."""
    draws = [embedding("GTSRB", seed, 2000) for seed in _seeds(options)]
    for kernel in ("truncated_gaussian", "flat"):
        yield from _figure_6("figure 6", kernel, draws)


def full_gaussian(options: Options) -> Iterator[Row]:
    """Figure 6: that Gaussian, without blurring, where its best lambda is."""
    draws = [embedding("GTSRB", seed, 2000) for seed in _seeds(options)]
    yield from _figure_6("figure 6", "gaussian", draws, LAMBDAS[1:5], modes=("nonblurring",))


def small_scale_and_kernel(options: Options) -> Iterator[Row]:
    """Figure 6 with 600 rows and links: all kernels, modes and lambdas in minutes."""
    draws = [embedding("GTSRB", seed, 600, n_rows=600) for seed in _seeds(options)]
    for kernel in ("truncated_gaussian", "flat", "gaussian"):
        yield from _figure_6("figure 6, 600 rows", kernel, draws)


def _figure_6(
    part: str,
    kernel: str,
    draws: Sequence[Draw],
    lambdas: Sequence[float] = LAMBDAS,
    modes: Sequence[str] = ("nonblurring", "blurring"),
) -> Iterator[Row]:
    for mode in modes:
        for lam in lambdas:
            forms = _both_labels(kernel=kernel, blurring=mode == "blurring", constraint_scale=lam)
            forms["our labels + refine"] = _refine_last(forms[CLOSENESS])
            yield from compare(part, "GTSRB", f"{kernel}, {mode}, lambda {lam}", draws, forms)


def _refine_last(method: Method) -> Method:
    return lambda draw: Labels(refine(draw.X, method(draw).labels_, draw.links))


def wrong_answers(options: Options) -> Iterator[Row]:
    ways: dict[str, Callable[[Links], Links]] = {
        "resolved": lambda links: links.conflicts().resolve(),
        "confidence 0.9": lambda links: Links(
            links.must, links.cannot, must_confidence=0.9, cannot_confidence=0.9
        ),
    }
    methods = {"ours, raw": cms(refine=None), "ours, refined": cms(), "PCKMeans": pckmeans}
    for name in ("MNIST", "GTSRB"):
        for rate in ERROR_RATES:
            draws = [embedding(name, seed, 2000, error_rate=rate) for seed in _seeds(options)]
            for way, change in ways.items():
                given = [draw._replace(links=change(draw.links)) for draw in draws]
                setting = f"{rate:.0%} wrong, {way}"
                yield from compare("wrong answers", name, setting, given, methods)


def scale(options: Options) -> Iterator[Row]:
    """Time and memory of the default, each in a process of its own."""
    sizes = options.pick(
        ((500, 500),), ((2000, 2000),), ((2000, 2000), (5000, 5000), (20000, 2000))
    )
    for n_rows, n_links in sizes:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
            cells = fresh.submit(_cost, n_rows, n_links, options.seed).result()
        yield Row({"part": "scale", "data": "MNIST", "rows": n_rows, "links": n_links, **cells})


def _cost(n_rows: int, n_links: int, seed: int) -> dict[str, Cell]:
    data = load(EMBEDDINGS["MNIST"])
    rng = np.random.default_rng([seed, 3])
    rows = rng.choice(len(data.y), n_rows, replace=False)
    links = Links.sample(data.y[rows], n_links, random_state=rng)
    ConstrainedMeanShift().fit(data.X[rows[:100]], links=Links(cannot=[(0, 1)]))  # compile
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin, cpu = time.perf_counter(), time.process_time()
    ConstrainedMeanShift(landmarks=None).fit(data.X[rows].astype(np.float64), links=links)
    return {
        "CPU s": round(time.process_time() - cpu, 2),
        "wall s": round(time.perf_counter() - begin, 2),
        "MB": round((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024),
    }


def refit(options: Options) -> Iterator[Row]:
    """Compare a few links more on a fitted model with a fresh fit."""
    for n_links in options.pick((100,), (200, 2000), (200, 500, 2000)):
        draw = embedding("MNIST", options.seed, n_links)
        for n_new in (1, 10):
            kept = len(draw.links.cannot) - n_new
            fewer = Links(draw.links.must, draw.links.cannot[:kept])
            model = ConstrainedMeanShift(keep_history=True, n_jobs=1).fit(draw.X, links=fewer)
            begin = time.process_time()
            model.refit(links=draw.links)
            again = time.process_time() - begin
            begin = time.process_time()
            fresh = ConstrainedMeanShift(n_jobs=1).fit(draw.X, links=draw.links)
            cpu = time.process_time() - begin
            yield Row(
                {
                    "part": "refit",
                    "data": "MNIST",
                    "links": n_links,
                    "new": n_new,
                    "fit, CPU s": round(cpu, 2),
                    "refit, CPU s": round(again, 2),
                    "share": round(again / cpu, 2),
                    "same labels": str(bool((fresh.labels_ == model.labels_).all())),
                }
            )


def _seeds(options: Options) -> list[int]:
    return [options.seed + i for i in range(options.repeats)]


PARTS: dict[str, Callable[[Options], Iterator[Row]]] = {
    "table1": table_1,
    "table1_whole": table_1_whole,
    "table2": table_2,
    "meanshift": mean_shift_readings,
    "table3": table_3,
    "table4": table_4,
    "figure4": figure_4,
    "figure6": scale_and_kernel,
    "figure6_gaussian": full_gaussian,
    "figure6_small": small_scale_and_kernel,
    "links": links_curve,
    "wrong": wrong_answers,
    "scale": scale,
    "refit": refit,
}


def run(options: Options) -> Iterator[Row]:
    default = options.pick(["table1"], ["table1", "table2", "links"], list(PARTS))
    yield from run_parts("LINKSHIFT_CMS_PARTS", PARTS, default, options)
