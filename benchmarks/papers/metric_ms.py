"""Mean shift with learned metrics as in Cheema's thesis (2016): tables 5.4 to 5.9, figure 5.1.

``python -m benchmarks.run metric_ms [--quick | --full] [--repeats N]``: N random splits, of which
the thesis makes five. In the environment, ``LINKSHIFT_METRIC_PARTS=tables,default`` picks parts,
which are the keys of `PARTS`, and ``LINKSHIFT_METRIC_DATA=Wine,Vowel`` data sets.

Set-up as in the thesis: columns of unit variance, rows of unit length, USPS reduced to 95 % of the
variance, 60 % of the rows labelled (1,200 of 2,000 for USPS), a metric learned from these, clusters
named by their labelled members, errors counted on the rest. The thesis picks the best of six values
of k for each data set by looking at the result; here k is the middle of its range, or 20 for all
(``default``). It does not say which rows are clustered: three readings are compared
(``readings``), and what our kernel and exponent change (``formula``).

``tables`` has our settings of the learner and of the kernel's coordinates, ``settings`` those of
table 5.2 and of section 4.3 wherever they are others. What stands after ± is the sample standard
deviation over the splits; the thesis does not say what its own is.
"""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler, normalize
from threadpoolctl import threadpool_limits

from benchmarks.harness import Cell, Options, Row, named, run_parts
from benchmarks.papers import metric_triplets, tables
from linkshift import SCML, MetricMeanShift, datasets
from linkshift.metrics import LabelledScore, labelled_score

TITLE = "mean shift with learned metrics: the thesis's tables, three readings, clusters against k"

Array = NDArray[Any]
Kind = Literal["global", "local"]
DATA = {
    "Wine": "uci_wine",
    "WDBC": "uci_wdbc",
    "Vehicle": "uci_vehicle",
    "Segment": "uci_segment",
    "Vowel": "uci_vowel",
    "USPS": "usps_roweis11000",
}
KERNELISED = ("Vehicle", "Segment", "Vowel", "USPS")
KINDS: tuple[Kind, Kind] = ("global", "local")
READINGS = ("joint", "train then assign", "test only")
FORMULAS: dict[str, dict[str, Any]] = {
    "d = columns": {"dimension": "columns"},
    "Gaussian": {"profile": "gaussian"},
    "Gaussian, d = columns": {"profile": "gaussian", "dimension": "columns"},  # as printed
}


class Split(NamedTuple):
    """Rows and classes; the first ``n_labelled`` rows are the training part."""

    X: Array
    y: Array
    n_labelled: int

    @property
    def labelled(self) -> Array:
        """Which rows are labelled."""
        return np.arange(len(self.y)) < self.n_labelled

    @property
    def known(self) -> Array:
        """Classes of the training part, -1 elsewhere."""
        return np.where(self.labelled, self.y, -1)


@cache
def _load(name: str) -> datasets.Dataset:
    return datasets.load(name)


def split(name: str, seed: int) -> Split:
    """One random split, preprocessed as in the thesis."""
    data = _load(DATA[name])
    order = np.random.default_rng(seed).permutation(len(data.y))
    n_labelled = round(0.6 * len(order))
    if name == "USPS":
        order, n_labelled = order[:2000], 1200
    X, y = data.X[order].astype(np.float64), np.unique(data.y[order], return_inverse=True)[1]
    X = normalize(StandardScaler().fit_transform(X[:, X.std(axis=0) > 0]))
    if name == "USPS":
        X = PCA(0.95, svd_solver="full").fit_transform(X)
    return Split(X, y, n_labelled)


def model(kind: Kind | SCML, *, seed: int, **parameters: Any) -> MetricMeanShift:
    return MetricMeanShift(kind, random_state=seed, n_jobs=1, **parameters)


def read(
    reading: str, kind: Kind | SCML, part: Split, seed: int, **parameters: Any
) -> LabelledScore:
    """Scores under one reading of the protocol."""
    n = part.n_labelled
    if reading == "joint":
        fitted = model(kind, seed=seed, **parameters).fit(part.X, partial_labels=part.known)
        return labelled_score(part.y, fitted.labels_, part.labelled)
    if reading == "train then assign":
        fitted = model(kind, seed=seed, **parameters).fit(part.X[:n], partial_labels=part.y[:n])
        clusters = np.concatenate([fitted.labels_, fitted.predict(part.X[n:])])
        return labelled_score(part.y, clusters, part.labelled)
    # The metric knows the training part, the density does not; its rows still name the clusters
    # that they climb to.
    learner = kind if isinstance(kind, SCML) else SCML(kind)
    metric = clone(learner).set_params(random_state=seed).fit(part.X[:n], part.y[:n])
    fitted = MetricMeanShift(metric, n_jobs=1, **parameters).fit(part.X[n:])
    clusters = np.concatenate([fitted.predict(part.X[:n]), fitted.labels_])
    return labelled_score(part.y, clusters, part.labelled)


