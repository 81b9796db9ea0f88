"""Records of people: deterministic, with mistakes that are rarer than what they spoil."""

import warnings

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.cluster import pair_confusion_matrix
from sklearn.neighbors import NearestNeighbors

import linkshift
from linkshift import Links
from linkshift.datasets import make_records

COLUMNS = ["name", "street", "town", "born", "source"]


def test_rows_and_columns():
    records, y = make_records(200, random_state=1)
    assert list(records) == COLUMNS
    assert {len(column) for column in records.values()} == {len(y)}
    sizes = np.bincount(y)
    assert len(sizes) == 200
    assert set(sizes.tolist()) == {1, 2, 3, 4}
    assert any(not text for text in records["born"])
    assert all(records["name"])  # somebody is always named
    for person in range(200):  # a source has a person once
        sources = [records["source"][row] for row in np.flatnonzero(y == person)]
        assert len(set(sources)) == len(sources)


def test_the_same_for_the_same_seed():
    first, second, other = (make_records(30, random_state=seed) for seed in (3, 3, 4))
    assert first[0] == second[0]
    np.testing.assert_array_equal(first[1], second[1])
    assert first[0] != other[0]


def test_without_mistakes_records_of_a_person_are_equal():
    records, y = make_records(100, mistakes=0, random_state=0)
    rows = list(zip(*(records[name] for name in COLUMNS[:-1]), strict=True))
    assert len(set(rows)) == 100
    assert len({(row, person) for row, person in zip(rows, y.tolist(), strict=True)}) == 100


def test_mistakes_are_made():
    records, y = make_records(50, mistakes=6, random_state=0)
    assert len(set(zip(*(records[name] for name in COLUMNS[:-1]), strict=True))) > 0.9 * len(y)


@pytest.mark.parametrize("given", [{"n_people": 0}, {"mistakes": -1}])
def test_what_cannot_be(given):
    with pytest.raises(ValueError, match="must be at least"):
        make_records(**given)


def answered(X, y, n, seed):
    """Answers about rows and one of their five nearest neighbours each."""
    rng = np.random.default_rng(seed)
    near = NearestNeighbors(n_neighbors=5).fit(X).kneighbors(return_distance=False)
    a = rng.permutation(len(y))[:n]
    pairs = np.unique(np.sort(np.stack([a, near[a, rng.integers(0, 5, n)]], 1), 1), axis=0)
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return Links(pairs[same], pairs[~same], n_samples=len(y))


@pytest.mark.parametrize("seed", [0, 1])
def test_one_call_finds_the_people(seed):
    records, y = make_records(300, random_state=seed)
    texts = [" | ".join(row) for row in zip(*(records[name] for name in COLUMNS[:4]), strict=True)]
    X = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3)).fit_transform(texts)
    links = answered(X, y, 100, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a sparse matrix is decomposed, and it says so
        found = linkshift.cluster(X, links)
    (_, wrong), (missed, right) = pair_confusion_matrix(y, found.labels)
    assert right / (right + wrong) > 0.9
    assert right / (right + missed) > 0.9
    assert found.link_report.share == 1.0
    assert found.method == "consensus"
