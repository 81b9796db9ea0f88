"""Which method serves best for what is given: what ``method="auto"`` rests on.

Every method, with the parameters that the command uses, on the same rows and the same links. Sets
are cut to some hundred rows, since most methods are compared hundreds of times.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from benchmarks.auto_cases import (
    CASES,
    MADE,
    PUBLIC,
    QUICK_SETS,
    TINY_CASES,
    Case,
    Given,
    data,
    given,
)
from benchmarks.harness import Array, Cell, Options, Row
from linkshift import (
    ConstrainedMeanShift,
    KernelMeanShift,
    Links,
    MeanShift,
    MetricMeanShift,
    bandwidth_path,
    datasets,
    refine,
)
from linkshift.bandwidth.path import BandwidthPath
from linkshift.methods import cluster
from linkshift.metrics import link_satisfaction, n_clusters

TITLE = (
    "methods by what is given; columns standardised, one thread; ranks from 1, the best; a method "
    "that refuses its input counts as one cluster"
)
LEAST_FREE = 30  # rows that no link touches: fewer say nothing
LEARN_LINKS = 100  # a kernel learned from more takes minutes


# --- methods ------------------------------------------------------------------------------------


class Bases:
    """Clusterings that no link changes: made once for all cases, with the seconds they took."""

    def __init__(self, X: Array) -> None:
        self.X = X
        self.seconds: dict[str, float] = {}
        self._made: dict[str, Array | BandwidthPath] = {}

    def labels(self, name: str) -> Array:
        """Labels of plain mean shift, flat or gaussian, or of kernel mean shift without links."""
        make = {
            "flat": lambda: MeanShift(n_jobs=1).fit_predict(self.X),
            "gaussian": lambda: MeanShift(kernel="gaussian", n_jobs=1).fit_predict(self.X),
            "kernel": lambda: kernel_model(self.X).fit_predict(self.X),
        }[name]
        found = self._once(name, make)
        assert isinstance(found, np.ndarray)
        return found

    def path(self) -> BandwidthPath:
        """Bandwidth path, without links."""
        found = self._once("path", partial(bandwidth_path, self.X, n_jobs=1))
        assert isinstance(found, BandwidthPath)
        return found

    def _once(self, name: str, make: Callable[[], Array | BandwidthPath]) -> Array | BandwidthPath:
        if name not in self._made:
            begin = time.perf_counter()
            self._made[name] = make()
            self.seconds[name] = time.perf_counter() - begin
        return self._made[name]


Method = Callable[[Given, Bases], Array]


@dataclass(frozen=True)
class Candidate:
    """A method, the base it starts from, and the cases that it is tried in."""

    run: Method
    base: str = ""
    tried: Callable[[Case], bool] = lambda _: True


def has_links(case: Case) -> bool:
    return bool(case.n_links or case.labelled)


def has_cannot(case: Case) -> bool:
    return bool(case.cannot or case.both or case.labelled)


def has_both(case: Case) -> bool:
    return bool(case.both or case.labelled)


def learnable(case: Case) -> bool:
    """Few enough links for a learned kernel."""
    return has_links(case) and case.n_links <= LEARN_LINKS and case.labelled < 0.2


def kernel_model(X: Array, use_links: Literal["project", "learn"] = "project") -> KernelMeanShift:
    neighbours = min(20, len(X) - 1)
    return KernelMeanShift(n_neighbors=neighbours, use_links=use_links, n_jobs=1, random_state=0)


def base_labels(name: str, _: Given, bases: Bases) -> Array:
    return bases.labels(name)


def base_refined(name: str, g: Given, bases: Bases) -> Array:
    return refine(g.X, bases.labels(name), g.links)


def constrained(g: Given, _: Bases) -> Array:
    return ConstrainedMeanShift(n_jobs=1).fit_predict(g.X, links=g.links)


def projected(g: Given, _: Bases) -> Array:
    """Project by must-links; cannot-links, which projection does not take, only refine."""
    must = Links(g.links.must, n_samples=len(g.y))
    labels = kernel_model(g.X).fit_predict(g.X, links=must)
    return refine(g.X, labels, g.links) if len(g.links.cannot) else labels


def learned(g: Given, _: Bases) -> Array:
    return kernel_model(g.X, "learn").fit_predict(g.X, links=g.links)


def metric(g: Given, _: Bases, *, refined: bool = False) -> Array:
    model = MetricMeanShift(n_neighbors=min(20, len(g.X) - 1), n_jobs=1, random_state=0)
    if g.known is None:
        labels = model.fit_predict(g.X, links=g.links)
    else:
        labels = model.fit_predict(g.X, partial_labels=g.known)
    return refine(g.X, labels, g.links) if refined else labels


def from_path(g: Given, bases: Bases, *, refined: bool = False) -> Array:
    path = bases.path()
    if not len(g.links):
        return path.labels(path.best("stability"))
    path = path.under(g.links)
    labels = path.labels(path.best("links"))
    return refine(g.X, labels, g.links) if refined else labels


def automatic(g: Given, _: Bases) -> Array:
    """Let `linkshift.cluster` pick."""
    given_links = g.links if g.known is None else None
    found = cluster(g.X, given_links, partial_labels=g.known, random_state=0, n_jobs=1)
    return found.labels


CANDIDATES = {
    "flat": Candidate(partial(base_labels, "flat"), "flat"),
    "gaussian": Candidate(partial(base_labels, "gaussian"), "gaussian"),
    "kernel": Candidate(partial(base_labels, "kernel"), "kernel"),
    "path": Candidate(from_path, "path"),
    "flat+r": Candidate(partial(base_refined, "flat"), "flat", has_links),
    "gaussian+r": Candidate(partial(base_refined, "gaussian"), "gaussian", has_links),
    "kernel+r": Candidate(partial(base_refined, "kernel"), "kernel", has_links),
    "path+r": Candidate(partial(from_path, refined=True), "path", has_links),
    "cms": Candidate(constrained, tried=has_cannot),
    "project": Candidate(projected, tried=has_links),
    "learn": Candidate(learned, tried=learnable),
    "metric": Candidate(metric, tried=has_both),
    "metric+r": Candidate(partial(metric, refined=True), tried=has_both),
    "auto": Candidate(automatic),
}


# --- scores -------------------------------------------------------------------------------------


class Score(NamedTuple):
    """One method on one draw."""

    ari: float
    free_ari: float  # of rows that no link touches; nan when they are few
    clusters: float  # found, over classes
    kept: float  # share of the links; nan without links
    seconds: float
    refused: bool = False


def score(candidate: Candidate, g: Given, bases: Bases) -> Score:
    begin = time.perf_counter()
    refused = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what the defaults lead to: that is the question
        made = candidate.base in bases.seconds
        try:
            labels = candidate.run(g, bases)
        except ValueError:  # contradictions, or no row with links of both kinds
            labels, refused = np.zeros(len(g.y), dtype=np.int64), True
    seconds = time.perf_counter() - begin
    if made:
        seconds += bases.seconds[candidate.base]
    touched = np.unique(np.concatenate([g.links.must.ravel(), g.links.cannot.ravel()]))
    free = np.setdiff1d(np.arange(len(g.y)), touched)
    few = len(free) < LEAST_FREE
    return Score(
        adjusted_rand_score(g.y, labels),
        np.nan if few else adjusted_rand_score(g.y[free], labels[free]),
        n_clusters(labels) / len(np.unique(g.y)),
        link_satisfaction(labels, g.links).share if len(g.links) else np.nan,
        seconds,
        refused,
    )


Scores = dict[tuple[str, str, int, str], Score]  # case, set, draw, method


def measure(
    names: Sequence[str],
    cases: Sequence[Case],
    draws: Sequence[int],
    most: int,
    methods: Sequence[str] | None = None,
) -> Iterator[tuple[str, Case, Scores]]:
    """Set by set and case by case, the scores of all draws; None takes all methods."""
    for name in names:
        sets = [data(name, most, seed) for seed in draws]
        raw = [Bases(X) for X, _ in sets]
        scaled = [Bases(StandardScaler().fit_transform(X)) for X, _ in sets]
        for case in cases:
            scores: Scores = {}
            for seed, bases, (_, y) in zip(
                draws, scaled if case.scaled else raw, sets, strict=True
            ):
                g = given(bases.X, y, case, seed)
                for method in CANDIDATES if methods is None else methods:
                    if CANDIDATES[method].tried(case):
                        scores[case.name, name, seed, method] = score(CANDIDATES[method], g, bases)
            yield name, case, scores


# --- tables -------------------------------------------------------------------------------------

TABLES: dict[str, Callable[[Sequence[Score]], float]] = {
    "ARI": lambda scores: float(np.mean([s.ari for s in scores])),
    "ARI, free rows": lambda scores: _mean([s.free_ari for s in scores]),
    "clusters / classes": lambda scores: float(
        np.exp(np.mean(np.log([s.clusters for s in scores])))
    ),
    "links kept": lambda scores: _mean([s.kept for s in scores]),
    "refused": lambda scores: float(np.mean([s.refused for s in scores])),
    "seconds": lambda scores: float(np.mean([s.seconds for s in scores])),
}


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else np.nan


def run(options: Options) -> Iterator[Row]:
    """Compare all methods; with --full, --repeats is the number of draws."""
    there = datasets.available()
    names = [*MADE, *options.pick((), QUICK_SETS, PUBLIC)][: 1 if options.size == "tiny" else None]
    for name in names:
        if name not in MADE and not there[name]:
            yield Row({"table": "ARI", "set": name, "case": "absent"})
    names = [name for name in names if name in MADE or there[name]]
    draws = [1000 * options.seed + draw for draw in range(options.pick(1, 1, options.repeats))]
    cases = options.pick(TINY_CASES, CASES, CASES)
    scores: Scores = {}
    for name, case, found in measure(names, cases, draws, options.pick(60, 250, 400)):
        scores |= found
        yield Row(cells("ARI", TABLES["ARI"], name, case.name, found))
    for case in cases:
        yield Row(rank_cells(case.name, scores))
    for table, value in TABLES.items():
        for case in cases:
            yield Row(cells(table, value, "all", case.name, scores))


def cells(
    table: str,
    value: Callable[[Sequence[Score]], float],
    name: str,
    case: str,
    scores: Scores,
) -> dict[str, Cell]:
    """One line: the value of each method over all draws of a case."""
    line: dict[str, Cell] = {"table": table, "set": name, "case": case}
    for method in CANDIDATES:
        mine = [s for key, s in scores.items() if (key[0], key[3]) == (case, method)]
        if mine and not np.isnan(found := value(mine)):
            line[method] = found
    return line


def rank_cells(case: str, scores: Scores) -> dict[str, Cell]:
    """Mean rank of each method by ARI, over sets and draws; equals share their ranks."""
    draws = sorted({key[1:3] for key in scores if key[0] == case})
    methods = [m for m in CANDIDATES if (case, *draws[0], m) in scores]
    table = [[-scores[case, *draw, m].ari for m in methods] for draw in draws]
    ranks = rankdata(np.round(table, 9), axis=1).mean(axis=0)
    return {"table": "rank", "set": "all", "case": case} | {
        m: float(rank) for m, rank in zip(methods, ranks, strict=True)
    }
