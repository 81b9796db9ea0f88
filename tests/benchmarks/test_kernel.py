"""The benchmark of kernel mean shift: fair draws, honest rows."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.harness import Options
from benchmarks.papers import kernel_draws, kernel_ms, kernel_photos

from linkshift import Links, datasets

TINY = Options(size="tiny", repeats=1, seed=0)


def needs(*names):
    def has(name):
        try:
            datasets.load(name)
        except FileNotFoundError:
            return False
        return True

    return pytest.mark.skipif(
        not all(has(name) for name in names),
        reason="the papers' data sets are not here; set LINKSHIFT_DATA",
    )


def check_links(draw):
    for a, b in draw.links.must:
        assert draw.y[a] == draw.y[b]
        assert a != b
    for a, b in draw.links.cannot:
        assert draw.y[a] != draw.y[b]


@pytest.mark.parametrize("layout", ["even angles", "every eighth point", "random"])
def test_circles_have_four_links_on_the_middle_one(layout):
    draw = kernel_draws.circles(3, layout)
    check_links(draw)
    assert len(draw.links.must) == 4
    assert set(draw.y[draw.links.must.ravel()]) == {2}
    assert (draw.y == -1).sum() == 80
    np.testing.assert_array_equal(draw.X, kernel_draws.circles(3, layout).X)


def test_lines_have_one_link_for_each_orientation():
    draw = kernel_draws.lines(5, 1.5)
    check_links(draw)
    assert sorted(draw.y[draw.links.must[:, 0]] // 2) == [0, 1, 2]


@needs("face_pie_pose27")
@pytest.mark.parametrize("layout", ["far lights", "near lights", "chain", "random"])
@pytest.mark.parametrize("n_links", [2, 4])
def test_faces_have_as_many_links_a_subject_as_said(layout, n_links):
    draw = kernel_draws.faces(0, 1, n_links, layout)
    check_links(draw)
    assert draw.X.shape[0] == 441
    assert set(np.bincount(draw.y[draw.links.must[:, 0]])) == {0, n_links}


@needs("uci_wine")
def test_links_out_of_each_class():
    draw = kernel_draws.table_rows("uci_wine", 0, 5)
    check_links(draw)
    assert len(draw.links.must) == len(draw.links.cannot) == 15
    np.testing.assert_allclose(draw.X.std(axis=0), 1.0)


def test_rows_of_no_class_are_not_scored():
    draw = kernel_draws.Draw(np.zeros((4, 1)), np.array([0, 1, -1, -1]), Links())
    assert kernel_ms.score(lambda _: np.array([0, 1, 1, 0]), draw).ari == 1.0
    assert kernel_ms.score(lambda _: np.array([0, 0, 1, 2]), draw).ari < 1.0


def test_a_row_counts_what_is_perfect():
    scores = [kernel_ms.Score(1.0, 1.0, 5, 1.0), kernel_ms.Score(0.5, 0.75, 7, 3.0)]
    cells = kernel_ms.row("figure 4", "circles", "", "projected", scores).cells
    assert cells["ARI"] == 0.75
    assert cells["perfect"] == "1/2"
    assert cells["least"] == 0.5
    assert cells["clusters"] == 6.0
    assert cells["ACC %"] == 87.5
    assert cells["paper clusters"] == 5


def test_printed_accuracy_of_photographs_is_for_ten_links():
    scores = [kernel_ms.Score(0.5, 0.5, 4, 1.0)]
    for setting, printed in (("10 links a class, k 20", 99.75), ("3 links a class, k 20", None)):
        cells = kernel_ms.row("figures 8, 9", "Caltech-4", setting, "projected", scores).cells
        assert cells["paper ACC %"] == printed


def test_words_of_photographs_are_shares():
    pytest.importorskip("cv2")
    images = (255 * np.random.default_rng(0).random((3, 60, 80))).astype(np.uint8)
    rows, counts = kernel_photos.bags(images, n_words=5)
    assert rows.shape == (3, 5)
    assert (counts > 0).all()
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)


def test_photographs_that_are_not_here_are_named(monkeypatch):
    monkeypatch.setattr(kernel_photos, "archive", lambda: None)
    for part in ("photographs", "axes", "words"):
        (row,) = kernel_ms.PARTS[part](TINY)
        assert row.cells["part"] == "left out"
        assert "no caltech4_images.zip" in row.cells["why"]


@pytest.mark.parametrize(("size", "draws"), [("tiny", 1), ("quick", 5), ("full", 5)])
def test_repeats_that_are_asked_for_are_made(size, draws, monkeypatch):
    monkeypatch.setattr(kernel_ms, "score", lambda *_: kernel_ms.Score(1.0, 1.0, 6, 0.0))
    rows = list(kernel_ms.figure_3(Options(size=size, repeats=5, seed=0)))
    assert {row.cells["perfect"] for row in rows} == {f"{draws}/{draws}"}


@pytest.mark.parametrize("part", ["lines", "circles", "speed"])
def test_small_sizes_run(part):
    rows = list(kernel_ms.PARTS[part](TINY))
    assert rows
    assert all(row.cells["part"] for row in rows)
    if part == "speed":
        assert rows[0].cells["same labels"]
