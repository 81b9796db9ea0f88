"""Records of people to de-duplicate: pairs found by one call, and by mean shift, under answers."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.cluster import pair_confusion_matrix
from sklearn.neighbors import NearestNeighbors

import linkshift
from benchmarks.harness import Array, Options, Row
from linkshift import Links, datasets

TITLE = (
    "made records, by tf-idf of character n-grams; answers to pairs of a record and one of its "
    "five nearest; precision and recall of pairs of the same person, means over draws"
)
FIELDS = ("name", "street", "town", "born")
SIDES: dict[str, dict[str, Any]] = {
    "cluster": {},
    'bandwidth="links"': {"bandwidth": "links"},
}


def run(options: Options) -> Iterator[Row]:
    n_people = options.pick(60, 500, 500)
    for n_links in options.pick((40,), (50, 100), (50, 100, 200)):
        for side, params in SIDES.items():
            found = [draw(n_people, n_links, seed, params) for seed in range(options.pick(1, 2, 5))]
            precision, recall, clusters, seconds = np.mean(found, axis=0).tolist()
            yield Row(
                {
                    "people": n_people,
                    "answers": n_links,
                    "call": side,
                    "clusters": round(clusters),
                    "precision": precision,
                    "recall": recall,
                    "s": seconds,
                }
            )


def draw(n_people: int, n_links: int, seed: int, params: dict[str, Any]) -> tuple[float, ...]:
    """Precision, recall, number of clusters and time, of one set of records and answers."""
    records, y = datasets.make_records(n_people, random_state=seed)
    texts = [" | ".join(row) for row in zip(*(records[name] for name in FIELDS), strict=True)]
    words = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3)).fit_transform(texts)
    X = TruncatedSVD(min(100, len(y) - 1), random_state=0).fit_transform(words)
    links = answers(X, y, n_links, seed)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = linkshift.cluster(X, links, **params).labels
    seconds = time.perf_counter() - start
    (_, wrong), (missed, right) = pair_confusion_matrix(y, labels).tolist()
    together = max(right + wrong, 1)
    return right / together, right / (right + missed), float(labels.max() + 1), seconds


def answers(X: Array, y: Array, n_links: int, seed: int) -> Links:
    """Answer pairs of a record, drawn at random, and one of its five nearest."""
    rng = np.random.default_rng(seed)
    near = NearestNeighbors(n_neighbors=5).fit(X).kneighbors(return_distance=False)
    drawn: dict[tuple[int, int], None] = {}  # keeps the order
    while len(drawn) < n_links:
        a = int(rng.integers(len(y)))
        b = int(near[a, rng.integers(5)])
        drawn[min(a, b), max(a, b)] = None
    pairs = np.array(list(drawn))
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return Links(pairs[same], pairs[~same], n_samples=len(y))
