"""Rows far outside a fit: told of, and no others are."""

import numpy as np
import pandas as pd
import pytest
from tests.helpers import real

import linkshift
from linkshift._core.messages import Advice
from linkshift.methods import reach

SETS = [f"uci_{name}" for name in ("iris", "wine", "ecoli", "glass", "yeast", "segment")]
SETS += ["uci_pendigits", "pccc_heart", "sipu_s4", "sipu_r15"]


def split(X, seed):
    order = np.random.default_rng(seed).permutation(len(X))
    cut = int(0.8 * len(X))
    return X[order[:cut]], X[order[cut:]]


@pytest.mark.parametrize("name", SETS)
def test_rows_of_the_same_kind_are_not_told(name):
    """Warnings are errors."""
    X = real(name).X
    for seed in range(3 if len(X) < 1500 else 1):
        fit, new = split(X, seed)
        linkshift.cluster(fit, method="kmeans", n_clusters=3).predict(new)


@pytest.mark.parametrize("name", SETS)
def test_rows_in_another_unit_are_told(name):
    fit, new = split(real(name).X, 0)
    found = linkshift.cluster(fit, method="kmeans", n_clusters=3)
    with pytest.warns(Advice, match=r"far outside what was clustered .*Are columns and units"):
        found.predict(new * 1000)


@pytest.fixture
def blobs():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(size=(40, 2)), rng.normal(6, 1, size=(40, 2))])


def test_which_rows_and_how_far(blobs):
    found = linkshift.cluster(blobs)
    distance = np.linalg.norm(blobs[:, None] - blobs, axis=2)
    np.fill_diagonal(distance, np.inf)
    largest = distance.min(axis=1).max()
    assert reach.reach_of(found.model) == pytest.approx(largest)
    at = blobs[np.argmax(blobs[:, 0])]
    near, far = (at + np.array([times * largest, 0.0]) for times in (2.9, 3.1))
    found.predict([near, at])
    with pytest.warns(Advice, match=r"1 of 3 rows is far .*\(row 1\): up to 3 times") as told:
        found.predict(pd.DataFrame([near, far, at], index=list("abc")))
    assert len(told) == 1
    with pytest.warns(Advice, match=r"2 of 2 rows are .*\(rows 0, 1\): over a million times"):
        found.predict([[1e300, 0.0], [0.0, -1e20]])


def test_many_rows_are_asked_a_few_at_first(blobs, monkeypatch):
    """It is the same rows that are told, whether a sample is asked first or not."""
    monkeypatch.setattr(reach, "_SAMPLE", 7)
    found = linkshift.cluster(blobs)
    monkeypatch.setattr(reach, "_FACTOR", 1.0)
    new = np.random.default_rng(1).normal(3, 4, size=(50, 2))
    nearest = np.linalg.norm(new[:, None] - blobs, axis=2).min(axis=1)
    expected = int((nearest > reach.reach_of(found.model)).sum())
    assert 0 < expected < 50
    with pytest.warns(Advice, match=f"{expected} of 50 rows are far"):
        found.predict(new)


def test_twins_and_few_rows_say_nothing_of_what_is_far(blobs):
    twins = np.repeat(blobs, 2, axis=0)
    linkshift.cluster(twins, method="kmeans", n_clusters=2).predict(blobs + 1e-6)
    linkshift.cluster([[0.0], [0.1], [9.0], [9.1]], n_clusters=2).predict([[1e6]])


def test_views_and_directions(blobs):
    X = np.hstack([blobs + 9, 20 - blobs])
    cosine = linkshift.cluster(X, metric="cosine")
    cosine.predict(X * 1e6)
    with pytest.warns(Advice, match="1 of 1 row is far"):
        cosine.predict(-X[:1])
    views = linkshift.cluster([X[:, :2], X[:, 2:]], method="groups", n_clusters=2, random_state=0)
    views.predict([X[:5, :2] + 1e-3, X[:5, 2:]])
    with pytest.warns(Advice, match="5 of 5 rows are far"):
        views.predict([X[:5, :2] + 1e3, X[:5, 2:]])
