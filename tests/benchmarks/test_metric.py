"""The benchmark of metric mean shift: fair splits, honest rows."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.harness import Options
from benchmarks.papers import metric_ms, metric_triplets

from linkshift import datasets
from linkshift.metrics import LabelledScore

TINY = Options(size="tiny", repeats=1, seed=0)
needs_data = pytest.mark.skipif(
    not all(datasets.available()[name] for name in metric_ms.DATA.values()),
    reason="the thesis's data sets are not here; set LINKSHIFT_DATA",
)


@needs_data
@pytest.mark.parametrize(
    ("name", "n", "labelled", "columns"),
    [("Wine", 178, 107, 13), ("Segment", 2310, 1386, 18), ("USPS", 2000, 1200, None)],
)
def test_splits_are_those_of_the_thesis(name, n, labelled, columns):
    part = metric_ms.split(name, 3)
    assert part.X.shape[0] == len(part.y) == n
    assert part.n_labelled == labelled == part.labelled.sum() == (part.known >= 0).sum()
    np.testing.assert_array_equal(part.known[part.labelled], part.y[part.labelled])
    if columns is not None:
        assert part.X.shape[1] == columns
        np.testing.assert_allclose(np.linalg.norm(part.X, axis=1), 1.0)
    np.testing.assert_array_equal(part.X, metric_ms.split(name, 3).X)
    assert not np.array_equal(part.y, metric_ms.split(name, 4).y)


@needs_data
@pytest.mark.parametrize("reading", metric_ms.READINGS)
def test_no_reading_sees_the_hidden_classes(reading):
    part = metric_ms.split("Wine", 0)
    told = metric_ms.read(reading, "global", part, 0, n_neighbors=22)
    shuffled = part.y.copy()
    hidden = ~part.labelled
    shuffled[hidden] = np.random.default_rng(0).permutation(shuffled[hidden])
    lied = metric_ms.read(reading, "global", part._replace(y=shuffled), 0, n_neighbors=22)
    assert told.n_clusters == lied.n_clusters
    assert told.error < 0.3 < lied.error


def test_a_row_has_the_thesis_beside_it():
    scores = [LabelledScore(0.02, 0.9, 0.95, 4), LabelledScore(0.04, 0.8, 0.85, 6)]
    cells = metric_ms.row("tables", "Wine", "local", False, "k 24", scores, 3.0).cells
    assert cells["thesis error %"] == 2.25
    assert cells["error %"] == 3.0
    assert cells["difference"] == 0.75
    assert cells["thesis ± error %"] == 1.61
    assert cells["± error %"] == pytest.approx(1.41)
    assert cells["thesis ± ARI"] == 0.05
    assert cells["thesis clusters"] == 3
    assert cells["thesis ± clusters"] == 0
    assert cells["clusters"] == 5.0
    assert cells["± clusters"] == pytest.approx(1.41)
    assert cells["labelled ARI"] == 0.9
    assert cells["raw ARI"] == 0.85
    kernelised = metric_ms.row("tables", "USPS", "global", True, "", scores, 3.0).cells
    assert kernelised["thesis error %"] == 7.1
    assert kernelised["thesis ± error %"] == 1.53
    assert kernelised["space"] == "kernel"
    assert (
        metric_ms.row("tables", "Wine", "local", False, "", scores[:1], 1.0).cells["± error %"]
        is None
    )


def test_settings_of_table_5_2():
    learner = metric_ms.thesis_learner("USPS", "local")
    assert (learner.n_bases, learner.embedding_dimension) == (800, 100)
    assert metric_ms.thesis_learner("Vowel", "global").n_bases == 400


@needs_data
@pytest.mark.parametrize("name", ["Vehicle", "Vowel"])
def test_at_95_percent_our_rule_takes_the_bases_of_the_thesis_too(name):
    model = metric_ms.model("global", seed=0, kernel="gaussian", sigma=1.0, variance=0.95)
    _, coordinates = model._embed(metric_ms.split(name, 0).X)
    assert 20 < coordinates.shape[1] <= 50


@needs_data
def test_settings_run_where_they_are_not_ours(monkeypatch):
    ran = []

    def scored(options, name, learner, **parameters):
        ran.append((name, learner.kind, parameters.get("variance")))
        return [LabelledScore(0.1, 0.9, 0.9, 3)] * options.repeats, 1.0

    monkeypatch.setattr(metric_ms, "scored", scored)
    rows = list(metric_ms.thesis_settings(Options(size="full", repeats=4, seed=0)))
    assert len(rows) == 9
    assert [name for name, _, variance in ran if variance is None] == ["USPS"]
    assert ("Vowel", "global", 0.95) in ran
    assert all(row.cells["splits"] == 4 for row in rows)


@needs_data
@pytest.mark.parametrize("size", ["tiny", "quick", "full"])
def test_the_repeats_that_are_asked_for_are_made(size, monkeypatch):
    seeds = []

    def read(reading, kind, part, seed, **parameters):
        seeds.append(seed)
        return LabelledScore(0.1, 0.9, 0.9, 3)

    monkeypatch.setattr(metric_ms, "read", read)
    monkeypatch.setenv("LINKSHIFT_METRIC_DATA", "Wine")
    (row, _) = metric_ms.thesis_tables(Options(size=size, repeats=7, seed=2))
    assert seeds == [*range(2, 9)] * 2
    assert row.cells["splits"] == 7


@needs_data
def test_the_printed_gaussian_finds_the_classes_of_wine():
    part = metric_ms.split("Wine", 0)
    printed = metric_ms.FORMULAS["Gaussian, d = columns"]
    assert metric_ms.read("joint", "global", part, 0, n_neighbors=22, **printed).n_clusters == 3


def test_clusters_that_are_trusted():
    clusters = np.repeat([0, 1, 2], 5)
    known = np.array([4, 4, 4, -1, -1, 2, 2, 3, 3, -1, 1, 1, -1, -1, -1])
    taught = metric_triplets.trusted(known, clusters)
    # The second is torn between two classes, the third has too few labelled members.
    np.testing.assert_array_equal(taught, [4] * 5 + known[5:].tolist())
    np.testing.assert_array_equal(metric_triplets.trusted(-np.ones(15, int), clusters), [-1] * 15)


def test_triplets_across_clusters():
    x = np.array([0.0, 1.0, 2.0, 10.0, 4.0, 5.0])
    y, clusters = np.array([0, 0, 0, 0, 1, 1]), np.array([0, 0, 0, 1, 2, 2])
    found = metric_triplets.across(np.abs(x[:, None] - x), y, clusters, 1, 1).table()[0]
    # Class 0 has a cluster elsewhere, class 1 has not.
    expected = [[0, 3, 4], [1, 3, 4], [2, 3, 4], [3, 2, 5], [4, 5, 2], [5, 4, 2]]
    np.testing.assert_array_equal(found, expected)


@needs_data
def test_learning_again_starts_from_the_first_run():
    part = metric_ms.split("Wine", 0)
    found = metric_triplets.rounds("global", part.X, part.known, 0, n_neighbors=22)
    first = metric_ms.model("global", seed=0, n_neighbors=22).fit(part.X, partial_labels=part.known)
    np.testing.assert_array_equal(found["first run"], first.labels_)
    assert len(found) == 1 + len(metric_triplets.WAYS) * metric_triplets.ROUNDS


def test_k_is_the_middle_of_the_printed_range():
    assert metric_ms._thesis_k("Wine", "global") == 22
    assert metric_ms._thesis_k("USPS", "local") == 19


@needs_data
def test_a_tiny_run_and_a_misspelt_part(monkeypatch):
    rows = list(metric_ms.run(TINY))
    assert [row.cells["metric"] for row in rows] == ["global", "local"]
    monkeypatch.setenv("LINKSHIFT_METRIC_PARTS", "table")
    with pytest.raises(ValueError, match="tables, settings"):
        list(metric_ms.run(TINY))
