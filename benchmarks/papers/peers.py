"""Rivals in ``linkshift.baselines`` beside other people's code and the figures of the CMS paper.

``python -m benchmarks.run peers [--quick | --full] [--repeats N]``. ``LINKSHIFT_PEERS_PARTS`` in
the environment picks parts; they are the keys of `PARTS`.

"quality" and "speed" run the package active-semi-supervised-clustering where it can be imported (it
wants metric-learn beside it) on the same rows and links, scaled to [0, 1], with the same price of a
link; where it cannot, its columns are empty. It fails when a cluster runs empty: it is then begun
anew, ten times at most. "density" and "spectral" stand beside tables 1 and 2 of Schier et al.
(2022).
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from threadpoolctl import threadpool_limits

from benchmarks.harness import Array, Cell, Options, Row, run_parts
from benchmarks.papers import cms, tables
from benchmarks.papers.cms_methods import scaled
from linkshift import Links, datasets
from linkshift.baselines import CDBSCAN, ConstrainedSpectral, MPCKMeans, PCKMeans

TITLE = "rivals beside active-semi-supervised-clustering and the figures of the CMS paper"

SETS = ("uci_iris", "uci_wine", "uci_ecoli", "uci_wdbc", "sipu_jain", "cms_dkm-mnist")
N_ROWS = 300
TRIES = 10
SYNTHETIC = ("moons", *cms.SYNTHETIC)


def peer_class(name: str) -> Any | None:
    """Give a class of the other package, or None where it is not there."""
    before = np.geterr()
    try:
        package = importlib.import_module("active_semi_clustering")
    except ImportError:
        return None
    finally:
        np.seterr(**before)  # the import turns warnings about numbers into errors, for all
    return getattr(package, name)


def ours(name: str, k: int, seed: int, n_init: int) -> Any:
    if name == "PCKMeans":
        return PCKMeans(k, n_init=n_init, random_state=seed)
    return MPCKMeans(k, metric="single", n_init=n_init, random_state=seed)


def peer_labels(name: str, X: Array, k: int, links: Links, seed: int) -> Array | None:
    """Labels of the other package; None where it fails every time or is not there."""
    kind = peer_class(name)
    if kind is None:
        return None
    must, cannot = (list(map(tuple, pairs.tolist())) for pairs in (links.must, links.cannot))
    for i in range(TRIES):
        np.random.seed(1000 * seed + i)  # noqa: NPY002 (what it draws from)
        try:
            return np.asarray(kind(n_clusters=k).fit(X, ml=must, cl=cannot).labels_)
        except Exception:
            continue
    return None


def _draw(name: str, n_rows: int, seed: int) -> tuple[Array, Array, Links]:
    """At most so many rows of a set, scaled, and as many links."""
    data = datasets.load(name)
    rng = np.random.default_rng([seed, 7])
    rows = rng.permutation(len(data.y))[:n_rows]
    X, y = data.X[rows].astype(np.float64), data.y[rows]
    return scaled(X, X), y, Links.sample(y, len(y), random_state=rng)


def _mean(values: list[float]) -> float | None:
    return round(float(np.mean(values)), 3) if values else None


def quality(options: Options) -> Iterator[Row]:
    for name in options.pick(SETS[:1], SETS, SETS):
        n_rows = options.pick(60, N_ROWS, N_ROWS)
        for method in ("PCKMeans", "MPCKMeans"):
            found: dict[str, list[float]] = {"ours": [], "ours, one start": [], "peer": []}
            failed = 0
            for seed in range(options.repeats):
                X, y, links = _draw(name, n_rows, seed)
                k = len(np.unique(y))
                theirs = peer_labels(method, X, k, links, seed)
                failed += theirs is None
                many = ours(method, k, seed, 10).fit_predict(X, links=links)
                one = ours(method, k, seed, 1).fit_predict(X, links=links)
                for column, labels in zip(found, (many, one, theirs), strict=True):
                    if labels is not None:
                        found[column].append(float(adjusted_rand_score(y, labels)))
            cells: dict[str, Cell] = {"table": "quality", "data": name, "method": method}
            cells |= {column: _mean(values) for column, values in found.items()}
            yield Row(cells | {"peer failed": failed, "repeats": options.repeats})


def speed(options: Options) -> Iterator[Row]:
    """Seconds and ARI of one draw, or means of as many as are asked for."""
    n = options.pick(60, 500, 2000)
    draws = [_draw("cms_dkm-mnist", n, seed) for seed in range(options.rounds(1, 1, 1))]
    for method in ("PCKMeans", "MPCKMeans"):
        found: dict[str, list[tuple[float, float]]] = {}
        for seed, (X, y, links) in enumerate(draws):
            k = len(np.unique(y))
            sides: dict[str, Callable[[], Array | None]] = {
                "ours": partial(ours(method, k, seed, 10).fit_predict, X, links=links),
                "ours, one start": partial(ours(method, k, seed, 1).fit_predict, X, links=links),
                "peer": partial(peer_labels, method, X, k, links, seed),
            }
            sides["ours, one start"]()  # compiles
            for side, work in sides.items():
                with threadpool_limits(1):
                    seconds, labels = _timed(work)
                if labels is not None:
                    score = float(adjusted_rand_score(y, labels))
                    found.setdefault(side, []).append((seconds, score))
        cells: dict[str, Cell] = {
            "table": "speed",
            "method": method,
            "rows": n,
            "links": n,
            "draws": len(draws),
        }
        mean = {side: np.mean(each, axis=0) for side, each in found.items()}
        cells |= {f"{side}, s": round(float(each[0]), 4) for side, each in mean.items()}
        if "peer" in mean:
            cells["times faster"] = float(mean["peer"][0] / mean["ours"][0])
            cells["times faster, one start"] = float(mean["peer"][0] / mean["ours, one start"][0])
        cells |= {f"{side}, ARI": round(float(each[1]), 3) for side, each in mean.items()}
        yield Row(cells)


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.process_time()
    found = work()
    return time.process_time() - begin, found


def _paper_draws(options: Options) -> Iterator[tuple[str, str, list[cms.Draw]]]:
    """Give the sets of tables 1 and 2, the stored table of each, and draws."""
    seeds = range(options.repeats)
    for name in options.pick(SYNTHETIC[:1], SYNTHETIC, SYNTHETIC):
        yield name, "cms_1", [cms.synthetic(name, seed) for seed in seeds]
    for name in options.pick((), (), tuple(cms.EMBEDDINGS)):
        yield name, "cms_2", [cms.embedding(name, seed, 2000) for seed in seeds]


def _beside_paper(
    table: str, data: str, stored: str, printed: str, method: str, draws: list[cms.Draw], fit: Any
) -> Row:
    """ARI and NMI beside the published ones, and the share of rows in the largest cluster."""
    ari, nmi, largest = [], [], []
    begin = time.process_time()
    with threadpool_limits(1):
        for draw in draws:
            labels = fit(draw).labels_
            ari.append(float(adjusted_rand_score(draw.y, labels)))
            nmi.append(float(normalized_mutual_info_score(draw.y, labels)))
            largest.append(float(np.bincount(labels + 1).max() / len(labels)))
    seconds = (time.process_time() - begin) / len(draws)
    paper = {
        score: float(tables.load(stored).value(f"{data}/{score}", method=printed))
        for score in ("ARI", "NMI")
    }
    cells: dict[str, Cell] = {
        "table": table,
        "data": data,
        "method": method,
        "paper": paper["ARI"],
        "ARI": _mean(ari),
        "sd": round(float(np.std(ari, ddof=1)), 3) if len(ari) > 1 else None,
        "difference": round(float(np.mean(ari)) - paper["ARI"], 3),
        "paper NMI": paper["NMI"],
        "NMI": _mean(nmi),
        "largest": _mean(largest),
        "CPU s": round(seconds, 3),
        "repeats": len(draws),
    }
    return Row(cells)


def density(options: Options) -> Iterator[Row]:
    for data, stored, draws in _paper_draws(options):
        eps = 0.1 if stored == "cms_1" else 0.31  # and minpts 2: section 5.2 of the paper
        for leaf in (None, 30):
            model = CDBSCAN(eps, min_samples=2, leaf_size=leaf)
            yield _beside_paper(
                "density", data, stored, "C-DBSCAN", f"leaf_size={leaf}", draws,
                lambda draw, m=model: m.fit(draw.X, links=draw.links),
            )  # fmt: skip


def spectral(options: Options) -> Iterator[Row]:
    for data, stored, draws in _paper_draws(options):
        k = len(np.unique(draws[0].y))
        for beta in ("kth", "auto"):
            model = ConstrainedSpectral(k, beta=beta, random_state=0)
            yield _beside_paper(
                "spectral", data, stored, "Constrained Spectral", f"beta={beta}", draws,
                lambda draw, m=model: m.fit(draw.X, links=draw.links),
            )  # fmt: skip


PARTS = {"quality": quality, "speed": speed, "density": density, "spectral": spectral}


def run(options: Options) -> Iterator[Row]:
    yield from run_parts("LINKSHIFT_PEERS_PARTS", PARTS, list(PARTS), options)
