"""The benchmark of constrained mean shift: fair draws, honest rows."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.harness import Options
from benchmarks.papers import cms

from linkshift import datasets


def has(name):
    try:
        datasets.load(name)
    except FileNotFoundError:
        return False
    return True


needs_data = pytest.mark.skipif(
    not all(has(name) for name in (*cms.EMBEDDINGS.values(), *cms.SYNTHETIC.values())),
    reason="the papers' data sets are not here; set LINKSHIFT_DATA",
)
TINY = Options(size="tiny", repeats=1, seed=0)


@needs_data
def test_a_draw_holds_out_rows_and_is_the_same_for_a_seed():
    draw, again = cms.embedding("GTSRB", 3, 200), cms.embedding("GTSRB", 3, 200)
    np.testing.assert_array_equal(draw.X, again.X)
    np.testing.assert_array_equal(draw.links.cannot, again.links.cannot)
    assert draw.X.shape == draw.new_X.shape == (2000, 10)
    assert draw.X.min() == 0.0
    assert draw.X.max() == 1.0
    assert len(draw.links) == 200
    seen = {row.tobytes() for row in draw.X}
    assert not any(row.tobytes() in seen for row in draw.new_X)
    for a, b in draw.links.must:
        assert draw.y[a] == draw.y[b]
    for a, b in draw.links.cannot:
        assert draw.y[a] != draw.y[b]


@needs_data
def test_a_larger_number_of_links_draws_the_same_rows():
    np.testing.assert_array_equal(cms.embedding("MNIST", 1, 45).X, cms.embedding("MNIST", 1, 500).X)


@needs_data
def test_wrong_answers_are_as_many_as_asked_for():
    draw = cms.embedding("MNIST", 0, 2000, error_rate=0.1)
    wrong = (draw.y[draw.links.must[:, 0]] != draw.y[draw.links.must[:, 1]]).sum()
    wrong += (draw.y[draw.links.cannot[:, 0]] == draw.y[draw.links.cannot[:, 1]]).sum()
    assert wrong == pytest.approx(200, abs=2)


def test_a_row_has_the_mean_the_spread_and_the_difference_to_the_paper():
    scores = [cms.Score(0.5, 0.6, 10, 1.0, None), cms.Score(0.7, 0.8, 12, 3.0, None)]
    cells = cms.row("table 1", "moons", "", "ours", scores, (0.55, 0.75)).cells
    assert cells["ARI"] == 0.6
    assert cells["sd"] == pytest.approx(0.141)
    assert cells["difference"] == pytest.approx(0.05)
    assert cells["NMI"] == 0.7
    assert cells["clusters"] == 11
    assert cells["CPU s"] == 2.0
    assert cells["repeats"] == 2


def test_our_forms_stand_beside_the_papers_cms_and_k_means_beside_nothing():
    look_up = cms.published("cms_1", "moons")
    assert look_up("ours, refined") == (0.996, 0.996)
    assert look_up("PCKMeans")[0] == 0.872
    assert look_up("k-means") is None


@needs_data
@pytest.mark.slow
def test_the_tiny_run_gives_a_row_for_each_method(monkeypatch):
    monkeypatch.setenv("LINKSHIFT_CMS_PARTS", "table1,refit")
    rows = [row.cells for row in cms.run(TINY)]
    table = [cells for cells in rows if cells["part"] == "table 1"]
    assert len(table) == 4 * 7
    assert all(-0.1 <= cells["ARI"] <= 1 for cells in table)
    assert all(cells["same labels"] == "True" for cells in rows if cells["part"] == "refit")


def test_an_unknown_part_is_refused(monkeypatch):
    monkeypatch.setenv("LINKSHIFT_CMS_PARTS", "table9")
    with pytest.raises(ValueError, match="table9"):
        next(cms.run(TINY))
