"""The benchmark of metric mean shift: fair splits, honest rows."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.harness import Options
from benchmarks.papers import metric_ms

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
    assert cells["thesis clusters"] == 3
    assert cells["clusters"] == 5.0
    assert cells["labelled ARI"] == 0.9
    assert cells["raw ARI"] == 0.85
    kernelised = metric_ms.row("tables", "USPS", "global", True, "", scores, 3.0).cells
    assert kernelised["thesis error %"] == 7.1
    assert kernelised["space"] == "kernel"


def test_k_is_the_middle_of_the_printed_range():
    assert metric_ms._thesis_k("Wine", "global") == 22
    assert metric_ms._thesis_k("USPS", "local") == 19


@needs_data
def test_a_tiny_run_and_a_misspelt_part(monkeypatch):
    rows = list(metric_ms.run(TINY))
    assert [row.cells["metric"] for row in rows] == ["global", "local"]
    monkeypatch.setenv("LINKSHIFT_METRIC_PARTS", "table")
    with pytest.raises(ValueError, match="tables, default"):
        list(metric_ms.run(TINY))
