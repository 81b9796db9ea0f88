"""The benchmark of group-dependent features: fair draws, rivals that run, honest rows."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.harness import Options
from benchmarks.papers import groups

from linkshift import datasets

TINY = Options(size="tiny", repeats=1, seed=0)


@pytest.mark.parametrize("name", groups.SYNTHETIC)
def test_each_cluster_is_dense_in_one_view(name):
    n_views, a_view, noise = groups.SYNTHETIC[name]
    draw = groups.synthetic(name, 0)
    assert len(draw.views) == n_views + noise
    spread = np.array(
        [
            [X[draw.y == c].std(axis=0).mean() for X in draw.views.values()]
            for c in range(n_views * a_view)
        ]
    )
    np.testing.assert_array_equal(spread.argmin(axis=1), np.repeat(np.arange(n_views), a_view))


@pytest.mark.parametrize("name", groups.DATA)
def test_thirty_of_each_class(name):
    if not datasets.available()[groups.DATA[name]]:
        pytest.skip("the data set is not here; set LINKSHIFT_DATA")
    draw = groups.real(name, 1)
    assert set(np.bincount(draw.y)) == {30}
    for view in draw.views.values():
        assert view.shape[0] == len(draw.y)
        spread = view.std(axis=0)
        np.testing.assert_allclose(spread[spread > 0], 1.0)
    np.testing.assert_array_equal(draw.y, groups.real(name, 1).y)


@pytest.mark.parametrize("method", groups.SINGLE)
def test_rivals_find_plain_groups(method):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 15)
    draw = groups.Draw({"one": 10.0 * y[:, None] + rng.normal(size=(45, 2))}, y)
    score, labels = groups.score(draw, groups.SINGLE[method], groups._kernels(draw)[0], 3, 0)
    assert score.accuracy == 1.0
    assert score.nmi == pytest.approx(1.0)
    assert groups.clustering_accuracy(y, groups.shared_ensemble([labels, labels], 3, 0)) == 1.0


def test_links_are_true_and_as_many_as_said():
    y = np.arange(40) % 4
    links = groups.class_links(y, 3, 0)
    assert len(links.must) <= 12
    assert len(links.cannot) <= 12
    assert (y[links.must[:, 0]] == y[links.must[:, 1]]).all()
    assert (y[links.cannot[:, 0]] != y[links.cannot[:, 1]]).all()
    assert groups.class_links(y, 0, 0) is None


def test_a_row_has_mean_and_spread():
    cells = groups.row(
        "table 1",
        "mfeat",
        "all",
        "ours",
        [groups.Score(0.9, 0.8, 1.0), groups.Score(0.7, 0.6, 3.0)],
    ).cells
    assert cells["ACC %"] == 80.0
    assert cells["sd"] == pytest.approx(14.1)
    assert cells["NMI"] == 0.7
    assert cells["CPU s"] == 2.0


@pytest.mark.slow
@pytest.mark.parametrize("name", groups.SYNTHETIC)
def test_clusters_of_one_view_each_are_found_by_their_views(name):
    draw = groups.synthetic(name, 1)
    model = groups.fitted(draw, 0, n_jobs=None)
    rival, _ = groups.score(
        draw, groups.spectral, groups._kernels(draw).mean(axis=0), len(draw.own), 0
    )
    assert groups.clustering_accuracy(draw.y, model.labels_) >= 0.93
    assert rival.accuracy < 0.9
    assert groups.right_view(draw, model) >= 0.9


def test_the_right_view_is_that_of_most_members():
    draw = groups.Draw({"a": np.zeros((6, 1)), "b": np.zeros((6, 1))}, np.arange(6) // 3)
    draw = draw._replace(own=np.array([1, 0]))

    class Fitted:
        labels_ = np.array([0, 0, 1, 1, 1, 1])
        n_clusters_ = 2
        view_importances_ = np.array([[0.2, 0.8], [0.4, 0.6]])

    assert groups.right_view(draw, Fitted()) == 0.5


def test_accuracy_without_links_leaves_linked_samples_out():
    y = np.arange(8) // 4
    labels = np.array([0, 0, 0, 1, 1, 1, 1, 0])
    assert groups._free_accuracy(y, labels, None) == 0.75
    assert groups._free_accuracy(y, labels, groups.Links(cannot=[(3, 7)])) == 1.0


@pytest.mark.slow
def test_a_tiny_run_and_a_misspelt_part(monkeypatch):
    rows = list(groups.run(TINY))
    by_method = {row.cells["method"]: row.cells["ACC %"] for row in rows}
    assert by_method["ours"] > by_method["spectral, mean kernel"]
    assert 0.0 <= rows[-1].cells["right view %"] <= 100.0
    monkeypatch.setenv("LINKSHIFT_GROUPS_PARTS", "tabel")
    with pytest.raises(
        ValueError, match="views, table, columns, links, starts, candidates, speed, photos"
    ):
        list(groups.run(TINY))
