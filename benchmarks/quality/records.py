"""Records of people to de-duplicate: pairs found by one call, and by mean shift, under answers."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

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
HOUSE = "make_records"


class Style(NamedTuple):
    """How records are made from names and addresses, without dates of birth.

    What chooses small groups was settled on other records of this kind, with other people.
    """

    n_people: int
    records: tuple[int, ...]  # of a person, one of these numbers
    mistakes: int  # in each of four fields, at most
    related: float = 0.0  # share of people with surname and address of the one before


STYLES = {
    "few mistakes": Style(160, (1, 2, 3), 1),
    "mistakes": Style(160, (1, 2, 3), 2),
    "mistakes, more people": Style(500, (1, 2, 3), 2),
    "up to six each": Style(160, (1, 1, 1, 2, 3, 4, 5, 6), 2),
    "two to six each": Style(150, (2, 3, 4, 5, 6), 1),
    "relatives": Style(300, (1, 2, 3), 1, 0.3),
}
SIDES: dict[str, dict[str, Any]] = {
    "cluster": {},
    'bandwidth="links"': {"bandwidth": "links"},
}


def run(options: Options) -> Iterator[Row]:
    n_people, draws = options.pick(60, 500, 500), range(options.rounds(1, 2, 5))
    for n_links in options.pick((40,), (50, 100), (50, 100, 200)):
        for side, params in SIDES.items():
            found = [draw(house(n_people, seed), n_links, seed, params) for seed in draws]
            yield _row(HOUSE, n_people, n_links, side, found)
    for name in list(STYLES)[: options.pick(1, None, None)]:
        style = STYLES[name]
        for n_links in options.pick((50,), (50,), (50, 100)):
            found = [draw(people(style, seed), n_links, seed, {}) for seed in draws]
            yield _row(name, style.n_people, n_links, "cluster", found)


def _row(style: str, n_people: int, n_links: int, call: str, found: list[tuple[float, ...]]) -> Row:
    precision, recall, clusters, seconds = np.mean(found, axis=0).tolist()
    return Row(
        {
            "records": style,
            "people": n_people,
            "answers": n_links,
            "call": call,
            "clusters": round(clusters),
            "precision": precision,
            "least": min(one[0] for one in found),
            "recall": recall,
            "s": seconds,
        }
    )


def house(n_people: int, seed: int) -> tuple[list[str], Array]:
    """Give records of `linkshift.datasets.make_records` as texts, and whose they are."""
    records, y = datasets.make_records(n_people, random_state=seed)
    return [" | ".join(row) for row in zip(*(records[name] for name in FIELDS), strict=True)], y


def people(style: Style, seed: int) -> tuple[list[str], Array]:
    """Make records of a style as texts, and say whose they are."""
    rng = np.random.default_rng(seed)
    given, of = datasets.make_records(style.n_people, mistakes=0, random_state=seed)
    rows = rng.permutation(np.unique(of, return_index=True)[1]), rng.permutation(len(of))
    persons: list[list[str]] = []
    for name, address in zip(*rows, strict=False):  # of two people: no households
        person = [*given["name"][name].split(), given["street"][address], given["town"][address]]
        if persons and rng.uniform() < style.related:
            person[1:] = persons[-1][1:]
        persons.append(person)
    y = np.repeat(np.arange(len(persons)), rng.choice(style.records, len(persons)))
    rng.shuffle(y)
    texts = []
    for who in y:
        fields = [
            _mistyped(field, int(rng.integers(style.mistakes + 1)), rng) for field in persons[who]
        ]
        texts.append(" | ".join(fields))
    return texts, y


def _mistyped(text: str, times: int, rng: np.random.Generator) -> str:
    """Drop, double, change or swap a letter, so many times."""
    for _ in range(times):
        at = int(rng.integers(len(text)))
        one, two = text[at], text[at + 1 : at + 2]
        put = ("", 2 * one, "abcdefghijklmnopqrstuvwxyz"[rng.integers(26)], two + one)
        kind = int(rng.integers(4))
        text = text[:at] + put[kind] + text[at + (2 if kind == 3 else 1) :]
    return text


def draw(
    records: tuple[list[str], Array], n_links: int, seed: int, params: dict[str, Any]
) -> tuple[float, ...]:
    """Precision, recall, number of clusters and time, of one set of records and answers."""
    texts, y = records
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