# Rows -------------------------------------------------------------------------------------------


def printed(name: str, kind: Kind, kernelised: bool) -> dict[str, float]:
    """Look up the error, ARI and clusters that the thesis prints, and what it has after ±."""
    numbers = ("5_7", "5_8", "5_9") if kernelised else ("5_4", "5_5", "5_6")
    found = {}
    for number, what in zip(numbers, ("error %", "ARI", "clusters"), strict=True):
        for column in (what, f"± {what}"):
            value = tables.load(f"thesis_{number}").value(f"{kind}/{column}", data=name)
            found[column] = float(value)
    return found


def row(
    part: str,
    name: str,
    kind: Kind,
    kernelised: bool,
    setting: str,
    scores: Sequence[LabelledScore],
    seconds: float,
) -> Row:
    """Put ours beside the thesis's."""
    thesis = printed(name, kind, kernelised)
    error = _spread([100.0 * s.error for s in scores], 2)
    ari = _spread([s.labelled_ari for s in scores], 3)
    clusters = _spread([float(s.n_clusters) for s in scores], 2)
    cells: dict[str, Cell] = {
        "part": part,
        "data": name,
        "space": "kernel" if kernelised else "input",
        "metric": kind,
        "setting": setting,
        "splits": len(scores),
        "thesis error %": thesis["error %"],
        "thesis ± error %": thesis["± error %"],
        "error %": error[0],
        "± error %": error[1],
        "difference": round(error[0] - thesis["error %"], 2),
        "thesis ARI": thesis["ARI"],
        "thesis ± ARI": thesis["± ARI"],
        "labelled ARI": ari[0],
        "± labelled ARI": ari[1],
        "raw ARI": round(float(np.mean([s.ari for s in scores])), 3),
        "thesis clusters": thesis["clusters"],
        "thesis ± clusters": thesis["± clusters"],
        "clusters": clusters[0],
        "± clusters": clusters[1],
        "CPU s": round(seconds / len(scores), 1),
    }
    return Row(cells)


def _spread(values: Sequence[float], digits: int) -> tuple[float, float | None]:
    """Mean and sample standard deviation, which one value has not."""
    deviation = round(float(np.std(values, ddof=1)), digits) if len(values) > 1 else None
    return round(float(np.mean(values)), digits), deviation


def scored(
    options: Options, name: str, kind: Kind | SCML, reading: str = "joint", **parameters: Any
) -> tuple[list[LabelledScore], float]:
    """Scores over the splits, and CPU seconds for all of them."""
    scores = []
    begin = time.process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on points that are slow to arrive
        for seed in _seeds(options):
            scores.append(read(reading, kind, split(name, seed), seed, **parameters))
    return scores, time.process_time() - begin


def _seeds(options: Options) -> list[int]:
    return [options.seed + i for i in range(options.repeats)]


def _thesis_k(name: str, kind: Kind) -> int:
    """Middle of the thesis's range."""
    table = tables.load("thesis_5_3")
    low, high = (int(table.value(f"{kind} k {end}/count", data=name)) for end in ("from", "to"))
    return (low + high) // 2


def _names(options: Options) -> list[str]:
    present = datasets.available()
    default = options.pick(["Wine"], ["Wine", "WDBC", "Vehicle", "Vowel"], list(DATA))
    names = named("LINKSHIFT_METRIC_DATA", list(DATA), default)
    return [name for name in names if present[DATA[name]]]


# Parts ------------------------------------------------------------------------------------------


def thesis_tables(options: Options) -> Iterator[Row]:
    """Take k in the middle of the thesis's range, and its sigma."""
    for name, kernelised, kind in _cells(options):
        parameters, setting = _of_the_thesis(name, kind, kernelised)
        yield row(
            "tables", name, kind, kernelised, setting, *scored(options, name, kind, **parameters)
        )


def thesis_settings(options: Options) -> Iterator[Row]:
    """Take the bases, the embedding and the share of the variance of the thesis as well.

    Only where they are not ours: in input space that is USPS under local metrics.
    """
    for name, kernelised, kind in _cells(options):
        learner = thesis_learner(name, kind)
        if not kernelised and learner.embedding_dimension == SCML().embedding_dimension:
            continue
        parameters, setting = _of_the_thesis(name, kind, kernelised)
        setting += f", {learner.n_bases} bases"
        if kind == "local":
            setting += f", embedding {learner.embedding_dimension}"
        if kernelised:
            parameters["variance"] = 0.95
            setting += ", 95 %"
        yield row(
            "settings",
            name,
            kind,
            kernelised,
            setting,
            *scored(options, name, learner, **parameters),
        )


def thesis_learner(name: str, kind: Kind) -> SCML:
    """Make the learner with the settings of table 5.2."""
    table = tables.load("thesis_5_2")
    bases = int(table.value("basis elements/count", data=name))
    if kind == "global":
        return SCML(kind, n_bases=bases)
    dimension = int(table.value("embedding dimension/count", data=name))
    return SCML(kind, n_bases=bases, embedding_dimension=dimension)


