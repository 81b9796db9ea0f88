"""SCML against metric-learn's: error of three nearest neighbours and seconds, same splits."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler, normalize

from benchmarks.harness import Array, Cell, Options, Row, Times, blobs, interleave
from linkshift import datasets
from linkshift.metric_learning import SCML

TITLE = (
    "SCML global and local against metric_learn.SCML_Supervised (where it runs): test error of "
    "3-NN in %, mean of the splits, and seconds to fit"
)
# Table 5.2 of the thesis: bases. The rest of the set-up is that of its section 5.1.
BASES = {
    "uci_wine": 200,
    "uci_wdbc": 200,
    "uci_vehicle": 400,
    "uci_segment": 400,
    "uci_vowel": 400,
    "usps_roweis11000": 800,
}


class Split(NamedTuple):
    """Training rows and test rows."""

    X: Array
    X_test: Array
    y: Array
    y_test: Array


def run(options: Options) -> Iterator[Row]:
    present = datasets.available()
    peer = find_peer()
    for name in options.pick(list(BASES)[:1], list(BASES), list(BASES)):
        if present[name]:
            yield compare(name, peer, options)


def find_peer() -> Any:
    """metric-learn's class, or None where it is absent or at odds with scikit-learn."""
    X, y = blobs(200, 3, n_centers=2)
    try:
        peer = importlib.import_module("metric_learn").SCML_Supervised
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            peer(n_basis=20, max_iter=10, output_iter=5).fit(X, y)
    except (ImportError, TypeError):
        return None
    return peer


def compare(name: str, peer: Any, options: Options) -> Row:
    errors: dict[str, list[float]] = {}
    seconds: dict[str, Times] = {}
    n_splits = options.rounds(1, 5, 5)
    for number in range(n_splits):
        split = draw(name, options.seed + number)
        sides: dict[str, Callable[[], Any]] = {
            kind: partial(SCML(kind, n_bases=BASES[name], random_state=0).fit, split.X, split.y)
            for kind in ("global", "local")
        }
        if number == 0:
            for fit in sides.values():  # compile outside the clock
                fit()
        if peer is not None:
            sides["metric-learn"] = partial(fit_peer, peer, split, BASES[name])
        times, fitted = interleave(sides, 1)
        for side, model in fitted.items():
            errors.setdefault(side, []).append(error(model, split))
            seconds.setdefault(side, Times([], [])).wall.extend(times[side].wall)
            seconds[side].cpu.extend(times[side].cpu)
    cells: dict[str, Cell] = {
        "data": name,
        "rows": split.X.shape[0],
        "columns": split.X.shape[1],
        "bases": BASES[name],
        "splits": n_splits,
    }
    cells |= {f"{side} %": float(np.mean(values)) for side, values in errors.items()}
    cells |= {f"{side} s": clock.best for side, clock in seconds.items()}
    return Row(cells, seconds)


def draw(name: str, seed: int) -> Split:
    """Columns standardised, rows of length 1, 60/40 by class; USPS 1,200/800 and 95 % PCA."""
    data = datasets.load(name)
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y)
    usps = name.startswith("usps")
    if usps:
        rows = np.random.RandomState(seed).permutation(len(X))[:2000]
        X, y = X[rows], y[rows]
    X = normalize(StandardScaler().fit_transform(X[:, X.std(axis=0) > 0]))
    if usps:
        X = PCA(0.95).fit_transform(X)
        return Split(X[:1200], X[1200:], y[:1200], y[1200:])
    return Split(*train_test_split(X, y, test_size=0.4, random_state=seed, stratify=y))


def fit_peer(peer: Any, split: Split, n_bases: int) -> Any:
    """Fit the peer in our set-up; with fewer bases where it cannot build so many."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return peer(n_basis=n_bases, random_state=0).fit(split.X, split.y)
        except ValueError:
            return peer(random_state=0).fit(split.X, split.y)


def error(model: Any, split: Split) -> float:
    if isinstance(model, SCML):
        return 100.0 * (1.0 - model.score(split.X_test, split.y_test))
    vote = KNeighborsClassifier(3).fit(model.transform(split.X), split.y)
    return 100.0 * (1.0 - float(vote.score(model.transform(split.X_test), split.y_test)))
