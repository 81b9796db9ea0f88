"""The benchmark of constrained mean shift: fair draws, honest rows."""

from __future__ import annotations

import json

import numpy as np
import pytest
from benchmarks.harness import Options
from benchmarks.papers import cms, cms_methods, cms_pictures
from tests.helpers import blobs, same_partition

from linkshift import Links, datasets


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
def test_all_pairs_of_the_closure_bend_the_shift():
    draw = cms.embedding("GTSRB", 0, 4000)  # of all parts, the draws with the largest closure
    assert 10_000 < len(draw.links.closure(2000).cannot_pairs()) < 30_000


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


def test_every_printed_method_has_a_row_and_our_forms_stand_beside_the_papers_cms():
    look_up = cms.published("cms_1", "moons")
    assert look_up("ours, refined") == (0.996, 0.996)
    assert look_up("PCKMeans") == (0.872, 0.793)
    assert look_up("k-means") is None
    methods = cms.ours("images") | cms.rivals("images")
    printed = {cms_methods.PRINTED[name] for name in methods if name in cms_methods.PRINTED}
    for table in ("cms_1", "cms_2", "cms_3"):
        assert printed == {record["method"] for record in cms.tables.load(table).records()}


@pytest.mark.parametrize("size", ["tiny", "quick", "full"])
def test_the_repeats_that_are_asked_for_are_what_runs(size):
    assert len(cms._seeds(Options(size=size, repeats=10))) == 10


def some_draw():
    X, y = blobs(60, seed=2, std=2.0)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    return cms.Draw(X, y, Links.sample(y, 60, random_state=0), 0)


@pytest.mark.parametrize("changes", [{}, {"kernel": "flat"}, {"blurring": True}])
def test_one_fit_has_the_labels_of_both_rules(changes):
    draw, forms = some_draw(), cms._both_labels(**changes)
    paper = cms_methods.PAPER
    authors = cms.cms(**paper, **cms_methods.AUTHORS_LABELS["images"], **changes)(draw)
    assert same_partition(forms[cms.AUTHORS](draw).labels_, authors.labels_)
    ours = cms.cms(**paper, **changes)(draw)
    assert same_partition(forms[cms.CLOSENESS](draw).labels_, ours.labels_)


@needs_data
def test_s4_is_a_thousand_rows_with_replacement_or_the_whole():
    part, whole = cms.synthetic("s4", 0), cms.synthetic("s4, whole", 0)
    assert len(part.X) == len(part.links) == 1000
    assert len(np.unique(part.X, axis=0)) < 950
    assert len(whole.X) == len(whole.links) == 5000


def test_pictures_take_the_newest_result_of_each_kernel(tmp_path):
    def write(name, *settings):
        rows = [
            {"cells": {"part": "figure 6, 600 rows", "setting": s, "from": name}} for s in settings
        ]
        text = json.dumps({"suites": [{"name": "cms", "rows": rows}]})
        (tmp_path / f"{name}.json").write_text(text)

    write("1", "flat, blurring, lambda 0.1", "gaussian, blurring, lambda 0.1")
    write("2", "gaussian, blurring, lambda 0.2")
    rows = cms_pictures.newest(tmp_path, "figure 6, 600 rows", cms_pictures.kernel_of)
    assert [(row["from"], row["setting"][-3:]) for row in rows] == [("1", "0.1"), ("2", "0.2")]
    assert cms_pictures.newest(tmp_path, "figure 4", cms_pictures.kernel_of) == []


@needs_data
@pytest.mark.slow
def test_the_tiny_run_gives_a_row_for_each_method(monkeypatch):
    monkeypatch.setenv("LINKSHIFT_CMS_PARTS", "table1,refit")
    rows = [row.cells for row in cms.run(TINY)]
    table = [cells for cells in rows if cells["part"] == "table 1"]
    assert len(table) == 4 * len(cms.ours("synthetic") | cms.rivals("synthetic"))
    assert all(-0.1 <= cells["ARI"] <= 1 for cells in table)
    assert all(cells["same labels"] == "True" for cells in rows if cells["part"] == "refit")


def test_methods_can_be_picked_and_unknown_ones_are_refused(monkeypatch):
    def rows(*draws):
        methods = {"k-means": cms.kmeans, "ours, raw": cms.cms(refine=None)}
        return [row.cells["method"] for row in cms.compare("part", "data", "", draws, methods)]

    monkeypatch.setenv("LINKSHIFT_CMS_METHODS", "ours, raw")
    assert rows(some_draw()) == ["ours, raw"]
    monkeypatch.setenv("LINKSHIFT_CMS_METHODS", "ours, raw;magic")
    with pytest.raises(ValueError, match="magic"):
        rows(some_draw())


def test_an_unknown_part_is_refused(monkeypatch):
    monkeypatch.setenv("LINKSHIFT_CMS_PARTS", "table9")
    with pytest.raises(ValueError, match="table9"):
        next(cms.run(TINY))