def _of_the_thesis(name: str, kind: Kind, kernelised: bool) -> tuple[dict[str, Any], str]:
    """Parameters of table 5.3, and words for them."""
    k = _thesis_k(name, kind)
    if not kernelised:
        return {"n_neighbors": k}, f"k {k}"
    sigma = float(tables.load("thesis_5_3").value("sigma/length", data=name))
    parameters = {"n_neighbors": k, "kernel": "gaussian", "sigma": sigma}
    return parameters, f"k {k}, sigma {sigma:g}"


def default_rule(options: Options) -> Iterator[Row]:
    """Take the same k and the default sigma for all."""
    for name, kernelised, kind in _cells(options):
        parameters = {"kernel": "gaussian"} if kernelised else {}
        yield row("default", name, kind, kernelised, "", *scored(options, name, kind, **parameters))


def formula(options: Options) -> Iterator[Row]:
    """Take the thesis's exponent (d is the number of columns), its Gaussian, or both."""
    for name in _names(options):
        for kind in KINDS:
            k = _thesis_k(name, kind)
            for words, parameters in FORMULAS.items():
                scores, seconds = scored(options, name, kind, n_neighbors=k, **parameters)
                yield row("formula", name, kind, False, words, scores, seconds)


def readings(options: Options) -> Iterator[Row]:
    """Cluster all rows, the training part, or the test part."""
    for name in _names(options):
        for kind in KINDS:
            for reading in READINGS:
                scores, seconds = scored(
                    options, name, kind, reading, n_neighbors=_thesis_k(name, kind)
                )
                yield row("readings", name, kind, False, reading, scores, seconds)


def figure_5_1(options: Options) -> Iterator[Row]:
    """Count clusters against k."""
    for name in ("Vehicle", "USPS")[: options.pick(0, 1, 2)]:
        for kind in KINDS:
            for k in (5, 10, 15, 20, 25, 30, 40, 50):
                scores, seconds = scored(options, name, kind, n_neighbors=k)
                yield row("figure 5.1", name, kind, False, f"k {k}", scores, seconds)


def triplets(options: Options) -> Iterator[Row]:
    """Learn again from the clusters, which the thesis leaves to future work."""
    for name in _names(options):
        for kind in KINDS:
            scores: dict[str, list[LabelledScore]] = {}
            begin = time.process_time()
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # on points that are slow to arrive
                for seed in _seeds(options):
                    part = split(name, seed)
                    found = metric_triplets.rounds(
                        kind, part.X, part.known, seed, n_neighbors=_thesis_k(name, kind)
                    )
                    for words, clusters in found.items():
                        score = labelled_score(part.y, clusters, part.labelled)
                        scores.setdefault(words, []).append(score)
            seconds = (time.process_time() - begin) / len(scores)  # of a fit, in the mean
            for words, of_words in scores.items():
                yield row("triplets", name, kind, False, words, of_words, seconds)


def speed(options: Options) -> Iterator[Row]:
    """Fit once with all threads, metric and clusters, after a small fit that compiles."""
    cases: list[tuple[str, dict[str, Any]]] = [("Segment", {}), ("USPS", {})]
    cases.append(("USPS", {"kernel": "gaussian", "sigma": 1.5}))
    for name, parameters in cases[: options.pick(1, 2, 3)]:
        part = split(name, options.seed)
        for kind in KINDS:
            fit = MetricMeanShift(
                kind, n_neighbors=_thesis_k(name, kind), random_state=options.seed, **parameters
            ).fit
            fit(part.X[:300], partial_labels=part.y[:300])
            wall, cpu = time.perf_counter(), time.process_time()
            fitted = fit(part.X, partial_labels=part.known)
            cells: dict[str, Cell] = {
                "part": "speed",
                "data": f"{name}, n = {len(part.y):,}",
                "space": "kernel" if parameters else "input",
                "metric": kind,
                "columns": fitted.rank_,
                "clusters": fitted.n_clusters_,
                "wall s": round(time.perf_counter() - wall, 2),
                "CPU s": round(time.process_time() - cpu, 2),
                "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            }
            yield Row(cells)


def _cells(options: Options) -> Iterator[tuple[str, bool, Kind]]:
    for name in _names(options):
        for kernelised in (False, True) if name in KERNELISED else (False,):
            for kind in KINDS:
                yield name, kernelised, kind


PARTS: dict[str, Callable[[Options], Iterator[Row]]] = {
    "tables": thesis_tables,
    "settings": thesis_settings,
    "default": default_rule,
    "readings": readings,
    "formula": formula,
    "triplets": triplets,
    "figure": figure_5_1,
    "speed": speed,
}


def run(options: Options) -> Iterator[Row]:
    default = options.pick(["tables"], ["tables"], list(PARTS))
    yield from run_parts("LINKSHIFT_METRIC_PARTS", PARTS, default, options)
